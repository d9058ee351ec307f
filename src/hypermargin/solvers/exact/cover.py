"""Boxes that cover the sphere of directions, and the chord each of them implies.

Every direction ``v`` in R^d meets the surface of the cube ``[-1, 1]^d``; a box is an axis-parallel piece of one of its
2d faces. Halving boxes keeps the cover exact, in dyadic numbers, so that a checker can verify it without rounding.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from hypermargin.arrays import Array


class Box(NamedTuple):
    """The directions through ``low <= x <= high``, a piece of the face ``x[axis] = side``, side -1 or 1."""

    axis: int
    side: int
    low: tuple[float, ...]
    high: tuple[float, ...]

    def halves(self) -> tuple["Box", ...]:
        """The two halves across the longest edge (nothing for d = 1, where a face is a single direction)."""
        edges = [high - low for low, high in zip(self.low, self.high, strict=True)]
        longest = max(edges)
        if longest == 0.0:
            return ()
        j = edges.index(longest)
        middle = (0.5 * (self.low[j] + self.high[j]),)
        return (
            self._replace(high=self.high[:j] + middle + self.high[j + 1 :]),
            self._replace(low=self.low[:j] + middle + self.low[j + 1 :]),
        )

    def chord(self) -> tuple[Array, float] | None:
        """Unit vector u and kappa with ``u.v >= kappa |v|`` for every direction v of the box; None if it is too wide.

        Points of the box lie within rho (half its diagonal) of its centre c, so their angle to c is at most
        ``asin(rho / |c|)`` and ``kappa = sqrt(1 - rho^2 / |c|^2)``.
        """
        corners = list(zip(self.low, self.high, strict=True))
        centre = [0.5 * (low + high) for low, high in corners]
        square = sum(c * c for c in centre)
        ratio = 0.25 * sum((high - low) ** 2 for low, high in corners) / square
        if ratio >= 1.0:
            return None
        length = sqrt(square)
        return np.array([c / length for c in centre]), sqrt(1.0 - ratio)


def faces(dim: int) -> list[Box]:
    """The 2d faces of the cube: the coarsest cover."""
    boxes = []
    for axis in range(dim):
        for side in (-1, 1):
            corners = [tuple(float(side) if j == axis else edge for j in range(dim)) for edge in (-1.0, 1.0)]
            boxes.append(Box(axis, side, corners[0], corners[1]))
    return boxes
