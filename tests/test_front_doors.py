"""One problem has one objective and one bound, whichever door of the package it comes in by.

The same points, weights and sets are given in every geometry and at several curvatures. Objectives are recomputed here,
from the formulas of the paper and of the geodesic ball.
"""

import math

import numpy as np
import pytest

from hypermargin import Box, GeodesicBall, HyperbolicSVC, MarginProblem, Status, load_model, solve
from hypermargin.cli import main, pictures
from hypermargin.cli.compare import Row
from hypermargin.cli.console import write_csv
from hypermargin.geometry import GEOMETRIES, from_lorentz
from hypermargin.solvers import Solution
from reference.objective import lift

SETS = {None: None, "geodesic": GeodesicBall, "box": Box}
C, RHO, TOL = 0.7, 0.1, 1e-8


def points():
    """Two classes that overlap, 12 points and 8: what is balanced differs from what is not."""
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], [12, 8])
    return lift(0.7 * rng.normal(size=(20, 2)) + np.where(y[:, None] == 1, 0.6, -0.6)), y


def weights_of(y, weighting):
    return None if weighting is None else y.size / (2.0 * np.bincount(y))[y]


def objective_by_formula(X, y, w, weights, uncertainty):
    """``q/2 + C sum c max(0, 1 - m)/sqrt 2``; in the ball ``m = cosh(rho) m_0 - sinh(rho) sqrt(q + m_0^2)``."""
    q = w[1:] @ w[1:] - w[0] ** 2
    m = (2 * y - 1) * (X[:, 0] * w[0] - X[:, 1:] @ w[1:])
    if uncertainty == "geodesic":
        m = np.cosh(RHO) * m - np.sinh(RHO) * np.sqrt(q + m**2)
    costs = C * (np.ones(y.size) if weights is None else weights)
    return q / 2 + costs @ np.maximum(0.0, 1.0 - m) / math.sqrt(2.0)


def agree(solution, reference):
    """The same objective and the same bound up to the tolerance, the bound below the objective."""
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(reference.objective, rel=2 * TOL)
    assert solution.lower_bound == pytest.approx(reference.lower_bound, rel=2 * TOL)
    assert solution.lower_bound <= solution.objective * (1.0 + 1e-12)


@pytest.fixture
def proof_drawn(monkeypatch):
    """What `plot --proof` hands to the picture, which is not drawn."""
    drawn = []
    monkeypatch.setattr(pictures, "plot_proof", lambda *arguments: drawn.append(arguments))
    monkeypatch.setattr(pictures, "save_figure", lambda figure, path: None)
    return drawn


