# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Passes over the data, and the rounds of a region that they serve: the inner loop of the exact method.

Compiled by Cython at installation; without a compiler the interpreter runs this file.
"""

import cython
import numpy as np

from hypermargin.solvers.exact.region import QUERY, SETTLED

if cython.compiled:
    from cython.cimports.hypermargin.solvers.exact.cuts import CutPool, lift_into, push_out, quadratic_form
    from cython.cimports.hypermargin.solvers.exact.region import Region
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

    from hypermargin.solvers.exact.cuts import CutPool, lift_into, push_out, quadratic_form
    from hypermargin.solvers.exact.region import Region

NEARLY_BEST = cython.declare(cython.double, 0.01)  # a lightlike point that close to the best is followed up
MOST_SCALES = cython.declare(cython.Py_ssize_t, 2)  # at no more multiples of it than this

LANES = 8  # samples that a processor may treat at once: passes keep their sums in so many parts


def is_compiled() -> bool:
    """Whether this file runs as machine code (True) or is interpreted (False)."""
    return cython.compiled


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
        lift_into(self.ray, w)
        for _ in range(MOST_SCALES):
            scale, promised = self.pool.best_scale(self.ray)
            if promised >= self._target(tol) or self.passes >= self.most_passes:
                return
            for j in range(self.pool.width):
                self.trial[j] = scale * self.ray[j]
            push_out(self.trial)
            if self.evaluate(self.trial) > (1.0 + NEARLY_BEST) * self.upper:
                return
