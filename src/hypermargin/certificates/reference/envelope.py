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
from .sets import Set

#: A normal is taken for one of the light cone where |wr|^2 is below t^2 or above by less than this share.
ON_CONE = 1e-12
#: A multiple that is above the worst margin by less than this share of the nominal one is taken all the same.
TIED = 1e-9
#: Samples of a robust cut may have worst margins that are the threshold but for the rounding of whoever made the proof.
#: Each choice is valid: where one proves less than is stated, thresholds a little higher are tried.
HIGHER = (0.0, 1e-8, 1e-6, 1e-4)


def lower_bound(data: dict[str, Any], problem: Problem) -> float:
    """What a certificate of the soft margin proves for a problem."""
    if problem.hard:
        raise Refused("the certificate bounds a soft margin; the problem has a hard one")
    proof, best = Envelope(data, problem), 0.0  # neither the margin term nor the risk is ever negative
    statement = data.get("statement")
    stated = statement.get("bound") if isinstance(statement, dict) else None
    threshold = proof.threshold
    for step in HIGHER if problem.noise is not None else HIGHER[:1]:
        proof.threshold = threshold * (1.0 + step)
        best = max(best, at_enough_digits(proof.bound))
        if not isinstance(stated, float) or best >= stated * (1.0 - TIED):
            break
    return best


def hard_lower_bound(data: dict[str, Any], problem: Problem) -> float:
    """A bound of the soft margin with any finite C and any weights bounds the hard margin: a separator has no risk.

    Samples without a weight make no demand, so they keep weight 0.
    """
    if not problem.hard:
        raise Refused("the certificate is for the hard margin; the problem has a soft one")
    weight = problem.weight
    if data.get("equal_weights") is True and weight is not None:
        weight = [1.0 if v > 0.0 else 0.0 for v in weight]
    soft = replace(problem, C=number(entry(data, "C"), 5e-324), weight=weight)
    return lower_bound(entry(data, "soft"), soft)


class Box:
    """Directions through the piece ``low <= x <= high`` of the face ``x[axis] = side`` of the cube [-1, 1]^d."""

    def __init__(self, data: Any, d: int) -> None:
        axis, side, low, high = sequence(data, 4)
        self.axis, self.side = whole(axis, 0, d - 1), whole(side, -1, 1)
        self.low, self.high = numbers(low, d, -1.0, 1.0), numbers(high, d, -1.0, 1.0)
        if not self.side or self.low[axis] != side or self.high[axis] != side:
            raise Refused("a box of directions is not part of a face of the cube")

    def contains(self, other: "Box | None") -> bool:
        return (
            other is not None
            and (self.axis, self.side) == (other.axis, other.side)
            and all(a <= b for a, b in zip(self.low, other.low, strict=True))
            and all(a >= b for a, b in zip(self.high, other.high, strict=True))
        )

    def chord(self) -> tuple[arb, Vector]:
        """kappa and u."""
        middle = [(arb(p) + arb(q)) / 2 for p, q in zip(self.low, self.high, strict=True)]
        edges = [arb(q) - arb(p) for p, q in zip(self.low, self.high, strict=True)]
        square = dot(middle, middle)
        ratio = dot(edges, edges) / (4 * square)
        if not ratio < 1:
            raise Refused("a chord is used for a box that is too wide for one")
        return (1 - ratio).sqrt(), [v / square.sqrt() for v in middle]


