"""Bounds on worst-case margins at a given normal, for the upper end of a robust objective.

Everything happens in the frame of `FramedSamples`: nominal margins are known up to an error per sample, and so are the
images of the Jacobians of linearised sets.
"""

import numpy as np

from hypermargin.arithmetic import UNIT_ROUNDOFF as U
from hypermargin.arrays import Array
from hypermargin.certificates.core.certificate import CertificateError
from hypermargin.certificates.frame import FramedSamples
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.lorentz import covector
from hypermargin.problems.linearised import Box, CrossPolytope, Ellipsoid, LinearisedSet, OriginJacobian
from hypermargin.problems.uncertainty import GeodesicBall

#: Images of Jacobians that are made at once.
BLOCK = 65_536


def worst_margin_bounds(
    samples: FramedSamples, w: Array, w_errors: Array, q_lower: float, q_upper: float
) -> tuple[Array, Array]:
    """Lower and upper bounds on the worst margin of every sample, each of shape (n,).

    The exact normal is within `w_errors` of w, and its form between `q_lower` and `q_upper`. As upper bound serves that
    of the nominal margin, which is a margin of a member of the set.
    """
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
    if isinstance(noise, LinearisedSet):
        reach = _longest_steps(samples, noise, w, w_errors)
        return middle - error - reach * (1.0 + 8.0 * U), middle + error
    raise CertificateError(f"certificates do not know the uncertainty set {noise!r}")


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
    step = max(1, BLOCK // d**2)
    for rows in (slice(start, start + step) for start in range(0, n, step)):
        images, image_errors = samples.jacobians(rows)
        middle[rows] = images @ w
        error[rows] = np.abs(images) @ spread + image_errors[:, None] * total
    return middle, error


def _pulled_outside(samples: FramedSamples, w: Array, w_errors: Array) -> tuple[Array, Array]:
    """The same by the parts of the Jacobian in the coordinates of the data, for frames that doubles are enough for.

    The boost lengthens vectors by at most the stretch, so entries of ``W = B w`` err by what w does, times that, and by
    ``(2 d + 16) u`` for rounding; ``J'`` lengthens by at most ``sqrt2 cosh(r)``, and rounds as in `members`.
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
