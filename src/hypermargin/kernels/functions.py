"""The kernels as plain functions of points."""

from typing import Any

from hypermargin.kernels.base import CoshKernel, DistanceKernel, HeatKernel, LaplacianKernel


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
