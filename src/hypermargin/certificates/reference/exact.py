"""The problem that a certificate is about, exactly, and the few tools that all checks share.

A point is given by its space coordinates xr, doubles that count as exact numbers; its time coordinate is the exact
``x0 = sqrt(1 + |xr|^2)``. The product is ``x*w = x0 w0 - xr.wr``, the margin of sample i is ``m_i(w) = y_i (x_i*w) =
z_i.w`` with ``z_i = y_i (x_i0, -xr_i)``, and ``q(w) = |wr|^2 - w0^2``. All arithmetic is that of Arb: a number is an
interval that holds the exact one, and a comparison is true only where it holds for all numbers of the intervals.
"""

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb

from ...precision import digits
from .fields import Refused

Vector = list[arb]

#: Bits to begin with (more than twice those of a double), and bits of the last attempt (products of four doubles of any
#: exponents are exact in as many). Refusals count from DECISIVE bits on, ten times those of a double.
FEWEST, DECISIVE, MOST = 128, 512, 4096
#: A bound is taken when twice the bits change it by less than this, eight units in the last place of a double.
SETTLED = 2.0**-50


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

    def __post_init__(self) -> None:
        self.n, self.d = len(self.y), len(self.space[0]) if self.space else 0
        self.weights = [1.0] * self.n if self.weight is None else self.weight
        self.hard = math.isinf(self.C)
        if not self.n or not self.d or len(self.space) != self.n or any(len(row) != self.d for row in self.space):
            raise Refused("the points are not a table with a row per label")
        if not all(math.isfinite(v) for row in self.space for v in row) or not self.C > 0.0:
            raise Refused("coordinates must be finite, and C positive")
        if len(self.weights) != self.n or not all(0.0 <= v < math.inf for v in self.weights):
            raise Refused("weights must be finite and not negative, one per sample")
        if any(label not in (-1, 1) for label in self.y):
            raise Refused("labels must be -1 and +1")

    def cost(self, i: int, most_weight: float = math.inf) -> arb:
        """``c_i = C weight_i``, with weights up to `most_weight`."""
        return arb(self.C) * arb(min(self.weights[i], most_weight))

    def point(self, i: int) -> Vector:
        return on_hyperboloid(self.space[i])

    def z(self, i: int) -> Vector:
        return covector(self.point(i), self.y[i])

    def name(self, i: int) -> str:
        """The hash by which certificates for blocks of data name a sample: of its coordinates, label and weight."""
        of_point = _hashed([_bits(v) for v in self.space[i]])
        return f"{_hashed([_hashed([of_point, self.y[i] % 2**64]), _bits(self.weights[i])]):016x}"


def _bits(value: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", value + 0.0))[0]


def _hashed(words: list[int]) -> int:
    value = 0x9E3779B97F4A7C15
    for word in words:
        value = (value ^ word) * 0x9E3779B97F4A7C15 % 2**64
        value ^= value >> 32
    value = value * 0xFF51AFD7ED558CCD % 2**64
    return value ^ (value >> 29)


# -- vectors -----------------------------------------------------------------------------------------------------------


def dot(a: Iterable[Any], b: Iterable[Any]) -> arb:
    return sum((u * v for u, v in zip(a, b, strict=True)), arb(0))


def plus(a: Iterable[Any], b: Iterable[Any], factor: Any = 1) -> Vector:
    """``a + factor b``."""
    return [u + factor * v for u, v in zip(a, b, strict=True)]


def on_hyperboloid(space: Sequence[float]) -> Vector:
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
    time, *c = on_hyperboloid(centre)
    along = direction * dot(c, x[1:])
    return [time * x[0] + along, *plus(x[1:], c, direction * (x[0] + along / (1 + time)))]


# -- precision ---------------------------------------------------------------------------------------------------------


def at_enough_digits(bound: Callable[[], arb], decisive: int = DECISIVE) -> float:
    """The lower end of an interval, computed with more and more digits until they change nothing any more.

    From `decisive` bits on it counts that nothing is proved, or that the certificate is refused.
    """
    last, bits = -math.inf, FEWEST
    while bits <= MOST:
        try:
            with digits(bits):
                low = round_down(bound())
        except Refused:
            if bits >= decisive:
                raise
            low = -math.inf
        if low > -math.inf and abs(low - last) <= SETTLED * abs(low):
            return max(low, last)
        if low == -math.inf and bits >= decisive:
            return low
        last, bits = low, 2 * bits
    return last


def round_down(value: arb) -> float:
    """A double not above the interval."""
    low = value.lower()
    if not low.is_finite():
        return math.inf if low > 0 else -math.inf
    nearest = float(low)
    return nearest if arb(nearest) <= low else math.nextafter(nearest, -math.inf)
