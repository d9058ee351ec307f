"""Objectives of small problems in the ball arithmetic of Arb at many digits, and of q in rationals.

Written from the definition, and from nothing of the package: points are ``(sqrt(1 + |xr|^2), xr)`` for the doubles xr
of a case, costs are C times the weights, a normal is a list of exact numbers. Digits are so many that an enclosure is
as good as the number: what it cannot decide is not complained about.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
from flint import arb, arb_mat, ctx

from fuzz.cases import Case

PRECISION = 500
ctx.prec = PRECISION
INFINITY = arb("inf")

Vector = list[arb]


class ExactProblem:
    """A case at one C; `points` are rows (x0, xr) of numbers with `PRECISION` bits."""

    def __init__(self, case: Case, C: float) -> None:
        self.case, self.C = case, C
        self.points = [_point(row) for row in case.space.tolist()]
        self.y = [int(label) for label in case.y]
        n = len(self.y)
        self.weights = [arb(1)] * n if case.weight is None else [arb(float(v)) for v in case.weight]
        self.used = [i for i in range(n) if self.weights[i] != 0]
        self.rho = [] if case.noise is None else [arb(float(r)) for r in np.broadcast_to(case.noise.rho, n)]

    @property
    def centre(self) -> Vector:
        """A point in the middle of the points."""
        total = [sum((p[j] for p in self.points), arb(0)) for j in range(len(self.points[0]))]
        length = (total[0] ** 2 - dot(total[1:], total[1:])).sqrt()
        middle = [(t / length).mid() for t in total[1:]]
        return [(1 + dot(middle, middle)).sqrt(), *middle]

    def margins(self, w: Vector, q: arb) -> list[arb]:
        """Worst margins of the samples of positive weight."""
        return [self._margin(i, w, q) for i in self.used]

    def objective(self, w: Vector, q: arb) -> arb:
        """``max(q, 0)/2`` and the risk at w; q is that of w, by whatever means it was computed.

        Infinite where w is certainly not feasible.
        """
        if q < 0 and not self.case.timelike:
            return INFINITY
        half = q.nonnegative_part() / 2
        margins = self.margins(w, q)
        if self.case.hard:
            return INFINITY if any(m < 1 for m in margins) else half
        root = arb(2).rsqrt()
        terms = (self.weights[i] * (1 - m).nonnegative_part() for i, m in zip(self.used, margins, strict=True))
        return half + arb(self.C) * root * sum(terms, arb(0))

    def _margin(self, i: int, w: Vector, q: arb) -> arb:
        x, noise = self.points[i], self.case.noise
        m = self.y[i] * (x[0] * w[0] - dot(x[1:], w[1:]))
        if noise is None:
            return m
        if noise.name == "GeodesicBall":
            rho, tangent = self.rho[i], (q + m * m).nonnegative_part().sqrt()
            if q < 0 and m > 0 and tangent < rho.tanh() * m:
                return (-q).sqrt()
            return rho.cosh() * m - rho.sinh() * tangent
        return m - self.rho[i] * self._longest_step(i, w)

    def _longest_step(self, i: int, w: Vector) -> arb:
        """``max over z of (J z) * w``, z in the set with rho = 1: a norm of ``a = J' (w0, -wr)``.

        J is the Jacobian of ``v -> (cosh |v|, sinh |v| v/|v|)``, by its parts along and across ``n = v/|v|``.
        """
        noise, x = self.case.noise, self.points[i]
        sinh = dot(x[1:], x[1:]).sqrt()
        c0, c = w[0], [-v for v in w[1:]]
        if sinh == 0:
            a = c
        else:
            n = [v / sinh for v in x[1:]]
            along = dot(n, c)
            radial, stretch = sinh * c0 + x[0] * along, sinh / sinh.asinh()
            a = [stretch * (cj - along * nj) + radial * nj for cj, nj in zip(c, n, strict=True)]
        if noise.name == "Box":
            return sum((abs(v) for v in a), arb(0))
        if noise.name == "CrossPolytope":
            return _largest([abs(v) for v in a])
        if noise.name == "Ellipsoid":
            S = noise.shape if noise.shape.ndim == 2 else noise.shape[i]
            a = [sum((arb(float(S[k, j])) * a[k] for k in range(len(a))), arb(0)) for j in range(len(a))]
        return dot(a, a).sqrt()

    def has_separator(self, tries: list[Vector]) -> bool:
        """Whether some w has certainly all worst margins positive.

        Without an uncertainty set the answer no is a proof: if ``z_i.w >= 1`` can be met, the shortest such w meets it
        with equality for some linearly independent z_i and lies in their span.
        """
        Z = [[self.y[i] * v for v in (self.points[i][0], *(-u for u in self.points[i][1:]))] for i in self.used]
        found = [_shortest([Z[i] for i in S]) for k in range(1, len(Z[0]) + 1) for S in combinations(range(len(Z)), k)]
        return any(w is not None and all(m > 0 for m in self.margins(w, form(w))) for w in [*found, *tries])


def exact_normal(w: np.ndarray, low: np.ndarray | None) -> tuple[Vector, arb]:
    """``w + low`` and its q, computed in rationals so that its sign is right."""
    parts = [Fraction(a) for a in w.tolist()]
    if low is not None:
        parts = [a + Fraction(b) for a, b in zip(parts, low.tolist(), strict=True)]
    q = sum(v * v for v in parts[1:]) - parts[0] * parts[0]
    return [_ratio(v) for v in parts], _ratio(q)


def boost(centre: Vector, v: Vector, sign: int) -> Vector:
    """v after the isometry that moves the origin to `centre` (sign 1), or `centre` to the origin (sign -1)."""
    time, space = centre[0], [sign * c for c in centre[1:]]
    along = dot(space, v[1:])
    stretch = v[0] + along / (1 + time)
    return [time * v[0] + along, *(a + c * stretch for a, c in zip(v[1:], space, strict=True))]


def spacelike(v: Vector) -> tuple[Vector, arb]:
    """v, or where it is timelike v with a longer space part, and its q, which is certainly not negative."""
    q = form(v)
    if not q >= 0:
        space = dot(v[1:], v[1:]).sqrt()
        if not space > 0:
            v = [v[0], abs(v[0]), *v[2:]] if v[0] != 0 else v
            return v, arb(0)
        factor = (abs(v[0]) / space).upper() * (1 + arb(2) ** (-PRECISION // 2))
        v = [v[0], *(factor * u for u in v[1:])]
        q = form(v)
    return v, q.nonnegative_part()


def form(w: Vector) -> arb:
    return dot(w[1:], w[1:]) - w[0] * w[0]


def dot(a: Vector, b: Vector) -> arb:
    return sum((u * v for u, v in zip(a, b, strict=True)), arb(0))


def _point(row: list[float]) -> Vector:
    space = [arb(v) for v in row]
    return [(1 + dot(space, space)).sqrt(), *space]


def _ratio(value: Fraction) -> arb:
    return arb(value.numerator) / arb(value.denominator)


def _largest(values: list[arb]) -> arb:
    best = values[0]
    for value in values[1:]:
        best = best.max(value)
    return best


def _shortest(rows: list[Vector]) -> Vector | None:
    """The shortest w with ``z.w = 1`` for all rows z; None where they are dependent, or nearly so."""
    Z = arb_mat(rows)
    try:
        multipliers = (Z * Z.transpose()).solve(arb_mat([[1]] * len(rows)))
    except ZeroDivisionError:
        return None
    w = Z.transpose() * multipliers
    return [w[j, 0] for j in range(len(rows[0]))]
