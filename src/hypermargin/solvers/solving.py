"""From a problem to its solution: `solve`, and `solve_path` for every C of a list."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypermargin.problems.losses import get_loss
from hypermargin.problems.margin import NEEDS_ROWS, MarginProblem
from hypermargin.solvers.base import Outcome, Solution, Solver, judge, make_solver, solvers_that_handle
from hypermargin.solvers.common.threads import threads_for

if TYPE_CHECKING:
    from hypermargin.solvers.exact.method import Exact
    from hypermargin.solvers.exact.runs import QuickResult

#: Costs outside of these are refused, so that cubes of costs are doubles.
SMALLEST_COST, LARGEST_COST = 1e-100, 1e100


def solve(
    problem: MarginProblem,
    method: str = "exact",
    tol: float = 1e-6,
    *,
    allow_timelike: bool | None = None,
    refine: bool = False,
    **options: Any,
) -> Solution:
    """Solve a margin problem.

    Parameters
    ----------
    problem : MarginProblem
    method : str
        One of `available_methods()`.
    tol : float
        The relative gap to aim for.
    allow_timelike : bool, optional
        Overrides the field of the same name of `problem`.
    refine : bool
        Follow the method by a local descent on its loss, which keeps the bound and never raises the objective; an
        error with a hard margin, an uncertainty set or an intercept.
    **options
        Options of the method, checked against those it declares.
    """
    problem, solver = _prepare(problem, method, tol, allow_timelike, refine, options)
    start = time.perf_counter()
    with threads_for(problem.n_samples, problem.dim):
        solution = judge(problem, solver, solver.run(problem, tol), tol, start)
        return _refined(problem, solution, start) if refine else solution


def solve_path(
    problem: MarginProblem,
    Cs: Sequence[float],
    method: str = "exact",
    tol: float = 1e-6,
    *,
    allow_timelike: bool | None = None,
    refine: bool = False,
    **options: Any,
) -> list[Solution]:
    """Solutions of `problem` for every C of a list, in its order; the C of the problem itself is not used.

    The exact method carries its cuts from one C to the next, so that a path costs little more than one solve. Other
    parameters as in `solve`.
    """
    if not len(Cs):
        raise ValueError("Cs is empty: give at least one C")
    Cs = [float(C) for C in Cs]
    problem, solver = _prepare(problem.with_C(max(Cs)), method, tol, allow_timelike, refine, options)
    _require_within_reach(problem.with_C(min(Cs)))
    order = sorted(range(len(Cs)), key=Cs.__getitem__)
    solutions: list[Solution | None] = [None] * len(Cs)
    outcomes = solver.run_path(problem, [Cs[i] for i in order], tol)
    start = time.perf_counter()
    with threads_for(problem.n_samples, problem.dim):
        for i, outcome in zip(order, outcomes, strict=True):
            at_C = problem.with_C(Cs[i])
            solution = judge(at_C, solver, outcome, tol, start)
            solutions[i] = _refined(at_C, solution, start) if refine else solution
            start = time.perf_counter()
    return solutions  # type: ignore[return-value]


def solve_lazily(problem: MarginProblem, solver: "Exact", tol: float) -> "Solution | QuickResult":
    """Solve a problem, whose costs are within reach; a quick result is converted to a solution when it is asked for."""
    start = time.perf_counter()
    with threads_for(problem.n_samples, problem.dim):
        found = solver.run_small(problem, tol)
        return judge(problem, solver, found, tol, start) if isinstance(found, Outcome) else found


def _refined(problem: MarginProblem, solution: Solution, start: float) -> Solution:
    """The solution after a local descent, with the seconds since `start`."""
    from hypermargin.solvers.refine import refine_solution  # loads Clarabel, which is not always needed

    return replace(refine_solution(problem, solution), time=time.perf_counter() - start)


def _prepare(
    problem: MarginProblem,
    method: str,
    tol: float,
    allow_timelike: bool | None,
    refine: bool,
    options: dict[str, Any],
) -> tuple[MarginProblem, Solver]:
    """The problem to solve and the solver for it, or an error where they do not fit together."""
    if not tol > 0.0:
        raise ValueError(f"tol must be positive, got {tol!r}")
    if allow_timelike is not None and allow_timelike != problem.allow_timelike:
        problem = problem.with_timelike(allow_timelike)
    solver = make_solver(method, **options)
    _require(solver, problem)
    if refine:
        from hypermargin.solvers.refine import require_refinable

        if not problem.in_memory:
            raise TypeError(NEEDS_ROWS)
        require_refinable(problem, bool(options.get("fit_intercept")))
    return problem, solver


def costs_within_reach(least: float, most: float) -> bool:
    """Whether doubles can hold squares and sums of costs from `least` to `most`."""
    return SMALLEST_COST <= least <= most <= LARGEST_COST


def _require_within_reach(problem: MarginProblem) -> None:
    """Refuse costs whose squares and sums doubles cannot hold."""
    if problem.is_hard:
        return
    least, most = (problem.C * weight for weight in problem.weight_range)
    if not costs_within_reach(least, most):
        raise ValueError(
            f"C times the sample weights runs from {least:.3g} to {most:.3g}; positive ones must lie between "
            f"{SMALLEST_COST:g} and {LARGEST_COST:g}: scale C or the weights, or give a weight of 0"
        )


def _require(solver: Solver, problem: MarginProblem) -> None:
    """Refuse problems that the solver does not claim to handle, rather than solve a different problem."""
    get_loss(solver.loss)
    if not problem.in_memory and ("out-of-core" not in solver.capabilities or solver.loss != "hinge"):
        raise TypeError(NEEDS_ROWS)
    _require_within_reach(problem)
    for needed, wanted, what in (
        (problem.is_hard, "hard", "the hard margin (C = inf)"),
        (problem.allow_timelike, "timelike", "allow_timelike=True"),
        (problem.uncertainty is not None, "uncertainty", "an uncertainty set"),
    ):
        if needed and wanted not in solver.capabilities:
            able = solvers_that_handle(wanted)
            raise ValueError(
                f"solver {solver.name!r} does not handle {what}; those that do: {', '.join(able) or 'none'}"
            )
