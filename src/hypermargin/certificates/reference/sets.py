"""Points of uncertainty sets, as exact formulas: what the cuts of a robust problem are made of.

The worst margin of a sample is the minimum of ``y (p*w)`` over its set, so it is at most ``y (p*w)`` for every p of the
set's convex hull. Whichever p is taken, the cut holds; the closer p is to the worst one, the more it proves. With
``m = y (x*W)`` and ``T^2 = q(W) + m^2``:

* *Geodesic ball* of radius rho around x. ``p = A x + y B W`` has ``p*x = A + B m`` and ``p*p = (A + B m)^2 - B^2 T^2``;
  the convex hull is ``p*p >= 1, p0 > 0, p*x <= cosh rho``. So ``B = sinh(rho)/T', A = cosh(rho) - B m`` is in it for
  every ``T' >= T > 0``, and with ``T' = T`` the worst point itself. A timelike W with ``0 <= T < tanh(rho) m`` is,
  normalised, in the ball, and then the worst.
* *Linearised sets*: ``p = x + J z`` with J the Jacobian of exp_0 at log_0(x), z of the set.
* *For spacelike W only* (`multiple`): no worst margin is above ``a m`` for any a from the least to the largest of

      exp(-rho), exp(rho)        for a ball: cosh(rho) m - sinh(rho) sqrt(q + m^2) is at most both times m
      1 - k, 1 + k               for a set that holds all z of length k: |J'c| >= sqrt(q + m^2) >= |m|
"""

from functools import reduce
from typing import Any

from flint import arb

from .exact import Problem, Vector, boosted, covector, dot, form, plus
from .fields import Refused

#: Shares of ``x0 |W|`` and of ``|m|`` below which a tangent part is not followed, or not all the way; shares of the
#: terms of ``J'w`` below which entries count as ties, and vectors are not followed all the way; how much less these are
#: where images in the frame are the terms. They say how good a cut is, never whether it holds, and are those of the
#: search, whose cuts are meant.
FLAT, FLOOR, TIE, SHORT, SHARPER = 2.0**-24, 1e-7, 1e-9, 1e-8, 1e-3


