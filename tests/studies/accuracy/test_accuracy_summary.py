"""Ranks, tests and the report of the accuracy measurement, against values worked out by hand or by others."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, wilcoxon

from hypermargin.estimators.auto.verdict import moved_at_random
from hypermargin.geometry import distance, pairwise_distance
from hypermargin_studies.accuracy.cells import Cell, measures, plan, scoring_of, splits, taxonomy_name
from hypermargin_studies.accuracy.report import (
    Scores,
    against_best_peer,
    changes,
    findings,
    holm,
    joined,
    make_report,
    scores,
    write_results_page,
)


def record(**values):
    return {"state": "finished", "measures": {name: {"accuracy": value} for name, value in values.items()}}


def made_up(n_sets=8, gap=0.05):
    """Results in which ours beats the linear SVM by `gap` everywhere, and the forest is now before, now behind."""
    rng = np.random.default_rng(0)
    results = {}
    for k in range(n_sets):
        for fold in range(2):
            base = 0.6 + 0.03 * k + 0.01 * fold
            ours = Cell(f"set{k}", "ours", False, 0, fold)
            results[ours] = record(auto=base, forest=base + rng.choice([-0.02, 0.03]))
            results[Cell(f"set{k}", "linear SVM", False, 0, fold)] = record(**{"linear SVM": base - gap})
    return results


def test_means_are_over_folds_that_all_have_finished():
    results = made_up(2)
    del results[Cell("set1", "linear SVM", False, 0, 1)]
    table = scores(results, "accuracy")
    assert table.datasets == ["set0", "set1"]
    i, j = table.datasets.index("set1"), table.contestants.index("auto")
    assert table.values[i, j] == pytest.approx(0.63)  # fold 0 only
    assert table.values[0, j] == pytest.approx(0.605)
    assert np.isnan(scores(results, "log loss").complete.values).sum() == 0


def test_ranks_share_ties_and_turn_where_less_is_better():
    values = np.array([[0.9, 0.9, 0.5], [0.3, 0.2, 0.1]])
    by_accuracy = Scores("accuracy", ["a", "b"], ["x", "y", "z"], values)
    np.testing.assert_array_equal(by_accuracy.ranks, [[1.5, 1.5, 3.0], [1.0, 2.0, 3.0]])
    assert list(by_accuracy.mean_ranks()) == ["x", "y", "z"]
    by_loss = Scores("log loss", ["a", "b"], ["x", "y", "z"], values)
    assert list(by_loss.mean_ranks()) == ["z", "y", "x"]
    # Friedman's statistic is a function of the mean ranks: scipy's agrees with that of ours where there are no ties.
    rng = np.random.default_rng(1)
    draws = rng.uniform(size=(9, 4))
    table = Scores("accuracy", list("abcdefghi"), list("wxyz"), draws)
    means = np.array([table.mean_ranks()[name] for name in "wxyz"])
    statistic = 12 * 9 / (4 * 5) * np.sum((means - 2.5) ** 2)
    assert statistic == pytest.approx(friedmanchisquare(*draws.T).statistic)


def test_the_critical_difference_is_that_of_the_tables():
    """Demšar (2006), table 5: q = 2.343 for 3 and 3.164 for 10 classifiers at level 0.05."""
    for k, q in ((3, 2.343), (10, 3.164)):
        table = Scores("accuracy", [str(i) for i in range(14)], [str(j) for j in range(k)], np.zeros((14, k)))
        assert table.critical_difference() == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 14)), rel=1e-3)


def test_holm_by_hand():
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1: 0.04, 0.06, 0.06 (0.06), 0.06 (0.04 is raised).
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_wilcoxon_is_scipys():
    table = scores(made_up(), "accuracy")
    p = table.tests_of("auto")
    own = table.values[:, table.contestants.index("auto")]
    raw = [
        wilcoxon(np.round(own - table.values[:, table.contestants.index(name)], 12), method="approx").pvalue
        for name in ("forest", "linear SVM")
    ]
    assert [p["forest"], p["linear SVM"]] == pytest.approx(holm(raw))
    assert p["linear SVM"] < 0.05


def test_bars_join_what_is_within_the_difference():
    assert joined([1.0, 1.5, 2.2, 3.0], 0.8) == [(0, 1), (1, 2), (2, 3)]
    assert joined([1.0, 1.1, 1.2], 1.0) == [(0, 2)]
    assert joined([1.0, 3.0], 1.0) == []


def test_what_speaks_against_us_comes_first():
    results = made_up(4)
    results[Cell("set2", "linear SVM", False, 0, 0)] = record(**{"linear SVM": 0.99})
    results[Cell("set2", "linear SVM", False, 0, 1)] = record(**{"linear SVM": 0.99})
    assert against_best_peer(scores(results, "accuracy"))[0][0] == "set2"
    first = findings(results)[0]
    assert "behind the best peer on 1 of 4 data sets: set2" in first
    assert "On none of 4" in findings(made_up(4))[0]


def test_ranks_among_peers_leave_our_families_out():
    """The forest of `made_up` is ahead of `auto` on some sets, the peer nowhere: without the forest auto is first."""
    said = findings(made_up(8))
    assert "of `auto` and 1 peers: `auto` is the best. auto 1.00, linear SVM 2.00" in said[2]
    assert "of 3 contestants" in said[1]
    assert "auto 1.00" not in said[1]
    table = Scores("accuracy", ["a"], ["x", "y", "z"], np.array([[0.1, 0.3, 0.2]]))
    np.testing.assert_array_equal(table.among(["z", "x"]).values, [[0.2, 0.1]])


def test_changes_are_between_the_same_folds():
    results = made_up(1)
    results[Cell("set0", "linear SVM", True, 0, 0)] = record(**{"linear SVM": 0.5})
    results[Cell("set0", "linear SVM", True, 0, 1)] = record(**{"linear SVM": 0.56})
    mean, most, count = changes(results)["linear SVM"]
    assert (mean, most, count) == (pytest.approx(0.025), pytest.approx(0.05), 2)
    assert "auto" not in changes(results)


def test_an_isometry_of_radius_two_keeps_distances():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 3))
    X = np.column_stack([np.sqrt(1 + np.sum(x * x, axis=1)), x])
    Y = moved_at_random(X, 5)
    np.testing.assert_allclose(pairwise_distance(Y), pairwise_distance(X), atol=1e-9)
    origin = np.array([[1.0, 0.0, 0.0, 0.0]])
    assert distance(moved_at_random(origin, 5)[0], origin[0]) == pytest.approx(2.0)
    assert not np.allclose(Y, X)


class _Ranker:
    classes_ = np.array([0, 2])

    def predict(self, X):
        return np.where(X[:, 0] > 0, 2, 0)

    def decision_function(self, X):
        return X[:, 0]


def test_measures_of_a_classifier_without_probabilities_that_misses_a_class():
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 1, 2, 2])
    found = measures(_Ranker(), X, y, np.array([0, 1, 2]))
    assert found["accuracy"] == 0.75
    assert found["log loss"] is None
    # Class 0 is ranked first by -x, class 2 by x; class 1 has no score: all four tie, and one of them is right.
    assert found["average precision"] == pytest.approx((1.0 + 0.25 + 1.0) / 3)


def test_a_plan_compares_all_on_one_fold_before_the_next():
    cells = plan(
        ["taxonomy_30_0.2_seed1", "taxonomy_20_0.2_seed1"], ["ours", "linear SVM"], with_moved=True, repetitions=1
    )
    assert len(cells) == 2 * 2 * 5 * 2
    assert [c.dataset for c in cells[:4]] == ["taxonomy_20_0.2_seed1"] * 2 + ["taxonomy_30_0.2_seed1"] * 2
    assert not any(c.is_moved for c in cells[:20])
    assert len({c.key() for c in cells}) == len(cells)
    assert scoring_of(taxonomy_name(20, 0.2, 1)) == "average_precision"
    assert scoring_of("karate") == "accuracy"


def test_the_report_and_the_head_of_the_results(tmp_path):
    results, facts = made_up(), {"cells": "all", "commit": "none"}
    page = make_report(results, facts, tmp_path / "out" / "critical-difference.png").write(tmp_path / "out", "accuracy")
    assert (tmp_path / "out" / "critical-difference.png").stat().st_size > 5000
    assert '<td class="best">0.' in page.read_text(encoding="utf-8")
    text = (tmp_path / "out" / "accuracy.md").read_text(encoding="utf-8")
    for row in text.splitlines():
        if row.startswith("| set0 | 0."):
            assert row.split("|")[2].strip(" *") == "0.605"
            break
    else:
        pytest.fail("no row of the first data set")
    results_md = tmp_path / "results.md"
    results_md.write_text("# Results\n\nThe paper.\n", encoding="utf-8")
    report = make_report(results, facts, tmp_path / "images" / "critical-difference.png")
    write_results_page(report, results_md)
    once = results_md.read_text(encoding="utf-8")
    write_results_page(report, results_md)
    assert results_md.read_text(encoding="utf-8") == once
    assert once.index("most accurate") < once.index("The paper.")
    assert once.count("The paper.") == 1


def test_small_data_is_split_more_often_and_large_data_once():
    """Every set is tested on at least as many samples as it has, up to 500 for those that are split again."""
    assert len(splits(34)) == 25  # no more than five repetitions, though 34 samples are few
    assert len(splits(105)) == 20  # 420 samples tested
    assert splits(319) == splits(20_000) == [(0, fold) for fold in range(5)]
    assert splits(60_000) == [(0, 0)]
    assert splits(60_000, repetitions=2, folds=2) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    cells = plan(["taxonomy_100_0.2_seed1", "taxonomy_400_0.2_seed1"], ["linear SVM"], with_moved=True)
    counts = Counter((cell.dataset, cell.is_moved) for cell in cells)
    assert sorted(counts.values()) == [5, 5, 5, 25]
