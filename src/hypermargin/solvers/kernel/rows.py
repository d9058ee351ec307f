"""Rows of a kernel matrix that is too large to be held: computed when asked for, the latest kept.

A solver asks for the matrix among some samples, and for changes of the gradient ``K beta - y``. `DenseRows` holds
whole rows. `NearRows` holds what is not negligible of them, for kernels so local that this is little: in a hyperbolic
space most points are far from each other, so a row of 80,000 values may have a few hundred that count.
"""

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.kernels import Kernel
from hypermargin.kernels.chords import available_threads
from hypermargin.kernels.near import NearPoints, is_local
from hypermargin.problems.kernel import KernelProblem

Indices = NDArray[np.intp]

#: Values below this are left out by `NearRows`. The gradient is computed anew from all values before the end.
NEGLIGIBLE = 1e-10


class DenseRows:
    """Rows of the kernel matrix; those asked for longest ago make room for new ones."""

    def __init__(self, problem: KernelProblem):
        self.problem = problem
        n = problem.n_samples
        capacity = 0 if problem.gram is not None else min(n, max(1, problem.cache_bytes // (8 * n)))
        self.rows = np.empty((capacity, n))
        self.slot_of = np.full(n, -1)  # where the row of a sample is, if anywhere
        self.sample_in = np.full(capacity, -1)
        self.last_use = np.full(capacity, -1)
        self.clock = 0

    def among(self, samples: Indices) -> Array:
        """The kernel matrix of some samples."""
        self.latest = samples, self.take(samples)
        return np.ascontiguousarray(self.latest[1][:, samples])

    def add_products(self, gradient: Array, samples: Indices, moved: Indices, change: Array) -> None:
        """Add ``change @ K`` of the samples ``samples[moved]`` to a gradient in place."""
        own = self.latest[1] if self.latest[0] is samples else self.take(samples)
        gradient += change @ own[moved]

    def take(self, samples: Indices) -> Array:
        """The rows of some samples, shape (len(samples), n), in their order."""
        if self.problem.gram is not None:
            return self.problem.values(samples)
        self.clock += 1
        missing = samples[self.slot_of[samples] < 0]
        if samples.size > len(self.rows):
            return self.problem.values(samples)
        held = self.slot_of[samples]
        self.last_use[held[held >= 0]] = self.clock
        if missing.size:
            slots = np.argpartition(self.last_use, missing.size - 1)[: missing.size]
            evicted = self.sample_in[slots]
            self.slot_of[evicted[evicted >= 0]] = -1
            self.rows[slots] = self.problem.values(missing)
            self.slot_of[missing], self.sample_in[slots], self.last_use[slots] = slots, missing, self.clock
        return self.rows[self.slot_of[samples]]


class NearRows:
    """The values of each row that are not negligible, with their places; rows asked for longest ago make room."""

    def __init__(self, problem: KernelProblem):
        assert isinstance(problem.kernel, Kernel)
        self.near = NearPoints(problem.kernel, problem.own_points, NEGLIGIBLE)
        self.room = problem.cache_bytes // 12  # a value and its place
        self.held: OrderedDict[int, tuple[NDArray[np.int32], Array]] = OrderedDict()
        self.size = 0
        self.place_of = np.full(problem.n_samples, -1)

    def among(self, samples: Indices) -> Array:
        """The kernel matrix of some samples, 0 for what is negligible."""
        rows = self._take(samples)
        small = np.zeros((samples.size, samples.size))
        self.place_of[samples] = np.arange(samples.size)
        for i, (places, values) in enumerate(rows):
            own = self.place_of[places]
            there = own >= 0
            small[i, own[there]] = values[there]
        self.place_of[samples] = -1
        return small

    def add_products(self, gradient: Array, samples: Indices, moved: Indices, change: Array) -> None:
        """Add ``change @ K`` of the samples ``samples[moved]`` to a gradient in place."""
        for (places, values), weight in zip(self._take(samples[moved]), change.tolist(), strict=True):
            gradient[places] += weight * values

    def neighbours(self, sample: int, least: float) -> NDArray[np.int32]:
        """The samples whose kernel value with one of them is at least so large, itself included."""
        ((places, values),) = self._take(np.array([sample]))
        return places[values >= least]

    def _take(self, samples: Indices) -> list[tuple[NDArray[np.int32], Array]]:
        wanted = samples.tolist()
        missing = [i for i in wanted if i not in self.held]
        threads = min(available_threads(), 1 + len(missing) // 32)
        if threads == 1:
            made = self.near.rows(self.near.table[:, missing])
        else:
            with ThreadPoolExecutor(threads) as pool:
                shares = [missing[k::threads] for k in range(threads)]
                parts = list(pool.map(lambda share: self.near.rows(self.near.table[:, share]), shares))
            missing = [i for share in shares for i in share]
            made = [row for part in parts for row in part]
        fresh = dict(zip(missing, made, strict=True))
        rows = []
        for i in wanted:
            if i in self.held:
                self.held.move_to_end(i)
                rows.append(self.held[i])
            else:
                rows.append(fresh[i])
        for i, row in fresh.items():
            self.held[i] = row
            self.size += row[0].size
        while self.size > self.room and self.held:
            _, (places, _) = self.held.popitem(last=False)
            self.size -= places.size
        return rows


def make_rows(problem: KernelProblem) -> DenseRows | NearRows:
    """`NearRows` where the kernel is local on the points of the problem, and `DenseRows` where it is not."""
    if problem.gram is None and is_local(problem.kernel, problem.own_points, problem.own_points, NEGLIGIBLE):
        return NearRows(problem)
    return DenseRows(problem)
