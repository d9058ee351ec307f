"""The report of a run: tables beside the paper's, the claims they support, and pages in files and in the documentation.

Titles and captions are in texts.toml. Tables and sentences of the claims are computed from the same results, so that
the text cannot contradict the tables.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hypermargin_studies import datasets as data
from hypermargin_studies.engine.cells import NOT_RUN
from hypermargin_studies.engine.report import Entry, Report, Table, Texts, marked, number, to_csv, to_markdown
from hypermargin_studies.reproduction import paper
from hypermargin_studies.reproduction.cells import REAL_C, SYNTHETIC_C
from hypermargin_studies.reproduction.figures import draw_figures
from hypermargin_studies.reproduction.methods import METHODS, REFERENCE, label
from hypermargin_studies.reproduction.paper import BEST, PaperCell, Stat
from hypermargin_studies.reproduction.summary import CLOSE, Place, Summary, gap_of, place_of

TEXTS = Texts("hypermargin_studies.reproduction")
SCHEME_NAMES = {"ovr": "one-vs-rest", "ovo": "one-vs-one"}
#: How metrics that are shown without a deviation are written.
SHORT = {"gap": ".1e", "eta": ".4f", "seconds": ".3g"}
METRIC_NAMES = {"test_accuracy": "test accuracy", "test_f1": "weighted F1 score"}
METRIC = "test_accuracy"
EVERYTHING = tuple(f"{part}_{what}" for what in ("accuracy", "f1", "hinge", "asinh") for part in ("train", "test"))
EVERYTHING += ("eta", "gap", "seconds")


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
    scale = 100 if cell.metric == METRIC else 1
    if cell.metric in METRIC_NAMES:
        return f"{scale * cell.mean:.2f} ± {scale * (cell.std or 0.0):.2f}"
    return f"{cell.mean:.4f}" if cell.metric == "eta" else f"{cell.mean:g}"


def scheme_text(scheme: str, dataset: str, C: float | str | None = None) -> str:
    """What the tables call a scheme on this data, and C if there is one."""
    name = "two classes" if len(data.class_sizes(dataset)) == 2 else SCHEME_NAMES.get(scheme, "its own")
    return name if C is None else f"{name}, C = {C:g}"


def on_devices(devices: Set[str | None]) -> str:
    """The devices that seconds were measured on, as words to follow them; nothing for a processor (None)."""
    named = ", ".join(sorted(filter(None, devices)))
    return "" if not named else f" on {named}, in part" if None in devices else f" on {named}"


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _share_close(gaps: np.ndarray) -> Entry:
    return number(100.0 * float(np.mean(gaps <= CLOSE)), ".1f", " %")


def _quantile(gaps: np.ndarray, share: float = 0.5) -> Entry:
    value = float(np.quantile(gaps, share, method="higher"))
    return number(value, ".1e") if np.isfinite(value) else Entry("timelike", 1e9, is_hole=True)


def _order(place: Sequence) -> tuple:
    dataset, scheme, C = place[:3]
    known = (*data.SYNTHETIC, *data.REAL)
    rank = known.index(dataset) if dataset in known else len(known)
    return rank, dataset, scheme, C or 0.0, list(METHODS).index(place[3]) if len(place) > 3 else 0


class Experiment(NamedTuple):
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
    """Accuracy, F1 score, and eta and gaps of one experiment; none without results."""
    scheme, C, every = experiment.scheme, experiment.C, summary.methods()

    def entries(metric: str, names: Sequence[str], dataset: str) -> list[Entry]:
        return [compared(summary, experiment, dataset, name, metric) for name in names]

    present = [name for name in experiment.datasets if any(summary.stat(name, scheme, C, m, "test_f1") for m in every)]
    # Methods that were tried on any of the data: a column of nothing but "not run" is of no use.
    methods = [m for m in every if any(entries("test_f1", [m], name)[0].text != NOT_RUN for name in present)]
    tables = []
    about: dict[str, Any] = {"title": experiment.title, "section": experiment.section}
    about["chosen"] = " C is the one with a method's best test F1 score, as in the paper." if C == BEST else ""
    for metric, named in METRIC_NAMES.items():
        about |= {"metric": named, "unit": ", in per cent" if metric == METRIC else ""}
        rows = [[name, *_with_best(entries(metric, methods, name))] for name in present]
        slug = f"{experiment.slug}-{metric.removeprefix('test_')}"
        tables.append(TEXTS.table("scores", rows, ["data", *map(label, methods)], slug=slug, **about))
    judged = [name for name in methods if METHODS[name].is_margin]
    relaxed = [name for name in judged if METHODS[name].is_relaxation or name == REFERENCE]
    rows = [[name, *entries("eta", relaxed, name), *entries("gap", judged, name)] for name in present]
    columns = ["data", *(f"η {label(name)}" for name in relaxed), *(f"gap {label(name)}" for name in judged)]
    return [*tables, TEXTS.table("gaps", rows, columns, slug=f"{experiment.slug}-gaps", **about)]


def _with_best(entries: list[Entry]) -> list[Entry]:
    """The same with the best of those over all folds marked."""
    whole = [e.value if isinstance(e.value, float) and "[" not in e.text else -np.inf for e in entries]
    best = max(whole, default=-np.inf)
    return [replace(e, is_best=value == best > -np.inf) for e, value in zip(entries, whole, strict=True)]


def compared(summary: Summary, experiment: Experiment, dataset: str, method: str, metric: str) -> Entry:
    """Our number with the paper's beside it, marked where they differ; why there is none of ours."""
    scheme, C, own = experiment.scheme, experiment.C, METHODS[method]
    theirs = paper.paper_cell(dataset, scheme, C, own.paper_column, metric)
    ours = summary.stat(dataset, scheme, C, method, metric)
    printed = "" if theirs is None else paper_text(theirs)
    if ours is not None:
        why = paper.explain(theirs, method) if theirs is not None and paper.differs(ours, theirs) else None
        return Entry(stat_text(ours, metric), ours.mean, printed, why)
    value: Any = summary.best_C(dataset, scheme, method) if C == BEST else C
    if summary.folds(dataset, scheme, value, method):
        # The folds are there, and the number is not: an infinite objective, or a metric the method does not have.
        is_timelike = metric == "gap" and own.is_margin
        return Entry("timelike" if is_timelike else "–", None, printed, is_hole=is_timelike)
    holes = {summary.hole(dataset, scheme, c, method) for c in (summary.values_of_C(dataset) if C == BEST else [value])}
    return Entry(min(filter(None, holes), default=NOT_RUN), None, printed, is_hole=True)


