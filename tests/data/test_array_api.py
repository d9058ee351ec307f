"""Arrays of a library with nothing but the array API standard: what CuPy and others have by construction."""

import numpy as np
import pytest

from hypermargin import GeodesicBall, HyperbolicSVC, MarginProblem, Status, solve
from hypermargin.data import inputs
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.data.device import DeviceSamples, to_numpy
from hypermargin.data.executors import InMemory
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.geometry import GEOMETRIES, from_lorentz, to_lorentz
from hypermargin.geometry.lorentz import covector

xp = pytest.importorskip("array_api_strict")


@pytest.fixture(autouse=True)
def arrays_of_a_device(monkeypatch):
    """They live in memory, and go the way of those on a card."""
    monkeypatch.setattr(inputs, "is_on_device", lambda X: isinstance(X, type(xp.ones(1))))


@pytest.fixture(scope="module")
def data():
    X, y = make_gaussian_mixture(60, 3, scale=0.7, random_state=0, return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order] + 5


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_classifier_is_that_of_the_numpy_arrays(data, multi_class):
    X, y = data
    A, labels = xp.asarray(X), xp.asarray(y)
    reference = HyperbolicSVC(multi_class=multi_class).fit(X, y)
    model = HyperbolicSVC(multi_class=multi_class).fit(A, labels)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-7, atol=1e-8)
    predicted = model.predict(A)
    assert isinstance(predicted, type(A))
    np.testing.assert_array_equal(to_numpy(predicted), reference.predict(X))
    np.testing.assert_allclose(to_numpy(model.predict_proba(A)), reference.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(to_numpy(model.decision_function(A)), reference.decision_function(X), atol=1e-7)
    assert model.score(A, labels) == pytest.approx(reference.score(X, y))


def test_ties_of_votes_are_settled_as_in_memory():
    """Three classes around a corner: one-vs-one votes form a cycle in the middle."""
    angles = 2.0 * np.pi * np.arange(3) / 3.0
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 60)
    tangent = 0.8 * np.stack([np.cos(angles[y]), np.sin(angles[y])], axis=1) + 0.5 * rng.standard_normal((180, 2))
    model = HyperbolicSVC(geometry="tangent", multi_class="ovo").fit(tangent, y)
    around = 0.3 * rng.standard_normal((4000, 2))
    sides = np.sign(to_lorentz(around, "tangent") @ covector(model.coef_).T)
    cycle = (sides[:, 0] == sides[:, 2]) & (sides[:, 1] == -sides[:, 0])  # 0 over 1 over 2 over 0, or the reverse
    assert cycle.sum() > 5
    np.testing.assert_array_equal(to_numpy(model.predict(xp.asarray(around))), model.predict(around))


@pytest.mark.parametrize("geometry", GEOMETRIES[1:])
def test_other_geometries_weights_and_text_labels(data, geometry):
    X, y = data
    P, names = from_lorentz(X, geometry, 0.5), np.array([f"kind {k}" for k in y])
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    given = dict(geometry=geometry, curvature=0.5, class_weight="balanced")
    reference = HyperbolicSVC(**given).fit(P, names, weight)
    model = HyperbolicSVC(**given).fit(xp.asarray(P), names, xp.asarray(weight))
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(model.predict(xp.asarray(P)), reference.predict(P))


@pytest.mark.parametrize("dim", [2, 5, 12])
@pytest.mark.parametrize("ball", [None, GeodesicBall(0.1)])
def test_problems_have_the_certificates_of_numpy_arrays(dim, ball):
    X, y = make_gaussian_mixture(200, 2, dim=dim, scale=0.9, random_state=0, return_X_y=True)
    y = 2.0 * y - 1.0
    piece = DeviceSamples(xp.asarray(X)[:, 1:], xp.asarray(y.astype(np.int8)), 1.0, None, ball)
    problem, other = MarginProblem(X, y, 2.0, None, ball), BlockedProblem(InMemory([piece]), 2.0, ball)
    reference, solution = solve(problem, cuts="plain"), solve(other)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(reference.objective, rel=1e-6)
    assert reference.certificate.verify(other) == pytest.approx(reference.lower_bound, rel=1e-9)
    assert solution.certificate.verify(problem) == pytest.approx(solution.lower_bound, rel=1e-9)


def test_certificates_that_name_samples_are_checked():
    X, y = make_gaussian_mixture(400, 2, dim=12, scale=0.9, random_state=0, return_X_y=True)
    y = 2.0 * y - 1.0
    solution = solve(BlockedProblem(InMemory([MarginProblem(X[:300], y[:300]), MarginProblem(X[300:], y[300:])]), 1.0))
    assert solution.certificate.shared
    piece = DeviceSamples(xp.asarray(X)[:, 1:], xp.asarray(y.astype(np.int8)), 1.0)
    bound = solution.certificate.verify(BlockedProblem(InMemory([piece]), 1.0))
    assert bound == pytest.approx(solution.lower_bound, rel=1e-9)


def test_weights_and_labels_of_numpy_go_where_the_points_are(data):
    X, y = data
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    reference = HyperbolicSVC().fit(X, y, weight)
    for labels, weights in (
        (y, weight),
        (y.tolist(), weight.tolist()),
        (xp.asarray(y), weight),
        (y, xp.asarray(weight)),
    ):
        model = HyperbolicSVC().fit(xp.asarray(X), labels, weights)
        np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-6, atol=1e-7)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        HyperbolicSVC().fit(xp.asarray(X), xp.zeros(3))


def test_bad_rows_are_named(data):
    X, y = data
    bad, off = X.copy(), X.copy()
    bad[77, 1], off[91, 0] = np.nan, off[91, 0] + 1.0
    with pytest.raises(ValueError, match="row 77"):
        HyperbolicSVC().fit(xp.asarray(bad), y)
    with pytest.raises(ValueError, match="row 91 of X is not on the hyperboloid"):
        HyperbolicSVC().fit(xp.asarray(off), y)
