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

from dataclasses import replace
from functools import partial, reduce
from itertools import product
from math import inf
from typing import Any

from flint import arb, arb_mat

from .exact import Problem, Refused, Vector, at_enough_digits, dot, plus, positive, read, real, whole
from .sets import Set

#: By how much thresholds are raised: margins may be the threshold but for the rounding of whoever made the proof. Any
#: of these makes valid cuts; all are tried where the first leaves the bound below the stated one by more than TIED.
RAISED, TIED = (0.0, 1e-8, -1e-8, 1e-6, 1e-4), 1e-9
#: The least and the largest corner of a box of directions: those through the points between them.
Box = tuple[list[float], list[float]]


def lower_bound(data: Any, problem: Problem) -> float:
    """What a certificate of the soft or the hard margin proves for a problem.

    That of the hard margin bounds a soft one with some C and weights: a separator has no risk. Samples without a weight
    make no demand, so they keep weight 0.
    """
    hard, statement = data["format"] == "hypermargin-hard-margin-1", data.get("statement")
    if hard != problem.hard:
        raise Refused("the certificate is for a soft margin and the problem has a hard one, or the other way round")
    if hard:
        has = read(data, {"C": positive, "equal_weights?": bool, "soft": lambda soft: soft})
        weight = [float(v > 0.0) for v in problem.weights] if has.equal_weights else problem.weight
        data, problem = has.soft, replace(problem, C=has.C, weight=weight)
    proof, best = Envelope(data, problem), 0.0  # neither the margin term nor the risk is ever negative
    stated = statement.get("bound") if isinstance(statement, dict) else None
    for raised in (RAISED[:1], RAISED):
        best = max(best, at_enough_digits(partial(proof.bound, raised)))
        if not isinstance(stated, float) or best >= stated * (1.0 - TIED):
            break
    return best


