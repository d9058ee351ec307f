"""Clarabel behind one function: minimise ``c . x`` subject to ``b - A x`` in a product of cones."""

from dataclasses import dataclass
from enum import Enum

import clarabel
import numpy as np
from scipy import sparse

from hypermargin.arrays import Array


class ConicStatus(Enum):
    """How a conic solve ended."""

    SOLVED = "solved"
    INACCURATE = "stopped with less accuracy than asked"
    INFEASIBLE = "no point satisfies the constraints"
    UNBOUNDED = "the objective falls without limit"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    FAILED = "numerical failure"


_STATUS = {
    "Solved": ConicStatus.SOLVED,
    "AlmostSolved": ConicStatus.INACCURATE,
    "PrimalInfeasible": ConicStatus.INFEASIBLE,
    "AlmostPrimalInfeasible": ConicStatus.INACCURATE,
    "DualInfeasible": ConicStatus.UNBOUNDED,
    "AlmostDualInfeasible": ConicStatus.INACCURATE,
    "MaxIterations": ConicStatus.ITERATION_LIMIT,
    "MaxTime": ConicStatus.TIME_LIMIT,
    "InsufficientProgress": ConicStatus.INACCURATE,
}


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """The point x, the multipliers of the cones (a ray of them where infeasible), and how the solve ended."""

    x: Array
    dual: Array
    status: ConicStatus
    value: float
    n_iter: int


def solve_conic(
    c: Array,
    A: sparse.csc_matrix,
    b: Array,
    cones: list,
    *,
    tol: float,
    max_iter: int,
    time_limit: float = np.inf,
    verbose: bool = False,
) -> ConicSolution:
    """Minimise ``c . x`` over ``b - A x`` in the cones."""
    settings = clarabel.DefaultSettings()
    settings.verbose = verbose
    settings.max_iter = max_iter
    settings.time_limit = float(time_limit)
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    settings.max_threads = 0
    P = sparse.csc_matrix((len(c), len(c)))
    solution = clarabel.DefaultSolver(P, np.asarray(c), A, np.asarray(b), cones, settings).solve()
    status = _STATUS.get(str(solution.status), ConicStatus.FAILED)
    return ConicSolution(np.array(solution.x), np.array(solution.z), status, solution.obj_val, solution.iterations)
