"""Small problems, whose certificates are made when they are asked for: the optima of SCIP, and those of `solve`."""

import numpy as np
import pytest

from hypermargin import MarginProblem, Status, solve
from hypermargin.geometry import boost, lift
from hypermargin.problems import GeodesicBall
from hypermargin.solvers import Outcome
from hypermargin.solvers.exact.method import Exact
from hypermargin.solvers.exact.runs import QuickResult
from reference.instances import judged_instances, make_instance, risk_minimiser_is_timelike
from reference.scip import solve_scip

INSTANCES = {instance.name: instance for instance in judged_instances() if instance.X.shape[1] <= 4}


def to_problem(instance, **changes):
    return MarginProblem(instance.X, instance.y, instance.C, instance.weight, **changes)


def quickly(problem, tol=1e-6, **options):
    """The quick result; None where the search has split, or rounding kept the bound from being proved."""
    found = Exact(**options).run_small(problem, tol)
    return found if isinstance(found, QuickResult) else None


@pytest.mark.parametrize("name", list(INSTANCES)[::3])
def test_optima_are_those_of_scip_and_of_the_general_search(name):
    problem = to_problem(INSTANCES[name])
    found = quickly(problem)
    if found is None:  # where directions have to be split
        assert solve(problem).info["splits"] > 0
        return
    judge = solve_scip(problem.X, problem.y, problem.costs)
    assert found.gap <= 1e-6
    assert found.lower_bound <= judge.value * (1.0 + 1e-9)
    assert judge.bound <= found.objective * (1.0 + 2e-6)
    general = solve(problem)
    assert (found.objective, found.lower_bound, found.n_iter) == (
        general.objective,
        general.lower_bound,
        general.n_iter,
    )


def test_most_problems_with_a_spacelike_optimum_need_no_split():
    # The test above would pass if nothing were found at all.
    plain = [instance for instance in INSTANCES.values() if not risk_minimiser_is_timelike(instance)]
    found = [quickly(to_problem(instance)) for instance in plain]
    assert sum(each is not None for each in found) > 0.9 * len(plain)


@pytest.mark.parametrize("family", ["overlap", "separable"])
@pytest.mark.parametrize("changes", [{}, {"allow_timelike": True}], ids=str)
def test_the_solution_tells_what_the_general_one_does(family, changes):
    problem = to_problem(make_instance(family, d=2, n=60, C=2.0, seed=3), **changes)
    found = quickly(problem)
    solution, general = found.solution(problem), solve(problem)
    assert solution.status is Status.OPTIMAL
    assert (solution.method, solution.loss, solution.intercept) == ("exact", "hinge", 0.0)
    assert solution.n_iter == general.n_iter
    assert solution.info == general.info
    assert solution.history == general.history
    assert solution.certificate.verify(problem) == found.lower_bound
    assert solution.certificate.verify(problem, by_arb=True) == pytest.approx(found.lower_bound, rel=1e-9)
    assert (
        solution.certificate.statement
        == solution.certificate.stating(
            problem, loss="hinge", objective=found.objective, bound=found.lower_bound
        ).statement
    )
    assert solution.certificate.holds(problem)
    assert not solution.certificate.holds(problem.with_C(3.0))


def test_without_the_check_the_answer_is_the_same_and_says_so():
    problem = to_problem(make_instance("overlap", d=2, n=60, C=2.0, seed=3))
    found, checked = quickly(problem, verify=False), quickly(problem)
    solution, general = found.solution(problem), solve(problem, verify=False)
    np.testing.assert_array_equal(found.w, checked.w)
    assert solution.status is general.status is Status.UNVERIFIED
    assert solution.certificate.statement.bound is general.certificate.statement.bound is None
    assert solution.objective == checked.objective
    assert solution.lower_bound == pytest.approx(checked.lower_bound, rel=1e-6)
    assert solution.certificate.verify(problem) == checked.lower_bound