class Envelope:
    """The fields of a certificate, each in its range, and what they prove."""

    def __init__(self, data: Any, problem: Problem) -> None:
        self.problem, d, corner = problem, problem.d, [real(), problem.d]
        cuts = {"threshold": real(), "points": [[real(), d + 1]], "duals?": [[real(), problem.n]]}
        options = {"precise?": bool, "cone_cuts?": bool, "most_weight?": positive}
        self.has = read(data, {"centre": corner, **cuts, **options})
        if self.has.cone_cuts and problem.allow_timelike:
            raise Refused("some cuts hold for spacelike normals only, but timelike ones are allowed")
        self.duals, shares = self.has.duals or [], (whole(0, len(self.has.points) - 1), [str], [real(0.0, 1.0)])
        self.shared = read(data, {"shared?": [shares]}).shared or []
        cut = whole(0, len(self.has.points) + len(self.duals) + len(self.shared) - 1)

        def box(value: Any) -> Box | None:
            return value if value is None else tuple(read(value, (whole(0, d - 1), whole(-1, 1), corner, corner))[2:])

        minorant = ([cut], [real(0.0)], real(0.0), box)
        region = {"sign": whole(-1, 1), "box?": box, "nodes": [real(0.0)], "minorants": [minorant]}
        self.regions = read(data, {"regions": [region]}).regions
        for own in self.regions:
            if own.nodes[:1] != [0.0] or own.nodes != sorted(own.nodes) or len(own.minorants) != len(own.nodes):
                raise Refused("the intervals of a region do not cover 0 <= s < infinity, each with a minorant")
            for *_, nu, chord in own.minorants:
                if nu and not (chord and own.box and _contains(chord, *own.box) and not problem.allow_timelike):
                    raise Refused("a chord is used where none holds")
        for sign in (-1, 1):
            _require_cover([own.box for own in self.regions if own.sign == sign], d)

    def cuts(self, raised: tuple[float, ...]) -> list[list[Vector]]:
        """For each choice of thresholds, for each cut ``(b, -g)`` in the frame: the sums of ``a_i`` and of ``a_i z_i``.

        A cut at a point takes about the samples of a margin below the threshold. Any choice makes a valid cut.
        """
        problem, has = self.problem, self.has
        sets = [Set(problem, i, has.centre, 1e-3 if has.precise else 1.0) for i in range(problem.n)]
        costs = [problem.cost(i, has.most_weight or inf) * arb(2).rsqrt() for i in range(problem.n)]
        nominal, found = _table([own.z for own in sets]), list[tuple[arb_mat, list[Vector]]]()
        for w in ([arb(v) for v in w] for w in has.points):
            table = nominal if problem.noise is None else _table([own.for_cut(w, has.cone_cuts) for own in sets])
            margins = (table * arb_mat([[v] for v in (arb(0), *w)])).entries()
            limits = [has.threshold * (1.0 + by) for by in raised]
            taken = [[c if m < limit else arb(0) for c, m in zip(costs, margins, strict=True)] for limit in limits]
            found.append((table, taken))
        for row in self.duals:
            explicit = [arb(v).max(arb(0)).min(c) for v, c in zip(row, costs, strict=True)]
            found.append((nominal, [explicit] * len(raised)))
        for point, samples, shares in self.shared:  # some samples, by row or by name, take their share of the cost
            named, names = dict(zip(samples, shares, strict=False)), problem.names or [""] * problem.n
            share = [named.get(name, named.get(str(i))) for i, name in enumerate(names)]
            taken = [list(map(_shared, below, share, costs)) for below in found[point][1]]
            found.append((nominal, taken))
        return [[(arb_mat([taken[k]]) * table).tolist()[0] for table, taken in found] for k in range(len(raised))]

    def bound(self, raised: tuple[float, ...]) -> arb:
        """The least of what the intervals prove, each with the best choice of cuts; minus infinity where one proves
        nothing."""
        least, choices = arb("inf"), self.cuts(raised)
        for region in self.regions:
            for k, minorant in enumerate(region.minorants):
                ends = [arb(s) for s in region.nodes[k : k + 2]]
                proved = [self._on_interval(region.sign, ends, cuts, *minorant) for cuts in choices]
                least = least.min(reduce(arb.max, proved))
        return least

    def _on_interval(self, sign, ends, cuts, used, weights, nu, chord) -> arb:
        share = 1 / sum(map(arb, weights), arb(0)).max(arb(1))
        combined = [arb(0)] * (self.problem.d + 2)
        for j, weight in zip(used, weights, strict=False):
            combined = plus(combined, cuts[j], share * weight)
        b, a, gr = combined[0], -sign * combined[1], [-v for v in combined[2:]]
        if nu:
            middle, edges = [plus(map(arb, chord[1]), chord[0], side) for side in (1, -1)]
            length = dot(middle, middle).sqrt()
            ratio = dot(edges, edges) / length**2
            if not ratio < 1:
                raise Refused("a chord is used for a box that is too wide for one")
            a, gr = a + nu * (1 - ratio).sqrt(), plus(gr, middle, -nu / length)
        A = dot(gr, gr).nonnegative_part().sqrt()
        values = [b + a * s + _phi(s, A) for s in ends]
        if len(ends) == 1:
            return values[0] if a >= A else arb("-inf")
        return values[0].min(values[1])


def _shared(a: arb, share: float | None, cost: arb) -> arb:
    return a if share is None else share * cost


def _table(rows: list[Vector]) -> arb_mat:
    return arb_mat([[arb(1), *row] for row in rows])


def _phi(s: arb, A: arb) -> arb:
    """The minimum of ``max(r^2 - s^2, 0)/2 - A r`` over r >= 0: where the case is open, the lesser of both, which is
    below."""
    near, far = -(A * A + s * s) / 2, -A * s
    return near if s <= A else far if s >= A else near.min(far)


def _contains(box: Box, low: list[float], high: list[float]) -> bool:
    return all(a <= p and q <= b for a, p, q, b in zip(box[0], low, high, box[1], strict=True))


def _require_cover(boxes: list[Any], d: int) -> None:
    """The boxes of one sign of t cover all directions: cells of the faces are split until each lies in some box."""
    if None in boxes:
        return
    for axis, side in product(range(d), (-1.0, 1.0)):
        low, high = [[side if j == axis else end for j in range(d)] for end in (-1.0, 1.0)]
        cells = [(low, high, [box for box in boxes if box[0][axis] <= side <= box[1][axis]])]
        while cells:
            low, high, near = cells.pop()
            if any(_contains(box, low, high) for box in near):
                continue
            planes = sorted({(j, v) for box in near for c in box for j, v in enumerate(c) if low[j] < v < high[j]})
            if not planes:
                raise Refused("the boxes of the certificate do not cover all directions")
            j, v = planes[len(planes) // 2]
            cells.append((low, [*high[:j], v, *high[j + 1 :]], [box for box in near if box[0][j] < v]))
            cells.append(([*low[:j], v, *low[j + 1 :]], high, [box for box in near if box[1][j] > v]))
