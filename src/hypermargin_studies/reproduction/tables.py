"""The tables: the paper's with our numbers beside its own, and what is behind them, gaps, proofs, seconds and holes."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hypermargin_studies import datasets as data
from hypermargin_studies.engine.cells import NOT_RUN
from hypermargin_studies.engine.report import Entry, Table, number
from hypermargin_studies.reproduction.cells import REAL_C, SYNTHETIC_C
from hypermargin_studies.reproduction.methods import ABOUT, METHODS, REFERENCE, get_method
from hypermargin_studies.reproduction.paper import BEST, PaperCell, Stat, differs, explain, paper_cell
from hypermargin_studies.reproduction.summary import CLOSE, Summary, compare_on_common_problems, gap_of, place_of

SCHEME_NAMES = {"ovr": "one-vs-rest", "ovo": "one-vs-one"}
#: How metrics that are shown without a deviation are written.
SHORT = {"gap": ".1e", "eta": ".4f", "seconds": ".3g"}
METRIC_NAMES = {"test_accuracy": "test accuracy", "test_f1": "weighted F1 score"}


@dataclass(frozen=True)
class Experiment:
    """One of the paper's tables: which data, scheme and C (or the best of all, method by method)."""

    slug: str
    title: str
    datasets: Sequence[str]
    scheme: str
    C: float | str
    section: str


def experiments() -> Iterator[Experiment]:
    """The paper's tables of performance, in its order."""
    yield Experiment("synthetic", "Synthetic data, C = 10", data.SYNTHETIC, "ovr", SYNTHETIC_C, "Synthetic data")
    for scheme, name in SCHEME_NAMES.items():
        section = f"Real data, {name}"
        yield Experiment(f"real-{scheme}-best", f"{section}, best C of each method", data.REAL, scheme, BEST, section)
        for C in REAL_C:
            yield Experiment(f"real-{scheme}-C{C:g}", f"{section}, C = {C:g}", data.REAL, scheme, C, f"{section}, by C")


def experiment_tables(summary: Summary, experiment: Experiment) -> list[Table]:
    """Accuracy, F1 score and gaps of one experiment; none without results."""
    scheme, C, every = experiment.scheme, experiment.C, summary.methods()
    present = [
        name
        for name in experiment.datasets
        if name in summary.datasets() and any(summary.stat(name, scheme, C, method, "test_f1") for method in every)
    ]
    if not present:
        return []
    # Methods that were tried on any of the data: a column of nothing but "not run" is of no use.
    methods = [
        method
        for method in every
        if any(compared(summary, experiment, name, method, "test_f1").text != NOT_RUN for name in present)
    ]
    scores = [_metric_table(summary, experiment, present, methods, metric) for metric in METRIC_NAMES]
    return [*scores, _gap_table(summary, experiment, present, methods)]


def _metric_table(
    summary: Summary, experiment: Experiment, datasets: Sequence[str], methods: Sequence[str], metric: str
) -> Table:
    rows = []
    for dataset in datasets:
        entries = [compared(summary, experiment, dataset, method, metric) for method in methods]
        best = max((e.value for e in entries if isinstance(e.value, float) and "[" not in e.text), default=np.nan)
        rows.append([dataset, *(replace(e, is_best=e.value == best and "[" not in e.text) for e in entries)])
    unit = ", in per cent" if metric == "test_accuracy" else ""
    chosen = " C is the one with a method's best test F1 score, as in the paper." if experiment.C == BEST else ""
    caption = (
        f"Mean ± standard deviation over the folds{unit}; the paper's number beside ours; [k]: of k folds only. Bold: "
        f"the best of ours on all folds.{chosen}"
    )
    slug, title = f"{experiment.slug}-{metric.removeprefix('test_')}", f"{experiment.title}: {METRIC_NAMES[metric]}"
    return Table(slug, title, ["data", *map(label, methods)], rows, caption, experiment.section)


def _gap_table(summary: Summary, experiment: Experiment, datasets: Sequence[str], methods: Sequence[str]) -> Table:
    """The paper's eta for the relaxations, and for every margin method the gap to the certified optimum."""
    judged = [name for name in methods if METHODS[name].is_margin]
    shown = [("eta", name) for name in judged if METHODS[name].is_relaxation or name == REFERENCE]
    shown += [("gap", name) for name in judged]
    rows = [
        [dataset, *(compared(summary, experiment, dataset, name, metric) for metric, name in shown)]
        for dataset in datasets
    ]
    columns = ["data", *(f"{'η' if metric == 'eta' else 'gap'} {label(name)}" for metric, name in shown)]
    caption = (
        "η by the paper's formula, between what its code takes: an asinh objective and a hinge bound, with 1 in the "
        "denominator; so it is not 0 for the certified optimum either, and below the value in that column it says "
        "nothing. Gap: relative excess of the hinge objective (summed over binary problems) over the certified lower "
        "bound. Exact, timelike is measured against its own certified bound, as its problem is another one."
    )
    title = f"{experiment.title}: the paper's η and the true gap"
    return Table(f"{experiment.slug}-gaps", title, columns, rows, caption, experiment.section)


