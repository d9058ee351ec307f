"""Points of uncertainty sets that are members beyond doubt: computed in floating point, with proven bounds.

With u = 2^-53 and d the dimension:

*Geodesic ball around* ``x = (sqrt(1 + |xr|^2), xr)``. The convex hull is the set of p with ``p * p >= 1``, ``p0 > 0``
and ``p * x <= cosh rho``: what the plane through its boundary sphere cuts off the solid hyperboloid. For
``p = A x + y B W``, with any numbers A, B and any vector W, ``m = y (x * W)`` and ``q = q(W)``,

    p * x = A + B m,     p * p = (A + B m)^2 - B^2 (q + m^2).

So p is a member if ``sqrt(1 + B^2 T^2) <= A + B m <= cosh rho`` for some ``T^2 >= q + m^2``. Computed m and q differ
from the exact ones by at most ``e_m = (4d + 32) u sum |x_k W_k|`` and ``e_q = (4d + 32) u |W|^2``, which gives an upper
bound of T. With B a little less than ``sinh(rho)`` over it there is room for A: exactly ``cosh(rho) - B m`` (for m < 0,
where it is worse) or ``sqrt(1 + B^2 T^2) - B m``. The computed A differs from that number by at most ``B e_m + 16 u
(cosh(rho) + B (|m| + e_m))``, so p from a member by that times x. As W and B are doubles, and x0 is rounded by (d + 8)
u relatively, nothing else is rounded. Where T is lost in rounding (`uncertainty.FLAT`) p is x, or ``cosh(rho) x``. A
timelike W with m > 0 may itself, normalised, be in the ball: A = 0, ``B^2 (-q) >= 1``. Where ``q + m^2`` cancels, T is
bounded as the length of the tangent part of W itself, ``T^2 = |vr|^2 - (xr.vr)^2/x0^2``, a norm of ``vr = Wr - (x * W)
xr`` of at most ``|vr|``: errors of vr count in full.

*Cuts for spacelike normals* take ``p = A x`` with A between ``exp(-rho)`` and ``exp(rho)``. That is no member, but
where ``q(v) >= 0`` the worst margin, ``cosh(rho) m - sinh(rho) sqrt(q(v) + m^2) <= cosh(rho) m - sinh(rho) |m|``, is at
most ``A m``. A is rounded towards 1 by more than exp errs, and so is a double between these two, exactly. For
linearised sets A is between ``1 - k`` and ``1 + k`` if all z of length k are in the set: the singular values of J are 1
and ``sinh(r)/r >= 1``, hence ``|J'c|`` is at least the length of the tangent part, ``sqrt(q(v) + m^2) >= |m|``. k is
taken inside by 2^-40, and the sum rounded towards 1. Every sample may have such a multiple or a member, as is tighter.

*Linearised sets.* ``p = x + J z``. The z of a box are doubles that lie in it exactly, and those of a cross-polytope as
well, shortened by 2^-40 where entries share rho. Those of a ball or an ellipsoid are ``rho S u`` with the computed u at
most ``(1 - 2^-40)(1 + (d + 8) u) < 1`` long: its length errs by (d/2 + 1) u, and its inverse and three products by u
each. The parts of J (unit vector, sinh, cosh, sinh(r)/r) have relative errors of at most (2d + 16) u, and ``J z`` is
formed from them by sums of at most d + 2 terms of size at most ``2 cosh(r) |z|``: (16 d + 128) u times that is more
than its error.

*What is charged to a sum.* Only x0 and J z are rounded: the first errs by ``(d + 8) u x0``, in one coordinate.

*Underflow* changes a sum of products by less than ``4 d 2^-1074 < UNDERFLOW``. In m, q and T^2 that is nothing beside
``e_q`` if ``|W|^2 >= SHORTEST^2``; else q counts as infinite, and p = x. Under the root of a tangent part `UNDERFLOW`
is added. Vectors are divided by at least `SHORTEST`: longer ones have a square that underflow does not change.

`compiled.members` does these operations one sample at a time; the arrays below serve linearised sets only.
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from hypermargin.arithmetic import UNIT_ROUNDOFF as U
from hypermargin.arrays import Array
from hypermargin.certificates.frame import FramedSamples
from hypermargin.geometry.lorentz import covector, fixed_order_product, quadratic_form
from hypermargin.problems.linearised import (
    BLUR,
    BLUR_ROUND,
    Ball,
    Box,
    CrossPolytope,
    Ellipsoid,
    LinearisedSet,
    OriginJacobian,
    image_sizes,
)
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import TIED, GeodesicBall

#: Members are taken this much (relatively) inside their sets.
INSIDE = 1.0 - 2.0**-40
#: What the members of a cut are: near the worst ones, the observed points, or multiples of them (`cone_multiples`).
WORST, NOMINAL, CONE = 0, 1, 2
#: More than a sum can lose to underflow, and the shortest length that vectors are divided by.
UNDERFLOW, SHORTEST = 1e-290, 1e-130

#: Numbers of samples of a cut of the classes -1 and +1; the sums of ``c_i`` and ``c_i z'_i``, those of the magnitudes
#: of their terms, and bounds on the distance to a sum of exact members, each of shape (d + 2,).
Sums = tuple[tuple[int, int], Array, Array, Array]


def form_bound(W: Array) -> float:
    """An upper bound on q(W); infinite where W is so short that its square may underflow."""
    square = float(W @ W)
    return float(quadratic_form(W)) + (4 * W.size + 28) * U * square if square >= SHORTEST**2 else np.inf


def cone_multiples(noise: GeodesicBall | LinearisedSet, rho: Array, dim: int) -> tuple[Array, Array]:
    """The least and the largest A of cuts for spacelike normals, rounded towards 1 (see above), for the sizes `rho`."""
    if isinstance(noise, GeodesicBall):
        return np.minimum((1.0 + 16.0 * U) * np.exp(-rho), 1.0), np.maximum((1.0 - 16.0 * U) * np.exp(rho), 1.0)
    reach = INSIDE * noise.inner_radius(dim) * rho
    return np.minimum(np.nextafter(1.0 - reach, 2.0), 1.0), np.maximum(np.nextafter(1.0 + reach, 0.0), 1.0)


def x0_errors(magnitudes: Array) -> Array:
    """Bounds on what the rounding of x0 does to sums with terms of these magnitudes, shape (..., d + 2)."""
    errors = np.zeros_like(magnitudes)
    errors[..., 1] = (magnitudes.shape[-1] + 6) * U * magnitudes[..., 1]
    return errors


def noise_errors(noise: LinearisedSet, rows: slice, cosh: Array, dim: int) -> Array:
    """Bounds on the errors of ``J z`` for the samples `rows`, from their cosh(r)."""
    longest: float | Array = np.sqrt(dim) if isinstance(noise, Box) else 1.0
    if isinstance(noise, Ellipsoid):
        shape = noise.shape[rows] if noise.shape.ndim == 3 else noise.shape
        longest = dim * np.sqrt(np.sum(shape**2, axis=(-2, -1)))
    rho = noise.rho if np.ndim(noise.rho) == 0 else np.asarray(noise.rho)[rows]
    return (16 * dim + 128) * U * 2.0 * cosh * rho * longest


class StepMembers(ABC):
    """Sums over members ``x + J z`` of the samples `rows` whose margin at a point is below the threshold, in arrays.

    For sets that the loops of `compiled.members` do not serve: images in the frame, and large matrices. Vectors of all
    samples lie in columns, (d, n), where NumPy is fastest. Members are taken `inside` their sets by this factor.
    """

    inside = INSIDE

    def __init__(self, problem: MarginProblem, centre: Array, rows: slice, threshold: float):
        self.X, self.y, self.costs = problem.X[rows], problem.y[rows], problem.costs[rows]
        self.Z = self.y[:, None] * covector(self.X)
        self.in_frame = problem.covectors_around(centre, rows)
        self.threshold, self.dim = threshold, problem.dim
        assert isinstance(problem.uncertainty, LinearisedSet)
        self.noise, self.shape = problem.uncertainty, None
        self.rho = self.own(self.noise.rho, rows)
        self.shrunk, self.grown = cone_multiples(self.noise, self.rho, problem.dim)
        if isinstance(self.noise, Ellipsoid):
            self.shape = self.noise.shape[rows] if self.noise.shape.ndim == 3 else self.noise.shape

    def nominal(self, w: Array) -> Sums:
        """The cut with the observed points, at w in the frame of the certificate."""
        chosen = np.flatnonzero(self.frame_margins(w) < self.threshold)
        costs, Z = self.costs[chosen], self.Z[chosen]
        magnitude = _row(costs, costs @ np.abs(Z))
        return self.class_counts(chosen), _row(costs, costs @ Z), magnitude, x0_errors(magnitude)

    def class_counts(self, chosen: NDArray[np.intp]) -> tuple[int, int]:
        positive = int(np.count_nonzero(self.y[chosen] > 0.0))
        return chosen.size - positive, positive

    def frame_margins(self, w: Array) -> Array:
        return fixed_order_product(self.in_frame, w[:, None])[:, 0]

    def own(self, values: float | Array, rows: slice) -> Array:
        """Entries of one number for all or one per sample that belong to the rows of this block."""
        return np.broadcast_to(values, self.y.shape) if np.ndim(values) == 0 else np.asarray(values)[rows]

    def multiples(self, m: Array) -> Array:
        """The A of every sample that is worse at these margins."""
        return np.where(m > 0.0, self.shrunk, self.grown)

    @abstractmethod
    def pull_back(self, w: Array, W: Array) -> tuple[Array, Array]:
        """``J' c``, (d, n), and the sizes of its terms, (n,)."""

    @abstractmethod
    def push_forward(self, chosen: NDArray[np.intp], z: Array) -> tuple[Array, Array]:
        """``covector(J z)`` of some samples, (d + 1, chosen), and bounds on the errors of every entry, (chosen,)."""

    def step_values(self, steps: Array, pulled: Array) -> Array:
        """What the steps do to the margins, for the choice of samples."""
        return np.sum(steps * pulled, axis=0)

    def worst(self, w: Array, W: Array) -> Sums:
        """The cut with members near the worst ones at w; W is w in the coordinates of the data, up to rounding."""
        return self._sums(w, W, in_cone=False)

    def cone(self, w: Array, W: Array) -> Sums:
        """The cut for spacelike normals at w in the frame of the certificate."""
        return self._sums(w, W, in_cone=True)

    def _sums(self, w: Array, W: Array, in_cone: bool) -> Sums:
        """With members, and in the cone with multiples of those points where these are worse."""
        pulled, size = self.pull_back(w, W)
        pulled = pulled * self.y
        steps, m = self._steps(pulled, size), self.frame_margins(w)
        margins, multiples = m + self.step_values(steps, pulled), np.ones_like(m)
        moved = np.ones(m.shape, dtype=bool)
        if in_cone:
            factors = self.multiples(m)
            moved = ~(factors * m < margins + TIED * np.abs(m))
            margins, multiples = np.minimum(margins, factors * m), np.where(moved, 1.0, factors)
        chosen = np.flatnonzero(margins < self.threshold)
        costs, Z = self.costs[chosen], self.Z[chosen]
        noise, noise_error = self.push_forward(chosen, np.where(moved, steps, 0.0)[:, chosen])
        noise *= self.y[chosen]
        along = costs * multiples[chosen]
        nominal = _row(costs, np.abs(along) @ np.abs(Z))
        magnitude = nominal + _row(np.zeros(1), np.abs(noise) @ costs)
        error = x0_errors(nominal) + float((costs * moved[chosen]) @ noise_error)
        return self.class_counts(chosen), _row(costs, along @ Z + noise @ costs), magnitude, error

    def _steps(self, a: Array, size: Array) -> Array:
        """For every column a the z of the set that minimises ``z.a``, nearly; z is in the set exactly.

        As in `LinearisedSet.unit_step`, which entries of a are rounding is judged by the `size` of its terms.
        """
        sizes, blur = np.abs(a), BLUR * size
        if isinstance(self.noise, Box):
            return np.where(sizes > blur, -self.rho * np.sign(a), 0.0)
        if isinstance(self.noise, CrossPolytope):
            tied = (sizes > blur) & (sizes >= np.max(sizes, axis=0) - blur)
            share = self.inside * self.rho / np.maximum(np.sum(tied, axis=0), 1)
            return np.where(tied, -share * np.sign(a), 0.0)
        if isinstance(self.noise, Ball):
            return self.rho * _unit(a, BLUR_ROUND * size, self.inside)
        assert self.shape is not None
        least = BLUR_ROUND * size * np.sqrt(np.sum(self.shape**2, axis=(-2, -1)))
        if self.shape.ndim == 2:
            return self.rho * (self.shape @ _unit(self.shape.T @ a, least, self.inside))
        turned = _unit(np.einsum("nij,in->jn", self.shape, a), least, self.inside)
        return self.rho * np.einsum("nij,jn->in", self.shape, turned)


