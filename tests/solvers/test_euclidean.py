"""The ambient linear SVM against scikit-learn, its optimality conditions, and the isometries it claims to follow."""

import numpy as np
import pytest
from scipy.linalg import expm
from sklearn.svm import SVC, LinearSVC

from hypermargin import MarginProblem, Status, solve
from hypermargin.solvers import Euclidean
from reference.objective import lift, signed_rows


def clouds(seed, n=40, d=2, shift=0.6):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return lift(rng.normal(size=(n, d)) + shift * y[:, None]), y


def ambient_objective(problem, w, intercept=0.0):
    margins = signed_rows(problem.X, problem.y) @ w + intercept * problem.y
    return 0.5 * w @ w + problem.costs @ np.maximum(0.0, 1.0 - margins) / np.sqrt(2.0)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_without_intercept_it_is_liblinears_optimum(C, d):
    X, y = clouds(d, d=d)
    solution = solve(MarginProblem(X, y, C), "euclidean", allow_timelike=True)
    features = X * np.r_[1.0, -np.ones(d)]
    judge = LinearSVC(loss="hinge", fit_intercept=False, C=C / np.sqrt(2.0), tol=1e-10, max_iter=10**6, random_state=0)
    np.testing.assert_allclose(solution.w, judge.fit(features, y).coef_[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_with_intercept_it_is_libsvms_optimum(C):
    X, y = clouds(7)
    solution = solve(MarginProblem(X, y, C), "euclidean", allow_timelike=True, fit_intercept=True)
    judge = SVC(kernel="linear", C=C / np.sqrt(2.0), tol=1e-9).fit(X * [1.0, -1.0, -1.0], y)
    np.testing.assert_allclose(solution.w, judge.coef_[0], rtol=1e-5, atol=1e-6)
    assert solution.intercept == pytest.approx(judge.intercept_[0], rel=1e-4, abs=1e-5)


def test_far_points_with_a_large_C_are_solved_too():
    """Strong duality at radius 12, where coordinate descent stops short: the stationarity of w gives a dual point."""
    rng = np.random.default_rng(0)
    radius, angle = rng.uniform(0, 12, 200), rng.uniform(0, 2 * np.pi, 200)
    X = lift(np.sinh(radius)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))
    y = np.where(np.cos(angle) + 0.2 * rng.normal(size=200) > 0, 1.0, -1.0)
    problem = MarginProblem(X, y, C=10.0)
    w = solve(problem, "euclidean", allow_timelike=True).w
    for step in 1e-3 * np.linalg.norm(w) * rng.normal(size=(200, 3)):
        assert ambient_objective(problem, w) <= ambient_objective(problem, w + step)
        assert ambient_objective(problem, w) <= ambient_objective(problem, w + 1e-3 * step) * (1 + 1e-9)


def test_integer_weights_equal_duplicates():
    X, y = clouds(3)
    counts = np.random.default_rng(0).integers(0, 4, size=len(y))
    repeated = MarginProblem(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    for center in ("given", "mean"):
        a = solve(MarginProblem(X, y, sample_weight=counts), "euclidean", center=center, allow_timelike=True)
        b = solve(repeated, "euclidean", center=center, allow_timelike=True)
        np.testing.assert_allclose(a.w, b.w, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("size", [0.5, 2.0, 5.0])
def test_centre_at_the_mean_commutes_with_isometries_and_the_given_origin_does_not(size):
    X, y = clouds(11)
    generator = np.zeros((3, 3))
    generator[0, 1:] = generator[1:, 0] = size * np.array([0.8, 0.6])
    generator[1, 2], generator[2, 1] = 0.7, -0.7
    L = expm(generator)
    here = MarginProblem(X, y)
    there = MarginProblem(lift((X @ L.T)[:, 1:]), y)
    mean_here, mean_there = (solve(p, "euclidean", center="mean") for p in (here, there))
    assert mean_there.objective == pytest.approx(mean_here.objective, rel=1e-6)
    np.testing.assert_allclose(there.margins(mean_there.w), here.margins(mean_here.w), rtol=1e-4, atol=1e-5)
    given_here, given_there = (solve(p, "euclidean", allow_timelike=True) for p in (here, there))
    assert np.max(np.abs(there.margins(given_there.w) - here.margins(given_here.w))) > 1e-3


def test_a_class_around_the_origin_gives_a_timelike_answer_that_is_called_so():
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    X, y = lift(np.vstack([0.2 * ring, 3.0 * ring])), np.repeat([1.0, -1.0], 12)
    solution = solve(MarginProblem(X, y, C=10.0), "euclidean")
    assert solution.status is Status.TIMELIKE
    assert solution.objective == np.inf
    allowed = solve(MarginProblem(X, y, C=10.0, allow_timelike=True), "euclidean", fit_intercept=True)
    assert allowed.status is Status.CONVERGED
    assert np.all(MarginProblem(X, y).margins(allowed.w, allowed.intercept) > 0)


def test_one_class_alone_is_put_on_its_side():
    X, _ = clouds(5)
    solution = solve(MarginProblem(X, np.ones(len(X))), "euclidean", allow_timelike=True)
    assert np.all(MarginProblem(X, np.ones(len(X))).margins(solution.w) > 0)


def test_an_unknown_centre_is_refused():
    with pytest.raises(ValueError, match="center must be one of 'given', 'mean', got 'median'"):
        Euclidean(center="median")
