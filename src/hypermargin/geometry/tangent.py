"""Exponential and logarithm at the origin and at any point of the hyperboloid.

Tangent vectors at ``x`` are vectors ``v`` of shape (..., d + 1) with ``x * v = 0``; their length is ``sqrt(-(v * v))``.
At the origin they are ``(0, u)``, and there the d numbers ``u`` are used instead. Points and vectors belong to the
space of curvature ``-c``: ``x * x = 1/c``.
"""

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.geometry.curvature import curvature_scale
from hypermargin.geometry.lorentz import lift, minkowski_dot
from hypermargin.geometry.metric import half_chord_squared


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
    return lift(u * sinhc(np.linalg.norm(u, axis=-1, keepdims=True))) / scale


def log_origin(x: ArrayLike, curvature: float = 1.0) -> Array:
    """``log_0(x) = asinh(|xr|) xr/|xr|``, the inverse of `exp_origin`; shape (..., d + 1) to (..., d)."""
    scale = curvature_scale(curvature)
    space = scale * np.asarray(x, dtype=np.float64)[..., 1:]
    return space * arcsinhc(np.linalg.norm(space, axis=-1, keepdims=True)) / scale


def tangent_norm(x: ArrayLike, v: ArrayLike, curvature: float = 1.0) -> Array:
    """``sqrt(-(v * v))`` of a vector tangent at x, as ``sqrt(|v_across|^2 + (v_along/x0)^2)``; broadcasts to (...).

    Along and across are relative to the direction of ``xr``. Computed from the space part of v, it does not cancel.
    """
    scale = curvature_scale(curvature)
    xr = scale * np.asarray(x, dtype=np.float64)[..., 1:]
    vr = np.asarray(v, dtype=np.float64)[..., 1:]
    norm = np.linalg.norm(xr, axis=-1, keepdims=True)
    direction = np.where(norm > 0.0, xr / np.where(norm > 0.0, norm, 1.0), 0.0)
    along = np.sum(direction * vr, axis=-1, keepdims=True)
    across = np.linalg.norm(vr - along * direction, axis=-1)
    return np.hypot(across, along[..., 0] / np.hypot(1.0, norm[..., 0]))


def exp_map(x: ArrayLike, v: ArrayLike, curvature: float = 1.0) -> Array:
    """``exp_x(v) = cosh|v| x + sinh|v| v/|v|`` (paper, eq. exp_map, c = 1); shapes (..., d + 1) broadcast.

    Raises `ValueError` where v is not tangent at x: ``|x * v| > 1e-6 |x| |v|`` in Euclidean norms.
    """
    scale = curvature_scale(curvature)
    x, v = scale * np.asarray(x, dtype=np.float64), scale * np.asarray(v, dtype=np.float64)
    sizes = np.linalg.norm(x, axis=-1) * np.linalg.norm(v, axis=-1)
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
    time = np.sum(xr * space, axis=-1, keepdims=True) / np.hypot(1.0, np.linalg.norm(xr, axis=-1, keepdims=True))
    return np.concatenate([time, space], axis=-1)