class LinearisedMembers(StepMembers):
    """Members by the parts of the Jacobian, in the coordinates of the data."""

    def __init__(self, problem: MarginProblem, centre: Array, rows: slice, threshold: float):
        super().__init__(problem, centre, rows, threshold)
        jacobian = OriginJacobian.at(self.X)
        self.unit, self.sinh, self.stretch = np.ascontiguousarray(jacobian.unit.T), jacobian.sinh, jacobian.stretch
        self.bend = jacobian.cosh - jacobian.stretch
        self.noise_error = noise_errors(self.noise, rows, jacobian.cosh, self.dim)

    def pull_back(self, w: Array, W: Array) -> tuple[Array, Array]:
        c = covector(W)
        along = self.bend * (c[1:] @ self.unit) + self.sinh * c[0]
        pulled = along * self.unit
        for pulled_row, entry in zip(pulled, c[1:], strict=True):
            pulled_row += entry * self.stretch
        return pulled, self.stretch * np.max(np.abs(c[1:])) + np.abs(along)

    def push_forward(self, chosen: NDArray[np.intp], z: Array) -> tuple[Array, Array]:
        unit = self.unit[:, chosen]
        along = np.sum(unit * z, axis=0)
        space = self.stretch[chosen] * z + (self.bend[chosen] * along) * unit
        return np.vstack([self.sinh[chosen] * along, -space]), self.noise_error[chosen]


