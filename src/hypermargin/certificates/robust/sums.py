"""Cuts of robust problems, with proven bounds on all rounding errors.

A cut of a robust problem is ``sum a_i (1 - z'_i.v)`` with ``z'_i = y_i covector(p_i)`` and *any* p_i in the convex hull
of the set of sample i: the worst margin is at most ``z'_i.v``. Which member is taken decides how tight the bound is,
not whether it holds. So the checker computes p_i in floating point, near the worst one at the certificate's point, and
only has to show that an exact member lies within a stated distance (`members`). Errors of that kind are added to those
of the sums. At the points ``+-(1, 0, ..., 0)`` the nominal points are taken, as `EnvelopeProof` says.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from flint import arb
from numpy.typing import NDArray

from hypermargin.arithmetic import UNIT_ROUNDOFF as U
from hypermargin.arithmetic import dot, in_arb, middle_and_radius, rounding_factor
from hypermargin.arrays import Array
from hypermargin.certificates.core.certificate import CertificateError
from hypermargin.certificates.core.proof import EnvelopeProof
from hypermargin.certificates.frame import FramedSamples
from hypermargin.certificates.robust.member_passes import AllSums, CompiledMembers
from hypermargin.certificates.robust.members import (
    CONE,
    NOMINAL,
    WORST,
    ImageMembers,
    LinearisedMembers,
    StepMembers,
)
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.lorentz import lift
from hypermargin.problems.linearised import Ellipsoid, LinearisedSet
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import GeodesicBall, in_cone

#: From some samples to their sums for all points of a certificate.
SumsOf = Callable[[slice], AllSums]
#: Totals and errors, each of shape (points, d + 2), and which cuts are of one class, shape (points,).
RobustSums = tuple[Array, Array, NDArray[np.bool_]]

BLOCK = 8192
#: The arguments about roundings hold for fewer dimensions than this.
MAX_DIM = 2000
#: A matrix with more rows than this is large.
LARGE_MATRIX = 32


def robust_cut_sums(proof: EnvelopeProof, problem: MarginProblem) -> RobustSums:
    """`sums.cut_sums` for the cuts at the points of a robust problem's certificate.

    Sums are made in the coordinates of the data, and moved to the frame.
    """
    if problem.dim > MAX_DIM:
        raise CertificateError(f"certificates of robust problems can be checked up to dimension {MAX_DIM}")
    if not isinstance(problem.uncertainty, GeodesicBall | LinearisedSet):
        raise CertificateError(f"certificates do not know the uncertainty set {problem.uncertainty!r}")
    if proof.precise:
        return _sums_in_frame(proof, problem)
    totals, errors, one_class = _sums_outside(proof, problem)
    return *moved_to_frame(totals, errors, proof.centre), one_class


def _sums_in_frame(proof: EnvelopeProof, problem: MarginProblem) -> RobustSums:
    """The sums from points that were moved to the frame before, and rounded there.

    Balls are the same in every frame. The members ``A x + y B W`` are those of the exact images x: their m is within
    ``e_m`` of the computed one all the same, since rounding x changes it by less than u relative to its terms. What is
    charged is that x itself is rounded. Linearised sets have images in the frame (`ImageMembers`).
    """
    samples = FramedSamples(problem, proof.centre, precise=True)
    framed = MarginProblem.unchecked(
        samples.rows, problem.y, problem.C, problem.sample_weight, problem.uncertainty, problem.allow_timelike
    )
    at_origin = replace(proof, centre=np.zeros(problem.dim))
    if isinstance(problem.uncertainty, LinearisedSet):
        rows = max(1, BLOCK // problem.dim)  # images take d^2 numbers per sample
        sums_of = array_sums(at_origin, framed, partial(ImageMembers, framed, samples))
    else:
        rows, sums_of = BLOCK, _sums_by(at_origin, framed)
    before_rounding = samples.reach_factor * problem.farthest
    return _summed(sums_of, framed, _kinds(proof), rows, 4.0 * U, before_rounding)


def _sums_outside(proof: EnvelopeProof, problem: MarginProblem) -> RobustSums:
    """The sums in the coordinates of the problem."""
    return _summed(_sums_by(proof, problem), problem, _kinds(proof), BLOCK)


def _sums_by(proof: EnvelopeProof, problem: MarginProblem) -> SumsOf:
    return (array_sums if _multiplies_large_matrices(problem) else compiled_sums)(proof, problem)


def _summed(
    sums_of: SumsOf, problem: MarginProblem, kinds: Array, block: int, rounding: float = 0.0, offset: float = 0.0
) -> RobustSums:
    """The sums over all samples, block by block.

    Points are within ``rounding |x_j| + offset`` of the exact ones, coordinate by coordinate, besides the rounding of
    x0. A cut is of one class where its samples are, counted one by one, and their members are the points themselves:
    multiples of points may be shorter than `compiled.intervals` takes vectors of one class to be.
    """
    totals = np.zeros((len(kinds), problem.dim + 2))
    errors = np.zeros_like(totals)
    taken = np.zeros((len(kinds), 2))
    n_blocks = -(-problem.n_samples // block)
    for start in range(0, problem.n_samples, block):
        counts, values, magnitudes, distances = sums_of(slice(start, start + block))
        # Terms are products of up to four numbers; the sums of magnitudes err by at most the same factor.
        gamma = rounding_factor(counts.sum(axis=1) + n_blocks + 12)[:, None]
        taken += counts
        totals += values
        errors += (gamma + rounding) * magnitudes * (1.0 + 2.0 * gamma) + distances * (1.0 + 2.0 * gamma)
        errors[:, 1:] += offset * magnitudes[:, 1:2]  # x0 is at least 1
    one_class = (kinds == NOMINAL) & (taken.min(axis=1) == 0.0)
    return totals, errors * (1.0 + rounding_factor(n_blocks + 4)) + 1e-300, one_class


def moved_to_frame(totals: Array, errors: Array, centre: Array) -> tuple[Array, Array]:
    """Sums of ``(1, z_i)`` in the frame of the centre (T, c), by ball arithmetic; rows (b, s0, sr).

    z is a covector: ``s0' = T s0 + c.sr`` and ``sr' = sr + c (s0 + c.sr/(1 + T))``.
    """
    balls = np.empty((2, *totals.shape))
    with in_arb():
        space = [arb(value) for value in centre.tolist()]
        time = (1 + dot(space, space)).sqrt()
        for j, (row, error) in enumerate(zip(totals.tolist(), errors.tolist(), strict=True)):
            b, s0, *sr = (arb(value, radius) for value, radius in zip(row, error, strict=True))
            along = dot(space, sr)
            stretch = s0 + along / (1 + time)
            moved = [b, time * s0 + along, *(s + c * stretch for s, c in zip(sr, space, strict=True))]
            balls[:, j] = np.transpose([middle_and_radius(value) for value in moved])
    return balls[0], balls[1]


def compiled_sums(proof: EnvelopeProof, problem: MarginProblem) -> SumsOf:
    """The function from samples to their sums for all points of a certificate."""
    centre = lift(proof.centre)
    members = CompiledMembers(problem, centre, proof.points, _outside(proof), _kinds(proof))
    return lambda rows: members.sums(rows, proof.threshold)


def array_sums(
    proof: EnvelopeProof, problem: MarginProblem, members_of: Callable[[slice, float], StepMembers] | None = None
) -> SumsOf:
    """The same with arrays, for linearised sets; `members_of` makes members of other kinds from rows and threshold."""
    points, outside, kinds = proof.points, _outside(proof), _kinds(proof)
    if members_of is None:
        members_of = partial(LinearisedMembers, problem, lift(proof.centre))

    def sums_of(rows: slice) -> AllSums:
        members = members_of(rows, proof.threshold)
        counts, width = np.zeros((len(points), 2)), problem.dim + 2
        values, magnitudes, distances = (np.zeros((len(points), width)) for _ in range(3))
        for j, (w, W) in enumerate(zip(points, outside, strict=True)):
            if kinds[j] == NOMINAL:
                cut = members.nominal(w)
            else:
                cut = members.cone(w, W) if kinds[j] == CONE else members.worst(w, W)
            counts[j], values[j], magnitudes[j], distances[j] = cut
        return counts, values, magnitudes, distances

    return sums_of


def _multiplies_large_matrices(problem: MarginProblem) -> bool:
    """Whether all samples share one large matrix: products with it are what arrays are faster at."""
    noise = problem.uncertainty
    return isinstance(noise, Ellipsoid) and noise.shape.ndim == 2 and problem.dim > LARGE_MATRIX


def _outside(proof: EnvelopeProof) -> Array:
    """The points in the coordinates of the data: the boost is symmetric, and any rounding of them is as good."""
    return proof.points @ boost(lift(proof.centre))


def _kinds(proof: EnvelopeProof) -> Array:
    """What the members of the cut at each point are: at ``+-(1, 0, ..., 0)`` the observed points."""
    nominal = (np.abs(proof.points[:, 0]) == 1.0) & ~np.any(proof.points[:, 1:], axis=1)
    in_the_cone = CONE if proof.cone_cuts else WORST
    return np.where(nominal, NOMINAL, np.where(in_cone(proof.points), in_the_cone, WORST))
