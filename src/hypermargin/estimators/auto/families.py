"""The families of classifiers to choose from, their candidates, and the search that tries all of them on shared folds.

Everything is tried on unit Lorentz points; the classifier that is chosen is fitted to the coordinates of the user.
Costly families are tried on a part of the samples first.
"""

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from hypermargin.arrays import Array
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.forest import HyperbolicForestClassifier
from hypermargin.estimators.inputs import TrainingSet
from hypermargin.estimators.kernel_fitting import PARAMETERS, KernelSpreadWarning, chosen_kernel
from hypermargin.estimators.kernel_svc import HyperbolicKernelSVC
from hypermargin.estimators.multiclass import make_scheme
from hypermargin.estimators.neighbours import HyperbolicKNeighborsClassifier
from hypermargin.estimators.scoring import Answers, Scorer, is_near, mean_score
from hypermargin.estimators.solved import calibrate
from hypermargin.estimators.svc import HyperbolicSVC
from hypermargin.kernels.chords import polar_points
from hypermargin.progress import tracked

#: Values of C to try: factors of ten, as grid searches usually have them.
CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
#: Relative gap of fits to folds, which only have to be compared.
ROUGH = 1e-3
#: Repetitions of a sample, on average, that stand for weights of neighbours: more would fill the memory.
MOST_REPETITIONS = 10
#: Beyond, folds are fewer and every family is screened: with 8,000 samples a kernel matrix takes 512 MB.
MANY_SAMPLES = 8000
#: Kernels and the multiples of the parameter "scale" that they are tried with; docs/benchmarks/kernel_scale.md says
#: which ones are worth it.
GRID = {"distance": (1.0,), "laplacian": (1.0, 2.0), "heat": (0.25, 1.0, 4.0), "cosh": (1.0, 4.0)}
#: Steps of libsvm per training sample: a large C on overlapping classes would take very long, and rarely wins.
STEPS = 100
#: Landmarks of a kernel of many samples: their matrix for 100,000 samples takes 400 MB.
LANDMARKS = 500
#: Screening: samples of the part, folds, and candidates of each family that go on. With many samples the part is
#: larger and fewer go on, because every one of them costs more.
PART, SCREENING_FOLDS, GO_ON = 1500, 3, 4
PART_OF_MANY, GO_ON_OF_MANY = 3000, 2
#: Samples of each class that a part should have, if there are as many: ten for each fold.
LEAST_OF_A_CLASS = 30

Parameters = dict[str, Any]
#: Rows to train on and rows to test, of every fold.
Folds = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Samples:
    """Training samples: unit Lorentz points (n, d + 1), labels as class indices, weights or None."""

    X: Array
    labels: np.ndarray
    weight: Array | None

    @property
    def total(self) -> int:
        """The number of samples, repetitions that weights stand for included."""
        return len(self.labels) if self.weight is None else round(float(self.weight.sum()))

    def take(self, rows: np.ndarray) -> "Samples":
        return Samples(self.X[rows], self.labels[rows], None if self.weight is None else self.weight[rows])


# -- families ----------------------------------------------------------------------------------------------------------


class Family(ABC):
    """Classifiers of one kind that differ in parameters. Simpler families, and simpler candidates, come first.

    Attributes
    ----------
    name : str
    screened_from : int
        With more samples, candidates are compared on a part of them first.
    shares_folds : bool
        Whether all folds are tried together, because they share work.
    has_path : bool
        Whether candidates that differ in C alone are tried together, because they share work.
    is_rigid : bool
        Whether the shape of the boundary is fixed. More samples help such a family least: if it is behind on a part of
        many samples, it is behind on all of them.
    """

    name: str
    screened_from = MANY_SAMPLES
    shares_folds = False
    has_path = False
    is_rigid = False

    @abstractmethod
    def candidates(self, samples: Samples) -> list[Parameters]:
        """Parameters to try on such samples."""

    @abstractmethod
    def model(self, parameters: Parameters) -> Any:
        """The classifier with these parameters, on the unit hyperboloid, not fitted."""

    def on_all(self, parameters: Parameters, n_samples: int) -> Parameters:
        """The parameters for all samples, if those of a candidate passed the test on a part of them."""
        return parameters

    def in_space(self, parameters: Parameters, scale: float) -> Parameters:
        """The parameters in a space whose lengths are those of the unit hyperboloid divided by `scale`."""
        return parameters

    def in_words(self, parameters: Parameters) -> str:
        """The parameters as text."""
        return ", ".join(f"{name} = {_number(value)}" for name, value in parameters.items())

    def tasks(self, candidates: Sequence[Parameters]) -> list[list[int]]:
        """Indices of the candidates that are tried together: those on one path of C."""
        groups: dict[str, list[int]] = {}
        for place, parameters in enumerate(candidates):
            others = {name: value for name, value in parameters.items() if name != "C" or not self.has_path}
            groups.setdefault(repr(sorted(others.items())), []).append(place)
        return list(groups.values())

    def answers(self, candidates: Sequence[Parameters], samples: Samples, folds: Folds) -> list[list[Answers]]:
        """For every fold the answers of every candidate of one task."""
        return [self._on_fold(candidates, samples.take(train), samples.X[test]) for train, test in folds]

    def _on_fold(self, candidates: Sequence[Parameters], train: Samples, tested: Array) -> list[Answers]:
        models = [self.model(parameters) for parameters in candidates]
        return [Answers.of(self.fit(model, train.X, train.labels, train.weight), tested) for model in models]

    def takes(self, weight: Array | None) -> bool:
        """Whether classifiers of the family can be fitted with these weights of samples."""
        return True

    def fit(self, model: Any, X: Array, y: np.ndarray, weight: Array | None) -> HyperbolicClassifier:
        """Fit a classifier of the family; `weight` may be 0 for some samples."""
        return model.fit(X, y, sample_weight=weight)


