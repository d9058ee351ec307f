"""Cuts of robust problems, and worst-case margins at a given normal, with proven bounds on all rounding errors.

A cut of a robust problem is ``sum a_i (1 - z'_i.v)`` with ``z'_i = y_i covector(p_i)`` and *any* p_i in the convex hull
of the set of sample i: the worst margin is at most ``z'_i.v``. Which member is taken decides how tight the bound is,
not whether it holds. So the checker computes p_i in floating point, near the worst one at the certificate's point, and
only has to show that an exact member lies within a stated distance (`compiled.members`). Errors of that kind are added
to those of the sums. At the points ``+-(1, 0, ..., 0)`` the nominal points are taken (see `EnvelopeProof`).
"""

from typing import NamedTuple

import numpy as np
from flint import arb
from numpy.typing import NDArray

from hypermargin.arithmetic import UNIT_ROUNDOFF as U
from hypermargin.arithmetic import dot, in_arb, middle_and_radius, rounding_factor
from hypermargin.arrays import Array, row_blocks
from hypermargin.certificates.compiled import members
from hypermargin.certificates.core.certificate import CertificateError
from hypermargin.certificates.core.proof import EnvelopeProof
from hypermargin.certificates.core.sums import CutSums
from hypermargin.certificates.frame import FramedSamples
from hypermargin.geometry.isometries import boost, frame_entry
from hypermargin.geometry.lorentz import covector, lift
from hypermargin.problems.linearised import Box, CrossPolytope, Ellipsoid, LinearisedSet, OriginJacobian
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import GeodesicBall, in_cone

#: Samples whose members are summed at once, which bounds memory: a column takes 64 kB, as in `blocks`.
BLOCK = 8192
#: ``(1 - 2^-40)(1 + (d + 8) u) < 1``, on which members rest (`compiled.members`), holds up to d = 8,183.
MAX_DIM = 2000
#: Images of Jacobians that are made at once, d^2 per sample: 4 MB for d = 2.
IMAGES = 65_536


class Cuts(NamedTuple):
    """The points of a proof in the frame that `frame` leads to, and `outside` it, in the coordinates of the samples.

    Any rounding of these is as good. `kinds` holds the kind of members of the cut at each point.
    """

    points: Array
    outside: Array
    frame: Array
    kinds: NDArray[np.intp]
    threshold: float


class Balls(NamedTuple):
    """cosh, sinh and tanh of rho; one entry for all samples or one for each."""

    cosh: Array
    sinh: Array
    tanh: Array


class LinearisedSets(NamedTuple):
    """Sets by the parts of their Jacobians, or by `images` in the frame, shape (n, d, d + 1), with no rows elsewhere.

    `unit`, `sinh` and `stretch` are those of `OriginJacobian`, ``bend = cosh - stretch``. `largest`, (n, d + 1), are
    the sizes of the largest entries of the images. `step_error` bounds the error of ``J z``, or of an image. `shape`
    has no rows unless the set is an ellipsoid, and then `shape_size` are the Frobenius norms.
    """

    kind: int
    rho: Array
    shape: Array
    shape_size: Array
    unit: Array
    sinh: Array
    bend: Array
    stretch: Array
    step_error: Array
    images: Array
    largest: Array


class Samples(NamedTuple):
    """A block of samples and their sets; `shrunk` and `grown` are the A of cuts for spacelike normals."""

    X: Array
    y: Array
    costs: Array
    shrunk: Array
    grown: Array
    sets: Balls | LinearisedSets


