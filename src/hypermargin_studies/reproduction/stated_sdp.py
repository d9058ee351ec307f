"""The paper's semidefinite relaxation in the coordinates and the form in which its public code states it.

`hypermargin.solvers.relaxations.sdp` solves the same program in a frame in which it is well scaled. The value is the
same, but where the optimum is no single point, and W has no largest one, an interior-point method returns a point that
depends on coordinates. With those of the data the answers are near to the ones that the paper reports.
"""

from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse

from hypermargin.arrays import Array
from hypermargin.problems import MarginProblem
from hypermargin.problems.losses import SQRT2
from hypermargin.solvers.common.conic import solve_conic
from hypermargin.solvers.relaxations.svec import smat, svec, triangle

#: Relative and absolute accuracy: MOSEK's default, which the public code does not change.
TOL, MAX_ITER = 1e-8, 400


@dataclass(frozen=True, eq=False)
class StatedRelaxation:
    """Second moments W, first moments w, and the value of the relaxation."""

    W: Array
    w: Array
    value: float


def solve_as_stated(problem: MarginProblem) -> StatedRelaxation:
    """Minimise ``Tr(GW)/2 + sum_i c_i xi_i`` over ``Z = [[1, w'], [w, W]] >= 0`` and ``xi >= 0``.

    Constraints: ``Tr(GW) >= 0`` and ``z_i . w + sqrt(2) xi_i >= 1`` for every sample (paper, eq.
    soft-margin-first-order-sdp). The unknowns are ``(svec Z, xi)``.
    """
    rows, costs = problem.signed_covectors, problem.costs
    n, k = rows.shape
    i, j, weight = triangle(k + 1)
    entries = len(i)
    signs = np.concatenate(([0.0, -1.0], np.ones(k - 1)))  # G, and nothing for the corner of Z
    trace = svec(np.diag(signs))
    in_margins = np.zeros((n, entries))
    first_row = (i == 0) & (j > 0)
    in_margins[:, first_row] = rows[:, j[first_row] - 1] / weight[first_row]
    corner = np.zeros((1, entries))
    corner[0, (i == 0) & (j == 0)] = 1.0
    nothing = sparse.csr_matrix((1, n))
    A = sparse.vstack(
        (
            sparse.hstack((sparse.csr_matrix(corner), nothing)),
            sparse.hstack((sparse.csr_matrix(-in_margins), -SQRT2 * sparse.identity(n))),
            sparse.hstack((sparse.csr_matrix((n, entries)), -sparse.identity(n))),
            sparse.hstack((sparse.csr_matrix(-trace[None, :]), nothing)),
            sparse.hstack((-sparse.identity(entries), sparse.csr_matrix((entries, n)))),
        )
    )
    b = np.concatenate(([1.0], -np.ones(n), np.zeros(n + 1 + entries)))
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n + 1), clarabel.PSDTriangleConeT(k + 1)]
    solved = solve_conic(np.r_[0.5 * trace, costs], sparse.csc_matrix(A), b, cones, tol=TOL, max_iter=MAX_ITER)
    Z = smat(solved.x[:entries])
    return StatedRelaxation(Z[1:, 1:], Z[0, 1:], float(solved.value))
