"""The hinge problem written out once more in plain NumPy, apart from the package (paper, eq. soft-margin-first-order).

Minimise ``q(w)/2 + sum_i c_i max(0, 1 - m_i)/sqrt(2)`` over ``q(w) >= 0``, with ``q(w) = |wr|^2 - t^2`` and ``m_i =
y_i (x_i0 t - x_ir . wr)``; in the `timelike` form ``max(q, 0)/2`` and no constraint. With ``C = inf`` the margins
must reach 1 instead.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def lift(spatial: Array) -> Array:
    """The points of the hyperboloid above `spatial` coordinates, shape (..., d) to (..., d + 1)."""
    spatial = np.asarray(spatial, dtype=np.float64)
    return np.concatenate([np.sqrt(1.0 + np.sum(spatial**2, axis=-1, keepdims=True)), spatial], axis=-1)


def signed_rows(X: Array, y: Array) -> Array:
    """Rows ``z_i`` with ``m_i(w) = z_i . w``, shape (..., n, d + 1)."""
    rows = np.concatenate([X[..., :1], -X[..., 1:]], axis=-1)
    return np.asarray(y, dtype=np.float64)[..., None] * rows


def onto_cone(w: Array) -> Array:
    """Move w that are timelike to the light cone by stretching ``wr``; others stay. Shape (..., d + 1)."""
    w = np.array(w, dtype=np.float64)
    space, time = np.linalg.norm(w[..., 1:], axis=-1), np.abs(w[..., 0])
    w[..., 1] = np.where((space == 0.0) & (time > 0.0), time, w[..., 1])
    short = (space < time) & (space > 0.0)
    w[..., 1:] *= np.where(short, time / np.where(short, space, 1.0), 1.0)[..., None]
    return w


def hinge_value(Z: Array, costs: Array, w: Array) -> Array:
    """``max(q, 0)/2 + risk`` at w: Z (..., n, d + 1), costs (..., n), w (..., k, d + 1) to (..., k).

    Costs of infinity stand for the hard margin: such a sample adds infinity where its margin is below ``1 - 1e-9``.
    """
    shortfall = np.maximum(0.0, 1.0 - w @ np.swapaxes(Z, -1, -2))
    hard = np.isinf(costs)[..., None, :]
    soft_costs = np.where(np.isinf(costs), 0.0, costs)[..., None, :]
    risk = np.sum(soft_costs * shortfall, axis=-1) / np.sqrt(2.0)
    broken = np.any(hard & (shortfall > 1e-9), axis=-1)
    q = np.sum(w[..., 1:] ** 2, axis=-1) - w[..., 0] ** 2
    return np.where(broken, np.inf, 0.5 * np.maximum(q, 0.0) + risk)
