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
from collections.abc import Iterator
from typing import Any

from flint import arb, arb_mat

from .exact import Problem, Refused, Vector, at_enough_digits, dot, entry, matrix, number, numbers, sequence, whole

#: Points of leaves are multiples of 1/GRID of the half sides, weights of 1/WEIGHTS.
GRID, WEIGHTS = 2048, 1 << 32
#: Where l'' is least, -2/sqrt(27), and largest.
PEAK = 0.5**0.5
#: A piece of a tree: centre and half sides, samples that still count, sums of the others' minorants, and whether it is
#: a leaf.


def asinh_lower_bound(data: dict[str, Any], problem: Problem) -> float:
    if problem.hard or problem.noise is not None:
        raise Refused("the certificate is for soft margins of observed points")
    proof = _Boxes(data, problem)
    return max(0.0, min(proof.cutoff, at_enough_digits(proof.bound))) if proof.tree else 0.0


class _Boxes:
    def __init__(self, data: dict[str, Any], problem: Problem) -> None:
        self.problem, k = problem, problem.d + 1
        self.k = k
        self.matrix = matrix(entry(data, "frame"), k, k)
        self.half_side = number(entry(data, "half_side"), 5e-324)
        self.cutoff, self.settled, self.leaf_settled = (
            number(entry(data, name), 0.0) for name in ("cutoff", "settled", "leaf_settled")
        )
        self.whole_intervals = data.get("whole_intervals") is True
        self.tree = [whole(axis, -1, k - 1) for axis in sequence(entry(data, "tree"))]
        faces = sequence(entry(data, "directions"), 2 * k if self.tree else None)
        self.directions = [[whole(axis, -1, k - 1) for axis in sequence(pieces)] for pieces in faces]
        least = 0.0 if problem.allow_timelike else -math.inf
        self.leaves = []
        for lam, points, weights, minimiser in (sequence(leaf, 4) for leaf in sequence(entry(data, "leaves"))):
            weights = numbers(weights, None, 0.0)
            points = numbers(points, k * len(weights))
            rows = [points[i : i + k] for i in range(0, len(points), k)]
            self.leaves.append((number(lam, least, 1.0), rows, weights, numbers(minimiser, k)))
        if len(self.leaves) != self.tree.count(-1):
            raise Refused("the certificate does not prove as many boxes as it has")

    def bound(self) -> arb:
        problem, k = self.problem, self.k
        F = arb_mat([[arb(v) for v in row] for row in self.matrix])
        if F.det().contains(0):
            return arb("-inf")  # as far as these digits tell, F is not invertible
        H = arb_mat([[arb((a == b) * (-1 if a == 0 else 1)) for b in range(k)] for a in range(k)])
        self.Q = F.transpose() * H * F
        self.E = [[abs(self.Q[a, b] - H[a, b]) for b in range(k)] for a in range(k)]
        X = arb_mat([problem.point(i) for i in range(problem.n)]) * F
        self.Z = [[problem.y[i] * X[i, j] for j in range(k)] for i in range(problem.n)]
        self.plain = [[float(v.mid()) for v in z] for z in self.Z]
        self.costs = [problem.cost(i) for i in range(problem.n)]
        # l(m) c = cutoff at this m: whatever is below costs more
        self.least = [((arb(1).asinh() - self.cutoff / c).sinh() if c > 0 else arb("-inf")) for c in self.costs]
        return self._outside().min(self._inside())

    # -- 1: far out ----------------------------------------------------------------------------------------------------

    def _outside(self) -> arb:
        least, k = arb("inf"), self.k
        for face, pieces in enumerate(self.directions):
            centre, radius = [arb(0)] * k, [arb(1)] * k
            centre[face // 2], radius[face // 2] = arb((-1, 1)[face % 2]), arb(0)
            boxes = _walk(pieces, centre, radius)
            active: dict[int, list[int]] = {0: list(range(self.problem.n))}
            for number_of, parent, centre, radius, is_leaf in boxes:
                low = [c - r for c, r in zip(centre, radius, strict=True)]
                high = [c + r for c, r in zip(centre, radius, strict=True)]
                smallest, largest = self._form_range(low, high)
                kept, risk = [], arb(0)
                for i in active[parent]:
                    ends = [(z * a, z * b) for z, a, b in zip(self.Z[i], low, high, strict=True)]
                    if sum((a.min(b) for a, b in ends), arb(0)) >= 0:
                        continue
                    kept.append(i)
                    most = sum((a.max(b) for a, b in ends), arb(0))
                    if most < 0:
                        risk += self.costs[i] * (arb(1).asinh() - (self.half_side * most).asinh())
                active[number_of] = kept
                if is_leaf and not (largest < 0 and not self.problem.allow_timelike):
                    least = least.min(arb(self.half_side) ** 2 * smallest.max(arb(0)) / 2 + risk)
        return least

    def _form_range(self, low: Vector, high: Vector) -> tuple[arb, arb]:
        """Bounds of q for v of a box: ``-v0^2 + |vr|^2`` and what E may add."""
        most = [a.abs_upper().max(b.abs_upper()) ** 2 for a, b in zip(low, high, strict=True)]
        least = [arb(0) if not (a > 0 or b < 0) else abs(a).min(abs(b)) ** 2 for a, b in zip(low, high, strict=True)]
        size = [v.sqrt() for v in most]
        doubt = sum((self.E[a][b] * size[a] * size[b] for a in range(self.k) for b in range(self.k)), arb(0))
        return (
            sum(least[1:], arb(0)) - most[0] - doubt,
            sum(most[1:], arb(0)) - least[0] + doubt,
        )

    # -- 2, 3 and 4: boxes ---------------------------------------------------------------------------------------------

    def _inside(self) -> arb:
        k, least, leaves = self.k, arb("inf"), iter(self.leaves)
        nothing = (arb(0), [arb(0)] * k, [[arb(0)] * k for _ in range(k)])
        state: dict[int, Any] = {0: (list(range(self.problem.n)), nothing)}
        for number_of, parent, centre, radius, is_leaf in _walk(self.tree, [arb(0)] * k, [arb(self.half_side)] * k):
            active, sums = state[parent]
            found = self._settle(centre, radius, active, is_leaf, sums)
            if not is_leaf:
                state[number_of] = (active, sums) if found is None else ([i for i, *_ in found[0]], found[1])
                continue
            leaf = next(leaves)
            low = [c - r for c, r in zip(centre, radius, strict=True)]
            high = [c + r for c, r in zip(centre, radius, strict=True)]
            void = not self.problem.allow_timelike and self._form_range(low, high)[1] < 0
            if found is not None and not void:  # else some sample alone costs the cutoff, or no w is here
                least = least.min(self._leaf(leaf, centre, radius, *found))
        return least

    def _settle(self, centre: Vector, radius: Vector, active: list[int], is_leaf: bool, sums: Any) -> Any:
        """Samples with their intervals that are left on a box, and the sums with quadratics of those that are not.

        None if one sample alone costs the cutoff. Which samples are settled is a matter of quality: with
        `whole_intervals` halves of a box inherit no quadratic for an interval that the cutoff shortened.
        """
        allowed = self.leaf_settled if is_leaf else self.settled
        offset, slope, curved = sums[0], list(sums[1]), [list(row) for row in sums[2]]
        kept = []
        for i in active:
            z = self.Z[i]
            middle, spread = dot(z, centre), dot([abs(v) for v in z], radius)
            left, right = (middle - spread).lower(), (middle + spread).upper()
            if left >= 1 or self.costs[i] == 0:
                continue
            if right <= self.least[i]:
                return None
            shortened = self.least[i].is_finite() and self.least[i].lower() > left
            left = self.least[i].lower() if shortened else left
            if right <= 1 and not (shortened and self.whole_intervals and not is_leaf):
                m, curvature = ((left + right) / 2).mid(), _least_curvature(left, right)
                reach = float((right - m).max(m - left).mid())
                if (_largest_curvature(float(left), float(right)) - float(curvature.mid())) * reach**2 <= 2.0 * allowed:
                    cost, steep = self.costs[i], -1 / (1 + m * m).sqrt()
                    value = arb(1).asinh() - m.asinh()
                    offset += cost * (value - steep * m + curvature * m * m / 2)
                    along = cost * (steep - curvature * m)
                    slope = [u + along * v for u, v in zip(slope, z, strict=True)]
                    for a in range(self.k):
                        scaled = cost * curvature * z[a]
                        curved[a] = [u + scaled * v for u, v in zip(curved[a], z, strict=True)]
                    continue
            kept.append((i, left, right))
        return kept, (offset, slope, curved)

    def _leaf(self, leaf: Any, centre: Vector, radius: Vector, kept: Any, sums: Any) -> arb:
        lam, points, weights, minimiser = leaf
        k, (offset, slope, curved) = self.k, sums
        at = [
            [float(c.mid()) + float(r.mid()) * p / GRID for c, r, p in zip(centre, radius, row, strict=True)]
            for row in points
        ]
        for i, left, right in kept:
            interval = float(left), float(right)
            wished = 0.0
            for row, weight in zip(at, weights, strict=True):
                m = sum(p * q for p, q in zip(self.plain[i], row, strict=True))
                wished += weight / WEIGHTS * _slope_of_envelope(max(interval[0], m), *interval)
            own = arb(min(0.0, max(-1.0, wished)))
            offset += self.costs[i] * _offset(own, left, right)
            slope = [u + self.costs[i] * own * v for u, v in zip(slope, self.Z[i], strict=True)]
        A = [[curved[a][b] + lam * self.Q[a, b] for b in range(k)] for a in range(k)]
        at_centre = [dot(row, centre) for row in A]
        base = offset + dot(slope, centre) + dot(centre, at_centre) / 2
        tilt = [r * (s + v) for r, s, v in zip(radius, slope, at_centre, strict=True)]
        A = [[radius[a] * A[a][b] * radius[b] for b in range(k)] for a in range(k)]
        D = _convexifier(A)
        B = [[A[a][b] + (D[a] if a == b else 0) for b in range(k)] for a in range(k)]
        p = [arb(min(1.0, max(-1.0, v / GRID))) for v in minimiser]
        steep = [dot(row, p) for row in B]
        ends = sum((abs(t + s) for t, s in zip(tilt, steep, strict=True)), arb(0))
        return base - sum(D, arb(0)) / 2 - dot(p, steep) / 2 - ends


def _walk(tree: list[int], centre: Vector, radius: Vector) -> Iterator[tuple[int, int, Vector, Vector, bool]]:
    """The boxes of a tree in preorder, each with its number and that of its parent, both from 1 on (0: no parent)."""
    waiting = [(0, centre, radius)]
    for count, axis in enumerate(tree, start=1):
        if not waiting:
            raise Refused("a tree of the certificate goes on after its end")
        parent, centre, radius = waiting.pop()
        yield count, parent, centre, radius, axis == -1
        if axis == -1:
            continue
        half = [r / 2 if j == axis else r for j, r in enumerate(radius)]
        for side in (1, -1):
            waiting.append((count, [c + side * half[j] if j == axis else c for j, c in enumerate(centre)], half))
    if waiting:
        raise Refused("a tree of the certificate does not cover its box")


def _curvature(m: arb) -> arb:
    """``l''(m) = m (1 + m^2)^(-3/2)``."""
    return m / ((1 + m * m) * (1 + m * m).sqrt())


def _least_curvature(left: arb, right: arb) -> arb:
    """Not above l'' on an interval: its only minimum is at -1/sqrt2."""
    if left > -PEAK + 1e-9 or right < -PEAK - 1e-9:
        return _curvature(left).min(_curvature(right)).lower()
    return (-2 / arb(27).sqrt()).lower()


def _largest_curvature(left: float, right: float) -> float:
    """About the largest: it decides which minorant is taken, not whether it holds."""
    return max(m / math.hypot(1.0, m) ** 3 for m in (left, min(max(left, PEAK), right), right))


def _offset(slope: arb, left: arb, right: arb) -> arb:
    """``min (l(m) - slope m)`` over the interval."""
    touch = arb(1) if slope > -PEAK else (1 / (slope * slope) - 1).nonnegative_part().sqrt().min(arb(1))
    touch = touch.max(left).min(right).max(arb(0)) if right >= 0 else right
    value = arb(1).asinh() - touch.min(arb(1)).asinh() - slope * touch
    if left < 0:
        value = value.min(arb(1).asinh() - left.asinh() - slope * left)
    return value


def _slope_of_envelope(m: float, left: float, right: float) -> float:
    """The slope at m of the convex envelope of l on the interval, nearly."""
    if left < 0.0:
        low, high = 0.0, 1.0  # a chord from the left end touches l at the point between
        for _ in range(40):
            middle = 0.5 * (low + high)
            below = math.asinh(middle) - math.asinh(left) < (middle - left) / math.hypot(1.0, middle)
            low, high = (middle, high) if below else (low, middle)
        if m < low:
            end = min(right, low)
            return (math.asinh(left) - math.asinh(end)) / (end - left)
    return -1.0 / math.hypot(1.0, m) if m < 1.0 else 0.0


def _convexifier(A: list[Vector]) -> Vector:
    """A diagonal D >= 0 with A + diag(D) positive definite, which is seen by Gauss's elimination; about the least
    such."""
    k = len(A)
    plain = [[float(v.mid()) for v in row] for row in A]
    size = sum(abs(v) for row in plain for v in row)
    values, vectors = _eigen(plain)
    guess = [
        arb(sum(abs(sum(u[a] * u[b] * min(v, 0.0) for v, u in zip(values, vectors, strict=True))) for b in range(k)))
        + 2e-13 * k * size
        + 1e-300
        for a in range(k)
    ]
    B = [[A[a][b] + (guess[a] if a == b else 0) for b in range(k)] for a in range(k)]
    for j in range(k):
        if not B[j][j] > 0:
            return [sum((abs(A[a][b]) for b in range(k)), arb(0)) - A[a][a].min(arb(0)) for a in range(k)]
        for a in range(j + 1, k):
            factor = B[a][j] / B[j][j]
            B[a] = [u - factor * v for u, v in zip(B[a], B[j], strict=True)]
    return guess


def _eigen(A: list[list[float]]) -> tuple[list[float], list[list[float]]]:
    """Eigenvalues and eigenvectors of a small symmetric matrix by Jacobi's rotations, nearly."""
    k = len(A)
    A, V = [list(row) for row in A], [[float(a == b) for b in range(k)] for a in range(k)]
    for _ in range(30):
        for p in range(k):
            for q in range(p + 1, k):
                if A[p][q] != 0.0:
                    angle = 0.5 * math.atan2(2.0 * A[p][q], A[q][q] - A[p][p])
                    c, s = math.cos(angle), math.sin(angle)
                    for row in A:
                        row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
                    for table in (A, V):
                        table[p], table[q] = (
                            [c * u - s * v for u, v in zip(table[p], table[q], strict=True)],
                            [s * u + c * v for u, v in zip(table[p], table[q], strict=True)],
                        )
    return [A[j][j] for j in range(k)], V
