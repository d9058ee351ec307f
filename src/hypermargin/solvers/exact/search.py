"""Best-first search over regions: the main loop of the exact method.

A region fixes the sign of t and a box of directions of wr (all of them at first). The region with the least lower bound
is advanced: it asks for the risk at a point, or is settled, or has to be split. Cuts are shared by all.
"""

import heapq
import itertools
import sys
import time
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.certificates import DirectionBox
from hypermargin.solvers.base import relative_gap
from hypermargin.solvers.exact.compiled.cuts import CutPool, lift, quadratic_form
from hypermargin.solvers.exact.compiled.evaluator import Evaluator
from hypermargin.solvers.exact.compiled.master import Master
from hypermargin.solvers.exact.compiled.region import EXHAUSTED, STALLED, Region
from hypermargin.solvers.exact.cover import chord, faces, halves
from hypermargin.solvers.exact.screening import Box, Screened, everything_open, screen

#: Numbers of the cuts that bound t, for t > 0 and t < 0: those at (1, 0, ..., 0) and (-1, 0, ..., 0).
TAIL_CUTS = (2, 3)
LAST_TAIL_CUT = 3
#: How far a hyperplane is moved to have samples of one class on the wrong side, in distances at which margins are 1.
MOVES = 2.0
#: Numbers read and passes made in one step at most, so that time limits are noticed.
WORK_PER_STEP, PASSES_PER_STEP = 4_000_000, 20
#: From so many samples on those that are settled are sorted out (`screening`): around the best point and this many
#: recent ones, whenever no more than this share of what is left would remain.
LEAST_SAMPLES, RECENT, WORTHWHILE = 50_000, 5, 0.5
#: The part of the samples that is searched first, to which gap, and by how many passes at most.
PART, PART_TOL, MOST_OF_PART = 1 / 32, 1e-5, 120


class Oracle(Protocol):
    """Risk at w and the cut there: ``w -> (risk, b, g)`` with ``risk(v) >= b + g.v`` for all v."""

    @property
    def arrays(self) -> tuple[Array, Array, float, float] | None:
        """What `Evaluator` needs to make passes by itself (points, costs, factor, threshold), if it can."""

    @property
    def work(self) -> int:
        """Numbers read in a pass."""

    def part(self, share: float) -> "Oracle":
        """The oracle of a part of the samples that stands for all; asked for where there are `arrays` only."""

    def __call__(self, w: Array) -> tuple[float, float, Array]: ...


@dataclass(eq=False)
class Leaf:
    """A region of the search and the box of directions it covers (None: all)."""

    region: Region
    box: DirectionBox | None
    bound: float = -np.inf
    exhausted: bool = False


@dataclass(frozen=True, eq=False)
class Shares:
    """How the weights of a cut differ from those of the plain cut of its point: ``a_i = values_i k_i`` for some."""

    samples: NDArray[np.intp]
    values: Array
    named: bool = False  # whether samples are fingerprints, not rows


