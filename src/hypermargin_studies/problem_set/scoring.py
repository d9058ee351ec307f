"""Score a solver on the problem set: its answers are recomputed and its time is measured; its own claims do not count.

A solver is a Python file with a function ``solve(X, y, C) -> w`` (Lorentz points, labels -1 and +1, the normal w), or
the name of a method of this package.
"""

import importlib.util
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hypermargin import MarginProblem, available_methods
from hypermargin import solve as solve_by_method
from hypermargin.solvers import get_solver, relative_gap
from hypermargin.solvers.base import option_names
from hypermargin_studies.engine.worker import LimitedWorker
from hypermargin_studies.problem_set import certified_optima, check_data, get_problem

#: The gap that methods of this package are asked for.
SCORED_TOL = {"hinge": 1e-6, "asinh": 1e-4}

Solve = Callable[[Any, Any, float], Any]


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
            before, after = (
                float(np.median(gaps)) for gaps in ([s.gap for s in better], [s.other_signs[name] for s in better])
            )
            return (
                f"on {len(better)} of {len(answered)} problems {name} does far better than w (median gap {after:.1e} "
                f"instead of {before:.1e}): the product is x * w = x0 w0 - x1 w1 - ..., and +1 is where it is positive"
            )
    return None


def score_solver(solver: str, names: Sequence[str], limit: float, loss: str = "hinge") -> Iterator[Score]:
    """Run a solver on each problem, in a process that may take `limit` seconds per problem and is then ended.

    A solver that cannot be loaded is one `ValueError`, not one per problem.
    """
    worker = LimitedWorker(__name__)
    try:
        loaded = worker.call("can_load", {"solver": solver, "loss": loss}, limit)
        if loaded.timed_out:
            raise ValueError(f"{solver} took more than {limit:g} s to import")
        if loaded.error is not None:
            raise ValueError(loaded.error.removeprefix("ValueError: "))
        for name in names:
            check_data(name.split("/")[0], loss)
            answer = worker.call("run_solver", {"solver": solver, "name": name, "loss": loss}, limit)
            if answer.timed_out:
                yield Score(name, trouble=f"took more than {limit:g} s")
            elif answer.error is not None:
                yield Score(name, trouble=answer.error)
            else:
                yield judge(name, answer.value["w"], answer.value["seconds"], loss)
    finally:
        worker.close()


def judge(name: str, w: Any, seconds: float, loss: str = "hinge") -> Score:
    """Recompute objective and gap of what a solver returned."""
    problem = get_problem(name)
    try:
        normal = np.asarray(w, dtype=np.float64)
    except (TypeError, ValueError):
        return Score(name, seconds=seconds, trouble="what it returned is not an array of numbers")
    if normal.shape != (problem.dim + 1,):
        return Score(name, seconds=seconds, trouble=f"w must have shape ({problem.dim + 1},), got {normal.shape}")
    if not np.all(np.isfinite(normal)):
        return Score(name, seconds=seconds, trouble="w holds NaN or infinity")
    objective = problem.objective(normal, loss)
    if not np.isfinite(objective):
        return Score(name, seconds=seconds, trouble="w is timelike: no hyperplane, the constraint q(w) >= 0 is broken")
    bound = certified_optima(loss)[name].lower
    others = {
        meant: relative_gap(problem.objective(normal * np.repeat(signs, (1, problem.dim)), loss), bound)
        for meant, signs in OTHER_SIGNS.items()
    }
    return Score(name, objective, relative_gap(objective, bound), seconds, other_signs=others)


# -- in the worker's process -------------------------------------------------------------------------------------------


def run_solver(solver: str, name: str, loss: str = "hinge") -> dict[str, Any]:
    """Call a solver on one problem; the data is read and the file imported before the clock starts."""
    solve = load_solver(solver, loss)
    problem = get_problem(name)
    X, y = problem.X.copy(), problem.y.copy()
    start = time.perf_counter()
    w = solve(X, y, float(problem.C))
    seconds = time.perf_counter() - start
    return {"w": np.asarray(w, dtype=np.float64).tolist(), "seconds": seconds}


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
    spec = importlib.util.spec_from_file_location("scored_solver", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{solver} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{solver} cannot be imported: {type(error).__name__}: {error}") from error
    function = getattr(module, "solve", None)
    if not callable(function):
        raise ValueError(f"{solver} has no function solve(X, y, C) that returns w")
    return function
