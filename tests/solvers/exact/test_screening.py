"""Samples that are settled in a box: passes in it are those over all samples, and answers do not change."""

import numpy as np
import pytest

from hypermargin.datasets import make_gaussian_mixture
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers import Status, solve
from hypermargin.solvers.exact import oracle, screening
from hypermargin.solvers.exact.runs import make_search
from hypermargin.solvers.exact.screening import Box, everything_open, screen


def some_problem(n=3000, dim=2, weighted=False, **options):
    X, y = make_gaussian_mixture(n // 2, 2, dim=dim, scale=0.7, random_state=1, return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.2, 2.0, n) if weighted else None
    return MarginProblem(X, 2.0 * y - 1.0, sample_weight=weight, **options)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dim", [2, 5])
def test_settled_samples_are_affine_in_the_box(dim, weighted):
    problem = some_problem(dim=dim, weighted=weighted)
    Z, costs = problem.covectors_around(problem.centre), problem.costs
    rng = np.random.default_rng(dim)
    outer = Box(rng.normal(size=dim + 1), np.full(dim + 1, 0.2))
    inner = Box(outer.centre + 0.05, np.full(dim + 1, 0.1))
    assert inner.is_within(outer)
    assert not outer.is_within(inner)
    first = screen(everything_open(np.ascontiguousarray(Z.T), costs), outer)
    second = screen(first, inner)
    assert 0.0 < second.share < first.share < 1.0
    for known, box in ((first, outer), (second, inner)):
        for _ in range(20):
            w = box.centre + box.radii * rng.uniform(-1.0, 1.0, dim + 1)
            full = costs @ np.maximum(0.0, 1.0 - Z @ w)
            left = known.costs @ np.maximum(0.0, 1.0 - w @ known.points[:, : known.costs.size])
            assert left + known.b + known.g @ w == pytest.approx(full, rel=1e-12)


def test_a_pass_in_the_box_is_a_pass_over_all_samples():
    problem = some_problem(weighted=True)
    kept = make_search(problem)
    data = kept.oracle
    rng = np.random.default_rng(0)
    box = Box(np.array([0.1, 1.0, -0.4]), np.array([0.1, 0.2, 0.1]))
    columns, costs, _, _ = data.arrays
    kept.evaluator.use_screened(screen(everything_open(columns[:, : costs.size], costs), box), box)
    for spread in (1.0, 3.0):  # in the box, and around it
        for _ in range(10):
            w = box.centre + spread * box.radii * rng.uniform(-1.0, 1.0, 3)
            kept.evaluator.evaluate(w)
            b, g, _, risk = kept.pool.cut(kept.pool.size - 1)
            for found, expected in zip((risk, b, g), data(w), strict=True):
                assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert kept.evaluator.work < 19.0


@pytest.mark.parametrize("timelike", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_screening_changes_the_time_not_the_answer(monkeypatch, C, timelike):
    problem = some_problem(4000, weighted=True, C=C, allow_timelike=timelike)
    plain = solve(problem)
    assert plain.info["full_passes"] == plain.info["passes"]
    monkeypatch.setattr(screening, "LEAST_SAMPLES", 1000)
    monkeypatch.setattr(oracle, "LEAST_PART", 200)
    screened = solve(problem)
    assert screened.status is plain.status is Status.OPTIMAL
    assert screened.objective == pytest.approx(plain.objective, rel=1e-6)
    assert screened.info["full_passes"] < plain.info["full_passes"]


def test_degenerate_problems_and_one_class_are_screened_too(monkeypatch):
    monkeypatch.setattr(screening, "LEAST_SAMPLES", 100)
    monkeypatch.setattr(oracle, "LEAST_PART", 50)
    X, y = make_gaussian_mixture([150, 1200], 2, centers=[[0.0, 0.0], [0.1, 0.0]], random_state=0, return_X_y=True)
    screened = solve(MarginProblem(X, 2.0 * y - 1.0))
    monkeypatch.setattr(screening, "LEAST_SAMPLES", 10**9)
    plain = solve(MarginProblem(X, 2.0 * y - 1.0))
    assert plain.info["splits"] > 0
    assert screened.status is plain.status is Status.OPTIMAL
    assert screened.objective == pytest.approx(plain.objective, rel=1e-6)
    monkeypatch.setattr(screening, "LEAST_SAMPLES", 100)
    assert solve(MarginProblem(X, np.ones(len(y)))).objective == 0.0


def test_a_part_keeps_the_total_of_each_class():
    problem = some_problem(6000, weighted=True)
    data = make_search(problem).oracle
    all_columns, costs = data.framed
    columns, scaled = data.part(0.1).framed
    assert columns.shape[1] < 6000
    for side in (1.0, -1.0):
        whole, part = costs[np.sign(all_columns[0]) == side].sum(), scaled[np.sign(columns[0]) == side].sum()
        assert part == pytest.approx(whole, rel=1e-12)
