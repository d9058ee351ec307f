"""Which kernel a name and its parameter stand for, and what a callable of the user's own must return."""

import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.geometry.lorentz import curvature_scale
from hypermargin.geometry.mean import mean_and_spread
from hypermargin.kernels import KERNELS, CoshKernel, DistanceKernel, HeatKernel, Kernel, LaplacianKernel
from hypermargin.kernels.chords import polar_points

#: The parameter of each kernel that has one.
PARAMETERS = {"heat": "t", "cosh": "power", "laplacian": "gamma"}
#: Points on which a callable is looked at for a negative eigenvalue, and how negative one may be by rounding.
LOOKED_AT, ROUNDING = 500, 1e-8
#: Rows and columns of the kernel matrix by which its spread is judged, and the fewest samples that are judged.
ROWS, COLUMNS, FEWEST = 64, 1024, 20
#: Dimensions up to which "auto" considers the heat kernel: its values take a time of the order of their square, in 128
#: dimensions four times as long as the whole fit with another kernel.
HEAT_DIMENSIONS = 100
#: A matrix is nearly diagonal if all other values of a row together are below this share of its own: from about 1 down
#: such kernels were less accurate than the Laplacian one, and from 0.1 down by 0.2 and more (Gaussian classes in 4 to
#: 16 dimensions). It is nearly constant if values differ by less than `CONSTANT`, a hundred times their rounding.
DIAGONAL, CONSTANT = 0.1, 1e-12


class KernelSpreadWarning(UserWarning):
    """The kernel is nearly the same for all pairs of points, or nearly 0 for all of different points."""


def chosen_kernel(kernel: Any, given: dict[str, Any], points: Array, weight: Array | None, curvature: float):
    """The kernel on unit Lorentz points that the parameters of a classifier describe.

    `given` maps the names of the parameters to their values, numbers or "scale". Lengths are those of the space of
    curvature ``-curvature``; with V the mean squared distance of the points to their mean, in that space, "scale" is
    ``t = V/4``, ``gamma = 1/sqrt(V)`` and ``power = 2/(curvature V)``.

    "auto" is the heat kernel, or the Laplacian one if t is "scale" and the heat kernel is so local on these points that
    each counts more for itself than all others together, or there are hundreds of dimensions. No t changes that: in
    many dimensions or far out the heat kernel falls as ``exp(-(d - 1) distance/2)`` however large t is.
    """
    check_kernel(kernel, given)
    if not isinstance(kernel, str):
        return kernel
    if kernel == "auto":
        kernel = "laplacian"
        if given["t"] != "scale" or points.shape[1] - 1 <= HEAT_DIMENSIONS:
            heat = chosen_kernel("heat", given, points, weight, curvature)
            if given["t"] != "scale" or weight_of_others(heat, points) >= 1.0:
                return heat
    if kernel == "distance":
        return DistanceKernel()
    value, scale = given[PARAMETERS[kernel]], curvature_scale(curvature)
    # On the unit hyperboloid lengths are `scale` times as long.
    spread = _spread(points, weight) if isinstance(value, str) else 1.0
    if kernel == "heat":
        return HeatKernel(spread / 4.0 if isinstance(value, str) else float(value) * scale**2)
    if kernel == "laplacian":
        return LaplacianKernel(float(spread**-0.5) if isinstance(value, str) else float(value) / scale)
    return CoshKernel(2.0 / spread if isinstance(value, str) else float(value))


def check_kernel(kernel: Any, given: dict[str, Any]) -> None:
    """Refuse kernels that there are not, and parameters that are neither "scale" nor a positive number."""
    if isinstance(kernel, str):
        if kernel not in KERNELS and kernel != "auto":
            raise ValueError(f"unknown kernel {kernel!r}; the kernels are {', '.join(KERNELS)}, or a callable")
    elif not callable(kernel):
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)} or a callable, got {kernel!r}")
    for name, value in given.items():
        number = isinstance(value, Real) and not isinstance(value, bool) and 0.0 < float(value) < np.inf
        if not number and not (isinstance(value, str) and value == "scale"):
            raise ValueError(f"{name} must be a positive number or 'scale', got {value!r}")


