"""The data pass of the exact method: risk and cut at a point, in the frame around the data's centre.

With an uncertainty set margins are worst-case ones (problems.uncertainty). The worst margin is concave in w, so the
risk is convex; the worst points at w give the cut ``sum k_i (1 - z'_i.v)``. At the two points ``(1, 0, ..., 0)`` and
``(-1, 0, ..., 0)``, which begin a search, the cut takes the nominal points instead: they belong to every set, and the
slope of that cut is timelike where rounding leaves one class, which proves the tails of t.

At a timelike or lightlike w there are better cuts than those of the worst points: cuts that hold for spacelike normals
only, and are tight for many lightlike ones (`UncertaintySet.cone_factors`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from copy import copy
from functools import cached_property
from math import sqrt
from typing import NamedTuple, Self, cast

import numpy as np

from hypermargin.arrays import Array, row_blocks
from hypermargin.geometry.compiled.frames import normal_out_of_frame
from hypermargin.geometry.exact_normals import normal_from_frame, normal_to_frame
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.lorentz import covector, quadratic_form
from hypermargin.problems.linearised import Ellipsoid, LinearisedSet, OriginJacobian, framed_jacobians, image_sizes
from hypermargin.problems.margin import BinaryProblem, MarginProblem
from hypermargin.problems.uncertainty import GeodesicBall, in_cone
from hypermargin.solvers.exact.compiled import robust_passes
from hypermargin.solvers.exact.compiled.passes import LANES, Pass
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.working_sets import Samples, WorkingSets

#: Samples this close to the margin are left out of a cut. It weakens the bound by about this much, relatively, and
#: makes cuts independent of rounding: at a kink of the risk, where many queries fall, margins are 1 up to a few bits.
MARGIN_SLACK = 1e-9
#: The fewest samples of a class in a part of the data, if there are as many: a pass over so few takes no time.
LEAST_PART = 2000
#: Seconds that the check of a certificate takes at most for each number of the data and each cut found: several times
#: what a pass does for each number.
CHECK_TIME = 5e-9
#: Numbers of images that are made at once (512 kB).
IMAGE_NUMBERS = 65_536
NORMS = {"l1": robust_passes.L1, "max": robust_passes.MAX, "l2": robust_passes.L2}

#: ``(risk, b, g)`` at one w.
Cut = tuple[float, float, Array]


class Oracle(ABC):
    """``w -> (risk, b, g)`` for the hinge risk of a problem; w and g in a frame.

    Attributes
    ----------
    threshold : float
        Samples whose margins are below it belong to a cut.
    side : float
        1 or -1, by which labels and normals are multiplied: a search sees the same numbers where labels are exchanged,
        so that its answer is the same but for the sign, ties between optima included (`side_of`).
    cone_cuts : bool
        Whether cuts at timelike points are those that hold for spacelike normals only.
    arrays : tuple, optional
        Points, costs, their factor and the threshold, if the compiled search can make the passes itself.
    samples : WorkingSets, optional
        The samples for the interior-point method, if it can be used.
    """

    threshold = 1.0 - MARGIN_SLACK
    side = 1.0
    cone_cuts = False

    def __init__(self, frame: Frame, factor: float):
        self.frame, self.factor = frame, factor

    @abstractmethod
    def __call__(self, w: Array) -> Cut:
        """One pass over the data."""

    @property
    @abstractmethod
    def work(self) -> int:
        """Numbers read in a pass."""

    def check_time(self, cuts: int) -> float:
        """Seconds that the check of a certificate with so many cuts may take."""
        return CHECK_TIME * self.work * cuts

    @property
    def arrays(self) -> tuple[Array, Array, float, float] | None:
        return None

    @property
    def samples(self) -> WorkingSets | None:
        return None

    def scaled(self, factor: float) -> Self:
        """The oracle of the risk times `factor`; the data is shared, not copied."""
        other = copy(self)
        other.factor *= factor
        return other

    def _times_factor(self, risk: float, b: float, g: Array) -> Cut:
        return self.factor * risk, self.factor * b, self.factor * g

    def to_original(self, w: Array, low: Array | None = None) -> tuple[Array, Array | None]:
        """The normal ``w + low`` in the problem's coordinates: in a precise frame, or with `low`, as two vectors."""
        if self.side < 0.0:
            w, low = -w, None if low is None else -low
        if low is None and not self.frame.precise:
            return normal_out_of_frame(w, self.frame.centre), None
        return normal_from_frame(w, low, self.frame.centre[1:])

    def to_frame(self, w: Array, low: Array | None = None) -> Array:
        """The inverse of `to_original`, in doubles."""
        return self.side * normal_to_frame(w, low, self.frame.centre[1:])[0]


