"""Draw the planted problems of `hypermargin score --planted`: ``python benchmarks/plant.py`` writes planted.json again.

Points are dyadic: with a dyadic u and a power of two h, the point of the half-space over u at height h is
``x0, xd = (|u|^2 + h^2 +- 1)/2h`` and ``u/h`` besides, doubles that lie on the hyperboloid exactly. Multipliers and w
solve a linear system with these numbers, and what they are is enclosed in Arb to hundreds of digits: the truth is an
interval far narrower than any tolerance. Nothing here asks a solver.

**Why the planted w is the global minimum.** Let ``lambda Gw = sum a_i z_i`` with ``0 <= a_i <= c_i/sqrt2``, a_i at an
end unless the margin is 1, and lambda = 1, or 0 <= lambda <= 1 where q(w) = 0. With D = w' - w, for every feasible w'

    f(w') >= lambda q(w')/2 + R(w') = f(w) + lambda q(D)/2 + B,   B = R(w') - R(w) + sum a_i z_i.D >= 0,

so only a timelike D, ``q(D) = -tau^2``, could do better. For such D all ``x_i * D`` have one sign, s, and are at least
tau in size. A sample with margin 1 adds ``a_i tau`` to B where y_i = s and ``(c_i/sqrt2 - a_i) tau`` where not. With k
the sum of these, ``B >= k tau`` makes up for ``lambda tau^2/2`` as long as ``tau <= 2k/lambda``. For larger tau samples
with y_i = -s have margins at most ``m_i - tau``, and their loss alone is at least f(w), checked by `_is_global`.
The argument holds for timelike w' too, where the problem allows them. With the hard margin, D would have to keep
the margins of samples of both labels from falling, which no timelike D does: there a_i >= 0 suffices.
"""

import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from itertools import pairwise, product
from pathlib import Path

from flint import arb, arb_mat, fmpq, fmpq_mat

from hypermargin.arithmetic import in_arb
from hypermargin_studies.problem_set import planted as truths
from hypermargin_studies.problem_set.planted import (
    INF,
    Planted,
    Vector,
    dot,
    form,
    kernel_value,
    lifted,
    product_of,
    relu,
)


def solved(matrix: list[Vector], right: Vector) -> Vector:
    """The solution of a linear system; `Rejected` where Arb cannot tell that it has one."""
    try:
        answer = arb_mat(matrix).solve(arb_mat([[v] for v in right]))
    except ZeroDivisionError:
        raise Rejected from None
    return [answer[i, 0] for i in range(len(right))]


# -- dyadic points -----------------------------------------------------------------------------------------------------


def half_space(u: Sequence[fmpq], h: fmpq) -> list[fmpq]:
    """The point over u at height h, Lorentz coordinates with the special one last."""
    square = sum((v * v for v in u), h * h)
    return [(square + 1) / (2 * h), *(v / h for v in u), (square - 1) / (2 * h)]


def drawn_point(rng: random.Random, d: int) -> list[fmpq]:
    u = [fmpq(rng.randint(-64, 64), 32) for _ in range(d - 1)]
    return half_space(u, fmpq(2) ** rng.randint(-2, 2))


def turned(rng: random.Random, points: list[list[fmpq]]) -> list[list[float]]:
    """Space coordinates as doubles after a permutation and changes of sign, which are isometries."""
    d = len(points[0]) - 1
    order, signs = rng.sample(range(1, d + 1), d), [rng.choice((-1, 1)) for _ in range(d)]
    rows = [[float(s * p[j].p) / float(p[j].q) for j, s in zip(order, signs, strict=True)] for p in points]
    for row, p in zip(rows, points, strict=True):
        if any(s * p[j].p != int(v * float(p[j].q)) for v, j, s in zip(row, order, signs, strict=True)):
            raise Rejected
    return rows


def moved_out(rng: random.Random, points: list[list[fmpq]], scale: int) -> list[list[fmpq]]:
    """The points after a boost by ``scale log 2`` along the special axis, which keeps them dyadic."""
    k = fmpq(2) ** scale
    cosh, sinh = (k + 1 / k) / 2, (k - 1 / k) / 2
    return [[cosh * p[0] + sinh * p[-1], *p[1:-1], sinh * p[0] + cosh * p[-1]] for p in points]


