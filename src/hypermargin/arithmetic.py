"""The arithmetic of everything that is proved: how doubles round, how far Arb goes, and exact rational numbers.

Four kinds of numbers are used. *Doubles* with a-priori bounds: for a sum of n terms in any order, with or without fused
operations, the error of the computed value is at most ``gamma_n sum |terms|`` with ``gamma_n = n u / (1 - n u)`` and
u = 2^-53 (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). *Balls* of doubles
(`certificates.core.compiled.intervals`). *Double-double* (`geometry.compiled.double_double`, for numbers and for arrays
of any library). *Arb*, always within `in_arb`. Doubles are rational, and a sign that decides something is
found in rational arithmetic (`rationals`, `exact_form`).
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from math import inf, nextafter
from typing import Any

from flint import arb, fmpq

from hypermargin.arrays import Array
from hypermargin.precision import digits

UNIT_ROUNDOFF = 2.0**-53
#: Bits of Arb. Points at the largest radius, 18, have products of up to e^(4 r), 104 bits, of which all may cancel, and
#: the conditions of a proof multiply a few of them; doubles that come from a file have exponents up to 2^1023. The
#: calls of Python cost more than the digits: 192 bits were not measurably faster.
ARB_BITS = 1024


def in_arb() -> AbstractContextManager[None]:
    """Arb with `ARB_BITS` bits; threads take turns."""
    return digits(ARB_BITS)


def rounding_factor(n):
    """``gamma_n``, rounded up; n may be an array."""
    return 1.0001 * n * UNIT_ROUNDOFF / (1.0 - n * UNIT_ROUNDOFF)


def above(value: float) -> float:
    """A double above the exact value of some eight operations on positive numbers that rounded to `value`."""
    return nextafter(value * (1.0 + 8.0 * UNIT_ROUNDOFF), inf) if 0.0 < value < inf else value


def below(value: float) -> float:
    """A double below it."""
    return nextafter(value * (1.0 - 8.0 * UNIT_ROUNDOFF), -inf)


def dot(a: Sequence[Any], b: Sequence[Any]) -> arb:
    """The sum of products of balls; doubles are exact numbers."""
    return sum((u * v for u, v in zip(a, b, strict=True)), arb(0))


def middle_and_radius(value: arb) -> tuple[float, float]:
    """A double, and an upper bound of its distance to anything in the ball."""
    middle = float(value.mid())
    return middle, float((value - middle).abs_upper()) * (1.0 + 2.0**-50)


def rationals(values: Iterable[float]) -> list[fmpq]:
    """Doubles as the rational numbers that they are."""
    return [fmpq(*float(value).as_integer_ratio()) for value in values]


def exact_form(w: Array, low: Array | None = None) -> fmpq:
    """``q(w + low) = |wr|^2 - t^2``, exactly."""
    entries = rationals(w.tolist())
    if low is not None:
        entries = [a + b for a, b in zip(entries, rationals(low.tolist()), strict=True)]
    time, *space = entries
    return sum((value * value for value in space), fmpq(0)) - time * time
