"""Graphs embedded: classes and neighbourhoods that are kept, beside Poincaré vectors and DeepWalk, and times.

python benchmarks/bench_embedding.py        the table in docs/benchmarks/embedding.md (some minutes; needs gensim)

It is what the rule behind `objective="auto"` rests on.
"""

import time
from collections.abc import Iterator

import networkx as nx
import numpy as np
from gensim.models import Word2Vec
from gensim.models.poincare import PoincareModel
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from harness import TABLES, Row, seconds, write_table
from hypermargin.embedding import embed_graph
from hypermargin.geometry import pairwise_distance, to_lorentz

SEEDS = (0, 1)
#: Nodes and edges of the graphs that are timed.
TIMED = ((10_000, 50_000), (100_000, 500_000))


def graphs(seed: int) -> Iterator[tuple[str, nx.Graph, list]]:
    """Graphs with the classes of their nodes: planted, branches of trees, or communities by modularity."""
    for name, graph in (
        ("les Misérables", nx.les_miserables_graph()),
        ("Barabási-Albert", nx.barabasi_albert_graph(300, 2, seed=seed)),
    ):
        parts = nx.community.louvain_communities(nx.Graph(graph.edges), seed=seed)
        yield name, graph, [next(k for k, part in enumerate(parts) if node in part) for node in graph]
    chances = np.where(np.eye(5, dtype=bool), 0.25, 0.01)
    graph = nx.stochastic_block_model([60] * 5, chances, seed=seed)
    yield "five blocks of 60", graph, [node // 60 for node in graph]
    for name, graph in (
        ("balanced tree", nx.balanced_tree(3, 5)),
        ("random tree", nx.random_labeled_tree(300, seed=seed)),
    ):
        root = 0 if name == "balanced tree" else nx.center(graph)[0]
        branch = {root: root}
        for parent, node in nx.bfs_edges(graph, root):
            branch[node] = node if parent == root else branch[parent]
        yield name, graph, [branch[node] for node in graph]


def quality(distances: np.ndarray, adjacency: np.ndarray, y: list) -> tuple[float, float]:
    """Accuracy of five neighbours in five folds, and the mean average precision of each node's neighbours."""
    classifier = KNeighborsClassifier(5, metric="precomputed")
    accuracy = float(np.mean(cross_val_score(classifier, distances, np.array(y))))
    far = distances + np.diag(np.full(len(y), np.inf))
    values = []
    for row, joined in zip(np.argsort(far, axis=1, kind="stable"), adjacency, strict=True):
        found = np.flatnonzero(joined[row[:-1]])
        values.append(np.mean(np.arange(1, len(found) + 1) / (found + 1)))
    return accuracy, float(np.mean(values))


def ours(graph: nx.Graph, dim: int, objective: str) -> np.ndarray:
    return pairwise_distance(embed_graph(graph, dim=dim, objective=objective).X)


def gensim_vectors(graph: nx.Graph, dim: int) -> np.ndarray:
    """Distances of gensim's Poincaré vectors after 200 epochs, edges taken both ways."""
    pairs = [(str(a), str(b)) for one, other in graph.edges for a, b in ((one, other), (other, one))]
    model = PoincareModel(pairs, size=dim, negative=10, seed=0)
    model.train(200)
    return pairwise_distance(to_lorentz(np.array([model.kv[str(node)] for node in graph]), "poincare"))


def deep_walk(graph: nx.Graph) -> np.ndarray:
    """Cosine distances of skip-gram vectors in 32 dimensions: 20 walks of 40 steps from each node, a window of 5."""
    rng = np.random.default_rng(0)
    walks = []
    for start in [node for node in graph for _ in range(20)]:
        walk = [start]
        while len(walk) < 40:
            neighbours = list(graph[walk[-1]])
            walk.append(neighbours[rng.integers(len(neighbours))])
        walks.append([str(node) for node in walk])
    model = Word2Vec(walks, vector_size=32, window=5, min_count=0, sg=1, workers=1, epochs=5, seed=0)
    return pairwise_distances(np.array([model.wv[str(node)] for node in graph]), metric="cosine")


def quality_rows() -> Iterator[Row]:
    contestants = {
        "plane": (lambda graph: ours(graph, 2, "neighbours"), lambda graph: gensim_vectors(graph, 2)),
        "ten dimensions": (lambda graph: ours(graph, 10, "neighbours"), lambda graph: gensim_vectors(graph, 10)),
    }
    for several in zip(*(graphs(seed) for seed in SEEDS), strict=True):
        name, cases = several[0][0], []
        for _, graph, y in several:
            nodes = sorted(max(nx.connected_components(graph), key=len))
            label = dict(zip(graph, y, strict=True))
            plain = nx.Graph()
            plain.add_nodes_from(nodes)
            plain.add_edges_from(edge for edge in graph.subgraph(nodes).edges if edge[0] != edge[1])
            cases.append((plain, nx.to_numpy_array(plain) > 0, [label[node] for node in nodes]))

        def mean(distances, cases=cases):
            found = [quality(distances(graph), adjacency, y) for graph, adjacency, y in cases]
            return tuple(np.mean(found, axis=0))

        others = {
            "plane": ("by distances", mean(lambda graph: ours(graph, 2, "distances"))),
            "ten dimensions": ("DeepWalk 32", mean(deep_walk)),
        }
        for space, (mine, rival) in contestants.items():
            us, them = mean(mine), mean(rival)
            what, third = others[space]
            yield Row(
                f"{name}, {space}", shown(us), shown(them), f"{us[1] / them[1]:.2f}x", "1x", f"{what} {shown(third)}"
            )
            print(f"{name}, {space}: {shown(us)}, {shown(them)}, {what} {shown(third)}", flush=True)


def shown(pair: tuple[float, ...]) -> str:
    return " / ".join(f"{value:.3f}" for value in pair)


def time_rows() -> Iterator[Row]:
    for n, m in TIMED:
        graph = nx.gnm_random_graph(n, m, seed=0)
        for dim in (2, 10):
            start, cpu = time.perf_counter(), time.process_time()
            found = embed_graph(graph, dim=dim, largest_component=True)
            wall, cpu = time.perf_counter() - start, time.process_time() - cpu
            reach = np.arccosh(found.X[:, 0])
            note = f"processor time {seconds(cpu)}; radius {reach.mean():.1f}, at most {reach.max():.1f}"
            yield Row(
                f"{n:,} nodes, {m:,} edges, d = {dim}", seconds(wall), "", "", "60 s" if n < 50_000 else "600 s", note
            )
            print(n, m, dim, wall, cpu, flush=True)


def main() -> None:
    rows = [*quality_rows(), *time_rows()]
    remarks = [
        "Quality: accuracy of five nearest neighbours in five folds / mean average precision of each node's neighbours "
        f"among all nodes by distance; means over {len(SEEDS)} seeds. Classes are planted, branches of a tree, or "
        "Louvain communities. Compared with gensim's Poincaré vectors of the same dimension (200 epochs); in the notes "
        "our embedding by distances, or DeepWalk in 32 dimensions. The ratio is that of the precisions.",
        "In ten dimensions the neighbours of les Misérables (77 characters, of whom one is 0.013) are kept almost all, "
        "and its communities are found less often than by the vectors of gensim and DeepWalk.",
        "Times are the clock's, which other work on the machine lengthens; the notes have the processor time. Random "
        "edges, with no neighbourhoods to be found, are graphs without any structure to help.",
        'The rule of `objective="auto"`: neighbourhoods keep classes and neighbours at least as well as distances do '
        "on all graphs but trees in the plane, where distances keep classes better and follow shortest paths besides.",
    ]
    command = "python benchmarks/bench_embedding.py"
    write_table(TABLES / "embedding.md", "Graphs: neighbourhoods kept, and times", rows, command, remarks)


if __name__ == "__main__":
    main()
