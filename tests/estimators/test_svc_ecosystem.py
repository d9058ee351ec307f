"""HyperbolicSVC among other tools: pipelines, searches, pandas, joblib, pickle, skops, progress bars, seeds."""

import pickle
from dataclasses import dataclass
from typing import ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from hypermargin.estimators import HyperbolicSVC
from hypermargin.geometry.models import from_lorentz
from hypermargin.problems import GeodesicBall
from hypermargin.solvers import Outcome, Solver, Status, base


def test_pipeline_and_grid_search_choose_the_best_score(four_blobs):
    X, y = four_blobs
    pipeline = make_pipeline(
        FunctionTransformer(from_lorentz, kw_args={"geometry": "tangent"}),
        StandardScaler(),
        HyperbolicSVC(solver="euclidean", geometry="tangent"),
    )
    grid = {"hyperbolicsvc__C": [1e-4, 1.0], "hyperbolicsvc__multi_class": ["ovo", "ovr"]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    for parameters, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        again = cross_val_predict(clone(pipeline).set_params(**parameters), X, y, cv=search.cv)
        assert abs(np.mean(again == y) - score) < 0.01  # Folds of unequal size weigh samples a little differently.
    assert search.best_score_ == search.cv_results_["mean_test_score"].max() > 0.8


def test_clone_is_unfitted_and_equal(two_blobs):
    model = HyperbolicSVC(solver="euclidean", C=3.0, solver_options={"center": "given"}).fit(*two_blobs)
    copy = clone(model)
    assert not hasattr(copy, "coef_")
    assert copy.get_params() == model.get_params()


def test_pandas_input_keeps_names_and_refuses_others(two_blobs):
    X, y = two_blobs
    frame = pd.DataFrame(X, columns=["time", "east", "north"])
    model = HyperbolicSVC(solver="euclidean").fit(frame, pd.Series(y).map({0: "a", 1: "b"}))
    assert_array_equal(model.feature_names_in_, ["time", "east", "north"])
    reference = HyperbolicSVC(solver="euclidean").fit(X, y)
    assert_array_equal(model.coef_, reference.coef_)
    assert_array_equal(model.predict(frame) == "b", reference.predict(X) == 1)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"east": "west"}))


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_workers_do_not_change_the_answer(four_blobs, backend):
    X, y = four_blobs
    alone = HyperbolicSVC(solver="euclidean").fit(X, y)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        together = HyperbolicSVC(solver="euclidean").fit(X, y)
    assert_array_equal(alone.coef_, together.coef_)
    assert_array_equal(alone.predict_proba(X), together.predict_proba(X))
    assert alone.statuses_ == together.statuses_


def test_n_jobs_does_not_change_the_answer(four_blobs, solver):
    X, y = four_blobs
    alone = HyperbolicSVC(solver=solver).fit(X, y)
    with joblib.parallel_config(backend="threading"):
        together = HyperbolicSVC(solver=solver, n_jobs=3).fit(X, y)
    assert_array_equal(alone.coef_, together.coef_)


def test_pickle_round_trip(four_blobs, solver):
    X, y = four_blobs
    model = HyperbolicSVC(solver=solver).fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.statuses_ == model.statuses_
    assert [s.lower_bound for s in loaded.solutions_] == [s.lower_bound for s in model.solutions_]


def test_skops_round_trip_needs_to_trust_the_classifier_only(four_blobs, solver):
    X, y = four_blobs
    model = HyperbolicSVC(solver=solver).fit(X, np.array(["a", "b", "c", "d"])[y])
    data = skops.io.dumps(model)
    untrusted = skops.io.get_untrusted_types(data=data)
    assert untrusted == ["hypermargin.estimators.svc.HyperbolicSVC"]
    loaded = skops.io.loads(data, trusted=untrusted)
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.statuses_ == model.statuses_
    assert loaded.solutions_[0].status is model.solutions_[0].status
    assert_array_equal(loaded.solutions_[0].w, model.solutions_[0].w)