class Rejected(Exception):
    """A draw that plants nothing; another is made."""


def require(condition: bool) -> None:
    if not condition:
        raise Rejected


# -- planting by multipliers -------------------------------------------------------------------------------------------


def _is_global(rows, y, caps, a, margins, active, value, lam=1) -> bool:
    """The condition of the module's docstring; a row p stands for samples with ``|p*D| >= tau sqrt(-q(p))``."""
    reach_of = [(-form(p)).sqrt() for p in rows]
    for sign in (1, -1):
        k = sum((reach_of[i] * (a[i] if y[i] == sign else caps[i] - a[i]) for i in active), arb(0))
        tau = 2 * k / lam
        others = [i for i in range(len(y)) if y[i] == -sign]
        if not sum((caps[i] * relu(1 - margins[i] + reach_of[i] * tau) for i in others), arb(0)) >= value:
            return False
    return True


def stationary(K, y, caps, n_active: int, *, intercept: bool) -> tuple[Vector, Vector, arb]:
    """Coefficients beta, margins and the objective of ``f = sum beta_i k(x_i, .) + b``, margin 1 at the first samples.

    Those of the others that miss their margin have ``y_i beta_i = caps[i]``, the rest 0. `caps` is None for the hard
    margin. `Rejected` where there is no such f, or the conditions of an optimum are not met.
    """
    n, missed = len(y), list[int]()
    for _ in range(4):  # samples that miss their margin pull at f, and may then be others
        spent = [sum((K[i][j] * y[j] * caps[j] for j in missed), arb(0)) for i in range(n)]
        system, right = [K[i][:n_active] for i in range(n_active)], [y[i] - spent[i] for i in range(n_active)]
        if intercept:
            system = [*([*row, arb(1)] for row in system), [*[arb(1)] * n_active, arb(0)]]
            right.append(-sum((y[j] * caps[j] for j in missed), arb(0)))
        solution = solved(system, right)
        shift = solution[-1] if intercept else arb(0)
        f = [dot(K[i][:n_active], solution[:n_active]) + spent[i] for i in range(n)]
        margins = [y[i] * (f[i] + shift) for i in range(n)]
        require(all(m > 1 or m < 1 for m in margins[n_active:]))
        found = [i for i in range(n_active, n) if margins[i] < 1]
        require(caps is not None or not found)
        if found == missed:
            break
        missed = found
    else:
        raise Rejected
    beta = [solution[i] if i < n_active else y[i] * caps[i] if i in missed else arb(0) for i in range(n)]
    require(all(y[i] * beta[i] > 0 and (caps is None or y[i] * beta[i] < caps[i]) for i in range(n_active)))
    return beta, margins, dot(beta, f) / 2 + sum((caps[j] * (1 - margins[j]) for j in missed), arb(0))


def planted_optimum(rows, y, costs, n_active: int) -> tuple[arb, Vector]:
    """The optimum and its w, with margin 1 at the first `n_active` rows and nowhere else; `Rejected` if there is none.

    Rows are exact points (or members of uncertainty sets), `costs` the ``c_i``, None for the hard margin.
    """
    rows = [[arb(v) for v in row] for row in rows]
    caps = None if costs is None else [arb(c) * arb(2).rsqrt() for c in costs]
    K = [[-product_of(x, v) for v in rows] for x in rows]
    beta, margins, value = stationary(K, y, caps, n_active, intercept=False)
    w = [-dot(beta, column) for column in zip(*rows, strict=True)]
    require(bool(form(w) > 0))
    if caps is None:
        require(set(y[:n_active]) == {-1, 1})
    else:
        a = [c * v for c, v in zip(y, beta, strict=True)]
        require(_is_global(rows, y, caps, a, margins, range(n_active), value))
    return value, w


def enclosed(value: arb) -> tuple[float, float]:
    """Doubles below and above."""
    return math.nextafter(float(value.lower()), -INF), math.nextafter(float(value.upper()), INF)


