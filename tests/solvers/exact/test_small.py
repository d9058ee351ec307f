"""Small problems solved and checked without objects in between: the optima of SCIP and of the general search."""

import numpy as np
import pytest

from hypermargin import MarginProblem, Status, solve
from hypermargin.geometry import boost, lift
from hypermargin.problems import GeodesicBall
from hypermargin.solvers.exact import small
from hypermargin.solvers.exact.compiled import cuts, evaluator, halves, master, region
from hypermargin.solvers.exact.method import Exact
from hypermargin.solvers.exact.small import solve_small
from interpreted import load_source
from reference.instances import judged_instances, make_instance, risk_minimiser_is_timelike
from reference.scip import solve_scip

pytestmark = pytest.mark.skipif(
    not small.is_small(MarginProblem([[1.0, 0.0]], [1.0])), reason="without a compiler there is the general search only"
)

INSTANCES = {instance.name: instance for instance in judged_instances() if instance.X.shape[1] <= 4}


def to_problem(instance, **changes):
    return MarginProblem(instance.X, instance.y, instance.C, instance.weight, **changes)


def by_general_search(problem, tol=1e-6):
    return solve(problem, tol=tol, time_limit=1e6)  # limits of time are for the general search only


@pytest.mark.parametrize("name", list(INSTANCES)[::3])
def test_optima_are_those_of_scip_and_of_the_general_search(name):
    problem = to_problem(INSTANCES[name])
    found = solve_small(problem, 1e-6, 10_000)
    if found is None:  # where directions have to be split
        assert by_general_search(problem).info["splits"] > 0
        return
    judge = solve_scip(problem.X, problem.y, problem.costs)
    assert found.gap <= 1e-6
    assert found.lower_bound <= judge.value * (1.0 + 1e-9)
    assert judge.bound <= found.objective * (1.0 + 2e-6)
    general = by_general_search(problem)
    assert found.objective == pytest.approx(general.objective, rel=1e-7)


def test_most_problems_with_a_spacelike_optimum_need_no_split():
    # The test above would pass if nothing were found at all.
    plain = [instance for instance in INSTANCES.values() if not risk_minimiser_is_timelike(instance)]
    found = [solve_small(to_problem(instance), 1e-6, 10_000) for instance in plain]
    assert sum(each is not None for each in found) > 0.9 * len(plain)


@pytest.mark.parametrize("family", ["overlap", "separable"])
@pytest.mark.parametrize("changes", [{}, {"allow_timelike": True}], ids=str)
def test_the_solution_tells_what_the_general_one_does(family, changes):
    problem = to_problem(make_instance(family, d=2, n=60, C=2.0, seed=3), **changes)
    found = solve_small(problem, 1e-6, 10_000)
    solution, general = found.solution(problem), by_general_search(problem)
    assert solution.status is Status.OPTIMAL
    assert (solution.method, solution.loss, solution.intercept) == ("exact", "hinge", 0.0)
    assert solution.n_iter == general.n_iter
    assert solution.info == general.info
    assert solution.history.keys() == general.history.keys()
    for name, values in general.history.items():
        np.testing.assert_allclose(solution.history[name], values, rtol=1e-12)
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
    found, checked = solve_small(problem, 1e-6, 10_000, verify=False), solve_small(problem, 1e-6, 10_000)
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
    one, other = (solve_small(problem, 1e-6, 10_000) for problem in (weighted, copies))
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
    found, general = solve_small(problem, tol, 10_000), by_general_search(problem, tol)
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
        ({}, {"start": np.array([0.0, 1.0, 0.0])}),
        ({}, {"cuts": "deep"}),
        ({}, {"time_limit": 5.0}),
        ({}, {"max_regions": 1}),
        ({}, {"max_iter": 5}),
    ],
    ids=str,
)
def test_what_is_asked_for_otherwise_is_left_to_the_general_search(changes, options):
    instance = make_instance("separable", d=2, n=30, C=1.0, seed=0)
    problem = MarginProblem(instance.X, instance.y, **{"C": 1.0, **changes})
    assert Exact().run_small(problem.with_C(1.0), 1e-6) is not None or "uncertainty" in changes
    assert Exact(**options).run_small(problem, 1e-6) is None


class Asked:
    """An oracle whose passes are asked for: the compiled search would make its own."""

    arrays = None

    def __init__(self, oracle):
        self.oracle = oracle

    def __call__(self, w):
        return self.oracle(w)


def test_the_interpreter_comes_to_the_same_search():
    instance = make_instance("overlap", d=2, n=24, C=1.0, seed=0)
    problem = to_problem(instance)
    oracle = small.HingeOracle(problem, small.first_frame(problem, 1e-6))
    *_, plain = load_source(cuts, master, region, evaluator, halves)
    results = []
    for module in (halves, plain):
        search = module.Halves(Asked(oracle), 3, False)
        assert search.solve(Asked(oracle), 1e-8, 10_000)
        results.append((search.best(), *search.proof_of(search.evaluator.upper * (1.0 - 5e-7))))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
