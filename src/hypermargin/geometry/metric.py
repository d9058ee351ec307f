"""Distances between Lorentz points, accurate for near points, far points and points near the origin alike.

The textbook ``acosh(x * y)`` loses half of the digits of short distances and, at radius r, an absolute ``eps e^(2r)``
in ``x * y``. The hyperbolic law of haversines has only positive terms,

    sinh^2(d/2) = sinh^2((rx - ry)/2) + sinh(rx) sinh(ry) sin^2(angle/2),

and both are computed here from ``xr - yr``, so that nothing but the rounding of the coordinates themselves is lost.
"""

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.geometry.curvature import curvature_scale


def half_chord_squared(x: ArrayLike, y: ArrayLike) -> Array:
    """``sinh^2(d(x, y)/2) = (x * y - 1)/2`` of unit-curvature points; (..., d + 1) and (..., d + 1) broadcast to (...).

    Only the space coordinates are read. The relative error is a few eps for points at comparable radii, and otherwise
    at most ``eps sinh(r)`` with r the smaller radius, which is what rounding the coordinates causes.
    """
    xr = np.asarray(x, dtype=np.float64)[..., 1:]
    yr = np.asarray(y, dtype=np.float64)[..., 1:]
    x_norm, y_norm = np.linalg.norm(xr, axis=-1), np.linalg.norm(yr, axis=-1)
    difference = xr - yr
    # |xr|^2 - |yr|^2 without squaring first; sinh(rx - ry) = |xr| y0 - |yr| x0 is this over a sum of positive terms.
    squares = np.sum(difference * (xr + yr), axis=-1)
    denominator = x_norm * np.hypot(1.0, y_norm) + y_norm * np.hypot(1.0, x_norm)
    sinh_radial = _divide(squares, denominator)
    radial = sinh_radial**2 / (2.0 * (1.0 + np.hypot(1.0, sinh_radial)))
    # The difference of the unit vectors, as (difference - smaller_unit (|xr| - |yr|)) / |larger| up to sign.
    swap = x_norm < y_norm
    larger, smaller = np.maximum(x_norm, y_norm), np.minimum(x_norm, y_norm)
    smaller_unit = _divide(np.where(swap[..., None], xr, yr), smaller[..., None])
    excess = _divide(squares, x_norm + y_norm)[..., None]  # |xr| - |yr|; its sign goes with that of the difference
    tangential = difference - smaller_unit * excess
    angular = 0.25 * _divide(smaller, larger) * np.sum(tangential**2, axis=-1)
    return radial + angular


def distance(x: ArrayLike, y: ArrayLike, curvature: float = 1.0) -> Array:
    """Geodesic distance ``2 asinh(chord/2)`` of Lorentz points; (..., d + 1) and (..., d + 1) broadcast to (...).

    The points lie on ``x * x = 1/c`` and the distance is that of the space of curvature ``-c``. For points in other
    coordinates see `models.distance_in`.
    """
    scale = curvature_scale(curvature)
    x, y = scale * np.asarray(x, dtype=np.float64), scale * np.asarray(y, dtype=np.float64)
    return 2.0 * np.arcsinh(np.sqrt(half_chord_squared(x, y))) / scale


def pairwise_distance(X: ArrayLike, Y: ArrayLike | None = None, curvature: float = 1.0) -> Array:
    """All distances between the rows of X, shape (n, d + 1), and of Y (X itself where None); shape (n, m)."""
    X = np.asarray(X, dtype=np.float64)
    Y = X if Y is None else np.asarray(Y, dtype=np.float64)
    result = np.empty((X.shape[0], Y.shape[0]))
    for i, x in enumerate(X):  # row by row: the difference vectors of all pairs at once would need n m d numbers
        result[i] = distance(x, Y, curvature)
    return result


def _divide(numerator: Array, denominator: Array) -> Array:
    """Quotient that is 0 where the denominator is 0 (there the numerator is 0 as well)."""
    safe = np.where(denominator > 0.0, denominator, 1.0)
    return np.where(denominator > 0.0, numerator / safe, 0.0)
