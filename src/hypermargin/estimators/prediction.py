"""From the scores of binary problems to one answer: the way that predictions, probabilities and radii all go.

Where scores come from is the business of others: `Hyperplanes` has affine ones, and a classifier with another kind only
says how it scores points (`SchemeClassifier._scores`).
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hypermargin.arrays import Array
from hypermargin.data.inputs import lives_elsewhere
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.blocked_prediction import blocked_labels, predict_blocks, score_blocks
from hypermargin.estimators.multiclass import Platt, Scheme, make_scheme
from hypermargin.geometry.lorentz import covector

#: Entries of the largest array that prediction makes at a time.
CHUNK_ENTRIES = 1 << 21


@dataclass(frozen=True, eq=False)
class Prediction:
    """How scores, shape (n, n_problems), become answers: a scheme and Platt coefficients, computed if needed."""

    scheme: Scheme
    platt: Platt

    @property
    def A(self) -> Array:
        """Platt's slopes, shape (n_problems,)."""
        return self.platt()[0]

    @property
    def B(self) -> Array:
        """Platt's offsets, shape (n_problems,)."""
        return self.platt()[1]

    def decision(self, scores: Array) -> Array:
        """What ``decision_function`` returns: shape (n,) with two classes, else (n, n_classes)."""
        return self.scheme.decision(scores, *self.platt())

    def winner(self, scores: Array) -> np.ndarray:
        """Index of the predicted class, shape (n,)."""
        return self.scheme.winner(scores, self.platt)

    def probability(self, scores: Array) -> Array:
        """Class probabilities, shape (n, n_classes), whose argmax is `winner`."""
        return self.scheme.probability(scores, *self.platt())


@dataclass(frozen=True, eq=False)
class Hyperplanes:
    """Affine scores ``x * w + b``, normals (n_problems, d + 1) and intercepts (n_problems,), and what they decide."""

    prediction: Prediction
    coef: Array
    intercept: Array

    @cached_property
    def _covectors(self) -> Array:
        return covector(self.coef)

    def scores(self, X: Array) -> Array:
        """Scores of Lorentz points, (n, d + 1) to (n, n_problems)."""
        return X @ self._covectors.T + self.intercept

    def winner(self, X: Array) -> np.ndarray:
        """Index of the predicted class of Lorentz points, shape (n,)."""
        return self.prediction.winner(self.scores(X))


class SchemeClassifier(HyperbolicClassifier):
    """A classifier made of the binary problems of a scheme, with Platt-scaled scores.

    Answers for points that live elsewhere stay with them: a Dask array for Dask, a tensor for a tensor.

    A subclass has the parameter `multi_class`, its `fit` sets `probA_` and `probB_`, and it scores points.
    """

    multi_class: str
    probA_: Array
    probB_: Array

    @abstractmethod
    def _scores(self, points: Array) -> Array:
        """Scores of unit Lorentz points in every binary problem, (n, d + 1) to (n, n_problems)."""

    def _prediction(self) -> Prediction:
        return Prediction(make_scheme(self.multi_class, self.classes_.size), lambda: (self.probA_, self.probB_))

    def _predicted(self, X, what: str) -> np.ndarray:
        """The result of the method `what` of the prediction, some rows at a time to bound memory."""
        if lives_elsewhere(X):
            check_is_fitted(self)
            return predict_blocks(self, X, what)
        return self._combined(self._points(X), what)

    def _combined(self, points: Array, what: str) -> np.ndarray:
        """The same for unit Lorentz points."""
        prediction = self._prediction()
        combine = getattr(prediction, what)
        rows = max(1, CHUNK_ENTRIES // (prediction.scheme.n_problems + self.classes_.size**2))
        starts = range(0, len(points), rows)
        return np.concatenate([combine(self._scores(points[start : start + rows])) for start in starts])

    def decision_function(self, X) -> Array:
        """Two classes: the score, shape (n,), positive for ``classes_[1]``.

        More classes: shape (n, n_classes), largest for the predicted class. One-vs-one: votes plus half the coupled
        probability; one-vs-rest: Platt-scaled log-odds.
        """
        return self._predicted(X, "decision")

    def predict(self, X) -> np.ndarray:
        """The predicted labels, shape (n,)."""
        winner = self._predicted(X, "winner")
        return self.classes_[winner] if isinstance(winner, np.ndarray) else blocked_labels(self.classes_, winner)

    def score(self, X, y, sample_weight=None) -> float:
        """The share of right predictions; for X that lives elsewhere counted there (see `HyperbolicSVC.fit`)."""
        if lives_elsewhere(X):
            return score_blocks(self, X, y, sample_weight)
        return super().score(X, y, sample_weight)

    def predict_proba(self, X) -> Array:
        """Class probabilities, shape (n, n_classes), whose argmax is always the predicted class."""
        return self._predicted(X, "probability")
