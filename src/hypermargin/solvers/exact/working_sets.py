"""Working sets: at an optimum only samples at the margin have a weight of their own.

Samples beyond the margin have weight 0 and those below it have k_i, so that together they are one affine term. Any
point near the optimum shows which are which; samples near the margin there are the *working set* that the
interior-point method sees. Where one class is much smaller than the other, as in one-vs-rest, nearly all samples are
beyond the margin, and the working set has all that are below it: that takes fewer iterations.

A guess that was wrong costs accuracy, not truth: weights of 0 and k_i are as valid as any others (docs/exact.md), and
the margins of all samples at the answer say which ones to take in.

`Samples` is what the search needs wherever the samples are. `SamplesInMemory` has arrays. With `BlockedWorkingSets` the
samples near the margin are brought into memory, where there is room for them, and the others stay where they are: a few
reads of the data stand for the hundreds of passes that plain cuts take, one for a first look at a random part of the
samples, and two for every working set. Which samples a set has is a rule, a point and the least and largest margin
there, so that blocks need not keep any. Samples are named by their fingerprints, the same ones in every data source.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.certificates.fingerprints import sample_names
from hypermargin.data.inputs import free_memory
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.common.hinge_engine import Affine

#: Fewer samples than this times the dimension are all looked at, and a working set has no fewer.
LEAST_PER_DIMENSION = 40
#: A first look takes so many samples of each class, times the dimension, at least, and this share where one is small.
FIRST_LOOK, SHARE_OF_LARGER = 10, 1 / 32
#: A class is small if all samples below the margin, with so many times that of others, are few.
SPARE = 2
#: How far margins may move, in standard deviations of what so many samples below the margin leave open.
DEVIATIONS = 2.0
#: A working set of more than this share of the samples has all of them.
MOST_OF_SAMPLES = 0.5
#: The share of samples whose margins tell how far margins move.
ALL_BUT_FEW = 0.99
#: A working set may take this share of the free memory, with so many copies of it.
SHARE_OF_MEMORY, COPIES = 0.2, 4

#: ``(risk, b, g)`` at one w.
Cut = tuple[float, float, Array]


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """SampleSelection samples by their numbers, with their columns z_i, shape (d + 1, m), and costs k_i.

    `affine` is what the hinges of the others add up to that are taken to be below the margin: ``b + g.w``. `complement`
    is which ones these are: a mask of samples in memory, a `MarginWindow` of samples in blocks.
    """

    samples: NDArray[np.intp]
    columns: Array
    costs: Array
    affine: Affine
    is_everything: bool = False
    complement: Any = None

    @property
    def deciding(self) -> int:
        """About how many samples of a first look decide: no more than twice those of the smaller class."""
        positive = int(np.count_nonzero(self.columns[0] > 0.0))
        return 2 * max(1, min(positive, self.samples.size - positive))


def everything(columns: Array, costs: Array) -> WorkingSet:
    """All samples."""
    none = np.zeros(costs.size, dtype=bool)
    return WorkingSet(np.arange(costs.size), columns, costs, (0.0, np.zeros(len(columns))), True, none)


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


def first_look(columns: Array, costs: Array) -> WorkingSet | None:
    """A random part of each class, with its costs scaled to the total of the class; None where samples are few."""
    width = len(columns)
    sides = [np.flatnonzero(columns[0] > 0.0), np.flatnonzero(columns[0] <= 0.0)]  # z_i0 has the sign of y_i
    shares = shares_of_look(width, (sides[0].size, sides[1].size))
    if shares is None:
        return None
    rng = np.random.default_rng(0)  # the same part every time
    parts, weights = [], []
    for members, share in zip(sides, shares, strict=True):
        part = np.sort(rng.choice(members, round(share * members.size), replace=False))
        parts.append(part)
        weights.append(costs[part] * (costs[members].sum() / costs[part].sum()))
    samples = np.concatenate(parts)
    return WorkingSet(samples, columns[:, samples], np.concatenate(weights), (0.0, np.zeros(width)))


def reach_of(width: int, margins: Array, of_look: Array) -> float:
    """About how far margins will move from those at the optimum of a first look, with the margins of its samples."""
    deciding = max(1, int(np.count_nonzero(of_look < 1.0)))
    return DEVIATIONS * float(np.std(margins)) * (width / deciding) ** 0.5


def window(margins: Array, reach: float, width: int, stands_for: Array | None = None) -> tuple[float, float]:
    """The least and the largest margin of a working set.

    It has the samples that are below the margin at some point, and as many again of those next above it. Where that
    would be too many: those whose margin is within `reach` of 1. Each of `margins` may stand for several samples.
    """
    n, least = float(_count(np.ones_like(margins, dtype=bool), stands_for)), LEAST_PER_DIMENSION * width
    size = max(SPARE * _count(margins < 1.0, stands_for), least)
    if size <= MOST_OF_SAMPLES * n:
        return -np.inf, _at_rank(margins, size, stands_for)
    distance = np.abs(margins - 1.0)
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


def around_margin(columns: Array, costs: Array, margins: Array, reach: float) -> WorkingSet:
    """The samples in the `window` of these margins, and the others below it as an affine term."""
    low, high = window(margins, reach, len(columns))
    samples = np.flatnonzero((low <= margins) & (margins <= high))
    if samples.size > MOST_OF_SAMPLES * costs.size:
        return everything(columns, costs)
    below = margins < low
    pull = np.where(below, costs, 0.0)
    affine = (float(pull.sum()), -(columns @ pull))
    return WorkingSet(samples, columns[:, samples], costs[samples], affine, complement=below)


# -- what the search asks for, and the answers of arrays in memory -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins at a point w: of all samples, or of as many as tell how margins move."""

    w: Array
    values: Array

    def move_from(self, before: "Margins") -> float:
        """The most that margins have moved, but for a few."""
        return float(np.quantile(np.abs(self.values - before.values), ALL_BUT_FEW))


