"""Lower bounds of the soft margin by cuts.

The problem is ``min q(w)/2 + R(w)`` over ``q(w) >= 0`` with ``R(w) = sum_i c_i max(0, 1 - m_i(w))/sqrt2``.

1. *Cuts.* For ``0 <= a_i <= c_i/sqrt2`` and points p_i of the sets (the samples themselves where there are none),
   ``R(w) >= b + g.w``, ``b = sum a_i``, ``g = -sum a_i z_i``. Combinations with weights >= 0 of sum <= 1 hold too, as R
   >= 0.
2. *All t at once.* With w = (t, wr), s = |t|, A = |gr| and a = sign(t) g0, every w with ``|wr| >= s`` has ``q/2 + b +
   g.w >= L(s) = b + a s + phi(s, A)``, ``phi = -(A^2 + s^2)/2`` for s <= A and ``-A s`` beyond. L is concave, so on
   [s1, s2] the lesser end value is a bound; on [s1, inf) L(s1) is one where a >= A. (Where timelike w are allowed and
   the objective is ``max(q, 0)/2 + R``, the same formula is the minimum over all wr.)
3. *Chords.* If all directions v of a box of the cube's surface have ``u.v >= kappa |v|``, then ``u.wr >= kappa s`` for
   the w in question, and any multiple nu >= 0 may be added: ``a += nu kappa``, ``gr -= nu u``. With the middle c of the
   box and half its diagonal h, u = c/|c| and kappa = sqrt(1 - h^2/|c|^2) serve.

All of it is done in the frame that the certificate's centre is the origin of; any centre will do.
"""

import math
from dataclasses import replace
from functools import partial, reduce
from itertools import product
from typing import Any

from flint import arb, arb_mat

from .exact import Problem, Vector, at_enough_digits, boosted, dot, plus
from .fields import Refused, array, entry, real, record, whole
from .sets import Set

#: A normal is taken for one of the light cone where |wr|^2 is below t^2 or above by less than this share; a multiple
#: that is above the worst margin by less than a share of the nominal one is taken all the same. Both are as the search
#: has them; and a bound that falls short of the stated one by less than TIED is as good.
ON_CONE, TIED = 1e-12, 1e-9
#: By how much thresholds are raised: margins may be the threshold but for the rounding of whoever made the proof. Any
#: choice is valid for any interval; all are tried where the first alone proves too little.
RAISED = (0.0, 1e-8, -1e-8, 1e-6, 1e-4)


def lower_bound(data: dict[str, Any], problem: Problem, statement: Any = None) -> float:
    """What a certificate of the soft margin proves for a problem."""
    if problem.hard:
        raise Refused("the certificate bounds a soft margin; the problem has a hard one")
    proof, best = Envelope(data, problem), 0.0  # neither the margin term nor the risk is ever negative
    statement = statement or data.get("statement")
    stated = statement.get("bound") if isinstance(statement, dict) else None
    for choices in (RAISED[:1], RAISED):
        best = max(best, at_enough_digits(partial(proof.bound, choices)))
        if not isinstance(stated, float) or best >= stated * (1.0 - TIED):
            break
    return best


def hard_lower_bound(data: dict[str, Any], problem: Problem) -> float:
    """A bound of the soft margin with any finite C and any weights bounds the hard margin: a separator has no risk.

    Samples without a weight make no demand, so they keep weight 0.
    """
    if not problem.hard:
        raise Refused("the certificate is for the hard margin; the problem has a soft one")
    weight = [float(v > 0.0) for v in problem.weights] if data.get("equal_weights") is True else problem.weight
    soft = replace(problem, C=entry(data, "C", real(5e-324)), weight=weight)
    return lower_bound(entry(data, "soft"), soft, data.get("statement"))


class Box:
    """Directions through the points ``low <= x <= high``, of the face ``x[axis] = side`` of the cube [-1, 1]^d."""

    def __init__(self, data: Any, d: int) -> None:
        corner = array(real(), d)
        axis, side, self.low, self.high = record(whole(0, d - 1), whole(-1, 1), corner, corner)(data)
        self.face = axis, side

    def is_piece(self) -> bool:
        """Whether the box is part of its face. That of a chord only has to contain another."""
        axis, side = self.face
        inside = all(-1.0 <= v <= 1.0 for v in (*self.low, *self.high))
        return side != 0 and inside and self.low[axis] == side == self.high[axis]

    def contains(self, low: list[float], high: list[float]) -> bool:
        return all(a <= p and q <= b for a, p, q, b in zip(self.low, low, high, self.high, strict=True))

    def chord(self) -> tuple[arb, Vector]:
        """kappa and u."""
        middle, edges = [plus(map(arb, self.high), self.low, sign) for sign in (1, -1)]
        length = dot(middle, middle).sqrt()
        ratio = dot(edges, edges) / length**2
        if not ratio < 1:
            raise Refused("a chord is used for a box that is too wide for one")
        return (1 - ratio).sqrt(), [v / length for v in middle]


