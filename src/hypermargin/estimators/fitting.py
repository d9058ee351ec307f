"""Solve and calibrate all binary problems of a scheme."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from rich.console import Console
from rich.progress import track

from hypermargin.arrays import Array
from hypermargin.estimators.calibration import fit_platt
from hypermargin.estimators.inputs import Score, TrainingSet
from hypermargin.estimators.spread import SpreadSamples
from hypermargin.solvers import Solution, solve_path

#: Pieces of work a worker: enough to even out problems of unequal size.
PIECES_PER_WORKER = 8


def solve_problems(
    samples: TrainingSet | SpreadSamples,
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
) -> list[list[Solution]]:
    """For every row of the code matrix, in its order, the solutions for every C."""
    n_problems = len(code)
    choices = [
        {**options, "refine": refine} | ({} if seeds is None else {"random_state": seeds[row]})
        for row in range(n_problems)
    ]
    # Samples that live elsewhere are passed over by all their machines at once, one problem after the other.
    workers = 1 if isinstance(samples, SpreadSamples) else min(effective_n_jobs(n_jobs), n_problems)
    solutions: Iterable[list[Solution]]
    if workers == 1:
        solutions = _solve_rows(samples, code, choices, Cs, allow_timelike, method, tol)
    else:
        pieces = np.array_split(np.arange(n_problems), min(n_problems, workers * PIECES_PER_WORKER))
        done = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(_solve_piece)(samples, code[rows], [choices[k] for k in rows], Cs, allow_timelike, method, tol)
            for rows in pieces
        )
        solutions = (solution for piece in done for solution in piece)
    if progress:
        solutions = track(solutions, "binary problems", total=n_problems, console=Console(stderr=True))
    return list(solutions)


def _solve_rows(
    samples: TrainingSet | SpreadSamples,
    code: np.ndarray,
    choices: Sequence[dict[str, Any]],
    Cs: Sequence[float],
    allow_timelike: bool,
    method: str,
    tol: float,
) -> Iterator[list[Solution]]:
    for row, options in zip(code, choices, strict=True):
        yield solve_path(samples.problem(row, Cs[0], allow_timelike), Cs, method, tol, **options)


def _solve_piece(*arguments) -> list[list[Solution]]:
    """`_solve_rows` as a list, which workers can send back."""
    return list(_solve_rows(*arguments))


def calibrate(samples: TrainingSet, code: np.ndarray, score: Score) -> tuple[Array, Array]:
    """Platt coefficients A and B of every problem on its own training scores, each shape (n_problems,)."""
    return fit_platt((code != 0.0) @ samples.sizes, lambda run: samples.scored(code, run, score))
