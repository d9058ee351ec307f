"""Which parameter "scale" should mean for each kernel: chosen on graphs and taxonomies, judged on the paper's sets.

    python benchmarks/kernel_scale.py             the tables in docs/benchmarks/kernel_scale.md

A rule is a multiple of V, the mean squared distance of the points to their mean, or of N, the median squared distance
of a point to its tenth nearest neighbour. Tuning sets are graphs embedded by `embed_graph` and taxonomies of
`make_taxonomy`; the paper's sets, where HYPERMARGIN_DATA has them, are looked at once the rule is chosen. A score is
the mean over three folds with the best of three C, accuracy or, for the rare class of a taxonomy, average precision;
what counts is how far a rule stays behind the best one on a set, on average.
"""

import os
from pathlib import Path

import networkx as nx
import numpy as np
from rich.console import Console
from sklearn.metrics import accuracy_score, average_precision_score
from sklearn.model_selection import StratifiedKFold

from harness import TABLES, environment
from hypermargin import HyperbolicKernelSVC
from hypermargin.datasets import make_taxonomy
from hypermargin.embedding import embed_graph
from hypermargin.geometry import frechet_mean, pairwise_distance

COSTS = (1.0, 10.0, 100.0)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
FACTORS = (1 / 64, 1 / 16, 1 / 4, 1.0)
#: The parameter of each kernel from a squared length: times and squares of lengths, powers and rates inverse to them.
KERNELS = {
    "heat": ("t", lambda L: L),
    "cosh": ("power", lambda L: 0.5 / L),
    "laplacian": ("gamma", lambda L: 0.5 / L**0.5),
}
#: Rules that are judged beside the chosen one.
COMMON = ("1/4 V", "1 V")
JUDGED = ("olsson", "krumsiek", "myeloidprogenitors", "polbooks", "football", "karate")


def graphs() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Embedded graphs with classes: blocks, communities and branches."""
    blocks = nx.stochastic_block_model([40] * 4, 0.02 + 0.18 * np.eye(4), seed=0)
    named = {"blocks": (blocks, dict(blocks.nodes("block")))}
    for name, graph in (
        ("Les Miserables", nx.Graph(nx.les_miserables_graph().edges)),
        ("power law", nx.powerlaw_cluster_graph(150, 2, 0.5, seed=1)),
    ):
        communities = nx.community.greedy_modularity_communities(graph, best_n=6, cutoff=6)
        named[name] = graph, {v: k for k, nodes in enumerate(communities) for v in nodes}
    tree = nx.balanced_tree(3, 4)
    named["tree"] = tree, {v: _branch(v) for v in tree}
    found = {}
    for name, (graph, label) in named.items():
        embedded = embed_graph(graph, objective="distances")
        found[name] = embedded.X, np.array([label[v] for v in embedded.nodes])
    return found


def _branch(node: int) -> int:
    """The ancestor at depth 2 of a node of the complete ternary tree; upper nodes are a class of their own."""
    while node > 12:
        node = (node - 1) // 3
    return max(node, 3) - 3


def taxonomies() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    found = {}
    for seed, share in ((0, 0.1), (2, 0.3)):
        X, y = make_taxonomy(800, positive_fraction=share, random_state=seed, return_X_y=True)
        found[f"taxonomy, {share:g}"] = X, y
    return found


def paper_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    folder = Path(os.environ["HYPERMARGIN_DATA"])
    return {
        name: (np.load(folder / name / "X_lorentz.npy").astype(float), np.load(folder / name / "y.npy").ravel())
        for name in JUDGED
    }


def squared_lengths(X: np.ndarray) -> dict[str, float]:
    """V and N of some points."""
    D = pairwise_distance(X, X)
    spread = float(np.mean(pairwise_distance(X, frechet_mean(X)[None])[:, 0] ** 2))
    return {"V": spread, "N": float(np.median(np.partition(D, 10, axis=1)[:, 10])) ** 2}


def scores(X: np.ndarray, y: np.ndarray, kernel: str, rules: tuple[str, ...] | None = None) -> dict[str, float]:
    """The score of every rule, or of those that are asked for."""
    name, parameter = KERNELS[kernel]
    lengths = squared_lengths(X)
    rare = np.unique(y).size == 2 and y.mean() < 0.2
    found = {}
    for kind, factor in ((kind, factor) for kind in lengths for factor in FACTORS):
        if rules is not None and f"{_share(factor)} {kind}" not in rules:
            continue
        setting = {name: parameter(factor * lengths[kind])}
        parts = []
        for train, test in FOLDS.split(X, y):
            path = HyperbolicKernelSVC(kernel=kernel, tol=1e-4, **setting).fit_path(X[train], y[train], COSTS)
            parts.append(
                [
                    average_precision_score(y[test], model.decision_function(X[test]))
                    if rare
                    else accuracy_score(y[test], model.predict(X[test]))
                    for model in path
                ]
            )
        found[f"{_share(factor)} {kind}"] = 100.0 * float(np.mean(parts, axis=0).max())
    return found


def _share(factor: float) -> str:
    return f"{factor:g}" if factor >= 1 else f"1/{1 / factor:g}"


def table(
    sets: dict[str, tuple[np.ndarray, np.ndarray]], kernel: str, console: Console, rules: tuple[str, ...] | None = None
) -> tuple[str, str]:
    """Rows of a Markdown table, and the rule that stays least behind."""
    rows, behind = [], {}
    for name, (X, y) in sets.items():
        found = scores(X, y, kernel, rules)
        console.print(kernel, name, {rule: round(value, 1) for rule, value in found.items()})
        best = max(found.values())
        for rule, value in found.items():
            behind.setdefault(rule, []).append(best - value)
        rows.append(f"| {name} | {' | '.join(f'{value:.1f}' for value in found.values())} |")
    means = {rule: float(np.mean(values)) for rule, values in behind.items()}
    rows.append(f"| behind the best, on average | {' | '.join(f'{value:.2f}' for value in means.values())} |")
    head = f"| {kernel} | {' | '.join(means)} |\n|{'---|' * (len(means) + 1)}"
    return "\n".join([head, *rows]), min(means, key=means.__getitem__)


def main() -> None:
    console = Console(stderr=True)
    lines = [
        '# Benchmarks: what "scale" means for a kernel',
        "`python benchmarks/kernel_scale.py` wrote this page. "
        + (__doc__ or "").split("\n\n", 2)[2].replace("\n", " "),
        environment(),
    ]
    tuning, judging = {**graphs(), **taxonomies()}, paper_sets() if "HYPERMARGIN_DATA" in os.environ else {}
    for kernel in KERNELS:
        rows, chosen = table(tuning, kernel, console)
        parameter = KERNELS[kernel][0]
        form = {"heat": "t = L", "cosh": "power = 1/(2L)", "laplacian": "gamma = 1/(2 sqrt L)"}[kernel]
        lines += [
            f"## {kernel}: `{parameter}`",
            f"`{form}` with L as the columns say. Least behind: **{chosen}**.",
            rows,
        ]
        if judging:
            rules = tuple(dict.fromkeys((chosen, *COMMON)))
            lines += ["Judged on the paper's sets:", table(judging, kernel, console, rules)[0]]
    (TABLES / "kernel_scale.md").write_text("\n\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
