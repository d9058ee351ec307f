"""What makes a forest better: levers tried on taxonomies and graphs.

python benchmarks/forest_levers.py           the table in docs/benchmarks/forest_levers.md (ten minutes)

Needs HYPERMARGIN_DATA for the graphs.
"""

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, train_test_split

from harness import TABLES, environment
from hypermargin.datasets import fetch_embedding, make_taxonomy
from hypermargin.estimators import HyperbolicForestClassifier
from hypermargin.geometry import from_lorentz

TREES = 40
NODES, FRACTIONS = 10_000, (0.1, 0.03, 0.01, 0.003, 0.001)
TUNING_SEEDS = (0, 1, 2)
GRAPHS = ("krumsiek", "myeloidprogenitors", "paul", "olsson", "polbooks", "football")


class BagShares(HyperbolicForestClassifier):
    """A forest whose leaves hold the shares of the bootstrap sample alone, as those of other forests do."""

    def _adopt(self, plan, seeds, grown):
        bags = [plan.sample_weights(seed) for seed in seeds]
        super()._adopt(
            plan, seeds, [(plan.as_grown(tree, bag), []) for (tree, _), bag in zip(grown, bags, strict=True)]
        )


def forest(**changes):
    return HyperbolicForestClassifier(TREES, random_state=0, n_jobs=2, **changes)


def bag_shares(**changes):
    return BagShares(TREES, random_state=0, n_jobs=2, **changes)


def rival(**changes):
    return RandomForestClassifier(TREES, random_state=0, n_jobs=2, **changes)


LEVERS = {
    "defaults (hyperplanes and curves, leaves of 5, shares of all samples, shrinkage 2, mixed groups, 10 samples of "
    "each, 3 candidates, C = 100, Gini)": forest(),
    "curves": forest(boundary="curve"),
    "hyperplanes": forest(boundary="hyperplane"),
    "shares of the bootstrap sample": bag_shares(),
    "curves, shares of the bootstrap sample": bag_shares(boundary="curve"),
    "no shrinkage": forest(shrinkage=0.0),
    "shrinkage 10": forest(shrinkage=10.0),
    "leaves of 1": forest(min_samples_leaf=1),
    "leaves of 1, shares of the bootstrap sample, no shrinkage": bag_shares(min_samples_leaf=1, shrinkage=0.0),
    "leaves of 15": forest(min_samples_leaf=15),
    "2 samples of each group": forest(split_samples=2),
    "30 samples of each group, 1 candidate": forest(split_samples=30, n_candidates=1),
    "100 samples of each group, 1 candidate": forest(split_samples=100, n_candidates=1),
    "10 candidates": forest(n_candidates=10),
    "C = 1": forest(C=1.0),
    "C = 10": forest(C=10.0),
    "bootstrap samples of half the size": forest(max_samples=0.5),
    "entropy": forest(criterion="entropy"),
    "groups at random": forest(grouping="random"),
    "groups around two seed classes": forest(grouping="seeds"),
    "one class against the rest": forest(grouping="one-vs-rest"),
    "two classes only": forest(grouping="pairs"),
    "groups by lowest common ancestors of class centroids": forest(grouping="hierarchy"),
    "scikit-learn's random forest, leaves of 1": rival(),
    "scikit-learn's random forest, leaves of 5": rival(min_samples_leaf=5),
}
ONLY_MANY_CLASSES = ("groups", "one class", "two classes")


def seen_by(model, X):
    """Lorentz coordinates for our models, the disk for scikit-learn's."""
    return from_lorentz(X, "poincare") if isinstance(model, RandomForestClassifier) else X


def taxonomy_precision(model, seeds, nodes=NODES) -> np.ndarray:
    """Average precision on 30 % of the nodes, shape (n_seeds, n_fractions)."""
    table = []
    for seed in seeds:
        data = make_taxonomy(nodes, positive_fraction=FRACTIONS, random_state=seed)
        for k in range(len(FRACTIONS)):
            y, X = data.y[:, k], seen_by(model, data.X)
            train, test = train_test_split(np.arange(nodes), test_size=0.3, stratify=y, random_state=seed)
            shares = clone(model).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
            table.append(average_precision_score(y[test], shares))
    return np.reshape(table, (len(seeds), len(FRACTIONS)))


def graph_accuracy(model) -> np.ndarray:
    """Accuracy on the paper's folds, in per cent, shape (n_graphs,)."""
    table = []
    for name in GRAPHS:
        X, y = fetch_embedding(name, return_X_y=True)
        X = seen_by(model, X)
        folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
        table.append(100.0 * np.mean([clone(model).fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds]))
    return np.array(table)


def lever_table() -> list[str]:
    lines = [
        "| lever | AP, taxonomies | accuracy, graphs | " + " | ".join(GRAPHS) + " |",
        "|---" * (3 + len(GRAPHS)) + "|",
    ]
    for name, model in LEVERS.items():
        precision = (
            "–" if name.startswith(ONLY_MANY_CLASSES) else f"{taxonomy_precision(model, TUNING_SEEDS).mean():.3f}"
        )
        accuracy = graph_accuracy(model)
        lines.append(
            f"| {name} | {precision} | {accuracy.mean():.1f} | " + " | ".join(f"{a:.1f}" for a in accuracy) + " |"
        )
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    page = [
        "# Levers of the forest",
        "",
        f"Made by `python benchmarks/forest_levers.py`. {environment()}",
        "",
        f"{TREES} trees each. Taxonomies: `make_taxonomy({NODES})`, subtrees of 10 % to 0.1 %, average precision on "
        f"30 % of the nodes; defaults were chosen on the seeds 0 to 9, with 8,000 nodes; the table has the seeds "
        f"{TUNING_SEEDS[0]} to {TUNING_SEEDS[-1]}. Graphs: the paper's folds; their accuracies were looked at when "
        "defaults were chosen. scikit-learn's forests see disk coordinates. Where nothing was looked at: "
        "[forests judged](forest_judged.md).",
        "",
        *lever_table(),
    ]
    (TABLES / "forest_levers.md").write_text("\n".join(page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
