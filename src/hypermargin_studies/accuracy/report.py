"""The report: what the measurement shows in sentences, tables and a picture, as Markdown and as one HTML page."""

import base64
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from hypermargin_studies.accuracy.cells import METRICS, RADIUS, Cell
from hypermargin_studies.accuracy.contestants import OURS
from hypermargin_studies.accuracy.picture import critical_difference_figure
from hypermargin_studies.accuracy.summary import LESS_IS_BETTER, LEVEL, TUNED, Scores, changes, scores

TITLE = "Accuracy in nested cross-validation"
#: A difference of scores that counts.
BEHIND = 0.01
PICTURE = "critical-difference.png"
CAPTION = "Mean ranks; contestants joined by a bar cannot be told apart by Nemenyi's test."

Rows = list[list[str]]


class Part:
    """A heading, sentences and perhaps a table, which Markdown and HTML both show."""

    def __init__(self, heading: str, text: str, columns: list[str] | None = None, rows: Rows | None = None) -> None:
        self.heading, self.text, self.columns, self.rows = heading, text, columns or [], rows or []

    def markdown(self, level: int) -> str:
        lines = [f"{'#' * level} {self.heading}\n", f"{self.text}\n"]
        if self.rows:
            lines += ["| " + " | ".join(self.columns) + " |", "|---|" + "---:|" * (len(self.columns) - 1)]
            lines += ["| " + " | ".join(row) + " |" for row in self.rows]
            lines.append("")
        return "\n".join(lines)

    def html(self) -> str:
        table = ""
        if self.rows:
            head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
            body = "".join("<tr>" + "".join(f"<td>{_bold(cell)}</td>" for cell in row) + "</tr>" for row in self.rows)
            table = f"<div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        return f"<section><h2>{escape(self.heading)}</h2><p>{escape(self.text)}</p>{table}</section>"


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
    lines = []
    for dataset, name, ours, theirs in against_best_peer(all_scores):
        if theirs - ours > BEHIND:
            lines.append(f"{dataset} ({ours:.3f} : {theirs:.3f}, {name})")
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


def parts(results: dict[Cell, dict[str, Any]]) -> list[Part]:
    """All tables."""
    everything = scores(results, TUNED)
    found = [_main_part(everything)]
    complete = everything.complete
    if complete.datasets and "auto" in complete.contestants and not set(complete.contestants) <= set(OURS):
        found.append(_peer_part(complete))
    if complete.datasets:
        found.append(_rank_part(results))
    for metric in METRICS:
        found.append(_metric_part(scores(results, metric)))
    moved = changes(results)
    if moved:
        found.append(_moved_part(moved))
    return found


def _main_part(all_scores: Scores) -> Part:
    text = (
        "Means over test folds of the score that parameters were chosen by: average precision on taxonomies, accuracy "
        "elsewhere. Bold: the best of a row. Data sets on which `auto` does worst against the best peer come first."
    )
    table = _table(all_scores)
    if "auto" in all_scores.contestants and any(name not in OURS for name in all_scores.contestants):
        own = all_scores.contestants.index("auto")
        peers = [j for j, name in enumerate(all_scores.contestants) if name not in OURS]
        gap = all_scores.values[:, own] - np.max(np.nan_to_num(all_scores.values[:, peers], nan=-np.inf), axis=1)
        table = [table[i] for i in np.argsort(np.nan_to_num(gap, nan=np.inf), kind="stable")]
    return Part("Scores", text, ["data", *all_scores.contestants], table)


def _peer_part(all_scores: Scores) -> Part:
    rows = [
        [dataset, name, f"{theirs:.3f}", f"{ours:.3f}", f"{ours - theirs:+.3f}"]
        for dataset, name, ours, theirs in against_best_peer(all_scores)
    ]
    text = "The peer that is best on the test folds of each data set, and `auto`; the least favourable first."
    return Part("auto and the best peer", text, ["data", "best peer", "its score", "auto", "difference"], rows)


def _rank_part(results: dict[Cell, dict[str, Any]]) -> Part:
    by_metric = {metric: scores(results, metric).complete for metric in (TUNED, *METRICS)}
    ranks = {metric: each.mean_ranks() if each.datasets else {} for metric, each in by_metric.items()}
    names = sorted(
        {name for each in ranks.values() for name in each}, key=lambda name: ranks[TUNED].get(name, float("inf"))
    )
    p = by_metric[TUNED].tests_of("auto") if "auto" in by_metric[TUNED].contestants else {}
    rows = [
        [
            name,
            *(f"{ranks[m][name]:.2f}" if name in ranks[m] else "–" for m in ranks),
            _p(p[name]) if name in p else "–",
        ]
        for name in names
    ]
    text = (
        "1 is the best. Ranks of a metric are among the contestants that have it (some know no probabilities), over "
        "data sets measured with all of them. p: Wilcoxon's test against `auto` by the score, with Holm's correction."
    )
    return Part("Mean ranks", text, ["contestant", *ranks, "p"], rows)


