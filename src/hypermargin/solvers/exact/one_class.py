"""Samples of one class: a lightlike w has all margins of one sign, no margin term, and so costs nothing.

Directions along the axes are used, ``w = y a (1, +-e_j)``, since their ``q(w)`` is 0 in doubles too. Uncertainty sets
that leave the hyperboloid may have negative margins there; then the best a of the best direction has the least risk.
"""

import numpy as np

from hypermargin.arrays import Array
from hypermargin.problems.margin import MarginProblem

#: Relative, above the least a that will do: margins must not be below 1 by rounding.
ABOVE = 1e-9


def best_along_axes(problem: MarginProblem) -> Array | None:
    """The best of these w, if the samples of positive weight are of one class; else None."""
    used = problem.costs > 0.0
    labels = problem.y[used]
    if labels.size == 0 or np.any(labels != labels[0]):
        return None
    apex, *axes = np.eye(problem.dim + 1)
    directions = [labels[0] * (apex + side * axis) for axis in axes for side in (1.0, -1.0)]
    scaled = [_scaled(problem.margins(w)[used], problem.costs[used]) * w for w in directions]
    return min(scaled, key=problem.objective)


def _scaled(margins: Array, costs: Array) -> float:
    """The a that minimises ``sum_i c_i max(0, 1 - a m_i)``: its slope changes sign at some ``a = 1/m_i``, or never."""
    positive = margins > 0.0
    order = np.argsort(-margins[positive])
    m = margins[positive][order]
    if m.size == 0:
        return 0.0
    falls = costs[positive][order] * m
    still = np.append(np.cumsum(falls[:0:-1])[::-1], 0.0)  # what falls beyond 1/m_k
    rises = -float(costs[~positive] @ margins[~positive])
    if falls.sum() <= rises:
        return 0.0
    return (1.0 + ABOVE) / float(m[np.argmax(still <= rises)])
