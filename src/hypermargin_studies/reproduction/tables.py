"""The tables: the paper's with our numbers beside its own, and what is behind them, gaps, proofs, seconds and holes."""

from collections.abc import Sequence, Set
from dataclasses import astuple, dataclass, replace

import numpy as np

from hypermargin.datasets import by_name as data
from hypermargin_studies.engine.cells import NOT_RUN
from hypermargin_studies.engine.report import Entry, Table
from hypermargin_studies.reproduction.cells import REAL_C, SYNTHETIC_C
from hypermargin_studies.reproduction.methods import METHODS, REFERENCE, Method, get_method
from hypermargin_studies.reproduction.paper import BEST, PaperCell, Stat, differs, explain, paper_cell
from hypermargin_studies.reproduction.summary import CLOSE, Summary, compare_on_common_problems

SCHEME_NAMES = {"ovr": "one-vs-rest", "ovo": "one-vs-one"}
METRIC_NAMES = {"test_accuracy": "test accuracy", "test_f1": "weighted F1 score", "eta": "η", "gap": "true gap"}


@dataclass(frozen=True)
class Experiment:
    """One of the paper's tables: which data, scheme and C (or the best of all, method by method)."""

    slug: str
    title: str
    datasets: Sequence[str]
    scheme: str
    C: float | str
    section: str


def experiments() -> list[Experiment]:
    """The paper's tables of performance, in its order."""
    listed = [Experiment("synthetic", "Synthetic data, C = 10", data.SYNTHETIC, "ovr", SYNTHETIC_C, "Synthetic data")]
    for scheme, name in SCHEME_NAMES.items():
        title = f"Real data, {name}, best C of each method"
        listed.append(Experiment(f"real-{scheme}-best", title, data.REAL, scheme, BEST, f"Real data, {name}"))
        for C in REAL_C:
            title = f"Real data, {name}, C = {C:g}"
            listed.append(Experiment(f"real-{scheme}-C{C:g}", title, data.REAL, scheme, C, f"Real data, {name}, by C"))
    return listed


def experiment_tables(summary: Summary, experiment: Experiment) -> list[Table]:
    """Accuracy, F1 score and gaps of one experiment; none without results."""
    present = [name for name in experiment.datasets if _has_results(summary, experiment, name)]
    if not present:
        return []
    scores = [_metric_table(summary, experiment, present, metric) for metric in ("test_accuracy", "test_f1")]
    return [*scores, _gap_table(summary, experiment, present)]


def _has_results(summary: Summary, experiment: Experiment, dataset: str) -> bool:
    return dataset in summary.datasets() and any(
        summary.stat(dataset, experiment.scheme, experiment.C, method, "test_f1") for method in summary.methods()
    )


def _run_methods(summary: Summary, experiment: Experiment, datasets: Sequence[str]) -> list[str]:
    """The methods that were tried on any of the data: a column of nothing but "not run" tells nobody anything."""
    return [
        method
        for method in summary.methods()
        if any(compared(summary, experiment, name, method, "test_f1").text != NOT_RUN for name in datasets)
    ]


def _metric_table(summary: Summary, experiment: Experiment, datasets: Sequence[str], metric: str) -> Table:
    methods = _run_methods(summary, experiment, datasets)
    rows = []
    for dataset in datasets:
        entries = [compared(summary, experiment, dataset, method, metric) for method in methods]
        rows.append([Entry(dataset, dataset), *_with_best(entries)])
    unit = ", in per cent" if metric == "test_accuracy" else ""
    chosen = " C is the one with a method's best test F1 score, as in the paper." if experiment.C == BEST else ""
    return Table(
        f"{experiment.slug}-{metric.removeprefix('test_')}",
        f"{experiment.title}: {METRIC_NAMES[metric]}",
        ["data", *(METHODS[name].label for name in methods)],
        rows,
        f"Mean ± standard deviation over the folds{unit}; the paper's number beside ours; [k]: of k folds only. Bold: "
        f"the best of ours on all folds.{chosen}",
        experiment.section,
    )


