"""Coordinates on a device to space parts of unit Lorentz points: simple rows there, doubtful ones on the host.

The device converts rows that are clearly points of the space, in plain double precision. All others (off the domain,
near the rim of a ball, too long, in half precision) go through the functions for arrays in memory: so there is one
judgement, one error message and one accuracy.
"""

from math import sinh
from typing import Any

from array_api_compat import array_namespace

from hypermargin.data.device import to_numpy
from hypermargin.data.ingest import HALF_PRECISION, Rim, block_coordinates, to_unit
from hypermargin.geometry.lorentz import curvature_scale
from hypermargin.geometry.validation import MAX_RADIUS, PointError

#: Rows of a device that are converted at a time.
ROWS_AT_A_TIME = 1 << 24
#: Points of a ball with ``1 - |p|^2`` below this are doubtful: plain doubles lose ``eps / (1 - |p|^2)`` of them.
RIM = 1e-3
#: Residuals of the hyperboloid and radii are doubtful from this share of what is allowed.
WITHIN = 0.9


def device_space(X: Any, geometry: str, curvature: float, notes_rim: bool = False) -> tuple[Any, int, Rim]:
    """Space parts, shape (n, d), how many tangent vectors were drawn in, and the rim of the ball if it is asked for.

    A `PointError` names the first row outside the model. Unit Lorentz coordinates are not copied.
    """
    xp, n = array_namespace(X), int(X.shape[0])
    as_given = geometry == "lorentz" and curvature == 1.0 and X.dtype == xp.float64
    parts, drawn_in, rim = [], 0, Rim()
    for start in range(0, n, ROWS_AT_A_TIME):
        part = X[start : min(start + ROWS_AT_A_TIME, n), :]
        try:
            space, drawn, own = _converted(xp, part, geometry, curvature, notes_rim)
        except PointError as error:
            if error.row is None:
                raise
            raise PointError(start + error.row, error.complaint) from None
        drawn_in, rim = drawn_in + drawn, Rim(rim.beyond + own.beyond, max(rim.norm, own.norm))
        if not as_given:
            parts.append(space)
    return X[:, 1:] if as_given else parts[0] if len(parts) == 1 else xp.concat(parts), drawn_in, rim


def _converted(xp: Any, X: Any, geometry: str, curvature: float, notes_rim: bool) -> tuple[Any, int, Rim]:
    name = str(X.dtype).rpartition(".")[2]
    if name in HALF_PRECISION or (geometry == "lorentz" and int(X.shape[1]) < 2) or "complex" in name:
        space, clear = None, None
    else:
        doubles = X if X.dtype == xp.float64 else xp.astype(X, xp.float64)
        space, clear = _quick_space(xp, doubles, geometry, curvature_scale(curvature))
        if bool(xp.all(clear)):
            return space, 0, Rim()
    doubtful = slice(None) if clear is None else xp.nonzero(~clear)[0]
    rows = X if clear is None else xp.take(X, doubtful, axis=0)
    try:
        values = block_coordinates(_on_host(rows), geometry, curvature)
        points, drawn_in = to_unit(values, geometry, curvature)
    except PointError:
        to_unit(block_coordinates(_on_host(X), geometry, curvature), geometry, curvature)  # names the row among all
        raise
    rim = Rim.of(values, curvature) if notes_rim else Rim()
    host = xp.asarray(points[:, 1:].copy(), device=X.device)
    if clear is None:
        return host, drawn_in, rim
    kept = xp.nonzero(clear)[0]  # not every library of the array API assigns to places
    order = xp.argsort(xp.concat([kept, doubtful]))
    return xp.take(xp.concat([xp.take(space, kept, axis=0), host]), order, axis=0), drawn_in, rim


def _on_host(X: Any) -> Any:
    """Rows in the memory of the host; tensors stay tensors, because NumPy has not all of their formats."""
    return X.detach().cpu() if hasattr(X, "detach") else to_numpy(X)


def _quick_space(xp: Any, X: Any, geometry: str, scale: float) -> tuple[Any, Any]:
    """Space parts in plain doubles, and which rows they are right for; the others may hold anything."""
    if geometry == "lorentz":
        time, space = scale * X[:, 0], scale * X[:, 1:]
        level = time * time - xp.sum(space * space, axis=1)
        clear = (time > 0.0) & (xp.abs(level - 1.0) <= WITHIN * 1e-6 * time * time)
        return space, clear & _is_within(xp, space) & xp.isfinite(time)
    if geometry == "halfspace":
        floor, height = X[:, :-1], X[:, -1:]
        clear = height[:, 0] > 0.0
        height = xp.where(height > 0.0, height, xp.ones_like(height))
        last = 0.5 * ((height - 1.0) * (1.0 + 1.0 / height) + xp.sum(floor * (floor / height), axis=1, keepdims=True))
        space = xp.concat([floor / height, last], axis=1)
        return space, clear & _is_within(xp, space)
    scaled = scale * X
    square = xp.sum(scaled * scaled, axis=1, keepdims=True)
    if geometry == "tangent":
        clear = square[:, 0] <= (WITHIN * MAX_RADIUS) ** 2
        length = xp.sqrt(xp.where(clear[:, None], square, xp.zeros_like(square)))
        small = length < 1e-4
        safe = xp.where(small, xp.ones_like(length), length)
        return scaled * xp.where(small, 1.0 + square / 6.0, xp.sinh(safe) / safe), clear
    clear = square[:, 0] <= 1.0 - RIM
    rest = xp.where(clear[:, None], 1.0 - square, xp.ones_like(square))
    return 2.0 * scaled / rest if geometry == "poincare" else scaled / xp.sqrt(rest), clear


def _is_within(xp: Any, space: Any) -> Any:
    """Which rows are clearly within the largest radius; not those that hold NaN."""
    square = xp.sum(space * space, axis=1)
    return square <= (WITHIN * sinh(MAX_RADIUS)) ** 2
