"""Lower bounds from dual weights: any ``0 <= a_i <= c_i/sqrt2`` with ``sum_i a_i z_i = 0`` proves ``f >= sum_i a_i``.

For such weights ``q/2 + risk(w) >= q/2 + sum_i a_i (1 - z_i.w) = q/2 + sum_i a_i`` (the dual of the linear program
``min risk``; docs/relaxations.md). Solvers return weights that satisfy the equation only nearly. `repair` moves them
onto it and returns how much of their sum an exactly feasible point next to them is sure to keep. `weights_certificate`
makes a certificate: rounded weights bound the objective only where w is not too large; far out another cut takes over,
all samples of one class at their largest weight, whose slope is timelike, so that it rises with ``|t|`` faster than q
can fall (docs/exact-theory.md).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.certificates import Certificate, CertificateError, Combination, RegionProof, SoftMarginCertificate
from hypermargin.geometry.lorentz import quadratic_form
from hypermargin.geometry.mean import lorentz_centroid
from hypermargin.problems.losses import SQRT2
from hypermargin.problems.margin import MarginProblem

#: The error of a sum of rounded rows z_i, relative to the sum of the sizes of its terms.
SUM_ROUNDING = 32.0 * float(np.finfo(float).eps)
#: Weights stay this much below their largest value, relatively: the checker allows no rounding above it, and
#: the four roundings of sqrt2, the quotient, the share of a sample and this factor amount to 4.5e-16.
BELOW_LIMIT = 1e-15
#: What rounding may have added to a bound without a certificate, relatively; it is taken off. The same share by which
#: a bound may be above its objective (`solvers.base.ROUNDING`).
UNCHECKED_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Samples:
    """The samples that count: covectors z_i of distinct (x_i, y_i) with positive cost, and their summed costs."""

    Z: Array
    costs: Array
    inverse: NDArray[np.int64]
    used: NDArray[np.bool_]

    @classmethod
    def of(cls, problem: MarginProblem) -> "Samples":
        """Leave out samples of weight zero and merge repeated ones, so that a weight of 2 is the sample twice."""
        used = problem.costs > 0.0
        Z, first, inverse = np.unique(problem.signed_covectors[used], axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)  # keep the order of the samples: it is the order of the answer
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        inverse = rank[inverse.ravel()].astype(np.int64)
        costs = np.zeros(len(Z))
        np.add.at(costs, inverse, problem.costs[used])
        return cls(Z[order], costs, inverse, used)

    def spread(self, values: Array, problem: MarginProblem) -> Array:
        """Values of the merged samples shared out among the originals in proportion to their costs; shape (n,)."""
        out = np.zeros(problem.n_samples)
        if problem.is_hard:
            share = 1.0 / np.bincount(self.inverse)[self.inverse]
        else:
            share = problem.costs[self.used] / self.costs[self.inverse]
        out[self.used] = values[self.inverse] * share
        return out

    @property
    def upper(self) -> Array:
        """The largest dual weights, ``c_i/sqrt2``; infinite with the hard margin."""
        return self.costs / SQRT2


@dataclass(frozen=True, eq=False)
class DualBound:
    """Repaired weights and the bound they prove; weight zero and bound 0 where no repair was possible."""

    weights: Array
    value: float


def repair(weights: Array, samples: Samples) -> DualBound:
    """Move weights onto ``sum_i a_i z_i = 0`` within their box and bound the sum of an exact solution near them.

    Weights that stop just short of an end of their box (as an interior point does) are also tried at that end: where
    samples cancel in pairs, the equation holds there and nowhere near.
    """
    upper = samples.upper
    inside = np.clip(weights, 0.0, upper)
    reach = np.where(np.isfinite(upper), upper, np.max(inside, initial=0.0))
    best = DualBound(np.zeros(len(inside)), 0.0)
    for snap in (0.0, 1e-9, 1e-6, 1e-3):
        a = np.where(inside <= snap * reach, 0.0, np.where(inside >= upper - snap * reach, upper, inside))
        found = _repaired(a, samples)
        best = found if found.value > best.value else best
    return best


def _repaired(a: Array, samples: Samples, rounds: int = 6) -> DualBound:
    """Correct weights in rounds; see `repair`.

    Each round takes the correction of least size relative to the room each weight has: ``delta_i = -room_i s_i`` with
    ``sum_i room_i z_i s_i = sum_i a_i z_i``. While all ``|s_i| < 1`` the corrected weights stay in the box, so an
    exactly feasible point exists; its sum differs from the returned one by no more than the correction not yet made.
    """
    Z, upper = samples.Z, samples.upper
    for _ in range(rounds):
        room, inverse, needed = _correction(a, Z, upper)
        largest = float(np.max(np.abs(needed), initial=0.0))
        if largest == 0.0:
            break
        a = a - room * needed * min(1.0, 0.5 / largest)
    room, inverse, needed = _correction(a, Z, upper)
    rounding = SUM_ROUNDING * (np.abs(Z).T @ a)
    left = np.abs(needed) + np.abs(inverse) @ rounding
    # The pseudo-inverse must really solve the equation: it cannot where weights with room do not span all directions.
    defect = Z.T @ (room * needed) - Z.T @ a
    if np.any(left >= 0.5) or np.any(np.abs(defect) > 1e2 * rounding):
        return DualBound(np.zeros(len(a)), 0.0)
    return DualBound(a, float(np.sum(a) - 2.0 * room @ left))


def _correction(a: Array, Z: Array, upper: Array) -> tuple[Array, Array, Array]:
    """The room of each weight, the pseudo-inverse of ``s -> sum_i room_i z_i s_i`` and the s that corrects a."""
    room: Array = np.minimum(a, upper - a)
    scaled = (Z * room[:, None]).T
    inverse: Array = np.linalg.pinv(scaled, rcond=1e-13).astype(np.float64)
    return room, inverse, inverse @ (Z.T @ a)


# -- certificates ------------------------------------------------------------------------------------------------------


def checked_bound(
    certificate: Certificate | None, problem: MarginProblem, claimed: float
) -> tuple[Certificate | None, float]:
    """A certificate with the bound that its check proves, or None with the claimed one less rounding.

    No bound is below 0, as no objective is.
    """
    if certificate is not None:
        try:
            return certificate, max(certificate.verify(problem), 0.0)
        except CertificateError:
            pass
    return None, max(claimed * (1.0 - UNCHECKED_ROUNDING), 0.0)


def weights_certificate(problem: MarginProblem, weights: Array) -> SoftMarginCertificate:
    """A certificate for the bound of `weights`, shape (n,)."""
    upper = problem.costs / SQRT2
    centre = lorentz_centroid(problem.X)
    weights = np.minimum(weights, upper * (1.0 - BELOW_LIMIT))
    against = [np.where(problem.y == -sign, upper * (1.0 - BELOW_LIMIT), 0.0) for sign in (1, -1)]
    regions = tuple(
        _region(problem, sign, float(np.sum(weights)), centre, tail, 1 + k)
        for k, (sign, tail) in enumerate(zip((1, -1), against, strict=True))
    )
    return SoftMarginCertificate(
        centre=centre[1:],
        points=np.zeros((0, problem.dim + 1)),
        regions=regions,
        duals=np.stack([weights, *against]),
    )


def _region(problem: MarginProblem, sign: int, bound: float, centre: Array, tail: Array, cut: int) -> RegionProof:
    """Weights up to some s, the tail's cut from there on; where there is no tail (one class) the bound is 0."""
    slope = -(tail @ problem.signed_covectors)
    along = sign * float(slope @ centre)  # the slope in the frame where the centre is the origin
    across = np.sqrt(max(along**2 + float(quadratic_form(slope)), 0.0))
    rise = along - across
    if bound <= 0.0 or not rise > 0.0:
        return RegionProof(sign, None, np.zeros(1), (Combination((), ()),))
    s = tail_from(bound, float(np.sum(tail)), rise, across)
    share = min(1.0, s / across) if across > 0.0 else 1.0
    minorants = (Combination((0,), (1.0,)), Combination((cut,), (share,)))
    return RegionProof(sign, None, np.array([0.0, s]), minorants)


def tail_from(bound: float, offset: float, rise: float, across: float) -> float:
    """An s from which on the tail's cut alone proves `bound`.

    The share theta of the tail gives ``theta (offset + rise s)`` for ``s >= theta across``; see the tail of the exact
    method.
    """
    s = 2.0 * bound * across / (offset + np.sqrt(offset**2 + 4.0 * rise * across * bound)) if across > 0.0 else 0.0
    return float(1.01 * max(s, (bound - offset) / rise, 0.0))
