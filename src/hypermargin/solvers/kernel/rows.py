"""Rows of a kernel matrix that is too large to be held: computed when asked for, the latest kept."""

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.problems.kernel import KernelProblem


class RowCache:
    """`take` gives rows of the kernel matrix; those asked for longest ago make room for new ones."""

    def __init__(self, problem: KernelProblem):
        self.problem = problem
        n = problem.n_samples
        capacity = 0 if problem.gram is not None else min(n, max(1, problem.cache_bytes // (8 * n)))
        self.rows = np.empty((capacity, n))
        self.slot_of = np.full(n, -1)  # where the row of a sample is, if anywhere
        self.sample_in = np.full(capacity, -1)
        self.last_use = np.full(capacity, -1)
        self.clock = 0

    def take(self, samples: NDArray[np.intp]) -> Array:
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
