"""Kernel classifiers and generalised hyperplanes: lower bounds by points of their dual problems.

Both minimise ``|f|^2/2 + sum_i k_i max(0, 1 - y_i (f(x_i) + b))`` over f of a linear space with an inner product and
over b. For ``0 <= y_i beta_i <= k_i`` with ``sum beta_i = 0`` exactly, no f and no b have an objective below ``sum
|beta_i| - |sum beta_i e_i|^2/2``, where e_i represents the value at x_i.

* *Kernels*: ``k_i = c_i`` and the squared length is ``beta'K beta`` (sums of 0 are what the kernel -d is made for).
* *Curves*: f(x) = x*w with ``|f|^2 = q(w) + 2 (w*c)^2``, ``k_i = c_i/sqrt2``; the form is its own inverse, so the
  squared length is ``q(P) + 2 (P*c)^2`` of ``P = sum beta_i x_i``. The point c belongs to the problem and is stated in
  the file.
"""

import re
from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any

from flint import arb, ctx, fmpq

from .exact import Problem, Refused, Vector, at_enough_digits, covector, dot, form, lifted, plus, read, real, whole

#: From less on the recurrence of `_heat` loses digits, and hypergeometric functions, which are slower, are taken.
SMALL = 0.0625
#: A statement's kernel: its name and its parameter, as Python writes it.
KERNEL = re.compile(r"(Distance|Laplacian|Cosh|Heat)Kernel\((?:\w+=(\d+(?:\.\d+)?(?:e[+-]?\d+)?))?\)")


def dual_lower_bound(data: Any, problem: Problem) -> float:
    """What a certificate of a kernel classifier, or of generalised hyperplanes around its centre, proves."""
    curved = data["format"] == "hypermargin-curve-1"
    beta = _coefficients(data, problem, "weights" if curved else "coefficients")
    centre = (problem.centre or read(data, {"centre": [real(), problem.d]}).centre) if curved else []
    kernel = None if curved else _kernel(data, problem.d)

    def bound() -> arb:
        x, unit, P = {i: lifted(problem.space[i]) for i in beta}, arb(1), [arb(0)] * (problem.d + 1)
        if kernel is not None:
            square = dot(beta.values(), beta.values()) * kernel(arb(0))
            for i, j in combinations(beta, 2):
                square += 2 * beta[i] * beta[j] * kernel(_separation(x[i], x[j]))
        else:
            for i, value in beta.items():
                P = plus(P, x[i], value)
            along = dot(covector(P), lifted(centre))  # no powers: of balls around 0 they are NaN in python-flint 0.9
            square, unit = form(P) + 2 * along * along, arb(2).rsqrt()
        share = arb(1)  # that keeps to k_i = unit c_i: costs may be rounded up where beta is made
        for i, value in beta.items():
            share = share.min(unit * problem.cost(i) / abs(value))
        return share * sum(map(abs, beta.values()), arb(0)) - share * share * square / 2

    return at_enough_digits(bound)


def kernel_objective(data: Any, problem: Problem) -> float:
    """The objective, from above, of the classifier that the coefficients and the intercept are."""
    beta, kernel = _coefficients(data, problem, "coefficients"), _kernel(data, problem.d)
    intercept = read(data, {"intercept": real()}).intercept

    def minus_objective() -> arb:
        points, square, risk = list(map(lifted, problem.space)), arb(0), arb(0)
        for i, x in enumerate(points):
            f = sum((value * kernel(_separation(x, points[j])) for j, value in beta.items()), arb(0))
            square += beta.get(i, 0) * f
            risk += problem.cost(i) * (1 - problem.y[i] * (f + intercept)).max(arb(0))
        return -square / 2 - risk

    return -at_enough_digits(minus_objective)


