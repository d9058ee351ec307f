"""Random trees embedded in the hyperbolic plane with low distortion; labels by subtree, as imbalanced as asked."""

import networkx as nx
import numpy as np
from sklearn.utils import check_random_state

from hypermargin.datasets.bunch import Dataset, as_dataset, check_integer
from hypermargin.datasets.subtrees import Parents, depths, descendants, nearest_subtree
from hypermargin.datasets.tree_layout import embed_tree

#: Beyond this radius coordinates in double precision are too coarse for the distances between leaves.
MAX_RADIUS = 15.0


def make_tree(
    n_nodes: int = 200,
    *,
    positive_fraction: float = 0.1,
    max_children: int = 3,
    radius: float = 6.0,
    random_state: int | np.random.RandomState | None = None,
    return_X_y: bool = False,
) -> Dataset:
    """A random tree in the hyperbolic plane; class 1 is a subtree (a node and its descendants), class 0 the rest.

    The tree grows level by level, each node getting 1 to `max_children` children with equal chance, until it has
    `n_nodes` nodes. It is then rooted at its centre, which is put at the origin, and laid out by `embed_tree`, all
    edges of one length. The larger the radius, the better do distances in the tree and in the plane agree.

    Parameters
    ----------
    n_nodes : int
        At least 2.
    positive_fraction : float
        Wanted share of class 1, in (0, 1): the subtree whose size is nearest is taken.
    max_children : int
        At least 2.
    radius : float
        Length of the path from the root to the deepest leaf, at most 15; no node lies further from the origin.
    random_state : int, RandomState or None
    return_X_y : bool
        Return ``(X, y)`` only.

    Returns
    -------
    Bunch with X (n, 3), y (n,), edges (n - 1, 2) as (parent, child) rows, parent (n,) with -1 for the root (node 0),
    subtree_root, edge_length (in the plane) and description.
    """
    n_nodes = check_integer(n_nodes, "n_nodes", minimum=2)
    max_children = check_integer(max_children, "max_children", minimum=2)
    if not 0.0 < positive_fraction < 1.0:
        raise ValueError(f"positive_fraction must lie strictly between 0 and 1, got {positive_fraction!r}")
    if not 0.0 < radius <= MAX_RADIUS:
        raise ValueError(f"radius must be positive and at most {MAX_RADIUS:g}, got {radius!r}")
    parent = _root_at_centre(_grow(n_nodes, max_children, check_random_state(random_state)))
    edge_length = radius / depths(parent).max()
    subtree_root = nearest_subtree(parent, positive_fraction)
    y = descendants(parent, subtree_root).astype(np.int64)
    return as_dataset(
        return_X_y,
        X=embed_tree(parent, edge_length),
        y=y,
        edges=np.column_stack([parent[1:], np.arange(1, n_nodes)]),
        parent=parent,
        subtree_root=subtree_root,
        edge_length=edge_length,
        description=f"Random tree of {n_nodes} nodes in the hyperbolic plane; class 1 is a subtree of {y.sum()} nodes.",
    )


def _grow(n_nodes: int, max_children: int, rng: np.random.RandomState) -> Parents:
    parent = np.full(n_nodes, -1)
    node, born = 0, 1
    while born < n_nodes:
        children = min(rng.randint(1, max_children + 1), n_nodes - born)
        parent[born : born + children] = node
        node, born = node + 1, born + children
    return parent


def _root_at_centre(parent: Parents) -> Parents:
    """The same tree rooted at its centre and renumbered breadth first, so that it is as shallow as it can be."""
    graph = nx.Graph((int(parent[v]), v) for v in range(1, len(parent)))
    centre = min(nx.center(graph))
    number = {node: k for k, node in enumerate(nx.bfs_tree(graph, centre))}
    rooted = np.full(len(parent), -1)
    for above, below in nx.bfs_edges(graph, centre):
        rooted[number[below]] = number[above]
    return rooted