class Envelope:
    """The fields of a certificate, each in its range, and what they prove."""

    def __init__(self, data: dict[str, Any], problem: Problem) -> None:
        self.problem, d, n = problem, problem.d, problem.n
        self.centre, self.threshold = entry(data, "centre", array(real(), d)), entry(data, "threshold", real())
        self.points = entry(data, "points", array(array(real(), d + 1)))
        self.duals = array(array(real(), n))(data.get("duals") or [])
        self.names = [(str(i), problem.name(i)) for i in range(n)] if data.get("shared") else []
        self.shared = array(self._shares)(data.get("shared", []))
        self.most_weight = entry(data, "most_weight", real(5e-324)) if "most_weight" in data else math.inf
        self.cone_cuts, self.precise = data.get("cone_cuts") is True, data.get("precise") is True
        if self.cone_cuts and problem.allow_timelike:
            raise Refused("some cuts hold for spacelike normals only, but timelike ones are allowed")
        if self.shared and problem.noise is not None:
            raise Refused("cuts with shares are for problems without uncertainty sets")
        cut = whole(0, len(self.points) + len(self.duals) + len(self.shared) - 1)
        self.minorant = record(array(cut), array(real(0.0)), real(0.0), self._box)
        self.regions = entry(data, "regions", array(self._region))
        for sign in (-1, 1):
            _check_cover([box for own, box, *_ in self.regions if own == sign], d)

    def _box(self, data: Any) -> Box | None:
        return None if data is None else Box(data, self.problem.d)

    def _shares(self, data: Any) -> tuple[int, dict[int, float]]:
        """The point of a cut, and for some samples, by row or by name, their share of c_i/sqrt2."""
        point, samples, shares = record(whole(0, len(self.points) - 1), array(str), array(real(0.0, 1.0)))(data)
        own = dict(zip(samples, shares, strict=False))
        return point, {i: own[name] for i, names in enumerate(self.names) for name in names if name in own}

    def _region(self, data: Any) -> tuple[int, Box | None, list[float], list[list[Any]]]:
        """Sign of t, directions (None: all), the ends of the intervals, and for each (cuts, weights, nu, chord)."""
        sign, nodes = entry(data, "sign", whole(-1, 1)), entry(data, "nodes", array(real(0.0)))
        if not sign or not nodes or nodes[0] != 0.0 or nodes != sorted(nodes):
            raise Refused("the intervals of a region do not cover 0 <= s < infinity")
        box, minorants = entry(data, "box", self._box), entry(data, "minorants", array(self.minorant, len(nodes)))
        if box and not box.is_piece():
            raise Refused("a box of directions is not part of a face of the cube")
        for *_, nu, chord in minorants:
            inside = box and chord and chord.contains(box.low, box.high)
            if nu and (not inside or self.problem.allow_timelike):
                raise Refused("a chord is used where none holds")
        return sign, box, nodes, minorants

    # -- cuts ----------------------------------------------------------------------------------------------------------

    def cuts(self, raised: tuple[float, ...]) -> list[list[Vector]]:
        """For each choice of thresholds, for each cut ``(b, -g)`` in the frame: the sums of ``a_i`` and of ``a_i z_i``.

        A cut at a point takes about the samples of a margin below the threshold. Any choice makes a valid cut.
        """
        n, points = self.problem.n, [[arb(v) for v in w] for w in self.points]
        costs = [self.problem.cost(i, self.most_weight) * arb(2).rsqrt() for i in range(n)]
        Z = [boosted(self.problem.z(i), self.centre, 1) for i in range(n)]
        rows = [Z] * len(points)
        if self.problem.noise is not None:
            sets = [Set(self.problem, i, self.centre, self.precise) for i in range(n)]
            rows = [[self._about_worst(own, z, w) for own, z in zip(sets, Z, strict=True)] for w in points]
        margins = [[dot(row, w) for row in own] for own, w in zip(rows, points, strict=True)]
        duals = [[arb(v).max(arb(0)).min(c) for v, c in zip(row, costs, strict=True)] for row in self.duals]
        tables = [arb_mat([[arb(1), *row] for row in own]) for own in [Z, *rows]]
        choices = []
        for threshold in (arb(self.threshold * (1.0 + by)) for by in raised):
            below = [[c if m < threshold else arb(0) for c, m in zip(costs, row, strict=True)] for row in margins]
            shared = [[c * own[i] if i in own else below[p][i] for i, c in enumerate(costs)] for p, own in self.shared]
            chosen = [*zip(tables[1:], below, strict=True), *((tables[0], a) for a in [*duals, *shared])]
            choices.append([(arb_mat([a]) * table).tolist()[0] for table, a in chosen])
        return choices

    def _about_worst(self, own: Set, z: Vector, w: Vector) -> Vector:
        """``y covector(p)`` for a point p whose margin at w is about the worst, or a multiple that holds as well."""
        if abs(w[0]) == 1 and all(v == 0 for v in w[1:]):
            return z
        m, member = dot(z, w), own.member(w)
        multiple = own.multiple(m)
        on_cone = self.cone_cuts and dot(w[1:], w[1:]) < (1.0 + ON_CONE) * w[0] * w[0]
        if on_cone and (own.kind == "GeodesicBall" or multiple * m < dot(member, w) + TIED * abs(m)):
            return [multiple * v for v in z]
        return member

    # -- bounds --------------------------------------------------------------------------------------------------------

    def bound(self, raised: tuple[float, ...]) -> arb:
        """The least of what the intervals prove, each with the best choice of cuts; minus infinity where one proves
        nothing."""
        least, choices = arb("inf"), self.cuts(raised)
        for sign, _, nodes, minorants in self.regions:
            for k, minorant in enumerate(minorants):
                ends = list(map(arb, nodes[k : k + 2]))
                least = least.min(reduce(arb.max, (self._on_interval(sign, ends, cuts, *minorant) for cuts in choices)))
        return least

    def _on_interval(self, sign, ends, cuts, used, weights, nu, chord) -> arb:
        share = 1 / sum(map(arb, weights), arb(0)).max(arb(1))
        combined = [arb(0)] * (self.problem.d + 2)
        for j, weight in zip(used, weights, strict=False):
            combined = plus(combined, cuts[j], share * weight)
        b, a, gr = combined[0], -sign * combined[1], [-v for v in combined[2:]]
        if nu:
            kappa, u = chord.chord()
            a, gr = a + nu * kappa, plus(gr, u, -nu)
        A = dot(gr, gr).nonnegative_part().sqrt()
        values = [b + a * s + _phi(s, A) for s in ends]
        if len(ends) == 1:
            return values[0] if a >= A else arb("-inf")
        return values[0].min(values[1])


