"""Cuts of robust problems, with proven bounds on all rounding errors.

A cut of a robust problem is ``sum a_i (1 - z'_i.v)`` with ``z'_i = y_i covector(p_i)`` and *any* p_i in the convex hull
of the set of sample i: the worst margin is at most ``z'_i.v``. Which member is taken decides how tight the bound is,
not whether it holds. So the checker computes p_i in floating point, near the worst one at the certificate's point, and
only has to show that an exact member lies within a stated distance (`members`). Errors of that kind are added to those
of the sums. At the points ``+-(1, 0, ..., 0)`` the nominal points are taken, as `Certificate` says.
"""

import numpy as np

from hypermargin.certificates.certificate import Certificate, CertificateError
from hypermargin.certificates.members import BallMembers, LinearisedMembers, Members
from hypermargin.certificates.rounding import rounding_factor
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.lorentz import Array, lift
from hypermargin.problems.linearised import LinearisedSet
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import GeodesicBall

BLOCK = 8192
#: The arguments about roundings hold for fewer dimensions than this.
MAX_DIM = 2000


def robust_cut_sums(certificate: Certificate, problem: MarginProblem) -> tuple[Array, Array]:
    """`sums.cut_sums` for the cuts at the points of a robust problem's certificate; each of shape (points, d + 2)."""
    if problem.dim > MAX_DIM:
        raise CertificateError(f"certificates of robust problems can be checked up to dimension {MAX_DIM}")
    totals = np.zeros((len(certificate.points), problem.dim + 2))
    errors = np.zeros_like(totals)
    centre = lift(certificate.centre)
    outside = certificate.points @ boost(centre)  # the boost is symmetric; any rounding of these points is as good
    n_blocks = -(-problem.n_samples // BLOCK)
    for start in range(0, problem.n_samples, BLOCK):
        members = _members(problem, centre, slice(start, start + BLOCK), certificate.threshold)
        for j, (w, W) in enumerate(zip(certificate.points, outside, strict=True)):
            nominal = abs(w[0]) == 1.0 and not np.any(w[1:])
            count, value, magnitude, error = members.nominal(w) if nominal else members.worst(w, W)
            # Terms are products of up to four numbers; the sums of magnitudes err by at most the same factor.
            gamma = rounding_factor(count + n_blocks + 12)
            totals[j] += value
            errors[j] += gamma * magnitude * (1.0 + 2.0 * gamma) + error * (1.0 + 2.0 * gamma)
    return totals, errors * (1.0 + rounding_factor(n_blocks + 4)) + 1e-300


def _members(problem: MarginProblem, centre: Array, rows: slice, threshold: float) -> Members:
    if isinstance(problem.uncertainty, GeodesicBall):
        return BallMembers(problem, centre, rows, threshold)
    if isinstance(problem.uncertainty, LinearisedSet):
        return LinearisedMembers(problem, centre, rows, threshold)
    raise CertificateError(f"certificates do not know the uncertainty set {problem.uncertainty!r}")