def _metric_part(all_scores: Scores) -> Part:
    note = " Less is better." if all_scores.metric in LESS_IS_BETTER else ""
    seconds = " Processor time of the search and the fit; of ours the search of all families counts for `auto`."
    text = "Means over test folds." + note + (seconds if all_scores.metric == "seconds" else "")
    return Part(all_scores.metric, text, ["data", *all_scores.contestants], _table(all_scores))


def _moved_part(moved: Mapping[str, tuple[float, float, int]]) -> Part:
    rows = [[name, f"{mean:.4f}", f"{most:.3f}", str(count)] for name, (mean, most, count) in moved.items()]
    text = (
        f"All points moved by a random isometry, a rotation and a move of the origin by {RADIUS:g}: the same data "
        "in other coordinates. What knows no origin keeps its score, up to rounding that turns a tie; forests here "
        "keep it in distribution, since other groups of samples are drawn."
    )
    columns = ["contestant", "mean change of a fold's score", "largest", "folds"]
    return Part("After a random isometry", text, columns, sorted(rows, key=lambda row: float(row[1])))


def _table(all_scores: Scores) -> Rows:
    digits = 1 if all_scores.metric == "seconds" else 3
    sign = -1.0 if all_scores.metric in LESS_IS_BETTER else 1.0
    rows = []
    for dataset, values in zip(all_scores.datasets, all_scores.values, strict=True):
        shown = [f"{value:.{digits}f}" if np.isfinite(value) else "–" for value in values]
        known = np.where(np.isfinite(values), sign * values, -np.inf)
        best = f"{values[int(np.argmax(known))]:.{digits}f}"
        rows.append([dataset, *(f"**{text}**" if text == best else text for text in shown)])
    return rows


def write_report(results: dict[Cell, dict[str, Any]], folder: Path, facts: Mapping[str, str]) -> Path:
    """Write accuracy.html, accuracy.md and the picture; `facts` describe the run. Returns the page."""
    folder.mkdir(parents=True, exist_ok=True)
    has_picture = save_picture(results, folder / PICTURE)
    markdown = report_markdown(results, facts, PICTURE if has_picture else None)
    (folder / "accuracy.md").write_text(markdown, encoding="utf-8")
    picture = f'<p><img alt="{escape(CAPTION)}" src="{_inlined(folder / PICTURE)}"></p>' if has_picture else ""
    page = folder / "accuracy.html"
    page.write_text(_html(findings(results), picture, parts(results), facts), encoding="utf-8")
    return page


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


def report_markdown(results: dict[Cell, dict[str, Any]], facts: Mapping[str, str], picture: str | None) -> str:
    """The report; `picture` is where the page finds the picture."""
    lines = [f"# {TITLE}\n", "Generated by `hypermargin accuracy`; not edited by hand.\n"]
    lines += [*(f"* {text}" for text in findings(results)), ""]
    if picture is not None:
        lines += [f"![{CAPTION}]({picture})\n", f"*{CAPTION}*\n"]
    lines += [part.markdown(2) for part in parts(results)]
    return "\n".join([*lines, "## The run\n", *(f"* {key}: {value}" for key, value in facts.items()), ""])


def _html(said: list[str], picture: str, tables: list[Part], facts: Mapping[str, str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in said)
    about = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in facts.items())
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{escape(TITLE)}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }}
.scroll {{ overflow-x: auto; }} table {{ border-collapse: collapse; font-size: 0.85rem; }}
td, th {{ padding: 0.2rem 0.6rem; text-align: right; border-bottom: 1px solid #8886; white-space: nowrap; }}
td:first-child, th:first-child {{ text-align: left; }} img {{ max-width: 100%; background: white; }}
</style></head><body><h1>{escape(TITLE)}</h1><ul>{items}</ul>{picture}
{"".join(part.html() for part in tables)}
<section><h2>The run</h2><dl>{about}</dl></section></body></html>
"""


def _bold(cell: str) -> str:
    text = escape(cell)
    return f"<b>{text[2:-2]}</b>" if text.startswith("**") else text


def _inlined(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode("ascii")


def _p(value: float) -> str:
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"