def hinge(rng: random.Random, *, hard: bool = False, far: bool = False, loss: str = "hinge") -> Planted:
    """Any dimension; samples with margin 1, beyond it and short of it; weights of a wide range."""
    d, C = rng.choice((1, 2, 2, 3, 5) if loss == "hinge" else (1, 2)), INF if hard else 2.0 ** rng.randint(-4, 6)
    k, n = rng.randint(2, d + 1), rng.randint(0, 12)
    points = [drawn_point(rng, d) for _ in range(k + n)]
    if far:
        points = moved_out(rng, points, rng.randint(4, 12))
    y = [1, -1, *(rng.choice((-1, 1)) for _ in range(k + n - 2))]
    rows = [[arb(v) for v in p] for p in points]
    value, w = planted_optimum(rows[:k], y[:k], None, k)
    size = math.sqrt(2.0) * float(value.mid()) / k  # about that of the multipliers, for the costs
    good = [i for i in range(k, k + n) if y[i] * product_of(rows[i], w) > 1.01]
    bad = [i for i in range(k, k + n) if y[i] * product_of(rows[i], w) < 0.99]
    kept = [*range(k), *good, *([] if hard or loss == "asinh" else bad)]
    shares = [
        rng.uniform(2.0, 9.0) if i < k else 2.0 ** rng.randint(-20, 4) if i in good else 2.0 ** -rng.randint(7, 12)
        for i in kept
    ]
    weight = None if hard else [share * size / C for share in shares]
    if loss == "asinh":  # weights so large that no margin below 0 pays, and hinge and asinh have the hard optimum
        weight = [3.0 * (float(value.upper()) + size) / C] * len(kept)
    points, y, rows = [points[i] for i in kept], [y[i] for i in kept], [rows[i] for i in kept]
    costs = None if weight is None else [arb(C) * arb(v) for v in weight]
    value, _ = planted_optimum(rows, y, costs, k)
    if loss == "asinh":
        require(all(c * arb(1).asinh() >= value for c in costs or ()))
    timelike = loss == "hinge" and not hard and rng.random() < 0.25
    return Planted(turned(rng, points), y, C, *enclosed(value), weight=weight, timelike=timelike, loss=loss)


def cone(rng: random.Random) -> Planted:
    """Optima on the light cone, ``w = s (1, 0, ..., 0, 1)``: +1 on a horosphere, -1 anywhere.

    At height h margins are s/h for +1, where h = s, and -s/h for -1. Multipliers of +1, rational multiples of 1/sqrt2,
    balance those of the others, but for a multiple of w, whose factor is the multiplier of ``q >= 0``.
    """
    d, C, s = rng.choice((2, 3)), 2.0 ** rng.randint(-3, 3), fmpq(2) ** rng.randint(-2, 2)
    edge = [[fmpq(rng.randint(-64, 64), 8) for _ in range(d - 1)] for _ in range(d)]
    below = [
        ([fmpq(rng.randint(-16, 16), 32) for _ in range(d - 1)], s * fmpq(2) ** rng.randint(-1, 3))
        for _ in range(rng.randint(1, 5))
    ]
    c = [fmpq(rng.randint(1, 32), 16) for _ in below]
    right = [sum((v / h for v, (_, h) in zip(c, below, strict=True)), fmpq(0))]
    right += [sum((v * u[j] / h for v, (u, h) in zip(c, below, strict=True)), fmpq(0)) for j in range(d - 1)]
    matrix = fmpq_mat([[1 / s] * d, *([u[j] / s for u in edge] for j in range(d - 1))])
    require(matrix.det() != 0)
    solution = matrix.solve(fmpq_mat([[v] for v in right]))
    alpha = [solution[i, 0] for i in range(d)]
    require(min(alpha) > 0)
    points = [half_space(u, s) for u in edge] + [half_space(u, h) for u, h in below]
    y, both = [1] * d + [-1] * len(below), [*alpha, *c]
    total = [sum((v * k * p[j] for v, k, p in zip(both, y, points, strict=True)), fmpq(0)) for j in range(d + 1)]
    require(total[0] == total[-1] and not any(total[1:-1]))
    half = arb(2).rsqrt()
    lam = -arb(total[0] / s) * half
    require(bool(lam > 0) and bool(lam <= 1))
    weight = [float(math.ceil(8 * v * rng.choice((2, 3, 9)))) / 8 / C for v in alpha] + [
        float(v.p) / float(v.q) / C for v in c
    ]
    caps = [arb(C) * arb(v) * half for v in weight]
    rows, margins = [[arb(v) for v in p] for p in points], [arb(1)] * d + [-arb(s / h) for _, h in below]
    value = sum((cap * (1 - m) for cap, m in zip(caps[d:], margins[d:], strict=True)), arb(0))
    a = [*(arb(v) * half for v in alpha), *caps[d:]]
    require(_is_global(rows, y, caps, a, margins, range(d), value, lam))
    return Planted(turned(rng, points), y, C, *enclosed(value), weight=weight)