@pytest.mark.parametrize("uncertainty", SETS)
@pytest.mark.parametrize("weighting", [None, "balanced"])
def test_every_door_leads_to_the_same_problem(weighting, uncertainty, tmp_path, monkeypatch, capsys, proof_drawn):
    monkeypatch.chdir(tmp_path)
    X, y = points()
    weights, kind = weights_of(y, weighting), SETS[uncertainty]
    problem = MarginProblem(X, 2 * y - 1, C, weights, kind and kind(RHO))
    reference = solve(problem, tol=TOL)
    if uncertainty != "box":
        formula = objective_by_formula(X, y, reference.w, weights, uncertainty)
        assert reference.objective == pytest.approx(formula, rel=1e-12)
    for geometry in GEOMETRIES:
        for curvature in (0.25, 1.0, 4.0):
            given, rho = from_lorentz(X, geometry, curvature), RHO / math.sqrt(curvature)
            model = HyperbolicSVC(
                C=C,
                tol=TOL,
                geometry=geometry,
                curvature=curvature,
                class_weight=weighting,
                uncertainty=kind and kind(rho),
            ).fit(given, y)
            agree(model.solutions_[0], reference)
            (own,) = model.binary_problems(given, y)
            assert own.objective(model.coef_[0]) == pytest.approx(problem.objective(model.coef_[0]), rel=1e-10)
            assert model.solutions_[0].certificate.verify(own) == model.solutions_[0].lower_bound

            write_csv(tmp_path / "points.csv", given, y)
            options = ["--geometry", geometry, "--curvature", str(curvature), "-C", str(C), "--tol", str(TOL)]
            options += ["--class-weight", weighting] if weighting else []
            options += ["--uncertainty", f"{uncertainty}={rho}"] if uncertainty else []
            assert main(["fit", "points.csv", *options, "-o", "model.npz"]) == 0
            agree(load_model("model.npz").solutions_[0], reference)
            assert main(["plot", "points.csv", "--proof", *options, "-o", "proof.png"]) == 0
            shown, of_problem = proof_drawn.pop()
            agree(shown, reference)
            assert shown.certificate.verify(of_problem) == shown.lower_bound
            capsys.readouterr()
            assert main(["compare", "points.csv", "--methods", "exact", "--test-size", "0", *options]) == 0
            (row,) = [line.split() for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["exact"]]
            assert float(row[1]) == pytest.approx(reference.objective, rel=5e-6)
            assert float(row[2]) == pytest.approx(reference.lower_bound, rel=5e-6)
            assert float(row[3]) <= TOL
            assert row[4] == "✓"


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_weights_and_sets_of_single_samples_follow_them(geometry):
    """Some weights are 0 and every set has a size of its own, which the command line does not offer."""
    X, y = points()
    rng = np.random.default_rng(6)
    weights, rho = rng.uniform(0.2, 2.0, y.size) * (rng.random(y.size) > 0.2), rng.uniform(0.0, 0.2, y.size)
    reference = solve(MarginProblem(X, 2 * y - 1, C, weights, GeodesicBall(rho)), tol=TOL)
    model = HyperbolicSVC(C=C, tol=TOL, geometry=geometry, curvature=4.0, uncertainty=GeodesicBall(rho / 2.0))
    model.fit(from_lorentz(X, geometry, 4.0), y, weights)
    agree(model.solutions_[0], reference)


@pytest.mark.usefixtures("paper_data")
def test_the_problem_set_holds_the_problems_that_the_classifier_solves(tmp_path):
    from hypermargin_studies.datasets import load
    from hypermargin_studies.problem_set import certified_optima, get_problem

    for dataset, multi_class, names in (
        ("karate", "ovo", ["karate/binary/C=1"]),
        ("polbooks", "ovr", [f"polbooks/ovr/{k}/C=1" for k in range(3)]),
        ("polbooks", "ovo", [f"polbooks/ovo/{pair}/C=1" for pair in ("0-1", "0-2", "1-2")]),
    ):
        X, y = load(dataset)
        model = HyperbolicSVC(multi_class=multi_class).fit(X, y)
        for name, solution in zip(names, model.solutions_, strict=True):
            assert get_problem(name).objective(solution.w) == pytest.approx(solution.objective, rel=1e-12)
            optimum = certified_optima()[name]
            assert solution.objective >= optimum.lower * (1.0 - 1e-12)
            assert solution.lower_bound <= optimum.upper * (1.0 + 1e-12)
    out = tmp_path / "scores.csv"
    assert main(["score", "exact", "--problems", "karate/binary/C=1", "-o", str(out)]) == 0
    scored = out.read_text().splitlines()[1].split(",")
    karate = HyperbolicSVC().fit(*load("karate")).solutions_[0]
    assert float(scored[1]) == pytest.approx(karate.objective, rel=1e-6)


@pytest.mark.parametrize(("objective", "ticked"), [(8.0, True), (8.0 - 1e-12, True), (8.0 - 1e-6, False), (7.6, False)])
def test_no_tick_where_the_bound_lies_above_the_objective(objective, ticked):
    """Whatever the status says: one of the two is then wrong."""

    class Fitted:
        solutions_ = (Solution(np.zeros(3), objective, 8.0, Status.OPTIMAL, "exact"),)

    assert Fitted.solutions_[0].is_proved is ticked
    assert Row("exact", objective, 8.0, 1.0, 0.0, Fitted()).is_proved is ticked
    right = Fitted()
    right.solutions_ = (Solution(np.zeros(3), 8.0, 8.0, Status.OPTIMAL, "exact"),)
    assert Row("exact", objective, 8.0, 1.0, 0.0, right).is_proved is ticked, "the row itself must not contradict it"
