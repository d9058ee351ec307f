# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Double-double arithmetic: numbers of about 32 digits that are unevaluated sums ``h + l`` of two doubles.

Sums and products of two doubles have errors that are doubles themselves (Knuth, The Art of Computer Programming 2,
section 4.2.2; Dekker, A floating-point technique for extending the available precision, 1971). The operations below
build on that, first on single numbers, then elementwise on arrays. With u = 2^-53 each operation on numbers has a
relative error of at most ``16 u^2``, cancellation included: 3 u^2 + 13 u^3 for sums, 5 u^2 for products,
15 u^2 + 56 u^3 for quotients, 25/8 u^2 for square roots (Joldes, Muller and Popescu, Tight and rigorous error bounds
for basic building blocks of double-word arithmetic, 2017; Lefevre, Louvet, Muller, Picot and Rideau for the root,
2023). Compiled without fused operations, which these algorithms do not expect, with the C types of `double_double.pxd`.
"""

from typing import Any, NamedTuple

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt

SPLITTER = cython.declare(cython.double, 134217729.0)  # 2^27 + 1: its multiples split a double into 26 and 26 bits
# Between these numbers double-double arithmetic neither overflows nor loses what underflows: bounds on its errors.
SMALLEST = cython.declare(cython.double, 1e-160)
LARGEST = cython.declare(cython.double, 1e60)
# Errors of this share of the largest entry are enough: the rounding to doubles loses a hundred times as much.
ENOUGH = cython.declare(cython.double, 2.0**-60)

if not cython.compiled:
    Pair = cython.struct(h=cython.double, l=cython.double)


def _sum_of(a, b):
    """``a + b`` exactly (Knuth's two-sum)."""
    s = a + b
    z = s - a
    return Pair(h=s, l=(a - (s - z)) + (b - z))


def _normalised(a, b):
    """``a + b`` exactly where ``|a| >= |b|`` or a is 0 (Dekker's fast two-sum)."""
    s = a + b
    return Pair(h=s, l=b - (s - a))


def _product_of(a, b):
    """``a b`` exactly (Dekker's product)."""
    p = a * b
    c = SPLITTER * a
    a_high = c - (c - a)
    a_low = a - a_high
    c = SPLITTER * b
    b_high = c - (c - b)
    b_low = b - b_high
    return Pair(h=p, l=((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low)


def _plus(x, y):
    s = _sum_of(x.h, y.h)
    t = _sum_of(x.l, y.l)
    v = _normalised(s.h, s.l + t.h)
    return _normalised(v.h, t.l + v.l)


def _times(x, y):
    p = _product_of(x.h, y.h)
    return _normalised(p.h, p.l + (x.h * y.l + x.l * y.h))


def _over(x, y):
    """``x / y``: the quotient of the leading parts, and one correction from the exact remainder."""
    q = x.h / y.h
    r = _plus(x, _times(Pair(h=-q, l=0.0), y))
    return _normalised(q, (r.h + r.l) / y.h)


def _root(x):
    """The root of a positive number: that of the leading part, and one step of Newton's method."""
    s = sqrt(x.h)
    p = _product_of(s, s)
    return _normalised(s, (((x.h - p.h) - p.l) + x.l) / (2.0 * s))


def _exact(a):
    return Pair(h=a, l=0.0)


def _negative(x):
    return Pair(h=-x.h, l=-x.l)


def _time(centre):
    """The time coordinate ``sqrt(1 + |c|^2)`` over the space coordinates c."""
    square = _exact(1.0)
    for j in range(centre.shape[0]):
        square = _plus(square, _product_of(centre[j], centre[j]))
    return _root(square)


def move_space_parts(
    space: cython.const[cython.double][:, :],
    centre: cython.const[cython.double][::1],
    out: cython.double[:, ::1],
):
    """The points ``(sqrt(1 + |v|^2), v)`` over the rows v of `space` after the boost that takes `centre` to the origin.

    With c the space part of the centre and T its time part, a point x goes to

        x0' = T x0 - c.v,     v' = v + c (c.v/(1 + T) - x0).

    Row i of `out`, (n, d + 1), becomes the point rounded to doubles. Before that last rounding the error is at most
    ``(256 d + 1024) u^2 T x0`` in every coordinate: each of x0, c.v and T has one of (d + 4) 16 u^2 relative to the
    size of its terms, those are at most ``T x0``, and no more than six operations follow.
    """
    n = space.shape[0]
    dim = space.shape[1]
    top = _time(centre)
    for i in range(n):
        time, along = _exact(1.0), _exact(0.0)
        for j in range(dim):
            time = _plus(time, _product_of(space[i, j], space[i, j]))
            along = _plus(along, _product_of(centre[j], space[i, j]))
        time = _root(time)
        moved = _plus(_times(top, time), _negative(along))
        out[i, 0] = moved.h + moved.l
        factor = _plus(_over(along, _plus(_exact(1.0), top)), _negative(time))
        for j in range(dim):
            moved = _plus(_exact(space[i, j]), _times(_exact(centre[j]), factor))
            out[i, j + 1] = moved.h + moved.l


def move_normal(
    w: cython.const[cython.double][:],
    low: cython.const[cython.double][:],
    centre: cython.const[cython.double][:],
    moved: cython.double[::1],
    errors: cython.double[::1],
) -> cython.bint:
    """The normal ``w + low`` after the boost that takes `centre` to the origin: doubles, and bounds on their errors.

    False where double-double arithmetic has not digits enough for it, or bounds on its errors may not hold.

    With c the space part of the centre and T its time part, ``w0' = T w0 - c.wr`` and
    ``wr' = wr + c (c.wr/(1 + T) - w0)``. An empty `low` is 0. The error before the rounding to doubles is bounded, for
    all entries: T has one of ``(d + 2) 16 u^2`` and ``c.wr`` one of ``(d + 1) 16 u^2`` relative to its
    terms, the factor of c one of ``(2 d + 8) 16 u^2 |w|``, since ``|c_k| < 1 + T``, and no more than three operations
    follow; in all less than ``(64 d + 512) u^2 (T + |c|) |w|`` in sums of sizes, with room for underflow where
    these sums are not tiny.
    """
    dim = centre.shape[0]
    size = fabs(w[0])
    length = 0.0
    along = _exact(0.0)
    top = _time(centre)
    time = _exact(w[0]) if low.shape[0] == 0 else _sum_of(w[0], low[0])
    for j in range(dim):
        entry = _exact(w[j + 1]) if low.shape[0] == 0 else _sum_of(w[j + 1], low[j + 1])
        along = _plus(along, _times(_exact(centre[j]), entry))
        length += fabs(centre[j])
        size += fabs(w[j + 1])
    if low.shape[0] > 0:
        for j in range(dim + 1):
            size += fabs(low[j])
    size = 1.0001 * (64 * dim + 512) * 2.0**-106 * (top.h + length) * size
    entry = _plus(_times(top, time), _negative(along))
    moved[0], errors[0] = entry.h, fabs(entry.l)
    along = _plus(_over(along, _plus(_exact(1.0), top)), _negative(time))
    for j in range(dim):
        entry = _exact(w[j + 1]) if low.shape[0] == 0 else _sum_of(w[j + 1], low[j + 1])
        entry = _plus(entry, _times(_exact(centre[j]), along))
        moved[j + 1], errors[j + 1] = entry.h, fabs(entry.l)
    length = 0.0
    for j in range(dim + 1):
        errors[j] = (errors[j] + size) * (1.0 + 2.0**-50) + 1e-300
        length = max(length, fabs(moved[j]))
        if not errors[j] < LARGEST:
            return False
    return SMALLEST < size < LARGEST and size <= ENOUGH * length


def move_jacobians(
    space: cython.const[cython.double][:, :],
    stretches: cython.const[cython.double][::1],
    centre: cython.const[cython.double][::1],
    out: cython.double[:, :, ::1],
):
    """The images ``J e_k`` of the axes under the Jacobian of exp_0, after the boost that takes `centre` to the origin.

    With n the direction of v, r = |v| and (T, c) the centre, ``J e_k = n_k (r, x0 n) + stretch (0, e_k - n_k n)``
    (`problems.linearised`). The two vectors are moved in double-double arithmetic and rounded, then combined in
    doubles: row (i, k) of `out`, (n, d, d + 1), errs by no more than ``4 u`` relative to the size of its two terms and
    ``(512 d + 4096) u^2 T (x0 + stretch)`` in every coordinate, besides what `stretches`, (n,), the numbers
    ``r/asinh(r)``, err themselves.
    """
    dim = space.shape[1]
    top = _time(centre)
    share = _over(_exact(1.0), _plus(_exact(1.0), top))
    for i in range(space.shape[0]):
        square, along = _exact(0.0), _exact(0.0)
        for j in range(dim):
            square = _plus(square, _product_of(space[i, j], space[i, j]))
            along = _plus(along, _product_of(centre[j], space[i, j]))
        time = _root(_plus(_exact(1.0), square))
        if square.h > 0.0:
            length = _root(square)
            along = _over(along, length)  # c.n
        else:
            length, along = _exact(0.0), _exact(0.0)
        for k in range(dim):
            direction = _over(_exact(space[i, k]), length) if square.h > 0.0 else _exact(0.0)
            # the radial part: (r, x0 n), times n_k
            entry = _plus(_times(top, length), _negative(_times(time, along)))
            out[i, k, 0] = _rounded_product(direction, entry)
            factor = _plus(_times(_times(time, along), share), _negative(length))
            for j in range(dim):
                entry = _over(_exact(space[i, j]), length) if square.h > 0.0 else _exact(0.0)
                entry = _plus(_times(time, entry), _times(_exact(centre[j]), factor))
                out[i, k, j + 1] = _rounded_product(direction, entry)
            # the part across: (0, e_k - n_k n), times the stretch; factor becomes c.(e_k - n_k n)
            factor = _plus(_exact(centre[k]), _negative(_times(direction, along)))
            out[i, k, 0] -= stretches[i] * (factor.h + factor.l)
            factor = _times(factor, share)
            for j in range(dim):
                entry = _over(_exact(space[i, j]), length) if square.h > 0.0 else _exact(0.0)
                entry = _negative(_times(direction, entry))
                if j == k:
                    entry = _plus(_exact(1.0), entry)
                entry = _plus(entry, _times(_exact(centre[j]), factor))
                out[i, k, j + 1] += stretches[i] * (entry.h + entry.l)


def _rounded_product(x, y):
    p = _times(x, y)
    return p.h + p.l


def scaled_squares(
    points: cython.const[cython.double][:, :],
    scale: cython.double,
    high: cython.double[::1],
    low: cython.double[::1],
):
    """``scale |p|^2`` of every row p as a sum of two doubles: near the rim ``1 - |p|^2`` has only low digits."""
    for i in range(points.shape[0]):
        total = _exact(0.0)
        for j in range(points.shape[1]):
            total = _plus(total, _product_of(points[i, j], points[i, j]))
        total = _times(_exact(scale), total)
        high[i], low[i] = total.h, total.l


def roots(high: cython.double[::1], low: cython.double[::1]):
    """The square roots of the sums ``high + low``, in place; 0 stays 0."""
    for i in range(high.shape[0]):
        if high[i] > 0.0:
            root = _root(Pair(h=high[i], l=low[i]))
            high[i], low[i] = root.h, root.l


# -- elementwise on arrays of any library ------------------------------------------------------------------------------
#
# Nothing but rounded sums, products, quotients and roots: NumPy and torch come to the same digits. The relative error
# of each operation is a few 2^-104 where what is added has one sign, as it has in sums of squares.


class DoubleDouble(NamedTuple):
    """The sum ``high + low`` of two arrays, ``|low|`` at most half a unit in the last place of ``high``."""

    high: Any
    low: Any


def from_product(a: Any, b: Any) -> DoubleDouble:
    """``a b`` of two arrays of doubles, exactly (where nothing overflows or underflows)."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return DoubleDouble(product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)


def add(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    total = x.high + y.high
    part = total - x.high
    return _joined(total, ((x.high - (total - part)) + (y.high - part)) + (x.low + y.low))


def divide(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    """``x / y``: a quotient of doubles and one step of refinement."""
    first = x.high / y.high
    product = from_product(first, y.high)
    rest = ((x.high - product.high) - product.low) + x.low - first * y.low
    return _joined(first, rest / y.high)


def square_root(x: DoubleDouble, xp: Any) -> DoubleDouble:
    """``sqrt(x)``: a root of doubles and one step of Newton's method; 0 where x is 0."""
    first = xp.sqrt(x.high)
    square = from_product(first, first)
    rest = ((x.high - square.high) - square.low) + x.low
    return _joined(first, rest / (2.0 * xp.where(first > 0.0, first, xp.ones_like(first))))


def time_coordinates(space: Any) -> tuple[DoubleDouble, float]:
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


def _joined(high: Any, low: Any) -> DoubleDouble:
    """The same sum without the overlap; ``|high| >= |low|``."""
    total = high + low
    return DoubleDouble(total, low - (total - high))