def suboptimality_summary(summary: Summary) -> Table:
    """One row per method: how often it is close to the optimum, over the binary problems that all methods finished."""
    found = summary.comparison()
    rows = []
    for name, gaps in found.gaps.items():
        if gaps.size:
            row = [label(name), number(gaps.size), number((gaps <= CLOSE).sum()), _share_close(gaps)]
            row += [_quantile(gaps, share) for share in (0.5, 0.9, 1.0)]
            rows.append([*row, number(np.isinf(gaps).sum()), number(found.finished[name])])
    return TEXTS.table("suboptimality-summary", rows)


def fewer_problems_table(summary: Summary) -> Table:
    """Methods that finished few problems, each beside the others on those problems."""
    found = summary.comparison()
    rows = [
        [label(name), number(gaps[name].size), *(_share_close(gaps[n]) for n in (name, *found.gaps))]
        for name, gaps in found.apart.items()
    ]
    columns = ["method", "binary problems", "within 1e-3", *map(label, found.gaps)]
    return TEXTS.table("suboptimality-fewer", rows, columns)


def suboptimality_table(summary: Summary) -> Table:
    """For each data set, scheme and C: median gap and how many problems are within 1e-3, method by method."""
    methods, rows = summary.judged_methods(), []
    for dataset, scheme, C in sorted({p[:3] for p in summary.places() if p[3] == REFERENCE}, key=_order):
        if data.grid_parameters(dataset):
            continue
        row = [dataset, scheme_text(scheme, dataset), number(C or 0.0, "g")]
        for method in methods:
            gaps = np.array(list(summary.problem_gaps(dataset, scheme, C, method).values()))
            if gaps.size:
                close = Entry(f"{np.sum(gaps <= CLOSE)}/{gaps.size}", float(np.mean(gaps <= CLOSE)))
                row += [_quantile(gaps), close]
            else:
                hole = summary.hole(dataset, scheme, C, method) or NOT_RUN
                row += [Entry(hole, is_hole=True), Entry("–", is_hole=True)]
        rows.append(row)
    kinds = ("median gap", "within 1e-3")
    columns = ["data", "scheme", "C", *(f"{label(method)}: {what}" for method in methods for what in kinds)]
    return TEXTS.table("suboptimality", rows, columns)


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
    return TEXTS.table("certified", rows)


