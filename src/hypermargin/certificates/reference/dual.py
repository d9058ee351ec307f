"""Lower bounds of kernel classifiers and of generalised hyperplanes, by points of their dual problems.

Both minimise ``|f|^2/2 + sum_i k_i max(0, 1 - y_i (f(x_i) + b))`` over f of a linear space with an inner product and
over b. For ``0 <= y_i beta_i <= k_i`` with ``sum beta_i = 0`` exactly, no f and no b have an objective below ``sum
|beta_i| - |sum beta_i e_i|^2/2``, where e_i represents the value at x_i.

* *Kernels*: ``k_i = c_i`` and the squared length is ``beta'K beta`` (sums of 0 are what the kernel -d is made for).
* *Curves*: f(x) = x*w with ``|f|^2 = q(w) + 2 (w*c)^2``, ``k_i = c_i/sqrt2``; the form is its own inverse, so the
  squared length is ``q(P) + 2 (P*c)^2`` of ``P = sum beta_i x_i``. The point c belongs to the problem and is stated in
  the file.
"""

import math
import re
from collections.abc import Callable
from math import comb
from typing import Any

from flint import arb, ctx, fmpq

from .exact import (
    Problem,
    Refused,
    Vector,
    at_enough_digits,
    dot,
    entry,
    form,
    number,
    numbers,
    sequence,
    whole,
)


def curve_lower_bound(data: dict[str, Any], problem: Problem) -> float:
    """What a certificate of generalised hyperplanes around its centre proves."""
    beta = _coefficients(data, problem, entry(data, "weights"), curved=True)
    centre = numbers(entry(data, "centre") if problem.centre is None else problem.centre, problem.d)

    def bound() -> arb:
        c = [arb(v) for v in centre]
        c = [(1 + dot(c, c)).sqrt(), *c]
        P = [arb(0)] * (problem.d + 1)
        for i, value in beta.items():
            P = [u + value * v for u, v in zip(P, problem.point(i), strict=True)]
        along = P[0] * c[0] - dot(P[1:], c[1:])
        return _total(beta) - (form(P) + 2 * along * along) / 2

    return at_enough_digits(bound)


def kernel_lower_bound(data: dict[str, Any], problem: Problem) -> float:
    """What a certificate of a kernel classifier proves; the kernel is the one that its statement names."""
    return kernel_bounds(data, problem, both=False)[0]


def kernel_bounds(data: dict[str, Any], problem: Problem, both: bool = True) -> tuple[float, float]:
    """The same, and an upper bound for the objective of the classifier that the coefficients and an intercept are."""
    beta = _coefficients(data, problem, entry(data, "coefficients"), curved=False)
    kernel = _kernel(entry(entry(data, "statement"), "model"), problem.d)

    intercept = number(entry(data, "intercept"))

    def square_length() -> arb:
        points = {i: problem.point(i) for i in beta}
        square, done = arb(0), list[int]()
        for i, value in beta.items():
            own = value * value * kernel(arb(0))
            others = sum((beta[j] * kernel(_separation(points[i], points[j])) for j in done), arb(0))
            square += own + 2 * value * others
            done.append(i)
        return square

    def minus_objective() -> arb:
        points, risk = [problem.point(i) for i in range(problem.n)], arb(0)
        for i, x in enumerate(points):
            score = sum((value * kernel(_separation(x, points[j])) for j, value in beta.items()), arb(intercept))
            risk += problem.cost(i) * (1 - problem.y[i] * score).max(arb(0))
        return -square_length() / 2 - risk

    lower = at_enough_digits(lambda: _total(beta) - square_length() / 2)
    return lower, -at_enough_digits(minus_objective) if both else math.inf


def _coefficients(data: dict[str, Any], problem: Problem, values: Any, curved: bool) -> dict[int, float]:
    """The coefficients by sample, after the conditions on them are seen to hold exactly."""
    if problem.hard or problem.noise is not None or problem.allow_timelike:
        raise Refused("the certificate is for soft margins without uncertainty sets")
    whole(entry(data, "n_samples"), problem.n, problem.n)
    samples = [whole(i, 0, problem.n - 1) for i in sequence(entry(data, "samples"))]
    beta = dict(zip(samples, numbers(values, len(samples)), strict=True))
    if len(beta) != len(samples):
        raise Refused("a sample is named twice")
    if sum((fmpq(*v.as_integer_ratio()) for v in beta.values()), fmpq(0)) != 0:
        raise Refused("the coefficients do not add up to 0")
    C = fmpq(*problem.C.as_integer_ratio())
    for i, value in beta.items():
        cost = C * fmpq(*problem.weight_of(i).as_integer_ratio())
        size = fmpq(*(problem.y[i] * value).as_integer_ratio())
        if size < 0 or (2 * size * size > cost * cost if curved else size > cost):
            raise Refused("a coefficient is beyond the cost of its sample")
    return beta


