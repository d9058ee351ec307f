"""Lower bounds by sums of squares over a ball that holds every better w.

Let ``f(w) < level`` for a feasible w: then ``q(w) < 2 level`` and the risk is below `level`.

1. *The ball* is ``w = centre + basis v``, ``|v| <= 1``. In the Lorentz frame of a point w is (t, wr) with ``|wr| <= |t|
   + sqrt(2 level)``. For a price lambda >= 0 and weights ``0 <= a_i <= lambda c_i/sqrt2`` the risk gives ``sum a_i (1 -
   z_i.w) <= lambda level``. So for a linear function l and ``p = l + sum a_i z_i``, where ``h p_t + |p_r| <= 0``,

       l.w = p.w - sum a_i z_i.w <= |p_r| sqrt(2 level) + lambda level - sum a_i      for all w with t of the sign h.

   Such *extents* bound every coordinate of v from both sides for both h; with l = 0 a negative number shows that no w
   has that h. The hard margin has ``z_i.w >= 1``: then weights have no limit and no price.
2. *Slacks* ``s_g eta_g = max(0, 1 - m_g)/sqrt2`` of groups of equal samples have eta in [0, 1], as s_g is at least what
   the ball allows, or what costs the level.
3. *Squares.* f/scale = gamma + sum g (F'[v])^2 + r with constraints g >= 0 and monomials [v]; all monomials are at most
   1 in size, so ``f/scale >= gamma - sum |coefficients of r|``.
"""

from itertools import combinations_with_replacement
from math import comb
from typing import Any

from flint import arb, arb_mat

from .exact import (
    Problem,
    Refused,
    Vector,
    at_enough_digits,
    boosted,
    dot,
    entry,
    half_root,
    matrix,
    number,
    numbers,
    sequence,
    whole,
)

Polynomial = dict[tuple[int, ...], arb]
#: Most monomials of a square. All pairs of them are held in memory, some 50 MB, whatever little a file says of each.
MOST_MONOMIALS = 500


def moment_lower_bound(data: dict[str, Any], problem: Problem) -> float:
    if problem.noise is not None or problem.allow_timelike:
        raise Refused("this certificate is for nominal margins and hyperplanes")
    proof = _Moment(data, problem)
    return max(0.0, min(proof.level, at_enough_digits(proof.bound)))