def runtime_table(summary: Summary) -> Table:
    """Seconds to fit one fold, averaged over folds and C; the paper's beside them."""
    methods = summary.methods()
    rows = [
        [dataset, scheme_text(scheme, dataset), *(_seconds(summary, dataset, scheme, method) for method in methods)]
        for dataset in summary.table_datasets()
        for scheme in (("ovr",) if dataset in data.SYNTHETIC else ("ovr", "ovo"))
    ]
    return TEXTS.table("runtime", rows, ["data", "scheme", *map(label, methods)])


def _seconds(summary: Summary, dataset: str, scheme: str, method: str) -> Entry:
    theirs = paper.paper_cell(dataset, scheme, None, METHODS[method].paper_column, "seconds")
    printed = "" if theirs is None else f"{theirs.mean:g}"
    places = [(dataset, scheme, C, method) for C in summary.values_of_C(dataset)]
    means = [stat.mean for place in places if (stat := summary.stat(*place, "seconds")) is not None]
    if not means:
        hole = next(filter(None, (summary.hole(*place) for place in places)), NOT_RUN)
        return Entry(hole, None, printed, is_hole=True)
    mean = float(np.mean(means))
    devices = set().union(*(summary.devices(*place) for place in places))
    return Entry(f"{mean:.3g}{on_devices(devices)}", mean, printed)


def everything_table(summary: Summary) -> Table:
    """One row for each data set, scheme, C and method, with all metrics; the Gaussian grid is left to its own table."""

    def entry(place: Place, metric: str) -> Entry | str:
        stat = summary.stat(*place, metric)
        on = on_devices(summary.devices(*place)) if metric == "seconds" else ""
        return "–" if stat is None else Entry(stat_text(stat, metric) + on, stat.mean)

    rows = []
    for place in sorted(summary.places(), key=_order):
        dataset, scheme, C, method = place
        if not data.grid_parameters(dataset):
            names = [dataset, scheme_text(scheme, dataset), label(method), "–" if C is None else number(C, "g")]
            rows.append([*names, *(entry(place, metric) for metric in EVERYTHING)])
    columns = ["data", "scheme", "method", "C", *(name.replace("_", " ") for name in EVERYTHING)]
    return TEXTS.table("everything", rows, columns)


def holes_table(summary: Summary) -> Table:
    """What failed, ran out of time, or was not begun: one row for each data set, scheme, method and state."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for cell, record in sorted(summary.holes, key=lambda hole: _order(place_of(hole[0]))):
        drawn = data.grid_parameters(cell.dataset)
        name = cell.dataset if drawn is None else f"Gaussian grid, {drawn[0]} classes"
        kind = (name, scheme_text(cell.scheme, cell.dataset), label(cell.method), record["state"])
        kinds.setdefault(kind, []).append(str(record.get("reason", "")))
    others = {kind: " (and others)" * (len(set(why)) > 1) for kind, why in kinds.items()}
    return TEXTS.table("holes", [[*kind, number(len(why)), why[0] + others[kind]] for kind, why in kinds.items()])


def methods_table(summary: Summary) -> Table:
    """The columns of the other tables in words."""
    return TEXTS.table("methods", [[label(name), name, METHODS[name].about] for name in summary.methods()])


def differences_table(tables: Sequence[Table]) -> Table:
    """Every marked number with its explanation."""
    rows = [
        [table.title, row[0], column, Entry(entry.text, entry.value), entry.paper, entry.why.text]
        for table in tables
        for row in table.rows
        for column, entry in zip(table.columns, row, strict=True)
        if entry.why is not None
    ]
    return TEXTS.table("differences", rows)


#: Columns that are defined as the paper's, and how many standard deviations their accuracies may differ from it.
SAME_DEFINITION = {"pgd-published": 2.0, "sdp-published": 1.0, "moment-published": 1.0, "moment-lp": 1.0}
#: Data on which the paper's number is no measure of ours: its labels wrap round, or its draws are not known.
NOT_COMPARABLE = ("karate", "gaussian_2", "gaussian_3")


class BestAccuracy(NamedTuple):
    """A method's test accuracy in the better of both schemes, at its best C; `number` is in per cent."""

    scheme: str
    C: float | None
    stat: Stat
    number: str


