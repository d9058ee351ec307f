"""The forest judged where nothing was chosen: taxonomies of other seeds, and graphs that the package embeds itself.

python benchmarks/forest_judged.py           the tables in docs/benchmarks/forest_judged.md (a quarter of an hour)
"""

import networkx as nx
import numpy as np
from sklearn.base import clone
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold

from forest_levers import FRACTIONS, NODES, TREES, forest, rival, seen_by, taxonomy_precision
from harness import TABLES, environment
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.embedding import embed_graph
from hypermargin.estimators import HyperbolicKNeighborsClassifier

JUDGING_SEEDS = tuple(range(100, 110))
JUDGED = {
    "forest, defaults (leaves of 5)": forest(),
    "scikit-learn's random forest, defaults (leaves of 1)": rival(),
    "forest, leaves of 1": forest(min_samples_leaf=1),
    "scikit-learn's random forest, leaves of 5": rival(min_samples_leaf=5),
    "forest, leaves of 15": forest(min_samples_leaf=15),
    "scikit-learn's random forest, leaves of 15": rival(min_samples_leaf=15),
    "15 nearest neighbours, hyperbolic": HyperbolicKNeighborsClassifier(15, n_jobs=2),
}


def judging_table() -> list[str]:
    shares = " | ".join(f"{fraction:.1%}" for fraction in FRACTIONS)
    lines = [f"| {NODES:,} nodes | mean AP | {shares} |", "|---" * (2 + len(FRACTIONS)) + "|"]
    for name, model in JUDGED.items():
        table = taxonomy_precision(model, JUDGING_SEEDS)
        lines.append(f"| {name} | {table.mean():.3f} | " + " | ".join(f"{v:.3f}" for v in table.mean(axis=0)) + " |")
        print(lines[-1], flush=True)
    return lines


def embedded_graphs(n_seeds: int = 4) -> dict[str, list]:
    """Graphs that the package embeds itself, with classes that follow from how they were made, and mixtures."""
    found: dict[str, list] = {"communities": [], "branches of trees": [], "caves": [], "hubs": [], "mixtures": []}
    for seed in range(100, 100 + n_seeds):
        chances = np.full((4, 4), 0.012) + np.diag(np.full(4, 0.1))
        communities = nx.stochastic_block_model([90, 60, 40, 20], chances, seed=seed)
        points = embed_graph(communities, largest_component=True, objective="distances")
        labels = np.array([communities.nodes[node]["block"] for node in points.nodes])
        found["communities"].append((points.X, labels))
        tree = nx.random_labeled_tree(220, seed=seed)
        centre = nx.barycenter(tree)[0]
        points, labels = embed_graph(tree, objective="distances"), np.zeros(220, dtype=int)
        branches = nx.connected_components(tree.subgraph(set(tree) - {centre}))
        for k, branch in enumerate(sorted(branches, key=len, reverse=True)[:3]):
            labels[points.rows(branch)] = k
        found["branches of trees"].append((points.X, labels))
        caves = nx.relaxed_caveman_graph(12, 16, 0.15, seed=seed)
        points = embed_graph(caves, largest_component=True, objective="distances")
        found["caves"].append((points.X, np.array(points.nodes) // 48))
        hubs = nx.powerlaw_cluster_graph(220, 1 + seed % 2, 0.5, seed=seed)
        points = embed_graph(hubs, objective="distances")
        found["hubs"].append((points.X, nearest_of(4, hubs, points.nodes, seed)))
        for dim in (2, 5):
            mixture = make_gaussian_mixture(60, 4, dim=dim, scale=0.8, random_state=seed)
            found["mixtures"].append((mixture.X, mixture.y))
    return found


def nearest_of(k: int, graph: nx.Graph, nodes, seed: int) -> np.ndarray:
    """Which of k nodes, drawn at random, each node is nearest to by the number of edges."""
    drawn = np.random.RandomState(seed).permutation(len(graph))[:k].tolist()
    far = [nx.single_source_shortest_path_length(graph, node) for node in drawn]
    return np.array([int(np.argmin([lengths[node] for lengths in far])) for node in nodes])


def embedded_table() -> list[str]:
    graphs = embedded_graphs()
    lines = ["| macro AP over classes, 5 folds | mean | " + " | ".join(graphs) + " |", "|---" * (2 + len(graphs)) + "|"]
    for name, model in JUDGED.items():
        means = [np.mean([macro_precision(model, X, y) for X, y in cases]) for cases in graphs.values()]
        lines.append(f"| {name} | {np.mean(means):.3f} | " + " | ".join(f"{v:.3f}" for v in means) + " |")
        print(lines[-1], flush=True)
    return lines


def macro_precision(model, X: np.ndarray, y: np.ndarray) -> float:
    """Average precision of out-of-fold shares, the mean over classes."""
    X, shares = seen_by(model, X), np.zeros((len(y), y.max() + 1))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        fitted = clone(model).fit(X[train], y[train])
        shares[np.ix_(test, fitted.classes_)] = fitted.predict_proba(X[test])
    return float(np.mean([average_precision_score(y == k, shares[:, k]) for k in range(shares.shape[1])]))


def main() -> None:
    first, last = JUDGING_SEEDS[0], JUDGING_SEEDS[-1]
    page = [
        "# Forests judged",
        "",
        f"Made by `python benchmarks/forest_judged.py`. {environment()}",
        "",
        f"{TREES} trees each, on taxonomies of the seeds {first} to {last}, which "
        "nothing was chosen on: average precision on 30 % of the nodes, by the share of the subtree. "
        "scikit-learn's forests see disk coordinates.",
        "",
        *judging_table(),
        "",
        "And on graphs of the seeds 100 to 103 that `hypermargin.embedding` put in the plane (four of each), and on "
        "mixtures in two and five dimensions. The coin between hyperplanes and curves, and leaves as small as the "
        "rarest class, were chosen on graphs of the seeds 0 to 7, after the forest had fallen behind on communities "
        "and branches of this table; one of those trees has a branch of two nodes:",
        "",
        *embedded_table(),
    ]
    (TABLES / "forest_judged.md").write_text("\n".join(page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
