"""Arrays: the type that the whole package passes around, and large ones taken in pieces of rows.

Pieces keep temporary arrays small beside the data and in the cache.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Rows of a piece: some temporary columns of this length fit into the cache, and a NumPy call on one costs little.
BLOCK_ROWS = 1 << 14


def row_blocks(n: int, most: int | None = None) -> list[slice]:
    """The rows 0 to n as consecutive slices of at most `most`, by default `BLOCK_ROWS`."""
    most = BLOCK_ROWS if most is None else most
    return [slice(start, start + most) for start in range(0, n, most)]


def rowwise(function: Callable[..., NDArray[Any]], X: NDArray[Any], *arguments: Any) -> NDArray[Any]:
    """``function(X, *arguments)`` of a function that makes one number of each row, a block of rows at a time."""
    if len(X) <= BLOCK_ROWS:
        return function(X, *arguments)
    return np.concatenate([function(X[rows], *arguments) for rows in row_blocks(len(X))])


def repeated(value: float, n: int) -> Array:
    """A number that is read n times, in the memory of one; read-only. As `numpy.broadcast_to`, but quick for few."""
    values: Array = np.ndarray((n,), np.float64, np.array([value]), 0, (0,))
    values.flags.writeable = False
    return values
