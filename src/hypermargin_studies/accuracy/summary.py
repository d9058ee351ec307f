"""What the measurements say: means over folds, ranks over data sets, and tests of differences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata, studentized_range, wilcoxon

from hypermargin.arrays import Array
from hypermargin_studies.accuracy.cells import METRICS, Cell, contestants, scoring_of
from hypermargin_studies.accuracy.contestants import OURS, PEERS

#: The score that parameters were chosen by: accuracy, or average precision on taxonomies.
TUNED = "score"
#: Of these metrics less is more.
LESS_IS_BETTER = ("log loss", "seconds")
#: The level of all tests, and of the critical difference.
LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class Scores:
    """Mean test scores, shape (n_datasets, n_contestants), NaN where a fold is missing; larger is better in `ranks`."""

    metric: str
    datasets: list[str]
    contestants: list[str]
    values: Array

    @property
    def complete(self) -> "Scores":
        """Without contestants that have no score anywhere, and then without data sets on which one is missing."""
        some = np.any(np.isfinite(self.values), axis=0).tolist()
        values = self.values[:, some]
        whole = np.all(np.isfinite(values), axis=1).tolist()
        return Scores(
            self.metric,
            [name for name, keep in zip(self.datasets, whole, strict=True) if keep],
            [name for name, keep in zip(self.contestants, some, strict=True) if keep],
            values[whole],
        )

    def among(self, contestants: Sequence[str]) -> "Scores":
        """The same with some of the contestants only."""
        columns = [self.contestants.index(name) for name in contestants]
        return Scores(self.metric, self.datasets, list(contestants), self.values[:, columns])

    @property
    def ranks(self) -> Array:
        """Ranks on each data set, 1 for the best, ties shared, shape as `values`."""
        sign = 1.0 if self.metric in LESS_IS_BETTER else -1.0
        return np.array([rankdata(np.round(sign * row, 12)) for row in self.values]).reshape(self.values.shape)

    def mean_ranks(self) -> dict[str, float]:
        """Mean rank of every contestant, the best first."""
        means = self.ranks.mean(axis=0) if len(self.datasets) else np.full(len(self.contestants), np.nan)
        return dict(sorted(zip(self.contestants, means.tolist(), strict=True), key=lambda pair: pair[1]))

    def critical_difference(self) -> float:
        """Nemenyi's: mean ranks that differ by less cannot be told apart, at `LEVEL`, all pairs taken together."""
        k, n = len(self.contestants), len(self.datasets)
        quantile = studentized_range.ppf(1.0 - LEVEL, k, np.inf) / np.sqrt(2.0)
        return float(quantile * np.sqrt(k * (k + 1) / (6.0 * n)))

    def tests_of(self, name: str) -> dict[str, float]:
        """p-values of Wilcoxon's signed-rank test of one contestant against every other, after Holm's correction."""
        own = self.values[:, self.contestants.index(name)]
        others = [other for other in self.contestants if other != name]
        raw = [_wilcoxon(own - self.values[:, self.contestants.index(other)]) for other in others]
        return dict(zip(others, holm(raw), strict=True))


def _wilcoxon(differences: Array) -> float:
    rounded = np.round(differences, 12)
    return float(wilcoxon(rounded, zero_method="zsplit", method="approx").pvalue) if np.any(rounded) else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the k-th smallest of m times m - k + 1, never decreasing, at most 1."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(p_values))
    largest = 0.0
    for place, i in enumerate(order.tolist()):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        corrected[i] = largest
    return corrected.tolist()


def fold_scores(results: dict[Cell, dict[str, Any]], metric: str, *, is_moved: bool) -> dict[tuple[str, str], dict]:
    """Values of a metric by data set and contestant, each a dict by repetition and fold."""
    found: dict[tuple[str, str], dict] = {}
    for cell, record in results.items():
        if cell.is_moved != is_moved:
            continue
        wanted = metric
        if metric == TUNED:
            wanted = scoring_of(cell.dataset).replace("_", " ")
        for name in contestants(cell):
            value = record["measures"].get(name, {}).get(wanted)
            if value is not None:
                found.setdefault((cell.dataset, name), {})[cell.repetition, cell.fold] = value
    return found


def scores(results: dict[Cell, dict[str, Any]], metric: str, *, is_moved: bool = False) -> Scores:
    """Means over the folds that all contestants of a data set have finished."""
    if metric not in (*METRICS, TUNED):
        raise ValueError(f"unknown metric {metric!r}")
    found = fold_scores(results, metric, is_moved=is_moved)
    names = [name for name in (*OURS, *PEERS) if any(name == who for _, who in found)]
    datasets = list(dict.fromkeys(dataset for dataset, _ in found))
    values = np.full((len(datasets), len(names)), np.nan)
    for i, dataset in enumerate(datasets):
        having = [found[dataset, name] for name in names if (dataset, name) in found]
        shared = set.intersection(*(set(folds) for folds in having))
        for j, name in enumerate(names):
            if (dataset, name) in found and shared:
                values[i, j] = np.mean([found[dataset, name][fold] for fold in sorted(shared)])
    return Scores(metric, datasets, names, values)


def changes(results: dict[Cell, dict[str, Any]]) -> dict[str, tuple[float, float, int]]:
    """By contestant: mean and largest absolute change of the score of a fold under the isometry, and the folds."""
    here, there = (fold_scores(results, TUNED, is_moved=moved) for moved in (False, True))
    found = {}
    for name in (*OURS, *PEERS):
        differences = [
            abs(value - there[key][fold])
            for key, folds in here.items()
            if key[1] == name and key in there
            for fold, value in folds.items()
            if fold in there[key]
        ]
        if differences:
            found[name] = (float(np.mean(differences)), float(np.max(differences)), len(differences))
    return found


def rank_rows(results: dict[Cell, dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Metrics, and for each contestant, the best first, its name and its mean rank by each metric as text."""
    by_metric = {metric: scores(results, metric).complete for metric in (TUNED, *METRICS)}
    ranks = {metric: each.mean_ranks() if each.datasets else {} for metric, each in by_metric.items()}
    names = {name for each in ranks.values() for name in each}
    ordered = sorted(names, key=lambda name: (ranks[TUNED].get(name, float("inf")), name))
    rows = [[name, *(f"{each[name]:.2f}" if name in each else "–" for each in ranks.values())] for name in ordered]
    return list(ranks), rows
