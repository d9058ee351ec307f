"""The objective of the answer in a certificate, from above: with the lower bound it encloses the optimum.

The answer is ``W = w + w_low``, doubles whose sum is meant exactly, and for curves an intercept b; that of a kernel are
the coefficients of the proof. The sign of q(W) is found in rational arithmetic. Losses fall with the margin, so lower
ends of margins are enough.
"""

from math import inf
from typing import Any

from flint import arb, fmpq

from .dual import kernel_objective
from .exact import Problem, at_enough_digits, covector, dot, form, lifted, plus, rational, read, real
from .sets import Set


def objective(data: dict[str, Any], problem: Problem) -> float:
    """Infinite where the answer is not feasible, or a hard margin not proved to be 1 everywhere."""
    kind, d, vector = data.get("format"), problem.d, [real(), problem.d + 1]
    if kind == "hypermargin-kernel-1":
        return kernel_objective(data, problem)
    answer = read(data, {"answer": {"w": vector, "w_low?": vector, "intercept?": real()}}).answer
    low, curved, centre = answer.w_low or [0.0] * (d + 1), kind == "hypermargin-curve-1", [0.0] * d
    if curved:
        centre = problem.centre or read(data, {"centre": [real(), d]}).centre
    time, *space = [rational(u) + rational(v) for u, v in zip(answer.w, low, strict=True)]
    if not (curved or problem.allow_timelike or sum((v * v for v in space), fmpq(0)) >= time * time):
        return inf

    def minus_objective() -> arb:
        W, risk, used = plus(map(arb, answer.w), low), arb(0), [i for i, v in enumerate(problem.weights) if v > 0.0]
        along = dot(covector(W), lifted(centre)) if curved else arb(0)
        square = form(W) + 2 * along * along if curved else form(W).max(arb(0))
        for i in used:
            m = Set(problem, i, [0.0] * d).worst_margin(W) + problem.y[i] * (answer.intercept or 0.0)
            if problem.hard and not m >= 1:
                return arb("-inf")
            loss = arb(1).asinh() - m.asinh() if kind == "hypermargin-asinh-2" else (1 - m) * arb(2).rsqrt()
            risk += 0 if problem.hard else problem.cost(i) * loss.max(arb(0))
        return -square / 2 - risk

    return -at_enough_digits(minus_objective)
