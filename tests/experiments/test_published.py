"""The paper's methods as published give the paper's own numbers, to every digit it prints."""

import numpy as np
import pytest

from hypermargin.experiments.cells import Cell, run_cell
from hypermargin.experiments.methods import METHODS
from hypermargin.experiments.paper import paper_cell


def measured(dataset, scheme, C, method, metric):
    records = run_cell(Cell.of(dataset, scheme, C, METHODS[method], (0, 1, 2, 3, 4)))
    values = [record[metric] for record in records]
    return np.mean(values), np.std(values)


def assert_as_printed(dataset, scheme, C, method, metric="test_accuracy"):
    mean, std = measured(dataset, scheme, C, method, metric)
    cell = paper_cell(dataset, scheme, C, METHODS[method].paper_column, metric)
    assert abs(mean - cell.mean) <= cell.rounding * 1.01
    assert cell.std is None or abs(std - cell.std) <= cell.rounding * 1.01


@pytest.mark.parametrize("metric", ["test_accuracy", "eta"])
def test_sdp_on_the_papers_first_gaussian(metric):
    assert_as_printed("gaussian_1", "ovr", 10.0, "sdp-published", metric)


@pytest.mark.usefixtures("paper_data")
@pytest.mark.parametrize("metric", ["test_accuracy", "eta"])
def test_sdp_on_polbooks(metric):
    assert_as_printed("polbooks", "ovo", 10.0, "sdp-published", metric)


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
