"""Points from objects of other libraries: graphs, by distances or neighbourhoods, and vectors of gensim."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import networkx as nx
import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, shortest_path

from hypermargin.arrays import Array
from hypermargin.embedding.metric import Distortion, distortion, embed_metric
from hypermargin.embedding.neighbourhoods import embed_neighbourhoods, place_nodes
from hypermargin.geometry.metric import distance
from hypermargin.geometry.models import from_lorentz

#: Longer distances are scaled down to this diameter: twice the radius 12, where doubles still resolve 1e-11.
LARGEST_DIAMETER = 24.0
#: A matrix of all pairs of nodes takes 3.2 GB at this size, and the descent holds at least two.
MOST_NODES = 20_000
#: What the embedding may follow.
OBJECTIVES = ("auto", "distances", "neighbours")
#: Trees of up to so many nodes are embedded by distances in the plane by default, which takes some minutes then.
LARGEST_TREE = 2_000
#: Pairs of nodes from which the distortion of an embedding by neighbourhoods is estimated: some seconds of paths.
SAMPLED_PAIRS, FEWEST_SOURCES = 1_000_000, 20


@dataclass(frozen=True, eq=False)
class GraphEmbedding:
    """Nodes as points of hyperbolic space.

    Parameters
    ----------
    X : (n, d + 1) array
        Lorentz coordinates, a row for each node.
    nodes : list
        The nodes in the order of the rows.
    scale : float
        Hyperbolic length of one unit of the graph's distance; the best fit where neighbourhoods were embedded.
    distortion : Distortion
        How far the distances are from `scale` times those of the graph; of a sample of pairs in large graphs.
    objective : str
        What was followed: "distances" or "neighbours".
    """

    X: Array
    nodes: list[Hashable]
    scale: float
    distortion: Distortion
    objective: str = "distances"

    def rows(self, nodes: Iterable[Hashable]) -> np.ndarray:
        """The rows of some nodes; one that is not in the embedding is a `KeyError`."""
        place = {node: row for row, node in enumerate(self.nodes)}
        return np.array([place[node] for node in nodes], dtype=np.intp)

    def coordinates(self, geometry: str = "poincare") -> Array:
        """The points in another model of the space, such as (n, d) for "poincare" or (n, d + 1) for "lorentz"."""
        return from_lorentz(self.X, geometry)

    def place(self, graph: Any, *, weight: str | None = None, seed: int = 0) -> "GraphEmbedding":
        """The embedding with the further nodes of a graph, by their neighbourhoods; all other nodes stay.

        Parameters
        ----------
        graph : networkx graph
            The graph with nodes and edges added, or the new nodes with their edges alone.
        weight : str, optional
            As in `embed_graph`.
        seed : int, default=0

        Returns
        -------
        GraphEmbedding
            The new nodes come last. `scale` and `distortion` are those of the old ones.
        """
        if not isinstance(graph, nx.Graph):
            raise TypeError(f"graph must be a networkx graph, got {type(graph).__name__}")
        known = set(self.nodes)
        added = [node for node in graph if node not in known]
        whole = nx.Graph()
        whole.add_nodes_from([*self.nodes, *added])
        whole.add_edges_from(graph.edges(data=True))
        nodes, lengths = _lengths(whole, weight)
        first = len(self.nodes)
        alone = [nodes[first + k] for k in np.flatnonzero(np.diff(lengths.indptr)[first:] == 0)]
        if alone:
            raise ValueError(f"{len(alone)} new nodes have no edge, such as {alone[0]!r}: nothing places them")
        X = np.vstack([self.X, np.zeros((len(added), self.X.shape[1]))])
        return replace(self, X=place_nodes(_strengths(lengths), X, first, seed), nodes=nodes)

    def __str__(self) -> str:
        return f"{len(self.nodes)} nodes, one unit of the graph is {self.scale:.4g} long; {self.distortion}"


def embed_graph(
    graph: Any,
    *,
    dim: int = 2,
    objective: str = "auto",
    weight: str | None = None,
    scale: float | None = None,
    largest_component: bool = False,
    max_iter: int = 2000,
    seed: int = 0,
    verbose: int = 0,
) -> GraphEmbedding:
    """Embed a graph in hyperbolic space, so that points are near where nodes are.

    Labels of nodes play no part, and the result is a function of the seed. With neighbourhoods 10,000 nodes take some
    seconds, 100,000 some minutes. With distances, time and memory grow with the square of the number of nodes: 1,000
    take about a minute, and at most 20,000 are accepted. Interrupted by the keyboard, it warns and returns what it has.

    Parameters
    ----------
    graph : networkx graph, or (n, n) array or SciPy sparse array
        Directions are ignored, and so are loops; of parallel edges the shortest counts. An array is an adjacency matrix
        whose entries are lengths if `weight` is given, and say only whether there is an edge if not.
    dim : int, default=2
        The dimension of the space. Ten keep neighbourhoods that the plane has no room for.
    objective : {"auto", "distances", "neighbours"}, default="auto"
        "neighbours": the nodes that a short random walk leads to are to be the nearest points. "distances", in the
        plane: lengths follow those of shortest paths. By default distances for trees of up to 2,000 nodes in the plane,
        or if there is a `scale`, and neighbourhoods otherwise (docs/benchmarks/embedding.md).
    weight : str, optional
        The attribute of edges that holds their *lengths*; without it every edge has length 1. If your weights are
        strengths, pass something like their inverse.
    scale : float, optional
        Hyperbolic length of one unit, for distances. Longer edges can follow a tree more closely. Default: 1, or less
        if the longest shortest path would exceed 24.
    largest_component : bool, default=False
        Embed the largest component of a graph that is not connected, instead of refusing it. With
        ``objective="neighbours"`` such graphs are not refused.
    max_iter : int, default=2000
        Largest number of steps of the descent, or of passes over the nodes.
    seed : int, default=0
        For neighbourhoods.
    verbose : int, default=0
        1 or more shows progress.

    Returns
    -------
    GraphEmbedding
    """
    if objective not in OBJECTIVES:
        raise ValueError(f"objective must be one of {', '.join(OBJECTIVES)}; got {objective!r}")
    if not isinstance(dim, Integral) or dim < 2:
        raise ValueError(f"dim must be an integer of at least 2, got {dim!r}")
    if scale is not None and not (isinstance(scale, Real) and 0.0 < float(scale) < np.inf):
        raise ValueError(f"scale must be a positive number, got {scale!r}")
    nodes, lengths = _lengths(graph, weight)
    if not nodes:
        raise ValueError("the graph has no nodes")
    if largest_component or objective != "neighbours":
        kept = _one_component(lengths, largest_component)
        nodes, lengths = [nodes[k] for k in kept], lengths[kept][:, kept]
    n = len(nodes)
    if objective == "auto":
        is_small_tree = lengths.nnz // 2 == n - 1 and n <= LARGEST_TREE
        objective = "distances" if dim == 2 and (is_small_tree or scale is not None) else "neighbours"
    if objective == "neighbours":
        if scale is not None:
            raise ValueError("scale is for distances: leave it out, or pass objective='distances'")
        X = embed_neighbourhoods(_strengths(lengths), int(dim), seed, max_iter, verbose)
        return GraphEmbedding(X, nodes, *_fitted(X, lengths), objective)
    if dim != 2:
        raise ValueError(f"distances are embedded in the plane: dim={dim} needs objective='neighbours'")
    if n > MOST_NODES:
        raise ValueError(
            f"the graph has {n} nodes, and all pairs of at most {MOST_NODES} fit into memory: "
            "pass objective='neighbours'"
        )
    distances = shortest_path(lengths, directed=False)
    factor = float(scale) if scale is not None else min(1.0, LARGEST_DIAMETER / max(float(distances.max()), 1e-300))
    X = embed_metric(factor * distances, max_iter, verbose)
    return GraphEmbedding(X, nodes, factor, distortion(X, distances, factor), objective)


def _lengths(graph: Any, weight: str | None) -> tuple[list[Hashable], csr_array]:
    """The nodes, and the symmetric matrix (n, n) of the lengths of edges: the shortest of parallel ones, no loops."""
    nodes, edges = _edges(graph, weight)
    joined = np.array([(min(a, b), max(a, b)) for a, b, _ in edges if a != b], dtype=np.intp).reshape(-1, 2)
    length = np.array([length for a, b, length in edges if a != b])
    order = np.lexsort((length, joined[:, 1], joined[:, 0]))
    joined, length = joined[order], length[order]
    first = np.ones(len(joined), dtype=bool)
    first[1:] = np.any(joined[1:] != joined[:-1], axis=1)
    (a, b), length = joined[first].T, length[first]
    places = (np.concatenate([a, b]), np.concatenate([b, a]))
    return nodes, csr_array(coo_array((np.tile(length, 2), places), shape=(len(nodes), len(nodes))))


def _strengths(lengths: csr_array) -> csr_array:
    """How readily a random walk takes each edge: the inverse of its length."""
    return csr_array((1.0 / lengths.data, lengths.indices, lengths.indptr), shape=lengths.shape)


def _fitted(X: Array, lengths: csr_array) -> tuple[float, Distortion]:
    """The scale of least squared relative error, and the distortion with it, of paths from some of the nodes."""
    n = len(X)
    sources = np.linspace(0, n - 1, min(n, max(FEWEST_SOURCES, SAMPLED_PAIRS // n))).astype(np.intp)
    distances = shortest_path(lengths, directed=False, indices=sources)
    ratios = []
    for source, row in zip(sources, distances, strict=True):
        reached = np.isfinite(row) & (row > 0.0)
        ratios.append(distance(X[source], X[reached]) / row[reached])
    ratio = np.concatenate(ratios)
    factor = float(np.sum(ratio**2) / np.sum(ratio)) if np.any(ratio > 0.0) else 1.0
    return factor, Distortion.of(ratio / factor)


def _edges(graph: Any, weight: str | None) -> tuple[list[Hashable], list[tuple[int, int, float]]]:
    """The nodes, and the edges between their numbers with their lengths."""
    if not isinstance(graph, nx.Graph):
        if not hasattr(graph, "shape") or len(graph.shape) != 2 or graph.shape[0] != graph.shape[1]:
            raise TypeError(
                f"graph must be a networkx graph or an adjacency matrix, got {type(graph).__name__}; "
                "networkx.from_edgelist makes one of pairs"
            )
        name = weight or "weight"
        if hasattr(graph, "tocoo"):
            graph = nx.from_scipy_sparse_array(graph, edge_attribute=name)
        else:
            graph = nx.from_numpy_array(np.asarray(graph), edge_attr=name)
    nodes = list(graph)
    number = {node: k for k, node in enumerate(nodes)}
    edges = []
    for a, b, attributes in graph.edges(data=True):
        length = 1.0 if weight is None else attributes.get(weight)
        if length is None:
            raise ValueError(f"the edge from {a!r} to {b!r} has no attribute {weight!r}")
        if not isinstance(length, Real) or not 0.0 < float(length) < np.inf:
            raise ValueError(f"the edge from {a!r} to {b!r} has the length {length!r}; lengths are positive numbers")
        edges.append((number[a], number[b], float(length)))
    return nodes, edges


def _one_component(lengths: csr_array, largest: bool) -> np.ndarray:
    """The nodes to embed: all of them, or the largest component."""
    count, part = connected_components(lengths, directed=False)
    if count == 1:
        return np.arange(len(part))
    sizes = np.bincount(part)
    if not largest:
        raise ValueError(
            f"the graph falls into {count} parts (the largest has {sizes.max()} of {len(part)} "
            "nodes), and nodes that no path joins have no distance: pass largest_component=True, or embed the parts "
            "one by one"
        )
    return np.flatnonzero(part == np.argmax(sizes))


def keyed_vectors(source: Any) -> tuple[Array, list[str]]:
    """Coordinates, shape (n, d), and words, of gensim's `KeyedVectors` or of a model that has them as ``kv`` or ``wv``.

    ``PoincareModel.kv`` holds coordinates of the Poincaré ball: fit with ``geometry="poincare"``.
    """
    for name in ("kv", "wv"):
        source = getattr(source, name, source)
    vectors, words = getattr(source, "vectors", None), getattr(source, "index_to_key", None)
    if vectors is None or words is None:
        raise TypeError(
            f"expected gensim's KeyedVectors, or a model with them, got {type(source).__name__}; a file is read by "
            "gensim.models.KeyedVectors.load"
        )
    return np.asarray(vectors, dtype=np.float64), [str(word) for word in words]
