"""Solve and calibrate all binary problems of a scheme."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from hypermargin.arrays import Array
from hypermargin.data.batching import run_batched
from hypermargin.data.blocks import BlockedSamples
from hypermargin.data.executors import BatchPolicy, DataSource
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

#: Result of one binary problem; quick results are converted to a `Solution` when it is asked for.
Answer = Solution | QuickResult

#: Options of the solver that mean one problem alone: the seconds it may take, the file it writes down its passes in.
ALONE = {"time_limit", "checkpoint"}
#: Problems of up to so many samples may leave their solutions to be made later, which takes their samples.
SMALL = 3000
#: Pieces of work a worker: enough to even out problems of unequal size.
PIECES_PER_WORKER = 8


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
) -> list[list[Answer]]:
    """For every row of the code matrix, in its order, the answers for every C."""
    n_problems = len(code)
    choices = [
        {**options, "refine": refine} | ({} if seeds is None else {"random_state": seeds[row]})
        for row in range(n_problems)
    ]
    # Samples that live elsewhere are passed over by all their machines at once.
    workers = 1 if isinstance(samples, BlockedSamples) else min(effective_n_jobs(n_jobs), n_problems)
    solutions: Iterable[list[Answer]]
    if isinstance(samples, BlockedSamples) and _in_step_pays(samples, code, options):
        solve_row = partial(_solve_elsewhere, samples, Cs, allow_timelike, method, tol)
        works = [partial(solve_row, row, choice) for row, choice in zip(code, choices, strict=True)]
        solutions = run_batched(samples.home, works)
    elif workers == 1:
        solutions = _solve_rows(samples, code, choices, Cs, allow_timelike, method, tol)
    else:
        pieces = np.array_split(np.arange(n_problems), min(n_problems, workers * PIECES_PER_WORKER))
        # Some backends ("multiprocessing") hand everything back at the end; progress is then not seen, no more.
        in_turn = getattr(get_active_backend()[0], "supports_return_generator", False)
        done = Parallel(n_jobs=n_jobs, return_as="generator" if in_turn else "list")(
            delayed(_solve_piece)(samples, code[rows], [choices[k] for k in rows], Cs, allow_timelike, method, tol)
            for rows in pieces
        )
        solutions = (solution for piece in done for solution in piece)
    if progress:
        solutions = tracked(solutions, "binary problems", n_problems, closing=True)
    return list(solutions)


def _solve_rows(
    samples: TrainingSet | BlockedSamples,
    code: np.ndarray,
    choices: Sequence[dict[str, Any]],
    Cs: Sequence[float],
    allow_timelike: bool,
    method: str,
    tol: float,
) -> Iterator[list[Answer]]:
    quick = _quick_solver(samples, Cs, method, choices[0])
    for row, options in zip(code, choices, strict=True):
        problem = samples.problem(row, Cs[0], allow_timelike)
        if quick is not None and problem.n_samples <= SMALL:
            yield [solve_lazily(problem, quick, tol)]
        else:
            yield [*solve_path(problem, Cs, method, tol, **options)]


def _quick_solver(
    samples: TrainingSet | BlockedSamples, Cs: Sequence[float], method: str, options: dict[str, Any]
) -> Exact | None:
    """The solver whose results may be converted to solutions later; None where there is no such solver."""
    if isinstance(samples, BlockedSamples) or len(Cs) > 1 or method != "exact" or options["refine"]:
        return None
    weight = np.ones(1) if samples.weight is None else samples.weight
    if not costs_within_reach(Cs[0] * float(weight.min()), Cs[0] * float(weight.max())):
        return None  # which is an error that `solve_path` tells
    return Exact(**{name: value for name, value in options.items() if name != "refine"})


def _solve_elsewhere(
    samples: BlockedSamples,
    Cs: Sequence[float],
    allow_timelike: bool,
    method: str,
    tol: float,
    row: np.ndarray,
    options: dict[str, Any],
    home: DataSource,
) -> list[Solution]:
    """The problem of one row, with the samples in a home that puts its questions together with those of others."""
    problem = replace(samples, home=home).problem(row, Cs[0], allow_timelike)
    return solve_path(problem, Cs, method, tol, **options)


def _in_step_pays(samples: BlockedSamples, code: np.ndarray, options: dict[str, Any]) -> bool:
    """Whether all problems should put their questions together, so that the data is read once for all of them."""
    if len(code) == 1 or not ALONE.isdisjoint(options):
        return False
    same_points = samples.uncertainty is None and bool(np.all(code))
    together = samples.home.together
    return together is BatchPolicy.ALWAYS or (together is BatchPolicy.SAME_POINTS and same_points)


def _solve_piece(*arguments) -> list[list[Answer]]:
    """`_solve_rows` as a list, which workers can send back."""
    return list(_solve_rows(*arguments))


def solve_curves(
    samples: TrainingSet, code: np.ndarray, Cs: Sequence[float], tol: float, n_jobs: int | None, progress: bool
) -> list[list[Solution]]:
    """As `solve_problems`, for boundaries that are curves."""
    done: Iterable[list[Solution]]
    if effective_n_jobs(n_jobs) == 1:
        done = (_curves_of_row(samples, row, Cs, tol) for row in code)
    else:
        tasks = (delayed(_curves_of_row)(samples, row, Cs, tol) for row in code)
        done = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    if progress:
        done = tracked(done, "binary problems", len(code), closing=True)
    return list(done)


def _curves_of_row(samples: TrainingSet, row: np.ndarray, Cs: Sequence[float], tol: float) -> list[Solution]:
    return solve_curve_path(CurveProblem(samples.problem(row, float(Cs[0]), False)), Cs, tol)


def calibrate(samples: TrainingSet, code: np.ndarray, score: Score) -> tuple[Array, Array]:
    """Platt coefficients A and B of every problem on its own training scores, each shape (n_problems,)."""
    return fit_platt((code != 0.0) @ samples.sizes, lambda run: samples.scored(code, run, score))


def calibrate_normals(samples: TrainingSet, code: np.ndarray, w: Array, intercepts: Array) -> tuple[Array, Array]:
    """The same for problems whose answers are hyperplanes: normals (n_problems, d + 1), intercepts (n_problems,)."""
    normals = covector(w)
    return calibrate(samples, code, lambda k, rows: samples.X[rows] @ normals[k] + intercepts[k])


@dataclass(eq=False)
class LazyAnswers:
    """The results of all binary problems for one C, of which certificates and calibration are computed when needed.

    They would take longer than many small problems take to solve.

    Parameters
    ----------
    samples : TrainingSet
    code : (n_problems, n_classes) array
    problem_of : callable
        The problem of a given number, as certificates state it.
    answers : list
        In the order of the rows.
    """

    samples: TrainingSet
    code: np.ndarray
    problem_of: Callable[[int], Any]
    answers: list[Any]

    @cached_property
    def solutions(self) -> list[Solution]:
        """One for each problem, in order."""
        return [
            answer if isinstance(answer, Solution) else answer.solution(self.problem_of(k))
            for k, answer in enumerate(self.answers)
        ]

    @cached_property
    def platt(self) -> tuple[Array, Array]:
        """Platt coefficients of the scores of the training points, each shape (n_problems,)."""
        intercepts = np.array([answer.intercept for answer in self.answers])
        return calibrate_normals(self.samples, self.code, np.stack([answer.w for answer in self.answers]), intercepts)
