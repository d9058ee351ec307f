"""Working sets: at an optimum only samples at the margin have a weight of their own.

Samples beyond the margin have weight 0 and those below it have k_i, so that together they are one affine term. Any
point near the optimum shows which are which; samples near the margin there are the *working set* that the
interior-point method sees. Where one class is much smaller than the other, as in one-vs-rest, nearly all samples are
beyond the margin, and the working set has all that are below it: that takes fewer iterations.

A guess that was wrong costs accuracy, not truth: weights of 0 and k_i are as valid as any others (docs/exact.md), and
the margins of all samples at the answer say which ones to take in.

Samples in memory are one block, whose margins are all at hand. Of samples in several blocks those near the margin are
brought into memory, if there is room for them, and the others stay where they are: one read for a first look at a
random part, and two for every working set, stand for the hundreds of passes that plain cuts take. Which samples a set
has is a rule, a point and the least and largest margin there, so that blocks need not keep any.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.data.inputs import free_memory
from hypermargin.solvers.common.hinge_engine import Affine

#: Fewer samples than this times the dimension are all looked at, and a working set has no fewer: an iteration over so
#: few takes no longer than its factorisation.
LEAST_PER_DIMENSION = 40
#: A first look takes so many samples of each class, times the dimension, at least, and this share where one is small.
FIRST_LOOK, SHARE_OF_LARGER = 10, 1 / 32
#: A class is small if all samples below the margin, with so many times that of others, are few.
SPARE = 2
#: How far margins may move, in standard deviations of what so many samples below the margin leave open.
DEVIATIONS = 2.0
#: A working set of more than this share of the samples has all of them: it would save less than choosing it costs.
MOST_OF_SAMPLES = 0.5
#: The share of samples whose margins tell how far margins move: a few far-out ones move the most, and do not matter.
ALL_BUT_FEW = 0.99
#: A working set may take this share of the free memory, with so many copies of it (columns, and the engine's products).
SHARE_OF_MEMORY, COPIES = 0.2, 4


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins at a point w: of all samples, or of as many as tell how margins move."""

    w: Array
    values: Array

    def move_from(self, before: "Margins") -> float:
        """The most that margins have moved, but for a few."""
        return float(np.quantile(np.abs(self.values - before.values), ALL_BUT_FEW))


class MarginWindow(NamedTuple):
    """Samples whose margins at w are between `low` and `high`; those below are taken to be below the margin."""

    w: Array
    low: float = -np.inf
    high: float = np.inf

    @property
    def is_everything(self) -> bool:
        return self.low == -np.inf and self.high == np.inf


class Selection(NamedTuple):
    """Samples by name, with columns z_i and costs k_i, each with a mark."""

    names: NDArray[np.int64]
    columns: Array
    costs: Array
    marks: NDArray[np.bool_]

    @classmethod
    def together(cls, parts: list["Selection"]) -> "Selection":
        """Those of all blocks in the order of their names; equal samples are one of their common cost."""
        joined = cls(*(np.concatenate(values, axis=-1) for values in zip(*parts, strict=True)))
        names, first, which = np.unique(joined.names, return_index=True, return_inverse=True)
        columns, marks = np.ascontiguousarray(joined.columns[:, first]), joined.marks[first]
        costs = np.bincount(which, joined.costs, names.size).astype(np.float64, copy=False)
        return cls(names, columns, costs, marks)


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """Samples by name, with their columns z_i, shape (d + 1, m), and costs k_i.

    `affine` is what the hinges of the others add up to that are taken to be below the margin: ``b + g.w``. `window`
    says which ones these are.
    """

    names: NDArray[np.int64]
    columns: Array
    costs: Array
    affine: Affine
    window: MarginWindow

    @property
    def deciding(self) -> int:
        """About how many samples of a first look decide: no more than twice those of the smaller class."""
        positive = int(np.count_nonzero(self.columns[0] > 0.0))
        return 2 * max(1, min(positive, self.costs.size - positive))


