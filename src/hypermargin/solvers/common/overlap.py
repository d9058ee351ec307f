"""Hard margins that nothing satisfies: a few samples, or members of their uncertainty sets, that prove it."""

import numpy as np
from scipy.optimize import linprog

from hypermargin.certificates import OverlapCertificate, RobustOverlapCertificate
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.common.robust_overlap import robust_overlap
from hypermargin.solvers.common.separation import MOST_SAMPLES, QUICK, separation


def prove_overlap(problem: MarginProblem) -> OverlapCertificate | RobustOverlapCertificate | None:
    """A checked proof that no w has all margins positive; None where none was found.

    Samples that overlap prove it without their sets, and exactly.
    """
    return _nominal_overlap(problem) or robust_overlap(problem)


def _nominal_overlap(problem: MarginProblem) -> OverlapCertificate | None:
    """Samples with a positive relation ``sum a_i z_i = 0`` between them, checked exactly; None if there are none."""
    if problem.n_samples <= QUICK:
        return _related(problem)
    found = _vertex(problem)
    return found if found is not None or problem.n_samples > MOST_SAMPLES else _related(problem)


def _related(problem: MarginProblem) -> OverlapCertificate | None:
    """The samples that a linear programme in many digits ends with."""
    found = separation(problem)
    certificate = OverlapCertificate(() if found is None else found.samples)
    return certificate if certificate.samples and certificate.holds(problem) else None


def _vertex(problem: MarginProblem) -> OverlapCertificate | None:
    """A vertex of ``{a >= 0 : sum a_i = 1, sum a_i z_i/|z_i| = 0}`` in doubles: d + 2 positive entries at most."""
    used = np.flatnonzero(problem.costs > 0.0)
    Z = problem.covectors_around(problem.centre, precise=True)[used]
    A = np.vstack([Z.T / np.linalg.norm(Z, axis=1), np.ones(used.size)])
    result = linprog(np.zeros(used.size), A_eq=A, b_eq=np.eye(problem.dim + 2)[-1], method="highs-ds")
    if result.status != 0:
        return None
    order = used[np.argsort(-result.x, kind="stable")]
    for count in range(problem.dim + 2, 1, -1):  # a degenerate vertex has fewer positive entries
        certificate = OverlapCertificate(tuple(int(i) for i in order[:count]))
        if certificate.holds(problem):
            return certificate
    return None
