"""`HyperbolicClassifierCV`, the classifier to reach for, and the blend that it may choose."""

import time
import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from hypermargin.arrays import Array
from hypermargin.data.ingest import KleinWarning, RadiusWarning, labelled_samples, unit_points
from hypermargin.estimators.auto.choosing import (
    BLEND,
    Blend,
    Candidate,
    Choice,
    choose,
    mean_probability,
    results_table,
    sharpened,
)
from hypermargin.estimators.auto.families import (
    MANY_SAMPLES,
    CurveFamily,
    Family,
    Folds,
    ForestFamily,
    GeodesicFamily,
    KernelFamily,
    NeighbourFamily,
    Parameters,
    Samples,
)
from hypermargin.estimators.auto.search import (
    SHARE_OF_SEARCH,
    Search,
    affordable,
    in_silence,
    part_of,
    stratified,
    worth_the_cost,
)
from hypermargin.estimators.auto.verdict import Verdict, verdict
from hypermargin.estimators.base import POSITIVE, HyperbolicClassifier, Rule, keyword_only, or_none
from hypermargin.estimators.kernel_fitting import KernelSpreadWarning
from hypermargin.estimators.model_file import is_plain, model_from_plain, plain_model, storable
from hypermargin.estimators.scoring import Answers, PrecomputedClassifier, Scorer, positive_class, takes_weights
from hypermargin.geometry.lorentz import curvature_scale
from hypermargin.geometry.validation import FARTHEST_RADIUS, MAX_RADIUS
from hypermargin.problems.margin import check_weights

#: The families, simplest first.
FAMILIES = ("geodesic", "curve", "neighbours", "kernel", "forest", BLEND)
#: Folds by default; twice with fewer than `REPEATED_BELOW` samples, so that the choice depends less on how they fall,
#: and fewer with many samples, to save time.
FOLDS, REPEATED_BELOW = 5, 200
FOLDS_OF_MANY = 3
#: Trees of a forest in the folds and in the final fit: scores of 40 are within half a percent of those of 200.
TREES, FINAL_TREES = 40, 200

#: Attributes that files keep with the chosen classifier; the others ending in ``_`` are kept as they are.
WITH_MODEL = ("best_model_", "classes_", "n_features_in_", "feature_names_in_")


@storable
class HyperbolicBlend(HyperbolicClassifier):
    """Classifiers of different families whose probabilities are averaged; `HyperbolicClassifierCV` makes it.

    Parameters
    ----------
    geometry, curvature
        As of the members.

    Attributes
    ----------
    classes_ : (n_classes,) array
    members_ : list of HyperbolicClassifier
        Fitted to the same samples.
    weights_ : (n_members,) array
        Weights of the mean; they sum to 1.
    exponents_ : (n_members,) array
        The power to which the probabilities of each are raised before they are averaged.
    """

    members_: list[HyperbolicClassifier]
    weights_: Array
    exponents_: Array

    def __init__(self, geometry: str = "lorentz", curvature: float = 1.0):
        self.geometry = geometry
        self.curvature = curvature

    @classmethod
    def of(
        cls,
        members: Sequence[HyperbolicClassifier],
        weights: ArrayLike | None = None,
        exponents: ArrayLike | None = None,
    ) -> "HyperbolicBlend":
        """The blend of classifiers that were fitted to the same samples.

        Without weights all count the same, and without exponents probabilities stay as they are.
        """
        first = members[0]
        blend = cls(first.geometry, first.curvature)
        blend.members_ = list(members)
        weights = _positive(members, weights, "weight")
        blend.weights_ = weights / weights.sum()
        blend.exponents_ = _positive(members, exponents, "exponent")
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(blend, name, getattr(first, name))
        return blend

    def fit(self, X, y, sample_weight=None) -> "HyperbolicBlend":
        """Fit the members anew to points X, shape (n, width), with labels y, shape (n,), and weights (n,)."""
        if not hasattr(self, "members_"):
            raise TypeError("a blend is made by HyperbolicClassifierCV, which chooses its members")
        X, y = self._validated(X, y)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.members_ = [clone(member).fit(X, y, **weight) for member in self.members_]
        self.classes_ = self.members_[0].classes_
        return self

    def __sklearn_clone__(self) -> "HyperbolicBlend":
        """A copy with the same members, which `fit` replaces: without them it could not be fitted."""
        return copy(self)

    def predict_proba(self, X) -> Array:
        """Class probabilities, shape (n, n_classes): the weighted mean of those of the members."""
        X = self._coordinates(X)
        return mean_probability([member.predict_proba(X) for member in self.members_], self.weights_, self.exponents_)

    # -- storage -----------------------------------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        return {
            "members": [plain_model(member) for member in self.members_],
            "weights": self.weights_,
            "exponents": self.exponents_,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.members_ = [model_from_plain(member) for member in state["members"]]
        if not self.members_ or any(len(member.classes_) != len(self.classes_) for member in self.members_):
            raise ValueError("the members of the blend do not fit its classes")
        weights = _positive(self.members_, state.get("weights"), "weight")  # files of old have none
        self.weights_ = weights / weights.sum()
        self.exponents_ = _positive(self.members_, state.get("exponents"), "exponent")


