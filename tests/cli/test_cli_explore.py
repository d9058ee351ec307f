"""`hypermargin explore`: from files to a page."""

import base64
import json
import re

import numpy as np
import pytest

from hypermargin.cli import main
from hypermargin.datasets import make_gaussian_mixture


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = make_gaussian_mixture(20, 2, random_state=0, return_X_y=True)
    np.savez("points.npz", X=X, y=y)
    np.savez("more.npz", X=X[:7], y=y[:7])
    np.savez("unlabelled.npz", X=X)
    assert main(["fit", "points.npz", "-o", "model.npz"]) == 0
    return tmp_path


def scene(name="page.html"):
    with open(name, encoding="utf-8") as file:
        return json.loads(re.search(r'id="scene">(.*?)</script>', file.read(), re.DOTALL)[1])


def test_a_model_with_test_points_and_names(folder, capsys):
    (folder / "names.txt").write_text("\n".join(f"node {k}" for k in range(40)), encoding="utf-8")
    arguments = ["explore", "points.npz", "--model", "model.npz", "--test", "more.npz", "--ids", "names.txt"]
    assert main([*arguments, "-o", "page.html"]) == 0
    assert "open it in a browser" in capsys.readouterr().out
    made = scene()
    assert made["count"] == 47
    assert made["ids"][39] == "node 39"
    assert made["models"][0]["name"] == "model.npz"
    assert made["path"] is None
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)
    assert "import {" not in page
    assert "{{" not in page.split('id="scene">')[0]


def test_a_path_needs_no_model(folder):
    assert main(["explore", "points.npz", "--path", "3", "-C", "2", "-o", "page.html"]) == 0
    assert [step["C"] for step in scene()["path"]["steps"]] == [0.02, 2.0, 200.0]


def test_points_alone(folder):
    assert main(["explore", "unlabelled.npz", "-o", "page.html"]) == 0
    made = scene()
    assert made["labels"] is None
    assert made["models"] == []


def test_rows_without_a_label_and_the_edges_of_a_graph(folder, capsys):
    (folder / "few.csv").write_text("node,x,y,label\nann,0.1,0.2,1\nbob,0.3,-0.2,\ncat,-0.4,0.1,0\n", encoding="utf-8")
    (folder / "edges.csv").write_text("source,target\nann,cat\ncat,bob\nann,dan\n", encoding="utf-8")
    arguments = ["few.csv", "--geometry", "poincare", "--edges", "edges.csv"]
    assert main(["explore", *arguments, "-o", "page.html"]) == 0
    assert "1 edges to nodes that are no points are left out" in capsys.readouterr().err
    made = scene()
    assert (made["unlabelled"], made["classes"]) == (2, ["0", "1"])
    assert list(base64.b64decode(made["labels"]["data"])) == [1, 2, 0]
    assert list(base64.b64decode(made["edges"]["data"])) == [0, 2, 2, 1]
    assert main(["plot", *arguments, "-o", "points.png"]) == 0
    assert main(["explore", *arguments[:-2], "--skip-unlabelled", "-o", "page.html"]) == 0
    assert "1 rows have no label and are left out" in capsys.readouterr().err
    assert (scene()["count"], scene()["unlabelled"]) == (2, None)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["points.npz", "-o", "page.pdf"], "must end in .html"),
        (["unlabelled.npz", "--path", "-o", "page.html"], "holds no labels"),
        (["points.npz", "--test", "unlabelled.npz", "-o", "page.html"], "must both have labels, or neither"),
        (["points.npz", "--model", "model.npz", "--model", "model.npz", "-o", "page.html"], "the same file name"),
        (["points.npz", "--ids", "few.txt", "-o", "page.html"], "has 1 lines and there are 40 points"),
    ],
)
def test_mistakes_are_one_line(folder, capsys, arguments, complaint):
    (folder / "few.txt").write_text("one", encoding="utf-8")
    capsys.readouterr()
    assert main(["explore", *arguments]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1
