"""Samples that count of one class only, as where a fold's weights leave no other: the best w costs nothing."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from hypermargin import MarginProblem, Status, solve, solve_path
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.runs import best_along_axes
from reference.objective import lift


def samples(d, n, scale=1.0, seed=0):
    return lift(scale * np.random.default_rng(seed).normal(size=(n, d)))


@pytest.mark.parametrize("noise", [None, GeodesicBall(0.5), Box(0.2), CrossPolytope(0.2), Ball(0.2)], ids=str)
@pytest.mark.parametrize("C", [1e-6, 1.0, np.inf])
@pytest.mark.parametrize("label", [1.0, -1.0])
@pytest.mark.parametrize(("d", "n", "scale"), [(1, 5, 1.0), (2, 1, 1.0), (2, 50, 1.0), (3, 50, 20.0), (6, 9, 1.0)])
def test_nothing_is_lost_and_that_is_proved(d, n, scale, label, C, noise):
    problem = MarginProblem(samples(d, n, scale), np.full(n, label), C=C, uncertainty=noise)
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == solution.lower_bound == 0.0
    assert solution.certificate.verify(problem) == 0.0
    assert problem.margins(solution.w).min() >= 1.0 - 1e-9


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_samples_without_weight_are_of_no_class(C):
    X = samples(2, 20)
    y, weights = np.repeat([1.0, -1.0], 10), np.repeat([1.0, 0.0], 10)
    solution = solve(MarginProblem(X, y, C=C, sample_weight=weights))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == 0.0


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("seed", range(80))
def test_where_timelike_normals_are_allowed_rounding_adds_nothing_either(seed, d):
    """A single sample: the tip of its own frame has a margin of 1, up to rounding."""
    problem = MarginProblem(samples(d, 1, seed=seed), np.ones(1), allow_timelike=True)
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == 0.0


def test_without_the_check_the_status_says_so():
    assert solve(MarginProblem(samples(2, 5), np.ones(5)), verify=False).status is Status.UNVERIFIED


@pytest.mark.parametrize("noise", [Box(0.69), Box(1.5), Ball(0.9)], ids=str)
def test_sets_that_leave_the_hyperboloid_get_the_best_multiple_of_an_axis(noise):
    problem = MarginProblem(samples(2, 30), np.ones(30), uncertainty=noise)

    def least_risk(direction):
        found = minimize_scalar(lambda a: problem.risk(a * direction), bounds=(0.0, 50.0), method="bounded")
        return min(found.fun, problem.risk(0.0 * direction))

    rays = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, -1.0]])
    best = min(least_risk(ray) for ray in rays)
    assert problem.objective(best_along_axes(problem, Frame(problem.centre))[0]) == pytest.approx(best, rel=1e-5)
    solution = solve(problem)
    assert 0.0 <= solution.lower_bound < solution.objective <= best * (1 + 1e-5)
    if noise.rho > 1.0:  # sets so large that w = 0 is best: their own cuts prove the tails
        assert solution.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(problem.objective(np.zeros(3)), rel=1e-12)
    else:
        assert solution.status is Status.GAP_REMAINS


@pytest.mark.parametrize("noise", [None, GeodesicBall(0.5), Ball(0.01), Ellipsoid(np.eye(1), 0.5)], ids=str)
@pytest.mark.parametrize("radius", [8.0, 14.0, 17.5])
def test_far_out_on_both_sides(radius, noise):
    """A lightlike w has margins of ``exp(-r)`` at one end, which ``x0 - x1`` in doubles is not."""
    X = lift(np.sinh(radius) * np.array([[1.0], [-1.0], [0.9]]))
    solution = solve(MarginProblem(X, -np.ones(3), 100.0, uncertainty=noise))
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 0.0)


@pytest.mark.parametrize("max_iter", [1, 2, 3, 4])
def test_a_path_stopped_within_the_first_passes_goes_on_with_them(max_iter):
    rng = np.random.default_rng(1)
    problem = MarginProblem(samples(2, 30), np.sign(rng.normal(size=30)))
    Cs = [0.1, 1.0, 10.0]
    for C, solution in zip(Cs, solve_path(problem, Cs, "exact", max_iter=max_iter), strict=True):
        optimum = solve(problem.with_C(C))
        assert solution.n_iter == max_iter
        assert solution.status is Status.ITERATION_LIMIT
        assert solution.lower_bound <= optimum.objective
        assert optimum.lower_bound <= solution.objective
