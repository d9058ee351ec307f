"""`hypermargin certificate`: saved by one command, shown by another, checked against the data by a third."""

import json
import re

import numpy as np
import pytest

from hypermargin import Certificate, HyperbolicSVC, solve
from hypermargin.cli import main
from hypermargin.cli.console import write_csv
from reference.objective import lift


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    y = np.repeat(["ash", "elm", "oak"], 12)
    centres = np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
    return lift(np.repeat(centres, 12, axis=0) + 0.6 * rng.normal(size=(36, 2))), y


@pytest.fixture
def folder(tmp_path, data, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "points.csv", *data)
    X, y = data
    write_csv(tmp_path / "others.csv", lift(1.01 * X[:, 1:]), y)
    return tmp_path


def run_ok(capsys, *arguments):
    code = main(list(arguments))
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return captured.out


def run_wrong(capsys, *arguments):
    """The one line on standard error."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.strip().splitlines()
    return line


def bound_in(out):
    return float(re.search(r"(?m)^lower bound\s+(\S+)$", out)[1])


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_saved_certificates_check_against_the_data_they_are_about(capsys, folder, data, scheme):
    options = ["--multi-class", scheme, "-C", "3", "--class-weight", "balanced", "--uncertainty", "geodesic=0.05"]
    out = run_ok(capsys, "fit", "points.csv", "-o", "model.npz", "--certificates", "proofs", *options)
    sides = re.findall(r"wrote proofs\S*\.json: (.*), lower bound", out)
    expected = {"ovo": ["elm against ash", "oak against ash", "oak against elm"], "ovr": None}[scheme]
    assert sides == (expected or [f"{name} against the rest" for name in ("ash", "elm", "oak")])
    assert run_ok(capsys, "certificate", "save", "model.npz", "-o", "again") == "".join(
        line.replace("proofs", "again") + "\n" for line in out.splitlines() if "proofs" in line
    )
    X, y = data
    model = HyperbolicSVC(C=3.0, multi_class=scheme, class_weight="balanced").fit(X, y)
    for k, side in enumerate(sides, start=1):
        path = f"again/problem-{k}.json"
        described = ["--class-weight", "balanced", "--uncertainty", "geodesic=0.05"]
        for how in (described, ["--model", "model.npz"], ["--model", "model.npz", "--by-arb"]):
            out = run_ok(capsys, "certificate", "check", path, "points.csv", *how)
            assert side in out
            bound = bound_in(out)
            assert bound == pytest.approx(Certificate.load(path).statement.bound, rel=1e-9)
        # Robust margins are smaller, so the plain optimum is no larger.
        assert bound >= model.solutions_[k - 1].lower_bound
        assert "C is 2 here and 3 there" in run_wrong(
            capsys, "certificate", "check", path, "points.csv", "-C", "2", *described
        )


def test_show_says_what_is_proved(capsys, folder):
    run_ok(
        capsys, "fit", "points.csv", "-o", "m.npz", "--certificates", "proofs", "--uncertainty", "box=0.1", "-C", "2"
    )
    out = run_ok(capsys, "certificate", "show", "proofs/problem-1.json", "proofs/problem-2.json")
    stated = Certificate.load("proofs/problem-2.json").statement
    for words in (
        "no boundary has a smaller objective",
        "soft margin, hinge loss, C = 2, worst case over Box(rho=0.1)",
        "24 points in dimension 2",
        f"lower bound  {stated.bound:.10g}",
        f"objective    {stated.objective:.10g}",
        "written by   hypermargin",
    ):
        assert words in out
    run_ok(capsys, "fit", "points.csv", "-o", "m.npz", "--certificates", "hard", "-C", "inf", "--multi-class", "ovr")
    assert "no hyperplane separates the classes" in run_ok(capsys, "certificate", "show", "hard/problem-1.json")


def test_other_data_is_refused_and_a_bound_for_it_can_be_asked(capsys, folder, data):
    run_ok(capsys, "fit", "points.csv", "-o", "m.npz", "--certificates", "proofs")
    check = ["certificate", "check", "proofs/problem-1.json", "others.csv"]
    line = run_wrong(capsys, *check)
    assert "proofs/problem-1.json does not hold for others.csv" in line
    assert "the points are others" in line
    assert "the labels" not in line, "the problem most like it is the one of the same classes"
    out = run_ok(capsys, *check, "--another-problem")
    bound = bound_in(out)
    X, y = data
    problem = HyperbolicSVC().binary_problems(lift(1.01 * X[:, 1:]), y)[0]
    assert bound <= solve(problem).objective


def test_files_of_old_need_to_be_told_their_problem(capsys, folder):
    run_ok(capsys, "fit", "points.csv", "-o", "m.npz", "--certificates", "proofs", "-C", "2")
    plain = json.loads((folder / "proofs" / "problem-3.json").read_text())
    bound = plain.pop("statement")["bound"]
    (folder / "old.json").write_text(json.dumps(plain))
    check = ["certificate", "check", "old.json", "points.csv"]
    assert "not stated" in run_ok(capsys, "certificate", "show", "old.json")
    assert "give it with -C" in run_wrong(capsys, *check)
    assert "choose one of 3 with --problem" in run_wrong(capsys, *check, "-C", "2")
    assert "--problem 4" in run_wrong(capsys, *check, "-C", "2", "--problem", "4")
    for how in (["-C", "2"], ["--model", "m.npz"]):
        out = run_ok(capsys, *check, *how, "--problem", "3")
        assert bound_in(out) == pytest.approx(bound, rel=1e-9)


def test_errors_name_the_file(capsys, folder):
    run_ok(capsys, "fit", "points.csv", "-o", "m.npz", "--solver", "euclidean")
    assert "m.npz holds no certificates" in run_wrong(capsys, "certificate", "save", "m.npz", "-o", "proofs")
    assert "m.npz is not a certificate file" in run_wrong(capsys, "certificate", "show", "m.npz")
    (folder / "broken.json").write_text('{"format": "hypermargin-certificate-1", "centre": [0]}')
    message = run_wrong(capsys, "certificate", "show", "broken.json")
    assert "broken.json: the certificate is damaged" in message
    (folder / "foreign.json").write_text("[1, 2]")
    assert "foreign.json: this is not a certificate" in run_wrong(
        capsys, "certificate", "check", "foreign.json", "points.csv"
    )
    assert "nowhere.json" in run_wrong(capsys, "certificate", "show", "nowhere.json")


@pytest.mark.parametrize(
    "options",
    [
        ("--model", "kernel", "--kernel", "laplacian=0.7"),
        ("--model", "curve"),
        ("--model", "kernel", "--landmarks", "9"),
    ],
    ids=["kernel", "curve", "landmarks"],
)
def test_certificates_of_other_models_are_checked_as_well(capsys, folder, options):
    run_ok(capsys, "fit", "points.csv", "-o", "m.npz", "--certificates", "proofs", "-C", "2", *options)
    path = "proofs/problem-2.json"
    stated = Certificate.load(path).statement
    assert stated.model in run_ok(capsys, "certificate", "show", path)
    hows = [("--model", "m.npz")]
    if "--landmarks" in options:
        assert "give the model with --model" in run_wrong(capsys, "certificate", "check", path, "points.csv")
    else:
        hows.append(())
        assert "the points are others" in run_wrong(capsys, "certificate", "check", path, "others.csv")
    for how in hows:
        out = run_ok(capsys, "certificate", "check", path, "points.csv", *how)
        assert "oak against ash" in out
        assert bound_in(out) == pytest.approx(stated.bound, rel=1e-9)
