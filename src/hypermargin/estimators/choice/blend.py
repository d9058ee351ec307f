"""The weighted mean of the probabilities of several classifiers of different families."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from hypermargin.arrays import Array
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.choice.answers import Answers
from hypermargin.estimators.model_file import model_from_plain, plain_model, storable


@storable
class HyperbolicBlend(HyperbolicClassifier):
    """Classifiers of different families whose probabilities are averaged; `HyperbolicClassifierCV` makes it.

    Parameters
    ----------
    geometry, curvature
        Those of the members.

    Attributes
    ----------
    classes_ : (n_classes,) array
    members_ : list of HyperbolicClassifier
        Fitted to the same samples.
    weights_ : (n_members,) array
        How much each counts; they sum to 1.
    """

    members_: list[HyperbolicClassifier]
    weights_: Array

    def __init__(self, geometry: str = "lorentz", curvature: float = 1.0):
        self.geometry = geometry
        self.curvature = curvature

    @classmethod
    def of(cls, members: Sequence[HyperbolicClassifier], weights: ArrayLike | None = None) -> "HyperbolicBlend":
        """The blend of classifiers that were fitted to the same samples; without weights all count the same."""
        first = members[0]
        blend = cls(first.geometry, first.curvature)
        blend.members_ = list(members)
        blend.weights_ = _weights(members, weights)
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

    def predict(self, X) -> np.ndarray:
        """The predicted labels, shape (n,)."""
        winner = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[winner]

    def predict_proba(self, X) -> Array:
        """Class probabilities, shape (n, n_classes): the weighted mean of those of the members."""
        X = self._coordinates(X)
        return mean_probability([member.predict_proba(X) for member in self.members_], self.weights_)

    # -- storage -----------------------------------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        return {"members": [plain_model(member) for member in self.members_], "weights": self.weights_}

    def _restore(self, state: dict[str, Any]) -> None:
        self.members_ = [model_from_plain(member) for member in state["members"]]
        if not self.members_ or any(len(member.classes_) != len(self.classes_) for member in self.members_):
            raise ValueError("the members of the blend do not fit its classes")
        self.weights_ = _weights(self.members_, state.get("weights"))  # files of old have none


def blended(members: Sequence[Sequence[Answers]], weights: ArrayLike) -> list[Answers]:
    """The answers of a blend on every fold, from those of its members."""
    folds = zip(*members, strict=True)
    return [Answers(mean_probability([answers.probability for answers in of_fold], weights)) for of_fold in folds]


def mean_probability(of_members: Sequence[Array], weights: ArrayLike) -> Array:
    """The weighted mean, to twelve digits: classes that tie stay tied, whichever way their sums were rounded."""
    return np.average(np.stack(of_members), axis=0, weights=np.asarray(weights, dtype=np.float64)).round(12)


def _weights(members: Sequence[HyperbolicClassifier], given: ArrayLike | None) -> Array:
    """Weights that sum to 1, shape (n_members,)."""
    weights = np.ones(len(members)) if given is None else np.asarray(given, dtype=np.float64)
    if weights.shape != (len(members),) or not np.all(weights > 0.0) or not np.isfinite(weights).all():
        raise ValueError("a blend needs a positive weight for each member")
    return weights / weights.sum()
