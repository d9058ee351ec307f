"""The objectives of a kernel classifier in the ball arithmetic of Arb: every kernel value, every sum.

The judge of last resort: it takes some ten microseconds for each pair of a sample and a support vector.
"""

from collections.abc import Callable

import numpy as np
from flint import arb, arb_series, ctx

from hypermargin.arrays import Array
from hypermargin.certificates.base import CertificateError
from hypermargin.kernels import CoshKernel, DistanceKernel, HeatKernel, Kernel, LaplacianKernel
from hypermargin.problems.kernel import KernelProblem

#: Bits. Differences of far points cancel up to 60 of them, and derivatives of higher heat kernels some more.
PRECISION = 320


def enclosed_by_arb(problem: KernelProblem, beta: Array, intercept: float) -> tuple[float, float]:
    """As `kernel_sums.enclosed_objectives`."""
    if not isinstance(problem.kernel, Kernel):
        raise CertificateError("Arb computes the kernels of this package only, not a callable of one's own")
    with ctx.workprec(PRECISION):
        return _enclosed(problem, problem.space, beta, intercept)


def _enclosed(problem: KernelProblem, space: Array, beta: Array, intercept: float) -> tuple[float, float]:
    kernel = _profile(problem.kernel, space.shape[1])
    at_zero = arb(0) if isinstance(problem.kernel, DistanceKernel) else arb(1)
    points = [[arb(float(v)) for v in row] for row in space]
    times = [(1 + sum((v * v for v in row), arb(0))).sqrt() for row in points]
    used = np.flatnonzero(beta).tolist()
    weights = {j: arb(float(beta[j])) for j in used}
    norm_square, risk = arb(0), arb(0)
    for i, (x, x0) in enumerate(zip(points, times, strict=True)):
        score = arb(0)
        for j in used:
            product = x0 * times[j] - sum((a * b for a, b in zip(x, points[j], strict=True)), arb(0))
            S = (product - 1) / 2
            score += weights[j] * (kernel(S) if S > 0 else at_zero)
        if i in weights:
            norm_square += weights[i] * score
        margin = float(problem.y[i]) * (score + float(intercept))
        risk += arb(float(problem.costs[i])) * (1 - margin).max(arb(0))
    dual = sum((abs(w) for w in weights.values()), arb(0)) - norm_square / 2
    return float(dual.lower()), float((norm_square / 2 + risk).upper())


def _profile(kernel: Kernel | Callable, dim: int) -> Callable[[arb], arb]:
    """The kernel as a function of a ball around ``S = sinh^2(d/2) > 0``."""
    if isinstance(kernel, DistanceKernel):
        return lambda S: -_length(S)
    if isinstance(kernel, LaplacianKernel):
        gamma = arb(float(kernel.gamma))
        return lambda S: (-gamma * _length(S)).exp()
    if isinstance(kernel, CoshKernel):
        power = arb(float(kernel.power))
        return lambda S: (-power * (1 + 2 * S).log()).exp()
    if isinstance(kernel, HeatKernel):
        return _heat_profile(arb(float(kernel.t)), max(1, dim // 2))
    raise CertificateError(f"there is no Arb version of the kernel {kernel!r}")


def _length(S: arb) -> arb:
    return 2 * S.sqrt().asinh()


def _heat_profile(t: arb, m: int) -> Callable[[arb], arb]:
    """``(-d/dS)^m exp(-asinh(sqrt S)^2/t)`` over its value at 0, from power series of m + 1 terms.

    Near 0, ``asinh(sqrt S)^2 = sum_k c_k S^k`` with ``c_1 = 1`` and ``(k + 1)(2k + 1) c_(k+1) = -2 k^2 c_k``.
    """
    coefficients = [arb(0), arb(1)]
    for k in range(1, m):
        coefficients.append(-coefficients[-1] * (2 * k * k) / ((k + 1) * (2 * k + 1)))
    at_zero = (arb_series([-c / t for c in coefficients], m + 1)).exp()[m]

    def profile(S: arb) -> arb:
        shifted = arb_series([S, 1], m + 1)
        half = (shifted.sqrt() + (1 + shifted).sqrt()).log()
        return (-(half * half) / t).exp()[m] / at_zero

    return profile