def best_score(summary: Summary, dataset: str, methods: list[str]) -> BestAccuracy | None:
    """The highest mean test accuracy over all folds among methods and schemes."""
    scores = []
    for method, scheme in product(methods, SCHEME_NAMES):
        C = SYNTHETIC_C if dataset in data.SYNTHETIC else summary.best_C(dataset, scheme, method)
        stat = summary.stat(dataset, scheme, C, method, METRIC)
        if stat is not None and stat.n_folds == data.N_FOLDS:
            scores.append(BestAccuracy(scheme, C, stat, f"{100 * stat.mean:.1f}"))
    return max(scores, key=lambda score: score.stat.mean, default=None)


class Contest(NamedTuple):
    """The exact method's accuracy on a data set, and the paper's best of its three hyperbolic methods."""

    dataset: str
    ours: BestAccuracy
    theirs: PaperCell

    @property
    def is_reached(self) -> bool:
        """At least as good, within a standard deviation: the larger of both."""
        return self.ours.stat.mean >= self.theirs.mean - max(self.ours.stat.std, self.theirs.std or 0.0)


def contests(summary: Summary) -> list[Contest]:
    """One contest for each data set for which both have results."""
    names = summary.table_datasets()
    both = [(name, best_score(summary, name, [REFERENCE]), paper.best_hyperbolic(name)) for name in names]
    return [Contest(name, ours, theirs) for name, ours, theirs in both if ours is not None and theirs is not None]


def contest_table(summary: Summary) -> Table:
    """The exact method beside the paper's best hyperbolic accuracy, which is known to its rounding only."""
    rows = []
    for contest in contests(summary):
        name, ours, theirs = contest
        difference = ours.stat.mean - theirs.mean
        row = [name, Entry(stat_text(ours.stat, METRIC), ours.stat.mean), scheme_text(ours.scheme, name, ours.C)]
        row += [Entry(paper_text(theirs), theirs.mean), f"{theirs.method}, {scheme_text(theirs.scheme, name)}"]
        row.append(number(100 * difference if abs(difference) > theirs.rounding else 0.0, "+.2f"))
        rows.append([*row, Entry("yes" if contest.is_reached else "no", is_hole=not contest.is_reached)])
    return TEXTS.table("exact-against-paper", rows)


def comparisons(summary: Summary, method: str, *, aggregated: bool) -> Iterator[tuple[Stat, PaperCell]]:
    """Accuracies of a column over all folds beside the paper's: of its aggregated tables, or of all others."""
    present = summary.datasets() - set(NOT_COMPARABLE)
    for cell in paper.paper_cells():
        comparable = cell.metric == METRIC and cell.dataset in present
        if comparable and cell.method == METHODS[method].paper_column and (cell.C == BEST) == aggregated:
            ours = summary.stat(cell.dataset, cell.scheme, cell.C, method, METRIC)
            if ours is not None and ours.n_folds == data.N_FOLDS:
                yield ours, cell


def _comparison_text(ours: Stat, theirs: PaperCell) -> str:
    where = scheme_text(theirs.scheme, theirs.dataset, None if theirs.C == BEST else theirs.C)
    return f"{theirs.dataset}, {where}: {100 * ours.mean:.1f} against {paper_text(theirs)}"