def label(method: str) -> str:
    """The heading of a method's column."""
    return METHODS[method].label


def compared(summary: Summary, experiment: Experiment, dataset: str, method: str, metric: str) -> Entry:
    """Our number with the paper's beside it, marked where they differ; why there is none of ours."""
    scheme, C, own = experiment.scheme, experiment.C, get_method(method)
    theirs = None if own.paper_column is None else paper_cell(dataset, scheme, C, own.paper_column, metric)
    ours = summary.stat(dataset, scheme, C, method, metric)
    paper = "" if theirs is None else paper_text(theirs)
    if ours is not None:
        why = explain(theirs, method) if theirs is not None and differs(ours, theirs) else None
        return Entry(stat_text(ours, metric), ours.mean, paper, why)
    value: Any = summary.best_C(dataset, scheme, method) if C == BEST else C
    if summary.folds(dataset, scheme, value, method):
        # The folds are there, and the number is not: an infinite objective, or a metric the method does not have.
        is_timelike = metric == "gap" and own.is_margin
        return Entry("timelike" if is_timelike else "–", None, paper, is_hole=is_timelike)
    holes = {summary.hole(dataset, scheme, c, method) for c in (summary.values_of_C(dataset) if C == BEST else [value])}
    return Entry(min(filter(None, holes), default=NOT_RUN), None, paper, is_hole=True)


def stat_text(stat: Stat, metric: str) -> str:
    """Mean and deviation as the metric is written; how many folds, where they are not all."""
    fewer = "" if stat.n_folds == data.N_FOLDS else f" [{stat.n_folds}]"
    if metric in SHORT:
        return f"{stat.mean:{SHORT[metric]}}{fewer}"
    scale, digits = (100, 2) if metric.endswith("accuracy") else (1, 3)
    spread = f" ± {scale * stat.std:.{digits}f}" if stat.n_folds > 1 else ""
    return f"{scale * stat.mean:.{digits}f}{spread}{fewer}"


def paper_text(cell: PaperCell) -> str:
    """A number of the paper with its own digits."""
    if cell.metric == "test_accuracy":
        return f"{100 * cell.mean:.2f} ± {100 * (cell.std or 0.0):.2f}"
    if cell.metric == "test_f1":
        return f"{cell.mean:.2f} ± {cell.std:.2f}"
    return f"{cell.mean:.4f}" if cell.metric == "eta" else f"{cell.mean:g}"


# -- what is behind the paper's tables ---------------------------------------------------------------------------------

SECTION = "What the relaxations are worth"
EVERYTHING = tuple(f"{part}_{what}" for what in ("accuracy", "f1", "hinge", "asinh") for part in ("train", "test"))
EVERYTHING += ("eta", "gap", "seconds")


def judged_methods(summary: Summary) -> list[str]:
    """Methods for the paper's problem that the certified optimum can judge, itself left out."""
    return [name for name in summary.methods() if METHODS[name].is_constrained and name != REFERENCE]


def suboptimality_summary(summary: Summary) -> Table:
    """One row per method: how often it is close to the optimum, over the binary problems that all methods finished."""
    found = compare_on_common_problems(summary, judged_methods(summary))
    rows = [
        [
            label(name),
            number(gaps.size),
            number((gaps <= CLOSE).sum()),
            _share_close(gaps),
            *map(_gap, np.quantile(gaps, (0.5, 0.9, 1.0), method="higher").tolist()),
            number(np.isinf(gaps).sum()),
            number(found.finished[name]),
        ]
        for name, gaps in found.gaps.items()
        if gaps.size
    ]
    columns = ["method", "binary problems", "within 1e-3", "share", "median gap", "90 % quantile", "worst gap"]
    caption = (
        "Over the binary problems of the tables above and of the Gaussian grid that all of these methods finished, so "
        "that they are compared on the same ones. The gap is (objective − certified lower bound) / objective for the "
        "hinge loss; timelike answers are no hyperplanes and have none. PGD descends on the asinh loss, so a small "
        "hinge gap is more than it aims for."
    )
    title = "How often each method is within 1e-3 of the certified optimum"
    return Table("suboptimality-summary", title, [*columns, "timelike", "finished in all"], rows, caption, SECTION)


