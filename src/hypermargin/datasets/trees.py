"""Random trees and taxonomies in the hyperbolic plane; class 1 is a subtree.

`make_tree` lays a tree out with low distortion. Sarkar (2011) puts the children of a node at equal angles and one edge
length away, and subtrees cross unless the edges are long. Here each child also owns a cone, as in the hyperbolic
browser of Lamping and Rao (1995): the rays that bound its share of its parent's cone. Seen from one edge further out,
the cone of the same ideal points is wider, so that with long edges the cones open until the angles are Sarkar's, and
with short edges no two subtrees ever cross. `make_taxonomy` is crowded and noisy like learned embeddings: a stand-in
for WordNet's nouns.
"""

from collections.abc import Sequence
from numbers import Real

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from hypermargin.arrays import Array
from hypermargin.datasets.bunch import Dataset, as_dataset, check_integer
from hypermargin.geometry.lorentz import lift
from hypermargin.geometry.models import to_lorentz

Parents = NDArray[np.int64]  # parent[v] < v, and -1 for the root, node 0

#: At radius r a coordinate is rounded by up to ``cosh(r) 2^-53``, which is 2e-10 of a unit of length here: small beside
#: the distance between leaves.
MAX_RADIUS = 15.0
#: A new node of a taxonomy becomes a child of a random node with this probability, and otherwise its sibling. Chosen so
#: that the depths are those of WordNet's nouns (7 to 8 on average, 18 at most), as are their few very large families.
CHANCE_OF_UNDER = 0.65


# -- trees -------------------------------------------------------------------------------------------------------------


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
    parent = _root_at_centre(_grow_tree(n_nodes, max_children, check_random_state(random_state)))
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


def _grow_tree(n_nodes: int, max_children: int, rng: np.random.RandomState) -> Parents:
    parent = np.full(n_nodes, -1)
    node, born = 0, 1
    while born < n_nodes:
        children = min(rng.randint(1, max_children + 1), n_nodes - born)
        parent[born : born + children] = node
        node, born = node + 1, born + children
    return parent


def _root_at_centre(parent: Parents) -> Parents:
    """The same tree rooted at its centre, which makes it as shallow as possible, and renumbered breadth first."""
    graph = nx.Graph((int(parent[v]), v) for v in range(1, len(parent)))
    centre = min(nx.center(graph))
    number = {node: k for k, node in enumerate(nx.bfs_tree(graph, centre))}
    rooted = np.full(len(parent), -1)
    for above, below in nx.bfs_edges(graph, centre):
        rooted[number[below]] = number[above]
    return rooted


# -- the layout of a tree ----------------------------------------------------------------------------------------------


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
    leaves = subtree_sums(parent, np.array([not below for below in children], dtype=np.float64))
    half_angle = np.full(n, np.pi)
    frames = np.empty((n, 3, 3))  # columns: position, direction away from the parent, direction to the left of it
    frames[0] = np.eye(3)
    for v in range(n):
        if not children[v]:
            continue
        # The edge to the parent needs an angle as well; the root has none.
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
    """The frame after a left turn by `angle` and parallel transport over `length` along the geodesic."""
    position, forward, left = frame.T
    heading = np.cos(angle) * forward + np.sin(angle) * left
    sideways = np.cos(angle) * left - np.sin(angle) * forward
    cosh, sinh = np.cosh(length), np.sinh(length)
    return np.column_stack([cosh * position + sinh * heading, sinh * position + cosh * heading, sideways])


def _seen_one_edge_on(half_angle: float, length: float) -> float:
    """Half the angle of a cone's ideal points, seen from a point `length` further along its axis."""
    if half_angle >= np.pi:
        return np.pi
    return 2.0 * float(np.arctan(np.exp(length) * np.tan(half_angle / 2.0)))


# -- taxonomies --------------------------------------------------------------------------------------------------------


