"""The paper's uncertainty sets (app:robust): noise in the tangent space at the origin, mapped to first order.

The true set of x is ``{exp_0(log_0(x) + z)}``, z in a box, a cross-polytope, a ball or an ellipsoid of R^d. To first
order it is ``x + J z`` with J the Jacobian of exp_0 at ``v = log_0(x)``. With ``n = v/|v|``, ``r = |v|``,

    J z = sinh(r) (n.z) e0  +  cosh(r) (n.z) n  +  (sinh(r)/r) (z - (n.z) n),

so in the paper's matrix the first term must be ``cosh(r)/r^2``, not ``cosh(r)/r``. The worst margin is
``m - rho |J'c|`` in the dual norm, ``c = covector(w)``. ``x + J z`` leaves the hyperboloid, and which noise is meant
depends on the origin.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.geometry.compiled import double_double
from hypermargin.geometry.lorentz import covector
from hypermargin.geometry.metric import arcsinhc, exp_origin, log_origin
from hypermargin.problems.uncertainty import UncertaintySet, _margins, _rows

#: What is rounding, relative to the terms summed, for entries of ``J'c`` and for its length (see `unit_step`).
BLUR, BLUR_ROUND = 1e-9, 1e-8
#: The same is less by this factor where images of the Jacobian in a frame are multiplied, which have all their digits.
SHARPER = 1e-3


@dataclass(frozen=True, eq=False)
class OriginJacobian:
    """The Jacobian of exp_0 at the points X, shape (n, d + 1), by its parts: O(d) numbers per point instead of d^2.

    `unit` is n (zero at the origin), shape (n, d); `sinh`, `cosh` and ``stretch = sinh(r)/r`` have shape (n,).
    """

    unit: Array
    sinh: Array
    cosh: Array
    stretch: Array

    @classmethod
    def at(cls, X: Array) -> Self:
        space = X[:, 1:]
        sinh = _row_lengths(space)
        unit = space / np.where(sinh > 0.0, sinh, 1.0)[:, None]
        return cls(unit, sinh, np.hypot(1.0, sinh), 1.0 / arcsinhc(sinh))

    def push_forward(self, z: Array) -> Array:
        """``J z``, shape (n, d) to (n, d + 1)."""
        along = np.sum(self.unit * z, axis=1)
        space = self.stretch[:, None] * z + ((self.cosh - self.stretch) * along)[:, None] * self.unit
        return np.column_stack([self.sinh * along, space])

    def pull_back(self, c: Array) -> Array:
        """``J' c`` of one vector c, shape (d + 1,) to (n, d)."""
        return self.stretch[:, None] * c[1:] + self._along(c)[:, None] * self.unit

    def _along(self, c: Array) -> Array:
        return self.sinh * c[0] + (self.cosh - self.stretch) * (self.unit @ c[1:])


def framed_jacobians(X: Array, centre: Array) -> Array:
    """Covectors of ``J e_k`` after the boost that takes the space coordinates `centre` to the origin, (n, d, d + 1).

    In double-double arithmetic, for points far out: d^2 numbers per point, and none is larger than it has to be.
    """
    n, width = X.shape
    images = np.empty((n, width - 1, width))
    double_double.move_jacobians(
        np.ascontiguousarray(X[:, 1:]),
        OriginJacobian.at(X).stretch,
        np.ascontiguousarray(centre, dtype=np.float64),
        images,
    )
    return covector(images)


def image_sizes(images: Array) -> Array:
    """Factors of ``|w|`` whose product is the size in `unit_step`, (n, d + 1)."""
    return SHARPER * np.abs(images).max(axis=1)


@dataclass(frozen=True, eq=False)
class LinearisedSet(UncertaintySet):
    """``{x + J z}`` with z in `rho` times a symmetric convex set of R^d, which subclasses describe by its support."""

    #: Which norm measures ``J'c``: "l1", "max" or "l2" (after the shape of an ellipsoid).
    dual_norm: ClassVar[str]

    @abstractmethod
    def unit_step(self, a: Array, size: Array | float = 0.0) -> Array:
        """For every row a, shape (n, d), the z of the set with rho = 1 that minimises ``z.a``, shape (n, d).

        Each a is a sum of terms of the given `size`, (n,), and entries below `BLUR` times that size are rounding: they
        count as 0, or as tied. A vector a shorter than `BLUR_ROUND` times that size is not followed all the way. z is
        then inside the set, and its value is worse by no more than such rounding.
        """

    def inner_radius(self, dim: int) -> float:
        """The radius of a ball around 0 in the set with rho = 1; J makes no step shorter."""
        return 1.0

    def cone_range(self, dim: int) -> tuple[Array, Array]:
        reach = np.asarray(self.rho) * self.inner_radius(dim)
        return 1.0 - reach, 1.0 + reach

    @abstractmethod
    def dual_length(self, a: Array) -> Array:
        """Minus that minimum: the dual norm of every row, shape (n,)."""

    def steps(self, X: Array, y: Array, w: Array) -> Array:
        """The worst z of every sample, shape (n, d)."""
        pulled = y[:, None] * OriginJacobian.at(X).pull_back(covector(w))
        return np.broadcast_to(self.rho, y.shape)[:, None] * self.unit_step(pulled)

    def worst_margins(self, X: Array, y: Array, w: Array) -> Array:
        return _margins(X, y, w) - self.rho * self.dual_length(OriginJacobian.at(X).pull_back(covector(w)))

    def worst_covectors(self, X: Array, y: Array, w: Array) -> Array:
        return y[:, None] * covector(X + OriginJacobian.at(X).push_forward(self.steps(X, y, w)))

    def worst_points(self, X: Array, y: Array, w: Array) -> Array:
        """``exp_0(log_0(x) + z)`` with the z that is worst to first order."""
        return exp_origin(log_origin(X) + self.steps(X, y, w))


