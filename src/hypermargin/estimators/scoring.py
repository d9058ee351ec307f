"""Scores of classifiers: the scorers of scikit-learn on answers that are known already, and how scores compare."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer
from sklearn.utils.metaestimators import available_if

from hypermargin.arrays import Array

#: Scores that differ by less are equal: means of scores are rounded by less.
TIE = 1e-12
#: Standard errors within which two models count as equally good: the usual 95 %.
MOST_BEHIND = 2.0
#: Folds whose scores count as independent: a second repetition of five folds has the same samples again.
INDEPENDENT_FOLDS = 5


# -- what scorers take -------------------------------------------------------------------------------------------------


def takes_weights(scorer: Callable) -> bool:
    """Whether a scorer can be called with sample_weight; those of scikit-learn look at their metric."""
    if hasattr(scorer, "_accept_sample_weight"):
        return bool(scorer._accept_sample_weight())
    parameters = signature(scorer).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)


def positive_class(scoring: Any, wanted: Any, classes: np.ndarray, labels: np.ndarray) -> tuple[Any, str]:
    """The class that a score by this name is about, and words that say why; None where the score is about all classes.

    Parameters
    ----------
    wanted
        The class that the user names; None for the rarer of two, or, if they are equally frequent, the last.
    labels : (n,) array of int
        Indices into `classes`.
    """
    if not _has_positive_class(scoring):
        if wanted is None:
            return None, ""
        raise ValueError(
            "pos_label is for scores of one of two classes, such as 'average_precision' and 'f1'; "
            f"got scoring={scoring!r}"
        )
    if wanted is None and classes.size == 2:
        counts = np.bincount(labels, minlength=2)
        chosen = classes[int(counts[1] <= counts[0])]
        why = "the last of two equally frequent ones" if counts[0] == counts[1] else "the rarer one"
        return chosen, f"positive class {chosen}, {why}"
    if wanted is None:
        return None, ""
    if classes.size != 2:
        raise ValueError(f"pos_label is for two classes, but y has {classes.size}")
    if wanted not in classes.tolist():
        raise ValueError(f"pos_label is {wanted!r}, but the classes are {classes.tolist()}")
    return classes[classes.tolist().index(wanted)], f"positive class {wanted}"


def _has_positive_class(scoring: Any) -> bool:
    """Whether the score that scikit-learn has by this name measures how well one of two classes is found."""
    if not isinstance(scoring, str):
        return False
    scorer = get_scorer(scoring)
    is_binary = scorer._kwargs.get("average", "binary") == "binary"
    return "likelihood_ratio" in scoring or ("pos_label" in signature(scorer._score_func).parameters and is_binary)


# -- answers and their scores ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Answers:
    """Class probabilities of the test samples of one fold, shape (n_test, n_classes).

    `decision` is what ``decision_function`` returns, None for classifiers without it. Metrics that rank samples need
    it: probabilities that were adjusted to agree with votes have ties.
    """

    probability: Array
    decision: Array | None = None

    @classmethod
    def of(cls, model: Any, X: Array) -> "Answers":
        """Those of a fitted classifier."""
        decision = model.decision_function(X) if hasattr(model, "decision_function") else None
        return cls(model.predict_proba(X), decision)

    def among(self, present: np.ndarray, n_classes: int) -> "Answers":
        """The answers extended to all classes, for a classifier that was fitted to the classes `present` only."""
        if present.size == n_classes:
            return self
        probability = np.zeros((len(self.probability), n_classes))
        probability[:, present] = self.probability
        return Answers(probability)  # a decision function of fewer classes has another meaning


def _has_decision(self: "PrecomputedClassifier") -> bool:
    return self.answers is not None and self.answers.decision is not None


@dataclass(eq=False, repr=False)
class PrecomputedClassifier(ClassifierMixin, BaseEstimator):
    """A fitted classifier that returns given answers for the samples of one fold, for scorers to call.

    With `exchanged` each of two classes has the name of the other.
    """

    answers: Answers | None = None
    classes: np.ndarray | None = None
    exchanged: bool = False

    @property
    def classes_(self) -> np.ndarray:
        assert self.classes is not None
        return self.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X, y) -> "PrecomputedClassifier":
        """Nothing is left to fit."""
        return self

    def predict_proba(self, X) -> Array:
        assert self.answers is not None
        if len(X) != len(self.answers.probability):
            raise ValueError(
                f"the scorer asked for answers to {len(X)} samples, but the fold has {len(self.answers.probability)}: "
                "a scorer must score all samples that it is given"
            )
        return self.answers.probability[:, ::-1] if self.exchanged else self.answers.probability

    def predict(self, X) -> np.ndarray:
        probability = self.predict_proba(X)
        if self.exchanged:  # ties go to the first class, whatever its name
            return self.classes_[1 - np.argmax(probability[:, ::-1], axis=1)]
        return self.classes_[np.argmax(probability, axis=1)]

    @available_if(_has_decision)
    def decision_function(self, X) -> Array:
        assert self.answers is not None
        assert self.answers.decision is not None
        return -self.answers.decision if self.exchanged else self.answers.decision


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores answers by `metric`, a scorer of scikit-learn (None for accuracy), on samples as the user gave them.

    `weight` is None if there are no weights or the metric takes none. Metrics of two classes take the last for the
    positive one: if it is the first, they see the classes `exchanged`.
    """

    metric: Callable | None
    X: np.ndarray
    y: np.ndarray
    classes: np.ndarray
    weight: Array | None
    exchanged: bool = False

    def score(self, answers: Answers, rows: np.ndarray) -> float:
        """The score of the answers for some rows; NaN where the metric is not defined on them."""
        if self.metric is None:  # what scikit-learn's scorer returns, without its checks of every call
            right = self.classes[np.argmax(answers.probability, axis=1)] == self.y[rows]
            return float(np.average(right, weights=None if self.weight is None else self.weight[rows]))
        y = self.y[rows]
        if self.exchanged:
            y = self.classes[1 - np.searchsorted(self.classes, y)]
        classifier = PrecomputedClassifier(answers, self.classes, self.exchanged)
        extra = {} if self.weight is None else {"sample_weight": self.weight[rows]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            warnings.filterwarnings("ignore", message="No positive class found in y_true")
            warnings.filterwarnings("ignore", message="y_pred contains classes not in y_true")
            try:
                return float(self.metric(classifier, self.X[rows], y, **extra))
            except ValueError:
                if np.unique(y).size < self.classes.size:  # as for the ranking of a class that is absent
                    return np.nan
                raise

    def scores(self, answers: Sequence[Answers], tests: Sequence[np.ndarray]) -> Array:
        """The score of each fold, shape (n_folds,)."""
        return np.array([self.score(own, rows) for own, rows in zip(answers, tests, strict=True)])

    def columns(self, tests: Sequence[np.ndarray]) -> np.ndarray:
        """The indices of the true classes, all folds one after the other."""
        return np.searchsorted(self.classes, self.y[np.concatenate(tests)])

    def is_perfect(self, answers: Sequence[Answers], tests: Sequence[np.ndarray]) -> bool:
        """Whether every sample of every fold is predicted correctly."""
        predicted = np.concatenate([np.argmax(own.probability, axis=1) for own in answers])
        return bool(np.array_equal(predicted, self.columns(tests)))

    def weight_of(self, tests: Sequence[np.ndarray]) -> Array | None:
        """The weights in the same order; None if there are none."""
        return None if self.weight is None else self.weight[np.concatenate(tests)]


# -- scores on folds ---------------------------------------------------------------------------------------------------


def mean_score(scores: Array) -> float:
    """The mean over the folds on which the score is defined; -inf if there are none."""
    known = scores[np.isfinite(scores)]
    return float(known.mean()) if known.size else -np.inf


def middle_of_best(means: Array) -> int:
    """The place of the best mean; of several that are equal up to rounding the middle one, of two the first.

    The ends of a run of equal scores are next to worse ones, and which of them is best should not depend on rounding.
    """
    known = np.where(np.isnan(means), -np.inf, means)
    best = np.flatnonzero(known >= known.max() - TIE)
    return int(best[(best.size - 1) // 2])


def is_near(scores: Array, best: Array, errors: float = MOST_BEHIND) -> bool:
    """Whether scores on folds are at most `errors` standard errors of the differences behind the best ones."""
    behind = best - scores
    known = behind[np.isfinite(behind)]
    return known.size > 1 and bool(known.mean() <= errors * standard_error(known) + TIE)


def standard_error(scores: Array) -> float:
    """The standard error of the mean of scores on at least two folds, shape (n_folds,)."""
    return float(scores.std(ddof=1) / np.sqrt(min(scores.size, INDEPENDENT_FOLDS)))
