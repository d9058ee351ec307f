"""The exact method against SCIP, a general-purpose global solver, on 360 small instances."""

import numpy as np
import pytest

from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers import Status, solve
from reference.instances import judged_instances, risk_minimiser_is_timelike
from reference.scip import solve_scip

INSTANCES = {instance.name: instance for instance in judged_instances()}
SMALL = [name for name, instance in INSTANCES.items() if len(instance.y) <= 13]


def to_problem(instance, **changes):
    fields = {"C": instance.C, "sample_weight": instance.weight, **changes}
    return MarginProblem(instance.X, instance.y, **fields)


def assert_bounds_do_not_cross(solution, judge):
    """Each side's lower bound stays below the other's value; SCIP's bound is one up to its tolerance."""
    assert solution.lower_bound <= judge.value * (1.0 + 1e-9)
    assert judge.bound <= solution.objective * (1.0 + 2e-6)


@pytest.mark.parametrize("name", INSTANCES)
def test_optimum_agrees_with_scip(name):
    instance = INSTANCES[name]
    # Beyond d = 3 a timelike risk minimiser leaves a search that may end at its budget, and must then say so.
    closes = instance.X.shape[1] <= 4 or not risk_minimiser_is_timelike(instance)
    budget = {} if closes else {"time_limit": 1.0}
    solution = solve(to_problem(instance), method="exact", tol=1e-6, **budget)
    judge = solve_scip(instance.X, instance.y, instance.costs)
    assert judge.gap <= 2e-6
    assert_bounds_do_not_cross(solution, judge)
    if closes:
        assert solution.status is Status.OPTIMAL
    if solution.status is Status.OPTIMAL:
        assert solution.objective == pytest.approx(judge.value, rel=1e-5)
    else:
        assert solution.gap > 1e-6


@pytest.mark.parametrize("name", SMALL)
def test_timelike_optimum_agrees_with_scip(name):
    instance = INSTANCES[name]
    solution = solve(to_problem(instance, allow_timelike=True), method="exact", tol=1e-6)
    judge = solve_scip(instance.X, instance.y, instance.costs, timelike=True)
    assert solution.status is Status.OPTIMAL
    assert_bounds_do_not_cross(solution, judge)
    # Values near 0 (separable by a timelike w) are compared on the scale of the value at w = 0.
    floor = 1e-9 * float(np.sum(instance.costs))
    assert solution.objective == pytest.approx(judge.value, rel=1e-5, abs=floor)


@pytest.mark.parametrize("name", [name for name in SMALL if "-C1-" in name])
def test_hard_margin_agrees_with_scip(name):
    instance = INSTANCES[name]
    costs = np.where(instance.costs > 0.0, np.inf, 0.0)
    kept = costs > 0.0
    solution = solve(to_problem(instance, C=np.inf), method="exact", tol=1e-6)
    judge = solve_scip(instance.X[kept], instance.y[kept], costs[kept])
    if judge.infeasible:
        assert solution.status is Status.INFEASIBLE
    else:
        assert solution.status is Status.OPTIMAL
        assert_bounds_do_not_cross(solution, judge)
        assert solution.objective == pytest.approx(judge.value, rel=1e-5)


def test_the_instances_hold_what_they_promise():
    degenerate = [i for i in INSTANCES.values() if risk_minimiser_is_timelike(i)]
    assert len(INSTANCES) >= 300
    assert sum(i.name.startswith("surrounded") for i in degenerate) == 60
    assert {i.X.shape[1] - 1 for i in degenerate} == {2, 3, 4, 5}
    assert any(np.sum(i.y > 0) * 50 == np.sum(i.y < 0) for i in INSTANCES.values())
