"""Lower bounds of the asinh objective by a tree of boxes: ``q(w)/2 + sum_i c_i max(0, l(m_i))``, l = asinh(1) - asinh.

Coordinates v are those of a matrix F of doubles: ``m_i = y_i x_i'Fv`` and ``q = v'(F'HF)v``, H = diag(-1, 1, ..., 1),
exactly. F must be invertible, and then all v are all w. (Where timelike w are allowed the margin term
is ``max(q, 0)/2``.)

1. *Far out*: v = s u with u on the surface of the cube [-1, 1]^k and s >= h. On a piece of a face q(v) >= h^2 q(u), and
   a sample whose ``z.u`` is at most p < 0 there costs at least ``c l(h p)``.
2. *Cutoff*: nothing above it is claimed, so margins at which a sample alone costs that much are left out of its
   interval.
3. *On a box* a margin has an interval [left, right]. If right <= 1 Taylor's formula at m0 with the least l'' there is a
   quadratic minorant. For a slope in [-1, 0] the offset ``min (l(m) - slope m)`` makes an affine one: l is concave for
   m <= 0 and convex after, so the least is at the left end, or where l has that slope, or at the end that comes before.
4. ``q/2 >= lambda q/2`` for lambda <= 1 (from 0 on where timelike w are allowed), as q >= 0. With v = centre + radius x
   the sum is a quadratic ``base + tilt.x + x'Ax/2`` on [-1, 1]^k, and for D >= 0 with B = A + diag(D) positive
   definite, at any point p,

       base + tilt.x + x'Ax/2 >= base - sum(D)/2 - p'Bp/2 - sum |tilt + Bp|.
"""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

from flint import arb, arb_mat

from .exact import Problem, Vector, at_enough_digits, dot, plus
from .fields import Refused, array, entry, real, record, whole

#: Points of leaves are multiples of 1/GRID of the half sides, weights of 1/WEIGHTS: so the file has them.
GRID, WEIGHTS = 2048, 1 << 32
#: Where l'' is least, -2/sqrt(27), and largest, but for rounding, which `_least_curvature` allows for.
PEAK = 0.5**0.5
#: Margins this near to the kink at 1 may be on either side of it for a solver, which rounds.
NEAR_KINK = 1e-9
#: The least eigenvalue, relative to the size of a matrix, whose sign matters: less is a thousandth of a rounding error.
LEAST = 2.0**-60


def asinh_lower_bound(data: dict[str, Any], problem: Problem) -> float:
    if problem.hard or problem.noise is not None:
        raise Refused("the certificate is for soft margins of observed points")
    proof = _Boxes(data, problem)
    return max(0.0, min(proof.cutoff, at_enough_digits(proof.bound))) if proof.tree else 0.0


