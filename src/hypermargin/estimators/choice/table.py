"""The table that a choice was made from, and how scores are compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from hypermargin.arrays import Array

#: Scores that differ by less are the same.
TIE = 1e-12
#: Folds of which scores count as independent: those of a second repetition have the same samples again.
INDEPENDENT_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Row:
    """A candidate by family and parameters, its scores on the folds (none where it was screened out), and seconds."""

    family: str
    parameters: dict[str, Any]
    scores: Array
    screening: float
    seconds: float


def mean_score(scores: Array) -> float:
    """The mean over the folds on which the score is defined; -inf where there is none."""
    known = scores[np.isfinite(scores)]
    return float(known.mean()) if known.size else -np.inf


def is_near(scores: Array, best: Array, errors: float) -> bool:
    """Whether scores on folds are at most so many standard errors (of the differences) behind the best ones."""
    behind = best - scores
    known = behind[np.isfinite(behind)]
    return known.size > 1 and bool(known.mean() <= errors * standard_error(known) + TIE)


def standard_error(scores: Array) -> float:
    """Of the mean of scores on folds, shape (n_folds,) with at least two."""
    return float(scores.std(ddof=1) / np.sqrt(min(scores.size, INDEPENDENT_FOLDS)))


def results_table(rows: Sequence[Row]) -> dict[str, Any]:
    """Columns of equal length, as scikit-learn's searches have them."""
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