def _phi(s: arb, A: arb) -> arb:
    """The minimum of ``max(r^2 - s^2, 0)/2 - A r`` over r >= 0: where the case is open, the lesser of both, which is
    below."""
    near, far = -(A * A + s * s) / 2, -A * s
    return near if s <= A else far if s >= A else near.min(far)


def _check_cover(boxes: list[Box | None], d: int) -> None:
    """The boxes of one sign of t cover all directions: cells of the faces are split until each lies in some box."""
    if None in boxes:
        return
    for face in product(range(d), (-1, 1)):
        low, high = [-1.0] * d, [1.0] * d
        low[face[0]] = high[face[0]] = float(face[1])
        cells = [(low, high, [box for box in boxes if box is not None and box.face == face])]
        while cells:
            low, high, near = cells.pop()
            if any(box.contains(low, high) for box in near):
                continue
            planes = sorted(
                {(j, v) for box in near for c in (box.low, box.high) for j, v in enumerate(c) if low[j] < v < high[j]}
            )
            if not planes:
                raise Refused("the boxes of the certificate do not cover all directions")
            j, v = planes[len(planes) // 2]
            cells.append((low, [*high[:j], v, *high[j + 1 :]], [box for box in near if box.low[j] < v]))
            cells.append(([*low[:j], v, *low[j + 1 :]], high, [box for box in near if box.high[j] > v]))
