"""Clarabel behind two functions: cone programmes, and a convex quadratic plus weighted hinges over a wedge of w.

    minimise   x'Px/2 + c.x                                     subject to b - A x in a product of cones
    minimise   w'Pw/2 + p.w + sum_i c_i max(0, b_i - a_i.w)     over w, or over w with  u.wr >= |t|

The second is the small problem of `refine`, with one slack per sample. `hinge_engine` is the quicker one where P is
diagonal and there is no wedge.
"""

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
    max_iter: int = 200,
    time_limit: float = np.inf,
    verbose: bool = False,
    P: sparse.csc_matrix | None = None,
) -> ConicSolution:
    """Minimise ``x'Px/2 + c.x`` over ``b - A x`` in the cones; of P, 0 by default, the upper triangle."""
    settings = clarabel.DefaultSettings()
    settings.verbose = verbose
    settings.max_iter = max_iter
    settings.time_limit = float(time_limit)
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    settings.max_threads = 0
    P = sparse.csc_matrix((len(c), len(c))) if P is None else P
    solution = clarabel.DefaultSolver(P, np.asarray(c), A, np.asarray(b), cones, settings).solve()
    status = _STATUS.get(str(solution.status), ConicStatus.FAILED)
    return ConicSolution(np.array(solution.x), np.array(solution.z), status, solution.obj_val, solution.iterations)


def minimise_hinges(
    P: Array,
    p: Array,
    rows: Array,
    offsets: Array,
    costs: Array,
    direction: Array | None = None,
    tol: float = 1e-10,
) -> Array:
    """The minimiser of ``w'Pw/2 + p.w + sum_i costs_i max(0, offsets_i - rows_i.w)``, shape (k,).

    `direction` is a unit vector u, shape (k - 1,): then w = (t, wr) is kept within ``u.wr >= |t|``, a convex part of
    ``q(w) >= 0``. `tol` is the relative and absolute gap asked of Clarabel.
    """
    used = costs > 0.0
    (n, k), b = rows[used].shape, offsets[used]
    slack, none = sparse.identity(n, format="csc"), sparse.csc_matrix((n, k))
    A = sparse.bmat([[sparse.csc_matrix(-rows[used]), -slack], [none, -slack]])
    limits = np.concatenate([-b, np.zeros(n)])
    if direction is not None:
        wedge = -np.vstack([np.r_[1.0, direction], np.r_[-1.0, direction]])
        A = sparse.vstack([A, sparse.hstack([sparse.csc_matrix(wedge), sparse.csc_matrix((2, n))])])
        limits = np.append(limits, np.zeros(2))
    quadratic = sparse.block_diag([sparse.csc_matrix(np.triu(P)), sparse.csc_matrix((n, n))], format="csc")
    cones = [clarabel.NonnegativeConeT(limits.size)]
    linear = np.concatenate([p, costs[used]])
    return solve_conic(linear, sparse.csc_matrix(A), limits, cones, tol=tol, P=quadratic).x[:k]
