"""Branch and bound over boxes of w: the main loop of the exact method for the asinh loss.

A box is examined by settling samples and adding cuts. If its bound reaches the cutoff it is proved and becomes a leaf;
if not, it is bisected, and its halves start with its settled samples. The box with the least bound is next.

That nothing lies outside the first box is shown for directions of w, covered by cones whose far parts cost too much.
Any w outside the cube ``|w_j| <= S`` is ``s v`` with s >= S and v on the surface of the unit cube. On a piece V of a
face the samples that are surely on the wrong side for every v cost at least ``l(S u_i)`` each, u_i being their largest
margin over V: that grows like log S. To it comes ``S^2 q/2`` where all of V is spacelike. Pieces are halved until it
suffices.
"""

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.certificates.asinh.certificate import ends_of_chords
from hypermargin.certificates.asinh.proof import GRID, WEIGHTS, BoxLeaf
from hypermargin.solvers.exact.asinh.compiled.model import Model
from hypermargin.solvers.exact.asinh.compiled.samples import Samples

#: Boxes that a search may hold with samples of their own, in numbers of samples: beyond it the newest box is next.
MOST_HELD = 50_000_000
#: Pieces to try for one S, and how S grows when they are not enough.
MOST_PIECES, GROWTH, MOST_GROWTHS = 4_000, 2.0, 80

#: All of a piece is timelike, for the check too, where q of its vectors is less than minus this.
SURELY = 1e-9

#: The pieces of one face in preorder: the axis a piece is halved across, or -1 for one that is proved.
Pieces = list[int]
#: Shares of the gap aimed at that settled samples and strict convexity may cost.
SETTLED, STRICT = 0.15, 0.03
#: Quadratics that serve one box only may be this much worse (200 to 600 measured best): a few of them are, at most.
LEAF = 300.0
#: Where the cut that says no more than this touches: outside all boxes, in their coordinates.
NOWHERE = 2.0
#: How much of q(w)/2 is blamed on the sides at least, because w may be timelike or not.
CONE = 0.1
#: A side shorter than this share of the longest is not halved.
THINNEST = 1.0 / 32.0
#: Cuts on one box at most, in a proof and in a step of local descent.
MOST_CUTS, DESCENT_CUTS = 16, 8


class Objective:
    """The objective in the frame of the search, with the best point found so far."""

    def __init__(self, Z: Array, doubt: Array, costs: Array, allow_timelike: bool) -> None:
        self.samples = Samples(Z, costs, doubt, ends_of_chords())
        self.n_samples, self.total_cost = len(Z), float(costs.sum())
        self.allow_timelike = allow_timelike
        self.best, self.upper = np.zeros(Z.shape[1]), np.inf
        self.offer(self.best)

    def offer(self, w: Array) -> tuple[Array, float]:
        """w, moved onto the light cone if it is timelike and must not be, and the objective there."""
        q = _form(w)
        if q < 0.0 and not self.allow_timelike:
            length = float(np.linalg.norm(w[1:]))
            w = np.r_[w[0], w[1:] * (abs(w[0]) * (1.0 + 1e-15) / length)] if length > 0.0 else np.zeros_like(w)
            q = _form(w)
        value = 0.5 * max(q, 0.0) + self.samples.risk(w)
        if value < self.upper:
            self.upper, self.best = value, w
        return w, value


@dataclass(eq=False)
class Box:
    """A box of the tree: its place, what is settled, and what became of it (`axis` of its split, or `proof`)."""

    centre: Array
    radius: Array
    point: Array
    sums: Array
    active: NDArray[np.intc]
    lam: float = 1.0
    bound: float = -np.inf
    axis: int = -1
    halves: tuple["Box", ...] = ()
    proof: BoxLeaf | None = None


