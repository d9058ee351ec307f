"""Bad input and limits: an honest status and a true gap, never NaN, never a hang."""

import time
from itertools import count

import numpy as np
import pytest

from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers import Status, solve
from reference.brute import brute_force
from reference.instances import make_instance
from reference.objective import hinge_value, lift, onto_cone, signed_rows
from reference.scip import solve_scip

STOPPED = {Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.GAP_REMAINS, Status.CHECK_FAILED}


def solve_and_check(X, y, C, best, *, weight=None, **options):
    """Solve, and hold the answer against `best`, the value at some feasible point (an upper bound on the optimum)."""
    problem = MarginProblem(X, y, C=C, sample_weight=weight)
    solution = solve(problem, method="exact", **options)
    assert not np.isnan(solution.lower_bound)
    assert solution.lower_bound <= best * (1.0 + 1e-9)
    if solution.certificate is not None:
        assert solution.certificate.verify(problem) <= best * (1.0 + 1e-9)
    Z, costs = signed_rows(problem.X, problem.y), problem.costs
    true = float(hinge_value(Z, costs, onto_cone(solution.w[None]))[0])
    size = float(np.abs(solution.w).max())
    rounding = 1e-14 * size * (size + float(np.sum(costs[:, None] * np.abs(Z))))
    assert abs(solution.objective - true) <= 1e-9 * true + rounding
    if solution.status is Status.OPTIMAL:
        assert solution.gap <= 1e-6
        assert solution.objective <= best * (1.0 + 1e-6)
    else:
        assert solution.status in STOPPED
    return solution


def enumerate_best(X, y, C, weight=None):
    costs = C * (np.ones(len(y)) if weight is None else weight)
    return float(brute_force(X[None], y[None], costs[None])[0][0])


def points_at_radius(rng, n, d, radius):
    direction = rng.normal(size=(n, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return lift(np.sinh(radius) * direction)


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_extreme_weights_are_solved(seed, d, C):
    instance = make_instance("overlap", d=d, n=7, C=1.0, seed=40 + seed)
    best = enumerate_best(instance.X, instance.y, C)
    solution = solve_and_check(instance.X, instance.y, C, best)
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_points_at_radius_twelve(seed, C):
    rng = np.random.default_rng([50, seed])
    X = np.concatenate([points_at_radius(rng, 4, 2, 12.0), lift(rng.normal(size=(3, 2)))])
    y = np.where(rng.random(7) < 0.5, -1.0, 1.0)
    y[0], y[4] = 1.0, -1.0
    solve_and_check(X, y, C, enumerate_best(X, y, C))


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("radius", [0.0, 2.0, 12.0])
@pytest.mark.parametrize(("positives", "negatives"), [(5, 3), (1, 1), (2, 7)])
def test_all_points_equal(positives, negatives, radius, C):
    # Seen from the common point, a lightlike w has any margin s at no cost: what is left is the hinge in s alone.
    X = np.repeat(points_at_radius(np.random.default_rng(3), 1, 2, radius), positives + negatives, axis=0)
    y = np.array([1.0] * positives + [-1.0] * negatives)
    value = np.sqrt(2.0) * C * min(positives, negatives)
    solution = solve_and_check(X, y, C, value * (1.0 + 1e-12))
    if radius < 12.0:
        assert solution.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_a_single_class_costs_nothing(label):
    # A lightlike or timelike hyperplane has every sample on the right side and no margin term.
    X = lift(np.random.default_rng(4).normal(size=(9, 2)))
    solution = solve(MarginProblem(X, np.full(9, label)), method="exact")
    assert 0.0 <= solution.objective <= 1e-9
    assert solution.lower_bound <= solution.objective


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0, 1e6])
@pytest.mark.parametrize("d", [2, 3])
def test_opposite_labels_on_the_same_point(d, C):
    rng = np.random.default_rng([60, d])
    X = np.repeat(lift(rng.normal(size=(4, d))), 2, axis=0)
    y = np.tile([1.0, -1.0], 4)
    y[:2] = 1.0
    solution = solve_and_check(X, y, C, enumerate_best(X, y, C))
    assert solution.status is Status.OPTIMAL


