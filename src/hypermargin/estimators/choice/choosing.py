"""Which candidate is chosen from the scores of all, and the sentence that says so.

The rule: of each family the best candidate stands, by the score that was asked for; the first one where several tie.
Their probabilities are sharpened or flattened (`sharpening`), and those whose log loss in the folds is not clearly
behind (`nearness`) are averaged. The blend is chosen unless the candidate with the best score answered every sample of
the folds right, or the folds can tell that the blend is worse than it, by two standard errors of the difference of
their scores. docs/benchmarks/choice.md compares it with other rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.estimators.choice.answers import Judge
from hypermargin.estimators.choice.blend import blended
from hypermargin.estimators.choice.families import Family, Parameters
from hypermargin.estimators.choice.nearness import log_losses, near_the_least
from hypermargin.estimators.choice.search import Folds, Tried
from hypermargin.estimators.choice.sharpening import best_exponent, sharpened
from hypermargin.estimators.choice.table import TIE, Row, is_near, mean_score, standard_error

BLEND = "blend"
#: Standard errors by which a blend may be behind the best candidate.
MOST_BEHIND = 2.0


@dataclass(frozen=True, eq=False)
class Choice:
    """The row of the table that was chosen, and the classifiers it stands for; `words` describes each row.

    `exponents` are those of the members, and `losses` the log loss of the choice in the folds, and that of its best
    part or, where it has one part only, of the candidate with the best score; None where the score decided alone.
    """

    rows: list[Row]
    index: int
    members: list[tuple[Family, Parameters]]
    words: list[str]
    exponents: Array = field(default_factory=lambda: np.ones(1))
    losses: tuple[float, float] | None = None

    @property
    def family(self) -> str:
        return self.rows[self.index].family

    @property
    def parameters(self) -> dict[str, Any]:
        return self.rows[self.index].parameters

    @property
    def score(self) -> float:
        return mean_score(self.rows[self.index].scores)

    def explanation(self, n_folds: int, scoring: Any, positive: str = "") -> str:
        """What was chosen and why, in one line; `positive` says which class the score is about."""
        chosen = f"chose {self.words[self.index]}"
        if n_folds == 0:
            return f"{chosen}: no class has the two samples that a comparison needs"
        metric = scoring if isinstance(scoring, str) else "accuracy" if scoring is None else "score"
        metric += f" ({positive})" if positive else ""
        known = self.rows[self.index].scores
        known = known[np.isfinite(known)]
        error = f" ± {standard_error(known):.3f}" if known.size > 1 else ""
        best: dict[str, float] = {}
        for row in self.rows:
            best[row.family] = max(best.get(row.family, -np.inf), mean_score(row.scores))
        order = sorted((name for name in best if name != BLEND), key=lambda name: -best[name])
        scores = ", ".join(f"{name} {best[name]:.3f}" for name in order if np.isfinite(best[name]))
        folds = f"{n_folds} folds" if n_folds > 1 else "one fold"
        return f"{chosen}: {metric} {self.score:.3f}{error} in {folds}, {self._why(best)} ({scores})"

    def _why(self, best: dict[str, float]) -> str:
        if self.losses is not None:
            losses = f"its log loss there is {self.losses[0]:.3f}, and {self.losses[1]:.3f} that of"
            if len(self.members) > 1:  # a mean of equals need not beat all of them
                return f"because the folds cannot tell its parts apart: {losses} the best of them"
            return f"because {losses} the one with the best score, which is hardly better"
        tried = sum(row.scores.size > 0 or not np.isnan(row.screening) for row in self.rows)
        tied = sum(mean_score(row.scores) >= self.score - TIE for row in self.rows)
        return f"the best of {tried} candidates" if tied == 1 else f"the simplest of {tied} with the best score"


def choose(tried: Sequence[Tried], folds: Folds, judge: Judge, with_blend: bool) -> Choice:
    """Choose by the rule above; without blends the best candidate, the simplest of those that tie."""
    rows = [Row(each.family.name, each.parameters, each.scores, each.screening, each.seconds) for each in tried]
    words = [f"{each.family.name} ({each.family.in_words(each.parameters)})" for each in tried]
    best = best_of_each_family(tried)
    blend = best_blend(best, [test for _, test in folds], judge) if with_blend and folds else None
    if blend is None or len(blend.members) == 1:
        chosen, losses = (best[0], None) if blend is None else (blend.members[0], blend.losses)
        return Choice(rows, tried.index(chosen), [(chosen.family, chosen.parameters)], words, losses=losses)
    described = [
        {"family": each.family.name, "exponent": round(exponent, 3), **each.parameters}
        for each, exponent in zip(blend.members, blend.exponents.tolist(), strict=True)
    ]
    rows.append(Row(BLEND, {"members": described}, blend.scores, np.nan, 0.0))
    parts = [words[tried.index(each)] for each in blend.members]
    words.append(f"a blend of {', '.join(parts[:-1])} and {parts[-1]}")
    members = [(each.family, each.parameters) for each in blend.members]
    return Choice(rows, len(rows) - 1, members, words, blend.exponents, blend.losses)


@dataclass(frozen=True, eq=False)
class Blend:
    """Candidates and exponents, the scores of their blend on the folds, and log losses as in `Choice`."""

    members: list[Tried]
    exponents: Array
    scores: Array
    losses: tuple[float, float]


def best_blend(best: Sequence[Tried], tests: Sequence[np.ndarray], judge: Judge) -> Blend | None:
    """The blend of the best of each family, the best one first; None where that one alone is the choice."""
    best = [each for each in best if each.answers]
    if len(best) < 2 or judge.knows_all(best[0].answers, tests):
        return None
    columns, weight = judge.columns(tests), judge.weight_of(tests)
    answers = [np.concatenate([own.probability for own in each.answers]) for each in best]
    exponents = np.array([best_exponent(own, columns, weight) for own in answers])
    rows = np.arange(columns.size)
    truth = np.stack([sharpened(own, t)[rows, columns] for own, t in zip(answers, exponents.tolist(), strict=True)])
    repeats = columns.size / np.unique(np.concatenate(tests)).size
    places = np.flatnonzero(near_the_least(truth, weight, repeats)).tolist()
    if places == [0]:
        return None
    members, exponents = [best[place] for place in places], exponents[places]
    scores = judge.scores(blended([each.answers for each in members], np.ones(len(members)), exponents), tests)
    if not is_near(scores, best[0].scores, MOST_BEHIND):
        return None
    others = truth[places] if len(places) > 1 else truth[:1]
    own_loss = np.average(log_losses(truth[places].mean(axis=0)), weights=weight)
    losses = float(own_loss), float(np.average(log_losses(others), axis=1, weights=weight).min())
    return Blend(members, exponents, scores, losses)


def best_of_each_family(tried: Sequence[Tried]) -> list[Tried]:
    """The best candidate of every family, the first of those that tie; the best family first, simpler ones before."""
    best: dict[str, Tried] = {}
    for each in tried:
        if each.family.name not in best or each.mean > best[each.family.name].mean + TIE:
            best[each.family.name] = each
    return sorted(best.values(), key=lambda each: -round(each.mean, 12))  # stable: simpler families come first
