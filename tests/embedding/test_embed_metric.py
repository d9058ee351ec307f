"""Embedding a metric: what lies in the plane is found again, trees nearly so, and what is no metric is refused."""

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.exceptions import ConvergenceWarning

from hypermargin.embedding import distortion, embed_metric
from hypermargin.embedding.metric import _stress


def plane_distances(X):
    return np.arccosh(np.maximum(np.outer(X[:, 0], X[:, 0]) - X[:, 1:] @ X[:, 1:].T, 1.0))


@pytest.mark.parametrize("seed", range(4))
def test_points_of_the_plane_are_found_again_from_their_distances(seed):
    tangent = np.random.default_rng(seed).normal(scale=1.2, size=(25, 2))
    norm = np.linalg.norm(tangent, axis=1, keepdims=True)
    distances = plane_distances(np.hstack([np.cosh(norm), np.sinh(norm) * tangent / norm]))
    np.testing.assert_allclose(plane_distances(embed_metric(distances)), distances, atol=2e-5)


def test_gradient_of_the_stress_by_finite_differences(monkeypatch):
    monkeypatch.setattr("hypermargin.embedding.metric.BLOCK_PAIRS", 21)  # blocks of three rows
    rng = np.random.default_rng(0)
    n = 7
    length, wanted = rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 3.0, (n, n))
    inverse = 1.0 / (wanted + wanted.T)
    np.fill_diagonal(inverse, 0.0)
    unknowns = np.concatenate([rng.uniform(0.3, 2.0, n), rng.uniform(-3.0, 3.0, n)])
    error = check_grad(lambda u: _stress(u, length, inverse)[0], lambda u: _stress(u, length, inverse)[1], unknowns)
    assert error < 1e-5


def test_the_stress_is_the_sum_over_pairs_of_squared_relative_errors():
    rng = np.random.default_rng(1)
    radius, angle, wanted = rng.uniform(0.3, 3.0, 6), rng.uniform(-3.0, 3.0, 6), rng.uniform(0.5, 3.0, (6, 6))
    wanted = wanted + wanted.T
    np.fill_diagonal(wanted, np.inf)
    X = np.column_stack([np.cosh(radius), np.sinh(radius) * np.cos(angle), np.sinh(radius) * np.sin(angle)])
    pairs = np.triu_indices(6, 1)
    expected = np.sum((plane_distances(X)[pairs] / wanted[pairs] - 1.0) ** 2)
    found, _ = _stress(np.concatenate([radius, angle]), np.ones(6), 1.0 / wanted)
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_long_path_is_a_geodesic():
    """Points up to radius 12, where a small turn is a long way."""
    distances = 0.4 * np.abs(np.subtract.outer(np.arange(61.0), np.arange(61.0)))
    assert distortion(embed_metric(distances), distances).worst < 1.001


def test_distortion_by_its_definition():
    X = embed_metric(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]))
    wanted = np.array([[0.0, 2.0, 4.0], [2.0, 0.0, 1.0], [4.0, 1.0, 0.0]])
    found = distortion(X, wanted, scale=0.5)
    assert found.worst == pytest.approx(2.0, rel=1e-4)  # ratios 1, 1 and 2
    assert found.mean == pytest.approx(1 / 3, rel=1e-3)


def test_a_tree_is_followed_more_closely_than_flat_space_can():
    """The balanced tree of four levels: hyperbolic stress against classical scaling followed by the same measure."""
    graph = nx.balanced_tree(2, 5)
    distances = nx.floyd_warshall_numpy(graph)
    n = len(distances)
    centred = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centred @ distances**2 @ centred)
    flat = vectors[:, -2:] * np.sqrt(values[-2:])
    pairs = np.triu_indices(n, 1)
    flat_error = np.abs(np.linalg.norm(flat[pairs[0]] - flat[pairs[1]], axis=1) / distances[pairs] - 1.0).mean()
    assert distortion(embed_metric(distances), distances).mean < 0.4 * flat_error


@pytest.mark.parametrize(
    ("distances", "message"),
    [
        (np.zeros((2, 3)), "square array"),
        ([[0.0, np.inf], [np.inf, 0.0]], "no path joins"),
        ([[0.0, 1.0], [2.0, 0.0]], "symmetric"),
        ([[0.0, 0.0], [0.0, 0.0]], "merge points that are the same"),
        ([[0.0, 50.0], [50.0, 0.0]], "multiply them by a factor"),
    ],
)
def test_what_is_no_metric(distances, message):
    with pytest.raises(ValueError, match=message):
        embed_metric(np.array(distances))


def test_too_few_steps_are_a_warning_and_verbose_tells_of_them(capsys):
    distances = nx.floyd_warshall_numpy(nx.balanced_tree(2, 4))
    with pytest.warns(ConvergenceWarning, match="after 3 iterations"):
        embed_metric(distances, max_iter=3)
    assert capsys.readouterr().err == ""
    embed_metric(distances, verbose=1)
    assert "embedding" in capsys.readouterr().err
