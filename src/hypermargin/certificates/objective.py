"""Rigorous bounds on the objective of a given w: the upper end beside the lower bound of a certificate.

The normal is ``w + low``, two vectors of doubles whose sum is meant exactly: at radius r the last bit of w moves margins
by ``eps e^(2r)``, and `low` holds what w has no room for. Its ``q`` is computed in rational arithmetic, and margins in a
frame (`frame.FramedSamples`) in which neither points nor w are large where it matters.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.compiled import sums as compiled_sums
from hypermargin.certificates.frame import FramedSamples
from hypermargin.certificates.rounding import UNIT_ROUNDOFF, rounding_factor
from hypermargin.geometry.exact_normals import exact_form, normal_to_frame
from hypermargin.problems.margin import MarginProblem

#: A form that is more than this share of ``|w|^2`` needs no rational arithmetic.
CLEAR = 1e-9


@dataclass(frozen=True)
class Enclosure:
    """Two numbers with the exact one between them."""

    lower: float
    upper: float


INFINITE = Enclosure(inf, inf)


def enclose_objective(
    problem: MarginProblem, w: Array, low: Array | None, centre: Array, precise: bool = False
) -> Enclosure:
    """Bounds on the hinge objective of `problem` at ``w + low``, computed in the frame around `centre`, shape (d,).

    Infinite where the normal is timelike and that is not allowed. For the hard margin the value is ``q/2`` where all
    margins are proved to be at least 1, and infinite otherwise.
    """
    form = enclose_form(w, low)
    if form.lower < 0.0 and not problem.allow_timelike:
        return INFINITE
    margin_term = Enclosure(0.5 * max(form.lower, 0.0), 0.5 * max(form.upper, 0.0))
    samples = FramedSamples(problem, centre, precise)
    lower, upper, least = _risk(samples, w, low)
    if problem.is_hard:
        return margin_term if least >= 1.0 else INFINITE
    half_root = nextafter(0.5**0.5, 1.0)
    room = 1.0 + rounding_factor(problem.n_samples + 12)  # for the sums, and for costs, which are rounded products
    return Enclosure(
        _below(margin_term.lower + lower * (0.5**0.5 * (1.0 - 4.0 * UNIT_ROUNDOFF)) / room),
        _above(margin_term.upper + upper * half_root * room),
    )


def enclose_form(w: Array, low: Array | None = None) -> Enclosure:
    """Bounds on ``q(w + low)``, with the right sign; both ends are 0 where it is 0."""
    if low is None:
        square = float(w @ w)
        space, time = float(np.linalg.norm(w[1:])), abs(float(w[0]))
        form = (space - time) * (space + time)
        error = (2 * w.size + 16) * UNIT_ROUNDOFF * square
        if abs(form) > CLEAR * square and 1e-140 < square < 1e280:
            return Enclosure(form - error, form + error) if error < 1e-12 * abs(form) else _exact_form(w, low)
    return _exact_form(w, low)


def _exact_form(w: Array, low: Array | None) -> Enclosure:
    form = exact_form(w, low)
    nearest = float(form)
    below, above = Fraction(nearest) <= form, Fraction(nearest) >= form
    return Enclosure(nearest if below else nextafter(nearest, -inf), nearest if above else nextafter(nearest, inf))


def _risk(samples: FramedSamples, w: Array, low: Array | None) -> tuple[float, float, float]:
    """Bounds on ``sum_i c_i max(0, 1 - m_i)`` but for the rounding of the sums, and on the least margin."""
    problem = samples.problem
    moved, errors = normal_to_frame(w, low, samples.centre)
    costs = (problem.costs > 0.0).astype(np.float64) if problem.is_hard else problem.costs
    return compiled_sums.enclosed_risk(
        samples.rows,
        problem.y,
        costs,
        samples.reaches,
        samples.matrix,
        moved,
        samples.roundings + 2.0 * rounding_factor(problem.dim + 4),
        samples.reach_factor,
        errors,
    )


def _above(value: float) -> float:
    return nextafter(value * (1.0 + 4.0 * UNIT_ROUNDOFF), inf) if value < inf else inf


def _below(value: float) -> float:
    return max(0.0, nextafter(value * (1.0 - 4.0 * UNIT_ROUNDOFF), -inf))
