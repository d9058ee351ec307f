"""Certified radii against bisection along many geodesics, and adversarial points against the classifier itself."""

import numpy as np
import pytest
from scipy.linalg import expm

from hypermargin.data.ingest import unit_points
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators import HyperbolicSVC, HyperbolicSVCCV
from hypermargin.estimators.multiclass import TwoClasses
from hypermargin.estimators.radius import (
    Coordinates,
    Hyperplanes,
    flip_distances,
    move_towards_flip,
    nearest_adversarial,
)
from hypermargin.geometry.models import distance_in, from_lorentz
from hypermargin.problems import GeodesicBall
from reference.objective import lift

NORMALS = {
    "spacelike": [0.3, -1.0, 0.7],
    "steep": [0.9, 0.6, 0.8],
    "lightlike": [-1.0, 1.0, 0.0],
    "timelike": [1.0, 0.2, -0.3],
}


def circle(x, r, angles):
    """Points at distance r from x, by a boost that is a matrix exponential."""
    length = np.linalg.norm(x[1:])
    generator = np.zeros((3, 3))
    generator[0, 1:] = generator[1:, 0] = np.arcsinh(length) * x[1:] / max(length, 1e-300)
    around = [np.full_like(angles, np.cosh(r)), np.sinh(r) * np.cos(angles), np.sinh(r) * np.sin(angles)]
    return np.column_stack(around) @ expm(generator).T


def positive(points, w, b):
    return points[:, 0] * w[0] - points[:, 1:] @ w[1:] + b > 0.0


@pytest.mark.parametrize("normal", NORMALS)
@pytest.mark.parametrize("b", [0.0, 0.5, -0.5, -1.2, 3.0])
def test_flip_distances_are_where_circles_first_see_the_other_sign(normal, b):
    X = lift(np.random.default_rng(0).normal(size=(12, 2)))
    w = np.array(NORMALS[normal])
    angles = np.linspace(0.0, 2 * np.pi, 4000)
    distances = flip_distances(X, w[None], np.array([b]))[:, 0]
    for x, r in zip(X, distances, strict=True):
        own = positive(x[None], w, b)[0]
        if np.isinf(r):
            assert all(np.all(positive(circle(x, s, angles), w, b) == own) for s in (0.1, 1.0, 3.0, 6.0))
            continue
        assert np.all(positive(circle(x, 0.999 * r, angles), w, b) == own)
        assert np.any(positive(circle(x, 1.001 * r + 1e-4, angles), w, b) != own)
    finite = np.isfinite(distances)
    moved = move_towards_flip(X[finite], w, b, distances[finite])
    assert moved[:, 0] * w[0] - moved[:, 1:] @ w[1:] == pytest.approx(-b, abs=1e-9)
    np.testing.assert_allclose(distance_in(X[finite], moved, "lorentz"), distances[finite], rtol=1e-7, atol=1e-9)


@pytest.fixture(scope="module")
def three_classes():
    return make_gaussian_mixture([40, 40, 40], 3, scale=0.6, random_state=1, return_X_y=True)


MODELS = [
    {"solver": "exact"},
    {"solver": "euclidean", "fit_intercept": True},
    {"solver": "exact", "multi_class": "ovr", "allow_timelike": True},
    {"solver": "exact", "multi_class": "ovo"},
]


def fitted(parameters, data):
    X, y = data
    if "multi_class" not in parameters:
        X, y = X[y < 2], y[y < 2]
    return HyperbolicSVC(**parameters).fit(X, y), X


@pytest.mark.parametrize("parameters", MODELS, ids=["two", "intercept", "ovr", "ovo"])
class TestClassifiers:
    def test_no_prediction_changes_within_the_radius(self, parameters, three_classes):
        model, X = fitted(parameters, three_classes)
        angles = np.linspace(0.0, 2 * np.pi, 200)
        for x, label, r in zip(X[::7], model.predict(X[::7]), model.certified_radius(X[::7]), strict=True):
            for share in (0.3, 0.999):
                around = lift(circle(x, share * min(r, 8.0), angles)[:, 1:])
                assert np.all(model.predict(around) == label)

    def test_adversarial_points_change_it_at_the_distance_they_say(self, parameters, three_classes):
        model, X = fitted(parameters, three_classes)
        points, distance = model.nearest_adversarial(X)
        found = np.isfinite(distance)
        assert found.mean() > 0.9
        assert np.all(model.predict(points[found]) != model.predict(X[found]))
        np.testing.assert_allclose(distance_in(X[found], points[found], "lorentz"), distance[found], rtol=1e-6)
        radius = model.certified_radius(X)
        assert np.all(radius <= distance)
        if parameters.get("multi_class") != "ovo":
            np.testing.assert_allclose(distance[found], radius[found], rtol=1e-6, atol=1e-8)
            assert np.all(np.isinf(radius[~found]))


def moved_out(X, radius):
    """Points moved by an isometry that takes the origin to this radius."""
    direction = radius * np.array([0.6, 0.8])
    generator = np.zeros((3, 3))
    generator[0, 1:] = generator[1:, 0] = direction
    return lift((X @ expm(generator).T)[:, 1:])


