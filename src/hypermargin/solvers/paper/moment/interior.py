"""A primal-dual predictor-corrector interior-point method (HKM direction) for moment relaxations.

Unknowns: moments z, the matrices ``S = B(z)`` they make, and the Gram matrices X of the SOS side, all batched over
groups. Each iteration solves ``X S = mu I`` to first order with Mehrotra's second-order correction. The same code runs
on NumPy, PyTorch and any other array-API library.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.solvers.paper.moment.newton import (
    NewtonSystem,
    RelaxationOperator,
    inverses,
    is_linalg_error,
    longest_step,
    sandwich,
)
from hypermargin.solvers.paper.moment.relaxation import Relaxation

#: Fraction of the way to the boundary of the cone that a step may go; with PATIENCE and the centring exponent it is the
#: best of nine combinations on the Gaussians of benchmarks/bench_moment.py.
STEP_FRACTION = 0.9
#: How much shorter, relatively, a step may be than the longest: the predictor's only decides on the centring. With 0.03
#: for the step itself order 3 took 25 iterations instead of 21.
STEP_ACCURACY, PREDICTOR_ACCURACY = 0.01, 0.1
#: Steps shorter than this in both spaces mean that rounding errors dominate.
SHORTEST_STEP = 1e-4
#: Iterations without a better point after which the method stops, once a point was as good as NEAR.
PATIENCE, NEAR = 5, 1e-3
#: Relative gap above which residuals fall with mu, not ahead of it (0.001, 1, 3, 10 were worse: docs/relaxations.md).
FAR = 0.1


@dataclass(frozen=True, eq=False)
class Point:
    """An iterate: moments (private, shared), their matrices S and the Gram matrices X, block by block."""

    private: Any
    shared: Any
    S: list[Any]
    X: list[Any]


@dataclass(frozen=True, eq=False)
class Residuals:
    """How far a point is from satisfying both sides' equations, and from complementarity."""

    private: Any
    shared: Any
    matrices: list[Any]
    mu: float
    complementarity: float
    moment_value: float
    sos_value: float
    sos_residual: float
    infeasibility: float

    @property
    def provable(self) -> float:
        """The bound that the Gram matrices prove, nearly: what the residual of the SOS identity takes is deducted."""
        return self.sos_value - self.sos_residual

    @property
    def scale(self) -> float:
        """What gaps are relative to; early on one of the values can be far too large."""
        return 1.0 + min(abs(self.moment_value), abs(self.sos_value))

    @property
    def gap(self) -> float:
        return abs(self.moment_value - self.sos_value) / self.scale

    @property
    def merit(self) -> float:
        """What must become small. The gap alone is not enough: away from feasibility it can pass through zero."""
        return max(self.gap, self.complementarity / self.scale, self.infeasibility)


@dataclass(frozen=True, eq=False)
class InteriorResult:
    """Moments (N, S) and Gram matrices as NumPy arrays in the relaxation's order, and how the method ended."""

    moments: Array
    grams: tuple[Array, ...]
    status: str
    n_iter: int
    gap: float = float("nan")
    infeasibility: float = float("nan")
    history: dict[str, list[float]] = field(default_factory=dict)


