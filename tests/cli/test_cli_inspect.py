"""`hypermargin inspect`: a report of a file, and the command that it names works."""

import json
import shlex

import numpy as np
import pytest

from hypermargin.cli import main
from hypermargin.cli.console import write_csv
from hypermargin.datasets import make_tree
from hypermargin.geometry import from_lorentz


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("geometry", ["poincare", "lorentz-last"])
def test_the_command_that_it_names_fits(folder, capsys, geometry):
    X, y = make_tree(60, positive_fraction=0.4, random_state=0, return_X_y=True)
    write_csv(folder / "d.csv", from_lorentz(X, geometry), np.array(["a", "b"])[y], label="kind of")
    assert main(["inspect", "d.csv", "--label", "kind of", "-o", "r.html"]) == 0
    out = capsys.readouterr().out
    assert f"these look like {geometry}, curvature 1" in out
    assert (folder / "r.html").read_text().startswith("<!doctype html>")
    command = next(line for line in out.splitlines() if line.strip().startswith("command")).split("hypermargin ")[1]
    arguments = shlex.split(command.replace("--model auto", "--model geodesic"))
    assert main(arguments) == 0
    assert (folder / "model.npz").exists()


def test_rows_that_are_no_numbers_are_counted(folder, capsys):
    X, _ = make_tree(30, random_state=0, return_X_y=True)
    P = from_lorentz(X, "poincare")
    P[4] = np.nan
    write_csv(folder / "d.csv", P, None)
    np.savez(folder / "d.npz", X=P)
    for name in ("d.csv", "d.npz"):
        assert main(["inspect", name, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["n_rows"], found["width"], found["not_finite"], found["labels"]) == (30, 2, [4], {})


def test_auto_is_reported(folder, capsys):
    X, y = make_tree(60, positive_fraction=0.4, random_state=0, return_X_y=True)
    write_csv(folder / "d.csv", from_lorentz(X, "poincare"), y)
    assert main(["fit", "d.csv", "--geometry", "auto", "-o", "m.npz"]) == 0
    assert "took X for poincare coordinates of curvature -1 (likely)" in capsys.readouterr().err
    assert main(["predict", "m.npz", "d.csv"]) == 0
