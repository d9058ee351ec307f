"""Cuts from passes over many samples, most of which are settled: what a search reads shrinks as it closes in.

Safe screening: samples whose side of the margin is settled for all w of a box take part as one affine term. For
``|w_j - c_j| <= r_j`` the margin of a sample differs from that at c by at most ``sum_j |z_j| r_j``. So if it is farther
than that from 1 at c, its hinge is 0, or affine, in the whole box. A pass at a w in the box then reads the other
samples only, and its risk and cut are those of a pass over all samples; for other w all samples are read. Nothing rests
on the box being well chosen but the time.

A search evaluates points nearer and nearer to the optimum, so boxes shrink, and with them the samples that are left. A
search over a small part of the data says beforehand where they will be.
"""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array, row_blocks
from hypermargin.solvers.base import relative_gap
from hypermargin.solvers.exact.compiled.passes import LANES
from hypermargin.solvers.exact.compiled.search import TAIL_CUTS, Leaf, Search
from hypermargin.solvers.exact.oracle import HingeOracle, Oracle

#: From so many samples on those that are settled are sorted out: fewer are in the processor's cache, where a pass costs
#: less than sorting. It is done around the best point and this many recent ones, if no more than this share would
#: remain.
LEAST_SAMPLES, RECENT, WORTHWHILE = 50_000, 5, 0.5
#: The part of the samples that is searched first, to which gap, and by how many passes at most: 120 passes over a 32nd
#: are four reads, and beyond 1e-5 the optimum of a part says nothing about that of all.
PART, PART_TOL, MOST_OF_PART = 1 / 32, 1e-5, 120
#: Relative and absolute room for rounding: four times the slack of the oracle's threshold, 1e-9.
BOX_ROUNDING = 4e-9
#: A box is this many times as wide as this share of the points it is made around: the first of them are far off.
WIDE, MOST_POINTS = 3.0, 0.75
#: Samples from which the share of those that are not settled is estimated: to about one per cent.
SAMPLE = 4096


