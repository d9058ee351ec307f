"""The objectives of a kernel classifier in the ball arithmetic of Arb: every kernel value, every sum.

The judge of last resort: it takes some ten microseconds for each pair of a sample and a support vector.
"""

from collections.abc import Callable
from contextlib import contextmanager

import numpy as np
from flint import arb, arb_series, ctx

from hypermargin.arithmetic import ARB_BITS, in_arb
from hypermargin.arrays import Array
from hypermargin.certificates.core.certificate import CertificateError
from hypermargin.kernels import CoshKernel, DistanceKernel, HeatKernel, Kernel, LaplacianKernel
from hypermargin.problems.kernel import KernelProblem

#: The most bits. Near points and derivatives of high order cancel; a value that is not sharp is computed again with
#: four times the bits. The nearest doubles, at the origin, need about 2,200 for each derivative.
MOST_BITS = 64 * ARB_BITS
#: The relative accuracy of a value, in bits, or else its absolute one.
SHARP = 64


def enclosed_by_arb(problem: KernelProblem, beta: Array, intercept: float) -> tuple[float, float]:
    """As `kernel.enclosed_objectives`."""
    if not isinstance(problem.kernel, Kernel):
        raise CertificateError("Arb computes the kernels of this package only, not a callable of one's own")
    with in_arb():
        return _enclosed(problem, problem.space, beta, intercept)


def _enclosed(problem: KernelProblem, space: Array, beta: Array, intercept: float) -> tuple[float, float]:
    value = kernel_of_pairs(problem.kernel, space.shape[1])
    points = space.tolist()
    weights = {j: arb(float(beta[j])) for j in np.flatnonzero(beta).tolist()}
    norm_square, risk = arb(0), arb(0)
    for i, x in enumerate(points):
        score = sum((weight * value(x, points[j]) for j, weight in weights.items()), arb(0))
        if i in weights:
            norm_square += weights[i] * score
        margin = float(problem.y[i]) * (score + float(intercept))
        risk += arb(float(problem.costs[i])) * (1 - margin).max(arb(0))
    dual = sum((abs(w) for w in weights.values()), arb(0)) - norm_square / 2
    lower, upper = float(dual.lower()), float((norm_square / 2 + risk).upper())
    if not (np.isfinite(lower) and np.isfinite(upper)):
        return -np.inf, np.inf
    return float(np.nextafter(lower, -np.inf)), float(np.nextafter(upper, np.inf))


def kernel_of_pairs(kernel: Kernel | Callable, dim: int) -> Callable[[list[float], list[float]], arb]:
    """The kernel of two points, given by the doubles xr, as a ball that is sharp to about `SHARP` bits."""
    profile, order = _profile(kernel, dim)
    at_zero = arb(0) if isinstance(kernel, DistanceKernel) else arb(1)

    def value(x: list[float], y: list[float]) -> arb:
        if x == y:
            return at_zero
        bits = ARB_BITS
        while bits <= MOST_BITS:
            with in_arb(bits), _terms(order + 1):
                S = _half_chord(x, y)
                found = profile(S) if S > 0 else arb("nan")
                if found.is_finite() and found.rad() <= arb(2) ** -SHARP * abs(found).max(arb(2) ** -SHARP):
                    return found
            bits *= 4
        return arb(0, 1) if at_zero == 1 else arb("nan")  # all kernels but -d are between 0 and 1

    return value


def _half_chord(x: list[float], y: list[float]) -> arb:
    """``S = sinh^2(d/2)``, which is positive for points that differ."""
    times = [(1 + sum((arb(v) * v for v in point), arb(0))).sqrt() for point in (x, y)]
    return (times[0] * times[1] - sum((arb(a) * b for a, b in zip(x, y, strict=True)), arb(0)) - 1) / 2


@contextmanager
def _terms(count: int):
    """Let power series have so many terms; Arb cuts them off after ten if nothing is said."""
    before = ctx.cap
    ctx.cap = max(before, count)
    try:
        yield
    finally:
        ctx.cap = before


def _profile(kernel: Kernel | Callable, dim: int) -> tuple[Callable[[arb], arb], int]:
    """The kernel as a function of a ball around ``S = sinh^2(d/2) > 0``, and the order of derivatives in it."""
    if isinstance(kernel, DistanceKernel):
        return lambda S: -_length(S), 0
    if isinstance(kernel, LaplacianKernel):
        gamma = arb(float(kernel.gamma))
        return lambda S: (-gamma * _length(S)).exp(), 0
    if isinstance(kernel, CoshKernel):
        power = arb(float(kernel.power))
        return lambda S: (-power * (2 * S).log1p()).exp(), 0
    if isinstance(kernel, HeatKernel):
        m = max(1, dim // 2)
        return _heat_profile(arb(float(kernel.t)), m), m
    raise CertificateError(f"there is no Arb version of the kernel {kernel!r}")


def _length(S: arb) -> arb:
    return 2 * S.sqrt().asinh()


def _heat_profile(t: arb, m: int) -> Callable[[arb], arb]:
    """``(-d/dS)^m exp(-asinh(sqrt S)^2/t)`` over its value at 0, from power series of m + 1 terms.

    Near 0, ``asinh(sqrt S)^2 = sum_k c_k S^k`` with ``c_1 = 1`` and ``(k + 1)(2k + 1) c_(k+1) = -2 k^2 c_k``.
    """

    def profile(S: arb) -> arb:
        coefficients = [arb(0), arb(1)]
        for k in range(1, m):
            coefficients.append(-coefficients[-1] * (2 * k * k) / ((k + 1) * (2 * k + 1)))
        at_zero = (arb_series([-c / t for c in coefficients], m + 1)).exp()[m]
        shifted = arb_series([S, 1], m + 1)
        half = (shifted.sqrt() + (1 + shifted).sqrt()).log()
        return (-(half * half) / t).exp()[m] / at_zero

    return profile
