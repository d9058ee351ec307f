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
from functools import cache
from typing import Any

from flint import arb, ctx, fmpq

from .exact import Problem, Vector, at_enough_digits, covector, dot, form, on_hyperboloid, plus
from .fields import Refused, array, entry, real, whole

#: Power series around less are taken from the last coefficients; either way is exact, and the other loses digits.
SMALL = 0.0625


def curve_lower_bound(data: dict[str, Any], problem: Problem) -> float:
    """What a certificate of generalised hyperplanes around its centre proves."""
    beta = _coefficients(data, problem, "weights")
    centre = entry(data, "centre", array(real(), problem.d)) if problem.centre is None else problem.centre

    def bound() -> arb:
        P = [arb(0)] * (problem.d + 1)
        for i, value in beta.items():
            P = plus(P, problem.point(i), value)
        along = dot(covector(P), on_hyperboloid(centre))
        square = form(P) + 2 * along * along  # a power of a ball around 0 is NaN in python-flint 0.9
        return _dual_value(beta, problem, square, arb(2).rsqrt())

    return at_enough_digits(bound)


def kernel_lower_bound(data: dict[str, Any], problem: Problem) -> float:
    """What a certificate of a kernel classifier proves; the kernel is the one that its statement names."""
    return kernel_bounds(data, problem, both=False)[0]


def kernel_bounds(data: dict[str, Any], problem: Problem, both: bool = True) -> tuple[float, float]:
    """The same, and an upper bound for the objective of the classifier that the coefficients and an intercept are."""
    beta, intercept = _coefficients(data, problem, "coefficients"), entry(data, "intercept", real())
    kernel = _kernel(entry(entry(data, "statement"), "model"), problem.d)

    def square_length(points: list[Vector]) -> arb:
        square, done = arb(0), list[int]()
        for i, value in beta.items():
            others = sum((beta[j] * kernel(_separation(points[i], points[j])) for j in done), arb(0))
            square += value * (value * kernel(arb(0)) + 2 * others)
            done.append(i)
        return square

    def minus_objective() -> arb:
        points, risk = [problem.point(i) for i in range(problem.n)], arb(0)
        for i, x in enumerate(points):
            score = sum((value * kernel(_separation(x, points[j])) for j, value in beta.items()), arb(intercept))
            risk += problem.cost(i) * (1 - problem.y[i] * score).max(arb(0))
        return -square_length(points) / 2 - risk

    def lower() -> arb:
        return _dual_value(beta, problem, square_length([problem.point(i) for i in range(problem.n)]), arb(1))

    return at_enough_digits(lower), -at_enough_digits(minus_objective) if both else math.inf


def _coefficients(data: dict[str, Any], problem: Problem, field: str) -> dict[int, float]:
    """The beta by sample, with a sum that is exactly 0, and ``0 <= y_i beta_i``."""
    if problem.hard or problem.noise is not None or problem.allow_timelike:
        raise Refused("the certificate is for soft margins without uncertainty sets")
    entry(data, "n_samples", whole(problem.n, problem.n))
    samples = entry(data, "samples", array(whole(0, problem.n - 1)))
    beta = dict(zip(samples, entry(data, field, array(real(), len(samples))), strict=True))
    if len(beta) != len(samples):
        raise Refused("a sample is named twice")
    if sum((fmpq(*value.as_integer_ratio()) for value in beta.values()), fmpq(0)) != 0:
        raise Refused("the coefficients do not add up to 0")
    if any(problem.y[i] * value < 0 for i, value in beta.items()):
        raise Refused("a coefficient has not the sign of its label")
    return beta


def _dual_value(beta: dict[int, float], problem: Problem, square: arb, unit: arb) -> arb:
    """The bound by the share of beta that keeps to ``k_i = unit c_i``: costs may be rounded up where beta is made."""
    share = arb(1)
    for i, value in beta.items():
        if value:
            share = share.min(unit * problem.cost(i) / abs(value))
    return share * sum((arb(abs(value)) for value in beta.values()), arb(0)) - share**2 * square / 2


def _separation(x: Vector, y: Vector) -> arb:
    """``sinh^2(d/2) = (|x - y|^2 - (x0 - y0)^2)/4`` of two points, ``x0 - y0 = (|x|^2 - |y|^2)/(x0 + y0)``; exactly 0
    if equal."""
    apart = plus(x[1:], y[1:], -1)
    ahead = dot(apart, plus(x[1:], y[1:])) / (x[0] + y[0])
    return arb(0) if all(v == 0 for v in apart) else ((dot(apart, apart) - ahead * ahead) / 4).nonnegative_part()


def _kernel(text: Any, d: int) -> Callable[[arb], arb]:
    """The kernel of a statement, such as ``HeatKernel(t=0.5)``, as a function of ``S = sinh^2(d/2)``."""
    found = re.fullmatch(r"(Distance|Laplacian|Cosh|Heat)Kernel\((?:\w+=([^,()]+))?\)", str(text))
    if found is None:
        raise Refused(f"there is no kernel {text!r:.60} among those of points")
    if found[1] == "Distance":
        return lambda S: -2 * S.sqrt().asinh()
    try:
        size = real(5e-324)(float(found[2]))
    except (TypeError, ValueError) as error:
        raise Refused(f"the kernel {text!r:.60} has no parameter") from error
    if found[1] == "Laplacian":
        return lambda S: (-2 * arb(size) * S.sqrt().asinh()).exp()
    if found[1] == "Cosh":
        return lambda S: (-arb(size) * (1 + 2 * S).log()).exp()
    at_origin = cache(lambda bits: _heat(arb(0), size, max(1, d // 2)))
    return lambda S: _heat(S, size, max(1, d // 2)) / at_origin(ctx.prec)


def _heat(S: arb, t: float, m: int) -> arb:
    """The heat kernel of the space of dimension 2 m + 1, ``(-1/sinh(r) d/dr)^m exp(-r^2/4t)``, up to a factor.

    As ``dS = sinh(r)/2 dr`` and ``r = 2 asinh(sqrt S)`` it is the m-th derivative of ``exp(-g/t)``, ``g(S) =
    asinh(sqrt S)^2``, or the coefficient of order m of its power series around S. Those h_k of ``g' = 2F1(1, 1; 3/2;
    -S) = asinh(sqrt S)/sqrt(S (1 + S))`` follow from the first, or for small S from the last two, as
    ``2 S (1 + S) g'' + (1 + 2 S) g' = 1``; and ``(e^u)' = u' e^u`` for u = -g/t.
    """
    root, square, double = S.sqrt().asinh(), S * (1 + S), 1 + 2 * S
    if S > SMALL:
        h = {-1: arb(0), 0: root / square.sqrt()}
        for k in range(m - 1):
            h[k + 1] = (int(k == 0) - double * (2 * k + 1) * h[k] - 2 * k * h[k - 1]) / (2 * square * (k + 1))
    else:
        h = {
            k: (-1) ** k * arb(k).fac() / arb(1.5).rising(k) * (-S).hypgeom_2f1(k + 1, k + 1, k + 1.5)
            for k in (m, m - 1)
        }
        for k in range(m - 1, 0, -1):
            h[k - 1] = -(double * (2 * k + 1) * h[k] + 2 * square * (k + 1) * h[k + 1]) / (2 * k)
    found = [(-root * root / arb(t)).exp()]
    for k in range(1, m + 1):
        found.append(-sum((h[j] * found[k - 1 - j] for j in range(k)), arb(0)) / (k * arb(t)))
    return found[m]
