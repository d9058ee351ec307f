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

from collections import defaultdict
from functools import reduce
from itertools import combinations_with_replacement, product
from math import comb
from typing import Any

from flint import arb, arb_mat

from .exact import Problem, Refused, Vector, at_enough_digits, boosted, dot, plus, positive, read, real, whole

#: Coefficients by monomial, which is the sorted tuple of its variables: v_0, ..., v_(k - 1), and k + s for eta_s.
Polynomial = dict[tuple[int, ...], arb]
#: Most monomials of a square. All pairs of them are held in memory, some 50 MB, whatever little a file says of each.
MOST_MONOMIALS = 500


def moment_lower_bound(data: Any, problem: Problem) -> float:
    if problem.noise is not None or problem.allow_timelike:
        raise Refused("this certificate is for nominal margins and hyperplanes")
    proof = _Moment(data, problem)
    return max(0.0, min(proof.has.level, at_enough_digits(proof.bound)))


class _Moment:
    def __init__(self, data: Any, problem: Problem) -> None:
        self.problem, d, k, sign = problem, problem.d, problem.d + 1, whole(-1, 1)
        square, vector = (str, whole(-1, problem.n), [[real()]]), [real(), k]
        group = {"samples": [[problem.row]], "slack_scales": [positive], "squares": [square]}
        extent = (sign, whole(0, d), sign, real(0.0), [real(0.0), problem.n])
        ball = {"centre": vector, "basis": [vector, k], "frame": [real(), d], "extents": [extent]}
        sizes = {"order": whole(1, 8), "level": positive, "scale": positive}
        self.has, self.k = read(data, {**ball, **sizes, "linear": [problem.row], "groups": [group]}), k
        named = [i for group in self.has.groups for copies in group.samples for i in copies] + self.has.linear
        if len(set(named)) != len(named) or (problem.hard and self.has.linear):
            raise Refused("the certificate does not fit the problem: it counts a sample twice, or a hard margin's loss")
        for group in self.has.groups:
            if any(len({(*problem.space[i], problem.y[i]) for i in copies}) != 1 for copies in group.samples):
                raise Refused("samples are taken for one that are not the same point")
            if len(group.slack_scales) != (0 if problem.hard else len(group.samples)):
                raise Refused("a group has not as many slacks as samples")

    # -- 1: the ball ---------------------------------------------------------------------------------------------------

    def _require_ball(self, rows: list[Vector]) -> None:
        inverse = arb_mat([[arb(v) for v in row] for row in self.has.basis]).inv().tolist()
        reached: dict[tuple[int, int, int], arb] = defaultdict(lambda: arb("inf"))
        for half, j, sign, price, weights in self.has.extents:
            goal, key = [sign * v for v in inverse[j]], (half, j, sign) if sign else (half, 0, 0)
            reached[key] = reached[key].min(self._height(rows, half, price, weights, goal) - dot(goal, self.has.centre))
        halves = [half for half in (-1, 1) if not reached[half, 0, 0] < 0]  # else no w has this sign of t
        sides = list(product(halves, (-1, 1)))
        sizes = [reduce(arb.max, (reached[half, j, sign] for half, sign in sides), arb(0)) for j in range(self.k)]
        if not dot(sizes, sizes) <= 1:
            raise Refused("a coordinate of the ball is not bounded, or the ball is too small")

    def _height(self, rows: list[Vector], half: int, price: float, weights: list[float], goal: Vector) -> arb:
        """What the weights prove of ``goal.w``."""
        hard, level, p = self.problem.hard, arb(self.has.level), goal
        for i, a in enumerate(weights):
            if a and self.problem.weights[i] == 0.0:
                raise Refused("the certificate uses a sample of weight 0")
            if a and not (hard or a <= price * self.problem.cost(i) * arb(2).rsqrt()):
                raise Refused("a weight of the ball is out of range")
            p = plus(p, rows[i], a)
        # p.w with w moved out of the frame: p is moved in as a covector, whose space part changes its sign twice.
        time, *space = boosted(p, self.has.frame, 1)
        length = dot(space, space).nonnegative_part().sqrt()
        if not half * time + length <= 0:
            raise Refused("weights of the ball bound nothing")
        return length * (2 * level).sqrt() - sum(map(arb, weights), arb(0)) + (0 if hard else price * level)

    # -- 2 and 3 -------------------------------------------------------------------------------------------------------

    def bound(self) -> arb:
        """``gamma - sum |coefficients of r|``, where the ball and the slacks are seen to be large enough."""
        problem, has, k, unit = self.problem, self.has, self.k, arb(2).rsqrt()
        rows = [problem.z(i) for i in range(problem.n)]
        self._require_ball(rows)
        columns = [[arb(v) for v in column] for column in zip(*has.basis, strict=True)]
        margins = [[dot(z, has.centre), *(dot(z, column) for column in columns)] for z in rows]
        cone, rest, first = Polynomial(), Polynomial(), k
        for r, (constant, row) in enumerate(zip(has.centre, has.basis, strict=True)):
            w = _affine([arb(constant), *map(arb, row)])
            _add(cone, _product(w, w), -1 if r == 0 else 1)
        _add(rest, cone, arb(0.5))
        for i in has.linear:
            _add(rest, _affine([1 - margins[i][0], *(-v for v in margins[i][1:])]), problem.cost(i) * unit)
        for group in has.groups:
            variables = [*range(k), *range(first, first + len(group.slack_scales))]
            for s, (copies, size) in enumerate(zip(group.samples, group.slack_scales, strict=False)):
                cost, (constant, *linear) = sum(map(problem.cost, copies), arb(0)), margins[copies[0]]
                if not ((1 - constant + dot(linear, linear).sqrt()) * unit <= size or cost * size >= has.level):
                    raise Refused("the scale of a slack is too small for the ball")
                rest[(first + s,)] = cost * size
            for kind, s, factor in group.squares:
                degree = has.order - (kind != "one")
                count = comb(len(variables) + degree, degree)
                widths = {len(row) for row in factor}
                if not (len(factor) == count <= MOST_MONOMIALS and len(widths) == 1 and max(widths) <= count):
                    raise Refused(f"squares of other degrees, or of over {MOST_MONOMIALS} monomials are not checked")
                monomials = [key for n in range(degree + 1) for key in combinations_with_replacement(variables, n)]
                F, square = arb_mat([[arb(v) for v in row] for row in factor]), Polynomial()
                gram = (F * F.transpose()).tolist()
                for (a, left), (b, right) in combinations_with_replacement(enumerate(monomials), 2):
                    _add(square, {tuple(sorted(left + right)): gram[a][b]}, 1 if a == b else 2)
                g = cone if kind == "cone" else self._constraint(kind, s, group, margins, first + s)
                _add(rest, _product(g, square), -arb(has.scale))
            first += len(group.slack_scales)
        return rest.pop((), arb(0)) - sum(map(abs, rest.values()), arb(0))

    def _constraint(self, kind: str, s: int, group: Any, margins: list[Vector], eta: int) -> Polynomial:
        """A polynomial that is not negative at the v and eta of any better w."""
        hard, one = self.problem.hard, Polynomial({(): arb(1)})
        if kind in ("one", "ball"):
            return one if kind == "one" else one | {(j, j): arb(-1) for j in range(self.k)}
        if not 0 <= s < len(group.samples) or (hard and self.problem.weights[group.samples[s][0]] == 0.0):
            raise Refused("a square is of no sample of its group, or of one of weight 0")
        if kind == "margin":
            constant, *linear = margins[group.samples[s][0]]
            g = _affine([constant - 1, *linear])
            return g if hard else {**g, (eta,): arb(2).sqrt() * group.slack_scales[s]}
        if kind in ("slack", "range") and not hard:
            return {(eta,): arb(1), **({(eta, eta): arb(-1)} if kind == "range" else {})}
        raise Refused(f"a square belongs to no constraint: {kind!r:.40}")


def _affine(coefficients: Vector) -> Polynomial:
    return {(): coefficients[0], **{(j,): value for j, value in enumerate(coefficients[1:])}}


def _add(target: Polynomial, other: Polynomial, factor: Any = 1) -> None:
    for key, value in other.items():
        target[key] = target.get(key, arb(0)) + factor * value


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    found: Polynomial = {}
    for (p, a), (q, b) in product(left.items(), right.items()):
        _add(found, {tuple(sorted(p + q)): a * b})
    return found