def make_taxonomy(
    n_nodes: int = 10_000,
    *,
    positive_fraction: float | Sequence[float] = 0.01,
    capacity: float = 7.0,
    noise: float = 0.15,
    misplaced: float = 0.03,
    random_state: int | np.random.RandomState | None = None,
    return_X_y: bool = False,
) -> Dataset:
    """A random taxonomy in the hyperbolic plane; class 1 is a subtree (a node and its descendants), class 0 the rest.

    Like a learned embedding it is imperfect. Every family owns a sector of the circle, shared among its children in
    proportion to their sizes, and deeper nodes lie further out, but no further than the capacity of the embedding;
    leaves are more than have room at that radius, so that families crowd at the rim. Sectors are displaced at random
    together with their nodes, and overlap; points are perturbed; and a few nodes lie in a wrong family together with
    their descendants.

    Parameters
    ----------
    n_nodes : int
        From 2 to 100,000.
    positive_fraction : float or sequence of float
        Wanted share of class 1, in (0, 1): the subtree whose size is nearest is taken. With a sequence y has a column
        for each share.
    capacity : float
        The largest radius of a node before noise, at most 15. A circle of radius r has room for about
        ``2 pi sinh(r)`` leaves at distance 1 from each other.
    noise : float
        Standard deviation of the noise: of points, in units of distance, and of sectors, in units of their width.
    misplaced : float
        Share of the nodes, in [0, 1), that are put into a random place of another family.
    random_state : int, RandomState or None
    return_X_y : bool
        Return ``(X, y)`` only.

    Returns
    -------
    Bunch with X (n, 3), y (n,) or (n, n_fractions), parent (n,) with -1 for the root (node 0), depth (n,),
    subtree_root (an integer, or one for each fraction) and description.
    """
    n_nodes = check_integer(n_nodes, "n_nodes", minimum=2)
    if n_nodes > 100_000:
        raise ValueError(f"n_nodes must be at most 100000, got {n_nodes}")
    fractions = np.atleast_1d(np.asarray(positive_fraction, dtype=np.float64))
    if fractions.ndim != 1 or fractions.size == 0 or not np.all((fractions > 0.0) & (fractions < 1.0)):
        raise ValueError(f"positive_fraction must lie strictly between 0 and 1, got {positive_fraction!r}")
    if not 0.0 < capacity <= MAX_RADIUS:
        raise ValueError(f"capacity must be positive and at most {MAX_RADIUS:g}, got {capacity!r}")
    if not (np.isfinite(noise) and noise >= 0.0):
        raise ValueError(f"noise must be a finite number that is not negative, got {noise!r}")
    if not 0.0 <= misplaced < 1.0:
        raise ValueError(f"misplaced must be at least 0 and less than 1, got {misplaced!r}")
    rng = check_random_state(random_state)
    parent = _grow_taxonomy(n_nodes, rng)
    X = _embed_taxonomy(parent, capacity, noise, misplaced, rng)
    roots = np.array([nearest_subtree(parent, fraction) for fraction in fractions])
    y = np.column_stack([descendants(parent, root) for root in roots.tolist()]).astype(np.int64)
    single = isinstance(positive_fraction, Real)
    return as_dataset(
        return_X_y,
        X=X,
        y=y[:, 0] if single else y,
        parent=parent,
        depth=depths(parent),
        subtree_root=int(roots[0]) if single else roots,
        description=f"Random taxonomy of {n_nodes} nodes, embedded in the plane with noise; class 1 is a subtree of "
        f"{' or '.join(str(size) for size in y.sum(axis=0))} nodes.",
    )


def _grow_taxonomy(n_nodes: int, rng: np.random.RandomState) -> Parents:
    """Node v becomes a child or a sibling of a random earlier node: families grow in proportion to their sizes."""
    parent = np.full(n_nodes, -1)
    earlier = np.floor(rng.uniform(size=n_nodes) * np.arange(n_nodes)).astype(np.int64)
    under = rng.uniform(size=n_nodes) < CHANCE_OF_UNDER
    for v in range(1, n_nodes):
        parent[v] = earlier[v] if under[v] or earlier[v] == 0 else parent[earlier[v]]
    return parent


def _embed_taxonomy(
    parent: Parents, capacity: float, noise: float, misplaced: float, rng: np.random.RandomState
) -> Array:
    """Lorentz coordinates, shape (n, 3): angles from the sectors, radii from the depths, both with noise."""
    n, size = len(parent), subtree_sizes(parent)
    middle, width = np.zeros(n), np.full(n, 2.0 * np.pi)
    used = np.zeros(n)  # the part of each sector that children have taken so far
    shift = noise * rng.normal(size=n)
    for v in range(1, n):
        u = parent[v]
        share = size[v] / (size[u] - 1.0)
        width[v] = share * width[u]
        middle[v] = middle[u] + (used[u] + 0.5 * share - 0.5) * width[u] + shift[v] * width[v]
        used[u] += share
    # Siblings are apart where their radius goes with the width of their sectors; a node gets part of the way there.
    place, part = np.zeros(n), rng.uniform(0.3, 1.0, size=n)
    for v in range(1, n):
        u = parent[v]
        place[v] = place[u] + part[v] * max(np.arcsinh(np.pi / width[v]) - place[u], 0.5)
    radius = capacity * np.tanh(place / capacity)
    # Misplaced families turn as a whole, to where a random node of the taxonomy is.
    turn = np.zeros(n)
    for v in np.flatnonzero(rng.uniform(size=n) < misplaced).tolist():
        turn[v] = middle[rng.randint(n)] - middle[v]
    for v in range(1, n):
        turn[v] += turn[parent[v]]
    angle = middle + turn
    along, across = noise * rng.normal(size=(2, n))
    radius = np.abs(radius + along)
    angle = angle + across / np.maximum(np.sinh(radius), 1.0)
    return to_lorentz(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), "tangent")


# -- subtrees ----------------------------------------------------------------------------------------------------------


def depths(parent: Parents) -> NDArray[np.int64]:
    """Number of edges between each node and the root, shape (n,)."""
    depth = np.zeros(len(parent), dtype=np.int64)
    for v in range(1, len(parent)):
        depth[v] = depth[parent[v]] + 1
    return depth


def subtree_sizes(parent: Parents) -> NDArray[np.int64]:
    """Size of the subtree of each node, itself included, shape (n,)."""
    return subtree_sums(parent, np.ones(len(parent), dtype=np.int64))


def subtree_sums(parent: Parents, values: NDArray) -> NDArray:
    """The sum of the values, shape (n,), over the subtree of each node."""
    sums = values.copy()
    for v in range(len(parent) - 1, 0, -1):
        sums[parent[v]] += sums[v]
    return sums


def nearest_subtree(parent: Parents, fraction: float) -> int:
    """The node other than the root whose subtree has the size nearest to `fraction` of all nodes."""
    return 1 + int(np.argmin(np.abs(subtree_sizes(parent)[1:] - fraction * len(parent))))


def descendants(parent: Parents, node: int) -> NDArray[np.bool_]:
    """Which nodes lie in the subtree of `node`, itself included, shape (n,)."""
    inside = np.zeros(len(parent), dtype=bool)
    inside[node] = True
    for v in range(node + 1, len(parent)):
        inside[v] = inside[parent[v]]
    return inside