class Samples:
    """The samples of one block: columns z_i, shape (d + 1, n), and costs k_i. Those without costs are left out.

    `names` is a function of rows; without it samples are named by their rows. Margins below the threshold belong to
    plain cuts.
    """

    def __init__(self, columns: Array, costs: Array, threshold: float, names: Callable[..., Any] | None = None):
        self.rows = np.flatnonzero(costs > 0.0)
        if self.rows.size < costs.size:
            columns, costs = columns[:, self.rows], costs[self.rows]
        self.columns, self.costs, self._threshold, self._names = columns, costs, threshold, names
        self._known: list[Margins] = []

    def margins(self, w: Array) -> Margins:
        """The margins of all samples at w; those of the last two points are kept."""
        known = next((margins for margins in self._known if margins.w is w), None) or Margins(w, w @ self.columns)
        self._known = [known, *(margins for margins in self._known if margins is not known)][:2]
        return known

    def look(self, shares: tuple[float, float]) -> tuple[Selection, Array]:
        """A random part of the positive and of the negative samples, the first marked, and all costs of either."""
        positive = self.columns[0] > 0.0  # z_i0 has the sign of y_i
        drawn = np.random.default_rng(0).random(self.costs.size) < np.where(positive, *shares)
        return self._selected(drawn, positive), np.array([self.costs[positive].sum(), self.costs[~positive].sum()])

    def within(self, window: MarginWindow) -> tuple[Selection, Array]:
        """The samples of a window, and the sums of ``(k_i, k_i z_i)`` over those below it."""
        if window.is_everything:
            everything = np.ones(self.costs.size, dtype=bool)
            return self._selected(everything, everything), np.zeros(len(self.columns) + 1)
        margins = self.margins(window.w).values
        chosen = (window.low <= margins) & (margins <= window.high)
        pull = np.where(margins < window.low, self.costs, 0.0)
        return self._selected(chosen, chosen), np.append(pull.sum(), self.columns @ pull)

    def flipped(self, w: Array, window: MarginWindow, most: float) -> Selection | None:
        """Samples outside a window that the plain cut at w has on the other side, marked if it takes them.

        None if they are more than the share `most` of the block.
        """
        taken = self.margins(w).values < self._threshold
        wrong = np.zeros_like(taken)
        if not window.is_everything:
            margins = self.margins(window.w).values
            wrong = ((margins < window.low) & ~taken) | ((margins > window.high) & taken)
        return self._selected(wrong, taken) if np.count_nonzero(wrong) <= most * wrong.size else None

    def _selected(self, chosen: NDArray[np.bool_], marks: NDArray[np.bool_]) -> Selection:
        if chosen.all():
            names = self.rows if self._names is None else self._names(self.rows)
            return Selection(names, self.columns, self.costs, marks)
        rows = np.flatnonzero(chosen)
        names = self.rows[rows] if self._names is None else self._names(self.rows[rows])
        return Selection(names, self.columns[:, rows], self.costs[rows], marks[rows])


class WorkingSets:
    """The working sets of a problem whose samples are in one block in memory, or in several anywhere.

    Parameters
    ----------
    width : int
        d + 1.
    sizes : (int, int)
        The numbers of positive and of negative samples.
    map_blocks : callable
        ``map_blocks(function, *arguments)`` is the list of ``function(samples, *arguments)`` for all blocks.
    memory : Samples, optional
        The one block, if it is in memory.

    Attributes
    ----------
    reads : float
        How often all samples have been read.
    """

    def __init__(
        self,
        width: int,
        sizes: tuple[int, int],
        map_blocks: Callable[..., list[Any]] | None = None,
        memory: Samples | None = None,
    ):
        self.reads, self._width, self._sizes, self._memory = 0.0, width, sizes, memory
        self._map_blocks = map_blocks or (lambda function, *arguments: [function(memory, *arguments)])
        self._everything: WorkingSet | None = None
        self._looked: NDArray[np.intp] | slice = slice(None)
        self._seen, self._stands_for = np.zeros((width, 0)), np.zeros(0)

    @property
    def named(self) -> bool:
        """Whether names are fingerprints, not rows."""
        return self._memory is None

    @property
    def reads_per_pass(self) -> float:
        """How many reads are worth a pass: the interior-point method's are of a working set where blocks are far."""
        return 1.0 if self._memory is None else 2.0

    def first_look(self) -> WorkingSet | None:
        """A random part of each class, with its costs scaled to the total of the class.

        None where samples are few, or memory for them is.
        """
        shares = shares_of_look(self._width, self._sizes)
        if shares is None or np.dot(shares, self._sizes) > self._room:
            return None
        some, totals = self._gathered(Samples.look, shares)
        costs, stands_for = some.costs.copy(), np.empty(some.costs.size)
        for members, total, size in zip((some.marks, ~some.marks), totals, self._sizes, strict=True):
            costs[members] *= total / max(float(some.costs[members].sum()), 1e-300)
            stands_for[members] = size / max(1, int(np.count_nonzero(members)))
        if self._memory is None:
            self._seen, self._stands_for = some.columns, stands_for
        else:
            self._looked = np.searchsorted(self._memory.rows, some.names)
        everywhere = MarginWindow(np.zeros(self._width))
        return WorkingSet(some.names, some.columns, costs, (0.0, np.zeros(self._width)), everywhere)

    def margins(self, w: Array) -> Margins:
        """Margins at w: of all samples in memory, of those of the first look of samples in blocks."""
        if self._memory is None:
            return Margins(w, w @ self._seen)
        self.reads += 1.0
        return self._memory.margins(w)

    def reach(self, margins: Margins) -> float:
        """About how far margins will move from these, which are those at the optimum of the first look."""
        deciding = max(1, int(np.count_nonzero(margins.values[self._looked] < 1.0)))
        return DEVIATIONS * float(np.std(margins.values)) * (self._width / deciding) ** 0.5

    def around(self, margins: Margins | None, reach: float) -> WorkingSet | None:
        """The samples near the margin, and the others below it as an affine term; without margins all samples.

        None where there is no room for so many.
        """
        window, expected = MarginWindow(np.zeros(self._width)), float(sum(self._sizes))
        if margins is not None and margins.values.size:
            stands_for = None if self._memory else self._stands_for
            window = MarginWindow(margins.w, *margin_window(margins.values, reach, self._width, stands_for))
            if self._memory is None:
                inside = (window.low <= margins.values) & (margins.values <= window.high)
                expected = float(self._stands_for @ inside)
        if window.is_everything and self._everything is not None:
            return self._everything
        if expected > self._room:
            return None
        some, sums = self._gathered(Samples.within, window)
        chosen = WorkingSet(some.names, some.columns, some.costs, (float(sums[0]), -sums[1:]), window)
        if window.is_everything:
            self._everything = chosen
            if not self._stands_for.size:
                self._seen, self._stands_for = chosen.columns, np.ones(chosen.costs.size)
        return chosen

    def flipped(self, chosen: WorkingSet, margins: Margins) -> Selection | None:
        """Samples outside a working set that it is wrong about where the margins are these; None if too many.

        Of samples in blocks one read makes the pass at this point as well.
        """
        most = min(1.0, self._room / sum(self._sizes))
        parts = self._map_blocks(Samples.flipped, margins.w, chosen.window, most)
        if any(part is None for part in parts):
            return None
        some = parts[0] if self._memory else Selection.together(parts)
        new = ~np.isin(some.names, chosen.names)  # an equal sample may be in the set by the last bit of its margin
        return some if new.all() else Selection(some.names[new], some.columns[:, new], some.costs[new], some.marks[new])

    def share_read(self, chosen: WorkingSet) -> float:
        """What reading a working set counts, in reads of all samples; samples of blocks are here by then."""
        return chosen.costs.size / self._memory.costs.size if self._memory else 0.0

    @property
    def _room(self) -> float:
        """How many samples there is room for; those in memory are there already."""
        return np.inf if self._memory else SHARE_OF_MEMORY * free_memory() / (8.0 * self._width * COPIES)

    def _gathered(self, function: Callable[..., Any], argument: Any) -> tuple[Selection, Array]:
        """The samples that a function selects in all blocks, and the sum of what comes with them."""
        if self._memory:
            selected, sums = function(self._memory, argument)
            return selected, sums
        self.reads += 1.0
        selections, parts = zip(*self._map_blocks(function, argument), strict=True)
        return Selection.together(list(selections)), np.sum(parts, axis=0)


