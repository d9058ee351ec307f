"""Which candidate is chosen from the scores of all, and the sentence that explains it.

The rule: of each family the candidate with the best score stands; of equal ones the first. Their probabilities are
sharpened, and those whose log loss in the folds is within two standard errors of the best are averaged: a blend. It is
chosen unless the candidate with the best score predicts every sample of the folds correctly, or the score of the blend
is more than two standard errors of the difference behind it. docs/benchmarks/choice.md compares this with other rules.

*Sharpening.* Probabilities ``p_k`` become ``p_k^t / sum_j p_j^t`` with ``t > 0``: their order, and so the label, stays
as it is. In terms of log-odds this is temperature scaling: C. Guo, G. Pleiss, Y. Sun and K. Weinberger, "On calibration
of modern neural networks" (2017). Margin classifiers of many classes need it most: their sigmoids are fitted to the
scores of training samples, and the coupling of pairs is cautious, so that the right class often leads by little.

*Membership.* Accuracy on a hundred samples moves in steps of a sample; log loss tells families apart sooner. Members
count the same: weights that are fitted to some hundred answers did worse (docs/benchmarks/choice.md).
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from hypermargin.arrays import Array
from hypermargin.estimators.auto.families import Family, Folds, Parameters
from hypermargin.estimators.scoring import MOST_BEHIND, TIE, Answers, Scorer, is_near, mean_score, standard_error

BLEND = "blend"
#: Smaller probabilities count as this, so that a single certain but wrong answer does not decide.
LEAST_PROBABILITY = 1e-6
#: Log losses that differ by less are equal: means of logarithms up to 14 are rounded by less.
LOSS_TIE = 1e-9
#: Powers to choose from, from 1/4 to 8, the nearest to 1 first. Steps, because the minimum of a search would depend on
#: rounding.
EXPONENTS = tuple(sorted((float(2.0 ** (step / 4)) for step in range(-8, 13)), key=lambda t: abs(np.log(t))))


@dataclass(eq=False)
class Candidate:
    """Parameters of a family, their answers and scores on every fold, and the seconds these took.

    `screening` is the score of the first round; candidates that ended there have no answers.
    """

    family: Family
    parameters: Parameters
    answers: list[Answers] = field(default_factory=list)
    scores: Array = field(default_factory=lambda: np.empty(0))
    seconds: float = 0.0
    screening: float = np.nan

    @property
    def name(self) -> str:
        """The name of the family."""
        return self.family.name

    @property
    def words(self) -> str:
        return f"{self.name} ({self.family.in_words(self.parameters)})"

    @property
    def mean(self) -> float:
        return mean_score(self.scores)

    @property
    def setting(self) -> str:
        """The parameters without C."""
        return repr(sorted((name, value) for name, value in self.parameters.items() if name != "C"))

    @property
    def probability(self) -> Array:
        """The answers to all folds, shape (n_answers, n_classes)."""
        return np.concatenate([own.probability for own in self.answers])

    def exponent(self, columns: np.ndarray, weight: Array | None) -> float:
        """The power that suits the answers best; `columns` are the indices of the true classes."""
        return best_exponent(self.probability, columns, weight)

    def probability_of(self, columns: np.ndarray, exponent: float) -> Array:
        """The probabilities of the true classes after sharpening, shape (n_answers,)."""
        return sharpened(self.probability, exponent)[np.arange(columns.size), columns]


@dataclass(frozen=True, eq=False)
class Blend:
    """Candidates and exponents, and the scores of their blend on the folds: a row of the table like a `Candidate`.

    `losses` are the log loss of the blend in the folds and that of its best member or, if it has one member only, of
    the candidate with the best score.
    """

    members: list[Candidate]
    exponents: Array
    scores: Array
    losses: tuple[float, float]
    name = BLEND
    screening = np.nan
    seconds = 0.0

    @property
    def parameters(self) -> dict[str, Any]:
        described = [
            {"family": each.name, "exponent": round(exponent, 3), **each.parameters}
            for each, exponent in zip(self.members, self.exponents.tolist(), strict=True)
        ]
        return {"members": described}

    @property
    def words(self) -> str:
        *first, last = [each.words for each in self.members]
        return f"a blend of {', '.join(first)} and {last}"


@dataclass(frozen=True, eq=False)
class Choice:
    """The rows of the table and the chosen one; `losses` are those of `Blend`, None if the score alone decided.

    `exponent` sharpens the probabilities of a candidate that is chosen alone.
    """

    rows: Sequence[Candidate | Blend]
    chosen: Candidate | Blend
    losses: tuple[float, float] | None
    exponent: float = 1.0

    @property
    def index(self) -> int:
        return self.rows.index(self.chosen)

    @property
    def members(self) -> list[Candidate]:
        """What has to be fitted."""
        return self.chosen.members if isinstance(self.chosen, Blend) else [self.chosen]

    @property
    def score(self) -> float:
        return mean_score(self.chosen.scores)

    def explanation(self, folds: Folds, scoring: Any, positive: str = "", *, is_late: bool = False) -> str:
        """What was chosen and why, in one line; `positive` names the positive class of the score."""
        chosen = f"chose {self.chosen.words}"
        if not folds:
            reason = "no class has the two samples that a comparison needs"
            return f"{chosen}: {'there was no time for a comparison' if is_late else reason}"
        metric = scoring if isinstance(scoring, str) else "accuracy" if scoring is None else "score"
        metric += f" ({positive})" if positive else ""
        known = self.chosen.scores[np.isfinite(self.chosen.scores)]
        error = f" ± {standard_error(known):.3f}" if known.size > 1 else ""
        best: dict[str, float] = {}
        for row in self.rows:
            best[row.name] = max(best.get(row.name, -np.inf), mean_score(row.scores))
        order = sorted((name for name in best if name != BLEND), key=lambda name: -best[name])
        scores = ", ".join(f"{name} {best[name]:.3f}" for name in order if np.isfinite(best[name]))
        where = f"{len(folds)} folds" if len(folds) > 1 else "one fold"
        where += f" of {np.unique(np.concatenate([test for _, test in folds])).size} samples"
        late = "; the time limit ended the search" if is_late else ""
        return f"{chosen}: {metric} {self.score:.3f}{error} in {where}, {self._why()} ({scores}){late}"

    def _why(self) -> str:
        if self.losses is not None:
            losses = f"its log loss there is {self.losses[0]:.3f}, and {self.losses[1]:.3f} that of"
            if len(self.members) > 1:  # a mean of equals need not beat all of them
                return f"because the folds cannot tell its parts apart: {losses} the best of them"
            return f"because {losses} the one with the best score, which is hardly better"
        tried = sum(row.scores.size > 0 or not np.isnan(row.screening) for row in self.rows)
        tied = sum(mean_score(row.scores) >= self.score - TIE for row in self.rows)
        return f"the best of {tried} candidates" if tied == 1 else f"the simplest of {tied} with the best score"


def choose(
    candidates: Sequence[Candidate], kept: Sequence[Candidate], folds: Folds, scorer: Scorer, with_blend: bool
) -> Choice:
    """Choose from those `kept` by the rule above; without blends the best score, the simplest of equal ones."""
    best = best_of_each_family(kept)
    tests = [test for _, test in folds]
    blend = best_blend(best, tests, scorer) if with_blend and folds else None
    if blend is not None and len(blend.members) > 1:
        return Choice([*candidates, blend], blend, blend.losses)
    alone, losses = (best[0], None) if blend is None else (blend.members[0], blend.losses)
    exponent = alone.exponent(scorer.columns(tests), scorer.weight_of(tests)) if alone.answers else 1.0
    return Choice(candidates, alone, losses, exponent)


def best_blend(best: Sequence[Candidate], tests: Sequence[np.ndarray], scorer: Scorer) -> Blend | None:
    """The blend of the best candidates of each family, best first; None if the first one alone is the choice."""
    best = [each for each in best if each.answers]
    if len(best) < 2 or scorer.is_perfect(best[0].answers, tests):
        return None
    columns, weight = scorer.columns(tests), scorer.weight_of(tests)
    exponents = np.array([each.exponent(columns, weight) for each in best])
    truth = np.stack([each.probability_of(columns, t) for each, t in zip(best, exponents.tolist(), strict=True)])
    repeats = columns.size / np.unique(np.concatenate(tests)).size
    places = np.flatnonzero(within_standard_errors(truth, weight, repeats)).tolist()
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
    """The best candidate of every family; best families first, of equal ones the simplest."""
    families = dict.fromkeys(each.family for each in candidates)
    best = [in_order([each for each in candidates if each.family is family])[0] for family in families]
    return sorted(best, key=lambda each: -round(each.mean, 12))  # stable: simpler families come first


def in_order(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates of a family, the best first; of equal ones the simplest setting with the middle one of its C.

    Scores of a hundred samples are often the same for several C. The least and the largest of those are next to worse
    ones, the middle one is not; of two middle ones the smaller has the wider margin. After the middle one come its
    neighbours.
    """
    settings = list(dict.fromkeys(each.setting for each in candidates))
    ordered: list[Candidate] = []
    for mean in sorted({round(each.mean, 12) for each in candidates}, reverse=True):
        tied = [each for each in candidates if round(each.mean, 12) == mean]
        distances = []
        for each in tied:
            Cs = sorted(float(other.parameters.get("C", 1.0)) for other in tied if other.setting == each.setting)
            place = Cs.index(float(each.parameters.get("C", 1.0)))
            distances.append(abs(place - (len(Cs) - 1) // 2))
        order = sorted(range(len(tied)), key=lambda i: (distances[i], settings.index(tied[i].setting)))
        ordered += [tied[i] for i in order]
    return ordered


def results_table(rows: Sequence[Candidate | Blend]) -> dict[str, Any]:
    """Columns of equal length, named as in scikit-learn's searches."""
    n_folds = max((row.scores.size for row in rows), default=0)
    scores = np.full((len(rows), n_folds), np.nan)
    for i, row in enumerate(rows):
        scores[i, : row.scores.size] = row.scores
    scores[~np.isfinite(scores)] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of rows without a score
        mean, deviation = np.nanmean(scores, axis=1), np.nanstd(scores, axis=1)
    ranks = rankdata(np.where(np.isnan(mean), np.inf, -np.round(mean, 12)), method="min").astype(int)
    return {
        "family": [row.name for row in rows],
        "params": [row.parameters for row in rows],
        "mean_test_score": mean,
        "std_test_score": deviation,
        "rank_test_score": ranks,
        **{f"split{k}_test_score": scores[:, k] for k in range(n_folds)},
        "screening_score": np.array([row.screening for row in rows]),
        "seconds": np.array([row.seconds for row in rows]),
    }


# -- sharpening, membership and the mean -------------------------------------------------------------------------------


def blended(members: Sequence[Sequence[Answers]], weights: ArrayLike, exponents: ArrayLike) -> list[Answers]:
    """The answers of a blend on every fold, from those of its members."""
    folds = zip(*members, strict=True)
    return [Answers(mean_probability([own.probability for own in fold], weights, exponents)) for fold in folds]


def mean_probability(of_members: Sequence[Array], weights: ArrayLike, exponents: ArrayLike) -> Array:
    """The weighted mean, rounded to twelve digits so that tied classes stay tied."""
    weights, exponents = (np.asarray(given, dtype=np.float64) for given in (weights, exponents))
    parts = [sharpened(own, exponent) for own, exponent in zip(of_members, exponents.tolist(), strict=True)]
    return np.average(np.stack(parts), axis=0, weights=weights).round(12)


def log_losses(truth: Array) -> Array:
    """Minus the logarithms of the probabilities of the true classes."""
    return -np.log(np.maximum(truth, LEAST_PROBABILITY))


def within_standard_errors(
    truth: Array, weight: Array | None, repeats: float, errors: float = MOST_BEHIND
) -> np.ndarray:
    """Which log losses are at most so many standard errors of the difference behind the best; bool, (n_members,).

    Parameters
    ----------
    truth : (n_members, n_answers) array
        The probability that a model gave to the true class of a sample it had not seen.
    weight : (n_answers,) array or None
        Weights of the answers. Unequal ones leave ``(sum w)^2 / sum w^2`` answers' worth of evidence.
    repeats : float
        Answers per sample: repeated folds are no further evidence.
    """
    losses = log_losses(truth)
    share = np.full(losses.shape[1], 1.0 / losses.shape[1]) if weight is None else weight / weight.sum()
    behind = losses - losses[np.argmin((losses @ share).round(9))]
    mean = behind @ share
    error = np.sqrt((behind - mean[:, None]) ** 2 @ share * (share @ share) * repeats)
    return mean <= errors * error + LOSS_TIE


def sharpened(probability: Array, exponent: float) -> Array:
    """Probabilities to a power, each row of (n, n_classes) normalised again; zeros count as `LEAST_PROBABILITY`."""
    if exponent == 1.0:
        return probability
    raised = np.maximum(probability, LEAST_PROBABILITY) ** exponent
    return raised / raised.sum(axis=1, keepdims=True)


def best_exponent(probability: Array, labels: np.ndarray, weight: Array | None) -> float:
    """The power with the least log loss; of equal ones the nearest to 1.

    `probability`, shape (n_answers, n_classes), are predictions for samples that the model had not seen, `labels` the
    indices of their true classes, and `weight` their weights or None; both of shape (n_answers,). As in Platt scaling,
    a share ``1/(n_answers + 2)`` of each answer counts as wrong: that all known answers were right does not make the
    next one certain.
    """
    rows, n_others = np.arange(len(labels)), max(probability.shape[1] - 1, 1)
    wrong = 1.0 / ((len(labels) if weight is None else float(weight.sum())) + 2.0)
    found = []
    for t in EXPONENTS:
        logs = log_losses(sharpened(probability, t))
        true = logs[rows, labels]
        found.append((1.0 - wrong) * true + wrong * (logs.sum(axis=1) - true) / n_others)
    losses = np.average(np.stack(found), axis=1, weights=weight)
    return EXPONENTS[int(np.argmax(losses <= losses.min() + LOSS_TIE))]
