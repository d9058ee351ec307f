# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The inner loop of the exact method: one pass over the data, a small programme over cuts, and the search along t.

Compiled by Cython at installation; where there is no compiler the interpreter runs this same file.

Notation (docs/exact.md): a *cut* is an affine minorant ``b + g.w`` of the risk. In a region the sign of t is fixed, so
``t = sign * s`` with ``s >= 0``, and w is known to satisfy ``u.wr >= kappa s`` (the *chord*; absent in the first two
regions). A *minorant* is a convex combination of cuts plus a multiple of the chord; it bounds the objective from below,
for every w of the region with that s, by the concave function

    L(s) = b + a s + phi(s, A),    a = sign g0,  A = |gr|,    phi(s, A) = -(A^2 + s^2)/2 if A >= s else -A s.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt

# What `Region.advance` asks of the caller.
QUERY = 0  # evaluate the risk at `Region.query` and give the cut to `Region.absorb`
SETTLED = 1  # the lower bound of the region has reached the target
STALLED = 2  # the relaxation of this region is too weak: split it
EXHAUSTED = 3  # double precision, or the room for minorants, is used up

MOST_MINORANTS = cython.declare(cython.Py_ssize_t, 4000)  # in one region
ROUGH = cython.declare(cython.double, 0.1)  # share of what is missing to which the inner programme is solved
STALE = cython.declare(cython.Py_ssize_t, 30)
LEAST_PROGRESS = cython.declare(cython.double, 1e-3)  # a rise by less of what is missing is none
NEARLY_BEST = cython.declare(cython.double, 0.01)  # a lightlike point that close to the best is followed up
MOST_SCALES = cython.declare(cython.Py_ssize_t, 2)  # at no more multiples of it than this

LANES = 8  # samples that a processor may treat at once: passes keep their sums in so many parts


def is_compiled() -> bool:
    """Whether this file runs as machine code (True) or is interpreted (False)."""
    return cython.compiled


@cython.ccall
@cython.exceptval(check=False)
def quadratic_form(w: cython.double[::1]) -> cython.double:
    """``q(w)`` as in `hypermargin.geometry`, without the cost of array calls."""
    j: cython.Py_ssize_t
    total: cython.double = 0.0
    for j in range(1, w.shape[0]):
        total += w[j] * w[j]
    total = sqrt(total)
    return (total - fabs(w[0])) * (total + fabs(w[0]))


@cython.cfunc
@cython.exceptval(check=False)
def _push_out(w: cython.double[::1]) -> cython.void:
    """Stretch the space part of a lightlike w by the bits it takes to be feasible in floating point."""
    j: cython.Py_ssize_t
    while quadratic_form(w) < 0.0:
        for j in range(1, w.shape[0]):
            w[j] *= 1.0 + 2.0**-52


def lift(w: cython.double[::1]):
    """The lightlike point over a timelike w, as a new array: wr stretched to the length of t, rounded outwards."""
    lifted = np.array(w)
    _lift_into(lifted, w)
    return lifted


@cython.cfunc
@cython.exceptval(check=False)
def _lift_into(lifted: cython.double[::1], w: cython.double[::1]) -> cython.void:
    j: cython.Py_ssize_t
    length: cython.double = 0.0
    for j in range(1, w.shape[0]):
        length += w[j] * w[j]
    length = sqrt(length)
    lifted[0] = w[0]
    for j in range(1, w.shape[0]):
        lifted[j] = w[j] * (fabs(w[0]) / length) if length > 0.0 else 0.0
    if length == 0.0:
        lifted[1] = fabs(w[0])
    _push_out(lifted)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _phi(s: cython.double, A: cython.double) -> cython.double:
    return -0.5 * (A * A + s * s) if s <= A else -A * s