@dataclass(frozen=True, eq=False)
class Flipped:
    """Samples outside a working set that the plain cut at some point takes and the set does not, or the reverse."""

    samples: NDArray[np.intp]
    columns: Array
    costs: Array
    taken: NDArray[np.bool_]  # by the plain cut


class Samples(Protocol):
    """The samples, wherever they are."""

    #: How often all of them have been read, and how many such reads are worth a pass.
    reads: float
    reads_a_pass: float
    #: Whether `names` are fingerprints, not rows.
    named: bool

    def first_look(self) -> WorkingSet | None:
        """A random part of each class, with its costs scaled to the total of the class; None where samples are few."""

    def margins(self, w: Array) -> Margins: ...

    def reach(self, margins: Margins) -> float:
        """About how far margins will move from these, which are those at the optimum of the first look."""

    def around(self, margins: Margins | None, reach: float) -> WorkingSet | None:
        """The samples near the margin, without margins all of them; None where there is no room for so many."""

    def flipped(self, chosen: WorkingSet, margins: Margins) -> Flipped | None:
        """Those on the wrong side where the margins are these, before the pass at that point; None if too many."""

    def share_read(self, chosen: WorkingSet) -> float:
        """What reading a working set counts, in reads of all samples."""

    def names(self, samples: NDArray[np.intp]) -> NDArray[np.intp]:
        """What a certificate calls these samples."""


class SamplesInMemory:
    """Samples as arrays: columns z_i, shape (d + 1, n), and costs k_i. Those without costs are left out."""

    reads_a_pass = 2.0
    named = False

    def __init__(self, columns: Array, costs: Array, threshold: float):
        self.reads = 0.0
        self._rows = np.flatnonzero(costs > 0.0)
        if self._rows.size < costs.size:
            columns, costs = columns[:, self._rows], costs[self._rows]
        self._columns, self._costs, self._threshold = columns, costs, threshold
        self._look: WorkingSet | None = None

    def first_look(self) -> WorkingSet | None:
        self._look = first_look(self._columns, self._costs)
        return self._look

    def margins(self, w: Array) -> Margins:
        self.reads += 1.0
        return Margins(w, w @ self._columns)

    def reach(self, margins: Margins) -> float:
        of_look = margins.values if self._look is None else margins.values[self._look.samples]
        return reach_of(len(self._columns), margins.values, of_look)

    def around(self, margins: Margins | None, reach: float) -> WorkingSet:
        if margins is None:
            return everything(self._columns, self._costs)
        return around_margin(self._columns, self._costs, margins.values, reach)

    def flipped(self, chosen: WorkingSet, margins: Margins) -> Flipped:
        taken = margins.values < self._threshold
        wrong = taken != chosen.complement
        wrong[chosen.samples] = False
        rows = np.flatnonzero(wrong)
        return Flipped(rows, self._columns[:, rows], self._costs[rows], taken[rows])

    def share_read(self, chosen: WorkingSet) -> float:
        return chosen.samples.size / self._costs.size

    def names(self, samples: NDArray[np.intp]) -> NDArray[np.intp]:
        return self._rows[samples]


