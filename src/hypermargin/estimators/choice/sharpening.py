"""Probabilities sharpened or flattened by a power, so that those of different families can be averaged.

Probabilities ``p_k`` become ``p_k^t / sum_j p_j^t`` with ``t > 0``: their order, and so the label, stays as it is. In
terms of log-odds this is temperature scaling: C. Guo, G. Pleiss, Y. Sun and K. Weinberger, "On calibration of modern
neural networks" (2017). Margin classifiers of many classes need it most: their sigmoids are fitted to the scores of
training samples, and the coupling of pairs is cautious, so that the right class often leads by little.
"""

import numpy as np

from hypermargin.arrays import Array
from hypermargin.estimators.choice.nearness import LEAST_PROBABILITY, TIE, log_losses

#: Powers to choose from, the nearest to 1 first: steps instead of a search keep rounding from moving the answer.
EXPONENTS = tuple(sorted((float(2.0 ** (step / 4)) for step in range(-8, 13)), key=lambda t: abs(np.log(t))))


def sharpened(probability: Array, exponent: float) -> Array:
    """Probabilities to a power, each row of (n, n_classes) normalised again; those of 0 count as a little more."""
    if exponent == 1.0:
        return probability
    raised = np.maximum(probability, LEAST_PROBABILITY) ** exponent
    return raised / raised.sum(axis=1, keepdims=True)


def best_exponent(probability: Array, labels: np.ndarray, weight: Array | None) -> float:
    """The power with the least log loss; of those that are alike the nearest to 1.

    Parameters
    ----------
    probability : (n_answers, n_classes) array
        Answers for samples that were not trained on.
    labels : (n_answers,) array of int
        Columns of the true classes.
    weight : (n_answers,) array or None
        How much an answer counts.
    """
    rows = np.arange(len(labels))
    truth = np.stack([sharpened(probability, t)[rows, labels] for t in EXPONENTS])
    losses = np.average(log_losses(truth), axis=1, weights=weight)
    return EXPONENTS[int(np.argmax(losses <= losses.min() + TIE))]
