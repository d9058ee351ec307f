"""A random taxonomy in the plane, crowded and noisy as learned embeddings are: a stand-in for WordNet's nouns."""

from collections.abc import Sequence
from numbers import Real

import numpy as np
from sklearn.utils import check_random_state

from hypermargin.arrays import Array
from hypermargin.datasets.bunch import Dataset, as_dataset, check_integer
from hypermargin.datasets.subtrees import Parents, depths, descendants, nearest_subtree, subtree_sizes
from hypermargin.geometry.models import to_lorentz

#: Beyond this radius coordinates in double precision are too coarse for the distances between leaves.
MAX_RADIUS = 15.0
#: A new concept is filed under a random concept with this chance, and otherwise beside one. The depths of WordNet's
#: nouns (7 to 8 on average, 18 at most) and their few very large families come out much the same.
CHANCE_OF_UNDER = 0.65


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
    proportion to their sizes, and a node lies the further out the deeper it is, but no further than the capacity of
    the embedding; there are more leaves than there is room for at that radius, so that families crowd at the rim.
    Sectors are displaced at random, with all that is in them, and overlap; points are disturbed; and a few nodes sit in
    a wrong family together with their descendants.

    Parameters
    ----------
    n_nodes : int
        From 2 to 100,000.
    positive_fraction : float or sequence of float
        Wanted share of class 1, in (0, 1): the subtree whose size is nearest is taken. With a sequence y has a column
        for each share.
    capacity : float
        The radius that no node's place exceeds (the disturbance comes on top), at most 15. Circles of radius r have
        room for about ``2 pi sinh(r)`` leaves one apart.
    noise : float
        Standard deviation of the disturbance: of points, in units of distance, and of sectors, in units of their width.
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
    parent = _grow(n_nodes, rng)
    X = _embed(parent, capacity, noise, misplaced, rng)
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


def _grow(n_nodes: int, rng: np.random.RandomState) -> Parents:
    """Node v goes under a random earlier node, or beside one: families grow in proportion to what they hold."""
    parent = np.full(n_nodes, -1)
    earlier = np.floor(rng.uniform(size=n_nodes) * np.arange(n_nodes)).astype(np.int64)
    under = rng.uniform(size=n_nodes) < CHANCE_OF_UNDER
    for v in range(1, n_nodes):
        parent[v] = earlier[v] if under[v] or earlier[v] == 0 else parent[earlier[v]]
    return parent


def _embed(parent: Parents, capacity: float, noise: float, misplaced: float, rng: np.random.RandomState) -> Array:
    """Lorentz coordinates, shape (n, 3), of the sectors' middles and the depths, disturbed."""
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
