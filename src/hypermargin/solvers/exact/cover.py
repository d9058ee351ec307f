"""Boxes that cover the sphere of directions, and the chord each of them implies.

Every direction ``v`` in R^d meets the surface of the cube ``[-1, 1]^d``; a `DirectionBox` is an axis-parallel piece of
one of its 2d faces. Halving boxes keeps the cover exact, in dyadic numbers, so that a checker can verify it without
rounding.
"""

from dataclasses import replace
from math import sqrt

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates import DirectionBox


def faces(dim: int) -> list[DirectionBox]:
    """The 2d faces of the cube: the coarsest cover."""
    boxes = []
    for axis in range(dim):
        for side in (-1, 1):
            low, high = np.full(dim, -1.0), np.full(dim, 1.0)
            low[axis] = high[axis] = side
            boxes.append(DirectionBox(axis, side, low, high))
    return boxes


def halves(box: DirectionBox) -> list[DirectionBox]:
    """The two halves across the longest edge (nothing for d = 1, where a face is a single direction)."""
    edges = box.high - box.low
    j = int(np.argmax(edges))
    if edges[j] == 0.0:
        return []
    below, above = box.high.copy(), box.low.copy()
    below[j] = above[j] = 0.5 * (box.low[j] + box.high[j])
    return [replace(box, high=below), replace(box, low=above)]


def chord(box: DirectionBox) -> tuple[Array, float] | None:
    """Unit vector u and kappa with ``u.v >= kappa |v|`` for every direction v of the box; None if it is too wide.

    Points of the box lie within rho (half its diagonal) of its centre c, so their angle to c is at most
    ``asin(rho / |c|)`` and ``kappa = sqrt(1 - rho^2 / |c|^2)``.
    """
    corners = list(zip(box.low.tolist(), box.high.tolist(), strict=True))
    centre = [0.5 * (low + high) for low, high in corners]
    square = sum(c * c for c in centre)
    ratio = 0.25 * sum((high - low) ** 2 for low, high in corners) / square
    if ratio >= 1.0:
        return None
    length = sqrt(square)
    return np.array([c / length for c in centre]), sqrt(1.0 - ratio)
