"""Judges of the asinh objective that import nothing of the package: a random search, and SCIP by exponentials."""

import numpy as np


def asinh_objective(W, X, y, costs, allow_timelike=False):
    """``q/2 + sum_i c_i max(0, asinh(1) - asinh(m_i))`` for rows of W, infinite where timelike; margins by hand."""
    W = np.atleast_2d(W)
    margins = y * (np.outer(W[:, 0], X[:, 0]) - W[:, 1:] @ X[:, 1:].T)
    q = np.sum(W[:, 1:] ** 2, axis=1) - W[:, 0] ** 2
    risk = np.maximum(0.0, np.arcsinh(1.0) - np.arcsinh(margins)) @ costs
    infeasible = (q < -1e-12 * np.sum(W**2, axis=1)) & (not allow_timelike)
    return np.where(infeasible, np.inf, 0.5 * np.maximum(q, 0.0) + risk)


def onto_cone(W):
    """Rows of W, the timelike ones moved onto the light cone by stretching their space part."""
    length = np.linalg.norm(W[:, 1:], axis=1)
    stretch = np.where(length < np.abs(W[:, 0]), np.abs(W[:, 0]) / np.maximum(length, 1e-300), 1.0)
    return np.column_stack([W[:, 0], W[:, 1:] * (stretch * (1.0 + 1e-14))[:, None]])


def best_by_random_search(X, y, costs, rng, rounds=12, size=400, keep=8):
    """The least objective that a random search in all scales finds, which then narrows around its best points."""
    width = X.shape[1]
    W = rng.normal(size=(4 * size, width)) * 10.0 ** rng.uniform(-2.0, 2.0, size=(4 * size, 1))
    W = np.vstack([np.zeros(width), W, onto_cone(W)])
    spread = 1.0
    for _ in range(rounds):
        values = asinh_objective(W, X, y, costs)
        best = W[np.argsort(values)[:keep]]
        steps = rng.normal(size=(keep, size // keep, width)) * spread * np.linalg.norm(best, axis=1)[:, None, None]
        moved = (best[:, None, :] + steps).reshape(-1, width)
        W = np.vstack([best, moved, onto_cone(moved)])
        spread *= 0.5
    values = asinh_objective(W, X, y, costs)
    return float(values.min())


def scip_bounds(X, y, costs, half_side, gap=1e-3, seconds=60.0):
    """Dual and primal bound by SCIP over ``|w_j| <= half_side``; ``m = sinh(u)``, loss at least ``asinh(1) - u``."""
    from pyscipopt import Model, exp, quicksum

    model = Model()
    model.hideOutput()
    model.setParam("limits/gap", gap)
    model.setParam("limits/time", seconds)
    k = X.shape[1]
    w = [model.addVar(lb=-half_side, ub=half_side) for _ in range(k)]
    total = model.addVar(lb=0.0)
    terms = []
    for x, label, cost in zip(X, y, costs, strict=True):
        far = float(half_side * np.abs(x).sum())
        u = model.addVar(lb=-float(np.arcsinh(far)), ub=float(np.arcsinh(far)))
        slack = model.addVar(lb=0.0)
        margin = label * (x[0] * w[0] - quicksum(x[j] * w[j] for j in range(1, k)))
        model.addCons((exp(u) - exp(-u)) / 2.0 == margin)
        model.addCons(slack >= float(np.arcsinh(1.0)) - u)
        terms.append(float(cost) * slack)
    q = quicksum(w[j] * w[j] for j in range(1, k)) - w[0] * w[0]
    model.addCons(q >= 0.0)
    model.addCons(total >= 0.5 * q + quicksum(terms))
    model.setObjective(total)
    model.optimize()
    return model.getDualbound(), model.getPrimalbound()