def infeasible(rng: random.Random) -> Planted:
    """The hard margin on d + 2 points whose classes meet: Radon's partition of them; and others."""
    d = rng.choice((1, 2, 3, 4))
    points = [drawn_point(rng, d) for _ in range(d + 2)]
    matrix = fmpq_mat([[points[i][j] for i in range(d + 1)] for j in range(d + 1)])
    require(matrix.det() != 0)
    share = matrix.solve(fmpq_mat([[v] for v in points[-1]]))
    parts = [share[i, 0] for i in range(d + 1)] + [fmpq(-1)]
    require(all(v != 0 for v in parts))
    y = [1 if v > 0 else -1 for v in parts] + [rng.choice((-1, 1)) for _ in range(rng.randint(0, 4))]
    points += [drawn_point(rng, d) for _ in range(len(y) - len(points))]
    return Planted(turned(rng, points), y, INF)


def flat(rng: random.Random) -> Planted:
    """Optima that are not unique: pairs of opposite samples in one place, which leave w = 0, and one class alone."""
    loss = rng.choice(("hinge", "hinge", "asinh"))
    d, C = rng.choice((1, 2, 3) if loss == "hinge" else (1, 2)), 2.0 ** rng.randint(-6, 6)
    points, n = [drawn_point(rng, d) for _ in range(rng.randint(1, 5))], 0
    if rng.random() < 0.3:
        return Planted(turned(rng, points), [1] * len(points), C, 0.0, 0.0)
    weight = [2.0 ** rng.randint(-3, 3) for _ in points]
    n = len(points)
    each = arb(2).sqrt() if loss == "hinge" else 2 * arb(1).asinh()
    value = each * arb(C) * sum(map(arb, weight), arb(0))
    return Planted(2 * turned(rng, points), [1] * n + [-1] * n, C, *enclosed(value), weight=2 * weight, loss=loss)


def near(rng: random.Random) -> Planted:
    """Two opposite samples 2^-10 to 2^-30 apart, with a hard margin or a soft one, and others behind them."""
    d, gap = rng.choice((2, 3)), fmpq(2) ** -rng.choice((10, 20, 25, 30))
    u = [fmpq(rng.randint(-8, 8), 8) for _ in range(d - 1)]
    points = [half_space(u, fmpq(1)), half_space([u[0] + gap, *u[1:]], fmpq(1))]
    y = [1, -1]
    hard = rng.random() < 0.5
    value, w = planted_optimum(points, y, None, 2)
    for _ in range(rng.randint(0, 6)):
        p, label = drawn_point(rng, d), rng.choice((-1, 1))
        if label * product_of([arb(v) for v in p], w) > 1.01:
            points, y = [*points, p], [*y, label]
    C = INF if hard else 8.0 * float(value.upper())
    value, _ = planted_optimum(points, y, None if hard else [arb(C)] * len(y), 2)
    return Planted(turned(rng, points), y, C, *enclosed(value))


