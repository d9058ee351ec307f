"""One-vs-one and one-vs-rest: how many classes become binary problems, and how their scores become one decision.

A scheme is a code matrix with one row per binary problem and one column per class: +1 and -1 are the sides, 0 leaves
the class out. It also defines how the scores of all problems combine. ``predict``, ``decision`` and ``probability`` are
consistent: the predicted class is the argmax of both others (for two classes, the sign of the decision).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import combinations

import numpy as np

from hypermargin.arrays import Array
from hypermargin.estimators.calibration import couple_pairwise, nearest_with_mode
from hypermargin.problems import MarginProblem

SCHEMES = ("auto", "ovo", "ovr")
#: Classes up to which "auto" is one-vs-one. It is part of the format of model files.
MOST_IN_PAIRS = 20

#: A function that returns the Platt coefficients A and B, shape (n_problems,) each: they may be costly to compute.
Platt = Callable[[], tuple[Array, Array]]


def unscaled() -> tuple[Array, Array]:
    """Coefficients with which scores are log-odds themselves."""
    return np.array(-1.0), np.array(0.0)


class Scheme(ABC):
    """Binary problems of a multi-class task. `code` has shape (n_problems, n_classes).

    `platt` is called only where the scores alone do not decide; `joint` says that its coefficients are those of a
    softmax.
    """

    joint = False

    def __init__(self, code: np.ndarray, platt: Platt) -> None:
        self.code, self.platt = code, platt

    @property
    def n_problems(self) -> int:
        return self.code.shape[0]

    def log_odds(self, scores: Array) -> Array:
        """Log-odds of the positive side in every problem, ``-(A f + B)``; of the shape of the scores."""
        A, B = self.platt()
        return -(scores * A + B)

    @abstractmethod
    def decision(self, scores: Array) -> Array:
        """What ``decision_function`` returns for (n, n_problems) scores: shape (n,) with two classes."""

    def winner(self, scores: Array) -> np.ndarray:
        """Index of the predicted class, shape (n,)."""
        return np.argmax(self.decision(scores), axis=1)

    @abstractmethod
    def probability(self, scores: Array) -> Array:
        """Class probabilities, shape (n, n_classes), whose argmax is `winner`."""


class TwoClasses(Scheme):
    """One problem; the second class is +1, and the sign of the score decides."""

    def __init__(self, platt: Platt = unscaled) -> None:
        super().__init__(np.array([[-1.0, 1.0]]), platt)

    def decision(self, scores: Array) -> Array:
        return scores[:, 0]

    def winner(self, scores: Array) -> np.ndarray:
        return (scores[:, 0] > 0.0).astype(np.intp)

    def probability(self, scores: Array) -> Array:
        """Platt's probabilities, or the nearest ones that agree with the sign of the score."""
        logit = self.log_odds(scores)
        return nearest_with_mode(_softmax(np.hstack([-logit, np.zeros_like(logit)])), self.winner(scores))


class OneVsRest(Scheme):
    """One problem per class, compared by calibrated scores.

    If `joint`, the coefficients make them the logits of a softmax. Otherwise each is a log-odds by itself (paper,
    app:platt), and the probabilities are divided by their sum.
    """

    def __init__(self, n_classes: int, platt: Platt = unscaled, joint: bool = False) -> None:
        super().__init__(2.0 * np.eye(n_classes) - 1.0, platt)
        self.joint = joint

    def decision(self, scores: Array) -> Array:
        """The calibrated logits of the classes, shape (n, n_classes)."""
        return self.log_odds(scores)

    def probability(self, scores: Array) -> Array:
        decision = self.decision(scores)
        logarithms = decision if self.joint else -np.logaddexp(0.0, -decision)  # so that their sum is never 0
        return nearest_with_mode(_softmax(logarithms), np.argmax(decision, axis=1))


class OneVsOne(Scheme):
    """One problem per pair of classes; the class with most votes wins, ties go to the largest coupled probability."""

    def __init__(self, n_classes: int, platt: Platt = unscaled) -> None:
        self.pairs = np.array(list(combinations(range(n_classes), 2)))
        rows = np.arange(len(self.pairs))
        super().__init__(np.zeros((len(self.pairs), n_classes)), platt)
        self.code[rows, self.pairs[:, 0]] = -1.0
        self.code[rows, self.pairs[:, 1]] = 1.0

    def votes(self, scores: Array) -> Array:
        """Pairs won by each class, shape (n, n_classes); a score of exactly 0 is a vote for the first of the pair."""
        times_first = np.sum(self.code < 0.0, axis=0)
        return times_first + (scores > 0.0) @ self.code

    def decision(self, scores: Array) -> Array:
        """Votes plus half the coupled probability, which orders classes within the same number of votes only."""
        return self.votes(scores) + 0.5 * self._coupled(scores)

    def winner(self, scores: Array) -> np.ndarray:
        votes = self.votes(scores)
        winner = np.argmax(votes, axis=1)
        tied = np.flatnonzero(np.sum(votes == votes.max(axis=1, keepdims=True), axis=1) > 1)
        if tied.size:  # calibration and coupling are the costly part, so only ties pay for them
            winner[tied] = np.argmax(self.decision(scores[tied]), axis=1)
        return winner

    def probability(self, scores: Array) -> Array:
        """The coupled probabilities, or the nearest distribution in which the winner of the votes is most probable."""
        coupled = self._coupled(scores)
        return nearest_with_mode(coupled, np.argmax(self.votes(scores) + 0.5 * coupled, axis=1))

    def _coupled(self, scores: Array) -> Array:
        return couple_pairwise(self.log_odds(scores), self.pairs, self.code.shape[1])


def make_scheme(multi_class: str, n_classes: int, platt: Platt = unscaled, joint: bool = False) -> Scheme:
    """The scheme called `multi_class` for `n_classes` classes; with two classes all are the one binary problem.

    `joint` says whether coefficients of one-vs-rest are those of a softmax.
    """
    if multi_class not in SCHEMES:
        raise ValueError(f"multi_class must be 'ovo' or 'ovr', or 'auto', got {multi_class!r}")
    if n_classes == 2:
        return TwoClasses(platt)
    if multi_class == "ovr" or (multi_class == "auto" and n_classes > MOST_IN_PAIRS):
        return OneVsRest(n_classes, platt, joint)
    return OneVsOne(n_classes, platt)


def problem_of_row(
    X: Array, labels: np.ndarray, row: np.ndarray, C: float, allow_timelike: bool = False
) -> MarginProblem:
    """The binary problem of one row of a code on unit Lorentz points, in their order; `labels` are class indices."""
    side = row[labels]
    used = side != 0.0
    return MarginProblem(X[used], side[used], C=C, allow_timelike=allow_timelike)


def _softmax(logarithms: Array) -> Array:
    """Rows of exp(logarithms), divided by their sums."""
    shifted = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)
