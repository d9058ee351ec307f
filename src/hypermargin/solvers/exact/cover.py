"""Boxes that cover the sphere of directions, and the chord each of them implies.

Every direction ``v`` in R^d meets the surface of the cube ``[-1, 1]^d``; a box is an axis-parallel piece of one of its
2d faces. Halving boxes keeps the cover exact, in dyadic numbers, so that a checker can verify it without rounding.
"""

from dataclasses import dataclass

import numpy as np

from hypermargin.geometry.lorentz import Array


@dataclass(frozen=True, eq=False)
class Box:
    """The directions through ``low <= x <= high``, a piece of the face ``x[axis] = side``, side -1 or 1."""

    axis: int
    side: int
    low: Array
    high: Array

    def halves(self) -> tuple["Box", ...]:
        """The two halves across the longest edge (nothing for d = 1, where a face is a single direction)."""
        edges = self.high - self.low
        edges[self.axis] = 0.0
        j = int(np.argmax(edges))
        if edges[j] == 0.0:
            return ()
        middle = 0.5 * (self.low[j] + self.high[j])
        lower_high, upper_low = self.high.copy(), self.low.copy()
        lower_high[j] = upper_low[j] = middle
        return Box(self.axis, self.side, self.low, lower_high), Box(self.axis, self.side, upper_low, self.high)

    def chord(self) -> tuple[Array, float] | None:
        """Unit vector u and kappa with ``u.v >= kappa |v|`` for every direction v of the box; None if it is too wide.

        Points of the box lie within rho (half its diagonal) of its centre c, so their angle to c is at most
        ``asin(rho / |c|)`` and ``kappa = sqrt(1 - rho^2 / |c|^2)``.
        """
        centre = 0.5 * (self.low + self.high)
        square = float(centre @ centre)
        ratio = 0.25 * float(np.sum((self.high - self.low) ** 2)) / square
        if ratio >= 1.0:
            return None
        return centre / np.sqrt(square), float(np.sqrt(1.0 - ratio))


def faces(dim: int) -> list[Box]:
    """The 2d faces of the cube: the coarsest cover."""
    boxes = []
    for axis in range(dim):
        for side in (-1, 1):
            low, high = -np.ones(dim), np.ones(dim)
            low[axis] = high[axis] = side
            boxes.append(Box(axis, side, low, high))
    return boxes
