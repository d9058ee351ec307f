"""Geodesic hyperplanes ``{x : x * w = 0}`` and what a picture of them needs.

`w` is a normal, shape (d + 1,), with ``q(w) > 0``; its positive side is ``x * w > 0`` and its length does not matter.
Points are on the unit hyperboloid; for curvature ``-c`` divide distances by ``sqrt(c)``. The *level sets* ``x * w = b``
are the curves at constant distance ``asinh(b/sqrt(q))`` from the hyperplane (margins, or a boundary with an intercept),
and circles around a point where w is timelike.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.geometry.lorentz import covector, curvature_scale, lift, minkowski_dot, quadratic_form
from hypermargin.geometry.metric import project_to_tangent, tangent_norm


def signed_distance(X: ArrayLike, w: ArrayLike) -> Array:
    """``asinh(x * w / sqrt(q(w)))``, positive where ``x * w > 0``; shape (..., d + 1) to (...).

    The error of ``x * w`` is ``eps |x| |w|``; nothing can be done about it, as it is that of rounding x.
    """
    w, q = _spacelike(w)
    return np.arcsinh(minkowski_dot(X, w) / np.sqrt(q))


def nearest_on_hyperplane(X: ArrayLike, w: ArrayLike) -> Array:
    """The foot of the perpendicular, ``(x + (x*w/q) w) / sqrt(1 + (x*w)^2/q)``; shape (..., d + 1) to the same."""
    w, q = _spacelike(w)
    X = np.asarray(X, dtype=np.float64)
    product = minkowski_dot(X, w)[..., None]
    return lift(((X + (product / q) * w) / np.hypot(1.0, product / np.sqrt(q)))[..., 1:])


def reflect(X: ArrayLike, w: ArrayLike) -> Array:
    """Mirror image in the hyperplane, ``x + 2 (x*w/q) w``; shape (..., d + 1) to the same."""
    w, q = _spacelike(w)
    X = np.asarray(X, dtype=np.float64)
    return lift((X + (2.0 * minkowski_dot(X, w)[..., None] / q) * w)[..., 1:])


def reflection(w: ArrayLike) -> Array:
    """The Lorentz matrix ``I + (2/q) w (Gw)'`` of `reflect`, shape (d + 1, d + 1); its own inverse."""
    w, q = _spacelike(w)
    return np.eye(w.size) + (2.0 / q) * np.outer(w, covector(w))


def hyperplane_through(point: ArrayLike, direction: ArrayLike) -> Array:
    """The unit normal (``q = 1``) of the hyperplane through `point` orthogonal to `direction` there, shape (d + 1,).

    `direction`, shape (d + 1,), points to the positive side; of it the part tangent at `point` counts.
    """
    v = project_to_tangent(point, direction)
    length = float(tangent_norm(point, v))
    if not length > 0.0:
        raise ValueError("direction has no part tangent at point, so it names no hyperplane")
    return -v / length  # minus, because v * v < 0 and exp(v) is to have a positive product with w


@dataclass(frozen=True, eq=False)
class Arc:
    """A level set in the Poincaré ball: part of a sphere ``|p - center| = radius`` or a plane ``p . normal = offset``.

    `center`, shape (d,), is None and `radius` is infinite for the plane (a straight line on the disk); `normal`, shape
    (d,), and `offset` are None for the sphere.
    """

    radius: float
    center: Array | None = None
    normal: Array | None = None
    offset: float | None = None

    @property
    def is_line(self) -> bool:
        return self.center is None


def boundary_arc(w: ArrayLike, level: float = 0.0, curvature: float = 1.0) -> Arc:
    """The set ``x * w = level`` in the Poincaré ball of curvature ``-c``, radius ``1/sqrt(c)``, in any dimension.

    From ``(w0 + b) |p|^2 - 2 p . wr + (w0 - b) = 0``: centre ``wr/(w0 + b)`` and radius ``sqrt(q + b^2)/|w0 + b|``
    (paper, app. stereo, for b = 0), and the plane ``p . wr = w0`` where ``w0 + b = 0``: through the origin for b = 0.
    """
    w, level = _with_level(w, level)
    scale = curvature_scale(curvature)
    denominator = w[0] + level
    space = float(np.linalg.norm(w[1:]))
    if abs(denominator) <= 1e-300 * space:
        return Arc(radius=float("inf"), normal=w[1:] / space, offset=float(w[0]) / space / scale)
    size = float(np.sqrt(float(quadratic_form(w)) + level**2))
    return Arc(radius=size / abs(denominator) / scale, center=w[1:] / denominator / scale)


