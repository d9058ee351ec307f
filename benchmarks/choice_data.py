"""Small random data for the rule of the choice: embedded graphs, mixtures and taxonomies with many samples to test on.

A few samples are trained on and all others tested, so that the score of a rule is hardly a matter of chance. The
paper's data and the taxonomies of `hypermargin accuracy` (seeds from 200) are not among them.
"""

from dataclasses import dataclass

import networkx as nx
import numpy as np
from sklearn.model_selection import train_test_split

from hypermargin.arrays import Array
from hypermargin.datasets import make_gaussian_mixture, make_taxonomy
from hypermargin.embedding import embed_graph

KINDS = ("mixture", "blocks", "tree", "hierarchy", "taxonomy")
#: Nodes of a graph, and samples of mixtures and taxonomies.
NODES, SAMPLES = 450, 1200
#: Classes with fewer members are left out.
LEAST = 10


@dataclass(frozen=True, eq=False)
class Task:
    """Points (n, 3), labels, rows to train on, rows to test, and the score that decides."""

    X: Array
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray
    scoring: str


def task(name: str) -> Task:
    """``blocks-3`` is the data of that kind with the seed 3."""
    kind, seed = name.split("-")
    rng = np.random.RandomState(5000 + int(seed))
    if kind == "taxonomy":
        share = (0.1, 0.05, 0.03)[int(seed) % 3]
        X, y = make_taxonomy(SAMPLES, positive_fraction=share, random_state=int(seed), return_X_y=True)
        return _split(X, y, rng.randint(250, 600), "average_precision")
    n_classes = rng.randint(2, 11)
    size = max(8 * n_classes, int(np.exp(rng.uniform(np.log(34), np.log(300)))))
    if kind == "mixture":
        scale = rng.uniform(0.4, 1.0)
        X, y = make_gaussian_mixture(
            SAMPLES // n_classes, n_classes, scale=scale, random_state=int(seed), return_X_y=True
        )
        return _split(X, y, size, "accuracy")
    graph, labels = {"blocks": _blocks, "tree": _tree, "hierarchy": _hierarchy}[kind](rng, n_classes)
    part = sorted(max(nx.connected_components(graph), key=len))
    embedded = embed_graph(nx.convert_node_labels_to_integers(graph.subgraph(part), ordering="sorted"))
    return _split(np.asarray(embedded.X), labels[part], size, "accuracy")


def _split(X: Array, y: np.ndarray, size: int, scoring: str) -> Task:
    _, y = np.unique(y, return_inverse=True)
    large = np.bincount(y)[y] >= LEAST
    X, (_, y) = X[large], np.unique(y[large], return_inverse=True)
    train, test = train_test_split(np.arange(len(y)), train_size=size, stratify=y, random_state=0)
    return Task(X, y, train, test, scoring)


def _blocks(rng: np.random.RandomState, n_classes: int) -> tuple[nx.Graph, np.ndarray]:
    """Classes of different sizes that are joined more densely inside."""
    sizes = np.maximum(15, (rng.dirichlet(np.full(n_classes, 4.0)) * NODES).astype(int))
    inside, outside = rng.uniform(3.0, 7.0) * n_classes / NODES, rng.uniform(0.5, 2.0) / NODES
    chances = np.where(np.eye(n_classes) == 1, min(inside, 0.9), outside)
    graph = nx.stochastic_block_model(sizes.tolist(), chances.tolist(), seed=int(rng.randint(2**31 - 1)))
    return graph, np.repeat(np.arange(n_classes), sizes)


def _tree(rng: np.random.RandomState, n_classes: int) -> tuple[nx.Graph, np.ndarray]:
    """A tree with some more edges; a node belongs to the nearest of some centres."""
    tree = nx.random_labeled_tree(NODES, seed=int(rng.randint(2**31 - 1)))
    graph = nx.Graph(tree)
    further = rng.randint(NODES, size=(rng.randint(1, NODES // 3), 2)).tolist()
    graph.add_edges_from([(a, b) for a, b in further if a != b])
    centres = rng.permutation(NODES)[:n_classes].tolist()
    far = [nx.single_source_shortest_path_length(tree, centre) for centre in centres]
    return graph, np.array([int(np.argmin([lengths[v] for lengths in far])) for v in range(NODES)])


def _hierarchy(rng: np.random.RandomState, n_classes: int) -> tuple[nx.Graph, np.ndarray]:
    """Pairs of blocks in larger ones, labelled by either; one label in twenty is another node's."""
    block = rng.randint(2 * n_classes, size=NODES)
    above = block // 2
    size = NODES / (2 * n_classes)
    near = np.where(above[:, None] == above, 1.2 / size, 0.5 / NODES)
    chances = np.where(block[:, None] == block, 5.0 / size, near).clip(0.0, 0.9)
    graph = nx.from_numpy_array(np.triu(rng.random_sample((NODES, NODES)) < chances, 1))
    labels = above if rng.randint(2) else block
    return graph, np.where(rng.random_sample(NODES) < 0.05, rng.permutation(labels), labels)
