"""Training samples in memory: sorted by class, merged, and as unit Lorentz points."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.data.ingest import unit_points
from hypermargin.estimators.calibration import FlatSamples
from hypermargin.problems.margin import MarginProblem

#: Scores of a block of rows of a training set in one of the binary problems, by its number.
Score = Callable[[int, slice], Array]


@dataclass(frozen=True)
class TrainingSet:
    """Samples sorted by class: class k has the rows ``bounds[k] : bounds[k + 1]`` of the unit points X.

    Within a class rows are in an order that depends on their values only, and equal rows are one row with the sum of
    their weights. So a fit does not depend on the order of the samples, and a weight of 2 equals the sample twice,
    exactly, whatever the solver. `weight` is None where every weight is 1.
    """

    X: Array
    bounds: list[int]
    weight: Array | None
    uncertainty: Any = None

    @cached_property
    def sizes(self) -> np.ndarray:
        """Samples of each class, shape (n_classes,)."""
        return np.diff(self.bounds)

    def problem(self, code: np.ndarray, C: float, allow_timelike: bool) -> MarginProblem:
        """The binary problem in which class k is on the side ``code[k]``, or sits out where that is 0."""
        used = code.nonzero()[0]
        X, y = self._rows(self.X, used), code[used].repeat(self.sizes[used])
        weight = None if self.weight is None else self._rows(self.weight, used)
        if self.uncertainty is None:
            return MarginProblem.unchecked(X, y, C, weight, None, allow_timelike)
        uncertainty = self.uncertainty
        if used.size < code.size and hasattr(uncertainty, "take"):
            uncertainty = uncertainty.take(self._rows(np.arange(self.X.shape[0]), used))
        return MarginProblem(X, y, C, weight, uncertainty, allow_timelike)

    def scored(self, code: np.ndarray, run: slice, score: Score) -> FlatSamples:
        """Scores, whether the label is +1, and weights of the samples of a run of problems, one after the other.

        Each problem has a row of `code`, shape (n_problems, n_classes); `score` gives the scores of some rows in it.
        """
        problem, used = code[run].nonzero()
        places = zip(problem + run.start, used.tolist(), strict=True)
        scores = np.concatenate([score(p, self._block(k)) for p, k in places])
        positive = (code[run][problem, used] > 0.0).repeat(self.sizes[used])
        return scores, positive, None if self.weight is None else self._rows(self.weight, used)

    def _block(self, k: int) -> slice:
        return slice(self.bounds[k], self.bounds[k + 1])

    def _rows(self, values: np.ndarray, used: np.ndarray) -> np.ndarray:
        """The rows of the classes `used`, one class after the other; not a copy if that is all there are."""
        blocks = used.tolist()
        if blocks == list(range(self.sizes.size)):
            return values
        return np.concatenate([values[self._block(k)] for k in blocks])


def training_set(
    X: Array, labels: np.ndarray, weight: Array | None, geometry: str, curvature: float, uncertainty: Any = None
) -> TrainingSet:
    """Sort, merge and convert. `labels` are class indices; `weight` is positive or None.

    With an `uncertainty` set rows are not merged, because equal points may have different sets; where the set has a
    method ``take(indices)`` it is sorted along.
    """
    points = unit_points(X, geometry, curvature)
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
    return TrainingSet(points, [0, *np.cumsum(np.bincount(labels)).tolist()], weight, uncertainty)


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