def arc_points(w: ArrayLike, n_points: int = 200, level: float = 0.0, curvature: float = 1.0) -> Array:
    """Points along ``x * w = level`` on the closed Poincaré disk (d = 2), evenly spaced, to draw a line through.

    For a spacelike w from one point at infinity to the other (on the edge of the disk up to rounding); for a lightlike
    or timelike one once around the circle. Straight lines and arcs of any radius come from one formula without
    cancellation: with ``K = sqrt(q + b^2)``, n the direction of wr and n' that turned by a right angle, the arc passes
    through ``v n``, ``v = (w0 - b)/(|wr| + K)``, along n' with curvature ``k = (w0 + b)/K``, so its points are

        p = v n + (2/k) sin(phi) (cos(phi) n' + sin(phi) n),

    and it ends at the ideal points ``(w0 n +- sqrt(q) n')/|wr|``, which all levels share.

    Returns
    -------
    (n_points, 2) array
    """
    w, level = _with_level(w, level)
    if w.size != 3:
        raise ValueError(f"arc_points draws on the disk: w must have 3 entries, got {w.size}")
    if n_points < 2:
        raise ValueError(f"n_points must be at least 2, got {n_points}")
    scale = curvature_scale(curvature)
    q = float(quadratic_form(w))
    if q <= 0.0:
        arc = boundary_arc(w, level)
        assert arc.center is not None  # w0 and b have the same sign here, so that w0 + b is not 0
        angles = np.linspace(0.0, 2.0 * np.pi, n_points)
        return (arc.center + arc.radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)) / scale
    space, K = float(np.linalg.norm(w[1:])), float(np.sqrt(q + level**2))
    along = w[1:] / space
    across = np.array([-along[1], along[0]])
    vertex = (w[0] - level) / (space + K)
    # The end as seen from the vertex, along n and across; a chord from there at the angle phi is (2/k) sin(phi) long.
    rise, half = (w[0] * K + level * space) / (space * (space + K)), np.sqrt(q) / space
    last = np.arctan2(rise, half)
    share = np.linspace(-1.0, 1.0, n_points)[:, None]
    phi = last * share
    # sin(phi)/sin(last) in a form that is right for the straight line too, where both are 0.
    chord = np.hypot(rise, half) * share * np.sinc(phi / np.pi) / np.sinc(last / np.pi)
    return (vertex * along + chord * (np.cos(phi) * across + np.sin(phi) * along)) / scale


def _spacelike(w: ArrayLike) -> tuple[Array, float]:
    """w of length about 1 (so that squares stay in range) and its ``q > 0``."""
    w = np.asarray(w, dtype=np.float64)
    if w.ndim != 1 or w.size < 2 or not np.all(np.isfinite(w)):
        raise ValueError(f"w must be one finite normal of shape (d + 1,), got shape {w.shape}")
    size = float(np.max(np.abs(w)))
    w = w / size if size > 0.0 else w
    q = float(quadratic_form(w))
    if not q > 0.0:
        raise ValueError(f"w is not spacelike, so it is no hyperplane: q(w) = |wr|^2 - w0^2 = {q:.3g} is not positive")
    return w, q


def _with_level(w: ArrayLike, level: float) -> tuple[Array, float]:
    """w and the level, both over the largest entry of w, where the level set is not empty."""
    w = np.asarray(w, dtype=np.float64)
    if w.ndim != 1 or w.size < 2 or not np.all(np.isfinite(w)) or not np.isfinite(level):
        raise ValueError(f"w must be one finite normal of shape (d + 1,) and level finite, got shape {w.shape}")
    size = float(np.max(np.abs(w)))
    if size == 0.0:
        raise ValueError("w is zero: it has no level sets")
    w, level = w / size, float(level) / size
    q = float(quadratic_form(w))
    if q <= 0.0 and (q + level**2 <= 0.0 or level * w[0] <= 0.0):
        raise ValueError(
            f"w is not spacelike (q(w) = |wr|^2 - w0^2 is not positive) and x * w = {level * size:.6g} has no points"
        )
    return w, level
