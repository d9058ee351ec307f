"""The two ways to solve a relaxation, with one answer: moments, Gram matrices, and how it ended."""

import importlib
from collections.abc import Callable
from typing import Any

from hypermargin.solvers.conic import ConicStatus
from hypermargin.solvers.moment.by_clarabel import solve_by_clarabel
from hypermargin.solvers.moment.interior import InteriorResult, interior_point
from hypermargin.solvers.moment.relaxation import Relaxation

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


def solve_relaxation(
    relaxation: Relaxation,
    backend: str,
    *,
    library: str = "numpy",
    device: str | None = None,
    tol: float,
    max_iter: int,
    time_limit: float,
    verbose: bool = False,
    callback: Callable[[int, dict[str, float]], None] | None = None,
) -> InteriorResult:
    """Solve with the structured method on any array library, or with Clarabel."""
    if backend == "structured":
        return interior_point(
            relaxation,
            xp=array_library(library),
            device=device,
            tol=tol,
            max_iter=max_iter,
            time_limit=time_limit,
            callback=callback,
        )
    if backend == "clarabel":
        moments, grams, conic = solve_by_clarabel(
            relaxation, tol=tol, max_iter=max_iter, time_limit=time_limit, verbose=verbose
        )
        status = _FROM_CLARABEL.get(conic.status, "inaccurate")
        return InteriorResult(moments, grams, status, conic.n_iter)
    raise ValueError(f"unknown backend {backend!r}; the backends are {', '.join(BACKENDS)}")
