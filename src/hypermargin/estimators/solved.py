"""What classifiers made of proved solutions share: one fit, a path over C, and solutions that can be stored."""

import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hypermargin.arrays import Array
from hypermargin.estimators.calibration import fit_platt
from hypermargin.estimators.inputs import Score, TrainingSet
from hypermargin.estimators.model_file import is_plain
from hypermargin.estimators.multiclass import Scheme, make_scheme
from hypermargin.estimators.prediction import BlockPredictor
from hypermargin.geometry.lorentz import covector
from hypermargin.solvers import Solution, Status

#: Ends of a solve that a user should hear of without asking.
WORTH_A_WARNING = (
    Status.ITERATION_LIMIT,
    Status.TIME_LIMIT,
    Status.CHECK_FAILED,
    Status.INFEASIBLE,
    Status.FAILED,
)
#: Entries of the largest array that prediction makes at a time: 16 MiB beside the cache.
CHUNK_ENTRIES = 1 << 21
#: Attributes that are read off the results, which some fits leave to be computed then (`LazyAttribute`).
LAZY = {"solutions_", "probA_", "probB_"}


def calibrate(samples: TrainingSet, code: np.ndarray, score: Score) -> tuple[Array, Array]:
    """Platt coefficients A and B of every problem on its own training scores, each shape (n_problems,)."""
    return fit_platt((code != 0.0) @ samples.sizes, lambda run: samples.scored(code, run, score))


@dataclass(eq=False)
class LazyResults:
    """The results of all binary problems for one C; certificates and calibration are computed when they are read.

    They would take longer than many small problems take to solve.

    Parameters
    ----------
    samples : TrainingSet
    code : (n_problems, n_classes) array
    problem_of : callable
        The problem of a given number, as certificates state it.
    results : list
        In the order of the rows.
    """

    samples: TrainingSet
    code: np.ndarray
    problem_of: Callable[[int], Any]
    results: list[Any]

    @cached_property
    def solutions(self) -> list[Solution]:
        """One for each problem, in order."""
        return [
            result if isinstance(result, Solution) else result.solution(self.problem_of(k))
            for k, result in enumerate(self.results)
        ]

    @cached_property
    def platt(self) -> tuple[Array, Array]:
        """Platt coefficients of the scores of the training points, each shape (n_problems,)."""
        return calibrate(self.samples, self.code, self.scores_of)

    def scores_of(self, k: int) -> Array:
        """Scores of the training points of problem k, class by class."""
        normal, intercept, X = covector(self.results[k].w), self.results[k].intercept, self.samples.X
        return np.concatenate([X[rows] @ normal + intercept for rows in self.samples.blocks(self.code[k])])


@dataclass(eq=False)
class KnownResults:
    """Solutions and Platt coefficients that are there already."""

    solutions: list[Solution]
    platt: tuple[Array, Array]

    @property
    def results(self) -> list[Solution]:
        return self.solutions


class LazyAttribute:
    """A fitted attribute that `of` reads off `_results`, which compute it when it is first read."""

    def __init__(self, of: Callable[[Any], Any]):
        self.of = of

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        if "_results" not in vars(model):
            raise AttributeError(f"this {type(model).__name__} is not fitted, so it has no {self.name}")
        return self.of(model._results)