@dataclass(frozen=True, eq=False)
class Box:
    """All w with ``|w_j - centre_j| <= radii_j``."""

    centre: Array
    radii: Array

    @classmethod
    def around(cls, centre: Array, points: Array) -> "Box":
        """A box around `centre` that holds most of the points, shape (m, d + 1), with room."""
        if not len(points):
            return cls(centre, np.zeros_like(centre))
        away = np.sort(np.abs(points - centre), axis=0)
        return cls(
            centre, WIDE * away[round(MOST_POINTS * (len(points) - 1))] + 1e-12
        )  # a quantile without its overhead

    def is_within(self, other: "Box") -> bool:
        return bool(np.all(np.abs(self.centre - other.centre) + self.radii <= other.radii))

    def open_samples(self, columns: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Margins at the centre, and which samples are within reach of the margin; both of shape (n,)."""
        margins = self.centre @ columns
        reach = self.radii @ np.abs(columns)
        return margins, np.abs(margins - 1.0) <= reach * (1.0 + BOX_ROUNDING) + BOX_ROUNDING

    def estimated_share(self, known: "Screened") -> float:
        """About the share of all samples that would be left open."""
        columns = known.points[:, : known.costs.size : max(1, known.costs.size // SAMPLE)]
        return known.share * float(np.mean(self.open_samples(np.ascontiguousarray(columns))[1]))


@dataclass(frozen=True, eq=False)
class Screened:
    """The samples that a box leaves open, padded as `Pass` takes them, and the affine term of the others."""

    points: Array
    costs: Array
    b: float
    g: Array
    share: float


def everything_open(columns: Array, costs: Array) -> Screened:
    """All samples, before any is settled."""
    return Screened(columns, costs, 0.0, np.zeros(len(columns)), 1.0)


def screen(known: Screened, box: Box) -> Screened:
    """Sort out the samples that are settled in a box, which lies in that of `known`; reads what was open once."""
    b, g, kept = known.b, known.g, []
    for rows in row_blocks(known.costs.size):
        costs = known.costs[rows]
        block = known.points[:, rows.start : rows.start + costs.size]
        margins, open_ = box.open_samples(block)
        pull = np.where((margins < 1.0) & ~open_, costs, 0.0)
        b, g = b + float(pull.sum()), g - block @ pull
        kept.append(np.flatnonzero(open_) + rows.start)
    chosen = np.concatenate(kept)
    room = max(1, chosen.size)
    points, costs = np.zeros((len(g), -(-room // LANES) * LANES)), np.zeros(room)
    points[:, : chosen.size], costs[: chosen.size] = known.points[:, chosen], known.costs[chosen]
    return Screened(points, costs, b, g, known.share * chosen.size / known.costs.size)


def has_many_samples(oracle: Oracle) -> bool:
    """Whether `PassCuts` pays: the samples are in memory, and many."""
    arrays = oracle.arrays
    return arrays is not None and arrays[1].size >= LEAST_SAMPLES


class PassCuts:
    """Cuts from one pass each, which reads the samples that are not settled where the search is."""

    def __init__(self, search: Search, oracle: HingeOracle) -> None:
        self._search, self._oracle, self._checked_at = search, oracle, 0
        self._screened: list[tuple[Screened, Box]] = []  # the smallest box first
        search.passes_per_step = min(search.passes_per_step, RECENT)

    def prepare(self) -> None:
        """Before there are regions: the cuts near the optimum that a search over a part of the samples ended with."""
        search, first = self._search, TAIL_CUTS[-1] + 1
        if search.pool.size > first + 1:
            return
        part = self._oracle.part(PART)
        if 2 * part.work > self._oracle.work:
            return
        rough = Search(part, search.dim, search.timelike_allowed, PassCuts if has_many_samples(part) else None)
        rough.limit(PART_TOL, MOST_OF_PART, np.inf)
        rough.start()
        while rough.n_regions and not rough.exhausted and rough.n_passes < MOST_OF_PART:
            if relative_gap(rough.upper, rough.lower) <= PART_TOL or time.perf_counter() >= search.deadline:
                break
            rough.step(PART_TOL)
        search.evaluator.work += rough.full_passes * part.work / self._oracle.work
        points = rough.pool.points_of(list(range(first, rough.pool.size)))
        box = Box.around(rough.best, points[len(points) // 2 :])
        if len(points) and self._screen(box):
            for point in points[np.all(np.abs(points - box.centre) <= box.radii, axis=1)]:
                if search.n_passes >= search.evaluator.most_passes or time.perf_counter() >= search.deadline:
                    return
                search.evaluator.evaluate(point)

    def rounds(self, leaf: Leaf, tol: float, rival: float) -> int:
        """Advance a leaf while it is the weakest, for some passes; returns what its region asked for last."""
        search = self._search
        action = search.passes(leaf, tol, rival)
        if search.n_passes >= self._checked_at + RECENT:
            last = search.pool.points_of(list(range(search.pool.size - RECENT, search.pool.size)))
            self._screen(Box.around(search.best, last))
        return action

    def _screen(self, box: Box) -> bool:
        """Sort out the samples that are settled in the box, if that makes passes much shorter."""
        columns, costs, *_ = self._oracle.arrays  # type: ignore[misc]
        outer = (known for known, outer in self._screened if box.is_within(outer))
        known = next(outer, None) or everything_open(columns[:, : costs.size], costs)
        self._checked_at = self._search.n_passes
        if box.estimated_share(known) > WORTHWHILE * (self._screened[0][0].share if self._screened else 1.0):
            return False
        evaluator = self._search.evaluator
        evaluator.work += known.share
        screened = screen(known, box)
        self._screened.insert(0, (screened, box))
        evaluator.use_screened(screened, box)
        return True
