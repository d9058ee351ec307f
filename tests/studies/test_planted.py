"""Planted truths against other solvers and brute force, and the score of their claims: a solver that lies is caught."""

import csv
import importlib
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.svm import SVC

from hypermargin.cli import main
from hypermargin_studies.problem_set.planted import planted, planted_families, planted_names
from hypermargin_studies.problem_set.scoring import judge_words
from reference.objective import lift
from reference.scip import solve_scip

LIAR = """
import numpy as np

def solve(X, y, C, **options):
    w = np.zeros(len(y) if "kernel" in options else X.shape[1])
    if len(X) % 3 == 0:
        return {"w": w, "status": "INFEASIBLE"}
    if len(X) % 3 == 1:
        return {"w": w, "status": "OPTIMAL", "lower_bound": 0.0}
    return {"w": w, "lower_bound": 1e30, "status": "GAP_REMAINS"}
"""
HONEST = """
def solve(X, y, C):
    return [0.0] * X.shape[1]
"""


def test_the_stored_problems_are_those_that_are_drawn(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    plant = importlib.import_module("plant")
    for name in planted_names()[::17]:
        assert plant.plant(name) == planted(name), name


def points_of(problem):
    return lift(np.array(problem.space)), np.array(problem.y, dtype=float)


def test_an_enclosure_is_narrower_than_every_tolerance_and_points_are_exact():
    for name in planted_names():
        problem = planted(name)
        assert problem.lower <= problem.upper
        if problem.is_feasible:
            assert problem.upper - problem.lower <= 1e-13 * max(problem.upper, 1e-3), name
        for row in problem.space if name.split("/")[0] not in ("line", "tie") else ():
            square = 1 + sum(Fraction(v) ** 2 for v in row)
            assert Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator)) ** 2 == square, name


@pytest.mark.parametrize("family", ["hinge", "cone", "line", "tie"])
def test_scip_finds_the_same_optimum(family):
    for number in range(6):
        problem = planted(f"{family}/{number}")
        if problem.timelike or len(problem.space[0]) > 3:
            continue
        X, y = points_of(problem)
        costs = problem.C * np.array(problem.weight or np.ones(len(y)))
        answer = solve_scip(X, y, costs)
        assert answer.bound <= problem.upper * (1.0 + 1e-6) + 1e-9
        assert answer.value >= problem.lower * (1.0 - 1e-6) - 1e-9


@pytest.mark.parametrize("family", ["kernel", "curve"])
def test_convex_problems_have_the_optimum_of_libsvm(family):
    for number in range(6):
        problem = planted(f"{family}/{number}")
        X, y = points_of(problem)
        product = X @ np.diag([1.0, *[-1.0] * (X.shape[1] - 1)]) @ X.T
        C = problem.C
        if problem.kernel is None:
            c = lift(np.array(problem.centre))
            along = X[:, 0] * c[0] - X[:, 1:] @ c[1:]
            K, C = 2.0 * np.outer(along, along) - product, C / np.sqrt(2.0)
        else:
            name, p = problem.kernel
            d = np.arccosh(np.maximum(product, 1.0))
            np.fill_diagonal(d, 0.0)
            heat = np.where(d > 0.0, d / np.sinh(np.maximum(d, 1e-300)), 1.0) * np.exp(-(d**2) / (4.0 * p))
            K = {"CoshKernel": np.cosh(d) ** -p, "DistanceKernel": -d, "LaplacianKernel": np.exp(-p * d)}.get(
                name, heat
            )
        model = SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, y)
        beta = np.zeros(len(y))
        beta[model.support_] = model.dual_coef_[0]
        assert y @ beta - 0.5 * beta @ K @ beta == pytest.approx(problem.upper, rel=1e-6)


def test_no_hyperplane_separates_what_is_infeasible_and_the_hard_margin_can_be_met_elsewhere():
    for family, status in (("infeasible", 2), ("hard", 0)):
        for number in range(10):
            X, y = points_of(planted(f"{family}/{number}"))
            Z = y[:, None] * np.column_stack([X[:, :1], -X[:, 1:]])
            found = linprog(np.zeros(Z.shape[1]), A_ub=-Z, b_ub=-np.ones(len(y)), bounds=(None, None))
            assert found.status == status