def balls(rng: random.Random) -> Planted:
    """Geodesic balls: of two the members nearest to each other are active, on the line between the centres."""
    d, hard = rng.choice((1, 2, 3)), rng.random() < 0.5
    points, y = [drawn_point(rng, d) for _ in range(2 + rng.randint(0, 8))], [1, -1]
    rows = [[arb(v) for v in p] for p in points]
    distance = product_of(rows[0], rows[1]).acosh()
    require(bool(distance > 0.1))
    rho = [rng.uniform(0.02, 0.7 if hard else 0.4) * float(distance.mid()) for _ in range(2)]
    left = distance - arb(rho[0]) - arb(rho[1])
    if left < 0:
        require(hard)
        return Planted(turned(rng, points[:2]), y, INF, noise=("GeodesicBall", rho))
    towards = [((distance - r).sinh() / distance.sinh(), r.sinh() / distance.sinh()) for r in map(arb, rho)]
    members = [[b * v + t * u for v, u in zip(rows[i], rows[1 - i], strict=True)] for i, (b, t) in enumerate(towards)]
    value, w = planted_optimum(members, y, None, 2)
    C = INF if hard else 2.0 ** rng.randint(3, 8) * float(value.upper())
    value, w = planted_optimum(members, y, None if hard else [arb(C)] * 2, 2)
    length = form(w).sqrt()
    kept = points[:2]
    for p, row in zip(points[2:], rows[2:], strict=True):
        label, size = rng.choice((-1, 1)), rng.uniform(0.0, 0.3)
        if length * ((label * product_of(row, w) / length).asinh() - arb(size)).sinh() > 1.01:
            kept, y, rho = [*kept, p], [*y, label], [*rho, size]
    return Planted(turned(rng, kept), y, C, *enclosed(value), noise=("GeodesicBall", rho))


def sets(rng: random.Random) -> Planted:
    """A linearised set around a sample at the origin, opposite to a pair that lies symmetrically to an axis."""
    d, C = rng.choice((2, 3)), rng.choice((INF, INF, 64.0, 1024.0))
    side, up = fmpq(rng.randint(1, 64), 16), fmpq(2) ** rng.randint(1, 3)
    pair = [half_space([s * side, *[fmpq(0)] * (d - 2)], up) for s in (1, -1)]
    rho = rng.uniform(0.02, 0.6)
    y, origin = [-1, 1, 1], [fmpq(1), *[fmpq(0)] * d]
    member = [arb(1), *[arb(0)] * (d - 1), arb(rho)]  # towards the pair
    value, w = planted_optimum([member, *pair], y, None if C == INF else [arb(C)] * 3, 3)
    require(bool(w[-1] < 0))  # so the member that was taken is the worst of the set
    name = rng.choice(("Box", "CrossPolytope", "Ball"))
    return Planted(turned(rng, [origin, *pair]), y, C, *enclosed(value), noise=(name, [rho, 0.0, 0.0]))


def dual(rng: random.Random, *, curve: bool = False) -> Planted:
    """Kernels and generalised hyperplanes, which are convex: multipliers that meet the conditions with an intercept."""
    d, C = rng.choice((1, 2, 3)), 2.0 ** rng.randint(-2, 8)
    n_active = rng.randint(2, d + 1 if curve else 6)
    points = [drawn_point(rng, d) for _ in range(n_active + rng.randint(0, 6))]
    n, rows = len(points), [[arb(v) for v in p] for p in points]
    y, kernel, centre = [1, -1, *(rng.choice((-1, 1)) for _ in range(n - 2))], None, None
    if curve:
        space = turned(rng, [*points, drawn_point(rng, d)])
        space, centre = space[:-1], space[-1]
        X, c = [lifted(row) for row in space], lifted(centre)
        K = [[2 * product_of(c, x) * product_of(c, v) - product_of(x, v) for v in X] for x in X]
    else:
        space = turned(rng, points)
        kernel = (
            rng.choice(("CoshKernel", "DistanceKernel", "LaplacianKernel", "HeatKernel")),
            rng.choice((0.5, 1.0, 2.0)),
        )
        K = [[kernel_value(kernel, x, v) for v in rows] for x in rows]
    cap = arb(C) * (arb(2).rsqrt() if curve else 1)
    _, _, value = stationary(K, y, [cap] * n, n_active, intercept=True)
    return Planted(space, y, C, *enclosed(value), kernel=kernel, centre=centre)


# -- the line: all candidates, so that any doubles may be points -------------------------------------------------------