@cython.cclass
class CutPool:
    """All cuts found so far, ``b + g.w`` from a pass at `point` with that `risk`, in growing tables that regions share.

    Cut 0 is the constant 0: the risk is not negative.
    """

    size: cython.Py_ssize_t
    width: cython.Py_ssize_t
    b: cython.double[::1]
    g: cython.double[:, ::1]
    points: cython.double[:, ::1]
    risks: cython.double[::1]
    rises: cython.double[::1]  # room for `best_scale`

    def __init__(self, width: cython.Py_ssize_t):
        self.size, self.width = 1, width
        self.b, self.risks, self.rises = np.zeros(64), np.zeros(64), np.zeros(64)
        self.g, self.points = np.zeros((64, width)), np.zeros((64, width))

    @cython.ccall
    def add(self, b: cython.double, g: cython.double[::1], point: cython.double[::1], risk: cython.double):
        """Append a cut and return its number."""
        j: cython.Py_ssize_t
        if self.size == self.b.shape[0]:
            self.b, self.g = _doubled(self.b), _doubled(self.g)
            self.points, self.risks = _doubled(self.points), _doubled(self.risks)
            self.rises = _doubled(self.rises)
        self.b[self.size], self.risks[self.size] = b, risk
        for j in range(self.width):
            self.g[self.size, j], self.points[self.size, j] = g[j], point[j]
        self.size += 1
        return self.size - 1

    def count(self):
        """The number of cuts, the constant 0 included."""
        return self.size

    def cut(self, c: cython.Py_ssize_t):
        """Offset, slope, point and risk of cut c; the arrays are copies."""
        return self.b[c], np.array(self.g[c]), np.array(self.points[c]), self.risks[c]

    def points_of(self, cuts: list):
        """The points of the given cuts, as a new array of shape (cuts, width)."""
        row: cython.Py_ssize_t
        c: cython.Py_ssize_t
        j: cython.Py_ssize_t
        points = np.empty((len(cuts), self.width))
        view: cython.double[:, ::1] = points
        for row in range(len(cuts)):
            c = cuts[row]
            for j in range(self.width):
                view[row, j] = self.points[c, j]
        return points

    def tail(self, c: cython.Py_ssize_t, upper: cython.double):
        """The s beyond which a share of cut c proves `upper`, and that share; None if its slope is not timelike.

        A share theta of the cut bounds the objective from below by ``theta (b + (|g0| - |gr|) s)`` for every s beyond
        ``theta |gr|``, and this grows with s. The smallest s at which some theta <= 1 reaches the best objective known
        has ``theta = min(1, s / |gr|)``.
        """
        offset: cython.double = self.b[c]
        length: cython.double = 0.0
        j: cython.Py_ssize_t
        for j in range(1, self.width):
            length += self.g[c, j] * self.g[c, j]
        length = sqrt(length)
        rise: cython.double = fabs(self.g[c, 0]) - length
        if rise <= 0.0:
            return None
        reach: cython.double = (upper - offset) / rise
        if reach < length:
            reach = 2.0 * upper * length / (offset + sqrt(offset * offset + 4.0 * rise * upper * length))
        return reach, (min(1.0, reach / length) if length > 0.0 else 1.0)

    @cython.ccall
    def best_scale(self, w: cython.double[::1]):
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
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
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


