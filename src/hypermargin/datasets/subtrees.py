"""Rooted trees as arrays of parents: depths, sizes of subtrees, and labels "in this subtree"."""

import numpy as np
from numpy.typing import NDArray

Parents = NDArray[np.int64]  # parent[v] < v, and -1 for the root, node 0


def depths(parent: Parents) -> NDArray[np.int64]:
    """Edges between each node and the root, shape (n,)."""
    depth = np.zeros(len(parent), dtype=np.int64)
    for v in range(1, len(parent)):
        depth[v] = depth[parent[v]] + 1
    return depth


def subtree_sizes(parent: Parents) -> NDArray[np.int64]:
    """Nodes of the subtree under each node, itself included, shape (n,)."""
    size = np.ones(len(parent), dtype=np.int64)
    for v in range(len(parent) - 1, 0, -1):
        size[parent[v]] += size[v]
    return size


def nearest_subtree(parent: Parents, fraction: float) -> int:
    """The node other than the root whose subtree holds the share of all nodes nearest to `fraction`."""
    return 1 + int(np.argmin(np.abs(subtree_sizes(parent)[1:] - fraction * len(parent))))


def descendants(parent: Parents, node: int) -> NDArray[np.bool_]:
    """Which nodes lie in the subtree of `node`, itself included, shape (n,)."""
    inside = np.zeros(len(parent), dtype=bool)
    inside[node] = True
    for v in range(node + 1, len(parent)):
        inside[v] = inside[parent[v]]
    return inside
