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

from typing import Any

from flint import arb

from .exact import Problem, Refused, Vector, boosted, covector, dot, form, matrix, numbers

#: Entries of ``J'c`` below this share of its terms count as ties: a matter of quality, never of validity.
TIE, SHORT, SHARPER = 1e-9, 1e-8, 1e-3
#: Shares of ``x0 |W|`` and of ``|m|`` below which a tangent part is not followed, or not all the way.
FLAT, FLOOR = 2.0**-24, 1e-7


class Set:
    """The uncertainty set of one sample, seen in the frame that has the point over `centre` at its origin.

    `ties` says what entries of ``J'c`` are compared with to be ties: "terms" (of the sum in the coordinates of the
    data), "images" (of the axes in the frame, which far out are less), or nothing.
    """

    def __init__(self, problem: Problem, i: int, centre: list[float], ties: str = "") -> None:
        assert problem.noise is not None
        noise = problem.noise
        self.kind = noise.get("set")
        self.x, self.y, self.centre, self.ties = problem.point(i), problem.y[i], centre, ties
        self.framed = boosted(self.x, centre, -1)
        self.rho = arb(numbers(noise["rho"], problem.n, 0.0)[i])
        if self.kind not in ("GeodesicBall", "Box", "CrossPolytope", "Ball", "Ellipsoid"):
            raise Refused(f"there is no uncertainty set {self.kind!r}")
        d = problem.d
        if self.kind == "Ellipsoid":
            shape: Any = noise["shape"]
            own = shape[i] if shape and shape[0] and isinstance(shape[0][0], list) else shape
            self.shape = [[arb(v) for v in row] for row in matrix(own, d, d)]
        self.inner = {"Box": arb(1), "Ball": arb(1), "CrossPolytope": 1 / arb(d).sqrt()}.get(self.kind, arb(0))

    def multiple(self, m: arb) -> arb:
        """A number a such that no spacelike w of margin m has a worst margin above ``a m``."""
        if self.kind == "GeodesicBall":
            return (-self.rho).exp() if float(m.mid()) > 0.0 else self.rho.exp()
        reach = self.rho * self.inner
        return 1 - reach if float(m.mid()) > 0.0 else 1 + reach

    def member(self, w: list[float]) -> Vector:
        """``y covector(p)`` in the frame, for a point p of the convex hull that is about the worst one at w of the
        frame."""
        W = [arb(v) for v in w]
        if self.kind == "GeodesicBall":  # the same in every frame
            return covector(self._of_ball(W), self.y)
        moved = [u + v for u, v in zip(self.x, self._step(W), strict=True)]
        return covector(boosted(moved, self.centre, -1), self.y)

    def _of_ball(self, W: Vector) -> Vector:
        x = self.framed
        m, q = dot(covector(x, self.y), W), form(W)
        square = (q + m * m).nonnegative_part()
        T, cosh = square.sqrt(), self.rho.cosh()
        size = x[0] * sum((abs(v) for v in W), arb(0))
        if not FLAT * size < T:  # no direction is known to be worse: x itself, or cosh(rho) x, which the hull holds too
            return [cosh * v for v in x] if m < 0 else x
        if q < 0 and m > 0 and self.rho.tanh() * m > T:
            return [self.y * v / (-q).sqrt() for v in W]
        step = T.max(FLOOR * abs(m)) if q < 0 and m < 0 else T
        B = self.rho.sinh() / step
        A = cosh - B * m
        return [A * u + self.y * B * v for u, v in zip(x, W, strict=True)]

    def _step(self, w: Vector) -> Vector:
        """``J z``, ``J z = sinh(r) (n.z) e0 + cosh(r) (n.z) n + (sinh(r)/r) (z - (n.z) n)`` with n, r those of
        log_0(x)."""
        space = self.x[1:]
        d, at_origin = len(space), all(bool(v == 0) for v in space)
        sinh = arb(0) if at_origin else dot(space, space).sqrt()
        unit = [arb(0)] * d if at_origin else [v / sinh for v in space]
        stretch = arb(1) if at_origin else sinh / sinh.asinh()
        bend = self.x[0] - stretch

        def push(z: Vector) -> Vector:
            radial = dot(unit, z)
            return [sinh * radial, *(stretch * v + bend * radial * n for v, n in zip(z, unit, strict=True))]

        c = covector(boosted(w, self.centre, 1), self.y)
        along = sinh * c[0] + bend * dot(unit, c[1:])
        pulled = [stretch * v + along * n for v, n in zip(c[1:], unit, strict=True)]
        size = arb(0)
        if self.ties == "terms":
            size = stretch * max((abs(v) for v in c[1:]), key=float) + abs(along)
        elif self.ties == "images":
            images = [boosted(push([arb(int(j == k)) for j in range(d)]), self.centre, -1) for k in range(d)]
            largest = [max((abs(image[j]) for image in images), key=float) for j in range(d + 1)]
            size = SHARPER * dot(largest, [abs(v) for v in w])
        return push(self._worst(pulled, float(size.mid())))

    def _worst(self, a: Vector, size: float) -> Vector:
        """The z of the set with about the least ``z.a``; entries of a below `TIE` times the size count as ties."""
        sizes = [abs(float(v.mid())) for v in a]
        signs = [-1 if float(v.mid()) > 0.0 else 1 for v in a]
        if self.kind == "Box":
            return [
                self.rho * s if v > TIE * size or not self.ties else arb(0) for v, s in zip(sizes, signs, strict=True)
            ]
        if self.kind == "CrossPolytope":
            tied = [v > TIE * size and v >= max(sizes) - TIE * size for v in sizes]
            tied = tied if self.ties else [k == sizes.index(max(sizes)) for k in range(len(a))]
            return [self.rho * s / sum(tied) if t else arb(0) for t, s in zip(tied, signs, strict=True)]
        if self.kind == "Ball":
            return [self.rho * v for v in _unit(a, SHORT * size)]
        norm = sum(float(v.mid()) ** 2 for row in self.shape for v in row) ** 0.5
        turned = _unit([dot([row[k] for row in self.shape], a) for k in range(len(a))], SHORT * size * norm)
        return [self.rho * dot(row, turned) for row in self.shape]


def _unit(a: Vector, least: float) -> Vector:
    """``-a/|a|``, or shorter where a is shorter than `least`."""
    length = dot(a, a).sqrt().max(arb(least))
    return [-v / length for v in a] if length > 0 else [arb(0)] * len(a)
