"""The interior-point method for hinges against Clarabel, LinearSVC and its own duality."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from hypermargin.solvers.common.conic import minimise_hinges
from hypermargin.solvers.common.hinge_engine import HingeEngine


def overlapping(n, m, seed=0, shift=0.3):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    rows = rng.standard_normal((n, m))
    rows[:, 0] += shift * y
    return y[:, None] * rows, rng.uniform(0.2, 3.0, n)


def value(rows, offsets, costs, weights, v):
    return 0.5 * v @ (weights * v) + costs @ np.maximum(0.0, offsets - rows @ v)


@pytest.mark.parametrize(("n", "m"), [(30, 2), (200, 9), (60, 40), (500, 64)])
@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e4])
def test_agrees_with_clarabel(n, m, scale):
    rows, costs = overlapping(n, m, seed=n)
    costs, offsets = scale * costs, np.linspace(0.5, 1.5, n)
    engine = HingeEngine(np.ascontiguousarray(rows.T), offsets, costs, np.ones(m))
    assert engine.run(1e-9)
    judge = minimise_hinges(np.eye(m), np.zeros(m), rows, offsets, costs, tol=1e-11)
    best = value(rows, offsets, costs, np.ones(m), judge)
    assert value(rows, offsets, costs, np.ones(m), engine.v) == pytest.approx(best, rel=1e-8)
    assert np.allclose(engine.v, judge, rtol=0.0, atol=1e-4 * np.abs(judge).max())


def test_an_affine_term_is_part_of_the_objective():
    rows, costs = overlapping(150, 5)
    b, g = 3.0, np.random.default_rng(1).standard_normal(5)
    engine = HingeEngine(np.ascontiguousarray(rows.T), np.ones(150), costs, np.ones(5), (b, g))
    assert engine.run(1e-9)
    judge = minimise_hinges(np.eye(5), g, rows, np.ones(150), costs, tol=1e-11)
    best = b + g @ judge + value(rows, np.ones(150), costs, np.ones(5), judge)
    assert engine.objective() == pytest.approx(best, rel=1e-8)
    assert engine.bound() == pytest.approx(best, rel=1e-8)


def test_every_iterate_has_weights_that_bound_the_optimum():
    rows, costs = overlapping(300, 6)
    engine = HingeEngine(np.ascontiguousarray(rows.T), np.ones(300), costs, np.ones(6))
    judge = minimise_hinges(np.eye(6), np.zeros(6), rows, np.ones(300), costs, tol=1e-11)
    best = value(rows, np.ones(300), costs, np.ones(6), judge)
    for _ in range(12):
        assert np.all((engine.a > 0.0) & (engine.a < costs))
        by_hand = engine.a.sum() - 0.5 * np.sum((rows.T @ engine.a) ** 2)
        assert engine.bound() == pytest.approx(by_hand, rel=1e-9, abs=1e-9)
        assert by_hand <= best * (1.0 + 1e-9)
        assert engine.objective() == pytest.approx(value(rows, np.ones(300), costs, np.ones(6), engine.v), rel=1e-9)
        assert engine.step()


@pytest.mark.parametrize("twice", [False, True])
def test_a_coordinate_without_a_weight_is_an_intercept(twice):
    rows, costs = overlapping(120, 4, shift=1.0)
    signs = np.sign(rows[:, 0])
    rows = np.column_stack([rows, signs])
    if twice:  # every sample twice at half the cost is the same problem
        rows, costs = np.vstack([rows, rows]), np.tile(0.5 * costs, 2)
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    engine = HingeEngine(np.ascontiguousarray(rows.T), np.ones(len(rows)), costs, weights)
    assert engine.run(1e-9)
    judge = minimise_hinges(np.diag(weights), np.zeros(5), rows, np.ones(len(rows)), costs, tol=1e-11)
    best = value(rows, np.ones(len(rows)), costs, weights, judge)
    assert value(rows, np.ones(len(rows)), costs, weights, engine.v) == pytest.approx(best, rel=1e-8)


def test_linear_svc_finds_nothing_better():
    rows, _ = overlapping(800, 12, seed=5)
    y = np.where(np.arange(800) % 2 == 0, 1.0, -1.0)
    engine = HingeEngine(np.ascontiguousarray(rows.T), np.ones(800), np.full(800, 0.3), np.ones(12))
    assert engine.run(1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rival = LinearSVC(loss="hinge", C=0.3, fit_intercept=False, tol=1e-10, max_iter=20_000).fit(
            y[:, None] * rows, y
        )
    theirs = value(rows, np.ones(800), np.full(800, 0.3), np.ones(12), rival.coef_[0])
    assert engine.objective() <= theirs * (1.0 + 1e-8)
    assert theirs == pytest.approx(engine.objective(), rel=1e-4)


def test_an_optimum_of_zero_is_found():
    rows = np.ones((5, 1))  # the free coordinate alone lifts every margin to 1
    engine = HingeEngine(rows.T.copy(), np.ones(5), np.ones(5), np.zeros(1))
    assert engine.run(1e-8)
    assert engine.objective() <= 1e-12
    assert engine.v[0] >= 1.0 - 1e-12
