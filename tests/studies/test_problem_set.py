"""The problem set and the scores: optima by another global solver, and a line instead of a traceback."""

import csv
import os
import re
from pathlib import Path

import numpy as np
import pytest

from hypermargin import solve
from hypermargin.cli import main
from hypermargin.problems import MarginProblem
from hypermargin_studies.problem_set import LARGE, certified_optima, get_problem, select
from hypermargin_studies.problem_set.scoring import judge, load_solver, sign_hint
from reference.scip import solve_scip

GOOD = """
import numpy as np

def solve(X, y, C):
    print("solvers may print")
    return np.zeros(X.shape[1])
"""
#: What it does depends on the problem, so that one run sees every kind of trouble.
BAD = """
import os

def solve(X, y, C):
    if len(X) == 34:  # karate
        if C == 0.1:
            raise RuntimeError("boom")
        if C == 1.0:
            return [1.0]
        return [1.0, 0.0, 0.0]
    if C == 0.1:
        return [float("nan"), 0.0, 0.0]
    if C == 1.0:
        os._exit(7)
    while True:
        pass
"""
TROUBLES = (
    "RuntimeError: boom",
    "w must have shape (3,), got (1,)",
    "w is timelike",
    "w holds NaN or infinity",
    "the process ended with exit code 7",
    "took more than 2 s",
)


