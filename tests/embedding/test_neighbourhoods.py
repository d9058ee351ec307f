"""The neighbourhood objective: its gradient, what it finds of planted classes, new nodes, parts, and interruptions."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from hypermargin.embedding import embed_graph, metric, neighbourhoods
from hypermargin.embedding.compiled.moves import move_nodes


def plane_distances(X):
    return np.arccosh(np.maximum(np.outer(X[:, 0], X[:, 0]) - X[:, 1:] @ X[:, 1:].T, 1.0))


def mean_average_precision(X, adjacency):
    """Of the neighbours among all nodes in the order of their distance, by the definition."""
    values = []
    for row, joined in zip(plane_distances(X), adjacency, strict=True):
        others = np.argsort(row, kind="stable")
        found = np.flatnonzero(joined[others[others != np.argmin(row)]])
        values.append(np.mean(np.arange(1, len(found) + 1) / (found + 1)))
    return np.mean(values)


def blocks(seed, sizes=(50, 50, 50), inner=0.25, outer=0.01):
    chances = np.full((len(sizes), len(sizes)), outer)
    np.fill_diagonal(chances, inner)
    graph = nx.stochastic_block_model(sizes, chances, seed=seed)
    largest = max(nx.connected_components(graph), key=len)
    return graph.subgraph(sorted(largest))


def loss(space, i, X, q):
    """The loss of the module's first lines with node i at another place, without softening."""
    X = X.copy()
    X[i] = [np.sqrt(1.0 + space @ space), *space]
    distances = plane_distances(X)
    affinity = np.exp(-2.0 * distances) * (1.0 - np.eye(len(X)))
    return np.sum(q * (2.0 * distances + np.log(affinity.sum(axis=1))[:, None]))


def test_a_node_moves_against_the_gradient_of_the_loss():
    rng = np.random.default_rng(0)
    n, i = 7, 2
    space = rng.normal(size=(n, 3))
    X = np.column_stack([np.sqrt(1.0 + np.sum(space**2, axis=1)), space])
    weights = rng.uniform(0.5, 2.0, (n, n)) * (1.0 - np.eye(n))
    weights += weights.T
    degrees = weights.sum(axis=1)
    q = weights / degrees[:, None]
    graph = csr_array(weights)
    starts, joined = graph.indptr.astype(np.intp), graph.indices.astype(np.intp)
    pulls = (q + q.T)[np.repeat(np.arange(n), n - 1), joined]
    sums = np.sum(np.exp(-2.0 * plane_distances(X)) * (1.0 - np.eye(n)), axis=1)
    walked, rivals, drawn = np.array([[i]]), np.arange(n)[None], np.empty((1, 0), dtype=np.intp)
    moved, step = X.copy(), 1e-4
    move_nodes(
        *(moved, np.array([i]), starts, joined, pulls, degrees, walked, 0.0, rivals, drawn, 0.0),
        *(sums, np.zeros(n), step, 1e3),
    )
    assert np.array_equal(np.delete(moved, i, axis=0), np.delete(X, i, axis=0))
    h = 1e-6
    slopes = np.array(
        [(loss(space[i] + h * e, i, X, q) - loss(space[i] - h * e, i, X, q)) / (2 * h) for e in np.eye(3)]
    )
    gradient = slopes + space[i] * (space[i] @ slopes)  # the inverse of the metric in these coordinates
    direction = (moved[i, 1:] - space[i]) / step
    cosine = -direction @ gradient / np.linalg.norm(direction) / np.linalg.norm(gradient)
    assert cosine > 0.9999
    assert np.arccosh(X[i, 0] * moved[i, 0] - X[i, 1:] @ moved[i, 1:]) == pytest.approx(step, rel=1e-3)


@pytest.mark.parametrize("seed", [0, 1])
def test_planted_blocks_and_neighbours_are_nearer_than_by_distances(seed):
    graph = blocks(seed)
    adjacency = nx.to_numpy_array(graph) > 0
    labels = np.array([graph.nodes[node]["block"] for node in graph])
    found = embed_graph(graph)
    assert found.objective == "neighbours"
    distances = plane_distances(found.X) + np.diag(np.full(len(labels), np.inf))
    assert np.mean(labels[np.argmin(distances, axis=1)] == labels) > 0.97
    by_distances = embed_graph(graph, objective="distances")
    precision = mean_average_precision(found.X, adjacency)
    assert precision > mean_average_precision(by_distances.X, adjacency) + 0.1
    ten = embed_graph(graph, dim=10, seed=seed)
    assert ten.X.shape == (len(labels), 11)
    assert mean_average_precision(ten.X, adjacency) > precision + 0.1
    assert np.arccosh(ten.X[:, 0]).max() < 15.0


