"""The same families in `fit`, `cv` and `compare`; messages that name options; a hint at numbers that pandas rounds."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from hypermargin.cli import main
from hypermargin.cli.console import one_line, write_csv
from hypermargin.cli.options import drop_names
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators import HyperbolicForestClassifier, HyperbolicKNeighborsClassifier, load_model

KINDS = {"neighbours": HyperbolicKNeighborsClassifier(), "forest": HyperbolicForestClassifier(random_state=0)}


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = make_gaussian_mixture(30, 2, scale=0.9, random_state=0, return_X_y=True)
    write_csv(tmp_path / "d.csv", X, y)
    return X, y


@pytest.mark.parametrize("kind", KINDS)
def test_families_without_optimisation(data, capsys, kind):
    X, y = data
    assert main(["fit", "d.csv", "--model", kind, "-o", "m.npz"]) == 0
    assert f"60 points, 2 classes, by {kind}" in capsys.readouterr().out
    np.testing.assert_array_equal(
        drop_names(load_model("m.npz")).predict_proba(X), KINDS[kind].fit(X, y).predict_proba(X)
    )
    assert main(["cv", "d.csv", "--model", kind, "--folds", "3", "-o", "out.csv"]) == 0
    assert "C =" not in capsys.readouterr().out
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    assert pd.read_csv("out.csv")["predicted"].tolist() == cross_val_predict(KINDS[kind], X, y, cv=folds).tolist()
    assert main(["compare", "d.csv", "--methods", f"exact,{kind}", "--test-size", "0"]) == 0
    (row,) = [line.split() for line in capsys.readouterr().out.splitlines() if line.split()[:1] == [kind]]
    assert row[1:5] == ["–"] * 4
    assert f"{100.0 * KINDS[kind].score(X, y):.1f}" == row[5]
    assert main(["fit", "d.csv", "--model", kind, "-C", "3", "-o", "m.npz"]) == 2
    assert f"-C is not for --model {kind}, which has none" in capsys.readouterr().err


def test_kernels_are_cross_validated(data, capsys):
    assert main(["cv", "d.csv", "--model", "kernel", "--kernel", "laplacian=1", "--folds", "2"]) == 0
    assert "kernel chosen inside each fold: kernel (kernel=laplacian gamma=1 C=" in capsys.readouterr().out
    assert main(["cv", "d.csv", "--model", "kernel", "--kernel", "laplacian=1", "-C", "1", "--folds", "2"]) == 0
    assert "C = 1\n" in capsys.readouterr().out


def test_all_families_are_compared(data, capsys):
    assert main(["compare", "d.csv", "--uncertainty", "geodesic=0.05"]) == 0
    captured = capsys.readouterr()
    assert "are left out (heat, cosh, laplacian, distance), and so are neighbours and forest" in captured.err
    assert main(["plot", "d.csv", "--methods", "forest", "-o", "p.png"]) == 2
    assert "neighbours and forests: fit one with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("pass geometry='poincare', curvature=0.7", "pass --geometry poincare, --curvature 0.7"),
        ("use n_landmarks=500 or cache_size=100.", "use --landmarks 500 or --cache 100."),
        ("with C=inf there is", "with -C inf there is"),
        ("pass allow_timelike=True; rim='drop'", "pass --allow-timelike; --rim drop"),
        ("f(x)=1 and xC=2", "f(x)=1 and xC=2"),
    ],
)
def test_messages_name_options(message, shown):
    assert one_line(message) == shown


def test_points_that_pandas_rounded(data, capsys):
    """The default of read_csv is wrong in the last bit of some numbers; a proof is about the exact ones."""
    assert main(["fit", "d.csv", "-o", "m.npz", "--certificates", "proofs"]) == 0
    assert main(["certificate", "check", "proofs/problem-1.json", "d.csv"]) == 0
    X, y = data
    write_csv(Path("near.csv"), np.nextafter(X, np.inf), y)
    write_csv(Path("other.csv"), X[::-1] * [[1.0, -1.0, 1.0]], y)
    capsys.readouterr()
    assert main(["certificate", "check", "proofs/problem-1.json", "near.csv"]) == 2
    assert "pandas.read_csv rounds numbers unless it has float_precision='round_trip'" in capsys.readouterr().err
    assert main(["certificate", "check", "proofs/problem-1.json", "other.csv"]) == 2
    assert "round_trip" not in capsys.readouterr().err