def test_the_set_has_every_split_of_every_embedding():
    # Classes of the eleven sets with more than two: 12, 3, 9, 5, 8, 8, 19, 10, 10; four sets have two.
    classes = (12, 3, 9, 5, 8, 8, 19, 10, 10)
    expected = 3 * (4 + sum(k + k * (k - 1) // 2 for k in classes))
    assert len(certified_optima()) == len(select(None, everything=True)) == expected
    assert not any(name.startswith(LARGE) for name in select(None))
    assert select("karate/*") == [f"karate/binary/C={C}" for C in ("0.1", "1", "10")]


def test_bounds_enclose_an_interval_of_at_most_a_millionth():
    for name, optimum in certified_optima().items():
        assert 0.0 < optimum.lower <= optimum.upper <= optimum.lower * (1.0 + 1.1e-6), name


@pytest.mark.usefixtures("paper_data")
@pytest.mark.parametrize("name", ["karate/binary/C=1", "football/ovr/3/C=10", "polbooks/ovo/0-2/C=0.1"])
def test_scip_finds_the_same_optimum(name):
    problem, optimum = get_problem(name), certified_optima()[name]
    answer = solve_scip(problem.X, problem.y, problem.costs)
    assert answer.bound <= optimum.upper * (1.0 + 1e-6)
    assert answer.value >= optimum.lower * (1.0 - 1e-6)


@pytest.mark.usefixtures("paper_data")
def test_saying_nothing_is_scored_by_hand_arithmetic():
    score = judge("karate/binary/C=10", [0.0, 0.0, 0.0], 0.1)
    objective = 10.0 * 34 / np.sqrt(2.0)  # every hinge is 1/sqrt2
    assert score.objective == pytest.approx(objective)
    assert score.gap == pytest.approx(1.0 - certified_optima()["karate/binary/C=10"].lower / objective)


@pytest.mark.usefixtures("paper_data")
def test_a_file_is_scored_by_what_it_returns(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(GOOD)
    assert main(["score", str(path), "--problems", "karate/*", "-o", str(tmp_path / "scores.csv")]) == 0
    with open(tmp_path / "scores.csv", newline="") as file:
        gaps = [float(row["gap"]) for row in csv.DictReader(file)]
    assert gaps == [pytest.approx(judge(f"karate/binary/C={C}", np.zeros(3), 0.0).gap) for C in ("0.1", "1", "10")]


@pytest.mark.usefixtures("paper_data")
def test_every_kind_of_trouble_is_a_line_in_the_csv(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(BAD)
    scores = tmp_path / "scores.csv"
    arguments = ("--problems", "karate/*,polbooks/ovr/0/*", "--time-limit", "2", "-o", str(scores))
    assert main(["score", str(path), *arguments]) == 0
    with open(scores, newline="") as file:
        troubles = [row["trouble"] for row in csv.DictReader(file)]
    assert all(found.startswith(expected) for found, expected in zip(troubles, TROUBLES, strict=True)), troubles
    assert "1 without an answer: RuntimeError: boom" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "arguments", "complaint"),
    [
        ("x = (", (), "cannot be imported: SyntaxError"),
        ("", ("--problems", "nothing/*"), "no problem matches 'nothing/*'"),
        ("", ("--time-limit", "-1"), "--time-limit must be positive"),
    ],
)
def test_mistakes_are_one_line_and_no_traceback(source, arguments, complaint, tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(source)
    assert main(["score", str(path), *arguments]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_what_can_be_loaded(tmp_path):
    (tmp_path / "mine.py").write_text("solve = 3")
    with pytest.raises(ValueError, match="has no function solve"):
        load_solver(str(tmp_path / "mine.py"))
    with pytest.raises(ValueError, match=r"there is no file .*no method of that name .*exact"):
        load_solver("neither")
    X, y = get_points()
    w = load_solver("exact")(X, y, 1.0)
    assert MarginProblem(X, y).objective(w) <= min(MarginProblem(X, y).objective(v) for v in np.eye(3)[1:])


def get_points():
    """A few points on both sides of a line, lifted by hand."""
    xr = np.array([[1.0, 0.2], [0.8, -0.5], [-1.0, 0.1], [-0.4, -0.6]])
    return np.column_stack([np.sqrt(1.0 + np.sum(xr**2, axis=1)), xr]), np.array([1.0, 1.0, -1.0, -1.0])


@pytest.mark.usefixtures("paper_data")
@pytest.mark.parametrize(
    ("signs", "hint"),
    [
        ((1, 1, 1), None),
        ((-1, -1, -1), "-w does"),
        ((1, -1, -1), "(w0, -w1, ...) does"),
        ((-1, 1, 1), "(-w0, w1, ...)"),
    ],
)
def test_other_signs_are_hinted_at(signs, hint):
    """A solver with another convention for the product is told so; a good one hears nothing."""
    scores = []
    for name in ("karate/binary/C=1", "polbooks/ovo/0-2/C=1", "football/ovo/0-1/C=1"):
        problem = get_problem(name)
        scores.append(judge(name, solve_scip(problem.X, problem.y, problem.costs).w * np.array(signs), 0.0))
    told = sign_hint(scores)
    assert (told is None) if hint is None else (hint in told and "x0 w0 - x1 w1" in told)


@pytest.mark.usefixtures("paper_data")
def test_the_example_in_the_help_runs_and_is_the_objective(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["score", "--example"]) == 0
    source = capsys.readouterr().out
    (tmp_path / "mine.py").write_text(source)
    assert main(["score", "mine.py", "--problems", "karate/*", "-o", "scores.csv"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""  # no hint: its signs are right
    with open("scores.csv", newline="") as file:
        assert all(float(row["gap"]) < 0.5 for row in csv.DictReader(file))
    assert main(["score", "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(line.strip() in shown for line in source.splitlines())
    namespace = {}
    exec(source, namespace)
    problem, w = get_problem("karate/binary/C=10"), np.array([0.3, -1.0, 0.7])
    assert namespace["objective"](w, problem.X, problem.y, problem.C) == pytest.approx(problem.objective(w))


def test_the_list_is_as_long_as_the_pages_say(capsys):
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    (number,) = re.findall(r"([\d,]+) problems with certified optima", page)
    assert main(["score", "--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == int(number.replace(",", ""))


@pytest.mark.slow
@pytest.mark.skipif("HYPERMARGIN_DATA" not in os.environ, reason="HYPERMARGIN_DATA names no folder with the embeddings")
def test_the_reference_checker_proves_every_certificate_of_the_smaller_data_sets():
    """No bound is lower than that of the fast check, and none above the stored optimum: a minute for all 1,230."""
    optima = certified_optima()
    for name in select(None):
        problem = get_problem(name)
        solution = solve(problem, "exact")
        bound = solution.certificate.verify(problem, by_arb=True)
        assert solution.lower_bound - 1e-9 * solution.objective <= bound <= optima[name].upper, name
