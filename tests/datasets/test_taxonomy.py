"""The taxonomy is one, its labels are subtrees of the sizes asked for, and its embedding is as crowded as it says."""

import networkx as nx
import numpy as np
import pytest

from hypermargin.datasets import make_taxonomy
from hypermargin.geometry import check_lorentz, distance, radius


def test_labels_are_subtrees_of_the_sizes_asked_for():
    data = make_taxonomy(20_000, positive_fraction=(0.1, 0.01, 0.001), random_state=0)
    graph = nx.DiGraph((int(parent), child) for child, parent in enumerate(data.parent) if parent >= 0)
    assert nx.is_arborescence(graph)
    for y, root, fraction in zip(data.y.T, data.subtree_root, (0.1, 0.01, 0.001), strict=True):
        assert set(np.flatnonzero(y)) == {int(root), *nx.descendants(graph, int(root))}
        assert 0.5 * fraction < y.mean() < 2.0 * fraction
    lengths = nx.single_source_shortest_path_length(graph, 0)
    np.testing.assert_array_equal(data.depth, [lengths[v] for v in range(20_000)])
    assert 5.0 < data.depth.mean() < 10.0  # WordNet's nouns: 7 to 8, and 18 at most
    assert 12 <= data.depth.max() <= 25


def test_relatives_are_nearer_than_strangers_but_not_always():
    data = make_taxonomy(5000, random_state=1)
    check_lorentz(data.X)
    rng = np.random.default_rng(0)
    child = rng.integers(1, 5000, 2000)
    to_parent = distance(data.X[child], data.X[data.parent[child]])
    to_stranger = distance(data.X[child], data.X[rng.integers(0, 5000, 2000)])
    nearer = np.mean(to_parent < to_stranger)
    assert 0.85 < nearer < 0.999


def test_capacity_and_noise_do_what_they_say():
    exact = make_taxonomy(3000, capacity=5.0, noise=0.0, misplaced=0.0, random_state=2)
    assert radius(exact.X).max() < 5.0
    assert radius(make_taxonomy(3000, capacity=9.0, noise=0.0, misplaced=0.0, random_state=2).X).max() > 5.0
    noisy = make_taxonomy(3000, capacity=5.0, noise=0.3, misplaced=0.0, random_state=2)
    np.testing.assert_array_equal(noisy.parent, exact.parent)
    assert np.median(distance(noisy.X, exact.X)) > 0.2
    far = make_taxonomy(3000, capacity=5.0, noise=0.0, misplaced=0.2, random_state=2)
    assert 0.2 < np.mean(distance(far.X, exact.X) > 1e-6) < 1.0  # with their descendants


def test_it_is_reproducible_and_large_enough():
    one, two = (make_taxonomy(100_000, positive_fraction=0.001, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(one.X, two.X)
    assert one.y.shape == (100_000,)
    assert 50 <= one.y.sum() <= 200
    X, y = make_taxonomy(50, positive_fraction=0.3, return_X_y=True, random_state=0)
    assert X.shape == (50, 3)
    assert 0 < y.sum() < 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_nodes": 1}, "n_nodes"),
        ({"n_nodes": 200_000}, "at most 100000"),
        ({"positive_fraction": 0.0}, "strictly between 0 and 1"),
        ({"positive_fraction": []}, "strictly between 0 and 1"),
        ({"capacity": 20.0}, "at most 15"),
        ({"noise": -0.1}, "noise"),
        ({"misplaced": 1.0}, "misplaced"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_taxonomy(**arguments)
