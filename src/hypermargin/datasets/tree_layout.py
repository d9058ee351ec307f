"""Trees in the hyperbolic plane: Sarkar's construction, with cones that keep subtrees from crossing.

Sarkar (2011) puts the children of a node at equal angles and one edge length away; subtrees cross unless the edges are
long. Here each child also owns a cone, as in the hyperbolic browser of Lamping and Rao (1995): the rays that bound its
share of its parent's cone. One edge further out the same ideal points are seen under a wider angle, so that with long
edges the cones open until the angles are Sarkar's, and with short edges no two subtrees ever cross.
"""

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.geometry.lorentz import lift


def embed_tree(parent: NDArray[np.int64], edge_length: float) -> Array:
    """Lorentz coordinates, shape (n, 3), of a tree whose edges all have `edge_length`; the root is at the origin.

    `parent` has -1 for node 0, the root, and ``parent[v] < v`` for the others. A cone is shared among the children in
    proportion to the square root of their numbers of leaves: halfway between equal angles, best with long edges, and
    equal room for each leaf, best with short ones.
    """
    n = len(parent)
    children: list[list[int]] = [[] for _ in range(n)]
    for v in range(1, n):
        children[parent[v]].append(v)
    leaves = _count_leaves(children)
    half_angle = np.full(n, np.pi)
    frames = np.empty((n, 3, 3))  # columns: position, direction away from the parent, direction to the left of it
    frames[0] = np.eye(3)
    for v in range(n):
        if not children[v]:
            continue
        # The edge to the parent wants an angle as well; the root has none.
        widest = np.pi if v == 0 else np.pi * len(children[v]) / (len(children[v]) + 1)
        cone = min(half_angle[v], widest)
        share = np.sqrt(leaves[children[v]])
        share *= cone / share.sum()
        directions = np.cumsum(2.0 * share) - share - cone
        for child, angle, half in zip(children[v], directions, share, strict=True):
            frames[child] = _advance(frames[v], angle, edge_length)
            half_angle[child] = _seen_one_edge_on(half, edge_length)
    return lift(frames[:, 1:, 0])


def _advance(frame: Array, angle: float, length: float) -> Array:
    """Turn left by `angle`, then go `length` along the geodesic; the frame is carried along."""
    position, forward, left = frame.T
    heading = np.cos(angle) * forward + np.sin(angle) * left
    sideways = np.cos(angle) * left - np.sin(angle) * forward
    cosh, sinh = np.cosh(length), np.sinh(length)
    return np.column_stack([cosh * position + sinh * heading, sinh * position + cosh * heading, sideways])


def _seen_one_edge_on(half_angle: float, length: float) -> float:
    """Half the angle under which a cone's ideal points are seen from a point `length` further along its axis."""
    if half_angle >= np.pi:
        return np.pi
    return 2.0 * float(np.arctan(np.exp(length) * np.tan(half_angle / 2.0)))


def _count_leaves(children: list[list[int]]) -> Array:
    leaves = np.ones(len(children))
    for v in range(len(children) - 1, -1, -1):
        if children[v]:
            leaves[v] = leaves[children[v]].sum()
    return leaves
