"""What the pictures accept, checked: points of the plane, the point at the middle, boundaries."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.geometry.lorentz import origin
from hypermargin.geometry.mean import frechet_mean
from hypermargin.geometry.models import to_lorentz
from hypermargin.solvers.base import Solution


def plane_points(X: ArrayLike, y: ArrayLike | None, name: str) -> tuple[Array, np.ndarray]:
    """Lorentz points of the plane, shape (n, 3), and their labels, shape (n,), or a `ValueError`."""
    points, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    if points.ndim != 2 or points.shape[1] != 3:
        dimension = points.shape[1] - 1 if points.ndim == 2 else "unknown"
        raise ValueError(
            f"only the hyperbolic plane (d = 2) can be drawn; {name} has shape {points.shape}, d = {dimension}"
        )
    if labels.shape != (len(points),):
        raise ValueError(f"the labels of {name} must have shape ({len(points)},), got {labels.shape}")
    return to_lorentz(points, "lorentz"), labels


def center_point(center: str | ArrayLike | None, X: Array) -> Array:
    """The point to show at the middle of the disk, shape (3,): the origin, the mean of X, or the one given."""
    if center is None:
        return origin(2)
    if isinstance(center, str):
        if center != "mean":
            raise ValueError(f"center must be None, 'mean' or a Lorentz point, got {center!r}")
        return frechet_mean(X)
    return to_lorentz(np.asarray(center, dtype=np.float64), "lorentz")


def normal_and_intercept(name: str, solution: Solution | ArrayLike) -> tuple[Array, float]:
    """The boundary ``x * w + intercept = 0`` of a solution, or of a bare normal w."""
    if isinstance(solution, Solution):
        w, intercept = solution.w, float(solution.intercept)
    else:
        w, intercept = np.asarray(solution, dtype=np.float64), 0.0
    if w.shape != (3,) or not np.all(np.isfinite(w)):
        raise ValueError(f"only the hyperbolic plane (d = 2) can be drawn: the w of {name!r} must be 3 finite numbers")
    return w, intercept


def in_columns_of(X: Any, coordinates: Array) -> Any:
    """`coordinates` as a data frame where X is one: an estimator fitted to named columns expects them again."""
    return type(X)(coordinates, columns=X.columns) if hasattr(X, "columns") else coordinates