@cython.cclass
class Master:
    """The small programme at fixed s: maximise ``beta.lam - |G lam|^2 / (2 mu)`` over convex combinations of cuts.

    Column j of G is the space part of cut j, ``beta_j = b_j + sign g_j0 s``. The chord enters as one more column with a
    free multiplier. An active-set method: solve on the active columns, step to the boundary and drop a column where the
    solution leaves it, else price all columns and add the most violated. Any combination is a valid minorant, so a step
    that stops early costs tightness only.
    """

    pool: CutPool
    dim: cython.Py_ssize_t
    sign: cython.double
    kappa: cython.double
    has_chord: cython.bint
    u: cython.double[::1]
    count: cython.Py_ssize_t  # active columns
    active: cython.Py_ssize_t[::1]  # their numbers; -1 is the chord
    lam: cython.double[::1]
    step: cython.double[::1]
    K: cython.double[:, ::1]
    D: cython.double[:, ::1]
    length: cython.double[::1]
    reference: cython.Py_ssize_t
    wr: cython.double[::1]  # the primal solution,
    level: cython.double  # the common value of the active cuts there
    mu: cython.double  # and the factor for which it was found; below 1 it is not spacelike
    slope: cython.double[::1]  # G lam
    b: cython.double  # the combined minorant: offset,
    a: cython.double  # slope in s
    A: cython.double  # and norm of the space part

    def __init__(self, pool: CutPool):
        room: cython.Py_ssize_t = pool.width + 3
        self.pool, self.dim = pool, pool.width - 1
        self.sign, self.kappa, self.has_chord = 1.0, 0.0, False
        self.u = np.zeros(self.dim)
        self.count = 1
        self.active = np.zeros(room, dtype=np.intp)
        self.lam = np.zeros(room)
        self.lam[0] = 1.0
        self.step = np.zeros(room)
        self.K = np.zeros((room, room + 1))
        self.D = np.zeros((room, self.dim))
        self.length = np.zeros(room)
        self.reference = 0
        self.wr = np.zeros(self.dim)
        self.slope = np.zeros(self.dim)
        self.b = self.a = self.A = self.level = 0.0
        self.mu = 1.0

    def enter(self, sign: cython.double, has_chord: cython.bint, kappa: cython.double, u: cython.double[::1]):
        """Move to a region. The multipliers of the cuts stay as a warm start; that of the old chord does not."""
        i: cython.Py_ssize_t
        self.sign, self.has_chord, self.kappa, self.u = sign, has_chord, kappa, u
        for i in range(self.count):
            if self.active[i] == -1:
                self._drop(i)
                break

    def optimise(self, s: cython.double, target: cython.double) -> cython.double:
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
        primal: cython.double
        best: cython.double = 0.0
        best_mu: cython.double = 1.0
        enough: cython.double
        k: cython.int
        self.mu = 1.0
        for k in range(60):
            self._quadratic_programme(s, self.mu)
            value = self.b + self.a * s + _phi(s, self.A)
            excess = self._norm(self.wr) - s
            primal = self.level + (0.5 * excess * (excess + 2.0 * s) if excess > 0.0 else 0.0)
            enough = max(1e-11 * fabs(value), ROUGH * (target - value))
            if (self.mu == 1.0 and excess >= 0.0) or primal - value <= enough:
                return value
            if k == 0 or primal < best:
                best, best_mu = primal, self.mu
            if excess >= 0.0:  # the root of |wr| = s by false position (Illinois) with a bisection now and then
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
                if k % 3 == 2 or not low < self.mu < high:
                    self.mu = 0.5 * (low + high)
        if self.mu != best_mu:  # no convergence: return to the best point
            self.mu = best_mu
            self._quadratic_programme(s, best_mu)
            value = self.b + self.a * s + _phi(s, self.A)
        return value

    @cython.cfunc
    @cython.exceptval(check=False)
    def _norm(self, v: cython.double[::1]) -> cython.double:
        total: cython.double = 0.0
        j: cython.Py_ssize_t
        for j in range(self.dim):
            total += v[j] * v[j]
        return sqrt(total)

    @cython.cfunc
    @cython.exceptval(check=False)
    def _beta(self, c: cython.Py_ssize_t, s: cython.double) -> cython.double:
        if c == -1:
            return self.kappa * s
        return self.pool.b[c] + self.sign * self.pool.g[c, 0] * s

    @cython.cfunc
    @cython.exceptval(check=False)
    def _entry(self, c: cython.Py_ssize_t, j: cython.Py_ssize_t) -> cython.double:
        return -self.u[j] if c == -1 else self.pool.g[c, j + 1]

    @cython.cfunc
    @cython.exceptval(check=False)
    def _drop(self, i: cython.Py_ssize_t) -> cython.void:
        k: cython.Py_ssize_t
        for k in range(i, self.count - 1):
            self.active[k] = self.active[k + 1]
            self.lam[k] = self.lam[k + 1]
        self.count -= 1

    @cython.cfunc
    @cython.exceptval(check=False)
    def _combine(self, mu: cython.double) -> cython.void:
        """Sum the active columns into the minorant (b, a, A) and the primal point ``wr = -G lam / mu``."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        c: cython.Py_ssize_t
        total: cython.double = 0.0
        for i in range(self.count):
            if self.active[i] != -1:
                total += self.lam[i]
        for j in range(self.dim):
            self.slope[j] = 0.0
        self.b = self.a = 0.0
        for i in range(self.count):
            c = self.active[i]
            if c == -1:
                self.a += self.lam[i] * self.kappa
            else:
                self.lam[i] /= total
                self.b += self.lam[i] * self.pool.b[c]
                self.a += self.lam[i] * self.sign * self.pool.g[c, 0]
            for j in range(self.dim):
                self.slope[j] += self.lam[i] * self._entry(c, j)
        for j in range(self.dim):
            self.wr[j] = -self.slope[j] / mu
        self.A = self._norm(self.slope)

    @cython.cfunc
    @cython.exceptval(check=False)
    def _level_out(self, s: cython.double) -> cython.void:
        """Move wr so that the active columns are level there, as they are at the exact solution.

        For small mu the quotient ``-G lam / mu`` has lost its digits to cancellation; the equations
        ``D_i.wr = -(beta_i - e_i beta_r)`` have not.
        """
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
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

    @cython.cfunc
    @cython.exceptval(check=False)
    def _differences(self) -> cython.void:
        """Choose the heaviest cut as reference r and tabulate the other active columns relative to it.

        ``D_i = G_i - e_i G_r`` (e = 1 for cuts, 0 for the chord), scaled to unit length, removes the constraint that
        the multipliers of cuts sum to 1.
        """
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        c: cython.Py_ssize_t
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

    @cython.cfunc
    @cython.exceptval(check=False)
    def _dot(self, i: cython.Py_ssize_t, k: cython.Py_ssize_t) -> cython.double:
        total: cython.double = 0.0
        j: cython.Py_ssize_t
        for j in range(self.dim):
            total += self.D[i, j] * self.D[k, j]
        return total

    @cython.cfunc
    @cython.exceptval(check=False)
    def _solve_gram(self, m: cython.Py_ssize_t) -> cython.void:
        """Solve ``D'D x = K[:, m]`` over the first m active columns without the reference; x is left in K[:, m]."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        pivot: cython.Py_ssize_t
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

    @cython.cfunc
    @cython.exceptval(check=False)
    def _solve_active(self, s: cython.double, mu: cython.double) -> cython.void:
        """Write to `step` the multipliers that are optimal on the active columns, signs unconstrained.

        Stationarity in the other columns: ``D'(G_r + D lam) = mu (beta - e beta_r)``.
        """
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        r: cython.Py_ssize_t
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

    @cython.cfunc
    @cython.exceptval(check=False)
    def _add(self, column: cython.Py_ssize_t) -> cython.bint:
        """Activate a violated column. If it depends on the active ones, exchange it for one; False if that fails.

        Along the dependence the quadratic term is constant and the bound rises linearly, so the step goes on until a
        multiplier reaches zero.
        """
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
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

    @cython.cfunc
    @cython.exceptval(check=False)
    def _to_optimum(self, s: cython.double, mu: cython.double) -> cython.void:
        """Move to the optimum over the active columns, dropping those whose multiplier would turn negative."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        length: cython.double
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

    @cython.cfunc
    @cython.exceptval(check=False)
    def _violated_column(self, s: cython.double) -> cython.Py_ssize_t:
        """The column whose value at wr exceeds the common level of the active ones most; -2 if none does."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        c: cython.Py_ssize_t
        worst: cython.Py_ssize_t = -2
        scale: cython.double = 1e-300
        value: cython.double
        self.level = 0.0
        for i in range(self.count):
            c = self.active[i]
            if c != -1:
                value = self._beta(c, s)
                scale = max(scale, fabs(value))
                for j in range(self.dim):
                    value += self.pool.g[c, j + 1] * self.wr[j]
                    scale = max(scale, fabs(self.pool.g[c, j + 1] * self.wr[j]))
                self.level += self.lam[i] * value
        largest: cython.double = 1e-13 * scale
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

    @cython.cfunc
    @cython.exceptval(check=False)
    def _quadratic_programme(self, s: cython.double, mu: cython.double) -> cython.void:
        """The active-set method for one mu. The number of rounds is bounded: any combination is a valid minorant."""
        i: cython.Py_ssize_t
        column: cython.Py_ssize_t
        for _ in range(20 + 20 * self.dim):
            self._to_optimum(s, mu)
            self._combine(mu)
            if mu < 1.0:
                self._level_out(s)
            column = self._violated_column(s)
            for i in range(self.count):
                if self.active[i] == column:
                    return
            if column == -2 or not self._add(column):
                return
        self._combine(mu)  # rounds used up after an exchange: b, a and A must be those of the last multipliers