def weight_of_others(kernel: Kernel, points: Array) -> float:
    """The sum of a point's kernel values with all others, relative to its own; the median of some points.

    Infinite for a conditional kernel, to which a constant may be added, and for fewer than `FEWEST` points.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # the heat kernel of hundreds of dimensions
        values = _some_values(kernel, points)
    return np.inf if values is None else float(np.median(values.mean(axis=1))) * (len(points) - 1)


def warn_of_spread(kernel: Kernel, points: Array) -> None:
    """Warn of a kernel whose matrix on the points is numerically diagonal or constant."""
    values = _some_values(kernel, points)
    if values is None:
        return
    others, spread = float(np.median(values.mean(axis=1))) * (len(points) - 1), float(np.ptp(values))
    if others < DIAGONAL:
        problem = f"diagonal: all other points together count {others:.1g} times as much for a point as it does itself"
    elif spread < CONSTANT and np.ptp(points[:, 1:], axis=0).any():
        problem = f"constant: its values differ by {spread:.1g} at most"
    else:
        return
    advice = f"choose another parameter than that of {kernel!r}, or kernel='auto'"
    warnings.warn(f"the kernel matrix is nearly {problem}; {advice}", KernelSpreadWarning, stacklevel=5)


def _some_values(kernel: Kernel, points: Array) -> Array | None:
    """Kernel values of some points with others, shape (n_rows, n_columns - 1); None where they say nothing."""
    if kernel.conditional or len(points) < FEWEST:
        return None
    columns = np.unique(np.linspace(0, len(points) - 1, min(len(points), COLUMNS)).astype(np.intp))
    rows = np.unique(np.linspace(0, len(columns) - 1, min(len(columns), ROWS)).astype(np.intp))
    prepared = polar_points(points[columns])
    values = kernel.between(prepared[rows], prepared)
    return values[np.arange(len(columns)) != rows[:, None]].reshape(len(rows), -1)


def checked_callable(kernel: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """The callable with its matrices checked: their shape, and that all entries are finite."""
    if isinstance(kernel, Kernel):
        return kernel

    def checked(X: Array, Y: Array) -> Array:
        values = np.asarray(kernel(X, Y), dtype=np.float64)
        if values.shape != (len(X), len(Y)):
            raise ValueError(
                f"the kernel returned an array of shape {values.shape} for {len(X)} and {len(Y)} points; it must "
                f"return the matrix of shape {(len(X), len(Y))}"
            )
        if not np.all(np.isfinite(values)):
            raise ValueError("the kernel returned NaN or infinity; it must return a finite number for every pair")
        return values

    return checked


def require_definite(kernel: Callable[[Array, Array], Array], points: Array) -> None:
    """Refuse a callable with a clearly negative eigenvalue on the points (on some of them, if they are many).

    Conditionally definite kernels will do, since coefficients have sum 0.
    """
    if isinstance(kernel, Kernel):
        return
    some = points[np.linspace(0, len(points) - 1, min(len(points), LOOKED_AT)).astype(int)]
    K = kernel(some, some)
    size = max(float(np.abs(K).max()), 1e-300)
    if not np.allclose(K, K.T, rtol=0.0, atol=ROUNDING * size):
        raise ValueError("the kernel is not symmetric: k(x, y) and k(y, x) must be the same")
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    least = float(np.linalg.eigvalsh(0.5 * (centred + centred.T))[0])
    if least < -ROUNDING * len(K) * size:
        raise ValueError(
            f"the kernel is not positive definite: on {len(K)} points its least eigenvalue is {least:.3g} (on "
            "coefficients of sum 0). A classifier of largest margin needs a positive definite kernel"
        )


def _spread(points: Array, weight: Array | None) -> float:
    """The mean squared distance of unit Lorentz points to their Fréchet mean; 1 where they are one point."""
    _, spread = mean_and_spread(points, weight)
    return spread if spread > 1e-12 else 1.0
