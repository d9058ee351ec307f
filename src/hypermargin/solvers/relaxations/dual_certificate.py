"""Certificates of the bounds that dual weights prove, for `SoftMarginCertificate.verify` to check.

Weights with ``sum_i a_i z_i = 0`` bound the objective everywhere, but rounded ones only where w is not too large. Far
out another cut takes over: all samples of one class at their largest weight, whose slope is timelike, so that it rises
with ``|t|`` faster than q can fall (docs/exact-theory.md).
"""

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates import CertificateError, Combination, RegionProof, SoftMarginCertificate
from hypermargin.geometry.lorentz import lift, minkowski_dot, quadratic_form
from hypermargin.problems.losses import SQRT2
from hypermargin.problems.margin import MarginProblem

#: Weights stay this much below their largest value, relatively: the checker allows no rounding above it.
ROOM = 1e-15


def certify_weights(problem: MarginProblem, weights: Array) -> tuple[SoftMarginCertificate | None, float]:
    """A certificate for the bound of `weights` (n,) and the bound its check proves; without proof (None, -inf)."""
    upper = problem.costs / SQRT2
    centre = _centroid(problem.X)
    weights = np.minimum(weights, upper * (1.0 - ROOM))
    against = [np.where(problem.y == -sign, upper * (1.0 - ROOM), 0.0) for sign in (1, -1)]
    regions = tuple(
        _region(problem, sign, float(np.sum(weights)), centre, tail, 1 + k)
        for k, (sign, tail) in enumerate(zip((1, -1), against, strict=True))
    )
    certificate = SoftMarginCertificate(
        centre=centre[1:],
        points=np.zeros((0, problem.dim + 1)),
        regions=regions,
        duals=np.stack([weights, *against]),
    )
    try:
        return certificate, certificate.verify(problem)
    except CertificateError:
        return None, -np.inf


def _region(problem: MarginProblem, sign: int, bound: float, centre: Array, tail: Array, cut: int) -> RegionProof:
    """Weights up to some s, the tail's cut from there on; where there is no tail (one class) the bound is 0."""
    slope = -(tail @ problem.signed_covectors)
    along = sign * float(slope @ centre)  # the slope in the frame where the centre is the origin
    across = np.sqrt(max(along**2 + float(quadratic_form(slope)), 0.0))
    rise = along - across
    if bound <= 0.0 or not rise > 0.0:
        return RegionProof(sign, None, np.zeros(1), (Combination((), ()),))
    # The share theta of the tail gives theta (offset + rise s) for s >= theta across; see the tail of the exact method.
    offset = float(np.sum(tail))
    s = 2.0 * bound * across / (offset + np.sqrt(offset**2 + 4.0 * rise * across * bound)) if across > 0.0 else 0.0
    s = 1.01 * max(s, (bound - offset) / rise, 0.0)
    share = min(1.0, s / across) if across > 0.0 else 1.0
    minorants = (Combination((0,), (1.0,)), Combination((cut,), (share,)))
    return RegionProof(sign, None, np.array([0.0, s]), minorants)


def _centroid(X: Array) -> Array:
    """The normalised mean of the points, itself a point of the hyperboloid."""
    mean = np.mean(X, axis=0)
    return lift(mean[1:] / np.sqrt(minkowski_dot(mean, mean)))
