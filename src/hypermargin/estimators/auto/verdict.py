"""Does the geometry help here? Hyperbolic classifiers against their Euclidean twins on the same folds, in words.

Three kinds of boundary are compared: straight ones (and curves) with a linear SVM, kernels of the distance with an RBF
SVM, and neighbours by distance with those in coordinates. A twin sees one of three kinds of coordinates: of the tangent
space at the Fréchet mean, of the ambient space, or of the disk. All choose from as many parameters as their rivals, by
the folds on which they are compared, which flatters all alike.

*Intervals* are those of the corrected resampled t-test: C. Nadeau and Y. Bengio, "Inference for the generalization
error" (2003). Training sets of folds overlap, so that the variance of J differences is multiplied by
``1/J + n_test/n_train`` instead of ``1/J``.

*Noise.* With labels that have nothing to do with the points, test labels of a fold may be exchanged without changing
anything in distribution. The log loss of a mean of all kinds, each with one parameter fixed in advance, is compared
with its values after such exchanges: a permutation test without further fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import t as student_t
from sklearn.neighbors import KNeighborsClassifier

from hypermargin.arrays import Array
from hypermargin.estimators.auto.choosing import Candidate, best_of_each_family, log_losses
from hypermargin.estimators.auto.families import (
    FEW_DIMENSIONS,
    CurveFamily,
    Family,
    Folds,
    GeodesicFamily,
    KernelFamily,
    NeighbourFamily,
    Pairs,
    Parameters,
    Samples,
)
from hypermargin.estimators.auto.search import Search, part_of, stratified
from hypermargin.estimators.scoring import Answers, Scorer
from hypermargin.geometry.isometries import boost, move_to_origin
from hypermargin.geometry.lorentz import lift
from hypermargin.geometry.mean import frechet_mean
from hypermargin.geometry.metric import log_origin
from hypermargin.geometry.models import from_lorentz

#: Samples that are looked at, at most: their folds tell differences of 2 % apart, in some seconds.
MOST_SAMPLES = 1500
#: Folds: more samples to train on than with fewer, and an interval with four degrees of freedom.
FOLDS = 5
#: Values of C: the range in which both sides usually have their best one.
CS = (1.0, 10.0, 100.0)
#: Widths of the RBF kernel, multiples of one over the sum of the variances: as many as there are kernels of ours.
WIDTHS = (0.5, 2.0)
NEIGHBOURS = (5, 15)
#: The parameter of each kind that the test of noise uses: fixed, because chosen ones have seen the labels of the folds.
FIXED_C, FIXED_NEIGHBOURS = 1.0, 15
#: Exchanges of labels, and the share of them that must be worse for labels not to count as noise.
EXCHANGES, LEVEL = 1999, 0.05
#: A simpler twin does as well if it is behind by no more than this share of half an interval: about a standard error.
AS_GOOD = 1.0 / 3.0
#: Half an interval that is worth a word: a difference of so much would matter to most.
UNSEEN = 0.05
#: How far the random isometry moves the origin: as in `hypermargin accuracy`.
MOVED_BY = 2.0

KINDS = ("straight", "kernel", "neighbours")
COORDINATES: dict[str, str] = {
    "tangent": "on the tangent space at the mean",
    "ambient": "on the ambient coordinates",
    "disk": "in the disk",
}
TWINS = {"straight": "a linear SVM", "kernel": "an RBF SVM", "neighbours": "nearest neighbours"}
OURS = {
    "geodesic": "geodesic boundaries",
    "curve": "curves",
    "kernel": "a kernel of the hyperbolic distance",
    "neighbours": "nearest neighbours by hyperbolic distance",
}


@dataclass(frozen=True)
class Contestant:
    """A classifier with its mean score, and what the score became after a random isometry."""

    name: str
    kind: str
    is_hyperbolic: bool
    scores: Array
    moved: float

    @property
    def score(self) -> float:
        return float(self.scores.mean())


@dataclass(frozen=True)
class Comparison:
    """The best hyperbolic classifier of a kind against the best Euclidean one: difference of scores, 95 % interval."""

    ours: Contestant
    theirs: Contestant
    difference: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"{self.ours.name} {self.ours.score:.3f}, {self.theirs.name} {self.theirs.score:.3f}: "
            f"difference {self.difference:+.3f} ({self.low:+.3f} to {self.high:+.3f})"
        )


@dataclass(frozen=True)
class Verdict:
    """Whether the geometry helps.

    Attributes
    ----------
    answer : {"yes", "no", "noise"}
    sentence : str
        The answer in words.
    overall : Comparison
        The best hyperbolic classifier against the best Euclidean one, or against the simplest that does as well.
    by_kind : list of Comparison
        The same within straight boundaries, kernels and neighbours.
    contestants : list of Contestant
    noise : float
        The p-value of labels that have nothing to do with the points.
    n_samples : int
    metric : str
    """

    answer: str
    sentence: str
    overall: Comparison
    by_kind: list[Comparison]
    contestants: list[Contestant]
    noise: float
    n_samples: int
    metric: str

    def __str__(self) -> str:
        lines = [self.sentence, f"{self.metric} in {FOLDS} folds of {self.n_samples} samples, 95 % intervals:"]
        lines += [f"  {each}" for each in self.by_kind]
        most = max(self.contestants, key=lambda each: abs(each.moved - each.score))
        ours = max(abs(each.moved - each.score) for each in self.contestants if each.is_hyperbolic)
        lines.append(
            f"After a random isometry scores of hyperbolic classifiers change by {ours:.3f} at most; most changes "
            f"that of {most.name}, from {most.score:.3f} to {most.moved:.3f}."
        )
        return "\n".join(lines)


# -- twins -------------------------------------------------------------------------------------------------------------


class Twin(Family):
    """A Euclidean classifier of a kind that sees `coordinates` of the samples, which it finds by their points."""

    shares_folds = True
    has_path = True

    def __init__(self, kind: str, coordinates: str) -> None:
        self.name, self.kind, self.coordinates = f"{TWINS[kind]} {COORDINATES[coordinates]}", kind, coordinates

    def candidates(self, samples: Samples) -> list[Parameters]:
        if self.kind == "neighbours":
            return _neighbours(samples)
        widths = [{"width": width} for width in WIDTHS] if self.kind == "kernel" else [{}]
        return [{**width, "C": C} for width in widths for C in CS]

    def model(self, parameters: Parameters) -> KNeighborsClassifier:
        return KNeighborsClassifier(**parameters)

    def answers(self, candidates: Sequence[Parameters], samples: Samples, folds: Folds) -> list[list[Answers]]:
        # A linear SVM on ambient coordinates as they are has the boundaries of `HyperbolicSVC`, and is a strong rival.
        is_plain = self.kind == "straight" and self.coordinates == "ambient"
        Z = coordinates_of(samples, self.coordinates, is_plain=is_plain)
        if self.kind == "neighbours":
            return [[self._neighbours(each, Z, samples.labels, *fold) for each in candidates] for fold in folds]
        Cs, own = [each["C"] for each in candidates], Samples(Z, samples.labels, None)
        if self.kind == "straight" and Z.shape[1] <= FEW_DIMENSIONS:
            return [Pairs.of(own, train, "ovo").on_planes(Cs, Z[test], recentre=False) for train, test in folds]
        gram = np.exp(-candidates[0]["width"] * cdist(Z, Z, "sqeuclidean")) if self.kind == "kernel" else Z @ Z.T
        return [Pairs.of(own, train, "ovo").on_matrix(Cs, gram, np.arange(len(Z)), test) for train, test in folds]

    def _neighbours(
        self, parameters: Parameters, Z: Array, labels: np.ndarray, train: np.ndarray, test: np.ndarray
    ) -> Answers:
        return Answers(self.model(parameters).fit(Z[train], labels[train]).predict_proba(Z[test]))


def coordinates_of(samples: Samples, name: str, *, is_plain: bool = False) -> Array:
    """Coordinates of the samples, shape (n, d) or (n, d + 1).

    They are centred and scaled to a mean square of 1 unless `is_plain`.
    """
    X = samples.X
    if name == "tangent":
        Z = log_origin(move_to_origin(X, frechet_mean(X)))
    else:
        Z = X if name == "ambient" else from_lorentz(X, "poincare")
    if is_plain:
        return Z
    Z = Z - Z.mean(axis=0)
    return Z / max(float(np.sqrt(np.mean(np.sum(Z * Z, axis=1)))), 1e-300)


def _neighbours(samples: Samples) -> list[Parameters]:
    most = max(1, len(samples.labels) // 2)
    return [{"n_neighbors": min(k, most), "weights": by} for k in NEIGHBOURS for by in ("uniform", "distance")]


def _contestants(samples: Samples) -> list[tuple[Family, str, list[Parameters]]]:
    """Families with their kinds and candidates, the simplest first; ours before their twins."""
    margins = [{"C": C} for C in CS]
    kernels = [{"kernel": kernel, "C": C} for kernel in ("laplacian", "heat") for C in CS]
    found: list[tuple[Family, str, list[Parameters]]] = [
        (GeodesicFamily(), "straight", margins),
        (CurveFamily(), "straight", margins),
        (NeighbourFamily(), "neighbours", _neighbours(samples)),
        (KernelFamily(), "kernel", kernels),
    ]
    for kind in KINDS:
        for coordinates in COORDINATES:
            twin = Twin(kind, coordinates)
            found.append((twin, kind, twin.candidates(samples)))
    return found


# -- the verdict -------------------------------------------------------------------------------------------------------


def verdict(samples: Samples, scorer: Scorer, metric: str, seed: int = 0, n_jobs: int | None = None) -> Verdict:
    """Compare on folds of the samples, of a part of them if they are many."""
    rows = np.arange(len(samples.labels))
    if rows.size > MOST_SAMPLES:
        rows = part_of(samples.labels, MOST_SAMPLES, seed)
    own = Samples(samples.X[rows], samples.labels[rows], None)
    few = int(np.bincount(own.labels).max())
    if few < 2:
        raise ValueError("no class has the two samples that a comparison needs")
    folds = stratified(own.labels, np.arange(len(own.labels)), min(FOLDS, few), seed)
    judge = replace(scorer, X=scorer.X[rows], y=scorer.y[rows], weight=None)
    families = _contestants(own)
    search = Search(own, judge, n_jobs)
    candidates = search.all_of([(family, given) for family, _, given in families], folds)
    chosen = {each.family: each for each in best_of_each_family(candidates)}
    moved = Search(Samples(moved_at_random(own.X, seed), own.labels, None), judge, n_jobs)
    again = moved.all_of([(family, [chosen[family].parameters]) for family, *_ in families], folds)
    contestants = [
        Contestant(
            OURS.get(family.name, family.name),
            kind,
            not isinstance(family, Twin),
            chosen[family].scores,
            float(np.nanmean(each.scores)),
        )
        for (family, kind, _), each in zip(families, again, strict=True)
    ]
    noise = noise_of(candidates, folds, judge, seed)
    ratio = float(np.mean([len(test) / len(train) for train, test in folds]))
    return answer_of(contestants, noise, ratio, len(rows), metric)


def answer_of(contestants: list[Contestant], noise: float, ratio: float, n_samples: int, metric: str) -> Verdict:
    """The answer and its sentence."""

    def compared(ours: Contestant, theirs: Contestant) -> Comparison:
        low, high = corrected_interval(ours.scores - theirs.scores, ratio)
        return Comparison(ours, theirs, ours.score - theirs.score, low, high)

    def best(is_hyperbolic: bool, kinds: Sequence[str] = KINDS) -> Contestant:
        """Of equal ones the first, which is the simplest."""
        own = [each for each in contestants if each.is_hyperbolic == is_hyperbolic and each.kind in kinds]
        return max(own, key=lambda each: round(each.score, 12))

    by_kind = [compared(best(True, [kind]), best(False, [kind])) for kind in KINDS]
    ours, theirs = best(True), best(False)
    overall = compared(ours, theirs)
    sizes = f"{ours.score:.3f} against"
    if noise > LEVEL:
        answer = "noise"
        sentence = (
            f"These labels cannot be told from noise: exchanged at random they are predicted as well in {noise:.0%} of "
            f"{EXCHANGES} cases."
        )
    elif overall.low > 0.0:
        answer = "yes"
        sentence = f"Yes, the geometry helps: {ours.name} {sizes} {theirs.score:.3f} of {theirs.name}"
    elif overall.high < 0.0:
        answer = "no"
        sentence = f"No: {theirs.name} does better, {theirs.score:.3f} against {ours.score:.3f} of {ours.name}"
    else:
        answer = "no"
        twins = [compared(ours, each) for each in contestants if not each.is_hyperbolic]
        reach = overall.high - overall.difference
        overall = next((each for each in twins if each.difference <= AS_GOOD * reach), overall)  # the simplest
        name = overall.theirs.name
        sentence = f"No: {name} does as well, {overall.theirs.score:.3f} against {ours.score:.3f} of {ours.name}"
    if answer != "noise":
        sentence += f" (difference {overall.difference:+.3f}, 95 % interval {overall.low:+.3f} to {overall.high:+.3f})."
        reach = overall.high - overall.difference
        if answer == "no" and reach > UNSEEN:
            sentence += f" With these samples a difference of less than {reach:.2f} could not be seen."
        among = [TWINS[each.ours.kind] for each in by_kind if each.low > 0.0]
        if among and answer == "no":
            sentence += f" It does help beside {' and '.join(among)}."
    return Verdict(answer, sentence, overall, by_kind, contestants, noise, n_samples, metric)


def corrected_interval(differences: Array, ratio: float, level: float = 0.95) -> tuple[float, float]:
    """An interval of the mean of differences on folds; `ratio` is that of test to training samples."""
    known = differences[np.isfinite(differences)]
    if known.size < 2:
        return -np.inf, np.inf
    error = float(np.sqrt((1.0 / known.size + ratio) * known.var(ddof=1)))
    reach = float(student_t.ppf(0.5 + level / 2.0, known.size - 1)) * error
    return float(known.mean()) - reach, float(known.mean()) + reach


def noise_of(candidates: Sequence[Candidate], folds: Folds, scorer: Scorer, seed: int) -> float:
    """The share of exchanges of test labels within folds, the true ones included, with no larger log loss."""
    fixed = [each for each in candidates if _is_fixed(each.parameters)]
    rng, total = np.random.RandomState(seed), np.zeros(EXCHANGES + 1)
    for k, (_, test) in enumerate(folds):
        losses = log_losses(np.mean([each.answers[k].probability for each in fixed], axis=0))
        columns = scorer.columns([test])
        orders = np.stack([np.arange(len(test)), *(rng.permutation(len(test)) for _ in range(EXCHANGES))])
        total += losses[np.arange(len(test)), columns[orders]].sum(axis=1)
    return float(np.mean(total <= total[0] + 1e-9))


def _is_fixed(parameters: Parameters) -> bool:
    if "n_neighbors" in parameters:
        return parameters["n_neighbors"] == FIXED_NEIGHBOURS and parameters["weights"] == "uniform"
    return parameters["C"] == FIXED_C


def moved_at_random(X: Array, seed: int) -> Array:
    """Lorentz points after a random rotation and a move of the origin by `MOVED_BY`."""
    rng = np.random.default_rng(seed)
    d = X.shape[1] - 1
    rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))
    direction = rng.normal(size=d)
    target = lift(np.sinh(MOVED_BY) * direction / np.linalg.norm(direction))
    turned = np.column_stack([X[:, 0], X[:, 1:] @ rotation.T])
    return lift((turned @ boost(target).T)[:, 1:])