def line(rng: random.Random, *, tie: bool = False) -> Planted:
    """Points on H^1, any doubles; or two minima whose values differ by 1e-9: +1 between two groups of -1.

    The risk is linear on cells between the lines ``z_i.w = 1``, where ``q/2`` is indefinite. So a minimum is on such a
    line or on the light cone: 0, a crossing of two lines or of a line and the cone, or the stationary point of q/2
    plus one of the n + 1 linear risks along a line.
    """
    n, C = rng.randint(1, 7), 2.0 ** rng.randint(-6, 6)
    points = [rng.gauss(0.0, 1.0) * math.exp(rng.uniform(-4.0, 4.0)) for _ in range(n)]
    y, weight = [rng.choice((-1, 1)) for _ in points], [math.exp(rng.uniform(-3.0, 3.0)) for _ in points]
    if tie:
        outer = [rng.uniform(1.0, 6.0) for _ in range(rng.randint(1, 3))]
        points, y = [*outer, *(-v for v in outer), 0.25, -0.25], [-1] * 2 * len(outer) + [1, 1]
        weight = [1.0] * len(outer) + [1.0 + rng.choice((0.0, 1e-9, 3e-8))] * len(outer) + [2.0, 2.0]
    rows = [lifted([v]) for v in points]
    z = [[c * row[0], -c * row[1]] for c, row in zip(y, rows, strict=True)]
    caps = [arb(C) * arb(v) * arb(2).rsqrt() for v in weight]

    def value(w: Vector, q: arb) -> arb:
        return q / 2 + sum((cap * relu(1 - dot(v, w)) for cap, v in zip(caps, z, strict=True)), arb(0))

    values = [value([arb(0), arb(0)], arb(0))]
    for v, ray in product(z, product((1, -1), (1, -1))):
        along = dot(v, ray)
        if along > 0:
            values.append(value([arb(r) / along for r in ray], arb(0)))
    candidates = []
    for v in z:
        foot, step = [u / dot(v, v) for u in v], [-v[1], v[0]]
        crossings = [(1 - dot(u, foot)) / dot(u, step) for u in z if abs(dot(u, step)) > 0]
        ordered = sorted(crossings, key=lambda r: float(r.mid()))
        inner = [(r + s) / 2 for r, s in pairwise(ordered)]
        ends = [ordered[0] - 1, ordered[-1] + 1] if ordered else [arb(0)]
        for place in (*inner, *ends):
            there = [f + place * s for f, s in zip(foot, step, strict=True)]
            missed = [i for i, u in enumerate(z) if dot(u, there) < 1]
            slope = sum((caps[i] * dot(z[i], step) for i in missed), arb(0)) + product_of(foot, step)
            crossings.append(slope / form(step))
        candidates += [[f + r * s for f, s in zip(foot, step, strict=True)] for r in crossings]
    values += [value(w, form(w)) for w in candidates if form(w) > 0]
    lower = math.nextafter(min(float(v.lower()) for v in values), -INF)
    upper = math.nextafter(min(float(v.upper()) for v in values), INF)
    return Planted([[v] for v in points], y, C, lower, upper, weight=weight)


#: How each family is drawn, and how many problems of it are scored.
FAMILIES: dict[str, tuple[Callable[[random.Random], Planted], int]] = {
    "hinge": (hinge, 40),
    "far": (lambda rng: hinge(rng, far=True), 20),
    "hard": (lambda rng: hinge(rng, hard=True), 30),
    "infeasible": (infeasible, 20),
    "cone": (cone, 30),
    "flat": (flat, 20),
    "near": (near, 20),
    "line": (line, 30),
    "tie": (lambda rng: line(rng, tie=True), 20),
    "asinh": (lambda rng: hinge(rng, loss="asinh"), 10),
    "balls": (balls, 30),
    "sets": (sets, 20),
    "kernel": (dual, 30),
    "curve": (lambda rng: dual(rng, curve=True), 20),
}
#: Draws of a problem before its family is taken to be badly made; the rarest needs some hundred.
MOST_DRAWS = 20_000


def plant(name: str) -> Planted:
    """The problem called `name`, such as cone/7: any number makes one."""
    rng = random.Random(name)
    with in_arb():
        for _ in range(MOST_DRAWS):
            try:
                return replace(FAMILIES[name.split("/")[0]][0](rng), name=name)
            except Rejected:
                continue
    raise AssertionError(f"{name} could not be planted")


def as_stored(problem: Planted) -> dict:
    """The fields that differ from their defaults, as JSON has them."""
    usual = {field.name: field.default for field in fields(Planted)}
    given = asdict(problem)
    return {key: value for key, value in given.items() if key != "name" and value != usual[key]}


def main() -> None:
    names = [f"{family}/{number}" for family, (_, count) in FAMILIES.items() for number in range(count)]
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(as_stored(plant(name)))}" for name in names)
    Path(truths.__file__).with_name("planted.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
