"""Score a solver on the problem set: its answers are recomputed and its time is measured; its own claims do not count.

A solver is a Python file with a function ``solve(X, y, C) -> w`` (Lorentz points, labels -1 and +1, the normal w), or
the name of a method of this package.
"""

import inspect
import runpy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hypermargin import MarginProblem, available_methods, kernels, problems
from hypermargin import solve as solve_by_method
from hypermargin.arrays import Array
from hypermargin.geometry import lift
from hypermargin.problems.curve import CurveProblem
from hypermargin.problems.kernel import KernelProblem
from hypermargin.solvers import Solution, get_solver, relative_gap
from hypermargin.solvers.base import option_names
from hypermargin.solvers.curve import solve_curve
from hypermargin.solvers.kernel.method import solve_kernel
from hypermargin_studies.engine.worker import Answer, LimitedWorker
from hypermargin_studies.problem_set import certified_optima, check_data, get_problem
from hypermargin_studies.problem_set.planted import Planted, planted

#: The gap that methods of this package are asked for.
SCORED_TOL = {"hinge": 1e-6, "asinh": 1e-4}

#: Parameters that a solver of planted problems may have besides X, y and C, and where their values are.
OPTIONS = {"sample_weight": "weight", "uncertainty": "noise", "kernel": "kernel", "centre": "centre", "loss": "loss"}
OPTIONS["allow_timelike"] = "timelike"

Solve = Callable[..., Any]


@dataclass(frozen=True)
class Score:
    """One problem: the recomputed objective, its gap to the certified lower bound, seconds, and what went wrong.

    `other_signs` has the gaps of w with other signs, by the name of what it should have been (see `OTHER_SIGNS`).
    """

    name: str
    objective: float = np.inf
    gap: float = np.inf
    seconds: float = np.nan
    trouble: str = ""
    other_signs: Mapping[str, float] = field(default_factory=dict)


#: Mistakes of sign: what to return instead, and the factors of time and space.
OTHER_SIGNS = {"-w": (-1.0, -1.0), "(w0, -w1, ...)": (1.0, -1.0), "(-w0, w1, ...)": (-1.0, 1.0)}
#: Other signs do far better where they divide the gap by this.
FAR_BETTER = 3.0


def sign_hint(scores: Sequence[Score]) -> str | None:
    """A sentence where other signs of w do far better on most problems; None where they do not."""
    answered = [score for score in scores if not score.trouble]
    for name in OTHER_SIGNS:
        better = [s for s in answered if FAR_BETTER * max(s.other_signs.get(name, np.inf), 0.0) < s.gap]
        if 2 * len(better) > len(answered):
            before, after = np.median([(s.gap, s.other_signs[name]) for s in better], axis=0)
            where = f"on {len(better)} of {len(answered)} problems {name} does far better than w"
            gaps = f"(median gap {after:.1e} instead of {before:.1e})"
            return f"{where} {gaps}: the product is x * w = x0 w0 - x1 w1 - ..., and +1 is where it is positive"
    return None


def answers(
    function: str, solver: str, names: Sequence[str], limit: float, loss: str = "hinge"
) -> Iterator[tuple[str, Answer]]:
    """What `function` of this module says of each problem, in a process that may take `limit` seconds for it.

    A solver that cannot be loaded is one `ValueError`, not one per problem.
    """
    with closing(LimitedWorker(__name__)) as worker:
        loaded = worker.call("can_load", {"solver": solver, "loss": loss}, limit)
        if loaded.timed_out:
            raise ValueError(f"{solver} took more than {limit:g} s to import")
        if loaded.error is not None:
            raise ValueError(loaded.error.removeprefix("ValueError: "))
        for name in names:
            answer = worker.call(function, {"solver": solver, "name": name, "loss": loss}, limit)
            yield name, answer._replace(error=f"took more than {limit:g} s") if answer.timed_out else answer


def score_solver(solver: str, names: Sequence[str], limit: float, loss: str = "hinge") -> Iterator[Score]:
    """Run a solver on each problem and judge what it returns."""
    for dataset in dict.fromkeys(name.split("/")[0] for name in names):
        check_data(dataset, loss)
    for name, answer in answers("run_solver", solver, names, limit, loss):
        yield Score(name, trouble=answer.error) if answer.error else judge(name, **answer.value, loss=loss)