def interior_point(
    relaxation: Relaxation,
    *,
    xp: Any,
    device: Any = None,
    tol: float = 1e-8,
    max_iter: int = 100,
    time_limit: float = np.inf,
    n_threads: int = 1,
    callback: Callable[[int, dict[str, float]], None] | None = None,
) -> InteriorResult:
    """Solve a relaxation. `status` is "solved", "inaccurate", "iteration limit" or "time limit"."""
    deadline = time.perf_counter() + time_limit
    operator = RelaxationOperator(relaxation, xp, device, n_threads)
    point = start(operator)
    residuals = measure(operator, point)
    history: dict[str, list[float]] = {"moment_value": [], "sos_value": [], "gap": [], "infeasibility": []}
    status, iteration = "iteration limit", 0
    # Once near, the best point is the one that proves most: that is what a solve which ends early is worth.
    best, least_merit, since_best = (point, residuals), residuals.merit, 0

    for iteration in range(max_iter):
        _record(history, residuals, iteration, callback)
        if residuals.merit <= tol:
            status = "solved"
            break
        if time.perf_counter() > deadline:
            status = "time limit"
            break
        try:
            newton = NewtonSystem(operator, point.X, inverses(point.S, xp))
            predictor = direction(newton, point, residuals, target=0.0)
            lengths = step_lengths(operator, point, predictor, PREDICTOR_ACCURACY)
            target = centring(point, predictor, lengths, residuals.mu, operator)
            corrector = direction(newton, point, residuals, target=target, second_order=predictor)
            lengths = step_lengths(operator, point, corrector, STEP_ACCURACY)
        except (ValueError, RuntimeError) as error:
            if not is_linalg_error(error):
                raise
            status = "inaccurate"
            break
        point = advance(point, corrector, lengths)
        residuals = measure(operator, point)
        since_best = 0 if residuals.merit < least_merit else since_best + 1
        least_merit = min(least_merit, residuals.merit)
        if best[1].merit >= NEAR or (residuals.merit < NEAR and residuals.provable > best[1].provable):
            best = (point, residuals)
        if max(lengths) < SHORTEST_STEP or (least_merit < NEAR and since_best >= PATIENCE):
            status = "inaccurate"
            break
    else:
        iteration = max_iter

    point, residuals = best if status != "solved" else (point, residuals)
    return _result(relaxation, operator, point, residuals, status, iteration, history)


# -- the pieces of an iteration --------------------------------------------------------------------------------------


def start(operator: RelaxationOperator) -> Point:
    """Multiples of the identity. Gram matrices have to match the objective; moments are of order 1 in a ball.

    Without a ball they grow without limit, and a start far out is the better one.
    """
    xp, device, n = operator.xp, operator.device, operator.n_groups
    private = xp.zeros((n, operator.n_private), dtype=xp.float64, device=device)
    shared = xp.zeros((operator.n_shared,), dtype=xp.float64, device=device)
    in_ball = any(block.name == "ball" for block in operator.blocks)
    moments, far = (2.0, 1.0) if in_ball else (300.0, 30.0)
    grams = 2.0 * far * max(1.0 / n, _largest(operator.private_cost, xp), _largest(operator.shared_cost, xp) / n)

    def identities(amounts: list[float]) -> list[Any]:
        return [
            xp.zeros((b.copies, b.size, b.size), dtype=xp.float64, device=device)
            + amount * xp.eye(b.size, dtype=xp.float64, device=device)
            for b, amount in zip(operator.blocks, amounts, strict=True)
        ]

    # A block with fewer copies than groups has more to do with each; half the way there stays well centred.
    shares = [grams * max(1.0, n / block.copies) ** 0.5 for block in operator.blocks]
    return Point(private, shared, identities([moments] * len(shares)), identities(shares))


def measure(operator: RelaxationOperator, point: Point) -> Residuals:
    """Residuals of ``B(z) = S`` and of the SOS identity, and the two objective values."""
    xp = operator.xp
    sos_private, sos_shared, sos_constant = operator.adjoint(point.X)
    private, shared = operator.private_cost - sos_private, operator.shared_cost - sos_shared
    made = operator.matrices(point.private, point.shared, 1.0)
    matrices = [B - S for B, S in zip(made, point.S, strict=True)]
    moment_value = operator.constant + float(xp.sum(operator.private_cost * point.private))
    if operator.n_shared:
        moment_value += float(xp.sum(operator.shared_cost * point.shared))
    sos_value, mu = operator.constant - sos_constant, _mu(operator, point.X, point.S)
    # The SOS residual counts by the sum of its coefficients: that is what it takes from the bound (see `sos`).
    sos_residual = float(xp.sum(xp.abs(private)) + xp.sum(xp.abs(shared)))
    infeasibility = max(
        sos_residual / (1.0 + abs(sos_value)),
        max(_largest(R, xp) / (1.0 + _largest(S, xp)) for R, S in zip(matrices, point.S, strict=True)),
    )
    return Residuals(
        private,
        shared,
        matrices,
        mu,
        mu * operator.barrier,
        moment_value,
        sos_value,
        sos_residual,
        infeasibility,
    )


