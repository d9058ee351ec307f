"""Samples that may decide, and those that do not: at an optimum only samples at the margin have a weight of their own.

Samples beyond the margin have weight 0 and those below it have k_i, so that together they are one affine term. Any
point near the optimum tells which are which; samples near the margin there are the *working set* that the
interior-point method sees. Where one class is much smaller than the other, as in one-vs-rest, nearly all samples are
beyond the margin, and the working set has all that are below it: that takes fewer iterations.

A guess that was wrong costs accuracy, not truth: weights of 0 and k_i are as valid as any others (docs/exact.md), and
the margins of all samples at the answer say which ones to take in.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.solvers.common.hinge_engine import Affine

#: Fewer samples than this times the dimension are all looked at, and a working set has no fewer.
SMALL = 40
#: A first look takes so many samples of each class, times the dimension, at least, and this share where one is small.
FIRST_LOOK, SHARE_OF_LARGER = 10, 1 / 32
#: A class is small if all samples below the margin, with so many times that of others, are few.
ROOM = 2
#: How far margins may move, in standard deviations of what so many samples below the margin leave open.
DEVIATIONS = 2.0
#: A working set of more than this share of the samples has all of them.
MOST = 0.5


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """Some samples by their numbers, with their columns z_i, shape (d + 1, m), and costs k_i.

    `below` marks those of all samples, shape (n,), that are taken to be below the margin, and `affine` is what their
    hinges add up to: ``b + g.w``.
    """

    samples: NDArray[np.intp]
    columns: Array
    costs: Array
    below: NDArray[np.bool_]
    affine: Affine

    @property
    def deciding(self) -> int:
        """About how many samples of a first look decide: no more than twice those of the smaller class."""
        positive = int(np.count_nonzero(self.columns[0] > 0.0))
        return 2 * max(1, min(positive, self.samples.size - positive))

    @property
    def is_everything(self) -> bool:
        return self.samples.size == self.below.size

    def shares(self, weights: Array) -> Array:
        """The weights of all samples in units of k_i, from those of the set."""
        shares = self.below.astype(np.float64)
        shares[self.samples] = weights / self.costs
        return shares


def everything(columns: Array, costs: Array) -> WorkingSet:
    """All samples."""
    none = np.zeros(costs.size, dtype=bool)
    return WorkingSet(np.arange(costs.size), columns, costs, none, (0.0, np.zeros(len(columns))))


def first_look(columns: Array, costs: Array) -> WorkingSet | None:
    """A random part of each class, with its costs scaled to the total of the class; None where samples are few.

    Its size makes the time for it and that for the working set it leads to about the same.
    """
    width, n = columns.shape
    if n <= SMALL * width:
        return None
    sides = [np.flatnonzero(columns[0] > 0.0), np.flatnonzero(columns[0] <= 0.0)]  # z_i0 has the sign of y_i
    one_is_small = ROOM * 2 * min(members.size for members in sides) <= MOST * n
    share = SHARE_OF_LARGER if one_is_small else (width / n) ** (1 / 3)
    rng = np.random.default_rng(0)  # the same part every time
    parts, weights = [], []
    for members in sides:
        size = min(members.size, max(FIRST_LOOK * width, int(share * members.size)))
        part = np.sort(rng.choice(members, size, replace=False))
        parts.append(part)
        weights.append(costs[part] * (costs[members].sum() / costs[part].sum()))
    samples = np.concatenate(parts)
    none = np.zeros(n, dtype=bool)
    return WorkingSet(samples, columns[:, samples], np.concatenate(weights), none, (0.0, np.zeros(width)))


def reach_of(look: WorkingSet, margins: Array) -> float:
    """About how far the margins of all samples, given here, will move from those at the optimum of a first look."""
    deciding = max(1, int(np.count_nonzero(margins[look.samples] < 1.0)))
    return DEVIATIONS * float(np.std(margins)) * (len(look.columns) / deciding) ** 0.5


def around_margin(columns: Array, costs: Array, margins: Array, reach: float) -> WorkingSet:
    """The samples that are below the margin at some point, and as many again of those next above it.

    Where that would be too many: those whose margin is within `reach` of 1, and the others below it as an affine term.
    """
    width, n = columns.shape
    size, least = ROOM * int(np.count_nonzero(margins < 1.0)), SMALL * width
    if max(size, least) <= MOST * n:
        chosen = margins <= np.partition(margins, max(size, least))[max(size, least)]
    else:
        distance = np.abs(margins - 1.0)
        chosen = distance <= reach
        if np.count_nonzero(chosen) < least < n:
            chosen = distance <= np.partition(distance, least)[least]
    samples = np.flatnonzero(chosen)
    if samples.size > MOST * n:
        return everything(columns, costs)
    below = (margins < 1.0) & ~chosen
    pull = np.where(below, costs, 0.0)
    return WorkingSet(samples, columns[:, samples], costs[samples], below, (float(pull.sum()), -(columns @ pull)))