class MarginFamily(Family):
    """`HyperbolicSVC`: all C of a path at once."""

    has_path = True
    is_rigid = True

    def __init__(self, boundary: str) -> None:
        self.name = boundary

    def candidates(self, samples: Samples) -> list[Parameters]:
        return [{"C": C} for C in CS]

    def model(self, parameters: Parameters) -> HyperbolicSVC:
        return HyperbolicSVC(boundary=self.name, **parameters)

    def _on_fold(self, candidates: Sequence[Parameters], train: Samples, tested: Array) -> list[Answers]:
        model = self.model(candidates[0]).set_params(tol=ROUGH)
        if self.name == "geodesic":
            model.set_params(solver_options={"verify": False})
        return _on_path(model, _path(candidates), train, tested)


class NeighbourFamily(Family):
    """`HyperbolicKNeighborsClassifier`, which takes no weights: whole numbers are taken for repetitions."""

    name = "neighbours"

    def candidates(self, samples: Samples) -> list[Parameters]:
        most = samples.total // 2
        numbers = [k for k in (5, 15, 45) if k <= most] or [1]
        return [{"n_neighbors": k, "weights": by} for k in numbers for by in ("uniform", "distance")]

    def model(self, parameters: Parameters) -> HyperbolicKNeighborsClassifier:
        return HyperbolicKNeighborsClassifier(**parameters)

    def takes(self, weight: Array | None) -> bool:
        """Whole numbers, not so large that repetitions would fill the memory."""
        return weight is None or (
            bool(np.all(weight == np.round(weight))) and weight.sum() <= MOST_REPETITIONS * len(weight)
        )

    def fit(self, model: Any, X: Array, y: np.ndarray, weight: Array | None) -> HyperbolicClassifier:
        rows = np.arange(len(y)) if weight is None else np.repeat(np.arange(len(y)), weight.astype(int))
        return model.fit(X[rows], y[rows])


class ForestFamily(Family):
    """`HyperbolicForestClassifier`."""

    name = "forest"

    def __init__(self, seed: int, n_estimators: int) -> None:
        self.seed, self.n_estimators = seed, n_estimators

    def candidates(self, samples: Samples) -> list[Parameters]:
        return [{"min_samples_leaf": leaf} for leaf in (1, 5, 15) if 4 * leaf <= samples.total]

    def model(self, parameters: Parameters) -> HyperbolicForestClassifier:
        settings = {"n_estimators": self.n_estimators, "random_state": self.seed, **parameters}
        return HyperbolicForestClassifier(**settings)


