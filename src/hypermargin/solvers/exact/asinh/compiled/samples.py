# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""The samples on a box of w: which of them are settled, and convex lower bounds of the loss of the others.

The loss ``l(m) = max(0, asinh(1) - asinh(m))`` is concave for m < 0 and convex for m > 0, with a kink at 1. Margins are
linear in w, so on a box each has an interval. Which samples cost nothing there, which are *settled* by a quadratic
lower bound that all boxes inside share, and what is surely lost far out is decided by the code that checks certificates
(`BoxLosses`). Every other loss is bounded by its convex envelope: a chord from the left end to a point of tangency,
then l itself.

Only w with an objective below some cutoff matter, and they have ``c_i l(m_i) < cutoff``: margins below the m at which
the two are equal need not be considered, and intervals begin there at the earliest. With a large C that is a strong
hint.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.hypermargin.certificates.asinh.compiled.losses import BoxLosses, asinh_near
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt

    from hypermargin.certificates.asinh.compiled.losses import BoxLosses, asinh_near

ASINH_1 = cython.declare(cython.double, 0.881373587019543)


@cython.cclass
class Samples(BoxLosses):
    """The points z_i (rows of Z) and costs of n samples, and the envelopes on the box that `settle_below` saw last."""

    def __init__(self, Z, costs, doubt, ends):
        n = len(Z)
        BoxLosses.__init__(self, Z, costs, doubt, np.full(n, -np.inf), ends)
        self.cutoff = np.inf
        self.loss_left, self.slope, self.until = np.empty(n), np.empty(n), np.empty(n)

    def settle_below(self, centre, radius, active, cutoff, allowed, sums, handed_down):
        """`settle` for w with an objective below `cutoff`, and then the envelopes of the samples that are left over."""
        if cutoff != self.cutoff:
            self.cutoff = cutoff
            with np.errstate(all="ignore"):
                losses = np.minimum(cutoff / np.asarray(self.costs), 600.0)  # further out sinh overflows
                self.margins_from = np.where(losses < 600.0, np.sinh(ASINH_1 - losses), -np.inf)
        if not self.settle(centre, radius, active, allowed, sums, handed_down):
            return False
        for e in range(self.count):
            self._set_envelope(e)
        return True

    def cut(self, point, slope):
        """The sum of the envelopes at a point of the box; its slope there is written to `slope`."""
        k: cython.Py_ssize_t = self.k
        m: cython.double
        value: cython.double = 0.0
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
                value += self.costs[i] * (ASINH_1 - asinh_near(m))
            else:
                continue
            factor *= self.costs[i]
            for j in range(k):
                slope[j] += factor * self.Z[i, j]
        return value

    def shortfall(self, point, radius, parts):
        """How far the envelopes are below the losses at a point: the sum, in parts for which each side is to blame."""
        m: cython.double
        short: cython.double
        for j in range(self.k):
            parts[j] = 0.0
        for e in range(self.count):
            i = self.kept[e]
            m = rho = 0.0
            for j in range(self.k):
                m += self.Z[i, j] * point[j]
                rho += fabs(self.Z[i, j]) * radius[j]
            if self.left[e] < m < self.until[e]:
                short = max(0.0, ASINH_1 - asinh_near(m)) - self.loss_left[e] - self.slope[e] * (m - self.left[e])
                short *= self.costs[i] / rho
                for j in range(self.k):
                    parts[j] += short * fabs(self.Z[i, j]) * radius[j]

    def _set_envelope(self, e):
        """The chord of the envelope on an interval that begins before 1; a tangent where the loss is convex there."""
        left: cython.double = self.left[e]
        self.loss_left[e] = ASINH_1 - asinh_near(left)
        if left >= 0.0:  # margins of the box may lie further left where the cutoff shortened the interval
            self.until[e] = left
            self.slope[e] = -1.0 / sqrt(1.0 + left * left)
            return
        end = self.until[e] = self._end_of_chord(left)
        if self.right[e] <= end:  # all of the envelope is the chord, its right end included
            end, self.until[e] = self.right[e], 1e300
        self.slope[e] = (ASINH_1 - asinh_near(end) - self.loss_left[e]) / (end - left)
