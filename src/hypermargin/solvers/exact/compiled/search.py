# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Best-first search over regions: the loop of the exact method.

A region fixes the sign of t and a box of directions of wr; at first there are two, with all directions. The region with
the least lower bound is advanced: it asks for the risk at a point, or is settled, or has to be split. Cuts are shared
by all. Most problems are proved on the first two regions, within a tenth of a millisecond, so that the search of one
problem may leave its tables to that of the next (`begin`).

Compiled by Cython at installation; without a compiler the interpreter runs this file.
"""

import sys
from dataclasses import replace
from heapq import heappop, heappush

import cython
import numpy as np

from hypermargin.certificates import DirectionBox
from hypermargin.solvers.exact.compiled.cuts import lift
from hypermargin.solvers.exact.compiled.region import EXHAUSTED, STALLED

if cython.compiled:
    from cython.cimports.hypermargin.solvers.exact.compiled.cuts import CutPool, quadratic_form
    from cython.cimports.hypermargin.solvers.exact.compiled.evaluator import Evaluator
    from cython.cimports.hypermargin.solvers.exact.compiled.master import Master
    from cython.cimports.hypermargin.solvers.exact.compiled.region import Region
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt

    from hypermargin.solvers.exact.compiled.cuts import CutPool, quadratic_form
    from hypermargin.solvers.exact.compiled.evaluator import Evaluator
    from hypermargin.solvers.exact.compiled.master import Master
    from hypermargin.solvers.exact.compiled.region import Region

#: Numbers of the cuts that bound t, for t > 0 and t < 0: those at (1, 0, ..., 0) and (-1, 0, ..., 0).
TAIL_CUTS = (2, 3)
#: How far a hyperplane is moved to have samples of one class on the wrong side, in distances at which margins are 1.
MOVES = 2.0
#: Numbers read and passes made in one step at most, so that time limits are noticed.
WORK_PER_STEP, PASSES_PER_STEP = 4_000_000, 20
#: The search aims at this share of the tolerance, but not below the second number, where rounding sets in: the last
#: digits cost little, and bounds far better than asked for leave the check of the certificate room.
AIM_SHARE, LEAST_AIM = 0.01, 1e-10


@cython.cclass
class Leaf:
    """A region of the search and the box of directions it covers (None: all)."""

    def __init__(self, region: Region, box):
        self.region, self.box, self.exhausted = region, box, False


@cython.cclass
class Search:
    """State of the search: cuts, passes, and regions in the order of their bounds.

    Parameters
    ----------
    oracle : HingeOracle
    dim : int
    timelike_allowed : bool
    source : callable, optional
        ``source(search, oracle)`` makes the object that cuts come from (`PassCuts`, `InteriorPointCuts`). Without one
        they come from a pass at each point that a region asks for.

    Attributes
    ----------
    history : list
        Bound and objective, in turn, after each pass that a region asked for.
    shares : dict
        Of those cuts that are not the plain cut of their point, by number.
    hint : (d + 1,) array, optional
        A normal that separates, to begin with.
    tol, deadline : float
        The relative gap asked for, and the time (`time.perf_counter`) to stop at.
    """

    def __init__(self, oracle, dim: cython.Py_ssize_t, timelike_allowed: cython.bint, source=None):
        self.dim, self.timelike_allowed, self.make_source = dim, timelike_allowed, source
        self.pool = CutPool(dim + 1)
        self.evaluator = Evaluator(self.pool, oracle, timelike_allowed)
        self.master = Master(self.pool)
        self.above = Region(self.master, 1.0, None, None, [0.0, 1.0], timelike_allowed)
        self.below = Region(self.master, -1.0, None, None, [0.0, 1.0], timelike_allowed)
        self.point = np.zeros(dim + 1)
        self.begin(oracle)

    def begin(self, oracle):
        """Forget everything and be the search of another problem of this dimension; the tables stay."""
        self.oracle = oracle
        self.pool.clear()
        self.master.clear()
        self.evaluator.begin(oracle)
        self.heap, self.history, self.shares, self.tail_cuts = [], [], {}, list(TAIL_CUTS)
        self.n_splits, self.pushed, self.started, self.hint = 0, 0, False, None
        self.aim_share, self.least_aim = AIM_SHARE, LEAST_AIM
        self.passes_per_step = max(1, min(PASSES_PER_STEP, WORK_PER_STEP // oracle.work))
        self.limit(1e-6, sys.maxsize, float("inf"))
        self.source = None if self.make_source is None else self.make_source(self, oracle)

    def rescaled(self, factor: cython.double, n_passes: cython.Py_ssize_t = 0):
        """A fresh search for the risk times `factor`, with all cuts of this one; it counts `n_passes` as made."""
        other = Search(self.oracle.scaled(factor), self.dim, self.timelike_allowed, self.make_source)
        other.evaluator.passes, other.shares, other.tail_cuts = n_passes, dict(self.shares), list(self.tail_cuts)
        for c in range(1, self.pool.size):
            b, g, w, risk = self.pool.cut(c)
            other.evaluator.record(w, factor * risk, factor * b, factor * g)
        return other

    def limit(self, tol: cython.double, most_passes: cython.Py_ssize_t, deadline: cython.double):
        """Set the relative gap that is asked for, the most passes, and the time to stop at."""
        self.tol, self.deadline = tol, deadline
        self.evaluator.most_passes = most_passes

    # -- what is known -------------------------------------------------------------------------------------------------

    @property
    def aim(self):
        """The relative gap to stop at."""
        return max(self.aim_share * self.tol, self.least_aim)

    @property
    def upper(self):
        """The best objective so far."""
        return self.evaluator.upper

    @property
    def best(self):
        """The point that has it; w = 0 is feasible, and is among the first points."""
        return np.array(self.pool.points[self.evaluator.best])

    @property
    def lower(self):
        """The bound so far; neither the margin term nor the risk is ever negative."""
        return max(0.0, self.heap[0][0]) if self.heap else 0.0

    @property
    def n_passes(self):
        return self.evaluator.passes

    @property
    def full_passes(self):
        """How often all samples have been read, where reading a part of them counts as such.

        A pass is one read, or less where samples have been sorted out; a product of the interior-point method is one
        too, or less where it has a working set.
        """
        return round(self.evaluator.work, 2)

    @property
    def n_regions(self):
        return len(self.heap)

    @property
    def exhausted(self):
        """Whether the bound cannot be raised any further in double precision."""
        return not self.heap or self.heap[0][2].exhausted

    @property
    def leaves(self):
        """Those of all regions."""
        return [leaf for _, _, leaf in self.heap]

    # -- init ----------------------------------------------------------------------------------------------------------

    def start(self, first=None):
        """The first regions, once. A search without cuts begins with three passes, and one or two more for `first`.

        They give the risk at w = 0 and the two cuts that bound t (all of one class, none of the other). Where there are
        samples of one class only, or not enough passes are allowed, there are no regions, and the bound is 0.
        """
        tails: list
        if self.started:
            return
        self.started = True
        for k in range(self.pool.size - 1, 3):
            if self.evaluator.passes >= self.evaluator.most_passes:
                return
            self._to_apex((0.0, 1.0, -1.0)[k])
            self.evaluator.evaluate(self.point)
        if first is not None:
            self.evaluator.evaluate(first)
            if not self.timelike_allowed and quadratic_form(first) < 0.0:
                self.evaluator.evaluate(lift(first))
        if self.hint is not None:
            self._ask_around(self.hint)
        if self.source is not None:
            self.source.prepare()
        tails = [self._nearest_tail(1.0), self._nearest_tail(-1.0)]
        for k in range(2):
            sign = 1.0 - 2.0 * k
            if tails[k] is None and not self.evaluator.in_memory and self.evaluator.passes < self.evaluator.most_passes:
                self._to_apex(2.0 * sign)  # sets may reach where their points do not, and here the cut is theirs
                self.evaluator.evaluate(self.point)
                self.tail_cuts.append(self.pool.size - 1)
                tails[k] = self._nearest_tail(sign)
        if tails[0] is not None and tails[1] is not None:
            self._add_half(self.above, tails[0])
            self._add_half(self.below, tails[1])

    def _to_apex(self, time):
        """The point ``(time, 0, ..., 0)``, with signs of zeros as in a product, by which journals know it."""
        for j in range(1, self.point.shape[0]):
            self.point[j] = -0.0 if time < 0.0 else 0.0
        self.point[0] = time

    def _nearest_tail(self, sign):
        """The cut that proves all t of this sign beyond the nearest point, that point, and the share of the cut."""
        c: cython.Py_ssize_t
        nearest = None
        for c in self.tail_cuts:
            if self.pool.g[c, 0] * sign > 0.0:
                tail = self.pool.tail(c, self.evaluator.upper)
                if tail is not None and (nearest is None or tail[0] < nearest[1]):
                    nearest = c, tail[0], tail[1]
        return nearest

    def _add_half(self, region, tail):
        """A half of all w; a share of the cut proves it beyond the point of the tail."""
        region.restart(tail[1])
        region.add_tail(tail[0], tail[2])
        region.begin()
        self._push(Leaf(region, None))

    def _ask_around(self, w):
        """Passes at a normal and, if it is spacelike, at the same moved ahead and back along its axis.

        If w separates, the samples of these cuts are of one class and near the hyperplane, and their slopes bound t. So
        do those of all samples of a class, but far out they are so long, and so nearly lightlike, that the bound is.
        """
        self.evaluator.evaluate(w)
        form, length = quadratic_form(w), float(np.linalg.norm(w[1:]))
        if not form > 0.0:
            return
        size = np.sqrt(form)
        for shift in (MOVES * np.arcsinh(1.0 / size), -MOVES * np.arcsinh(1.0 / size)):
            place = np.arcsinh(w[0] / size) + shift
            self.evaluator.evaluate(np.append(size * np.sinh(place), size * np.cosh(place) / length * w[1:]))
            self.tail_cuts.append(self.pool.size - 1)

    # -- step ----------------------------------------------------------------------------------------------------------

    def step(self, aim: cython.double):
        """Advance the weakest region, and the next, until the relative gap is `aim` or some passes have been made.

        A region counts as settled at half of it.
        """
        evaluator: Evaluator = self.evaluator
        last: cython.Py_ssize_t = min(evaluator.most_passes, evaluator.passes + self.passes_per_step)
        while True:
            self._advance(0.5 * aim)
            if evaluator.passes >= last or self.n_splits or self.exhausted:
                return
            if evaluator.upper - self.lower <= aim * max(fabs(evaluator.upper), 1e-12):
                return

    def _advance(self, tol):
        """Advance the weakest region. `tol` is the relative gap at which a region counts as settled."""
        action: cython.int
        leaf: Leaf = heappop(self.heap)[2]
        rival: cython.double = self.heap[0][0] if self.heap else float("inf")
        action = self.passes(leaf, tol, rival) if self.source is None else self.source.rounds(leaf, tol, rival)
        if action == STALLED and self._split(leaf):
            return
        leaf.exhausted = action in (STALLED, EXHAUSTED)
        self._push(leaf)

    def passes(self, leaf, tol, rival):
        """Advance a leaf by passes while it is the weakest, for some of them; what its region asked for last."""
        return self.evaluator.rounds(leaf.region, tol, rival, self.passes_per_step, self.history)

    def _push(self, leaf):
        heappush(self.heap, (leaf.region.lower_bound(), self.pushed, leaf))
        self.pushed += 1

    def _split(self, leaf):
        """Replace a leaf by its children; False if it cannot be split further."""
        children: list = faces(self.dim) if leaf.box is None else bisected(leaf.box)
        nodes: list = leaf.region.first_nodes()
        for box in children:
            region: Region = Region(self.master, leaf.region.sign, box, chord(box), nodes, self.timelike_allowed)
            region.inherit(leaf.region)
            self._push(Leaf(region, box))
        self.n_splits += 1 if children else 0
        return len(children) > 0

    # -- the proof -----------------------------------------------------------------------------------------------------

    def flat_proof(self, bound: cython.double):
        """What proves `bound` on the two halves, in flat arrays: the parts of a `TwoRegionProof` from `points` on."""
        k: cython.Py_ssize_t = 0
        numbers: dict = {}
        cuts: list = []
        weights: list = []
        halves = (self.above, self.below) if self.oracle.side > 0.0 else (self.below, self.above)
        above: list = halves[0].fewest_intervals(bound)
        intervals: list = above + halves[1].fewest_intervals(bound)
        numbers_of = np.empty(len(intervals)), np.zeros(len(intervals) + 1, dtype=np.intp)
        nodes: cython.double[::1] = numbers_of[0]
        starts: cython.Py_ssize_t[::1] = numbers_of[1]
        for i in range(len(intervals)):
            nodes[i], k = intervals[i]
            halves[0 if i < len(above) else 1].combination(k, numbers, cuts, weights)
            starts[i + 1] = len(cuts)
        points = self.pool.points_of(list(numbers))
        if self.oracle.side < 0.0:
            points = -points
        return points, len(above), *numbers_of, np.array(cuts, dtype=np.intp), np.array(weights)


# -- boxes that cover the sphere of directions -------------------------------------------------------------------------
#
# Every direction v in R^d meets the surface of the cube [-1, 1]^d; a `DirectionBox` is an axis-parallel piece of one of
# its 2d faces. Bisecting boxes keeps the cover exact, in dyadic numbers: a checker can verify it without rounding.


def faces(dim: cython.Py_ssize_t):
    """The 2d faces of the cube: the coarsest cover."""
    boxes = []
    for axis in range(dim):
        for side in (-1, 1):
            low, high = np.full(dim, -1.0), np.full(dim, 1.0)
            low[axis] = high[axis] = side
            boxes.append(DirectionBox(axis, side, low, high))
    return boxes


def bisected(box):
    """The two halves across the longest edge (nothing for d = 1, where a face is a single direction)."""
    edges = box.high - box.low
    j = int(np.argmax(edges))
    if edges[j] == 0.0:
        return []
    below, above = box.high.copy(), box.low.copy()
    below[j] = above[j] = 0.5 * (box.low[j] + box.high[j])
    return [replace(box, high=below), replace(box, low=above)]


def chord(box):
    """Unit vector u and kappa with ``u.v >= kappa |v|`` for every direction v of the box; None if it is too wide.

    Points of the box lie within rho (half its diagonal) of its centre c, so their angle to c is at most
    ``asin(rho / |c|)`` and ``kappa = sqrt(1 - rho^2 / |c|^2)``.
    """
    square: cython.double = 0.0
    diagonal: cython.double = 0.0
    middle: cython.double
    low: cython.double
    high: cython.double
    centre: list = []
    for low, high in zip(box.low.tolist(), box.high.tolist(), strict=True):
        middle = 0.5 * (low + high)
        centre.append(middle)
        square += middle * middle
        diagonal += (high - low) * (high - low)
    ratio: cython.double = 0.25 * diagonal / square
    if ratio >= 1.0:
        return None
    length = sqrt(square)
    return np.array([c / length for c in centre]), sqrt(1.0 - ratio)