@pytest.mark.parametrize("geometry", ["lorentz", "poincare", "klein", "halfspace", "tangent"])
@pytest.mark.parametrize("radius", [0.0, 4.0, 6.0, 10.0, 14.0])
@pytest.mark.parametrize(
    "parameters", [MODELS[0], {"boundary": "curve"}, *MODELS[2:]], ids=["two", "curve", "ovr", "ovo"]
)
@pytest.mark.filterwarnings("ignore::hypermargin.data.ingest.KleinWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_adversarial_points_are_predicted_differently_as_the_user_holds_them(
    geometry, radius, parameters, three_classes
):
    X, y = three_classes
    if "multi_class" not in parameters:
        X, y = X[y < 2], y[y < 2]
    X = from_lorentz(moved_out(X, radius), geometry)
    model = HyperbolicSVC(geometry=geometry, **parameters).fit(X, y)
    before, (points, distance) = model.predict(X), model.nearest_adversarial(X)
    assert np.isfinite(distance).all()
    assert np.all(model.predict(points) != before)
    alone = [model.predict(point[None])[0] for point in points[::10]]  # sums of one row are rounded in another order
    assert np.all(alone != before[::10])
    np.testing.assert_allclose(distance_in(X, points, geometry), distance, rtol=1e-9)
    radii = model.certified_radius(X)
    assert np.all(radii <= distance)
    if radius <= 6.0 and parameters.get("multi_class") != "ovo":
        np.testing.assert_allclose(distance, radii, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("geometry", ["lorentz", "poincare", "klein", "halfspace", "tangent"])
def test_a_boundary_that_coordinates_cannot_reach_has_no_adversarial_points(geometry):
    """A geodesic at distance 16 of the origin is among the points that `predict` takes, one at 18.1 is not."""
    origin = np.array([[1.0, 0.0, 0.0]])
    for away, is_found in [(16.0, True), (18.1, False)]:
        w = np.array([[np.sinh(away), 0.0, np.cosh(away)]])
        planes = Hyperplanes(TwoClasses(), w, np.zeros(1))
        points, distance = nearest_adversarial(origin, planes, Coordinates(geometry, 1.0))
        assert np.isfinite(points).all() == np.isfinite(distance).all() == is_found
        if is_found:
            assert distance == pytest.approx(away, rel=0.02)
            seen = unit_points(points, geometry, 1.0)
            assert planes.winner(seen) != planes.winner(origin)


def test_votes_are_bounded_tightly_for_most_points(three_classes):
    X, y = three_classes
    model = HyperbolicSVC().fit(X, y)
    radius, (_, distance) = model.certified_radius(X), model.nearest_adversarial(X)
    assert np.mean(distance <= radius * (1 + 1e-6) + 1e-8) > 0.8


def test_the_radius_is_the_signed_distance_and_robust_training_raises_it(three_classes):
    """With two classes; the hard margin puts no boundary nearer than it must: rho more with the set of radius rho."""
    X = lift([[np.sinh(1.0), 0.0], [-np.sinh(1.0), 0.0], [np.sinh(1.2), 0.5]])
    y = np.array(["a", "b", "a"])
    model = HyperbolicSVC(C=np.inf).fit(X, y)
    np.testing.assert_allclose(model.certified_radius(X[:2]), 1.0, rtol=1e-5)
    X, y = three_classes
    X, y = X[y < 2], y[y < 2]
    plain, robust = (HyperbolicSVC(uncertainty=s).fit(X, y) for s in (None, GeodesicBall(0.5)))
    correct = [model.certified_radius(X) * (model.predict(X) == y) for model in (plain, robust)]
    assert np.mean(correct[1] > 0.5) >= np.mean(correct[0] > 0.5)


def test_lengths_and_coordinates_are_those_of_the_data(three_classes):
    """Curvature -4 has distances half as long; Poincaré points come back as Poincaré points."""
    X, y = three_classes
    unit = HyperbolicSVC(uncertainty=GeodesicBall(0.2)).fit(X, y)
    P = from_lorentz(X, "poincare", 4.0)
    other = HyperbolicSVC(geometry="poincare", curvature=4.0, uncertainty=GeodesicBall(0.1)).fit(P, y)
    np.testing.assert_allclose(other.coef_, unit.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(other.certified_radius(P), 0.5 * unit.certified_radius(X), rtol=1e-3, atol=1e-5)
    points, distance = other.nearest_adversarial(P)
    np.testing.assert_allclose(distance_in(P, points, "poincare", 4.0), distance, rtol=1e-6)


def test_sizes_that_do_not_match_the_samples_are_refused(three_classes):
    X, y = three_classes
    with pytest.raises(ValueError, match=r"rho must be a number or have shape \(120,\)"):
        HyperbolicSVC(uncertainty=GeodesicBall(np.full(121, 0.1))).fit(X, y)


def test_sizes_follow_their_samples_into_the_folds_of_a_search_for_C(three_classes):
    """One size for all and the same size for each are the same search."""
    X, y = three_classes
    searches = [
        HyperbolicSVCCV(Cs=[0.1, 1.0], cv=3, uncertainty=GeodesicBall(s)).fit(X, y) for s in (0.2, np.full(120, 0.2))
    ]
    np.testing.assert_array_equal(searches[0].scores_, searches[1].scores_)
