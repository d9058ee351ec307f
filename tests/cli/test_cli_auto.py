"""`hypermargin fit --model auto` and `cv --model auto`, and what the other commands do with its model."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from hypermargin import (
    HyperbolicClassifierCV,
    HyperbolicKNeighborsClassifier,
    HyperbolicSVC,
    load_model,
    save_model,
)
from hypermargin.cli.main import main
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators.auto.classifier_cv import HyperbolicBlend
from hypermargin.geometry.models import from_lorentz

FEW = ("--candidates", "geodesic,neighbours,blend", "--geometry", "poincare")


@pytest.fixture
def points(tmp_path, monkeypatch):
    """Points of the Poincaré disk with words for labels, in a file with a header."""
    monkeypatch.chdir(tmp_path)
    X, y = make_gaussian_mixture(15, 3, scale=0.8, random_state=0, return_X_y=True)
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
    assert f"Does the geometry help here? {model.verdict_.sentence}" in out
    read = load_model("model.npz")
    assert list(read.feature_names_in_) == ["first", "second"]
    del read.feature_names_in_
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))
    assert main(["predict", "model.npz", "points.csv"]) == 0
    assert capsys.readouterr().out.split() == model.predict(X).tolist()
    assert main(["explore", "points.csv", "--model", "model.npz", "--output", "page.html"]) == 0


def test_a_time_limit_ends_with_the_best_so_far(points, capsys):
    assert main(["fit", "points.csv", "--model", "auto", "-o", "model.npz", "--time-limit", "1e-6", *FEW]) == 0
    assert "there was no time for a comparison" in capsys.readouterr().out
    assert main(["fit", "points.csv", "-o", "model.npz", "--time-limit", "5", "--geometry", "poincare"]) == 2
    assert "--time-limit" in capsys.readouterr().err


def test_accuracy_of_a_file_says_whether_the_geometry_helps(points, capsys):
    X, y = points
    assert main(["accuracy", "points.csv", "--geometry", "poincare"]) == 0
    out = capsys.readouterr().out
    verdict = HyperbolicClassifierCV(geometry="poincare", refit=False).fit(X, y).verdict_
    assert str(verdict) in out
    for each in verdict.contestants:
        assert each.name in out
    assert main(["accuracy", "absent.csv"]) == 2


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
    assert main(["plot", "points.csv", "--model", "model.npz", "--output", "picture.png"]) == 0


def test_the_positive_class_is_the_rarer_one_or_that_of_the_option(points, capsys):
    X, y = points
    with open("two.csv", "w", newline="") as file:
        csv.writer(file).writerows([("first", "second", "kind"), *zip(*X.T.tolist(), y == "a", strict=True)])
    argv = ["two.csv", "--model", "auto", "--geometry", "poincare", "--candidates", "neighbours", "--scoring", "f1"]
    for options, told in [((), "True, the rarer one"), (("--pos-label", "False"), "False")]:
        assert main(["fit", *argv, *options, "--folds", "3", "--output", "two.npz"]) == 0
        assert f"f1 (positive class {told})" in " ".join(capsys.readouterr().out.split())
        assert main(["cv", *argv, *options, "--folds", "3"]) == 0
        assert f"cross-validated f1 (positive class {told}) 0." in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--model", "auto", "-C", "10"), "-C is not for --model auto"),
        (("--pos-label", "a"), "--pos-label is for --model auto"),
        (("--model", "auto", "--pos-label", "a"), "pos_label is for scores of one of two classes"),
        (("--model", "auto", "--scoring", "f1", "--pos-label", "a"), "pos_label is for two classes, but y has 3"),
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


def test_cross_validation_chooses_anew_in_every_fold(points, capsys):
    X, y = points
    argv = ["cv", "points.csv", "--model", "auto", "--folds", "3", "--output", "predictions.csv", *FEW]
    assert main([*argv, "--scoring", "f1_macro"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    predicted, scores, families = np.empty_like(y), [], []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        model = HyperbolicClassifierCV(("geodesic", "neighbours", "blend"), geometry="poincare", scoring="f1_macro")
        predicted[test] = model.fit(X[train], y[train]).predict(X[test])
        scores.append(f1_score(y[test], predicted[test], average="macro"))
        families.append(model.best_params_["family"])
    with open("predictions.csv", newline="") as file:
        assert [row["predicted"] for row in csv.DictReader(file)] == predicted.tolist()
    assert f"cross-validated f1_macro {np.mean(scores):.3f}" in out
    told = out.partition("model chosen inside each fold: ")[2]
    assert [name for name in re.findall(r"(\w+) \(", told.partition("cross-validated f1")[0])] == families


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--model", "auto", "-C", "10"), "-C is not for --model auto"),
        (("--model", "auto", "--solver", "pgd"), "--solver is not for --model auto"),
        (("--model", "auto", "--multi-class", "ovr"), "--multi-class is not for --model auto"),
        (("--model", "curve", "--solver", "pgd"), "--solver is for --model geodesic"),
        (("--scoring", "f1_macro"), "--scoring is for --model auto"),
    ],
)
def test_options_that_do_not_fit_cross_validation_are_one_line(points, capsys, options, message):
    assert main(["cv", "points.csv", "--geometry", "poincare", *options]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_the_proofs_of_a_blend_are_those_of_its_parts(points, capsys):
    X, y = points
    parts = [
        HyperbolicSVC(geometry="poincare").fit(X, y),
        HyperbolicKNeighborsClassifier(geometry="poincare").fit(X, y),
        HyperbolicSVC(geometry="poincare", boundary="curve", C=10.0).fit(X, y),
    ]
    save_model(HyperbolicBlend.of(parts), "model.npz")
    assert main(["certificate", "save", "model.npz", "--output", "proofs"]) == 0
    out = capsys.readouterr().out
    assert "neighbours, a part of the blend, has no proofs" in out
    files = sorted(str(path) for path in Path("proofs").rglob("*.json"))
    assert files == [f"proofs/{kind}/problem-{k}.json" for kind in ("curve", "geodesic") for k in (1, 2, 3)]
    for path, bound in [(files[1], parts[2].solutions_[1].lower_bound), (files[5], parts[0].solutions_[2].lower_bound)]:
        assert main(["certificate", "check", path, "points.csv", "--model", "model.npz"]) == 0
        out = capsys.readouterr().out
        assert "holds for points.csv" in out
        proved = re.search(r"^lower bound +(\S+)$", out, re.MULTILINE)
        assert float(proved[1]) == pytest.approx(bound, rel=1e-6)


def test_a_blend_without_proofs_says_what_its_parts_are(points, capsys):
    X, y = points
    parts = [HyperbolicKNeighborsClassifier(k, geometry="poincare").fit(X, y) for k in (3, 5)]
    save_model(HyperbolicBlend.of(parts), "model.npz")
    assert main(["certificate", "save", "model.npz", "--output", "proofs"]) == 2
    err = capsys.readouterr().err
    assert "made of neighbours-1 and neighbours-2, which is not made of problems with proofs" in err
    assert not Path("proofs").exists()
