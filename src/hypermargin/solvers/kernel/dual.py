"""A point of the dual problem: its gap, the best intercept, and coefficients whose sum is exactly 0."""

from dataclasses import dataclass

import numpy as np

from hypermargin.arrays import Array
from hypermargin.problems.kernel import DualProblem


@dataclass(eq=False)
class DualPoint:
    """Coefficients beta and the gradient ``K beta - y`` of the dual objective, both of shape (n,); changed in place."""

    beta: Array
    gradient: Array
    n_iter: int = 0

    def refresh(self, problem: DualProblem) -> None:
        """Compute the gradient anew: steps add up rounding errors."""
        self.gradient = problem.products(self.beta) - problem.y


def start(problem: DualProblem, beta: Array | None = None) -> DualPoint:
    """The point 0, or given coefficients."""
    if beta is None:
        return DualPoint(np.zeros(problem.n_samples), -problem.y)
    point = DualPoint(beta.copy(), -problem.y)
    point.refresh(problem)
    return point


def best_intercept(problem: DualProblem, gradient: Array) -> float:
    """The b that minimises the risk of the scores ``K beta``: where the slope of its graph changes sign.

    A sample with label +1 costs ``c max(0, r - b)`` and one with -1 ``c max(0, b - r)``, with ``r = y - K beta``.
    """
    order = np.argsort(-gradient)
    corners, weights = -gradient[order], problem.costs[order]
    # To the left of all corners the slope is minus the costs of label +1; each corner adds its cost.
    slope = np.cumsum(weights) - float(problem.costs[problem.y > 0.0].sum())
    first = min(int(np.searchsorted(slope, 0.0)), slope.size - 1)
    flat = first + 1 < slope.size and slope[first] == 0.0
    return float(0.5 * (corners[first] + corners[first + 1])) if flat else float(corners[first])


def relative_gap_of(problem: DualProblem, point: DualPoint) -> tuple[float, float]:
    """The relative gap between the objectives of a point, and the best intercept; in floating point."""
    intercept = best_intercept(problem, point.gradient)
    # beta'K beta = beta.(gradient + y); gap = primal - dual = beta.gradient + risk
    risk = problem.risk(point.gradient + problem.y, intercept)
    product = float(point.beta @ point.gradient)
    primal = 0.5 * (product + float(point.beta @ problem.y)) + risk
    return (product + risk) / max(abs(primal), 1e-12), intercept


def balanced(problem: DualProblem, beta: Array) -> Array:
    """Nearly the same coefficients with a sum of exactly 0: multiples of one power of two, whose sums are exact.

    The dual bound needs that: a sum of 1e-16 would let the intercept run away.
    """
    low, high = problem.box
    total = float(np.abs(beta).sum())
    if total == 0.0:
        return np.zeros_like(beta)
    unit = 2.0 ** (np.ceil(np.log2(total)) - 50.0)
    # Towards 0, so that bounds stay respected and what is left over fits in somewhere.
    counts = np.trunc(beta / unit)
    excess = float(counts.sum())  # whole numbers below 2^53: exact
    room = (
        np.floor((beta > low) * np.maximum(counts - np.ceil(low / unit), 0.0))
        if excess > 0.0
        else np.floor(np.maximum(np.floor(high / unit) - counts, 0.0))
    )
    for i in np.argsort(-room):
        if excess == 0.0:
            break
        moved = min(abs(excess), float(room[i]))
        counts[i] -= np.sign(excess) * moved
        excess -= np.sign(excess) * moved
    return counts * unit
