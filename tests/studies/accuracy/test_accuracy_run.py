"""The command end to end on small taxonomies: what it measures, that it resumes, and its mistakes in one line."""

import json

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from hypermargin.cli.main import main
from hypermargin.geometry.models import from_lorentz
from hypermargin_studies.accuracy import cells as contestants
from hypermargin_studies.accuracy.cells import OURS, PEERS, Cell, load, run_cell

SMALL = "taxonomy_100_0.2_seed1"


def test_a_peer_is_tuned_inside_the_training_folds_and_judged_outside():
    found = run_cell(Cell(SMALL, "neighbours, disk", False, 0, 1).to_dict())["neighbours, disk"]
    X, y = load(SMALL)
    train, test = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))[1]
    disk = from_lorentz(X, "poincare")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(KNeighborsClassifier(), PEERS["neighbours, disk"].grid, scoring="average_precision", cv=folds)
    with np.errstate(all="ignore"):
        search.fit(disk[train], y[train])
    expected = average_precision_score(y[test], search.predict_proba(disk[test])[:, 1])
    assert found["average precision"] == pytest.approx(expected)


@pytest.mark.slow
def test_all_of_ours_are_measured_together():
    found = run_cell(Cell(SMALL, "ours", True, 0, 0).to_dict())
    assert set(found) == set(OURS)
    assert "chose" in found["auto"]["chosen"]
    assert all(0.0 <= each["average precision"] <= 1.0 for each in found.values())


def test_the_command_keeps_what_is_done(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    argv = [
        "accuracy",
        "--data",
        SMALL,
        "--models",
        "linear SVM;neighbours, disk",
        "--not-moved",
        "--quick",
        "-o",
        "out",
    ]
    assert main(argv) == 0
    assert "4 to measure" in capsys.readouterr().out
    files = sorted((tmp_path / "out" / "cells").rglob("*.json"))
    assert len(files) == 4
    assert all(json.loads(file.read_text())["state"] == "finished" for file in files)
    files[0].unlink()
    assert main(argv) == 0
    assert "3 measured before, 1 to measure" in capsys.readouterr().out
    assert main([*argv, "--report-only"]) == 0
    assert "4 measured before, 0 to measure" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--models", "oracle"), "unknown contestant 'oracle'"),
        (("--data", "atlantis"), "unknown data set 'atlantis'"),
        (("--jobs", "0"), "must be positive"),
        (("--data", SMALL, "--models", "linear SVM", "--report-only"), "nothing was measured yet"),
    ],
)
def test_mistakes_are_one_line(tmp_path, monkeypatch, capsys, options, message):
    monkeypatch.chdir(tmp_path)
    assert main(["accuracy", *options]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_large_data_chooses_parameters_on_some_samples_and_fits_all(monkeypatch):
    """Counted from outside: the grid sees the cap, the last fit every training sample, classes keep their shares."""
    monkeypatch.setattr(contestants, "CHOSEN_ON", 60)
    X, y = load(SMALL)
    model, _ = contestants.fitted_peer("neighbours, disk", from_lorentz(X, "poincare"), y, "average_precision")
    assert model.n_samples_fit_ == len(y)
    few = contestants._some(y)
    assert len(set(few.tolist())) == 60
    assert np.bincount(y[few])[1] == pytest.approx(0.6 * np.bincount(y)[1], abs=1.0)
