"""Branch and bound over boxes of w: the main loop of the exact method for the asinh loss.

A box whose bound reaches the cutoff is proved and becomes a leaf; any other is halved, and the halves start with the
settled samples of the whole. The box with the least bound is next.

That nothing lies outside the first box is shown for directions of w, covered by cones whose far parts cost too much.
Any w outside the cube ``|w_j| <= S`` is ``s v`` with s >= S and v on the surface of the unit cube. On a piece V of a
face the samples that are surely on the wrong side for every v cost at least ``l(S u_i)`` each, u_i being their largest
margin over V: that grows like log S. To it comes ``S^2 q/2`` where all of V is spacelike. Pieces are halved until it
suffices.
"""

import heapq
import itertools
from collections.abc import Iterator

import numpy as np

from hypermargin.arrays import Array
from hypermargin.solvers.exact.asinh.box import Box, Examiner, Objective
from hypermargin.solvers.exact.asinh.compiled.samples import Samples

#: Boxes that a search may hold with samples of their own, in numbers of samples: beyond it the newest box is next.
MOST_HELD = 50_000_000
#: Pieces to try for one S, and how S grows when they are not enough.
MOST_PIECES, GROWTH, MOST_GROWTHS = 4_000, 2.0, 80

#: All of a piece is timelike, for the check too, where q of its vectors is less than minus this.
SURELY = 1e-9

#: The pieces of one face in preorder: the axis a piece is halved across, or -1 for one that is proved.
Pieces = list[int]


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
            sums=np.zeros(2 + k + k * k),
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
        box = Box(w, np.full(w.size, size), w, np.zeros(2 + w.size + w.size**2), everything)
        trial, trial_value = objective.offer(examiner.model_minimiser(box, 0.1 * tol * value))
        if trial_value < value * (1.0 - 0.01 * tol):
            w, value = trial, trial_value
        else:
            size *= 0.2


def find_half_side(
    samples: Samples, n_samples: int, best: Array, cutoff: float, allow_timelike: bool
) -> tuple[float, list[Pieces]] | None:
    """A half side S, a power of two, and the pieces that prove it; None if there seems to be none."""
    largest = max(float(np.abs(best).max()), 2.0**-40)
    half_side = 2.0 ** np.ceil(np.log2(2.0 * largest))
    for _ in range(MOST_GROWTHS):
        cover = _cover(samples, n_samples, best.size, half_side, cutoff, allow_timelike)
        if cover is not None:
            return half_side, cover
        half_side *= GROWTH
    return None


def _cover(
    samples: Samples, n_samples: int, k: int, half_side: float, cutoff: float, allow_timelike: bool
) -> list[Pieces] | None:
    faces, left = [], MOST_PIECES
    for axis in range(k):
        for side in (-1.0, 1.0):
            pieces: Pieces = []
            low, high = -np.ones(k), np.ones(k)
            low[axis] = high[axis] = side
            waiting = [(low, high, np.arange(n_samples, dtype=np.intc))]
            while waiting:
                low, high, active = waiting.pop()
                if len(pieces) > left:
                    return None
                least, most = form_range(low, high)
                if most < -SURELY and not allow_timelike:
                    pieces.append(-1)
                    continue
                margin_term = 0.5 * half_side**2 * max(0.0, least)
                if margin_term >= cutoff or margin_term + samples.outside(low, high, half_side, active) >= cutoff:
                    pieces.append(-1)
                    continue
                active = samples.unsettled() if margin_term < cutoff else active
                widest = int(np.argmax(high - low))
                pieces.append(widest)
                middle = 0.5 * (low[widest] + high[widest])
                below, above = high.copy(), low.copy()
                below[widest] = above[widest] = middle
                waiting.append((above, high, active))
                waiting.append((low, below, active))
            left -= len(pieces)
            faces.append(pieces)
    return faces


def form_range(low: Array, high: Array) -> tuple[float, float]:
    """The least and the largest ``q(v)`` over a box of v."""
    largest = np.maximum(np.abs(low), np.abs(high)) ** 2
    least = np.where((low <= 0.0) & (high >= 0.0), 0.0, np.minimum(np.abs(low), np.abs(high))) ** 2
    return float(least[1:].sum() - largest[0]), float(largest[1:].sum() - least[0])
