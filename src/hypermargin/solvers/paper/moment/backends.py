"""The two ways to solve a relaxation, with one answer: moments, Gram matrices, and how it ended."""

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import clarabel
import numpy as np
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from scipy import sparse
from threadpoolctl import threadpool_limits

from hypermargin.arrays import Array
from hypermargin.solvers.common.conic import ConicSolution, ConicStatus, solve_conic
from hypermargin.solvers.paper.moment.interior import InteriorResult, interior_point
from hypermargin.solvers.paper.moment.relaxation import Block, Index, Relaxation
from hypermargin.solvers.paper.sdp import smat, triangle

#: Called with the iteration and a dict of its figures.
Callback = Callable[[int, dict[str, float]], None]

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
    callback: Callback | None = None,
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


# -- Clarabel: slow, general, written by others, and so a judge of the structured method -------------------------------


def global_columns(relaxation: Relaxation) -> Index:
    """The unknown behind each moment, shape (N, S): shared ones first, then group by group; -1 for the constant."""
    shared, private, n = relaxation.shared, relaxation.private, relaxation.n_groups
    columns = np.full((n, relaxation.n_moments), -1, dtype=np.int64)
    n_shared, n_private = int(shared.sum()), int(private.sum())
    columns[:, shared] = np.arange(n_shared)
    columns[:, private] = n_shared + np.arange(n * n_private).reshape(n, n_private)
    return columns


def solve_by_clarabel(
    relaxation: Relaxation, *, tol: float, max_iter: int, time_limit: float, verbose: bool
) -> tuple[Array, tuple[Array, ...], ConicSolution]:
    """Moments (N, S), Gram matrices block by block, and Clarabel's solution."""
    columns = global_columns(relaxation)
    n_unknowns = int(columns.max()) + 1
    c = np.zeros(n_unknowns)
    np.add.at(c, columns[:, 1:], relaxation.objective[:, 1:])
    parts = [_block_rows(block, columns, n_unknowns) for block in relaxation.blocks]
    A = sparse.vstack([part[0] for part in parts], format="csc")
    b = np.concatenate([part[1] for part in parts])
    cones = [cone for block in relaxation.blocks for cone in _cones(block)]
    solved = solve_conic(c, A, b, cones, tol=tol, max_iter=max_iter, time_limit=time_limit, verbose=verbose)
    moments = np.where(columns >= 0, solved.x[columns], 1.0)
    return moments, tuple(_split(relaxation, solved.dual)), solved


def _block_rows(block: Block, columns: Index, n_unknowns: int) -> tuple[sparse.csc_matrix, Array]:
    """``A, b`` with ``b - A u = svec(B(u))`` for all copies of a block."""
    rows, cols, weights = triangle(block.size)
    moments = block.shift[block.hankel[rows, cols]]  # (T, P)
    T, P = moments.shape
    unknown = columns[block.groups][:, moments]  # (copies, T, P)
    values = np.broadcast_to(block.coefficients[:, None, :] * weights[None, :, None], (block.copies, T, P))
    row = np.broadcast_to(np.arange(block.copies * T).reshape(block.copies, T, 1), unknown.shape)
    free = unknown >= 0
    A = sparse.csc_matrix((-values[free], (row[free], unknown[free])), shape=(block.copies * T, n_unknowns))
    b = np.zeros(block.copies * T)
    np.add.at(b, row[~free], values[~free])
    return A, b


def _cones(block: Block) -> list:
    if block.size == 1:
        return [clarabel.NonnegativeConeT(block.copies)]
    return [clarabel.PSDTriangleConeT(block.size)] * block.copies


def _split(relaxation: Relaxation, dual: Array) -> Iterator[Array]:
    """The multipliers of each block as matrices, shape (copies, size, size)."""
    start = 0
    for block in relaxation.blocks:
        length = block.size * (block.size + 1) // 2
        yield smat(dual[start : start + block.copies * length].reshape(block.copies, length))
        start += block.copies * length


# -- progress ----------------------------------------------------------------------------------------------------------


@contextmanager
def progress(show: bool, callback: Callback | None) -> Iterator[Callback | None]:
    """Yield the callback for the solver: the caller's, and a line on standard error if `show` is set."""
    if not show:
        yield callback
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("moment relaxation", total=None)

        def update(iteration: int, figures: dict[str, float]) -> None:
            text = f"iteration {iteration}: gap {figures['gap']:.1e}, infeasibility {figures['infeasibility']:.1e}"
            bar.update(task, description=text)
            if callback is not None:
                callback(iteration, figures)

        yield update
