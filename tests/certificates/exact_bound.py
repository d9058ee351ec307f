"""What a certificate proves, recomputed from its definition: sums of fractions (roots to 300 bits), then fifty digits.

Written from the docstring of `SoftMarginCertificate`, apart from the checker. It trusts that the
certificate covers everything.
"""

from fractions import Fraction
from math import isqrt

import mpmath as mp
import numpy as np

mp.mp.dps = 60


def root(value, bits=300):
    """The square root of a fraction, to so many bits behind the point."""
    return Fraction(isqrt(value.numerator * 4**bits // value.denominator), 2**bits)


def framed_row(problem, i, centre):
    """``(1, z_i)`` of the exact point over xr, in the frame that has `centre` at the origin, as fractions."""
    v, c = ([Fraction(float(a)) for a in row] for row in (problem.X[i, 1:], centre))
    x0, T = root(1 + sum(a * a for a in v)), root(1 + sum(a * a for a in c))
    along = sum((a * b for a, b in zip(v, c, strict=True)), Fraction(0))
    factor, y = along / (1 + T) - x0, int(problem.y[i])
    return [Fraction(1), y * (T * x0 - along), *[-y * (a + b * factor) for a, b in zip(v, c, strict=True)]]


def exact_cut(problem, chosen, centre):
    """``(sqrt2 b, -sqrt2 g)`` in the frame: sums of ``c_i`` and ``c_i z_i`` over the samples `chosen`, as fractions.

    `chosen` may also hold shares between 0 and 1.
    """
    costs = [Fraction(float(c)) for c in problem.costs]
    totals = [Fraction(0)] * (problem.dim + 2)
    for i in np.flatnonzero(chosen).tolist():
        row = framed_row(problem, i, centre)
        totals = [
            total + Fraction(float(chosen[i])) * costs[i] * entry for total, entry in zip(totals, row, strict=True)
        ]
    return totals


def exact_bound(certificate, problem, cuts):
    """The least end value over all intervals, for cuts given as `exact_cut` gives them; an mpf."""
    worst = mp.inf
    for region in certificate.regions:
        nodes = [mp.mpf(s) for s in region.nodes.tolist()]
        for i, minorant in enumerate(region.minorants):
            excess = max(Fraction(1), sum(map(Fraction, minorant.weights), Fraction(0)))
            total = [Fraction(0)] * (problem.dim + 2)
            for cut, weight in zip(minorant.cuts, minorant.weights, strict=True):
                total = [t + Fraction(weight) / excess * v for t, v in zip(total, cuts[cut], strict=True)]
            b, g0, *gr = (mp.mpf(v.numerator) / v.denominator / mp.sqrt(2) for v in total)
            slope, rest = -g0 * region.sign, [-v for v in gr]
            if minorant.chord:
                kappa, u = chord(minorant.box)
                slope += minorant.chord * kappa
                rest = [v - minorant.chord * w for v, w in zip(rest, u, strict=True)]
            length = mp.sqrt(mp.fdot(rest, rest))
            if i == len(nodes) - 1 and slope < length:
                return mp.mpf(0)
            for s in nodes[i : i + 2]:
                phi = -(length**2 + s**2) / 2 if s <= length else -length * s
                worst = min(worst, b + slope * s + phi)
    return max(mp.mpf(0), worst)


def chord(box):
    """kappa and the unit vector u of the box's centre, ``u.v >= kappa |v|`` for directions v of the box."""
    low, high = [mp.mpf(v) for v in box.low.tolist()], [mp.mpf(v) for v in box.high.tolist()]
    centre = [(p + q) / 2 for p, q in zip(low, high, strict=True)]
    length = mp.norm(centre)
    sine = mp.norm([q - p for p, q in zip(low, high, strict=True)]) / 2 / length
    return mp.sqrt(1 - sine**2), [c / length for c in centre]