def _gap_table(summary: Summary, experiment: Experiment, datasets: Sequence[str]) -> Table:
    """The paper's eta for the relaxations, and for every margin method the gap to the certified optimum."""
    methods = [name for name in _run_methods(summary, experiment, datasets) if METHODS[name].is_margin]
    relaxed = [name for name in methods if METHODS[name].is_relaxation or name == REFERENCE]
    rows = [
        [
            Entry(dataset, dataset),
            *(compared(summary, experiment, dataset, method, "eta") for method in relaxed),
            *(compared(summary, experiment, dataset, method, "gap") for method in methods),
        ]
        for dataset in datasets
    ]
    return Table(
        f"{experiment.slug}-gaps",
        f"{experiment.title}: the paper's η and the true gap",
        ["data", *(f"η {METHODS[m].label}" for m in relaxed), *(f"gap {METHODS[m].label}" for m in methods)],
        rows,
        "η by the paper's formula, between what its code takes: an asinh objective and a hinge bound, with 1 in the "
        "denominator; so it is not 0 for the certified optimum either, and below the value in that column it says "
        "nothing. "
        "Gap: relative excess of the hinge objective (summed over binary problems) over the certified lower bound. "
        "Exact, timelike is measured against its own certified bound, as its problem is another one.",
        experiment.section,
    )


def compared(summary: Summary, experiment: Experiment, dataset: str, method: str, metric: str) -> Entry:
    """Our number with the paper's beside it, marked where they differ."""
    scheme, C = experiment.scheme, experiment.C
    column = get_method(method).paper_column
    theirs = None if column is None else paper_cell(dataset, scheme, C, column, metric)
    ours = summary.stat(dataset, scheme, C, method, metric)
    paper = "" if theirs is None else paper_text(theirs)
    if ours is None:
        return _missing(summary, dataset, scheme, C, method, metric, paper)
    why = explain(theirs, method) if theirs is not None and differs(ours, theirs) else None
    return Entry(stat_text(ours, metric), ours.mean, paper, why)


def _missing(
    summary: Summary, dataset: str, scheme: str, C: float | str, method: str, metric: str, paper: str
) -> Entry:
    value = summary.best_C(dataset, scheme, method) if C == BEST else C
    assert not isinstance(value, str)
    if summary.folds(dataset, scheme, value, method):
        # The folds are there, and the number is not: an infinite objective, or a metric the method does not have.
        margin = metric == "gap" and get_method(method).is_margin
        return Entry("timelike" if margin else "–", None, paper, is_hole=margin)
    holes = {summary.hole(dataset, scheme, c, method) for c in (summary.values_of_C(dataset) if C == BEST else [value])}
    reason = next((hole for hole in sorted(filter(None, holes))), None)
    return Entry(reason or NOT_RUN, None, paper, is_hole=True)


def _with_best(entries: list[Entry]) -> list[Entry]:
    values = [entry.value for entry in entries if isinstance(entry.value, float) and "[" not in entry.text]
    best = max(values, default=None)
    return [replace(e, is_best=e.value == best is not None and "[" not in e.text) for e in entries]


def stat_text(stat: Stat, metric: str) -> str:
    """Mean and deviation as the metric is written; how many folds, where they are not all."""
    fewer = "" if stat.n_folds == data.N_FOLDS else f" [{stat.n_folds}]"
    if metric.endswith("accuracy"):
        mean, std = f"{100 * stat.mean:.2f}", f"{100 * stat.std:.2f}"
    elif metric == "gap":
        return f"{stat.mean:.1e}{fewer}"
    elif metric == "eta":
        return f"{stat.mean:.4f}{fewer}"
    elif metric == "seconds":
        return f"{stat.mean:.3g}{fewer}"
    else:
        mean, std = f"{stat.mean:.3f}", f"{stat.std:.3f}"
    return f"{mean} ± {std}{fewer}" if stat.n_folds > 1 else f"{mean}{fewer}"


