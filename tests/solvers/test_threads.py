"""Linear algebra on small matrices keeps to one thread, and everything is as before afterwards."""

from contextlib import ExitStack

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from hypermargin import MarginProblem, solve, solve_path
from hypermargin.solvers.common.threads import LEAST_DIM, MOST_PRODUCTS, blas, threads_for
from hypermargin.solvers.euclidean import Euclidean


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with blas().limit(limits=2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("this BLAS has no threads")
        yield


def test_large_matrices_and_few_dimensions_are_left_alone():
    for n_samples, dim in ((MOST_PRODUCTS // 64 + 1, 8), (10, LEAST_DIM - 1)):
        with threads_for(n_samples, dim):
            assert threads() == {2}


def test_the_last_user_lifts_the_limit_whoever_came_first():
    first, second = ExitStack(), ExitStack()
    first.enter_context(threads_for(100, 8))
    second.enter_context(threads_for(100, 8))
    assert threads() == {1}
    first.close()
    assert threads() == {1}
    second.close()
    assert threads() == {2}


def test_solvers_run_inside_and_errors_leave_nothing_behind(monkeypatch):
    seen = []

    def failing(self, problem, tol):
        seen.append(threads())
        raise ZeroDivisionError

    monkeypatch.setattr(Euclidean, "run", failing)
    rng = np.random.default_rng(0)
    space = rng.normal(size=(30, 8))
    X = np.hstack([np.sqrt(1.0 + (space**2).sum(axis=1, keepdims=True)), space])
    problem = MarginProblem(X, np.sign(space[:, 0]), 1.0)
    for attempt in (lambda: solve(problem, "euclidean"), lambda: solve_path(problem, [1.0, 2.0], "euclidean")):
        with pytest.raises(ZeroDivisionError):
            attempt()
        assert threads() == {2}
    assert seen == [{1}, {1}]