def test_verbose_shows_a_progress_bar(four_blobs, capsys):
    HyperbolicSVC(solver="euclidean").fit(*four_blobs)
    assert capsys.readouterr() == ("", "")
    HyperbolicSVC(solver="euclidean", verbose=1).fit(*four_blobs)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "binary problems" in shown.err
    assert "100%" in shown.err


@dataclass(frozen=True)
class SeededSolver(Solver):
    """Returns a random w, and the status it was told to."""

    name: ClassVar[str] = "seeded"
    summary: ClassVar[str] = "a random hyperplane"
    random_state: int | None = None
    status: str = "CONVERGED"

    def run(self, problem, tol):
        space = np.random.default_rng(self.random_state).normal(size=problem.dim)
        return Outcome(w=np.r_[0.0, space], status=Status[self.status], info={"seed": self.random_state})


def test_random_state_gives_every_problem_its_own_seed(four_blobs, monkeypatch):
    monkeypatch.setitem(base._REGISTRY, "seeded", SeededSolver)
    first, second = (HyperbolicSVC(solver="seeded", random_state=5).fit(*four_blobs) for _ in range(2))
    assert_array_equal(first.coef_, second.coef_)
    assert len({solution.info["seed"] for solution in first.solutions_}) == 6
    other = HyperbolicSVC(solver="seeded", random_state=np.random.RandomState(6)).fit(*four_blobs)
    assert np.abs(other.coef_ - first.coef_).max() > 1e-3
    unseeded = HyperbolicSVC(solver="seeded").fit(*four_blobs)
    assert {solution.info["seed"] for solution in unseeded.solutions_} == {None}


def test_random_state_is_ignored_by_solvers_without_the_option(two_blobs):
    seeded = HyperbolicSVC(solver="euclidean", random_state=1).fit(*two_blobs)
    assert_array_equal(seeded.coef_, HyperbolicSVC(solver="euclidean").fit(*two_blobs).coef_)


@pytest.mark.parametrize("status", [Status.TIME_LIMIT, Status.INFEASIBLE, Status.FAILED])
def test_a_solve_that_ended_badly_is_a_warning(four_blobs, monkeypatch, status):
    monkeypatch.setitem(base._REGISTRY, "seeded", SeededSolver)
    model = HyperbolicSVC(solver="seeded", random_state=0, solver_options={"status": status.name})
    with pytest.warns(ConvergenceWarning, match=f"6 of 6 binary problems ended so: {status.value}"):
        model.fit(*four_blobs)
    assert model.statuses_ == [status] * 6


@dataclass(frozen=True)
class RadiiSolver(Solver):
    """Reports how far each radius is from the coordinate it was made of."""

    name: ClassVar[str] = "radii"
    summary: ClassVar[str] = "checks the order of the uncertainty set"
    capabilities: ClassVar[frozenset[str]] = frozenset({"uncertainty"})

    def run(self, problem, tol):
        mismatch = float(np.abs(problem.uncertainty.rho - np.abs(problem.X[:, 1])).max())
        info = {"mismatch": mismatch, "n_samples": problem.n_samples}
        return Outcome(w=np.zeros(problem.dim + 1), status=Status.CONVERGED, info=info)


@pytest.mark.parametrize(("multi_class", "n_samples"), [("ovo", 48), ("ovr", 96)])
def test_an_uncertainty_set_follows_its_samples(four_blobs, monkeypatch, multi_class, n_samples):
    monkeypatch.setitem(base._REGISTRY, "radii", RadiiSolver)
    X, y = four_blobs
    weight = np.ones(y.size)
    for k in range(4):
        weight[np.flatnonzero(y == k)[0]] = 0.0
    model = HyperbolicSVC(solver="radii", multi_class=multi_class, uncertainty=GeodesicBall(np.abs(X[:, 1]))).fit(
        X, y, weight
    )
    assert {solution.info["mismatch"] for solution in model.solutions_} == {0.0}
    assert {solution.info["n_samples"] for solution in model.solutions_} == {n_samples}
