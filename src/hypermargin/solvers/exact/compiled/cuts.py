# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Cuts of the risk, the light cone, and what cuts say along a ray or far out.

Compiled by Cython at installation, with the C types of `cuts.pxd`; without a compiler the interpreter runs this file.

A *cut* is an affine minorant ``b + g.w`` of the risk.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt


def quadratic_form(w):
    """``q(w)`` as in `hypermargin.geometry`, without the cost of array calls."""
    total: cython.double = 0.0
    for j in range(1, w.shape[0]):
        total += w[j] * w[j]
    total = sqrt(total)
    return (total - fabs(w[0])) * (total + fabs(w[0]))


def push_out(w):
    """Stretch the space part of a lightlike w by the bits it takes to be feasible in floating point."""
    while quadratic_form(w) < 0.0:
        for j in range(1, w.shape[0]):
            w[j] *= 1.0 + 2.0**-52


def lift(w: cython.double[::1]):
    """The lightlike point over a timelike w, as a new array: wr stretched to the length of t, rounded outwards."""
    lifted = np.array(w)
    lift_into(lifted, w)
    return lifted


def lift_into(lifted, w):
    length: cython.double = 0.0
    for j in range(1, w.shape[0]):
        length += w[j] * w[j]
    length = sqrt(length)
    lifted[0] = w[0]
    for j in range(1, w.shape[0]):
        lifted[j] = w[j] * (fabs(w[0]) / length) if length > 0.0 else 0.0
    if length == 0.0:
        lifted[1] = fabs(w[0])
    push_out(lifted)


# Numbers of the cuts at ``+-(1, 0, ..., 0)``, which begin a search, are 2 and 3.
LAST_OF_ONE_CLASS = cython.declare(cython.Py_ssize_t, 3)


@cython.cclass
class CutPool:
    """All cuts found so far, ``b + g.w`` from a pass at `point` with that `risk`, in growing tables that regions share.

    Cut 0 is the constant 0: the risk is not negative.
    """

    def __init__(self, width: cython.Py_ssize_t):
        numbers: cython.double[:, ::1] = np.zeros((3, 64))
        vectors: cython.double[:, ::1] = np.zeros((128, width))
        self.size, self.width = 1, width
        self.b, self.risks, self.rises = numbers[0], numbers[1], numbers[2]
        self.g, self.points = vectors[:64], vectors[64:]

    def clear(self):
        """Forget all cuts but the constant 0; the tables stay."""
        self.size = 1

    def add(self, b, g, point, risk):
        """Append a cut and return its number."""
        if self.size == self.b.shape[0]:
            self.b, self.g = doubled(self.b), doubled(self.g)
            self.points, self.risks = doubled(self.points), doubled(self.risks)
            self.rises = doubled(self.rises)
        self.b[self.size], self.risks[self.size] = b, risk
        for j in range(self.width):
            self.g[self.size, j], self.points[self.size, j] = g[j], point[j]
        self.size += 1
        return self.size - 1

    def cut(self, c: cython.Py_ssize_t):
        """Offset, slope, point and risk of cut c; the arrays are copies."""
        return self.b[c], np.array(self.g[c]), np.array(self.points[c]), self.risks[c]

    def points_of(self, cuts: list):
        """The points of the given cuts, as a new array of shape (cuts, width)."""
        c: cython.Py_ssize_t
        points = np.empty((len(cuts), self.width))
        view: cython.double[:, ::1] = points
        for row in range(len(cuts)):
            c = cuts[row]
            for j in range(self.width):
                view[row, j] = self.points[c, j]
        return points

    def rise(self, c):
        """``|g0| - |gr|`` of a cut that proves a tail; 0 if its slope is not timelike.

        The samples of the first cuts are of one class: the slope is a sum of vectors in one light cone, each of
        Minkowski length 1 at least, with weights that sum to b, and ``g0^2 - |gr|^2 >= b^2``. Far from the origin this
        has more digits than the difference itself.
        """
        length: cython.double = self._length(c)
        time: cython.double = fabs(self.g[c, 0])
        difference: cython.double = time - length if time - length > 1e-9 * time else 0.0
        if c > LAST_OF_ONE_CLASS:
            return difference
        if time <= (1.0 - 1e-9) * length or time + length == 0.0:
            return 0.0
        return max(difference, self.b[c] * self.b[c] / (time + length))

    def _length(self, c):
        """``|gr|``."""
        total: cython.double = 0.0
        for j in range(1, self.width):
            total += self.g[c, j] * self.g[c, j]
        return sqrt(total)

    def tail(self, c: cython.Py_ssize_t, upper: cython.double):
        """The s beyond which a share of cut c proves `upper`, and that share.

        None if its slope is not timelike, which is so where it has no samples.

        A share theta of the cut bounds the objective from below by ``theta (b + (|g0| - |gr|) s)`` for every s beyond
        ``theta |gr|``, and this grows with s. The smallest s at which some theta <= 1 reaches the best objective known
        has ``theta = min(1, s / |gr|)``.
        """
        offset: cython.double = self.b[c]
        length: cython.double = self._length(c)
        rise: cython.double = self.rise(c)
        if rise <= 0.0:
            return None
        reach: cython.double = (upper - offset) / rise
        if reach < length:
            reach = 2.0 * upper * length / (offset + sqrt(offset * offset + 4.0 * rise * upper * length))
        return reach, (min(1.0, reach / length) if length > 0.0 else 1.0)

    def best_scale(self, w):
        """The alpha >= 0 at which ``alpha^2 max(q(w), 0)/2 + max_j (b_j + alpha g_j.w)`` is least, and that value.

        A lower bound of the objective along the ray through w, and the point of it to try.
        """
        low: cython.double = 0.0
        high: cython.double = 1.0
        alpha: cython.double = 1.0
        half: cython.double = 0.5 * max(quadratic_form(w), 0.0)
        slope: cython.double = 0.0
        top: cython.double = 0.0
        rises: cython.double[::1] = self.rises
        for k in range(self.size):
            rises[k] = 0.0
            for j in range(self.width):
                rises[k] += self.g[k, j] * w[j]
        for _ in range(100):  # bisection on the slope, from a bracket found by doubling
            top, slope = -1e300, 0.0
            for k in range(self.size):
                if self.b[k] + alpha * rises[k] > top:
                    top, slope = self.b[k] + alpha * rises[k], rises[k]
            if slope + 2.0 * half * alpha > 0.0:
                high = alpha
            elif alpha < high:
                low = alpha
            elif high < 1e12:
                low, high = alpha, 2.0 * high
                alpha = high
                continue
            if high - low <= 1e-14 * high:
                break
            alpha = 0.5 * (low + high)
        return alpha, top + half * alpha * alpha


def doubled(table):
    """A table with as many rows of zeros added."""
    table = np.asarray(table)
    return np.concatenate([table, np.zeros_like(table)])