@cython.cclass
class Region:
    """The search along s in one region: nodes, the minorants found there, and a lower bound a cell between nodes.

    Between neighbouring nodes a minorant is concave, so its smaller end value bounds the objective on the cell; the
    bound of a cell is the best over all minorants. The last cell is the tail beyond the last node; only minorants that
    do not fall there (``a >= A``) count for it.
    """

    master: Master
    sign: cython.double
    kappa: cython.double
    has_chord: cython.bint
    timelike_allowed: cython.bint
    u: cython.double[::1]
    nodes: cython.Py_ssize_t
    s: cython.double[::1]  # positions of the nodes
    envelope: cython.double[::1]  # E(s) there
    top: cython.Py_ssize_t[::1]  # the minorant that is largest there
    relaxed: cython.double[::1]  # smallest value of the relaxed objective seen there (infinite before a query)
    stale: cython.Py_ssize_t[
        ::1
    ]  # queries in a row that did not raise the envelope there; from STALE on it is given up
    lower: cython.double[::1]  # bound of the cell from node i to node i + 1 (to infinity for the last)
    proof: cython.Py_ssize_t[::1]  # the minorant that gives it
    minorants: cython.Py_ssize_t
    mb: cython.double[::1]
    ma: cython.double[::1]
    mA: cython.double[::1]
    columns: cython.Py_ssize_t[:, ::1]
    weights: cython.double[:, ::1]
    owner: cython.Py_ssize_t[::1]  # number, in `boxes`, of the box whose chord a minorant uses
    boxes: list
    query: cython.double[::1]
    here: cython.Py_ssize_t  # the node of the query
    timelike: cython.bint  # the master's point there is timelike
    lifted: cython.bint  # and the query was moved out to the light cone

    def __init__(self, master: Master, sign, box, chord, nodes, timelike_allowed):
        self.master, self.sign, self.timelike_allowed = master, sign, timelike_allowed
        self.has_chord = chord is not None
        self.u, self.kappa = (np.zeros(master.dim), 0.0) if chord is None else chord
        self.boxes = [box]
        self.nodes = len(nodes)
        self._make_tables(max(64, self.nodes), master.pool.width + 3)
        self.query = np.zeros(master.pool.width)
        self.here, self.timelike, self.lifted = 0, False, False
        for i, position in enumerate(nodes):
            self.s[i] = position

    @cython.cfunc
    def _make_tables(self, room: cython.Py_ssize_t, width: cython.Py_ssize_t):
        """Few arrays, cut into rows: regions are many in degenerate problems, and allocation would cost the most."""
        i: cython.Py_ssize_t
        numbers: cython.double[:, ::1] = np.zeros((7, room))
        counts: cython.Py_ssize_t[:, ::1] = np.zeros((4, room), dtype=np.intp)
        self.s, self.envelope, self.relaxed, self.lower = numbers[0], numbers[1], numbers[2], numbers[3]
        self.mb, self.ma, self.mA = numbers[4], numbers[5], numbers[6]
        self.top, self.proof, self.stale, self.owner = counts[0], counts[1], counts[2], counts[3]
        self.columns = np.zeros((room, width), dtype=np.intp)
        self.weights = np.zeros((room, width))
        self.minorants = 0
        for i in range(room):
            self.envelope[i] = self.lower[i] = -float("inf")
            self.relaxed[i] = float("inf")

    def begin(self):
        """Solve the master at the first nodes."""
        i: cython.Py_ssize_t
        self._enter()
        for i in range(self.nodes):
            self._minorant_at(self.s[i], -1e300)

    def inherit(self, parent: "Region"):
        """Take over the minorants that prove the parent's cells: they hold here too, in a part of its directions."""
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        m: cython.Py_ssize_t
        offset: cython.Py_ssize_t = len(self.boxes)
        self.boxes.extend(parent.boxes)
        used = {parent.proof[i] for i in range(parent.nodes)} | {parent.top[i] for i in range(parent.nodes)}
        for m in sorted(used):
            k = self._room()
            self.mb[k], self.ma[k], self.mA[k] = parent.mb[m], parent.ma[m], parent.mA[m]
            self.owner[k] = offset + parent.owner[m]
            for j in range(self.columns.shape[1]):
                self.columns[k, j], self.weights[k, j] = parent.columns[m, j], parent.weights[m, j]
            self._keep(k)

    # -- what the caller uses ------------------------------------------------------------------------------------------

    @cython.ccall
    def advance(self, target: cython.double) -> cython.int:
        """Work on the cell of least bound until a query is needed, or the region is settled at `target` or stalled."""
        cell: cython.Py_ssize_t
        value: cython.double
        before: cython.double
        length: cython.double
        position: cython.double
        j: cython.Py_ssize_t
        self._enter()
        while True:
            cell = self._weakest_cell()
            if self.lower[cell] >= target:
                return SETTLED
            if cell == self.nodes - 1 or self.minorants > MOST_MINORANTS:
                return EXHAUSTED
            self.here = self._choose_node(cell, target)
            if self.here == -1:
                return EXHAUSTED
            position, before = self.s[self.here], self.envelope[self.here]
            value = self._minorant_at(position, target)
            if value >= target:
                continue
            length = self.master._norm(self.master.wr)
            self.timelike = not self.timelike_allowed and (self.master.mu < 1.0 or length < position)
            # A timelike point whose relaxed objective is below the target: no minorant will ever prove the target here.
            if self.timelike and self.relaxed[self.here] - value <= 0.3 * (target - value):
                return STALLED
            if self.stale[self.here] >= STALE:
                if value - before > LEAST_PROGRESS * (target - before):
                    continue
                return STALLED if self.timelike else EXHAUSTED
            self.lifted = self.timelike and length > 0.99 * position
            self.query[0] = self.sign * position
            if self.lifted:  # rounded outwards, so that it is feasible
                length /= position * (1.0 + 4e-16 * (self.master.dim + 4))
            else:
                length = 1.0
            for j in range(self.master.dim):
                self.query[j + 1] = self.master.wr[j] / length
            return QUERY

    @cython.ccall
    def absorb(self, relaxed: cython.double, target: cython.double) -> cython.bint:
        """Take in that the relaxed objective at the query is `relaxed` and its cut is in the pool.

        Returns True if the point asked for is timelike and the caller should evaluate a feasible neighbour as well.
        """
        before: cython.double = self.envelope[self.here]
        value: cython.double
        if not self.lifted:
            self.relaxed[self.here] = min(self.relaxed[self.here], relaxed)
        self._enter()
        value = self._minorant_at(self.s[self.here], target)
        if value - before > LEAST_PROGRESS * (target - before):
            self.stale[self.here] = 0
        elif self.lifted or relaxed - before <= LEAST_PROGRESS * (target - before):
            self.stale[self.here] = STALE  # the cut was known, or as good as
        elif self.stale[self.here] < STALE:  # a minimum that is not unique: other points of it may have more to give
            self.stale[self.here] += 1
        return self.timelike and not self.lifted

    def side(self) -> cython.double:
        """The sign of t in this region."""
        return self.sign

    def query_point(self):
        """Where the risk is to be evaluated, as a new array."""
        return np.array(self.query)

    @cython.ccall
    @cython.exceptval(check=False)
    def lower_bound(self) -> cython.double:
        return self.lower[self._weakest_cell()]

    def first_nodes(self):
        """Where a part of this region should look first: where its own cells begin, and where its bound is attained."""
        nodes = {s for s, _ in self._fewest_cells(float("inf"))}
        nodes.add(self.s[self.here])
        return sorted(nodes)

    def proof_of(self, bound: cython.double):
        """The fewest cells that prove `bound` (or the region's own bound if that is less).

        A list of (node at which the cell begins, numbers of the cuts, their weights, the box of the chord).
        """
        k: cython.Py_ssize_t
        cells = []
        for s, k in self._fewest_cells(bound):
            used = [j for j in range(self.columns.shape[1]) if self.weights[k, j] > 0.0]
            cuts, shares = [self.columns[k, j] for j in used], [self.weights[k, j] for j in used]
            cells.append((s, cuts, shares, self.boxes[self.owner[k]]))
        return cells

    @cython.cfunc
    def _fewest_cells(self, bound: cython.double):
        """Pairs (node, minorant) that prove `bound` or the region's own.

        A minorant is concave, so it proves all between two nodes at which it reaches the bound: from each node go as
        far as one minorant reaches.
        """
        i: cython.Py_ssize_t = 0
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        best: cython.Py_ssize_t
        reach: cython.Py_ssize_t
        kept = []
        bound = min(bound, self.lower[self._weakest_cell()])
        while i < self.nodes - 1:
            best, reach = self.proof[i], i + 1
            for k in range(self.minorants):
                j = i
                while j < self.nodes and self._bound(k, self.s[j]) >= bound:
                    j += 1
                if j - 1 > reach:
                    best, reach = k, j - 1
            kept.append((self.s[i], best))
            i = reach
        kept.append((self.s[i], self.proof[i]))
        return kept

    def curves(self):
        """Nodes, bounds of the cells from them, and all minorants (b, a, A): what a picture of the proof shows."""
        m: cython.Py_ssize_t = self.nodes
        k: cython.Py_ssize_t = self.minorants
        minorants = np.stack([np.asarray(self.mb[:k]), np.asarray(self.ma[:k]), np.asarray(self.mA[:k])], axis=1)
        return np.array(self.s[:m]), np.array(self.lower[:m]), minorants

    # -- the envelope --------------------------------------------------------------------------------------------------

    @cython.cfunc
    def _enter(self):
        self.master.enter(self.sign, self.has_chord, self.kappa, self.u)

    @cython.cfunc
    @cython.exceptval(check=False)
    def _bound(self, k: cython.Py_ssize_t, s: cython.double) -> cython.double:
        """``L_k(s)``."""
        return self.mb[k] + self.ma[k] * s + _phi(s, self.mA[k])

    @cython.cfunc
    @cython.exceptval(check=False)
    def _cell_bound(self, k: cython.Py_ssize_t, i: cython.Py_ssize_t) -> cython.double:
        """What minorant k proves on cell i."""
        if i == self.nodes - 1:
            # Strictly, with room for rounding in the check of the certificate.
            return self._bound(k, self.s[i]) if self.ma[k] > (1.0 + 1e-9) * self.mA[k] else -1e300
        return min(self._bound(k, self.s[i]), self._bound(k, self.s[i + 1]))

    @cython.cfunc
    @cython.exceptval(check=False)
    def _weakest_cell(self) -> cython.Py_ssize_t:
        i: cython.Py_ssize_t
        weakest: cython.Py_ssize_t = 0
        for i in range(1, self.nodes):
            if self.lower[i] < self.lower[weakest]:
                weakest = i
        return weakest

    @cython.cfunc
    def _choose_node(self, cell: cython.Py_ssize_t, target: cython.double) -> cython.Py_ssize_t:
        """The node to work at in a cell: an end that limits its bound, or a new one in between; -1 if there is no room.

        The new node is where the minorants that lead at the two ends cross, the likely minimum of the envelope.
        """
        left: cython.double = self.s[cell]
        right: cython.double = self.s[cell + 1]
        low: cython.double = left
        high: cython.double = right
        middle: cython.double = 0.5 * (left + right)
        i: cython.Py_ssize_t = self.top[cell]
        j: cython.Py_ssize_t = self.top[cell + 1]
        end: cython.Py_ssize_t = cell if self.envelope[cell] <= self.envelope[cell + 1] else cell + 1
        if self.envelope[end] - self.lower[cell] <= LEAST_PROGRESS * (target - self.lower[cell]):
            return end
        if right - left <= 1e-13 * right:
            return -1
        if i != j:
            for _ in range(40):
                middle = 0.5 * (low + high)
                if self._bound(i, middle) >= self._bound(j, middle):
                    low = middle
                else:
                    high = middle
        if middle - left < 0.05 * (right - left):
            if not self._resolved(cell, target):
                return cell
            middle = left + 0.1 * (right - left)
        elif right - middle < 0.05 * (right - left):
            if not self._resolved(cell + 1, target):
                return cell + 1
            middle = right - 0.1 * (right - left)
        return self._insert(cell, middle)

    @cython.cfunc
    @cython.exceptval(check=False)
    def _resolved(self, i: cython.Py_ssize_t, target: cython.double) -> cython.bint:
        """Whether another query at node i would hardly raise the envelope there."""
        if self.stale[i] >= STALE or self.envelope[i] >= target:
            return True
        return self.relaxed[i] - self.envelope[i] <= 0.1 * (target - self.envelope[i])

    @cython.cfunc
    def _insert(self, cell: cython.Py_ssize_t, position: cython.double) -> cython.Py_ssize_t:
        """A new node after node `cell`; returns its number."""
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        new: cython.Py_ssize_t = cell + 1
        value: cython.double
        if self.nodes == self.s.shape[0]:
            self._more_nodes()
        for i in range(self.nodes, new, -1):
            self.s[i], self.envelope[i], self.top[i] = self.s[i - 1], self.envelope[i - 1], self.top[i - 1]
            self.relaxed[i], self.stale[i] = self.relaxed[i - 1], self.stale[i - 1]
            self.lower[i], self.proof[i] = self.lower[i - 1], self.proof[i - 1]
        self.nodes += 1
        self.s[new], self.relaxed[new], self.stale[new] = position, float("inf"), 0
        self.envelope[new] = -1e300
        self.lower[new], self.proof[new] = self.lower[cell], self.proof[cell]
        for k in range(self.minorants):
            value = self._bound(k, position)
            if value > self.envelope[new]:
                self.envelope[new], self.top[new] = value, k
            for i in range(cell, new + 1):
                value = self._cell_bound(k, i)
                if value > self.lower[i]:
                    self.lower[i], self.proof[i] = value, k
        return new

    @cython.cfunc
    def _minorant_at(self, s: cython.double, target: cython.double) -> cython.double:
        """Solve the master at s, keep its minorant, raise the envelope everywhere; returns L(s)."""
        value: cython.double = self.master.optimise(s, target)
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t = self._room()
        self.mb[k], self.ma[k], self.mA[k] = self.master.b, self.master.a, self.master.A
        self.owner[k] = 0
        for i in range(self.columns.shape[1]):
            self.columns[k, i] = self.master.active[i] if i < self.master.count else 0
            self.weights[k, i] = self.master.lam[i] if i < self.master.count else 0.0
        self._keep(k)
        return value

    def add_tail(self, c: cython.Py_ssize_t, share: cython.double):
        """Use `share` times cut c, of timelike slope, as a minorant (the rest is risk >= 0): it proves the tail."""
        k: cython.Py_ssize_t = self._room()
        j: cython.Py_ssize_t
        total: cython.double = 0.0
        for j in range(self.master.dim):
            total += self.master.pool.g[c, j + 1] * self.master.pool.g[c, j + 1]
        self.mb[k] = share * self.master.pool.b[c]
        self.ma[k] = share * self.sign * self.master.pool.g[c, 0]
        self.mA[k] = share * sqrt(total)
        self.columns[k, 0], self.weights[k, 0] = c, share
        self._keep(k)

    @cython.cfunc
    def _keep(self, k: cython.Py_ssize_t):
        i: cython.Py_ssize_t
        value: cython.double
        self.minorants = k + 1
        for i in range(self.nodes):
            value = self._bound(k, self.s[i])
            if value > self.envelope[i]:
                self.envelope[i], self.top[i] = value, k
            value = self._cell_bound(k, i)
            if value > self.lower[i]:
                self.lower[i], self.proof[i] = value, k

    def _more_nodes(self):
        self.s, self.envelope, self.relaxed = _doubled(self.s), _doubled(self.envelope), _doubled(self.relaxed)
        self.top, self.stale = _doubled(self.top), _doubled(self.stale)
        self.lower, self.proof = _doubled(self.lower), _doubled(self.proof)

    @cython.cfunc
    def _room(self) -> cython.Py_ssize_t:
        """The number of the next minorant, with room in the tables for it."""
        if self.minorants == self.mb.shape[0]:
            self.mb, self.ma, self.mA = _doubled(self.mb), _doubled(self.ma), _doubled(self.mA)
            self.columns, self.weights, self.owner = (
                _doubled(self.columns),
                _doubled(self.weights),
                _doubled(self.owner),
            )
        return self.minorants


