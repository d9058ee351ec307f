"""Points from objects of other libraries: graphs of networkx, embedded by shortest paths, and vectors of gensim."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import networkx as nx
import numpy as np
from scipy.sparse.csgraph import shortest_path

from hypermargin.arrays import Array
from hypermargin.embedding.metric import Distortion, distortion, embed_metric
from hypermargin.geometry.models import from_lorentz

#: Longer distances are scaled down to this diameter: twice the radius 12, where doubles still resolve 1e-11.
LARGEST_DIAMETER = 24.0
#: A matrix of all pairs of nodes takes 3.2 GB at this size, and the descent holds at least two.
MOST_NODES = 20_000


@dataclass(frozen=True, eq=False)
class GraphEmbedding:
    """Nodes as points of the hyperbolic plane.

    Parameters
    ----------
    X : (n, 3) array
        Lorentz coordinates, a row for each node.
    nodes : list
        The nodes in the order of the rows.
    scale : float
        Hyperbolic length of one unit of the graph's distance.
    distortion : Distortion
        How far the distances are from `scale` times those of the graph.
    """

    X: Array
    nodes: list[Hashable]
    scale: float
    distortion: Distortion

    def rows(self, nodes: Iterable[Hashable]) -> np.ndarray:
        """The rows of some nodes; one that is not in the embedding is a `KeyError`."""
        place = {node: row for row, node in enumerate(self.nodes)}
        return np.array([place[node] for node in nodes], dtype=np.intp)

    def coordinates(self, geometry: str = "poincare") -> Array:
        """The points in another model of the plane: (n, 2), or (n, 3) for "lorentz"."""
        return from_lorentz(self.X, geometry)

    def __str__(self) -> str:
        return f"{len(self.nodes)} nodes, one unit of the graph is {self.scale:.4g} long; {self.distortion}"


def embed_graph(
    graph: Any,
    *,
    weight: str | None = None,
    scale: float | None = None,
    largest_component: bool = False,
    max_iter: int = 2000,
    verbose: int = 0,
) -> GraphEmbedding:
    """Embed a graph in the hyperbolic plane, so that distances follow those of shortest paths.

    Labels of nodes play no part, and the result is always the same. Time and memory grow with the square of the number
    of nodes: 1,000 take about a minute, and at most 20,000 are accepted.

    Parameters
    ----------
    graph : networkx graph, or (n, n) array or SciPy sparse array
        Directions are ignored, and so are loops; of parallel edges the shortest counts. An array is an adjacency matrix
        whose entries are lengths if `weight` is given, and say only whether there is an edge if not.
    weight : str, optional
        The attribute of edges that holds their *lengths*; without it every edge has length 1. If your weights are
        strengths, pass something like their inverse.
    scale : float, optional
        Hyperbolic length of one unit. Longer edges can follow a tree more closely. Default: 1, or less if the longest
        shortest path would exceed 24.
    largest_component : bool, default=False
        Embed the largest component of a graph that is not connected, instead of refusing it.
    max_iter : int, default=2000
        Largest number of steps of the descent.
    verbose : int, default=0
        1 or more shows progress.

    Returns
    -------
    GraphEmbedding
    """
    nodes, edges = _edges(graph, weight)
    if not nodes:
        raise ValueError("the graph has no nodes")
    if scale is not None and not (isinstance(scale, Real) and 0.0 < float(scale) < np.inf):
        raise ValueError(f"scale must be a positive number, got {scale!r}")
    lengths = nx.Graph()
    lengths.add_nodes_from(range(len(nodes)))
    for a, b, length in edges:
        if a != b:
            known = lengths.get_edge_data(a, b)
            lengths.add_edge(a, b, length=length if known is None else min(length, known["length"]))
    kept = _one_component(lengths, largest_component)
    if len(kept) > MOST_NODES:
        raise ValueError(f"the graph has {len(kept)} nodes, and all pairs of at most {MOST_NODES} fit into memory")
    matrix = nx.to_scipy_sparse_array(lengths, nodelist=kept, weight="length") if len(kept) > 1 else np.zeros((1, 1))
    distances = shortest_path(matrix, directed=False)
    diameter = float(distances.max())
    factor = float(scale) if scale is not None else min(1.0, LARGEST_DIAMETER / max(diameter, 1e-300))
    X = embed_metric(factor * distances, max_iter, verbose)
    return GraphEmbedding(X, [nodes[k] for k in kept], factor, distortion(X, distances, factor))


def _edges(graph: Any, weight: str | None) -> tuple[list[Hashable], list[tuple[int, int, float]]]:
    """The nodes, and the edges between their numbers with their lengths."""
    if not isinstance(graph, nx.Graph):
        if not hasattr(graph, "shape") or len(graph.shape) != 2 or graph.shape[0] != graph.shape[1]:
            raise TypeError(
                f"graph must be a networkx graph or an adjacency matrix, got {type(graph).__name__}; "
                "networkx.from_edgelist makes one of pairs"
            )
        graph = _from_matrix(graph, weight or "weight")
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


def _one_component(graph: nx.Graph, largest: bool) -> list[int]:
    """The nodes to embed: all of them, or the largest component."""
    components = sorted(nx.connected_components(graph), key=len, reverse=True)
    if len(components) > 1 and not largest:
        raise ValueError(
            f"the graph falls into {len(components)} parts (the largest has {len(components[0])} of {len(graph)} "
            "nodes), and nodes that no path joins have no distance: pass largest_component=True, or embed the parts "
            "one by one"
        )
    return sorted(components[0])


def _from_matrix(matrix: Any, weight: str) -> nx.Graph:
    """The graph of an adjacency matrix, dense or sparse, with its entries as the attribute `weight`."""
    if hasattr(matrix, "tocoo"):
        return nx.from_scipy_sparse_array(matrix, edge_attribute=weight)
    return nx.from_numpy_array(np.asarray(matrix), edge_attr=weight)


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
