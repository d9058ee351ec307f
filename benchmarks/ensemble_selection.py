"""Weights of a blend by ensemble selection, which `HyperbolicClassifierCV` used once; `choice_rules.py` measures it.

R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes, "Ensemble selection from libraries of models" (2004): begin with
the best member; again and again add the one, perhaps again, with which the mean of all is best. A member's weight is
how often it was taken.
"""

import numpy as np

from hypermargin.arrays import Array
from hypermargin.estimators.auto.choosing import LOSS_TIE, log_losses

#: Members that are taken at most, the first one included.
MOST_TAKEN = 21


def ensemble_weights(truth: Array) -> Array:
    """Weights of the members, shape (n_members,), that sum to 1; of the first ones where members are alike.

    Parameters
    ----------
    truth : (n_members, n_answers) array
        The probability that a member gave to the true class of a sample it had not seen.
    """
    taken, total = np.zeros(len(truth)), np.zeros(truth.shape[1])
    best, least = taken, np.inf
    for number in range(1, MOST_TAKEN + 1):
        losses = log_losses((total + truth) / number).mean(axis=1)
        added = int(np.argmax(losses <= losses.min() + LOSS_TIE))
        taken[added] += 1.0
        total = total + truth[added]
        if losses[added] < least - LOSS_TIE:
            best, least = taken.copy(), losses[added]
    return best / best.sum()
