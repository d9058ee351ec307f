"""Hard margins that nothing satisfies: a few samples, or members of their uncertainty sets, that prove it."""

import numpy as np
from scipy.optimize import linprog

from hypermargin.certificates import OverlapCertificate, RobustOverlapCertificate
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.common.robust_overlap import robust_overlap


def prove_overlap(problem: MarginProblem) -> OverlapCertificate | RobustOverlapCertificate | None:
    """A checked proof that no w has all margins positive; None where none was found.

    Samples that overlap prove it without their sets, and exactly.
    """
    return _nominal_overlap(problem) or robust_overlap(problem)


def _nominal_overlap(problem: MarginProblem) -> OverlapCertificate | None:
    """Samples with a positive relation ``sum a_i z_i = 0`` between them, checked exactly; None if there are none.

    A vertex of ``{a >= 0 : sum a_i = 1, sum a_i z_i = 0}`` has at most d + 2 positive entries.
    """
    used = np.flatnonzero(problem.costs > 0.0)
    Z = problem.covectors_around(problem.centre, precise=True)[used]
    A = np.vstack([Z.T / np.abs(Z).max(), np.ones(used.size)])
    result = linprog(np.zeros(used.size), A_eq=A, b_eq=np.eye(problem.dim + 2)[-1], method="highs-ds")
    if result.status != 0:
        return None
    order = used[np.argsort(-result.x, kind="stable")]
    for count in range(problem.dim + 2, 1, -1):  # a degenerate vertex has fewer positive entries
        certificate = OverlapCertificate(tuple(int(i) for i in order[:count]))
        if certificate.holds(problem):
            return certificate
    return None
