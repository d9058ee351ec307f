"""Blends: the mean of the probabilities, sharpened or not, of several classifiers of different families.

*Sharpening.* Probabilities ``p_k`` become ``p_k^t / sum_j p_j^t`` with ``t > 0``: their order, and so the label, stays
as it is. In terms of log-odds this is temperature scaling: C. Guo, G. Pleiss, Y. Sun and K. Weinberger, "On calibration
of modern neural networks" (2017). Margin classifiers of many classes need it most: their sigmoids are fitted to the
scores of training samples, and the coupling of pairs is cautious, so that the right class often leads by little.

*Membership.* Every model whose cross-validated log loss is within two standard errors of the best. Accuracy on a
hundred samples moves in steps of a sample; log loss tells families apart sooner. Members count the same: weights that
are fitted to some hundred answers did worse (docs/benchmarks/choice.md).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from hypermargin.arrays import Array
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.model_file import model_from_plain, plain_model, storable
from hypermargin.estimators.scoring import MOST_BEHIND, Answers

#: Smaller probabilities count as this, so that a single certain but wrong answer does not decide.
LEAST_PROBABILITY = 1e-6
#: Log losses that differ by less are equal: means of logarithms up to 14 are rounded by less.
LOSS_TIE = 1e-9
#: Powers to choose from, from 1/4 to 8, the nearest to 1 first. Steps, because the minimum of a search would depend on
#: rounding.
EXPONENTS = tuple(sorted((float(2.0 ** (step / 4)) for step in range(-8, 13)), key=lambda t: abs(np.log(t))))


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
    """The weighted mean, rounded to twelve digits so that tied classes stay tied."""
    weights, exponents = (np.asarray(given, dtype=np.float64) for given in (weights, exponents))
    parts = [sharpened(own, exponent) for own, exponent in zip(of_members, exponents.tolist(), strict=True)]
    return np.average(np.stack(parts), axis=0, weights=weights).round(12)


def _positive(members: Sequence[HyperbolicClassifier], given: ArrayLike | None, what: str) -> Array:
    """A positive number for each member, shape (n_members,); 1 where none are given."""
    numbers = np.ones(len(members)) if given is None else np.asarray(given, dtype=np.float64)
    if numbers.shape != (len(members),) or not np.all(numbers > 0.0) or not np.isfinite(numbers).all():
        raise ValueError(f"a blend needs a positive {what} for each member")
    return numbers


# -- sharpening and membership -----------------------------------------------------------------------------------------


def log_losses(truth: Array) -> Array:
    """Minus the logarithms of the probabilities of the true classes."""
    return -np.log(np.maximum(truth, LEAST_PROBABILITY))


def within_two_standard_errors(truth: Array, weight: Array | None, repeats: float) -> np.ndarray:
    """Which log losses are at most two standard errors of the difference behind the best; bool, shape (n_members,).

    Parameters
    ----------
    truth : (n_members, n_answers) array
        The probability that a model gave to the true class of a sample it had not seen.
    weight : (n_answers,) array or None
        Weights of the answers. Unequal ones leave ``(sum w)^2 / sum w^2`` answers' worth of evidence.
    repeats : float
        Answers per sample: repeated folds are no further evidence.
    """
    losses = log_losses(truth)
    share = np.full(losses.shape[1], 1.0 / losses.shape[1]) if weight is None else weight / weight.sum()
    behind = losses - losses[np.argmin((losses @ share).round(9))]
    mean = behind @ share
    error = np.sqrt((behind - mean[:, None]) ** 2 @ share * (share @ share) * repeats)
    return mean <= MOST_BEHIND * error + LOSS_TIE


def sharpened(probability: Array, exponent: float) -> Array:
    """Probabilities to a power, each row of (n, n_classes) normalised again; zeros count as `LEAST_PROBABILITY`."""
    if exponent == 1.0:
        return probability
    raised = np.maximum(probability, LEAST_PROBABILITY) ** exponent
    return raised / raised.sum(axis=1, keepdims=True)


def best_exponent(probability: Array, labels: np.ndarray, weight: Array | None) -> float:
    """The power with the least log loss; of equal ones the nearest to 1.

    Parameters
    ----------
    probability : (n_answers, n_classes) array
        Predictions for samples that the model had not seen.
    labels : (n_answers,) array of int
        Indices of the true classes.
    weight : (n_answers,) array or None
        Weights of the answers.
    """
    rows = np.arange(len(labels))
    truth = np.stack([sharpened(probability, t)[rows, labels] for t in EXPONENTS])
    losses = np.average(log_losses(truth), axis=1, weights=weight)
    return EXPONENTS[int(np.argmax(losses <= losses.min() + LOSS_TIE))]
