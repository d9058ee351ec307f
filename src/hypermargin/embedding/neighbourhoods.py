"""Embedding a graph by its neighbourhoods: the next places of a random walk are to be the nearest points.

With ``q_uv`` the probability that one or two steps of a random walk lead from u to v, what falls is

    - sum_u sum_v q_uv log p_uv,    p_uv = exp(-2 d_uv) / sum_{w != u} exp(-2 d_uw),

the loss of stochastic neighbour embedding (Hinton and Roweis, 2002) with walks for affinities and hyperbolic distances;
``exp(-2 d)`` is ``1/(cosh d + sinh d)^2``, which needs no exponential. Each step moves one node while all others stay
(`compiled/moves.py`). The sum over w is exact for small graphs. In larger ones it has the nodes that are near, found
by a k-d tree now and then, and a few drawn from all.
"""

from contextlib import nullcontext

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from scipy.spatial import cKDTree

from hypermargin.arrays import Array
from hypermargin.embedding.compiled.moves import move_nodes
from hypermargin.embedding.metric import warn_of_interrupt
from hypermargin.geometry.lorentz import lift
from hypermargin.progress import Progress

#: Up to so many nodes all others repel each, which takes 2 s; beyond, those that are near and some drawn.
MOST_EXACT = 1000
#: Nodes that are near, nodes drawn from all, and walks of two steps, for each node and pass. On graphs of 300 nodes, 30
#: near ones lose 0.02 of the mean average precision against all; 10 lose 0.04.
NEAR, DRAWN, WALKS = 30, 10, 5
#: Passes over the nodes. Twice as many raise the precision by 0.02 in ten dimensions and lower accuracies by 0.01.
PASSES = 200
#: Passes between searches for nodes that are near: between two of them a node moves by about one unit.
SEARCH_EVERY = 10
#: The share of two steps in q, of 0, 0.2, ..., 0.8: with less, accuracies fall, and with more the precision of trees.
TWO_STEPS = 0.4
#: Steps fall from the first length, a good part of a neighbourhood, to the second, at which nodes have settled.
FIRST_STEP, LAST_STEP = 0.3, 0.01
#: The largest radius: cosh of a distance between two such points has an error of 1e-5.
LARGEST_RADIUS = 12.0
#: The noise of axes of mean square 1 at the start, which parts nodes with the same neighbours.
NOISE = 0.1


def embed_neighbourhoods(weights: csr_array, dim: int, seed: int = 0, max_iter: int = 2000, verbose: int = 0) -> Array:
    """Lorentz coordinates, shape (n, dim + 1), of the nodes of a graph.

    Parameters
    ----------
    weights : (n, n) sparse array
        Symmetric, without a diagonal: a step of the walk takes an edge with a probability in proportion to its entry.
    dim : int
    seed : int
        The result is a function of it.
    max_iter : int
        Passes over all nodes at most.
    verbose : int
        1 or more shows progress on standard error.

    Interrupted by the keyboard, it warns and returns what it has.
    """
    rng = np.random.default_rng(seed)
    n = weights.shape[0]
    with Progress("embedding", None, closing=True) if verbose >= 1 else nullcontext() as progress:
        X = start(weights, dim, rng) if n > 1 else lift(np.zeros((n, dim)))
        _improve(X, weights, np.arange(n), rng, max_iter, progress)
    return X


def place_nodes(weights: csr_array, X: Array, first: int, seed: int = 0) -> Array:
    """Lorentz coordinates of all nodes, of which those from row `first` on are found while all others stay.

    `X`, shape (n, d + 1), has any values in these rows.
    """
    X, known, waiting = X.copy(), np.arange(len(X)) < first, list(range(first, len(X)))
    X[first:] = lift(np.zeros((len(waiting), X.shape[1] - 1)))
    new = np.array(waiting, dtype=np.intp)
    while waiting:  # near the neighbours that have a place; then those that are joined to these
        placed = []
        for node in waiting:
            around = weights.indices[weights.indptr[node] : weights.indptr[node + 1]]
            around = around[known[around]]
            if len(around):
                total = X[around].sum(axis=0)
                X[node] = lift(total[1:] / np.sqrt(max(total[0] ** 2 - total[1:] @ total[1:], 1.0)))
                placed.append(node)
        if not placed:
            break
        known[placed] = True
        waiting = [node for node in waiting if not known[node]]
    _improve(X, weights, new, np.random.default_rng(seed), PASSES, None)
    return X


