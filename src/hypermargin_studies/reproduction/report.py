"""The report of a run: whether it supports what is claimed, pages, tables as CSV and figures, and two pages of docs.

Tables and sentences of the claims are computed from the same results, so that the text cannot contradict the tables.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from hypermargin_studies import datasets as data
from hypermargin_studies.engine.cells import NOT_RUN
from hypermargin_studies.engine.report import Entry, Report, Table, marked, number, to_csv, to_markdown
from hypermargin_studies.reproduction.cells import SYNTHETIC_C
from hypermargin_studies.reproduction.figures import draw_figures
from hypermargin_studies.reproduction.methods import METHODS, REFERENCE
from hypermargin_studies.reproduction.paper import BEST, PaperCell, Stat, apart, best_hyperbolic, paper_cells
from hypermargin_studies.reproduction.summary import CLOSE, Summary, compare_on_common_problems
from hypermargin_studies.reproduction.tables import (
    SCHEME_NAMES,
    certified_table,
    differences_table,
    everything_table,
    experiment_tables,
    experiments,
    fewer_problems_table,
    holes_table,
    judged_methods,
    label,
    methods_table,
    paper_text,
    runtime_table,
    scheme_text,
    stat_text,
    suboptimality_summary,
    suboptimality_table,
)

SECTION = "The claims"
METRIC = "test_accuracy"
#: Columns that are defined as the paper's, and how many standard deviations their accuracies may differ from it.
SAME_DEFINITION = {"pgd-published": 2.0, "sdp-published": 1.0, "moment-published": 1.0, "moment-lp": 1.0}
#: Data on which the paper's number is no measure of ours: its labels wrap round, or its draws are not known.
NOT_COMPARABLE = ("karate", "gaussian_2", "gaussian_3")


@dataclass(frozen=True)
class BestAccuracy:
    """A method's test accuracy in the better of both schemes, at its best C."""

    scheme: str
    C: float | None
    stat: Stat

    @property
    def number(self) -> str:
        return f"{100 * self.stat.mean:.1f}"


def best_score(summary: Summary, dataset: str, methods: list[str]) -> BestAccuracy | None:
    """The highest mean test accuracy over all folds among methods and schemes."""
    scores = []
    for method, scheme in product(methods, SCHEME_NAMES):
        C = SYNTHETIC_C if dataset in data.SYNTHETIC else summary.best_C(dataset, scheme, method)
        stat = summary.stat(dataset, scheme, C, method, METRIC)
        if stat is not None and stat.n_folds == data.N_FOLDS:
            scores.append(BestAccuracy(scheme, C, stat))
    return max(scores, key=lambda score: score.stat.mean, default=None)


def datasets_of(summary: Summary) -> list[str]:
    """The data sets of the tables that the run has."""
    return [name for name in (*data.SYNTHETIC, *data.REAL) if name in summary.datasets()]


# -- the exact method against the paper's best -------------------------------------------------------------------------


@dataclass(frozen=True)
class Contest:
    """The exact method's accuracy on a data set, and the paper's best of its three hyperbolic methods."""

    dataset: str
    ours: BestAccuracy
    theirs: PaperCell

    @property
    def is_reached(self) -> bool:
        """At least as good, within a standard deviation: the larger of both."""
        return self.ours.stat.mean >= self.theirs.mean - max(self.ours.stat.std, self.theirs.std or 0.0)

    @property
    def difference(self) -> float:
        """Ours less the paper's, which is known to its rounding only."""
        difference = self.ours.stat.mean - self.theirs.mean
        return 0.0 if abs(difference) <= self.theirs.rounding else difference

    @property
    def text(self) -> str:
        return f"{self.dataset} ({self.ours.number} % against {100 * self.theirs.mean:.1f} %)"


def contests(summary: Summary) -> list[Contest]:
    """One contest for each data set for which both have results."""
    both = [(name, best_score(summary, name, [REFERENCE]), best_hyperbolic(name)) for name in datasets_of(summary)]
    return [Contest(name, ours, theirs) for name, ours, theirs in both if ours is not None and theirs is not None]


