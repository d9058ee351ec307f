"""The array type of the package, and large arrays processed in blocks of rows.

Blocks keep temporary arrays small compared with the data, and in the cache.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Rows of a block: a column takes 128 kB, so that several fit into the cache, and the overhead of a NumPy call (about a
#: microsecond) is small beside the work on one.
BLOCK_ROWS = 1 << 14


def row_blocks(n: int, most: int | None = None) -> list[slice]:
    """The rows 0 to n as consecutive slices of at most `most`, by default `BLOCK_ROWS`."""
    most = BLOCK_ROWS if most is None else most
    return [slice(start, start + most) for start in range(0, n, most)]


def rowwise(function: Callable[..., NDArray[Any]], X: NDArray[Any], *arguments: Any) -> NDArray[Any]:
    """``function(X, *arguments)``, one number per row, evaluated a block of rows at a time."""
    if len(X) <= BLOCK_ROWS:
        return function(X, *arguments)
    return np.concatenate([function(X[rows], *arguments) for rows in row_blocks(len(X))])


def repeated(value: float, n: int) -> Array:
    """A read-only array of n equal numbers in the memory of one: `numpy.broadcast_to`, but faster for small n."""
    values: Array = np.ndarray((n,), np.float64, np.array([value]), 0, (0,))
    values.flags.writeable = False
    return values
