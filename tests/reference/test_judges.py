"""The judges judged: SCIP, enumeration, and a dense grid with local refinement must agree with each other."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from reference.brute import brute_force
from reference.instances import FAMILIES, make_instance, risk_minimiser, risk_minimiser_is_timelike
from reference.objective import hinge_value, lift, onto_cone, signed_rows
from reference.scip import box_radius, solve_scip
from reference.tiny import tiny_batch


def grid_search(Z, costs, timelike=False, radius=8.0, points=61, refined=8):
    """Best value on a dense grid over w (d = 2), its best points polished by a simplex search."""
    axis = np.linspace(-radius, radius, points)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    grid = np.concatenate([grid, grid / 16.0])
    place = (lambda w: w) if timelike else onto_cone
    values = hinge_value(Z, costs, place(grid))
    starts = grid[np.argsort(values)[:refined]]
    options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000, "maxfev": 4000}
    best = np.inf
    for start in starts:
        for _ in range(3):  # a restart frees a simplex that collapsed at a kink
            found = minimize(
                lambda w: float(hinge_value(Z, costs, place(w[None]))[0]), start, method="Nelder-Mead", options=options
            )
            start = found.x
        best = min(best, found.fun)
    return best


@pytest.mark.parametrize(("family", "timelike"), list(product(FAMILIES, (False, True))))
def test_scip_agrees_with_a_grid_search(family, timelike):
    instance = make_instance(family, d=2, n=8, C=1.0, seed=7)
    judge = solve_scip(instance.X, instance.y, instance.costs, timelike=timelike)
    Z = signed_rows(instance.X, instance.y)
    best = grid_search(Z, instance.costs, timelike)
    assert judge.bound <= best * (1.0 + 1e-7) + 1e-9
    assert judge.value == pytest.approx(best, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("index", range(24))
def test_scip_agrees_with_enumeration(index):
    batch = tiny_batch(seed=1, index=index)
    best = batch.best_values()
    for i in range(4):
        used = batch.costs[i] > 0.0
        judge = solve_scip(batch.X[i][used], batch.y[i][used], batch.costs[i][used], timelike=batch.timelike)
        assert np.isinf(judge.value) == np.isinf(best[i])
        if np.isfinite(best[i]):
            scale = 1e-9 * min(1.0, float(np.sum(batch.costs[i])))
            assert best[i] <= judge.value * (1.0 + 1e-9) + scale
            assert judge.bound <= best[i] * (1.0 + 1e-6) + scale


def test_enumeration_finds_the_optimum_known_in_closed_form():
    # Two points at distance r either side of the origin, C not small: w = (0, 1/sinh r, 0), value 1/(2 sinh(r)^2).
    for r in (0.3, 1.0, 2.0):
        X = lift(np.array([[[-np.sinh(r), 0.0], [np.sinh(r), 0.0]]]))
        y = np.array([[1.0, -1.0]])
        value, w = brute_force(X, y, np.full((1, 2), 10.0))
        assert value[0] == pytest.approx(0.5 / np.sinh(r) ** 2, rel=1e-10)
        np.testing.assert_allclose(w[0], [0.0, 1.0 / np.sinh(r), 0.0], atol=1e-9)
        hard, _ = brute_force(X, y, np.full((1, 2), np.inf))
        assert hard[0] == pytest.approx(0.5 / np.sinh(r) ** 2, rel=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_larger_box_changes_nothing(family):
    instance = make_instance(family, d=3, n=12, C=1.0, seed=3)
    judge = solve_scip(instance.X, instance.y, instance.costs)
    start = float(np.sum(instance.costs)) / np.sqrt(2.0)
    assert np.linalg.norm(judge.w) < box_radius(instance.X, instance.y, instance.costs, start)
    wider = solve_scip(instance.X, instance.y, instance.costs, upper=4.0 * start)
    assert wider.value == pytest.approx(judge.value, rel=1e-6)


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_surrounded_instances_have_a_timelike_risk_minimiser(d):
    instance = make_instance("surrounded", d=d, n=40, C=1.0, seed=5)
    assert risk_minimiser_is_timelike(instance)
    Z, w = signed_rows(instance.X, instance.y), risk_minimiser(instance)
    judge = solve_scip(instance.X, instance.y, instance.costs, timelike=True)
    # A timelike w pays no margin term, so the linear program's value is the optimum of the timelike form.
    assert judge.value == pytest.approx(float(hinge_value(Z, instance.costs, w[None])[0]), rel=1e-6, abs=1e-6)
    assert solve_scip(instance.X, instance.y, instance.costs).value > judge.value
