# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""The rounds of a region and the passes over the data that they ask for: the inner loop of the exact method.

Compiled by Cython at installation, with the C types of `evaluator.pxd`; without a compiler the interpreter runs this
file.
"""

import sys

import cython
import numpy as np

from hypermargin.solvers.exact.compiled.region import QUERY, SETTLED

if cython.compiled:
    from cython.cimports.hypermargin.solvers.exact.compiled.cuts import CutPool, lift_into, push_out, quadratic_form
    from cython.cimports.hypermargin.solvers.exact.compiled.passes import Pass
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

    from hypermargin.solvers.exact.compiled.cuts import CutPool, lift_into, push_out, quadratic_form
    from hypermargin.solvers.exact.compiled.passes import Pass

NEARLY_BEST = cython.declare(cython.double, 0.01)  # a lightlike point is followed up if it is this close to the best
MOST_SCALES = cython.declare(cython.Py_ssize_t, 2)  # at most this many multiples of it


@cython.cclass
class SettledPass:
    """A pass for the w of a box in which some samples are settled (`screening`): the others, and one affine term."""

    def __init__(self, screened, box, threshold: cython.double):
        self.centre, self.radii = box.centre, box.radii
        self.left = Pass(screened.points, screened.costs, threshold)
        self.b, self.g, self.share = screened.b, screened.g, screened.share

    def holds(self, w):
        for j in range(w.shape[0]):  # noqa: SIM110 (a loop that compiles to C)
            if fabs(w[j] - self.centre[j]) > self.radii[j]:
                return False
        return True

    def hinge(self, w, g):
        """As `Pass.hinge`, which leaves the slope in g; returns the risk. The offset is ``left.b + b``."""
        self.left.hinge(w, g)
        risk = self.left.risk + self.b
        for j in range(g.shape[0]):
            g[j] += self.g[j]
            risk += self.g[j] * w[j]
        return risk


@cython.cclass
class Evaluator:
    """The objective, one pass over the data at a time: each pass adds a cut, and may give a new best point.

    Passes are made here where `oracle.arrays` holds the data, else by calling ``oracle(w) -> (risk, b, g)``. The arrays
    are the points z_i as columns, padded with zeros to a multiple of LANES, the costs (n,), their common factor and the
    margin below which samples belong to a cut.
    """

    def __init__(self, pool: CutPool, oracle, timelike_allowed: cython.bint):
        room: cython.double[:, ::1] = np.zeros((3, pool.width))
        self.pool, self.timelike_allowed = pool, timelike_allowed
        self.g, self.ray, self.trial = room[0], room[1], room[2]
        self.begin(oracle)

    def begin(self, oracle):
        """Make passes for this oracle from now on; none has been made."""
        self.oracle = oracle
        arrays = oracle.arrays
        self.in_memory = arrays is not None
        if self.in_memory:
            points, costs, self.factor, threshold = arrays
            self.data = Pass(points, costs, threshold)
        self.upper, self.best, self.passes, self.most_passes = float("inf"), 0, 0, sys.maxsize
        self.work, self.settled = 0.0, []

    def use_screened(self, screened, box):
        """From now on read the samples that are open only, for all w in the box; older boxes serve for other w."""
        self.settled.insert(0, SettledPass(screened, box, self.data.threshold))

    def evaluate(self, w):
        """One pass over the data at w; returns the relaxed objective ``max(q, 0)/2 + risk`` there."""
        risk: cython.double
        self.passes += 1
        if self.in_memory:
            risk = self._hinge_pass(w)
        else:
            risk, self.b, self.g = self.oracle(np.array(w))
            self.work += 1.0
        return self.record(w, risk, self.b, self.g)

    def _hinge_pass(self, w):
        """A pass here: returns the risk, and leaves the cut in `b` and `g`, all times the common factor."""
        box: SettledPass
        for box in self.settled:
            if box.holds(w):
                risk = box.hinge(w, self.g)
                self.b = box.left.b + box.b
                self.work += box.share
                break
        else:
            self.data.hinge(w, self.g)
            self.b, risk = self.data.b, self.data.risk
            self.work += 1.0
        for j in range(self.g.shape[0]):
            self.g[j] *= self.factor
        self.b *= self.factor
        return self.factor * risk

    def record(self, w, risk, b, g):
        """Add a cut and update the best point; returns the relaxed objective."""
        cut: cython.Py_ssize_t = self.pool.add(b, g, w, risk)
        q: cython.double = quadratic_form(w)
        value: cython.double = risk + (0.5 * q if q > 0.0 else 0.0)
        if value < self.upper and (q >= 0.0 or self.timelike_allowed):
            self.upper, self.best = value, cut
        return value

    def _target(self, tol):
        return self.upper - tol * max(fabs(self.upper), 1e-12)

    def rounds(self, region, tol, rival, most, history):
        """Advance a region while it is the weakest one and asks for passes only; returns what it asked for last.

        `tol` is the relative gap at which it counts as settled, `rival` the least bound of the other regions, `most`
        the number of passes after which to come back. `history` gets bound and objective after each pass of the region.
        """
        action: cython.int = QUERY
        last: cython.Py_ssize_t = min(self.passes + most, self.most_passes)
        lower: cython.double = region.lower_bound()
        while self.passes < last and lower <= rival:
            action = region.advance(self._target(tol))
            if action != QUERY:
                break
            timelike = region.absorb(self.evaluate(region.query), self._target(tol))
            if timelike or region.lifted:
                self.follow_up(region.query, tol)
            lower = region.lower_bound()
            history.append(lower if lower < rival else rival)
            history.append(self.upper)
            if lower >= self._target(tol):
                return SETTLED
        return action

    def follow_up(self, w, tol):
        """A region asked for a point in or on the light cone: try multiples of the lightlike point over it.

        The scale of a point on the cone is a dimension of its own: the relaxation says little about it, because its
        solution lies inside the cone. The cuts say which scale to try, and when there is no hope left on the ray.
        """
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
