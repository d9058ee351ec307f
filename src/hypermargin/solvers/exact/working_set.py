"""Samples that may decide, and those that do not: at an optimum a sample beyond the margin has no weight.

Where one class is much larger than the other, as in one-vs-rest, nearly all samples are beyond the margin. Any point
near the optimum tells which; the others are the *working set* that the interior-point method sees. A guess that was
wrong costs accuracy, not truth: weights of 0 are as valid as any others (docs/exact.md), and the margins of all samples
at the answer say which ones to take in.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array

#: Fewer samples than this times the dimension are all looked at, and a working set has no fewer.
SMALL = 40
#: A first look takes so many samples of each class, times the dimension, but not less than this share of them.
FIRST_LOOK, LEAST_SHARE = 10, 1 / 32
#: A working set has so many times the samples that are below the margin; if that is most of all, it has all.
ROOM, MOST = 2, 0.5


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """Some samples by their numbers, with their columns z_i, shape (d + 1, m), and costs k_i."""

    samples: NDArray[np.intp]
    columns: Array
    costs: Array

    def all_weights(self, weights: Array, n_samples: int) -> Array:
        """The weights of all samples, from those of the set."""
        full = np.zeros(n_samples)
        full[self.samples] = weights
        return full


def everything(columns: Array, costs: Array) -> WorkingSet:
    """All samples."""
    return WorkingSet(np.arange(costs.size), columns, costs)


def first_look(columns: Array, costs: Array) -> WorkingSet | None:
    """A random part of each class, with its costs scaled to the total of the class; None where samples are few.

    Nor does it pay where the classes are of about the same size: too many samples are below the margin then.
    """
    width, n = columns.shape
    sides = [np.flatnonzero(columns[0] > 0.0), np.flatnonzero(columns[0] <= 0.0)]  # z_i0 has the sign of y_i
    smaller = min(members.size for members in sides)
    if n <= SMALL * width or ROOM * 2 * smaller > MOST * n:
        return None
    rng = np.random.default_rng(0)  # the same part every time
    parts, weights = [], []
    for members in sides:
        size = min(members.size, max(FIRST_LOOK * width, int(LEAST_SHARE * members.size)))
        part = np.sort(rng.choice(members, size, replace=False))
        parts.append(part)
        weights.append(costs[part] * (costs[members].sum() / costs[part].sum()))
    samples = np.concatenate(parts)
    return WorkingSet(samples, columns[:, samples], np.concatenate(weights))


def of_least_margin(columns: Array, costs: Array, margins: Array) -> WorkingSet:
    """The samples that are below the margin at some point, and as many again of those next above it."""
    width, n = columns.shape
    size = max(ROOM * int(np.count_nonzero(margins < 1.0)), SMALL * width)
    if size > MOST * n:
        return everything(columns, costs)
    samples = np.flatnonzero(margins <= np.partition(margins, size)[size])
    return WorkingSet(samples, columns[:, samples], costs[samples])
