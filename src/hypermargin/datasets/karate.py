"""Zachary's karate club, embedded here from its friendships alone."""

import networkx as nx
import numpy as np

from hypermargin.datasets.bunch import Dataset, as_dataset
from hypermargin.embedding import embed_metric


def load_karate(*, return_X_y: bool = False) -> Dataset:
    """The 34 members of Zachary's karate club in the hyperbolic plane; the label is the club joined after the split.

    The distances embedded are those of shortest paths in the graph of friendships, one unit each, so the labels play no
    part. Computed at each call in a fraction of a second, without chance.

    Returns
    -------
    Bunch with X (34, 3), y (34,), edges (78, 2), target_names ("Mr. Hi", "Officer") and description.
    """
    graph = nx.karate_club_graph()
    target_names = np.array(["Mr. Hi", "Officer"])
    clubs = [graph.nodes[member]["club"] for member in graph]
    return as_dataset(
        return_X_y,
        X=embed_metric(nx.floyd_warshall_numpy(graph, weight=None)),
        y=np.searchsorted(target_names, clubs),
        edges=np.array(graph.edges),
        target_names=target_names,
        description="Zachary's karate club: shortest-path distances embedded in the hyperbolic plane, labels the club.",
    )
