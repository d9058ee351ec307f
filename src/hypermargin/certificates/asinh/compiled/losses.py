# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Lower bounds for the asinh losses of samples on boxes of w, with a bound on every rounding error.

Compiled by Cython at installation, with the C types of `losses.pxd`. Written with the four operations and square roots
only, which IEEE arithmetic rounds correctly; u = 2^-53. Terms are summed in doubles beside the sum `size` of their
magnitudes, and the certificate takes ``(n + OPERATIONS) u size`` off, more than the terms and the operations behind
each come to.

For a slope in [-1, 0] the best affine lower bound of the loss on an interval has the offset
``min (l(m) - slope m)``. The loss is concave for m < 0 and convex for m > 0: the minimum is at the left end, or at the
point of m >= 0 where the loss has that slope, or at the right end if that comes first. So *any* slope gives a valid
bound; which one to take is a matter of quality, and is read off the points that the certificate names.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import fabs, frexp, sqrt
else:
    from math import fabs, frexp, sqrt

U = cython.declare(cython.double, 2.0**-53)
LOG_2 = cython.declare(cython.double, 0.6931471805599453)
ASINH_1 = cython.declare(cython.double, 0.881373587019543)
#: Relative to ``1 + |value|``: more than `asinh_near` can be off.
ASINH_ERROR = cython.declare(cython.double, 2.0**-48)
ROOT_HALF = cython.declare(cython.double, 0.7071067811865476)
#: A little below the least ``l''``, -2/sqrt(27), which is at -1/sqrt(2).
LEAST_CURVATURE = cython.declare(cython.double, -0.3849001794597506)


def asinh_near(x):
    """asinh(x) up to ``ASINH_ERROR (1 + |asinh(x)|)``.

    ``log(y)`` of ``y = |x| + sqrt(1 + x^2) = 2^e f`` with f in [1/sqrt2, sqrt2] is ``e log 2 + 2 atanh(s)``,
    ``s = (f - 1)/(f + 1)``, ``|s| <= 0.172``; of the series of atanh eleven terms are left out after s^21, less than
    1e-18.
    """
    e: cython.int = 0
    size = fabs(x)
    y = size + (sqrt(1.0 + size * size) if size < 1e150 else size)
    if cython.compiled:
        f = frexp(y, cython.address(e))
    else:
        f, e = frexp(y)
    if f < ROOT_HALF:
        f, e = 2.0 * f, e - 1
    s = (f - 1.0) / (f + 1.0)
    square = s * s
    series = 1.0 / 21.0
    for k in range(19, 0, -2):
        series = series * square + 1.0 / k
    value = e * LOG_2 + 2.0 * s * series
    return value if x >= 0.0 else -value


def loss_below(m):
    """A number that is not above ``max(0, asinh(1) - asinh(m))``."""
    if m >= 1.0:
        return 0.0
    value = asinh_near(m)
    value = ASINH_1 - value - 2.0 * ASINH_ERROR * (1.0 + fabs(value))
    return value if value > 0.0 else 0.0


def _curvature(m):
    square = 1.0 + m * m
    return m / (square * sqrt(square))


def _least_curvature(left, right):
    """Not above ``l''(m) = m (1 + m^2)^(-3/2)`` on an interval: it falls until -1/sqrt2, rises, falls from 1/sqrt2."""
    if left <= -0.7 and right >= -0.71:
        return LEAST_CURVATURE
    a = min(_curvature(left), _curvature(right))
    return max(LEAST_CURVATURE, a - 16.0 * U * fabs(a))


def _largest_curvature(left, right):
    """The largest ``l''`` on an interval, nearly: it decides what is settled, not what is proved."""
    if left <= ROOT_HALF and right >= ROOT_HALF:
        return -LEAST_CURVATURE
    return max(_curvature(left), _curvature(right))


def least_offset(slope, left, right):
    """Not above ``l(m) - slope m`` on the interval, for a slope in [-1, 0]."""
    touch = 1.0
    if slope < -ROOT_HALF:
        touch = 1.0 / (slope * slope) - 1.0
        touch = min(1.0, sqrt(touch)) if touch > 0.0 else 0.0
    touch = min(max(touch, left), right)  # left of 0 too if the interval ends there: then both ends count
    value = loss_below(touch) - slope * touch
    if left < 0.0:
        value = min(value, loss_below(left) - slope * left)
    return value