def robust_cut_sums(proof: EnvelopeProof, problem: MarginProblem) -> CutSums:
    """`core.sums.cut_sums` for the cuts at the points of a robust problem's certificate.

    Sums are made in the coordinates of the data, and moved to the frame; or, where doubles would lose the bound there,
    from points that were moved to the frame before, and rounded there. Balls are the same in every frame. The members
    ``A x + y B W`` are those of the exact images x: their m is within ``e_m`` of the computed one all the same, since
    rounding x changes it by less than u relative to its terms. What is charged is that x itself is rounded.
    """
    _require_known(problem)
    if problem.dim > MAX_DIM:
        raise CertificateError(f"certificates of robust problems can be checked up to dimension {MAX_DIM}")
    framed = FramedSamples(problem, proof.centre, proof.precise)
    centre = lift(np.zeros(problem.dim) if proof.precise else proof.centre)
    nominal = (np.abs(proof.points[:, 0]) == 1.0) & ~np.any(proof.points[:, 1:], axis=1)
    spacelike = proof.cone_cuts & in_cone(proof.points)
    kinds = np.where(nominal, members.NOMINAL, np.where(spacelike, members.CONE, members.WORST)).astype(np.intp)
    points = np.ascontiguousarray(proof.points, dtype=np.float64)
    outside = np.ascontiguousarray(points @ boost(centre))  # the boost is symmetric
    cuts = Cuts(points, outside, frame_entry(centre), kinds, proof.threshold)
    # Points moved before are within so much times |x_j| and so much times x_0 of the exact ones.
    rounding, offset = (4.0 * U, framed.reach_factor * problem.farthest) if proof.precise else (0.0, 0.0)
    sum_block = members.ball_sums if isinstance(problem.uncertainty, GeodesicBall) else members.linearised_sums
    imaged = proof.precise and isinstance(problem.uncertainty, LinearisedSet)
    blocks = row_blocks(problem.n_samples, max(1, BLOCK // problem.dim) if imaged else BLOCK)
    totals = np.zeros((len(points), problem.dim + 2))
    errors = np.zeros_like(totals)
    taken = np.zeros((len(points), 2))
    for rows in blocks:
        counts, values, magnitudes, distances = sum_block(samples_of(framed, rows), cuts)
        # Terms are products of up to four numbers; the sums of magnitudes err by at most the same factor.
        gamma = rounding_factor(counts.sum(axis=1) + len(blocks) + 12)[:, None]
        taken += counts
        totals += values
        errors += (gamma + rounding) * magnitudes * (1.0 + 2.0 * gamma) + distances * (1.0 + 2.0 * gamma)
        errors[:, 1:] += offset * magnitudes[:, 1:2]  # x0 is at least 1
    errors = errors * (1.0 + rounding_factor(len(blocks) + 4)) + 1e-300
    # A cut is of one class where its samples are and their members are the points themselves: multiples of points may
    # be shorter than `compiled.intervals` takes vectors of one class to be.
    one_class = nominal & (taken.min(axis=1) == 0.0)
    if not proof.precise:
        totals, errors = moved_to_frame(totals, errors, proof.centre)
    return CutSums(totals, errors, one_class)


def _require_known(problem: MarginProblem) -> None:
    if not isinstance(problem.uncertainty, GeodesicBall | LinearisedSet):
        raise CertificateError(f"certificates do not know the uncertainty set {problem.uncertainty!r}")


def samples_of(framed: FramedSamples, rows: slice) -> Samples:
    """A block of samples for `compiled.members`."""
    problem, noise = framed.problem, framed.problem.uncertainty
    assert isinstance(noise, GeodesicBall | LinearisedSet)
    rho = _own(noise.rho, rows)
    if isinstance(noise, GeodesicBall):
        shrunk, grown = (1.0 + 16.0 * U) * np.exp(-rho), (1.0 - 16.0 * U) * np.exp(rho)
        sets: Balls | LinearisedSets = Balls(np.cosh(rho), np.sinh(rho), np.tanh(rho))
    else:
        reach = (1.0 - 2.0**-40) * noise.inner_radius(problem.dim) * rho
        shrunk, grown = np.nextafter(1.0 - reach, 2.0), np.nextafter(1.0 + reach, 0.0)
        sets = _linearised(framed, noise, rho, rows)
    X = np.ascontiguousarray(framed.rows[rows])
    multiples = np.minimum(shrunk, 1.0), np.maximum(grown, 1.0)  # rounded towards 1
    return Samples(X, problem.y[rows], problem.costs[rows], *multiples, sets)


def _linearised(framed: FramedSamples, noise: LinearisedSet, rho: Array, rows: slice) -> LinearisedSets:
    d = framed.problem.dim
    shape, longest = np.zeros((0, d, d)), np.ones(1)
    kind = {Box: members.BOX, CrossPolytope: members.CROSS_POLYTOPE}.get(type(noise), members.ROUND)
    if isinstance(noise, Ellipsoid):
        shape = np.ascontiguousarray(noise.shape[rows] if noise.shape.ndim == 3 else noise.shape[None])
    shape_size = np.sqrt(np.sum(shape**2, axis=(-2, -1)))
    jacobian = OriginJacobian.at(framed.problem.X[rows])
    if framed.precise:
        images, step_error = framed.jacobians(rows)
    else:
        longest = d * shape_size if len(shape) else np.full(1, np.sqrt(d) if isinstance(noise, Box) else 1.0)
        images, step_error = np.zeros((0, d, d + 1)), (16 * d + 128) * U * 2.0 * jacobian.cosh * rho * longest
    return LinearisedSets(
        kind=kind,
        rho=rho,
        shape=shape,
        shape_size=shape_size,
        unit=jacobian.unit,
        sinh=jacobian.sinh,
        bend=jacobian.cosh - jacobian.stretch,
        stretch=jacobian.stretch,
        step_error=step_error,
        images=images,
        largest=np.abs(images).max(axis=1),
    )


def _own(values: float | Array, rows: slice) -> Array:
    """Entries of one number for all (one entry) or one per sample that belong to these rows."""
    return np.full(1, values) if np.ndim(values) == 0 else np.ascontiguousarray(np.asarray(values)[rows])


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


# -- margins at a given normal ---------------------------------------------------------------------------------------


def worst_margin_bounds(
    samples: FramedSamples, w: Array, w_errors: Array, q_lower: float, q_upper: float
) -> tuple[Array, Array]:
    """Lower and upper bounds on the worst margin of every sample, each of shape (n,).

    The exact normal is within `w_errors` of w, and its form between `q_lower` and `q_upper`. As upper bound serves that
    of the nominal margin, which is a margin of a member of the set.
    """
    _require_known(samples.problem)
    Z = samples.covectors(slice(None))
    sizes = np.abs(Z)
    middle = Z @ w
    error = sizes @ ((samples.roundings + (2 * w.size + 16) * U) * np.abs(w) + w_errors)
    error += samples.reach_factor * samples.reaches * float(np.abs(w).sum() + w_errors.sum())
    error = 1.0001 * error + 8.0 * U * np.abs(middle)
    noise = samples.problem.uncertainty
    if isinstance(noise, GeodesicBall):
        rho = np.broadcast_to(noise.rho, middle.shape)
        return _ball_margins(middle - error, middle + error, rho, q_lower, q_upper), middle + error
    assert isinstance(noise, LinearisedSet)
    return middle - error - _longest_steps(samples, noise, w, w_errors) * (1.0 + 8.0 * U), middle + error


def _ball_margins(m_lower: Array, m_upper: Array, rho: Array, q_lower: float, q_upper: float) -> Array:
    """Lower bounds of ``cosh(rho) m - sinh(rho) T``, ``T^2 = q + m^2``, which rises with m and falls with q.

    For m > 0 it is taken as ``(m^2 - q sinh(rho)^2)/(m cosh(rho) + T sinh(rho))``, which does not cancel twice. A
    timelike normal with m > 0 may be a point of the ball, and then the worst margin is ``sqrt(-q)``, which no point
    goes below.
    """
    cosh, sinh = np.cosh(rho), np.sinh(rho)
    square = q_upper + m_lower * m_lower
    tangent = np.sqrt(np.maximum(square, 0.0) + 8.0 * U * m_lower * m_lower) * (1.0 + 8.0 * U)
    size = cosh * np.abs(m_lower) + sinh * tangent
    worst = cosh * m_lower - sinh * tangent - 32.0 * U * size
    if q_upper >= 0.0:
        reach = sinh * np.sqrt(q_upper)
        ahead = m_lower > 0.0
        total = np.where(ahead, m_lower + reach, 1.0)
        factored = ((m_lower - reach) - 32.0 * U * total) * (total / np.where(ahead, size, 1.0))
        factored -= 32.0 * U * np.abs(factored)
        worst = np.where(ahead, np.maximum(worst, factored), worst)
    if q_lower < 0.0:
        least_tangent = np.sqrt(np.maximum(q_lower + m_upper * m_upper * (1.0 - 8.0 * U), 0.0))
        may_hold = (m_upper > 0.0) & (np.tanh(rho) * m_upper * (1.0 + 1e-12) >= least_tangent * (1.0 - 1e-12))
        floor = np.sqrt(max(-q_upper, 0.0)) * (1.0 - 8.0 * U)
        beyond = np.where(m_lower > 0.0, floor, np.minimum(worst, floor))
        worst = np.where(may_hold, beyond, worst)
    return worst


def _longest_steps(samples: FramedSamples, noise: LinearisedSet, w: Array, w_errors: Array) -> Array:
    """Upper bounds of ``rho |J'c|`` in the dual norm of the set, shape (n,)."""
    middle, error = (_pulled_in_frame if samples.precise else _pulled_outside)(samples, w, w_errors)
    pulled = np.abs(middle) + error
    if isinstance(noise, Box):
        length = pulled.sum(axis=1)
    elif isinstance(noise, CrossPolytope):
        length = pulled.max(axis=1)
    elif isinstance(noise, Ellipsoid):
        length = _ellipsoid_lengths(noise, middle, pulled)
    else:
        length = np.sqrt((pulled * pulled).sum(axis=1))
    return np.broadcast_to(noise.rho, length.shape) * length * (1.0 + (4 * w.size + 32) * U)


def _pulled_in_frame(samples: FramedSamples, w: Array, w_errors: Array) -> tuple[Array, Array]:
    """``J'c`` and bounds on the errors of its entries, each (n, d), by images of the Jacobian in the frame."""
    n, d = samples.problem.n_samples, samples.problem.dim
    middle, error = np.empty((n, d)), np.empty((n, d))
    spread, total = (4 * w.size + 32) * U * np.abs(w) + w_errors, float(np.abs(w).sum() + w_errors.sum())
    step = max(1, IMAGES // d**2)
    for rows in (slice(start, start + step) for start in range(0, n, step)):
        images, image_errors = samples.jacobians(rows)
        middle[rows] = images @ w
        error[rows] = np.abs(images) @ spread + image_errors[:, None] * total
    return middle, error


def _pulled_outside(samples: FramedSamples, w: Array, w_errors: Array) -> tuple[Array, Array]:
    """The same by the parts of the Jacobian in the coordinates of the data, for frames that doubles are enough for.

    The boost lengthens vectors by at most the stretch, so entries of ``W = B w`` err by what w does, times that, and by
    ``(2 d + 16) u`` for rounding; ``J'`` lengthens by at most ``sqrt2 cosh(r)``, and rounds as in `compiled.members`.
    """
    d = samples.problem.dim
    W = boost(samples.point) @ w
    jacobian = OriginJacobian.at(samples.problem.X)
    off = 1.5 * samples.stretch * (float(w_errors.sum()) + 1.5 * (d + 1) * (2 * d + 16) * U * float(np.abs(w).sum()))
    error = 1.0001 * jacobian.cosh * (1.5 * off + 2.0 * (16 * d + 128) * U * float(np.abs(W).sum()))
    return jacobian.pull_back(covector(W)), np.broadcast_to(error[:, None], (error.size, d))


def _ellipsoid_lengths(noise: Ellipsoid, pulled: Array, bound: Array) -> Array:
    """Upper bounds of ``|S' a|`` for exact a whose entries differ from `pulled` by less than ``bound - |pulled|``."""
    shape = noise.shape if noise.shape.ndim == 3 else noise.shape[None]
    turned = np.abs(np.einsum("nij,ni->nj", np.broadcast_to(shape, (len(pulled), *shape.shape[1:])), pulled))
    slack = (bound - np.abs(pulled)) + (2 * pulled.shape[1] + 8) * U * bound
    turned += np.einsum("nij,ni->nj", np.broadcast_to(np.abs(shape), (len(pulled), *shape.shape[1:])), slack)
    return np.sqrt((turned * turned).sum(axis=1))
