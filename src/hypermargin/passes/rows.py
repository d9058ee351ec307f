"""Rows as a user gave them, a piece at a time: what is asked of them before anything is fitted."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Rows:
    """Coordinates, shape (rows, width), labels and weights (rows,) of a piece, of any library and any dtype."""

    X: Any
    y: Any = None
    weight: Any = None

    def __len__(self) -> int:
        return self.X.shape[0]