class Envelope:
    """The fields of a certificate, each in its range, and what they prove."""

    def __init__(self, data: dict[str, Any], problem: Problem) -> None:
        self.problem, d, n = problem, problem.d, problem.n
        self.centre = numbers(entry(data, "centre"), d)
        self.threshold = number(entry(data, "threshold"))
        self.points = matrix(entry(data, "points"), None, d + 1)
        duals, shared = data.get("duals"), data.get("shared", [])
        self.duals = [] if duals is None else matrix(duals, None, n)
        self.most_weight = number(data["most_weight"], 5e-324) if "most_weight" in data else math.inf
        self.cone_cuts, self.precise = data.get("cone_cuts") is True, data.get("precise") is True
        if self.cone_cuts and problem.allow_timelike:
            raise Refused("some cuts hold for spacelike normals only, but timelike ones are allowed")
        self.shared = [self._shares(cut) for cut in sequence(shared)]
        self.n_cuts = len(self.points) + len(self.duals) + len(self.shared)
        self.regions = [self._region(region) for region in sequence(entry(data, "regions"))]
        for sign in (-1, 1):
            _check_cover([box for own, box, *_ in self.regions if own == sign], d)

    def _shares(self, cut: Any) -> tuple[int, dict[int, float]]:
        """The point of a cut, and for some samples, by row, their share of c_i/sqrt2."""
        if self.problem.noise is not None:
            raise Refused("cuts with shares are for problems without uncertainty sets")
        point, samples, shares = sequence(cut, 3)
        shares = numbers(shares, len(sequence(samples)), 0.0, 1.0)
        if samples and isinstance(samples[0], str):
            named = dict(zip((int(str(name), 16) for name in samples), shares, strict=True))
            rows = {i: named[name] for i in range(self.problem.n) if (name := self.problem.name(i)) in named}
        else:
            rows = {whole(i, 0, self.problem.n - 1): share for i, share in zip(samples, shares, strict=True)}
        return whole(point, 0, len(self.points) - 1), rows

    def _region(self, data: Any) -> tuple[int, Box | None, list[float], list[tuple]]:
        d = self.problem.d
        sign, box, nodes = (
            whole(entry(data, "sign"), -1, 1),
            entry(data, "box"),
            numbers(entry(data, "nodes"), None, 0.0),
        )
        if not sign or not nodes or nodes[0] != 0.0 or nodes != sorted(nodes):
            raise Refused("the intervals of a region do not cover 0 <= s < infinity")
        own = None if box is None else Box(box, d)
        minorants = []
        for cuts, weights, nu, chord in (sequence(m, 4) for m in sequence(entry(data, "minorants"), len(nodes))):
            used = [whole(j, 0, self.n_cuts - 1) for j in sequence(cuts)]
            weights, nu = numbers(weights, len(used), 0.0), number(nu, 0.0)
            held = None
            if nu > 0.0:
                held = None if chord is None or self.problem.allow_timelike else Box(chord, d)
                if held is None or not held.contains(own):
                    raise Refused("a chord is used where none holds")
            minorants.append((used, weights, nu, held))
        return sign, own, nodes, minorants

    # -- cuts ----------------------------------------------------------------------------------------------------------

    def cuts(self) -> list[Vector]:
        """For each cut ``(b, -g)`` in the frame: the sums of ``a_i`` and of ``a_i z_i``."""
        problem, root = self.problem, half_root()
        costs = [problem.cost(i, self.most_weight) * root for i in range(problem.n)]
        Z = [[arb(1), *boosted(problem.z(i), self.centre, 1)] for i in range(problem.n)]
        table = arb_mat(Z)
        if problem.noise is None:
            below = [self._below(Z, w) for w in self.points]
            chosen = [[costs[i] if flag else arb(0) for i, flag in enumerate(row)] for row in below]
        else:
            chosen = []
        for row in self.duals:
            chosen.append([_between(arb(v), cost) for v, cost in zip(row, costs, strict=True)])
        for point, shares in self.shared:
            chosen.append([costs[i] * shares.get(i, float(flag)) for i, flag in enumerate(below[point])])
        sums = (arb_mat(chosen) * table).tolist() if chosen else []
        return sums if problem.noise is None else [*self._robust(Z, costs), *sums]

    def _below(self, Z: list[Vector], w: list[float]) -> list[bool]:
        """Which samples a cut takes: about those of a margin below the threshold. Any choice makes a valid cut."""
        plain = [[float(v.mid()) for v in z[1:]] for z in Z]
        return [sum(p * q for p, q in zip(z, w, strict=True)) < self.threshold for z in plain]

    def _robust(self, Z: list[Vector], costs: Vector) -> list[Vector]:
        """The cuts at the points of a robust problem, made of points of the sets."""
        ties = "images" if self.precise else "terms"
        sets = [Set(self.problem, i, self.centre, ties) for i in range(self.problem.n)]
        sums = []
        for w in self.points:
            square = sum(v * v for v in w[1:])
            nominal = abs(w[0]) == 1.0 and not any(w[1:])
            cone = self.cone_cuts and square < (1.0 + ON_CONE) * w[0] * w[0]
            total = [arb(0)] * (self.problem.d + 2)
            for own, z, cost in zip(sets, Z, costs, strict=True):
                m = dot(z[1:], w)
                row, margin = z[1:], float(m.mid())
                if not nominal:
                    member = own.member(w)
                    worst = float(dot(member, w).mid())
                    factor = own.multiple(m)
                    if cone and (
                        own.kind == "GeodesicBall" or float(factor.mid()) * margin < worst + TIED * abs(margin)
                    ):
                        row, margin = [factor * v for v in row], float(factor.mid()) * margin
                    else:
                        row, margin = member, worst
                if margin < self.threshold:
                    total = [u + cost * v for u, v in zip(total, [arb(1), *row], strict=True)]
            sums.append(total)
        return sums

    # -- bounds --------------------------------------------------------------------------------------------------------

    def bound(self) -> arb:
        """The least of what the intervals prove, as an interval; minus infinity where one proves nothing."""
        cuts, least = self.cuts(), arb("inf")
        for sign, _, nodes, minorants in self.regions:
            for k, (used, weights, nu, chord) in enumerate(minorants):
                total = sum((arb(v) for v in weights), arb(0))
                share = 1 / total.max(arb(1))
                combined = [arb(0)] * (self.problem.d + 2)
                for j, weight in zip(used, weights, strict=True):
                    combined = [u + share * weight * v for u, v in zip(combined, cuts[j], strict=True)]
                b, a, gr = combined[0], -sign * combined[1], [-v for v in combined[2:]]
                if chord is not None:
                    kappa, u = chord.chord()
                    a, gr = a + nu * kappa, [v - nu * w for v, w in zip(gr, u, strict=True)]
                A = dot(gr, gr).nonnegative_part().sqrt()
                ends = nodes[k : k + 2]
                if len(ends) == 1 and not a >= A:
                    return arb("-inf")
                for s in map(arb, ends):
                    least = least.min(b + a * s + _phi(s, A))
        return least


