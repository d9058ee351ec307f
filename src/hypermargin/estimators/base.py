"""What every classifier here shares: coordinates to unit Lorentz points, labels to indices, weights to one number."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Collection
from functools import wraps
from inspect import signature
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from hypermargin.arrays import Array
from hypermargin.data.ingest import (
    RIMS,
    LabelledSamples,
    Rim,
    block_coordinates,
    labelled_samples,
    manifold_curvature,
    numbered,
    plain_coordinates,
    plain_labels,
    require_finite,
    to_unit,
    unit_points,
    warn_of_radius,
)
from hypermargin.data.inputs import column_names, is_blocked, is_collection
from hypermargin.data.inspecting import chosen_dialect
from hypermargin.estimators.conformal import ConformalMixin
from hypermargin.geometry.lorentz import curvature_scale
from hypermargin.geometry.validation import MAX_RADIUS, check_geometry, dimension_of

#: Where pickles have what `PackedClassifier` packs; the last two names are those of earlier versions.
PACKED_STATES = ("_packed", "_stored_points", "_stored_trees")


#: A test of the value of a parameter, and what it must be in words.
Rule = tuple[Callable[[Any], bool], str]


def is_whole(value: Any, least: int) -> bool:
    """Whether a value is an integer, no bool, of at least `least`."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def at_least(least: int) -> Rule:
    return lambda value: is_whole(value, least), f"an integer of at least {least}"


def one_of(choices: Collection[str]) -> Rule:
    return lambda value: isinstance(value, str) and value in choices, f"one of {', '.join(choices)}"


def or_none(rule: Rule) -> Rule:
    return lambda value: value is None or rule[0](value), f"{rule[1]} or None"


POSITIVE: Rule = (lambda value: isinstance(value, Real) and 0.0 < float(value) < np.inf, "positive")
TRUE_OR_FALSE: Rule = (lambda value: isinstance(value, bool | np.bool_), "True or False")
AN_INTEGER: Rule = (lambda value: isinstance(value, Integral), "an integer")


Estimator = TypeVar("Estimator", bound=type[BaseEstimator])


def keyword_only(kind: Estimator) -> Estimator:
    """Class decorator: parameters but for the first should be given by name, and a call that does not is warned of."""
    given = kind.__init__
    names = [*signature(kind).parameters]

    @wraps(given)
    def init(self, *args: Any, **parameters: Any) -> None:
        if len(args) > 1:
            wanted = ", ".join(f"{name}=..." for name in names[1 : len(args)])
            warnings.warn(
                f"{kind.__name__} will take its parameters by name only from version 1.0 on, but for {names[0]}: "
                f"pass {wanted}",
                FutureWarning,
                stacklevel=2,
            )
        given(self, *args, **parameters)

    kind.__init__ = init
    return kind


