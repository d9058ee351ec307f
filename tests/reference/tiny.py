"""Batches of tiny random instances for fuzzing, and what counts as a counterexample.

Every batch is named by (seed, index) and every instance by its position in it, so that any of them can be made again.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from reference.brute import brute_force
from reference.objective import Array, hinge_value, lift, onto_cone, signed_rows

BATCH = 50


@dataclass(frozen=True, eq=False)
class TinyBatch:
    """`BATCH` instances of one shape: X (k, n, d + 1), y and weight (k, n), C (k,); all hard or none."""

    seed: int
    index: int
    X: Array
    y: Array
    weight: Array
    C: Array
    timelike: bool

    @property
    def costs(self) -> Array:
        return np.where(self.weight > 0.0, self.C[:, None] * np.maximum(self.weight, 1e-300), 0.0)

    def best_values(self) -> Array:
        """The best value brute force finds for each instance, shape (k,)."""
        return brute_force(self.X, self.y, self.costs, timelike=self.timelike)[0]


def tiny_batch(seed: int, index: int) -> TinyBatch:
    """The batch of that name: d = 1, 2, 3, n = 2..8, one in eight hard, one in eight timelike."""
    rng = np.random.default_rng([seed, index])
    d = int(rng.integers(1, 4))
    n = int(rng.choice([2, 3, 4, 5, 6, 7, 8], p=[0.1, 0.15, 0.25, 0.25, 0.15, 0.07, 0.03]))
    kind = rng.integers(8)
    spatial = rng.normal(size=(BATCH, n, d)) * np.exp(rng.uniform(-2.5, 1.2, size=(BATCH, 1, 1)))
    y = np.where(rng.random((BATCH, n)) < 0.5, -1.0, 1.0)
    y[:, 0], y[:, 1] = 1.0, -1.0
    # Some on a lattice (ties, collinear points, copies), some with the first sample in the middle of the rest.
    style = rng.integers(4, size=(BATCH, 1, 1))
    spatial = np.where(style == 1, np.round(spatial), spatial)
    spatial = np.where((style == 2) & (np.arange(n)[:, None] == 0), np.mean(spatial, axis=1, keepdims=True), spatial)
    y = np.where((style[:, 0] == 2) & (np.arange(n) > 0), -1.0, y)
    weight = np.where(rng.random((BATCH, 1)) < 0.3, rng.exponential(size=(BATCH, n)), 1.0)
    C = np.full(BATCH, np.inf) if kind == 0 else np.exp(rng.uniform(np.log(1e-2), np.log(1e2), size=BATCH))
    return TinyBatch(seed, index, lift(spatial), y, weight, C, timelike=bool(kind == 1))


def complaint(batch: TinyBatch, i: int, best: float, solution: Any, verified: float) -> str | None:
    """What is wrong with a solution of instance i, in a sentence, or None.

    Parameters
    ----------
    best : float
        The value found by brute force, an upper bound on the optimum.
    solution : object
        Has `w`, `objective`, `lower_bound` and `status` (an enum).
    verified : float
        The lower bound that the check of the certificate proves.
    """
    status = solution.status.name
    for name, bound in (("lower_bound", solution.lower_bound), ("verified bound", verified)):
        if np.isnan(bound):
            return f"{name} is NaN"
        if not bound <= best + 1e-9 * abs(best):
            return f"{name} {bound!r} exceeds the value {best!r} of a feasible point"
    if status == "INFEASIBLE":
        return f"said to be infeasible, but a feasible point has value {best!r}" if np.isfinite(best) else None
    if not np.all(np.isfinite(solution.w)):
        return f"w is {solution.w!r}"
    Z, w = signed_rows(batch.X[i], batch.y[i]), np.asarray(solution.w)[None]
    costs = batch.costs[i]
    true = float(hinge_value(Z, costs, w if batch.timelike else onto_cone(w))[0])
    if np.isfinite(true) or np.isfinite(solution.objective):
        size, reach = float(np.abs(w).max()), float(np.sum(costs[np.isfinite(costs)]) * np.abs(Z).max())
        if not abs(true - solution.objective) <= 1e-9 * abs(true) + 1e-14 * size * (size + reach):
            return f"objective {solution.objective!r}, but its w has the value {true!r}"
    if status != "OPTIMAL":
        return f"ended with {status}, gap {solution.gap!r}, in dimension {batch.X.shape[2] - 1}"
    if not solution.objective <= best * (1.0 + 1e-6) + 1e-12:
        return f"said to be optimal at {solution.objective!r}, but a feasible point has value {best!r}"
    return None
