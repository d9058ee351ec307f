"""Linear classifiers in m features by Newton's method on a smoothed hinge, the smoothing taken away step by step.

The hinge ``max(0, z)``, ``z = 1 - margin``, becomes ``z^2/(2 delta)`` on the band ``0 < z < delta`` and ``z - delta/2``
beyond. Its slope, between 0 and 1, times the cost of the sample is a dual weight: at the minimum of the smoothed
objective these weights are balanced, and the gap of the true problem is at most ``delta/4`` times the costs in the
band. The band holds few samples once delta is small.

Samples far from the hinge keep their slope, 0 or 1, while the others find their place: after a start on some of the
samples, a round takes those nearest to the hinge, solves the problem among them, and looks at all again.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from hypermargin.arrays import Array
from hypermargin.problems.kernel import FeatureProblem, KernelProblem
from hypermargin.solvers.kernel.dual import DualPoint, relative_gap_of

Indices = NDArray[np.intp]
#: Some of the samples, or all without a copy.
Samples = Indices | slice
ALL = slice(None)

#: Newton steps in all, and for one width of the band: 19 bands lead from the first to the last, with 21 steps for each.
MOST_STEPS, MOST_STEPS_OF_BAND = 400, 30
FIRST_BAND, LEAST_BAND, NARROWER = 1.0, 1e-13, 0.2
#: Relative to the sum of the costs: the slope of the smoothed objective at which the next band is tried.
STATIONARY = 1e-14
#: Samples of a start, and the width of the band that it ends with.
START_SAMPLES, START_BAND = 5000, 0.2
#: Samples move by about the width of a band from one to the next; those within so many widths take part.
REACH = 10.0


def minimise_in_features(problem: FeatureProblem, tol: float) -> DualPoint:
    """A point whose relative gap is at most `tol`, or the best that rounding allows."""
    Z, y, c = problem.features, problem.y, problem.costs
    w, b, band, steps = _start(problem)
    best, best_gap = DualPoint(np.zeros(problem.n_samples), -y), np.inf
    excess, violating = 1.0 - y * (Z @ w + b), np.zeros(problem.n_samples, dtype=bool)
    while band >= LEAST_BAND and steps < MOST_STEPS:
        active = _nearest(excess, band, violating)
        objective = _SmoothedObjective(problem, active, excess, w, b, band)
        steps += objective.minimise(MOST_STEPS_OF_BAND, rough=True)
        near_the_end = objective.band_gap <= 10.0 * tol * objective.value
        if near_the_end:  # before, there is no need to be exact, nor to look
            steps += objective.minimise(MOST_STEPS_OF_BAND)
        w, b = objective.w, objective.b
        excess = objective.excess_of_all(problem)
        violating = objective.misjudged(excess)
        if near_the_end:
            beta = _sum_to_zero(y * c * np.clip(excess / band, 0.0, 1.0), *problem.box)
            point = DualPoint(beta, problem.products(beta) - y, steps)
            gap, _ = relative_gap_of(problem, point)
            if gap < best_gap:
                best, best_gap = point, gap
            if gap <= tol:
                break
        if not (near_the_end and violating.any()):
            band *= NARROWER
    best.n_iter = steps
    return best


def _start(problem: FeatureProblem) -> tuple[Array, float, float, int]:
    """A classifier of some of the samples, each standing for its neighbours; the width of the band, and steps taken."""
    stride = max(1, problem.n_samples // START_SAMPLES)
    w, some = np.zeros(problem.features.shape[1]), np.arange(0, problem.n_samples, stride)
    if np.ptp(problem.y[some]) == 0.0:
        return w, 0.0, FIRST_BAND, 0
    few = FeatureProblem(problem.features[some], problem.y[some], 1.0, stride * problem.costs[some])
    objective = _SmoothedObjective(few, ALL, np.ones(some.size), w, 0.0, FIRST_BAND)
    steps = 0
    while True:
        steps += objective.minimise(MOST_STEPS_OF_BAND, rough=True)
        if objective.band <= START_BAND:
            return objective.w, objective.b, objective.band, steps
        objective.band *= NARROWER


def _nearest(excess: Array, band: float, violating: NDArray[np.bool_]) -> Samples:
    """The samples that may come into the band before it narrows again, and `violating` ones; `ALL` if they are many."""
    reach = REACH * band
    near = np.flatnonzero(((excess > -reach) & (excess < band + reach)) | violating)
    return ALL if 2 * near.size > excess.size else near


class _SmoothedObjective:
    """``|w|^2/2 + sum_i c_i h(1 - y_i (z_i.w + b))`` at a point (w, b) that `minimise` moves.

    Only samples `active` have the smoothed hinge h; the others stay on the side of it on which `excess`, shape (n,),
    has them, where h is 0 or linear.
    """

    def __init__(self, problem: FeatureProblem, active: Samples, excess: Array, w: Array, b: float, band: float):
        Z, y, c = problem.features, problem.y, problem.costs
        self.active = active
        self.w, self.b, self.band = w.copy(), b, band
        self.total = float(c.sum())
        self.Z, self.y, self.c = Z[active], y[active], c[active]
        self.beyond = excess >= band
        self.beyond[active] = False
        signed = y[self.beyond] * c[self.beyond]
        # sum c (1 - y (z.w + b)) of the samples beyond the band
        self.lost_w, self.lost_b = signed @ Z[self.beyond], float(signed.sum())
        self.lost = float(c[self.beyond].sum())
        self.excess = excess[active].copy()  # z, how far each margin is below 1

    def excess_of_all(self, problem: FeatureProblem) -> Array:
        """That of every sample, shape (n,); what steps have added up to has more digits than a sum made anew."""
        excess = 1.0 - problem.y * (problem.features @ self.w + self.b)
        excess[self.active] = self.excess
        return excess

    def misjudged(self, excess: Array) -> NDArray[np.bool_]:
        """Which of the samples that are not active have changed sides, or come into the band, shape (n,)."""
        changed = np.where(self.beyond, excess < self.band, excess > 0.0)
        changed[self.active] = False
        return changed

    @property
    def weights(self) -> Array:
        """Dual weights ``c_i h'(z_i)``."""
        return self.c * np.clip(self.excess / self.band, 0.0, 1.0)

    @property
    def band_gap(self) -> float:
        """The most that the smoothing may cost: ``delta/4`` times the costs in the band."""
        inside = (self.excess > 0.0) & (self.excess < self.band)
        return 0.25 * self.band * float(self.c[inside].sum())

    @property
    def value(self) -> float:
        """The objective without smoothing."""
        lost = self.lost - float(self.lost_w @ self.w) - self.lost_b * self.b
        return 0.5 * float(self.w @ self.w) + float(self.c @ np.maximum(self.excess, 0.0)) + lost

    def minimise(self, most_steps: int, rough: bool = False) -> int:
        """Newton steps with exact line searches until the slope is negligible; returns their number.

        With `rough`, until a step promises little beside what the smoothing costs.
        """
        for step in range(most_steps):
            signed = self.y * self.weights
            slope_w, slope_b = self.w - self.lost_w - signed @ self.Z, -self.lost_b - float(signed.sum())
            scale = self.total * max(1.0, float(np.abs(self.w).max(initial=0.0)))
            if max(float(np.abs(slope_w).max(initial=0.0)), abs(slope_b)) <= STATIONARY * scale:
                return step
            dw, db = self._newton(slope_w, slope_b)
            promise = -float(slope_w @ dw) - slope_b * db
            enough = rough and promise <= 0.05 * self.band_gap
            change = -self.y * (self.Z @ dw + db)
            share = self._line_search(dw, db, change)
            if not share > 0.0:
                return step + 1
            self.w += share * dw
            self.b += share * db
            self.excess += share * change
            if step % 8 == 7:  # anew, before rounding adds up
                self.excess = 1.0 - self.y * (self.Z @ self.w + self.b)
            if enough:
                return step + 1
        return most_steps

    def _newton(self, slope_w: Array, slope_b: float) -> tuple[Array, float]:
        """The step ``-H^-1 slope`` with the second derivatives of the samples in the band."""
        inside = np.flatnonzero((self.excess > 0.0) & (self.excess < self.band) & (self.c > 0.0))
        m = self.w.size
        if 0 < inside.size < m:
            return self._newton_by_samples(inside, slope_w, slope_b)
        # The intercept has no curvature of its own; without samples in the band it needs some.
        matrix = np.diag(np.append(np.ones(m), 0.0 if inside.size else self.total))
        rows = np.column_stack([self.Z[inside], np.ones(inside.size)]) * np.sqrt(self.c[inside] / self.band)[:, None]
        matrix += rows.T @ rows
        slope = np.append(slope_w, slope_b)
        scale = 1.0 / np.sqrt(np.diagonal(matrix))
        factor = cho_factor(matrix * scale[:, None] * scale + 1e-15 * np.eye(m + 1), lower=True, check_finite=False)
        step = -scale * cho_solve(factor, scale * slope, check_finite=False)
        return step[:m], float(step[m])

    def _newton_by_samples(self, inside: Indices, slope_w: Array, slope_b: float) -> tuple[Array, float]:
        """The same step where fewer samples than features are in the band, by a matrix of those samples.

        With ``l_i = (c_i/delta) (z_i.dw + db)`` the step has ``dw = -slope_w - sum l_i z_i``, ``sum l_i = -slope_b``.
        """
        Z = self.Z[inside]
        matrix = Z @ Z.T
        diagonal = np.arange(inside.size)
        matrix[diagonal, diagonal] += self.band / self.c[inside] + 1e-15 * float(matrix[diagonal, diagonal].max())
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        right = np.column_stack([Z @ slope_w, np.ones(inside.size)])
        moved, constant = cho_solve(factor, right, check_finite=False).T
        db = (float(moved.sum()) - slope_b) / float(constant.sum())
        return -slope_w - (db * constant - moved) @ Z, db

    def _line_search(self, dw: Array, db: float, change: Array) -> float:
        """The share of the step at which the slope along it vanishes; it grows, so bisection with secants finds it."""
        norm, along = float(dw @ dw), float((self.w - self.lost_w) @ dw) - self.lost_b * db
        costs_change = self.c * change

        def slope(share: float) -> float:
            clipped = np.clip((self.excess + share * change) / self.band, 0.0, 1.0)
            return along + share * norm + float(costs_change @ clipped)

        low, at_low = 0.0, slope(0.0)
        if at_low >= 0.0:
            return 0.0
        high, at_high = 1.0, slope(1.0)
        if abs(at_high) <= 1e-3 * abs(at_low):
            return 1.0
        while at_high < 0.0 and high < 1e8:
            low, at_low = high, at_high
            high *= 4.0
            at_high = slope(high)
        if at_high < 0.0:  # the objective is bounded below: such a slope is rounding
            return 0.0
        first = abs(at_low)
        for k in range(40):
            middle = low + (high - low) * (at_low / (at_low - at_high) if k % 3 else 0.5)
            at_middle = slope(middle)
            if abs(at_middle) <= 1e-3 * first or high - low <= 1e-12 * high:
                return middle
            if at_middle < 0.0:
                low, at_low = middle, at_middle
            else:
                high, at_high = middle, at_middle
        return low if low > 0.0 else high


