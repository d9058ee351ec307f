"""`hypermargin fit --model auto`, and what the other commands do with its model."""

import csv

import numpy as np
import pytest

from hypermargin import HyperbolicClassifierCV, load_model
from hypermargin.cli.main import main
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.geometry.models import from_lorentz

FEW = ("--candidates", "geodesic,neighbours,blend", "--geometry", "poincare")


@pytest.fixture
def points(tmp_path, monkeypatch):
    """Points of the Poincaré disk with words for labels, in a file with a header."""
    monkeypatch.chdir(tmp_path)
    X, y = make_gaussian_mixture(25, 3, scale=0.8, random_state=0, return_X_y=True)
    X, y = from_lorentz(X, "poincare"), np.array(["a", "b", "c"])[y]
    with open("points.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["first", "second", "kind"])
        writer.writerows([(*map(repr, row.tolist()), label) for row, label in zip(X, y, strict=True)])
    return X, y


def test_it_writes_the_model_that_the_library_chooses(points, capsys):
    X, y = points
    assert main(["fit", "points.csv", "--model", "auto", "--output", "model.npz", *FEW]) == 0
    out = capsys.readouterr().out
    model = HyperbolicClassifierCV(("geodesic", "neighbours", "blend"), geometry="poincare").fit(X, y)
    assert model.explanation_ in out
    read = load_model("model.npz")
    assert list(read.feature_names_in_) == ["first", "second"]
    del read.feature_names_in_
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))
    assert main(["predict", "model.npz", "points.csv"]) == 0
    assert capsys.readouterr().out.split() == model.predict(X).tolist()
    assert main(["plot", "points.csv", "--model", "model.npz", "--output", "picture.png"]) == 0
    assert main(["explore", "points.csv", "--model", "model.npz", "--output", "page.html"]) == 0


def test_the_details_are_all_candidates_and_scores_can_be_others(points, capsys):
    argv = [
        "fit",
        "points.csv",
        "--model",
        "auto",
        "-o",
        "model.npz",
        "--details",
        "--scoring",
        "f1_macro",
        "--folds",
        "3",
    ]
    assert main([*argv, "--candidates", "geodesic", "--geometry", "poincare"]) == 0
    out = capsys.readouterr().out
    assert sum(line.strip().startswith("geodesic") for line in out.splitlines()) == 5
    assert "f1_macro" in out
    assert main(["certificate", "save", "model.npz", "--output", "proofs"]) == 0
    assert "problem-1.json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--model", "auto", "-C", "10"), "-C is not for --model auto"),
        (("--model", "auto", "--kernel", "heat"), "--kernel is not for --model auto"),
        (("--model", "auto", "--candidates", "trees"), "unknown family 'trees'"),
        (("--model", "auto", "--scoring", "beauty"), "beauty"),
        (("--candidates", "forest"), "--candidates is for --model auto"),
        (("--model", "auto", "--folds", "1"), "--folds must be at least 2"),
    ],
)
def test_options_that_do_not_fit_are_one_line(points, capsys, options, message):
    assert main(["fit", "points.csv", "--geometry", "poincare", "--output", "model.npz", *options]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert len(err.strip().splitlines()) == 1
