"""The dual problem by decomposition: pairwise steps within a working set, and Newton steps at the end.

A problem whose kernel matrix is in memory and not too large is one working set. Otherwise each round takes the samples
that violate optimality most, half of them kept from the round before (Joachims, Making large-scale SVM learning
practical, 1998; Wen et al., ThunderSVM, 2018), computes their kernel rows at once, solves the problem among them, and
updates the gradient of all samples.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.problems.kernel import KernelProblem
from hypermargin.solvers.kernel.compiled.pairs import minimise_pairs
from hypermargin.solvers.kernel.dual import DualPoint, relative_gap_of
from hypermargin.solvers.kernel.polish import newton_steps, polish, polish_costs
from hypermargin.solvers.kernel.rows import DenseRows, NearRows, make_rows

Indices = NDArray[np.intp]

#: Problems of at most so many samples are solved as one working set.
ONE_SET = 6000
WORKING_SET = 1024
#: The violation that the first sweep stops at, and the factor from one sweep to the next.
FIRST_TOL, SHARPER = 1e-2, 0.1
#: Up to this size the first sweep goes further.
SMALL, SMALL_TOL = 2000, 3e-6
#: And up to this one all samples stay in the sweep: steps among them cost less than looking for a part.
TINY = 400
#: A pairwise step costs about so many operations of a Newton step for each sample; calls of one cost this many.
STEP_COST, CALL_COST = 10.0, 1e6
#: Samples of a sweep at least.
LEAST_ACTIVE = 200
#: Relative gap from which a large problem is taken in few rounds of many samples, and how many those may be.
NEAR_THE_END, MOST_ACTIVE = 0.03, 8000
#: Samples of a round of neighbourhoods, and the kernel value from which on two samples are neighbours.
NEIGHBOURHOODS, NEAR = 1500, 0.1
#: Cycles of pairwise and Newton steps in such a round.
MOST_CYCLES = 10


def minimise_dual(
    problem: KernelProblem,
    point: DualPoint,
    tol: float,
    max_rounds: int,
    on_round: Callable[[float], None] | None = None,
) -> float:
    """Improve `point` in place until its relative gap is at most `tol`; returns the gap reached."""
    if problem.gram is not None and problem.n_samples <= ONE_SET:
        return _in_memory(problem, point, tol, max_rounds)
    return _by_working_sets(problem, point, tol, max_rounds, on_round)


def _in_memory(problem: KernelProblem, point: DualPoint, tol: float, max_rounds: int) -> float:
    """Sweeps over all samples until bounds are mostly found, then over those that are off them or nearly."""
    assert problem.gram is not None
    K, (low, high) = np.ascontiguousarray(problem.gram), problem.box
    n = problem.n_samples
    # Small problems are mostly solved by one call of compiled code; in large ones it would visit all for few.
    small = n <= SMALL
    accuracy, patience, spent = (SMALL_TOL, 10, 0.0) if small else (FIRST_TOL, 2, 0.0)
    active: Indices | None = None
    gap = np.inf
    for _ in range(max_rounds):
        if CALL_COST + polish_costs(problem, point) < STEP_COST * spent and polish(problem, point):
            spent = 0.0
            gap, _ = relative_gap_of(problem, point)
            if gap <= tol:
                break
        if active is None:
            steps, violation = minimise_pairs(
                K, point.gradient, point.beta, low, high, accuracy, patience * n, problem.runs
            )
        else:
            steps, violation = _among(problem, point, low, high, active, accuracy)
        spent += steps * (n if active is None else active.size)
        point.n_iter += steps
        gap, intercept = relative_gap_of(problem, point)
        if gap <= tol or (violation <= accuracy < 1e-13):
            break
        if violation <= accuracy:
            accuracy *= SHARPER
        active = _nearly_free(point, low, high, intercept) if n > TINY else None
    return gap


def _among(
    problem: KernelProblem, point: DualPoint, low: Array, high: Array, active: Indices, accuracy: float
) -> tuple[int, float]:
    """Pairwise steps among some samples; the violation returned is that of all."""
    small = problem.values(active, active)
    steps, moved, change = _improve(small, point, low, high, active, accuracy, 100)
    point.gradient += change @ problem.values(active[moved])
    fall = point.gradient[point.beta > low].max(initial=-np.inf)
    return steps, float(fall - point.gradient[point.beta < high].min(initial=np.inf))


def _nearly_free(point: DualPoint, low: Array, high: Array, intercept: float) -> Indices | None:
    """The samples off their bounds and those nearest to leaving one, about as many; None for nearly all samples."""
    multiplier = point.gradient + intercept
    slack = np.where(point.beta <= low, multiplier, np.where(point.beta >= high, -multiplier, -np.inf))
    free = int(np.count_nonzero(slack == -np.inf))
    violating = int(np.count_nonzero(slack < 0.0))
    size = max(LEAST_ACTIVE, 2 * free, violating)
    if size > 0.6 * slack.size:
        return None
    return np.sort(np.argpartition(slack, size)[:size])


def _by_working_sets(
    problem: KernelProblem, point: DualPoint, tol: float, max_rounds: int, on_round: Callable[[float], None] | None
) -> float:
    """Rounds on the samples that violate optimality most; near the end, on all that are off their bounds or nearly."""
    low, high = problem.box
    rows = make_rows(problem)
    kept = np.empty(0, dtype=np.intp)
    gap, intercept = relative_gap_of(problem, point)
    steps = 1
    for number in range(max_rounds):
        together = False
        active = _nearly_free(point, low, high, intercept) if gap < NEAR_THE_END else None
        if active is not None and active.size <= MOST_ACTIVE:
            steps = _round_among(problem, rows, point, low, high, active)
        elif gap < NEAR_THE_END and isinstance(rows, NearRows) and number % 4 and steps:
            together = True
            active = _neighbourhoods(rows, point, low, high, intercept, NEIGHBOURHOODS)
            steps, moved, change = _improve(rows.among(active), point, low, high, active, 0.01 * gap, 20)
            rows.add_products(point.gradient, active, moved, change)
        else:
            kept, violation = _most_violating(point, low, high, WORKING_SET, kept)
            steps, moved, change = _improve(rows.among(kept), point, low, high, kept, 0.1 * violation, 20)
            rows.add_products(point.gradient, kept, moved, change)
        point.n_iter += steps
        gap, intercept = relative_gap_of(problem, point)
        if on_round is not None:
            on_round(gap)
        stuck = steps == 0 and not together
        if (gap <= tol or stuck) and isinstance(rows, NearRows):
            before = gap
            point.refresh(problem)  # with all values: those left out so far must not decide
            gap, intercept = relative_gap_of(problem, point)
            stuck &= gap <= 2.0 * before
        if gap <= tol or stuck:
            break
    return gap


def _round_among(
    problem: KernelProblem, rows: DenseRows | NearRows, point: DualPoint, low: Array, high: Array, active: Indices
) -> int:
    """Steps among many samples, whose matrix is made for this round and whose whole rows are never held at once."""
    fall = point.gradient[point.beta > low].max(initial=-np.inf)
    violation = float(fall - point.gradient[point.beta < high].min(initial=np.inf))
    small = rows.among(active) if isinstance(rows, NearRows) else problem.values(active, active)
    steps, moved, change = _improve(small, point, low, high, active, 0.02 * violation, 10, MOST_CYCLES)
    if isinstance(rows, NearRows):
        rows.add_products(point.gradient, active, moved, change)
        return steps
    for block in problem.row_blocks(moved.size):
        point.gradient[block] += problem.values(block, active[moved]) @ change
    return steps


def _improve(
    small: Array,
    point: DualPoint,
    low: Array,
    high: Array,
    active: Indices,
    accuracy: float,
    patience: int,
    cycles: int = 1,
) -> tuple[int, Indices, Array]:
    """Pairwise steps among some samples, and Newton steps between cycles of them.

    Returns the number of steps, which of the samples changed, and by how much. Coefficients are changed in place, the
    gradient is not: that needs rows of the kernel matrix.
    """
    before = point.beta[active]
    beta, gradient, steps = before.copy(), point.gradient[active], 0
    low, high = low[active], high[active]
    for cycle in range(cycles):
        if cycle > 0:
            newton_steps(small, gradient, beta, low, high)
        done, violation = minimise_pairs(small, gradient, beta, low, high, accuracy, patience * active.size)
        steps += done
        if violation <= accuracy:
            break
    point.beta[active] = beta
    change = beta - before
    moved = np.flatnonzero(change)
    return steps, moved, change[moved]


def _most_violating(point: DualPoint, low: Array, high: Array, size: int, kept: Indices) -> tuple[Indices, float]:
    """Samples to work on, and the violation: least gradients that can grow, largest that can fall, half of the last."""
    grow = np.where(point.beta < high, point.gradient, np.inf)
    fall = np.where(point.beta > low, point.gradient, -np.inf)
    violation = float(fall.max() - grow.min())
    size = min(size, point.beta.size)
    fresh = size if kept.size == 0 else size // 2
    half = max(1, fresh // 2)
    first = np.argpartition(grow, half - 1)[:half]
    second = np.argpartition(-fall, half - 1)[:half]
    chosen = np.concatenate([first, second])
    free = kept[(point.beta[kept] > low[kept]) & (point.beta[kept] < high[kept])]
    rest = np.concatenate([free, np.setdiff1d(kept, free)])
    chosen = np.unique(np.concatenate([chosen, rest[: max(0, size - chosen.size)]]))
    return chosen, violation


def _neighbourhoods(rows: NearRows, point: DualPoint, low: Array, high: Array, intercept: float, size: int) -> Indices:
    """The samples that violate optimality most, each with those near it that are off their bounds or violate as well.

    A local kernel couples neighbours only, so that they are best moved together.
    """
    multiplier = point.gradient + intercept
    at_low, at_high = point.beta <= low, point.beta >= high
    violation = np.where(at_low, -multiplier, np.where(at_high, multiplier, np.abs(multiplier)))
    eligible = (violation > 0.0) | ~(at_low | at_high)
    eligible &= low < high
    chosen: list[NDArray[np.int32]] = []
    count = 0
    for i in np.argsort(-violation)[:size].tolist():
        if not eligible[i]:
            continue
        near = rows.neighbours(i, NEAR)
        near = near[eligible[near]]
        eligible[near] = False
        chosen.append(near)
        count += near.size
        if count >= size:
            break
    return np.sort(np.concatenate(chosen)).astype(np.intp)
