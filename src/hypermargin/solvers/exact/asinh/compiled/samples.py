# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The samples on a box of w: which of them are settled, and convex lower bounds of the loss of the others.

The loss ``l(m) = max(0, asinh(1) - asinh(m))`` is concave for m < 0 and convex for m > 0, with a kink at 1. Margins are
linear in w, so on a box each has an interval ``[m0 - rho, m0 + rho]``, and there

* a sample whose interval lies beyond 1 costs nothing, on this box and all boxes inside it;
* ``l(m) >= l(m0) + l'(m0) (m - m0) + h/2 (m - m0)^2`` with h the least ``l''`` of the interval, if that ends before 1.
  Where the two differ by next to nothing the sample is *settled*: the quadratic joins a sum that all boxes inside
  share;
* every other loss is bounded by its convex envelope: a chord from the left end to a point of tangency, then l itself.

Only w with an objective below some cutoff matter, and they have ``c_i l(m_i) < cutoff``: margins below the m at which
the two are equal need not be considered, and intervals begin there at the earliest. With a large C that is a strong
hint.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import fabs, log, sinh, sqrt
else:
    from math import fabs, log, sinh, sqrt

ASINH_1 = cython.declare(cython.double, float(np.arcsinh(1.0)))
#: The least ``l''``, -2/sqrt(27), is at -1/sqrt(2); the largest at 1/sqrt(2).
LEAST_CURVATURE = cython.declare(cython.double, -2.0 / 27.0**0.5)
TURN = cython.declare(cython.double, 0.5**0.5)
#: Left of this the chord ends at the kink; it solves ``(1 - l)/sqrt2 = asinh(1) - asinh(l)``.
KINK_FROM = cython.declare(cython.double, -2.7)
#: A sign is sure, for the check too, where a sum of products is so large beside their sizes.
CLEARLY = cython.declare(cython.double, 1e-12)
TABLE_SIZE = cython.declare(cython.int, 4096)


def tangent_points(ends):
    """For ends l of intervals, l < 0, the p in [0, 1] at which the line from (l, l(l)) touches the loss."""
    low, high = np.zeros_like(ends), np.ones_like(ends)
    for _ in range(60):
        p = 0.5 * (low + high)
        too_far = np.arcsinh(ends) - np.arcsinh(p) + (p - ends) / np.hypot(1.0, p) < 0.0
        low, high = np.where(too_far, low, p), np.where(too_far, p, high)
    return 0.5 * (low + high)


TANGENT_POINTS = tangent_points(np.linspace(-2.7, 0.0, 4096 + 2))


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _loss(m: cython.double) -> cython.double:
    """``asinh(1) - asinh(m)``, without the cut at 0."""
    root: cython.double = sqrt(1.0 + m * m)
    return ASINH_1 - log(m + root) if m >= 0.0 else ASINH_1 + log(root - m)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _curvature(m: cython.double) -> cython.double:
    """``l''(m) = m (1 + m^2)^(-3/2)``."""
    square: cython.double = 1.0 + m * m
    return m / (square * sqrt(square))


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _margin_of(loss: cython.double) -> cython.double:
    """The margin that has this loss."""
    return sinh(ASINH_1 - loss) if loss < 600.0 else -1e260


