"""Fits of many small problems: each is proved, is the answer that `solve` gives, and is told when somebody asks."""

import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hypermargin import HyperbolicSVC, Status, solve
from hypermargin.certificates import SoftMarginCertificate
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators import load_model, save_model
from hypermargin.estimators.calibration import fit_platt
from hypermargin.geometry import boost, lift
from hypermargin.geometry.models import from_lorentz
from hypermargin.problems import GeodesicBall
from hypermargin.solvers.exact.runs import QuickResult


@pytest.fixture(scope="module")
def data():
    return make_gaussian_mixture([30, 12, 25, 8, 40], 5, scale=0.6, random_state=0, return_X_y=True)


def was_small(model):
    """The binary problems that were solved without objects in between."""
    return np.array([isinstance(answer, QuickResult) for answer in model._results.results])


def one_by_one(model, X, y, **weights):
    return [solve(problem, time_limit=1e6) for problem in model.binary_problems(X, y, **weights)]


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("weights", ["none", "samples", "classes"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_each_answer_is_that_of_the_problem_alone(data, multi_class, weights, C):
    X, y = data
    rng = np.random.default_rng(0)
    given = {"sample_weight": rng.uniform(0.5, 2.0, size=len(y))} if weights == "samples" else {}
    model = HyperbolicSVC(C=C, multi_class=multi_class, class_weight="balanced" if weights == "classes" else None)
    model.fit(X, y, **given)
    assert np.count_nonzero(was_small(model)) >= len(model.coef_) // 2
    problems, alone = model.binary_problems(X, y, **given), one_by_one(model, X, y, **given)
    assert len(model.solutions_) == len(alone)
    for k, (solution, expected) in enumerate(zip(model.solutions_, alone, strict=True)):
        assert solution.status is expected.status is Status.OPTIMAL
        assert max(solution.lower_bound, expected.lower_bound) <= min(solution.objective, expected.objective)
        assert solution.objective == pytest.approx(expected.objective, rel=1e-7)
        np.testing.assert_array_equal(model.coef_[k], solution.w)
        assert model.gaps_[k] == solution.gap <= 1e-6
        assert model.n_iter_[k] == solution.n_iter
        assert isinstance(solution.certificate, SoftMarginCertificate)
        assert solution.certificate.verify(problems[k]) == solution.lower_bound
        assert solution.certificate.verify(problems[k], by_arb=True) == pytest.approx(solution.lower_bound, rel=1e-9)
    assert model.statuses_ == [solution.status for solution in model.solutions_]


def degenerate_classes():
    """Classes of one sample, of the same points as another, far from all others, and of ordinary ones."""
    rng = np.random.default_rng(3)
    ordinary, other = lift(rng.normal(size=(15, 2))), lift(rng.normal(size=(12, 2)) + 0.7)
    far = lift((lift(rng.normal(size=(6, 2))) @ boost(lift(np.array([np.sinh(8.0), 0.0]))).T)[:, 1:])
    alone = lift(np.array([[0.3, -0.2]]))
    X = np.vstack([ordinary, other, far, alone, ordinary])
    return X, np.repeat(["ordinary", "other", "far", "alone", "twins"], [15, 12, 6, 1, 15])


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_degenerate_problems_among_others_end_as_they_do_alone(multi_class, C):
    X, y = degenerate_classes()
    model = HyperbolicSVC(C=C, multi_class=multi_class)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    for solution, expected in zip(model.solutions_, one_by_one(model, X, y), strict=True):
        assert solution.is_proved >= expected.is_proved
        assert max(solution.lower_bound, expected.lower_bound) <= min(solution.objective, expected.objective)
        assert solution.gap <= max(1e-6, 1.01 * expected.gap)


def test_hard_margins_are_not_small_problems(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="No hyperplane separates"):
        model = HyperbolicSVC(C=np.inf).fit(X, y)
    expected = [solve(problem) for problem in model.binary_problems(X, y)]
    assert model.statuses_ == [solution.status for solution in expected]
    assert model._results.problem_of is None  # nothing is put off


def test_probabilities_are_those_of_the_training_scores(data):
    X, y = data
    model = HyperbolicSVC(C=3.0).fit(X, y)
    problems = model.binary_problems(X, y)
    for k, problem in enumerate(problems):
        scores = problem.margins(model.coef_[k]) * problem.y
        A, B = fit_platt(np.array([scores.size]), lambda run, s=scores, p=problem: (s, p.y > 0.0, None))
        assert model.probA_[k] == pytest.approx(A[0], rel=1e-6)
        assert model.probB_[k] == pytest.approx(B[0], rel=1e-6, abs=1e-9)
    probability = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])


