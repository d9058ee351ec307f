"""The problem that a certificate is about, exactly, and the few tools that all checks share.

A point is given by its space coordinates xr, doubles that count as exact numbers; its time coordinate is the exact
``x0 = sqrt(1 + |xr|^2)``. The product is ``x*w = x0 w0 - xr.wr``, the margin of sample i is ``m_i(w) = y_i (x_i*w) =
z_i.w`` with ``z_i = y_i (x_i0, -xr_i)``, and ``q(w) = |wr|^2 - w0^2``. All arithmetic is that of Arb: a number is an
interval that holds the exact one, and a comparison is true only where it holds for all numbers of the intervals.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf, isfinite, isinf, nextafter
from types import SimpleNamespace
from typing import Any

from flint import arb, fmpq

from ...precision import digits

Vector = list[arb]

#: Bits of the attempts: more than twice those of a double, four times as many, and as many as hold products of four
#: doubles of any exponents. A bound is taken when more bits change it by less than SETTLED, eight units of a double.
BITS, SETTLED = (128, 512, 4096), 2.0**-50


class Refused(ValueError):
    """The certificate proves nothing about this problem; the message says why."""


class Malformed(Refused):
    """A field of the certificate is not of its kind: text where a number should be, or a number where a list should."""


@dataclass
class Problem:
    """Labelled points: space coordinates (n rows of d doubles), labels -1 and +1, C (inf: hard margin), weights.

    `noise` is None or a dict: ``set`` names the uncertainty set (GeodesicBall, Box, CrossPolytope, Ball, Ellipsoid),
    ``rho`` holds one size per sample, ``shape`` one matrix for all samples or one per sample. `centre` is the point
    that the margin term of generalised hyperplanes is about, or None for the one that the certificate names. `names`
    are those by which a certificate may mention samples besides their rows.
    """

    space: list[list[float]]
    y: list[int]
    C: float
    weight: list[float] | None = None
    noise: dict[str, Any] | None = None
    allow_timelike: bool = False
    centre: list[float] | None = None
    names: list[str] | None = None

    def __post_init__(self) -> None:
        self.n, self.d, self.hard = len(self.y), len(self.space[0]) if self.space else 0, isinf(self.C)
        self.weights = [1.0] * self.n if self.weight is None else self.weight
        self.row = whole(0, self.n - 1)
        if {len(row) for row in self.space} != {self.d} or not self.n == len(self.space) == len(self.weights):
            raise Refused("the points are not a table with a label and a weight for each row")
        is_finite = all(map(isfinite, chain(self.weights, *self.space)))
        if not (self.d and is_finite and set(self.y) <= {-1, 1} and min(self.weights) >= 0.0 and self.C > 0.0):
            raise Refused("numbers must be finite, labels -1 or +1, weights not negative, and C positive")

    def cost(self, i: int, most_weight: float = inf) -> arb:
        """``c_i = C weight_i``, with weights up to `most_weight`."""
        return arb(self.C) * min(self.weights[i], most_weight)

    def z(self, i: int) -> Vector:
        return covector(lifted(self.space[i]), self.y[i])


def rational(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio())


def dot(a: Iterable[Any], b: Iterable[Any]) -> arb:
    return sum((u * v for u, v in zip(a, b, strict=True)), arb(0))


def plus(a: Iterable[Any], b: Iterable[Any], factor: Any = 1) -> Vector:
    """``a + factor b``."""
    return [u + factor * v for u, v in zip(a, b, strict=True)]


def lifted(space: Sequence[float]) -> Vector:
    xr = [arb(v) for v in space]
    return [(1 + dot(xr, xr)).sqrt(), *xr]


def covector(x: Sequence[arb], sign: int = 1) -> Vector:
    """The vector whose dot product with w is ``sign (x*w)``; the same map takes it back."""
    return [sign * x[0], *(-sign * v for v in x[1:])]


def form(w: Sequence[arb]) -> arb:
    """``q(w)``."""
    return dot(w[1:], w[1:]) - w[0] * w[0]


def boosted(x: Sequence[arb], centre: Sequence[float], direction: int) -> Vector:
    """x after the boost that takes the point over `centre` to the origin (direction -1), or back (+1)."""
    time, *c = lifted(centre)
    along = direction * dot(c, x[1:])
    return [time * x[0] + along, *plus(x[1:], c, direction * (x[0] + along / (1 + time)))]


def at_enough_digits(bound: Callable[[], arb]) -> float:
    """The lower end of an interval, computed with more and more digits until they change nothing any more."""
    last = -inf
    for bits in BITS:
        try:
            with digits(bits):
                low = bound().lower()
                nearest = float(low) if low.is_finite() else inf if low > 0 else -inf
                nearest = nearest if arb(nearest) <= low else nextafter(nearest, -inf)
        except (Refused, ZeroDivisionError) as error:  # fewer digits may not tell a matrix from a singular one
            if bits == BITS[-1]:
                raise Refused(str(error)) from error
            nearest = -inf
        if nearest > -inf and abs(nearest - last) <= SETTLED * abs(nearest):
            break
        last = nearest
    return nearest


def real(least: float = -inf, most: float = inf, kinds: tuple[type, ...] = (int, float)) -> Callable[[Any], Any]:
    """The form of a finite double between two others, both included."""

    def number(value: Any) -> Any:
        if type(value) not in kinds:
            raise Malformed(f"{value!r:.40} stands where a number should be")
        if not (least <= value <= most and abs(value) <= sys.float_info.max):
            raise Refused(f"the number {value!r:.40} is not finite, or not between {least} and {most}")
        return kinds[-1](value)

    return number


def whole(least: int, most: int) -> Callable[[Any], int]:
    """The form of a whole number between two others, both included."""
    return real(least, most, (int,))


#: The form of a positive double, the least of which is this.
positive = real(5e-324)


def read(value: Any, form: Any) -> Any:
    """A value of a file in its form, or a refusal. A form is a function, which reads the value; ``[form]`` or ``[form,
    size]`` for a list; a tuple of forms for a list of as many entries; or a dict of forms for an object with these
    fields, of which those with a ``?`` may be missing or null."""
    if callable(form):
        return form(value)
    if isinstance(form, dict):
        if not isinstance(value, dict):
            raise Malformed(f"{value!r:.40} stands where an object should be")
        found = SimpleNamespace()
        for key, item in form.items():
            name = key.rstrip("?")
            if name == key and name not in value:
                raise Refused(f"the certificate has no field {name!r}")
            setattr(found, name, None if name != key and value.get(name) is None else read(value[name], item))
        return found
    if not isinstance(value, list):
        raise Malformed(f"{value!r:.40} stands where a list should be")
    size = len(form) if isinstance(form, tuple) else form[1] if len(form) > 1 else len(value)
    if len(value) != size:
        raise Refused(f"a list has {len(value)} entries where {size} should be")
    return [read(v, item) for v, item in zip(value, form if isinstance(form, tuple) else form[:1] * size, strict=True)]