class KernelFamily(Family):
    """`HyperbolicKernelSVC`: one kernel matrix serves all folds and every C.

    In the folds, where nothing has to be proved, libsvm solves the problems; its objective is that of
    `HyperbolicKernelSVC`, which is fitted if a kernel is chosen. For many samples there is no matrix: kernels are
    approximated by landmarks, and `HyperbolicKernelSVC` is fitted in the folds as well.
    """

    name = "kernel"
    screened_from = 1500
    shares_folds = True
    has_path = True

    def candidates(self, samples: Samples) -> list[Parameters]:
        found: list[Parameters] = []
        given = dict.fromkeys(PARAMETERS.values(), "scale")
        for kernel, multiples in GRID.items():
            if kernel == "distance" and len(samples.labels) > MANY_SAMPLES:
                continue  # conditionally positive definite kernels have no landmarks
            suited = vars(chosen_kernel(kernel, given, samples.X, samples.weight, 1.0))
            for multiple in multiples:
                setting = {name: multiple * value for name, value in suited.items()}
                found += [{"kernel": kernel, **setting, "C": C} for C in CS]
        return found

    def model(self, parameters: Parameters) -> HyperbolicKernelSVC:
        return HyperbolicKernelSVC(**parameters)

    def on_all(self, parameters: Parameters, n_samples: int) -> Parameters:
        """With landmarks if there are many samples, unless the user gave other settings."""
        if n_samples <= MANY_SAMPLES or parameters.get("kernel") == "distance":
            return parameters
        return parameters | {"n_landmarks": LANDMARKS, "random_state": 0} | parameters  # new ones last

    def in_space(self, parameters: Parameters, scale: float) -> Parameters:
        powers = {"t": 2, "gamma": -1}  # of the length in them; `power` has none
        return {
            name: value / scale ** powers[name] if name in powers and not isinstance(value, str) else value
            for name, value in parameters.items()
        }

    def in_words(self, parameters: Parameters) -> str:
        others = {name: value for name, value in parameters.items() if name not in ("kernel", "random_state")}
        return ", ".join([parameters.get("kernel", "heat"), *(f"{k} = {_number(v)}" for k, v in others.items())])

    def answers(self, candidates: Sequence[Parameters], samples: Samples, folds: Folds) -> list[list[Answers]]:
        model, Cs = self.model(candidates[0]).set_params(tol=ROUGH), _path(candidates)
        if model.n_landmarks is not None:
            found = []
            for train, test in folds:  # at most as many landmarks as there are different samples
                own = samples.take(train)
                model.n_landmarks = min(model.n_landmarks or LANDMARKS, len(np.unique(own.X, axis=0)))
                found.append(_on_path(model, Cs, own, samples.X[test]))
            return found
        kernel = chosen_kernel(model.kernel, model._kernel_parameters(), samples.X, samples.weight, 1.0)
        used = np.unique(np.concatenate([rows for fold in folds for rows in fold]))
        gram = kernel.between(polar_points(samples.X[used]))
        own = samples.take(used)
        return [_from_gram(gram, Cs, own, *(np.searchsorted(used, rows) for rows in fold)) for fold in folds]


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _path(candidates: Sequence[Parameters]) -> list[float]:
    return [float(parameters.get("C", 1.0)) for parameters in candidates]


def _on_path(model: Any, Cs: Sequence[float], train: Samples, tested: Array) -> list[Answers]:
    """Answers of classifiers fitted for every C."""
    fitted = model.fit_path(train.X, train.labels, Cs, sample_weight=train.weight)
    return [Answers.of(each, tested) for each in fitted]


def _from_gram(
    gram: Array, Cs: Sequence[float], samples: Samples, train: np.ndarray, test: np.ndarray
) -> list[Answers]:
    """Answers for the rows `test` of classifiers fitted to the rows `train` for every C."""
    rows = train[np.argsort(samples.labels[train], kind="stable")]
    own = samples.take(rows)
    classes, sizes = np.unique(own.labels, return_counts=True)
    among, towards = gram[np.ix_(rows, rows)], gram[np.ix_(test, rows)]
    sorted_samples = TrainingSet(own.X, [0, *np.cumsum(sizes).tolist()], own.weight)
    code = make_scheme("ovo", classes.size).code
    sign = 1.0 if classes.size == 2 else -1.0  # libsvm's pairs speak for their first class
    found = []
    for C in Cs:
        machine = SVC(C=C, kernel="precomputed", tol=ROUGH, decision_function_shape="ovo", max_iter=STEPS * len(rows))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(among, own.labels, sample_weight=own.weight)
        trained, tested = (sign * machine.decision_function(K).reshape(len(K), -1) for K in (among, towards))
        platt = calibrate(sorted_samples, code, partial(_scores_of, trained, sorted_samples, code))
        found.append(_voted(tested, classes.size, platt))
    return found


def _voted(scores: Array, n_classes: int, platt: tuple[Array, Array]) -> Answers:
    scheme = make_scheme("ovo", n_classes, lambda: platt)
    return Answers(scheme.probability(scores), scheme.decision(scores))


def _scores_of(scores: Array, samples: TrainingSet, code: np.ndarray, k: int) -> Array:
    return samples.rows(scores[:, k], code[k])