def _between(value: arb, largest: arb) -> arb:
    return value.max(arb(0)).min(largest)


def _phi(s: arb, A: arb) -> arb:
    """The minimum of ``max(r^2 - s^2, 0)/2 - A r`` over r >= 0: where the case is open, the lesser of both, which is
    below."""
    near, far = -(A * A + s * s) / 2, -A * s
    return near if s <= A else far if s >= A else near.min(far)


def _check_cover(boxes: list[Box | None], d: int) -> None:
    """The boxes of one sign of t cover all directions: cells of the faces are split until each lies in some box."""
    if any(box is None for box in boxes):
        return
    for axis in range(d):
        for side in (-1, 1):
            low, high = [-1.0] * d, [1.0] * d
            low[axis] = high[axis] = float(side)
            own = [(box.low, box.high) for box in boxes if box is not None and (box.axis, box.side) == (axis, side)]
            cells = [(low, high, own)]
            while cells:
                low, high, near = cells.pop()
                if any(
                    all(p <= q for p, q in zip(a, low, strict=True))
                    and all(p >= q for p, q in zip(b, high, strict=True))
                    for a, b in near
                ):
                    continue
                planes = sorted({(j, v) for box in near for c in box for j, v in enumerate(c) if low[j] < v < high[j]})
                if not planes:
                    raise Refused("the boxes of the certificate do not cover all directions")
                j, v = planes[len(planes) // 2]
                below, above = [*high[:j], v, *high[j + 1 :]], [*low[:j], v, *low[j + 1 :]]
                cells.append((low, below, [box for box in near if box[0][j] < v]))
                cells.append((above, high, [box for box in near if box[1][j] > v]))