def shares_of_look(width: int, sizes: tuple[int, int]) -> tuple[float, float] | None:
    """The share of each class, by its size, that a first look takes; None where samples are few.

    The time for it and that for the working set it leads to are about the same.
    """
    n = sum(sizes)
    if n <= LEAST_PER_DIMENSION * width:
        return None
    one_is_small = SPARE * 2 * min(sizes) <= MOST_OF_SAMPLES * n
    share = SHARE_OF_LARGER if one_is_small else (width / n) ** (1 / 3)
    first, second = (min(1.0, max(FIRST_LOOK * width / max(size, 1), share)) for size in sizes)
    return first, second


def margin_window(margins: Array, reach: float, width: int, stands_for: Array | None = None) -> tuple[float, float]:
    """The least and the largest margin of a working set.

    It has the samples that are below the margin at some point, and as many again of those next above it. Where that
    would be too many: those whose margin is within `reach` of 1. Each of `margins` may stand for several samples.
    """
    n = float(margins.size if stands_for is None else stands_for.sum())
    least, distance = LEAST_PER_DIMENSION * width, np.abs(margins - 1.0)
    size = max(SPARE * _count(margins < 1.0, stands_for), least)
    if size <= MOST_OF_SAMPLES * n:
        return -np.inf, _at_rank(margins, size, stands_for)
    if _count(distance <= reach, stands_for) < least < n:
        reach = _at_rank(distance, least, stands_for)
    if _count(distance <= reach, stands_for) > MOST_OF_SAMPLES * n:
        return -np.inf, np.inf
    return 1.0 - reach, 1.0 + reach


def _count(marks: NDArray[np.bool_], stands_for: Array | None) -> float:
    return float(np.count_nonzero(marks)) if stands_for is None else float(stands_for @ marks)


def _at_rank(values: Array, rank: float, stands_for: Array | None) -> float:
    """The value that so many others are below."""
    if stands_for is None:
        return float(np.partition(values, int(rank))[int(rank)])
    order = np.argsort(values)
    place = int(np.searchsorted(np.cumsum(stands_for[order]), rank))
    return float(values[order[min(place, order.size - 1)]])
