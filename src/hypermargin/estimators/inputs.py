"""From what a user passes to what the schemes work on: unit Lorentz points, weights, and samples in canonical order."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from hypermargin.arrays import Array
from hypermargin.estimators.calibration import FlatSamples
from hypermargin.estimators.user_data import require_classes
from hypermargin.geometry.curvature import curvature_scale
from hypermargin.geometry.lorentz import euclidean_norm
from hypermargin.geometry.models import to_lorentz
from hypermargin.geometry.validation import MAX_RADIUS, PointError, check_points
from hypermargin.problems.margin import MarginProblem, check_weights

#: Scores of a block of rows of a training set in one of the binary problems, by its number.
Score = Callable[[int, slice], Array]


#: Poincaré embeddings are trained inside the ball of this norm at most: gensim and geoopt both stop at 1e-5 from its
#: edge. The Klein coordinates of a point lie farther out than its Poincaré coordinates: mistaken, at twice the radius.
EDGE_OF_TRAINING = 1.0 - 1e-5


class RadiusWarning(UserWarning):
    """Tangent vectors were longer than the largest radius that double precision holds."""


class KleinWarning(UserWarning):
    """Coordinates passed as those of the Poincaré ball lie so far out that they may be Klein coordinates."""


def unit_points(X: Array, geometry: str, curvature: float) -> Array:
    """Points of the unit hyperboloid from coordinates `geometry`, or a `ValueError` that says what X looks like.

    Tangent vectors may have any length, so those beyond the largest radius that double precision holds are drawn in to
    it along their ray, with a `RadiusWarning`; in the other geometries such points are an error.
    """
    scale = curvature_scale(curvature)
    if geometry == "tangent":
        X = _draw_in(X, MAX_RADIUS / scale)
    X = check_points(X, geometry, curvature)
    return X if geometry == "lorentz" and scale == 1.0 else to_lorentz(X, geometry, curvature)


def _draw_in(X: Array, longest: float) -> Array:
    """Rows of X, those longer than `longest` shortened to it."""
    size = np.max(np.abs(X), axis=1)  # Squares of the entries themselves may overflow.
    length = size * np.linalg.norm(X / np.where(size > 0.0, size, 1.0)[:, None], axis=1)
    far = length > longest
    if not far.any():
        return X
    warnings.warn(
        f"{int(far.sum())} of {far.size} tangent vectors are longer than {longest:.4g} (hyperbolic radius "
        f"{MAX_RADIUS:.0f}), beyond which double precision holds no point; they are drawn in to that length. Scale the "
        "data or use a smaller curvature.",
        RadiusWarning,
        stacklevel=4,
    )
    factor = (1.0 - 1e-12) * longest / np.where(far, length, longest)
    return np.where(far[:, None], X * factor[:, None], X)


def warn_of_klein(X: Array, curvature: float) -> None:
    """Warn of Poincaré coordinates at a norm that no embedding is trained to; Klein ones have it from radius 6 on.

    Nothing is said where points lie beyond what double precision holds, which is an error of its own.
    """
    norm = curvature_scale(curvature) * euclidean_norm(X)
    beyond = int(np.sum(norm > EDGE_OF_TRAINING))
    if beyond and norm.max() < np.tanh(MAX_RADIUS / 2.0):
        warnings.warn(
            f"{beyond} of {len(X)} points lie nearer to the edge of the Poincaré ball than embeddings are trained to "
            f"(norms up to {np.max(norm):.9f}): if these are Klein coordinates, pass geometry='klein'",
            KleinWarning,
            stacklevel=6,  # where `fit` was called
        )


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """Samples of positive weight, in coordinates as given, shape (n, width), with labels as indices of `classes`.

    `weight` is None where every weight is 1; `kept` are the rows that are left of those passed, None where all are.
    """

    X: Array
    labels: np.ndarray
    classes: np.ndarray
    weight: Array | None
    kept: np.ndarray | None


def labelled_samples(X: Array, y: np.ndarray, sample_weight: Any, class_weight: Any) -> LabelledSamples:
    """Encode labels, multiply the weights out and leave samples of weight 0 out; one class only is an error."""
    with warnings.catch_warnings():  # a label per sample is an error below, and few samples are the user's business
        warnings.filterwarnings("ignore", message="The number of unique classes is greater")
        check_classification_targets(y)
    classes, labels = np.unique(column_or_1d(y), return_inverse=True)
    labels = labels.astype(np.min_scalar_type(classes.size))
    require_classes(classes, labels.size)
    weight = total_weights(sample_weight, class_weight, labels, classes)
    if weight is None or np.all(weight > 0.0):
        return LabelledSamples(X, labels, classes, weight, None)
    kept = np.flatnonzero(weight > 0.0)
    return LabelledSamples(X[kept], labels[kept], classes, weight[kept], kept)


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
    as_given = X
    order, first = canonical_order(X, labels)
    X, labels = X[order], labels[order]
    if weight is not None:
        weight = weight[order]
    if uncertainty is None:
        if first.size < labels.size:
            weight = np.add.reduceat(np.ones(labels.size) if weight is None else weight, first)
            X, labels = X[first], labels[first]
    elif hasattr(uncertainty, "take"):
        uncertainty = uncertainty.take(order)
    del order, first
    bounds = [0, *np.cumsum(np.bincount(labels)).tolist()]
    try:
        points = unit_points(X, geometry, curvature)
    except PointError:
        unit_points(as_given, geometry, curvature)  # again in the order given, for the number of the row it names
        raise
    return TrainingSet(points, bounds, weight, uncertainty)


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


def total_weights(
    sample_weight: Any, class_weight: Mapping | str | None, labels: np.ndarray, classes: np.ndarray
) -> Array | None:
    """``sample_weight * class_weight`` of every sample, or None where both are None.

    "balanced" gives every class the same total weight: ``sum of weights / (n_classes * weight of the class)``.
    """
    weight = None if sample_weight is None else check_weights(sample_weight, labels.size)
    if class_weight is not None:
        own = np.ones(labels.size) if weight is None else weight
        mass = np.bincount(labels, weights=own, minlength=classes.size)
        if isinstance(class_weight, str) and class_weight == "balanced":
            factor = mass.sum() / (classes.size * np.where(mass > 0.0, mass, 1.0))
        elif isinstance(class_weight, Mapping):
            factor = compute_class_weight(dict(class_weight), classes=classes, y=classes[labels])
            if not (np.all(np.isfinite(factor)) and np.all(factor >= 0.0)):
                raise ValueError("class_weight must hold finite numbers that are not negative")
        else:
            raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}")
        weight = own * factor[labels]
    if weight is not None:
        mass = np.bincount(labels, weights=weight, minlength=classes.size)
        if not np.all(mass > 0.0):
            empty = classes[np.flatnonzero(mass <= 0.0)[0]]
            raise ValueError(
                f"the weights leave class {empty} without a sample: give one of its samples a positive weight, or "
                "remove the class from y"
            )
    return weight
