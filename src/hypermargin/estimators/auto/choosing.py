"""Which candidate is chosen from the scores of all, and the sentence that explains it.

The rule: of each family the candidate with the best score stands; of equal ones the first. Their probabilities are
sharpened, and those whose log loss in the folds is within two standard errors of the best are averaged (`blend`). The
blend is chosen unless the candidate with the best score predicts every sample of the folds correctly, or the score of
the blend is more than two standard errors of the difference behind it. docs/benchmarks/choice.md compares this with
other rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import rankdata

from hypermargin.arrays import Array
from hypermargin.estimators.auto.blend import (
    best_exponent,
    blended,
    log_losses,
    sharpened,
    within_two_standard_errors,
)
from hypermargin.estimators.auto.families import Family, Parameters
from hypermargin.estimators.auto.search import Candidate, Folds
from hypermargin.estimators.scoring import TIE, Scorer, is_near, mean_score, standard_error

BLEND = "blend"


@dataclass(frozen=True, eq=False)
class Row:
    """A row of the table: family, parameters, scores on the folds (none if it was screened out), and seconds."""

    family: str
    parameters: dict[str, Any]
    scores: Array
    screening: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen row of the table and its members; `words` describes each row, `exponents` are those of the members.

    `losses` are the log loss of the choice in the folds and that of its best member or, if it has one member only, of
    the candidate with the best score; None if the score alone decided.
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
        """What was chosen and why, in one line; `positive` names the positive class of the score."""
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


def choose(candidates: Sequence[Candidate], folds: Folds, scorer: Scorer, with_blend: bool) -> Choice:
    """Choose by the rule above; without blends the candidate with the best score, the simplest of equal ones."""
    rows = [Row(each.family.name, each.parameters, each.scores, each.screening, each.seconds) for each in candidates]
    words = [f"{each.family.name} ({each.family.in_words(each.parameters)})" for each in candidates]
    best = best_of_each_family(candidates)
    blend = best_blend(best, [test for _, test in folds], scorer) if with_blend and folds else None
    if blend is None or len(blend.members) == 1:
        chosen, losses = (best[0], None) if blend is None else (blend.members[0], blend.losses)
        return Choice(rows, candidates.index(chosen), [(chosen.family, chosen.parameters)], words, losses=losses)
    described = [
        {"family": each.family.name, "exponent": round(exponent, 3), **each.parameters}
        for each, exponent in zip(blend.members, blend.exponents.tolist(), strict=True)
    ]
    rows.append(Row(BLEND, {"members": described}, blend.scores, np.nan, 0.0))
    parts = [words[candidates.index(each)] for each in blend.members]
    words.append(f"a blend of {', '.join(parts[:-1])} and {parts[-1]}")
    members = [(each.family, each.parameters) for each in blend.members]
    return Choice(rows, len(rows) - 1, members, words, blend.exponents, blend.losses)


@dataclass(frozen=True, eq=False)
class Blend:
    """Candidates and exponents, the scores of their blend on the folds, and log losses as in `Choice`."""

    members: list[Candidate]
    exponents: Array
    scores: Array
    losses: tuple[float, float]


def best_blend(best: Sequence[Candidate], tests: Sequence[np.ndarray], scorer: Scorer) -> Blend | None:
    """The blend of the best candidates of each family, best first; None if the first one alone is the choice."""
    best = [each for each in best if each.answers]
    if len(best) < 2 or scorer.is_perfect(best[0].answers, tests):
        return None
    columns, weight = scorer.columns(tests), scorer.weight_of(tests)
    answers = [np.concatenate([own.probability for own in each.answers]) for each in best]
    exponents = np.array([best_exponent(own, columns, weight) for own in answers])
    rows = np.arange(columns.size)
    truth = np.stack([sharpened(own, t)[rows, columns] for own, t in zip(answers, exponents.tolist(), strict=True)])
    repeats = columns.size / np.unique(np.concatenate(tests)).size
    places = np.flatnonzero(within_two_standard_errors(truth, weight, repeats)).tolist()
    if places == [0]:
        return None
    members, exponents = [best[place] for place in places], exponents[places]
    scores = scorer.scores(blended([each.answers for each in members], np.ones(len(members)), exponents), tests)
    if not is_near(scores, best[0].scores):
        return None
    others = truth[places] if len(places) > 1 else truth[:1]
    own_loss = np.average(log_losses(truth[places].mean(axis=0)), weights=weight)
    losses = float(own_loss), float(np.average(log_losses(others), axis=1, weights=weight).min())
    return Blend(members, exponents, scores, losses)


def best_of_each_family(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best candidate of every family, the first of equal ones; best families first, of equal ones the simplest."""
    best: dict[str, Candidate] = {}
    for each in candidates:
        if each.family.name not in best or each.mean > best[each.family.name].mean + TIE:
            best[each.family.name] = each
    return sorted(best.values(), key=lambda each: -round(each.mean, 12))  # stable: simpler families come first


def results_table(rows: Sequence[Row]) -> dict[str, Any]:
    """Columns of equal length, named as in scikit-learn's searches."""
    n_folds = max((row.scores.size for row in rows), default=0)
    scores = np.full((len(rows), n_folds), np.nan)
    for i, row in enumerate(rows):
        scores[i, : row.scores.size] = row.scores
    known = np.isfinite(scores)
    count = known.sum(axis=1)
    filled = np.where(known, scores, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = filled.sum(axis=1) / count
        deviation = np.sqrt(np.where(known, (filled - mean[:, None]) ** 2, 0.0).sum(axis=1) / count)
    ranks = rankdata(np.where(count > 0, -np.round(mean, 12), np.inf), method="min").astype(int)
    return {
        "family": [row.family for row in rows],
        "params": [row.parameters for row in rows],
        "mean_test_score": mean,
        "std_test_score": deviation,
        "rank_test_score": ranks,
        **{f"split{k}_test_score": scores[:, k] for k in range(n_folds)},
        "screening_score": np.array([row.screening for row in rows]),
        "seconds": np.array([row.seconds for row in rows]),
    }
