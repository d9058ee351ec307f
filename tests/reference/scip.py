"""The hinge problem as a quadratic program for SCIP, a general-purpose global solver."""

from dataclasses import dataclass, replace

import numpy as np
from pyscipopt import Model

from reference.objective import Array, hinge_value, onto_cone, signed_rows


@dataclass(frozen=True)
class ScipResult:
    """What SCIP proved: the optimum lies between `bound` and `value`; `value` is recomputed at `w`."""

    value: float
    bound: float
    w: Array | None
    seconds: float
    infeasible: bool = False

    @property
    def gap(self) -> float:
        return (self.value - self.bound) / max(abs(self.value), 1e-12)


def solve_scip(
    X: Array,
    y: Array,
    costs: Array,
    *,
    timelike: bool = False,
    gap: float = 1e-7,
    time_limit: float = 600.0,
    upper: float | None = None,
    feastol: float = 1e-8,
) -> ScipResult:
    """The optimum of the hinge problem to a proven relative `gap`; see `solve_once` for the parameters.

    SCIP's tolerances are absolute and scaled by `upper`. Where the value at w = 0 is far above the optimum they leave a
    gap larger than the one asked for; the value just found is then the better scale, and the problem is solved again.
    """
    options = {"timelike": timelike, "gap": gap, "time_limit": time_limit, "feastol": feastol}
    first = solve_once(X, y, costs, upper=upper, **options)
    if first.infeasible or first.gap <= 5.0 * gap or not 0.0 < first.value < np.inf or first.seconds >= time_limit:
        return first
    again = solve_once(X, y, costs, upper=first.value, **options)
    best = min(first, again, key=lambda result: result.value)
    return replace(best, bound=max(first.bound, again.bound), seconds=first.seconds + again.seconds)


def solve_once(
    X: Array,
    y: Array,
    costs: Array,
    *,
    timelike: bool = False,
    gap: float = 1e-7,
    time_limit: float = 600.0,
    upper: float | None = None,
    feastol: float = 1e-8,
) -> ScipResult:
    """Minimise ``q(w)/2 + sum c_i xi_i`` with ``m_i >= 1 - sqrt2 xi_i``, ``xi >= 0``, ``q(w) >= 0``, to a proven gap.

    Parameters
    ----------
    X, y, costs : (n, d + 1), (n,), (n,) arrays
        Points, labels, and ``c_i``; all costs infinite asks for the hard margin.
    timelike : bool
        Minimise ``max(q, 0)/2 + risk`` without ``q >= 0``.
    upper : float, optional
        The value at some feasible w, where one is known: it makes the box on w smaller.
    feastol : float
        How far SCIP may miss a constraint; its own default is 1e-6.
    """
    Z = signed_rows(X, y)
    hard = bool(np.all(np.isinf(costs)))
    if upper is None:
        upper = float(hinge_value(Z, costs, np.zeros((1, Z.shape[1])))[0]) if not hard else hard_margin_upper(Z)
        if not np.isfinite(upper):
            return ScipResult(np.inf, np.inf, None, 0.0, infeasible=True)
    box = box_radius(X, y, costs, upper)

    model = Model()
    model.hideOutput()
    model.setParam("limits/gap", gap)
    model.setParam("limits/absgap", 0.0)
    model.setParam("limits/time", time_limit)
    model.setParam("numerics/feastol", feastol)
    # SCIP's tolerances are absolute: a small optimum is brought to size 1, but no cost of a slack far below 1.
    scale = 1.0 / min(upper, float(np.max(costs))) if upper > 0.0 else 1.0
    w = [model.addVar(f"w{j}", lb=-box, ub=box) for j in range(Z.shape[1])]
    q = sum(v * v for v in w[1:]) - w[0] * w[0]
    half_q = model.addVar("half_q", lb=0.0, ub=None)
    model.addCons(2.0 * half_q >= q)
    if not timelike:
        model.addCons(q >= 0.0)
    objective = scale * half_q
    for row, cost in zip(Z, costs, strict=True):
        margin = sum(float(r) * v for r, v in zip(row, w, strict=True))
        if np.isinf(cost):
            model.addCons(margin >= 1.0)
        elif cost > 0.0:
            # A violation of this row costs no more than itself in the objective.
            factor = max(1.0, scale * float(cost))
            slack = model.addVar(lb=0.0, ub=None)
            model.addCons(factor * margin >= factor - float(np.sqrt(2.0)) * slack)
            objective += (scale * float(cost) / factor) * slack
    model.setObjective(objective, "minimize")
    model.optimize()
    seconds = float(model.getSolvingTime())
    if model.getStatus() == "infeasible":
        return ScipResult(np.inf, np.inf, None, seconds, infeasible=True)
    bound = float(model.getDualbound()) / scale
    if model.getNSols() == 0:
        return ScipResult(np.inf, bound, None, seconds)
    best = model.getBestSol()
    found = np.array([[model.getSolVal(best, v) for v in w]])
    if hard:  # make up for SCIP's feasibility tolerance
        found = found / np.min(Z @ found[0])
    if not timelike:
        found = onto_cone(found)
    return ScipResult(float(hinge_value(Z, costs, found)[0]), bound, found[0], seconds)


