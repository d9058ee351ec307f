"""Local kernels on many points: rows without what is negligible, neighbourhoods, the same optimum as by a matrix."""

import numpy as np
import pytest

from hypermargin import Status
from hypermargin.datasets import make_taxonomy
from hypermargin.kernels import CoshKernel, HeatKernel, LaplacianKernel
from hypermargin.kernels.chords import polar_points
from hypermargin.kernels.compiled import nearby
from hypermargin.kernels.near import NearPoints
from hypermargin.problems import kernel as kernel_problems
from hypermargin.problems.kernel import KernelProblem
from hypermargin.solvers.kernel import dual
from hypermargin.solvers.kernel.dual import NEGLIGIBLE, DenseRows, NearRows, make_rows
from hypermargin.solvers.kernel.method import solve_kernel
from interpreted import load_source

X, LABELS = make_taxonomy(1500, positive_fraction=0.1, random_state=0, return_X_y=True)
Y = 2.0 * LABELS - 1.0


@pytest.mark.parametrize("kernel", [HeatKernel(0.05), CoshKernel(30.0), LaplacianKernel(8.0)], ids=str)
def test_rows_hold_all_that_counts(kernel):
    problem = KernelProblem(X, Y, kernel)
    rows = make_rows(problem)
    assert isinstance(rows, NearRows)
    K = kernel(X)
    some = np.array([3, 1499, 700, 0])
    near = K[np.ix_(some, some)]
    np.testing.assert_allclose(rows.among(some), np.where(near >= NEGLIGIBLE, near, 0.0), rtol=1e-12, atol=NEGLIGIBLE)
    gradient, change = np.zeros(1500), np.array([2.0, -1.0])
    rows.add_products(gradient, some, np.array([1, 3]), change)
    np.testing.assert_allclose(gradient, change @ K[[1499, 0]], atol=3.0 * NEGLIGIBLE)
    assert set(rows.neighbours(700, 0.1).tolist()) == set(np.flatnonzero(K[700] >= 0.1).tolist())


def test_in_other_dimensions_and_in_the_interpreter():
    rng = np.random.default_rng(0)
    points = np.column_stack([np.zeros(300), 3.0 * rng.normal(size=(300, 5))])
    points[:, 0] = np.sqrt(1.0 + (points[:, 1:] ** 2).sum(axis=1))
    kernel = HeatKernel(0.05)
    problem = KernelProblem(points, np.sign(points[:, 1]), kernel)
    rows = NearRows(problem)
    np.testing.assert_allclose(rows.among(np.arange(300)), kernel(points), atol=NEGLIGIBLE, rtol=1e-12)
    (plain,) = load_source(nearby)
    found = []
    for module in (nearby, plain):
        places, chords = np.zeros(300, dtype=np.int32), np.zeros(300)
        column = np.ascontiguousarray(rows.near.table[:, 7])
        count = module.near_points(rows.near.table, column, rows.near.limit, places, chords)
        found.append((places[:count], chords[:count]))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_what_is_not_local_has_whole_rows():
    for kernel in (HeatKernel(5.0), LaplacianKernel(0.5)):
        assert isinstance(make_rows(KernelProblem(X, Y, kernel)), DenseRows)


def test_little_room_changes_nothing():
    kernel = HeatKernel(0.05)
    rows = NearRows(KernelProblem(X, Y, kernel, cache_bytes=12 * 2000))
    for some in np.array_split(np.random.default_rng(0).permutation(1500), 15):
        np.testing.assert_allclose(rows.among(some), kernel(X[some]), atol=NEGLIGIBLE, rtol=1e-12)
        assert rows.recent.size == sum(places.size for places, _ in rows.recent.held.values()) <= 2000


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize(("kernel", "C"), [(HeatKernel(0.05), 10.0), (LaplacianKernel(8.0), 1.0)], ids=str)
def test_the_optimum_is_that_of_the_matrix(kernel, C, balanced, monkeypatch):
    monkeypatch.setattr(dual, "WORKING_SET", 100)
    monkeypatch.setattr(dual, "NEIGHBOURHOODS", 150)
    weight = np.where(Y > 0.0, 9.0, 1.0) if balanced else None
    expected = solve_kernel(KernelProblem(X, Y, kernel, C, weight, gram=kernel(X)))
    solution = solve_kernel(KernelProblem(X, Y, kernel, C, weight))
    assert solution.status is expected.status is Status.OPTIMAL
    assert solution.objective >= expected.lower_bound
    assert solution.lower_bound <= expected.objective


@pytest.mark.parametrize("kernel", [HeatKernel(0.02), CoshKernel(40.0), LaplacianKernel(20.0)], ids=str)
def test_sums_without_what_is_tiny(kernel):
    """What is left out is bounded by what is said of it."""
    points, others = polar_points(X), polar_points(X[::3])
    weights = np.random.default_rng(0).normal(size=(500, 2))
    near = NearPoints(kernel, points)
    K = kernel.between(points, others)
    assert 0.0 < near.omitted < 1e-13
    np.testing.assert_allclose(near.products(others, weights), K @ weights, rtol=0.0, atol=1e-12)
    rough = NearPoints(kernel, points, 1e-3)
    found = rough.products(others, np.abs(weights))
    missing = K @ np.abs(weights) - found
    assert np.all(missing >= -1e-12)
    assert np.all(missing <= rough.omitted * np.abs(weights).sum(axis=0) + 1e-12)


def test_a_local_certificate_is_no_bolder_than_a_whole_one(monkeypatch):
    kernel = HeatKernel(0.05)
    problem = KernelProblem(X, Y, kernel, 3.0)
    solution = solve_kernel(problem)
    lower, upper = solution.certificate.enclosure(problem)
    monkeypatch.setattr(kernel_problems, "MANY", 1000)
    local = KernelProblem(X, Y, kernel, 3.0)
    assert problem.near is None
    assert local.near is not None
    local_lower, local_upper = solution.certificate.enclosure(local)
    assert local_lower == pytest.approx(lower, rel=1e-9)
    assert local_upper == pytest.approx(upper, rel=1e-9)
    beta = solution.w
    exact = np.abs(beta).sum() - 0.5 * beta @ kernel(X) @ beta
    assert local_lower <= exact * (1.0 + 1e-13)
    np.testing.assert_allclose(local.products(beta), kernel(X) @ beta, atol=1e-11)