class ImageMembers(StepMembers):
    """Members in the frame of `samples`, far from the origin; `framed` has the points moved there, around its origin.

    ``p = x + sum_k z_k image_k`` with the images of the axes under the Jacobian moved to the frame: x is rounded there,
    and every coordinate of an image errs by at most a number per sample, which ``sum |z_k|`` multiplies. The sum itself
    has d terms.
    """

    def __init__(self, framed: MarginProblem, samples: FramedSamples, rows: slice, threshold: float):
        super().__init__(framed, np.eye(1, framed.dim + 1)[0], rows, threshold)
        self.inside = 1.0 - (4 * framed.dim + 64) * U  # lengths err by (d + 8) u
        self.own_noise = self.noise.take(np.arange(framed.n_samples)[rows])
        images, self.image_errors = samples.jacobians(rows)
        self.images, self.sizes = np.ascontiguousarray(np.moveaxis(images, 0, -1)), image_sizes(images)

    def pull_back(self, w: Array, W: Array) -> tuple[Array, Array]:
        pulled = self.images[:, 0] * w[0]
        for j in range(1, w.size):  # in the order of the coordinates, as the solver has it
            pulled += self.images[:, j] * w[j]
        return pulled, self.sizes @ np.abs(w)

    def step_values(self, steps: Array, pulled: Array) -> Array:
        """As the solver has them: images are long, and even what members lie inside their sets would count."""
        return -self.rho * self.own_noise.dual_length(np.ascontiguousarray(pulled.T))

    def push_forward(self, chosen: NDArray[np.intp], z: Array) -> tuple[Array, Array]:
        images, steps = self.images[:, :, chosen], np.abs(z)
        largest = np.sum(steps * np.abs(images).max(axis=1), axis=0)
        error = np.sum(steps, axis=0) * self.image_errors[chosen] + (self.dim + 4) * U * largest
        return np.einsum("kjn,kn->jn", images, z), 1.0001 * error


def _unit(a: Array, least: Array, inside: float = INSIDE) -> Array:
    """``-a/|a|`` of every column, or ``-a/least`` where a is shorter; of a length that is surely below 1."""
    inverse = 1.0 / np.maximum(np.sqrt(np.sum(a * a, axis=0)), np.maximum(least, SHORTEST))
    return -inside * (a * inverse)


def _row(costs: Array, slope: Array) -> Array:
    return np.concatenate([[costs.sum()], slope])