class HyperbolicEstimator(BaseEstimator):
    """Base of what is fitted to points of hyperbolic space: its coordinates, and rules for its parameters.

    A subclass is a dataclass of its parameters, among them `geometry` and `curvature`.
    """

    #: What parameters must be: for each name a test of the value, and words for the error.
    RULES: ClassVar[dict[str, Rule]] = {"verbose": AN_INTEGER, "rim": one_of(RIMS)}

    #: Points beyond this radius are treated as the parameter `rim` says.
    LARGEST_RADIUS: ClassVar[float] = MAX_RADIUS

    geometry: str
    curvature: float
    rim: str = "clip"
    n_features_in_: int

    def _check_space(self) -> None:
        """Refuse a geometry that is unknown, a curvature that is not positive, and parameters that break `RULES`."""
        if self.geometry != "auto":
            check_geometry(self.geometry)
        curvature_scale(self.curvature)
        for name, (is_right, wanted) in self.RULES.items():
            value = getattr(self, name, None)
            if hasattr(self, name) and not is_right(value):
                raise ValueError(f"{name} must be {wanted}, got {value!r}")

    def _note_manifold(self, X, *, reset: bool) -> None:
        """Take the curvature from a tensor that has a manifold, unless another one than the default was stated.

        With ``geometry="auto"`` geometry and curvature are those that `inspect` finds surest.
        """
        if reset and self.geometry == "auto" and not is_blocked(X):  # blocks are looked at by `ingest_blocks`
            self.geometry, self.curvature = chosen_dialect(X)[:2]
        found = manifold_curvature(X, self.geometry)
        if found is None or np.isclose(found, float(self.curvature), rtol=1e-6, atol=0.0):  # single precision is usual
            return
        if not reset or self.curvature != 1.0:
            raise ValueError(
                f"X lies in the space of curvature -{found:.6g}, and curvature is {float(self.curvature):.6g} here"
            )
        self.curvature = found

    def _refuse_collections(self, X) -> None:
        """Refuse data in blocks, which only some classifiers take (docs/large-data.md)."""
        if is_collection(X):
            raise TypeError(
                f"{type(self).__name__} needs the points in memory here, and X is a {type(X).__name__}: pass an array, "
                "such as X.compute() of a Dask collection"
            )

    def _coordinates(self, X, *, reset: bool = False) -> Array:
        """Data as numbers, shape (n, width), as they were given; new data is an error where nothing is fitted."""
        if not reset:
            check_is_fitted(self)
        self._refuse_collections(X)
        self._note_manifold(X, reset=reset)
        X = plain_coordinates(X, self.geometry, self.curvature)
        X = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
        require_finite(X)
        return X

    def _points(self, X, *, reset: bool = False) -> Array:
        """Unit Lorentz points of new data, shape (n, d + 1); an error where nothing is fitted."""
        X, rim = self._coordinates(X, reset=reset), self._rim_of_new_points()
        return unit_points(X, self.geometry, self.curvature, rim, self.LARGEST_RADIUS)

    def _rim_of_new_points(self) -> str:
        """What is done with new points beyond the largest radius: each has to get an answer, or all an error."""
        return "error" if self.rim == "error" else "clip"


