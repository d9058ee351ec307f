"""Which candidate is chosen from the scores of all, and the sentence that says so."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hypermargin.estimators.choice.answers import Judge
from hypermargin.estimators.choice.blend import blended
from hypermargin.estimators.choice.families import Family, Parameters
from hypermargin.estimators.choice.search import Folds, Tried
from hypermargin.estimators.choice.table import Row

BLEND = "blend"
#: Families in the largest blend.
MOST_MEMBERS = 3
#: Scores that differ by less are the same.
TIE = 1e-12


@dataclass(frozen=True, eq=False)
class Choice:
    """The row of the table that was chosen, and the classifiers it stands for, in the order of the table."""

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
        return _mean(self.rows[self.index])

    def explanation(self, n_folds: int, scoring: Any) -> str:
        """What was chosen and why, in one line."""
        chosen = f"chose {self.words[self.index]}"
        if n_folds == 0:
            return f"{chosen}: no class has the two samples that a comparison needs"
        row = self.rows[self.index]
        known = row.scores[np.isfinite(row.scores)]
        metric = scoring if isinstance(scoring, str) else "accuracy" if scoring is None else "score"
        error = f" ± {known.std() / np.sqrt(max(known.size - 1, 1)):.3f}" if known.size > 1 else ""
        tried = sum(row.scores.size > 0 or np.isfinite(row.screening) for row in self.rows)
        tied = sum(_mean(other) >= self.score - TIE for other in self.rows) - 1
        why = f"the best of {tried} candidates" if not tied else f"the simplest of {tied + 1} with the best score"
        best: dict[str, float] = {}
        for other in self.rows:
            best[other.family] = max(best.get(other.family, -np.inf), _mean(other))
        order = sorted((name for name in best if name != self.family), key=lambda name: -best[name])
        others = ", ".join(f"{name} {best[name]:.3f}" for name in order if np.isfinite(best[name]))
        folds = f"{n_folds} folds" if n_folds > 1 else "one fold"
        return f"{chosen}: {metric} {self.score:.3f}{error} in {folds}, {why}" + (f"; {others}" if others else "")


def choose(tried: Sequence[Tried], folds: Folds, judge: Judge, with_blend: bool) -> Choice:
    """The candidate with the best mean score, the first of those that tie: simpler ones come first."""
    rows = [Row(each.family.name, each.parameters, each.scores, each.screening, each.seconds) for each in tried]
    words = [f"{each.family.name} ({each.family.in_words(each.parameters)})" for each in tried]
    members: list[list[Tried]] = [[each] for each in tried]
    for blend in _blends(tried) if with_blend and folds else []:
        scores = judge.scores(blended([each.answers for each in blend]), [test for _, test in folds])
        parameters = {"members": [{"family": each.family.name, **each.parameters} for each in blend]}
        rows.append(Row(BLEND, parameters, scores, np.nan, 0.0))
        words.append(f"blend of {' and '.join(words[tried.index(each)] for each in blend)}")
        members.append(blend)
    means = [_mean(row) for row in rows]
    best = max(means)
    index = next((i for i, mean in enumerate(means) if mean >= best - TIE), 0)
    return Choice(rows, index, [(each.family, each.parameters) for each in members[index]], words)


def _blends(tried: Sequence[Tried]) -> list[list[Tried]]:
    """The best candidates of the two best families, of the three best, and so on."""
    best: dict[str, Tried] = {}
    for each in tried:
        if each.answers and (each.family.name not in best or each.mean > best[each.family.name].mean + TIE):
            best[each.family.name] = each
    order = sorted(best.values(), key=lambda each: -each.mean)
    return [order[:size] for size in range(2, min(MOST_MEMBERS, len(order)) + 1)]


def _mean(row: Row) -> float:
    known = row.scores[np.isfinite(row.scores)]
    return float(known.mean()) if known.size else -np.inf
