"""The dual problem by decomposition: pairwise steps within a working set, and Newton steps at the end.

A problem whose kernel matrix is in memory and not too large is one working set. Otherwise each round takes the samples
that violate optimality most, half of them kept from the round before (Joachims, Making large-scale SVM learning
practical, 1998; Wen et al., ThunderSVM, 2018), computes their kernel rows at once, solves the problem among them, and
updates the gradient of all samples. Rows of a matrix that is too large to be held are computed when they are needed.

Newton steps are for the coefficients that are off their bounds, where pairwise steps would creep. With the others held
fixed the dual is a quadratic with one equation, ``K_FF step + lambda = -gradient_F``, ``sum step = 0``, solved by a
Cholesky factorisation. A step that would leave the box ends at its side, the coefficients there join the others, and
the next one is taken.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import frexp, ldexp
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from hypermargin.arrays import Array
from hypermargin.kernels import Kernel
from hypermargin.kernels.chords import available_threads
from hypermargin.kernels.near import NearPoints, is_local
from hypermargin.problems.kernel import DualProblem, KernelProblem
from hypermargin.solvers.kernel.compiled.pairs import balance_in_place, gap_and_intercept, minimise_pairs

#: More free coefficients than this are left to the pairwise steps: their matrix alone would take 288 MB.
MOST_FREE = 6000
#: Of one call: each but the last puts a coefficient on its bound, and pairwise steps do that for many at once.
MOST_NEWTON_STEPS = 8
#: Relative to the trace: smooth kernels have matrices that are singular to working precision, and 1e-14 of n entries is
#: what the rounding of a Cholesky factorisation amounts to.
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


def polish(problem: KernelProblem, point: DualPoint, most: float = np.inf) -> bool:
    """Improve the free coefficients in place by about `most` operations; False where there are too few or too many."""
    low, high = problem.box
    free = np.flatnonzero((point.beta > low) & (point.beta < high))
    if not 2 <= free.size <= MOST_FREE or float(free.size) ** 3.0 >= most:
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
    for _ in range(MOST_NEWTON_STEPS):
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


# -- decomposition -----------------------------------------------------------------------------------------------------


Indices = NDArray[np.intp]
T = TypeVar("T")

#: Problems of at most so many samples are solved as one working set, whose matrix takes 288 MB.
ONE_SET = 6000
#: Samples of a round, whose matrix takes 8 MB.
WORKING_SET = 1024
#: The violation that the first sweep stops at (bounds are mostly found then), and the factor from one to the next.
FIRST_TOL, SHARPER = 1e-2, 0.1
#: Up to this size the first sweep goes further, as steps cost less than choosing samples.
SMALL, SMALL_TOL = 2000, 3e-6
#: And up to this one all samples stay in the sweep: steps among them cost less than looking for a part.
TINY = 400
#: A pairwise step costs about so many operations of a Newton step for each sample; calls of one cost this many.
STEP_COST, CALL_COST = 10.0, 1e6
#: Samples of a sweep at least.
LEAST_ACTIVE = 200
#: Relative gap from which a large problem is taken in few rounds of many samples, and how many those may be.
NEAR_THE_END, MOST_ACTIVE = 0.03, 8000
#: Samples of a round of neighbourhoods (a matrix of 18 MB), and the kernel value from which on two are neighbours.
NEIGHBOURHOODS, NEIGHBOUR_VALUE = 1500, 0.1
#: Cycles of pairwise and Newton steps in such a round, and the free coefficients that Newton steps may have there.
MOST_CYCLES, FEW_FREE = 10, 2000
#: Values below this are left out by `NearRows`: 1e4 samples of cost 1 then change a gradient by 1e-6 at most, the usual
#: tolerance. The gradient is computed anew from all values before the end.
NEGLIGIBLE = 1e-10


class _Recent(Generic[T]):
    """What has been made for samples; what was asked for longest ago makes room for new things."""

    def __init__(self, room: int, size_of: Callable[[T], int], make: Callable[[list[int]], Sequence[T]]):
        self.room, self.size_of, self.make = room, size_of, make
        self.held: OrderedDict[int, T] = OrderedDict()
        self.size = 0

    def take(self, samples: Indices) -> list[T]:
        """Those of some samples, in their order."""
        wanted = samples.tolist()
        missing = [i for i in wanted if i not in self.held]
        if missing:
            self.held.update(zip(missing, self.make(missing), strict=True))
            self.size += sum(self.size_of(self.held[i]) for i in missing)
        found = [self.held[i] for i in wanted]
        for i in wanted:
            self.held.move_to_end(i)
        while self.size > self.room:
            self.size -= self.size_of(self.held.popitem(last=False)[1])
        return found


class DenseRows:
    """Rows of the kernel matrix."""

    def __init__(self, problem: KernelProblem):
        self.problem = problem
        self.recent = _Recent(
            problem.cache_bytes // 8, len, lambda missing: list(map(np.copy, problem.values(missing)))
        )

    def among(self, samples: Indices, whole: bool = True) -> Array:
        """The kernel matrix of some samples; their `whole` rows are kept for `add_products`, unless they are many."""
        self.latest = self.take(samples) if whole else None
        if self.latest is None:
            return self.problem.values(samples, samples)
        return np.ascontiguousarray(self.latest[:, samples])

    def add_products(self, gradient: Array, samples: Indices, moved: Indices, change: Array) -> None:
        """Add ``change @ K`` of the samples ``samples[moved]``, those of the last `among`, to a gradient in place."""
        if self.latest is not None:
            gradient += change @ self.latest[moved]
            return
        for block in self.problem.row_blocks(moved.size):
            gradient[block] += self.problem.values(block, samples[moved]) @ change

    def take(self, samples: Indices) -> Array:
        """The rows of some samples, shape (len(samples), n), in their order."""
        if self.problem.gram is not None or samples.size * self.problem.n_samples > self.recent.room:
            return self.problem.values(samples)
        return np.array(self.recent.take(samples))


class NearRows:
    """The values of each row that are not negligible, with their places."""

    def __init__(self, problem: KernelProblem):
        assert isinstance(problem.kernel, Kernel)
        self.near = NearPoints(problem.kernel, problem.own_points, NEGLIGIBLE)
        self.recent = _Recent(problem.cache_bytes // 12, lambda row: row[0].size, self._make)  # a value and its place
        self.place_of = np.full(problem.n_samples, -1)

    def among(self, samples: Indices, whole: bool = True) -> Array:
        """The kernel matrix of some samples, 0 for what is negligible; rows are whole in any case."""
        small = np.zeros((samples.size, samples.size))
        self.place_of[samples] = np.arange(samples.size)
        for i, (places, values) in enumerate(self.recent.take(samples)):
            own = self.place_of[places]
            there = own >= 0
            small[i, own[there]] = values[there]
        self.place_of[samples] = -1
        return small

    def add_products(self, gradient: Array, samples: Indices, moved: Indices, change: Array) -> None:
        """Add ``change @ K`` of the samples ``samples[moved]`` to a gradient in place."""
        for (places, values), weight in zip(self.recent.take(samples[moved]), change.tolist(), strict=True):
            gradient[places] += weight * values

    def neighbours(self, sample: int, least: float) -> NDArray[np.int32]:
        """The samples whose kernel value with one of them is at least so large, itself included."""
        ((places, values),) = self.recent.take(np.array([sample]))
        return places[values >= least]

    def _make(self, samples: list[int]) -> list[tuple[NDArray[np.int32], Array]]:
        threads = min(available_threads(), 1 + len(samples) // 32)
        if threads == 1:
            return self.near.rows(self.near.table[:, samples])
        with ThreadPoolExecutor(threads) as pool:
            shares = np.array_split(samples, threads)
            parts = pool.map(lambda share: self.near.rows(self.near.table[:, share]), shares)
            return [row for part in parts for row in part]


def make_rows(problem: KernelProblem) -> DenseRows | NearRows:
    """`NearRows` where the kernel is local on the points of the problem, and `DenseRows` where it is not."""
    if problem.gram is None and is_local(problem.kernel, problem.own_points, problem.own_points, NEGLIGIBLE):
        return NearRows(problem)
    return DenseRows(problem)


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
    K, n = np.ascontiguousarray(problem.whole_matrix()), problem.n_samples
    # Small problems are mostly solved by one call of compiled code; in large ones it would visit all for few.
    accuracy, patience, spent = (SMALL_TOL, 10, 0.0) if n <= SMALL else (FIRST_TOL, 2, 0.0)
    active: Indices | None = None
    gap = np.inf
    for _ in range(max_rounds):
        if polish(problem, point, STEP_COST * spent - CALL_COST):
            spent = 0.0
            gap, _ = relative_gap_of(problem, point)
            if gap <= tol:
                break
        if active is None:
            steps, violation = minimise_pairs(K, point.gradient, point.beta, *problem.box, accuracy, patience * n)
        else:
            steps, moved, change = _improve(problem, K[np.ix_(active, active)], point, active, accuracy, 100)
            point.gradient += change @ K[active[moved]]
            violation = _violation(problem, point)
        spent += steps * (n if active is None else active.size)
        point.n_iter += steps
        gap, intercept = relative_gap_of(problem, point)
        if gap <= tol or (violation <= accuracy < 1e-13):
            break
        if violation <= accuracy:
            accuracy *= SHARPER
        active = _nearly_free(problem, point, intercept) if n > TINY else None
    return gap


def _violation(problem: KernelProblem, point: DualPoint) -> float:
    """The largest gradient of a coefficient that can fall less the least one of those that can grow."""
    low, high = problem.box
    fall = point.gradient[point.beta > low].max(initial=-np.inf)
    return float(fall - point.gradient[point.beta < high].min(initial=np.inf))


def _nearly_free(problem: KernelProblem, point: DualPoint, intercept: float) -> Indices | None:
    """The samples off their bounds and those nearest to leaving one, about as many; None for nearly all samples."""
    low, high = problem.box
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
    local = isinstance(rows, NearRows)
    kept = np.empty(0, dtype=np.intp)
    gap, intercept = relative_gap_of(problem, point)
    steps = 1
    for number in range(max_rounds):
        active = _nearly_free(problem, point, intercept) if gap < NEAR_THE_END else None
        many = active is not None and active.size <= (NEIGHBOURHOODS if local else MOST_ACTIVE)
        together = not many and gap < NEAR_THE_END and isinstance(rows, NearRows) and number % 4 > 0 and steps > 0
        patience, cycles = 20, 1
        if many and active is not None:
            free = np.count_nonzero((point.beta > low) & (point.beta < high))
            patience, cycles = (10, MOST_CYCLES) if free <= FEW_FREE else (200, 1)
            accuracy = 0.02 * _violation(problem, point)
        elif together and isinstance(rows, NearRows):
            active, accuracy = _neighbourhoods(problem, rows, point, intercept, NEIGHBOURHOODS), 0.01 * gap
        else:
            active, violation = _most_violating(problem, point, WORKING_SET, kept)
            kept, accuracy = active, 0.1 * violation
        small = rows.among(active, whole=not many)
        steps, moved, change = _improve(problem, small, point, active, accuracy, patience, cycles)
        rows.add_products(point.gradient, active, moved, change)
        point.n_iter += steps
        gap, intercept = relative_gap_of(problem, point)
        if on_round is not None:
            on_round(gap)
        stuck = steps == 0 and not together
        if (gap <= tol or stuck) and local:
            before = gap
            point.refresh(problem)  # with all values: those left out so far must not decide
            gap, intercept = relative_gap_of(problem, point)
            stuck &= gap <= 2.0 * before
        if gap <= tol or stuck:
            break
    return gap


def _improve(
    problem: KernelProblem,
    small: Array,
    point: DualPoint,
    active: Indices,
    accuracy: float,
    patience: int,
    cycles: int = 1,
) -> tuple[int, Indices, Array]:
    """Pairwise steps among some samples, whose matrix is `small`, and Newton steps between cycles of them.

    Returns the number of steps, which of the samples changed, and by how much. Coefficients are changed in place, the
    gradient is not: that needs rows of the kernel matrix.
    """
    before = point.beta[active]
    beta, gradient, steps = before.copy(), point.gradient[active], 0
    low, high = (end[active] for end in problem.box)
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


def _most_violating(problem: KernelProblem, point: DualPoint, size: int, kept: Indices) -> tuple[Indices, float]:
    """Samples to work on, and the violation: least gradients that can grow, largest that can fall, half of the last."""
    low, high = problem.box
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


def _neighbourhoods(problem: KernelProblem, rows: NearRows, point: DualPoint, intercept: float, size: int) -> Indices:
    """The samples that violate optimality most, each with those near it that are off their bounds or violate as well.

    A local kernel couples neighbours only, so that they are best moved together.
    """
    low, high = problem.box
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
        near = rows.neighbours(i, NEIGHBOUR_VALUE)
        near = near[eligible[near]]
        eligible[near] = False
        chosen.append(near)
        count += near.size
        if count >= size:
            break
    return np.sort(np.concatenate(chosen)).astype(np.intp)