@dataclass(frozen=True, eq=False)
class Box(LinearisedSet):
    """``|z_j| <= rho`` for every coordinate: the paper's l-infinity set."""

    dual_norm: ClassVar[str] = "l1"

    def unit_step(self, a: Array, size: Array | float = 0.0) -> Array:
        return np.where(np.abs(a) > BLUR * _column(size), -np.sign(a), 0.0)

    def dual_length(self, a: Array) -> Array:
        return np.abs(a) @ np.ones(a.shape[1])


@dataclass(frozen=True, eq=False)
class CrossPolytope(LinearisedSet):
    """``sum |z_j| <= rho``: the l1 set."""

    dual_norm: ClassVar[str] = "max"

    def unit_step(self, a: Array, size: Array | float = 0.0) -> Array:
        sizes, blur = np.abs(a), BLUR * _column(size)
        tied = (sizes > blur) & (sizes >= np.max(sizes, axis=1, keepdims=True) - blur)
        return np.where(tied, -np.sign(a), 0.0) / np.maximum(np.sum(tied, axis=1, keepdims=True), 1)

    def inner_radius(self, dim: int) -> float:
        return 1.0 / np.sqrt(dim)

    def dual_length(self, a: Array) -> Array:
        return np.max(np.abs(a), axis=1)


@dataclass(frozen=True, eq=False)
class Ball(LinearisedSet):
    """``|z| <= rho``: the Euclidean ball of the tangent space at the origin. It is the geodesic ball at x = 0 only."""

    dual_norm: ClassVar[str] = "l2"

    def unit_step(self, a: Array, size: Array | float = 0.0) -> Array:
        length = np.maximum(_row_lengths(a)[:, None], BLUR_ROUND * _column(size))
        return -a / np.where(length > 0.0, length, 1.0)

    def dual_length(self, a: Array) -> Array:
        return _row_lengths(a)


@dataclass(frozen=True, eq=False)
class Ellipsoid(LinearisedSet):
    """``z = rho S u`` with ``|u| <= 1``; the shape S is one (d, d) matrix, or one per sample, (n, d, d)."""

    shape: Array
    dual_norm: ClassVar[str] = "l2"

    def __init__(self, shape: ArrayLike, rho: float | Array = 1.0) -> None:
        matrices = np.array(shape, dtype=np.float64)
        if matrices.ndim not in (2, 3) or matrices.shape[-1] != matrices.shape[-2] or matrices.size == 0:
            raise ValueError(f"shape must be a (d, d) matrix, or (n, d, d) with one per sample, got {matrices.shape}")
        if not np.all(np.isfinite(matrices)):
            raise ValueError("shape contains NaN or infinity")
        matrices.flags.writeable = False
        object.__setattr__(self, "rho", rho)
        object.__setattr__(self, "shape", matrices)
        self.__post_init__()

    def check(self, n_samples: int, dim: int) -> None:
        super().check(n_samples, dim)
        if self.shape.shape[-1] != dim:
            raise ValueError(f"shape must be a ({dim}, {dim}) matrix to match X, got {self.shape.shape[-2:]}")
        if self.shape.ndim == 3 and len(self.shape) != n_samples:
            raise ValueError(f"shape must have one matrix for each of the {n_samples} samples, got {len(self.shape)}")

    def take(self, indices: ArrayLike) -> Self:
        other = super().take(indices)
        return replace(other, shape=_rows(self.shape, indices, "shape")) if self.shape.ndim == 3 else other

    def unit_step(self, a: Array, size: Array | float = 0.0) -> Array:
        along = self._turned(a)
        scale = np.sqrt(np.sum(self.shape**2, axis=(-2, -1)))
        length = np.maximum(_row_lengths(along)[:, None], BLUR_ROUND * _column(size * scale))
        return np.einsum("...ij,...j->...i", self.shape, -along / np.where(length > 0.0, length, 1.0))

    def inner_radius(self, dim: int) -> float:
        """0, which is always right: the least singular value of a shape may be too small for doubles."""
        return 0.0

    def dual_length(self, a: Array) -> Array:
        return _row_lengths(self._turned(a))

    def _turned(self, a: Array) -> Array:
        """``S' a`` of every row."""
        return a @ self.shape if self.shape.ndim == 2 else np.einsum("nij,ni->nj", self.shape, a)


def _column(size: Array | float) -> Array:
    return np.reshape(size, (-1, 1))


def _row_lengths(rows: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))
