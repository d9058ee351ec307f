"""The robust hinge problem as a quadratically constrained program for SCIP. Imports nothing of the package.

The worst margin over a set is ``m_i - s_i`` or, over a geodesic ball, ``cosh(rho) m_i - sinh(rho) s_i``; s_i is bounded
from below by linear or second-order cone constraints, so the program is a relaxation without loss.
"""

import numpy as np
from pyscipopt import Model, quicksum

from reference.objective import Array, signed_rows
from reference.scip import ScipResult, box_radius


def solve_robust_scip(X: Array, y: Array, costs: Array, kind: str, rho: float, gap: float = 1e-7) -> ScipResult:
    """Minimise ``q(w)/2 + sum c_i xi_i`` with the worst margins at least ``1 - sqrt2 xi_i`` over ``q(w) >= 0``.

    `kind` is "geodesic", "box", "cross" or "ball". Only bound and w are to be used: no value is recomputed here.
    """
    Z = signed_rows(X, y)
    d = X.shape[1] - 1
    # At a minimiser the nominal risk is at most the robust one, hence at most its value at w = 0.
    box = box_radius(X, y, costs, float(costs.sum() / np.sqrt(2.0)))
    model = Model()
    model.hideOutput()
    model.setParam("limits/gap", gap)
    model.setParam("numerics/feastol", 1e-9)
    w = [model.addVar(f"w{j}", lb=-box, ub=box) for j in range(d + 1)]
    q = quicksum(v * v for v in w[1:]) - w[0] * w[0]
    half_q = model.addVar("half_q", lb=0.0, ub=None)
    model.addCons(2.0 * half_q >= q)
    model.addCons(q >= 0.0)
    slacks = []
    for x, row in zip(X, Z, strict=True):
        margin = quicksum(float(r) * v for r, v in zip(row, w, strict=True))
        slack, spread = model.addVar(lb=0.0, ub=None), model.addVar(lb=0.0, ub=None)
        frame = boost_columns(x) if kind == "geodesic" else exponential_columns(x)
        parts = [quicksum(float(a) * v for a, v in zip(lower(column), w, strict=True)) for column in frame]
        if kind in ("geodesic", "ball"):
            model.addCons(quicksum(part * part for part in parts) <= spread * spread)
        elif kind == "cross":
            for part in parts:
                model.addCons(spread >= part)
                model.addCons(spread >= -part)
        else:
            sizes = [model.addVar(lb=0.0, ub=None) for _ in parts]
            for size, part in zip(sizes, parts, strict=True):
                model.addCons(size >= part)
                model.addCons(size >= -part)
            model.addCons(spread >= quicksum(sizes))
        stretch, reach = (np.cosh(rho), np.sinh(rho)) if kind == "geodesic" else (1.0, rho)
        model.addCons(float(stretch) * margin - float(reach) * spread >= 1.0 - float(np.sqrt(2.0)) * slack)
        slacks.append(slack)
    model.setObjective(half_q + quicksum(float(c) * s for c, s in zip(costs, slacks, strict=True)), "minimize")
    model.optimize()
    best = model.getBestSol()
    found = np.array([model.getSolVal(best, v) for v in w])
    return ScipResult(float(model.getObjVal()), float(model.getDualbound()), found, float(model.getSolvingTime()))


def lower(v: Array) -> Array:
    return np.concatenate([v[:1], -v[1:]])


def boost_columns(x: Array) -> Array:
    """An orthonormal basis of the tangent space at x, as rows: the images of the axes under the boost to x."""
    basis = np.column_stack([x[1:], np.eye(len(x) - 1) + np.outer(x[1:], x[1:]) / (1.0 + x[0])])
    return basis


def exponential_columns(x: Array) -> Array:
    """The derivatives of exp_0 at ``log_0(x)`` along the axes, as rows: across the ray sinh(r)/r, along it 1."""
    length = np.linalg.norm(x[1:])
    if length == 0.0:
        return np.column_stack([np.zeros(len(x) - 1), np.eye(len(x) - 1)])
    n, r = x[1:] / length, np.arcsinh(length)
    across = (np.eye(len(n)) - np.outer(n, n)) * length / r
    return np.column_stack([length * n, across + x[0] * np.outer(n, n)])