def box_radius(X: Array, y: Array, costs: Array, upper: float) -> float:
    """A radius within which (Euclidean norm) some minimiser w lies, given the value `upper` at a feasible point.

    Let ``c+, c-`` be the summed costs of the classes and ``p, n`` their cost-weighted means, ``p = P u``, ``n = N v``
    with u, v on the hyperboloid and ``P, N >= 1``. At a minimiser ``q <= 2 upper`` and the risk is at most `upper`;
    by convexity of the hinge ``1 - p*w <= sqrt2 upper / c+``, hence ``u*w >= -a`` with ``a = max(0, sqrt2 upper/c+ -
    1)/P``, and likewise ``v*w <= b``. In the frame of u write ``w = (s, wr)``, so ``s >= -a`` and ``|wr| <= sqrt(2
    upper) + |s|``. With r the distance of u and v, ``v*w >= cosh(r) s - sinh(r) |wr|``, which for ``s > 0`` gives ``s
    <= exp(r) (b + sinh(r) sqrt(2 upper))``. So ``|s| <= T``, the larger of the two, ``|w| <= T + sqrt(2 upper) + T``
    in the frame of u, and moving back to the frame of the data stretches by at most ``exp(radius of u)``. For the
    hard margin ``u*w >= 0 >= v*w``, so a = b = 0. If a class is missing or weighs nothing, ``s = max_i exp(r_i)``
    makes ``s (1, 0, .., 1)`` (with the sign of the label) lightlike of risk 0: a minimiser of norm ``sqrt2 s``.
    """
    used = costs > 0.0
    weights = np.where(np.isinf(costs), 1.0, costs)
    sides = [used & (y > 0), used & (y < 0)]
    if not all(np.any(side) for side in sides):
        return float(np.sqrt(2.0) * np.exp(np.arccosh(np.max(X[:, 0]))) * 1.01)
    centres, slack = [], []
    for side in sides:
        mean = weights[side] @ X[side] / np.sum(weights[side])
        length = np.sqrt(mean[0] ** 2 - mean[1:] @ mean[1:])
        centres.append(mean / length)
        slack.append(max(0.0, np.sqrt(2.0) * upper / np.sum(costs[side]) - 1.0) / length)
    u, v = centres
    distance = np.arccosh(max(1.0, u[0] * v[0] - u[1:] @ v[1:]))
    root = np.sqrt(2.0 * upper)
    time = max(slack[0], np.exp(distance) * (slack[1] + np.sinh(distance) * root))
    return float(1.01 * (2.0 * time + root) * np.exp(np.arccosh(max(1.0, u[0]))) + 1e-6)


def hard_margin_upper(Z: Array) -> float:
    """``q(w)/2`` at some w with all margins at least 1, by linear programming; infinite where there is none."""
    from scipy.optimize import linprog

    # With |w| small the value is small: minimise the 1-norm, w = plus - minus.
    dim = Z.shape[1]
    answer = linprog(np.ones(2 * dim), A_ub=-np.hstack([Z, -Z]), b_ub=-np.ones(Z.shape[0]), bounds=(0.0, None))
    if answer.status == 2:
        return float("inf")
    w = answer.x[:dim] - answer.x[dim:]
    w = w * max(1.0, 1.0 / np.min(Z @ w))
    return float(max(0.0, w[1:] @ w[1:] - w[0] ** 2) / 2.0)
