"""Rough answers to many curve problems: against the certified optimum, scikit-learn's SVM, isometries, repetitions."""

import numpy as np
import pytest
from sklearn.svm import SVC

from hypermargin.datasets import make_gaussian_mixture
from hypermargin.geometry.isometries import boost, move_to_origin
from hypermargin.geometry.lorentz import lift
from hypermargin.geometry.mean import frechet_mean
from hypermargin.problems import MarginProblem
from hypermargin.problems.curve import CurveProblem
from hypermargin.solvers.curve import solve_curve
from hypermargin.solvers.kernel.compiled.curves import minimise_curves

CS = np.array([0.1, 1.0, 10.0, 100.0])


def planes_of(X, y, weight=None, starts=None, Cs=CS, tol=1e-3, recentre=True):
    starts = np.array([0, len(y)] if starts is None else starts, dtype=np.intp)
    planes = np.empty((len(Cs), len(starts) - 1, X.shape[1] + 1))
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    points, labels = np.ascontiguousarray(X, dtype=float), np.asarray(y, dtype=float)
    minimise_curves(points, labels, weight, starts, np.asarray(Cs) / np.sqrt(2.0), tol, recentre, planes)
    return planes


def samples(seed, n=60, dim=2, scale=0.8):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    space = scale * rng.normal(size=(n, dim)) + 0.7 * y[:, None] * np.eye(dim)[0]
    return lift(np.sinh(np.abs(space)) * np.sign(space)), y


def objective_of(problem, plane):
    return problem.objective(np.concatenate([plane[:1], -plane[1:-1]]), intercept=plane[-1])


@pytest.mark.parametrize(("seed", "dim", "scale"), [(0, 2, 0.8), (1, 2, 2.0), (2, 5, 0.6), (3, 1, 1.0), (4, 3, 0.05)])
def test_objectives_are_within_the_tolerance_of_certified_ones(seed, dim, scale):
    X, y = samples(seed, dim=dim, scale=scale)
    for q, C in enumerate(CS):
        problem = CurveProblem(MarginProblem(X, y, C=C))
        best = solve_curve(problem, 1e-7)
        found = objective_of(problem, planes_of(X, y)[q, 0])
        assert best.lower_bound * (1.0 - 1e-9) <= found <= best.objective * (1.0 + 2e-3)


def test_it_is_a_linear_svm_in_the_frame_of_the_mean():
    X, y = samples(5)
    centre = frechet_mean(X)
    features = move_to_origin(X, centre)
    for q, C in enumerate(CS):
        rival = SVC(kernel="linear", C=C / np.sqrt(2.0), tol=1e-6).fit(features, y)
        scores = X @ planes_of(X, y, tol=1e-6)[q, 0, :-1] + planes_of(X, y, tol=1e-6)[q, 0, -1]
        np.testing.assert_allclose(scores, rival.decision_function(features), atol=0.02)


def test_without_a_frame_it_is_a_linear_svm():
    _, y = samples(5, dim=3)
    features = 3.0 + np.random.default_rng(0).normal(size=(len(y), 4)) * [1.0, 5.0, 0.1, 1.0] + y[:, None]
    for q, C in enumerate(CS):
        rival = SVC(kernel="linear", C=C / np.sqrt(2.0), tol=1e-8).fit(features, y)
        plane = planes_of(features, y, tol=1e-7, recentre=False)[q, 0]
        scores = features @ plane[:-1] + plane[-1]
        np.testing.assert_allclose(scores, rival.decision_function(features), atol=0.01)


def test_problems_in_one_call_are_those_of_single_calls():
    sets = [samples(seed, n) for seed, n in ((0, 40), (1, 7), (2, 90))]
    starts = np.cumsum([0, *(len(y) for _, y in sets)])
    together = planes_of(np.vstack([X for X, _ in sets]), np.concatenate([y for _, y in sets]), starts=starts)
    for p, (X, y) in enumerate(sets):
        np.testing.assert_array_equal(together[:, p], planes_of(X, y)[:, 0])


def test_an_isometry_changes_no_score():
    X, y = samples(6)
    B = boost(lift(np.array([1.2, -2.0])))
    plane, moved = planes_of(X, y), planes_of(X @ B.T, y)
    for q in range(len(CS)):
        here, there = (Z @ p[q, 0, :-1] + p[q, 0, -1] for Z, p in ((X, plane), (X @ B.T, moved)))
        np.testing.assert_allclose(here, there, atol=2e-3 * np.abs(here).max())


def test_a_weight_of_two_is_the_sample_twice():
    X, y = samples(7)
    weight = 1.0 + (np.arange(len(y)) % 2)
    again = np.repeat(np.arange(len(y)), weight.astype(int))
    np.testing.assert_allclose(planes_of(X, y, weight), planes_of(X[again], y[again]), rtol=1e-6, atol=1e-9)


def test_equal_points_and_points_far_out():
    X, y = np.tile(lift(np.array([[0.3, 0.1]])), (10, 1)), np.where(np.arange(10) < 5, 1.0, -1.0)
    assert np.isfinite(planes_of(X, y)).all()
    X, y = make_gaussian_mixture(20, 2, scale=0.5, random_state=0, return_X_y=True)
    far = X @ boost(lift(np.array([np.sinh(9.0), 0.0])))
    planes = planes_of(far, 2.0 * y - 1.0)
    right = [np.mean((far @ p[0, :-1] + p[0, -1] > 0.0) == (y == 1)) for p in planes]
    expected = [np.mean((X @ p[0, :-1] + p[0, -1] > 0.0) == (y == 1)) for p in planes_of(X, 2.0 * y - 1.0)]
    np.testing.assert_allclose(right, expected, atol=0.03)
