"""Kernels so local that most values are negligible: in a hyperbolic space most points are far from each other.

Values fall as the distance grows, so the pairs that count are those with ``S = sinh^2(d/2)`` below a limit. To find
them costs a few operations for each pair; kernel values are computed for them only.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.kernels.base import Kernel
from hypermargin.kernels.chords import PolarPoints, available_threads
from hypermargin.kernels.compiled.nearby import near_points

#: Points that are looked at to see whether a kernel is local, and the share of all pairs that may count if it is.
LOOKED_AT, LOCAL_SHARE = 64, 0.15
#: Values below this are as good as 0 beside the rounding errors of others.
TINY = 1e-16


def is_local(kernel: object, points: PolarPoints, others: PolarPoints, negligible: float = TINY) -> bool:
    """Whether few pairs of points have a value of `negligible` or more; judged from some of the points."""
    if not isinstance(kernel, Kernel) or kernel.conditional or not len(others):
        return False
    some = np.linspace(0, len(points) - 1, min(LOOKED_AT, len(points))).astype(np.intp)
    return float(np.mean(kernel.between(points[some], others) >= negligible)) <= LOCAL_SHARE


class NearPoints:
    """Points among which those near another are found, with their kernel values; all values left out are negligible.

    `omitted` bounds them, rounding of S and of the values included.
    """

    def __init__(self, kernel: Kernel, points: PolarPoints, negligible: float = TINY):
        self.kernel, self.dim = kernel, points.dim
        self.table = np.ascontiguousarray(points.table)
        exponents = np.linspace(-16.0, 300.0, 31601)  # of S: those of points at radius 345 reach 10^299
        counts = np.flatnonzero(kernel.profile(10.0**exponents, self.dim, np) >= negligible)
        self.limit = float(10.0 ** exponents[min(counts[-1] + 1, exponents.size - 1)]) if counts.size else 0.0
        relative, absolute = kernel.rounding(self.dim)
        beyond = float(kernel.profile(np.array([self.limit * (1.0 - 1e-9)]), self.dim, np)[0])
        self.omitted = beyond * (1.0 + 2.0 * relative) + absolute

    def __len__(self) -> int:
        return self.table.shape[1]

    def rows(self, columns: Array) -> list[tuple[NDArray[np.int32], Array]]:
        """For every column of a table of `PolarPoints`: the places of the points near it, and the kernel values."""
        places, chords = np.empty(len(self), dtype=np.int32), np.empty(len(self))
        found = []
        for column in np.ascontiguousarray(columns.T):
            count = near_points(self.table, column, self.limit, places, chords)
            found.append((places[:count].copy(), self.kernel.profile(chords[:count], self.dim, np)))
        return found

    def products(self, others: PolarPoints, weights: Array) -> Array:
        """``K weights`` without what is negligible, K between the points and m others: (m, k) to (n, k).

        Every sum has at most ``m + 64`` terms, in some order.
        """
        threads = max(1, min(available_threads(), 64, len(others) // 64))

        def part(own: slice) -> Array:
            sums = np.zeros((len(self), weights.shape[1]))
            for start in range(own.start, own.stop, 64):  # so that few rows are held at a time
                batch = slice(start, min(own.stop, start + 64))
                for (places, values), weight in zip(self.rows(others.table[:, batch]), weights[batch], strict=True):
                    sums[places] += values[:, None] * weight
            return sums

        ends = np.linspace(0, len(others), threads + 1).astype(int).tolist()
        shares = [slice(*pair) for pair in pairwise(ends)]
        if threads == 1:
            return part(shares[0])
        with ThreadPoolExecutor(threads) as pool:
            return np.sum(list(pool.map(part, shares)), axis=0)
