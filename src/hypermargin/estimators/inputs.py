"""Training samples in memory: sorted by class, merged, and as unit Lorentz points."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.estimators.calibration import FlatSamples
from hypermargin.problems.margin import MarginProblem

#: Scores of the samples of a binary problem, by its number, class by class.
Score = Callable[[int], Array]


@dataclass(frozen=True)
class TrainingSet:
    """Samples sorted by class: class k has the rows ``bounds[k] : bounds[k + 1]`` of the unit points X.

    Within a class rows are in an order that depends on their values only, and equal rows are one row with the sum of
    their weights. So a fit does not depend on the order of the samples, and a weight of 2 equals the sample twice,
    exactly, whatever the solver. `weight` is None where every weight is 1; `order` are the rows of the samples in what
    was given, of equal ones one.
    """

    X: Array
    bounds: list[int]
    weight: Array | None
    uncertainty: Any = None
    order: np.ndarray | None = None

    @cached_property
    def sizes(self) -> np.ndarray:
        """Samples of each class, shape (n_classes,)."""
        return np.diff(self.bounds)

    def problem(self, code: np.ndarray, C: float, allow_timelike: bool) -> MarginProblem:
        """The binary problem in which class k is on the side ``code[k]``, or sits out where that is 0."""
        X, (y, weight) = self.rows(self.X, code), self.sides(code)
        if self.uncertainty is None:
            return MarginProblem.unchecked(X, y, C, weight, None, allow_timelike)
        uncertainty = self.uncertainty
        if not code.all() and hasattr(uncertainty, "take"):
            uncertainty = uncertainty.take(self.rows(np.arange(self.X.shape[0]), code))
        return MarginProblem(X, y, C, weight, uncertainty, allow_timelike)

    def blocks(self, code: np.ndarray) -> list[slice]:
        """The rows of each class that has a side in a problem."""
        return [slice(self.bounds[k], self.bounds[k + 1]) for k in code.nonzero()[0].tolist()]

    def rows(self, values: np.ndarray, code: np.ndarray) -> np.ndarray:
        """The values of the samples of a problem, class by class; not a copy if these are all samples."""
        return values if code.all() else np.concatenate([values[block] for block in self.blocks(code)])

    def sides(self, code: np.ndarray) -> tuple[Array, Array | None]:
        """The sides and the weights of the samples of a problem."""
        weight = None if self.weight is None else self.rows(self.weight, code)
        return code[code != 0.0].repeat(self.sizes[code != 0.0]), weight

    def scored(self, code: np.ndarray, run: slice, score: Score) -> FlatSamples:
        """Scores, whether the label is +1, and weights of the samples of a run of problems, one after the other.

        Each problem has a row of `code`, shape (n_problems, n_classes).
        """
        scores = np.concatenate([score(k) for k in range(run.start, run.stop)])
        sides, weights = zip(*(self.sides(row) for row in code[run]), strict=True)
        return scores, np.concatenate(sides) > 0.0, None if self.weight is None else np.concatenate(weights)


def training_set(
    X: Array, labels: np.ndarray, weight: Array | None, points: Array, uncertainty: Any = None
) -> TrainingSet:
    """Sort and merge. `labels` are class indices, `weight` is positive or None, `points` those of the coordinates X.

    With an `uncertainty` set rows are not merged, because equal points may have different sets; where the set has a
    method ``take(indices)`` it is sorted along.
    """
    order, first = canonical_order(X, labels)
    if uncertainty is not None:
        first = np.arange(labels.size)
        if hasattr(uncertainty, "take"):
            uncertainty = uncertainty.take(order)
    if first.size < labels.size:
        weight = np.add.reduceat(np.ones(labels.size) if weight is None else weight[order], first)
        order = order[first]
    elif weight is not None:
        weight = weight[order]
    points, labels = points[order], labels[order]
    return TrainingSet(points, [0, *np.cumsum(np.bincount(labels)).tolist()], weight, uncertainty, order)


def canonical_order(X: Array, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order of the samples that depends on their values only, and the places in it where a new sample begins.

    Sorted by class; samples that are equal, label included, are neighbours. Shapes (n,) and (n_distinct,).
    """
    # A column at a time, so that equal rows get equal keys wherever they stand.
    key = np.zeros(X.shape[0])
    for j in range(X.shape[1]):
        key += np.cos(1.0 + j * j) * X[:, j]
    order = np.argsort(key)
    del key  # as large as a column of the data
    order = order[np.argsort(labels[order], kind="stable")]
    sorted_labels = labels[order]
    differs = sorted_labels[1:] != sorted_labels[:-1]
    for j in range(X.shape[1]):
        column = X[order, j]
        differs |= column[1:] != column[:-1]
    return order, np.flatnonzero(np.concatenate([[True], differs]))
