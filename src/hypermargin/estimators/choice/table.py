"""The table that a choice was made from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from hypermargin.arrays import Array


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
