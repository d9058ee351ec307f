"""Means, gaps and tables from records made by hand."""

import csv
import io
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib import pyplot as plt

from hypermargin_studies import datasets as data
from hypermargin_studies.engine.cells import NOT_RUN
from hypermargin_studies.engine.report import Entry, Table, to_csv, to_html, to_markdown
from hypermargin_studies.reproduction.cells import Cell
from hypermargin_studies.reproduction.figures import grid_gaps
from hypermargin_studies.reproduction.methods import METHODS
from hypermargin_studies.reproduction.paper import BEST, Explanation
from hypermargin_studies.reproduction.report import (
    certified_table,
    everything_table,
    experiment_tables,
    experiments,
    fewer_problems_table,
    holes_table,
    other_findings,
    plain_svm_paragraph,
    run_notice,
    runtime_table,
    suboptimality_summary,
)
from hypermargin_studies.reproduction.summary import Summary


def finished(method, folds, C=10.0, dataset="gaussian_1"):
    cell = Cell.of(dataset, "ovr", C, METHODS[method], tuple(record["fold"] for record in folds))
    return cell, {"state": "finished", "folds": folds}


@pytest.fixture
def results(one_fold):
    """Exact and PGD on all folds at C = 10; a hole for the moment relaxation."""
    moment = Cell.of("gaussian_1", "ovr", 10.0, METHODS["moment"], (0,))
    exact = [one_fold(0, 0.8, [10.0], [9.999]), one_fold(1, 0.9, [20.0], [20.0])]
    pgd = [one_fold(0, 0.7, [10.0005], [None]), one_fold(1, 0.5, [25.0], [None])]
    for k in (2, 3, 4):
        exact.append(one_fold(k, 0.85, [10.0], [10.0]))
        pgd.append(one_fold(k, 0.6, [10.0], [None]))
    return [
        finished("exact", exact),
        finished("pgd", pgd),
        (moment, {"state": "time limit", "reason": "took more than 5 s"}),
    ]


def test_means_and_deviations_over_folds(results):
    stat = Summary(results).stat("gaussian_1", "ovr", 10.0, "pgd", "test_accuracy")
    assert (stat.mean, stat.std, stat.n_folds) == (pytest.approx(0.6), pytest.approx(np.sqrt(0.02 / 5)), 5)


