"""The forest against scikit-learn's random forest on the same cores: time, memory, a million points; and neighbours.

python benchmarks/bench_forest.py            the table in docs/benchmarks/forest.md
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from harness import TABLES, Row, best_of, in_turn, memory_status, reset_peak_memory, run_child, seconds, write_table
from hypermargin.datasets import make_gaussian_mixture, make_taxonomy
from hypermargin.estimators import HyperbolicForestClassifier, HyperbolicKNeighborsClassifier
from hypermargin.geometry import distance, from_lorentz

#: As many as WordNet's nouns; four fifths are for training.
NODES = 82_114
TREES, JOBS = 100, 2
FRACTIONS = (0.03, 0.01, 0.001)


def taxonomy(fraction: float):
    """Training and test parts of a taxonomy with a subtree of this share."""
    X, y = make_taxonomy(NODES, positive_fraction=fraction, random_state=0, return_X_y=True)
    return train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)


def forest(leaf: int = 1) -> HyperbolicForestClassifier:
    return HyperbolicForestClassifier(TREES, min_samples_leaf=leaf, n_jobs=JOBS, random_state=0)


def rival(leaf: int = 1) -> RandomForestClassifier:
    return RandomForestClassifier(TREES, min_samples_leaf=leaf, n_jobs=JOBS, random_state=0)


def time_rows() -> list[Row]:
    rows = []
    for fraction in FRACTIONS:
        X, X_test, y, y_test = taxonomy(fraction)
        disk, disk_test = from_lorentz(X, "poincare"), from_lorentz(X_test, "poincare")
        ours, theirs, model, other = in_turn(
            lambda X=X, y=y: forest().fit(X, y), lambda disk=disk, y=y: rival().fit(disk, y), repeats=2
        )
        precision = average_precision_score(y_test, model.predict_proba(X_test)[:, 1])
        theirs_precision = average_precision_score(y_test, other.predict_proba(disk_test)[:, 1])
        note = f"average precision {precision:.3f} against {theirs_precision:.3f}; leaves of 1 for both"
        what = f"fit of {TREES} trees, {len(X):,} points, a subtree of {fraction:.1%}"
        rows.append(Row(what, seconds(ours), seconds(theirs), f"{ours / theirs:.2f}x", "<= 2x", note))
        if fraction == FRACTIONS[0]:
            ours, theirs, *_ = in_turn(
                lambda model=model, X=X_test: model.predict_proba(X),
                lambda other=other, disk=disk_test: other.predict_proba(disk),
            )
            what = f"prediction of {len(X_test):,} points by {TREES} trees"
            rows.append(Row(what, seconds(ours), seconds(theirs), f"{ours / theirs:.2f}x"))
    return rows


def child(kind: str) -> None:
    """Print the bytes that a fit adds to the resident memory of a warm interpreter, at its peak."""
    X, _, y, _ = taxonomy(FRACTIONS[0])
    model, points = (forest(), X) if kind == "ours" else (rival(), from_lorentz(X, "poincare"))
    model.set_params(n_estimators=2).fit(points[:2000], y[:2000])
    before = reset_peak_memory()
    model.set_params(n_estimators=TREES).fit(points, y)
    print(memory_status("VmHWM") - before)


def memory_row() -> Row:
    ours, theirs = (int(run_child(Path(__file__), kind)) for kind in ("ours", "theirs"))
    return Row(
        f"peak memory of the fit, a subtree of {FRACTIONS[0]:.1%}",
        f"{ours / 2**20:.0f} MiB",
        f"{theirs / 2**20:.0f} MiB",
        f"{ours / theirs:.2f}x",
        "<= 3x",
        "resident memory above that of a warm interpreter that holds the data",
    )


def million_row() -> Row:
    X, y = make_gaussian_mixture([970_000, 30_000], 2, scale=1.0, random_state=0, return_X_y=True)
    few = np.random.default_rng(0).choice(len(X), 100_000, replace=False)
    settings = {"n_estimators": 10, "n_jobs": JOBS, "random_state": 0}
    tenth, _ = best_of(lambda: HyperbolicForestClassifier(**settings).fit(X[few], y[few]), 1)
    whole, model = best_of(lambda: HyperbolicForestClassifier(**settings).fit(X, y), 1)
    nodes = np.mean([tree.n_nodes for tree in model.trees_])
    note = f"10 trees of {nodes:,.0f} nodes on average; 3 % in class 1"
    return Row(
        "growth, n from 10^5 to 10^6 (generated)",
        seconds(whole),
        f"n = 10^5: {seconds(tenth)}",
        f"{whole / tenth:.1f}x",
        "",
        note,
    )


def neighbour_rows() -> list[Row]:
    X, X_test, y, _ = taxonomy(0.03)
    X_test = X_test[:2000]
    ours, theirs, *_ = in_turn(
        lambda: HyperbolicKNeighborsClassifier(15).fit(X, y).predict_proba(X_test),
        lambda: KNeighborsClassifier(15).fit(X, y).predict_proba(X_test),
    )
    note = "scikit-learn's k-d tree sees Lorentz coordinates as if they were Euclidean"
    what = "15 neighbours of 2,000 among 65,691 points of the plane"
    rows = [Row(what, seconds(ours), f"Euclidean {seconds(theirs)}", f"{ours / theirs:.1f}x", "", note)]
    few, queries = X[:5000], X_test[:20]
    ours, theirs, *_ = in_turn(
        lambda: HyperbolicKNeighborsClassifier(15).fit(few, y[:5000]).predict_proba(queries),
        lambda: (
            KNeighborsClassifier(15, metric=distance, algorithm="ball_tree").fit(few, y[:5000]).predict_proba(queries)
        ),
        rival_repeats=1,
    )
    what = "15 neighbours of 20 among 5,000 points of the plane"
    note = "scikit-learn's ball tree with the hyperbolic distance as its metric: the same answers"
    return [*rows, Row(what, seconds(ours), f"ball tree {seconds(theirs)}", f"{theirs / ours:.0f}x faster", "", note)]


def main() -> None:
    if len(sys.argv) > 1:
        child(sys.argv[1])
        return
    rows = [*time_rows(), memory_row(), million_row(), *neighbour_rows()]
    remarks = [
        f"{JOBS} threads on both sides; scikit-learn's forest sees disk coordinates. Taxonomies by `make_taxonomy`."
    ]
    write_table(
        TABLES / "forest.md", "Forests against scikit-learn's", rows, "python benchmarks/bench_forest.py", remarks
    )


if __name__ == "__main__":
    main()