def test_weights_count_as_copies():
    instance = make_instance("overlap", d=2, n=40, C=1.5, seed=1)
    counts = np.random.default_rng(0).integers(1, 4, size=40)
    weighted = MarginProblem(instance.X, instance.y, 1.5, counts.astype(float))
    copies = MarginProblem(instance.X.repeat(counts, axis=0), instance.y.repeat(counts), 1.5)
    one, other = (quickly(problem) for problem in (weighted, copies))
    assert one.objective == pytest.approx(other.objective, rel=2e-6)
    assert max(one.lower_bound, other.lower_bound) <= min(one.objective, other.objective)


def one_class():
    return MarginProblem(lift(np.random.default_rng(0).normal(size=(9, 2))), np.ones(9))


def opposite_labels():
    X = lift(np.random.default_rng(0).normal(size=(6, 2)))
    return MarginProblem(np.vstack([X, X]), np.repeat([1.0, -1.0], 6))


def one_against_many():
    X = lift(np.random.default_rng(1).normal(size=(30, 2)))
    return MarginProblem(X, np.r_[1.0, -np.ones(29)], C=10.0)


def far_out():
    X = lift(np.random.default_rng(2).normal(size=(20, 2)))
    moved = X @ boost(lift(np.array([np.sinh(9.0), 0.0]))).T
    return MarginProblem(lift(moved[:, 1:]), np.repeat([1.0, -1.0], 10))


def coincident():
    return MarginProblem(np.repeat([[1.0, 0.0, 0.0]], 4, axis=0), np.array([1.0, -1.0, 1.0, -1.0]))


@pytest.mark.parametrize("make", [one_class, opposite_labels, one_against_many, far_out, coincident])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_degenerate_problems_are_proved_or_left_to_the_general_search(make, tol):
    problem = make()
    found, general = quickly(problem, tol), solve(problem, tol=tol)
    assert general.status is Status.OPTIMAL
    if found is None:
        return
    assert found.gap <= tol
    assert max(found.lower_bound, general.lower_bound) <= min(found.objective, general.objective)


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"C": np.inf}, {}),
        ({"uncertainty": GeodesicBall(0.1)}, {}),
        ({}, {"loss": "asinh"}),
        ({}, {"cuts": "deep"}),
        ({}, {"max_regions": 1}),
        ({}, {"max_iter": 5}),
    ],
    ids=str,
)
def test_other_problems_have_an_outcome_at_once(changes, options):
    instance = make_instance("separable", d=2, n=30, C=1.0, seed=0)
    problem = MarginProblem(instance.X, instance.y, **{"C": 1.0, **changes})
    assert quickly(problem) is not None or changes
    found, outcome = Exact(**options).run_small(problem, 1e-6), Exact(**options).run(problem, 1e-6)
    assert isinstance(found, Outcome)
    assert (found.lower_bound, found.status, found.n_iter) == (outcome.lower_bound, outcome.status, outcome.n_iter)


@pytest.mark.parametrize("d", [2, 3])
def test_a_search_that_has_to_split_goes_on_from_its_first_two_regions(d):
    instance = make_instance("surrounded", d=d, n=20, C=1.0, seed=1)
    problem = to_problem(instance)
    found, outcome = Exact().run_small(problem, 1e-4), Exact().run(problem, 1e-4)
    assert found.info["splits"] > 0
    assert found.info == outcome.info
    assert found.history == outcome.history
    np.testing.assert_array_equal(found.w, outcome.w)


def test_a_start_is_tried_first():
    problem = to_problem(make_instance("overlap", d=2, n=60, C=2.0, seed=3))
    cold = quickly(problem)
    warm = quickly(problem, start=cold.w)
    assert warm.n_iter < cold.n_iter
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)
    with pytest.raises(ValueError, match="start must be a finite vector"):
        quickly(problem, start=cold.w[:2])
