"""The karate club."""

import networkx as nx
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from hypermargin.datasets import load_karate


def plane_distances(X):
    return np.arccosh(np.maximum(np.outer(X[:, 0], X[:, 0]) - X[:, 1:] @ X[:, 1:].T, 1.0))


def test_labels_and_edges_are_those_of_networkx():
    data = load_karate()
    graph = nx.karate_club_graph()
    assert [graph.nodes[v]["club"] for v in range(34)] == data.target_names[data.y].tolist()
    assert nx.utils.edges_equal(nx.Graph(data.edges.tolist()).edges, nx.Graph(graph.edges).edges)


def test_clubs_can_be_told_apart_although_labels_were_not_used():
    X, y = load_karate(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert cross_val_score(SVC(kernel="linear"), X, y, cv=folds).mean() > 0.9


def test_distances_follow_those_of_the_graph():
    X = load_karate().X
    pairs = np.triu_indices(34, 1)
    wanted = nx.floyd_warshall_numpy(nx.karate_club_graph(), weight=None)[pairs]
    found = plane_distances(X)[pairs]
    assert np.corrcoef(wanted, found)[0, 1] > 0.8
    assert found.min() > 0.05  # members with the same friends are parted


def test_no_chance_in_it():
    np.testing.assert_array_equal(load_karate().X, load_karate().X)