def fewer_problems_table(summary: Summary) -> Table:
    """Methods that finished few problems, each beside the others on those problems."""
    found = compare_on_common_problems(summary, judged_methods(summary))
    rows = [
        [label(name), number(gaps[name].size), *(_share_close(gaps[n]) for n in (name, *found.gaps))]
        for name, gaps in found.apart.items()
    ]
    caption = (
        "Each row is over the problems that its method and all those of the table above finished: the share within "
        "1e-3 of the certified optimum."
    )
    columns = ["method", "binary problems", "within 1e-3", *map(label, found.gaps)]
    title = "Methods that finished fewer problems, beside the others on those"
    return Table("suboptimality-fewer", title, columns, rows, caption, SECTION)


def _share_close(gaps: np.ndarray) -> Entry:
    share = float(np.mean(gaps <= CLOSE))
    return Entry(f"{100 * share:.1f} %", share)


def _gap(value: float) -> Entry:
    return number(value, ".1e") if np.isfinite(value) else Entry("timelike", 1e9, is_hole=True)


def suboptimality_table(summary: Summary) -> Table:
    """For each data set, scheme and C: median gap and how many problems are within 1e-3, method by method."""
    methods = judged_methods(summary)
    rows = []
    for dataset, scheme, C in sorted({p[:3] for p in summary.places() if p[3] == REFERENCE}, key=_order):
        if data.grid_parameters(dataset):
            continue
        row = [dataset, scheme_text(scheme, dataset), number(C or 0.0, "g")]
        for method in methods:
            gaps = np.array(list(summary.problem_gaps(dataset, scheme, C, method).values()))
            if gaps.size:
                median = float(np.quantile(gaps, 0.5, method="higher"))
                row += [_gap(median), Entry(f"{np.sum(gaps <= CLOSE)}/{gaps.size}", float(np.mean(gaps <= CLOSE)))]
            else:
                hole = summary.hole(dataset, scheme, C, method) or NOT_RUN
                row += [Entry(hole, is_hole=True), Entry("–", is_hole=True)]
        rows.append(row)
    kinds = ("median gap", "within 1e-3")
    columns = ["data", "scheme", "C", *(f"{label(m)}: {what}" for m in methods for what in kinds)]
    caption = (
        "Median over the binary problems of all folds of the relative excess over the certified optimum, and how many "
        "of them are within 1e-3."
    )
    return Table("suboptimality", "True suboptimality by data set and C", columns, rows, caption, SECTION, n_text=2)


def certified_table(summary: Summary) -> Table:
    """Whether every gap of the exact method was proved by the independent checker."""
    rows = []
    for name in ("exact", "exact-timelike"):
        folds = [record for place in summary.places() if place[3] == name for record in summary.folds(*place).values()]
        statuses = sum((Counter(record["statuses"]) for record in folds), Counter[str]())
        pairs = [pair for r in folds for pair in zip(r["objective_hinge"], r["lower_bound"], strict=True)]
        if statuses:
            others = ", ".join(f"{count} {status}" for status, count in statuses.items() if status != "OPTIMAL")
            counts = number(statuses.total()), number(statuses["OPTIMAL"])
            worst = max((gap_of(*pair) for pair in pairs), default=0.0)
            rows.append([label(name), *counts, number(max(worst, 0.0), ".1e"), others or "none"])
    columns = ["method", "binary problems", "proved optimal to 1e-6", "largest gap", "other outcomes"]
    caption = "Proved: an independent checker recomputed the lower bound from the certificate in rigorous arithmetic."
    return Table("certified", "Binary problems solved and proved", columns, rows, caption, SECTION)


def runtime_table(summary: Summary) -> Table:
    """Seconds to fit one fold, averaged over folds and C; the paper's beside them."""
    methods = summary.methods()
    rows = [
        [dataset, scheme_text(scheme, dataset), *(_seconds(summary, dataset, scheme, method) for method in methods)]
        for dataset in (*data.SYNTHETIC, *data.REAL)
        if dataset in summary.datasets()
        for scheme in (("ovr",) if dataset in data.SYNTHETIC else ("ovr", "ovo"))
    ]
    caption = (
        "Processor time of one thread, mean over folds and C; beside them the paper's seconds, by the clock on 8 cores "
        "of another machine and with MOSEK, so that no difference is marked. What names a device was fitted on it, and "
        'is by the clock; "in part": some folds were, others on a processor.'
    )
    columns = ["data", "scheme", *map(label, methods)]
    return Table("runtime", "Seconds to fit one fold", columns, rows, caption, "Runtimes", n_text=2)


