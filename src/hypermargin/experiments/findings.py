"""What the numbers say, in sentences: computed from the results, so that the text cannot contradict the tables."""

from dataclasses import dataclass

from hypermargin.experiments import data
from hypermargin.experiments.methods import METHODS, REFERENCE
from hypermargin.experiments.paper import BEST, best_hyperbolic
from hypermargin.experiments.plan import SYNTHETIC_C
from hypermargin.experiments.summary import Stat, Summary
from hypermargin.experiments.truth_tables import all_gaps, judged_methods

PLAIN_SVM = "svm-lorentz"


@dataclass(frozen=True)
class Score:
    """A method's test accuracy in the better of both schemes, at its best C."""

    method: str
    scheme: str
    stat: Stat

    @property
    def text(self) -> str:
        return f"{self.number} %"

    @property
    def number(self) -> str:
        return f"{100 * self.stat.mean:.1f}"


def best_score(summary: Summary, dataset: str, methods: list[str]) -> Score | None:
    """The highest mean test accuracy over all folds among methods and schemes."""
    C = SYNTHETIC_C if dataset in data.SYNTHETIC else BEST
    scores = []
    for method in methods:
        for scheme in ("ovr", "ovo"):
            stat = summary.stat(dataset, scheme, C, method, "test_accuracy")
            if stat is not None and stat.n_folds == data.N_FOLDS:
                scores.append(Score(method, scheme, stat))
    return max(scores, key=lambda score: score.stat.mean, default=None)


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
        "fits in milliseconds, has to be beaten first. Against the best hyperbolic method of this run it "
        + "; it ".join(parts)
        + f". (Its test accuracy : theirs, in per cent; best C, better scheme, means over folds.){missing} It depends "
        "on where the origin happens to lie, and certifies nothing about the hyperbolic margin."
    )


def other_findings(summary: Summary) -> list[str]:
    """Further sentences for the head of the report."""
    return [text for text in (_against_paper(summary), _worth(summary), _karate(summary)) if text]


def _against_paper(summary: Summary) -> str:
    behind, compared = [], 0
    for dataset in (*data.SYNTHETIC, *data.REAL):
        if dataset not in summary.datasets():
            continue
        theirs, ours = best_hyperbolic(dataset), best_score(summary, dataset, [REFERENCE, "exact-timelike"])
        if theirs is None or ours is None:
            continue
        compared += 1
        if ours.stat.mean < theirs.mean - max(ours.stat.std, theirs.std or 0.0):
            behind.append(f"{dataset} ({ours.text} against {100 * theirs.mean:.1f} %)")
    if not compared:
        return ""
    if behind:
        return (
            f"The exact method reaches the paper's best hyperbolic accuracy within a standard deviation on "
            f"{compared - len(behind)} of {compared} data sets with the values of C of this run; not on "
            f"{_listed(behind)}."
        )
    return (
        "The exact method, in the better of the two schemes, reaches the paper's best hyperbolic accuracy within a "
        f"standard deviation on all {compared} data sets compared."
    )


def _worth(summary: Summary) -> str:
    parts = []
    for method in judged_methods(summary):
        gaps = all_gaps(summary, method.name)
        if gaps.size:
            parts.append(f"{method.label} {100 * float((gaps <= 1e-3).mean()):.0f} % of {gaps.size}")
    if not parts:
        return ""
    return "Binary problems solved to within 1e-3 of the certified global optimum: " + "; ".join(parts) + "."


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
