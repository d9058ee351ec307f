"""The independent check of a certificate. Imports no solver; everything but the long sums is ball arithmetic (Arb)."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from flint import arb

from hypermargin.certificates.certificate import Certificate, CertificateError, Combination, DirectionBox, RegionProof
from hypermargin.certificates.rounding import rounding_factor
from hypermargin.certificates.sums import cut_sums
from hypermargin.geometry.lorentz import Array
from hypermargin.problems.margin import MarginProblem

HALF_ROOT = arb(2).rsqrt()


def verified_lower_bound(certificate: Certificate, problem: MarginProblem) -> float:
    """See `Certificate.verify`."""
    _check_shape(certificate, problem)
    for sign in (-1, 1):
        _check_cover([region for region in certificate.regions if region.sign == sign], problem)
    frame = _Frame(certificate.centre)
    sums = zip(*(table.tolist() for table in _minorant_sums(certificate, problem)), strict=True)
    bound = arb("inf")
    for region in certificate.regions:
        nodes = [arb(s) for s in region.nodes.tolist()]
        for i, minorant in enumerate(region.minorants):
            middles, errors = next(sums)
            b, a, length = _in_frame(frame, middles, errors, region.sign, minorant)
            ends = nodes[i : i + 2]
            if len(ends) == 1 and not a >= length:  # the minorant falls towards infinity and proves nothing there
                return 0.0
            for s in ends:
                bound = bound.min(b + (a * s).lower() + _phi(s, length))
    return max(0.0, _round_down(bound))  # neither the margin term nor the risk is ever negative


# -- the parts of the proof ------------------------------------------------------------------------------------------


def _minorant_sums(certificate: Certificate, problem: MarginProblem) -> tuple[Array, Array]:
    """``sqrt2 b`` and ``-sqrt2 g`` of all minorants in order: midpoints and error bounds, each (cells, d + 2)."""
    totals, errors = cut_sums(certificate, problem)
    minorants = [m for region in certificate.regions for m in region.minorants]
    weights = np.zeros((len(minorants), totals.shape[0]))
    for row, minorant in zip(weights, minorants, strict=True):
        for cut, weight in zip(minorant.cuts, minorant.weights, strict=True):
            row[cut] += weight
    gamma = rounding_factor(totals.shape[0] + 4)
    excess = weights.sum(axis=1) * (1.0 + 2.0 * gamma)  # at least the exact sum; scaled rows sum to less than 1
    weights /= np.maximum(1.0, excess)[:, None] * np.where(excess > 1.0, 1.0 + 2.0 * gamma, 1.0)[:, None]
    rounding = gamma * (weights @ np.abs(totals)) + weights @ errors
    return weights @ totals, rounding * (1.0 + 4.0 * gamma)


class _Frame:
    """The boost B that moves the origin to the centre: w of the frame is ``B w`` outside, so g becomes ``B' g``."""

    def __init__(self, centre: Array):
        self.space = [arb(c) for c in centre.tolist()]
        self.time = (1 + _dot(self.space, self.space)).sqrt()

    def slope(self, g0: arb, gr: list[arb]) -> tuple[arb, list[arb]]:
        along = _dot(self.space, gr)
        stretch = g0 + along / (1 + self.time)
        return self.time * g0 + along, [g + c * stretch for c, g in zip(self.space, gr, strict=True)]


def _in_frame(
    frame: _Frame, middles: list[float], errors: list[float], sign: int, minorant: Combination
) -> tuple[arb, arb, arb]:
    """Exact numbers (b, a, A) with ``b + a s + phi(s, A)`` below the objective: b and a rounded down, A rounded up."""
    b, *slope = (arb(middle, error) * HALF_ROOT for middle, error in zip(middles, errors, strict=True))
    g0, gr = frame.slope(-slope[0], [-g for g in slope[1:]])
    a = g0 if sign > 0 else -g0
    if minorant.chord:
        kappa, u = _chord(minorant.box)
        a += minorant.chord * kappa
        gr = [g - minorant.chord * v for g, v in zip(gr, u, strict=True)]
    return b.lower(), a.lower(), _dot(gr, gr).nonnegative_part().sqrt().upper()


def _phi(s: arb, A: arb) -> arb:
    """``phi(s, A)`` rounded down, for exact s and A: the minimum of ``max(r^2 - s^2, 0)/2 - A r`` over r >= 0."""
    return (-(A * A + s * s) / 2).lower() if s <= A else (-A * s).lower()


def _chord(box: DirectionBox | None) -> tuple[arb, list[arb]]:
    """kappa and u with ``u.v >= kappa |v|`` for all directions v of the box.

    Points of the box are within half its diagonal rho of its centre c, hence within the angle ``asin(rho/|c|)`` of it.
    """
    if box is None:
        raise CertificateError("a chord is used where none holds")
    low, high = [arb(float(v)) for v in box.low], [arb(float(v)) for v in box.high]
    centre = [(p + q) / 2 for p, q in zip(low, high, strict=True)]
    edges = [q - p for p, q in zip(low, high, strict=True)]
    square = _dot(centre, centre)
    ratio = _dot(edges, edges) / (4 * square)
    if not ratio < 1:
        raise CertificateError("a chord is used for a box that is too wide for one")
    length = square.sqrt()
    return (1 - ratio).sqrt(), [c / length for c in centre]


