"""Is this array a set of points of hyperbolic space? Errors that say what is wrong and what the array looks like."""

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.geometry.lorentz import Array

#: Largest ``x0`` (radius 18) for which double precision still tells the hyperboloid from its neighbourhood.
MAX_TIME_COORDINATE = float(np.cosh(18.0))


def check_lorentz(X: ArrayLike, *, atol: float = 1e-6) -> Array:
    """Return `X`, shape (n, d + 1), as float64 points of the hyperboloid of curvature -1, or raise `ValueError`.

    The residual ``|x * x - 1| / x0^2`` must be below `atol`: relative to ``x0^2`` because rounding the coordinates of a
    far point moves ``x * x`` by that much.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] < 2:
        raise ValueError(f"points must be an (n, d + 1) array with d >= 1, got shape {X.shape}")
    if X.shape[0] == 0:
        raise ValueError("there are no points: X has 0 rows")
    if not np.all(np.isfinite(X)):
        raise ValueError("X contains NaN or infinity")
    time, space = X[:, 0], np.linalg.norm(X[:, 1:], axis=1)
    if np.any(time > MAX_TIME_COORDINATE):
        worst = int(np.argmax(time))
        raise ValueError(
            f"row {worst} lies at hyperbolic radius {np.arccosh(time[worst]):.1f}; beyond 18 double precision cannot tell "
            "the hyperboloid from the light cone. Move the data towards the origin or use a smaller curvature."
        )
    residual = np.abs((time - space) * (time + space) - 1.0) / np.maximum(time**2, 1.0)
    if np.any(time <= 0.0) or np.any(residual > atol):
        worst = int(np.argmax(np.where(time <= 0.0, np.inf, residual)))
        raise ValueError(
            f"row {worst} of X is not on the hyperboloid x0^2 - |xr|^2 = 1, x0 > 0 "
            f"(x0 = {time[worst]:.6g}, |xr| = {space[worst]:.6g})"
        )
    return X