# -- samples in blocks -------------------------------------------------------------------------------------------------


class MarginWindow(NamedTuple):
    """Samples whose margins at w are between `low` and `high`; those below are taken to be below the margin."""

    w: Array
    low: float
    high: float


class SampleSelection(NamedTuple):
    """Samples by name, with columns and costs, each with a mark."""

    names: NDArray[np.int64]
    columns: Array
    costs: Array
    marks: NDArray[np.bool_]

    @classmethod
    def together(cls, parts: list["SampleSelection"]) -> "SampleSelection":
        """Those of all pieces in the order of their names; equal samples are one of their common cost."""
        joined = cls(*(np.concatenate(values, axis=-1) for values in zip(*parts, strict=True)))
        names, first, which = np.unique(joined.names, return_index=True, return_inverse=True)
        columns, marks = np.ascontiguousarray(joined.columns[:, first]), joined.marks[first]
        costs = np.bincount(which, joined.costs, names.size).astype(np.float64, copy=False)
        return cls(names, columns, costs, marks)


class BlockedWorkingSets:
    """The samples of a problem in pieces; `ask` puts a question to every piece in the frame.

    `sizes` are the numbers of positive and negative samples, `factor` is that of all costs. `remember` is told the cut
    at a point whenever a read has made it.
    """

    reads_a_pass = 1.0
    named = True

    def __init__(
        self,
        ask: Callable[..., list[Any]],
        sizes: tuple[int, int],
        width: int,
        factor: float,
        threshold: float,
        remember: Callable[[Array, list[Cut]], None],
    ):
        self.reads = 0.0
        self._ask, self._sizes, self._width, self._factor = ask, sizes, width, factor
        self._threshold, self._remember = threshold, remember
        self._everything: WorkingSet | None = None
        self._seen, self._stands_for = np.zeros((width, 0)), np.zeros(0)

    def first_look(self) -> WorkingSet | None:
        shares = shares_of_look(self._width, self._sizes)
        if shares is None or np.dot(shares, self._sizes) > self._room:
            return None
        self.reads += 1.0
        answers = self._ask(_look, shares)
        some, totals = _gathered(answers)
        self._seen, costs = some.columns, self._factor * some.costs
        self._stands_for = np.empty(costs.size)
        for members, total, size in zip((some.marks, ~some.marks), totals, self._sizes, strict=True):
            costs[members] *= total / max(float(some.costs[members].sum()), 1e-300)
            self._stands_for[members] = size / max(1, int(np.count_nonzero(members)))
        return WorkingSet(some.names, some.columns, costs, (0.0, np.zeros(self._width)))

    def margins(self, w: Array) -> Margins:
        """Of the samples of the first look."""
        return Margins(w, w @ self._seen)

    def reach(self, margins: Margins) -> float:
        return reach_of(self._width, margins.values, margins.values)

    def around(self, margins: Margins | None, reach: float) -> WorkingSet | None:
        rule, expected = MarginWindow(np.zeros(self._width), -np.inf, np.inf), float(sum(self._sizes))
        if margins is not None and self._stands_for.size:
            low, high = window(margins.values, reach, self._width, self._stands_for)
            rule = MarginWindow(margins.w, low, high)
            expected = float(self._stands_for @ ((low <= margins.values) & (margins.values <= high)))
        everything = rule.low == -np.inf and rule.high == np.inf
        if everything and self._everything is not None:
            return self._everything
        if expected > self._room:
            return None
        self.reads += 1.0
        answers = self._ask(_within, rule)
        some, sums = _gathered(answers)
        b, *g = self._factor * sums
        chosen = WorkingSet(
            some.names,
            some.columns,
            self._factor * some.costs,
            (b, -np.array(g)),
            is_everything=everything,
            complement=rule,
        )
        if everything:
            self._everything = chosen
            if not self._stands_for.size:
                self._seen, self._stands_for = chosen.columns, np.ones(chosen.costs.size)
        return chosen

    def flipped(self, chosen: WorkingSet, margins: Margins) -> Flipped | None:
        """One read, which makes the pass at the point as well."""
        most = min(1.0, self._room / sum(self._sizes))
        answers = self._ask(_flipped, margins.w, chosen.complement, self._threshold, most)
        self._remember(margins.w, [cut for cut, _ in answers])
        parts = [part for _, part in answers if part is not None]
        if len(parts) < len(answers):
            return None
        some = SampleSelection.together(parts)
        new = ~np.isin(some.names, chosen.samples)  # an equal sample may be in the set by the last bit of its margin
        return Flipped(some.names[new], some.columns[:, new], self._factor * some.costs[new], some.marks[new])

    @property
    def _room(self) -> float:
        """How many samples there is room for."""
        return SHARE_OF_MEMORY * free_memory() / (8.0 * self._width * COPIES)

    def share_read(self, chosen: WorkingSet) -> float:
        """Working sets are here, and to read them is no read of the data."""
        return 0.0

    def names(self, samples: NDArray[np.int64]) -> NDArray[np.int64]:
        return samples


