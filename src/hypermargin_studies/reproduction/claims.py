"""Whether the run supports what is claimed, in tables and in sentences that are computed from the same results."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from hypermargin_studies import datasets as data
from hypermargin_studies.engine.cells import NOT_RUN
from hypermargin_studies.engine.report import Entry, Table
from hypermargin_studies.reproduction.cells import SYNTHETIC_C
from hypermargin_studies.reproduction.methods import METHODS, REFERENCE
from hypermargin_studies.reproduction.paper import BEST, PaperCell, Stat, apart, best_hyperbolic, paper_cells
from hypermargin_studies.reproduction.summary import CLOSE, Summary, compare_on_common_problems
from hypermargin_studies.reproduction.tables import (
    SCHEME_NAMES,
    certified_table,
    judged_methods,
    label,
    paper_text,
    stat_text,
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
    for method in methods:
        for scheme in SCHEME_NAMES:
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
    found = []
    for dataset in datasets_of(summary):
        theirs, ours = best_hyperbolic(dataset), best_score(summary, dataset, [REFERENCE])
        if theirs is not None and ours is not None:
            found.append(Contest(dataset, ours, theirs))
    return found


def contest_table(summary: Summary) -> Table:
    """The exact method beside the paper's best hyperbolic accuracy."""
    rows = [
        [
            Entry(c.dataset, c.dataset),
            Entry(stat_text(c.ours.stat, METRIC), c.ours.stat.mean),
            Entry(_where(c.dataset, c.ours.scheme, c.ours.C)),
            Entry(paper_text(c.theirs), c.theirs.mean),
            Entry(f"{c.theirs.method}, {_where(c.dataset, c.theirs.scheme, None)}"),
            Entry(f"{100 * c.difference:+.2f}", c.difference),
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
        row = [Entry(label(method)), Entry(f"within {claimed:g}" if claimed else "another definition")]
        for found in (single, best):
            row += [_share(sum(c.within(k) for c in found), len(found)) for k in (1.0, 2.0)]
        rows.append([*row, Entry("; ".join(beyond) or ("none" if claimed else "–"), is_hole=bool(beyond))])
    columns = ["column", "claim", "by C: within one", "by C: within two", "aggregated: within one"]
    columns += ["aggregated: within two", "beyond the claim"]
    caption = (
        "How many of our test accuracies (means over all folds) are within one and within two standard deviations, the "
        "larger of both, of the paper's: in its tables for a given C (synthetic data included), and in its aggregated "
        f"ones. Left out: {', '.join(NOT_COMPARABLE)}, where labels or draws are not the paper's."
    )
    return Table("agreement", "The paper's accuracies, column by column", columns, rows, caption, SECTION, n_text=2)


def _share(count: int, total: int) -> Entry:
    return Entry(f"{count} of {total}", count / total) if total else Entry("–")


def _where(dataset: str, scheme: str, C: float | str | None) -> str:
    name = "two classes" if len(data.class_sizes(dataset)) == 2 else SCHEME_NAMES[scheme]
    return name if C is None else f"{name}, C = {C:g}"


# -- sentences: the text cannot contradict the tables ------------------------------------------------------------------

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
    said = (_against_paper(summary), _certified(summary), _agreement(summary), _worth(summary), _karate(summary))
    return [text for text in said if text]


def _against_paper(summary: Summary) -> str:
    found = contests(summary)
    behind = [contest.text for contest in found if not contest.is_reached]
    if not found:
        return ""
    where = f"all {len(found)} data sets compared"
    if behind:
        where = f"{len(found) - len(behind)} of {len(found)} data sets; not on {_listed(behind)}"
    return (
        "The exact method, in the better of the two schemes, reaches the paper's best hyperbolic accuracy within a "
        f"standard deviation on {where}."
    )


def _certified(summary: Summary) -> str:
    parts = [f"{row[2].text} of {row[1].text} ({row[0].text})" for row in certified_table(summary).rows]
    return f"Binary problems proved optimal to 1e-6 by the independent checker: {'; '.join(parts)}." if parts else ""


def _agreement(summary: Summary) -> str:
    parts = []
    for method, claimed in SAME_DEFINITION.items():
        found = list(comparisons(summary, method, aggregated=False)) if method in summary.methods() else []
        if found:
            count = sum(comparison.within(claimed) for comparison in found)
            deviations = "a standard deviation" if claimed == 1.0 else f"{claimed:g} standard deviations"
            parts.append(f"{label(method)} {count} of {len(found)} within {deviations}")
    start = f"Columns defined as the paper's, against its accuracies for each C: {'; '.join(parts)}."
    return f"{start} The table of claims lists the others." if parts else ""


def _worth(summary: Summary) -> str:
    found = compare_on_common_problems(summary, judged_methods(summary))
    parts = [f"{label(name)} {100 * float((gaps <= CLOSE).mean()):.0f} %" for name, gaps in found.gaps.items()]
    start = f"Solved to within 1e-3 of the certified global optimum, of the {found.n_problems} binary problems"
    return f"{start} that all of these methods finished: {'; '.join(parts)}." if found.n_problems else ""


def _karate(summary: Summary) -> str:
    ours = best_score(summary, "karate", [REFERENCE]) if "karate" in summary.datasets() else None
    if ours is None:
        return ""
    return (
        "Karate is at chance (50 %) in the paper because its uint8 labels wrap round in 2y − 1; with the labels read "
        f"as they are meant the exact method has {ours.number} %."
    )


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
