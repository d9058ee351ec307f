"""Isometries of the hyperboloid as Lorentz matrices L, shape (d + 1, d + 1), with ``L' G L = G``.

Rows of points are moved by ``X @ L.T``, normals of hyperplanes in the same way, and ``(X @ L.T) * (L w) = X * w``. The
composition "first L1, then L2" is the product ``L2 @ L1``.

A boost by r as a matrix product loses an absolute ``eps e^(2r)`` on points at radius r. `move_to_origin` and
`move_from_origin` apply the same boosts with a loss of ``eps e^r``, that of rounding the points: use them for far data.
"""

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.geometry.compiled import double_double, frames
from hypermargin.geometry.lorentz import covector, euclidean_norm, lift
from hypermargin.geometry.metric import half_chord_squared

#: In up to so many dimensions a matrix product is as quick as the formula of a boost.
MATRIX_UP_TO = 8


def boost(point: ArrayLike) -> Array:
    """The translation along the geodesic through the origin that takes the origin to `point`, shape (d + 1,).

    ``[[p0, pr'], [pr, I + pr pr'/(1 + p0)]]``, shape (d + 1, d + 1); symmetric, and the inverse is the boost to the
    mirror point ``(p0, -pr)``. Only ``pr`` is read.
    """
    return _boost(_one_point(point))


def translation_to_origin(point: ArrayLike) -> Array:
    """The inverse of `boost`: takes `point`, shape (d + 1,), to the origin; shape (d + 1, d + 1)."""
    return _boost(covector(_one_point(point)))


def translation(source: ArrayLike, target: ArrayLike) -> Array:
    """An isometry that takes `source` to `target` (through the origin); shape (d + 1, d + 1)."""
    return boost(target) @ translation_to_origin(source)


def rotation(angle: float, dim: int = 2, plane: tuple[int, int] = (1, 2)) -> Array:
    """Rotation about the origin by `angle` radians from space axis ``plane[0]`` towards ``plane[1]``, axes 1 to dim."""
    i, j = plane
    if not (1 <= i <= dim and 1 <= j <= dim and i != j):
        raise ValueError(f"plane must name two different space axes between 1 and {dim}, got {plane}")
    matrix = np.eye(dim + 1)
    matrix[i, i] = matrix[j, j] = np.cos(angle)
    matrix[j, i], matrix[i, j] = np.sin(angle), -np.sin(angle)
    return matrix


def orthogonal(matrix: ArrayLike) -> Array:
    """The isometry ``diag(1, Q)``, which fixes the origin, from an orthogonal matrix Q of shape (d, d)."""
    Q = np.asarray(matrix, dtype=np.float64)
    if Q.ndim != 2 or Q.shape[0] != Q.shape[1] or not np.allclose(Q.T @ Q, np.eye(Q.shape[0]), rtol=0.0, atol=1e-9):
        raise ValueError("the matrix must be square and orthogonal: Q' Q = I")
    result = np.eye(Q.shape[0] + 1)
    result[1:, 1:] = Q
    return result


def random_isometry(dim: int, radius: float, rng: np.random.Generator) -> Array:
    """A random orthogonal map followed by a boost to a point at distance `radius` in a random direction."""
    Q, R = np.linalg.qr(rng.standard_normal((dim, dim)))
    direction = rng.standard_normal(dim)
    target = lift(np.sinh(radius) * direction / np.linalg.norm(direction))
    return boost(target) @ orthogonal(Q * np.sign(np.diag(R)))


def inverse(L: ArrayLike) -> Array:
    """``L^-1 = G L' G``: exact signs on the transpose, no elimination; shape (d + 1, d + 1)."""
    lowered_columns = covector(L).T  # covector changes the signs of the columns 1 to d: (L G)' = G L'
    return covector(lowered_columns)


def transform_points(X: ArrayLike, L: ArrayLike) -> Array:
    """``X @ L.T`` put back on the hyperboloid by ``x0 = sqrt(1 + |xr|^2)``; shape (..., d + 1)."""
    return lift((np.asarray(X, dtype=np.float64) @ np.asarray(L, dtype=np.float64).T)[..., 1:])


def transform_normal(w: ArrayLike, L: ArrayLike) -> Array:
    """The normal ``L w`` of the moved hyperplane, so that ``(L x) * (L w) = x * w``; shape (..., d + 1)."""
    return np.asarray(w, dtype=np.float64) @ np.asarray(L, dtype=np.float64).T


