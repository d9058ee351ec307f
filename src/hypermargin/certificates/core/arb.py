"""What the intervals of a certificate prove, in the ball arithmetic of Arb (python-flint).

A second opinion on `compiled.intervals`, whose compiled balls are several times quicker, by a library that many others
have tested.
"""

import numpy as np
from flint import arb

from hypermargin.arithmetic import dot, in_arb, round_down
from hypermargin.certificates.core.certificate import CertificateError
from hypermargin.certificates.core.proof import Combination, DirectionBox, EnvelopeProof
from hypermargin.certificates.core.sums import CutSums


def least_bound(proof: EnvelopeProof, sums: CutSums) -> float:
    """The least bound that the intervals prove, at least 0."""
    with in_arb():
        return _least_bound(proof, sums)


def _least_bound(proof: EnvelopeProof, sums: CutSums) -> float:
    totals, errors, one_class = sums
    half_root = arb(2).rsqrt()
    cuts = [
        [arb(middle, error) * half_root for middle, error in zip(*pair, strict=True)]
        for pair in zip(totals.tolist(), errors.tolist(), strict=True)
    ]
    bound = arb("inf")
    for region in proof.regions:
        nodes = [arb(s) for s in region.nodes.ravel().tolist()]
        for i, minorant in enumerate(region.minorants):
            used = list(minorant.cuts)
            one_cone = bool(np.all(one_class[used])) and np.unique(totals[used, 1] > 0.0).size <= 1
            combined = _combination(minorant, cuts, proof.centre.size)
            b, a, length, rise = _rounded(combined, region.sign, minorant, one_cone)
            ends = nodes[i : i + 2]
            if len(ends) == 1 and not (a >= length or rise > 0):  # falls towards infinity and proves nothing there
                return 0.0
            for s in ends:
                value = b + (a * s).lower() + _phi(s, length)
                bound = bound.min(value.max(b + (rise * s).lower()) if s > length and rise > 0 else value)
    return max(0.0, round_down(bound))  # neither the margin term nor the risk is ever negative


def _combination(minorant: Combination, cuts: list[list[arb]], dim: int) -> list[arb]:
    """Offset and minus the slope of a combination of cuts, over the sum of its weights where that may be above 1."""
    total = sum((arb(weight) for weight in minorant.weights), arb(0)).upper()
    share = arb(1) if total <= 1 else 1 / total
    combined = [arb(0)] * (dim + 2)
    for cut, weight in zip(minorant.cuts, minorant.weights, strict=True):
        combined = [value + share * weight * entry for value, entry in zip(combined, cuts[cut], strict=True)]
    return combined


def _rounded(combined: list[arb], sign: int, minorant: Combination, one_class: bool) -> tuple[arb, arb, arb, arb]:
    """Exact numbers (b, a, A, rise) with ``b + a s + phi(s, A)`` below the objective: b and a rounded down, A up.

    `rise` is a lower bound of ``a - A`` where all samples are of one class (see `compiled.intervals`), else 0.
    """
    b, g0, *gr = combined[0], *(-value for value in combined[1:])
    a, rise = g0 if sign > 0 else -g0, arb(0)
    if minorant.chord:
        kappa, u = _chord(minorant.box)
        a += minorant.chord * kappa
        gr = [g - minorant.chord * v for g, v in zip(gr, u, strict=True)]
    length = dot(gr, gr).upper().sqrt().upper()  # Arb's root of a wide ball is a little wider than it need be
    if one_class and not minorant.chord and b > 0 and a > 0:
        rise = (b * b / (a + length)).lower()
    return b.lower(), a.lower(), length, rise


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
    square = dot(centre, centre)
    ratio = dot(edges, edges) / (4 * square)
    if not ratio < 1:
        raise CertificateError("a chord is used for a box that is too wide for one")
    length = square.sqrt()
    return (1 - ratio).sqrt(), [c / length for c in centre]