class Examiner:
    """Bounds boxes one after the other; `examined` counts them, `work` the samples looked at."""

    def __init__(self, objective: Objective) -> None:
        k = objective.best.size
        self.objective = objective
        self.examined, self.work = 0, 0
        self._model = Model(k)
        self._slope, self._parts, self._zeros = np.empty(k), np.empty(k), np.zeros(k)
        self._tried = 0

    def examine(self, box: Box, cutoff: float, room: float, settle_for_less: bool = False) -> None:
        """Bound the objective on a box; sets `box.proof` where that reaches the cutoff, `box.axis` where not.

        `room` is the absolute gap aimed at. With `settle_for_less` the best bound is recorded as proof in any case.
        """
        self.examined += 1
        if not self.objective.allow_timelike and _all_timelike(box):
            self._prove_outright(box)
            return
        model = self._model
        if not self._settle(box, cutoff, room):
            self._prove_outright(box)
            return
        x = self._nearest(box, box.point)
        lowest, deepest = np.inf, x
        for round_ in range(MOST_CUTS):
            value = self._cut(box, x)
            bound = self._choose_share(box) if round_ == 0 else model.solve()
            if bound >= cutoff and self._record(box, cutoff):
                return
            box.bound = max(box.bound, min(bound, cutoff))
            reached = model.value(value, x)
            if reached < cutoff:  # no weights of cuts can prove the box
                break
            if reached < lowest:
                lowest, deepest = reached, x
            x = model.minimiser(GRID)
            if round_ % 3 != 2:  # halfway back: minimisers of few cuts jump about
                x = np.rint(0.5 * GRID * (deepest + x)) / GRID
        if settle_for_less:
            self._record(box, -np.inf)
            return
        box.axis = self._side_to_halve(box, x)
        box.point = box.centre + box.radius * model.minimiser(GRID)
        if self.work >= self._tried + self.objective.n_samples:  # a pass over all samples must not cost too much
            self._tried = self.work
            self.objective.offer(box.point)

    def halve(self, box: Box) -> tuple[Box, ...]:
        """The halves of a box that `examine` could not prove."""
        radius = box.radius.copy()
        radius[box.axis] *= 0.5
        halves = []
        for side in (-1.0, 1.0):
            centre = box.centre.copy()
            centre[box.axis] += side * radius[box.axis]
            halves.append(Box(centre, radius, box.point, box.sums, box.active, box.lam, box.bound))
        box.halves = tuple(halves)
        _release(box)
        return box.halves

    def model_minimiser(self, box: Box, room: float) -> Array:
        """Where the model of a box is least, up to `room`."""
        model = self._model
        if not self._settle(box, self.objective.upper, room):
            return box.point
        x = self._nearest(box, box.point)
        for round_ in range(DESCENT_CUTS):
            value = self._cut(box, x)
            bound = self._choose_share(box) if round_ == 0 else model.solve()
            if model.value(value, x) - bound <= room:
                break
            x = model.minimiser(GRID)
        return box.centre + box.radius * model.minimiser(1 << 40)

    # -- steps -------------------------------------------------------------------------------------------------------

    def _settle(self, box: Box, cutoff: float, room: float) -> bool:
        """Settle samples and start the model; False where a sample alone proves the box."""
        objective, samples = self.objective, self.objective.samples
        box.sums = box.sums.copy()
        self.work += box.active.size
        allowed = SETTLED * room / objective.total_cost
        if not samples.settle_below(box.centre, box.radius, box.active, cutoff, allowed, box.sums, True):
            return False
        box.active = samples.unsettled()
        sums = box.sums.copy()
        samples.settle_below(box.centre, box.radius, box.active, cutoff, LEAF * allowed, sums, False)
        self._model.start(box.centre, box.radius, sums[1:], STRICT * room)  # the first is for the check: sizes
        self._model.add_cut(0.0, self._zeros, NOWHERE + self._zeros)  # losses are not negative
        return True

    def _nearest(self, box: Box, w: Array) -> Array:
        """The point of the box nearest to w, in its coordinates and on the grid."""
        return np.rint(np.clip((w - box.centre) / box.radius, -1.0, 1.0) * GRID) / GRID

    def _cut(self, box: Box, x: Array) -> float:
        """Add the cut at x; returns the sum of the envelopes there."""
        value = self.objective.samples.cut(box.centre + box.radius * x, self._slope)
        self.work += box.active.size
        self._model.add_cut(value, self._slope, x)
        return value

    def _choose_share(self, box: Box) -> float:
        """Solve the model for the most promising shares of the margin term, and keep the best."""
        model = self._model
        model.choose(box.lam)
        best, bound = box.lam, model.solve()
        estimate = min(1.0, model.multiplier())
        if self.objective.allow_timelike:
            estimate = max(0.0, estimate)
        chosen = box.lam
        for lam in dict.fromkeys((1.0, estimate, 0.0)):
            if lam != box.lam:
                model.choose(lam)
                chosen, other = lam, model.solve()
                if other > bound:
                    best, bound = lam, other
        box.lam = best
        if chosen != best:
            model.choose(best)
            bound = model.solve()
        return bound

    def _side_to_halve(self, box: Box, x: Array) -> int:
        """The side that is most to blame for what the model is below the objective at x."""
        w = box.centre + box.radius * x
        self.objective.samples.shortfall(w, box.radius, self._parts)
        blame = self._parts + 0.5 * self._model.chords() * (1.0 - x * x)
        spread = np.abs(w) * box.radius
        if spread.any():
            blame += 0.5 * abs(_form(w)) * max(1.0 - box.lam, CONE) * spread / spread.sum()
        blame[box.radius < THINNEST * box.radius.max()] = -1.0
        return int(np.argmax(blame))

    def _record(self, box: Box, cutoff: float) -> bool:
        """Write down the proof of a leaf with rounded numbers, if it still is one."""
        model = self._model
        points, theta = model.weighted_points()
        weights = np.rint(WEIGHTS * theta)
        model.set_weights((weights / weights.sum()).tolist())
        weights = np.floor(WEIGHTS * weights / weights.sum())
        model.round_minimiser(GRID)
        bound = model.bound()
        if bound < cutoff:
            return False
        box.bound = bound
        x = np.rint(model.minimiser(GRID) * GRID)
        real = points[:, 0] < NOWHERE
        box.proof = BoxLeaf(box.lam, np.rint(points[real] * GRID), weights[real], x)
        _release(box)
        return True

    def _prove_outright(self, box: Box) -> None:
        k = box.centre.size
        box.proof, box.bound = BoxLeaf(1.0, np.zeros((0, k)), np.zeros(0), np.zeros(k)), np.inf
        _release(box)