def agreement_table(summary: Summary) -> Table:
    """One row for each column of the paper's methods: how many of its accuracies are the paper's, and which are not."""
    rows = []
    for method in (name for name in summary.methods() if METHODS[name].paper_column):
        single, best = (list(comparisons(summary, method, aggregated=kind)) for kind in (False, True))
        if not single and not best:
            continue
        claimed = SAME_DEFINITION.get(method)
        beyond = [_comparison_text(*pair) for pair in (*single, *best) if claimed and paper.apart(*pair) > claimed]
        row: list[Any] = [label(method), f"within {claimed:g}" if claimed else "another definition"]
        for found in (single, best):
            counts = [sum(paper.apart(*pair) <= k for pair in found) for k in (1.0, 2.0)]
            row += [Entry(f"{count} of {len(found)}", count / len(found)) if found else "–" for count in counts]
        rows.append([*row, Entry("; ".join(beyond) or ("none" if claimed else "–"), is_hole=bool(beyond))])
    return TEXTS.table("agreement", rows, left_out=", ".join(NOT_COMPARABLE))


PLAIN_SVM = "svm-lorentz"
VERDICTS = ("wins by more than a standard deviation", "is ahead by less than that", "is level", "is behind")
#: Accuracies that differ by less, half a unit of the last digit shown, are level.
LEVEL = 5e-4


def plain_svm_paragraph(summary: Summary) -> str:
    """Where a linear SVM with an intercept on the Lorentz coordinates is more accurate than every margin method."""
    hyperbolic = [name for name in summary.methods() if METHODS[name].is_margin and name != "euclidean"]
    clear, narrow, level, behind = VERDICTS
    found: dict[str, list[str]] = {verdict: [] for verdict in VERDICTS}
    absent = []
    for dataset in summary.table_datasets():
        plain, ours = best_score(summary, dataset, [PLAIN_SVM]), best_score(summary, dataset, hyperbolic)
        if plain is None or ours is None:
            absent.append(dataset)
            continue
        difference, text = plain.stat.mean - ours.stat.mean, f"{dataset} ({plain.number} : {ours.number})"
        ahead = clear if difference > max(plain.stat.std, ours.stat.std) else narrow
        is_level = abs(difference) < LEVEL
        found[level if is_level else behind if difference < 0.0 else ahead].append(dataset if is_level else text)
    parts = [f"{verdict} on {_listed(names)}" for verdict, names in found.items() if names]
    missing = f" One of the two is missing for {_listed(absent)}." if absent else ""
    return TEXTS["plain-svm" if parts else "no-plain-svm"].format(verdicts="; it ".join(parts), missing=missing)


def run_notice(summary: Summary, is_quick: bool) -> str:
    """What a reader must know before any number: that the run was a quick one, or is not complete. Empty if it is."""
    states = Counter(str(record["state"]) for _, record in summary.holes)
    not_run, total = states.pop(NOT_RUN, 0), summary.n_cells + len(summary.holes)
    reasons = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    parts = [TEXTS["quick"]] * is_quick
    parts += [TEXTS["unfinished"].format(count=not_run, total=total)] * bool(not_run)
    parts += [TEXTS["no-result"].format(count=states.total(), total=total, reasons=reasons)] * bool(states)
    return " ".join(parts)


