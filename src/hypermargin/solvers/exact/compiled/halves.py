# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The search of a small problem from its first pass to its proof, as long as no directions have to be split.

`search.Search` is the general one: it splits, screens samples and asks other machines. Most small problems need none of
that, and its objects cost more than their solution. Compiled by Cython at installation; without a compiler the
interpreter runs this file.
"""

import cython
import numpy as np

from hypermargin.solvers.exact.compiled.region import QUERY, SETTLED

if cython.compiled:
    from cython.cimports.hypermargin.solvers.exact.compiled.cuts import CutPool
    from cython.cimports.hypermargin.solvers.exact.compiled.evaluator import Evaluator
    from cython.cimports.hypermargin.solvers.exact.compiled.master import Master
    from cython.cimports.hypermargin.solvers.exact.compiled.region import Region
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

    from hypermargin.solvers.exact.compiled.cuts import CutPool
    from hypermargin.solvers.exact.compiled.evaluator import Evaluator
    from hypermargin.solvers.exact.compiled.master import Master
    from hypermargin.solvers.exact.compiled.region import Region


@cython.cclass
class Halves:
    """The two regions ``t >= 0`` and ``t <= 0`` of a search, and the passes made for them.

    The tables serve one problem after the other: `solve` begins anew. `history` has bound and objective, in turn, after
    each pass that a region asked for.
    """

    pool: CutPool
    evaluator = cython.declare(Evaluator, visibility="readonly")
    master: Master
    above: Region
    below: Region
    point: cython.double[::1]
    history = cython.declare(list, visibility="readonly")

    def __init__(self, oracle, width: cython.Py_ssize_t, timelike_allowed: cython.bint):
        self.pool = CutPool(width)
        self.evaluator = Evaluator(self.pool, oracle, timelike_allowed)
        self.master = Master(self.pool)
        self.above = Region(self.master, 1.0, None, None, [0.0, 1.0], timelike_allowed)
        self.below = Region(self.master, -1.0, None, None, [0.0, 1.0], timelike_allowed)
        self.point = np.zeros(width)
        self.history = []

    def solve(self, oracle, aim: cython.double, most_passes: cython.Py_ssize_t) -> cython.bint:
        """Search until the relative gap is `aim`; False where it takes more passes, or more than two regions.

        The problem is that of an oracle with `arrays`, of this width.
        """
        tol: cython.double = 0.5 * aim  # the gap at which a region counts as settled
        upper: cython.double
        bound: cython.double
        rival: cython.double
        action: cython.int
        evaluator: Evaluator = self.evaluator
        self.pool.clear()
        self.master.clear()
        self.history = []
        evaluator.begin(oracle)
        evaluator.most_passes = most_passes
        if most_passes < 4 or not self._start():
            return False
        while True:
            upper, bound, rival = evaluator.upper, self.above.lower_bound(), self.below.lower_bound()
            if upper - max(0.0, min(bound, rival)) <= aim * max(fabs(upper), 1e-12):
                return True
            if evaluator.passes >= most_passes:
                return False
            if bound <= rival:
                action = evaluator.rounds(self.above, tol, rival, most_passes, self.history)
            else:
                action = evaluator.rounds(self.below, tol, bound, most_passes, self.history)
            if action != QUERY and action != SETTLED:
                return False

    @cython.cfunc
    def _start(self) -> cython.bint:
        """The first passes, at w = 0 and where all of one class and none of the other is below its margin.

        These two bound t; False where one of them does not, which is so where there is one class only.
        """
        k: cython.Py_ssize_t
        for k in range(3):
            self.point[0] = (0.0, 1.0, -1.0)[k]
            self.evaluator.evaluate(self.point)
        tails = self.pool.tail(2, self.evaluator.upper), self.pool.tail(3, self.evaluator.upper)
        if None in tails:
            return False
        self._begin(self.above, 2, tails[0][0], tails[0][1])
        self._begin(self.below, 3, tails[1][0], tails[1][1])
        return True

    @cython.cfunc
    def _begin(self, region: Region, cut: cython.Py_ssize_t, reach: cython.double, share: cython.double):
        """A half of all w; `share` of the cut proves it beyond `reach`."""
        region.restart(reach)
        region.add_tail(cut, share)
        region.begin()

    def lower_bound(self) -> cython.double:
        """The bound so far; neither the margin term nor the risk is ever negative."""
        return max(0.0, min(self.above.lower_bound(), self.below.lower_bound()))

    def best(self):
        """The point of the best objective, as a new array."""
        return np.array(self.pool.points[self.evaluator.best])

    def proof_of(self, bound: cython.double):
        """What proves `bound`, in flat arrays: the parts of a `HalvesProof` from `points` on."""
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t = 0
        numbers: dict = {}
        cuts: list = []
        weights: list = []
        above: list = self.above.fewest_intervals(bound)
        intervals: list = above + self.below.fewest_intervals(bound)
        numbers_of = np.empty(len(intervals)), np.zeros(len(intervals) + 1, dtype=np.intp)
        nodes: cython.double[::1] = numbers_of[0]
        starts: cython.Py_ssize_t[::1] = numbers_of[1]
        for i in range(len(intervals)):
            nodes[i], k = intervals[i]
            (self.above if i < len(above) else self.below).combination(k, numbers, cuts, weights)
            starts[i + 1] = len(cuts)
        points = self.pool.points_of(list(numbers))
        return points, len(above), *numbers_of, np.array(cuts, dtype=np.intp), np.array(weights)
