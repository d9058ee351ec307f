"""The problem that a certificate is about, exactly, and the few tools that all checks share.

A point is given by its space coordinates xr, doubles that count as exact numbers; its time coordinate is the exact
``x0 = sqrt(1 + |xr|^2)``. The product is ``x*w = x0 w0 - xr.wr``, the margin of sample i is ``m_i(w) = y_i (x_i*w) =
z_i.w`` with ``z_i = y_i (x_i0, -xr_i)``, and ``q(w) = |wr|^2 - w0^2``. All arithmetic is that of Arb: a number is an
interval that holds the exact one, and a comparison is true only where it holds for all numbers of the intervals.
"""

import math
import struct
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from flint import arb, ctx

Vector = list[arb]

#: Arb has one precision for the whole process: checks in several threads take turns.
_PRECISION = RLock()
#: Bits to begin with, and bits at which a check gives up.
FEWEST, MOST = 128, 4096
#: A bound is taken when twice the bits change it by less than this, relative to its size.
SETTLED = 2.0**-50


class Refused(ValueError):
    """The certificate proves nothing about this problem; the message says why."""


class Malformed(Refused):
    """A field of the certificate is not of its kind: text where a number should be, or a number where a list should."""


@dataclass
class Problem:
    """Labelled points: space coordinates (n rows of d doubles), labels -1 and +1, C (inf: hard margin), weights.

    `noise` is None or a dict: ``set`` names the uncertainty set (GeodesicBall, Box, CrossPolytope, Ball, Ellipsoid),
    ``rho`` holds one size per sample, ``shape`` one matrix for all samples or one per sample. `centre` is the point
    that the margin term of generalised hyperplanes is about, or None for the one that the certificate names.
    """

    space: list[list[float]]
    y: list[int]
    C: float
    weight: list[float] | None = None
    noise: dict[str, Any] | None = None
    allow_timelike: bool = False
    centre: list[float] | None = None
    n: int = field(init=False)
    d: int = field(init=False)

    def __post_init__(self) -> None:
        self.n, self.d = len(self.y), len(self.space[0]) if self.space else 0
        if not self.n or not self.d or any(len(row) != self.d for row in self.space) or len(self.space) != self.n:
            raise Refused("the points are not a table with a row per label")
        if any(label not in (-1, 1) for label in self.y):
            raise Refused("labels must be -1 and +1")
        if not all(math.isfinite(v) for row in self.space for v in row) or not self.C > 0.0:
            raise Refused("coordinates must be finite, and C positive")
        if self.weight is not None and (
            len(self.weight) != self.n or not all(0.0 <= v < math.inf for v in self.weight)
        ):
            raise Refused("weights must be finite and not negative, one per sample")

    @property
    def hard(self) -> bool:
        return math.inf == self.C

    def weight_of(self, i: int) -> float:
        return 1.0 if self.weight is None else self.weight[i]

    def cost(self, i: int, most_weight: float = math.inf) -> arb:
        """``c_i = C weight_i``, with weights up to `most_weight`."""
        return arb(self.C) * arb(min(self.weight_of(i), most_weight))

    def point(self, i: int) -> Vector:
        space = [arb(v) for v in self.space[i]]
        return [(1 + dot(space, space)).sqrt(), *space]

    def z(self, i: int) -> Vector:
        return covector(self.point(i), self.y[i])

    def name(self, i: int) -> int:
        """The hash by which certificates for blocks of data name a sample: of its coordinates, label and weight."""
        of_point = _hashed([_bits(v) for v in self.space[i]])
        return _hashed([_hashed([of_point, self.y[i] % 2**64]), _bits(self.weight_of(i))])


# -- vectors -----------------------------------------------------------------------------------------------------------


def dot(a: Sequence[Any], b: Sequence[Any]) -> arb:
    return sum((u * v for u, v in zip(a, b, strict=True)), arb(0))


def covector(x: Sequence[arb], sign: int = 1) -> Vector:
    """The vector whose dot product with w is ``sign (x*w)``; the same map takes it back."""
    return [sign * x[0], *(-sign * v for v in x[1:])]


def form(w: Sequence[arb]) -> arb:
    """``q(w)``."""
    return dot(w[1:], w[1:]) - w[0] * w[0]