def _coefficients(data: Any, problem: Problem, field: str) -> dict[int, arb]:
    """The beta by sample, with a sum that is exactly 0, and ``0 <= y_i beta_i``."""
    if problem.hard or problem.noise is not None or problem.allow_timelike:
        raise Refused("the certificate is for soft margins without uncertainty sets")
    has = read(data, {"n_samples": whole(problem.n, problem.n), "samples": [problem.row], field: [real()]})
    values = getattr(has, field)
    if not len(set(has.samples)) == len(has.samples) == len(values):
        raise Refused("the coefficients are not one for each of different samples")
    if sum((fmpq(*value.as_integer_ratio()) for value in values), fmpq(0)) != 0:
        raise Refused("the coefficients do not add up to 0")
    if any(problem.y[i] * value < 0 for i, value in zip(has.samples, values, strict=True)):
        raise Refused("a coefficient has not the sign of its label")
    return {i: arb(value) for i, value in zip(has.samples, values, strict=True) if value}


def _separation(x: Vector, y: Vector) -> arb:
    """``sinh^2(d/2) = (|x - y|^2 - (x0 - y0)^2)/4`` of two points, ``x0 - y0 = (|x|^2 - |y|^2)/(x0 + y0)``; exactly 0
    if equal."""
    apart = plus(x[1:], y[1:], -1)
    ahead = dot(apart, plus(x[1:], y[1:])) / (x[0] + y[0])
    return arb(0) if all(v == 0 for v in apart) else ((dot(apart, apart) - ahead * ahead) / 4).nonnegative_part()


def _kernel(data: Any, d: int) -> Callable[[arb], arb]:
    """The kernel of a statement, such as ``HeatKernel(t=0.5)``, as a function of ``S = sinh^2(d/2)``."""
    text = read(data, {"statement": {"model": str}}).statement.model
    found = KERNEL.fullmatch(text)
    if found is None:
        raise Refused(f"there is no kernel {text!r:.60} among those of points")
    if found[1] == "Distance":
        return lambda S: -2 * S.sqrt().asinh()
    size = real(5e-324)(float(found[2] or 0))
    if found[1] == "Laplacian":
        return lambda S: (-2 * arb(size) * S.sqrt().asinh()).exp()
    if found[1] == "Cosh":
        return lambda S: (-arb(size) * (1 + 2 * S).log()).exp()
    at_origin = cache(lambda bits: _heat(arb(0), size, max(1, d // 2)))
    return lambda S: _heat(S, size, max(1, d // 2)) / at_origin(ctx.prec)


def _heat(S: arb, t: float, m: int) -> arb:
    """The heat kernel of the space of dimension 2 m + 1, ``(-1/sinh(r) d/dr)^m exp(-r^2/4t)``, up to a factor.

    As ``dS = sinh(r)/2 dr`` and ``r = 2 asinh(sqrt S)`` it is the m-th derivative of ``exp(-g/t)``, ``g(S) = asinh(sqrt
    S)^2``, or the coefficient of order m of its power series around S. Those h_k of ``g' = 2F1(1, 1; 3/2; -S) =
    asinh(sqrt S)/sqrt(S (1 + S))`` follow from ``2 S (1 + S) g'' + (1 + 2 S) g' = 1``; and ``(e^u)' = u' e^u``.
    """
    root, square = S.sqrt().asinh(), S * (1 + S)
    if S > SMALL:
        h = [root / square.sqrt()]
        for k in range(m - 1):
            h.append((int(k == 0) - (1 + 2 * S) * (2 * k + 1) * h[k] - 2 * k * h[k - 1]) / (2 * square * (k + 1)))
    else:
        factors = [(-1) ** k * arb(k).fac() / arb(1.5).rising(k) for k in range(m)]
        h = [factor * (-S).hypgeom_2f1(k + 1, k + 1, k + 1.5) for k, factor in enumerate(factors)]
    found = [(-root * root / arb(t)).exp()]
    for k in range(1, m + 1):
        found.append(-dot(h[:k], reversed(found)) / (k * arb(t)))
    return found[m]
