"""The one-class classifier against libsvm, brute force and isometries; its bounds by the checker of certificates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.svm import OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

from hypermargin.estimators import HyperbolicOneClassSVM
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.metric import distance, exp_origin
from hypermargin.solvers import Status


# Some checks draw features of hundreds: as lengths they lie beyond what doubles hold, and are drawn in with a warning.
@pytest.mark.filterwarnings("ignore::hypermargin.data.ingest.RadiusWarning")
@parametrize_with_checks(
    [HyperbolicOneClassSVM(geometry="tangent"), HyperbolicOneClassSVM(kernel="ball", geometry="tangent")]
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return exp_origin(rng.standard_normal((200, 3)) * [1.0, 0.5, 0.2])


@pytest.mark.parametrize("kernel", ["heat", "laplacian", "cosh"])
@pytest.mark.parametrize("nu", [0.03, 0.1, 0.5])
def test_decisions_are_those_of_libsvm_and_the_optimum_is_certified(data, kernel, nu):
    model = HyperbolicOneClassSVM(nu=nu, kernel=kernel, tol=1e-9).fit(data)
    theirs = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-12).fit(model.kernel_(data, data))
    expected = theirs.decision_function(model.kernel_(data, data)) / (nu * len(data))  # their weights have that sum
    ours = model.decision_function(data)
    assert_allclose(ours, expected, atol=2e-5)
    assert model.solution_.status is Status.OPTIMAL
    lower, upper = model.solution_.certificate.enclosure(model.problem(data))
    assert lower <= upper <= lower + 4e-9
    f, offset = ours + model.offset_, model.offset_
    square = model.dual_coef_ @ f[model.support_]
    objective = 0.5 * square - offset + np.sum(np.maximum(offset - f, 0.0)) / (nu * len(data))
    assert upper == pytest.approx(objective + 2.0, abs=1e-9)
    assert np.sum(model.dual_coef_) == pytest.approx(1.0, abs=1e-12)
    assert np.mean(ours < -1e-6) <= nu + 1e-12
    assert len(model.support_) >= nu * len(data) - 1e-6


def test_the_ball_is_the_smallest(data):
    model = HyperbolicOneClassSVM(nu=1e-3, kernel="ball").fit(data)
    room = {"type": "ineq", "fun": lambda u: u[3] - distance(data, exp_origin(u[:3]))}
    found = minimize(lambda u: u[3], np.r_[np.zeros(3), 9.0], method="SLSQP", constraints=room, tol=1e-12)
    assert -model.offset_ == pytest.approx(found.fun, rel=1e-5)
    assert np.max(distance(data, model.centre_)) == pytest.approx(-model.offset_, rel=1e-6)
    assert 0.0 <= model.gap_ <= 1e-6
    assert 2 <= len(model.support_) <= 4  # points on a sphere of three dimensions
    assert_allclose(distance(model.support_vectors_, model.centre_), -model.offset_, rtol=1e-5)


def test_a_ball_of_two_points_has_them_at_the_ends_of_a_diameter():
    X = exp_origin(np.array([[3.0, 0.0], [-1.0, 0.0]]))
    model = HyperbolicOneClassSVM(nu=0.1, kernel="ball", curvature=1.0).fit(X)
    assert_allclose(model.centre_, exp_origin(np.array([1.0, 0.0])), atol=1e-6)
    assert model.offset_ == pytest.approx(-2.0, abs=1e-6)


def test_the_share_outside_the_ball_is_nu_at_most_and_its_optimum_is_proved(data):
    model = HyperbolicOneClassSVM(nu=0.2, kernel="ball").fit(data)
    assert 0.15 <= np.mean(model.decision_function(data) < -1e-6) <= 0.2

    def objective(point):
        heights = np.cosh(distance(data, exp_origin(point[:3])))
        return point[3] + np.sum(np.maximum(heights - point[3], 0.0)) / (0.2 * len(data))

    best = min(minimize(objective, np.r_[np.zeros(3), r], method="Nelder-Mead", tol=1e-9).fun for r in (1.0, 2.0))
    heights, rho = np.cosh(distance(data, model.centre_)), np.cosh(model.offset_)
    ours = rho + np.sum(np.maximum(heights - rho, 0.0)) / (0.2 * len(data))
    assert ours <= best * (1.0 + 1e-6)
    assert model.gap_ <= 1e-6


@pytest.mark.parametrize("kernel", ["heat", "ball"])
def test_isometries_weights_and_curvature_change_nothing(data, kernel):
    model = HyperbolicOneClassSVM(kernel=kernel, tol=1e-8).fit(data)
    decision = model.decision_function(data)
    moved = data @ boost(exp_origin(np.array([1.0, -2.0, 0.5]))).T
    again = HyperbolicOneClassSVM(kernel=kernel, tol=1e-8).fit(moved)
    assert_allclose(again.decision_function(moved), decision, atol=1e-5)
    weight = np.arange(200) % 3
    weighted = HyperbolicOneClassSVM(kernel=kernel, t=0.2, tol=1e-8).fit(data, sample_weight=weight)
    repeated = HyperbolicOneClassSVM(kernel=kernel, t=0.2, tol=1e-8).fit(np.repeat(data, weight, axis=0))
    assert_allclose(weighted.decision_function(data), repeated.decision_function(data), atol=1e-5)
    assert weight[weighted.support_].all()
    curved = HyperbolicOneClassSVM(kernel=kernel, tol=1e-8, curvature=4.0).fit(data / 2.0)
    factor = 2.0 if kernel == "ball" else 1.0  # a distance; a kernel's value has no length in it
    assert_allclose(factor * curved.decision_function(data / 2.0), decision, atol=1e-5)


def test_far_points_are_outliers_and_mistakes_are_told(data):
    for kernel in ("auto", "ball", lambda X, Y: np.exp(-distance(X[:, None], Y[None]))):
        model = HyperbolicOneClassSVM(kernel=kernel).fit(data)
        assert_array_equal(model.predict(exp_origin(np.diag([8.0, -8.0, 8.0]))), -1)
        assert np.mean(model.predict(data) == 1) >= 0.85
    for parameters, message in (
        ({"nu": 0.0}, r"nu must be in \(0, 1\]"),
        ({"kernel": "distance"}, "needs a positive definite kernel"),
        ({"kernel": "disc"}, "unknown kernel 'disc'"),
        ({"geometry": "sphere"}, "unknown geometry"),
    ):
        with pytest.raises(ValueError, match=message):
            HyperbolicOneClassSVM(**parameters).fit(data)
