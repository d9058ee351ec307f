"""Branch and bound over boxes of w: the main loop of the exact method for the asinh loss.

A box whose bound reaches the cutoff is proved and becomes a leaf; any other is halved, and the halves start with the
settled samples of the whole. The box with the least bound is next.
"""

import heapq
import itertools
from collections.abc import Iterator

import numpy as np

from hypermargin.arrays import Array
from hypermargin.solvers.exact.asinh.box import Box, Examiner, Objective

#: Boxes that a search may hold with samples of their own, in numbers of samples: beyond it the newest box is next.
MOST_HELD = 50_000_000


class Search:
    """State of the search over the cube ``|w_j| <= half_side`` for the relative gap `tol`."""

    def __init__(self, objective: Objective, half_side: float, tol: float) -> None:
        k = objective.best.size
        self.objective, self.tol = objective, tol
        self.examiner = Examiner(objective)
        self.history: list[tuple[float, float]] = []
        self._order = itertools.count()
        self._heap: list[tuple[float, int, Box]] = []
        self._held, self._weakest = 0, np.inf
        self._newest: list[Box] = []
        self.root = Box(
            centre=np.zeros(k),
            radius=np.full(k, half_side),
            point=objective.best,
            sums=np.zeros(1 + k + k * k),
            active=np.arange(objective.n_samples, dtype=np.intc),
        )
        self._push(self.root)

    @property
    def cutoff(self) -> float:
        """The bound that has to be proved."""
        return self.objective.upper * (1.0 - self.tol)

    @property
    def lower(self) -> float:
        """The least bound of the boxes that are not proved yet; the cutoff when all are."""
        newest = min((box.bound for box in self._newest), default=np.inf)
        return max(0.0, min(self.cutoff, newest, self._heap[0][0] if self._heap else np.inf))

    @property
    def proved(self) -> float:
        """The least bound of all leaves, once `close` has given every box one; at most the cutoff."""
        return max(0.0, min(self.cutoff, self._weakest))

    @property
    def n_open(self) -> int:
        return len(self._heap) + len(self._newest)

    @property
    def finished(self) -> bool:
        """Whether every box is proved. A bound that a half has from the whole is no proof of the half."""
        return not self.n_open

    def step(self) -> None:
        """Examine the next box, and halve it unless it is proved."""
        box = self._newest.pop() if self._newest else heapq.heappop(self._heap)[2]
        self._held -= box.active.size
        self.examiner.examine(box, self.cutoff, self.tol * self.objective.upper)
        if box.proof is None:
            halves = self.examiner.halve(box)
            self._held += sum(half.active.size for half in halves)
            if self._held > MOST_HELD:
                self._newest.extend(halves)
            else:
                for half in halves:
                    self._push(half)
        if self.examiner.examined % 64 == 1:
            self.history.append((self.lower, self.objective.upper))

    def close(self) -> None:
        """Give every box that is left a proof of its own, however weak: the bound of a search that was ended early."""
        for box in self._open():
            self.examiner.examine(box, self.cutoff, self.tol * self.objective.upper, settle_for_less=True)
            self._weakest = min(self._weakest, box.bound)
        self._heap, self._newest = [], []

    def _open(self) -> Iterator[Box]:
        yield from (box for _, _, box in self._heap if box.proof is None)
        yield from self._newest

    def _push(self, box: Box) -> None:
        heapq.heappush(self._heap, (box.bound, next(self._order), box))


def polish(objective: Objective, start: Array, tol: float) -> None:
    """Descend from a point: minimise the model on a box around it, which shrinks where that does not help."""
    examiner = Examiner(objective)
    w, value = objective.offer(start)
    size = max(0.5 * float(np.abs(w).max()), 1e-3)
    smallest = max(1e-6, 0.01 * tol) * size  # the search itself finds the last digits
    everything = np.arange(objective.n_samples, dtype=np.intc)
    while size > smallest:
        box = Box(w, np.full(w.size, size), w, np.zeros(1 + w.size + w.size**2), everything)
        trial, trial_value = objective.offer(examiner.model_minimiser(box, 0.1 * tol * value))
        if trial_value < value * (1.0 - 0.01 * tol):
            w, value = trial, trial_value
        else:
            size *= 0.2
