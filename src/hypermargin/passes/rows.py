"""Rows as a user gave them, a piece at a time: what is asked of them before anything is fitted."""

from dataclasses import dataclass
from typing import Any

import numpy as np


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


def check_lengths(n: int, y: Any = None, sample_weight: Any = None) -> None:
    """Refuse labels and weights of another number than the rows, as for arrays in memory."""
    if y is not None and _length(y) != n:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[n, _length(y)]}")
    if sample_weight is not None and _length(sample_weight) != n:
        shape = tuple(getattr(sample_weight, "shape", None) or np.shape(sample_weight))
        raise ValueError(f"sample_weight must have shape ({n},), got {shape}")


def _length(values: Any) -> int:
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)
