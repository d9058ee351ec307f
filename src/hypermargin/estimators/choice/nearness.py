"""Who takes part in a blend: all whose log loss the folds cannot tell from the least one.

Log loss is measured on the samples of the folds, which a candidate had not seen. Accuracy on a hundred samples moves in
steps of a sample; log loss tells families apart sooner. Who takes part counts the same: weights that are fitted to
some hundred answers did worse (docs/benchmarks/choice.md).
"""

import numpy as np

from hypermargin.arrays import Array

#: Standard errors by which the log loss of a member may be behind.
MOST_BEHIND = 2.0
#: Probabilities below count as this: a single answer that was surely wrong should not decide.
LEAST_PROBABILITY = 1e-6
#: Log losses that differ by less are the same.
TIE = 1e-9


def log_losses(truth: Array) -> Array:
    """Minus the logarithm of probabilities that were given to the true classes."""
    return -np.log(np.maximum(truth, LEAST_PROBABILITY))


def near_the_least(truth: Array, weight: Array | None, repeats: float) -> np.ndarray:
    """Which members are at most `MOST_BEHIND` standard errors of the difference behind the best; bool, (n_members,).

    Parameters
    ----------
    truth : (n_members, n_answers) array
        The probability that a member gave to the true class of a sample it had not seen.
    weight : (n_answers,) array or None
        How much an answer counts. Unequal weights leave ``(sum w)^2 / sum w^2`` answers' worth of evidence.
    repeats : float
        Answers for each sample: those of repeated folds are no further evidence.
    """
    losses = log_losses(truth)
    share = np.full(losses.shape[1], 1.0 / losses.shape[1]) if weight is None else weight / weight.sum()
    behind = losses - losses[np.argmin((losses @ share).round(9))]
    mean = behind @ share
    error = np.sqrt((behind - mean[:, None]) ** 2 @ share * (share @ share) * repeats)
    return mean <= MOST_BEHIND * error + TIE
