"""The claims of the report, from records made by hand beside the paper's printed numbers."""

import pytest

from hypermargin_studies.reproduction.cells import Cell
from hypermargin_studies.reproduction.methods import METHODS
from hypermargin_studies.reproduction.paper import apart, paper_cell
from hypermargin_studies.reproduction.report import (
    agreement_table,
    comparisons,
    contest_table,
    contests,
    other_findings,
)
from hypermargin_studies.reproduction.summary import Stat, Summary


@pytest.fixture
def finished(one_fold):
    """A function that makes the five folds of a method on the paper's first Gaussian, all of one accuracy."""

    def make(method, accuracy, n_folds=5, statuses=None):
        folds = [one_fold(k, accuracy, [1.0], [1.0], statuses=statuses or {"OPTIMAL": 1}) for k in range(n_folds)]
        return Cell.of("gaussian_1", "ovr", 10.0, METHODS[method], tuple(range(n_folds))), {
            "state": "finished",
            "folds": folds,
        }

    return make


def test_the_exact_method_is_held_against_the_papers_best_within_a_deviation(finished):
    # The paper's best on its first Gaussian is 85.50 +- 8.28; ours has no deviation here.
    for accuracy, is_reached in ((0.9, True), (0.7723, True), (0.7721, False)):
        summary = Summary([finished("exact", accuracy)])
        (contest,) = contests(summary)
        assert contest.is_reached is is_reached
        assert contest_table(summary).rows[0][-1].text == ("yes" if is_reached else "no")
    assert "on 0 of 1 data sets; not on gaussian_1 (77.2 % against 85.5 %)" in other_findings(summary)[0]


def test_a_mean_of_fewer_folds_is_not_compared(finished):
    summary = Summary([finished("exact", 0.5, n_folds=4), finished("pgd-published", 0.5, n_folds=4)])
    assert contests(summary) == []
    assert list(comparisons(summary, "pgd-published", aggregated=False)) == []


def test_a_timelike_optimum_does_not_stand_in_for_the_exact_method(finished):
    (contest,) = contests(Summary([finished("exact", 0.5), finished("exact-timelike", 0.9)]))
    assert not contest.is_reached


def test_columns_are_counted_within_one_and_two_deviations(finished):
    # PGD: 84.50 +- 7.31 in the paper, and one is to be within two of it; SDP: 85.50 +- 8.28, within one.
    summary = Summary([finished("pgd-published", 0.845 - 0.10), finished("sdp-published", 0.855 - 0.10)])
    rows = {row[0].text: [entry.text for entry in row[1:]] for row in agreement_table(summary).rows}
    assert rows["PGD, published"] == ["within 2", "0 of 1", "1 of 1", "–", "–", "none"]
    assert rows["SDP, published"][:3] == ["within 1", "0 of 1", "1 of 1"]
    assert rows["SDP, published"][-1] == "gaussian_1, two classes, C = 10: 75.5 against 85.50 ± 8.28"
    text = " ".join(other_findings(summary))
    assert "PGD, published 1 of 1 within 2 standard deviations" in text
    assert "SDP, published 0 of 1 within a standard deviation" in text


def test_what_is_not_proved_is_counted_in_the_first_findings(finished):
    summary = Summary([finished("exact", 0.9, statuses={"GAP_REMAINS": 1})])
    assert any("0 of 5 (Exact)" in text for text in other_findings(summary))


def test_distances_are_in_deviations_beyond_the_papers_rounding():
    cell = paper_cell("tree_1", "ovr", 10.0, "sdp", "test_accuracy")  # 100.00 +- 0.00
    assert apart(Stat(1.0, 0.0, 5), cell) == 0.0
    assert apart(Stat(0.99, 0.0, 5), cell) == float("inf")
    assert apart(Stat(0.99, 0.005, 5), cell) == pytest.approx((0.01 - cell.rounding) / 0.005)
