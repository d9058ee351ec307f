"""HyperbolicSVC: conventions of scikit-learn's SVC, labels, weights, geometries and capabilities."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_sample_weight

from hypermargin.estimators import HyperbolicSVC
from hypermargin.geometry.lorentz import minkowski_dot
from hypermargin.geometry.models import convert, from_lorentz
from hypermargin.problems import GeodesicBall, MarginProblem
from hypermargin.solvers import solve
from reference.objective import lift


def ambient(**parameters):
    return HyperbolicSVC(solver="euclidean", **parameters)


# -- conventions -------------------------------------------------------------------------------------------------------


def test_two_classes_follow_the_sign_convention_of_svc(two_blobs):
    # With an intercept the ambient solver is SVC(kernel="linear") with C / sqrt2, and x * w only flips signs of w.
    X, y = two_blobs
    ours = ambient(fit_intercept=True).fit(X, y)
    theirs = SVC(kernel="linear", C=1 / np.sqrt(2), tol=1e-9).fit(X, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.coef_[:, 1:], -theirs.coef_[:, 1:], atol=1e-5)


def test_one_vs_one_follows_svc(four_blobs):
    X, y = four_blobs
    ours = ambient(fit_intercept=True).fit(X, y)
    theirs = SVC(kernel="linear", C=1 / np.sqrt(2), tol=1e-9, decision_function_shape="ovo").fit(X, y)
    scores = minkowski_dot(X[:, None], ours.coef_) + ours.intercept_
    # In libsvm the first class of a pair is +1, here the second, as with two classes.
    assert_allclose(scores, -theirs.decision_function(X), rtol=1e-6, atol=1e-5)
    votes = np.sort(np.floor(ours.decision_function(X)), axis=1)
    clear = votes[:, -1] > votes[:, -2]
    assert clear.mean() > 0.9
    assert_array_equal(ours.predict(X)[clear], theirs.predict(X)[clear])


def test_problems_are_those_of_sklearns_meta_estimators(four_blobs, solver):
    X, y = four_blobs
    pairs = OneVsOneClassifier(HyperbolicSVC(solver=solver)).fit(X, y)
    ovo = HyperbolicSVC(solver=solver).fit(X, y)
    assert_allclose(ovo.coef_, np.concatenate([binary.coef_ for binary in pairs.estimators_]), rtol=1e-12, atol=1e-14)
    rest = OneVsRestClassifier(ambient()).fit(X, y)
    ovr = ambient(multi_class="ovr", calibration="platt").fit(X, y)
    assert_allclose(ovr.coef_, np.concatenate([binary.coef_ for binary in rest.estimators_]), rtol=1e-6, atol=1e-8)
    assert_allclose(ovr.probA_, [binary.probA_[0] for binary in rest.estimators_], rtol=1e-5)
    assert_allclose(ovr.probB_, [binary.probB_[0] for binary in rest.estimators_], rtol=1e-5, atol=1e-7)


def test_solutions_are_those_of_solve(two_blobs, solver):
    X, y = two_blobs
    model = HyperbolicSVC(solver=solver, C=0.5).fit(X, y)
    direct = solve(MarginProblem(X, 2.0 * y - 1.0, C=0.5), solver)
    (solution,) = model.solutions_
    assert_allclose(solution.objective, direct.objective, rtol=2e-6)
    assert_array_equal(model.coef_[0], solution.w)
    assert_array_equal(model.gaps_, [solution.gap])
    assert model.statuses_ == [solution.status]
    assert_array_equal(model.n_iter_, [solution.n_iter])
    assert_allclose(model.decision_function(X), minkowski_dot(X, model.coef_[0]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_binary_problems_are_those_that_fit_solved(four_blobs, solver, multi_class):
    X, y = four_blobs
    weight = np.random.default_rng(5).uniform(0.5, 2.0, size=y.size)
    model = HyperbolicSVC(solver=solver, multi_class=multi_class, C=0.7).fit(X, y, weight)
    problems = model.binary_problems(X, y, weight)
    assert len(problems) == len(model.solutions_)
    for k, (problem, solution) in enumerate(zip(problems, model.solutions_, strict=True)):
        assert 0.0 <= solution.objective / problem.objective(solution.w) - 1.0 <= 1e-11  # an upper end, rounding apart
        if solution.certificate is not None:
            assert solution.certificate.verify(problem) <= solution.objective
        if multi_class == "ovr":
            by_hand = MarginProblem(X, np.where(y == k, 1.0, -1.0), 0.7, weight)
            assert_allclose(problem.risk(solution.w), by_hand.risk(solution.w), rtol=1e-12)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_prediction_is_the_same_in_one_row_or_many_chunks(four_blobs, multi_class, monkeypatch):
    X, y = four_blobs
    model = ambient(multi_class=multi_class).fit(X, y)
    whole = model.predict_proba(X)
    monkeypatch.setattr("hypermargin.estimators.solved.CHUNK_ENTRIES", 150)
    assert_allclose(model.predict_proba(X), whole, rtol=1e-12, atol=1e-15)
    assert_array_equal(model.classes_[np.argmax(whole, axis=1)], model.predict(X))


# -- labels ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([0, 1], dtype=np.uint8),
        np.array([250, 255], dtype=np.uint8),
        np.array([-1.0, 2.0]),
        np.array([False, True]),
        np.array([-1, 1], dtype=np.int8),
    ],
    ids=lambda labels: f"{labels.dtype}-{labels[0]}",
)
def test_any_label_dtype_gives_the_same_classifier(two_blobs, labels):
    X, y = two_blobs
    reference = ambient().fit(X, y)
    model = ambient().fit(X, labels[y])
    assert_array_equal(model.coef_, reference.coef_)
    assert_array_equal(model.classes_, labels)
    assert model.predict(X).dtype == labels.dtype
    assert_array_equal(model.predict(X), labels[reference.predict(X)])


# -- weights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_weight_equals_repetition_and_zero_equals_absence(four_blobs, solver, multi_class):
    X, y = four_blobs
    times = np.random.default_rng(0).integers(0, 4, size=y.size)
    weighted = HyperbolicSVC(solver=solver, multi_class=multi_class).fit(X, y, sample_weight=times)
    repeated = HyperbolicSVC(solver=solver, multi_class=multi_class).fit(X.repeat(times, axis=0), y.repeat(times))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-12, atol=1e-14)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-12)


def test_the_objective_counts_weights_as_repetitions(two_blobs, solver):
    # Merged rows must not change the problem: the objective is that of the data as given.
    X, y = two_blobs
    times = np.random.default_rng(1).integers(1, 4, size=y.size)
    model = HyperbolicSVC(solver=solver, allow_timelike=solver == "euclidean").fit(X, y, sample_weight=times)
    repeated = MarginProblem(X.repeat(times, axis=0), 2.0 * y.repeat(times) - 1, allow_timelike=solver == "euclidean")
    assert_allclose(model.solutions_[0].objective, repeated.objective(model.coef_[0]), rtol=1e-12)


def test_the_order_of_samples_does_not_matter(four_blobs, solver):
    X, y = four_blobs
    order = np.random.default_rng(2).permutation(y.size)
    first, second = (HyperbolicSVC(solver=solver).fit(X[rows], y[rows]) for rows in (np.arange(y.size), order))
    assert_array_equal(first.coef_, second.coef_)
    assert_array_equal(first.predict_proba(X), second.predict_proba(X))


def test_class_weight_multiplies_sample_weight(four_blobs):
    X, y = four_blobs
    own = np.random.default_rng(3).uniform(0.5, 2.0, size=y.size)
    factors = {0: 2.0, 2: 0.25}
    by_class = ambient(class_weight=factors).fit(X, y, sample_weight=own)
    by_sample = ambient().fit(X, y, sample_weight=own * compute_sample_weight(factors, y))
    assert_array_equal(by_class.coef_, by_sample.coef_)
    assert_array_equal(by_class.predict_proba(X), by_sample.predict_proba(X))


def test_balanced_weights_are_sklearns_and_count_weights(four_blobs):
    X, y = four_blobs
    keep = np.flatnonzero((y != 1) | (np.arange(y.size) % 3 == 0))
    X, y = X[keep], y[keep]
    balanced = ambient(class_weight="balanced").fit(X, y)
    by_sample = ambient().fit(X, y, sample_weight=compute_sample_weight("balanced", y))
    assert_allclose(balanced.coef_, by_sample.coef_, rtol=1e-7, atol=1e-9)
    times = np.random.default_rng(4).integers(1, 4, size=y.size)
    weighted = ambient(class_weight="balanced").fit(X, y, sample_weight=times)
    repeated = ambient(class_weight="balanced").fit(X.repeat(times, axis=0), y.repeat(times))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8, atol=1e-10)


# -- geometry ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("geometry", ["poincare", "klein", "halfspace", "tangent"])
def test_coordinates_do_not_change_the_classifier(four_blobs, geometry):
    X, y = four_blobs
    reference = ambient().fit(X, y)
    model = ambient(geometry=geometry).fit(from_lorentz(X, geometry), y)
    assert_allclose(model.coef_, reference.coef_, rtol=1e-5, atol=1e-7)
    assert_allclose(model.predict_proba(from_lorentz(X, geometry)), reference.predict_proba(X), atol=1e-6)
    assert model.n_features_in_ == 2
    assert reference.n_features_in_ == 3


@pytest.mark.parametrize("geometry", ["lorentz", "poincare", "tangent"])
def test_curvature_is_a_change_of_units(four_blobs, geometry):
    X, y = four_blobs
    reference = ambient().fit(X, y)
    scaled = convert(X / np.sqrt(0.25), "lorentz", geometry, curvature=0.25)
    model = ambient(geometry=geometry, curvature=0.25).fit(scaled, y)
    assert_allclose(model.coef_, reference.coef_, rtol=1e-5, atol=1e-7)
    assert_array_equal(model.predict(scaled), reference.predict(X))


# -- capabilities and solvers' options ---------------------------------------------------------------------------------


def test_solver_options_and_tol_reach_the_solver(two_blobs):
    X, y = two_blobs
    model = HyperbolicSVC(solver="pgd", solver_options={"epochs": 7}).fit(X, y)
    direct = solve(MarginProblem(X, 2.0 * y - 1.0), "pgd", epochs=7)
    assert_allclose(model.solutions_[0].objective, direct.objective, rtol=1e-7)
    assert model.n_iter_[0] == direct.n_iter


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "pgd", "fit_intercept": True}, "does not fit an intercept"),
        ({"solver": "pgd", "allow_timelike": True}, "does not handle allow_timelike"),
        ({"solver": "euclidean", "C": np.inf}, "does not handle the hard margin"),
        ({"solver": "euclidean", "uncertainty": GeodesicBall(0.1)}, "does not handle an uncertainty set"),
    ],
)
def test_what_a_solver_does_not_declare_is_an_error(two_blobs, parameters, message):
    with pytest.raises(ValueError, match=message):
        HyperbolicSVC(**parameters).fit(*two_blobs)


def test_a_probability_of_zero_has_the_logarithm_minus_infinity():
    """Without a warning: classes far apart, whose Platt scaling rounds to certainty."""
    X, y = lift([[30.0, 0.0], [40.0, 1.0], [-30.0, 0.0], [-40.0, 1.0]]), np.array([0, 0, 1, 1])
    model = HyperbolicSVC().fit(X, y)
    model.probA_[:] = -1e4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logarithms = model.predict_log_proba(X)
    assert_array_equal(np.sort(logarithms, axis=1), np.tile([-np.inf, 0.0], (4, 1)))
