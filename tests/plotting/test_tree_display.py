"""The splits of a tree as they are drawn, against the way points take through the tree."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators import HyperbolicForestClassifier, HyperbolicSVC, HyperbolicTreeClassifier
from hypermargin.geometry import from_lorentz
from hypermargin.plotting import TreeDisplay


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def mixture():
    return make_gaussian_mixture(40, 4, scale=0.6, random_state=2, return_X_y=True)


def nodes_passed(model, x):
    """The nodes on the way of a point of the hyperboloid, from the public boundaries of the splits."""
    tree, (normals, thresholds) = model.tree_, model.split_boundaries()
    node, passed = 0, []
    while tree.children[node, 0] >= 0:
        passed.append(node)
        w, b = normals[tree.slot[node]], thresholds[tree.slot[node]]
        node = int(tree.children[node, int(x[0] * w[0] - x[1:] @ w[1:] > b)])
    return passed


def to_hyperboloid(p):
    square = p @ p
    return np.array([1.0 + square, *(2.0 * p)]) / (1.0 - square)


@pytest.mark.parametrize("boundary", ["hyperplane", "mixed"])
@pytest.mark.parametrize("geometry", ["lorentz", "klein"])
def test_a_split_is_drawn_where_it_parts_its_node(boundary, geometry, mixture):
    X, y = mixture
    Z = from_lorentz(X, geometry)
    model = HyperbolicTreeClassifier(boundary=boundary, geometry=geometry, random_state=0).fit(Z, y)
    display = TreeDisplay.from_estimator(model, Z, y, resolution=20)
    normals, thresholds = model.split_boundaries()
    checked = 0
    for node, line in zip(display.nodes_, display.lines_.get_segments(), strict=True):
        row = model.tree_.slot[node]
        for p in line[5:-5:40]:
            if np.linalg.norm(p) > 0.99:
                continue
            x = to_hyperboloid(p)
            gap = x[0] * normals[row, 0] - x[1:] @ normals[row, 1:] - thresholds[row]
            assert abs(gap) < 1e-9 * x[0] * np.abs(normals[row]).max()
            assert node in nodes_passed(model, x)
            checked += 1
    assert checked > 50
    assert set(display.nodes_) == set(np.flatnonzero(model.tree_.children[:, 0] >= 0))


def test_trees_of_a_forest_and_fewer_levels(mixture):
    X, y = mixture
    forest = HyperbolicForestClassifier(3, random_state=0).fit(X, y)
    display = TreeDisplay.from_estimator(forest, X, y, index=2, max_depth=1, resolution=20, center="mean")
    np.testing.assert_array_equal(np.unique(display.nodes_), [0])
    shares = np.mean([tree.predict_proba(X) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(shares, forest.predict_proba(X), atol=1e-12)
    assert forest.estimators_[2].to_text() == forest.to_text(2)


def test_other_classifiers_have_no_tree(mixture):
    model = HyperbolicSVC().fit(*mixture)
    with pytest.raises(TypeError, match="trees and forests, not HyperbolicSVC"):
        TreeDisplay.from_estimator(model, *mixture)


def test_only_the_plane_can_be_drawn():
    X, y = make_gaussian_mixture(20, 2, dim=3, random_state=0, return_X_y=True)
    with pytest.raises(ValueError, match="only the hyperbolic plane"):
        TreeDisplay.from_estimator(HyperbolicTreeClassifier().fit(X, y), X, y)
