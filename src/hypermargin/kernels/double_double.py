"""Numbers of about 32 digits as unevaluated sums ``high + low`` of two doubles, elementwise on arrays of any library.

The building blocks are error-free transformations (Dekker, A floating-point technique for extending the available
precision, 1971; Knuth, The Art of Computer Programming 2, section 4.2.2): they need nothing but rounded sums, products,
quotients and roots, so NumPy and torch come to the same digits. The relative error of each operation below is a few
``2^-104``.
"""

from typing import Any, NamedTuple

import numpy as np

from hypermargin.arrays import Array

#: ``2^27 + 1``: multiplying by it splits a double into two halves of 26 bits.
SPLITTER = 134217729.0


class DoubleDouble(NamedTuple):
    """The sum ``high + low`` with ``|low|`` at most half a unit in the last place of ``high``."""

    high: Any
    low: Any


def from_sum(a: Any, b: Any) -> DoubleDouble:
    """``a + b`` of two arrays of doubles, exactly."""
    total = a + b
    part = total - a
    return DoubleDouble(total, (a - (total - part)) + (b - part))


def from_product(a: Any, b: Any) -> DoubleDouble:
    """``a b`` of two arrays of doubles, exactly (where nothing overflows or underflows)."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return DoubleDouble(product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)


def add(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    total = from_sum(x.high, y.high)
    return _normalised(total.high, total.low + (x.low + y.low))


def divide(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    """``x / y``: a quotient of doubles and one step of refinement."""
    first = x.high / y.high
    product = from_product(first, y.high)
    rest = ((x.high - product.high) - product.low) + x.low - first * y.low
    return _normalised(first, rest / y.high)


def square_root(x: DoubleDouble, xp: Any) -> DoubleDouble:
    """``sqrt(x)``: a root of doubles and one step of Newton's method; 0 where x is 0."""
    first = xp.sqrt(x.high)
    square = from_product(first, first)
    rest = ((x.high - square.high) - square.low) + x.low
    safe = xp.where(first > 0.0, first, xp.ones_like(first))
    return _normalised(first, rest / (2.0 * safe))


def time_coordinates(space: Array) -> tuple[DoubleDouble, float]:
    """``sqrt(1 + |v|^2)`` of the rows v of a NumPy array, shape (n, d), and a bound on the relative error.

    Each of the d + 2 operations errs by less than 2^-101: all terms are positive, and the largest is no less than 1.
    """
    square = DoubleDouble(np.ones(len(space)), np.zeros(len(space)))
    for axis in space.T:
        square = add(square, from_product(axis, axis))
    return square_root(square, np), (space.shape[1] + 2) * 2.0**-101


def _halves(a: Any) -> tuple[Any, Any]:
    """The leading 26 bits of a, and the rest (Veltkamp's splitting)."""
    scaled = SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def _normalised(high: Any, low: Any) -> DoubleDouble:
    """The same sum with the overlap removed; ``|high| >= |low|``."""
    total = high + low
    return DoubleDouble(total, low - (total - high))
