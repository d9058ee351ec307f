"""The objective of the answer in a certificate, from above: with the lower bound it encloses the optimum.

The answer is ``W = w + w_low``, doubles whose sum is meant exactly, and for curves an intercept b; that of a kernel are
the coefficients of the proof. The sign of q(W) is found in rational arithmetic. Losses fall with the margin, so lower
ends of margins are enough.
"""

import math
from typing import Any

from flint import arb, fmpq

from .dual import kernel_bounds
from .exact import Problem, at_enough_digits, covector, dot, form, on_hyperboloid, plus
from .fields import array, entry, real
from .sets import Set


def objective(data: dict[str, Any], problem: Problem) -> float:
    """Infinite where the answer is not feasible, or a hard margin not proved to be 1 everywhere."""
    kind, d = data.get("format"), problem.d
    if kind == "hypermargin-kernel-1":
        return kernel_bounds(data, problem)[1]
    answer, vector = entry(data, "answer"), array(real(), d + 1)
    w, b = entry(answer, "w", vector), real()(answer.get("intercept", 0.0))
    low = vector(answer["w_low"]) if answer.get("w_low") is not None else [0.0] * (d + 1)
    curved, loss = kind == "hypermargin-curve-1", _asinh if kind == "hypermargin-asinh-2" else _hinge
    centre = array(real(), d)(problem.centre or entry(data, "centre")) if curved else [0.0] * d
    time, *space = [fmpq(*u.as_integer_ratio()) + fmpq(*v.as_integer_ratio()) for u, v in zip(w, low, strict=True)]
    if not (curved or problem.allow_timelike or sum((v * v for v in space), fmpq(0)) >= time * time):
        return math.inf

    def minus_objective() -> arb:
        W, risk = plus(map(arb, w), low), arb(0)
        along = dot(covector(W), on_hyperboloid(centre)) if curved else arb(0)
        square = form(W) + 2 * along * along if curved else form(W).max(arb(0))
        for i in (i for i in range(problem.n) if problem.weights[i] > 0.0):
            robust = problem.noise is not None
            m = Set(problem, i, [0.0] * d, None).worst_margin(W) if robust else dot(problem.z(i), W) + problem.y[i] * b
            if problem.hard and not m >= 1:
                return arb("-inf")
            risk += arb(0) if problem.hard else problem.cost(i) * loss(m)
        return -square / 2 - risk

    return -at_enough_digits(minus_objective)


def _hinge(m: arb) -> arb:
    return (1 - m).max(arb(0)) / arb(2).sqrt()


def _asinh(m: arb) -> arb:
    return (arb(1).asinh() - m.asinh()).max(arb(0))