class Set:
    """The uncertainty set of one sample, in the frame that has the point over `centre` at its origin.

    `precise`: the terms of ``J'w`` are those in the frame, which far out are less than those in the coordinates of the
    data. None: there are no ties.
    """

    def __init__(self, problem: Problem, i: int, centre: list[float], precise: bool | None) -> None:
        noise: dict[str, Any] = problem.noise or {}
        d, x = problem.d, problem.point(i)
        self.y, self.kind, self.centre, self.precise = problem.y[i], noise.get("set"), centre, precise
        self.x, self.rho = boosted(x, centre, -1), arb(noise["rho"][i])
        if self.kind not in ("GeodesicBall", "Box", "CrossPolytope", "Ball", "Ellipsoid"):
            raise Refused(f"there is no uncertainty set {self.kind!r}")
        self.inner = {"Box": arb(1), "Ball": arb(1), "CrossPolytope": arb(d).rsqrt()}.get(self.kind, arb(0))
        S: Any = noise["shape"] if self.kind == "Ellipsoid" else [[float(j == k) for k in range(d)] for j in range(d)]
        self.S: list[list[float]] = S[i] if isinstance(S[0][0], list) else S
        # J z = sinh(r) (n.z) e0 + cosh(r) (n.z) n + (sinh(r)/r) (z - (n.z) n) with n, r those of log_0(x)
        sinh, self.stretch, n = dot(x[1:], x[1:]).sqrt(), arb(1), [arb(0)] * d
        if sinh > 0:
            self.stretch, n = sinh / sinh.asinh(), [v / sinh for v in x[1:]]
        self.along = [sinh, *((x[0] - self.stretch) * v for v in n)]
        columns = [[v * u for u in self.along] for v in n]
        for k, column in enumerate(columns):
            column[k + 1] += self.stretch
        self.J = [covector(boosted(column, centre, -1), self.y) for column in columns]

    def multiple(self, m: arb) -> arb:
        """A number a such that no spacelike w of margin m has a worst margin above ``a m``."""
        sign = -1 if m > 0 else 1
        return (sign * self.rho).exp() if self.kind == "GeodesicBall" else 1 + sign * self.rho * self.inner

    def member(self, W: Vector) -> Vector:
        """``y covector(p)`` in the frame, for a point p of the convex hull that is about the worst one at W."""
        if self.kind == "GeodesicBall":
            return covector(self._of_ball(W), self.y)
        slopes = [dot(column, W) for column in self.J]
        z = self._worst([dot(column, slopes) for column in zip(*self.S, strict=True)], self._size(W))
        row = covector(self.x, self.y)
        for column, shape in zip(self.J, self.S, strict=True):
            row = plus(row, column, self.rho * dot(shape, z))
        return row

    def worst_margin(self, W: Vector) -> arb:
        """The least margin at W of a point of the set, or less: ``cosh(rho) m - sinh(rho) T`` of a ball that does not
        hold the point ``y W / sqrt(-q)``, and ``m - rho |J'c|`` in the dual norm of a linearised set."""
        m, q = dot(covector(self.x, self.y), W), form(W)
        if self.kind == "GeodesicBall":
            T = (q + m * m).nonnegative_part().sqrt()
            worst = self.rho.cosh() * m - self.rho.sinh() * T
            apart = q >= 0 or m <= 0 or self.rho.tanh() * m <= T
            return worst if apart else worst.min((-q).nonnegative_part().sqrt())
        slopes = [dot(column, W) for column in self.J]
        turned = [dot(column, slopes) for column in zip(*self.S, strict=True)]
        sizes = list(map(abs, turned))
        if self.kind == "CrossPolytope":
            return m - self.rho * reduce(arb.max, sizes)
        return m - self.rho * (sum(sizes, arb(0)) if self.kind == "Box" else dot(turned, turned).sqrt())

    def _of_ball(self, W: Vector) -> Vector:
        x, cosh = self.x, self.rho.cosh()
        m, q = dot(covector(x, self.y), W), form(W)
        T = (q + m * m).nonnegative_part().sqrt()
        if not FLAT * x[0] * sum(map(abs, W), arb(0)) < T:  # no direction is known to be worse
            return [cosh * v for v in x] if m < 0 else x
        if q < 0 and m > 0 and self.rho.tanh() * m > T:
            return [self.y * v / (-q).sqrt() for v in W]
        B = self.rho.sinh() / (T.max(FLOOR * abs(m)) if q < 0 and m < 0 else T)
        return plus([(cosh - B * m) * v for v in x], W, self.y * B)

    def _size(self, W: Vector) -> float:
        """The size of the terms of ``J'W``."""
        if self.precise is None:
            return 0.0
        if self.precise:
            largest = [max(map(abs, entries), key=float) for entries in zip(*self.J, strict=True)]
            return SHARPER * float(dot(largest, map(abs, W)))
        c = covector(boosted(W, self.centre, 1))
        return float(self.stretch * max(map(abs, c[1:]), key=float) + abs(dot(self.along, c)))

    def _worst(self, slopes: Vector, size: float) -> list[Any]:
        """The z of the set of size 1, before it is turned by S, with about the least ``z.slopes``."""
        sizes, tie = [abs(float(v.mid())) for v in slopes], TIE * size
        signs = [-1 if float(v.mid()) > 0.0 else 1 for v in slopes]
        if self.kind == "Box":
            return [s if v > tie or self.precise is None else 0 for v, s in zip(sizes, signs, strict=True)]
        if self.kind == "CrossPolytope":
            tied = [v > tie and v >= max(sizes) - tie for v in sizes]
            return [s / arb(sum(tied)) if t else 0 for t, s in zip(tied, signs, strict=True)]
        norm = sum(v * v for row in self.S for v in row) ** 0.5 if self.kind == "Ellipsoid" else 1.0
        length = dot(slopes, slopes).sqrt().max(arb(SHORT * size * norm))
        return [-v / length for v in slopes] if length > 0 else [0] * len(slopes)