def _gathered(results: list[tuple[SampleSelection, Array]]) -> tuple[SampleSelection, Array]:
    """The samples of all blocks, and the sum of what comes with them."""
    selections, sums = zip(*results, strict=True)
    return SampleSelection.together(list(selections)), np.sum(sums, axis=0)


# -- questions to a piece ----------------------------------------------------------------------------------------------


class Framed(Protocol):
    """A piece with its samples in the frame, (d + 1, n) and (n,), and the pass over it."""

    @property
    def piece(self) -> MarginProblem: ...

    @property
    def framed(self) -> tuple[Array, Array]: ...

    def __call__(self, W: Array) -> list[Cut]: ...


def _some(of: Framed, chosen: NDArray[np.bool_], marks: NDArray[np.bool_]) -> SampleSelection:
    """Those chosen that have costs."""
    columns, costs = of.framed
    rows = np.flatnonzero(chosen & (costs > 0.0))
    return SampleSelection(sample_names(of.piece, rows), columns[:, rows], costs[rows], marks[rows])


def _look(of: Framed, shares: tuple[float, float]) -> tuple[SampleSelection, Array]:
    """A random part of the positive and of the negative samples, the first marked, and the costs of all of either."""
    columns, costs = of.framed
    positive = columns[0] > 0.0  # z_i0 has the sign of y_i
    drawn = np.random.default_rng(0).random(costs.size) < np.where(positive, *shares)
    return _some(of, drawn, positive), np.array([costs[positive].sum(), costs[~positive].sum()])


def _within(of: Framed, rule: MarginWindow) -> tuple[SampleSelection, Array]:
    """The samples of a rule, and the sums of ``(k_i, k_i z_i)`` over those below them."""
    columns, costs = of.framed
    margins = rule.w @ columns
    chosen = (rule.low <= margins) & (margins <= rule.high)
    pull = np.where(margins < rule.low, costs, 0.0)
    return _some(of, chosen, chosen), np.append(pull.sum(), columns @ pull)


def _flipped(
    of: Framed, w: Array, rule: MarginWindow, threshold: float, most: float
) -> tuple[Cut, SampleSelection | None]:
    """The pass at w, and samples outside a rule that it is wrong about there, marked where the plain cut takes them.

    None instead of the samples if they are more than the share `most` of the piece.
    """
    columns, _ = of.framed
    margins, taken = rule.w @ columns, w @ columns < threshold
    wrong = ((margins < rule.low) & ~taken) | ((margins > rule.high) & taken)
    few = np.count_nonzero(wrong) <= most * wrong.size
    return of(w[None])[0], _some(of, wrong, taken) if few else None