class _Moment:
    def __init__(self, data: dict[str, Any], problem: Problem) -> None:
        n, d = problem.n, problem.d
        self.problem, self.k = problem, d + 1
        self.order = whole(entry(data, "order"), 1, 8)
        self.level, self.scale = (number(entry(data, name), 5e-324) for name in ("level", "scale"))
        self.centre, self.frame = numbers(entry(data, "centre"), d + 1), numbers(entry(data, "frame"), d)
        self.basis = matrix(entry(data, "basis"), d + 1, d + 1)
        self.linear = [whole(i, 0, n - 1) for i in sequence(entry(data, "linear"))]
        self.extents = []
        for half, coordinate, sign, price, weights in (sequence(e, 5) for e in sequence(entry(data, "extents"))):
            used = {i: v for i, v in enumerate(numbers(weights, n, 0.0)) if v}
            self.extents.append(
                (whole(half, -1, 1), whole(coordinate, 0, d), whole(sign, -1, 1), number(price, 0.0), used)
            )
        self.groups = [self._group(group) for group in sequence(entry(data, "groups"))]
        named = [i for samples, *_ in self.groups for copies in samples for i in copies] + self.linear
        if (
            len(set(named)) != len(named)
            or (problem.hard and self.linear)
            or any(not e[0] or not (e[2] or e[4]) for e in self.extents)
        ):
            raise Refused("the certificate does not fit the problem")

    def _group(self, data: Any) -> tuple[list[list[int]], list[float], list[tuple[str, int, Any]]]:
        problem = self.problem
        samples = [[whole(i, 0, problem.n - 1) for i in sequence(c)] for c in sequence(entry(data, "samples"))]
        for copies in samples:
            if not copies or any(
                (problem.space[i], problem.y[i]) != (problem.space[copies[0]], problem.y[copies[0]]) for i in copies
            ):
                raise Refused("samples are taken for one that are not the same point")
        scales = numbers(entry(data, "slack_scales"), 0 if problem.hard else len(samples), 5e-324)
        squares = []
        for kind, sample, factor in (sequence(s, 3) for s in sequence(entry(data, "squares"))):
            degree = self.order - (kind != "one")
            rows = comb(self.k + len(scales) + degree, degree)
            columns = len(sequence(sequence(factor)[0])) if sequence(factor) else 0
            if rows > MOST_MONOMIALS:
                raise Refused(f"squares of more than {MOST_MONOMIALS} monomials are not checked")
            if columns > rows or len(factor) != rows:
                raise Refused("the factor of a square has not the size that its degree asks for")
            if kind not in ("one", "cone", "ball"):
                whole(sample, 0, len(samples) - 1)
            squares.append((kind, sample, matrix(factor, rows, columns)))
        return samples, scales, squares

    # -- 1: the ball ---------------------------------------------------------------------------------------------------

    def _require_ball(self, rows: list[Vector]) -> None:
        k, reached = self.k, dict[tuple[int, int, int], arb]()
        try:
            inverse = arb_mat([[arb(v) for v in row] for row in self.basis]).inv()
        except ZeroDivisionError as error:
            raise Refused("the basis of the certificate is singular") from error
        for half, coordinate, sign, price, weights in self.extents:
            goal = [sign * inverse[coordinate, j] for j in range(k)]
            height = self._height(rows, half, price, weights, goal) - dot(goal, self.centre)
            key = (half, coordinate, sign) if sign else (half, 0, 0)
            reached[key] = height if key not in reached else reached[key].min(height)
        square = arb(0)
        for j in range(k):
            largest = arb(0)
            for half in (-1, 1):
                if (half, 0, 0) in reached and reached[half, 0, 0] < 0:
                    continue  # no w has this sign of t
                for sign in (-1, 1):
                    if (half, j, sign) not in reached:
                        raise Refused("a coordinate of the ball is not bounded")
                    largest = largest.max(reached[half, j, sign])
            square += largest * largest
        if not square <= 1:
            raise Refused("the ball of the certificate is too small")

    def _height(self, rows: list[Vector], half: int, price: float, weights: dict[int, float], goal: Vector) -> arb:
        """What the weights prove of ``goal.w``."""
        hard, level = self.problem.hard, arb(self.level)
        p, total = list(goal), arb(0)
        for i, a in weights.items():
            if self.problem.weight_of(i) == 0.0:
                raise Refused("the certificate uses a sample of weight 0")
            if not (hard or a <= price * self.problem.cost(i) * half_root()):
                raise Refused("a weight of the ball is out of range")
            p, total = [u + a * v for u, v in zip(p, rows[i], strict=True)], total + a
        # p.w with w moved out of the frame: p is moved in as a covector, whose space part changes its sign twice.
        time, *space = boosted(p, self.frame, 1)
        length = dot(space, space).nonnegative_part().sqrt()
        if not half * time + length <= 0:
            raise Refused("weights of the ball bound nothing")
        return length * (2 * level).sqrt() - total + (arb(0) if hard else price * level)

    # -- 2 and 3 -------------------------------------------------------------------------------------------------------

    def bound(self) -> arb:
        """``scale (gamma - sum |coefficients of r|)``, where the ball and the slacks are seen to be large enough."""
        problem, k, scale = self.problem, self.k, arb(self.scale)
        rows = [problem.z(i) for i in range(problem.n)]
        self._require_ball(rows)
        columns = [[arb(row[j]) for row in self.basis] for j in range(k)]
        margins = [[dot(z, self.centre), *(dot(z, column) for column in columns)] for z in rows]
        cone: Polynomial = {}
        for r, (constant, row) in enumerate(zip(self.centre, self.basis, strict=True)):
            affine = _affine([arb(constant), *map(arb, row)])
            _add(cone, _product(affine, affine), -1 if r == 0 else 1)
        shared: Polynomial = {key: value / (2 * scale) for key, value in cone.items()}
        for i in self.linear:
            price = problem.cost(i) * half_root() / scale
            _add(shared, _affine([price * (1 - margins[i][0]), *(-price * v for v in margins[i][1:])]))
        lost = arb(0)
        for samples, scales, squares in self.groups:
            rest: Polynomial = {}
            for s, (copies, size) in enumerate(zip(samples, scales, strict=False)):
                cost, own = sum((problem.cost(i) for i in copies), arb(0)), margins[copies[0]]
                largest = (1 - own[0] + dot(own[1:], own[1:]).sqrt()) * half_root()
                if not (largest <= size or cost * size >= self.level):
                    raise Refused("the scale of a slack is too small for the ball")
                rest[(k + s,)] = cost * size / scale
            for kind, s, factor in squares:
                m = None if kind in ("one", "cone", "ball") else margins[samples[s][0]]
                if kind == "margin" and problem.hard and problem.weight_of(samples[s][0]) == 0.0:
                    raise Refused("the certificate uses a sample of weight 0")
                g = self._constraint(kind, s, scales, m, cone)
                degree = self.order - (kind != "one")
                monomials = [
                    key
                    for size in range(degree + 1)
                    for key in combinations_with_replacement(range(k + len(scales)), size)
                ]
                F = arb_mat([[arb(v) for v in row] for row in factor])
                gram, both = F * F.transpose(), Polynomial()
                for a, left in enumerate(monomials):
                    for b in range(a + 1):
                        value = gram[a, b] if a == b else 2 * gram[a, b]
                        _add(both, {tuple(sorted(left + monomials[b])): value})
                _add(rest, _product(g, both), -1)
            for key, value in rest.items():
                if all(variable < k for variable in key):
                    _add(shared, {key: value})
                else:  # a monomial of this group alone
                    lost += abs(value)
        gamma = shared.pop((), arb(0))
        return scale * (gamma - lost - sum((abs(value) for value in shared.values()), arb(0)))

    def _constraint(self, kind: Any, s: int, scales: list[float], m: Vector | None, cone: Polynomial) -> Polynomial:
        """A polynomial that is not negative at the v and eta of any better w."""
        k, hard = self.k, self.problem.hard
        if kind == "one":
            return {(): arb(1)}
        if kind == "cone":
            return cone
        if kind == "ball":
            return {(): arb(1), **{(j, j): arb(-1) for j in range(k)}}
        if kind == "margin" and m is not None:
            g = _affine([m[0] - 1, *m[1:]])
            return g if hard else {**g, (k + s,): arb(2).sqrt() * scales[s]}
        if kind in ("slack", "range") and not hard:
            return {(k + s,): arb(1), **({(k + s, k + s): arb(-1)} if kind == "range" else {})}
        raise Refused(f"a square belongs to no constraint: {kind!r:.40}")


def _affine(coefficients: Vector) -> Polynomial:
    return {(): coefficients[0], **{(j,): value for j, value in enumerate(coefficients[1:])}}


def _add(target: Polynomial, other: Polynomial, factor: int = 1) -> None:
    for key, value in other.items():
        target[key] = target.get(key, arb(0)) + factor * value


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    found: Polynomial = {}
    for p, a in left.items():
        for q, b in right.items():
            _add(found, {tuple(sorted(p + q)): a * b})
    return found
