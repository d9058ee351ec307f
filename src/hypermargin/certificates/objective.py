"""Rigorous bounds on the objective of a given w: the upper end beside the lower bound of a certificate.

The normal is ``w + low``, two vectors of doubles whose sum is meant exactly: at radius r the last bit of w moves
margins by ``eps e^(2r)``, and `low` holds what w has no room for. Its ``q`` is computed in rational arithmetic, and
margins in a frame (`frame.FramedSamples`) in which neither points nor w are large where it matters.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter, sqrt

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates import device
from hypermargin.certificates.compiled import sums as compiled_sums
from hypermargin.certificates.frame import FramedSamples
from hypermargin.certificates.robust.margins import worst_margin_bounds
from hypermargin.certificates.rounding import UNIT_ROUNDOFF, rounding_factor
from hypermargin.geometry.exact_normals import exact_form, normal_to_frame
from hypermargin.passes.device import DeviceSamples, on_host
from hypermargin.problems.margin import MarginProblem

#: A form that is more than this share of ``|w|^2`` needs no rational arithmetic.
CLEAR = 1e-3


@dataclass(frozen=True)
class Enclosure:
    """Two numbers with the exact one between them; of an objective also a lower bound of the least margin."""

    lower: float
    upper: float
    least_margin: float = -inf


INFINITE = Enclosure(inf, inf)


def enclose_objective(
    problem: MarginProblem, w: Array, low: Array | None, centre: Array, precise: bool = False
) -> Enclosure:
    """Bounds on the hinge objective of `problem` at ``w + low``, computed in the frame around `centre`, shape (d,).

    Infinite where the normal is timelike and that is not allowed. For the hard margin the value is ``q/2`` where all
    margins are proved to be at least 1, and infinite otherwise.
    """
    if not np.all(np.isfinite(w)):
        return INFINITE
    form = enclose_form(w, low)
    if form.lower < 0.0 and not problem.allow_timelike:
        return INFINITE
    margin_term = Enclosure(0.5 * max(form.lower, 0.0), 0.5 * max(form.upper, 0.0))
    lower, upper, least = _enclosed_risk(problem, centre, precise, w, low, form)
    if problem.is_hard:
        return replace(margin_term if least >= 1.0 else INFINITE, least_margin=least)
    room = _room(problem.n_samples)
    return Enclosure(
        max(0.0, _below(margin_term.lower + 0.5**0.5 * lower / room)),
        objective_above(form, upper, problem.n_samples),
        least,
    )


def objective_above(form: Enclosure, risk: float, n_samples: int) -> float:
    """``q/2 + risk/sqrt2`` from above, with bounds on q, and of the risk all but the rounding of its sum."""
    return _above(0.5 * max(form.upper, 0.0) + 0.5**0.5 * risk * _room(n_samples))


def _room(n_samples: int) -> float:
    """A factor for the rounding of sums over samples, and of costs, which are rounded products."""
    return 1.0 + rounding_factor(n_samples + 16)


def enclose_form(w: Array, low: Array | None = None) -> Enclosure:
    """Bounds on ``q(w + low)``, with the right sign; both ends are 0 where it is 0."""
    if low is None:
        square = float(w @ w)
        time = abs(float(w[0]))
        space = sqrt(float(w[1:] @ w[1:]))
        form = (space - time) * (space + time)
        if abs(form) > CLEAR * square and 1e-280 < square < 1e280:
            error = (4 * w.size + 32) * UNIT_ROUNDOFF * square
            return Enclosure(form - error, form + error)
    form_exactly = exact_form(w, low)
    nearest = float(form_exactly)
    below, above = Fraction(nearest) <= form_exactly, Fraction(nearest) >= form_exactly
    return Enclosure(nearest if below else nextafter(nearest, -inf), nearest if above else nextafter(nearest, inf))


def _enclosed_risk(
    problem: MarginProblem, centre: Array, precise: bool, w: Array, low: Array | None, form: Enclosure
) -> tuple[float, float, float]:
    """Bounds on ``sum_i c_i max(0, 1 - m_i)`` but for the rounding of the sums, and on the least margin."""
    return _together(problem.ask(piece_risk, centre, precise, *normal_to_frame(w, low, centre), form))


def _together(parts: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    lower, upper, least = zip(*parts, strict=True)
    return sum(lower), sum(upper), min(least)


def piece_risk(
    piece: MarginProblem | DeviceSamples, centre: Array, precise: bool, moved: Array, errors: Array, form: Enclosure
) -> tuple[float, float, float]:
    """The same for one piece."""
    if isinstance(piece, DeviceSamples):
        if precise or piece.uncertainty is not None:  # there is no device code for these
            problems = on_host(piece)
            return _together([piece_risk(problem, centre, precise, moved, errors, form) for problem in problems])
        frame = FramedSamples(piece, centre)  # type: ignore[arg-type]
        return device.enclosed_risk(piece, frame, moved, 2.0 * rounding_factor(piece.dim + 4), errors)
    samples, problem = FramedSamples(piece, centre, precise), piece
    costs = (problem.costs > 0.0).astype(np.float64) if problem.is_hard else problem.costs
    if problem.uncertainty is not None:
        least, most = worst_margin_bounds(samples, moved, errors, form.lower, form.upper)
        used = costs > 0.0
        lower, upper = (float(costs[used] @ np.maximum(0.0, 1.0 - margins[used])) for margins in (most, least))
        return lower, upper if not np.isnan(upper) else inf, float(np.min(least[used], initial=inf))
    return compiled_sums.enclosed_risk(
        samples.rows,
        problem.y,
        costs,
        samples.reaches,
        samples.entry,
        moved,
        samples.roundings + 2.0 * rounding_factor(problem.dim + 4),
        samples.reach_factor,
        errors,
    )


def _above(value: float) -> float:
    return nextafter(value * (1.0 + 8.0 * UNIT_ROUNDOFF), inf) if 0.0 < value < inf else value


def _below(value: float) -> float:
    return nextafter(value * (1.0 - 8.0 * UNIT_ROUNDOFF), -inf)
