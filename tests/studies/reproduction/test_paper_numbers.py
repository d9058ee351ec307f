"""The transcription of the paper's tables, against cells typed in from its text."""

from collections import Counter

import pytest

from hypermargin_studies.reproduction.methods import METHODS
from hypermargin_studies.reproduction.paper import (
    BEST,
    best_hyperbolic,
    differs,
    explain,
    explanations,
    paper_cell,
    paper_cells,
)
from hypermargin_studies.reproduction.summary import Stat

#: Data set, scheme, C, method, metric, mean and deviation as printed (accuracies in per cent).
TYPED = [
    ("gaussian_1", "ovr", 10.0, "pgd", "test_accuracy", 84.50, 7.31),
    ("gaussian_3", "ovr", 10.0, "pgd", "test_accuracy", 75.8, 3.31),
    ("tree_2", "ovr", 10.0, "moment", "test_accuracy", 99.91, 0.05),
    ("tree_1", "ovr", 10.0, "sdp", "eta", 0.9984, None),
    ("paul", "ovr", BEST, "pgd", "test_accuracy", 54.85, 1.26),
    ("karate", "ovr", BEST, "sdp", "test_f1", 0.66, 0.06),
    ("fashion-mnist", "ovo", BEST, "pgd", "test_accuracy", 94.42, 1.10),
    ("moignard", "ovr", 0.1, "sdp", "eta", 0.0435, None),
    ("football", "ovr", 10.0, "sdp", "test_accuracy", 34.78, 6.15),
    ("olsson", "ovr", 1.0, "pgd", "test_f1", 0.48, 0.00),
    ("myeloidprogenitors", "ovo", 10.0, "moment", "test_f1", 0.81, 0.02),
    ("cifar", "ovo", 0.1, "moment", "test_accuracy", 98.43, 0.18),
    ("polbooks", "ovo", 1.0, "sdp", "eta", 0.7263, None),
    ("tree_3", "ovr", None, "moment", "seconds", 59.68, None),
    ("fashion-mnist", "ovo", None, "moment", "seconds", 13128.220, None),
    ("karate", "ovr", None, "pgd", "seconds", 2.437, None),
]


@pytest.mark.parametrize(("dataset", "scheme", "C", "method", "metric", "mean", "std"), TYPED)
def test_cells_are_those_printed_in_the_paper(dataset, scheme, C, method, metric, mean, std):
    cell = paper_cell(dataset, scheme, C, method, metric)
    scale = 100.0 if metric == "test_accuracy" else 1.0
    assert scale * cell.mean == pytest.approx(mean, abs=1e-9)
    assert cell.std is None if std is None else scale * cell.std == pytest.approx(std, abs=1e-9)


def test_every_table_has_all_its_cells():
    # Rows times columns: 8 numbers per data set, and 3 runtimes per data set and scheme (two rows of dashes).
    counts = Counter(cell.table for cell in paper_cells())
    expected = {"tab:synthetic_performance": 6 * 8, "tab:runtime_syn": 6 * 3, "tab:runtime_real": 10 * 6 - 2 * 3}
    expected |= {f"tab:real_{name}": 8 * 8 for name in ("ovr", "c0.1", "c1.0", "c10.0")}
    expected |= {f"tab:real_{name}": 10 * 8 for name in ("ovo", "c0.1_ovo", "c1.0_ovo", "c10.0_ovo")}
    assert counts == expected


def test_aggregated_accuracies_are_among_those_by_C():
    # The aggregated table of the paper differs from its parts in one accuracy, by a unit of the last digit.
    for cell in paper_cells():
        if cell.C == BEST and cell.metric == "test_accuracy":
            parts = [paper_cell(cell.dataset, cell.scheme, C, cell.method, cell.metric).mean for C in (0.1, 1.0, 10.0)]
            assert min(abs(cell.mean - part) for part in parts) <= 1.01e-4, cell


def test_best_hyperbolic_accuracy_is_over_methods_and_schemes():
    assert best_hyperbolic("olsson").mean == pytest.approx(0.9436)
    assert best_hyperbolic("moignard").mean == pytest.approx(0.6378)


def test_a_difference_counts_beyond_the_larger_deviation_and_the_papers_rounding():
    cell = paper_cell("gaussian_1", "ovr", 10.0, "pgd", "test_accuracy")  # 0.8450 +- 0.0731, printed to 0.0001
    assert not differs(Stat(0.845 + 0.0731, 0.01, 5), cell)
    assert differs(Stat(0.845 + 0.0733, 0.01, 5), cell)
    assert not differs(Stat(0.845 + 0.0733, 0.08, 5), cell)


def test_every_number_of_the_paper_has_an_explanation_should_it_differ():
    compared = [method for method in METHODS.values() if method.paper_column]
    for cell in paper_cells():
        for method in compared:
            if method.paper_column == cell.method and cell.metric != "seconds":
                assert explain(cell, method.name).name != "?", (cell, method.name)
    assert "uint8" in explain(paper_cell("karate", "ovo", 1.0, "moment", "test_f1"), "moment").text
    names = [entry.name for entry in explanations()]
    assert len(set(names)) == len(names)
