"""What every registered solver owes its user: a table of solvers crossed with a table of problems.

A new solver is in the table by being registered. What one does not promise is listed here with the reason.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from hypermargin import MarginProblem, Status, available_methods, solve
from hypermargin.problems import GeodesicBall
from hypermargin.solvers import Outcome, Solver, get_solver, make_solver, relative_gap, solve_path
from hypermargin.solvers.base import judge
from reference.brute import brute_force
from reference.objective import lift

METHODS = available_methods()

#: Options under which a method makes its promises, or is quick enough to be asked often.
OPTIONS = {"euclidean": {"center": "mean"}, "pgd": {"epochs": 200}}

#: Methods whose w depends on where the origin is, and why.
ORIGIN_MATTERS = {"pgd": "its start, its projection and the length of its steps are those of the ambient space"}

#: Relaxations promise their bound alone: w is extracted from one point of an optimal face, and which point an interior
#: point method returns, and what is drawn around it, depends on coordinates and on the order of the samples.
ONLY_THE_BOUND = {"sdp", "moment"}


def _clouds(seed, n, d, shift=0.5, positive=0.5):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < max(1, round(positive * n)), 1.0, -1.0)
    return lift(0.8 * rng.normal(size=(n, d)) + shift * y[:, None]), y


def _ring():
    angle = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    return lift(np.vstack([0.3 * ring[::2], 1.5 * ring])), np.r_[np.ones(4), -np.ones(8)]


PROBLEMS = {
    "overlapping": MarginProblem(*_clouds(0, 12, 2)),
    "separable": MarginProblem(*_clouds(1, 10, 2, shift=2.0), C=10.0),
    "small C": MarginProblem(*_clouds(2, 12, 2), C=0.05),
    "imbalanced": MarginProblem(*_clouds(3, 12, 2, positive=0.1)),
    "weighted": MarginProblem(*_clouds(4, 8, 2), sample_weight=[0.0, 1.0, 2.0, 0.5, 3.0, 0.1, 1.0, 1.0]),
    "line": MarginProblem(*_clouds(5, 8, 1)),
    "space": MarginProblem(*_clouds(6, 10, 3)),
    "surrounded": MarginProblem(*_ring()),
    "twins": MarginProblem(*(np.repeat(a, 2, axis=0) for a in (_clouds(7, 4, 2)[0], np.ones(4)))),
    "opposite twins": MarginProblem(lift([[0.5, 0.0], [0.5, 0.0]]), [1.0, -1.0]),
    "one per class": MarginProblem(lift([[1.0, 0.2], [-0.7, 0.0]]), [1.0, -1.0]),
}


@cache
def solved(method, name):
    """One method on one problem, solved once for all tests of this module."""
    return solve(PROBLEMS[name], method, **OPTIONS.get(method, {}))


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", METHODS)
class TestEverySolverOnEveryProblem:
    def test_reports_the_objective_of_its_own_w(self, method, name):
        solution, problem = solved(method, name), PROBLEMS[name]
        assert solution.method == method
        assert solution.loss in get_solver(method).losses
        assert solution.w.shape == (problem.dim + 1,)
        if solution.status is Status.TIMELIKE:
            assert not problem.is_feasible(solution.w)
            assert solution.objective == solution.gap == np.inf
        else:
            assert solution.objective == pytest.approx(problem.objective(solution.w, solution.loss), rel=1e-14)
            assert solution.gap == relative_gap(solution.objective, solution.lower_bound)

    def test_is_no_better_than_brute_force_and_its_bound_no_higher(self, method, name):
        solution, problem = solved(method, name), PROBLEMS[name]
        used = problem.costs > 0
        best, _ = brute_force(problem.X[None, used], problem.y[None, used], problem.costs[None, used])
        optimum = float(best[0])
        assert PROBLEMS[name].objective(solution.w, "hinge") >= optimum * (1 - 1e-7) - 1e-9
        if solution.loss == "hinge":
            assert solution.lower_bound <= optimum * (1 + 1e-6) + 1e-7
        if solution.status.is_proved:
            assert solution.objective == pytest.approx(optimum, rel=1e-5, abs=1e-6)

    def test_is_no_worse_than_saying_nothing_unless_it_has_no_hyperplane(self, method, name):
        """w = 0 is feasible and costs the risk of margins 0; an answer above that is worse than none.

        It holds for the ambient SVM too, as q <= |w|^2. Projected gradient keeps to q >= 1e-6 and pays half of that.
        """
        solution, problem = solved(method, name), PROBLEMS[name]
        if solution.status is not Status.TIMELIKE:
            nothing = problem.objective(np.zeros(problem.dim + 1), solution.loss)
            assert solution.objective <= nothing * (1 + 1e-9) + 0.5e-6


@pytest.mark.parametrize("method", METHODS)
class TestInvariances:
    @settings(max_examples=3, deadline=None, derandomize=True)
    @given(seed=st.integers(0, 1000))
    def test_order_of_the_samples(self, method, seed):
        problem = MarginProblem(*_clouds(seed, 10, 2))
        order = np.random.default_rng(seed).permutation(10)
        _same(method, problem, replace(problem, X=problem.X[order], y=problem.y[order]))

    @settings(max_examples=3, deadline=None, derandomize=True)
    @given(seed=st.integers(0, 1000))
    def test_names_of_the_classes(self, method, seed):
        problem = MarginProblem(*_clouds(seed, 10, 2))
        _same(method, problem, replace(problem, y=-problem.y))

    @settings(max_examples=3, deadline=None, derandomize=True)
    @given(seed=st.integers(0, 1000))
    def test_weights_are_repetitions(self, method, seed):
        X, y = _clouds(seed, 8, 2)
        counts = np.random.default_rng(seed).integers(1, 4, size=8)
        weighted = MarginProblem(X, y, C=0.5, sample_weight=counts)
        _same(method, weighted, MarginProblem(np.repeat(X, counts, axis=0), np.repeat(y, counts), C=0.5))

    @settings(max_examples=3, deadline=None, derandomize=True)
    @given(seed=st.integers(0, 1000), size=st.floats(0.1, 3.0))
    def test_isometries(self, method, seed, size):
        X, y = _clouds(seed, 10, 2)
        angle = np.random.default_rng(seed).uniform(0, 2 * np.pi)
        c, s = size * np.cos(angle), size * np.sin(angle)
        L = expm(np.array([[0.0, c, s], [c, 0.0, 1.0], [s, -1.0, 0.0]]))
        moved = MarginProblem(lift((X @ L.T)[:, 1:]), y)
        _same(method, MarginProblem(X, y), moved, bound_only=method in ORIGIN_MATTERS)


def _same(method, one, other, bound_only=False):
    """Two forms of one problem get one value, and one lower bound, to the accuracy the methods are asked for."""
    first, second = (solve(problem, method, **OPTIONS.get(method, {})) for problem in (one, other))
    scale = max(abs(first.lower_bound), 1e-3) if np.isfinite(first.lower_bound) else 1.0
    if np.isfinite(first.lower_bound) or np.isfinite(second.lower_bound):
        assert second.lower_bound == pytest.approx(first.lower_bound, abs=1e-5 * scale)
    if not (bound_only or method in ONLY_THE_BOUND):
        assert second.status is first.status
        assert second.objective == pytest.approx(first.objective, rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_options_are_declared_and_others_refused(method):
    make_solver(method)
    with pytest.raises(TypeError, match=f"solver '{method}' has no option 'no_such_option'; its options are"):
        make_solver(method, no_such_option=1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("capability", "changes"),
    [
        ("hard", {"C": np.inf}),
        ("timelike", {"allow_timelike": True}),
        ("uncertainty", {"uncertainty": GeodesicBall(0.1)}),
    ],
    ids=["hard", "timelike", "uncertainty"],
)
def test_what_a_solver_does_not_declare_it_refuses(method, capability, changes):
    problem = replace(PROBLEMS["separable"], **changes)
    if capability in get_solver(method).capabilities:
        assert solve(problem, method, **OPTIONS.get(method, {})).objective < np.inf
    else:
        with pytest.raises(ValueError, match=f"solver '{method}' does not handle"):
            solve(problem, method)


@pytest.mark.parametrize("method", METHODS)
def test_a_solver_with_an_intercept_has_the_option_for_it(method):
    assert ("intercept" in get_solver(method).capabilities) == hasattr(make_solver(method), "fit_intercept")


def test_unknown_methods_and_tolerances_are_refused():
    with pytest.raises(ValueError, match=f"unknown solver 'magic'; the solvers are {', '.join(METHODS)}"):
        solve(PROBLEMS["overlapping"], "magic")
    with pytest.raises(ValueError, match="tol must be positive"):
        solve(PROBLEMS["overlapping"], "euclidean", tol=0.0)


@pytest.mark.parametrize("weight", [1e308, 1e101, 1e-101, 5e-324])
@pytest.mark.parametrize("method", ["exact", "sdp", "moment", "pgd", "euclidean"])
def test_costs_that_doubles_cannot_square_are_refused(method, weight):
    X = np.sqrt(1.0 + np.array([[0.26], [0.26], [1.09]])), np.array([[0.5, 0.1], [0.5, 0.1], [-1.0, 0.3]])
    problem = MarginProblem(np.hstack(X), [1.0, 1.0, -1.0], sample_weight=[weight, weight, 1.0])
    with pytest.raises(ValueError, match="must lie between 1e-100 and 1e\\+100"):
        solve(problem, method)
    with pytest.raises(ValueError, match="must lie between"):
        solve_path(MarginProblem(problem.X, problem.y), [1.0, weight], method)


class Claims(Solver):
    """A solver that returns what it is told to."""

    name = "claims"
    outcome: Outcome

    def run(self, problem, tol):
        return self.outcome


@pytest.mark.parametrize("status", [Status.OPTIMAL, Status.UNVERIFIED, Status.GAP_REMAINS])
@pytest.mark.parametrize("if_met", [None, Status.OPTIMAL])
def test_a_bound_above_the_objective_is_no_bound_whatever_the_status(status, if_met):
    problem, proof = PROBLEMS["overlapping"], solve(PROBLEMS["overlapping"])
    solver = Claims()
    for excess, proved in ((1e-3, False), (1e-7, False), (-1e-7, True)):
        bound = proof.objective * (1.0 + excess)
        solver.outcome = Outcome(
            proof.w, status, status_if_met=if_met, lower_bound=bound, certificate=proof.certificate
        )
        found = judge(problem, solver, solver.run(problem, 1e-6), 1e-6, 0.0)
        assert found.objective == proof.objective
        if proved:
            assert (found.status, found.lower_bound) == (if_met or status, bound)
        else:
            assert (found.status, found.lower_bound, found.certificate) == (Status.FAILED, -np.inf, None)
