"""The report: what the measurement shows in sentences, tables and a picture, and pages for the documentation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # pictures in files need no screen

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from hypermargin.plotting.palette import CLASS_COLOURS
from hypermargin_studies.accuracy.cells import METRICS, RADIUS, Cell
from hypermargin_studies.accuracy.contestants import OURS
from hypermargin_studies.accuracy.summary import LESS_IS_BETTER, LEVEL, TUNED, Scores, changes, rank_rows, scores
from hypermargin_studies.engine.report import Entry, Guard, Picture, Report, Table, with_marked

TITLE = "Accuracy in nested cross-validation"
SECTIONS = (("Ranks", False), ("Scores", False), ("After a random isometry", False))
#: A difference of scores that counts.
BEHIND = 0.01
PICTURE = "critical-difference.png"
CAPTION = "Mean ranks; contestants joined by a bar cannot be told apart by Nemenyi's test."
OWN, OTHERS = CLASS_COLOURS[0], "#404040"


def findings(results: dict[Cell, dict[str, Any]]) -> list[str]:
    """The summary in sentences, what speaks against us first."""
    everything = scores(results, TUNED).complete
    if not everything.datasets or "auto" not in everything.contestants:
        return ["No data set has been measured with `auto` and all other contestants yet."]
    peers = [name for name in everything.contestants if name not in OURS]
    said = [_ranking(everything, f"{len(everything.contestants)} contestants")]
    if peers:  # ranks again without our own families, which `auto` is made of
        without_families = scores(results, TUNED).among(["auto", *peers]).complete
        said = [_behind(everything), *said, _ranking(without_families, f"`auto` and {len(peers)} peers")]
    p = everything.tests_of("auto")
    clear = [f"{name} ({_p(value)})" for name, value in p.items() if value < LEVEL]
    others = [f"{name} ({_p(value)})" for name, value in p.items() if value >= LEVEL]
    said.append(
        "Wilcoxon's signed-rank tests of `auto` against every other contestant over the data sets, with Holm's "
        "correction: "
        + (f"p < {LEVEL:g} for {', '.join(clear)}" if clear else f"none has p < {LEVEL:g}")
        + (f"; not so for {', '.join(others)}." if clear and others else ".")
    )
    return said


def _behind(all_scores: Scores) -> str:
    """On which data sets the best peer is ahead of the one that chooses."""
    lines = [
        f"{dataset} ({ours:.3f} : {theirs:.3f}, {name})"
        for dataset, name, ours, theirs in against_best_peer(all_scores)
        if theirs - ours > BEHIND
    ]
    n = len(all_scores.datasets)
    if not lines:
        return f"On none of {n} data sets is `auto` more than {BEHIND:g} behind the best peer of that data set."
    return (
        f"`auto` is more than {BEHIND:g} behind the best peer on {len(lines)} of {n} data sets: {', '.join(lines)}. "
        "(The best peer is the best on the test folds, another one on each data set, which nobody can know before.)"
    )


def against_best_peer(all_scores: Scores) -> list[tuple[str, str, float, float]]:
    """Data set, its best peer, the score of `auto` and that of the peer; the least favourable first."""
    peers = [j for j, name in enumerate(all_scores.contestants) if name not in OURS]
    own = all_scores.contestants.index("auto")
    found = []
    for i, dataset in enumerate(all_scores.datasets):
        best = max(peers, key=lambda j: all_scores.values[i, j])
        row = all_scores.values[i]
        found.append((dataset, all_scores.contestants[best], float(row[own]), float(row[best])))
    return sorted(found, key=lambda each: each[2] - each[3])


def _ranking(all_scores: Scores, who: str) -> str:
    ranks = all_scores.mean_ranks()
    place = list(ranks).index("auto") + 1
    order = ", ".join(f"{name} {rank:.2f}" for name, rank in list(ranks.items())[:6])
    best = "the best" if place == 1 else f"number {place}"
    return (
        f"Mean ranks over {len(all_scores.datasets)} data sets, of {who}: `auto` is {best}. {order} "
        f"(critical difference {all_scores.critical_difference():.2f})."
    )


# -- tables ------------------------------------------------------------------------------------------------------------


def all_tables(results: dict[Cell, dict[str, Any]]) -> list[Table]:
    """Every table that has rows."""
    everything = scores(results, TUNED)
    complete = everything.complete
    found = [_main_table(everything), *(_metric_table(scores(results, metric)) for metric in METRICS)]
    if complete.datasets:
        found.append(_rank_table(results))
        if "auto" in complete.contestants and not set(complete.contestants) <= set(OURS):
            found.append(_peer_table(complete))
    found.append(_moved_table(changes(results)))
    return [table for table in found if table.rows]


def _main_table(all_scores: Scores) -> Table:
    rows = _score_rows(all_scores)
    if "auto" in all_scores.contestants and any(name not in OURS for name in all_scores.contestants):
        own = all_scores.contestants.index("auto")
        peers = [j for j, name in enumerate(all_scores.contestants) if name not in OURS]
        gap = all_scores.values[:, own] - np.max(np.nan_to_num(all_scores.values[:, peers], nan=-np.inf), axis=1)
        rows = [rows[i] for i in np.argsort(np.nan_to_num(gap, nan=np.inf), kind="stable")]
    caption = (
        "Means over test folds of the score that parameters were chosen by: average precision on taxonomies, accuracy "
        "elsewhere. Bold: the best of a row. Data sets on which `auto` does worst against the best peer come first."
    )
    return Table("scores", "Scores", ["data", *all_scores.contestants], rows, caption, "Scores")


def _peer_table(all_scores: Scores) -> Table:
    rows = [
        [Entry(dataset), Entry(name), Entry(f"{theirs:.3f}"), Entry(f"{ours:.3f}"), Entry(f"{ours - theirs:+.3f}")]
        for dataset, name, ours, theirs in against_best_peer(all_scores)
    ]
    caption = "The peer that is best on the test folds of each data set, and `auto`; the least favourable first."
    columns = ["data", "best peer", "its score", "auto", "difference"]
    return Table("best-peer", "auto and the best peer", columns, rows, caption, "Ranks", n_text=2)


def _rank_table(results: dict[Cell, dict[str, Any]]) -> Table:
    metrics, ranks = rank_rows(results)
    tuned = scores(results, TUNED).complete
    p = tuned.tests_of("auto") if "auto" in tuned.contestants else {}
    rows = [[*map(Entry, row), Entry(_p(p[row[0]]) if row[0] in p else "–")] for row in ranks]
    caption = (
        "1 is the best. Ranks of a metric are among the contestants that have it (some know no probabilities), over "
        "data sets measured with all of them. p: Wilcoxon's test against `auto` by the score, with Holm's correction."
    )
    return Table("ranks", "Mean ranks", ["contestant", *metrics, "p"], rows, caption, "Ranks")


def _metric_table(all_scores: Scores) -> Table:
    caption = "Means over test folds."
    caption += " Less is better." if all_scores.metric in LESS_IS_BETTER else ""
    if all_scores.metric == "seconds":
        caption += " Processor time of the search and the fit; of ours the search of all families counts for `auto`."
    slug, columns = all_scores.metric.replace(" ", "-"), ["data", *all_scores.contestants]
    return Table(slug, all_scores.metric, columns, _score_rows(all_scores), caption, "Scores")


def _moved_table(moved: Mapping[str, tuple[float, float, int]]) -> Table:
    rows = [
        [Entry(name), Entry(f"{mean:.4f}"), Entry(f"{most:.3f}"), Entry(str(count))]
        for name, (mean, most, count) in sorted(moved.items(), key=lambda item: item[1][0])
    ]
    caption = (
        f"All points moved by a random isometry, a rotation and a move of the origin by {RADIUS:g}: the same data "
        "in other coordinates. What knows no origin keeps its score, up to rounding that turns a tie; forests here "
        "keep it in distribution, since other groups of samples are drawn."
    )
    columns = ["contestant", "mean change of a fold's score", "largest", "folds"]
    return Table("moved", "Changes of scores", columns, rows, caption, "After a random isometry")


def _score_rows(all_scores: Scores) -> list[list[Entry]]:
    digits = 1 if all_scores.metric == "seconds" else 3
    sign = -1.0 if all_scores.metric in LESS_IS_BETTER else 1.0
    rows = []
    for dataset, values in zip(all_scores.datasets, all_scores.values, strict=True):
        known = np.where(np.isfinite(values), sign * values, -np.inf)
        best = f"{values[int(np.argmax(known))]:.{digits}f}"
        texts = [f"{value:.{digits}f}" if np.isfinite(value) else "–" for value in values]
        rows.append([Entry(dataset), *(Entry(text, is_best=text == best) for text in texts)])
    return rows


def _p(value: float) -> str:
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"


# -- the critical-difference picture: mean ranks on a line, with bars over contestants that cannot be told apart -------


def joined(ranks: list[float], difference: float) -> list[tuple[int, int]]:
    """The longest runs of increasing mean ranks within the critical difference, as first and last places."""
    runs: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(k for k in range(first, len(ranks)) if ranks[k] - ranks[first] <= difference)
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def critical_difference_figure(scores: Scores) -> Figure:
    """Mean ranks of complete scores; ours in colour."""
    ranks = scores.mean_ranks()
    names, places = list(ranks), list(ranks.values())
    difference = scores.critical_difference()
    runs = joined(places, difference)
    half = (len(names) + 1) // 2
    height = 1.3 + 0.28 * half + 0.12 * len(runs)
    figure, ax = plt.subplots(figsize=(9.0, height), layout="constrained")
    lowest, highest = 1.0, float(len(names))
    ax.set(xlim=(lowest - 0.3 * len(names), highest + 0.3 * len(names)), ylim=(-1.0 - half - 0.4 * len(runs), 1.6))
    ax.axis("off")
    ax.plot([lowest, highest], [0.0, 0.0], color="black", linewidth=1.0)
    for tick in range(1, len(names) + 1):
        ax.plot([tick, tick], [0.0, 0.15], color="black", linewidth=1.0)
        ax.text(tick, 0.25, str(tick), ha="center", va="bottom", fontsize=9)
    ax.plot([lowest, lowest + difference], [1.1, 1.1], color="black", linewidth=1.5)
    ax.text(lowest, 1.2, f"critical difference {difference:.2f}", ha="left", va="bottom", fontsize=9)
    below = 0.4 * len(runs)
    for level, (first, last) in enumerate(runs):
        y = -0.3 - 0.4 * level
        ax.plot([places[first] - 0.05, places[last] + 0.05], [y, y], color="#707070", linewidth=3.0)
    for k, (name, place) in enumerate(ranks.items()):
        left = k < half
        y = -0.8 - below - (k if left else len(names) - 1 - k)
        end = lowest - 0.1 if left else highest + 0.1
        colour = OWN if name in OURS else OTHERS
        ax.plot([place, place, end], [0.0, y, y], color=colour, linewidth=0.9)
        text = f"{name} {place:.2f}" if left else f"{place:.2f} {name}"
        weight = "bold" if name == "auto" else "normal"
        beside, side = (end - 0.05, "right") if left else (end + 0.05, "left")
        ax.text(beside, y, text, ha=side, va="center", fontsize=9, color=colour, weight=weight)
    return figure


# -- pages -------------------------------------------------------------------------------------------------------------


def make_report(results: dict[Cell, dict[str, Any]], facts: Mapping[str, str], picture: Path, guard: Guard) -> Report:
    """The report with its picture in a file; `facts` describe the run. Parts that fail are left out and listed."""
    drawn = guard.made("the picture of ranks", save_picture, results, picture)
    tables = [*(guard.made("tables", all_tables, results) or []), guard.table()]
    pictures = [Picture(picture, "Ranks", CAPTION)] if drawn else []
    said = guard.made("the findings", findings, results) or []
    return Report(TITLE, SECTIONS, facts, tables, pictures, said, notice=guard.notice())


def save_picture(results: dict[Cell, dict[str, Any]], path: Path) -> bool:
    """Draw mean ranks into a file; False where there are too few for a picture."""
    complete = scores(results, TUNED).complete
    if len(complete.datasets) < 2 or len(complete.contestants) < 3:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = critical_difference_figure(complete)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return True


def write_report(results: dict[Cell, dict[str, Any]], folder: Path, facts: Mapping[str, str], guard: Guard) -> Path:
    """Write accuracy.html, accuracy.md and the picture. Returns the page."""
    return make_report(results, facts, folder / PICTURE, guard).write(folder, "accuracy")


def write_results_page(results: dict[Cell, dict[str, Any]], path: Path, facts: Mapping[str, str], guard: Guard) -> Path:
    """Put the findings at the head of `path`, in place of those of an earlier run, and write the page of tables.

    The tables go to ``accuracy-tables.md`` beside it, the picture to ``images``. Returns the page of tables.
    """
    tables = path.with_name("accuracy-tables.md")
    report = make_report(results, facts, path.parent / "images" / PICTURE, guard)
    summary = [
        "## Which classifier is most accurate",
        "",
        f"Nested cross-validation of all models and their peers ([how](accuracy.md), [all tables]({tables.name})), "
        f"{facts['cells']}; what speaks against `auto` first.",
        "",
        *(f"* {text}" for text in report.findings),
    ]
    if report.pictures:
        summary += ["", f"![Mean ranks of all contestants](images/{PICTURE})"]
    path.write_text(with_marked(path.read_text(encoding="utf-8"), "accuracy", "\n".join(summary)), encoding="utf-8")
    made_by = "Generated by `hypermargin accuracy`; not edited by hand."
    tables.write_text(report.markdown(path.parent, made_by), encoding="utf-8")
    return tables
