"""Normals of hyperplanes far from the origin, as sums ``w + low`` of two vectors of doubles that are meant exactly.

At radius r a change of w by its last bit moves products with points by ``eps e^(2r)``; with `low` the normal has twice
as many digits. It is moved between frames in double-double or ball arithmetic, a vector at a time.
"""

from collections.abc import Sequence
from math import inf

import numpy as np
from flint import arb

from hypermargin.arithmetic import dot, exact_form, in_arb, middle_and_radius
from hypermargin.arrays import Array
from hypermargin.geometry.compiled import double_double

#: What a normal of one vector has for `low`.
EMPTY = np.zeros(0)
#: A form that is more than this share of ``|w|^2`` has the sign that doubles give it, whose sums err by 1e-15 of it for
#: each dimension.
CLEARLY = 1e-6
#: A form that is this share of ``|wr|^2`` at most is what rounding leaves of 0: some 16 roundings.
FORM_ROUNDING = 2.0**-48
#: How often a normal is pushed out to the light cone, twice as far each time, before it counts as timelike: then
#: by more than 2^-13, which is no rounding.
PUSHES = 40


def normal_to_frame(w: Array, low: Array | None, centre: Array) -> tuple[Array, Array]:
    """``w + low`` moved by the boost that takes the centre (T, c) to the origin, as doubles and bounds on their errors.

    In double-double arithmetic, which has digits enough nearly always, and else in ball arithmetic.
    """
    moved, errors = np.empty(w.size), np.empty(w.size)
    if double_double.move_normal(w, EMPTY if low is None else low, centre, moved, errors):
        return moved, errors
    with in_arb():
        found = [middle_and_radius(value) for value in _boosted(w, low, -centre)]
    return np.array([middle for middle, _ in found]), np.array([error + 1e-300 for _, error in found])


def normal_from_frame(w: Array, low: Array | None, centre: Array) -> tuple[Array, Array]:
    """The inverse for ``w + low`` of the frame: the exact image rounded to two doubles per entry."""
    with in_arb():
        return _two_doubles(_boosted(w, low, centre))


def _boosted(w: Array, low: Array | None, centre: Array) -> list[arb]:
    """``w + low`` after the boost that takes the origin to the point over the centre."""
    normal = [arb(value) for value in w.tolist()]
    if low is not None:
        normal = [a + b for a, b in zip(normal, low.tolist(), strict=True)]
    return boosted(normal, [arb(value) for value in centre.tolist()])


def boosted(x: Sequence[arb], centre: Sequence[arb]) -> list[arb]:
    """A vector after the boost that takes the origin to (T, c): ``x0' = T x0 + c.xr``, ``xr' = xr + c (...)``."""
    time, along = (1 + dot(centre, centre)).sqrt(), dot(x[1:], centre)
    factor = along / (1 + time) + x[0]
    return [time * x[0] + along, *(v + c * factor for v, c in zip(x[1:], centre, strict=True))]


def _two_doubles(entries: list[arb]) -> tuple[Array, Array]:
    """The nearest doubles, and what is left of the midpoints, rounded to doubles."""
    high = [float(value.mid()) for value in entries]
    rest = [float((value - top).mid()) for value, top in zip(entries, high, strict=True)]
    return np.array(high), np.array(rest)


def scaled_normal(w: Array, low: Array, factor: float) -> tuple[Array, Array]:
    """``factor (w + low)`` as two doubles per entry, up to the rounding of the second."""
    with in_arb():
        return _two_doubles([(arb(a) + b) * factor for a, b in zip(w.tolist(), low.tolist(), strict=True)])


def onto_cone(w: Array, low: Array) -> tuple[Array, Array]:
    """``w + low`` with its space part stretched or shortened to ``q = 0``, up to bits of `low`, if q is rounding.

    A lightlike normal rounded to doubles may have a form of `FORM_ROUNDING` times ``|wr|^2``, of either sign.
    """
    square, form = float(w[1:] @ w[1:]), float(exact_form(w, low))
    if not 0.0 < abs(form) <= FORM_ROUNDING * square:
        return w, low
    more = low.copy()
    more[1:] = low[1:] - form / (2.0 * square) * w[1:]
    return w, more


def pushed_out(w: Array, low: Array | None = None) -> tuple[Array, Array | None]:
    """``w + low`` with its space part stretched by the bits it takes to have ``q >= 0`` exactly.

    What is timelike by more than rounding is returned as it is.
    """
    if low is None:
        square = float(w @ w)
        if 1e-280 < square < 1e280 and square - 2.0 * float(w[0]) ** 2 > CLEARLY * square:
            return w, None
    step = 2.0**-52 if low is None else 2.0**-104
    for _ in range(PUSHES):
        form = exact_form(w, low)
        if form >= 0:
            break
        if low is None:
            stretched = w.copy()
            stretched[1:] = w[1:] * (1.0 + step)
            w = stretched
        else:  # by what is missing, which may be far more than a bit of `low`, and then by bits
            missing = -float(form) / (2.0 * float(w[1:] @ w[1:])) if np.any(w[1:]) else inf
            if not missing < 2.0**-12:
                break
            more = low.copy()
            more[1:] = low[1:] + (missing + step) * w[1:]
            low = more
        step *= 2.0
    return w, low
