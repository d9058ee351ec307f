"""Coordinates of hyperbolic space: Lorentz, Poincaré ball, Klein, upper half-space, tangent at the origin, polar.

Convention. ``curvature=c`` with c > 0 means the space of sectional curvature ``-c``. Its coordinates are, with
``s = sqrt(c)`` and ``x = (x0, xr)`` the point of the *unit* hyperboloid (curvature -1) that they stand for:

| geometry    | width | domain                        | from the unit point x                                  |
|-------------|-------|-------------------------------|--------------------------------------------------------|
| `lorentz`   | d + 1 | ``X0^2 - |Xr|^2 = 1/c, X0 > 0`` | ``X = x / s``                                        |
| `poincare`  | d     | ``|p| < 1/s``                 | ``p = xr / (s (1 + x0))``                              |
| `klein`     | d     | ``|k| < 1/s``                 | ``k = xr / (s x0)``                                    |
| `halfspace` | d     | last coordinate ``h > 0``     | ``h = 1/(x0 - xd)``, the others ``x_i/(x0 - xd)``      |
| `tangent`   | d     | all of R^d                    | ``v = asinh(|xr|) xr / (s |xr|)``, so ``|v|`` is the distance |
| `hyperboloid` | d   | all of R^d                    | ``Xr = xr / s``: `lorentz` without ``X0``                |
| `polar`     | 2 if d = 2 | radius ``r >= 0``, any angle | ``r = asinh(|xr|) / s``, the angle of xr              |
| `polar`     | d + 1 | ``r >= 0``, ``|u| = 1``         | r and ``u = xr / |xr|``                                |
| `lorentz-last` | d + 1 | as `lorentz`                | ``(Xr, X0)``                                           |

The half-space with the metric ``|du|^2/(c h^2)`` needs no factor: its coordinates do not depend on c, and the origin is
``(0, ..., 0, 1)`` there. The last space axis of the other models points to its infinity.

`to_lorentz` always returns points of the **unit** hyperboloid, whatever c, because normals, problems and classifiers
live there; `from_lorentz` is its inverse. Lengths of the space of curvature ``-c`` are ``1/s`` times those on the unit
hyperboloid. `convert` stays at curvature ``-c`` on both sides.

Accuracy. Coordinates are taken as exact numbers, and ``1 - c |p|^2``, which near the rim of a ball decides where a
point is, is made from them in double-double arithmetic: the space part of the unit point is right to a few units in the
last place. Rounding a *given* coordinate moves a point at radius r by about ``eps cosh(r)`` in the Lorentz, Poincaré,
half-space and tangent models, and by ``eps cosh(r)^2`` in the Klein model.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.geometry.compiled import double_double
from hypermargin.geometry.lorentz import curvature_scale, euclidean_norm, lift
from hypermargin.geometry.metric import arcsinhc, distance, sinhc
from hypermargin.geometry.validation import GEOMETRIES, check_coordinates, check_geometry

__all__ = ["GEOMETRIES", "convert", "distance_in", "from_lorentz", "to_lorentz"]


def to_lorentz(X: ArrayLike, geometry: str, curvature: float = 1.0) -> Array:
    """Points of the unit hyperboloid (curvature -1) from coordinates of the space of curvature ``-c``.

    Parameters
    ----------
    X : (..., width) array
    geometry : one of `GEOMETRIES`
    curvature : float
        c > 0.

    Returns
    -------
    (..., d + 1) array with ``x0 = sqrt(1 + |xr|^2)`` to the last digit.

    Raises
    ------
    ValueError
        Where X is not in the domain of the model (see `validation.check_coordinates`).
    """
    return unit_points_of(check_coordinates(X, geometry, curvature), geometry, curvature)


def unit_points_of(X: Array, geometry: str, curvature: float) -> Array:
    """`to_lorentz` for coordinates that have been checked."""
    return lift(_TO_SPACE[geometry](X, float(curvature)))


def from_lorentz(X: ArrayLike, geometry: str, curvature: float = 1.0, width: int | None = None) -> Array:
    """Coordinates in the space of curvature ``-c`` of points of the unit hyperboloid: the inverse of `to_lorentz`.

    Shape (..., d + 1) to (..., width). Only ``xr`` is read. Points so far out that their coordinates would round to the
    edge of the Poincaré ball (radius 37) or of the Klein ball (radius 18) are a `ValueError`. Polar coordinates of the
    plane have an angle, or a unit vector with ``width=3``; there are none on a line.
    """
    check_geometry(geometry)
    scale = 1.0 if geometry == "halfspace" else curvature_scale(curvature)
    X = check_coordinates(X, "lorentz")
    if geometry == "polar":
        return _polar_from_space(X[..., 1:], scale, has_angle=X.shape[-1] == 3 and width != 3)
    coordinates = _FROM_SPACE[geometry](X[..., 1:])
    if geometry in ("poincare", "klein") and np.any(euclidean_norm(coordinates) >= 1.0):
        raise ValueError(
            f"a point is so far from the origin that its {geometry} coordinates round to the edge of the ball; "
            "use lorentz, halfspace or tangent coordinates"
        )
    return coordinates / scale


def convert(X: ArrayLike, source: str, target: str, curvature: float = 1.0) -> Array:
    """Coordinates `target` from coordinates `source`, both of the space of curvature ``-c`` (so not the same as
    `to_lorentz` for ``target="lorentz"``: the result lies on ``x * x = 1/c``)."""
    check_geometry(target)
    return from_lorentz(to_lorentz(X, source, curvature), target, curvature)


def distance_in(X: ArrayLike, Y: ArrayLike, geometry: str, curvature: float = 1.0) -> Array:
    """Distance in the space of curvature ``-c`` of points in coordinates `geometry`; shapes broadcast to (...)."""
    x, y = to_lorentz(X, geometry, curvature), to_lorentz(Y, geometry, curvature)
    return distance(x, y) / curvature_scale(curvature)


# -- each model at curvature -1, to and from the space part xr ---------------------------------------------------------


def _norm(v: Array) -> Array:
    return euclidean_norm(v)[..., None]


def _scaled_squares(p: Array, curvature: float) -> tuple[Array, Array]:
    """``c |p|^2`` as a sum of two doubles, shape (..., d) to twice (..., 1)."""
    rows = p.reshape(-1, p.shape[-1])
    high, low = np.empty(len(rows)), np.empty(len(rows))
    double_double.scaled_squares(rows, curvature, high, low)
    shape = (*p.shape[:-1], 1)
    return high.reshape(shape), low.reshape(shape)


def _poincare_to_space(p: Array, curvature: float) -> Array:
    high, low = _scaled_squares(p, curvature)
    return 2.0 * np.sqrt(curvature) * p / ((1.0 - high) - low)


def _poincare_from_space(space: Array) -> Array:
    return space / (1.0 + np.hypot(1.0, _norm(space)))


def _klein_to_space(k: Array, curvature: float) -> Array:
    high, low = _scaled_squares(k, curvature)
    return np.sqrt(curvature) * k / np.sqrt((1.0 - high) - low)


def _klein_from_space(space: Array) -> Array:
    return space / np.hypot(1.0, _norm(space))


def _halfspace_to_space(u: Array, curvature: float) -> Array:
    """``x_i = u_i/h`` and ``x_d = (h^2 - 1 + |u|^2)/(2h)``, with ``h^2 - 1`` factored for the sake of the origin."""
    floor, height = u[..., :-1], u[..., -1:]
    last = 0.5 * ((height - 1.0) * (1.0 + 1.0 / height) + np.sum(floor * (floor / height), axis=-1, keepdims=True))
    return np.concatenate([floor / height, last], axis=-1)


def _halfspace_from_space(space: Array) -> Array:
    """``1/(x0 - x_d)``, where ``x_d > 0`` as ``(x0 + x_d)/(1 + |x_floor|^2)``, which does not cancel."""
    floor, last = space[..., :-1], space[..., -1:]
    time = np.hypot(1.0, _norm(space))
    height = np.where(last > 0.0, (time + last) / (1.0 + _norm(floor) ** 2), 1.0 / (time + np.abs(last)))
    return np.concatenate([floor * height, height], axis=-1)


def _scaled_length(v: Array, curvature: float) -> tuple[Array, Array]:
    """``r = sqrt(c) |v|`` as a sum of two doubles; the digits beyond a double count r times as much in sinh(r)."""
    high, low = _scaled_squares(v, curvature)
    double_double.roots(high.ravel(), low.ravel())
    return high, low


def _tangent_to_space(v: Array, curvature: float) -> Array:
    """``sinh(r) v/|v|``."""
    high, low = _scaled_length(v, curvature)
    correction = np.where(high > 0.0, np.cosh(high) * low / np.where(high > 0.0, high, 1.0), 0.0)
    return np.sqrt(curvature) * v * (sinhc(high) + correction)


def _tangent_from_space(space: Array) -> Array:
    return space * arcsinhc(_norm(space))


def _polar_to_space(x: Array, curvature: float) -> Array:
    high, low = _scaled_length(x[..., :1], curvature)
    direction = x[..., 1:]
    if x.shape[-1] == 2:
        direction = np.concatenate([np.cos(direction), np.sin(direction)], axis=-1)
    return (np.sinh(high) + np.cosh(high) * low) * (direction / _norm(direction))


def _polar_from_space(space: Array, scale: float, has_angle: bool) -> Array:
    """The origin has the angle 0, or the first axis as its direction."""
    if space.shape[-1] < 2:
        raise ValueError("polar coordinates are for the plane and higher dimensions")
    length = _norm(space)
    if has_angle:
        direction = np.arctan2(space[..., 1:], space[..., :1])
    else:
        direction = np.where(length > 0.0, space / np.where(length > 0.0, length, 1.0), np.eye(1, space.shape[-1])[0])
    return np.concatenate([np.arcsinh(length) / scale, direction], axis=-1)


_TO_SPACE: dict[str, Callable[[Array, float], Array]] = {
    "lorentz": lambda x, curvature: np.sqrt(curvature) * x[..., 1:],
    "poincare": _poincare_to_space,
    "klein": _klein_to_space,
    "halfspace": _halfspace_to_space,
    "tangent": _tangent_to_space,
    "hyperboloid": lambda space, curvature: np.sqrt(curvature) * space,
    "polar": _polar_to_space,
    "lorentz-last": lambda x, curvature: np.sqrt(curvature) * x[..., :-1],
}
_FROM_SPACE: dict[str, Callable[[Array], Array]] = {
    "lorentz": lift,
    "poincare": _poincare_from_space,
    "klein": _klein_from_space,
    "halfspace": _halfspace_from_space,
    "tangent": _tangent_from_space,
    "hyperboloid": lambda space: space,
    "lorentz-last": lambda space: np.roll(lift(space), -1, axis=-1),
}
