"""``S = sinh^2(d/2)`` of all pairs of points, right to a few units in the last place for near and for far points.

Every kernel here is a function of S. With ``A = e^r = |xr| + x0`` and the direction ``n = xr/|xr|`` of a point at
radius r, the hyperbolic law of haversines reads

    S = (A - B)^2 / (4 A B) + sinh(rx) sinh(ry) |nx - ny|^2 / 4,

in which no term is negative. What could cancel are the differences ``A - B`` and ``nx - ny``, so ``A - 1`` and n are
computed to twice the digits, once for each point: ``(high - high') + (low - low')`` then has the relative accuracy of a
double, down to distances of 1e-16 at radius 16, and of any size near the origin. (Differences of the coordinates
themselves lose ``e^r`` of it.) Only ``xr`` is read, as everywhere in this package: ``x0`` follows from it.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import array_api_compat

from hypermargin.geometry.compiled.double_double import DoubleDouble, add, divide, from_product, square_root
from hypermargin.geometry.validation import FARTHEST_RADIUS, check_points

#: Entries of a tile: the ten or so temporary arrays of a tile, 128 kB each, stay in the cache.
TILE_ENTRIES = 1 << 14
TILE_COLUMNS = 1 << 10
#: Entries of a tile on a device, which wants few large steps: ten arrays of them take 1.3 GB.
DEVICE_TILE_ENTRIES = 1 << 24


@dataclass(frozen=True, eq=False)
class PolarPoints:
    """Points prepared for `half_chords`: a column of `table`, shape (4 + 2 d, n), for each of n points in dimension d.

    Its rows are the high and the low part of ``e^r - 1``, then ``e^-r/2`` and ``sinh(r)/2``, then the high and the low
    part of the direction along each axis. `space` are the coordinates ``xr``, (n, d).
    """

    space: Any
    table: Any

    @property
    def dim(self) -> int:
        return self.space.shape[1]

    def __len__(self) -> int:
        return self.space.shape[0]

    def __getitem__(self, rows: Any) -> "PolarPoints":
        """Some of the points: a slice, or an array of their indices."""
        return PolarPoints(self.space[rows], self.table[:, rows])


def polar_points(X: Any) -> PolarPoints:
    """Prepare Lorentz points X, shape (n, d + 1), a NumPy array or that of another library in double precision."""
    xp = array_api_compat.array_namespace(X)
    space = [X[:, j] for j in range(1, X.shape[1])]
    zero, one = xp.zeros_like(space[0]), xp.ones_like(space[0])
    largest = abs(space[0])
    for axis in space[1:]:
        largest = xp.maximum(largest, abs(axis))
    # Squares of coordinates below 2^-400 would lose digits; larger ones are not touched.
    scale = xp.where(largest < 2.0**-400, one * 2.0**600, one)
    scaled = [axis * scale for axis in space]
    square = from_product(scaled[0], scaled[0])
    for axis in scaled[1:]:
        square = add(square, from_product(axis, axis))
    length = square_root(square, xp)
    at_origin = length.high == 0.0  # which has no direction, and needs none
    safe = DoubleDouble(xp.where(at_origin, one, length.high), xp.where(at_origin, zero, length.low))
    directions = [part for axis in scaled for part in divide(DoubleDouble(axis, zero), safe)]
    square = DoubleDouble(square.high / scale / scale, square.low / scale / scale)
    length = DoubleDouble(length.high / scale, length.low / scale)
    time = square_root(add(square, DoubleDouble(one, zero)), xp)
    growth = add(length, divide(square, add(time, DoubleDouble(one, zero))))  # |xr| + (x0 - 1)
    return PolarPoints(
        X[:, 1:], xp.stack([*growth, 0.5 / (length.high + time.high), 0.5 * length.high, *directions], axis=0)
    )


def half_chords(x: Any, y: Any) -> Any:
    """``sinh^2(d/2)`` from tables of `PolarPoints`, whose entries broadcast against each other."""
    radial = (x[0] - y[0]) + (x[1] - y[1])
    total = None
    for k in range(4, x.shape[0], 2):
        difference = (x[k] - y[k]) + (x[k + 1] - y[k + 1])
        difference = difference * difference
        total = difference if total is None else total + difference
    return radial * radial * (x[2] * y[2]) + total * (x[3] * y[3])


def of_pairs(function: Callable[[Any, Any], Any], x: PolarPoints, y: PolarPoints | None = None) -> Any:
    """The matrix ``function(S, xp)`` of all pairs, shape (n, m), a tile at a time; symmetric where y is None.

    `function` works elementwise. Tiles of NumPy arrays are shared out among threads (NumPy lets go of the interpreter).
    """
    xp = array_api_compat.array_namespace(x.table)
    other = x if y is None else y
    matrix = xp.empty((len(x), len(other)), dtype=x.table.dtype, device=array_api_compat.device(x.table))
    on_numpy = array_api_compat.is_numpy_array(x.table)
    tiles = list(_tiles(len(x), len(other), y is None, on_numpy))

    def fill(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        values = function(half_chords(x.table[:, rows, None], other.table[:, None, columns]), xp)
        matrix[rows, columns] = values
        if y is None:
            mirrored = slice(max(rows.stop, columns.start), columns.stop)
            matrix[mirrored, rows] = values[:, mirrored.start - columns.start :].T

    threads = min(available_threads(), len(tiles) // 4) if on_numpy else 1
    if threads <= 1:
        for tile in tiles:
            fill(tile)
    else:
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(fill, tiles):
                pass
    return matrix


def available_threads() -> int:
    """The processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def checked_points(X: Any, name: str = "X") -> Any:
    """X as Lorentz points, shape (n, d + 1), in double precision, or a `ValueError`."""
    if not array_api_compat.is_array_api_obj(X) or array_api_compat.is_numpy_array(X):
        return check_points(X, largest=FARTHEST_RADIUS)
    xp = array_api_compat.array_namespace(X)
    if X.ndim != 2 or X.shape[1] < 2 or X.shape[0] == 0:
        raise ValueError(f"{name} must be an (n, d + 1) array of Lorentz points, got shape {tuple(X.shape)}")
    if X.dtype != xp.float64:
        raise ValueError(f"{name} must be in double precision, got {X.dtype}: kernels of single precision are no proof")
    residual = X[:, 0] * X[:, 0] - xp.sum(X[:, 1:] * X[:, 1:], axis=1) - 1.0
    if not bool(xp.all(xp.abs(residual) <= 1e-6 * X[:, 0] * X[:, 0])):
        raise ValueError(f"{name} holds rows that are not on the hyperboloid x0^2 - |xr|^2 = 1")
    return X


def _tiles(n: int, m: int, symmetric: bool, on_numpy: bool) -> Iterator[tuple[slice, slice]]:
    """Blocks that cover an (n, m) matrix; of a symmetric one those that cover the part on and above the diagonal."""
    width = max(1, min(m, TILE_COLUMNS if on_numpy else m))
    height = max(1, (TILE_ENTRIES if on_numpy else DEVICE_TILE_ENTRIES) // width)
    for top in range(0, n, height):
        for left in range(top if symmetric else 0, m, width):
            yield slice(top, min(n, top + height)), slice(left, min(m, left + width))
