"""A point of the dual problem: its gap, the best intercept, and coefficients whose sum is exactly 0."""

from dataclasses import dataclass
from math import frexp, ldexp

import numpy as np

from hypermargin.arrays import Array
from hypermargin.problems.kernel import DualProblem
from hypermargin.solvers.kernel.compiled.ending import balance_in_place, gap_and_intercept


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


def relative_gap_of(problem: DualProblem, point: DualPoint) -> tuple[float, float]:
    """The relative gap between the objectives of a point, and the intercept of least risk; in floating point."""
    order, intercept = point.gradient.argsort(), np.zeros(1)
    gap = gap_and_intercept(order, point.gradient, point.beta, problem.y, problem.costs, intercept)
    return gap, float(intercept[0])


def balanced(problem: DualProblem, beta: Array) -> Array:
    """Nearly the same coefficients with a sum of exactly 0: multiples of one power of two, whose sums are exact.

    The dual bound needs that: a sum of 1e-16 would let the intercept run away.
    """
    total = float(np.abs(beta).sum())
    if total == 0.0:
        return np.zeros_like(beta)
    rounded = beta.copy()
    balance_in_place(rounded, *problem.box, ldexp(1.0, frexp(total)[1] - 50))
    return rounded