def test_near_nodes_stand_for_all_in_larger_graphs(monkeypatch):
    graph = blocks(3)
    adjacency = nx.to_numpy_array(graph) > 0
    exact = mean_average_precision(embed_graph(graph).X, adjacency)
    monkeypatch.setattr(neighbourhoods, "MOST_EXACT", 10)
    assert mean_average_precision(embed_graph(graph).X, adjacency) > exact - 0.06


def test_the_seed_decides_and_short_edges_are_near():
    graph = nx.barabasi_albert_graph(60, 2, seed=0)
    first = embed_graph(graph, seed=4).X
    np.testing.assert_array_equal(embed_graph(graph, seed=4).X, first)
    assert not np.array_equal(embed_graph(graph, seed=5).X, first)
    ring = nx.cycle_graph(12)
    for k, (a, b) in enumerate(ring.edges):
        ring.edges[a, b]["length"] = 0.2 if k % 2 else 2.0
    found = plane_distances(embed_graph(ring, weight="length").X)
    lengths = np.array([[found[a, b], data["length"]] for a, b, data in ring.edges(data=True)])
    assert lengths[lengths[:, 1] < 1.0, 0].mean() < 0.9 * lengths[lengths[:, 1] > 1.0, 0].mean()


def test_new_nodes_come_into_their_block_and_no_other_moves():
    graph = blocks(1)
    new = list(graph)[::12]
    old = embed_graph(graph.subgraph([node for node in graph if node not in new]), largest_component=True)
    placed = old.place(graph)
    np.testing.assert_array_equal(placed.X[: len(old.nodes)], old.X)
    assert placed.nodes[: len(old.nodes)] == old.nodes
    assert set(placed.nodes) == set(graph)
    labels = np.array([graph.nodes[node]["block"] for node in placed.nodes])
    distances = plane_distances(placed.X)[placed.rows(new)][:, : len(old.nodes)]
    nearest = labels[: len(old.nodes)][np.argmin(distances, axis=1)]
    assert np.mean(nearest == labels[placed.rows(new)]) > 0.9
    graph = nx.Graph(graph)
    graph.add_node("alone")
    with pytest.raises(ValueError, match="1 new nodes have no edge, such as 'alone'"):
        old.place(graph)


def test_parts_are_taken_by_neighbourhoods_and_lie_apart():
    graph = nx.disjoint_union(nx.complete_graph(6), nx.complete_graph(6))
    found = plane_distances(embed_graph(graph, objective="neighbours").X)
    assert found[:6, :6].max() < found[:6, 6:].min()


def test_trees_are_embedded_by_distances_in_the_plane_alone():
    tree = nx.balanced_tree(2, 3)
    assert embed_graph(tree).objective == "distances"
    assert embed_graph(tree, dim=3).objective == "neighbours"
    for options, message in (
        ({"objective": "near"}, "must be one of auto, distances, neighbours"),
        ({"dim": 1}, "dim must be an integer of at least 2"),
        ({"dim": 3, "objective": "distances"}, "needs objective='neighbours'"),
        ({"scale": 1.0, "objective": "neighbours"}, "scale is for distances"),
    ):
        with pytest.raises(ValueError, match=message):
            embed_graph(tree, **options)


@pytest.mark.parametrize("objective", ["neighbours", "distances"])
def test_interrupted_work_keeps_what_it_has(monkeypatch, objective):
    graph, calls = blocks(0), []
    home, name = (neighbourhoods, "move_nodes") if objective == "neighbours" else (metric, "_stress")
    original = getattr(home, name)

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 50:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(home, name, interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        found = embed_graph(graph, objective=objective)
    monkeypatch.undo()
    assert len(calls) == 50  # nothing goes on after an interrupt
    adjacency = nx.to_numpy_array(graph) > 0
    rough = neighbourhoods.start(csr_array(adjacency.astype(float)), 2, np.random.default_rng(0))
    assert mean_average_precision(found.X, adjacency) > mean_average_precision(rough, adjacency)
