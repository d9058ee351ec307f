"""The commands end to end: what they write and print, and one line with exit code 2 for every kind of mistake."""

import csv
import re
import shlex
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np
import pytest

import hypermargin
from hypermargin import Ball, Box, CrossPolytope, GeodesicBall, available_methods, compilation
from hypermargin.cli import main
from hypermargin.cli.console import write_csv
from hypermargin.cli.main import COMMANDS, build_parser
from hypermargin.cli.options import drop_names
from hypermargin.compilation import is_compiled
from hypermargin.estimators import (
    HyperbolicForestClassifier,
    HyperbolicKernelSVC,
    HyperbolicSVC,
    HyperbolicTreeClassifier,
    load_model,
    save_model,
)
from hypermargin.kernels import KERNELS
from hypermargin.solvers.exact.compiled import evaluator
from reference.objective import hinge_value, lift, signed_rows


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    return lift(0.5 * rng.normal(size=(40, 2)) + np.where(y[:, None] == 1, 0.8, -0.8)), y


@pytest.fixture
def folder(tmp_path, data, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "points.csv", *data)
    return tmp_path


def run(capsys, *arguments):
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def run_ok(capsys, *arguments):
    code, out, err = run(capsys, *arguments)
    assert code == 0, err
    return out


# -- what works --------------------------------------------------------------------------------------------------------