def _total(beta: dict[int, float]) -> arb:
    return sum((arb(abs(v)) for v in beta.values()), arb(0))


def _separation(x: Vector, y: Vector) -> arb:
    """``sinh^2(d/2) = (|x - y|^2 - (x0 - y0)^2)/4`` of two points, x0 - y0 = (|x|^2 - |y|^2)/(x0 + y0); exactly 0 if
    equal."""
    apart = [u - v for u, v in zip(x[1:], y[1:], strict=True)]
    if all(bool(v == 0) for v in apart):
        return arb(0)
    sums = [u + v for u, v in zip(x[1:], y[1:], strict=True)]
    ahead = dot(apart, sums) / (x[0] + y[0])
    return ((dot(apart, apart) - ahead * ahead) / 4).nonnegative_part()


def _kernel(text: Any, d: int) -> Callable[[arb], arb]:
    """The kernel of a statement, such as ``HeatKernel(t=0.5)``, as a function of ``S = sinh^2(d/2)``."""
    found = re.fullmatch(r"(\w+)Kernel\((?:\w+=([^,()]+))?\)", text) if isinstance(text, str) else None
    name = found[1] if found else ""
    if found is None or name not in ("Distance", "Laplacian", "Cosh", "Heat"):
        raise Refused(f"there is no kernel {text!r:.60} among those of points")
    if name == "Distance":
        return lambda S: -2 * S.sqrt().asinh()
    try:
        size = number(float(found[2]), 5e-324)
    except (TypeError, ValueError) as error:
        raise Refused(f"the kernel {text!r:.60} has no parameter") from error
    if name == "Laplacian":
        return lambda S: (-2 * arb(size) * S.sqrt().asinh()).exp()
    if name == "Cosh":
        return lambda S: (-arb(size) * (1 + 2 * S).log()).exp()
    return _heat_kernel(size, max(1, d // 2))


def _heat_kernel(t: float, m: int) -> Callable[[arb], arb]:
    """That of the space of dimension 2 m + 1, ``(-1/sinh(r) d/dr)^m exp(-r^2/4t)``, over its value at 0.

    As ``dS = sinh(r)/2 dr`` and ``r = 2 asinh(sqrt S)`` it is the m-th derivative of ``exp(-asinh(sqrt S)^2/t)`` in S,
    with the sign (-1)^m, up to a factor: the coefficient of order m of a power series around S.
    """

    def derivative(S: arb) -> arb:
        return _exponential([-v / arb(t) for v in _squares_around(S, m)])

    return lambda S: derivative(S) / derivative(arb(0))


def _squares_around(S: arb, m: int) -> Vector:
    """The coefficients up to order m of the power series of ``asinh(sqrt .)^2`` around S."""
    if S < 0.0625:  # from those around 0: a_1 = 1, a_k = -a_(k - 1) 2 (k - 1)^2/(k (2 k - 1)), which fall in size
        a, found = arb(0), [arb(0)] * (m + 1)
        for k in range(1, ctx.prec + 2 * m):
            a = arb(1) if k == 1 else -a * (2 * (k - 1) ** 2) / (k * (2 * k - 1))
            for n in range(min(k, m) + 1):
                found[n] += comb(k, n) * a * S ** (k - n)
            if k > 2 * m and comb(k, m) * S ** (k - m) < arb(2) ** -ctx.prec:
                break  # each term that follows is less than an eighth of the one before
        return [v + arb(0, (2 * comb(k + 1, n) * S ** (k + 1 - n)).upper()) for n, v in enumerate(found)]
    u, slope = [S * (1 + S), 1 + 2 * S, arb(1)], [1 / (S * (1 + S)).sqrt()]  # asinh(sqrt S)' = (S (1 + S))^(-1/2)/2
    for k in range(1, m):
        terms = ((-j / arb(2) - (k - j)) * u[j] * slope[k - j] for j in range(1, min(k, 2) + 1))
        slope.append(sum(terms, arb(0)) / (k * u[0]))
    half = [S.sqrt().asinh(), *(v / (2 * (k + 1)) for k, v in enumerate(slope))]
    return [dot(half[: k + 1], half[k::-1]) for k in range(m + 1)]


def _exponential(series: Vector) -> arb:
    """The last coefficient of the exponential of a power series."""
    found = [series[0].exp()]
    for k in range(1, len(series)):
        found.append(sum((j * series[j] * found[k - j] for j in range(1, k + 1)), arb(0)) / k)
    return found[-1]
