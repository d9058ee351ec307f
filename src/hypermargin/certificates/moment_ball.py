"""Why no better w lies outside a ball: part 1 of the proof in `certificates.moment`."""

from dataclasses import dataclass

import numpy as np
from flint import arb

from hypermargin.arrays import Array
from hypermargin.certificates.base import CertificateError
from hypermargin.certificates.exact_data import ExactData, dot, half_root, matrix_of


@dataclass(frozen=True, eq=False)
class Extent:
    """Weights that bound a coordinate of v where the frame's t has the sign `half`, or show that half to be empty.

    ``sign * v[coordinate]`` is bounded from above; a sign of 0 shows that the half is empty. `price` is lambda.
    """

    half: int
    coordinate: int
    sign: int
    price: float
    weights: Array

    def check(self, k: int, n: int) -> None:
        """Raise a `CertificateError` where this is no extent in k coordinates by n samples.

        The price multiplies a risk that is not negative, so it must not be negative itself; without any weight a half
        cannot be empty.
        """
        fits = self.weights.shape == (n,) and self.half in (-1, 1) and 0 <= self.coordinate < k
        if not fits or self.sign not in (-1, 0, 1):
            raise CertificateError("an extent of the ball does not fit the problem")
        if not (np.all(np.isfinite(self.weights)) and 0.0 <= self.price < np.inf):
            raise CertificateError("an extent of the ball has a price or weights that are not finite, or negative")
        if self.sign == 0 and not np.any(self.weights):
            raise CertificateError("an extent of the ball shows nothing without weights")


def check_ball(
    data: ExactData, level: float, centre: Array, basis: Array, frame: Array, extents: tuple[Extent, ...]
) -> None:
    """Raise a `CertificateError` where the extents do not show that the ball holds every w with ``f(w) < level``.

    The ball is ``centre + basis v``, ``|v| <= 1``; the extents are in the Lorentz frame of the point above `frame`.
    """
    k = len(centre)
    inverse, middle = matrix_of(basis).inv(), [arb(v) for v in centre.tolist()]
    reached: dict[tuple[int, int, int], arb] = {}
    for e in extents:
        row = [e.sign * inverse[e.coordinate, j] for j in range(k)]
        height = _height(data, level, frame, e, row) - dot(row, middle)
        key = (e.half, e.coordinate, e.sign)
        reached[key] = height if key not in reached else reached[key].min(height)
    square = arb(0)
    for j in range(k):
        largest = arb(0)
        for half in (-1, 1):
            if any(reached.get((half, i, 0), arb(0)) < 0 for i in range(k)):
                continue  # this half is empty
            for sign in (-1, 1):
                if (half, j, sign) not in reached:
                    raise CertificateError("a coordinate of the ball is not bounded")
                largest = largest.max(reached[half, j, sign])
        square += largest * largest
    if not square <= 1:
        raise CertificateError("the ball of the certificate is too small")


def _height(data: ExactData, stated: float, frame: Array, e: Extent, row: list[arb]) -> arb:
    """The bound on ``row.w`` that the weights prove."""
    level, price = arb(stated), arb(e.price)
    p, total = list(row), arb(0)
    for i in np.flatnonzero(e.weights).tolist():
        a = arb(float(e.weights[i]))
        if not (a > 0 and (data.hard or a <= price * data.costs[i] * half_root())):
            raise CertificateError("a weight of the ball is out of range")
        if data.unused(i):
            raise CertificateError("the certificate uses a sample of weight 0")
        p, total = [u + a * v for u, v in zip(p, data.rows[i], strict=True)], total + a
    time, space = _covector_in_frame([arb(c) for c in frame.tolist()], p)
    length = dot(space, space).nonnegative_part().sqrt()
    if not e.half * time + length <= 0:
        raise CertificateError("weights of the ball bound nothing")
    return length * (2 * level).sqrt() - total + (arb(0) if data.hard else price * level)


def _covector_in_frame(centre: list[arb], p: list[arb]) -> tuple[arb, list[arb]]:
    """``p.w`` as a function of the frame's (t, wr): the frame's w is moved out by the boost to the centre."""
    time = (1 + dot(centre, centre)).sqrt()
    along = dot(centre, p[1:])
    stretch = p[0] + along / (1 + time)
    return time * p[0] + along, [v + c * stretch for c, v in zip(centre, p[1:], strict=True)]