def judge(name: str, w: Any, seconds: float, loss: str = "hinge") -> Score:
    """Recompute objective and gap of what a solver returned."""
    problem, trouble = get_problem(name), ""
    try:
        normal = np.asarray(w, dtype=np.float64)
    except (TypeError, ValueError):
        return Score(name, seconds=seconds, trouble="what it returned is not an array of numbers")
    if normal.shape != (problem.dim + 1,):
        trouble = f"w must have shape ({problem.dim + 1},), got {normal.shape}"
    elif not np.all(np.isfinite(normal)):
        trouble = "w holds NaN or infinity"
    elif not np.isfinite(problem.objective(normal, loss)):
        trouble = "w is timelike: no hyperplane, the constraint q(w) >= 0 is broken"
    if trouble:
        return Score(name, seconds=seconds, trouble=trouble)
    bound = certified_optima(loss)[name].lower

    def gap(time: float, space: float) -> float:
        return relative_gap(problem.objective(normal * np.r_[time, [space] * problem.dim], loss), bound)

    others = {meant: gap(*signs) for meant, signs in OTHER_SIGNS.items()}
    return Score(name, problem.objective(normal, loss), gap(1.0, 1.0), seconds, other_signs=others)


#: Points for an answer that is called optimal or infeasible and is, for a w within `CLOSE` of the optimum without such
#: a word, for neither, and for a false word: a wrong claim makes all other claims of a solver worth little.
POINTS = {"proved": 2, "found": 1, "unknown": 0, "not for it": 0, "FALSE": -32}
CLOSE = 1e-3
#: How far, relatively, a claimed objective may be below the optimum: sums of doubles round.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Verdict:
    """One planted problem: a key of `POINTS`, and a sentence on what was false or missing."""

    name: str
    word: str
    sentence: str = ""

    @property
    def points(self) -> int:
        return POINTS[self.word]


def score_planted(solver: str, names: Sequence[str], limit: float) -> Iterator[Verdict]:
    """Run a solver on planted problems, as `score_solver` does, and judge every word of its answers."""
    for name, answer in answers("run_on_planted", solver, names, limit):
        if answer.error is not None:
            yield Verdict(name, "unknown", answer.error)
        elif isinstance(answer.value, str):
            yield Verdict(name, "not for it", answer.value)
        else:
            yield Verdict(name, *judge_words(planted(name), answer.value))


def judge_words(problem: Planted, said: Mapping[str, Any]) -> tuple[str, str]:
    """A key of `POINTS` and a sentence for the claims `w, status, lower_bound, objective` (all optional)."""
    status, bound = said.get("status"), said.get("lower_bound", -np.inf)
    if not problem.is_feasible:
        if status == "INFEASIBLE":
            return "proved", ""
        is_false = status == "OPTIMAL" or said.get("objective", np.inf) < np.inf
        return ("FALSE", "an answer to a problem that is infeasible") if is_false else ("unknown", f"status {status}")
    optimum = f"the optimum {problem.upper!r}"
    if status == "INFEASIBLE":
        return "FALSE", f"called infeasible, but {optimum} is attained"
    if bound > problem.upper:
        return "FALSE", f"the lower bound {bound!r} is above {optimum}"
    if said.get("objective", np.inf) < problem.lower - ROUNDING * abs(problem.lower):
        return "FALSE", f"the objective {said['objective']!r} is below {optimum}"
    w = np.ravel(said.get("w", ()))
    wanted = len(problem.y) if problem.kernel else len(problem.space[0]) + 1
    if w.size != wanted or not np.all(np.isfinite(w)):
        return ("FALSE", "called optimal without a w") if status == "OPTIMAL" else ("unknown", "no w")
    value = problem.value(w.tolist(), said.get("w_low"), said.get("intercept", 0.0))
    tol = 1.001 * SCORED_TOL[problem.loss]
    if status == "OPTIMAL":
        if not value <= problem.upper / (1.0 - tol) + 1e-12 * tol:  # the relative gap is to the objective
            return "FALSE", f"called optimal, but w has the objective {value.str(12, radius=False)}, and {optimum}"
        return "proved", ""
    if value <= problem.upper * (1.0 + CLOSE) + 1e-12:
        return "found", ""
    return "unknown", f"w has the objective {value.str(6, radius=False)}, and {optimum}"