def _seconds(summary: Summary, dataset: str, scheme: str, method: str) -> Entry:
    column = METHODS[method].paper_column
    theirs = None if column is None else paper_cell(dataset, scheme, None, column, "seconds")
    paper = "" if theirs is None else f"{theirs.mean:g}"
    places = [(dataset, scheme, C, method) for C in summary.values_of_C(dataset)]
    means = [stat.mean for place in places if (stat := summary.stat(*place, "seconds")) is not None]
    if not means:
        return Entry(next(filter(None, (summary.hole(*place) for place in places)), NOT_RUN), None, paper, is_hole=True)
    mean = float(np.mean(means))
    devices = set().union(*(summary.devices(*place) for place in places))
    return Entry(f"{mean:.3g}{on_devices(devices)}", mean, paper)


def on_devices(devices: Set[str | None]) -> str:
    """The devices that seconds were measured on, as words to follow them; nothing for a processor (None)."""
    named = ", ".join(sorted(filter(None, devices)))
    return "" if not named else f" on {named}, in part" if None in devices else f" on {named}"


def everything_table(summary: Summary) -> Table:
    """One row for each data set, scheme, C and method, with all metrics; the Gaussian grid is left to its own table."""
    rows = []
    for place in sorted(summary.places(), key=_order):
        dataset, scheme, C, method = place
        if data.grid_parameters(dataset):
            continue
        row = [dataset, scheme_text(scheme, dataset), label(method), "–" if C is None else number(C, "g")]
        for metric in EVERYTHING:
            stat = summary.stat(*place, metric)
            on = on_devices(summary.devices(*place)) if metric == "seconds" else ""
            row.append("–" if stat is None else Entry(stat_text(stat, metric) + on, stat.mean))
        rows.append(row)
    columns = ["data", "scheme", "method", "C", *(name.replace("_", " ") for name in EVERYTHING)]
    caption = (
        "Mean ± standard deviation over folds; [k]: of k folds only. Losses are objectives q/2 + C Σ loss, summed over "
        "binary problems; hinge is to be compared with hinge and asinh with asinh only. On the test part the sum is "
        "over test points."
    )
    return Table("everything", "Everything that was measured", columns, rows, caption, "Everything", n_text=3)


def holes_table(summary: Summary) -> Table:
    """What failed, ran out of time, or was not begun: one row for each data set, scheme, method and state."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for cell, record in sorted(summary.holes, key=lambda hole: _order(place_of(hole[0]))):
        drawn = data.grid_parameters(cell.dataset)
        name = cell.dataset if drawn is None else f"Gaussian grid, {drawn[0]} classes"
        kind = (name, scheme_text(cell.scheme, cell.dataset), label(cell.method), record["state"])
        kinds.setdefault(kind, []).append(str(record.get("reason", "")))
    rows = [
        [*kind, number(len(why)), why[0] + (" (and others)" if len(set(why)) > 1 else "")]
        for kind, why in kinds.items()
    ]
    columns = ["data", "scheme", "method", "state", "cells", "reason"]
    caption = "A cell is one fold for one C; on the Gaussian grid all folds of one draw."
    return Table("holes", "What is missing, and why", columns, rows, caption, "Holes", n_text=4)


def methods_table(summary: Summary) -> Table:
    """The columns of the other tables in words."""
    rows = [[label(name), name, ABOUT[name]] for name in summary.methods()]
    return Table("methods", "The methods", ["column", "name", "what it is"], rows, "", "Methods", n_text=3)


def differences_table(tables: Sequence[Table]) -> Table:
    """Every marked number with its explanation."""
    rows = [
        [table.title, row[0], column, Entry(entry.text, entry.value), entry.paper, entry.why.text]
        for table in tables
        for row in table.rows
        for column, entry in zip(table.columns, row, strict=True)
        if entry.why is not None
    ]
    caption = (
        "Means more than a standard deviation apart: the larger of the paper's and ours, plus the paper's rounding."
    )
    columns, title = ["table", "data", "column", "ours", "paper", "why"], "All numbers that differ from the paper's"
    return Table("differences", title, columns, rows, caption, "Differences from the paper", n_text=6)


def _order(place: tuple) -> tuple:
    dataset, scheme, C = place[:3]
    known = (*data.SYNTHETIC, *data.REAL)
    rank = known.index(dataset) if dataset in known else len(known)
    return rank, dataset, scheme, C or 0.0, list(METHODS).index(place[3]) if len(place) > 3 else 0


def scheme_text(scheme: str, dataset: str) -> str:
    """What the tables call a scheme on this data."""
    return "two classes" if len(data.class_sizes(dataset)) == 2 else SCHEME_NAMES.get(scheme, "its own")