def paper_text(cell: PaperCell) -> str:
    """A number of the paper with its own digits."""
    if cell.metric == "test_accuracy":
        return f"{100 * cell.mean:.2f} ± {100 * (cell.std or 0.0):.2f}"
    if cell.metric == "test_f1":
        return f"{cell.mean:.2f} ± {cell.std:.2f}"
    return f"{cell.mean:.4f}" if cell.metric == "eta" else f"{cell.mean:g}"


# -- what is behind the paper's tables ---------------------------------------------------------------------------------

SECTION = "What the relaxations are worth"
EVERYTHING = (
    "train_accuracy",
    "test_accuracy",
    "train_f1",
    "test_f1",
    "train_hinge",
    "test_hinge",
    "train_asinh",
    "test_asinh",
    "eta",
    "gap",
    "seconds",
)


def judged_methods(summary: Summary) -> list[Method]:
    """Methods for the paper's problem that the certified optimum can judge, itself left out."""
    return [METHODS[name] for name in summary.methods() if METHODS[name].is_constrained and name != REFERENCE]


def suboptimality_summary(summary: Summary) -> Table:
    """One row per method: how often it is close to the optimum, over the binary problems that all methods finished."""
    found = compare_on_common_problems(summary, [method.name for method in judged_methods(summary)])
    rows = []
    for name, gaps in found.gaps.items():
        if gaps.size:
            finished = Entry(str(found.finished[name]), float(found.finished[name]))
            rows.append([Entry(METHODS[name].label, METHODS[name].label), *_gap_entries(gaps), finished])
    return Table(
        "suboptimality-summary",
        "How often each method is within 1e-3 of the certified optimum",
        [
            "method",
            "binary problems",
            "within 1e-3",
            "share",
            "median gap",
            "90 % quantile",
            "worst gap",
            "timelike",
            "finished in all",
        ],
        rows,
        "Over the binary problems of the tables above and of the Gaussian grid that all of these methods finished, so "
        "that they are compared on the same ones. The gap is "
        "(objective − certified lower bound) / objective for the hinge loss; timelike answers are no hyperplanes and "
        "have none. PGD descends on the asinh loss, so a small hinge gap is more than it aims for.",
        SECTION,
    )


def fewer_problems_table(summary: Summary) -> Table:
    """Methods that finished few problems, each beside the others on those problems."""
    found = compare_on_common_problems(summary, [method.name for method in judged_methods(summary)])
    rows = []
    for name, gaps in found.apart.items():
        shares = [_share_close(gaps[other]) for other in found.gaps]
        size = Entry(str(gaps[name].size), float(gaps[name].size))
        rows.append([Entry(METHODS[name].label, METHODS[name].label), size, _share_close(gaps[name]), *shares])
    return Table(
        "suboptimality-fewer",
        "Methods that finished fewer problems, beside the others on those",
        ["method", "binary problems", "within 1e-3", *(METHODS[name].label for name in found.gaps)],
        rows,
        "Each row is over the problems that its method and all those of the table above finished: the share "
        "within 1e-3 of the certified optimum.",
        SECTION,
    )


def _share_close(gaps: np.ndarray) -> Entry:
    share = float(np.mean(gaps <= CLOSE))
    return Entry(f"{100 * share:.1f} %", share)


def _gap_entries(gaps: np.ndarray) -> list[Entry]:
    close, timelike = int(np.sum(gaps <= CLOSE)), int(np.sum(np.isinf(gaps)))
    quantiles = np.quantile(gaps, (0.5, 0.9, 1.0), method="higher")
    return [
        Entry(str(gaps.size), float(gaps.size)),
        Entry(str(close), float(close)),
        Entry(f"{100 * close / gaps.size:.1f} %", close / gaps.size),
        *(_gap(float(q)) for q in quantiles),
        Entry(str(timelike), float(timelike)),
    ]


