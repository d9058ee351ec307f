"""What classifiers made of proved solutions share: one fit, a path over C, and solutions that can be stored."""

import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hypermargin.arrays import Array
from hypermargin.estimators.base import POSITIVE, one_of
from hypermargin.estimators.calibration import fit_platt, fit_softmax_of
from hypermargin.estimators.inputs import Score, TrainingSet
from hypermargin.estimators.model_file import is_plain
from hypermargin.estimators.multiclass import SCHEMES, Scheme, make_scheme
from hypermargin.estimators.prediction import BlockPredictor
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
#: Attributes that are read off the `Results`, which some fits leave to be computed then.
LAZY = {"solutions_", "probA_", "probB_"}


def calibrate(samples: TrainingSet, code: np.ndarray, score: Score, joint: bool = False) -> tuple[Array, Array]:
    """A and B of every problem on its own training scores, or of one-vs-rest on all; each shape (n_problems,)."""
    if joint:
        labels = np.repeat(np.arange(len(code)), samples.sizes)
        return fit_softmax_of(np.column_stack([score(k) for k in range(len(code))]), labels, samples.weight)
    return fit_platt((code != 0.0) @ samples.sizes, lambda run: samples.scored(code, run, score))


@dataclass(eq=False)
class Results:
    """The results of all binary problems for one C; certificates and calibration are computed when they are read.

    They would take longer than many small problems take to solve.

    Parameters
    ----------
    results : list of Solution, or of quick results that become one
        In the order of the problems.
    calibrate : callable
        Returns the Platt coefficients A and B, shape (n_problems,) each.
    problem_of : callable, optional
        The problem of a given number, as certificates state it; not called where all results are solutions.
    """

    results: list[Any]
    calibrate: Callable[[], tuple[Array, Array]]
    problem_of: Callable[[int], Any] | None = None

    @cached_property
    def solutions(self) -> list[Solution]:
        """One for each problem, in order."""
        return [
            result if self.problem_of is None or isinstance(result, Solution) else result.solution(self.problem_of(k))
            for k, result in enumerate(self.results)
        ]

    @cached_property
    def platt(self) -> tuple[Array, Array]:
        return self.calibrate()


class SolvedClassifier(BlockPredictor):
    """A classifier whose binary problems are solved with bounds, for one C or for several at once.

    A subclass has the parameter `multi_class`, scores points, solves the problems of models that differ in C
    (`_solve_models`), and says how a model takes its part of the results (`_set_fitted`).
    """

    RULES: ClassVar = {
        **BlockPredictor.RULES,
        "tol": POSITIVE,
        "multi_class": (lambda value: value in SCHEMES, "'ovo' or 'ovr', or 'auto'"),
        "calibration": one_of(("softmax", "platt")),
    }

    C: float
    multi_class: str
    calibration: str
    solutions_ = property(lambda self: self._found("solutions_").solutions)
    probA_ = property(lambda self: self._found("probA_").platt[0])
    probB_ = property(lambda self: self._found("probB_").platt[1])
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

    def _found(self, name: str) -> Results:
        """What the lazy attribute of this name is read off."""
        if "_results" not in vars(self):
            raise AttributeError(f"this {type(self).__name__} is not fitted, so it has no {name}")
        return self._results

    def _set_results(self, found: Results) -> None:
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
        return self._scheme_of(self.classes_.size)

    def _scheme_of(self, n_classes: int) -> Scheme:
        """How the binary problems of so many classes make one answer."""
        joint = self.calibration == "softmax"
        return make_scheme(self.multi_class, n_classes, lambda: (self.probA_, self.probB_), joint)

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
        probability; one-vs-rest: calibrated logits.
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
        state = {"calibration": "platt", **state}  # as it was before there was the parameter
        if "solutions_" in state:
            solutions = [Solution.from_dict(solution) for solution in state.pop("solutions_")]
            state["statuses_"] = [solution.status for solution in solutions]
            platt = state.pop("probA_"), state.pop("probB_")
            state["_results"] = Results(solutions, lambda: platt)
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
        self._set_results(Results(solutions, lambda: platt))
