"""A convex quadratic plus weighted hinges over a wedge of w, minimised exactly: the small problem of `refine`.

    minimise   w'Pw/2 + p.w + sum_i c_i max(0, b_i - a_i.w)     over w, or over w with  u.wr >= |t|

Clarabel's interior point solves it with one slack per sample. `hinge_engine` is the quicker one where P is diagonal and
there is no wedge.
"""

from dataclasses import dataclass

import clarabel
import numpy as np
import scipy.sparse as sp

from hypermargin.arrays import Array

_SOLVED = (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)


@dataclass(frozen=True, eq=False)
class HingeQPResult:
    """The minimiser, whether Clarabel calls it solved, and its number of iterations."""

    w: Array
    solved: bool
    n_iter: int


def minimise_hinges(
    P: Array,
    p: Array,
    rows: Array,
    offsets: Array,
    costs: Array,
    direction: Array | None = None,
    tol: float = 1e-10,
) -> HingeQPResult:
    """Minimise ``w'Pw/2 + p.w + sum_i costs_i max(0, offsets_i - rows_i.w)``.

    Parameters
    ----------
    P, p : (k, k) and (k,) arrays
        Positive semidefinite matrix and linear term.
    rows, offsets, costs : (n, k), (n,) and (n,) arrays
        The hinges. Those with cost 0 are left out.
    direction : (k - 1,) array, optional
        A unit vector u; then w = (t, wr) is kept within ``u.wr >= |t|``, a convex part of ``q(w) >= 0``.
    tol : float
        Relative and absolute gap asked of Clarabel.
    """
    used = costs > 0.0
    A, b, c = rows[used], offsets[used], costs[used]
    n, k = A.shape
    slack = sp.identity(n, format="csc")
    blocks = [sp.hstack([sp.csc_matrix(-A), -slack]), sp.hstack([sp.csc_matrix((n, k)), -slack])]
    bounds = [-b, np.zeros(n)]
    if direction is not None:
        wedge = -np.vstack([np.r_[1.0, direction], np.r_[-1.0, direction]])
        blocks.append(sp.hstack([sp.csc_matrix(wedge), sp.csc_matrix((2, n))]))
        bounds.append(np.zeros(2))
    quadratic = sp.block_diag([sp.csc_matrix(np.triu(P)), sp.csc_matrix((n, n))], format="csc")
    limits = np.concatenate(bounds)
    answer = clarabel.DefaultSolver(
        quadratic,
        np.concatenate([p, c]),
        sp.vstack(blocks, format="csc"),
        limits,
        [clarabel.NonnegativeConeT(limits.size)],
        _settings(tol),
    ).solve()
    return HingeQPResult(np.array(answer.x[:k]), answer.status in _SOLVED, answer.iterations)


def _settings(tol: float) -> clarabel.DefaultSettings:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    return settings
