"""The original loss through the estimator and the command line, judged by hand-written objectives and random search."""

import numpy as np
import pytest
from sklearn.base import clone

from hypermargin import HyperbolicSVC, Status
from hypermargin.cli import main
from hypermargin.cli.console import write_csv
from hypermargin.estimators import load_model
from hypermargin.geometry.lorentz import lift
from reference.asinh_judges import asinh_objective, best_by_random_search


def with_outliers(seed=0, n=30, outliers=3):
    """Two classes apart, and a few points far on the wrong side."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1, -1)
    V = 0.3 * rng.normal(size=(n, 2))
    V[:, 0] += 0.8 * y
    V[:outliers] = [8.0, 0.0] + 0.1 * rng.normal(size=(outliers, 2))
    y[:outliers] = -1
    return lift(V), y, np.arange(n) >= outliers


def test_the_optimum_is_that_of_the_original_objective():
    X, y, _ = with_outliers()
    model = HyperbolicSVC(C=1.0, loss="asinh", tol=1e-3).fit(X, y)
    (solution,) = model.solutions_
    assert solution.status is Status.OPTIMAL
    assert solution.loss == "asinh"
    costs = np.ones(len(y))
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    value = asinh_objective(solution.w, X, signs, costs)[0]
    assert value == pytest.approx(solution.objective, rel=1e-9)
    found = best_by_random_search(X, signs, costs, np.random.default_rng(1))
    assert solution.lower_bound <= found
    assert value <= found * (1.0 + 1e-3)
    hinge = HyperbolicSVC(C=1.0).fit(X, y).solutions_[0]
    assert value <= asinh_objective(hinge.w, X, signs, costs)[0] * (1.0 + 1e-3)


def test_outliers_turn_the_hinge_and_not_the_original_loss():
    X, y, clean = with_outliers()
    original = HyperbolicSVC(C=1.0, loss="asinh", tol=1e-3).fit(X, y)
    hinge = HyperbolicSVC(C=1.0).fit(X, y)
    assert original.score(X[clean], y[clean]) == 1.0
    assert hinge.score(X[clean], y[clean]) < 1.0


def test_weights_of_classes_and_samples_are_in_the_objective():
    X, y, _ = with_outliers(n=20)
    weight = np.linspace(0.5, 2.0, len(y))
    model = HyperbolicSVC(C=0.7, loss="asinh", class_weight={-1: 2.0, 1: 0.5}, tol=1e-2)
    (solution,) = model.fit(X, y, sample_weight=weight).solutions_
    costs = 0.7 * weight * np.where(y == -1, 2.0, 0.5)
    assert solution.objective == pytest.approx(asinh_objective(solution.w, X, y, costs)[0], rel=1e-9)
    assert solution.lower_bound <= best_by_random_search(X, y, costs, np.random.default_rng(2))


def test_a_path_gives_the_optima_of_single_fits():
    X, y, _ = with_outliers(n=16, outliers=1)
    model = HyperbolicSVC(loss="asinh", tol=1e-2)
    for C, fitted in zip([0.1, 1.0], model.fit_path(X, y, [0.1, 1.0]), strict=True):
        (alone,), (along,) = clone(model).set_params(C=C).fit(X, y).solutions_, fitted.solutions_
        assert along.status is alone.status is Status.OPTIMAL
        assert along.lower_bound <= alone.objective
        assert alone.lower_bound <= along.objective


def test_a_method_without_this_loss_is_named():
    X, y, _ = with_outliers(n=10)
    with pytest.raises(ValueError, match="'euclidean' does not minimise the loss 'asinh'"):
        HyperbolicSVC(solver="euclidean", loss="asinh").fit(X, y)


def test_the_command_fits_it_and_keeps_the_proof(tmp_path, capsys):
    X, y, _ = with_outliers(n=20)
    write_csv(tmp_path / "points.csv", X, y)
    data, file = str(tmp_path / "points.csv"), str(tmp_path / "model.npz")
    assert main(["fit", data, "--loss", "asinh", "--tol", "1e-2", "--output", file]) == 0
    assert "1 x Optimal" in capsys.readouterr().out
    (solution,) = load_model(file).solutions_
    assert solution.loss == "asinh"
    assert asinh_objective(solution.w, X, y, np.ones(20))[0] == pytest.approx(solution.objective, rel=1e-9)
    assert main(["fit", data, "--loss", "asinh", "--solver", "euclidean", "--output", file]) == 2
    assert "does not minimise the loss 'asinh'" in capsys.readouterr().err
