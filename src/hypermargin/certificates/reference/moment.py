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

from .exact import Problem, Vector, at_enough_digits, boosted, dot, plus
from .fields import Refused, anything, array, entry, real, record, whole

#: Coefficients by monomial, which is the sorted tuple of its variables: v_0, ..., v_(k - 1), and k + s for eta_s.
Polynomial = dict[tuple[int, ...], arb]
#: Constraints that are of no sample.
OF_ALL = ("one", "cone", "ball")
#: Most monomials of a square. All pairs of them are held in memory, some 50 MB, whatever little a file says of each.
MOST_MONOMIALS = 500


def moment_lower_bound(data: dict[str, Any], problem: Problem) -> float:
    if problem.noise is not None or problem.allow_timelike:
        raise Refused("this certificate is for nominal margins and hyperplanes")
    proof = _Moment(data, problem)
    return max(0.0, min(proof.level, at_enough_digits(proof.bound)))


class _Moment:
    def __init__(self, data: dict[str, Any], problem: Problem) -> None:
        self.problem, self.k = problem, problem.d + 1
        sample, vector = whole(0, problem.n - 1), array(real(), self.k)
        self.order, self.linear = entry(data, "order", whole(1, 8)), entry(data, "linear", array(sample))
        self.level, self.scale = entry(data, "level", real(5e-324)), entry(data, "scale", real(5e-324))
        self.centre, self.basis = entry(data, "centre", vector), entry(data, "basis", array(vector, self.k))
        self.frame = entry(data, "frame", array(real(), problem.d))
        extent = record(whole(-1, 1), whole(0, problem.d), whole(-1, 1), real(0.0), array(real(0.0), problem.n))
        self.extents = entry(data, "extents", array(extent))
        self.groups = entry(data, "groups", array(self._group))
        named = [i for samples, *_ in self.groups for copies in samples for i in copies] + self.linear
        if len(set(named)) != len(named) or (problem.hard and self.linear):
            raise Refused("the certificate does not fit the problem")
        if not all(half and (sign or any(weights)) for half, _, sign, _, weights in self.extents):
            raise Refused("the certificate does not fit the problem")

    def _group(self, data: Any) -> tuple[list[list[int]], list[float], list[Any]]:
        """Samples that are one point each, the scales of their slacks, and (constraint, sample, factor) of squares."""
        problem = self.problem
        samples = entry(data, "samples", array(array(whole(0, problem.n - 1))))
        if any(len({(*problem.space[i], problem.y[i]) for i in copies}) != 1 for copies in samples):
            raise Refused("samples are taken for one that are not the same point")
        scales = entry(data, "slack_scales", array(real(5e-324), 0 if problem.hard else len(samples)))

        def square(fields: Any) -> tuple[Any, int, list[list[float]]]:
            kind, s, factor = record(anything, anything, array(array(anything)))(fields)
            degree = self.order - (kind != "one")
            rows = comb(self.k + len(scales) + degree, degree)
            if rows > MOST_MONOMIALS:
                raise Refused(f"squares of more than {MOST_MONOMIALS} monomials are not checked")
            if len(factor) != rows or len(factor[0]) > rows:
                raise Refused("the factor of a square has not the size that its degree asks for")
            s = 0 if kind in OF_ALL else whole(0, len(samples) - 1)(s)
            return kind, s, array(array(real(), len(factor[0])))(factor)

        return samples, scales, entry(data, "squares", array(square))

    # -- 1: the ball ---------------------------------------------------------------------------------------------------

    def _require_ball(self, rows: list[Vector]) -> None:
        try:
            inverse = arb_mat([[arb(v) for v in row] for row in self.basis]).inv().tolist()
        except ZeroDivisionError as error:
            raise Refused("the basis of the certificate is singular") from error
        reached = dict[tuple[int, int, int], arb]()
        for half, coordinate, sign, price, weights in self.extents:
            goal = [sign * v for v in inverse[coordinate]]
            height = self._height(rows, half, price, weights, goal) - dot(goal, self.centre)
            key = (half, coordinate, sign) if sign else (half, 0, 0)
            reached[key] = height.min(reached.get(key, height))
        square = arb(0)
        for j in range(self.k):
            largest = arb(0)
            for half in (-1, 1):
                if not reached.get((half, 0, 0), arb(0)) < 0:  # else no w has this sign of t
                    for sign in (-1, 1):
                        largest = largest.max(reached.get((half, j, sign), arb("inf")))
            if not largest < arb("inf"):
                raise Refused("a coordinate of the ball is not bounded")
            square += largest * largest
        if not square <= 1:
            raise Refused("the ball of the certificate is too small")

    def _height(self, rows: list[Vector], half: int, price: float, weights: list[float], goal: Vector) -> arb:
        """What the weights prove of ``goal.w``."""
        hard, level, p = self.problem.hard, arb(self.level), goal
        for i, a in enumerate(weights):
            if a and self.problem.weights[i] == 0.0:
                raise Refused("the certificate uses a sample of weight 0")
            if a and not (hard or a <= price * self.problem.cost(i) * arb(2).rsqrt()):
                raise Refused("a weight of the ball is out of range")
            p = plus(p, rows[i], a)
        # p.w with w moved out of the frame: p is moved in as a covector, whose space part changes its sign twice.
        time, *space = boosted(p, self.frame, 1)
        length = dot(space, space).nonnegative_part().sqrt()
        if not half * time + length <= 0:
            raise Refused("weights of the ball bound nothing")
        return length * (2 * level).sqrt() - sum(map(arb, weights), arb(0)) + (0 if hard else price * level)

    # -- 2 and 3 -------------------------------------------------------------------------------------------------------

    def bound(self) -> arb:
        """``scale (gamma - sum |coefficients of r|)``, where the ball and the slacks are seen to be large enough."""
        problem, k, scale, root = self.problem, self.k, arb(self.scale), arb(2).sqrt()
        rows = [problem.z(i) for i in range(problem.n)]
        self._require_ball(rows)
        columns = [[arb(row[j]) for row in self.basis] for j in range(k)]
        margins = [[dot(z, self.centre), *(dot(z, column) for column in columns)] for z in rows]
        cone: Polynomial = {}
        for r, (constant, row) in enumerate(zip(self.centre, self.basis, strict=True)):
            affine = _affine([arb(constant), *map(arb, row)])
            _add(cone, _product(affine, affine), -1 if r == 0 else 1)
        shared: Polynomial = {}
        _add(shared, cone, 1 / (2 * scale))
        for i in self.linear:
            _add(shared, {(): arb(1)}, problem.cost(i) / (root * scale))
            _add(shared, _affine(margins[i]), -problem.cost(i) / (root * scale))
        lost = arb(0)
        for samples, scales, squares in self.groups:
            rest: Polynomial = {}
            for s, (copies, size) in enumerate(zip(samples, scales, strict=False)):
                cost, (constant, *linear) = sum((problem.cost(i) for i in copies), arb(0)), margins[copies[0]]
                if not ((1 - constant + dot(linear, linear).sqrt()) / root <= size or cost * size >= self.level):
                    raise Refused("the scale of a slack is too small for the ball")
                rest[(k + s,)] = cost * size / scale
            for kind, s, factor in squares:
                g = cone if kind == "cone" else self._constraint(kind, s, scales, samples, margins)
                degree = self.order - (kind != "one")
                variables = range(k + len(scales))
                monomials = [key for n in range(degree + 1) for key in combinations_with_replacement(variables, n)]
                F = arb_mat([[arb(v) for v in row] for row in factor])
                gram, both = F * F.transpose(), Polynomial()
                for a, left in enumerate(monomials):
                    for b, right in enumerate(monomials[: a + 1]):
                        _add(both, {tuple(sorted(left + right)): gram[a, b]}, 1 if a == b else 2)
                _add(rest, _product(g, both), -1)
            own = {key: value for key, value in rest.items() if any(variable >= k for variable in key)}
            lost += sum(map(abs, own.values()), arb(0))  # these monomials are of this group alone
            _add(shared, {key: value for key, value in rest.items() if key not in own})
        gamma = shared.pop((), arb(0))
        return scale * (gamma - lost - sum(map(abs, shared.values()), arb(0)))

    def _constraint(self, kind: Any, s: int, scales: Any, samples: Any, margins: Any) -> Polynomial:
        """A polynomial that is not negative at the v and eta of any better w."""
        hard, eta = self.problem.hard, self.k + s
        if kind == "one":
            return {(): arb(1)}
        if kind == "ball":
            return {(): arb(1), **{(j, j): arb(-1) for j in range(self.k)}}
        if kind == "margin":
            i = samples[s][0]
            if hard and self.problem.weights[i] == 0.0:
                raise Refused("the certificate uses a sample of weight 0")
            g = _affine([margins[i][0] - 1, *margins[i][1:]])
            return g if hard else {**g, (eta,): arb(2).sqrt() * scales[s]}
        if kind == "slack" and not hard:
            return {(eta,): arb(1)}
        if kind == "range" and not hard:
            return {(eta,): arb(1), (eta, eta): arb(-1)}
        raise Refused(f"a square belongs to no constraint: {kind!r:.40}")


def _affine(coefficients: Vector) -> Polynomial:
    return {(): coefficients[0], **{(j,): value for j, value in enumerate(coefficients[1:])}}


def _add(target: Polynomial, other: Polynomial, factor: Any = 1) -> None:
    for key, value in other.items():
        target[key] = target.get(key, arb(0)) + factor * value


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    found: Polynomial = {}
    for p, a in left.items():
        for q, b in right.items():
            _add(found, {tuple(sorted(p + q)): a * b})
    return found