def direction(
    newton: NewtonSystem, point: Point, residuals: Residuals, *, target: float, second_order: Point | None = None
) -> Point:
    """The step towards ``X S = target I``; `second_order` is the predictor whose products are corrected for.

    While the gap is large, residuals fall with mu and not ahead of it. Without a ball the SOS side has no interior, so
    Gram matrices that satisfy its equations too soon lie at the boundary of the cone, where only short steps are left.
    """
    operator, xp = newton.operator, newton.operator.xp
    kept = target / residuals.mu if residuals.gap > FAR else 0.0
    missing = [(1.0 - kept) * R for R in residuals.matrices]
    wanted = []  # what the Gram matrices would become if the moments stayed where they are
    for k, (X, Si, R) in enumerate(zip(point.X, newton.S_inverse, missing, strict=True)):
        change = target * Si - sandwich(X, R, Si, xp)
        if second_order is not None:
            change = change - sandwich(second_order.X[k], second_order.S[k], Si, xp)
        wanted.append(change)
    sos_private, sos_shared, _ = operator.adjoint(wanted)
    private, shared = newton.solve(
        sos_private - operator.private_cost + kept * residuals.private,
        sos_shared - operator.shared_cost + kept * residuals.shared,
    )
    moved = operator.matrices(private, shared)
    S = [M + R for M, R in zip(moved, missing, strict=True)]
    X = [
        Wk - Xk - sandwich(Xk, M, Si, xp)
        for Wk, Xk, M, Si in zip(wanted, point.X, moved, newton.S_inverse, strict=True)
    ]
    return Point(private, shared, S, X)


def step_lengths(operator: RelaxationOperator, point: Point, step: Point, accuracy: float) -> tuple[float, float]:
    """The longest steps, at most 1, that keep S and X positive definite."""
    moments = longest_step(point.S, step.S, STEP_FRACTION, accuracy, operator.xp)
    return moments, longest_step(point.X, step.X, STEP_FRACTION, accuracy, operator.xp)


def centring(point: Point, step: Point, lengths: tuple[float, float], mu: float, operator: RelaxationOperator) -> float:
    """Mehrotra's target: the better the predictor does, the less centring."""
    ahead = advance(point, step, lengths)
    reached = max(_mu(operator, ahead.X, ahead.S), 0.0) / mu
    exponent = max(2.0, 3.0 * min(lengths) ** 2)
    return mu * min(1.0, max(reached**exponent, 1e-6))


def advance(point: Point, step: Point, lengths: tuple[float, float]) -> Point:
    moments, grams = lengths
    return Point(
        point.private + moments * step.private,
        point.shared + moments * step.shared,
        [S + moments * dS for S, dS in zip(point.S, step.S, strict=True)],
        [X + grams * dX for X, dX in zip(point.X, step.X, strict=True)],
    )


def _mu(operator: RelaxationOperator, X: list[Any], S: list[Any]) -> float:
    total = sum(float(operator.xp.sum(Xk * Sk)) for Xk, Sk in zip(X, S, strict=True))
    return total / operator.barrier


def _largest(values: Any, xp: Any) -> float:
    return float(xp.max(xp.abs(values))) if values.shape[0] and values.shape[-1] else 0.0


def _record(
    history: dict[str, list[float]],
    residuals: Residuals,
    iteration: int,
    callback: Callable[[int, dict[str, float]], None] | None,
) -> None:
    now = {key: float(getattr(residuals, key)) for key in history}
    for key, value in now.items():
        history[key].append(value)
    if callback is not None:
        callback(iteration, now)


def _result(
    relaxation: Relaxation,
    operator: RelaxationOperator,
    point: Point,
    residuals: Residuals,
    status: str,
    n_iter: int,
    history: dict[str, list[float]],
) -> InteriorResult:
    moments = np.empty((relaxation.n_groups, relaxation.n_moments))
    moments[:, operator.order] = to_numpy(operator.moments(point.private, point.shared, 1.0))
    grams = tuple(to_numpy(X) for X in point.X)
    return InteriorResult(moments, grams, status, n_iter, residuals.gap, residuals.infeasibility, history)


def to_numpy(values: Any) -> Array:
    """A NumPy copy of an array of any library, from any device."""
    if hasattr(values, "cpu"):  # a tensor of PyTorch
        values = values.cpu().numpy()
    return np.array(values, dtype=np.float64)
