"""The hyperboloid (Lorentz) model: where the sign of the Minkowski product is decided (docs/geometry.md).

Points of hyperbolic space of curvature -1 are vectors ``x = (x0, xr)`` with ``x * x = 1`` and ``x0 > 0`` (paper,
eq. hyp), where ``x * w = x0 w0 - xr . wr``. A hyperplane is given by its normal ``w = (t, wr)``; it is a real
hyperplane where ``q(w) = |wr|^2 - t^2 > 0`` (*spacelike*), touches infinity where ``q = 0`` (*lightlike*) and misses
the space where ``q < 0`` (*timelike*).
"""

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.geometry.compiled import points


def covector(x: ArrayLike) -> Array:
    """Lower the index: ``(x0, xr) -> (x0, -xr)``, so that ``x * w`` is the dot product ``covector(x) . w``.

    Shape (..., d + 1) to (..., d + 1). The map is its own inverse.
    """
    x = np.asarray(x, dtype=np.float64)
    lowered = -x
    lowered[..., 0] = x[..., 0]
    return lowered


def minkowski_dot(x: ArrayLike, w: ArrayLike) -> Array:
    """``x * w = x0 w0 - xr . wr``; shapes (..., d + 1) and (..., d + 1) broadcast to (...)."""
    x, w = np.asarray(x, dtype=np.float64), np.asarray(w, dtype=np.float64)
    return x[..., 0] * w[..., 0] - np.vecdot(x[..., 1:], w[..., 1:])


def euclidean_norm(v: Array) -> Array:
    """``|v|`` over the last axis, shape (..., k) to (...); `numpy.linalg.norm` takes several times as long."""
    return np.sqrt(np.vecdot(v, v))


def quadratic_form(w: ArrayLike) -> Array:
    """``q(w) = w' G w = |wr|^2 - t^2 = -(w * w)``, as ``(|wr| - |t|)(|wr| + |t|)``, to a few ``eps |w|^2``."""
    w = np.asarray(w, dtype=np.float64)
    space, time = euclidean_norm(w[..., 1:]), np.abs(w[..., 0])
    return (space - time) * (space + time)


def lift(space: ArrayLike) -> Array:
    """The point of the unit hyperboloid above ``xr``: ``(sqrt(1 + |xr|^2), xr)``; shape (..., d) to (..., d + 1).

    ``xr`` is a chart of the whole space, and the one this package computes with: ``x0`` follows from it to full
    relative accuracy, while ``xr`` does not follow from ``x0``. Squares are summed in the order of the coordinates,
    without fused operations, so that the same ``xr`` has the same ``x0`` everywhere.
    """
    space = np.asarray(space, dtype=np.float64)
    point = np.empty((*space.shape[:-1], space.shape[-1] + 1))
    points.lift_rows(space.reshape(-1, space.shape[-1]), point.reshape(-1, point.shape[-1]))
    return point


def is_lifted(X: Array) -> bool:
    """Whether the time coordinates of the rows, shape (n, d + 1), are those that `lift` gives, bit for bit."""
    return bool(points.all_lifted(X))


def origin(dim: int) -> Array:
    """The origin ``(1, 0, ..., 0)`` of the hyperboloid, shape (dim + 1,)."""
    return lift(np.zeros(dim))


def radius(x: ArrayLike) -> Array:
    """Distance of unit-curvature points to the origin, ``asinh |xr|``; shape (..., d + 1) to (...)."""
    return np.arcsinh(euclidean_norm(np.asarray(x, dtype=np.float64)[..., 1:]))


def fixed_order_product(X: ArrayLike, M: ArrayLike) -> Array:
    """``X @ M``, shapes (n, k) and (k, m), each entry summed in the order of k without fused operations.

    A matrix product may round the same row differently in different company. This one does not, so that code which
    shares nothing else (a solver and the checker of its certificate) comes to the same decisions about a row.
    """
    X, M = np.asarray(X, dtype=np.float64), np.asarray(M, dtype=np.float64)
    product = M[0][:, None] * X[:, 0]  # the transpose: its rows are long, and NumPy is fastest along them
    for k in range(1, M.shape[0]):
        product += M[k][:, None] * X[:, k]
    return product.T


def curvature_scale(curvature: float) -> float:
    """``sqrt(c)``, the factor that takes lengths of the space of curvature ``-c`` to lengths of curvature -1."""
    c = np.nan if isinstance(curvature, str) else float(curvature)
    if not (np.isfinite(c) and c > 0.0):
        raise ValueError(
            f"curvature must be a positive finite number c (the space then has curvature -c), got {curvature!r}"
        )
    return float(np.sqrt(c))
