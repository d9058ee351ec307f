"""What a certificate proves, recomputed from its definition: exact rational sums, then fifty digits.

Written from the docstring of `SoftMarginCertificate`, apart from the checker. It trusts that the
certificate covers everything.
"""

from fractions import Fraction

import mpmath as mp
import numpy as np

mp.mp.dps = 60


def exact_cut(problem, chosen):
    """``(sqrt2 b, -sqrt2 g)``: sums of ``c_i`` and ``c_i z_i`` over the samples `chosen`, as fractions."""
    costs = [Fraction(float(c)) for c in problem.costs]
    totals = [Fraction(0)] * (problem.dim + 2)
    for i in np.flatnonzero(chosen).tolist():
        y, (time, *space) = int(problem.y[i]), problem.X[i].tolist()
        row = [Fraction(1), y * Fraction(time), *[-y * Fraction(v) for v in space]]
        totals = [total + costs[i] * entry for total, entry in zip(totals, row, strict=True)]
    return totals


def exact_bound(certificate, problem, cuts):
    """The least end value over all intervals, for cuts given as `exact_cut` gives them; an mpf."""
    space = [mp.mpf(v) for v in certificate.centre.tolist()]
    time = mp.sqrt(1 + mp.fdot(space, space))
    worst = mp.inf
    for region in certificate.regions:
        nodes = [mp.mpf(s) for s in region.nodes.tolist()]
        for i, minorant in enumerate(region.minorants):
            excess = max(Fraction(1), sum(map(Fraction, minorant.weights), Fraction(0)))
            total = [Fraction(0)] * (problem.dim + 2)
            for cut, weight in zip(minorant.cuts, minorant.weights, strict=True):
                total = [t + Fraction(weight) / excess * v for t, v in zip(total, cuts[cut], strict=True)]
            b, g0, *gr = (mp.mpf(v.numerator) / v.denominator / mp.sqrt(2) for v in total)
            g0, gr = -g0, [-v for v in gr]
            # g.(B w) with the boost B = [[time, space'], [space, I + space space'/(1 + time)]]
            along = mp.fdot(space, gr)
            slope = time * g0 + along
            rest = [v + c * (g0 + along / (1 + time)) for v, c in zip(gr, space, strict=True)]
            slope *= region.sign
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
