"""Certified radii of trees and forests: no point within changes its answer, and those found beyond do."""

import numpy as np
import pytest
from scipy.linalg import expm

from hypermargin.datasets import make_gaussian_mixture, make_taxonomy
from hypermargin.estimators import HyperbolicForestClassifier, HyperbolicTreeClassifier
from hypermargin.geometry.models import distance_in, from_lorentz


def ball(x, r, rng, count):
    """Points within distance r of x, by a boost that is a matrix exponential."""
    dim = x.size - 1
    v = rng.normal(size=(count, dim))
    v *= (r * rng.uniform(size=(count, 1)) ** (1.0 / dim)) / np.linalg.norm(v, axis=1, keepdims=True)
    length = np.linalg.norm(v, axis=1, keepdims=True)
    around = np.hstack([np.cosh(length), np.sinh(length) / np.maximum(length, 1e-300) * v])
    generator, size = np.zeros((dim + 1, dim + 1)), np.linalg.norm(x[1:])
    generator[0, 1:] = generator[1:, 0] = np.arcsinh(size) * x[1:] / max(size, 1e-300)
    moved = around @ expm(generator).T
    moved[:, 0] = np.sqrt(1.0 + np.sum(moved[:, 1:] ** 2, axis=1))
    return moved


MODELS = {
    "tree": HyperbolicTreeClassifier(random_state=0),
    "forest": HyperbolicForestClassifier(15, random_state=0),
    "forest of hyperplanes": HyperbolicForestClassifier(15, boundary="hyperplane", random_state=0),
    "one leaf": HyperbolicTreeClassifier(min_samples_leaf=200, random_state=0),
}


@pytest.mark.parametrize("dim", [2, 4])
@pytest.mark.parametrize("model", MODELS)
def test_within_the_radius_nothing_changes_and_beyond_it_something_does(model, dim):
    rng = np.random.default_rng(dim)
    X, y = make_gaussian_mixture([50, 40, 40], 3, dim=dim, scale=0.8, random_state=1, return_X_y=True)
    fitted = MODELS[model].fit(X, y)
    points = X[::13]
    radius, answer = fitted.certified_radius(points), fitted.predict(points)
    adversarial, distance = fitted.nearest_adversarial(points)
    if model == "one leaf":
        assert np.all(np.isinf(radius))
        assert np.all(np.isinf(distance))
        return
    assert np.any(radius > 0.02)
    for x, r, label in zip(points, radius, answer, strict=True):
        assert np.all(fitted.predict(ball(x, 0.999999 * r, rng, 400)) == label)
    found = np.isfinite(distance)
    assert found.mean() > 0.9
    assert np.all(fitted.predict(adversarial[found]) != answer[found])
    assert np.all(distance[found] >= radius[found])
    np.testing.assert_allclose(distance_in(points[found], adversarial[found], "lorentz"), distance[found], rtol=1e-6)
    assert np.median(distance[found] / radius[found]) < (1.5 if dim == 2 else 4.0)


def test_a_single_split_is_met_exactly():
    X, y = make_gaussian_mixture([30, 30], 2, scale=0.5, random_state=0, return_X_y=True)
    tree = HyperbolicTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    radius = tree.certified_radius(X[:8])
    _, distance = tree.nearest_adversarial(X[:8])
    np.testing.assert_allclose(distance, radius, rtol=1e-6)


def test_far_out_where_families_crowd():
    X, y = make_taxonomy(1500, positive_fraction=0.1, random_state=0, return_X_y=True)
    forest = HyperbolicForestClassifier(10, random_state=0).fit(X, y)
    points, rng = X[::60], np.random.default_rng(0)
    radius, answer = forest.certified_radius(points), forest.predict(points)
    assert 0.0 < np.min(radius) < 0.5 < np.max(radius)
    for x, r, label in zip(points, radius, answer, strict=True):
        assert np.all(forest.predict(ball(x, 0.999999 * min(r, 2.0), rng, 200)) == label)


def test_radii_are_lengths_of_the_curved_space():
    X, y = make_gaussian_mixture([30, 30], 2, scale=0.8, random_state=0, return_X_y=True)
    Z = from_lorentz(X, "tangent")
    plain = HyperbolicForestClassifier(8, geometry="tangent", random_state=0).fit(Z, y)
    curved = HyperbolicForestClassifier(8, geometry="tangent", curvature=4.0, random_state=0).fit(0.5 * Z, y)
    np.testing.assert_allclose(curved.certified_radius(0.5 * Z), 0.5 * plain.certified_radius(Z), rtol=1e-6, atol=1e-12)
