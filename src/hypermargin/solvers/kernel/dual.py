"""A point of the dual problem: its gap, the best intercept, coefficients whose sum is exactly 0, and Newton steps.

Newton steps are for the coefficients that are off their bounds, where pairwise steps would creep. With the others held
fixed the dual is a quadratic with one equation, ``K_FF step + lambda = -gradient_F``, ``sum step = 0``, solved by a
Cholesky factorisation. A step that would leave the box ends at its side, the coefficients there join the others, and
the next one is taken.
"""

from dataclasses import dataclass
from math import frexp, ldexp

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from hypermargin.arrays import Array
from hypermargin.problems.kernel import DualProblem, KernelProblem
from hypermargin.solvers.kernel.compiled.pairs import balance_in_place, gap_and_intercept

#: More free coefficients than this are left to the pairwise steps.
MOST_FREE = 6000
MOST_STEPS = 8
#: Relative to the trace: smooth kernels have matrices that are singular to working precision.
RIDGE = 1e-14


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


def polish_costs(problem: KernelProblem, point: DualPoint) -> float:
    """Operations of a polish, roughly."""
    low, high = problem.box
    return float(np.count_nonzero((point.beta > low) & (point.beta < high))) ** 3.0


def polish(problem: KernelProblem, point: DualPoint) -> bool:
    """Improve the free coefficients in place; False where there are too few or too many of them."""
    low, high = problem.box
    free = np.flatnonzero((point.beta > low) & (point.beta < high))
    if not 2 <= free.size <= MOST_FREE:
        return False
    beta, gradient = point.beta[free], point.gradient[free]
    newton_steps(problem.values(free, free), gradient, beta, low[free], high[free])
    point.beta[free] = beta
    point.refresh(problem)
    point.n_iter += 1
    return True


def newton_steps(K: Array, gradient: Array, beta: Array, low: Array, high: Array) -> None:
    """Minimise over the coefficients off their bounds, changing beta and its gradient in place; K is their matrix."""
    inside = (beta > low) & (beta < high)
    width = 1e-13 * (high - low)
    for _ in range(MOST_STEPS):
        own = np.flatnonzero(inside)
        if own.size < 2:
            break
        block = K if own.size == len(K) else K[np.ix_(own, own)]
        step = _newton_step(block, gradient[own])
        if step is None:
            break
        share = _largest_share(beta[own], step, low[own], high[own])
        before = beta[own]
        moved = before + share * step
        moved = np.where(
            moved <= (low + width)[own], low[own], np.where(moved >= (high - width)[own], high[own], moved)
        )
        beta[own] = moved
        gradient += K[:, own] @ (moved - before)
        if share == 1.0:
            break
        inside &= (beta > low) & (beta < high)


def _newton_step(K: Array, gradient: Array) -> Array | None:
    """The minimiser over steps of sum 0, or None where the matrix is too singular."""
    size = float(np.trace(K)) / len(K)
    ridge = RIDGE * len(K) * max(abs(size), 1e-300)
    # -d has a zero diagonal; a constant added to a conditionally definite kernel changes nothing on sums of 0.
    shift = 2.0 * float(np.abs(K).max()) if size < 0.5 * float(np.abs(K).max()) else 0.0
    for _ in range(6):
        try:
            factor = cho_factor(K + shift + ridge * np.eye(len(K)), lower=True, overwrite_a=True, check_finite=False)
            break
        except np.linalg.LinAlgError:
            ridge = 1e3 * max(ridge, 1e-15 * float(np.abs(K).max()))
    else:
        return None
    both = cho_solve(factor, np.column_stack([gradient, np.ones(len(K))]), check_finite=False)
    step = -(both[:, 0] - both[:, 1] * (both[:, 0].sum() / both[:, 1].sum()))
    return step if np.all(np.isfinite(step)) else None


def _largest_share(current: Array, step: Array, low: Array, high: Array) -> float:
    """How much of a step stays in the box, at most 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = np.where(step > 0.0, (high - current) / step, np.where(step < 0.0, (low - current) / step, np.inf))
    return float(min(1.0, max(0.0, np.min(limits))))