def _gap(value: float) -> Entry:
    return Entry(f"{value:.1e}", value) if np.isfinite(value) else Entry("timelike", 1e9, is_hole=True)


def suboptimality_table(summary: Summary) -> Table:
    """For each data set, scheme and C: median gap and how many problems are within 1e-3, method by method."""
    methods = judged_methods(summary)
    rows = []
    for dataset, scheme, C in sorted({p[:3] for p in summary.places() if p[3] == REFERENCE}, key=_order):
        if data.grid_parameters(dataset):
            continue
        row = [Entry(dataset, dataset), Entry(_scheme(scheme, dataset)), Entry(f"{C:g}", C)]
        for method in methods:
            gaps = np.array(summary.problem_gaps(dataset, scheme, C, method.name))
            if gaps.size:
                median = float(np.quantile(gaps, 0.5, method="higher"))
                row += [_gap(median), Entry(f"{np.sum(gaps <= CLOSE)}/{gaps.size}", float(np.mean(gaps <= CLOSE)))]
            else:
                hole = summary.hole(dataset, scheme, C, method.name) or NOT_RUN
                row += [Entry(hole, is_hole=True), Entry("–", is_hole=True)]
        rows.append(row)
    columns = [f"{m.label}: {what}" for m in methods for what in ("median gap", "within 1e-3")]
    return Table(
        "suboptimality",
        "True suboptimality by data set and C",
        ["data", "scheme", "C", *columns],
        rows,
        "Median over the binary problems of all folds of the relative excess over the certified optimum, and how many "
        "of them are within 1e-3.",
        SECTION,
        n_text=2,
    )


def certified_table(summary: Summary) -> Table:
    """Whether every gap of the exact method was proved by the independent checker."""
    rows = []
    for name in ("exact", "exact-timelike"):
        statuses: dict[str, int] = {}
        worst = 0.0
        for place in summary.places():
            if place[3] != name:
                continue
            for record in summary.folds(*place).values():
                for status, count in record["statuses"].items():
                    statuses[status] = statuses.get(status, 0) + count
                for value, bound in zip(record["objective_hinge"], record["lower_bound"], strict=True):
                    gap = np.inf if value is None or bound is None else (value - bound) / max(abs(value), 1e-12)
                    worst = max(worst, gap)
        if statuses:
            others = ", ".join(f"{count} {status}" for status, count in statuses.items() if status != "OPTIMAL")
            total, proved = sum(statuses.values()), statuses.get("OPTIMAL", 0)
            rows.append(
                [
                    Entry(METHODS[name].label),
                    Entry(str(total), float(total)),
                    Entry(str(proved), float(proved)),
                    Entry(f"{worst:.1e}", worst),
                    Entry(others or "none"),
                ]
            )
    return Table(
        "certified",
        "Binary problems solved and proved",
        ["method", "binary problems", "proved optimal to 1e-6", "largest gap", "other outcomes"],
        rows,
        "Proved: an independent checker recomputed the lower bound from the certificate in rigorous arithmetic.",
        SECTION,
    )


def runtime_table(summary: Summary) -> Table:
    """Seconds to fit one fold, averaged over folds and C; the paper's beside them."""
    methods = summary.methods()
    rows = []
    for dataset in (*data.SYNTHETIC, *data.REAL):
        if dataset not in summary.datasets():
            continue
        for scheme in ("ovr",) if dataset in data.SYNTHETIC else ("ovr", "ovo"):
            row = [Entry(dataset, dataset), Entry(_scheme(scheme, dataset))]
            for method in methods:
                row.append(_seconds(summary, dataset, scheme, method))
            rows.append(row)
    return Table(
        "runtime",
        "Seconds to fit one fold",
        ["data", "scheme", *(METHODS[name].label for name in methods)],
        rows,
        "Processor time of one thread, mean over folds and C; beside them the paper's seconds, by the clock on 8 cores "
        "of another machine and with MOSEK, so that no difference is marked. What names a device was fitted on it, and "
        'is by the clock; "in part": some folds were, others on a processor.',
        "Runtimes",
        n_text=2,
    )


