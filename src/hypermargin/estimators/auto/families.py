"""The families of classifiers to choose from: their candidates, and how they are tried on a fold.

Everything is tried on unit Lorentz points; the classifier that is chosen is fitted to the coordinates of the user.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from hypermargin.arrays import Array
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.fitting import calibrate
from hypermargin.estimators.forest import HyperbolicForestClassifier
from hypermargin.estimators.inputs import TrainingSet
from hypermargin.estimators.kernel_choice import PARAMETERS, chosen_kernel
from hypermargin.estimators.kernel_svc import HyperbolicKernelSVC
from hypermargin.estimators.multiclass import make_scheme
from hypermargin.estimators.neighbours import HyperbolicKNeighborsClassifier
from hypermargin.estimators.scoring import Answers
from hypermargin.estimators.svc import HyperbolicSVC
from hypermargin.kernels.chords import polar_points

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
#: Steps of libsvm per training sample: a large C on classes that overlap would take for ever, and rarely wins.
STEPS = 100
#: Landmarks of a kernel of many samples: their matrix for 100,000 samples takes 400 MB.
LANDMARKS = 500

Parameters = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Samples:
    """Training samples of one try: unit Lorentz points (n, d + 1), labels as class indices, weights or None."""

    X: Array
    labels: np.ndarray
    weight: Array | None

    @property
    def total(self) -> int:
        """Samples, repetitions that weights stand for included."""
        return len(self.labels) if self.weight is None else round(float(self.weight.sum()))

    def take(self, rows: np.ndarray) -> "Samples":
        return Samples(self.X[rows], self.labels[rows], None if self.weight is None else self.weight[rows])


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
    def model(self, parameters: Parameters) -> HyperbolicClassifier:
        """The classifier with these parameters, on the unit hyperboloid, not fitted."""

    def on_all(self, parameters: Parameters, n_samples: int) -> Parameters:
        """The parameters for all samples, where those of a candidate stood the test on a part of them."""
        return parameters

    def in_space(self, parameters: Parameters, scale: float) -> Parameters:
        """The parameters in a space whose lengths are those of the unit hyperboloid divided by `scale`."""
        return parameters

    def in_words(self, parameters: Parameters) -> str:
        """What a reader should know of the parameters."""
        return ", ".join(f"{name} = {_number(value)}" for name, value in parameters.items())

    def tasks(self, candidates: Sequence[Parameters]) -> list[list[int]]:
        """Indices of the candidates that are tried together: those on one path of C."""
        groups: dict[str, list[int]] = {}
        for place, parameters in enumerate(candidates):
            others = {name: value for name, value in parameters.items() if name != "C" or not self.has_path}
            groups.setdefault(repr(sorted(others.items())), []).append(place)
        return list(groups.values())

    def answers(
        self, candidates: Sequence[Parameters], samples: Samples, folds: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> list[list[Answers]]:
        """For every fold (rows to train on, rows to test) the answers of every candidate of one task."""
        return [self._on_fold(candidates, samples.take(train), samples.X[test]) for train, test in folds]

    def _on_fold(self, candidates: Sequence[Parameters], train: Samples, tested: Array) -> list[Answers]:
        models = [self.model(parameters) for parameters in candidates]
        return [_answers(self.fit(model, train.X, train.labels, train.weight), tested) for model in models]

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
        rough: Parameters = {"tol": ROUGH}
        if self.name == "geodesic":
            rough["solver_options"] = {"verify": False}
        model = self.model(candidates[0]).set_params(**rough)
        Cs = [parameters.get("C", 1.0) for parameters in candidates]
        fitted = model.fit_path(train.X, train.labels, Cs, sample_weight=train.weight)
        return [_answers(each, tested) for each in fitted]


class NeighbourFamily(Family):
    """`HyperbolicKNeighborsClassifier`, which knows no weights: whole numbers are taken for repetitions."""

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
    `HyperbolicKernelSVC`, which is fitted if a kernel is chosen. Many samples have no matrix: there kernels are
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
        """With landmarks where samples are many, unless the user has said otherwise."""
        if n_samples <= MANY_SAMPLES or parameters.get("kernel") == "distance":
            return parameters
        return parameters | {"n_landmarks": LANDMARKS, "random_state": 0} | parameters  # new ones last

    def in_space(self, parameters: Parameters, scale: float) -> Parameters:
        powers = {"t": 2, "gamma": -1}  # as a length enters; `power` is of none
        return {
            name: value / scale ** powers[name] if name in powers and not isinstance(value, str) else value
            for name, value in parameters.items()
        }

    def in_words(self, parameters: Parameters) -> str:
        others = {name: value for name, value in parameters.items() if name not in ("kernel", "random_state")}
        return ", ".join([parameters.get("kernel", "heat"), *(f"{k} = {_number(v)}" for k, v in others.items())])

    def answers(
        self, candidates: Sequence[Parameters], samples: Samples, folds: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> list[list[Answers]]:
        model = self.model(candidates[0]).set_params(tol=ROUGH)
        Cs = [float(parameters.get("C", 1.0)) for parameters in candidates]
        if model.n_landmarks is not None:
            return [_by_landmarks(model, Cs, samples.take(train), samples.X[test]) for train, test in folds]
        kernel = chosen_kernel(model.kernel, model._kernel_parameters(), samples.X, samples.weight, 1.0)
        used = np.unique(np.concatenate([rows for fold in folds for rows in fold]))
        gram = kernel.between(polar_points(samples.X[used]))
        own = samples.take(used)
        return [_from_gram(gram, Cs, own, *(np.searchsorted(used, rows) for rows in fold)) for fold in folds]


def _answers(model: Any, tested: Array) -> Answers:
    decision = model.decision_function(tested) if hasattr(model, "decision_function") else None
    return Answers(model.predict_proba(tested), decision)


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _by_landmarks(model: HyperbolicKernelSVC, Cs: Sequence[float], train: Samples, tested: Array) -> list[Answers]:
    """Answers of classifiers fitted for every C, with at most as many landmarks as there are different samples."""
    model.n_landmarks = min(model.n_landmarks or LANDMARKS, len(np.unique(train.X, axis=0)))
    fitted = model.fit_path(train.X, train.labels, Cs, sample_weight=train.weight)
    return [Answers(each.predict_proba(tested), each.decision_function(tested)) for each in fitted]


def _from_gram(
    gram: Array, Cs: Sequence[float], samples: Samples, train: np.ndarray, test: np.ndarray
) -> list[Answers]:
    """Answers for the rows `test` of classifiers fitted to the rows `train` for every C."""
    rows = train[np.argsort(samples.labels[train], kind="stable")]
    own = samples.take(rows)
    classes, sizes = np.unique(own.labels, return_counts=True)
    among, towards = gram[np.ix_(rows, rows)], gram[np.ix_(test, rows)]
    sorted_samples = TrainingSet(own.X, [0, *np.cumsum(sizes).tolist()], own.weight)
    scheme = make_scheme("ovo", classes.size)
    sign = 1.0 if classes.size == 2 else -1.0  # libsvm's pairs speak for their first class
    found = []
    for C in Cs:
        machine = SVC(C=C, kernel="precomputed", tol=ROUGH, decision_function_shape="ovo", max_iter=STEPS * len(rows))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(among, own.labels, sample_weight=own.weight)
        trained, tested = (sign * machine.decision_function(K).reshape(len(K), -1) for K in (among, towards))
        platt = calibrate(sorted_samples, scheme.code, partial(_block_of, trained))
        found.append(Answers(scheme.probability(tested, *platt), scheme.decision(tested, *platt)))
    return found


def _block_of(scores: Array, problem: int, rows: slice) -> Array:
    return scores[rows, problem]