def _doubled(table):
    table = np.asarray(table)
    return np.concatenate([table, np.zeros_like(table)])


@cython.cclass
class Evaluator:
    """The objective, one pass over the data at a time: each pass adds a cut, and may give a new best point.

    Passes are made here where `oracle.arrays` holds the data, else by calling ``oracle(w) -> (risk, b, g)``. The arrays
    are the points z_i as columns, padded with zeros to a multiple of LANES, the costs (n,), their common factor and the
    margin below which samples belong to a cut.
    """

    pool: CutPool
    oracle: object
    in_memory: cython.bint
    Z: cython.double[:, ::1]
    costs: cython.const[cython.double][:]
    factor: cython.double
    threshold: cython.double
    timelike_allowed: cython.bint
    b: cython.double  # offset
    g: cython.double[::1]  # and slope of the last cut
    ray: cython.double[::1]  # the lightlike point that is followed up,
    trial: cython.double[::1]  # and a multiple of it
    upper = cython.declare(cython.double, visibility="public")  # the best objective,
    best = cython.declare(cython.Py_ssize_t, visibility="public")  # the cut of the pass that found it (0: none),
    passes = cython.declare(cython.Py_ssize_t, visibility="public")  # the passes made
    most_passes = cython.declare(cython.Py_ssize_t, visibility="public")  # and those allowed

    def __init__(self, pool: CutPool, oracle, timelike_allowed: cython.bint, most_passes: cython.Py_ssize_t):
        self.pool, self.oracle, self.timelike_allowed = pool, oracle, timelike_allowed
        arrays = oracle.arrays
        self.in_memory = arrays is not None
        if self.in_memory:
            self.Z, self.costs, self.factor, self.threshold = arrays
        self.g, self.ray, self.trial = np.zeros(pool.width), np.zeros(pool.width), np.zeros(pool.width)
        self.upper, self.best, self.passes, self.most_passes = float("inf"), 0, 0, most_passes

    @cython.ccall
    def evaluate(self, w: cython.double[::1]) -> cython.double:
        """One pass over the data at w; returns the relaxed objective ``max(q, 0)/2 + risk`` there."""
        risk: cython.double
        self.passes += 1
        if self.in_memory:
            risk = self._hinge_pass(w)
        else:
            risk, self.b, self.g = self.oracle(np.array(w))  # type: ignore[operator]
        return self.record(w, risk, self.b, self.g)

    @cython.cfunc
    @cython.exceptval(check=False)
    def _hinge_pass(self, w: cython.double[::1]) -> cython.double:
        """Risk ``factor sum_i c_i max(0, 1 - z_i.w)`` at w; the cut there is left in `b` and `g`.

        The cut has ``b = factor sum c_i``, ``g = -factor sum c_i z_i`` over the samples of margin below the threshold.
        Margins are summed in the order of the coordinates, as the checker of certificates does.
        """
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        e: cython.Py_ssize_t  # of a block
        r: cython.Py_ssize_t  # of a lane
        m: cython.Py_ssize_t
        Z: cython.double[:, ::1] = self.Z
        n: cython.Py_ssize_t = self.costs.shape[0]
        width: cython.Py_ssize_t = Z.shape[0]
        uniform: cython.bint = self.costs.strides[0] == 0
        threshold: cython.double = self.threshold
        factor: cython.double
        risk: cython.double = 0.0
        b: cython.double = 0.0
        total: cython.double
        cost_below: cython.double
        cost = cython.declare(cython.double[256])
        margin = cython.declare(cython.double[256])
        chosen = cython.declare(cython.double[256])
        lane = cython.declare(cython.double[8])
        other = cython.declare(cython.double[8])
        for j in range(width):
            self.g[j] = 0.0
        if uniform:
            for e in range(256):
                cost[e] = self.costs[0]
        for i in range(0, n, 256):
            m = min(256, n - i)
            if not uniform:
                for e in range(m):
                    cost[e] = self.costs[i + e]
            r, m = m, (m + 7) // 8 * 8
            for e in range(r, m):  # the padding costs nothing
                cost[e] = 0.0
            factor = w[0]
            for e in range(m):
                margin[e] = factor * Z[0, i + e]
            for j in range(1, width):
                factor = w[j]
                for e in range(m):
                    margin[e] += factor * Z[j, i + e]
            for e in range(m):
                chosen[e] = cost[e] if margin[e] < threshold else 0.0
                cost_below = cost[e] if margin[e] < 1.0 else 0.0
                margin[e] = cost_below * (1.0 - margin[e])
            for r in range(8):
                lane[r] = other[r] = 0.0
            for e in range(0, m, 8):
                for r in range(8):
                    lane[r] += margin[e + r]
                    other[r] += chosen[e + r]
            for r in range(8):
                risk += lane[r]
                b += other[r]
            for j in range(width):
                for r in range(8):
                    lane[r] = 0.0
                for e in range(0, m, 8):
                    for r in range(8):
                        lane[r] += chosen[e + r] * Z[j, i + e + r]
                total = 0.0
                for r in range(8):
                    total += lane[r]
                self.g[j] -= total
        for j in range(width):
            self.g[j] *= self.factor
        self.b = self.factor * b
        return self.factor * risk

    @cython.ccall
    def record(
        self, w: cython.double[::1], risk: cython.double, b: cython.double, g: cython.double[::1]
    ) -> cython.double:
        """Add a cut and update the best point; returns the relaxed objective."""
        cut: cython.Py_ssize_t = self.pool.add(b, g, w, risk)
        q: cython.double = quadratic_form(w)
        value: cython.double = risk + (0.5 * q if q > 0.0 else 0.0)
        if value < self.upper and (q >= 0.0 or self.timelike_allowed):
            self.upper, self.best = value, cut
        return value

    @cython.cfunc
    @cython.exceptval(check=False)
    def _target(self, tol: cython.double) -> cython.double:
        return self.upper - tol * max(fabs(self.upper), 1e-12)

    def rounds(
        self, region: Region, tol: cython.double, rival: cython.double, most: cython.Py_ssize_t, history: list
    ) -> cython.int:
        """Advance a region while it is the weakest and passes are all it asks for; returns what it asked for last.

        `tol` is the relative gap at which it counts as settled, `rival` the least bound of the other regions, `most`
        the number of passes after which to come back. `history` gets (bound, objective) after each pass of the region.
        """
        action: cython.int = QUERY
        last: cython.Py_ssize_t = min(self.passes + most, self.most_passes)
        lower: cython.double = region.lower_bound()
        timelike: cython.bint
        while self.passes < last and lower <= rival:
            action = region.advance(self._target(tol))
            if action != QUERY:
                break
            timelike = region.absorb(self.evaluate(region.query), self._target(tol))
            if timelike or region.lifted:
                self._follow_up(region.query, tol)
            lower = region.lower_bound()
            history.append((lower if lower < rival else rival, self.upper))
            if lower >= self._target(tol):
                return SETTLED
        return action

    @cython.cfunc
    def _follow_up(self, w: cython.double[::1], tol: cython.double):
        """A region asked for a point in or on the light cone: try multiples of the lightlike point over it.

        The scale of a point on the cone is a dimension of its own: the relaxation says little about it, because its
        solution lies inside the cone. The cuts say which scale to try, and when there is no hope left on the ray.
        """
        j: cython.Py_ssize_t
        scale: cython.double
        promised: cython.double
        _lift_into(self.ray, w)
        for _ in range(MOST_SCALES):
            scale, promised = self.pool.best_scale(self.ray)
            if promised >= self._target(tol) or self.passes >= self.most_passes:
                return
            for j in range(self.pool.width):
                self.trial[j] = scale * self.ray[j]
            _push_out(self.trial)
            if self.evaluate(self.trial) > (1.0 + NEARLY_BEST) * self.upper:
                return