def _release(box: Box) -> None:
    """Let go of the arrays that only open boxes need."""
    box.active, box.sums = box.active[:0], box.sums[:0]


def _form(w: Array) -> float:
    return float(w[1:] @ w[1:] - w[0] * w[0])


def _all_timelike(box: Box) -> bool:
    """Whether all w of a box are timelike."""
    nearest = max(0.0, abs(box.centre[0]) - box.radius[0])
    farthest = np.abs(box.centre[1:]) + box.radius[1:]
    return bool(farthest @ farthest < nearest * nearest)


class Search:
    """State of the search over the cube ``|w_j| <= half_side`` for the relative gap `tol`."""

    def __init__(self, objective: Objective, half_side: float, tol: float) -> None:
        k = objective.best.size
        self.objective, self.tol = objective, tol
        self.examiner = Examiner(objective)
        self.history: list[float] = []
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
            self.history.extend((self.lower, self.objective.upper))

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


def find_half_side(objective: Objective, cutoff: float) -> tuple[float, list[Pieces]] | None:
    """A half side S, a power of two, and the pieces that prove it; None if there seems to be none."""
    largest = max(float(np.abs(objective.best).max()), 2.0**-40)
    half_side = 2.0 ** np.ceil(np.log2(2.0 * largest))
    for _ in range(MOST_GROWTHS):
        cover = _cover(objective, half_side, cutoff)
        if cover is not None:
            return half_side, cover
        half_side *= GROWTH
    return None


def _cover(objective: Objective, half_side: float, cutoff: float) -> list[Pieces] | None:
    samples, k = objective.samples, objective.best.size
    faces, left = [], MOST_PIECES
    for axis in range(k):
        for side in (-1.0, 1.0):
            pieces: Pieces = []
            low, high = -np.ones(k), np.ones(k)
            low[axis] = high[axis] = side
            waiting = [(low, high, np.arange(objective.n_samples, dtype=np.intc))]
            while waiting:
                low, high, active = waiting.pop()
                if len(pieces) > left:
                    return None
                least, most = form_range(low, high)
                if most < -SURELY and not objective.allow_timelike:
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
