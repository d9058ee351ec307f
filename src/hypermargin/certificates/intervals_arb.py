"""What the intervals of a certificate prove, in the ball arithmetic of Arb (python-flint).

A second opinion on `compiled.intervals`, whose compiled balls are several times quicker, by a library that many others
have tested; and what is used where there was no compiler.
"""

from collections.abc import Sequence

import numpy as np
from flint import arb

from hypermargin.arrays import Array
from hypermargin.certificates.base import CertificateError
from hypermargin.certificates.proof import Combination, DirectionBox, EnvelopeProof

HALF_ROOT = arb(2).rsqrt()


def least_bound(proof: EnvelopeProof, totals: Array, errors: Array) -> float:
    """The least bound that the intervals prove, at least 0; `totals` and `errors` are those of `sums.cut_sums`."""
    frame = _Frame(proof.centre)
    cuts = [
        [arb(middle, error) * HALF_ROOT for middle, error in zip(*pair, strict=True)]
        for pair in zip(totals.tolist(), errors.tolist(), strict=True)
    ]
    bound = arb("inf")
    for region in proof.regions:
        nodes = [arb(s) for s in region.nodes.ravel().tolist()]
        for i, minorant in enumerate(region.minorants):
            b, a, length = _in_frame(frame, _combination(minorant, cuts), region.sign, minorant)
            ends = nodes[i : i + 2]
            if len(ends) == 1 and not a >= length:  # the minorant falls towards infinity and proves nothing there
                return 0.0
            for s in ends:
                bound = bound.min(b + (a * s).lower() + _phi(s, length))
    return max(0.0, _round_down(bound))  # neither the margin term nor the risk is ever negative


def _combination(minorant: Combination, cuts: list[list[arb]]) -> list[arb]:
    """Offset and minus the slope of a combination of cuts, over the sum of its weights where that may be above 1."""
    total = sum((arb(weight) for weight in minorant.weights), arb(0)).upper()
    share = arb(1) if total <= 1 else 1 / total
    combined = [arb(0)] * len(cuts[0]) if cuts else []
    for cut, weight in zip(minorant.cuts, minorant.weights, strict=True):
        combined = [value + share * weight * entry for value, entry in zip(combined, cuts[cut], strict=True)]
    return combined


class _Frame:
    """The boost B that moves the origin to the centre: w of the frame is ``B w`` outside, so g becomes ``B' g``."""

    def __init__(self, centre: Array):
        self.space = [arb(c) for c in centre.tolist()]
        self.time = (1 + _dot(self.space, self.space)).sqrt()

    def slope(self, g0: arb, gr: list[arb]) -> tuple[arb, list[arb]]:
        along = _dot(self.space, gr)
        stretch = g0 + along / (1 + self.time)
        return self.time * g0 + along, [g + c * stretch for c, g in zip(self.space, gr, strict=True)]


def _in_frame(frame: _Frame, combined: list[arb], sign: int, minorant: Combination) -> tuple[arb, arb, arb]:
    """Exact numbers (b, a, A) with ``b + a s + phi(s, A)`` below the objective: b and a rounded down, A rounded up."""
    b, *slope = combined or [arb(0)] * (len(frame.space) + 2)
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
    """kappa and u with ``u.v >= kappa |v|`` for all directions v of the box (see `compiled.intervals`)."""
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


def _dot(x: Sequence[arb], y: Sequence[arb]) -> arb:
    return sum((p * q for p, q in zip(x, y, strict=True)), arb(0))


def _round_down(value: arb) -> float:
    """The largest double not above `value`, or its neighbour."""
    nearest = float(value.lower())
    return float(np.nextafter(nearest, -np.inf)) if np.isfinite(nearest) else -np.inf
