"""Points of uncertainty sets, as exact formulas: what the cuts of a robust problem are made of.

The worst margin of a sample is the minimum of ``y (p*w)`` over its set, so it is at most ``y (p*w)`` for every p of the
set's convex hull. Whichever p is taken, the cut holds; the closer p is to the worst one, the more it proves. With
``m = y (x*W)`` and ``T^2 = q(W) + m^2``:

* *Geodesic ball* of radius rho around x. ``p = A x + y B W`` has ``p*x = A + B m`` and ``p*p = (A + B m)^2 - B^2 T^2``;
  the convex hull is ``p*p >= 1, p0 > 0, p*x <= cosh rho``. So ``B = sinh(rho)/T', A = cosh(rho) - B m`` is in it for
  every ``T' >= T > 0``, and with ``T' = T`` the worst point itself. A timelike W with ``0 <= T < tanh(rho) m`` is,
  normalised, in the ball, and then the worst.
* *Linearised sets*: ``p = x + rho J S u`` with J the Jacobian of exp_0 at log_0(x), S the shape of an ellipsoid (else
  the identity), and u of size 1 at most in the norm of the set.
* *For spacelike W only* (`_multiple`): no worst margin is above ``a m`` for any a from the least to the largest of

      exp(-rho), exp(rho)        for a ball: cosh(rho) m - sinh(rho) sqrt(q + m^2) is at most both times m
      1 - k, 1 + k               for a set that holds all z of length k: |J'c| >= sqrt(q + m^2) >= |m|
"""

from functools import reduce
from typing import Any

from flint import arb

from .exact import Problem, Refused, Vector, boosted, covector, dot, form, lifted, plus

#: Shares of ``x0 |W|`` and of ``|m|`` below which a tangent part is not followed, or not all the way; the share of the
#: terms of a slope below which the slope is none, and of which vectors of slopes are not followed all the way. A normal
#: is taken for one of the light cone where |wr|^2 is below t^2 or above by less than ON_CONE, and a multiple that is
#: above the worst margin by less than TIED of the nominal one is taken all the same. They say how good a cut is, never
#: whether it holds, and are those of the search, whose cuts are meant.
FLAT, FLOOR, BLUR, SHORT, ON_CONE, TIED = 2.0**-24, 1e-7, 1e-9, 1e-8, 1e-12, 1e-9