@pytest.mark.parametrize("family", ["hard", "far", "asinh", "balls", "sets", "flat", "near"])
def test_no_w_that_is_found_by_searching_is_better(family):
    """Searches from many starts, and the value of every w they end at in ball arithmetic."""
    rng = np.random.default_rng(0)
    for number in range(4):
        problem = planted(f"{family}/{number}")
        size = len(problem.space[0]) + 1

        def value(w, problem=problem):
            found = float(problem.value(w.tolist()).mid())
            return found if np.isfinite(found) else 1e12 + float(np.abs(w).sum())

        for scale in (0.3, 3.0):
            w = minimize(value, scale * rng.normal(size=size), method="Nelder-Mead", options={"maxiter": 150}).x
            assert not problem.value(w.tolist()) < problem.lower


def test_near_ties_have_two_minima_that_are_far_apart():
    problem = planted("tie/0")
    X, y = points_of(problem)
    w = solve_scip(X, y, problem.C * np.array(problem.weight)).w
    mirrored = [w[0], -w[1]]
    values = [float(problem.value(list(v)).mid()) for v in (w, mirrored)]
    assert abs(w[1]) > 1e-3
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    assert values[0] == pytest.approx(problem.upper, rel=1e-6)


def test_every_false_word_is_one_and_no_true_word_is():
    problem = planted("hinge/0")
    w, zero = np.full(len(problem.space[0]) + 1, 0.01), [0.0] * (len(problem.space[0]) + 1)
    assert judge_words(problem, {"w": zero, "lower_bound": problem.upper * (1.0 + 1e-12)})[0] == "FALSE"
    assert judge_words(problem, {"w": zero, "objective": problem.lower * (1.0 - 1e-6)})[0] == "FALSE"
    assert judge_words(problem, {"w": w, "status": "OPTIMAL"})[0] == "FALSE"
    assert judge_words(problem, {"status": "OPTIMAL"})[0] == "FALSE"
    assert judge_words(problem, {"status": "INFEASIBLE"})[0] == "FALSE"
    assert judge_words(problem, {"w": w, "lower_bound": problem.lower})[0] == "unknown"
    assert judge_words(problem, {"w": [np.nan, *zero[1:]]})[0] == "unknown"
    nothing = planted("infeasible/0")
    assert judge_words(nothing, {"status": "INFEASIBLE"})[0] == "proved"
    assert judge_words(nothing, {"w": zero, "objective": 3.0})[0] == "FALSE"
    assert judge_words(nothing, {"w": zero})[0] == "unknown"
    flat = replace(problem, lower=0.0, upper=0.0, y=[1] * len(problem.y))
    assert judge_words(flat, {"w": zero, "lower_bound": 1e-300})[0] == "FALSE"


def scored(tmp_path, solver, *options):
    out = tmp_path / "words.csv"
    assert main(["score", solver, "--planted", *options, "-o", str(out)]) == 0
    with open(out, newline="") as file:
        return list(csv.DictReader(file))


def test_the_exact_method_says_nothing_false(tmp_path, capsys):
    families = ",".join(f"{family}/[01]" for family in planted_families() if family != "asinh")
    rows = scored(tmp_path, "exact", "--problems", families)
    assert len(rows) == 2 * (len(planted_families()) - 1)
    assert not [row for row in rows if row["word"] not in ("proved", "found")]
    assert "claims on planted problems" in capsys.readouterr().out


def test_a_solver_that_lies_is_caught_and_an_honest_one_is_not_punished(tmp_path, capsys):
    (tmp_path / "liar.py").write_text(LIAR)
    (tmp_path / "honest.py").write_text(HONEST)
    rows = scored(tmp_path, str(tmp_path / "liar.py"), "--problems", "hinge/?,hard/?,kernel/?,near/?")
    false = [row["sentence"] for row in rows if row["word"] == "FALSE"]
    assert len(false) == len(rows) == 40
    assert all(any(kind in text for text in false) for kind in ("infeasible", "called optimal", "lower bound"))
    assert "hypermargin: warning: hinge/0:" in capsys.readouterr().err
    rows = scored(tmp_path, str(tmp_path / "honest.py"), "--problems", "hard/?,kernel/?,flat/?")
    assert {row["word"] for row in rows} == {"unknown", "not for it"}
    assert "solve has no parameter kernel" in {row["sentence"] for row in rows}


def test_planted_problems_are_listed_and_mistakes_are_one_line(capsys):
    assert main(["score", "--planted", "--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(planted_names())
    assert main(["score", "exact", "--planted", "--problems", "nothing/*"]) == 2
    assert "no problem matches 'nothing/*'" in capsys.readouterr().err
    with pytest.raises(ValueError, match="names read cone/7"):
        planted("cone/x")
