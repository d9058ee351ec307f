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

from collections.abc import Iterator
from functools import reduce
from itertools import product
from math import asinh, hypot, inf
from typing import Any

from flint import arb, arb_mat

from .exact import Problem, Refused, Vector, at_enough_digits, dot, form, lifted, plus, positive, read, real, whole

#: Points of leaves are multiples of 1/GRID of the half sides, weights of 1/WEIGHTS: so the file has them.
GRID, WEIGHTS = 2048, 1 << 32
#: Margins this near to the kink at 1 may be on either side of it for a solver, which rounds.
NEAR_KINK = 1e-9
#: The least eigenvalue, relative to the size of a matrix, whose sign matters: less is a thousandth of a rounding error.
LEAST = 2.0**-60


def asinh_lower_bound(data: Any, problem: Problem) -> float:
    if problem.hard or problem.noise is not None:
        raise Refused("the certificate is for soft margins of observed points")
    proof = _Boxes(data, problem)
    return max(0.0, min(proof.has.cutoff, at_enough_digits(proof.bound))) if proof.has.tree else 0.0


class _Boxes:
    def __init__(self, data: Any, problem: Problem) -> None:
        self.problem, k = problem, problem.d + 1
        vector, tree, size = [real(), k], [whole(-1, problem.d)], real(0.0)
        leaf = (real(0.0 if problem.allow_timelike else -inf, 1.0), [real()], [size], vector)
        cover = {"frame": [vector, k], "half_side": positive, "tree": tree, "directions": [tree], "leaves": [leaf]}
        self.has, self.k = read(data, {**cover, "cutoff": size, "settled": size, "leaf_settled": size}), k
        if self.has.tree and (len(self.has.directions) != 2 * k or len(self.has.leaves) != self.has.tree.count(-1)):
            raise Refused("the certificate does not cover all directions, or does not prove all its boxes")
        if any(len(points) != k * len(weights) for _, points, weights, _ in self.has.leaves):
            raise Refused("a leaf has not as many points as weights")

    def bound(self) -> arb:
        problem, k, found = self.problem, self.k, arb("inf")
        F = arb_mat([[arb(v) for v in row] for row in self.has.frame])
        H = arb_mat([[arb((a == b) * (-1 if a == 0 else 1)) for b in range(k)] for a in range(k)])
        if F.det().contains(0):
            return arb("-inf")  # as far as these digits tell, F is not invertible
        self.Q = F.transpose() * H * F
        self.defect = sum(map(abs, (self.Q - H).entries()), arb(0))
        X = [[y * v for v in lifted(x)] for x, y in zip(problem.space, problem.y, strict=True)]
        Z = (arb_mat(X) * F).tolist()
        self.samples = [(z, problem.cost(i)) for i, z in enumerate(Z) if problem.weights[i] > 0.0]
        for face, tree in enumerate(self.has.directions):
            centre, radius = [arb(0)] * k, [arb(1)] * k
            centre[face // 2], radius[face // 2] = arb((-1, 1)[face % 2]), arb(0)
            for piece in _leaves(tree, centre, radius):
                found = found.min(self._far_out(*piece))
        boxes = _leaves(self.has.tree, [arb(0)] * k, [arb(self.has.half_side)] * k)
        for box, leaf in zip(boxes, self.has.leaves, strict=True):
            found = found.min(self._inside(*box, *leaf))
        return found

    def _form_range(self, centre: Vector, radius: Vector) -> tuple[arb, arb]:
        """Bounds of q on a box: those of ``-v0^2 + |vr|^2``, and what the rest of F'HF may add."""
        least = [(abs(c) - r).max(arb(0)) for c, r in zip(centre, radius, strict=True)]
        most = [abs(c) + r for c, r in zip(centre, radius, strict=True)]
        error = self.defect * dot(most, most)
        return form([most[0], *least[1:]]) - error, form([least[0], *most[1:]]) + error

    def _far_out(self, centre: Vector, radius: Vector) -> arb:
        """Step 1 for a piece of a face."""
        smallest, largest = self._form_range(centre, radius)
        if largest < 0 and not self.problem.allow_timelike:
            return arb("inf")
        value = arb(self.has.half_side) ** 2 * smallest.max(arb(0)) / 2
        for z, cost in self.samples:
            high = dot(z, centre) + dot(map(abs, z), radius)
            if high < 0:
                value += cost * (arb(1).asinh() - (self.has.half_side * high).asinh())
        return value

    def _inside(self, centre: Vector, radius: Vector, *leaf: Any) -> arb:
        """Steps 2 to 4 for a box and what the file holds about it."""
        found, proved = list[tuple[Vector, arb, arb, arb]](), arb("-inf")
        for z, cost in self.samples:
            middle, spread = dot(z, centre), dot(map(abs, z), radius)
            left, right = (middle - spread).lower(), (middle + spread).upper()
            least = (arb(1).asinh() - self.has.cutoff / cost).sinh()  # below this margin the sample costs the cutoff
            if right <= least:
                return arb("inf")
            if not left >= 1:
                found.append((z, cost, least.lower() if least > left else left, right))
        if self._form_range(centre, radius)[1] < 0 and not self.problem.allow_timelike:
            return arb("inf")
        # Quadratics for fewer samples may prove more, and so may the other slope at the kink.
        settled = sorted((self.has.settled, self.has.leaf_settled), reverse=True)
        for allowed, kink in product(settled, (1.0 - NEAR_KINK, 1.0 + NEAR_KINK)):
            if not proved >= self.has.cutoff:
                proved = proved.max(self._least_sum(centre, radius, found, allowed, kink, *leaf))
        return proved

    def _least_sum(self, centre, radius, found, allowed, kink, lam, points, weights, minimiser) -> arb:
        """The least value on a box of the margin term and the minorants of the samples, or less."""
        k, offset, slope, curved = self.k, arb(0), [arb(0)] * self.k, (lam * self.Q).tolist()
        rows = [points[j : j + k] for j in range(0, len(points), k)]
        touched = [[c + r * v / GRID for c, r, v in zip(centre, radius, row, strict=True)] for row in rows]
        for z, cost, left, right in found:
            at = [(float(dot(z, row)), weight / WEIGHTS) for row, weight in zip(touched, weights, strict=True)]
            a, b, c = _minorant(left, right, at, allowed, kink)
            offset, slope = offset + cost * a, plus(slope, z, cost * b)
            curved = [plus(row, z, cost * c * v) for row, v in zip(curved, z, strict=True)] if c else curved
        at_centre = [dot(row, centre) for row in curved]
        base = offset + dot(slope, centre) + dot(centre, at_centre) / 2
        tilt = [r * (s + v) for r, s, v in zip(radius, slope, at_centre, strict=True)]
        A = arb_mat([[radius[a] * curved[a][b] * radius[b] for b in range(k)] for a in range(k)])
        D, p = _convexifier(A), [arb(min(1.0, max(-1.0, v / GRID))) for v in minimiser]
        steep = [dot(row, p) + d * v for row, d, v in zip(A.tolist(), D, p, strict=True)]
        return base - sum(D, arb(0)) / 2 - dot(p, steep) / 2 - sum(map(abs, plus(tilt, steep)), arb(0))


def _leaves(tree: list[int], centre: Vector, radius: Vector) -> Iterator[tuple[Vector, Vector]]:
    """The boxes of a tree in preorder that are not halved again."""
    waiting = [(centre, radius)]
    for axis in tree:
        if not waiting:
            raise Refused("a tree of the certificate goes on after its end")
        centre, radius = waiting.pop()
        if axis == -1:
            yield centre, radius
            continue
        half = [r / 2 if j == axis else r for j, r in enumerate(radius)]
        for side in (1, -1):
            waiting.append(([c + side * half[j] if j == axis else c for j, c in enumerate(centre)], half))
    if waiting:
        raise Refused("a tree of the certificate does not cover its box")


def _minorant(
    left: arb, right: arb, at: list[tuple[float, float]], allowed: float, kink: float
) -> tuple[arb, arb, arb]:
    """``a + b m + c m^2/2`` below max(0, l) on an interval: Taylor's formula, if that loses no more than is allowed, or
    else an affine one, whose slope is about a weighted mean of those of the convex envelope at some m."""
    m, peak = ((left + right) / 2).mid(), arb(0.5).sqrt()  # l'' = m (1 + m^2)^(-3/2) has its extremes at -peak and peak
    extremes = [left, right, *(v for v in (-peak, peak) if not (v <= left or v >= right))]
    bends = [v / (1 + v * v) ** arb(1.5) for v in extremes]
    c = reduce(arb.min, bends).lower()
    if right <= 1 - NEAR_KINK and (reduce(arb.max, bends) - c) * (right - left) * (right - left) <= 8 * allowed:
        b = -1 / (1 + m * m).sqrt()
        return arb(1).asinh() - m.asinh() - b * m + c * m * m / 2, b - c * m, c
    slope = sum(weight * _slope_of_envelope(v, float(left), float(right), kink) for v, weight in at)
    b = arb(min(0.0, max(-1.0, slope)))
    touch = (1 / (b * b) - 1).nonnegative_part().sqrt().min(arb(1)) if b < 0 else arb(1)
    lowest = [arb(1).asinh() - v.min(arb(1)).asinh() - b * v for v in (left, right, touch.max(left).min(right))]
    return reduce(arb.min, lowest), b, arb(0)


def _slope_of_envelope(m: float, left: float, right: float, kink: float) -> float:
    """The slope at m of the convex envelope of l on the interval, nearly."""
    m, low, high = min(max(m, left), right), 0.0, 1.0
    if left < min(0.0, right):
        for _ in range(40):  # a chord from the left end touches l at the point between
            middle = 0.5 * (low + high)
            below = asinh(middle) - asinh(left) < (middle - left) / hypot(1.0, middle)
            low, high = (middle, high) if below else (low, middle)
        if m < low:
            return (asinh(left) - asinh(min(right, low))) / (min(right, low) - left)
    return -1.0 / hypot(1.0, m) if m < kink else 0.0


def _convexifier(A: arb_mat) -> Vector:
    """A diagonal D >= 0 with A + D positive definite, which its leading minors show.

    About the sums of the rows of the negative part of A, ``(|A| - A)/2`` with |A| = A sign(A), the sign being found by
    Newton's iteration; or, should that fail, what makes the diagonal dominant.
    """
    k, size, rows = A.nrows(), sum(map(abs, A.entries()), arb(1e-300)), A.tolist()
    S = A * (1 / size) + arb_mat(k, k, LEAST)
    for _ in range(80):  # an eigenvalue of LEAST takes 60 steps to come near 1, and few from there
        S = ((S + S.inv()) * arb(0.5)).mid()
    D = [sum(map(abs, row), arb(0)) / 2 + 2e-13 * k * size for row in (A * S - A).tolist()]
    B = [[v + D[a] if a == b else v for b, v in enumerate(row)] for a, row in enumerate(rows)]
    if all(arb_mat([row[:j] for row in B[:j]]).det() > 0 for j in range(1, k + 1)):
        return D
    return [sum(map(abs, row), arb(0)) - row[a].min(arb(0)) for a, row in enumerate(rows)]
