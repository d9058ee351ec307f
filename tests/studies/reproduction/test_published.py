"""The paper's methods as published give the paper's own numbers, to every digit it prints."""

import numpy as np
import pytest
from scipy.optimize import linprog

from hypermargin.problems import MarginProblem
from hypermargin.solvers.paper.extraction import paper_eta
from hypermargin_studies import datasets as data
from hypermargin_studies.reproduction.cells import Cell, run_cell
from hypermargin_studies.reproduction.methods import METHODS, solve_as_stated
from hypermargin_studies.reproduction.paper import paper_cell


def measured(dataset, scheme, C, method, metric):
    records = run_cell(Cell.of(dataset, scheme, C, METHODS[method], (0, 1, 2, 3, 4)))
    values = [record[metric] for record in records]
    return np.mean(values), np.std(values)


def assert_as_printed(dataset, scheme, C, method, metric="test_accuracy"):
    mean, std = measured(dataset, scheme, C, method, metric)
    cell = paper_cell(dataset, scheme, C, METHODS[method].paper_column, metric)
    assert abs(mean - cell.mean) <= cell.rounding * 1.01
    assert cell.std is None or abs(std - cell.std) <= cell.rounding * 1.01


def test_sdp_on_the_papers_first_gaussian():
    assert_as_printed("gaussian_1", "ovr", 10.0, "sdp-published")


@pytest.mark.usefixtures("paper_data")
@pytest.mark.parametrize(("dataset", "C"), [("polbooks", 10.0), ("krumsiek", 1.0)])
def test_sdp_in_one_vs_one(dataset, C):
    assert_as_printed(dataset, "ovo", C, "sdp-published")


@pytest.mark.usefixtures("paper_data")
@pytest.mark.parametrize(("dataset", "scheme"), [("gaussian_1", "ovr"), ("polbooks", "ovo")])
def test_eta_of_the_relaxations_own_w(dataset, scheme):
    # Random candidates, which the public code does not seed, hardly ever beat it on these data.
    mean, _ = measured(dataset, scheme, 10.0, "moment-lp", "eta")
    cell = paper_cell(dataset, scheme, 10.0, "sdp", "eta")
    assert abs(mean - cell.mean) <= cell.rounding * 1.01


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_stated_relaxation_has_the_value_of_the_linear_program(C):
    X, y = data.load("gaussian_2")
    problem = MarginProblem(X, np.where(y == 1, 1.0, -1.0), C=C)
    n = len(y)
    program = linprog(
        np.r_[np.zeros(3), problem.costs],
        A_ub=np.c_[-problem.signed_covectors, -np.sqrt(2.0) * np.eye(n)],
        b_ub=-np.ones(n),
        bounds=[(None, None)] * 3 + [(0.0, None)] * n,
    )
    relaxed = solve_as_stated(problem)
    assert relaxed.value == pytest.approx(program.fun, rel=1e-6)
    # Z = [[1, w'], [w, W]] is positive semidefinite, and Tr(GW) vanishes where the value is that of the risk alone.
    assert np.linalg.eigvalsh(relaxed.W - np.outer(relaxed.w, relaxed.w))[0] > -1e-5
    assert np.trace(relaxed.W[1:, 1:]) - relaxed.W[0, 0] == pytest.approx(0.0, abs=1e-4 * relaxed.value)


@pytest.mark.usefixtures("paper_data")
@pytest.mark.parametrize("name", ["tree_1", "tree_2"])
def test_trees_are_separable_so_that_eta_has_no_value_of_its_own(name):
    """All multiples ``(s^2 W, s w)``, s >= 1, of an optimal pair are optimal, and eta runs from that of w up to 1."""
    for number in range(5):
        X, y, _, _ = data.fold(name, number)
        problem = MarginProblem(X, np.where(y == 1, 1.0, -1.0), C=10.0)
        rows = problem.signed_covectors
        separating = linprog(np.zeros(3), A_ub=-rows, b_ub=-np.ones(len(rows)), bounds=[(None, None)] * 3)
        assert separating.status == 0
        relaxed = solve_as_stated(problem)
        assert relaxed.value < 1e-3, "the risk of a separating w is nil"
        etas = [paper_eta(problem.objective(s * separating.x, "asinh"), 0.0) for s in (1.0, 10.0, 100.0)]
        assert etas[0] < etas[1] < etas[2]
        assert etas[2] > 0.998


@pytest.mark.usefixtures("paper_data")
def test_eta_of_the_third_tree_is_the_papers_but_for_its_separable_fold():
    records = run_cell(Cell.of("tree_3", "ovr", 10.0, METHODS["sdp-published"], (0, 1, 2, 3, 4)))
    *others, separable = (record["eta"] for record in records)
    printed = {name: paper_cell(name, "ovr", 10.0, "sdp", "eta") for name in ("tree_1", "tree_3")}
    assert separable < printed["tree_1"].mean, "a solver that goes on comes nearer to 1"
    mean = np.mean([*others, printed["tree_1"].mean])
    assert abs(mean - printed["tree_3"].mean) <= printed["tree_3"].rounding * 1.01


@pytest.mark.usefixtures("paper_data")
def test_pgd_on_polbooks():
    assert_as_printed("polbooks", "ovo", 1.0, "pgd-published")


@pytest.mark.slow
@pytest.mark.usefixtures("paper_data")
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_pgd_on_olsson(C):
    assert_as_printed("olsson", "ovr", C, "pgd-published")


def test_exact_has_no_larger_hinge_objective_than_any_other_method():
    names = ("exact", "pgd", "sdp", "sdp-published", "pgd-published", "euclidean")
    folds = {name: run_cell(Cell.of("gaussian_2", "ovr", 10.0, METHODS[name], (0,)))[0] for name in names}
    for values in zip(*(folds[name]["objective_hinge"] for name in names), strict=True):
        others = [value for value in values[1:] if value is not None]
        assert values[0] <= min(others) * (1.0 + 1e-6)