@pytest.mark.parametrize("way", ["pickle", "joblib", "file"])
@pytest.mark.parametrize("asked", [False, True])
def test_models_are_kept_whole_whether_somebody_asked_or_not(data, way, asked, tmp_path):
    X, y = data
    model = HyperbolicSVC().fit(X, y)
    if asked:
        assert len(model.solutions_) == len(model.probA_) == 10
    if way == "pickle":
        again = pickle.loads(pickle.dumps(model))
    elif way == "joblib":
        joblib.dump(model, tmp_path / "model.joblib")
        again = joblib.load(tmp_path / "model.joblib")
    else:
        save_model(model, tmp_path / "model.npz")
        again = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.statuses_ == model.statuses_
    for one, other, problem in zip(again.solutions_, model.solutions_, model.binary_problems(X, y), strict=True):
        assert one.certificate.verify(problem) == other.lower_bound
        assert one.history["objective"][-1] == other.history["objective"][-1]
    half = np.arange(len(y)) % 2 == 0
    again.fit(X[half], y[half])  # what a file held must not outlive a fit
    fresh = HyperbolicSVC().fit(X[half], y[half])
    np.testing.assert_array_equal(again.probA_, fresh.probA_)
    assert [s.objective for s in again.solutions_] == [s.objective for s in fresh.solutions_]


def test_a_fit_of_another_kind_leaves_nothing_of_the_last(data):
    X, y = data
    model = HyperbolicSVC().fit(X, y)
    before = model.solutions_[0].objective
    model.set_params(uncertainty=GeodesicBall(0.05)).fit(X, y)
    assert model._results.problem_of is None  # nothing is put off
    assert model.solutions_[0].objective > before
    model.set_params(uncertainty=None).fit(X, y)
    assert model.solutions_[0].objective == before
    np.testing.assert_array_equal(model.probA_, HyperbolicSVC().fit(X, y).probA_)


def test_what_is_not_fitted_has_no_solutions(data):
    model = HyperbolicSVC()
    for name in ("solutions_", "probA_", "probB_"):
        assert not hasattr(model, name)
    assert not hasattr(clone(HyperbolicSVC().fit(*data)), "solutions_")
    check_is_fitted(HyperbolicSVC().fit(*data))


def test_workers_come_to_the_same_answers(data):
    X, y = data
    one, two = (HyperbolicSVC(n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.probA_, two.probA_)
    assert [s.lower_bound for s in one.solutions_] == [s.lower_bound for s in two.solutions_]


@pytest.mark.parametrize("geometry", ["poincare", "klein", "halfspace", "tangent"])
def test_other_coordinates_and_curvatures_are_the_same_problems(data, geometry):
    X, y = data
    scaled = from_lorentz(X, geometry, 4.0)
    model, expected = HyperbolicSVC(geometry=geometry, curvature=4.0).fit(scaled, y), HyperbolicSVC().fit(X, y)
    for one, other in zip(model.solutions_, expected.solutions_, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=2e-6)


def test_costs_beyond_reach_are_an_error(data):
    X, y = data
    with pytest.raises(ValueError, match="C times the sample weights"):
        HyperbolicSVC(C=1e200).fit(X, y)