def contest_table(summary: Summary) -> Table:
    """The exact method beside the paper's best hyperbolic accuracy."""
    rows = [
        [
            c.dataset,
            Entry(stat_text(c.ours.stat, METRIC), c.ours.stat.mean),
            _where(c.dataset, c.ours.scheme, c.ours.C),
            Entry(paper_text(c.theirs), c.theirs.mean),
            f"{c.theirs.method}, {_where(c.dataset, c.theirs.scheme, None)}",
            number(100 * c.difference, "+.2f"),
            Entry("yes" if c.is_reached else "no", is_hole=not c.is_reached),
        ]
        for c in contests(summary)
    ]
    columns = ["data", "Exact", "where", "paper's best", "its method", "difference", "within a deviation"]
    caption = (
        "In per cent, in the better of both schemes. C is the one with the best test F1 score, as in the paper's "
        "aggregated tables: chosen on the test folds, and so optimistic on both sides. Karate is at chance in the "
        "paper because of its labels."
    )
    title = "The exact method and the paper's best hyperbolic one: test accuracy"
    return Table("exact-against-paper", title, columns, rows, caption, SECTION)


# -- the paper's columns again -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """A number of the paper and ours in its place."""

    theirs: PaperCell
    ours: Stat

    def within(self, deviations: float) -> bool:
        return apart(self.ours, self.theirs) <= deviations

    @property
    def text(self) -> str:
        where = _where(self.theirs.dataset, self.theirs.scheme, None if self.theirs.C == BEST else self.theirs.C)
        return f"{self.theirs.dataset}, {where}: {100 * self.ours.mean:.1f} against {paper_text(self.theirs)}"


def comparisons(summary: Summary, method: str, *, aggregated: bool) -> Iterator[Comparison]:
    """Accuracies of a column over all folds beside the paper's: of its aggregated tables, or of all others."""
    present = summary.datasets() - set(NOT_COMPARABLE)
    for cell in paper_cells():
        comparable = cell.metric == METRIC and cell.dataset in present
        if comparable and cell.method == METHODS[method].paper_column and (cell.C == BEST) == aggregated:
            ours = summary.stat(cell.dataset, cell.scheme, cell.C, method, METRIC)
            if ours is not None and ours.n_folds == data.N_FOLDS:
                yield Comparison(cell, ours)


def agreement_table(summary: Summary) -> Table:
    """One row for each column of the paper's methods: how many of its accuracies are the paper's, and which are not."""
    rows = []
    for method in (name for name in summary.methods() if METHODS[name].paper_column):
        single, best = (list(comparisons(summary, method, aggregated=kind)) for kind in (False, True))
        if not single and not best:
            continue
        claimed = SAME_DEFINITION.get(method)
        beyond = [c.text for c in (*single, *best) if claimed and not c.within(claimed)]
        row: list[Any] = [label(method), f"within {claimed:g}" if claimed else "another definition"]
        for found in (single, best):
            counts = [sum(c.within(k) for c in found) for k in (1.0, 2.0)]
            row += [Entry(f"{count} of {len(found)}", count / len(found)) if found else "–" for count in counts]
        rows.append([*row, Entry("; ".join(beyond) or ("none" if claimed else "–"), is_hole=bool(beyond))])
    within = [f"{kind}: within {count}" for kind in ("by C", "aggregated") for count in ("one", "two")]
    columns = ["column", "claim", *within, "beyond the claim"]
    caption = (
        "How many of our test accuracies (means over all folds) are within one and within two standard deviations, the "
        "larger of both, of the paper's: in its tables for a given C (synthetic data included), and in its aggregated "
        f"ones. Left out: {', '.join(NOT_COMPARABLE)}, where labels or draws are not the paper's."
    )
    return Table("agreement", "The paper's accuracies, column by column", columns, rows, caption, SECTION, n_text=2)


def _where(dataset: str, scheme: str, C: float | str | None) -> str:
    name = scheme_text(scheme, dataset)
    return name if C is None else f"{name}, C = {C:g}"