def test_gaps_are_to_the_certified_bound_of_the_same_problem(results):
    summary = Summary(results)
    expected = [(10.0005 - 9.999) / 10.0005, 5.0 / 25.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(list(summary.method_gaps("pgd").values()), expected, rtol=1e-9)
    assert summary.stat("gaussian_1", "ovr", 10.0, "pgd", "gap").mean == pytest.approx(np.mean(expected))
    (row,) = suboptimality_summary(summary).rows
    assert [entry.text for entry in row][:4] == ["PGD", "5", "4", "80.0 %"]


def test_a_timelike_answer_has_no_gap_and_is_counted(one_fold, results):
    timelike = [one_fold(k, 0.9, [None if k == 0 else 10.0], [None]) for k in range(5)]
    results.append(finished("euclidean", timelike))
    summary = Summary(results)
    assert summary.stat("gaussian_1", "ovr", 10.0, "euclidean", "gap") is None
    assert np.isinf(list(summary.method_gaps("euclidean").values())).tolist() == [True] + 4 * [False]
    rows = {row[0].text: row[-2].text for row in suboptimality_summary(summary).rows}
    assert rows == {"PGD": "0", "Euclidean": "1"}


def test_methods_are_compared_on_the_problems_that_all_of_them_finished(one_fold, results):
    """The fold that Euclidean lacks is the one on which PGD is bad: neither may gain or lose by it."""
    results.append(finished("euclidean", [one_fold(k, 0.9, [10.0], [None]) for k in (0, 2, 3, 4)]))
    results.append(finished("sdp", [one_fold(1, 0.9, [24.0], [None]), one_fold(2, 0.9, [10.0], [None])]))
    # Three methods have 1 problem in common, two have 4: the larger table is that of two.
    summary = Summary(results)
    rows = {row[0].text: [entry.text for entry in row[1:4]] for row in suboptimality_summary(summary).rows}
    assert rows == {"PGD": ["4", "4", "100.0 %"], "Euclidean": ["4", "4", "100.0 %"]}
    # The SDP is set beside the others on the one problem that it shares with them.
    ((label, count, own, *others),) = fewer_problems_table(summary).rows
    assert [label.text, count.text, own.text, *(entry.text for entry in others)] == ["SDP", "1", *3 * ["100.0 %"]]
    assert "of the 4 binary problems that all of these methods finished: " in " ".join(other_findings(summary))


def test_a_quick_or_unfinished_run_says_so_first(results):
    whole = Summary([result for result in results if result[1]["state"] == "finished"])
    assert run_notice(whole, is_quick=False) == ""
    assert run_notice(whole, is_quick=True).startswith("A quick run")
    assert "1 of 3 cells have no result (1 time limit)" in run_notice(Summary(results), is_quick=False)
    waiting = [(cell, {**record, "state": NOT_RUN}) for cell, record in results[2:]]
    assert run_notice(Summary([*results[:2], *waiting]), is_quick=False).startswith("Unfinished: 1 of 3 cells")


def test_the_grid_of_gaps_counts_draws_with_timelike_answers(one_fold):
    """A box of the draws that happen to be spacelike says little without the number of the others."""
    results = []
    for seed, value in ((data.GRID_SEEDS[0], 12.5), (data.GRID_SEEDS[1], None)):
        draw = data.grid_name(2, 1.0, seed)
        results.append(finished("exact", [one_fold(0, 0.9, [10.0], [10.0])], dataset=draw))
        results.append(finished("moment-lp", [one_fold(0, 0.9, [value], [None])], dataset=draw))
    figure = grid_gaps(Summary(results))
    (panel,) = (ax for ax in figure.axes if ax.get_title() == "K = 2, s = 1, C = 10 (2 draws)")
    assert [text.get_text() for text in panel.texts] == ["1 of 2 timelike"]
    drawn = np.concatenate([line.get_ydata() for line in panel.lines])
    np.testing.assert_allclose(drawn, 2.5 / 12.5)  # the box of one value, without the infinite one
    plt.close(figure)


def test_the_best_C_is_that_of_the_highest_f1_and_of_equals_the_largest(one_fold):
    scores = {0.1: 0.9, 1.0: 0.8, 10.0: 0.9}
    summary = Summary(finished("pgd", [one_fold(0, score, [1.0], [None])], C) for C, score in scores.items())
    assert summary.best_C("gaussian_1", "ovr", "pgd") == 10.0
    assert summary.stat("gaussian_1", "ovr", BEST, "pgd", "test_accuracy").mean == pytest.approx(0.9)


def test_tables_show_the_papers_number_a_mark_and_a_hole(results):
    accuracy = next(
        t for t in experiment_tables(Summary(results), next(experiments())) if t.slug == "synthetic-accuracy"
    )
    row = dict(zip(accuracy.columns, accuracy.rows[0], strict=True))
    assert row["PGD"].paper == "84.50 ± 7.31"
    assert row["PGD"].text == "60.00 ± 6.32"
    assert row["PGD"].why is not None  # 24.5 points apart, deviations 7.31 and 6.32
    assert row["Exact"].paper == ""
    assert row["Exact"].is_best
    assert (row["Moment + ball"].text, row["Moment + ball"].is_hole) == ("time limit", True)
    assert "took more than 5 s" in to_markdown(holes_table(Summary(results)))


def test_what_is_not_proved_is_not_called_proved(one_fold, results):
    results.append(finished("exact", [one_fold(4, 0.9, [1.0], [0.5], statuses={"GAP_REMAINS": 1})]))
    (row,) = certified_table(Summary(results)).rows
    assert [entry.text for entry in row] == ["Exact", "5", "4", "5.0e-01", "1 GAP_REMAINS"]


def test_the_first_paragraph_names_the_winner(one_fold, results):
    folds = [one_fold(number, 0.99, [], []) for number in range(5)]
    text = plain_svm_paragraph(Summary([*results, finished("svm-lorentz", folds)]))
    assert "wins by more than a standard deviation on gaussian_1 (99.0 : 85.0)" in text
    text = plain_svm_paragraph(Summary([*results, finished("svm-lorentz", folds[:1])]))
    assert "wins by" not in text, "one fold is not to be compared with five"
    text = plain_svm_paragraph(Summary(results))
    assert "no results on all folds" in text


WHY = Explanation("x", 'because a < b & "c"')
TABLE = Table(
    "slug",
    "A <title>",
    ["data", "left|right"],
    [[Entry("a & b"), Entry("1.5", 1.5, "2.5", WHY)], [Entry("c"), Entry("2")]],
)


def test_csv_reads_back():
    rows = list(csv.reader(io.StringIO(to_csv(TABLE))))
    assert rows[0] == ["data", "left|right", "left|right: paper", "left|right: differs because"]
    assert rows[1] == ["a & b", "1.5", "2.5", WHY.text]
    assert rows[2] == ["c", "2", "", ""]


def test_markdown_has_one_line_a_row_and_the_footnote():
    text = to_markdown(TABLE)
    assert "| a & b | 1.5 (2.5) ▲x |" in text
    assert f"▲x: {WHY.text}" in text


def test_html_is_escaped_and_holds_the_values():
    class Reader(HTMLParser):
        cells, titles = [], []

        def handle_starttag(self, tag, attrs):
            if tag == "td":
                self.cells.append(dict(attrs))

    reader = Reader()
    reader.feed(to_html(TABLE))
    assert reader.cells[0]["data-value"] == "1.5"
    assert reader.cells[0]["title"] == WHY.text
    assert "A &lt;title&gt;" in to_html(TABLE)


@pytest.mark.parametrize(("on_device", "words"), [(5, "0.5 on a GPU"), (2, "0.5 on a GPU, in part"), (0, "0.5")])
def test_times_on_a_device_say_so(one_fold, results, on_device, words):
    devices = ["a GPU"] * on_device + [None] * (5 - on_device)
    folds = [one_fold(k, 0.9, [11.0], [None], device=device) for k, device in enumerate(devices)]
    results.append(finished("moment-published", folds))
    summary = Summary(results)
    (row,) = runtime_table(summary).rows
    texts = dict(zip(runtime_table(summary).columns, (entry.text for entry in row), strict=True))
    assert texts["Moment, published"] == words
    assert texts["PGD"] == "0.5"
    assert [row[-1].text for row in everything_table(summary).rows] == ["0.5", words, "0.5"]
