"""Which candidate is chosen from the scores of all, and the sentence that says so.

The rule: of each family the best candidate stands; families that the folds cannot tell from the best one, within a
standard error of the difference of their scores, are blended, unless the folds can tell the blend from the best one:
probabilities of margin classifiers that separate the classes may be so flat that their mean is worse than each of them.
Where there is one such family only it is chosen as it is. On the data that the rule was made with
(docs/benchmarks/choice.md) this was ahead of the best single candidate on taxonomies, and level with it on graphs.
Families whose scores are the same on every fold are represented by the simplest of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.estimators.choice.answers import Judge
from hypermargin.estimators.choice.blend import blended
from hypermargin.estimators.choice.families import Family, Parameters
from hypermargin.estimators.choice.search import Folds, Tried
from hypermargin.estimators.choice.table import Row, mean_score

BLEND = "blend"
#: Scores that differ by less are the same.
TIE = 1e-12
#: Folds of which scores count as independent: those of a second repetition have the same samples again.
INDEPENDENT_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Choice:
    """The row of the table that was chosen, and the classifiers it stands for; `words` describes each row."""

    rows: list[Row]
    index: int
    members: list[tuple[Family, Parameters]]
    words: list[str]

    @property
    def family(self) -> str:
        return self.rows[self.index].family

    @property
    def parameters(self) -> dict[str, Any]:
        return self.rows[self.index].parameters

    @property
    def score(self) -> float:
        return mean_score(self.rows[self.index].scores)

    def explanation(self, n_folds: int, scoring: Any) -> str:
        """What was chosen and why, in one line."""
        chosen = f"chose {self.words[self.index]}"
        if n_folds == 0:
            return f"{chosen}: no class has the two samples that a comparison needs"
        metric = scoring if isinstance(scoring, str) else "accuracy" if scoring is None else "score"
        known = self.rows[self.index].scores
        known = known[np.isfinite(known)]
        error = f" ± {_standard_error(known):.3f}" if known.size > 1 else ""
        best: dict[str, float] = {}
        for row in self.rows:
            best[row.family] = max(best.get(row.family, -np.inf), mean_score(row.scores))
        order = sorted((name for name in best if name != BLEND), key=lambda name: -best[name])
        scores = ", ".join(f"{name} {best[name]:.3f}" for name in order if np.isfinite(best[name]))
        folds = f"{n_folds} folds" if n_folds > 1 else "one fold"
        return f"{chosen}: {metric} {self.score:.3f}{error} in {folds}, {self._why(best)} ({scores})"

    def _why(self, best: dict[str, float]) -> str:
        if self.family == BLEND:
            return "because the folds cannot tell these families apart: all are within a standard error of the best"
        tried = sum(row.scores.size > 0 or not np.isnan(row.screening) for row in self.rows)
        tied = sum(mean_score(row.scores) >= self.score - TIE for row in self.rows)
        return f"the best of {tried} candidates" if tied == 1 else f"the simplest of {tied} with the best score"


def choose(tried: Sequence[Tried], folds: Folds, judge: Judge, with_blend: bool) -> Choice:
    """Choose by the rule above; without blends the best candidate, the simplest of those that tie."""
    rows = [Row(each.family.name, each.parameters, each.scores, each.screening, each.seconds) for each in tried]
    words = [f"{each.family.name} ({each.family.in_words(each.parameters)})" for each in tried]
    best = best_of_each_family(tried)
    members = indistinguishable(best) if with_blend and folds else best[:1]
    if len(members) > 1:
        scores = judge.scores(blended([each.answers for each in members]), [test for _, test in folds])
        if not is_near(scores, best[0].scores):
            members = best[:1]
    if len(members) == 1:
        return Choice(rows, tried.index(members[0]), [(members[0].family, members[0].parameters)], words)
    parameters = {"members": [{"family": each.family.name, **each.parameters} for each in members]}
    rows.append(Row(BLEND, parameters, scores, np.nan, 0.0))
    parts = [words[tried.index(each)] for each in members]
    words.append(f"a blend of {', '.join(parts[:-1])} and {parts[-1]}")
    return Choice(rows, len(rows) - 1, [(each.family, each.parameters) for each in members], words)


def best_of_each_family(tried: Sequence[Tried]) -> list[Tried]:
    """The best candidate of every family, the first of those that tie; the best family first, simpler ones before."""
    best: dict[str, Tried] = {}
    for each in tried:
        if each.family.name not in best or each.mean > best[each.family.name].mean + TIE:
            best[each.family.name] = each
    return sorted(best.values(), key=lambda each: -round(each.mean, 12))  # stable: simpler families come first


def indistinguishable(best: Sequence[Tried]) -> list[Tried]:
    """Of the best of each family those that are within a standard error of the first, without their doubles."""
    found: list[Tried] = []
    for each in best:
        near = each is best[0] or is_near(each.scores, best[0].scores)
        if near and not any(np.allclose(each.scores, other.scores, TIE, TIE, equal_nan=True) for other in found):
            found.append(each)
    return found


def is_near(scores: Array, best: Array) -> bool:
    """Whether scores on folds are at most a standard error (of the differences) behind the best ones."""
    behind = best - scores
    known = behind[np.isfinite(behind)]
    return known.size > 1 and bool(known.mean() <= _standard_error(known) + TIE)


def _standard_error(scores: Array) -> float:
    """Of the mean of scores on folds, shape (n_folds,) with at least two."""
    return float(scores.std(ddof=1) / np.sqrt(min(scores.size, INDEPENDENT_FOLDS)))