# -- sentences ---------------------------------------------------------------------------------------------------------

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
    for dataset in datasets_of(summary):
        plain, ours = best_score(summary, dataset, [PLAIN_SVM]), best_score(summary, dataset, hyperbolic)
        if plain is None or ours is None:
            absent.append(dataset)
            continue
        difference = plain.stat.mean - ours.stat.mean
        if abs(difference) < LEVEL:
            found[level].append(dataset)
            continue
        ahead = clear if difference > max(plain.stat.std, ours.stat.std) else narrow
        found[behind if difference < 0.0 else ahead].append(f"{dataset} ({plain.number} : {ours.number})")
    parts = [f"{verdict} on {_listed(names)}" for verdict, names in found.items() if names]
    if not parts:
        return "The plain linear SVM on the Lorentz coordinates has no results on all folds here: no verdict on it."
    missing = f" One of the two is missing for {_listed(absent)}." if absent else ""
    return (
        "A plain linear SVM with an intercept on the raw Lorentz coordinates, which knows no hyperbolic geometry and "
        "comes with scikit-learn, has to be beaten first. Against the best hyperbolic method of this run it "
        f"{'; it '.join(parts)}. (Its test accuracy : theirs, in per cent; best C, better scheme, means over folds.)"
        f"{missing} It depends on where the origin happens to lie, and certifies nothing about the hyperbolic margin."
    )


def run_notice(summary: Summary, is_quick: bool) -> str:
    """What a reader must know before any number: that the run was a quick one, or is not complete. Empty if it is."""
    parts = []
    if is_quick:
        parts.append(
            "A quick run: small data sets only, one value of C, and fewer folds of the slow methods. Its numbers are a "
            "first look, not the paper's experiment."
        )
    states = Counter(str(record["state"]) for _, record in summary.holes)
    not_run = states.pop(NOT_RUN, 0)
    total = summary.n_cells + len(summary.holes)
    if not_run:
        parts.append(f"Unfinished: {not_run} of {total} cells have not been run yet.")
    if states:
        reasons = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        parts.append(
            f"{sum(states.values())} of {total} cells have no result ({reasons}); the section on holes says why."
        )
    return " ".join(parts)


def other_findings(summary: Summary) -> list[str]:
    """Further sentences for the head of the report."""
    said = []
    if found := contests(summary):
        behind = [contest.text for contest in found if not contest.is_reached]
        where = f"{len(found) - len(behind)} of {len(found)} data sets; not on {_listed(behind)}" if behind else ""
        said.append(
            "The exact method, in the better of the two schemes, reaches the paper's best hyperbolic accuracy within a "
            f"standard deviation on {where or f'all {len(found)} data sets compared'}."
        )
    if proved := [f"{row[2].text} of {row[1].text} ({row[0].text})" for row in certified_table(summary).rows]:
        said.append(f"Binary problems proved optimal to 1e-6 by the independent checker: {'; '.join(proved)}.")
    agreeing = []
    for method, claimed in SAME_DEFINITION.items():
        pairs = list(comparisons(summary, method, aggregated=False)) if method in summary.methods() else []
        if pairs:
            count = sum(pair.within(claimed) for pair in pairs)
            deviations = "a standard deviation" if claimed == 1.0 else f"{claimed:g} standard deviations"
            agreeing.append(f"{label(method)} {count} of {len(pairs)} within {deviations}")
    if agreeing:
        said.append(
            f"Columns defined as the paper's, against its accuracies for each C: {'; '.join(agreeing)}. The table of "
            "claims lists the others."
        )
    common = compare_on_common_problems(summary, judged_methods(summary))
    if common.n_problems:
        parts = [f"{label(name)} {100 * float((gaps <= CLOSE).mean()):.0f} %" for name, gaps in common.gaps.items()]
        said.append(
            f"Solved to within 1e-3 of the certified global optimum, of the {common.n_problems} binary problems that "
            f"all of these methods finished: {'; '.join(parts)}."
        )
    karate = best_score(summary, "karate", [REFERENCE]) if "karate" in summary.datasets() else None
    if karate is not None:
        said.append(
            "Karate is at chance (50 %) in the paper because its uint8 labels wrap round in 2y − 1; with the labels "
            f"read as they are meant the exact method has {karate.number} %."
        )
    return said


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


