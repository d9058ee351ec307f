"""Random data for the rule of the choice: embedded graphs, mixtures and taxonomies with many samples to test on.

Hundreds of samples or more are tested, so that the score of a rule is less a matter of chance. The
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
#: Samples to train on: of graphs, of mixtures and of taxonomies, which are halved.
SIZES = {"mixture": (60, 1000), "taxonomy": (1000, 2200)}
SIZES_OF_GRAPHS = (60, 500)
#: Samples to test on: of graphs and of mixtures.
TESTED, TESTED_OF_MIXTURES = 400, 2000
#: Steps of the embedding of a graph: a rough one is as good as another here.
STEPS = 150
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
    kind, number = name.split("-")
    seed = int(number)
    rng = np.random.RandomState(5000 + 1000 * KINDS.index(kind) + seed)
    least, most = SIZES.get(kind, SIZES_OF_GRAPHS)
    if kind == "taxonomy":
        size = _size(rng, least, most)
        share = (0.1, 0.05, 0.03, 0.02, 0.01)[seed % 5]
        X, y = make_taxonomy(2 * size, positive_fraction=share, random_state=seed, return_X_y=True)
        return _split(X, y, size, "average_precision")
    n_classes = int(rng.choice([2, 2, 3, 3, 4, 5, 6, 8]))
    size = max(10 * n_classes, _size(rng, least, most))
    if kind == "mixture":
        each, scale = (size + TESTED_OF_MIXTURES) // n_classes, rng.uniform(0.4, 1.0)
        X, y = make_gaussian_mixture(each, n_classes, scale=scale, random_state=seed, return_X_y=True)
        return _split(X, y, size, "accuracy")
    make = {"blocks": _blocks, "tree": _tree, "hierarchy": _hierarchy}[kind]
    graph, labels = make(rng, n_classes, size + TESTED)
    part = sorted(max(nx.connected_components(graph), key=len))
    whole = nx.convert_node_labels_to_integers(graph.subgraph(part), ordering="sorted")
    embedded = embed_graph(whole, max_iter=STEPS, objective="distances")
    return _split(np.asarray(embedded.X), labels[part], min(size, len(part) - TESTED // 2), "accuracy")


def _size(rng: np.random.RandomState, least: int, most: int) -> int:
    return int(np.exp(rng.uniform(np.log(least), np.log(most))))


def _split(X: Array, y: np.ndarray, size: int, scoring: str) -> Task:
    _, y = np.unique(y, return_inverse=True)
    large = np.bincount(y)[y] >= LEAST
    X, (_, y) = X[large], np.unique(y[large], return_inverse=True)
    train, test = train_test_split(np.arange(len(y)), train_size=size, stratify=y, random_state=0)
    return Task(X, y, train, test, scoring)


def _blocks(rng: np.random.RandomState, n_classes: int, n_nodes: int) -> tuple[nx.Graph, np.ndarray]:
    """Classes of different sizes that are joined more densely inside."""
    sizes = np.maximum(15, (rng.dirichlet(np.full(n_classes, 4.0)) * n_nodes).astype(int))
    inside, outside = rng.uniform(3.0, 7.0) * n_classes / n_nodes, rng.uniform(0.5, 2.0) / n_nodes
    chances = np.where(np.eye(n_classes) == 1, min(inside, 0.9), outside)
    graph = nx.stochastic_block_model(sizes.tolist(), chances.tolist(), seed=int(rng.randint(2**31 - 1)))
    return graph, np.repeat(np.arange(n_classes), sizes)


def _tree(rng: np.random.RandomState, n_classes: int, n_nodes: int) -> tuple[nx.Graph, np.ndarray]:
    """A tree with some more edges; a node belongs to the nearest of some centres."""
    tree = nx.random_labeled_tree(n_nodes, seed=int(rng.randint(2**31 - 1)))
    graph = nx.Graph(tree)
    further = rng.randint(n_nodes, size=(rng.randint(1, n_nodes // 3), 2)).tolist()
    graph.add_edges_from([(a, b) for a, b in further if a != b])
    centres = rng.permutation(n_nodes)[:n_classes].tolist()
    far = [nx.single_source_shortest_path_length(tree, centre) for centre in centres]
    return graph, np.array([int(np.argmin([lengths[v] for lengths in far])) for v in range(n_nodes)])


def _hierarchy(rng: np.random.RandomState, n_classes: int, n_nodes: int) -> tuple[nx.Graph, np.ndarray]:
    """Pairs of blocks in larger ones, labelled by either; one label in twenty is another node's."""
    block = rng.randint(2 * n_classes, size=n_nodes)
    above = block // 2
    size = n_nodes / (2 * n_classes)
    near = np.where(above[:, None] == above, 1.2 / size, 0.5 / n_nodes)
    chances = np.where(block[:, None] == block, 5.0 / size, near).clip(0.0, 0.9)
    graph = nx.from_numpy_array(np.triu(rng.random_sample((n_nodes, n_nodes)) < chances, 1))
    labels = above if rng.randint(2) else block
    return graph, np.where(rng.random_sample(n_nodes) < 0.05, rng.permutation(labels), labels)