def _positive(members: Sequence[HyperbolicClassifier], given: ArrayLike | None, what: str) -> Array:
    """A positive number for each member, shape (n_members,); 1 where none are given."""
    numbers = np.ones(len(members)) if given is None else np.asarray(given, dtype=np.float64)
    if numbers.shape != (len(members),) or not np.all(numbers > 0.0) or not np.isfinite(numbers).all():
        raise ValueError(f"a blend needs a positive {what} for each member")
    return numbers


def _chosen_has(name: str):
    """Whether the classifier that was chosen has a method of this name."""
    return lambda self: hasattr(getattr(self, "best_model_", None), name)


@storable
@keyword_only
@dataclass(eq=False, repr=False)
class HyperbolicClassifierCV(HyperbolicClassifier):
    """The classifier to reach for: it chooses among all families here, and their parameters, by cross-validation.

    Tried on the same folds are straight boundaries (`HyperbolicSVC`), curves (``boundary="curve"``), nearest
    neighbours, kernels and forests, each over its parameters, and a blend of the best of each family whose log loss
    is not clearly behind. What is chosen is then fitted to all samples; ties go to the simplest. `explanation_`
    says in one line what was chosen and why, and `cv_results_` has all scores.

    Parameters
    ----------
    candidates : sequence of str or dict, optional
        The families to choose from, all by default: "geodesic", "curve", "neighbours", "kernel", "forest" and "blend".
        A dict maps families to lists of parameters to try instead of those that are tried otherwise, such as
        ``{"geodesic": [{"C": 1.0}, {"C": 10.0}], "forest": None}``, where None stands for the usual ones.
    scoring : str or callable, optional
        As in scikit-learn; accuracy by default. For rare classes "average_precision" or "f1".
    pos_label : label, optional
        The positive class of such a score, for two classes; by default the rarer one, or the last if they are equally
        frequent. `explanation_` says which.
    cv : int, splitter or iterable, optional
        As in scikit-learn; an integer means stratified folds. By default 5 of them, twice with fewer than 200
        samples, and with more than 4,000 three of a part of so many.
    geometry, curvature
        As in `HyperbolicSVC`.
    class_weight : dict or "balanced", optional
        Factors of `sample_weight` by class, in every fit. Neighbours take no weights: small whole numbers count as
        repetitions, and with other weights neighbours are not tried.
    refit : bool, default=True
        Fit the chosen classifier to all samples; without it, only the table is made.
    n_jobs : int, optional
        Threads that try candidates at the same time; the result does not depend on it.
    random_state : int, RandomState or None, default=0
        Shuffles the folds and seeds the forests.
    verbose : int, default=0
        1 or more shows progress.
    time_limit : float, optional
        Seconds that `fit` may take. Half of them are for the search, which ends with the best so far; parts of a blend
        that there is no time to fit are left out. A fit that has begun is not interrupted.
    rim : {"clip", "drop", "error"}, default="clip"
        What the chosen classifier does with points beyond its largest radius, as in `HyperbolicSVC`: 345 for kernels
        and neighbours, 18 for others.

    Attributes
    ----------
    best_model_ : HyperbolicClassifier
        The chosen classifier, fitted to all samples.
    best_params_ : dict
        Its family and parameters.
    best_score_ : float
        Its mean score over the folds: slightly optimistic, because it was chosen by it.
    best_index_ : int
        Its row in the table.
    explanation_ : str
        What was chosen and why, in one line.
    cv_results_ : dict of lists and arrays
        A row for each candidate: `family`, `params`, `mean_test_score`, `std_test_score`, `rank_test_score`,
        `split0_test_score` and so on, `screening_score` and `seconds`. ``pandas.DataFrame(cv_results_)`` shows it.
    exponent_ : float
        The power to which the probabilities of `best_model_` are raised, found in the folds; 1 for a blend, whose
        members have their own.
    verdict_ : Verdict
        Whether the geometry helps, in comparison with Euclidean classifiers; computed when it is first read.
    n_splits_ : int
    pos_label_ : label or None
        The positive class; None if the score has none.
    classes_ : (n_classes,) array
    n_features_in_ : int
    feature_names_in_ : array of str
        If X had column names.
    """

    RULES: ClassVar[dict[str, Rule]] = HyperbolicClassifier.RULES | {"time_limit": or_none(POSITIVE)}

    candidates: Any = None
    scoring: Any = None
    cv: Any = None
    geometry: str = "lorentz"
    curvature: float = 1.0
    class_weight: Any = None
    refit: bool = True
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: int = 0
    pos_label: Any = None
    time_limit: float | None = None
    rim: str = "clip"

    # -- fitting -----------------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None) -> "HyperbolicClassifierCV":
        """Choose a classifier for points X, shape (n, width), with labels y, shape (n,), and fit it to all of them.

        Weights, shape (n,), enter every fit, and the scores as well if the scorer takes weights.
        """
        began = time.perf_counter()
        self._check_space()
        limit = np.inf if self.time_limit is None else float(self.time_limit)
        X, y = self._validated(X, y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        samples = self._samples(X, y, sample_weight)
        folds = self._folds(samples, seed)
        wanted, with_blend = self._wanted(samples, seed)
        used = samples.labels if samples.weight is None else samples.labels[samples.weight > 0.0]
        self.pos_label_, positive = positive_class(self.scoring, self.pos_label, self.classes_, used)
        scorer = self._scorer(X, y, sample_weight)
        is_late = False
        if folds:
            deadline = began + SHARE_OF_SEARCH * limit
            search = Search(samples, scorer, self.n_jobs, self.verbose >= 1, seed, deadline)
            candidates, folds = search.run(wanted, folds)
            is_late = search.is_late
        if not folds:  # nothing can be compared: the simplest family with its defaults
            candidates = [Candidate(wanted[0][0], {})]
        for each in candidates:
            each.parameters = each.family.on_all(each.parameters, used.size)
        kept = worth_the_cost(candidates) if used.size > MANY_SAMPLES else candidates
        size = used.size / max(len(folds[0][0]), 1) if folds else 1.0
        kept = affordable(kept, size, began + limit - time.perf_counter())
        choice = choose(candidates, kept, folds, scorer, with_blend)
        self._compared = samples, scorer, seed
        self.__dict__.pop("_verdict", None)
        self.n_splits_ = len(folds)
        self.best_index_, self.best_score_ = choice.index, choice.score
        self.exponent_ = choice.exponent
        self.best_params_ = {"family": choice.chosen.name, **choice.chosen.parameters}
        self.cv_results_ = results_table(choice.rows)
        self.explanation_ = choice.explanation(folds, self.scoring, positive, is_late=is_late)
        if hasattr(self, "best_model_"):
            del self.best_model_
        if self.refit:
            self._refit(choice, X, y, samples.weight, began + limit)
        return self

    def _samples(self, X: Array, y: np.ndarray, sample_weight) -> Samples:
        """Unit Lorentz points, labels as indices, and weights multiplied out (None if there are none)."""
        given = labelled_samples(X, y, sample_weight, self.class_weight)
        self.classes_ = given.classes
        with warnings.catch_warnings():
            for repeated in (RadiusWarning, KleinWarning):  # the final fit warns
                warnings.simplefilter("ignore", repeated)
            # Each family treats points beyond its own largest radius.
            largest = MAX_RADIUS if self.rim == "error" else FARTHEST_RADIUS
            points = unit_points(X, self.geometry, self.curvature, self.rim, largest)
        weight = None
        if given.weight is not None:
            weight = np.zeros(len(y))
            weight[slice(None) if given.kept is None else given.kept] = given.weight
        return Samples(points, np.searchsorted(given.classes, y), weight)

    def _scorer(self, X: Array, y: np.ndarray, sample_weight) -> Scorer:
        """The scorer of answers. Metrics with a name see indices of classes, because for some the positive one is 1."""
        usual = self.scoring in (None, "accuracy")
        metric = None if usual else check_scoring(PrecomputedClassifier(), scoring=self.scoring)
        weighs = sample_weight is not None and (metric is None or takes_weights(metric))
        weight = check_weights(sample_weight, len(y)) if weighs else None
        if isinstance(self.scoring, str):
            first = self.pos_label_ is not None and bool(self.pos_label_ == self.classes_[0])
            labels = np.searchsorted(self.classes_, y)
            return Scorer(metric, X, labels, np.arange(self.classes_.size), weight, first)
        return Scorer(metric, X, y, self.classes_, weight)

    def _refit(self, choice: Choice, X: Array, y: np.ndarray, weight: Array | None, deadline: float) -> None:
        """Fit the chosen classifier, or the members of the blend, to all samples in the coordinates of the user."""
        scale = curvature_scale(self.curvature)
        fitted: list[HyperbolicClassifier] = []
        for each in choice.members:
            if fitted and time.perf_counter() > deadline:
                self.explanation_ += f"; there was no time for all of its parts, but for {len(fitted)}"
                break
            model = each.family.model(each.family.in_space(each.parameters, scale))
            model.set_params(geometry=self.geometry, curvature=self.curvature, rim=self.rim)
            if hasattr(model, "n_jobs"):
                model.set_params(n_jobs=self.n_jobs)
            if isinstance(each.family, ForestFamily) and "n_estimators" not in each.parameters:
                model.set_params(n_estimators=FINAL_TREES)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", KernelSpreadWarning)  # the folds have shown what the kernel is good for
                fitted.append(each.family.fit(model, X, y, weight))
        exponents = choice.chosen.exponents[: len(fitted)] if isinstance(choice.chosen, Blend) else None
        self.best_model_ = fitted[0] if exponents is None else HyperbolicBlend.of(fitted, None, exponents)

    def _folds(self, samples: Samples, seed: int) -> Folds:
        """Rows of positive weight to train on and to test; no folds if no class has two samples."""
        labels = samples.labels
        used = np.arange(labels.size) if samples.weight is None else np.flatnonzero(samples.weight > 0.0)
        if self.cv is not None:
            splits = in_silence(check_cv(self.cv, labels, classifier=True), labels, samples.X)
            return [(np.intersect1d(train, used), np.intersect1d(test, used)) for train, test in splits]
        number, repeats = FOLDS, 2 if used.size < REPEATED_BELOW else 1
        if used.size > MANY_SAMPLES:
            number, used = FOLDS_OF_MANY, used[part_of(labels[used], MANY_SAMPLES, seed)]
        number = min(number, int(np.bincount(labels[used]).max()))
        return stratified(labels, used, number, seed, repeats) if number > 1 else []

    def _wanted(self, samples: Samples, seed: int) -> tuple[list[tuple[Family, list[Parameters]]], bool]:
        """The families to try with their candidates, and whether blends are considered."""
        asked = self._asked()
        known: Sequence[Family] = (
            GeodesicFamily(),
            CurveFamily(),
            NeighbourFamily(),
            KernelFamily(),
            ForestFamily(seed, TREES),
        )
        used = samples if samples.weight is None else samples.take(np.flatnonzero(samples.weight > 0.0))
        wanted = []
        for family in known:
            if family.name not in asked:
                continue
            given = asked[family.name]
            if family.takes(samples.weight):
                wanted.append((family, family.candidates(used) if given is None else given))
        if not wanted:
            raise ValueError(
                f"candidates={self.candidates!r} leaves nothing to choose from: neighbours take no weights but small "
                "whole numbers"
            )
        return wanted, BLEND in asked

    def _asked(self) -> dict[str, list[Parameters] | None]:
        """Families by name with the parameters that the user asks for; None for the default ones."""
        asked = FAMILIES if self.candidates is None else self.candidates
        if isinstance(asked, str):
            asked = (asked,)
        grids = dict(asked) if isinstance(asked, Mapping) else dict.fromkeys(asked)
        for name, grid in grids.items():
            if name not in FAMILIES:
                raise ValueError(f"unknown family {name!r} in candidates; there are {', '.join(FAMILIES)}")
            if grid is None:
                continue
            if name == BLEND or not (
                isinstance(grid, Sequence) and grid and all(isinstance(each, Mapping) for each in grid)
            ):
                raise ValueError(
                    f"candidates[{name!r}] must be None" + ("" if name == BLEND else " or a list of dicts")
                )
        if not set(grids) - {BLEND}:
            raise ValueError("candidates must name at least one family besides 'blend'")
        return {name: None if grid is None else [dict(each) for each in grid] for name, grid in grids.items()}

    @property
    def verdict_(self) -> Verdict:
        """Whether the geometry helps: this and its Euclidean twins on the same folds; ``str()`` says it in words.

        It is computed when it is first read, which takes some seconds, on at most 1,500 samples, with equal weights.
        Files do not keep the samples that it needs.
        """
        if "_verdict" not in vars(self):
            if "_compared" not in vars(self):
                raise AttributeError("verdict_ needs the samples of a fit, which files do not keep: fit, then read it")
            samples, scorer, seed = self._compared
            metric = self.scoring if isinstance(self.scoring, str) else "accuracy" if self.scoring is None else "score"
            self._verdict = verdict(samples, scorer, metric, seed, self.n_jobs)
        return self._verdict

    def __getstate__(self) -> dict[str, Any]:
        """Without the samples of the fit."""
        return {name: value for name, value in super().__getstate__().items() if name != "_compared"}

    @property
    def best_estimator_(self) -> HyperbolicClassifier:
        """`best_model_` under scikit-learn's name for it."""
        return self.best_model_

    def test_score(self, X, y) -> float:
        """The value of `scoring` on points X, shape (n, width), that `fit` has not seen, with their labels y."""
        X, y = self._coordinates(X), np.asarray(y)
        if self.pos_label_ is None:
            return float(check_scoring(self, scoring=self.scoring)(self, X, y))
        others = self.classes_[0] if self.pos_label_ == self.classes_[1] else self.classes_[1]
        y = np.where(y == self.pos_label_, self.pos_label_, others)
        return self._scorer(X, y, None).score(Answers.of(self, X), np.arange(len(y)))

    # -- prediction, by the chosen classifier --------------------------------------------------------------------------

    def _predicted_labels(self, X) -> np.ndarray:
        return self._chosen(X, "predict")

    def predict_proba(self, X) -> Array:
        """Class probabilities, shape (n, n_classes)."""
        return sharpened(self._chosen(X, "predict_proba"), self.exponent_)

    @available_if(_chosen_has("decision_function"))
    def decision_function(self, X) -> Array:
        """The decision function of the chosen classifier, if it has one."""
        return self._chosen(X, "decision_function")

    @available_if(_chosen_has("certified_radius"))
    def certified_radius(self, X) -> Array:
        """A distance within which predictions cannot change, shape (n,), if the chosen classifier has this method."""
        return self._chosen(X, "certified_radius")

    @available_if(_chosen_has("nearest_adversarial"))
    def nearest_adversarial(self, X) -> tuple[Array, Array]:
        """The nearest points predicted differently and their distances, if the chosen classifier has this method."""
        return self._chosen(X, "nearest_adversarial")

    def _chosen(self, X, method: str) -> Any:
        X = self._coordinates(X)
        if not hasattr(self, "best_model_"):
            raise ValueError("with refit=False there is a table and no classifier: fit with refit=True to predict")
        return getattr(self.best_model_, method)(X)

    # -- storage -----------------------------------------------------------------------------------------------------

    def _to_store(self) -> "HyperbolicClassifierCV":
        """The search without a splitter or scorer that is an object, because files hold no code."""
        if is_plain(self.cv) and is_plain(self.scoring) and is_plain(self.random_state):
            return self
        kept = copy(self)
        for name in ("cv", "scoring", "random_state"):
            if not is_plain(getattr(kept, name)):
                setattr(kept, name, None)
        return kept

    def _stored(self) -> dict[str, Any]:
        if not hasattr(self, "best_model_"):
            raise ValueError("with refit=False there is no classifier to keep in a file")
        own = {name: value for name, value in vars(self).items() if name.endswith("_") and name not in WITH_MODEL}
        return {"model": plain_model(self.best_model_), **own}

    def _restore(self, state: dict[str, Any]) -> None:
        state = {"pos_label_": None, "exponent_": 1.0, **state}  # older files have none
        self.best_model_ = model_from_plain(state.pop("model"))
        if len(self.best_model_.classes_) != len(self.classes_):
            raise ValueError("the classifier chosen does not fit the classes")
        for name, value in state.items():
            if not name.endswith("_"):
                raise ValueError("it holds what no search has")
            setattr(self, name, value)
