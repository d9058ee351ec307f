"""What the measurement shows: ranks over data sets, tests, sentences, tables and a picture, and pages for the docs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from scipy.stats import rankdata, studentized_range, wilcoxon

from hypermargin.arrays import Array
from hypermargin.estimators.auto.verdict import MOVED_BY
from hypermargin.plotting.palette import CLASS_COLOURS
from hypermargin_studies.accuracy.cells import METRICS, OURS, PEERS, Cell, contestants, scoring_of
from hypermargin_studies.engine.report import Entry, Picture, Report, Table, Texts, with_marked

TEXTS = Texts("hypermargin_studies.accuracy")
#: The score that parameters were chosen by: accuracy, or average precision on taxonomies.
TUNED = "score"
#: Of these metrics less is more.
LESS_IS_BETTER = ("log loss", "seconds")
#: The level of all tests, and of the critical difference: the usual one.
LEVEL = 0.05
#: A difference of scores that counts: twice the error of a score on the largest data.
BEHIND = 0.01
PICTURE = "critical-difference.png"
OWN, OTHERS = CLASS_COLOURS[0], "#404040"
Results = dict[Cell, dict[str, Any]]


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
        some = np.any(np.isfinite(self.values), axis=0)
        values = self.values[:, some]
        whole = np.all(np.isfinite(values), axis=1)
        datasets, names = list(compress(self.datasets, whole)), list(compress(self.contestants, some))
        return Scores(self.metric, datasets, names, values[whole])

    def among(self, contestants: Sequence[str]) -> "Scores":
        """The same with some of the contestants only."""
        return replace(self, contestants=list(contestants), values=np.column_stack([*map(self.of, contestants)]))

    def of(self, name: str) -> Array:
        """The scores of one contestant, shape (n_datasets,)."""
        return self.values[:, self.contestants.index(name)]

    @property
    def peers(self) -> list[str]:
        """The contestants that are not ours."""
        return [name for name in self.contestants if name not in OURS]

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
        others = [other for other in self.contestants if other != name]
        raw = [_wilcoxon(self.of(name) - self.of(other)) for other in others]
        return dict(zip(others, holm(raw), strict=True))


def _wilcoxon(differences: Array) -> float:
    rounded = np.round(differences, 12)
    return float(wilcoxon(rounded, zero_method="zsplit", method="approx").pvalue) if np.any(rounded) else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the k-th smallest of m times m - k + 1, never decreasing, at most 1."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(p_values))
    factors = np.arange(len(p_values), 0, -1)
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, factors * np.asarray(p_values)[order]))
    return corrected.tolist()


def fold_scores(results: Results, metric: str, *, is_moved: bool) -> dict[tuple[str, str], dict]:
    """Values of a metric by data set and contestant, each a dict by repetition and fold."""
    found: dict[tuple[str, str], dict] = {}
    for cell, record in results.items():
        if cell.is_moved != is_moved:
            continue
        wanted = scoring_of(cell.dataset).replace("_", " ") if metric == TUNED else metric
        for name in contestants(cell):
            value = record["measures"].get(name, {}).get(wanted)
            if value is not None:
                found.setdefault((cell.dataset, name), {})[cell.repetition, cell.fold] = value
    return found


def scores(results: Results, metric: str, *, is_moved: bool = False) -> Scores:
    """Means over the folds that all contestants of a data set have finished."""
    if metric not in (*METRICS, TUNED):
        raise ValueError(f"unknown metric {metric!r}")
    found = fold_scores(results, metric, is_moved=is_moved)
    names = [name for name in (*OURS, *PEERS) if any(name == who for _, who in found)]
    datasets = list(dict.fromkeys(dataset for dataset, _ in found))
    values = np.full((len(datasets), len(names)), np.nan)
    for i, dataset in enumerate(datasets):
        shared = set.intersection(*(set(found[dataset, name]) for name in names if (dataset, name) in found))
        for j, name in enumerate(names):
            if (dataset, name) in found and shared:
                values[i, j] = np.mean([found[dataset, name][fold] for fold in sorted(shared)])
    return Scores(metric, datasets, names, values)


def changes(results: Results) -> dict[str, tuple[float, float, int]]:
    """By contestant: mean and largest absolute change of the score of a fold under the isometry, and the folds."""
    here, there = (fold_scores(results, TUNED, is_moved=moved) for moved in (False, True))
    differences: dict[str, list[float]] = {name: [] for name in (*OURS, *PEERS)}
    for key, folds in here.items():
        both = folds.keys() & there.get(key, {}).keys()
        differences[key[1]] += [abs(folds[fold] - there[key][fold]) for fold in sorted(both)]
    return {name: (float(np.mean(d)), float(np.max(d)), len(d)) for name, d in differences.items() if d}


def rank_rows(results: Results) -> tuple[list[str], list[list[str]]]:
    """Metrics, and for each contestant, the best first, its name and its mean rank by each metric as text."""
    by_metric = {metric: scores(results, metric).complete for metric in (TUNED, *METRICS)}
    ranks = {metric: each.mean_ranks() if each.datasets else {} for metric, each in by_metric.items()}
    names = {name for each in ranks.values() for name in each}
    ordered = sorted(names, key=lambda name: (ranks[TUNED].get(name, float("inf")), name))
    rows = [[name, *(f"{each[name]:.2f}" if name in each else "–" for each in ranks.values())] for name in ordered]
    return list(ranks), rows


def against_best_peer(all_scores: Scores) -> list[tuple[str, str, float, float]]:
    """Data set, its best peer, the score of `auto` and that of the peer; the least favourable first."""
    peers = all_scores.among(all_scores.peers)
    names = [peers.contestants[j] for j in np.argmax(peers.values, axis=1).tolist()]
    ours, theirs = all_scores.of("auto").tolist(), np.max(peers.values, axis=1).tolist()
    return sorted(zip(all_scores.datasets, names, ours, theirs, strict=True), key=lambda each: each[2] - each[3])


# -- sentences ---------------------------------------------------------------------------------------------------------


def findings(results: Results) -> list[str]:
    """The summary in sentences, what speaks against us first."""
    everything = scores(results, TUNED).complete
    if not everything.datasets or "auto" not in everything.contestants:
        return [TEXTS["none"]]
    peers = everything.peers
    said = [_ranking(everything, f"{len(everything.contestants)} contestants")]
    if peers:  # ranks again without our own families, which `auto` is made of
        without_families = scores(results, TUNED).among(["auto", *peers]).complete
        said = [_behind(everything), *said, _ranking(without_families, f"`auto` and {len(peers)} peers")]
    p = everything.tests_of("auto")
    clear, others = (
        ", ".join(f"{name} ({_p(value)})" for name, value in p.items() if (value < LEVEL) == wanted)
        for wanted in (True, False)
    )
    clear_text = f"p < {LEVEL:g} for {clear}" if clear else f"none has p < {LEVEL:g}"
    said.append(TEXTS["tests"].format(clear=clear_text, others=f"; not so for {others}" if clear and others else ""))
    return said


def _behind(all_scores: Scores) -> str:
    """On which data sets the best peer is ahead of the one that chooses."""
    lines = [
        f"{dataset} ({ours:.3f} : {theirs:.3f}, {name})"
        for dataset, name, ours, theirs in against_best_peer(all_scores)
        if theirs - ours > BEHIND
    ]
    n = len(all_scores.datasets)
    return TEXTS["behind" if lines else "ahead"].format(n=n, behind=BEHIND, count=len(lines), which=", ".join(lines))


def _ranking(all_scores: Scores, who: str) -> str:
    ranks = all_scores.mean_ranks()
    place = list(ranks).index("auto") + 1
    return TEXTS["ranking"].format(
        n=len(all_scores.datasets),
        who=who,
        place="the best" if place == 1 else f"number {place}",
        order=", ".join(f"{name} {rank:.2f}" for name, rank in list(ranks.items())[:6]),
        difference=all_scores.critical_difference(),
    )


def _p(value: float) -> str:
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"


# -- tables ------------------------------------------------------------------------------------------------------------


def all_tables(results: Results) -> list[Table]:
    """Every table."""
    complete = scores(results, TUNED).complete
    found = [_score_table(scores(results, metric)) for metric in (TUNED, *METRICS)]
    if complete.datasets:
        has_auto = "auto" in complete.contestants
        p = complete.tests_of("auto") if has_auto else {}
        metrics, ranks = rank_rows(results)
        rows = [[*row, _p(p[row[0]]) if row[0] in p else "–"] for row in ranks]
        found.append(TEXTS.table("ranks", rows, ["contestant", *metrics, "p"]))
        if has_auto and complete.peers:
            compared = against_best_peer(complete)
            rows = [[data, name, f"{b:.3f}", f"{a:.3f}", f"{a - b:+.3f}"] for data, name, a, b in compared]
            found.append(TEXTS.table("best-peer", rows))
    moved = sorted(changes(results).items(), key=lambda item: item[1][0])
    rows = [[name, f"{mean:.4f}", f"{most:.3f}", str(count)] for name, (mean, most, count) in moved]
    return [*found, TEXTS.table("moved", rows, radius=MOVED_BY)]


def _score_table(all_scores: Scores) -> Table:
    """Means of a metric over folds, the best of a row marked; of the score, what speaks against us first."""
    metric, columns = all_scores.metric, ["data", *all_scores.contestants]
    digits, sign = 1 if metric == "seconds" else 3, -1.0 if metric in LESS_IS_BETTER else 1.0
    rows = []
    for dataset, values in zip(all_scores.datasets, all_scores.values, strict=True):
        best = f"{values[int(np.argmax(np.where(np.isfinite(values), sign * values, -np.inf)))]:.{digits}f}"
        texts = [f"{value:.{digits}f}" if np.isfinite(value) else "–" for value in values]
        rows.append([dataset, *(Entry(text, is_best=text == best) for text in texts)])
    if metric != TUNED:
        note = " Less is better." * (metric in LESS_IS_BETTER)
        seconds = " Processor time of the search and the fit; of ours the search of all families counts for `auto`."
        note += seconds * (metric == "seconds")
        return TEXTS.table("metric", rows, columns, slug=metric.replace(" ", "-"), metric=metric, note=note)
    if "auto" in all_scores.contestants and all_scores.peers:
        peers = np.nan_to_num(all_scores.among(all_scores.peers).values, nan=-np.inf)
        gap = all_scores.of("auto") - np.max(peers, axis=1)
        rows = [rows[i] for i in np.argsort(np.nan_to_num(gap, nan=np.inf), kind="stable")]
    return TEXTS.table("scores", rows, columns)


# -- the critical-difference picture: mean ranks on a line, with bars over contestants that cannot be told apart -------


def joined(ranks: list[float], difference: float) -> list[tuple[int, int]]:
    """The longest runs of increasing mean ranks within the critical difference, as first and last places."""
    runs: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(k for k in range(first, len(ranks)) if ranks[k] - ranks[first] <= difference)
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def critical_difference_figure(scores: Scores) -> Figure | None:
    """Mean ranks of complete scores, ours in colour; None where there are too few for a picture."""
    if len(scores.datasets) < 2 or len(scores.contestants) < 3:
        return None
    ranks = scores.mean_ranks()
    places, difference, n = list(ranks.values()), scores.critical_difference(), len(ranks)
    runs = joined(places, difference)
    half, below = (n + 1) // 2, 0.4 * len(runs)
    figure, ax = plt.subplots(figsize=(9.0, 1.3 + 0.28 * half + 0.3 * below), layout="constrained")
    ax.set(xlim=(1.0 - 0.3 * n, 1.3 * n), ylim=(-1.0 - half - below, 1.6))
    ax.axis("off")
    ax.plot([1.0, n], [0.0, 0.0], color="black", linewidth=1.0)
    for tick in range(1, n + 1):
        ax.plot([tick, tick], [0.0, 0.15], color="black", linewidth=1.0)
        ax.text(tick, 0.25, str(tick), ha="center", va="bottom", fontsize=9)
    ax.plot([1.0, 1.0 + difference], [1.1, 1.1], color="black", linewidth=1.5)
    ax.text(1.0, 1.2, f"critical difference {difference:.2f}", ha="left", va="bottom", fontsize=9)
    for level, (first, last) in enumerate(runs):
        y = -0.3 - 0.4 * level
        ax.plot([places[first] - 0.05, places[last] + 0.05], [y, y], color="#707070", linewidth=3.0)
    for k, (name, place) in enumerate(ranks.items()):
        left = k < half
        y = -0.8 - below - (k if left else n - 1 - k)
        end = 0.9 if left else n + 0.1
        style: dict[str, Any] = {"color": OWN if name in OURS else OTHERS}
        ax.plot([place, place, end], [0.0, y, y], linewidth=0.9, **style)
        text = f"{name} {place:.2f}" if left else f"{place:.2f} {name}"
        style |= {"weight": "bold" if name == "auto" else "normal", "ha": "right" if left else "left"}
        ax.text(end - 0.05 if left else end + 0.05, y, text, va="center", fontsize=9, **style)
    return figure


# -- pages -------------------------------------------------------------------------------------------------------------


def make_report(results: Results, facts: Mapping[str, str], picture: Path) -> Report:
    """The report with its picture in a file; `facts` describe the run."""
    report = Report(TEXTS["title"], TEXTS["sections"], facts)
    complete = scores(results, TUNED).complete
    report.draw(Picture(picture, "Ranks", TEXTS["figure"]), critical_difference_figure, complete)
    report.add("tables", all_tables, results)
    report.findings = report.made("the findings", findings, results) or []
    return report


def write_results_page(report: Report, path: Path) -> Path:
    """Put the findings at the head of `path`, in place of those of an earlier run, and write the page of tables.

    The tables go to ``accuracy-tables.md`` beside it; the picture of the report lies in ``images``.
    """
    tables = path.with_name("accuracy-tables.md")
    summary = [
        "## Which classifier is most accurate",
        "",
        f"Nested cross-validation of all models and their peers ([how](accuracy.md), [all tables]({tables.name})), "
        f"{report.facts['cells']}; what speaks against `auto` first.",
        "",
        *(f"* {text}" for text in report.findings),
        *(f"\n![Mean ranks of all contestants](images/{PICTURE})" for _ in report.pictures),
    ]
    path.write_text(with_marked(path.read_text(encoding="utf-8"), "accuracy", "\n".join(summary)), encoding="utf-8")
    made_by = "Generated by `hypermargin accuracy`; not edited by hand."
    tables.write_text(report.markdown(path.parent, made_by), encoding="utf-8")
    return tables
