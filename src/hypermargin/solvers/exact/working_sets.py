"""Working sets: at an optimum only samples at the margin have a weight of their own.

Samples beyond the margin have weight 0 and those below it have k_i, so that together they are one affine term. Any
point near the optimum shows which are which; samples near the margin there are the *working set* that the
interior-point method sees. Where one class is much smaller than the other, as in one-vs-rest, nearly all samples are
beyond the margin, and the working set has all that are below it: that takes fewer iterations.

A guess that was wrong costs accuracy, not truth: weights of 0 and k_i are as valid as any others (docs/exact.md), and
the margins of all samples at the answer say which ones to take in.

`SamplesInMemory` has arrays; `BlockedWorkingSets` (`blocked_oracle`) does the same for samples in blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
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

#: ``(risk, b, g)`` at one w.
Cut = tuple[float, float, Array]


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """Samples by their numbers, with their columns z_i, shape (d + 1, m), and costs k_i.

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


def classes_of(columns: Array) -> list[NDArray[np.intp]]:
    """The numbers of the positive and of the negative samples: z_i0 has the sign of y_i."""
    return [np.flatnonzero(columns[0] > 0.0), np.flatnonzero(columns[0] <= 0.0)]


def random_part(classes: list[NDArray[np.intp]], sizes: Sequence[int], costs: Array) -> tuple[NDArray[np.intp], Array]:
    """So many samples of each class, always the same ones, with costs scaled to the total of the class."""
    rng, parts, scaled = np.random.default_rng(0), [], []
    for members, size in zip(classes, sizes, strict=True):
        part = np.sort(rng.choice(members, size, replace=False))
        parts.append(part)
        scaled.append(costs[part] * (costs[members].sum() / max(costs[part].sum(), 1e-300)))
    return np.concatenate(parts), np.concatenate(scaled)


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


class SamplesInMemory:
    """Samples as arrays: columns z_i, shape (d + 1, n), and costs k_i. Those without costs are left out.

    `reads` counts how often all of them have been read, `reads_a_pass` how many such reads are worth a pass; with
    `named` what `names` gives are fingerprints, not rows.
    """

    reads_a_pass = 2.0
    named = False

    def __init__(self, columns: Array, costs: Array, threshold: float):
        self.reads = 0.0
        self._rows = np.flatnonzero(costs > 0.0)
        if self._rows.size < costs.size:
            columns, costs = columns[:, self._rows], costs[self._rows]
        self._columns, self._costs, self._threshold = columns, costs, threshold
        self._look: NDArray[np.intp] | slice = slice(None)

    def first_look(self) -> WorkingSet | None:
        """A random part of each class, with its costs scaled to the total of the class; None where samples are few."""
        classes, width = classes_of(self._columns), len(self._columns)
        shares = shares_of_look(width, (classes[0].size, classes[1].size))
        if shares is None:
            return None
        sizes = [round(share * members.size) for members, share in zip(classes, shares, strict=True)]
        samples, costs = random_part(classes, sizes, self._costs)
        self._look = samples
        return WorkingSet(samples, self._columns[:, samples], costs, (0.0, np.zeros(width)))

    def margins(self, w: Array) -> Margins:
        self.reads += 1.0
        return Margins(w, w @ self._columns)

    def reach(self, margins: Margins) -> float:
        """About how far margins will move from these, which are those at the optimum of the first look."""
        return reach_of(len(self._columns), margins.values, margins.values[self._look])

    def around(self, margins: Margins | None, reach: float) -> WorkingSet | None:
        """The samples near the margin, and the others below it as an affine term; without margins all samples.

        None where there is no room for so many, as in memory there always is.
        """
        columns, costs = self._columns, self._costs
        samples, low = np.arange(costs.size), -np.inf
        if margins is not None:
            low, high = window(margins.values, reach, len(columns))
            samples = np.flatnonzero((low <= margins.values) & (margins.values <= high))
        if margins is None or samples.size > MOST_OF_SAMPLES * costs.size:
            none = np.zeros(costs.size, dtype=bool)
            return WorkingSet(np.arange(costs.size), columns, costs, (0.0, np.zeros(len(columns))), True, none)
        below = margins.values < low
        pull = np.where(below, costs, 0.0)
        affine = (float(pull.sum()), -(columns @ pull))
        return WorkingSet(samples, columns[:, samples], costs[samples], affine, complement=below)

    def flipped(self, chosen: WorkingSet, margins: Margins) -> Flipped | None:
        """Those on the wrong side where the margins are these, before the pass at that point; None if too many."""
        taken = margins.values < self._threshold
        wrong = taken != chosen.complement
        wrong[chosen.samples] = False
        rows = np.flatnonzero(wrong)
        return Flipped(rows, self._columns[:, rows], self._costs[rows], taken[rows])

    def share_read(self, chosen: WorkingSet) -> float:
        """What reading a working set counts, in reads of all samples."""
        return chosen.samples.size / self._costs.size

    def names(self, samples: NDArray[np.intp]) -> NDArray[np.intp]:
        """What a certificate calls these samples."""
        return self._rows[samples]