# -- the report --------------------------------------------------------------------------------------------------------

TITLE = "Hyperbolic support vector machines: the paper's evidence, and what is true behind it"
HINT = (
    "Click a heading to sort. ▲ marks numbers more than a standard deviation from the paper's; the text behind the "
    "mark stands below the table. Green: the best of ours in its row."
)
#: Sections in the order of the page, and whether their tables are folded away at first.
SECTIONS = (
    ("The claims", False),
    ("Methods", False),
    ("The data", False),
    ("Synthetic data", False),
    ("Real data, one-vs-rest", False),
    ("Real data, one-vs-one", False),
    ("What the relaxations are worth", False),
    ("Runtimes", False),
    ("Gaussian grid", False),
    ("Real data, one-vs-rest, by C", True),
    ("Real data, one-vs-one, by C", True),
    ("Differences from the paper", True),
    ("Everything", True),
    ("Holes", True),
)
#: What makes the tables besides those of performance.
MADE: tuple[Callable[[Summary], Table], ...] = (
    contest_table,
    agreement_table,
    methods_table,
    suboptimality_summary,
    fewer_problems_table,
    certified_table,
    suboptimality_table,
    runtime_table,
    everything_table,
    holes_table,
)
#: Tables that the second page of the documentation shows besides; the report has the others.
SHOWN: tuple[str, ...] = (
    "agreement",
    *("synthetic-accuracy", "synthetic-gaps"),
    *(f"real-{scheme}-best-accuracy" for scheme in ("ovr", "ovo")),
    *("suboptimality-summary", "suboptimality-fewer", "certified", "runtime", "methods", "holes"),
)


def make_report(summary: Summary, folder: Path, facts: Mapping[str, str], *, is_quick: bool = False) -> Report:
    """The report with its pictures in `folder`; a quick or unfinished run says so before anything else."""
    report = Report(TITLE, SECTIONS, facts, HINT, run_notice(summary, is_quick))
    draw_figures(report, summary, folder / "figures")
    for experiment in experiments():
        report.add(f"tables {experiment.slug}", experiment_tables, summary, experiment)
    compared = list(report.tables)
    for make in MADE:
        report.add(make.__name__.replace("_", " "), make, summary)
    report.add("differences table", differences_table, compared)
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


# -- pages of the documentation ----------------------------------------------------------------------------------------


def write_results_page(report: Report, path: Path) -> Path:
    """Two pages: `path` with the findings, and beside it the tables and the run they come from, whose path is returned.

    The second page is called after the first: ``results-tables.md`` for ``results.md``.
    """
    tables_path = path.with_name(f"{path.stem}-tables{path.suffix}")
    made_by = "Generated by `hypermargin reproduce --results-page`; not edited by hand."
    tables = {table.slug: to_markdown(table, level=2) for table in report.tables}
    findings = [
        "# Results\n",
        f"{made_by} [All tables]({tables_path.name}) has the numbers behind these findings and the run they come from; "
        "[reproduction](reproduction.md) says how to run it again.\n",
        f"{report.paragraph}\n",
        *(f"* {text}" for text in report.findings),
        "",
        tables.get("exact-against-paper", ""),
    ]
    shown = [
        "# Results: all tables\n",
        f"{made_by} [Results]({path.name}) says what the tables show. The whole report of the command has figures and "
        "every other table of the paper.\n",
        "## The run\n",
        *(f"* {key}: {value}" for key, value in report.facts.items()),
        "",
        *(tables[slug] for slug in SHOWN if slug in tables),
    ]
    text = "\n".join(findings)
    # What `hypermargin accuracy` has written at the head of the page stays there.
    kept = marked(path.read_text(encoding="utf-8"), "accuracy") if path.exists() else ""
    path.write_text(text.replace("\n", f"\n\n{kept}\n", 1) if kept else text, encoding="utf-8")
    tables_path.write_text("\n".join(shown), encoding="utf-8")
    return tables_path