@cython.cclass
class BoxLosses:
    """The points z_i of n samples in the frame, as rows, and their costs; `doubt` bounds the error of a z_i's entries.

    `margins_from` are margins, one per sample, below which that sample alone costs the cutoff: such w need no proof.
    `ends` is the table that `_end_of_chord` reads. The solver has a subclass: it settles samples by the same rules.
    """

    def __init__(
        self,
        Z: cython.const[cython.double][:, ::1],
        costs: cython.const[cython.double][::1],
        doubt: cython.const[cython.double][::1],
        margins_from: cython.const[cython.double][::1],
        ends: cython.const[cython.double][::1],
    ):
        n = Z.shape[0]
        self.Z, self.costs, self.doubt, self.margins_from, self.ends = Z, costs, doubt, margins_from, ends
        self.k, self.count = Z.shape[1], 0
        self.kept = np.empty(n, dtype=np.intc)
        self.left, self.right, self.reach = np.empty(n), np.empty(n), np.empty(n)

    def unsettled(self):
        """The samples that the last call left over; a copy."""
        return np.array(self.kept[: self.count])

    def settle(self, centre, radius, active, allowed, sums, handed_down):
        """Intervals of the margins of the samples `active` on a box; False where one sample alone costs the cutoff.

        A sample that costs nothing is dropped. One whose interval ends before 1 and whose quadratic lower bound
        ``l(m0) + l'(m0) (m - m0) + h/2 (m - m0)^2`` is below its loss by little more than `allowed` is added to
        `sums`: size, offset, slope (k), matrix (k x k) in w. Where the sums are handed down to halves of the box, none
        is added whose interval the cutoff has shortened: elsewhere its quadratic may be far below its loss, and a half
        that this sample alone would prove could not be proved without it.
        """
        m: cython.double
        rho: cython.double
        size: cython.double
        left: cython.double
        right: cython.double
        h: cython.double
        length: cython.double
        k = self.k
        length = 0.0
        self.count = 0
        for j in range(k):
            length += fabs(centre[j]) + radius[j]
        for e in range(active.shape[0]):
            i = active[e]
            m = rho = size = 0.0
            for j in range(k):
                m += self.Z[i, j] * centre[j]
                rho += fabs(self.Z[i, j]) * radius[j]
                size += fabs(self.Z[i, j]) * (fabs(centre[j]) + radius[j])
            # What rounding and the doubt about z may change, made larger for the rounding of this very sum.
            rho += (8.0 * k + 16.0) * U * size + 1.01 * self.doubt[i] * length
            left, right = m - rho, m + rho
            if left >= 1.0 or self.costs[i] == 0.0:
                continue
            if right <= self.margins_from[i]:
                return False
            shortened = self.margins_from[i] > left
            if shortened:
                left = self.margins_from[i]
                m, rho = 0.5 * (left + right), 0.5 * (right - left) * (1.0 + 4.0 * U)
            size += fabs(m) + rho + 1.01 * self.doubt[i] * length / U  # the doubt, in units of what `size` stands for
            if right <= 1.0 and not (handed_down and shortened):
                h = _least_curvature(left, right)
                if (_largest_curvature(left, right) - h) * rho * rho <= 2.0 * allowed:
                    self._add_quadratic(i, m, h, size, sums)
                    continue
            self.kept[self.count] = i
            self.left[self.count], self.right[self.count], self.reach[self.count] = left, right, size
            self.count += 1
        return True

    def add_minorants(self, points, weights, sums):
        """Add affine lower bounds of the samples that are left over to `sums`, with the slopes that the points suggest.

        The slope of a sample is the weighted mean of those that the convex envelope of its loss has at the points.
        """
        m: cython.double
        end: cython.double
        chord: cython.double
        slope: cython.double
        offset: cython.double
        cost: cython.double
        for e in range(self.count):
            i, cost = self.kept[e], self.costs[self.kept[e]]
            end = chord = slope = 0.0
            if self.left[e] < 0.0:
                end = self._end_of_chord(self.left[e])
                m = min(end, self.right[e])
                chord = (loss_below(m) - loss_below(self.left[e])) / (m - self.left[e])
            for c in range(points.shape[0]):
                m = 0.0
                for j in range(self.k):
                    m += self.Z[i, j] * points[c, j]
                m = min(max(m, self.left[e]), self.right[e])
                if m < end:
                    slope += weights[c] * chord
                elif m < 1.0:
                    slope -= weights[c] / sqrt(1.0 + m * m)
            slope = min(0.0, max(-1.0, slope))
            offset = least_offset(slope, self.left[e], self.right[e])
            sums[0] += cost * (1.0 + fabs(offset) + fabs(slope) * self.reach[e])
            sums[1] += cost * offset
            for j in range(self.k):
                sums[2 + j] += cost * slope * self.Z[i, j]

    def outside(self, low, high, reach, active):
        """A lower bound, before rounding of the sum, of the risk at ``s v``, s >= `reach`, v in a box of directions."""
        total: cython.double
        least: cython.double
        most: cython.double
        size: cython.double
        a: cython.double
        b: cython.double
        total = 0.0
        self.count = 0
        for e in range(active.shape[0]):
            i = active[e]
            least = most = size = 0.0
            for j in range(self.k):
                a, b = self.Z[i, j] * low[j], self.Z[i, j] * high[j]
                least += min(a, b)
                most += max(a, b)
                size += max(fabs(a), fabs(b))
            size = (8.0 * self.k + 16.0) * U * size + 1.01 * self.k * self.doubt[i]  # no entry of v is larger than 1
            if least - size >= 0.0:
                continue
            self.kept[self.count] = i
            self.count += 1
            if most + size < 0.0:
                total += self.costs[i] * loss_below(reach * (most + size) * (1.0 - 4.0 * U))
        return total

    def _end_of_chord(self, left):
        """Where the chord from `left` should touch the loss; any answer will do, a good one makes a good bound."""
        cells = self.ends.shape[0] - 1
        if left <= -2.7:
            return 1.0
        place = (1.0 + left / 2.7) * cells
        cell: cython.Py_ssize_t = min(cells - 1, int(place))
        place -= cell
        return (1.0 - place) * self.ends[cell] + place * self.ends[cell + 1]

    def _add_quadratic(self, i, m, h, size, sums):
        cost: cython.double
        steepness: cython.double
        factor: cython.double
        value: cython.double
        row: cython.double
        k = self.k
        cost = self.costs[i]
        steepness = -1.0 / sqrt(1.0 + m * m)
        factor = cost * (steepness - h * m)
        value = loss_below(m)
        sums[0] += cost * (1.0 + value + size * (4.0 + fabs(h) * size))
        sums[1] += cost * (value - steepness * m + 0.5 * h * m * m)
        for j in range(k):
            sums[2 + j] += factor * self.Z[i, j]
            row = cost * h * self.Z[i, j]
            for c in range(k):
                sums[2 + k + j * k + c] += row * self.Z[i, c]
