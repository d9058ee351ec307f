"""Kernels of the hyperbolic distance, each an object that is called with points; docs/kernels.md has the proofs.

All depend on the distance alone, so a Gram matrix does not change under isometries. An object is a callable for
scikit-learn: ``SVC(kernel=HeatKernel(t=0.5))``.
"""

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cache
from numbers import Real
from typing import Any, ClassVar

import array_api_compat
import numpy as np

from hypermargin.kernels.chords import PolarPoints, checked_points, of_pairs, polar_points
from hypermargin.kernels.heat import heat_profile, heat_rounding

UNIT_ROUNDOFF = 2.0**-53
#: Below this S may have lost digits by underflow of the squares it is made of.
LEAST_EXACT_S = 1e-270


@dataclass(frozen=True)
class Kernel(ABC):
    """A function of ``S = sinh^2(d/2)``. Subclasses are dataclasses whose fields are positive parameters.

    `conditional` kernels are positive definite on coefficients of sum 0 only; `largest` bounds its
    absolute value (infinite where it has no bound).
    """

    name: ClassVar[str]
    conditional: ClassVar[bool] = False
    largest: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < math.inf:
                raise ValueError(f"{name} of the {self.name} kernel must be a positive number, got {value!r}")

    @abstractmethod
    def profile(self, S: Any, dim: int, xp: Any) -> Any:
        """The values for ``S = sinh^2(d/2)`` in a space of dimension `dim`, elementwise."""

    def rounding(self, dim: int) -> tuple[float, float]:
        """A relative and an absolute bound; the sum of both is a bound on the error of a computed value.

        docs/kernels.md has the count of roundings. It takes each function of the library (asinh, log1p, exp) to be
        within 4 units in the last place, as its authors document. What underflow changes in S below `LEAST_EXACT_S` is
        charged too; it is nothing unless a parameter makes the kernel that local.
        """
        absolute = (16.0 + dim) * UNIT_ROUNDOFF + _fall_below_least(self, dim)
        return (64.0 + 2.0 * dim) * UNIT_ROUNDOFF, absolute

    def between(self, x: PolarPoints, y: PolarPoints | None = None) -> Any:
        """The matrix of prepared points, shape (n, m); x with itself where y is None."""
        return of_pairs(lambda S, xp: self.profile(S, x.dim, xp), x, y)

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """The matrix of Lorentz points X, shape (n, d + 1), and Y (X itself where None): shape (n, m).

        NumPy arrays, or arrays of another library in double precision, whose library then does the work. Two single
        points, shape (d + 1,) each, give one number, as scikit-learn's `pairwise_kernels` needs.
        """
        if not array_api_compat.is_array_api_obj(X) or X.ndim != 1:
            x = polar_points(checked_points(X))
            if Y is None:
                return self.between(x)
            y = polar_points(checked_points(Y, "Y"))
            if x.dim != y.dim:
                raise ValueError(f"X has points of dimension {x.dim} and Y of dimension {y.dim}")
            return self.between(x, y)
        return self(X[None, :], None if Y is None else Y[None, :])[0, 0]


@dataclass(frozen=True)
class DistanceKernel(Kernel):
    """``-d``: conditionally positive definite, and without a parameter."""

    name: ClassVar[str] = "distance"
    conditional: ClassVar[bool] = True
    largest: ClassVar[float] = math.inf

    def profile(self, S: Any, dim: int, xp: Any) -> Any:
        return -2.0 * xp.asinh(xp.sqrt(S))


@dataclass(frozen=True)
class LaplacianKernel(Kernel):
    """``exp(-gamma d)``."""

    name: ClassVar[str] = "laplacian"
    gamma: float = 1.0

    def profile(self, S: Any, dim: int, xp: Any) -> Any:
        return xp.exp((-2.0 * self.gamma) * xp.asinh(xp.sqrt(S)))


@dataclass(frozen=True)
class CoshKernel(Kernel):
    """``(cosh d)^-power``."""

    name: ClassVar[str] = "cosh"
    power: float = 1.0

    def profile(self, S: Any, dim: int, xp: Any) -> Any:
        return xp.exp(-self.power * xp.log1p(2.0 * S))


@dataclass(frozen=True)
class HeatKernel(Kernel):
    """The heat kernel at time t of the odd-dimensional space around the points' own, scaled to 1 at d = 0.

    In dimensions 1 to 3 that is ``d/sinh(d) exp(-d^2/4t)``.
    """

    name: ClassVar[str] = "heat"
    t: float = 1.0

    def profile(self, S: Any, dim: int, xp: Any) -> Any:
        return heat_profile(S, self.t, dim, xp)

    def rounding(self, dim: int) -> tuple[float, float]:
        """From dimension 4 on the recursion in `heat` may multiply errors."""
        relative, absolute = super().rounding(dim)
        more_relative, more_absolute = heat_rounding(dim)
        return relative * more_relative, absolute * more_absolute


@cache
def _fall_below_least(kernel: Kernel, dim: int) -> float:
    """By how much the values for S from 0 to `LEAST_EXACT_S` differ; twice that, for its own rounding."""
    values = kernel.profile(np.array([0.0, LEAST_EXACT_S]), dim, np)
    return 2.0 * abs(float(values[0] - values[1]))


KERNELS: dict[str, type[Kernel]] = {
    kind.name: kind for kind in (HeatKernel, CoshKernel, LaplacianKernel, DistanceKernel)
}


def kernel_from_text(text: str) -> Kernel | None:
    """The kernel that Python writes so, such as ``HeatKernel(t=0.5)``; None where the text is something else."""
    for kind in KERNELS.values():
        names = "".join(rf"{field.name}=([^,()]+)" for field in fields(kind))
        found = re.fullmatch(rf"{kind.__name__}\({names}\)", text)
        if found:
            return kind(*map(float, found.groups()))
    return None


# -- the kernels as plain functions of points --------------------------------------------------------------------------


def distance_kernel(X: Any, Y: Any = None) -> Any:
    """``-d(x, y)`` of Lorentz points X, shape (n, d + 1), and Y, shape (m, d + 1) (X where None); shape (n, m).

    Conditionally positive definite: on coefficients of sum 0, which is what a classifier with an intercept has.
    """
    return DistanceKernel()(X, Y)


def laplacian_kernel(X: Any, Y: Any = None, gamma: float = 1.0) -> Any:
    """``exp(-gamma d(x, y))``, gamma > 0; shapes as in `distance_kernel`."""
    return LaplacianKernel(gamma)(X, Y)


def cosh_kernel(X: Any, Y: Any = None, power: float = 1.0) -> Any:
    """``cosh(d(x, y))^-power``, power > 0; shapes as in `distance_kernel`."""
    return CoshKernel(power)(X, Y)


def heat_kernel(X: Any, Y: Any = None, t: float = 1.0) -> Any:
    """The heat kernel at time t > 0, scaled to 1 at distance 0; shapes as in `distance_kernel`.

    It is that of the odd-dimensional hyperbolic space of dimension at least d and at least 3, in which the space of the
    points lies isometrically: ``d/sinh(d) exp(-d^2/4t)`` for points in dimensions 1 to 3.
    """
    return HeatKernel(t)(X, Y)
