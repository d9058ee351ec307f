"""Bad input: each has an answer, and the error says what to do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from hypermargin.data.ingest import RadiusWarning
from hypermargin.data.readers import ArrayChunks
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators import HyperbolicSVC
from hypermargin.geometry.lorentz import lift
from hypermargin.geometry.models import from_lorentz
from hypermargin.problems import MarginProblem


def fit(X, y, sample_weight=None, **parameters):
    return HyperbolicSVC(**{"solver": "euclidean", **parameters}).fit(X, y, sample_weight)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, "C must be positive"),
        ({"C": -1.0}, "C must be positive"),
        ({"C": np.nan}, "C must be positive"),
        ({"C": "1"}, "C must be positive"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"solver": "mosek"}, "unknown solver 'mosek'; the solvers are .*euclidean"),
        ({"geometry": "sphere"}, "unknown geometry 'sphere'; the geometries are lorentz"),
        ({"curvature": -1.0}, "curvature must be a positive"),
        ({"multi_class": "crammer"}, "multi_class must be 'ovo' or 'ovr'"),
        ({"class_weight": "heavy"}, "class_weight must be a dict, 'balanced' or None"),
        ({"class_weight": {0: -1.0, 1: 1.0}}, "class_weight must hold finite numbers that are not negative"),
        ({"class_weight": {0: 0.0, 1: 1.0}}, "the weights leave class 0 without a sample"),
        ({"solver_options": "fast"}, "solver_options must be a dict"),
        ({"solver_options": {"fit_intercept": True}}, "pass fit_intercept to HyperbolicSVC itself"),
        ({"verbose": "yes"}, "verbose must be an integer"),
    ],
)
def test_parameters_that_make_no_sense(two_blobs, parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(*two_blobs, **parameters)


def test_an_option_the_solver_does_not_have(two_blobs):
    with pytest.raises(TypeError, match=r"solver 'euclidean' has no option 'epochs'; its options are: center"):
        fit(*two_blobs, solver_options={"epochs": 3})


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_and_infinity(two_blobs, value):
    X, y = two_blobs
    broken = X.copy()
    broken[3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        fit(broken, y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        fit(X, y).predict(broken)


@pytest.mark.parametrize(("geometry", "named"), [("poincare", "poincare"), ("tangent", "tangent")])
def test_points_off_the_manifold_are_told_what_they_look_like(two_blobs, geometry, named):
    X, y = two_blobs
    with pytest.raises(ValueError, match=f"not on the hyperboloid.*geometry='?.*{named}"):
        fit(from_lorentz(X, geometry), y)
    with pytest.raises(ValueError, match="these look like Lorentz coordinates: pass geometry='lorentz'"):
        fit(X, y, geometry="poincare")


def test_points_off_the_manifold_at_predict(two_blobs):
    X, y = two_blobs
    with pytest.raises(ValueError, match="not on the hyperboloid"):
        fit(X, y).predict(1.01 * X)


def test_wrong_width_at_predict(two_blobs):
    X, y = two_blobs
    with pytest.raises(ValueError, match="X has 4 features, but HyperbolicSVC is expecting 3"):
        fit(X, y).predict(lift(np.ones((5, 3))))


def test_one_column_is_too_narrow_for_lorentz():
    with pytest.raises(ValueError, match="last axis of length d \\+ 1"):
        fit(np.ones((4, 1)), [0, 1, 0, 1])


def test_one_class_only(two_blobs):
    X, y = two_blobs
    with pytest.raises(ValueError, match="one class only"):
        fit(X, np.zeros_like(y))


@pytest.mark.parametrize(
    "names", [np.arange(400), np.array([f"cell {k}" for k in range(400)])], ids=["numbers", "text"]
)
def test_a_label_per_sample_is_no_class(names):
    X = make_gaussian_mixture(200, 2, random_state=0, return_X_y=True)[0]
    for points in (X, ArrayChunks(X, rows=150)):
        with pytest.raises(ValueError, match=r"400 different labels for 400 samples.*names of samples, not classes"):
            HyperbolicSVC().fit(points, names)


def test_empty():
    with pytest.raises(ValueError, match="0 sample"):
        fit(np.empty((0, 3)), np.empty(0))


def test_lengths_that_differ(two_blobs):
    X, y = two_blobs
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit(X, y[:-1])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (lambda y: np.where(y == 0, -1.0, 1.0), "must not be negative"),
        (lambda y: 0.0 * y, "zero for every sample"),
        (lambda y: np.full(y.size, np.nan), "NaN or infinity"),
        (lambda y: 1.0 * y, "the weights leave class 0 without a sample"),
        (lambda y: np.ones(3), r"must have shape \(60,\)"),
    ],
)
def test_weights_that_make_no_sense(two_blobs, weight, message):
    X, y = two_blobs
    with pytest.raises(ValueError, match=message):
        fit(X, y, weight(y))


def test_unfitted_use(two_blobs):
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(HyperbolicSVC(), method)(two_blobs[0])


def test_one_sample_a_class(solver):
    X = lift(np.array([[1.0, 0.0], [-1.0, 0.5], [0.0, -1.5]]))
    for multi_class in ("ovo", "ovr"):
        model = fit(X, ["a", "b", "c"], solver=solver, multi_class=multi_class, C=10.0)
        assert_array_equal(model.predict(X), ["a", "b", "c"])


def test_opposite_labels_on_the_same_point(solver):
    # Two points, each with both labels: no w does better than 0, where every margin is 0.
    X = lift(np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.3], [-1.0, 0.3]]))
    y = np.array([0, 1, 0, 1])
    model = fit(X, y, solver=solver)
    # Judged without the constraint, because rounding may put a w next to 0 on either side of the light cone.
    reached = MarginProblem(X, 2.0 * y - 1.0, allow_timelike=True).objective(model.coef_[0])
    assert_allclose(reached, 4 / np.sqrt(2), rtol=1e-6)
    assert_allclose(model.predict_proba(X), 0.5, atol=1e-6)


def test_a_radius_beyond_double_precision_may_be_an_error():
    X = lift(np.array([[1.0, 0.0], [-1.0, 0.0], [np.sinh(20.0), 0.0]]))
    with pytest.raises(ValueError, match=r"hyperbolic radius 20\.0; beyond 18"):
        fit(X, [0, 1, 1], rim="error")


def test_tangent_vectors_beyond_double_precision_are_drawn_in_along_their_ray(two_blobs):
    X, y = two_blobs
    model = fit(from_lorentz(X, "tangent"), y, geometry="tangent")
    directions = np.array([[3.0, 4.0], [-0.6, 0.2]])
    at_the_edge = 17.999999999 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    expected = model.decision_function(at_the_edge)
    for length in (1e3, 1e300):
        with pytest.warns(
            RadiusWarning, match=r"2 of 2 points lie at the rim, beyond hyperbolic radius 18 \(rows 0, 1\)"
        ):
            far = model.decision_function(length * directions)
        assert_allclose(far, expected, rtol=1e-6)