# -- is the proof complete? ------------------------------------------------------------------------------------------


def _check_shape(certificate: Certificate, problem: MarginProblem) -> None:
    """The certificate is well formed and speaks of problems of this size."""
    if problem.is_hard:
        raise CertificateError("this certificate bounds a soft-margin problem; the problem has a hard margin")
    if certificate.centre.shape != (problem.dim,) or certificate.points.shape[1:] != (problem.dim + 1,):
        raise CertificateError(f"the certificate is not for dimension {problem.dim}")
    if not (np.all(np.isfinite(certificate.centre)) and np.all(np.isfinite(certificate.points))):
        raise CertificateError("the certificate holds numbers that are not finite")
    n_cuts = certificate.points.shape[0]
    if certificate.duals is not None:
        if certificate.duals.ndim != 2 or certificate.duals.shape[1] != problem.n_samples:
            raise CertificateError(f"the certificate is not for {problem.n_samples} samples")
        n_cuts += certificate.duals.shape[0]
    for region in certificate.regions:
        nodes = region.nodes.ravel().tolist()
        ordered = nodes and nodes[0] == 0.0 and nodes[-1] < np.inf and all(p <= q for p, q in pairwise(nodes))
        if not ordered or len(region.minorants) != len(nodes) or region.sign not in (-1, 1):
            raise CertificateError("the cells of a region do not cover 0 <= s < infinity")
        for m in region.minorants:
            usable = all(0 <= j < n_cuts for j in m.cuts) and len(m.cuts) == len(m.weights)
            if not usable or not all(0.0 <= v < np.inf for v in (*m.weights, m.chord)):
                raise CertificateError("a minorant is not a combination of the cuts with weights >= 0")
            if m.chord and (problem.allow_timelike or not _contains(m.box, region.box)):
                raise CertificateError("a chord is used where none holds")


def _check_cover(regions: Sequence[RegionProof], problem: MarginProblem) -> None:
    """The boxes of the regions (of one sign of t) cover all directions of wr."""
    if any(region.box is None for region in regions):
        return
    boxes = [region.box for region in regions if region.box is not None]
    for box in boxes:
        on_face = (
            0 <= box.axis < problem.dim and box.side in (-1, 1) and box.low.shape == box.high.shape == (problem.dim,)
        )
        if not on_face or box.low[box.axis] != box.side or box.high[box.axis] != box.side:
            raise CertificateError("a box of directions is not part of a face of the cube")
    for axis in range(problem.dim):
        for side in (-1, 1):
            low, high = -np.ones(problem.dim), np.ones(problem.dim)
            low[axis] = high[axis] = side
            on_this = [box for box in boxes if box.axis == axis and box.side == side]
            if not _covered(low, high, on_this):
                raise CertificateError("the boxes of the certificate do not cover all directions")


def _contains(outer: DirectionBox | None, inner: DirectionBox | None) -> bool:
    """Whether every direction of `inner` is one of `outer`."""
    if outer is None or inner is None or (outer.axis, outer.side) != (inner.axis, inner.side):
        return False
    if len({corner.shape for corner in (outer.low, outer.high, inner.low, inner.high)}) > 1:
        return False
    return bool(np.all(outer.low <= inner.low) and np.all(inner.high <= outer.high))


def _covered(low: Array, high: Array, boxes: list[DirectionBox]) -> bool:
    """Whether ``low <= x <= high`` lies in the union of the boxes: split along a plane of some box and recurse."""
    if any(np.all(box.low <= low) and np.all(high <= box.high) for box in boxes):
        return True
    for box in boxes:
        for planes in (box.low, box.high):
            inside = np.flatnonzero((low < planes) & (planes < high))
            if inside.size:
                j = int(inside[0])
                middle_high, middle_low = high.copy(), low.copy()
                middle_high[j] = middle_low[j] = planes[j]
                lower = [b for b in boxes if b.low[j] < planes[j]]
                upper = [b for b in boxes if b.high[j] > planes[j]]
                return _covered(low, middle_high, lower) and _covered(middle_low, high, upper)
    return False


# -- small things ----------------------------------------------------------------------------------------------------


def _dot(x: Sequence[arb], y: Sequence[arb]) -> arb:
    total = arb(0)
    for p, q in zip(x, y, strict=True):
        total += p * q
    return total


def _round_down(value: arb) -> float:
    """The largest double not above `value`, or its neighbour."""
    nearest = float(value.lower())
    return float(np.nextafter(nearest, -np.inf)) if np.isfinite(nearest) else -np.inf