# -- search ------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Candidate:
    """Parameters of a family, their answers and scores on every fold, and the seconds these took.

    `screening` is the score on a part of the samples. Candidates that ended there have no answers.
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


@dataclass(frozen=True, eq=False)
class Search:
    """Samples, how answers are scored, and how the work is done."""

    samples: Samples
    scorer: Scorer
    n_jobs: int | None
    progress: bool
    seed: int

    def run(self, wanted: Sequence[tuple[Family, list[Parameters]]], folds: Folds) -> list[Candidate]:
        """Try candidates on the folds; of screened families those that do best on a part of the samples."""
        candidates = [Candidate(family, parameters) for family, given in wanted for parameters in given]
        n_samples = len(self.samples.labels)
        self._screen([each for each in candidates if n_samples > each.family.screened_from])
        going_on = [each for each in candidates if not np.isneginf(each.screening)]
        for each in going_on:
            each.parameters = each.family.on_all(each.parameters, n_samples)
        self._try(going_on, folds, "candidates")
        return candidates

    def _screen(self, candidates: list[Candidate]) -> None:
        """Set the `screening` score of candidates, -inf for those that do not go on."""
        are_many = len(self.samples.labels) > MANY_SAMPLES
        size, go_on = (PART_OF_MANY, GO_ON_OF_MANY) if are_many else (PART, GO_ON)
        if len(candidates) <= go_on:
            return
        rows = part_of(self.samples.labels, size, self.seed)
        folds = StratifiedKFold(SCREENING_FOLDS, shuffle=True, random_state=self.seed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            parts = [(rows[train], rows[test]) for train, test in folds.split(rows, self.samples.labels[rows])]
        self._try(candidates, parts, "candidates on a part of the samples")
        best = max(candidates, key=lambda each: each.mean)
        for family, own in _by_family(candidates):
            own.sort(key=lambda each: -each.mean)
            is_behind = family.is_rigid and not is_near(own[0].scores, best.scores)
            for place, each in enumerate(own):
                each.screening = -np.inf if is_behind or place >= go_on else each.mean
        for each in candidates:
            each.answers, each.scores = [], np.empty(0)

    def _try(self, candidates: list[Candidate], folds: Folds, what: str) -> None:
        """Fill in answers and scores on all folds."""
        work = []
        for family, own in _by_family(candidates):
            groups = [[own[i] for i in places] for places in family.tasks([each.parameters for each in own])]
            parts = [list(range(len(folds)))] if family.shares_folds else [[k] for k in range(len(folds))]
            work += [(group, part) for group in groups for part in parts]
        for each in candidates:
            each.answers = [None] * len(folds)  # type: ignore[list-item]
        tasks = (delayed(self._answers)(group, [folds[k] for k in part]) for group, part in work)
        with warnings.catch_warnings():  # here, because filters are those of all threads
            for expected in (ConvergenceWarning, KernelSpreadWarning):
                warnings.simplefilter("ignore", expected)
            done: Iterable = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(tasks)
            if self.progress:
                done = tracked(done, what, len(work), closing=True)
            for (group, part), (answers, seconds) in zip(work, done, strict=True):
                for k, of_fold in zip(part, answers, strict=True):
                    for each, own_answers in zip(group, of_fold, strict=True):
                        each.answers[k] = own_answers
                for each in group:
                    each.seconds += seconds / len(group)
        tests = [test for _, test in folds]
        for each in candidates:
            each.scores = self.scorer.scores(each.answers, tests)

    def _answers(self, group: list[Candidate], folds: Folds) -> tuple[list[list[Answers]], float]:
        """Answers of a group of candidates on some folds, and the seconds; folds may lack classes to train on."""
        began = time.perf_counter()
        labels, n_classes = self.samples.labels, self.scorer.classes.size
        present = [np.unique(labels[train]) for train, _ in folds]
        usable = [fold for fold, classes in zip(folds, present, strict=True) if classes.size > 1]
        with config_context(assume_finite=True, skip_parameter_validation=True):  # of this thread
            fitted = iter(group[0].family.answers([each.parameters for each in group], self.samples, usable))
        found = []
        for (_, test), classes in zip(folds, present, strict=True):
            if classes.size > 1:
                found.append([answers.among(classes, n_classes) for answers in next(fitted)])
            else:  # nothing to learn: the one class there is
                found.append([Answers(np.ones((len(test), 1))).among(classes, n_classes)] * len(group))
        return found, time.perf_counter() - began


def _by_family(candidates: Sequence[Candidate]) -> list[tuple[Family, list[Candidate]]]:
    families = dict.fromkeys(each.family for each in candidates)
    return [(family, [each for each in candidates if each.family is family]) for family in families]


def part_of(labels: np.ndarray, size: int, seed: int) -> np.ndarray:
    """Rows of about `size` samples, drawn in proportion to the classes, but at least `LEAST_OF_A_CLASS` of each."""
    rng = np.random.RandomState(seed)
    share = size / labels.size
    chosen = []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        wanted = min(rows.size, max(LEAST_OF_A_CLASS, round(share * rows.size)))
        chosen.append(rng.permutation(rows)[:wanted])
    return np.sort(np.concatenate(chosen))