def other_findings(summary: Summary) -> list[str]:
    """Further sentences for the head of the report."""
    said = []
    if found := contests(summary):
        beaten = [contest for contest in found if not contest.is_reached]
        texts = [f"{name} ({ours.number} % against {100 * theirs.mean:.1f} %)" for name, ours, theirs in beaten]
        where = f"{len(found) - len(texts)} of {len(found)} data sets; not on {_listed(texts)}" if texts else ""
        said.append(TEXTS["reached"].format(where=where or f"all {len(found)} data sets compared"))
    if proved := [f"{row[2].text} of {row[1].text} ({row[0].text})" for row in certified_table(summary).rows]:
        said.append(f"Binary problems proved optimal to 1e-6 by the independent checker: {'; '.join(proved)}.")
    agreeing = []
    for method, claimed in SAME_DEFINITION.items():
        pairs = list(comparisons(summary, method, aggregated=False)) if method in summary.methods() else []
        if pairs:
            count = sum(paper.apart(*pair) <= claimed for pair in pairs)
            deviations = "a standard deviation" if claimed == 1.0 else f"{claimed:g} standard deviations"
            agreeing.append(f"{label(method)} {count} of {len(pairs)} within {deviations}")
    if agreeing:
        said.append(TEXTS["agreeing"].format(columns="; ".join(agreeing)))
    common = summary.comparison()
    if common.n_problems:
        parts = [f"{label(name)} {100 * float((gaps <= CLOSE).mean()):.0f} %" for name, gaps in common.gaps.items()]
        said.append(TEXTS["solved"].format(n=common.n_problems, shares="; ".join(parts)))
    karate = best_score(summary, "karate", [REFERENCE]) if "karate" in summary.datasets() else None
    if karate is not None:
        said.append(TEXTS["karate"].format(accuracy=karate.number))
    return said


#: What makes the tables besides those of performance.
MADE: tuple[Callable[[Summary], Table], ...] = (contest_table, agreement_table, methods_table, suboptimality_summary)
MADE += (fewer_problems_table, certified_table, suboptimality_table, runtime_table, everything_table, holes_table)


def make_report(summary: Summary, folder: Path, facts: Mapping[str, str], *, is_quick: bool = False) -> Report:
    """The report with its pictures in `folder`; a quick or unfinished run says so before anything else."""
    report = Report(TEXTS["title"], TEXTS["sections"], facts, TEXTS["hint"], run_notice(summary, is_quick))
    draw_figures(report, TEXTS, summary, folder / "figures")
    for experiment in experiments():
        report.add(f"tables {experiment.slug}", experiment_tables, summary, experiment)
    compared_tables = list(report.tables)
    for make in MADE:
        report.add(make.__name__.replace("_", " "), make, summary)
    report.add("differences table", differences_table, compared_tables)
    report.paragraph = report.made("the first paragraph", plain_svm_paragraph, summary) or ""
    report.findings = report.made("the findings", other_findings, summary) or []
    return report


def write_report(report: Report, folder: Path) -> Path:
    """Write report.html, report.md, tables/*.csv and environment.json. Returns the page."""
    (folder / "tables").mkdir(exist_ok=True)
    for table in (*report.tables, *[report.failed] * bool(report.failures)):
        (folder / "tables" / f"{table.slug}.csv").write_text(to_csv(table), encoding="utf-8")
    (folder / "environment.json").write_text(json.dumps(dict(report.facts), indent=1) + "\n", encoding="utf-8")
    return report.write(folder, "report")


def write_results_page(report: Report, path: Path) -> Path:
    """Two pages: `path` with the findings, and beside it the tables and the run they come from, whose path is returned.

    The second page is called after the first: ``results-tables.md`` for ``results.md``.
    """
    tables_path = path.with_name(f"{path.stem}-tables{path.suffix}")
    tables = {table.slug: to_markdown(table, level=2) for table in report.tables}
    findings = [TEXTS["findings-head"].format(tables=tables_path.name), f"{report.paragraph}\n"]
    findings += [*(f"* {text}" for text in report.findings), "", tables.get("exact-against-paper", "")]
    shown = [TEXTS["tables-head"].format(findings=path.name)]
    shown += [*(f"* {key}: {value}" for key, value in report.facts.items()), ""]
    shown += [tables[slug] for slug in TEXTS["shown"] if slug in tables]
    text = "\n".join(findings)
    # What `hypermargin accuracy` has written at the head of the page stays there.
    kept = marked(path.read_text(encoding="utf-8"), "accuracy") if path.exists() else ""
    path.write_text(text.replace("\n", f"\n\n{kept}\n", 1) if kept else text, encoding="utf-8")
    tables_path.write_text("\n".join(shown), encoding="utf-8")
    return tables_path
