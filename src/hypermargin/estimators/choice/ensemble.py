"""Weights of a blend: ensemble selection by the log loss of answers to samples that were not trained on.

R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes, "Ensemble selection from libraries of models" (2004): begin with
the best member; again and again add the one, perhaps again, with which the mean of all is best. A member's weight is
how often it was taken. Accuracy on a hundred samples moves in steps of a sample; log loss tells members apart sooner,
and gives little weight to one whose probabilities are flat although its labels are right.
"""

import numpy as np

from hypermargin.arrays import Array

#: Members that are taken at most, the first one included.
MOST_TAKEN = 21
#: Probabilities below count as this: a single answer that was surely wrong should not decide.
LEAST_PROBABILITY = 1e-6
#: Log losses that differ by less are the same.
TIE = 1e-9


def ensemble_weights(truth: Array, weight: Array | None) -> Array:
    """Weights of the members, shape (n_members,), that sum to 1; of the first ones where members are alike.

    Parameters
    ----------
    truth : (n_members, n_answers) array
        The probability that a member gave to the true class of a sample it had not seen.
    weight : (n_answers,) array or None
        How much an answer counts.
    """
    first = _first_least(truth, weight)
    taken = np.zeros(len(truth))
    taken[first] = 1.0
    total = truth[first].copy()
    best, least = taken.copy(), log_loss(total, weight)
    for number in range(2, MOST_TAKEN + 1):
        added = _first_least((total + truth) / number, weight)
        taken[added] += 1.0
        total += truth[added]
        loss = log_loss(total / number, weight)
        if loss < least - TIE:
            best, least = taken.copy(), loss
    return best / best.sum()


def log_loss(truth: Array, weight: Array | None) -> float:
    """The mean of minus the logarithm of the probabilities of the true classes, shape (n_answers,)."""
    return float(np.average(-np.log(np.maximum(truth, LEAST_PROBABILITY)), weights=weight))


def _first_least(candidates: Array, weight: Array | None) -> int:
    """The first of those with the least log loss."""
    losses = np.array([log_loss(each, weight) for each in candidates])
    return int(np.argmax(losses <= losses.min() + TIE))