def _sum_to_zero(beta: Array, low: Array, high: Array) -> Array:
    """Spread what is missing to a sum of 0 over the coefficients in proportion to the room they have."""
    for _ in range(4):
        excess = float(beta.sum())
        room = beta - low if excess > 0.0 else high - beta
        free = np.where((beta > low) & (beta < high), room, 0.0)
        room = free if float(free.sum()) >= abs(excess) else room
        total = float(room.sum())
        if excess == 0.0 or total <= 0.0:
            break
        beta = np.clip(beta - np.sign(excess) * room * min(1.0, abs(excess) / total), low, high)
    return beta


# -- landmarks ---------------------------------------------------------------------------------------------------------


#: Landmarks are drawn among so many points at most; their number times that of the landmarks is what drawing costs.
POOL = 8000
#: Relative to the diagonal: what is left unexplained and counts as nothing; the roots of less are lost in rounding.
EXPLAINED = 1e-9
#: Rows of features at a time: with 500 landmarks their kernel values take 33 MB.
CHUNK_ROWS = 1 << 13


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Nyström features, a kernel seen from few landmarks: their indices, and the factor ``K_LL = factor factor'``."""

    chosen: np.ndarray
    factor: Array

    def features(self, kernel_values: Array) -> Array:
        """Features of points, (n, m), from their kernel values with the landmarks, (n, m): ``K_xL factor^-T``."""
        return solve_triangular(self.factor, kernel_values.T, lower=True, check_finite=False).T

    def coefficients(self, w: Array) -> Array:
        """Coefficients on the landmarks, (..., m), of classifiers w in the features, (..., m)."""
        return solve_triangular(self.factor, w.T, lower=True, trans="T", check_finite=False).T