def run_solver(solver: str, name: str, loss: str = "hinge") -> dict[str, Any]:
    """Call a solver on one problem; the data is read and the file imported before the clock starts."""
    solve, problem = load_solver(solver, loss), get_problem(name)
    X, y = problem.X.copy(), problem.y.copy()
    start = time.perf_counter()
    w = solve(X, y, float(problem.C))
    return {"seconds": time.perf_counter() - start, "w": np.asarray(w, dtype=np.float64).tolist()}


def run_on_planted(solver: str, name: str, loss: str = "hinge") -> dict[str, Any] | str:
    """The claims of a solver on a planted problem as plain values; a sentence where it does not take such problems."""
    planted_problem = planted(name)
    X, y = lift(np.array(planted_problem.space)), np.array(planted_problem.y, dtype=np.float64)
    if solver in available_methods():
        try:
            solution = _solved_by_method(planted_problem, X, y, solver)
        except (ValueError, TypeError) as error:  # the method says what it does not take
            return str(error)
        names = ("w", "w_low", "intercept", "lower_bound", "objective")
        said: dict[str, Any] = {key: getattr(solution, key) for key in names} | {"status": solution.status.name}
    else:
        solve = load_solver(solver)
        options = {key: getattr(planted_problem, field) for key, field in OPTIONS.items()}
        asked = {key: value for key, value in options.items() if value not in (None, False, "hinge")}
        accepted = inspect.signature(solve).parameters
        if missing := [key for key in asked if key not in accepted and "options" not in accepted]:
            return f"solve has no parameter {missing[0]}"
        answer = solve(X, y, planted_problem.C, **asked)
        said = dict(answer) if isinstance(answer, Mapping) else {"w": answer}
    said = {key: value for key, value in said.items() if value is not None}
    return {k: v if isinstance(v, str) else np.asarray(v, dtype=np.float64).tolist() for k, v in said.items()}


def _solved_by_method(problem: Planted, X: Array, y: Array, method: str) -> Solution:
    """By `exact` also kernels and curves, which have solvers of their own."""
    weight = None if problem.weight is None else np.array(problem.weight)
    if problem.kernel is not None or problem.centre is not None:
        if method != "exact":
            raise ValueError(f"{method} solves no problems of kernels and curves")
        if problem.centre is not None:
            return solve_curve(CurveProblem(MarginProblem(X, y, problem.C), np.array(problem.centre)))
        name, parameter = problem.kernel or ("", 0.0)
        kernel = getattr(kernels, name)(*([] if name == "DistanceKernel" else [parameter]))
        return solve_kernel(KernelProblem(X, y, kernel, problem.C))
    noise = None if problem.noise is None else getattr(problems, problem.noise[0])(np.array(problem.noise[1]))
    margin = MarginProblem(X, y, problem.C, weight, noise, problem.timelike)
    choice: dict[str, Any] = {"loss": problem.loss} if "loss" in option_names(get_solver(method)) else {}
    if problem.loss == "asinh" and not choice:
        raise ValueError(f"{method} does not minimise the asinh loss")
    return solve_by_method(margin, method, SCORED_TOL[problem.loss], **choice)


def can_load(solver: str, loss: str = "hinge") -> bool:
    """Whether `load_solver` finds a function; it raises where not."""
    return callable(load_solver(solver, loss))


@lru_cache(maxsize=1)
def load_solver(solver: str, loss: str = "hinge") -> Solve:
    """The function ``solve(X, y, C)`` of a file, or the method of this package of that name.

    A method that has a choice of losses minimises the one that is scored.
    """
    if solver in available_methods():
        choice: dict[str, Any] = {"loss": loss} if "loss" in option_names(get_solver(solver)) else {}
        tol = SCORED_TOL[loss]
        return lambda X, y, C: solve_by_method(MarginProblem(X, y, C=C), solver, tol, **choice).w
    path = Path(solver)
    if not path.is_file():
        raise ValueError(f"there is no file {solver}, and no method of that name ({', '.join(available_methods())})")
    if path.suffix != ".py":
        raise ValueError(f"{solver} is not a Python file")
    try:
        function = runpy.run_path(solver, run_name="scored_solver").get("solve")
    except Exception as error:
        raise ValueError(f"{solver} cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(function):
        raise ValueError(f"{solver} has no function solve(X, y, C) that returns w")
    return function
