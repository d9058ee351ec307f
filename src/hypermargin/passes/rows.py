"""Rows as a user gave them, a piece at a time: what is asked of them before anything is fitted."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Rows:
    """Coordinates, shape (rows, width), labels and weights (rows,) of a piece, of any library and any dtype."""

    X: Any
    y: Any = None
    weight: Any = None

    def __sizeof__(self) -> int:
        """Bytes with the arrays: a cluster that takes pieces for small moves them about."""
        return object.__sizeof__(self) + sum(getattr(v, "nbytes", 0) for v in (self.X, self.y, self.weight))

    def __len__(self) -> int:
        return self.X.shape[0]