def _seconds(summary: Summary, dataset: str, scheme: str, method: str) -> Entry:
    column = METHODS[method].paper_column
    theirs = None if column is None else paper_cell(dataset, scheme, None, column, "seconds")
    paper = "" if theirs is None else f"{theirs.mean:g}"
    values = [summary.stat(dataset, scheme, C, method, "seconds") for C in summary.values_of_C(dataset)]
    means = [value.mean for value in values if value is not None]
    if not means:
        holes = [summary.hole(dataset, scheme, C, method) for C in summary.values_of_C(dataset)]
        return Entry(next(filter(None, holes), NOT_RUN), None, paper, is_hole=True)
    mean = float(np.mean(means))
    devices = set().union(*(summary.devices(dataset, scheme, C, method) for C in summary.values_of_C(dataset)))
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
        row = [Entry(dataset), Entry(_scheme(scheme, dataset)), Entry(METHODS[method].label)]
        row.append(Entry("–" if C is None else f"{C:g}", C))
        for metric in EVERYTHING:
            stat = summary.stat(dataset, scheme, C, method, metric)
            on = on_devices(summary.devices(*place)) if metric == "seconds" else ""
            row.append(Entry("–") if stat is None else Entry(stat_text(stat, metric) + on, stat.mean))
        rows.append(row)
    return Table(
        "everything",
        "Everything that was measured",
        ["data", "scheme", "method", "C", *(name.replace("_", " ") for name in EVERYTHING)],
        rows,
        "Mean ± standard deviation over folds; [k]: of k folds only. Losses are objectives q/2 + C Σ loss, summed over "
        "binary problems; "
        "hinge is to be compared with hinge and asinh with asinh only. On the test part the sum is over test points.",
        "Everything",
        n_text=3,
    )


def holes_table(summary: Summary) -> Table:
    """What failed, ran out of time, or was not begun: one row for each data set, scheme, method and state."""
    kinds: dict[tuple[str, str, str, str], list[dict]] = {}
    for cell, record in sorted(summary.holes, key=lambda hole: _order((*astuple(hole[0])[:4],))):
        drawn = data.grid_parameters(cell.dataset)
        name = cell.dataset if drawn is None else f"Gaussian grid, {drawn[0]} classes"
        kinds.setdefault((name, _scheme(cell.scheme, cell.dataset), cell.method, record["state"]), []).append(record)
    rows = []
    for (name, scheme, method, state), records in kinds.items():
        reasons = [str(record.get("reason", "")) for record in records]
        more = "" if len(set(reasons)) == 1 else " (and others)"
        labels = [Entry(name), Entry(scheme), Entry(METHODS[method].label), Entry(state)]
        rows.append([*labels, Entry(str(len(records)), float(len(records))), Entry(reasons[0] + more)])
    return Table(
        "holes",
        "What is missing, and why",
        ["data", "scheme", "method", "state", "cells", "reason"],
        rows,
        "A cell is one fold for one C; on the Gaussian grid all folds of one draw.",
        "Holes",
        n_text=4,
    )


def methods_table(summary: Summary) -> Table:
    """The columns of the other tables in words."""
    rows = [[Entry(METHODS[name].label), Entry(name), Entry(METHODS[name].about)] for name in summary.methods()]
    return Table("methods", "The methods", ["column", "name", "what it is"], rows, "", "Methods", n_text=3)


def _order(place: tuple) -> tuple:
    dataset, scheme, C = place[:3]
    known = (*data.SYNTHETIC, *data.REAL)
    rank = known.index(dataset) if dataset in known else len(known)
    methods = list(METHODS)
    return rank, dataset, scheme, C or 0.0, methods.index(place[3]) if len(place) > 3 else 0


def _scheme(scheme: str, dataset: str) -> str:
    return "two classes" if len(data.class_sizes(dataset)) == 2 else SCHEME_NAMES.get(scheme, "its own")