def side_of(balance: float, total: Iterable[float] = ()) -> float:
    """-1 where the positive class is the heavier one, 1 where the negative one is.

    `balance` is that of `balance_of`. Where it is 0 the first entry of the `total` ``sum c_i z_i`` that is not 0
    decides; where all are, w = 0 is an optimum, and the one that is returned.
    """
    decisive = balance or next((value for value in total if value != 0.0), 0.0)
    return -1.0 if decisive > 0.0 else 1.0


def balance_of(signed: float, weight: float) -> float:
    """The sum of costs with the signs of their labels; 0 where it is rounding beside their sum `weight`.

    Balanced classes have the same weight up to the order of the summation, which is not that of blocks.
    """
    return signed if abs(signed) > 1e-12 * weight else 0.0


class HingeOracle(Oracle):
    """Samples in memory, as columns, with plain margins. Their `side` follows from the data unless it is given."""

    def __init__(self, problem: MarginProblem, frame: Frame, side: float | None = None):
        super().__init__(frame, sqrt(0.5))
        n = problem.n_samples
        self._columns = np.zeros((problem.dim + 1, -(-n // LANES) * LANES))
        problem.covectors_around(frame.centre, precise=frame.precise, columns=self._columns)
        self._costs = problem.costs
        balance = balance_of(float(self._costs @ problem.y), float(self._costs.sum()))
        self.side = side or side_of(balance, () if balance else self._columns[:, :n] @ self._costs)
        if self.side < 0.0:
            np.negative(self._columns, out=self._columns)

    def __call__(self, w: Array) -> Cut:
        """One pass; the search makes its own from `arrays`."""
        g = np.empty(len(self._columns))
        risk, b = Pass(self._columns, self._costs, self.threshold).plain(np.ascontiguousarray(w), g)
        return self._times_factor(risk, b, g)

    @property
    def work(self) -> int:
        return self._columns.size

    @property
    def arrays(self) -> tuple[Array, Array, float, float] | None:
        return self._columns, self._costs, self.factor, self.threshold

    @property
    def framed(self) -> tuple[Array, Array]:
        """The points z_i as columns, (d + 1, n), and their costs (n,), without the factor of the hinge."""
        return self._columns[:, : self._costs.size], self._costs

    @property
    def samples(self) -> WorkingSets | None:
        columns, costs = self.framed
        samples = Samples(columns, self.factor * costs, self.threshold)
        positive = int(np.count_nonzero(samples.columns[0] > 0.0))
        return WorkingSets(len(columns), (positive, samples.costs.size - positive), memory=samples)

    def part(self, share: float) -> Self:
        """The oracle of a random part of each class, always the same one, with costs scaled to the total of the class.

        z_i0 has the sign of the label.
        """
        columns, costs = self.framed
        rng, parts, other_costs = np.random.default_rng(0), [], []
        for is_class in (columns[0] > 0.0, columns[0] <= 0.0):
            members = np.flatnonzero(is_class & (costs > 0.0))
            size = min(members.size, max(LEAST_PART, int(share * members.size)))
            chosen = np.sort(rng.choice(members, size, replace=False))
            parts.append(chosen)
            other_costs.append(costs[chosen] * (costs[members].sum() / max(costs[chosen].sum(), 1e-300)))
        other = copy(self)
        other._columns, other._costs = _padded(columns[:, np.concatenate(parts)]), np.concatenate(other_costs)
        return other


class RobustOracle(HingeOracle):
    """``w -> (risk, b, g)`` for worst-case margins.

    Geodesic balls are invariant, so all of it happens in the frame around the centre. For linearised sets, which are in
    the tangent space at the origin, nominal margins are those of the frame, and noise is in the coordinates of the
    data; in a precise frame, far from the origin, the Jacobians are moved there in double-double arithmetic.

    There is no interior-point method where the worst points depend on w, and the compiled loop has plain passes only.
    """

    arrays = samples = None

    def __init__(self, problem: MarginProblem, frame: Frame, side: float | None = None):
        super().__init__(problem, frame, side)
        self.cone_cuts = has_cone_cuts(problem)
        self._has_balls = isinstance(problem.uncertainty, GeodesicBall)
        self._pass = self._make_pass(problem)

    def __call__(self, w: Array) -> Cut:
        cone = self.cone_cuts and bool(in_cone(w))
        risk, b, g = self._worst_case(w, cone)
        if self._has_balls and cone and quadratic_form(w) >= 0.0:
            risk = self._worst_case(w, False)[0]
        risk, b, g = self._times_factor(risk, b, g)
        if abs(w[0]) == 1.0 and not np.any(w[1:]):
            _, b, g = super().__call__(w)
        return risk, b, g

    def _worst_case(self, w: Array, cone: bool) -> Cut:
        """Risk and cut at w with the worst point of every set, for the costs alone.

        With `cone` they are those of the multiples of points that bound all spacelike normals. The pass makes the steps
        of worst points from a normal, and leaves the part of the slope that comes from them in h.
        """
        g, h = np.zeros((2, w.size))
        if self._has_balls:
            risk, b = self._pass.at(w, np.append(w, quadratic_form(w)), cone, g, h)
            return risk, b, g - h[0] * covector(w)
        if self.frame.precise:
            risk, b = self._pass.at(w, w, cone, g, h)
            return risk, b, g + h
        risk, b = self._pass.at(w, covector(self._outwards @ w), cone, g, h)
        return risk, b, g + self._outwards @ h  # the boost is its own transpose

    @cached_property
    def _outwards(self) -> Array:
        """The matrix that takes normals out of the frame."""
        return boost(self.frame.centre)

    def _make_pass(self, problem: MarginProblem) -> robust_passes.RobustPass:
        data, X = (self._columns, self._costs, self.threshold), problem.X
        if self._has_balls:
            rho = np.asarray(cast(GeodesicBall, problem.uncertainty).rho)
            return robust_passes.BallPass(*data, *map(_sizes, (np.cosh(rho), np.sinh(rho), np.exp(-rho))))
        if not self.frame.precise:
            return robust_passes.LinearisedPass(*data, _jacobian_columns(X), _noise_of(problem))
        columns = np.empty((X.shape[1] * X.shape[1], X.shape[0]))
        step = max(1, IMAGE_NUMBERS // X.shape[1])
        for rows in (slice(start, start + step) for start in range(0, X.shape[0], step)):
            images = framed_jacobians(X[rows], self.frame.centre[1:])
            columns[:, rows] = np.concatenate([images.reshape(len(images), -1), image_sizes(images)], axis=1).T
        return robust_passes.ImagePass(*data, _padded(columns), _noise_of(problem))


def has_cone_cuts(problem: BinaryProblem) -> bool:
    """Whether cuts at timelike points are those that hold for spacelike normals only."""
    return problem.uncertainty is not None and not problem.allow_timelike


def oracle_in_memory(problem: MarginProblem, frame: Frame, side: float | None = None) -> HingeOracle:
    """The oracle for samples in memory: plain margins, or those of the problem's uncertainty set."""
    if problem.uncertainty is None:
        return HingeOracle(problem, frame, side)
    if isinstance(problem.uncertainty, (GeodesicBall, LinearisedSet)):
        return RobustOracle(problem, frame, side)
    raise TypeError(f"the exact method does not know the uncertainty set {problem.uncertainty!r}")


class Noise(NamedTuple):
    """Linearised sets as arrays for compiled passes: sizes are one number for all samples, or one per sample.

    `shape` is (d, d, .), one matrix for all or one per sample, and `shape_size` its Frobenius norm; it is (0, 0, 1)
    where the set is no ellipsoid. `shrunk` and `grown` are the ends of `LinearisedSet.cone_range`.
    """

    rho: Array
    norm: int
    shape: Array
    shape_size: Array
    shrunk: Array
    grown: Array


def _noise_of(problem: MarginProblem) -> Noise:
    noise = cast(LinearisedSet, problem.uncertainty)
    shape, size = np.empty((0, 0, 1)), np.ones(1)
    if isinstance(noise, Ellipsoid):
        shape = np.moveaxis(noise.shape, 0, -1) if noise.shape.ndim == 3 else noise.shape[:, :, None]
        size = np.sqrt(np.sum(shape**2, axis=(0, 1)))
    multiples = map(_sizes, noise.cone_range(problem.dim))
    return Noise(_sizes(noise.rho), NORMS[noise.dual_norm], _sizes(shape), _sizes(size), *multiples)


def _jacobian_columns(X: Array) -> Array:
    """What `LinearisedPass` reads of the Jacobians at X."""
    n, width = X.shape
    columns = np.zeros((width + 2, -(-n // LANES) * LANES))
    for rows in row_blocks(n):
        J = OriginJacobian.at(np.asfortranarray(X[rows]))  # operations along columns are the faster ones
        for column, part in zip(columns, [*J.unit.T, J.sinh, J.cosh - J.stretch, J.stretch], strict=True):
            column[rows.start : min(rows.stop, n)] = part
    return columns


def _sizes(values: Array | float) -> Array:
    """One number for all samples, shape (..., 1), as it is; one number per sample, padded."""
    values = np.atleast_1d(values)
    return np.array(values) if values.shape[-1] == 1 else _padded(values)


def _padded(values: Array) -> Array:
    """Zeros along the last axis up to a multiple of `LANES`."""
    *others, n = values.shape
    padded = np.zeros((*others, -(-n // LANES) * LANES))
    padded[..., :n] = values
    return padded
