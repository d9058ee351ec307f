"""The weighted mean of the probabilities, sharpened or not, of several classifiers of different families."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from hypermargin.arrays import Array
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.choice.answers import Answers
from hypermargin.estimators.choice.sharpening import sharpened
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

    def predict(self, X) -> np.ndarray:
        """The predicted labels, shape (n,)."""
        winner = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[winner]

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


def blended(members: Sequence[Sequence[Answers]], weights: ArrayLike, exponents: ArrayLike) -> list[Answers]:
    """The answers of a blend on every fold, from those of its members."""
    folds = zip(*members, strict=True)
    return [Answers(mean_probability([own.probability for own in fold], weights, exponents)) for fold in folds]


def mean_probability(of_members: Sequence[Array], weights: ArrayLike, exponents: ArrayLike) -> Array:
    """The weighted mean, to twelve digits: classes that tie stay tied, whichever way their sums were rounded."""
    weights, exponents = (np.asarray(given, dtype=np.float64) for given in (weights, exponents))
    parts = [sharpened(own, exponent) for own, exponent in zip(of_members, exponents.tolist(), strict=True)]
    return np.average(np.stack(parts), axis=0, weights=weights).round(12)


def _positive(members: Sequence[HyperbolicClassifier], given: ArrayLike | None, what: str) -> Array:
    """A positive number for each member, shape (n_members,); 1 where none are given."""
    numbers = np.ones(len(members)) if given is None else np.asarray(given, dtype=np.float64)
    if numbers.shape != (len(members),) or not np.all(numbers > 0.0) or not np.isfinite(numbers).all():
        raise ValueError(f"a blend needs a positive {what} for each member")
    return numbers