def start(weights: csr_array, dim: int, rng: np.random.Generator) -> Array:
    """Directions by the first eigenvectors of the random walk, and radii that fall with the logarithm of the degree.

    The eigenvectors are rough, as they only begin the work: Lanczos' method stops early, and what it has will do.
    """
    n = weights.shape[0]
    degrees = np.maximum(weights.sum(axis=1), 1e-300)
    scaling = diags_array(1.0 / np.sqrt(degrees))
    walk = csr_array(0.5 * (scaling @ weights @ scaling + diags_array(np.ones(n))))
    axes = np.zeros((n, dim))
    first = np.sqrt(degrees / degrees.sum()) + 1e-3 * rng.normal(size=n)
    count = min(dim + 1, n - 2)
    if count > 1:
        try:
            vectors = eigsh(walk, k=count, v0=first, tol=1e-2, maxiter=60, ncv=min(n, max(40, 3 * dim)))[1]
        except ArpackNoConvergence as stopped:
            vectors = stopped.eigenvectors
        found = vectors[:, ::-1][:, 1:]
        axes[:, : found.shape[1]] = found / np.sqrt(degrees)[:, None]
        axes /= np.maximum(np.sqrt(np.mean(axes**2, axis=0)), 1e-300)
    axes += NOISE * rng.normal(size=axes.shape)
    radius = np.minimum(0.5 + 0.5 * np.log(degrees.max() / degrees), 0.5 * LARGEST_RADIUS)
    return lift(np.sinh(radius)[:, None] * axes / np.linalg.norm(axes, axis=1, keepdims=True))


def _improve(
    X: Array, weights: csr_array, moved: np.ndarray, rng: np.random.Generator, max_iter: int, progress: Progress | None
) -> None:
    """Move the nodes `moved` of X, shape (n, d + 1), in place."""
    n = len(X)
    if weights.nnz == 0 or len(moved) == 0:
        return
    starts, joined = weights.indptr.astype(np.intp), weights.indices.astype(np.intp)
    degrees = weights.sum(axis=1)
    rows = np.repeat(np.arange(n), np.diff(starts))
    pulls = (1.0 - TWO_STEPS) * weights.data * (1.0 / degrees[rows] + 1.0 / degrees[joined])
    summed = np.concatenate([[0.0], np.cumsum(weights.data)])

    def next_of(nodes: np.ndarray) -> np.ndarray:
        """A step of the walk from each node; one without neighbours stays."""
        low, high = starts[nodes], starts[nodes + 1]
        aims = summed[low] + rng.random(nodes.shape) * (summed[high] - summed[low])
        edges = np.searchsorted(summed, aims, side="right") - 1
        return np.where(low < high, joined[np.clip(edges, low, high - 1)], nodes)

    all_repel = n <= MOST_EXACT
    drawn_of, drawn_weight = (0, 0.0) if all_repel else (DRAWN, (n - 1 - NEAR) / DRAWN)
    sums, speeds, furthest = np.zeros(n), np.zeros(n), float(np.sinh(LARGEST_RADIUS))
    # Nodes that stay repel by their own sums as well, which a visit without a step finds.
    visits = [(np.arange(n), 0.0)] if len(moved) < n else []
    visits += [(moved, step) for step in np.linspace(FIRST_STEP, LAST_STEP, min(max_iter, PASSES))]
    for done, (nodes, step) in enumerate(visits):
        try:
            if progress is not None:
                progress.total = len(visits)
                progress.at(done, f"mean radius {np.arccosh(X[:, 0]).mean():.1f}")
            if done % SEARCH_EVERY == 0 or done == 1:
                rivals = np.tile(np.arange(n), (len(nodes), 1)) if all_repel else _near(X, nodes)
            turn = rng.permutation(len(nodes))
            order = nodes[turn]
            drawn = rng.integers(n, size=(len(nodes), drawn_of))
            walked = next_of(next_of(np.repeat(order[:, None], WALKS, axis=1)))
            attracted = starts, joined, pulls, degrees, walked, TWO_STEPS / WALKS
            move_nodes(X, order, *attracted, rivals[turn], drawn, drawn_weight, sums, speeds, step, furthest)
        except KeyboardInterrupt:
            warn_of_interrupt(done, len(visits), "passes")
            return
    if progress is not None:
        progress.at(len(visits))


def _near(X: Array, nodes: np.ndarray) -> np.ndarray:
    """About the nearest points to some of X, shape (m, NEAR), by Poincaré coordinates, which are conformal."""
    ball = X[:, 1:] / (1.0 + X[:, :1])
    return cKDTree(ball).query(ball[nodes], NEAR, eps=0.3, workers=-1)[1].astype(np.intp)
