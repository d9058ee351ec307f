"""The smallest case that still tells the same kind of falsehood, and a script that shows it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from fuzz.cases import Case, Noise
from fuzz.verdict import Complaint


def shrunk(case: Case, wrong: Complaint, judge: Callable[[Case], Complaint | None]) -> tuple[Case, Complaint]:
    """Simplify as long as `judge` has a complaint of the same kind."""
    progress = True
    while progress:
        progress = False
        for simpler in simplifications(case):
            found = judge(simpler)
            if found is not None and found.kind == wrong.kind:
                case, wrong, progress = simpler, found, True
                break
    return case, wrong


def simplifications(case: Case) -> Iterator[Case]:
    """Cases that are a little simpler: fewer samples, no weights, rounder numbers."""
    if len(case.y) > 1:
        for i in range(len(case.y)):
            fewer = case.without(i)
            if fewer.weight is None or np.any(fewer.weight > 0.0):
                yield fewer
    if case.weight is not None:
        yield replace(case, weight=None)
    if case.noise is not None:
        yield replace(case, noise=None)
        if np.ndim(case.noise.rho):
            yield replace(case, noise=Noise(case.noise.name, float(np.max(case.noise.rho)), case.noise.shape))
    if case.method == "path":
        for C in case.C:
            yield replace(case, method="exact", C=(C,))
        if len(case.C) > 1:
            for i in range(len(case.C)):
                yield replace(case, C=case.C[:i] + case.C[i + 1 :])
    for digits in (1, 3, 6, 10):
        space = _rounded(case.space, digits)
        if not np.array_equal(space, case.space):
            yield replace(case, space=space)
            break
        C = tuple(float(v) for v in _rounded(np.array(case.C), digits))
        if case.C != C:
            yield replace(case, C=C)
            break
        if case.weight is not None and not np.array_equal(_rounded(case.weight, digits), case.weight):
            yield replace(case, weight=_rounded(case.weight, digits))
            break


def _rounded(values: np.ndarray, digits: int) -> np.ndarray:
    return np.vectorize(lambda v: float(f"{v:.{digits}g}"), otypes=[float])(values)


def write_reproducer(folder: Path, case: Case, wrong: Complaint) -> Path:
    """A script that needs nothing but the package."""
    path = folder / f"{wrong.kind.replace(' ', '-')}-{case.name}.py"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(script(case, wrong), encoding="utf-8")
    return path


def script(case: Case, wrong: Complaint) -> str:
    noise = "None"
    if case.noise is not None:
        rho = np.asarray(case.noise.rho).tolist()
        shape = "" if case.noise.shape is None else f"{case.noise.shape.tolist()!r}, "
        noise = f"{case.noise.name}({shape}{rho!r})"
    Cs = [v if np.isfinite(v) else "np.inf" for v in case.C]
    weight = None if case.weight is None else case.weight.tolist()
    how = {
        "path": f"solve_path(problem, {list(case.C)!r})",
        "classifier": f"HyperbolicSVC(C=problem.C, allow_timelike={case.timelike!r}, tol=1e-6)"
        f".fit(problem.X, problem.y, sample_weight={weight!r}).solutions_",
    }.get(case.method, f"[solve(problem, {case.method!r})]")
    sets = "" if case.noise is None else f"from hypermargin.problems import {case.noise.name}\n"
    return f'''"""{wrong.kind}: {wrong.sentence}

Found by `make fuzz` as case {case.name}, and made smaller.
"""

import numpy as np

from hypermargin import HyperbolicSVC, MarginProblem
{sets}from hypermargin.solvers import solve, solve_path

xr = np.array({case.space.tolist()!r})
problem = MarginProblem(
    np.column_stack([np.sqrt(1.0 + np.sum(xr**2, axis=1)), xr]),
    {case.y.tolist()!r},
    {Cs[0]},
    sample_weight={weight!r},
    uncertainty={noise},
    allow_timelike={case.timelike!r},
)
for solution in {how}:
    print(solution.status.name, repr(solution.objective), repr(solution.lower_bound), repr(solution.gap))
    print("w", solution.w.tolist(), getattr(solution, "w_low", None))
'''
