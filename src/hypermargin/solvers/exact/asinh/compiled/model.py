# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""The convex model of the objective on a box, and its minimum.

In coordinates x of the box, ``w = centre + radius x`` with x in [-1, 1]^k, the objective is at least

    b + g.x + x'Ax/2 + max_c (b_c + g_c.x),      A = M + lam G,

where b, g, M are the settled samples, the cuts c tangents to the envelopes of the others, and ``lam q(w)/2`` stands for
the margin term: ``q/2 >= lam q/2`` for every lam <= 1, because q >= 0. A is not convex, but ``A + D`` is for some
diagonal D >= 0, and ``x'Ax/2 >= x'(A + D)x/2 - sum(D)/2`` on the box. For weights theta of the cuts what is left is a
convex quadratic on a box; the best weights are found by moving weight between two cuts at a time.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import fabs, rint, sqrt
else:
    from math import fabs, sqrt

    rint = round

MOST_CUTS = cython.declare(cython.int, 12)
SWEEPS = cython.declare(cython.int, 12)
EXCHANGES = cython.declare(cython.int, 40)
HALVINGS = cython.declare(cython.int, 12)


@cython.cclass
class Model:
    """See above; `start` gives it a box, `choose` a lam, `add_cut` cuts, and `solve` finds bound and point."""

    def __init__(self, k: cython.Py_ssize_t):
        self.k = k
        self.centre, self.radius, self.g, self.form_g, self.form_G = (np.zeros(k) for _ in range(5))
        self.base_g, self.slope, self.x, self.D, self.step = (np.zeros(k) for _ in range(5))
        self.M, self.A, self.vectors, self.work, self.factor = (np.zeros((k, k)) for _ in range(5))
        self.cut_b, self.theta = np.zeros(MOST_CUTS), np.zeros(MOST_CUTS)
        self.cut_g, self.points = np.zeros((MOST_CUTS, k)), np.zeros((MOST_CUTS, k))
        self.free = np.zeros(k, dtype=np.intc)
        self.n_cuts = 0

    # -- the parts ---------------------------------------------------------------------------------------------------

    def start(self, centre, radius, sums, least):
        """A box and the sums of its settled samples; `least` is the least entry that D may have."""
        k: cython.Py_ssize_t = self.k
        self.n_cuts, self.least = 0, least
        self.b, self.form_b = sums[0], 0.0
        for i in range(k):
            self.centre[i], self.radius[i], self.x[i] = centre[i], radius[i], 0.0
            along = 0.0
            for j in range(k):
                along += sums[1 + k + i * k + j] * centre[j]
                self.M[i, j] = radius[i] * radius[j] * sums[1 + k + i * k + j]
            self.b += centre[i] * (sums[1 + i] + 0.5 * along)
            self.g[i] = radius[i] * (sums[1 + i] + along)
            sign = -1.0 if i == 0 else 1.0
            self.form_b += 0.5 * sign * centre[i] * centre[i]
            self.form_g[i] = sign * radius[i] * centre[i]
            self.form_G[i] = sign * radius[i] * radius[i]

    def choose(self, lam):
        """Take ``lam q/2`` for the margin term."""
        self.lam = lam
        for i in range(self.k):
            for j in range(self.k):
                self.work[i, j] = self.A[i, j] = self.M[i, j]
            self.work[i, i] += lam * self.form_G[i]
            self.A[i, i] += lam * self.form_G[i]
            self.base_g[i] = self.g[i] + lam * self.form_g[i]
        self.base_b = self.b + lam * self.form_b
        self._make_convex()
        for i in range(self.k):
            self.A[i, i] += self.D[i]
            self.base_b -= 0.5 * self.D[i]

    def add_cut(self, value, slope, x):
        """A cut with this value at x, and this slope in w. Where there is no room the one of least weight goes."""
        c: cython.Py_ssize_t = self.n_cuts
        if c == MOST_CUTS:
            c = 0
            for j in range(1, MOST_CUTS):
                if self.theta[j] < self.theta[c]:
                    c = j
            rest = 1.0 - self.theta[c]  # the others take over its weight
            for j in range(MOST_CUTS):
                self.theta[j] /= rest
        else:
            self.n_cuts += 1
        self.theta[c] = 1.0 if self.n_cuts == 1 else 0.0
        self.cut_b[c] = value
        for j in range(self.k):
            self.points[c, j] = x[j]
            self.cut_g[c, j] = self.radius[j] * slope[j]
            self.cut_b[c] -= self.cut_g[c, j] * x[j]

    def value(self, cut_value, x):
        """The model at x if the envelopes sum to `cut_value` there: no weights of cuts can prove more."""
        total: cython.double = self.base_b + cut_value
        row: cython.double
        for i in range(self.k):
            row = 0.0
            for j in range(self.k):
                row += self.A[i, j] * x[j]
            total += x[i] * (self.base_g[i] + 0.5 * row)
        return total

    def multiplier(self):
        """A lam for which the model is nearly stationary at its minimiser: ``-(r.Gw)/|Gw|^2``, r the risk's slope."""
        r: cython.double
        along: cython.double = 0.0
        square: cython.double = 0.0
        for i in range(self.k):
            r = self.slope[i] - self.lam * self.form_g[i]
            for j in range(self.k):
                r += self.M[i, j] * self.x[j]
            normal = self.form_g[i] + self.form_G[i] * self.x[i]
            r /= self.radius[i]
            normal /= self.radius[i]
            along += r * normal
            square += normal * normal
        return -along / square if square > 0.0 else 1.0

    # -- its minimum -------------------------------------------------------------------------------------------------

    def solve(self):
        """Find weights of the cuts and the minimiser x; return a bound that holds however close these are."""
        tolerance: cython.double = 0.05 * self.least
        self._combine()
        self._minimise()
        for _ in range(EXCHANGES):
            best = worst = 0
            highest, lowest = -1e300, 1e300
            for c in range(self.n_cuts):
                rise = self._cut_value(c)
                if rise > highest:
                    highest, best = rise, c
                if self.theta[c] > 0.0 and rise < lowest:
                    lowest, worst = rise, c
            if best == worst or highest - lowest <= tolerance:
                break
            self._exchange(best, worst)
        return self.bound()

    def bound(self):
        """The minimum over the box of the tangent plane to the model at x, for the weights at hand."""
        row: cython.double
        total: cython.double = self.base_b
        self._combine()
        for c in range(self.n_cuts):
            total += self.theta[c] * self.cut_b[c]
        for i in range(self.k):
            row = 0.0
            for j in range(self.k):
                row += self.A[i, j] * self.x[j]
            total -= 0.5 * row * self.x[i] + fabs(self.slope[i] + row)
        return total

    def minimiser(self, scale: cython.double):
        """The minimiser x, its entries rounded to multiples of ``1/scale``; it stays in the box."""
        return np.rint(np.array(self.x) * scale) / scale

    def round_minimiser(self, scale):
        """Replace x by `minimiser`."""
        for j in range(self.k):
            self.x[j] = rint(scale * self.x[j]) / scale

    def weighted_points(self):
        """The cuts that have weight: points where they touch, and weights."""
        used = [c for c in range(self.n_cuts) if self.theta[c] > 0.0]
        return np.array(self.points)[used], np.array(self.theta)[used]

    def set_weights(self, weights: list) -> cython.void:
        """New weights for the cuts that have one."""
        e: cython.Py_ssize_t = 0
        for c in range(self.n_cuts):
            if self.theta[c] > 0.0:
                self.theta[c] = weights[e]
                e += 1

    def chords(self):
        """The diagonal D: what the curvature along each side costs."""
        return np.array(self.D)

    # -- weights -----------------------------------------------------------------------------------------------------

    def _cut_value(self, c):
        value: cython.double = self.cut_b[c]
        for j in range(self.k):
            value += self.cut_g[c, j] * self.x[j]
        return value

    def _combine(self):
        """The slope of base and weighted cuts."""
        for j in range(self.k):
            self.slope[j] = self.base_g[j]
        for c in range(self.n_cuts):
            if self.theta[c] > 0.0:
                for j in range(self.k):
                    self.slope[j] += self.theta[c] * self.cut_g[c, j]

    def _exchange(self, best, worst):
        """Move weight from `worst` to `best` as long as the minimum rises; its slope falls with the weight moved."""
        whole: cython.double = self.theta[worst]
        sum_of_both: cython.double = self.theta[best] + whole
        low: cython.double = 0.0
        high: cython.double = 1.0
        share: cython.double = 1.0
        slope_low: cython.double = self._cut_value(best) - self._cut_value(worst)
        slope_high: cython.double = 0.0
        tolerance: cython.double = 0.02 * self.least
        for e in range(HALVINGS):
            self.theta[worst] = whole * (1.0 - share)
            self.theta[best] = sum_of_both - self.theta[worst]
            self._combine()
            self._minimise()
            slope = self._cut_value(best) - self._cut_value(worst)
            if fabs(slope) <= tolerance or (slope > 0.0 and share == 1.0):
                return
            if slope > 0.0:
                low, slope_low = share, slope
            else:
                high, slope_high = share, slope
            share = 0.5 * (low + high)
            if slope_high < 0.0 and e % 3 != 2:  # a secant, kept away from the ends
                share = low + (high - low) * min(0.95, max(0.05, slope_low / (slope_low - slope_high)))

    # -- quadratics on the box ---------------------------------------------------------------------------------------

    def _minimise(self):
        """Minimise ``slope.x + x'Ax/2`` over [-1, 1]^k, from the x at hand: an active-set method."""
        self._sweep()
        for _ in range(4 * self.k):
            n = 0
            for i in range(self.k):
                reach = self._gradient(i)
                if not ((self.x[i] >= 1.0 and reach <= 0.0) or (self.x[i] <= -1.0 and reach >= 0.0)):
                    self.free[n] = i
                    self.step[n] = -reach
                    n += 1
            if n == 0 or not self._newton(n):
                return
            length, blocking = 1.0, -1
            for r in range(n):
                i = self.free[r]
                if self.step[r] == 0.0:
                    continue
                reach = ((1.0 if self.step[r] > 0.0 else -1.0) - self.x[i]) / self.step[r]
                if reach < length:
                    length, blocking = reach, r
            for r in range(n):
                i = self.free[r]
                self.x[i] = min(1.0, max(-1.0, self.x[i] + length * self.step[r]))
            if blocking < 0:
                return
            i = self.free[blocking]
            self.x[i] = 1.0 if self.step[blocking] > 0.0 else -1.0
            if length == 0.0:
                self._sweep()

    def _gradient(self, i):
        value: cython.double = self.slope[i]
        for j in range(self.k):
            value += self.A[i, j] * self.x[j]
        return value

    def _sweep(self):
        """Minimise along one coordinate after the other."""
        for _ in range(2):
            for i in range(self.k):
                self.x[i] = min(1.0, max(-1.0, self.x[i] - self._gradient(i) / self.A[i, i]))

    def _newton(self, n):
        """Solve ``A step = step`` for the n free coordinates by Cholesky's method; False if that breaks down."""
        value: cython.double
        for i in range(n):
            for j in range(i + 1):
                value = self.A[self.free[i], self.free[j]]
                for c in range(j):
                    value -= self.factor[i, c] * self.factor[j, c]
                if i == j:
                    if not value > 0.0:
                        return False
                    self.factor[i, i] = sqrt(value)
                else:
                    self.factor[i, j] = value / self.factor[j, j]
        for i in range(n):
            for j in range(i):
                self.step[i] -= self.factor[i, j] * self.step[j]
            self.step[i] /= self.factor[i, i]
        for i in range(n - 1, -1, -1):
            for j in range(i + 1, n):
                self.step[i] -= self.factor[j, i] * self.step[j]
            self.step[i] /= self.factor[i, i]
        return True

    def _make_convex(self):
        """Set D so that ``work + D`` is positive definite.

        With the negative part ``N = sum |e| v v'`` over the negative eigenvalues e, ``work + N >= 0``, and the matrix
        ``diag(row sums of |N|) - N`` is diagonally dominant: these row sums will do. Jacobi's method, which leaves the
        eigenvalues on the diagonal of `work`.
        """
        off: cython.double
        scale: cython.double = 0.0
        entry: cython.double
        k: cython.Py_ssize_t = self.k
        for i in range(k):
            self.D[i] = self.least
            for j in range(k):
                self.vectors[i, j] = 1.0 if i == j else 0.0
                scale += self.work[i, j] * self.work[i, j]
        for _ in range(SWEEPS):
            off = 0.0
            for i in range(k):
                for j in range(i + 1, k):
                    off += self.work[i, j] * self.work[i, j]
            if off <= 1e-24 * scale:
                break
            for i in range(k):
                for j in range(i + 1, k):
                    self._rotate(i, j)
        for i in range(k):
            for j in range(k):
                entry = 0.0
                for c in range(k):
                    if self.work[c, c] < 0.0:
                        entry -= self.work[c, c] * self.vectors[i, c] * self.vectors[j, c]
                self.D[i] += fabs(entry)

    def _rotate(self, p, q):
        """The rotation of Jacobi's method that makes ``work[p, q]`` zero."""
        if self.work[p, q] == 0.0:
            return
        tau = (self.work[q, q] - self.work[p, p]) / (2.0 * self.work[p, q])
        t = (1.0 if tau >= 0.0 else -1.0) / (fabs(tau) + sqrt(1.0 + tau * tau))
        c = 1.0 / sqrt(1.0 + t * t)
        s = t * c
        for i in range(self.k):
            a, b = self.work[i, p], self.work[i, q]
            self.work[i, p], self.work[i, q] = c * a - s * b, s * a + c * b
        for i in range(self.k):
            a, b = self.work[p, i], self.work[q, i]
            self.work[p, i], self.work[q, i] = c * a - s * b, s * a + c * b
            a, b = self.vectors[i, p], self.vectors[i, q]
            self.vectors[i, p], self.vectors[i, q] = c * a - s * b, s * a + c * b