class SolvedClassifier(BlockPredictor):
    """A classifier whose binary problems are solved with bounds, for one C or for several at once.

    A subclass has the parameter `multi_class`, scores points, solves the problems of models that differ in C
    (`_solve_models`), and says how a model takes its part of the results (`_set_fitted`).
    """

    C: float
    multi_class: str
    solutions_: Any = LazyAttribute(lambda results: results.solutions)
    probA_: Any = LazyAttribute(lambda results: results.platt[0])
    probB_: Any = LazyAttribute(lambda results: results.platt[1])
    gaps_: Array
    statuses_: list[Status]
    n_iter_: np.ndarray

    def fit(self, X, y=None, sample_weight=None) -> Self:
        """Fit to points X, shape (n, width), with labels y of any dtype, shape (n,).

        Weights, shape (n,), multiply C: a weight of 2 equals the sample twice, 0 leaves it out.

        `HyperbolicSVC` takes data in blocks and leaves it where it is (docs/large-data.md): a large `numpy.memmap`, a
        CUDA tensor, a Dask array or dataframe, a `hypermargin.passes.Source`, or the name of a Parquet or CSV file, for
        which y and `sample_weight` are names of columns.
        """
        self._fit_models([self], X, y, sample_weight)
        return self

    def fit_path(self, X, y, Cs, sample_weight=None) -> list[Self]:
        """Classifiers like this one, fitted for every C of a list, in its order; this one stays as it is.

        What does not depend on C is computed once, and each C begins with what the one before has found, so that a path
        costs little more than one fit.
        """
        models = [self._with_C(float(C)) for C in Cs]
        if not models:
            raise ValueError("Cs is empty: give at least one C")
        self._fit_models(models, X, y, sample_weight)
        return models

    def _with_C(self, C: float) -> Self:
        """A classifier that is not fitted and differs from this one in C."""
        return clone(self).set_params(C=C)

    def _fit_models(self, models: Sequence[Self], X, y, sample_weight) -> None:
        """Fit models that differ in C, all binary problems for all C at once."""
        results = self._solve_models(models, X, y, sample_weight)
        for model, result in zip(models, results, strict=True):
            for known in ("n_features_in_", "feature_names_in_", "curvature"):  # of X, where it is a tensor that knows
                if hasattr(models[0], known):
                    setattr(model, known, getattr(models[0], known))
            model._set_fitted(*result)

    @abstractmethod
    def _solve_models(self, models: Sequence[Self], X, y, sample_weight) -> list[tuple]:
        """Check parameters and data (the columns of X by the first model), solve; return what `_set_fitted` takes."""

    @abstractmethod
    def _set_fitted(self, *result: Any) -> None:
        """Set the fitted attributes from the solutions of all binary problems."""

    def _set_results(self, found: KnownResults | LazyResults) -> None:
        """Keep what `LAZY` attributes are read off, and set what solutions say in a word."""
        self._results = found
        self.intercept_ = np.array([result.intercept for result in found.results], dtype=np.float64)
        self.gaps_ = np.array([result.gap for result in found.results])
        self.statuses_ = [result.status for result in found.results]
        self.n_iter_ = np.array([result.n_iter for result in found.results], dtype=np.int64)

    def _warn_of_statuses(self) -> None:
        for status, count in Counter(self.statuses_).items():
            if status in WORTH_A_WARNING:
                warnings.warn(
                    f"{count} of {len(self.statuses_)} binary problems ended so: {status.value}",
                    ConvergenceWarning,
                    stacklevel=5,
                )

    # -- prediction --------------------------------------------------------------------------------------------------

    @abstractmethod
    def _scores(self, points: Array) -> Array:
        """Scores of unit Lorentz points in every binary problem, (n, d + 1) to (n, n_problems)."""

    def _scheme(self) -> Scheme:
        return make_scheme(self.multi_class, self.classes_.size, lambda: (self.probA_, self.probB_))

    def _combined(self, points: Array, what: str) -> np.ndarray:
        """The method `what` of the scheme, some rows at a time to bound memory."""
        scheme = self._scheme()
        combine = getattr(scheme, what)
        rows = max(1, CHUNK_ENTRIES // (scheme.n_problems + self.classes_.size**2))
        starts = range(0, len(points), rows)
        return np.concatenate([combine(self._scores(points[start : start + rows])) for start in starts])

    def decision_function(self, X) -> Array:
        """Two classes: the score, shape (n,), positive for ``classes_[1]``.

        More classes: shape (n, n_classes), largest for the predicted class. One-vs-one: votes plus half the coupled
        probability; one-vs-rest: Platt-scaled log-odds.
        """
        return self._predicted(X, "decision")

    # -- storage: what solutions consist of, because skops cannot store an Enum ----------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if state.pop("_results", None) is not None:
            state |= {name: getattr(self, name) for name in LAZY}
            state["solutions_"] = [solution.to_dict() for solution in state["solutions_"]]
            del state["statuses_"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "solutions_" in state:
            solutions = [Solution.from_dict(solution) for solution in state.pop("solutions_")]
            state["statuses_"] = [solution.status for solution in solutions]
            state["_results"] = KnownResults(solutions, (state.pop("probA_"), state.pop("probB_")))
        super().__setstate__(state)

    def _plain_solutions(self) -> list[dict[str, Any]]:
        """Solutions for a model file, but for certificates that it cannot keep as they are."""
        return [
            {
                **vars(solution),
                "status": solution.status.name,
                "history": {key: np.asarray(values) for key, values in solution.history.items()},
                "info": {key: value for key, value in solution.info.items() if is_plain(value)},
            }
            for solution in self.solutions_
        ]

    def _restore(self, state: dict[str, Any], *beside: Array) -> None:
        """Set solutions and calibration from a model file; arrays `beside` them have a row for each problem too."""
        # Every scheme has at least that many problems; the matrix of a scheme for more classes would fill the memory.
        if self.classes_.size - 1 > len(state["solutions"]):
            raise ValueError("there are fewer solutions than the number of classes asks for")
        n_problems, platt = self._scheme().n_problems, (state["probA_"], state["probB_"])
        if any(len(part) != n_problems for part in (*platt, *beside, state["solutions"])):
            raise ValueError("calibration and solutions do not fit the number of classes")
        solutions = [Solution.from_dict(solution) for solution in state["solutions"]]
        self._set_results(KnownResults(solutions, platt))