class Search:
    """State of the search; `history` has bound and objective, in turn, after each pass that a region asked for."""

    #: The search aims at this share of the tolerance, but not below the second number, where rounding sets in: the last
    #: digits cost little, and bounds far better than asked for leave the check of the certificate room.
    AIM: ClassVar[tuple[float, float]] = 0.01, 1e-10

    def __init__(self, oracle: Oracle, dim: int, allow_timelike: bool = False) -> None:
        self.dim, self.allow_timelike = dim, allow_timelike
        self.pool = CutPool(dim + 1)
        self.evaluator = Evaluator(self.pool, oracle, allow_timelike)
        self.history: list[float] = []
        self.shares: dict[int, Shares] = {}  # of those cuts that are not the plain cut of their point
        self.n_splits = 0
        self.hint: Array | None = None  # a normal that separates, to begin with
        self._tail_cuts = list(TAIL_CUTS)
        self._oracle, self._checked_at = oracle, 0
        arrays = oracle.arrays
        self._can_screen = arrays is not None and arrays[1].size >= LEAST_SAMPLES
        self._screened: list[tuple[Screened, Box]] = []  # the smallest box first
        self._passes_per_step = max(
            1, min(RECENT if self._can_screen else PASSES_PER_STEP, WORK_PER_STEP // oracle.work)
        )
        self._order = itertools.count()
        self._heap: list[tuple[float, int, Leaf]] = []
        self.limit(1e-6)

    def limit(self, tol: float, most_passes: int = sys.maxsize, deadline: float = np.inf) -> None:
        """Set the relative gap that is asked for, the most passes, and the time (`time.perf_counter`) to stop at."""
        self.tol, self.evaluator.most_passes, self.deadline = tol, most_passes, deadline

    @property
    def aim(self) -> float:
        """The relative gap to stop at."""
        return self.aim_for(self.tol)

    @classmethod
    def aim_for(cls, tol: float) -> float:
        """The relative gap that a search to `tol` stops at."""
        return max(cls.AIM[0] * tol, cls.AIM[1])

    @property
    def upper(self) -> float:
        """The best objective so far."""
        return self.evaluator.upper

    @property
    def best(self) -> Array:
        """The point that has it; w = 0 is feasible, and is among the first points."""
        return self.pool.cut(self.evaluator.best)[2]

    @property
    def n_passes(self) -> int:
        return self.evaluator.passes

    @property
    def full_passes(self) -> float:
        """How often all samples have been read, where reading a part of them counts as such.

        A pass is one read, or less where samples have been sorted out; a product of the interior-point method is one
        too, or less where it has a working set.
        """
        return round(self.evaluator.work, 2)

    @property
    def lower(self) -> float:
        """The bound so far; neither the margin term nor the risk is ever negative."""
        return max(0.0, self._heap[0][0]) if self._heap else 0.0

    @property
    def n_regions(self) -> int:
        return len(self._heap)

    @property
    def exhausted(self) -> bool:
        """Whether the bound cannot be raised any further in double precision."""
        return not self._heap or self._heap[0][2].exhausted

    @property
    def leaves(self) -> list[Leaf]:
        return [leaf for _, _, leaf in self._heap]

    def start(self, first: Array | None = None) -> None:
        """The first regions. A search without cuts begins with three passes, and one or two more for the point `first`.

        They give the risk at w = 0 and the two cuts that bound t (all of one class, none of the other). Where there are
        samples of one class only, or not enough passes are allowed, there are no regions, and the bound is 0.
        """
        origin = np.zeros(self.dim + 1)
        apex = origin.copy()
        apex[0] = 1.0
        evaluate = self.evaluator.evaluate
        for point in (origin, apex, -apex)[self.pool.count() - 1 :]:
            if self.n_passes >= self.evaluator.most_passes:
                return
            evaluate(point)
        if first is not None:
            evaluate(first)
            if not self.allow_timelike and quadratic_form(first) < 0.0:
                evaluate(lift(first))
        if self.hint is not None:
            self._ask_around(self.hint)
        self._deepen()
        self.master = Master(self.pool)
        tails = [self._nearest_tail(sign) for sign in (1.0, -1.0)]
        for k, point in enumerate((apex, -apex)):
            if tails[k] is None and self._oracle.arrays is None and self.n_passes < self.evaluator.most_passes:
                evaluate(2.0 * point)  # sets may reach where their points do not, and here the cut is theirs
                self._tail_cuts.append(self.pool.count() - 1)
                tails[k] = self._nearest_tail(point[0])
        if tails[0] is not None and tails[1] is not None:
            self._add_half(1.0, *tails[0])
            self._add_half(-1.0, *tails[1])

    def _nearest_tail(self, sign: float) -> tuple[int, float, float] | None:
        """The cut that proves all t of this sign beyond the nearest point, that point, and the share of the cut."""
        cuts = [c for c in self._tail_cuts if self.pool.cut(c)[1][0] * sign > 0.0]
        tails = [(c, tail) for c in cuts if (tail := self.pool.tail(c, self.upper)) is not None]
        return min(((c, *tail) for c, tail in tails), key=lambda found: found[1], default=None)

    def _ask_around(self, w: Array) -> None:
        """Passes at a normal and, if it is spacelike, at the same moved ahead and back along its axis.

        If w separates, the samples of these cuts are of one class and near the hyperplane, and their slopes bound t. So
        do those of all samples of a class, but far out they are so long, and so nearly lightlike, that the bound is.
        """
        self.evaluator.evaluate(w)
        form, length = quadratic_form(w), float(np.linalg.norm(w[1:]))
        if not form > 0.0:
            return
        size = np.sqrt(form)
        for shift in (MOVES * np.arcsinh(1.0 / size), -MOVES * np.arcsinh(1.0 / size)):
            place = np.arcsinh(w[0] / size) + shift
            self.evaluator.evaluate(np.append(size * np.sinh(place), size * np.cosh(place) / length * w[1:]))
            self._tail_cuts.append(self.pool.count() - 1)

    def _deepen(self) -> None:
        """Cuts before there are regions: where samples are many, those that a search over a part of them ended with."""
        if not self._can_screen or self.pool.count() > LAST_TAIL_CUT + 2:
            return
        part = self._oracle.part(PART)
        if 2 * part.work > self._oracle.work:
            return
        rough = Search(part, self.dim, self.allow_timelike)
        rough.limit(PART_TOL, MOST_OF_PART)
        rough.start()
        while rough.n_regions and not rough.exhausted and rough.n_passes < MOST_OF_PART:
            if relative_gap(rough.upper, rough.lower) <= PART_TOL or time.perf_counter() >= self.deadline:
                break
            rough.step(PART_TOL)
        self.evaluator.work += rough.full_passes * part.work / self._oracle.work
        points = rough.pool.points_of(list(range(LAST_TAIL_CUT + 1, rough.pool.count())))
        box = Box.around(rough.best, points[len(points) // 2 :])
        if len(points) and self._screen(box):
            for point in points[np.all(np.abs(points - box.centre) <= box.radii, axis=1)]:
                if self.n_passes >= self.evaluator.most_passes or time.perf_counter() >= self.deadline:
                    return
                self.evaluator.evaluate(point)

    def _screen(self, box: Box) -> bool:
        """Sort out the samples that are settled in the box, if that makes passes much shorter."""
        columns, costs, _, _ = self._oracle.arrays  # type: ignore[misc]
        outer = (known for known, outer in self._screened if box.is_within(outer))
        known = next(outer, None) or everything_open(columns[:, : costs.size], costs)
        self._checked_at = self.n_passes
        if box.estimated_share(known) > WORTHWHILE * (self._screened[0][0].share if self._screened else 1.0):
            return False
        self.evaluator.work += known.share
        screened = screen(known, box)
        self._screened.insert(0, (screened, box))
        self.evaluator.use_screened(screened, box)
        return True

    def rescaled(self, factor: float, oracle: Oracle, n_passes: int = 0) -> "Search":
        """A fresh search for the risk times `factor`, which `oracle` evaluates, with all cuts of this one.

        It counts `n_passes` as made already.
        """
        other = type(self)(oracle, self.dim, self.allow_timelike)
        other.evaluator.passes, other.shares = n_passes, dict(self.shares)
        other._tail_cuts = list(self._tail_cuts)
        for c in range(1, self.pool.count()):
            b, g, w, risk = self.pool.cut(c)
            other.evaluator.record(w, factor * risk, factor * b, factor * g)
        return other

    def step(self, aim: float) -> None:
        """Advance the weakest region, and the next, until the relative gap is `aim` or some passes have been made.

        A region counts as settled at half of it.
        """
        last = min(self.n_passes + self._passes_per_step, self.evaluator.most_passes)
        while True:
            self._advance(0.5 * aim)
            if self.n_passes >= last or self.n_splits or self.exhausted or relative_gap(self.upper, self.lower) <= aim:
                return

    def _advance(self, tol: float) -> None:
        """Advance the weakest region. `tol` is the relative gap at which a region counts as settled."""
        _, _, leaf = heapq.heappop(self._heap)
        rival = self._heap[0][0] if self._heap else np.inf
        action = self._rounds(leaf, tol, rival)
        if self.n_passes >= self._checked_at + RECENT and self._can_screen:
            last = self.pool.points_of(list(range(self.pool.count() - RECENT, self.pool.count())))
            self._screen(Box.around(self.best, last))
        if action == STALLED and self._split(leaf):
            return
        leaf.exhausted = action in (STALLED, EXHAUSTED)
        self._push(leaf)

    def _rounds(self, leaf: Leaf, tol: float, rival: float) -> int:
        """Advance a leaf while it is the weakest, for some passes; returns what its region asked for last."""
        return self.evaluator.rounds(leaf.region, tol, rival, self._passes_per_step, self.history)

    def _push(self, leaf: Leaf) -> None:
        leaf.bound = leaf.region.lower_bound()
        heapq.heappush(self._heap, (leaf.bound, next(self._order), leaf))

    def _add_half(self, sign: float, cut: int, reach: float, share: float) -> None:
        """The region of all w with this sign of t; `share` of the cut proves it beyond `reach`."""
        region = Region(self.master, sign, None, None, [0.0, reach], self.allow_timelike)
        region.add_tail(cut, share)
        region.begin()
        self._push(Leaf(region, None))

    def _split(self, leaf: Leaf) -> bool:
        """Replace a leaf by its children; False if it cannot be split further."""
        children = faces(self.dim) if leaf.box is None else halves(leaf.box)
        nodes = leaf.region.first_nodes()
        for box in children:
            region = Region(self.master, leaf.region.side(), box, chord(box), nodes, self.allow_timelike)
            region.inherit(leaf.region)
            self._push(Leaf(region, box))
        self.n_splits += bool(children)
        return bool(children)
