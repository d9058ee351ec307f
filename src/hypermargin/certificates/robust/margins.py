"""Bounds on worst-case margins at a given normal, for the upper end of a robust objective.

Everything happens in the frame of `FramedSamples`: nominal margins are known up to an error per sample, and so are the
images of the Jacobians of linearised sets.
"""

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.base import CertificateError
from hypermargin.certificates.frame import FramedSamples
from hypermargin.certificates.rounding import UNIT_ROUNDOFF as U
from hypermargin.problems.linearised import Box, CrossPolytope, Ellipsoid, LinearisedSet
from hypermargin.problems.uncertainty import GeodesicBall


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
    images, image_errors = samples.jacobians(slice(None))
    pulled = np.abs(images @ w)
    pulled += np.abs(images) @ ((4 * w.size + 32) * U * np.abs(w) + w_errors)
    pulled += image_errors[:, None] * float(np.abs(w).sum() + w_errors.sum())
    if isinstance(noise, Box):
        length = pulled.sum(axis=1)
    elif isinstance(noise, CrossPolytope):
        length = pulled.max(axis=1)
    elif isinstance(noise, Ellipsoid):
        length = _ellipsoid_lengths(noise, images @ w, pulled)
    else:
        length = np.sqrt((pulled * pulled).sum(axis=1))
    return np.broadcast_to(noise.rho, length.shape) * length * (1.0 + (4 * w.size + 32) * U)


def _ellipsoid_lengths(noise: Ellipsoid, pulled: Array, bound: Array) -> Array:
    """Upper bounds of ``|S' a|`` for exact a whose entries differ from `pulled` by less than ``bound - |pulled|``."""
    shape = noise.shape if noise.shape.ndim == 3 else noise.shape[None]
    turned = np.abs(np.einsum("nij,ni->nj", np.broadcast_to(shape, (len(pulled), *shape.shape[1:])), pulled))
    slack = (bound - np.abs(pulled)) + (2 * pulled.shape[1] + 8) * U * bound
    turned += np.einsum("nij,ni->nj", np.broadcast_to(np.abs(shape), (len(pulled), *shape.shape[1:])), slack)
    return np.sqrt((turned * turned).sum(axis=1))
