"""Fingerprints of samples that do not depend on their order, nor on where they lie: sums of a hash per sample.

A margin problem is a set of weighted, labelled points. Its fingerprints are sums modulo 2^64 of hashes of its points,
of points with their labels, and of points with labels and weights; so pieces on a device or a cluster make their own
sums, and all homes of the same samples agree. They tell problems apart by accident, not against an adversary: what a
certificate proves is recomputed from the data anyway.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.data.compiled import hashes
from hypermargin.data.device import DeviceSamples, has_kernels, partial_sums, to_numpy
from hypermargin.problems.margin import BinaryProblem, MarginProblem

#: Odd multipliers (from the golden ratio and from MurmurHash3), as signed numbers of 64 bits.
FIRST, SECOND = 0x9E3779B97F4A7C15 - (1 << 64), 0xFF51AFD7ED558CCD - (1 << 64)
#: What shifts of unsigned numbers by 32 and by 29 bits leave.
LOWER_HALF, LOWER_BITS = (1 << 32) - 1, (1 << 35) - 1
#: Hashes have 64 bits.
MODULUS = 1 << 64
#: The weights of samples that have none.
ALL_ONE = np.ones(1)


def fingerprints(problem: BinaryProblem) -> tuple[str, str, str | None]:
    """Of the points, the labels and the weights (None where all are 1), 16 hexadecimal digits each."""
    sums, weighted = [0, 0, 0], False
    for parts, differs in problem.map_blocks(_piece_sums):
        sums = [(total + part) % MODULUS for total, part in zip(sums, parts, strict=True)]
        weighted |= differs
    return _written(sums, weighted)


def _written(sums: list[int], weighted: bool) -> tuple[str, str, str | None]:
    points, labels, weights = (f"{total % MODULUS:016x}" for total in sums)
    return points, labels, weights if weighted else None


def array_fingerprint(values: Any) -> str:
    """Of the numbers of one array, in their order."""
    words = _words(np, np.asarray(values, dtype=np.float64).ravel())
    places = np.arange(words.size, dtype=np.int64)
    return f"{int(np.sum(_hashed(np, [places, words]))) % MODULUS:016x}"


def _piece_sums(piece: MarginProblem | DeviceSamples) -> tuple[list[int], bool]:
    if isinstance(piece, DeviceSamples) and has_kernels(piece):
        numbers = piece.xp.asarray(np.array([FIRST, SECOND, LOWER_HALF, LOWER_BITS]), device=piece.space.device)
        *totals, others = to_numpy(partial_sums("fingerprints", piece, numbers, 4)).sum(axis=0).tolist()
        return totals, others > 0
    if isinstance(piece, DeviceSamples):
        return _summed(_blocks(piece))
    return _compiled_sums(piece.X, 1, piece.y, piece.sample_weight)


def sample_fingerprints(space: Array, side: Array, weight: Array | None) -> tuple[str, str, str | None]:
    """Those of samples in memory: rows that tell them apart, shape (n, width), labels and weights (n,)."""
    return _written(*_compiled_sums(space, 0, side, weight))


def sample_names(problem: MarginProblem, rows: slice | NDArray[np.intp] = slice(None)) -> NDArray[np.int64]:
    """The hash of point, label and weight of every sample in memory, or of some.

    Equal samples have one name, whatever their order and their data source.
    """
    X, y = problem.X[rows], problem.y[rows]
    weight = None if problem.sample_weight is None else problem.sample_weight[rows]
    names = np.empty(len(y), dtype=np.uint64)
    weights = ALL_ONE if weight is None else np.asarray(weight, dtype=np.float64)
    hashes.sample_hashes(np.asarray(X, dtype=np.float64), 1, np.asarray(y, dtype=np.float64), weights, names)
    return names.view(np.int64)


def are_named(piece: DeviceSamples, names: NDArray[np.int64]) -> Any:
    """Which samples on a device have one of these names, as an array of the device; those that sit out do not."""
    xp = piece.xp
    known = xp.asarray(np.unique(names), device=device(piece.space))
    marks = []
    for block in _blocks(piece):
        found = _hashes(*block)[2]
        places = xp.clip(xp.searchsorted(known, found), 0, int(known.shape[0]) - 1)
        marks.append((xp.take(known, places) == found) & (block[2] != 0.0))
    return xp.concat(marks)


def _compiled_sums(rows: Array, first: int, side: Array, weight: Array | None) -> tuple[list[int], bool]:
    """`_summed` for arrays in memory; of every row the entries from number `first` on."""
    rows, side = np.asarray(rows, dtype=np.float64), np.asarray(side, dtype=np.float64)
    weights = ALL_ONE if weight is None else np.asarray(weight, dtype=np.float64)
    *totals, weighted = hashes.hash_sums(rows, first, side, weights)
    return totals, bool(weighted)


def _summed(blocks: Iterable[tuple[Any, Any, Any, Any]]) -> tuple[list[int], bool]:
    totals, weighted = [0, 0, 0], False
    for xp, space, side, weight in blocks:
        used = xp.astype(side != 0, xp.int64)
        sums = to_numpy(xp.stack([xp.sum(used * each) for each in _hashes(xp, space, side, weight)])).tolist()
        totals = [total + part for total, part in zip(totals, sums, strict=True)]
        weighted |= bool(xp.any((weight != 1.0) & (side != 0)))
    return totals, weighted


def _hashes(xp: Any, space: Any, side: Any, weight: Any) -> tuple[Any, Any, Any]:
    """The hashes of points, of points with labels, and of those with weights."""
    of_points = _hashed(xp, [_words(xp, space[:, j]) for j in range(space.shape[1])])
    of_labels = _hashed(xp, [of_points, xp.astype(side, xp.int64)])
    return of_points, of_labels, _hashed(xp, [of_labels, _words(xp, weight)])


def _blocks(piece: DeviceSamples) -> Iterator[tuple[Any, Any, Any, Any]]:
    for block in piece.blocks(8):
        yield piece.xp, block.space, block.side, block.weight


def _words(xp: Any, values: Any) -> Any:
    """The bits of doubles as integers; 0 and -0 are the same number.

    The array API has no function for that. Libraries of devices have a method; others go by the host.
    """
    values = values + 0.0
    if hasattr(values, "view"):
        return values.view(xp.int64)
    return xp.asarray(np.ascontiguousarray(to_numpy(values)).view(np.int64), device=device(values))


def _hashed(xp: Any, words: list[Any]) -> Any:
    """One integer per row from several: multiplications and shifts in turn, modulo 2^64."""
    hashes = xp.zeros_like(words[0]) + FIRST
    for word in words:
        hashes = (hashes ^ word) * FIRST
        hashes = hashes ^ ((hashes >> 32) & LOWER_HALF)
    hashes = hashes * SECOND
    return hashes ^ ((hashes >> 29) & LOWER_BITS)
