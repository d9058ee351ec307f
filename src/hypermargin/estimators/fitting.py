"""Solve and calibrate all binary problems of a scheme."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from hypermargin.arrays import Array
from hypermargin.data.blocks import BlockedSamples
from hypermargin.data.executors import BatchPolicy, run_batched
from hypermargin.estimators.calibration import fit_platt
from hypermargin.estimators.inputs import Score, TrainingSet
from hypermargin.geometry.lorentz import covector
from hypermargin.problems.curve import CurveProblem
from hypermargin.progress import tracked
from hypermargin.solvers import Solution, solve_path
from hypermargin.solvers.curve import solve_curve_path
from hypermargin.solvers.exact.finish import QuickResult
from hypermargin.solvers.exact.method import Exact
from hypermargin.solvers.solving import costs_within_reach, solve_lazily

#: Result of one binary problem; quick results are converted to a `Solution` when it is read.
Result = Solution | QuickResult

#: Options of the solver that mean one problem alone: the seconds it may take, the file of its journal.
ALONE = {"time_limit", "checkpoint"}
#: Problems of up to so many samples may leave their solutions to be made later, for which their samples are kept.
SMALL = 3000
#: Tasks per worker: enough to even out problems of unequal size.
TASKS_PER_WORKER = 8


@dataclass(frozen=True)
class Solve:
    """Solves rows of a code matrix: the binary problems of a training set, for every C.

    `choices` has the options of the solver for each row.
    """

    Cs: Sequence[float]
    allow_timelike: bool
    method: str
    tol: float

    def __call__(
        self, samples: TrainingSet | BlockedSamples, code: np.ndarray, choices: Sequence[dict[str, Any]]
    ) -> Iterator[list[Result]]:
        quick = self._quick_solver(samples, choices[0])
        for row, options in zip(code, choices, strict=True):
            problem = samples.problem(row, self.Cs[0], self.allow_timelike)
            if quick is not None and problem.n_samples <= SMALL:
                yield [solve_lazily(problem, quick, self.tol)]
            else:
                yield [*solve_path(problem, self.Cs, self.method, self.tol, **options)]

    def _quick_solver(self, samples: TrainingSet | BlockedSamples, options: dict[str, Any]) -> Exact | None:
        """The solver whose results may be converted to solutions later; None where there is no such solver."""
        if isinstance(samples, BlockedSamples) or len(self.Cs) > 1 or self.method != "exact" or options["refine"]:
            return None
        weight = np.ones(1) if samples.weight is None else samples.weight
        if not costs_within_reach(self.Cs[0] * float(weight.min()), self.Cs[0] * float(weight.max())):
            return None  # which is an error of `solve_path`
        return Exact(**{name: value for name, value in options.items() if name != "refine"})

    def as_list(self, *arguments: Any) -> list[list[Result]]:
        """The same as a list, which workers can send back."""
        return list(self(*arguments))


def solve_problems(
    samples: TrainingSet | BlockedSamples,
    code: np.ndarray,
    *,
    Cs: Sequence[float],
    allow_timelike: bool,
    method: str,
    tol: float,
    refine: bool,
    options: dict[str, Any],
    seeds: Sequence[int] | None,
    n_jobs: int | None,
    progress: bool,
) -> list[list[Result]]:
    """For every row of the code matrix, in order, the results for every C."""
    n_problems, solve = len(code), Solve(Cs, allow_timelike, method, tol)
    choices = [
        {**options, "refine": refine} | ({} if seeds is None else {"random_state": seeds[row]})
        for row in range(n_problems)
    ]
    results: Iterable[list[Result]]
    if isinstance(samples, BlockedSamples):  # each pass has all machines that the samples are on
        if _batch_pays(samples, code, options):
            works = [partial(_solve_one, solve, samples, code[[row]], [choice]) for row, choice in enumerate(choices)]
            results = run_batched(samples.source, works)
        else:
            results = solve(samples, code, choices)
    else:
        workers = min(effective_n_jobs(n_jobs), n_problems)
        if workers == 1:
            results = solve(samples, code, choices)
        else:
            tasks = np.array_split(np.arange(n_problems), min(n_problems, workers * TASKS_PER_WORKER))
            # Some backends ("multiprocessing") hand everything back at the end; progress is then not seen, no more.
            one_by_one = getattr(get_active_backend()[0], "supports_return_generator", False)
            done = Parallel(n_jobs=n_jobs, return_as="generator" if one_by_one else "list")(
                delayed(solve.as_list)(samples, code[rows], [choices[k] for k in rows]) for rows in tasks
            )
            results = (result for of_task in done for result in of_task)
    if progress:
        results = tracked(results, "binary problems", n_problems, closing=True)
    return list(results)


def _solve_one(solve: Solve, samples: BlockedSamples, code: np.ndarray, choices: Any, source: Any) -> list[Result]:
    """The results of one problem, whose functions are mapped together with those of others."""
    return next(solve(replace(samples, source=source), code, choices))


def _batch_pays(samples: BlockedSamples, code: np.ndarray, options: dict[str, Any]) -> bool:
    """Whether all problems should be solved as one batch, so that the data is read once for all of them."""
    if len(code) == 1 or not ALONE.isdisjoint(options):
        return False
    same_points = samples.uncertainty is None and bool(np.all(code))
    policy = samples.source.batch_policy
    return policy is BatchPolicy.ALWAYS or (policy is BatchPolicy.SAME_POINTS and same_points)


def solve_curves(
    samples: TrainingSet, code: np.ndarray, Cs: Sequence[float], tol: float, n_jobs: int | None, progress: bool
) -> list[list[Solution]]:
    """As `solve_problems`, for boundaries that are curves."""
    tasks = (delayed(_curves_of_row)(samples, row, Cs, tol) for row in code)
    done: Iterable[list[Solution]] = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    if progress:
        done = tracked(done, "binary problems", len(code), closing=True)
    return list(done)


def _curves_of_row(samples: TrainingSet, row: np.ndarray, Cs: Sequence[float], tol: float) -> list[Solution]:
    return solve_curve_path(CurveProblem(samples.problem(row, float(Cs[0]), False)), Cs, tol)


def calibrate(samples: TrainingSet, code: np.ndarray, score: Score) -> tuple[Array, Array]:
    """Platt coefficients A and B of every problem on its own training scores, each shape (n_problems,)."""
    return fit_platt((code != 0.0) @ samples.sizes, lambda run: samples.scored(code, run, score))


def calibrate_normals(samples: TrainingSet, code: np.ndarray, w: Array, intercepts: Array) -> tuple[Array, Array]:
    """The same for problems whose results are hyperplanes: normals (n_problems, d + 1), intercepts (n_problems,)."""
    normals = covector(w)
    return calibrate(samples, code, lambda k, rows: samples.X[rows] @ normals[k] + intercepts[k])


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
        intercepts = np.array([result.intercept for result in self.results])
        return calibrate_normals(self.samples, self.code, np.stack([result.w for result in self.results]), intercepts)