class _Boxes:
    def __init__(self, data: dict[str, Any], problem: Problem) -> None:
        self.problem, self.k = problem, problem.d + 1
        vector, tree = array(real(), self.k), array(whole(-1, problem.d))
        self.matrix = entry(data, "frame", array(vector, self.k))
        self.half_side, self.cutoff = entry(data, "half_side", real(5e-324)), entry(data, "cutoff", real(0.0))
        self.settled = [entry(data, name, real(0.0)) for name in ("settled", "leaf_settled")]
        self.tree = entry(data, "tree", tree)
        self.directions = entry(data, "directions", array(tree, 2 * self.k if self.tree else None))
        leaf = record(real(0.0 if problem.allow_timelike else -math.inf, 1.0), array(real()), array(real(0.0)), vector)
        self.leaves = entry(data, "leaves", array(leaf, self.tree.count(-1)))
        if any(len(points) != self.k * len(weights) for _, points, weights, _ in self.leaves):
            raise Refused("a leaf has not as many points as weights")

    def bound(self) -> arb:
        problem, k = self.problem, self.k
        F = arb_mat([[arb(v) for v in row] for row in self.matrix])
        if F.det().contains(0):
            return arb("-inf")  # as far as these digits tell, F is not invertible
        H = arb_mat([[arb((a == b) * (-1 if a == 0 else 1)) for b in range(k)] for a in range(k)])
        self.Q = (F.transpose() * H * F).tolist()
        self.E = [[abs(self.Q[a][b] - H[a, b]) for b in range(k)] for a in range(k)]
        X = (arb_mat([problem.point(i) for i in range(problem.n)]) * F).tolist()
        self.Z = [[y * v for v in x] for y, x in zip(problem.y, X, strict=True)]
        self.costs = [problem.cost(i) for i in range(problem.n)]
        # l(m) c = cutoff at this m: whatever is below costs more
        self.least = [((arb(1).asinh() - self.cutoff / c).sinh() if c > 0 else arb("-inf")) for c in self.costs]
        self.found, everything = arb("inf"), list(range(problem.n))
        for face, tree in enumerate(self.directions):
            centre, radius = [arb(0)] * k, [arb(1)] * k
            centre[face // 2], radius[face // 2] = arb((-1, 1)[face % 2]), arb(0)
            _walk(tree, centre, radius, everything, self._far_out)
        self.waiting = iter(self.leaves)
        _walk(self.tree, [arb(0)] * k, [arb(self.half_side)] * k, everything, self._box)
        return self.found

    def _form_range(self, centre: Vector, radius: Vector) -> tuple[arb, arb]:
        """Bounds of q on a box: those of ``-v0^2 + |vr|^2``, and what E may add."""
        most = [abs(c) + r for c, r in zip(centre, radius, strict=True)]
        least = [(abs(c) - r).max(arb(0)) for c, r in zip(centre, radius, strict=True)]
        error = dot(most, [dot(row, most) for row in self.E])
        low = dot(least[1:], least[1:]) - most[0] * most[0] - error
        return low, dot(most[1:], most[1:]) - least[0] * least[0] + error

    # -- 1: far out ----------------------------------------------------------------------------------------------------

    def _far_out(self, centre: Vector, radius: Vector, active: list[int], is_leaf: bool) -> list[int]:
        """The samples whose margins are negative somewhere on a piece; those that are everywhere prove a leaf."""
        kept, risk, (smallest, largest) = [], arb(0), self._form_range(centre, radius)
        for i in active:
            low, high = _range(self.Z[i], centre, radius)
            if low < 0:
                kept.append(i)
            if high < 0:
                risk += self.costs[i] * (arb(1).asinh() - (self.half_side * high).asinh())
        if is_leaf and not (largest < 0 and not self.problem.allow_timelike):
            self.found = self.found.min(arb(self.half_side) ** 2 * smallest.max(arb(0)) / 2 + risk)
        return kept

    # -- 2, 3 and 4: boxes ---------------------------------------------------------------------------------------------

    def _box(self, centre: Vector, radius: Vector, active: list[int], is_leaf: bool) -> list[int]:
        """The samples whose margins are less than 1 somewhere on a box; a leaf is proved by their minorants."""
        ends = {i: _range(self.Z[i], centre, radius) for i in active}
        active = [i for i in active if not ends[i][0] >= 1]
        if is_leaf:
            leaf, void = next(self.waiting), self._form_range(centre, radius)[1] < 0 and not self.problem.allow_timelike
            # Else no w is here, or some sample alone costs the cutoff.
            if not void and not any(ends[i][1] <= self.least[i] for i in active):
                left, proved = {i: ends[i] for i in active}, arb("-inf")
                # Quadratics for fewer samples may prove more, and so may the other slope at the kink.
                for allowed, kink in product(sorted(self.settled, reverse=True), (1.0 - NEAR_KINK, 1.0 + NEAR_KINK)):
                    if not proved >= self.cutoff:
                        proved = proved.max(self._leaf(leaf, centre, radius, left, allowed, kink))
                self.found = self.found.min(proved)
        return active

    def _leaf(
        self, leaf: Any, centre: Vector, radius: Vector, ends: dict[int, tuple[arb, arb]], allowed: float, kink: float
    ) -> arb:
        lam, points, weights, minimiser = leaf
        k, offset, slope, curved = self.k, arb(0), [arb(0)] * self.k, [[lam * v for v in row] for row in self.Q]
        rows = [points[i : i + k] for i in range(0, len(points), k)]
        at = [[float(c) + float(r) * p / GRID for c, r, p in zip(centre, radius, row, strict=True)] for row in rows]
        for i, (left, right) in ends.items():
            z, cost = self.Z[i], self.costs[i]
            left = self.least[i].lower().max(left) if self.least[i] > left else left
            m, least = ((left + right) / 2).mid(), _least_curvature(left, right)
            error = (_largest_curvature(float(left), float(right)) - float(least)) * float((right - left) / 2) ** 2 / 2
            if right <= 1 - NEAR_KINK and error <= allowed:
                steep = -1 / (1 + m * m).sqrt()
                offset += cost * (arb(1).asinh() - m.asinh() - steep * m + least * m * m / 2)
                slope = plus(slope, z, cost * (steep - least * m))
                curved = [plus(row, z, cost * least * v) for row, v in zip(curved, z, strict=True)]
            else:
                wished = 0.0
                for row, weight in zip(at, weights, strict=True):
                    there = min(max(float(left), float(dot(z, row))), float(right))
                    wished += weight / WEIGHTS * _slope_of_envelope(there, float(left), float(right), kink)
                own = arb(min(0.0, max(-1.0, wished)))
                offset += cost * _offset(own, left, right)
                slope = plus(slope, z, cost * own)
        at_centre = [dot(row, centre) for row in curved]
        base = offset + dot(slope, centre) + dot(centre, at_centre) / 2
        tilt = [r * (s + v) for r, s, v in zip(radius, slope, at_centre, strict=True)]
        A = [[radius[a] * curved[a][b] * radius[b] for b in range(k)] for a in range(k)]
        D = _convexifier(A)
        p = [arb(min(1.0, max(-1.0, v / GRID))) for v in minimiser]
        steep = [dot(row, p) + d * v for row, d, v in zip(A, D, p, strict=True)]
        return base - sum(D, arb(0)) / 2 - dot(p, steep) / 2 - sum(map(abs, plus(tilt, steep)), arb(0))


def _range(z: Vector, centre: Vector, radius: Vector) -> tuple[arb, arb]:
    """The least and the largest of ``z.v`` on a box, rounded outwards."""
    middle, spread = dot(z, centre), dot(map(abs, z), radius)
    return (middle - spread).lower(), (middle + spread).upper()


def _walk(tree: list[int], centre: Vector, radius: Vector, state: Any, visit: Callable[..., Any]) -> None:
    """Visit the boxes of a tree in preorder, each with what the visit of its parent returned."""
    waiting = [(centre, radius, state)]
    for axis in tree:
        if not waiting:
            raise Refused("a tree of the certificate goes on after its end")
        centre, radius, state = waiting.pop()
        state = visit(centre, radius, state, axis == -1)
        if axis != -1:
            half = [r / 2 if j == axis else r for j, r in enumerate(radius)]
            for side in (1, -1):
                moved = [c + side * half[j] if j == axis else c for j, c in enumerate(centre)]
                waiting.append((moved, half, state))
    if waiting:
        raise Refused("a tree of the certificate does not cover its box")


def _curvature(m: Any) -> Any:
    """``l''(m) = m (1 + m^2)^(-3/2)``."""
    return m / ((1 + m * m) * (1 + m * m) ** 0.5)


def _least_curvature(left: arb, right: arb) -> arb:
    """Not above l'' on an interval: its only minimum is at -1/sqrt2."""
    if left > -PEAK + 1e-9 or right < -PEAK - 1e-9:
        return _curvature(left).min(_curvature(right)).lower()
    return (-2 / arb(27).sqrt()).lower()


def _largest_curvature(left: float, right: float) -> float:
    """About the largest: it decides which minorant is taken, not whether it holds."""
    return max(map(_curvature, (left, min(max(left, PEAK), right), right)))


def _offset(slope: arb, left: arb, right: arb) -> arb:
    """``min (l(m) - slope m)`` over the interval: at an end, or where the tangent has the slope, or at the kink."""

    def value(m: arb) -> arb:
        return arb(1).asinh() - m.min(arb(1)).asinh() - slope * m

    touch = (slope**-2 - 1).nonnegative_part().sqrt().min(arb(1)) if slope < 0 else arb(1)
    return value(left).min(value(right)).min(value(touch.max(left).min(right)))


def _slope_of_envelope(m: float, left: float, right: float, kink: float) -> float:
    """The slope at m of the convex envelope of l on the interval, nearly."""
    if left < min(0.0, right):
        low, high = 0.0, 1.0  # a chord from the left end touches l at the point between
        for _ in range(40):
            middle = 0.5 * (low + high)
            below = math.asinh(middle) - math.asinh(left) < (middle - left) / math.hypot(1.0, middle)
            low, high = (middle, high) if below else (low, middle)
        if m < low:
            end = min(right, low)
            return (math.asinh(left) - math.asinh(end)) / (end - left)
    return -1.0 / math.hypot(1.0, m) if m < kink else 0.0


def _convexifier(A: list[Vector]) -> Vector:
    """A diagonal D >= 0 with A + D positive definite, which its leading minors show.

    About the sums of the rows of the negative part of A, ``(|A| - A)/2`` with |A| = A sign(A), the sign being found by
    Newton's iteration; or, should that fail, the sums of the rows of A.
    """
    k, size = len(A), sum((abs(v) for row in A for v in row), arb(1e-300))
    S = arb_mat([[v / size + (LEAST if a == b else 0) for b, v in enumerate(row)] for a, row in enumerate(A)])
    try:
        for _ in range(80):  # an eigenvalue of LEAST takes 60 steps to come near 1, and few from there
            S = ((S + S.inv()) / 2).mid()
        negative = (arb_mat(A) * S - arb_mat(A)) / 2
        D = [sum(map(abs, row), arb(0)) + 2e-13 * k * size for row in negative.tolist()]
        B = [[v + (d if a == b else 0) for b, v in enumerate(row)] for a, (row, d) in enumerate(zip(A, D, strict=True))]
        if all(arb_mat([row[:j] for row in B[:j]]).det() > 0 for j in range(1, k + 1)):
            return D
    except ZeroDivisionError:
        pass
    return [sum(map(abs, row), arb(0)) - row[a].min(arb(0)) for a, row in enumerate(A)]