class HyperbolicClassifier(ConformalMixin, ClassifierMixin, HyperbolicEstimator):
    """Base of the classifiers of points in hyperbolic space.

    A subclass is a dataclass of its parameters, among them `geometry` and `curvature`, and `class_weight` if it takes
    weights. Its `fit` calls `_labelled_samples` and sets `classes_`; its `predict_proba` calls `_points`. To join the
    model files it is decorated with `model_file.storable` and implements `_stored` and `_restore`.
    """

    classes_: np.ndarray
    #: `model_file.save_model`, of classes that model files hold.
    save: ClassVar[Callable[..., None]]

    def _labelled_samples(self, X, y, sample_weight, *, reset: bool = True) -> LabelledSamples:
        """What is to be fitted: samples of positive weight, in the coordinates of X, with labels as class indices.

        With ``reset=False`` X must have the columns that the classifier was fitted to.
        """
        X, y = self._validated(X, y, reset=reset)
        if reset and self.geometry == "poincare":
            Rim.of(X, self.curvature).warn(len(X), stacklevel=5)
        class_weight = getattr(self, "class_weight", None)
        given = labelled_samples(X, y, sample_weight, class_weight)
        if self.rim == "drop":
            _, far = self._converted(given)
            warn_of_radius(far, len(X), self.rim, self.LARGEST_RADIUS, self.geometry, stacklevel=5)
            given = labelled_samples(X, y, sample_weight, class_weight, far)
        return given

    def _fitted_points(self, given: LabelledSamples) -> Array:
        """Unit Lorentz points of the samples to fit, shape (n, d + 1); rows are called by their numbers in X."""
        points, far = self._converted(given)
        warn_of_radius(far, given.n_rows, self.rim, self.LARGEST_RADIUS, self.geometry, stacklevel=5)
        return points

    def _converted(self, given: LabelledSamples) -> tuple[Array, np.ndarray]:
        """Unit points of samples, and the rows of X of those beyond the largest radius."""
        with numbered(kept=given.kept):
            points, far = to_unit(given.X, self.geometry, self.curvature, self.rim, self.LARGEST_RADIUS)
        return points, far if given.kept is None else given.kept[far]

    def _validated(self, X, y, *, reset: bool = True) -> tuple[Array, np.ndarray]:
        """X as numbers, shape (n, width), and y, shape (n,), after the checks of scikit-learn and of missing labels."""
        self._refuse_collections(X)
        self._note_manifold(X, reset=reset)
        X, y = plain_coordinates(X, self.geometry, self.curvature), plain_labels(y)
        X, y = validate_data(self, X, y, reset=reset, dtype=np.float64, ensure_all_finite=False)
        require_finite(X)
        return X, y

    def _block_points(self, X) -> tuple[Array, np.ndarray]:
        """Unit Lorentz points of a block of new data, and the rows of those that were drawn in (`to_unit`)."""
        values = block_coordinates(X, self.geometry, self.curvature)
        self._check_width(values.shape[1])
        if len(values) == 0:
            return np.empty((0, 1 + dimension_of(self.n_features_in_, self.geometry))), np.empty(0, dtype=np.intp)
        return to_unit(values, self.geometry, self.curvature, self._rim_of_new_points())

    def _check_width(self, width: int) -> None:
        """The error of scikit-learn for another number of columns than that of the fit."""
        if width != self.n_features_in_:
            name, expected = type(self).__name__, self.n_features_in_
            raise ValueError(f"X has {width} features, but {name} is expecting {expected} features as input.")

    def _note_columns(self, X, y, sample_weight, width: int) -> None:
        """Set the number of columns, and their names if X is a table, for X in blocks."""
        self.n_features_in_ = width
        names = column_names(X, y, sample_weight)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def predict(self, X, *, reject: float | None = None, unknown: Any = "unknown") -> np.ndarray:
        """The predicted labels, shape (n,); ties go to the first of the classes.

        With ``reject=0.05`` a label is given where the prediction set of that error rate (`predict_set`, after
        `conformalize`) has one class only, and `unknown` elsewhere.
        """
        return self._predicted_labels(X) if reject is None else self._with_unknown(X, reject, unknown)

    def _predicted_labels(self, X) -> np.ndarray:
        winner = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[winner]

    def top_k(self, X, k: int) -> tuple[np.ndarray, Array]:
        """The k most probable classes of each point and their probabilities, both of shape (n, k), best first."""
        if not is_whole(k, 1) or k > self.classes_.size:
            raise ValueError(f"k must be a whole number from 1 to the {self.classes_.size} classes, got {k!r}")
        probability = self.predict_proba(X)
        order = np.argsort(-probability, axis=1, kind="stable")[:, :k]
        return self.classes_[order], np.take_along_axis(probability, order, axis=1)

    @abstractmethod
    def predict_proba(self, X) -> Array:
        """Class probabilities, shape (n, n_classes)."""

    def predict_log_proba(self, X) -> Array:
        """Logarithms of the class probabilities, -inf where one is 0; shape (n, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _to_store(self) -> "HyperbolicClassifier":
        """The classifier that a model file of this one holds."""
        return self

    def _stored(self) -> dict[str, Any]:
        """What `fit` has set beyond classes and columns: arrays and plain values (see `model_file.pack`)."""
        raise TypeError(f"{type(self).__name__} does not say what a model file of it holds")

    def _restore(self, state: dict[str, Any]) -> None:
        """Set what `_stored` returned; classes and columns are set already. Damage may raise any error."""
        raise TypeError(f"{type(self).__name__} does not say what a model file of it holds")


class PackedClassifier(HyperbolicClassifier):
    """A classifier whose pickles hold what its model files hold, in the place of the attributes `PACKED`."""

    PACKED: ClassVar[tuple[str, ...]]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if self.PACKED[0] in state:
            state[PACKED_STATES[0]] = self._stored()
            for name in self.PACKED:
                state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        packed = [state.pop(name) for name in PACKED_STATES if name in state]
        super().__setstate__(state)
        for stored in packed:
            self._restore(stored)