class Set:
    """The uncertainty set of one sample (its point, where there is none), in the frame that has the point over `centre`
    at its origin. Slopes are none up to `blur` times BLUR of their terms."""

    def __init__(self, problem: Problem, i: int, centre: list[float], blur: float = 0.0) -> None:
        noise: dict[str, Any] = problem.noise or {"set": None, "rho": [0.0] * problem.n}
        d, x = problem.d, lifted(problem.space[i])
        self.y, self.kind, self.rho, self.blur = problem.y[i], noise["set"], arb(noise["rho"][i]), blur
        self.x = boosted(x, centre, -1)
        self.z = covector(self.x, self.y)
        self.inner = {"Box": arb(1), "Ball": arb(1), "CrossPolytope": arb(d).rsqrt()}.get(self.kind, arb(0))
        if self.kind in (None, "GeodesicBall"):
            return
        if self.kind not in ("Box", "CrossPolytope", "Ball", "Ellipsoid"):
            raise Refused(f"there is no uncertainty set {self.kind!r}")
        S: Any = noise["shape"] if self.kind == "Ellipsoid" else [[float(j == k) for k in range(d)] for j in range(d)]
        S = S[i] if isinstance(S[0][0], list) else S
        # J z = sinh(r) (n.z) e0 + cosh(r) (n.z) n + (sinh(r)/r) (z - (n.z) n) with n, r those of log_0(x)
        sinh, stretch, n = dot(x[1:], x[1:]).sqrt(), arb(1), [arb(0)] * d
        if sinh > 0:
            stretch, n = sinh / sinh.asinh(), [v / sinh for v in x[1:]]
        self.steps = list[Vector]()  # the columns of rho y J S, as covectors
        for z in zip(*S, strict=True):
            along = self.rho * dot(n, z)
            step = plus([along * sinh, *((x[0] - stretch) * along * v for v in n)], [0, *z], stretch * self.rho)
            self.steps.append(covector(boosted(step, centre, -1), self.y))

    def worst_margin(self, W: Vector) -> arb:
        """The least margin at W of a point of the set, or less: ``cosh(rho) m - sinh(rho) T`` of a ball that does not
        hold the point ``y W / sqrt(-q)``, and ``m - |slopes|`` in the dual norm of a linearised set."""
        m, q = dot(self.z, W), form(W)
        if self.kind is None:
            return m
        if self.kind == "GeodesicBall":
            T = (q + m * m).nonnegative_part().sqrt()
            worst = self.rho.cosh() * m - self.rho.sinh() * T
            apart = q >= 0 or m <= 0 or self.rho.tanh() * m <= T
            return worst if apart else worst.min((-q).nonnegative_part().sqrt())
        slopes = [abs(dot(step, W)) for step in self.steps]
        if self.kind == "CrossPolytope":
            return m - reduce(arb.max, slopes)
        return m - (sum(slopes, arb(0)) if self.kind == "Box" else dot(slopes, slopes).sqrt())

    def member(self, W: Vector) -> Vector:
        """``y covector(p)`` in the frame, for a point p of the convex hull that is about the worst one at W."""
        if self.kind == "GeodesicBall":
            return covector(self._of_ball(W), self.y)
        row, slopes = self.z, [dot(step, W) for step in self.steps]
        for step, share in zip(self.steps, self._shares(slopes, W), strict=True):
            row = plus(row, step, share)
        return row

    def for_cut(self, W: Vector, cone_cuts: bool) -> Vector:
        """What the cut at W takes: a member, or, where cuts hold for spacelike w only, a multiple if that is worse."""
        if self.kind is None or (abs(W[0]) == 1 and not any(v != 0 for v in W[1:])):
            return self.z
        member = self.member(W)
        if cone_cuts and dot(W[1:], W[1:]) < (1.0 + ON_CONE) * W[0] * W[0]:
            m = dot(self.z, W)
            sign = -1 if m > 0 else 1
            ball = self.kind == "GeodesicBall"
            multiple = (sign * self.rho).exp() if ball else 1 + sign * self.rho * self.inner
            if ball or multiple * m < dot(member, W) + TIED * abs(m):
                return [multiple * v for v in self.z]
        return member

    def _of_ball(self, W: Vector) -> Vector:
        m, q, cosh = dot(self.z, W), form(W), self.rho.cosh()
        T = (q + m * m).nonnegative_part().sqrt()
        if not FLAT * self.x[0] * sum(map(abs, W), arb(0)) < T:  # no direction is known to be worse
            return [cosh * v for v in self.x] if m < 0 else self.x
        if q < 0 and m > 0 and self.rho.tanh() * m > T:
            return [self.y * v / (-q).sqrt() for v in W]
        B = self.rho.sinh() / (T.max(FLOOR * abs(m)) if q < 0 and m < 0 else T)
        return plus([(cosh - B * m) * v for v in self.x], W, self.y * B)

    def _shares(self, slopes: Vector, W: Vector) -> list[Any]:
        """The u of the set of size 1 with about the least ``u.slopes``."""
        terms = self.blur * dot([max(map(abs, v), key=float) for v in zip(*self.steps, strict=True)], map(abs, W))
        if self.kind in ("Ball", "Ellipsoid"):
            length = dot(slopes, slopes).sqrt().max(SHORT * terms)
            return [-v / length for v in slopes] if length > 0 else [0] * len(slopes)
        middles, none = [float(v.mid()) for v in slopes], BLUR * float(terms)
        least = max(map(abs, middles)) - none if self.kind == "CrossPolytope" else 0.0
        taken = [abs(v) >= least and (abs(v) > none or not self.blur) for v in middles]
        share = arb(1) / sum(taken) if self.kind == "CrossPolytope" and any(taken) else 1
        return [(share if v <= 0.0 else -share) * t for v, t in zip(middles, taken, strict=True)]