def boosted(x: Sequence[arb], centre: Sequence[float], direction: int) -> Vector:
    """x after the boost that takes the point over `centre` to the origin (direction -1), or back (+1)."""
    c = [arb(v) for v in centre]
    time = (1 + dot(c, c)).sqrt()
    along = direction * dot(c, x[1:])
    return [
        time * x[0] + along,
        *(v + direction * u * (x[0] + along / (1 + time)) for u, v in zip(c, x[1:], strict=True)),
    ]


def half_root() -> arb:
    """``1/sqrt2``."""
    return arb(2).rsqrt()


# -- precision ---------------------------------------------------------------------------------------------------------


@contextmanager
def digits(bits: int):
    with _PRECISION, ctx.workprec(bits):
        yield


def at_enough_digits(bound: Callable[[], arb]) -> float:
    """The lower end of an interval, computed with more and more digits until they change nothing any more.

    A refusal counts once it stands with ten times the digits of a double.
    """
    last, bits = -math.inf, FEWEST
    while bits <= MOST:
        try:
            with digits(bits):
                low = round_down(bound())
        except Refused:
            if bits >= 512:
                raise
            low = -math.inf
        if low > -math.inf and abs(low - last) <= SETTLED * abs(low):
            return max(low, last)
        last, bits = low, 2 * bits
    return last


def decided(question: Callable[[], bool | None]) -> bool | None:
    """The answer to a question that needs digits: None from it asks for more, and None here means that none helped."""
    bits = FEWEST
    while bits <= MOST:
        with digits(bits):
            answer = question()
        if answer is not None:
            return answer
        bits *= 2
    return None


def round_down(value: arb) -> float:
    """A double not above the interval."""
    low = value.lower()
    if not low.is_finite():
        return math.inf if low > 0 else -math.inf
    nearest = float(low)
    return nearest if arb(nearest) <= low else math.nextafter(nearest, -math.inf)


def round_up(value: arb) -> float:
    return -round_down(-value)


# -- fields of a file, none of which is believed -----------------------------------------------------------------------


def number(value: Any, least: float = -math.inf, most: float = math.inf) -> float:
    """A finite double between two others."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Malformed(f"{value!r:.40} stands where a number should be")
    if not math.isfinite(value):
        raise Refused("the certificate holds numbers that are not finite")
    if not least <= value <= most:
        raise Refused(f"the number {value!r:.40} is out of its range")
    return float(value)


def whole(value: Any, least: int, most: int) -> int:
    """A whole number between two others, both included."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise Malformed(f"{value!r:.40} stands where a whole number should be")
    if not least <= value <= most:
        raise Refused(f"{value!r:.40} is not between {least} and {most}")
    return value


def numbers(values: Any, size: int | None = None, least: float = -math.inf, most: float = math.inf) -> list[float]:
    """A list of finite doubles, `size` of them."""
    found = [number(v, least, most) for v in sequence(values)]
    if size is not None and len(found) != size:
        raise Refused(f"a list has {len(found)} numbers where {size} should be")
    return found


def matrix(values: Any, rows: int | None, columns: int) -> list[list[float]]:
    found = [numbers(row, columns) for row in sequence(values)]
    if rows is not None and len(found) != rows:
        raise Refused(f"a table has {len(found)} rows where {rows} should be")
    return found


def sequence(values: Any, size: int | None = None) -> list[Any]:
    if not isinstance(values, list) or (size is not None and len(values) != size):
        raise Malformed("a field of the certificate is not the list that it should be")
    return values


def entry(data: Any, key: str) -> Any:
    if not isinstance(data, dict) or key not in data:
        raise Refused(f"the certificate has no field {key!r}")
    return data[key]


# -- the hash of samples -----------------------------------------------------------------------------------------------

_FIRST, _SECOND, _MODULUS = 0x9E3779B97F4A7C15, 0xFF51AFD7ED558CCD, 1 << 64


def _bits(value: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", value + 0.0))[0]


def _hashed(words: list[int]) -> int:
    value = _FIRST
    for word in words:
        value = (value ^ word) * _FIRST % _MODULUS
        value ^= value >> 32
    value = value * _SECOND % _MODULUS
    return value ^ (value >> 29)
