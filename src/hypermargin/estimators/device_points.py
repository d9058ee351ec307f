"""Coordinates on a device to space parts of unit Lorentz points, as `geometry.models` does it in NumPy."""

from typing import Any

from array_api_compat import array_namespace

from hypermargin.geometry.validation import MAX_RADIUS, PointError


def device_space(X: Any, geometry: str, scale: float, start: int = 0) -> Any:
    """Space parts, shape (n, d), of rows in the coordinates `geometry`; `scale` is the root of the curvature.

    A `PointError` names the first row outside the model, counted from `start`. Plain double precision: near the rim of
    a ball NumPy arrays keep more digits.
    """
    xp = array_namespace(X)

    def refuse(marks: Any, complaint: str) -> None:
        if bool(xp.any(marks)):
            raise PointError(start + first_mark(xp, marks), complaint)

    if geometry == "lorentz":
        time, space = scale * X[:, 0], scale * X[:, 1:]
        level = time * time - xp.sum(space * space, axis=1)
        refuse((time <= 0.0) | (xp.abs(level - 1.0) > 1e-6 * time * time), "is not on the hyperboloid; see geometry=")
        return space
    if geometry == "halfspace":
        floor, height = X[:, :-1], X[:, -1:]
        refuse(height[:, 0] <= 0.0, "is not in the upper half-space")
        last = 0.5 * ((height - 1.0) * (1.0 + 1.0 / height) + xp.sum(floor * (floor / height), axis=1, keepdims=True))
        return xp.concat([floor / height, last], axis=1)
    scaled = scale * X
    square = xp.sum(scaled * scaled, axis=1, keepdims=True)
    if geometry == "tangent":
        length = xp.sqrt(square)
        refuse(length[:, 0] > MAX_RADIUS, f"is a tangent vector longer than {MAX_RADIUS:.0f}; scale the data")
        small = length < 1e-4
        safe = xp.where(small, xp.ones_like(length), length)
        return scaled * xp.where(small, 1.0 + square / 6.0, xp.sinh(safe) / safe)
    refuse(square[:, 0] >= 1.0, f"is not inside the ball of the {geometry} model")
    return 2.0 * scaled / (1.0 - square) if geometry == "poincare" else scaled / xp.sqrt(1.0 - square)


def first_mark(xp: Any, marks: Any) -> int:
    """The first place that is marked."""
    return int(xp.argmax(xp.astype(marks, xp.int8)))
