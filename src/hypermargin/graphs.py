"""Nodes of a graph, classified: an embedding, a model chosen by cross-validation, and labels for the other nodes."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import networkx as nx
import numpy as np
from sklearn.base import clone

from hypermargin.arrays import Array
from hypermargin.data.readers import MISSING
from hypermargin.embedding import GraphEmbedding, embed_graph
from hypermargin.estimators import HyperbolicClassifierCV
from hypermargin.estimators.base import HyperbolicClassifier

#: The dimensions to choose from: the plane, which can be looked at, and ten, in which neighbourhoods of all graphs of
#: docs/benchmarks/embedding.md are kept.
DIMENSIONS = (2, 10)


@dataclass(frozen=True, eq=False)
class LabelledGraph:
    """The result of `classify`.

    Parameters
    ----------
    embedding : GraphEmbedding
        Of the n nodes that paths join to a label.
    model : HyperbolicClassifier
        Fitted to the nodes that had a label.
    given, labels : dict
        The labels that there were, and those predicted for all nodes of the embedding.
    probability : (n, n_classes) array
        In the order of ``embedding.nodes`` and ``model.classes_``.
    radius : (n,) array or None
        The distance that each node may move without another prediction.
    score : float
        The cross-validated accuracy of the model; NaN if the estimator has none.
    remarks : list of str
        What was done with loops, directions, parallel edges, weights and components, a line for each.
    """

    embedding: GraphEmbedding
    model: HyperbolicClassifier
    given: dict[Hashable, Any]
    labels: dict[Hashable, Any]
    probability: Array
    radius: Array | None
    score: float
    remarks: list[str]

    def columns(self) -> dict[str, list]:
        """The results by name, each with a value for each node of the embedding."""
        columns = {"": list(self.labels.values()), "_probability": self.probability.max(axis=1).tolist()}
        if self.radius is not None:
            columns["_radius"] = self.radius.tolist()
        names = (f"_p_{name}" for name in self.model.classes_.tolist())
        return columns | dict(zip(names, self.probability.T.tolist(), strict=True))

    def write_to(self, graph: nx.Graph, key: str = "hypermargin") -> None:
        """Set attributes of nodes: the label as `key`, and key + "_probability", "_radius" and "_p_<class>"."""
        for name, values in self.columns().items():
            text = key + "".join(sign if sign.isalnum() else "_" for sign in name)  # GML takes no other signs
            nx.set_node_attributes(graph, dict(zip(self.embedding.nodes, values, strict=True)), text)

    def edges_of(self, graph: nx.Graph) -> np.ndarray:
        """The edges between nodes of the embedding as pairs of its rows, shape (m, 2)."""
        pairs = [node for a, b in graph.edges() if a != b and a in self.labels and b in self.labels for node in (a, b)]
        return self.embedding.rows(pairs).reshape(-1, 2)

    def plot(self, graph: nx.Graph, ax: Any = None) -> Any:
        """Draw nodes and edges on the Poincaré disk; returns a `PoincareDisplay`.

        In the plane with the regions of the model and the labels that there were; from more dimensions by an embedding
        in the plane of its own, with the labels predicted.
        """
        from hypermargin.plotting import PoincareDisplay

        edges = self.edges_of(graph)
        if self.embedding.X.shape[1] == 3:
            y = np.array([self.given.get(node) for node in self.embedding.nodes], dtype=object)
            return PoincareDisplay.from_estimator(self.model, self.embedding.X, y, edges=edges, zoom="data", ax=ax)
        plane = embed_graph(graph.subgraph(self.embedding.nodes), objective="neighbours")
        predicted = np.array([self.labels[node] for node in plane.nodes])
        edges = plane.rows(np.array(self.embedding.nodes, dtype=object)[edges].ravel()).reshape(-1, 2)
        return PoincareDisplay(plane.X, predicted, edges=edges, classes=self.model.classes_).plot(ax, zoom="data")

    def explore(self, graph: nx.Graph, title: str = "nodes of a graph") -> Any:
        """A page with nodes, edges and the regions of the model (see `hypermargin.explore`)."""
        from hypermargin.explorer import explore

        y = np.array([self.given.get(node) for node in self.embedding.nodes], dtype=object)
        ids = [str(node) for node in self.embedding.nodes]
        return explore(self.model, self.embedding.X, y, ids=ids, edges=self.edges_of(graph), title=title)


def classify(
    graph: nx.Graph,
    label: str | None = None,
    *,
    labels: Mapping[Any, Any] | None = None,
    weight: str | None = None,
    strength: str | None = None,
    dim: int | None = None,
    estimator: HyperbolicClassifier | None = None,
    radii: bool | None = None,
    key_added: str = "hypermargin",
    seed: int = 0,
    verbose: int = 0,
) -> LabelledGraph:
    """Predict the nodes of a graph that have no label, and write the predictions into its attributes.

    Parameters
    ----------
    graph : networkx graph
        Directions and loops are ignored, and of parallel edges the shortest (or strongest) counts.
    label : str, optional
        The attribute of nodes that holds labels. None, NaN, "" and the text "nan" are no label.
    labels : mapping of node to label, optional
        Instead of `label`.
    weight, strength : str, optional
        The attribute of edges that holds lengths, or strengths, which are the inverse of lengths.
    dim : int, optional
        Of the embedding; by default 2 or 10, whichever has the better cross-validated accuracy: 2 if they are equal,
        and with an `estimator`.
    estimator : classifier of hypermargin, optional
        By default a `HyperbolicClassifierCV`.
    radii : bool, optional
        Whether to compute certified radii. By default where the model has hyperplanes, for which it takes no time.
    key_added : str, default="hypermargin"
        The name of the attributes that are written (see `LabelledGraph.write_to`).
    seed : int, default=0
        Of the embedding.
    verbose : int, default=0
        1 or more shows progress.

    Returns
    -------
    LabelledGraph
    """
    if not isinstance(graph, nx.Graph):
        raise TypeError(f"graph must be a networkx graph, got {type(graph).__name__}")
    if (label is None) == (labels is None):
        raise ValueError("say where labels are: label= names an attribute of nodes, or labels= maps nodes to them")
    if labels is None:
        labels = nx.get_node_attributes(graph, str(label))
    given = {node: labels[node] for node in graph if not _is_missing(labels.get(node))}
    if len({type(value) for value in given.values()}) > 1:
        given = {node: str(value) for node, value in given.items()}
    plain, remarks = _plain(graph, weight, strength)
    plain = _reached(plain, given, remarks)
    known = [node for node in plain if node in given]
    y = np.array([given[node] for node in known])
    if len(set(y.tolist())) < 2:
        raise ValueError(
            f"{len(known)} nodes with an edge have a label, of {len(set(y.tolist()))} classes: it takes two classes"
        )
    best: tuple[float, GraphEmbedding, HyperbolicClassifier] | None = None
    dimensions = DIMENSIONS if estimator is None else DIMENSIONS[:1]
    for each in dimensions if dim is None else (dim,):
        embedding = embed_graph(plain, dim=each, objective="neighbours", weight="length", seed=seed, verbose=verbose)
        model = _new(estimator, verbose).fit(embedding.X[embedding.rows(known)], y)
        score = float(getattr(model, "best_score_", np.nan))
        if best is None or score > best[0]:
            best = score, embedding, model
    assert best is not None
    score, embedding, model = best
    chosen = getattr(model, "best_model_", model)
    if radii is None:
        radii = hasattr(chosen, "coef_")
    if radii and not hasattr(chosen, "certified_radius"):
        raise ValueError(f"a {type(chosen).__name__} has no certified radii: leave radii out")
    found = LabelledGraph(
        embedding,
        model,
        given,
        dict(zip(embedding.nodes, model.predict(embedding.X).tolist(), strict=True)),
        model.predict_proba(embedding.X),
        model.certified_radius(embedding.X) if radii else None,
        score,
        remarks,
    )
    found.write_to(graph, key_added)
    return found


def _new(estimator: HyperbolicClassifier | None, verbose: int) -> Any:
    if estimator is None:
        return HyperbolicClassifierCV(verbose=verbose)
    if estimator.geometry != "lorentz" or estimator.curvature != 1.0:
        raise ValueError("the estimator must have geometry='lorentz' and curvature=1.0, as embeddings have")
    return clone(estimator)


def _is_missing(value: Any) -> bool:
    """Whether a label is None, NaN, or a text that stands for a missing value."""
    return value is None or value != value or (isinstance(value, str) and value.strip() in MISSING)


def _plain(graph: nx.Graph, weight: str | None, strength: str | None) -> tuple[nx.Graph, list[str]]:
    """The graph with lengths of edges, without directions, loops and parallel edges, and what was done."""
    if weight is not None and strength is not None:
        raise ValueError("edges have a weight (lengths) or a strength, not both")
    name = weight if strength is None else strength
    plain, loops, parallel = nx.Graph(), 0, 0
    plain.add_nodes_from(graph)
    for a, b, attributes in graph.edges(data=True):
        value = 1.0 if name is None else attributes.get(name)
        if not isinstance(value, Real) or not 0.0 < float(value) < np.inf:
            raise ValueError(f"the edge from {a!r} to {b!r} has {name}={value!r}; it must be a positive number")
        length = float(value) if strength is None else 1.0 / float(value)
        if a == b:
            loops += 1
            continue
        if plain.has_edge(a, b):
            parallel += 1
            length = min(length, plain.edges[a, b]["length"])
        plain.add_edge(a, b, length=length)
    unused = name is None and any("weight" in attributes for _, _, attributes in graph.edges(data=True))
    said = {
        "directions of edges are ignored": graph.is_directed(),
        f"{loops} loops are left out": loops,
        f"{parallel} parallel edges are left out: the {'strongest' if strength else 'shortest'} counts": parallel,
        f"the length of an edge is its {weight}": weight,
        f"the length of an edge is the inverse of its {strength}": strength,
        "edges have a weight, which is not used: say whether it is a length (weight) or a strength": unused,
    }
    return plain, [text for text, is_so in said.items() if is_so]


def _reached(graph: nx.Graph, given: Mapping[Hashable, Any], remarks: list[str]) -> nx.Graph:
    """The components of several nodes in which one has a label: nothing is known of the others."""
    parts = list(nx.connected_components(graph))
    alone = sum(len(part) == 1 for part in parts)
    kept = [part for part in parts if len(part) > 1 and any(node in given for node in part)]
    others = len(parts) - alone - len(kept)
    nodes = set().union(*kept)
    if len(parts) > 1:
        remarks.append(f"the graph has {len(parts)} components, of which {len(kept)} are classified")
    if alone:
        remarks.append(f"{alone} isolated nodes get no label: nothing joins them to one")
    if others:
        left = len(graph) - alone - len(nodes)
        remarks.append(f"{left} nodes in {others} components without a label get none")
    return graph.subgraph([node for node in graph if node in nodes])
