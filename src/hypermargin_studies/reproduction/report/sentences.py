"""What the numbers say, in sentences: computed from the results, so that the text cannot contradict the tables."""

from collections import Counter

from hypermargin.datasets import by_name as data
from hypermargin_studies.reproduction.cache import NOT_RUN
from hypermargin_studies.reproduction.methods import METHODS, REFERENCE
from hypermargin_studies.reproduction.report.claims import SAME_DEFINITION, best_score, comparisons, contests
from hypermargin_studies.reproduction.report.common_problems import compare_on_common_problems
from hypermargin_studies.reproduction.report.gap_tables import certified_table, judged_methods
from hypermargin_studies.reproduction.summary import CLOSE, Summary

PLAIN_SVM = "svm-lorentz"


def plain_svm_paragraph(summary: Summary) -> str:
    """Where a linear SVM with an intercept on the Lorentz coordinates is more accurate than every margin method."""
    hyperbolic = [name for name in summary.methods() if METHODS[name].is_margin and name != "euclidean"]
    clear: list[str] = []
    narrow: list[str] = []
    ties, losses, absent = [], [], []
    for dataset in (name for name in (*data.SYNTHETIC, *data.REAL) if name in summary.datasets()):
        plain, ours = best_score(summary, dataset, [PLAIN_SVM]), best_score(summary, dataset, hyperbolic)
        if plain is None or ours is None:
            absent.append(dataset)
            continue
        difference = plain.stat.mean - ours.stat.mean
        if abs(difference) < 5e-4:
            ties.append(dataset)
        elif difference < 0.0:
            losses.append(f"{dataset} ({plain.number} : {ours.number})")
        else:
            big = difference > max(plain.stat.std, ours.stat.std)
            (clear if big else narrow).append(f"{dataset} ({plain.number} : {ours.number})")
    if not (clear or narrow or ties or losses):
        return "The plain linear SVM on the Lorentz coordinates has no results on all folds here: no verdict on it."
    parts = [
        f"{verb} on {_listed(found)}"
        for verb, found in (
            ("wins by more than a standard deviation", clear),
            ("is ahead by less than that", narrow),
            ("is level", ties),
            ("is behind", losses),
        )
        if found
    ]
    missing = f" One of the two is missing for {_listed(absent)}." if absent else ""
    return (
        "A plain linear SVM with an intercept on the raw Lorentz coordinates, which knows no hyperbolic geometry and "
        "comes with scikit-learn, has to be beaten first. Against the best hyperbolic method of this run it "
        + "; it ".join(parts)
        + f". (Its test accuracy : theirs, in per cent; best C, better scheme, means over folds.){missing} It depends "
        "on where the origin happens to lie, and certifies nothing about the hyperbolic margin."
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
    return [
        text
        for text in (
            _against_paper(summary),
            _certified(summary),
            _agreement(summary),
            _worth(summary),
            _karate(summary),
        )
        if text
    ]


def _against_paper(summary: Summary) -> str:
    found = contests(summary)
    behind = [contest.text for contest in found if not contest.is_reached]
    if not found:
        return ""
    start = "The exact method, in the better of the two schemes, reaches the paper's best hyperbolic accuracy within a "
    if behind:
        return (
            start
            + f"standard deviation on {len(found) - len(behind)} of {len(found)} data sets; not on {_listed(behind)}."
        )
    return start + f"standard deviation on all {len(found)} data sets compared."


def _certified(summary: Summary) -> str:
    parts = [f"{row[2].text} of {row[1].text} ({row[0].text})" for row in certified_table(summary).rows]
    if not parts:
        return ""
    return f"Binary problems proved optimal to 1e-6 by the independent checker: {'; '.join(parts)}."


def _agreement(summary: Summary) -> str:
    parts = []
    for method, claimed in SAME_DEFINITION.items():
        found = list(comparisons(summary, method, aggregated=False)) if method in summary.methods() else []
        if found:
            count = sum(comparison.within(claimed) for comparison in found)
            deviations = "a standard deviation" if claimed == 1.0 else f"{claimed:g} standard deviations"
            parts.append(f"{METHODS[method].label} {count} of {len(found)} within {deviations}")
    if not parts:
        return ""
    return (
        "Columns defined as the paper's, against its accuracies for each C: "
        + "; ".join(parts)
        + ". The table of claims lists the others."
    )


def _worth(summary: Summary) -> str:
    found = compare_on_common_problems(summary, [method.name for method in judged_methods(summary)])
    if not found.n_problems:
        return ""
    parts = [f"{METHODS[name].label} {100 * float((gaps <= CLOSE).mean()):.0f} %" for name, gaps in found.gaps.items()]
    start = "Solved to within 1e-3 of the certified global optimum, of the "
    return f"{start}{found.n_problems} binary problems that all of these methods finished: {'; '.join(parts)}."


def _karate(summary: Summary) -> str:
    ours = best_score(summary, "karate", [REFERENCE]) if "karate" in summary.datasets() else None
    if ours is None:
        return ""
    return (
        "Karate is at chance (50 %) in the paper because its uint8 labels wrap round in 2y − 1; with the labels read "
        f"as they are meant the exact method has {ours.text}."
    )


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