def test_fit_and_predict_are_the_estimator(capsys, folder, data):
    X, y = data
    out = run_ok(capsys, "fit", "points.csv", "--solver", "euclidean", "-C", "3", "-o", "model.npz", "--details")
    expected = HyperbolicSVC(C=3.0, solver="euclidean", random_state=0).fit(X, y)
    np.testing.assert_array_equal(load_model("model.npz").coef_, expected.coef_)
    assert f"accuracy on these points: {100 * expected.score(X, y):.1f} %" in out
    printed = run_ok(capsys, "predict", "model.npz", "points.csv").split()
    assert [int(label) for label in printed] == expected.predict(X).tolist()
    out = run_ok(capsys, "predict", "model.npz", "points.csv", "--probabilities", "-o", "answers.csv")
    assert f"{100 * expected.score(X, y):.1f} %" in out
    with open("answers.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    np.testing.assert_allclose([float(row["p_1"]) for row in rows], expected.predict_proba(X)[:, 1], atol=1e-8)


@pytest.fixture
def larger(folder, data):
    """The same points as a table of named columns and as arrays, for files that are read in chunks."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    kinds = np.where(data[1], "ant", "bee")
    frame = pd.DataFrame(data[0], columns=["t", "a", "b"]).assign(kind=kinds)
    frame.to_parquet(folder / "points.parquet")
    np.save(folder / "X.npy", data[0])
    np.save(folder / "y.npy", kinds)
    np.savez(folder / "y.npz", X=data[0], y=kinds)
    return data[0], kinds


@pytest.mark.parametrize(
    "arguments", [["points.parquet"], ["points.parquet", "--label", "kind"], ["X.npy", "--labels", "y.npy"]]
)
def test_files_in_chunks_give_the_same_model(capsys, larger, arguments):
    X, kinds = larger
    whole = HyperbolicSVC().fit(X, kinds)
    out = run_ok(capsys, "fit", *arguments, "--chunks", "7", "-o", "model.npz")
    assert f"{arguments[0]} in chunks" in out
    np.testing.assert_allclose(load_model("model.npz").coef_, whole.coef_, atol=1e-8)
    printed = run_ok(capsys, "predict", "model.npz", arguments[0], "--chunks", "11").split()
    assert printed == whole.predict(X).tolist()
    assert printed == run_ok(capsys, "predict", "model.npz", arguments[0]).split()
    out = run_ok(capsys, "predict", "model.npz", *arguments, "-p", "--radii", "--chunks", "11", "-o", "out.csv")
    if len(arguments) > 1:
        assert f"accuracy against the {len(X)} labels in the file" in out
    with open("out.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    np.testing.assert_allclose([float(row["p_bee"]) for row in rows], whole.predict_proba(X)[:, 1], atol=1e-8)
    np.testing.assert_allclose([float(row["certified_radius"]) for row in rows], whole.certified_radius(X), atol=1e-8)


def test_csv_files_in_chunks_find_their_columns_as_whole_files_do(capsys, folder, data):
    run_ok(capsys, "fit", "points.csv", "-o", "whole.npz")
    run_ok(capsys, "fit", "points.csv", "--chunks", "9", "-o", "model.npz")
    np.testing.assert_allclose(load_model("model.npz").coef_, load_model("whole.npz").coef_, atol=1e-8)


def test_chunks_of_other_text_find_ids_and_columns_as_whole_files_do(capsys, folder, larger):
    """Tabs, an archive, an index without a name and columns in chunks that the model does not know."""
    import pandas as pd

    X, kinds = larger
    frame = pd.DataFrame(X, columns=["t", "a", "b"], index=[f"n{k}" for k in range(len(X))])
    frame.assign(kind=kinds).to_csv("points.txt.gz", sep="\t")
    run_ok(capsys, "fit", "points.txt.gz", "--chunks", "9", "-o", "model.npz")
    np.testing.assert_allclose(load_model("model.npz").coef_, HyperbolicSVC().fit(X, kinds).coef_, atol=1e-8)
    frame.assign(batch=1, more=2).to_csv("new.tsv", sep="\t")
    for chunks in ((), ("--chunks", "11")):
        code, _, err = run(capsys, "predict", "model.npz", "new.tsv", *chunks, "-o", "out.csv")
        assert code == 0
        assert "left out, because the model does not know them: 'batch', 'more'" in err
        with open("out.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert [row["id"] for row in rows] == frame.index.tolist()
        assert [row["label"] for row in rows] == HyperbolicSVC().fit(X, kinds).predict(X).tolist()


def test_a_file_too_large_for_the_memory_is_read_in_chunks_unasked(capsys, larger, monkeypatch):
    from hypermargin.cli import reading

    monkeypatch.setattr(reading, "free_memory", lambda: 1000.0)
    assert "points.parquet in chunks" in run_ok(capsys, "fit", "points.parquet", "-o", "model.npz")


@pytest.mark.parametrize(
    ("mistake", "complaint"),
    [
        (["points.parquet", "--label", "size", "--chunks", "5"], "no column 'size'; its columns are t, a, b, kind"),
        (["points.csv", "--labels", "y.npy", "--chunks", "5"], "name it with --label"),
        (["X.npy", "--chunks", "none"], "must be a number of rows"),
        (["X.npy", "--chunks", "5"], "no labels"),
        (["y.npz", "--chunks", "5"], "cannot be read in chunks"),
        (["points.parquet", "--chunks", "5", "-C", "auto"], "-C auto needs all points in memory"),
        (["points.parquet", "--chunks", "5", "--model", "curve"], "--model geodesic"),
        (["points.parquet", "--chunks", "5", "--solver", "pgd"], "--solver exact"),
        (["points.parquet", "--chunks", "5", "--skip-unlabelled"], "--skip-unlabelled does not go with"),
    ],
)
def test_what_chunks_do_not_go_with_is_said(capsys, larger, mistake, complaint):
    code, _, err = run(capsys, "fit", *mistake, "-o", "model.npz")
    assert code == 2
    assert complaint in err


def test_a_bad_row_in_a_late_chunk_is_named_and_leaves_no_answers(capsys, larger):
    X, _ = larger
    run_ok(capsys, "fit", "X.npy", "--labels", "y.npy", "-o", "model.npz")
    X = X.copy()
    X[-2, 1] = np.nan
    np.save("X.npy", X)
    for arguments in (("fit", "X.npy", "--labels", "y.npy", "-o", "other.npz"), ("predict", "model.npz", "X.npy")):
        code, _, err = run(capsys, *arguments, "--chunks", "5")
        assert code == 2
        assert f"row {len(X) - 2} " in err
    run(capsys, "predict", "model.npz", "X.npy", "--chunks", "5", "-o", "out.csv")
    assert not [path for path in Path().iterdir() if path.name.startswith(("out.csv", "other.npz"))]


def test_options_of_a_method_reach_it(capsys, folder, data):
    arguments = ("fit", "points.csv", "--solver", "pgd", "--option", "epochs=7", "--option", "loss=hinge", "-C", "0.1")
    run_ok(capsys, *arguments, "-o", "model.npz")
    (solution,) = load_model("model.npz").solutions_
    assert (solution.n_iter, solution.loss) == (7, "hinge")
    run_ok(capsys, *arguments, "--refine", "-o", "model.npz")
    (refined,) = load_model("model.npz").solutions_
    assert refined.objective < solution.objective


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("geodesic=0.1", GeodesicBall(0.1)),
        ("box=.05", Box(0.05)),
        ("cross=0.1", CrossPolytope(0.1)),
        ("ball=0", Ball(0.0)),
    ],
)
def test_uncertainty_sets_reach_the_estimator_and_its_file(capsys, folder, data, text, noise):
    run_ok(capsys, "fit", "points.csv", "--uncertainty", text, "-o", "model.npz")
    loaded = load_model("model.npz")
    assert (type(loaded.uncertainty), loaded.uncertainty.rho) == (type(noise), noise.rho)
    np.testing.assert_array_equal(loaded.coef_, HyperbolicSVC(uncertainty=noise, random_state=0).fit(*data).coef_)


def test_compare_leaves_out_what_cannot_be_robust(capsys, folder):
    code, out, err = run(
        capsys, "compare", "points.csv", "--uncertainty", "geodesic=0.2", "--methods", "euclidean,exact"
    )
    assert code == 0
    assert "not in the table: euclidean" in out
    assert "does not handle an uncertainty set" in err


def test_compare_leaves_out_kernels_where_no_method_is_named_and_margins_are_robust(capsys, folder):
    code, out, err = run(
        capsys, "compare", "points.csv", "--uncertainty", "geodesic=0.1", "--tol", "1e-2", "--test-size", "0"
    )
    assert code == 0
    assert "kernels have no robust form and are left out (heat, " in err
    rows = {line.split()[0] for line in out.splitlines() if "%" in line}
    assert "exact" in rows
    assert not rows & set(KERNELS)
    code, _, err = run(capsys, "compare", "points.csv", "--uncertainty", "geodesic=0.1", "--methods", "exact,heat")
    assert code == 2
    assert "a kernel has no robust form here" in err


@pytest.mark.parametrize("text", ["geodesic", "geodesic=", "geodesic=-1", "geodesic=nan", "sphere=1", "box=big", "=1"])
def test_uncertainty_sets_that_are_none(capsys, folder, text):
    code, _, err = run(capsys, "fit", "points.csv", "--uncertainty", text, "-o", "model.npz")
    assert code == 2
    assert err.startswith("hypermargin: error:")
    assert repr(text) in err


def test_other_geometries_and_string_labels(capsys, folder, data):
    X, y = data
    disk = X[:, 1:] / (1.0 + X[:, :1])
    names = np.array(["left", "right"])[y]
    write_csv(folder / "disk.csv", disk, names)
    arguments = ("--solver", "euclidean", "--geometry", "poincare", "-o", "model.npz")
    run_ok(capsys, "fit", "disk.csv", *arguments)
    printed = run_ok(capsys, "predict", "model.npz", "disk.csv").split()
    assert np.mean(np.array(printed) == names) > 0.9


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--model", "curve"), HyperbolicSVC(boundary="curve", C=2.0)),
        (("--model", "kernel", "--kernel", "cosh=1.5"), HyperbolicKernelSVC(kernel="cosh", power=1.5, C=2.0)),
        (("--model", "kernel", "--landmarks", "15"), HyperbolicKernelSVC(n_landmarks=15, random_state=0, C=2.0)),
    ],
    ids=["curve", "kernel", "landmarks"],
)
def test_models_that_bend_are_the_estimators(capsys, folder, data, options, expected):
    out = run_ok(capsys, "fit", "points.csv", "-C", "2", *options, "-o", "model.npz")
    assert "1 x Optimal" in out
    run_ok(capsys, "predict", "model.npz", "points.csv", "-o", "labels.csv")
    model = drop_names(load_model(folder / "model.npz"))
    np.testing.assert_allclose(model.decision_function(data[0]), expected.fit(*data).decision_function(data[0]))
    run_ok(capsys, "plot", "points.csv", "--model", "model.npz", "-o", "regions.png")
    assert (folder / "regions.png").stat().st_size > 10000


def test_compare_does_not_measure_kernels_by_the_bound_of_hyperplanes(capsys, folder):
    out = run_ok(capsys, "compare", "points.csv", "--test-size", "0", "--methods", "exact,curve,heat")
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.strip().startswith(("curve", "heat"))}
    for method in ("curve", "heat"):
        assert rows[method][4] == "✓"
        assert rows[method][5] == "–"


def test_compare_shows_every_method_and_the_objective_of_its_w(capsys, folder, data):
    out = run_ok(capsys, "compare", "points.csv", "--test-size", "0", "--methods", "euclidean,pgd")
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.strip().startswith(("euclidean", "pgd"))}
    for method in ("euclidean", "pgd"):
        (solution,) = HyperbolicSVC(solver=method).fit(*data).solutions_
        objective = hinge_value(signed_rows(data[0], 2 * data[1] - 1), np.ones(40), solution.w[None])[0]
        assert float(rows[method][1]) == pytest.approx(objective, rel=1e-5)


def test_compare_says_who_refuses_and_who_proves_that_there_is_no_answer(capsys, folder):
    """The hard margin of classes that overlap: the ambient SVM does not handle it, the exact method proves it empty."""
    points = lift([[1.0, 0.0], [-1.0, 0.0], [2.0, 0.0], [-2.0, 0.0]])
    write_csv(folder / "mixed.csv", points, np.array([0, 1, 1, 0]))
    code, out, err = run(
        capsys, "compare", "mixed.csv", "--test-size", "0", "-C", "inf", "--methods", "euclidean,exact"
    )
    assert code == 0
    assert "warning: euclidean: solver 'euclidean' does not handle the hard margin" in err
    (row,) = [line.split() for line in out.splitlines() if line.split()[:1] == ["exact"]]
    assert row[1] == "infeasible"
    assert "not in the table: euclidean" in out


def test_compare_handles_many_classes(capsys, folder):
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 12)
    centres = np.array([[1.5, 0.0], [-0.8, 1.2], [-0.8, -1.2]])
    write_csv(folder / "three.csv", lift(0.3 * rng.normal(size=(36, 2)) + centres[y]), y)
    out = run_ok(capsys, "compare", "three.csv", "--methods", "euclidean")
    assert "100.0 %" in out


def test_demo_fits_every_method_and_leaves_pictures_and_data(capsys, folder):
    out = run_ok(capsys, "demo", "--size", "24", "--output", "shown")
    for method in available_methods():
        assert sum(line.split()[:1] == [method] for line in out.splitlines()) == 2, f"{method} is not in both tables"
    for name in ("gaussian", "tree"):
        assert (folder / "shown" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    run_ok(capsys, "fit", "shown/tree.csv", "--solver", "euclidean", "-o", "model.npz")


def test_plot_writes_what_its_suffix_says(capsys, folder):
    run_ok(capsys, "fit", "points.csv", "--solver", "euclidean", "-o", "model.npz")
    for arguments, output, magic in (
        ((), "alone.png", b"\x89PNG"),
        (("--model", "model.npz", "--center", "mean"), "regions.pdf", b"%PDF"),
        (("--methods", "euclidean,pgd", "--zoom", "boundary"), "both.svg", b"<?xml"),
    ):
        run_ok(capsys, "plot", "points.csv", "-o", output, *arguments)
        assert (folder / output).read_bytes().startswith(magic)
    assert "euclidean" in (folder / "both.svg").read_text() or "pgd" in (folder / "both.svg").read_text()


@pytest.mark.parametrize("arguments", [(), ("--tree", "1")])
def test_plot_draws_the_splits_of_a_tree(arguments, capsys, folder, data):
    """As paths of an .svg picture, one for each piece of a split more than the picture of the regions alone."""
    X, y = data
    kind = HyperbolicForestClassifier(2, random_state=0) if arguments else HyperbolicTreeClassifier(random_state=0)
    save_model(kind.fit(X, y), folder / "trees.npz")
    run_ok(capsys, "plot", "points.csv", "--model", "trees.npz", "-o", "tree.svg", *arguments)
    assert "LineCollection" in (folder / "tree.svg").read_text()


def test_methods_lists_every_method_with_its_options(capsys):
    out = run_ok(capsys, "methods")
    for method in available_methods():
        assert f"{method}: " in out
    assert "learning_rate=0.001" in out


def test_the_version_says_whether_the_inner_loops_are_compiled(capsys, monkeypatch, tmp_path):
    built = "compiled" if is_compiled(evaluator) else "interpreted (no C compiler was there at installation), and slow"
    assert run_ok(capsys, "--version") == f"hypermargin {hypermargin.__version__}\nThe inner loops are {built}.\n"
    for name in ("one", "two"):
        (tmp_path / name / "compiled").mkdir(parents=True)
        for file in ("__init__.py", f"{name}.py"):
            (tmp_path / name / "compiled" / file).touch()
    monkeypatch.setattr(compilation, "__file__", str(tmp_path / "compilation.py"))
    assert compilation.how_compiled().startswith("interpreted")
    (tmp_path / "one" / "compiled" / f"one{EXTENSION_SUFFIXES[0]}").touch()
    assert compilation.how_compiled() == "compiled but for 1 of 2 modules, such as two, and slow"
    (tmp_path / "two" / "compiled" / f"two{EXTENSION_SUFFIXES[-1]}").touch()
    assert compilation.how_compiled() == "compiled"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_with_examples_that_parse(capsys, command):
    out = run_ok(capsys, command, "--help")
    examples = [shlex.split(line) for line in out.splitlines() if line.startswith(f"  hypermargin {command}")]
    assert examples
    for words in examples:
        assert build_parser().parse_args(words[1:]).command == command


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        (("fit", "data.npz", "-o", "data.npz"), "data.npz"),
        (("fit", "points.csv", "-o", "data.npz"), "data.npz"),
        (("fit", "points.csv", "-o", "m.npz", "--certificates", "."), "problem-7.json"),
        (("cv", "points.csv", "-o", "points.csv"), "points.csv"),
        (("predict", "good.npz", "points.csv", "-o", "points.csv"), "points.csv"),
        (("embed", "edges.csv", "-o", "edges.csv"), "edges.csv"),
        (("explore", "points.csv", "-o", "notes.html"), "notes.html"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_no_file_of_another_kind_is_overwritten(capsys, folder, data, arguments, kept):
    np.savez("data.npz", X=data[0], y=data[1])
    Path("edges.csv").write_text("a,b\nb,c\n")
    Path("problem-7.json").write_text('{"mine": 1}')
    Path("notes.html").write_text("dear diary")
    save_model(HyperbolicSVC().fit(*data), "good.npz")
    before = Path(kept).read_bytes()
    code, _, err = run(capsys, *arguments)
    assert (code, err.count("\n")) == (2, 1)
    assert kept in err
    assert Path(kept).read_bytes() == before


def test_an_earlier_output_is_overwritten(capsys, folder, data):
    save_model(HyperbolicSVC(C=7.0).fit(*data), "model.npz")
    Path("empty.npz").touch()
    for _ in range(2):
        for name in ("model.npz", "empty.npz"):
            run_ok(capsys, "fit", "points.csv", "-o", name, "--certificates", "proofs")
            assert load_model(name).C == 1.0
        run_ok(capsys, "explore", "points.csv", "-o", "page.html")


# -- what does not -----------------------------------------------------------------------------------------------------

FIT = ("fit", "points.csv", "--solver", "euclidean", "-o", "model.npz")
MISTAKES = {
    "no command": ((), "required: COMMAND"),
    "unknown command": (("fitt",), "invalid choice: 'fitt'"),
    "missing file": (("fit", "absent.csv", "-o", "m.npz"), "there is no file absent.csv"),
    "unknown solver": (
        ("fit", "points.csv", "--solver", "magic", "-o", "m.npz"),
        "unknown solver .magic.; the solvers",
    ),
    "unknown method": (("compare", "points.csv", "--methods", "magic"), "unknown method .magic."),
    "unknown kernel": (
        ("fit", "points.csv", "--model", "kernel", "--kernel", "rbf", "-o", "m.npz"),
        "unknown kernel 'rbf'",
    ),
    "kernel without number": (
        ("fit", "points.csv", "--model", "kernel", "--kernel", "heat=x", "-o", "m.npz"),
        "heat=x",
    ),
    "kernel of a geodesic": (
        ("fit", "points.csv", "--kernel", "heat", "-o", "m.npz"),
        "--kernel is for --model kernel",
    ),
    "solver of a curve": (
        ("fit", "points.csv", "--model", "curve", "--solver", "pgd", "-o", "m.npz"),
        "--solver is for",
    ),
    "many landmarks": (
        ("fit", "points.csv", "--model", "kernel", "--landmarks", "99999", "-o", "m.npz"),
        "more than there are different training points",
    ),
    "no method": (("compare", "points.csv", "--methods", ","), "names no method"),
    "unknown geometry": ((*FIT, "--geometry", "flat"), "invalid choice: 'flat'"),
    "wrong option": ((*FIT, "--option", "epochs=3"), "solver 'euclidean' has no option 'epochs'"),
    "option without value": ((*FIT, "--option", "epochs"), "must read NAME=VALUE"),
    "C of zero": ((*FIT, "-C", "0"), "C must be positive"),
    "C no number": ((*FIT, "-C", "much"), "invalid float value: 'much'"),
    "negative tolerance": ((*FIT, "--tol", "-1"), "tol must be positive"),
    "curvature of zero": ((*FIT, "--curvature", "0"), "curvature"),
    "no label column": ((*FIT, "--label", "kind"), "has no column 'kind'"),
    "nan": (("fit", "nan.csv", "--solver", "euclidean", "-o", "m.npz"), "line 2, column 'x1' is nan"),
    "off the manifold": (("fit", "off.csv", "--solver", "euclidean", "-o", "m.npz"), "--geometry poincare"),
    "one class": (("fit", "one.csv", "--solver", "euclidean", "-o", "m.npz"), "one class only"),
    "one class compared": (("compare", "one.csv", "--test-size", "0"), "one class only"),
    "no labels": (
        ("fit", "bare.npy", "--solver", "euclidean", "-o", "m.npz"),
        "holds no labels; give them with --labels",
    ),
    "unwritable model": (
        ("fit", "points.csv", "--solver", "euclidean", "-o", "absent/m.npz"),
        "there is no folder absent",
    ),
    "unwritable demo": (("demo", "-o", "points.csv"), "cannot make the folder points.csv"),
    "unwritable picture": (("plot", "points.csv", "-o", "absent/p.png"), "there is no folder absent"),
    "wrong picture": (("plot", "points.csv", "-o", "picture.exe"), "must end in .png or .pdf or .svg"),
    "wrong width": (("predict", "good.npz", "wide.npy"), "has 4 coordinates per point, the model was fitted to 3"),
    "damaged model": (("predict", "damaged.npz", "points.csv"), "damaged"),
    "model is no model": (("predict", "points.csv", "points.csv"), "is not a hypermargin model"),
    "missing model": (("predict", "absent.npz", "points.csv"), "absent.npz"),
    "prediction off the manifold": (("predict", "good.npz", "bare.npy"), r"bare.npy: X\[0\] is not on the hyperboloid"),
    "test size": (("compare", "points.csv", "--test-size", "1.5"), "--test-size must be at least 0 and below 1"),
    "too few to hold out": (("compare", "tiny.csv"), "least populated class|test_size"),
    "space drawn": (("plot", "wide.csv", "-o", "p.png"), "only the hyperbolic plane"),
    "zoom without boundary": (("plot", "points.csv", "--zoom", "boundary", "-o", "p.png"), "give --model or --methods"),
    "tree without forest": (("plot", "points.csv", "--tree", "0", "-o", "p.png"), "--tree needs a forest"),
    "tree of a hyperplane": (
        ("plot", "points.csv", "--model", "good.npz", "--tree", "0", "-o", "p.png"),
        "needs a forest",
    ),
    "tree too many": (("plot", "points.csv", "--model", "forest.npz", "--tree", "2", "-o", "p.png"), "has 2 trees"),
    "model and methods": (("plot", "points.csv", "--model", "a", "--methods", "b", "-o", "p.png"), "not allowed with"),
    "boundaries of three": (("plot", "three.csv", "--methods", "euclidean", "-o", "p.png"), "between two classes"),
    "tiny demo": (("demo", "--size", "3"), "--size must be at least 20"),
}


@pytest.fixture
def mistakes(capsys, folder, data):
    """Files with something wrong about each."""
    X, y = data
    run_ok(capsys, *FIT[:-1], "good.npz")
    save_model(HyperbolicForestClassifier(2, random_state=0).fit(X, y), folder / "forest.npz")
    whole = (folder / "good.npz").read_bytes()
    (folder / "damaged.npz").write_bytes(whole[: len(whole) // 2])
    (folder / "nan.csv").write_text("x0,x1,label\n1,nan,a\n1,0,b\n")
    write_csv(folder / "off.csv", X[:, 1:] / (1.0 + X[:, :1]), y)
    write_csv(folder / "one.csv", X, np.zeros(len(X), dtype=int))
    write_csv(folder / "tiny.csv", X[[0, 1, 20]], y[[0, 1, 20]])
    write_csv(folder / "three.csv", X, np.arange(len(X)) % 3)
    wide = lift(np.column_stack([X[:, 1:], X[:, 1]]))
    write_csv(folder / "wide.csv", wide, y)
    np.save(folder / "wide.npy", wide)
    np.save(folder / "bare.npy", X + 0.5)
    return folder


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_on_standard_error_and_exit_code_2(capsys, mistakes, mistake):
    arguments, message = MISTAKES[mistake]
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert err.startswith("hypermargin: error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert out == ""
    assert re.search(message, err), err


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        (
            ["-c", "import sys; from hypermargin.cli import main; sys.exit(main())"],
            ["fitt"],
            "argument COMMAND: invalid",
        ),
        (["-m", "hypermargin"], ["fit", "absent.csv", "-o", "m.npz"], "there is no file absent.csv\n"),
    ],
)
def test_the_installed_command_shows_no_traceback(folder, command, arguments, message):
    done = subprocess.run([sys.executable, *command, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"hypermargin: error: {message}")
    assert done.stderr.count("\n") == 1


def test_an_unforeseen_error_is_one_line_too(capsys, folder, monkeypatch):
    def broken(self, X, y):
        raise RuntimeError("the moon is\nin the wrong place")

    monkeypatch.setattr(HyperbolicSVC, "fit", broken)
    code, _, err = run(capsys, *FIT)
    assert code == 2
    assert err.count("\n") == 1
    assert "unexpected RuntimeError: the moon is in the wrong place" in err


def test_an_interrupt_is_one_line_and_its_own_exit_code(capsys, folder, monkeypatch):
    def interrupted(self, X, y):
        raise KeyboardInterrupt

    monkeypatch.setattr(HyperbolicSVC, "fit", interrupted)
    code, _, err = run(capsys, *FIT)
    assert (code, err) == (130, "hypermargin: error: interrupted\n")
