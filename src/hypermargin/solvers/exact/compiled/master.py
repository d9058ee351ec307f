# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""The small programme over cuts at a fixed t, by an active-set method.

Compiled by Cython at installation, with the C types of `master.pxd`; without a compiler the interpreter runs this file.

Notation (docs/exact-theory.md): in a region the sign of t is fixed, so ``t = sign * s`` with ``s >= 0``, and w is known
to satisfy ``u.wr >= kappa s`` (the *chord*; absent in the first two regions). A *minorant* is a convex combination of
cuts plus a multiple of the chord; it bounds the objective from below, for every w of the region with that s, by the
concave function

    L(s) = b + a s + phi(s, A),    a = sign g0,  A = |gr|,    phi(s, A) = -(A^2 + s^2)/2 if A >= s else -A s.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.hypermargin.solvers.exact.compiled.cuts import CutPool
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt

    from hypermargin.solvers.exact.compiled.cuts import CutPool

LEVEL = cython.declare(cython.double, 1e-13)  # relative differences between values of cuts that count as rounding
UNIT_ROUNDOFF = cython.declare(cython.double, 2.0**-53)
BLURRED = cython.declare(cython.double, 16.0)  # a sum that is no more than so many roundings of its terms is rounding
RESOLVED = cython.declare(cython.double, 1e6)  # and one that is more than so many is good enough as it is
ROUGH = cython.declare(cython.double, 0.1)  # share of what is missing to which the programme is solved


def phi(s, A):
    """The least value of ``max(r^2 - s^2, 0)/2 - A r`` over r >= 0."""
    return -0.5 * (A * A + s * s) if s <= A else -A * s


