"""What a candidate answered for the samples of a fold, in the shape of a classifier that any scorer can ask."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning

from hypermargin.arrays import Array


@dataclass(frozen=True, eq=False)
class Answers:
    """Class probabilities of the test samples of one fold, shape (n_test, n_classes).

    `decision` is what ``decision_function`` returns, None for classifiers that have none: probabilities that were
    mended to agree with the votes have ties, which a ranking of the samples should not have.
    """

    probability: Array
    decision: Array | None = None

    def among(self, present: np.ndarray, n_classes: int) -> "Answers":
        """The same among all classes, where the classifier was fitted to the classes `present` only."""
        if present.size == n_classes:
            return self
        probability = np.zeros((len(self.probability), n_classes))
        probability[:, present] = self.probability
        return Answers(probability)  # a decision function of fewer classes has another meaning


class Answerer(ClassifierMixin, BaseEstimator):
    """A fitted classifier that knows the answers for the samples of one fold, and nothing else.

    With `exchanged` each of two classes has the name of the other.
    """

    def __init__(self, answers: Answers | None = None, classes: np.ndarray | None = None, exchanged: bool = False):
        self.answers = answers
        self.classes = classes
        self.exchanged = exchanged

    @property
    def classes_(self) -> np.ndarray:
        assert self.classes is not None
        return self.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X, y) -> "Answerer":
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
        if self.exchanged:  # ties go to the first, whatever its name
            return self.classes_[1 - np.argmax(probability[:, ::-1], axis=1)]
        return self.classes_[np.argmax(probability, axis=1)]


class DecidingAnswerer(Answerer):
    """One that knows the decision function as well."""

    def decision_function(self, X) -> Array:
        self.predict_proba(X)
        assert self.answers is not None
        assert self.answers.decision is not None
        return -self.answers.decision if self.exchanged else self.answers.decision


@dataclass(frozen=True, eq=False)
class Judge:
    """Scores answers: a scorer of scikit-learn (None for accuracy), and all samples as the user gave them.

    `weight` is None where there are no weights, or the scorer takes none. Of two classes scorers take the last for the
    positive one: where it is the first, these are shown the two with their names `exchanged`.
    """

    scorer: Callable | None
    X: np.ndarray
    y: np.ndarray
    classes: np.ndarray
    weight: Array | None
    exchanged: bool = False

    def score(self, answers: Answers, rows: np.ndarray) -> float:
        """The score of the answers for some rows; NaN where the metric is not defined on them."""
        if self.scorer is None:  # what scikit-learn's scorer returns, without its checks of every call
            right = self.classes[np.argmax(answers.probability, axis=1)] == self.y[rows]
            return float(np.average(right, weights=None if self.weight is None else self.weight[rows]))
        y = self.y[rows]
        if self.exchanged:
            y = self.classes[1 - np.searchsorted(self.classes, y)]
        kind = Answerer if answers.decision is None else DecidingAnswerer
        extra = {} if self.weight is None else {"sample_weight": self.weight[rows]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            warnings.filterwarnings("ignore", message="No positive class found in y_true")
            warnings.filterwarnings("ignore", message="y_pred contains classes not in y_true")
            try:
                return float(self.scorer(kind(answers, self.classes, self.exchanged), self.X[rows], y, **extra))
            except ValueError:
                if np.unique(y).size < self.classes.size:  # as for the ranking of a class that is absent
                    return np.nan
                raise

    def scores(self, answers: Sequence[Answers], tests: Sequence[np.ndarray]) -> Array:
        """The score of each fold, shape (n_folds,)."""
        return np.array([self.score(own, rows) for own, rows in zip(answers, tests, strict=True)])

    def columns(self, tests: Sequence[np.ndarray]) -> np.ndarray:
        """The columns of the true classes of all answers, all folds one after the other."""
        return np.searchsorted(self.classes, self.y[np.concatenate(tests)])

    def knows_all(self, answers: Sequence[Answers], tests: Sequence[np.ndarray]) -> bool:
        """Whether every sample of every fold was given its label."""
        pairs = zip(answers, tests, strict=True)
        return all(
            np.array_equal(self.classes[np.argmax(own.probability, axis=1)], self.y[rows]) for own, rows in pairs
        )

    def weight_of(self, tests: Sequence[np.ndarray]) -> Array | None:
        """The weights of all answers, in the same order; None where there are none."""
        return None if self.weight is None else self.weight[np.concatenate(tests)]
