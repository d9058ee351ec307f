"""The families of classifiers to choose from, their candidates, and their answers to folds.

Everything is tried on unit Lorentz points; the classifier that is chosen is fitted to the coordinates of the user. In
the folds nothing is proved: pairs of classes are solved to a rough tolerance by compiled code, for all C in turn, and
kernels share the distances.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.compiled.kernel_bounds import Family as PairsOfMatrix
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.forest import HyperbolicForestClassifier
from hypermargin.estimators.inputs import TrainingSet
from hypermargin.estimators.kernel_fitting import PARAMETERS, chosen_kernel
from hypermargin.estimators.kernel_svc import HyperbolicKernelSVC
from hypermargin.estimators.multiclass import make_scheme
from hypermargin.estimators.neighbours import HyperbolicKNeighborsClassifier
from hypermargin.estimators.scoring import Answers
from hypermargin.estimators.solved import calibrate
from hypermargin.estimators.svc import HyperbolicSVC
from hypermargin.kernels import DistanceKernel
from hypermargin.kernels.chords import of_pairs, polar_points
from hypermargin.problems.kernel import KernelProblemFamily
from hypermargin.problems.losses import SQRT2
from hypermargin.solvers.kernel.compiled.curves import minimise_curves
from hypermargin.solvers.kernel.compiled.pairs import minimise_family

#: Values of C to try: factors of ten, as grid searches usually have them.
CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
#: Relative gap of fits to folds, which only have to be compared.
ROUGH = 1e-3
#: Repetitions of a sample, on average, that stand for weights of neighbours: more would fill the memory.
MOST_REPETITIONS = 10
#: With more samples the folds are those of a part of so many: its matrices of distances and of a kernel take 256 MB,
#: and scores that differ by 1.5 %, two standard errors of a proportion, are told apart.
MANY_SAMPLES = 4000
#: Kernels and the multiples of the parameter "scale" that they are tried with; docs/benchmarks/kernel_scale.md says
#: which ones are worth it.
GRID = {"distance": (1.0,), "laplacian": (1.0, 2.0), "heat": (0.25, 1.0, 4.0), "cosh": (1.0, 4.0)}
#: Pairwise steps per sample of a problem: a large C on overlapping classes would take very long, and rarely wins.
STEPS = 100
#: The violation at which pairwise steps are interrupted to look at the gap: ten times that of libsvm.
FIRST_TOL = 1e-2
#: Dimensions in which the compiled Newton steps of curves pay: their number of operations grows with the square.
FEW_DIMENSIONS = 32
#: Landmarks of a kernel of many samples, and how many those are: the matrix of 8,000 samples takes 512 MB, and that of
#: 500 landmarks and 100,000 samples 400 MB.
LANDMARKS, LANDMARKS_ABOVE = 500, 8000

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


@dataclass(frozen=True, eq=False)
class Pairs:
    """The binary problems of the samples of a fold, which are sorted by class; `rows` are theirs among all samples."""

    rows: np.ndarray
    samples: TrainingSet
    code: np.ndarray
    multi_class: str

    @classmethod
    def of(cls, samples: Samples, train: np.ndarray, multi_class: str) -> "Pairs":
        """Those of the scheme that is called `multi_class`."""
        rows = train[np.argsort(samples.labels[train], kind="stable")]
        own = samples.take(rows)
        _, sizes = np.unique(own.labels, return_counts=True)
        bounds = [0, *np.cumsum(sizes).tolist()]
        return cls(rows, TrainingSet(own.X, bounds, own.weight), make_scheme(multi_class, sizes.size).code, multi_class)

    def family(self, gram: Array) -> KernelProblemFamily:
        """The problems with C = 1 in flat arrays, and a matrix that they share, of whichever kernel."""
        dim = self.samples.X.shape[1] - 1
        return KernelProblemFamily(
            gram, DistanceKernel(), dim, self.samples.bounds, self.code, 1.0, self.samples.weight
        )

    def on_planes(self, Cs: Sequence[float], tested: Array, *, recentre: bool = True) -> list[Answers]:
        """Answers of curves for every C to points (n, d + 1); without `recentre` those of linear SVMs, to any rows."""
        family, X = self.family(np.empty((0, 0))), self.samples.X
        points, order = np.ascontiguousarray(X[family.rows]), np.argsort(Cs, kind="stable")
        planes = np.empty((len(Cs), len(self.code), X.shape[1] + 1))
        factors = np.asarray(Cs)[order] / SQRT2
        minimise_curves(points, family.y, family.costs, family.starts, factors, ROUGH, recentre, planes)
        owner = np.repeat(np.arange(len(self.code)), np.diff(family.starts))
        found = []
        for place in np.argsort(order).tolist():
            normals, intercepts = planes[place, :, :-1], planes[place, :, -1]
            trained = np.einsum("ij,ij->i", points, normals[owner]) + intercepts[owner]
            found.append(self._answers(trained, family.starts, tested @ normals.T + intercepts))
        return found

    def on_matrix(self, Cs: Sequence[float], gram: Array, used: np.ndarray, test: np.ndarray) -> list[Answers]:
        """Answers of kernel classifiers for every C to the samples `test`; `gram` is the matrix of the samples `used`.

        Each C begins with the coefficients of the next smaller one, scaled: they fit its box.
        """
        rows = np.searchsorted(used, self.rows)
        towards = gram[np.ix_(np.searchsorted(used, test), rows)]
        family = self.family(gram[np.ix_(rows, rows)])
        y, most_steps = family.y, STEPS * np.diff(family.starts)
        gradient, intercepts = np.empty(y.size), np.empty(len(self.code))
        beta, last = np.zeros(y.size), 1.0
        place = np.repeat(self.code != 0.0, self.samples.sizes, axis=1)
        coefficients = np.zeros(place.shape)
        found: dict[int, Answers] = {}
        for i in np.argsort(Cs, kind="stable").tolist():
            beta *= Cs[i] / last
            last = Cs[i]
            problems = PairsOfMatrix(*replace(family, C=last).arrays)
            gaps, steps = np.empty(intercepts.size), np.zeros(intercepts.size, dtype=np.intp)
            minimise_family(problems, ROUGH, FIRST_TOL, most_steps, beta, gradient, intercepts, gaps, steps)
            coefficients[place] = beta
            trained = gradient + y + np.repeat(intercepts, np.diff(family.starts))
            found[i] = self._answers(trained, family.starts, towards @ coefficients.T + intercepts)
        return [found[i] for i in range(len(Cs))]

    def _answers(self, trained: Array, starts: np.ndarray, tested: Array) -> Answers:
        """From scores of the training samples of every problem, flat, and of the tested points, (n, n_problems)."""
        scheme = make_scheme(self.multi_class, len(self.samples.sizes), lambda: platt, joint=True)
        platt = calibrate(self.samples, self.code, lambda k: trained[starts[k] : starts[k + 1]], scheme.joint)
        return Answers(scheme.probability(tested), scheme.decision(tested))


# -- families ----------------------------------------------------------------------------------------------------------


class Family(ABC):
    """Classifiers of one kind that differ in parameters. Simpler families, and simpler candidates, come first.

    Attributes
    ----------
    name : str
    go_on : int
        Candidates that the first comparison leaves.
    shares_folds : bool
        Whether all folds are tried together, because they share work.
    has_path : bool
        Whether candidates that differ in C alone are tried together, because they share work.
    is_costly : bool
        Whether the final fit to many samples takes much longer than that of other families.
    final_cost : float
        About how many times as long as that of a candidate to a fold of as many samples the final fit takes.
    """

    name: str
    go_on = 2
    shares_folds = False
    has_path = False
    is_costly = False
    final_cost = 3.0

    @abstractmethod
    def candidates(self, samples: Samples) -> list[Parameters]:
        """Parameters to try on such samples."""

    @abstractmethod
    def model(self, parameters: Parameters) -> Any:
        """The classifier with these parameters, on the unit hyperboloid, not fitted."""

    def on_all(self, parameters: Parameters, n_samples: int) -> Parameters:
        """The parameters for all samples, of a candidate that was tried on a part of them."""
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


class GeodesicFamily(Family):
    """`HyperbolicSVC`."""

    name = "geodesic"

    def candidates(self, samples: Samples) -> list[Parameters]:
        return [{"C": C} for C in CS]

    def model(self, parameters: Parameters) -> HyperbolicSVC:
        return HyperbolicSVC(boundary=self.name, **parameters)

    def _on_fold(self, candidates: Sequence[Parameters], train: Samples, tested: Array) -> list[Answers]:
        models = [self.model({"tol": ROUGH, "solver_options": {"verify": False}, **each}) for each in candidates]
        return [Answers.of(self.fit(model, train.X, train.labels, train.weight), tested) for model in models]


class CurveFamily(GeodesicFamily):
    """`HyperbolicSVC` with curves as boundaries: all C of a path at once."""

    name = "curve"
    has_path = True
    final_cost = 50.0  # with a certificate

    def answers(self, candidates: Sequence[Parameters], samples: Samples, folds: Folds) -> list[list[Answers]]:
        if any(set(each) - {"C"} for each in candidates) or samples.X.shape[1] > FEW_DIMENSIONS:
            model = self.model({"tol": ROUGH, **candidates[0]})
            return [_on_path(model, _path(candidates), samples.take(train), samples.X[test]) for train, test in folds]
        Cs, scheme = _path(candidates), HyperbolicSVC().multi_class
        return [Pairs.of(samples, train, scheme).on_planes(Cs, samples.X[test]) for train, test in folds]


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
    go_on = 1
    final_cost = 5.0  # as many times as many trees

    def __init__(self, seed: int, n_estimators: int) -> None:
        self.seed, self.n_estimators = seed, n_estimators

    def candidates(self, samples: Samples) -> list[Parameters]:
        return [{"min_samples_leaf": leaf} for leaf in (1, 5, 15) if 4 * leaf <= samples.total]

    def model(self, parameters: Parameters) -> HyperbolicForestClassifier:
        settings = {"n_estimators": self.n_estimators, "random_state": self.seed, **parameters}
        return HyperbolicForestClassifier(**settings)


class KernelFamily(Family):
    """`HyperbolicKernelSVC`: a matrix of distances serves all kernels, and a kernel matrix all folds and every C."""

    name = "kernel"
    go_on = 3
    shares_folds = True
    has_path = True
    is_costly = True

    def __init__(self) -> None:
        self._lock, self._points, self._chords = Lock(), np.empty((0, 0)), np.empty((0, 0))

    def candidates(self, samples: Samples) -> list[Parameters]:
        found: list[Parameters] = []
        given = dict.fromkeys(PARAMETERS.values(), "scale")
        for kernel, multiples in GRID.items():
            if kernel == "distance" and len(samples.labels) > LANDMARKS_ABOVE:
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
        if n_samples <= LANDMARKS_ABOVE or parameters.get("kernel") == "distance":
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

    def _chords_of(self, points: Array) -> Array:
        """``sinh^2(d/2)`` of all pairs of points, which are kept: several kernels need those of the same points."""
        with self._lock:
            if not np.array_equal(points, self._points):
                self._points, self._chords = points, of_pairs(lambda S, xp: S, polar_points(points))
            return self._chords

    def answers(self, candidates: Sequence[Parameters], samples: Samples, folds: Folds) -> list[list[Answers]]:
        model, Cs = self.model({"tol": ROUGH, **candidates[0]}), _path(candidates)
        kernel = chosen_kernel(model.kernel, model._kernel_parameters(), samples.X, samples.weight, 1.0)
        if set(candidates[0]) - {"kernel", "C", *PARAMETERS.values()} or not hasattr(kernel, "profile"):
            return [_on_path(model, Cs, samples.take(train), samples.X[test]) for train, test in folds]
        used = np.unique(np.concatenate([rows for fold in folds for rows in fold]))
        gram = kernel.profile(self._chords_of(samples.X[used]), samples.X.shape[1] - 1, np)
        return [Pairs.of(samples, train, model.multi_class).on_matrix(Cs, gram, used, test) for train, test in folds]


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _path(candidates: Sequence[Parameters]) -> list[float]:
    return [float(parameters.get("C", 1.0)) for parameters in candidates]


def _on_path(model: Any, Cs: Sequence[float], train: Samples, tested: Array) -> list[Answers]:
    """Answers of classifiers fitted for every C."""
    fitted = model.fit_path(train.X, train.labels, Cs, sample_weight=train.weight)
    return [Answers.of(each, tested) for each in fitted]
