"""The two ways to solve a relaxation, with one answer: moments, Gram matrices, and how it ended."""

import importlib
import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from threadpoolctl import threadpool_limits

from hypermargin.solvers.common.conic import ConicStatus
from hypermargin.solvers.relaxations.moment.by_clarabel import solve_by_clarabel
from hypermargin.solvers.relaxations.moment.interior import InteriorResult, interior_point
from hypermargin.solvers.relaxations.moment.relaxation import Relaxation

BACKENDS = ("structured", "clarabel")

_FROM_CLARABEL = {
    ConicStatus.SOLVED: "solved",
    ConicStatus.ITERATION_LIMIT: "iteration limit",
    ConicStatus.TIME_LIMIT: "time limit",
    ConicStatus.INFEASIBLE: "infeasible",
}


def array_library(name: str) -> Any:
    """The array-API namespace called `name`, such as "numpy" or "torch"; a clear error where it is not installed."""
    for module in (f"array_api_compat.{name}", name):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError:
            continue
    raise ValueError(f"array library {name!r} is not installed; install it or use library='numpy'")


def threads(n_jobs: int) -> int:
    """Number of threads that `n_jobs` asks for; -1 is one per processor, as in scikit-learn."""
    if n_jobs == 0 or n_jobs < -1:
        raise ValueError(f"n_jobs must be a positive number of threads, or -1 for all processors, got {n_jobs}")
    return len(os.sched_getaffinity(0)) if n_jobs == -1 and hasattr(os, "sched_getaffinity") else max(n_jobs, 1)


def solve_relaxation(
    relaxation: Relaxation,
    backend: str,
    *,
    library: str = "numpy",
    device: str | None = None,
    tol: float,
    max_iter: int,
    time_limit: float,
    n_jobs: int = 1,
    verbose: bool = False,
    callback: Callable[[int, dict[str, float]], None] | None = None,
) -> InteriorResult:
    """Solve with the structured method on any array library, or with Clarabel."""
    if backend == "structured":
        on_numpy = library == "numpy"  # other libraries manage their threads themselves
        with (
            threadpool_limits(1, user_api="blas") if on_numpy else nullcontext()
        ):  # the matrices are too small to share
            return interior_point(
                relaxation,
                xp=array_library(library),
                device=device,
                tol=tol,
                max_iter=max_iter,
                time_limit=time_limit,
                n_threads=threads(n_jobs) if on_numpy else 1,
                callback=callback,
            )
    if backend == "clarabel":
        moments, grams, conic = solve_by_clarabel(
            relaxation, tol=tol, max_iter=max_iter, time_limit=time_limit, verbose=verbose
        )
        status = _FROM_CLARABEL.get(conic.status, "inaccurate")
        return InteriorResult(moments, grams, status, conic.n_iter)
    raise ValueError(f"unknown backend {backend!r}; the backends are {', '.join(BACKENDS)}")