def test_opposite_labels_on_the_same_point_cannot_be_separated():
    X = np.repeat(lift(np.random.default_rng(61).normal(size=(3, 2))), 2, axis=0)
    problem = MarginProblem(X, np.tile([1.0, -1.0], 3), C=np.inf)
    assert solve(problem, method="exact").status is Status.INFEASIBLE


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("distance", [1e-3, 1.0, 6.0])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_one_sample_a_class(d, distance, C):
    spatial = np.zeros((2, d))
    spatial[1, 0] = np.sinh(distance)
    X, y = lift(spatial), np.array([1.0, -1.0])
    solution = solve_and_check(X, y, C, enumerate_best(X, y, C))
    if d <= 3:
        assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize("family", ["overlap", "imbalanced", "surrounded"])
@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_max_iter_is_honoured_and_the_bound_stays_true(family, max_iter):
    instance = make_instance(family, d=3, n=40, C=1.0, seed=70)
    judge = solve_scip(instance.X, instance.y, instance.costs)
    solution = solve_and_check(instance.X, instance.y, instance.C, judge.value, max_iter=max_iter)
    assert solution.n_iter <= max_iter
    assert solution.objective >= judge.bound * (1.0 - 2e-6)
    assert solution.status in {Status.OPTIMAL, Status.ITERATION_LIMIT}


@pytest.mark.parametrize("case", ["large", "degenerate"])
def test_time_limit_is_honoured(case, monkeypatch):
    """By a clock that moves on by a second whenever it is read, so that the test does not depend on the machine."""
    rng = np.random.default_rng(80)
    if case == "large":
        n, d = 20_000, 5
        y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
        X = lift(rng.normal(size=(n, d)) + 0.2 * y[:, None])
    else:
        instance = make_instance("surrounded", d=5, n=20_000, C=1.0, seed=80)
        X, y = instance.X, instance.y
    problem = MarginProblem(X, y)
    readings = count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(readings)))
    solution = solve(problem, method="exact", tol=1e-13, time_limit=3.0, cuts="plain")
    assert solution.status is Status.TIME_LIMIT
    assert next(readings) < 12  # what follows the search reads the clock a few times more
    true = float(hinge_value(signed_rows(X, y), problem.costs, onto_cone(solution.w[None]))[0])
    assert solution.objective == pytest.approx(true, rel=1e-9)
    assert solution.lower_bound <= solution.objective


@pytest.mark.parametrize(("d", "radius", "C"), [(1, 8.0, 1e3), (1, 12.0, 1.0), (2, 12.0, 1e3), (2, 16.0, 1.0)])
def test_points_far_out_that_no_hyperplane_explains_are_solved_to_the_tolerance(d, radius, C):
    """Cuts are so steep there that rounding in wr looks like a violated cut, which then hid the chord."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        directions = rng.normal(size=(40, d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        X = lift(np.sinh(rng.uniform(0.0, radius, size=(40, 1))) * directions)
        assert solve(MarginProblem(X, rng.choice([-1.0, 1.0], size=40), C=C)).status is Status.OPTIMAL


@pytest.mark.parametrize("C", [1e4, 1e6])
@pytest.mark.parametrize("seed", range(8))
def test_large_weights_of_separable_points_give_the_hard_margin(seed, C):
    """The bound hardly rises for long, compared with the cost of the points that are tried; they have to get better."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(60, 5))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    X = lift(np.sinh(rng.uniform(0.0, 6.0, size=(60, 1))) * directions)
    problem = MarginProblem(X, np.where(directions[:, 0] > 0.2, 1.0, -1.0), C=C)
    soft, hard = solve(problem), solve(problem.with_C(np.inf))
    assert soft.status is Status.OPTIMAL
    if hard.status is Status.OPTIMAL:
        assert soft.objective == pytest.approx(hard.objective, rel=3e-6)