def move_to_origin(X: ArrayLike, point: ArrayLike) -> Array:
    """`translation_to_origin` of `point` applied to X, shape (..., d + 1), accurately for far points.

    ``xr - pr (x0 + x * p)/(1 + p0)``, with ``x * p = 1 + 2 sinh^2(d/2)`` from the accurate distance.
    """
    X, p = np.asarray(X, dtype=np.float64), _one_point(point)
    square = half_chord_squared(X, p)[..., None]
    xr, time = X[..., 1:], np.hypot(1.0, euclidean_norm(X[..., 1:]))[..., None]
    # (x0 + x * p)/(1 + p0) = 1 + (x0 - p0 + 2 square)/(1 + p0); the 1 is taken off xr first, for points near p.
    time_difference = np.sum((xr - p[1:]) * (xr + p[1:]), axis=-1, keepdims=True) / (time + p[0])
    return lift((xr - p[1:]) - p[1:] * ((time_difference + 2.0 * square) / (1.0 + p[0])))


def move_to_origin_precisely(X: ArrayLike, point: ArrayLike) -> Array:
    """`move_to_origin` in double-double arithmetic: every coordinate is that of the exact image, rounded once.

    Of X and of `point` the space parts are read, as exact numbers; shape (n, d + 1). See
    `compiled.double_double.move_space_parts` for the bound on what is lost before the rounding.
    """
    X = np.asarray(X, dtype=np.float64)
    moved = np.empty(X.shape)
    double_double.move_space_parts(X[:, 1:], np.ascontiguousarray(_one_point(point)[1:]), moved)
    return moved


def move_from_origin(X: ArrayLike, point: ArrayLike) -> Array:
    """`boost` to `point` applied to X, shape (..., d + 1), accurately: the inverse of `move_to_origin`."""
    return move_to_origin(X, covector(_one_point(point)))


def frame_entry(point: ArrayLike) -> Array:
    """How code that takes one array enters the frame around `point`: see `covectors_around`.

    In up to `MATRIX_UP_TO` dimensions the matrix M with ``X @ M`` the covectors of X, shape (d + 1, d + 1); beyond that
    the point itself, shape (1, d + 1).
    """
    p = np.asarray(point, dtype=np.float64)
    if p.ndim != 1 or p.size < 2:
        raise ValueError(f"point must be one Lorentz point of shape (d + 1,), got shape {p.shape}")
    return frames.frame_entry(p[1:], MATRIX_UP_TO)[1]


def covectors_around(X: ArrayLike, point: ArrayLike) -> Array:
    """Covectors of ``X @ translation_to_origin(point).T``, shape (n, d + 1).

    In few dimensions as a matrix product, in others in the time that reading X takes, as
    ``(x * p, -(xr - pr (x0 - pr.xr/(1 + p0))))``. All sums are made in the order of the coordinates without fused
    operations, so that code which shares nothing else comes to the same bits for a row. The transpose is contiguous:
    passes over the data read columns.
    """
    X = np.asarray(X, dtype=np.float64)
    columns = np.empty(X.shape[::-1])
    frames.signed_covectors(X, np.ones(len(X)), frame_entry(point), columns)
    return columns.T


def is_isometry(L: ArrayLike, rtol: float = 1e-9) -> bool:
    """Whether ``L' G L = G`` up to `rtol` relative to ``|L|^2``, and L keeps the upper sheet (``L00 > 0``)."""
    L = np.asarray(L, dtype=np.float64)
    if L.ndim != 2 or L.shape[0] != L.shape[1] or L.shape[0] < 2 or not np.all(np.isfinite(L)):
        return False
    residual = np.abs(inverse(L) @ L - np.eye(L.shape[0])).max()
    return bool(residual <= rtol * np.linalg.norm(L, 2) ** 2 and L[0, 0] > 0.0)


def _boost(p: Array) -> Array:
    """The matrix of `boost` from all coordinates of the point."""
    matrix = np.multiply.outer(p, p / (1.0 + p[0]))
    matrix[0] = matrix[:, 0] = p
    matrix.ravel()[p.size + 1 :: p.size + 1] += 1.0  # the diagonal of the space part
    return matrix


def _one_point(point: ArrayLike) -> Array:
    p = np.asarray(point, dtype=np.float64)
    if p.ndim != 1 or p.size < 2:
        raise ValueError(f"point must be one Lorentz point of shape (d + 1,), got shape {p.shape}")
    return lift(p[1:])
