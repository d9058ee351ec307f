"""Linear classifiers in m features by Newton's method on a smoothed hinge, the smoothing taken away step by step.

The hinge ``max(0, z)``, ``z = 1 - margin``, becomes ``z^2/(2 delta)`` on the band ``0 < z < delta`` and ``z - delta/2``
beyond. Its slope, between 0 and 1, times the cost of the sample is a dual weight: at the minimum of the smoothed
objective these weights are balanced, and the gap of the true problem is at most ``delta/4`` times the costs in the
band. The band holds few samples once delta is small, so a Newton step costs one pass of ``n m`` and a small matrix.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from hypermargin.arrays import Array
from hypermargin.problems.kernel import FeatureProblem
from hypermargin.solvers.kernel.dual import DualPoint, relative_gap_of

#: Newton steps in all, and for one width of the band.
MOST_STEPS, MOST_STEPS_OF_BAND = 400, 30
FIRST_BAND, LEAST_BAND, NARROWER = 1.0, 1e-13, 0.2
#: Relative to the sum of the costs: the slope of the smoothed objective at which the next band is tried.
STATIONARY = 1e-14


def minimise_in_features(problem: FeatureProblem, tol: float, start_at: Array | None = None) -> DualPoint:
    """A point whose relative gap is at most `tol`, or the best that rounding allows."""
    objective = _SmoothedObjective(problem, start_at)
    best, best_gap, steps = DualPoint(np.zeros(problem.n_samples), -problem.y), np.inf, 0
    while objective.band >= LEAST_BAND and steps < MOST_STEPS:
        steps += objective.minimise(MOST_STEPS_OF_BAND, rough=True)
        if objective.band_gap > 10.0 * tol * objective.value:  # far from the end: no need to be exact, nor to look
            objective.band *= NARROWER
            continue
        steps += objective.minimise(MOST_STEPS_OF_BAND)
        beta = _sum_to_zero(problem.y * objective.weights, *problem.box)
        point = DualPoint(beta, problem.products(beta) - problem.y, steps)
        gap, _ = relative_gap_of(problem, point)
        if gap < best_gap:
            best, best_gap = point, gap
        if gap <= tol:
            break
        objective.band *= NARROWER
    best.n_iter = steps
    return best


class _SmoothedObjective:
    """``|w|^2/2 + sum_i c_i h(1 - y_i (z_i.w + b))`` at a point (w, b) that `minimise` moves."""

    def __init__(self, problem: FeatureProblem, beta: Array | None):
        self.Z, self.y, self.c = problem.features, problem.y, problem.costs
        self.w = np.zeros(self.Z.shape[1]) if beta is None else beta @ self.Z
        self.b = 0.0
        self.band = FIRST_BAND
        self.excess = 1.0 - self.y * (self.Z @ self.w)  # z, how far each margin is below 1
        self.total = float(self.c.sum())

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
        return 0.5 * float(self.w @ self.w) + float(self.c @ np.maximum(self.excess, 0.0))

    def minimise(self, most_steps: int, rough: bool = False) -> int:
        """Newton steps with exact line searches until the slope is negligible; returns their number.

        With `rough`, until a step promises little beside what the smoothing costs.
        """
        for step in range(most_steps):
            signed = self.y * self.weights
            slope_w, slope_b = self.w - signed @ self.Z, -float(signed.sum())
            scale = self.total * max(1.0, float(np.abs(self.w).max(initial=0.0)))
            if max(float(np.abs(slope_w).max(initial=0.0)), abs(slope_b)) <= STATIONARY * scale:
                return step
            dw, db = self._newton(slope_w, slope_b)
            promise = -float(slope_w @ dw) - slope_b * db
            enough = rough and promise <= 0.05 * self.band_gap
            change = -self.y * (self.Z @ dw + db)
            share = self._line_search(dw, change)
            if not share > 0.0:
                return step + 1
            self.w += share * dw
            self.b += share * db
            self.excess += share * change
            if step % 8 == 7:
                self._refresh()
            if enough:
                return step + 1
        return most_steps

    def _refresh(self) -> None:
        """Compute what steps have added up to anew."""
        self.excess = 1.0 - self.y * (self.Z @ self.w + self.b)

    def _newton(self, slope_w: Array, slope_b: float) -> tuple[Array, float]:
        """The step ``-H^-1 slope`` with the second derivatives of the samples in the band."""
        inside = np.flatnonzero((self.excess > 0.0) & (self.excess < self.band))
        m = self.w.size
        # The intercept has no curvature of its own; without samples in the band it needs some.
        matrix = np.diag(np.append(np.ones(m), 0.0 if inside.size else self.total))
        rows = np.column_stack([self.Z[inside], np.ones(inside.size)]) * np.sqrt(self.c[inside] / self.band)[:, None]
        matrix += rows.T @ rows
        slope = np.append(slope_w, slope_b)
        scale = 1.0 / np.sqrt(np.diagonal(matrix))
        factor = cho_factor(matrix * scale[:, None] * scale + 1e-15 * np.eye(m + 1), lower=True, check_finite=False)
        step = -scale * cho_solve(factor, scale * slope, check_finite=False)
        return step[:m], float(step[m])

    def _line_search(self, dw: Array, change: Array) -> float:
        """The share of the step at which the slope along it vanishes; it grows, so bisection with secants finds it."""
        norm, along = float(dw @ dw), float(self.w @ dw)
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