def draw_landmarks(problem: KernelProblem, n_landmarks: int, rng: np.random.RandomState) -> Landmarks:
    """At most `n_landmarks` samples of a problem, by a randomly pivoted Cholesky factorisation.

    Each is drawn with a probability proportional to what the others leave unexplained of the diagonal, an adaptive form
    of leverage scores (Chen, Epperly, Tropp and Webber, Randomly pivoted Cholesky, 2025). It ends early where nothing
    is left to explain.
    """
    n = problem.n_samples
    pool = np.sort(rng.permutation(n)[:POOL]) if n > POOL else np.arange(n)
    left = np.full(pool.size, float(problem.values(pool[:1], pool[:1])[0, 0]))  # kernels of the distance: all the same
    columns = np.empty((pool.size, n_landmarks), order="F")
    chosen: list[int] = []
    threshold = EXPLAINED * left[0]
    while len(chosen) < n_landmarks and left.max() > threshold:
        weights = np.where(left > threshold, left, 0.0)
        pivot = int(np.searchsorted(np.cumsum(weights), rng.uniform() * weights.sum(), side="right"))
        pivot = min(pivot, pool.size - 1)
        if weights[pivot] <= 0.0:
            pivot = int(np.argmax(weights))
        k = len(chosen)
        column = problem.values(pool, pool[pivot : pivot + 1])[:, 0] - columns[:, :k] @ columns[pivot, :k]
        columns[:, k] = column / np.sqrt(column[pivot])
        left = np.maximum(left - columns[:, k] ** 2, 0.0)
        left[pivot] = 0.0
        chosen.append(pivot)
    landmarks = pool[chosen]
    K = problem.values(landmarks, landmarks)
    for jitter in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        try:
            factor, _ = cho_factor(K + jitter * np.trace(K) * np.eye(len(K)), lower=True, check_finite=False)
            break
        except np.linalg.LinAlgError:
            continue
    return Landmarks(landmarks, np.tril(factor))


def landmark_features(problem: KernelProblem, landmarks: Landmarks) -> Array:
    """Features of all samples, shape (n, m), some rows at a time."""
    features = np.empty((problem.n_samples, landmarks.chosen.size))
    for start in range(0, problem.n_samples, CHUNK_ROWS):
        rows: Any = slice(start, min(problem.n_samples, start + CHUNK_ROWS))
        features[rows] = landmarks.features(problem.values(rows, landmarks.chosen))
    return features
