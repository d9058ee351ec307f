"""The paper's tables with our numbers beside its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypermargin.datasets import by_name as data
from hypermargin_studies.reproduction.cache import NOT_RUN
from hypermargin_studies.reproduction.methods import METHODS, REFERENCE, get_method
from hypermargin_studies.reproduction.paper import BEST, PaperCell, paper_cell
from hypermargin_studies.reproduction.plan import REAL_C, SYNTHETIC_C
from hypermargin_studies.reproduction.report.explanations import differs, explain
from hypermargin_studies.reproduction.report.table import Entry, Table
from hypermargin_studies.reproduction.summary import Stat, Summary

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


def performance_tables(summary: Summary) -> list[Table]:
    """Accuracy, F1 score and gaps of every experiment that has results."""
    return [table for experiment in experiments() for table in experiment_tables(summary, experiment)]


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
    return [
        Entry(
            e.text,
            e.value,
            e.paper,
            e.why,
            is_best=e.value == best is not None and "[" not in e.text,
            is_hole=e.is_hole,
        )
        for e in entries
    ]


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