@cython.cclass
class Master:
    """The small programme at fixed s: maximise ``beta.lam - |G lam|^2 / (2 mu)`` over convex combinations of cuts.

    Column j of G is the space part of cut j, ``beta_j = b_j + sign g_j0 s``. The chord enters as one more column with a
    free multiplier. An active-set method: solve on the active columns, step to the boundary and drop a column where the
    solution leaves it, else price all columns and add the most violated. Any combination is a valid minorant, so a step
    that stops early costs tightness only.
    """

    def __init__(self, pool: CutPool):
        room: cython.Py_ssize_t = pool.width + 3
        vectors: cython.double[:, ::1] = np.zeros((3, pool.width - 1))
        numbers: cython.double[:, ::1] = np.zeros((3, room))
        self.pool, self.dim = pool, pool.width - 1
        self.sign, self.kappa, self.has_chord = 1.0, 0.0, False
        self.u, self.wr, self.slope = vectors[0], vectors[1], vectors[2]
        self.active = np.zeros(room, dtype=np.intp)
        self.lam, self.step, self.length = numbers[0], numbers[1], numbers[2]
        self.K = np.zeros((room, room + 1))
        self.D = np.zeros((room, self.dim))
        self.clear()

    def clear(self):
        """Begin with the constant 0 as the only column."""
        self.count, self.reference, self.active[0], self.lam[0], self.mu = 1, 0, 0, 1.0, 1.0
        self.b = self.a = self.A = self.level = self.noise = 0.0

    def enter(self, sign, has_chord, kappa, u):
        """Move to a region. The multipliers of the cuts stay as a warm start; that of the old chord does not."""
        self.sign, self.has_chord, self.kappa, self.u = sign, has_chord, kappa, u
        for i in range(self.count):
            if self.active[i] == -1:
                self._drop(i)
                break

    def optimise(self, s, target):
        """Find the best minorant at s; return ``L(s)``. Leaves `b`, `a`, `A`, `lam` and the primal point `wr`.

        Far below `target` a rough solution will do.

        ``phi(s, A) = max over 0 < mu <= 1 of -A^2/(2 mu) - mu s^2/2``: the quadratic programme for mu = 1 is the answer
        if its point is spacelike (``|wr| >= s``); otherwise mu shrinks until ``|wr| = s`` or nearly vanishes.
        """
        low: cython.double = 0.0  # |wr| >= s at mu = low (unless it is 0), |wr| < s at mu = high
        high: cython.double = 1.0
        at_low: cython.double = 0.0
        at_high: cython.double = 0.0
        excess: cython.double = 0.0
        value: cython.double = 0.0
        best: cython.double = 0.0
        best_mu: cython.double = 1.0
        self.mu = 1.0
        for k in range(100):
            width = high - low
            self._quadratic_programme(s, self.mu)
            value = self.b + self.a * s + phi(s, self.A)
            excess = self._norm(self.wr) - s
            primal = self.level + (0.5 * excess * (excess + 2.0 * s) if excess > 0.0 else 0.0)
            enough = max(1e-11 * fabs(value), ROUGH * (target - value))
            if (self.mu == 1.0 and excess >= 0.0) or primal - value <= enough:
                return value
            if k == 0 or primal < best:
                best, best_mu = primal, self.mu
            if excess >= 0.0:  # the root of |wr| = s by false position (Illinois), or bisection where that gains little
                low, at_low = self.mu, excess
                at_high *= 0.5
            else:
                high, at_high = self.mu, excess
                at_low *= 0.5
            if high - low <= 1e-15 * high or high < 1e-18:
                break
            if low == 0.0:
                self.mu = high * (max(0.01, 0.9 * (1.0 + excess / s)) if k < 4 else 0.01)
            else:
                self.mu = (low * at_high - high * at_low) / (at_high - at_low)
                if high - low > 0.5 * width or not low < self.mu < high:
                    self.mu = 0.5 * (low + high)
        if self.mu != best_mu:  # no convergence: return to the best point
            self.mu = best_mu
            self._quadratic_programme(s, best_mu)
            value = self.b + self.a * s + phi(s, self.A)
        return value

    def _norm(self, v):
        total: cython.double = 0.0
        for j in range(self.dim):
            total += v[j] * v[j]
        return sqrt(total)

    def _beta(self, c, s):
        if c == -1:
            return self.kappa * s
        return self.pool.b[c] + self.sign * self.pool.g[c, 0] * s

    def _value(self, c, s):
        """Cut c at s and wr."""
        value: cython.double = self._beta(c, s)
        for j in range(self.dim):
            value += self.pool.g[c, j + 1] * self.wr[j]
        return value

    def _entry(self, c, j):
        return -self.u[j] if c == -1 else self.pool.g[c, j + 1]

    def _drop(self, i):
        for k in range(i, self.count - 1):
            self.active[k] = self.active[k + 1]
            self.lam[k] = self.lam[k + 1]
        self.count -= 1

    def _combine(self, mu):
        """Sum the active columns into the minorant (b, a, A) and the primal point ``wr = -G lam / mu``."""
        total: cython.double = 0.0
        for i in range(self.count):
            if self.active[i] != -1:
                total += self.lam[i]
        for j in range(self.dim):
            self.slope[j] = 0.0
        self.noise = 0.0
        self.b = self.a = 0.0
        for i in range(self.count):
            c = self.active[i]
            if c == -1:
                self.a += self.lam[i] * self.kappa
            else:
                self.lam[i] /= total
                self.b += self.lam[i] * self.pool.b[c]
                self.a += self.lam[i] * self.sign * self.pool.g[c, 0]
            steepest = 0.0
            for j in range(self.dim):
                self.slope[j] += self.lam[i] * self._entry(c, j)
                steepest = max(steepest, fabs(self._entry(c, j)))
            self.noise += UNIT_ROUNDOFF * self.lam[i] * steepest
        for j in range(self.dim):
            self.wr[j] = -self.slope[j] / mu
        self.A = self._norm(self.slope)

    def _point(self, s, mu):
        """The primal point of the minorant at hand, from the equations of its columns where ``-G lam / mu`` is blurred.

        Where nothing but rounding is left of it, that is the shortest wr at which the active columns are level.
        """
        if BLURRED * self.noise >= self.A:
            for j in range(self.dim):
                self.wr[j] = 0.0
        if mu < 1.0 or RESOLVED * self.noise >= self.A or self._is_uneven(s):
            self._level_out(s)

    def _is_uneven(self, s):
        """Whether the active cuts differ at wr by so much that the difference could be taken for a violated column."""
        scale: cython.double = 0.0
        least: cython.double = 1e300
        largest: cython.double = -1e300
        for i in range(self.count):
            c = self.active[i]
            if c != -1:
                value = self._value(c, s)
                scale = max(scale, fabs(self._beta(c, s)))
                least, largest = min(least, value), max(largest, value)
        return largest - least > LEVEL * scale

    def _level_out(self, s):
        """Move wr so that the active columns are level there, as they are at the exact solution.

        For small mu, and for steep cuts, the quotient ``-G lam / mu`` has lost its digits to cancellation; the
        equations ``D_i.wr = -(beta_i - e_i beta_r)`` have not.
        """
        m: cython.Py_ssize_t = self.count
        total: cython.double
        self._differences()
        for i in range(m):
            total = 0.0
            if i != self.reference:
                total = -self._beta(self.active[i], s)
                if self.active[i] != -1:
                    total += self._beta(self.active[self.reference], s)
                total /= self.length[i]
                for j in range(self.dim):
                    total -= self.D[i, j] * self.wr[j]
            self.K[i, m] = total
        self._solve_gram(m)
        for i in range(m):
            if i != self.reference:
                for j in range(self.dim):
                    self.wr[j] += self.K[i, m] * self.D[i, j]

    def _differences(self):
        """Choose the heaviest cut as reference r and tabulate the other active columns relative to it.

        ``D_i = G_i - e_i G_r`` (e = 1 for cuts, 0 for the chord), scaled to unit length, removes the constraint that
        the multipliers of cuts sum to 1.
        """
        heaviest: cython.double = -1.0
        total: cython.double
        for i in range(self.count):
            if self.active[i] != -1 and self.lam[i] > heaviest:
                heaviest, self.reference = self.lam[i], i
        for i in range(self.count):
            c, total = self.active[i], 0.0
            for j in range(self.dim):
                self.D[i, j] = self._entry(c, j)
                if c != -1:
                    self.D[i, j] -= self._entry(self.active[self.reference], j)
                total += self.D[i, j] * self.D[i, j]
            self.length[i] = sqrt(total) if total > 0.0 else 1.0
            for j in range(self.dim):
                self.D[i, j] /= self.length[i]

    def _dot(self, i, k):
        total: cython.double = 0.0
        for j in range(self.dim):
            total += self.D[i, j] * self.D[k, j]
        return total

    def _solve_gram(self, m):
        """Solve ``D'D x = K[:, m]`` over the first m active columns without the reference; x is left in K[:, m]."""
        total: cython.double
        K: cython.double[:, ::1] = self.K
        for i in range(m):
            for k in range(i + 1):
                total = self._dot(i, k) if i != self.reference and k != self.reference else 0.0
                K[i, k] = K[k, i] = total
            K[i, i] += 1e-15
        K[self.reference, self.reference] = 1.0
        for i in range(m):  # Gaussian elimination, partial pivoting
            pivot = i
            for k in range(i + 1, m):
                if fabs(K[k, i]) > fabs(K[pivot, i]):
                    pivot = k
            if pivot != i:
                for j in range(i, m + 1):
                    K[i, j], K[pivot, j] = K[pivot, j], K[i, j]
            for k in range(i + 1, m):
                total = K[k, i] / K[i, i]
                if total != 0.0:
                    for j in range(i + 1, m + 1):
                        K[k, j] -= total * K[i, j]
        for i in range(m - 1, -1, -1):
            total = K[i, m]
            for j in range(i + 1, m):
                total -= K[i, j] * K[j, m]
            K[i, m] = total / K[i, i]

    def _solve_active(self, s, mu):
        """Write to `step` the multipliers that are optimal on the active columns, signs unconstrained.

        Stationarity in the other columns: ``D'(G_r + D lam) = mu (beta - e beta_r)``.
        """
        m: cython.Py_ssize_t = self.count
        total: cython.double
        self._differences()
        r = self.reference
        for i in range(m):
            total = 0.0
            if i != r:
                total = (
                    mu
                    * (self._beta(self.active[i], s) - (0.0 if self.active[i] == -1 else self._beta(self.active[r], s)))
                    / self.length[i]
                )
                for j in range(self.dim):
                    total -= self.D[i, j] * self._entry(self.active[r], j)
            self.K[i, m] = total
        self._solve_gram(m)
        total = 1.0
        for i in range(m):
            if i != r:
                self.step[i] = self.K[i, m] / self.length[i]
                if self.active[i] != -1:
                    total -= self.step[i]
        self.step[r] = total

    def _add(self, column):
        """Activate a violated column. If it depends on the active ones, exchange it for one; False if that fails.

        Along the dependence the quadratic term is constant and the bound rises linearly, so the step goes on until a
        multiplier reaches zero.
        """
        m: cython.Py_ssize_t = self.count
        blocking: cython.Py_ssize_t = -1
        rest: cython.double = 0.0
        total: cython.double
        theta: cython.double = 0.0
        self.active[m], self.lam[m] = column, 0.0
        self.count = m + 1
        self._differences()
        for i in range(m):
            self.K[i, m] = self._dot(i, m) if i != self.reference else 0.0
        self._solve_gram(m)
        for j in range(self.dim):
            total = self.D[m, j]
            for i in range(m):
                if i != self.reference:
                    total -= self.K[i, m] * self.D[i, j]
            rest += total * total
        if m <= self.dim and rest > 1e-18:  # more than dim differences cannot be independent, whatever rounding says
            return True
        # lam_m grows by 1, lam_i by step_i: the combination of columns stays, and so does the sum over cuts.
        total = 0.0 if column == -1 else -1.0
        for i in range(m):
            if i != self.reference:
                self.step[i] = -self.K[i, m] * self.length[m] / self.length[i]
                if self.active[i] != -1:
                    total -= self.step[i]
        self.step[self.reference] = total
        for i in range(m):
            if self.step[i] < 0.0 and (blocking == -1 or self.lam[i] < -theta * self.step[i]):
                blocking, theta = i, -self.lam[i] / self.step[i]
        if blocking == -1:
            self.count = m
            return False
        for i in range(m):
            self.lam[i] = max(0.0, self.lam[i] + theta * self.step[i])
        self.lam[m] = theta
        self._drop(blocking)
        return True

    def _to_optimum(self, s, mu):
        """Move to the optimum over the active columns, dropping those whose multiplier would turn negative."""
        while True:
            self._solve_active(s, mu)
            length, i = 1.0, -1
            for j in range(self.count):
                if self.step[j] <= 0.0 and self.lam[j] < length * (self.lam[j] - self.step[j]):
                    length, i = self.lam[j] / (self.lam[j] - self.step[j]), j
            for j in range(self.count):
                self.lam[j] += length * (self.step[j] - self.lam[j])
            if i == -1:
                return
            self._drop(i)

    def _violated_column(self, s):
        """The column whose value at wr exceeds the common level of the active ones most; -2 if none does."""
        worst: cython.Py_ssize_t = -2
        scale: cython.double = 1e-300
        value: cython.double
        self.level = 0.0
        for i in range(self.count):
            c = self.active[i]
            if c != -1:
                scale = max(scale, fabs(self._beta(c, s)))
                for j in range(self.dim):
                    scale = max(scale, fabs(self.pool.g[c, j + 1] * self.wr[j]))
                self.level += self.lam[i] * self._value(c, s)
        largest: cython.double = LEVEL * scale
        for c in range(self.pool.size):
            value = self.pool.b[c] + self.sign * self.pool.g[c, 0] * s - self.level
            for j in range(self.dim):
                value += self.pool.g[c, j + 1] * self.wr[j]
            if value > largest:
                worst, largest = c, value
        if self.has_chord:
            value = self.kappa * s
            for j in range(self.dim):
                value -= self.u[j] * self.wr[j]
            if value > 1e-13 * s and (worst == -2 or value * self.A > largest):
                worst = -1
        return worst

    def _quadratic_programme(self, s, mu):
        """The active-set method for one mu. The number of rounds is bounded: any combination is a valid minorant."""
        for _ in range(20 + 20 * self.dim):
            self._to_optimum(s, mu)
            self._combine(mu)
            self._point(s, mu)
            column = self._violated_column(s)
            for i in range(self.count):
                if self.active[i] == column:
                    return
            if column == -2 or not self._add(column):
                return
        self._combine(mu)  # rounds used up after an exchange: b, a and A must be those of the last multipliers
        self._point(s, mu)
