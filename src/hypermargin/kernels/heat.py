"""The profile of the heat kernel of an odd-dimensional hyperbolic space, as a function of ``S = sinh^2(d/2)``.

The heat kernel of ``H^(2m+1)`` is a constant times ``(-1/sinh(d) d/dd)^m exp(-d^2/4t)`` (Davies and Mandouvalos, 1988).
Because ``sinh(d) dd = 2 dS`` that operator is ``-1/2 d/dS``, and ``d^2/4 = g(S)`` with ``g(S) = asinh(sqrt S)^2``, so
up to scale

    k(S) = (-d/dS)^m exp(-g(S)/t).

g has derivatives of alternating sign, ``p_j = (-1)^(j-1) g^(j)/(j - 1)! > 0``: it is a Bernstein function, because
``p_1 = 2F1(1, 1; 3/2; -S)`` is a Stieltjes function. So k is ``exp(-g/t)`` times a (complete Bell) polynomial in the
``p_j/t`` with positive coefficients: nothing cancels. From ``2 S (1 + S) g'' + (1 + 2S) g' = 1``,

    2 S (1 + S) p_2 = (1 + 2S) p_1 - 1,     2 S (1 + S) (j + 1) p_(j+2) = (2j + 1)(1 + 2S) p_(j+1) - 2 j p_j,

which is used away from S = 0; near it ``p_(j+1)`` is summed as a series in ``z = S/(1 + S)`` with positive terms. A
step of the recursion at S multiplies relative errors by at most ``(2 + 3S)/S``, because the terms that are subtracted
are in a ratio of at least ``(1 + 2S)/(1 + S)``; k itself is then at most ``(1 + S)^(-m/2)``, so that with many steps it
is used where k is small. The factorials are divided out and the polynomial is scaled, so that no number in between
overflows in any dimension.
"""

from math import e, ulp
from typing import Any

#: Up to which z the series is used, for at most `FEW_STEPS` derivatives and for more; 60 and 400 terms reach the end.
FEW_STEPS, LARGEST_Z, LARGEST_Z_OF_MANY = 3, 0.5, 0.9
#: Keeps quotients by S defined where points coincide; far below what changes a value.
NO_CHORD = 1e-300


def heat_profile(S: Any, t: float, dim: int, xp: Any) -> Any:
    """``k(S)/k(0)`` for the least odd dimension of at least `dim` (and at least 3); elementwise."""
    m = max(1, dim // 2)
    S = xp.maximum(S, xp.full_like(S, NO_CHORD))
    root = xp.sqrt(S)
    length = xp.asinh(root)  # d/2
    decay = xp.exp(-(length * length) / t)
    first = length / (root * xp.sqrt(1.0 + S))  # d/sinh(d)
    if m == 1:
        return first * decay
    return _bell(_derivatives(S, first, m, xp), t) * decay / _bell(_at_zero(m), t)


def heat_rounding(dim: int) -> tuple[float, float]:
    """How often the roundings of the three-dimensional kernel may count, relative and absolute."""
    m = max(1, dim // 2)
    if m <= FEW_STEPS:
        return m * 5.0 ** (m - 1), 1.0
    return float(m), 1.0 + 4.0 * m * 3.3 ** (m - 1) * 10.0 ** (-0.5 * m)


def _derivatives(S: Any, first: Any, m: int, xp: Any) -> list[Any]:
    """``p_1, ..., p_m``."""
    derivatives = [first]
    z = S / (1.0 + S)
    largest_z = LARGEST_Z if m <= FEW_STEPS else LARGEST_Z_OF_MANY
    near = z <= largest_z
    double = xp.where(near, xp.ones_like(S), 2.0 * S)
    inverse = 1.0 / (1.0 + S)
    share = (1.0 + 2.0 * S) * inverse  # S (1 + S) itself may overflow
    previous = None
    for j in range(m - 1):
        if previous is None:
            following = (share * first - inverse) / double
        else:
            following = ((2 * j + 1) * share * derivatives[-1] - (2 * j) * inverse * previous) / ((j + 1) * double)
        previous = derivatives[-1]
        derivatives.append(xp.where(near, _series(xp.where(near, z, xp.zeros_like(z)), j + 1, largest_z), following))
    return derivatives


def _series(z: Any, j: int, largest_z: float) -> Any:
    """``p_(j+1) = p_(j+1)(0) (1 - z)^(j+1) 2F1(1/2, j + 1; j + 3/2; z)``: Pfaff's transformation of its series in S."""
    coefficients = [1.0]
    while coefficients[-1] * largest_z ** (len(coefficients) - 1) > 0.1 * ulp(1.0):
        k = len(coefficients) - 1
        coefficients.append(coefficients[-1] * (k + 0.5) * (k + j + 1) / ((k + j + 1.5) * (k + 1)))
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = coefficient + z * total
    return _at_zero(j + 1)[j] * (1.0 - z) ** (j + 1) * total


def _at_zero(m: int) -> list[float]:
    """``p_(j+1)(0) = j! 2^j / (3 5 ... (2j + 1))`` for j = 0 to m - 1."""
    values, product = [], 1.0
    for j in range(m):
        values.append(product)
        product *= 2.0 * (j + 1) / (2 * j + 3)
    return values


def _bell(p: list[Any], t: float) -> Any:
    """The complete Bell polynomial of degree m in ``(k - 1)! p_k/t``, over ``m! s^m``; s depends on m and t only.

    Its terms without the factorial obey ``n b_n = sum_k b_(n-k) p_k/t``, ``b_0 = 1``, and ``b_n`` at S = 0 is about
    ``(1/t)^n/n!`` for small t and below 1 for large t: with ``s = max(1, e/(m t))`` all of ``b_n/s^n`` are in range.
    """
    m = len(p)
    unit = max(t, e / m)  # s t
    x = [value * ((t / unit) ** k / unit) for k, value in enumerate(p)]
    terms: list[Any] = [1.0]
    for n in range(1, m + 1):
        total = 0.0
        for k in range(n):
            total = total + terms[n - 1 - k] * x[k]
        terms.append(total / n)
    return terms[-1]
