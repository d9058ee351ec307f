"""Rigorous bounds on the objective of a given w: the upper end beside the lower bound of a certificate.

The normal is ``w + low``, two vectors of doubles whose sum is meant exactly: at radius r the last bit of w moves
margins by ``eps e^(2r)``, and `low` holds what w has no room for. Its ``q`` is computed in rational arithmetic, and
margins in a frame in which neither points nor w are large where it matters.
"""

from dataclasses import dataclass, replace
from math import inf, nextafter, sqrt
from typing import Any

import numpy as np
from flint import fmpq

from hypermargin.arithmetic import UNIT_ROUNDOFF, above, below, exact_form, rounding_factor
from hypermargin.arrays import Array
from hypermargin.certificates.core.certificate import Answer, CertificateError
from hypermargin.certificates.core.sums import risk_of_block

#: A form that is more than this share of ``|w|^2`` needs no rational arithmetic: rounding, (4 d + 32) u, is far less.
CLEAR = 1e-3
#: Relative width of the enclosure of an objective with which no sharper one is sought: a tenth of 1e-9,
#: by which stated and recomputed bounds may differ (`statement.BOUND_ROUNDING`).
SHARP = 1e-10


@dataclass(frozen=True)
class Enclosure:
    """Two numbers with the exact one between them; of an objective also a lower bound of the least margin."""

    lower: float
    upper: float
    least_margin: float = -inf


INFINITE = Enclosure(inf, inf)


def enclose_objective(problem: Any, w: Array, low: Array | None, centre: Array, precise: bool = False) -> Enclosure:
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
    parts = problem.map_blocks(risk_of_block, centre, precise, w, low, (form.lower, form.upper))
    lowers, uppers, leasts = zip(*parts, strict=True)
    lower, upper, least = sum(lowers), sum(uppers), min(leasts)
    if problem.is_hard:
        return replace(margin_term if least >= 1.0 else INFINITE, least_margin=least)
    room = _room(problem.n_samples)
    return Enclosure(
        max(0.0, below(margin_term.lower + 0.5**0.5 * lower / room)),
        objective_above(form, upper, problem.n_samples),
        least,
    )


def answer_above(answer: Answer, problem: Any, centre: Array, precise: bool) -> float:
    """The objective of the answer of a certificate, from above: in the frame of its proof or in that of the data.

    Where doubles leave the objective open by more than `SHARP`, double-double arithmetic encloses it.
    """
    upper, data_centre = inf, problem.centre[1:]
    if centre.shape != data_centre.shape:  # compiled code looks up no lengths
        raise CertificateError(f"the certificate is not for dimension {problem.dim}")
    with np.errstate(all="ignore"):  # what overflows bounds nothing
        for frame in ((centre, precise), (data_centre, False), (centre, True), (data_centre, True)):
            found = enclose_objective(problem, answer.w, answer.w_low, *frame)
            upper = min(upper, found.upper)
            if upper - found.lower <= SHARP * upper:
                break
    return upper


def objective_above(form: Enclosure, risk: float, n_samples: int) -> float:
    """``q/2 + risk/sqrt2`` from above, with bounds on q, and of the risk all but the rounding of its sum."""
    return above(0.5 * max(form.upper, 0.0) + 0.5**0.5 * risk * _room(n_samples))


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
    exactly = fmpq(*nearest.as_integer_ratio())
    return Enclosure(
        nearest if exactly <= form_exactly else nextafter(nearest, -inf),
        nearest if exactly >= form_exactly else nextafter(nearest, inf),
    )
