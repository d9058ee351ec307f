"""Distances between Lorentz points, accurate for near points, far points and points near the origin alike.

The textbook ``acosh(x * y)`` loses half of the digits of short distances and, at radius r, an absolute ``eps e^(2r)``
in ``x * y``. The hyperbolic law of haversines has only positive terms,

    sinh^2(d/2) = sinh^2((rx - ry)/2) + sinh(rx) sinh(ry) sin^2(angle/2),

and both are computed here from ``xr - yr``, so that nothing but the rounding of the coordinates themselves is lost.
"""

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.geometry.lorentz import curvature_scale, euclidean_norm, lift, minkowski_dot


def half_chord_squared(x: ArrayLike, y: ArrayLike) -> Array:
    """``sinh^2(d(x, y)/2) = (x * y - 1)/2`` of unit-curvature points; (..., d + 1) and (..., d + 1) broadcast to (...).

    Only the space coordinates are read. The relative error is a few eps for points at comparable radii, and otherwise
    at most ``eps sinh(r)`` with r the smaller radius, which is what rounding the coordinates causes.
    """
    xr = np.asarray(x, dtype=np.float64)[..., 1:]
    yr = np.asarray(y, dtype=np.float64)[..., 1:]
    x_norm, y_norm = euclidean_norm(xr), euclidean_norm(yr)
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


# -- the exponential and the logarithm ---------------------------------------------------------------------------------


def sinhc(r: Array) -> Array:
    """``sinh(r)/r``, and 1 at r = 0."""
    safe = np.where(r > 0.0, r, 1.0)
    return np.where(r > 0.0, np.sinh(safe) / safe, 1.0)


def arcsinhc(r: Array) -> Array:
    """``asinh(r)/r``, and 1 at r = 0."""
    safe = np.where(r > 0.0, r, 1.0)
    return np.where(r > 0.0, np.arcsinh(safe) / safe, 1.0)


def exp_origin(u: ArrayLike, curvature: float = 1.0) -> Array:
    """``exp_0(u) = (cosh|u|, sinh|u| u/|u|)`` (paper, eq. exp_map at the origin); shape (..., d) to (..., d + 1)."""
    scale = curvature_scale(curvature)
    u = scale * np.asarray(u, dtype=np.float64)
    return lift(u * sinhc(euclidean_norm(u)[..., None])) / scale


def log_origin(x: ArrayLike, curvature: float = 1.0) -> Array:
    """``log_0(x) = asinh(|xr|) xr/|xr|``, the inverse of `exp_origin`; shape (..., d + 1) to (..., d)."""
    scale = curvature_scale(curvature)
    space = scale * np.asarray(x, dtype=np.float64)[..., 1:]
    return space * arcsinhc(euclidean_norm(space)[..., None]) / scale


def tangent_norm(x: ArrayLike, v: ArrayLike, curvature: float = 1.0) -> Array:
    """``sqrt(-(v * v))`` of a vector tangent at x, as ``sqrt(|v_across|^2 + (v_along/x0)^2)``; broadcasts to (...).

    Along and across are relative to the direction of ``xr``. Computed from the space part of v, it does not cancel.
    """
    scale = curvature_scale(curvature)
    xr = scale * np.asarray(x, dtype=np.float64)[..., 1:]
    vr = np.asarray(v, dtype=np.float64)[..., 1:]
    norm = euclidean_norm(xr)[..., None]
    direction = np.where(norm > 0.0, xr / np.where(norm > 0.0, norm, 1.0), 0.0)
    along = np.sum(direction * vr, axis=-1, keepdims=True)
    across = euclidean_norm(vr - along * direction)
    return np.hypot(across, along[..., 0] / np.hypot(1.0, norm[..., 0]))


def exp_map(x: ArrayLike, v: ArrayLike, curvature: float = 1.0) -> Array:
    """``exp_x(v) = cosh|v| x + sinh|v| v/|v|`` (paper, eq. exp_map, c = 1); shapes (..., d + 1) broadcast.

    Raises `ValueError` where v is not tangent at x: ``|x * v| > 1e-6 |x| |v|`` in Euclidean norms.
    """
    scale = curvature_scale(curvature)
    x, v = scale * np.asarray(x, dtype=np.float64), scale * np.asarray(v, dtype=np.float64)
    sizes = euclidean_norm(x) * euclidean_norm(v)
    if np.any(np.abs(minkowski_dot(x, v)) > 1e-6 * sizes):
        raise ValueError("v is not tangent at x: x * v must be 0; project it with project_to_tangent")
    length = tangent_norm(x, v)[..., None]
    rise = 2.0 * np.sinh(0.5 * length) ** 2  # cosh - 1 without cancellation
    return lift(x[..., 1:] + (rise * x[..., 1:] + sinhc(length) * v[..., 1:])) / scale


def log_map(x: ArrayLike, y: ArrayLike, curvature: float = 1.0) -> Array:
    """``log_x(y) = (d/sinh d)(y - cosh(d) x)``, d the distance (for c = 1): the tangent vector at x that leads to y.

    Shapes (..., d + 1) and (..., d + 1) broadcast; the time part is ``v0 = xr . vr / x0``, so that ``x * v = 0``.
    """
    scale = curvature_scale(curvature)
    x, y = scale * np.asarray(x, dtype=np.float64), scale * np.asarray(y, dtype=np.float64)
    square = half_chord_squared(x, y)[..., None]
    sinh = 2.0 * np.sqrt(square * (1.0 + square))  # sinh d = 2 sinh(d/2) cosh(d/2)
    xr, yr = x[..., 1:], y[..., 1:]
    space = arcsinhc(sinh) * ((yr - xr) - 2.0 * square * xr)
    return _tangent_over(xr, space) / scale


def project_to_tangent(x: ArrayLike, v: ArrayLike, curvature: float = 1.0) -> Array:
    """``v - c (x * v) x``: the part of any vector v that is tangent at x; shapes (..., d + 1) broadcast."""
    scale = curvature_scale(curvature)
    x, v = scale * np.asarray(x, dtype=np.float64), np.asarray(v, dtype=np.float64)
    return _tangent_over(x[..., 1:], v[..., 1:] - minkowski_dot(x, v)[..., None] * x[..., 1:])


def _tangent_over(xr: Array, space: Array) -> Array:
    """The tangent vector at ``lift(xr)`` with the given space part."""
    time = np.sum(xr * space, axis=-1, keepdims=True) / np.hypot(1.0, euclidean_norm(xr)[..., None])
    return np.concatenate([time, space], axis=-1)