@cython.cclass
class Samples:
    """The points z_i (rows of Z) and costs of n samples, and the envelopes on the box that `settle` saw last."""

    Z: cython.const[cython.double][:, ::1]
    costs: cython.const[cython.double][::1]
    tangents: cython.double[::1]
    width: cython.Py_ssize_t
    count: cython.Py_ssize_t  # samples that are not settled, and for each
    kept: cython.int[::1]  # its number,
    left: cython.double[::1]  # the left end of its interval, the loss there,
    loss_left: cython.double[::1]
    slope: cython.double[::1]  # the slope of the chord,
    until: cython.double[::1]  # and where the chord ends

    def __init__(self, Z: cython.const[cython.double][:, ::1], costs: cython.const[cython.double][::1]):
        n: cython.Py_ssize_t = Z.shape[0]
        self.Z, self.costs, self.width = Z, costs, Z.shape[1]
        self.tangents = TANGENT_POINTS
        self.count = 0
        self.kept = np.empty(n, dtype=np.intc)
        self.left, self.loss_left, self.slope, self.until = (np.empty(n) for _ in range(4))

    def settle(
        self,
        centre: cython.double[::1],
        radius: cython.double[::1],
        active: cython.const[cython.int][::1],
        cutoff: cython.double,
        allowed: cython.double,
        sums: cython.double[::1],
    ):
        """Look at the samples numbered `active` on a box; return the number of those that are not settled.

        Quadratics of samples settled now are added to `sums`: offset, slope (k) and matrix (k x k) in w. A sample is
        settled where its quadratic is below its loss by at most `allowed`. If one sample alone costs `cutoff` or more
        on the box the result is -1.
        """
        e: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t = self.width
        count: cython.Py_ssize_t = 0
        m: cython.double
        rho: cython.double
        left: cython.double
        right: cython.double
        h: cython.double
        cost: cython.double
        last_cost: cython.double = -1.0
        earliest: cython.double = 0.0
        for e in range(active.shape[0]):
            i = active[e]
            m = rho = 0.0
            for j in range(k):
                m += self.Z[i, j] * centre[j]
                rho += fabs(self.Z[i, j]) * radius[j]
            left, right, cost = m - rho, m + rho, self.costs[i]
            if left >= 1.0 or cost == 0.0:
                continue
            if cost != last_cost:
                last_cost, earliest = cost, _margin_of(cutoff / cost)
            if earliest > left:
                if earliest >= right:
                    return -1
                left = earliest
                m, rho = 0.5 * (left + right), 0.5 * (right - left)
            if right <= 1.0:
                h = _least_curvature(left, right)
                if (_largest_curvature(left, right) - h) * rho * rho <= 2.0 * allowed:
                    self._add_quadratic(i, m, h, sums)
                    continue
            self.kept[count] = i
            self._set_envelope(count, left, right)
            count += 1
        self.count = count
        return count

    def unsettled(self):
        """The numbers of the samples that the last call of `settle` left over; a copy."""
        return np.array(self.kept[: self.count])

    def cut(self, point: cython.double[::1], slope: cython.double[::1]):
        """The sum of the envelopes at a point of the box; its slope there is written to `slope`."""
        e: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t = self.width
        m: cython.double
        root: cython.double
        value: cython.double = 0.0
        factor: cython.double
        for j in range(k):
            slope[j] = 0.0
        for e in range(self.count):
            i = self.kept[e]
            m = 0.0
            for j in range(k):
                m += self.Z[i, j] * point[j]
            if m < self.until[e]:
                factor = self.slope[e]
                value += self.costs[i] * (self.loss_left[e] + factor * (m - self.left[e]))
            elif m < 1.0:
                root = sqrt(1.0 + m * m)
                factor = -1.0 / root
                value += self.costs[i] * (ASINH_1 - log(m + root))
            else:
                continue
            factor *= self.costs[i]
            for j in range(k):
                slope[j] += factor * self.Z[i, j]
        return value

    def shortfall(
        self, point: cython.double[::1], radius: cython.double[::1], parts: cython.double[::1]
    ) -> cython.void:
        """How far the envelopes are below the losses at a point: the sum, in parts for which each side is to blame."""
        e: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        m: cython.double
        rho: cython.double
        short: cython.double
        for j in range(self.width):
            parts[j] = 0.0
        for e in range(self.count):
            i = self.kept[e]
            m = rho = 0.0
            for j in range(self.width):
                m += self.Z[i, j] * point[j]
                rho += fabs(self.Z[i, j]) * radius[j]
            if self.left[e] < m < self.until[e]:
                short = max(0.0, _loss(m)) - self.loss_left[e] - self.slope[e] * (m - self.left[e])
                short *= self.costs[i] / rho
                for j in range(self.width):
                    parts[j] += short * fabs(self.Z[i, j]) * radius[j]

    def risk(self, w: cython.double[::1]):
        """``sum_i c_i l(m_i(w))`` over all samples."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        m: cython.double
        total: cython.double = 0.0
        for i in range(self.Z.shape[0]):
            m = 0.0
            for j in range(self.width):
                m += self.Z[i, j] * w[j]
            if m < 1.0:
                total += self.costs[i] * _loss(m)
        return total

    def outside(
        self,
        low: cython.double[::1],
        high: cython.double[::1],
        reach: cython.double,
        active: cython.const[cython.int][::1],
    ):
        """A bound of the risk at ``w = s v`` for all s >= `reach` and v in a box, from samples surely on the wrong
        side.

        `unsettled` then has the samples that are not surely on the right side of all these v.
        """
        e: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        count: cython.Py_ssize_t = 0
        a: cython.double
        b: cython.double
        least: cython.double
        most: cython.double
        size: cython.double
        total: cython.double = 0.0
        for e in range(active.shape[0]):
            i = active[e]
            least = most = size = 0.0
            for j in range(self.width):
                a, b = self.Z[i, j] * low[j], self.Z[i, j] * high[j]
                least += min(a, b)
                most += max(a, b)
                size += max(fabs(a), fabs(b))
            if least >= CLEARLY * size:
                continue
            self.kept[count] = i
            count += 1
            if most < -CLEARLY * size:
                total += self.costs[i] * _loss(reach * most)
        self.count = count
        return total

    @cython.cfunc
    @cython.exceptval(check=False)
    def _add_quadratic(
        self, i: cython.Py_ssize_t, m: cython.double, h: cython.double, sums: cython.double[::1]
    ) -> cython.void:
        """Add ``c (l(m) + l'(m) (z.w - m) + h/2 (z.w - m)^2)`` as offset, slope and matrix in w."""
        j: cython.Py_ssize_t
        c: cython.Py_ssize_t
        k: cython.Py_ssize_t = self.width
        cost: cython.double = self.costs[i]
        steepness: cython.double = -1.0 / sqrt(1.0 + m * m)
        factor: cython.double = cost * (steepness - h * m)
        row: cython.double
        sums[0] += cost * (_loss(m) - steepness * m + 0.5 * h * m * m)
        for j in range(k):
            sums[1 + j] += factor * self.Z[i, j]
            row = cost * h * self.Z[i, j]
            for c in range(k):
                sums[1 + k + j * k + c] += row * self.Z[i, c]

    @cython.cfunc
    @cython.exceptval(check=False)
    def _set_envelope(self, e: cython.Py_ssize_t, left: cython.double, right: cython.double) -> cython.void:
        """The chord of the envelope on an interval that begins before 1; a tangent where the loss is convex there."""
        place: cython.double
        cell: cython.int
        end: cython.double
        self.left[e] = left
        self.loss_left[e] = _loss(left)
        if left >= 0.0:  # margins of the box may lie further left where the cutoff shortened the interval
            self.until[e] = left
            self.slope[e] = -1.0 / sqrt(1.0 + left * left)
            return
        end = 1.0
        if left > KINK_FROM:
            place = (left / -KINK_FROM + 1.0) * (TABLE_SIZE + 1)
            cell = int(place)
            place -= cell
            end = (1.0 - place) * self.tangents[cell] + place * self.tangents[cell + 1]
        self.until[e] = end
        if right <= end:  # all of the envelope is the chord, its right end included
            end, self.until[e] = right, 1e300
        self.slope[e] = (_loss(end) - self.loss_left[e]) / (end - left)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _least_curvature(left: cython.double, right: cython.double) -> cython.double:
    """The least ``l''`` on an interval: it falls until -1/sqrt2, rises until 1/sqrt2 and falls again."""
    if left <= -TURN <= right:
        return LEAST_CURVATURE
    return min(_curvature(left), _curvature(right))


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _largest_curvature(left: cython.double, right: cython.double) -> cython.double:
    """The largest ``l''`` on an interval."""
    if left <= TURN <= right:
        return -LEAST_CURVATURE
    return max(_curvature(left), _curvature(right))
