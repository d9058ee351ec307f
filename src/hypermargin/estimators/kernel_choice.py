"""Which kernel a name and its parameter stand for, and what a callable of the user's own must return."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.geometry.curvature import curvature_scale
from hypermargin.geometry.mean import mean_and_spread
from hypermargin.kernels import KERNELS, CoshKernel, DistanceKernel, HeatKernel, Kernel, LaplacianKernel

#: The parameter of each kernel that has one.
PARAMETERS = {"heat": "t", "cosh": "power", "laplacian": "gamma"}
#: Points on which a callable is looked at for a negative eigenvalue, and how negative one may be by rounding.
LOOKED_AT, ROUNDING = 500, 1e-8


def chosen_kernel(kernel: Any, given: dict[str, Any], points: Array, weight: Array | None, curvature: float):
    """The kernel on unit Lorentz points that the parameters of a classifier describe.

    `given` maps the names of the parameters to their values, numbers or "scale". Lengths are those of the space of
    curvature ``-curvature``; with V the mean squared distance of the points to their mean, in that space, "scale" is
    ``t = V/4``, ``gamma = 1/sqrt(V)`` and ``power = 2/(curvature V)``.
    """
    check_kernel(kernel, given)
    if not isinstance(kernel, str):
        return kernel
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
        if kernel not in KERNELS:
            raise ValueError(f"unknown kernel {kernel!r}; the kernels are {', '.join(KERNELS)}, or a callable")
    elif not callable(kernel):
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)} or a callable, got {kernel!r}")
    for name, value in given.items():
        number = isinstance(value, Real) and not isinstance(value, bool) and 0.0 < float(value) < np.inf
        if not number and not (isinstance(value, str) and value == "scale"):
            raise ValueError(f"{name} must be a positive number or 'scale', got {value!r}")


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
