# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""The search along t in one region: nodes, minorants, and the lower envelope they make.

Compiled by Cython at installation, with the C types of `region.pxd`; without a compiler the interpreter runs this file.
"""

import cython
import numpy as np

from hypermargin.solvers.exact.compiled.cuts import doubled

if cython.compiled:
    from cython.cimports.hypermargin.solvers.exact.compiled.master import Master
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt

    from hypermargin.solvers.exact.compiled.master import Master

# What `Region.advance` asks of the caller, for callers that are not compiled.
QUERY = 0  # evaluate the risk at `Region.query` and give the cut to `Region.absorb`
SETTLED = 1  # the lower bound of the region has reached the target
STALLED = 2  # the relaxation of this region is too weak: split it
EXHAUSTED = 3  # double precision, or the room for minorants, is used up

INFINITY = cython.declare(cython.double, float("inf"))
MOST_MINORANTS = cython.declare(cython.Py_ssize_t, 4000)  # in one region
STALE = cython.declare(cython.Py_ssize_t, 30)
LEAST_PROGRESS = cython.declare(cython.double, 1e-3)  # a rise by less of what is missing is none
LEAST_FALL = cython.declare(cython.double, 0.9)  # of the distance of the best point to the bound: nearer is progress


@cython.cclass
class Region:
    """The search along s in one region: nodes, the minorants found there, and lower bounds between nodes.

    Between neighbouring nodes a minorant is concave, so its smaller end value bounds the objective on the interval; the
    bound of an interval is the best over all minorants. The last interval is the tail beyond the last node; only
    minorants that do not fall there (``a >= A``) count for it.
    """

    def __init__(self, master: Master, sign, box, chord, nodes, timelike_allowed):
        self.master, self.sign, self.timelike_allowed = master, sign, timelike_allowed
        self.has_chord = chord is not None
        if chord is None:
            chord = np.zeros(master.dim), 0.0
        self.u, self.kappa = chord
        self.boxes = [box]
        self.nodes = len(nodes)
        self._make_tables(max(64, self.nodes), master.pool.width + 3)
        self.query = np.zeros(master.pool.width)
        self.here, self.timelike, self.lifted = 0, False, False
        for i, position in enumerate(nodes):
            self.s[i] = position

    def _make_tables(self, room, width):
        """Few arrays, cut into rows: regions are many in degenerate problems, and allocation would cost the most."""
        numbers: cython.double[:, ::1] = np.zeros((8, room))
        counts: cython.Py_ssize_t[:, ::1] = np.zeros((5, room), dtype=np.intp)
        self.s, self.envelope, self.relaxed, self.lower = numbers[0], numbers[1], numbers[2], numbers[3]
        self.mb, self.ma, self.mA, self.rise = numbers[4], numbers[5], numbers[6], numbers[7]
        self.is_tail = counts[4]
        self.top, self.prover, self.stale, self.owner = counts[0], counts[1], counts[2], counts[3]
        self.columns = np.zeros((room, width), dtype=np.intp)
        self.weights = np.zeros((room, width))
        self.minorants = 0
        self._clear(room)

    def _clear(self, room):
        """Nothing is known at the first `room` nodes, and there are no minorants."""
        for i in range(room):
            self.envelope[i] = self.lower[i] = -INFINITY
            self.relaxed[i] = INFINITY
            self.top[i] = self.prover[i] = self.stale[i] = 0
        for i in range(self.minorants):
            self.is_tail[i] = self.owner[i] = 0
            for j in range(self.columns.shape[1]):
                self.columns[i, j], self.weights[i, j] = 0, 0.0
        self.minorants = 0

    def restart(self, reach):
        """Be a new region without a box, whose first nodes are 0 and `reach`; the tables stay."""
        self._clear(self.s.shape[0])
        self.nodes, self.s[0], self.s[1] = 2, 0.0, reach
        self.here, self.timelike, self.lifted = 0, False, False

    def begin(self):
        """Solve the master at the first nodes."""
        self._enter()
        for i in range(self.nodes):
            self._minorant_at(self.s[i], -1e300)

    def inherit(self, parent: "Region"):
        """Take over the minorants that prove the parent's intervals: they hold in a part of its directions too."""
        m: cython.Py_ssize_t
        offset: cython.Py_ssize_t = len(self.boxes)
        self.boxes.extend(parent.boxes)
        used = {parent.prover[i] for i in range(parent.nodes)} | {parent.top[i] for i in range(parent.nodes)}
        for m in sorted(used):
            k = self._room()
            self.mb[k], self.ma[k], self.mA[k] = parent.mb[m], parent.ma[m], parent.mA[m]
            self.rise[k], self.is_tail[k] = parent.rise[m], parent.is_tail[m]
            self.owner[k] = offset + parent.owner[m]
            for j in range(self.columns.shape[1]):
                self.columns[k, j], self.weights[k, j] = parent.columns[m, j], parent.weights[m, j]
            self._keep(k)

    # -- what the caller uses ------------------------------------------------------------------------------------------

    def advance(self, target):
        """Work on the interval of least bound until a query is needed, or the region is settled or stalled."""
        self._enter()
        while True:
            interval = self._weakest_interval()
            if self.lower[interval] >= target:
                return SETTLED
            if interval == self.nodes - 1 or self.minorants > MOST_MINORANTS:
                return EXHAUSTED
            self.here = self._choose_node(interval, target)
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
            if self.relaxed[self.here] == INFINITY and not self.timelike:
                self.stale[self.here] = 0  # feasible neighbours gave nothing; of the point itself nothing is known
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

    def absorb(self, relaxed, target):
        """Take in that the relaxed objective at the query is `relaxed` and its cut is in the pool.

        Returns True if the point asked for is timelike and the caller should evaluate a feasible neighbour as well.
        """
        before: cython.double = self.envelope[self.here]
        least: cython.double = self.relaxed[self.here]
        if not self.lifted:
            self.relaxed[self.here] = min(least, relaxed)
        self._enter()
        value = self._minorant_at(self.s[self.here], target)
        if value - before > LEAST_PROGRESS * (target - before):
            self.stale[self.here] = 0
        elif not self.lifted and relaxed - before < LEAST_FALL * (least - before):
            self.stale[self.here] = 0  # far above the bound the points improve first, if C is large
        elif self.lifted or relaxed - before <= LEAST_PROGRESS * (target - before):
            self.stale[self.here] = STALE  # the cut was known, or as good as
        elif self.stale[self.here] < STALE:  # a minimum that is not unique: other points of it may have more to give
            self.stale[self.here] += 1
        return self.timelike and not self.lifted

    def lower_bound(self):
        return self.lower[self._weakest_interval()]

    def first_nodes(self):
        """Where a part of this region should look first: where its intervals begin, and where its bound is attained."""
        nodes = {s for s, _ in self.fewest_intervals(INFINITY)}
        nodes.add(self.s[self.here])
        return sorted(nodes)

    def proof_of(self, bound: cython.double, numbers: dict, share: cython.double):
        """The fewest intervals that prove `bound` (or the region's own bound if that is less).

        A list of (node at which the interval begins, cuts, `share` of their weights, the weight of the chord, its box).
        Cuts get new numbers, in `numbers`, in order of use; cut 0 of the pool is the constant 0 and is left out.
        """
        k: cython.Py_ssize_t
        intervals = []
        for s, k in self.fewest_intervals(bound):
            cuts: list = []
            weights: list = []
            chord = self.combination(k, numbers, cuts, weights)
            shares = tuple([share * weight for weight in weights])
            intervals.append((s, tuple(cuts), shares, chord, self.boxes[self.owner[k]] if chord else None))
        return intervals

    def combination(self, k, numbers, cuts, weights):
        """Append to the lists what minorant k combines, by new numbers; returns the weight of the chord."""
        chord: cython.double = 0.0
        for j in range(self.columns.shape[1]):
            c = self.columns[k, j]
            if self.weights[k, j] <= 0.0 or c == 0:
                continue
            if c == -1:
                chord = self.weights[k, j]
            else:
                cuts.append(numbers.setdefault(c, len(numbers)))
                weights.append(self.weights[k, j])
        return chord

    def fewest_intervals(self, bound):
        """Pairs (node, minorant) that prove `bound` or the region's own.

        A minorant is concave, so it proves all between two nodes at which it reaches the bound: from each node go as
        far as one minorant reaches.
        """
        i: cython.Py_ssize_t = 0
        kept = []
        bound = min(bound, self.lower[self._weakest_interval()])
        while i < self.nodes - 1:
            best, reach = self.prover[i], i + 1
            for k in range(self.minorants):
                j = i
                while j < self.nodes and self._bound(k, self.s[j]) >= bound:
                    j += 1
                if j - 1 > reach:
                    best, reach = k, j - 1
            kept.append((self.s[i], best))
            i = reach
        kept.append((self.s[i], self.prover[i]))
        return kept

    # -- the envelope --------------------------------------------------------------------------------------------------

    def _enter(self):
        self.master.enter(self.sign, self.has_chord, self.kappa, self.u)

    def _bound(self, k, s):
        """``L_k(s)``."""
        A: cython.double = self.mA[k]
        if s > A:
            return self.mb[k] + self.rise[k] * s
        return self.mb[k] + self.ma[k] * s - 0.5 * (A * A + s * s)  # `phi`

    def _prove(self, k, i, left, right):
        """Take in what minorant k proves on interval i, the smaller of its values at the two ends.

        In the last interval there is no right end: a minorant must not fall, strictly, with room for rounding in the
        check of the certificate.
        """
        if i == self.nodes - 1:
            right = left if self.is_tail[k] or self.rise[k] > 1e-9 * self.mA[k] else -1e300
        left = min(left, right)
        if left > self.lower[i]:
            self.lower[i], self.prover[i] = left, k

    def _weakest_interval(self):
        weakest: cython.Py_ssize_t = 0
        for i in range(1, self.nodes):
            if self.lower[i] < self.lower[weakest]:
                weakest = i
        return weakest

    def _choose_node(self, interval, target):
        """The node to work at in an interval: an end that limits its bound, or a new one in between; -1 if none fits.

        The new node is where the minorants that lead at the two ends cross, the likely minimum of the envelope.
        """
        left: cython.double = self.s[interval]
        right: cython.double = self.s[interval + 1]
        middle: cython.double = 0.5 * (left + right)
        i: cython.Py_ssize_t = self.top[interval]
        j: cython.Py_ssize_t = self.top[interval + 1]
        end: cython.Py_ssize_t = interval if self.envelope[interval] <= self.envelope[interval + 1] else interval + 1
        if self.envelope[end] - self.lower[interval] <= LEAST_PROGRESS * (target - self.lower[interval]):
            return end
        if right - left <= 1e-13 * right:
            return -1
        if i != j:
            middle = self._crossing(i, j, left, right)
        if middle - left < 0.05 * (right - left):
            if not self._resolved(interval, interval, target):
                return interval
            middle = left + 0.1 * (right - left)
        elif right - middle < 0.05 * (right - left):
            if not self._resolved(interval + 1, interval, target):
                return interval + 1
            middle = right - 0.1 * (right - left)
        return self._insert(interval, middle)

    def _crossing(self, i, j, low, high):
        """Where minorants i, which leads at `low`, and j, which leads at `high`, are equal, by bisection."""
        middle: cython.double = low
        for _ in range(40):
            middle = 0.5 * (low + high)
            if self._bound(i, middle) >= self._bound(j, middle):
                low = middle
            else:
                high = middle
        return middle

    def _resolved(self, i, interval, target):
        """Whether another query at node i would hardly raise the envelope there, as seen from what is lacking."""
        if self.stale[i] >= STALE or self.envelope[i] >= target:
            return True
        return self.relaxed[i] - self.envelope[i] <= 0.1 * (target - self.lower[interval])

    def _insert(self, interval, position):
        """A new node after node `interval`; returns its number."""
        new: cython.Py_ssize_t = interval + 1
        if self.nodes == self.s.shape[0]:
            self._more_nodes()
        for i in range(self.nodes, new, -1):
            self.s[i], self.envelope[i], self.top[i] = self.s[i - 1], self.envelope[i - 1], self.top[i - 1]
            self.relaxed[i], self.stale[i] = self.relaxed[i - 1], self.stale[i - 1]
            self.lower[i], self.prover[i] = self.lower[i - 1], self.prover[i - 1]
        self.nodes += 1
        self.s[new], self.relaxed[new], self.stale[new] = position, INFINITY, 0
        self.envelope[new] = -1e300
        self.lower[new], self.prover[new] = self.lower[interval], self.prover[interval]
        for k in range(self.minorants):
            value = self._bound(k, position)
            if value > self.envelope[new]:
                self.envelope[new], self.top[new] = value, k
            self._prove(k, interval, self._bound(k, self.s[interval]), value)
            self._prove(k, new, value, self._bound(k, self.s[new + 1]))
        return new

    def _minorant_at(self, s, target):
        """Solve the master at s, keep its minorant, raise the envelope everywhere; returns L(s)."""
        value: cython.double = self.master.optimise(s, target)
        k: cython.Py_ssize_t = self._room()
        self.mb[k], self.ma[k], self.mA[k] = self.master.b, self.master.a, self.master.A
        self.rise[k], self.is_tail[k] = self.master.a - self.master.A, 0
        self.owner[k] = 0
        for i in range(self.columns.shape[1]):
            self.columns[k, i] = self.master.active[i] if i < self.master.count else 0
            self.weights[k, i] = self.master.lam[i] if i < self.master.count else 0.0
        self._keep(k)
        return value

    def add_tail(self, c: cython.Py_ssize_t, share: cython.double):
        """Use `share` times cut c, of timelike slope, as a minorant (the rest is risk >= 0): it proves the tail."""
        k: cython.Py_ssize_t = self._room()
        total: cython.double = 0.0
        for j in range(self.master.dim):
            total += self.master.pool.g[c, j + 1] * self.master.pool.g[c, j + 1]
        self.mb[k] = share * self.master.pool.b[c]
        self.ma[k] = share * self.sign * self.master.pool.g[c, 0]
        self.mA[k] = share * sqrt(total)
        self.rise[k], self.is_tail[k] = share * self.master.pool.rise(c), 1
        self.columns[k, 0], self.weights[k, 0] = c, share
        self._keep(k)

    def _keep(self, k):
        """Raise the envelope and the bounds of the intervals by minorant k, the latest."""
        right: cython.double = self._bound(k, self.s[0])
        self.minorants = k + 1
        for i in range(self.nodes):
            left, right = right, self._bound(k, self.s[i + 1]) if i < self.nodes - 1 else 0.0
            if left > self.envelope[i]:
                self.envelope[i], self.top[i] = left, k
            self._prove(k, i, left, right)

    def _more_nodes(self):
        self.s, self.envelope, self.relaxed = doubled(self.s), doubled(self.envelope), doubled(self.relaxed)
        self.top, self.stale = doubled(self.top), doubled(self.stale)
        self.lower, self.prover = doubled(self.lower), doubled(self.prover)

    def _room(self):
        """The number of the next minorant, with room in the tables for it."""
        if self.minorants == self.mb.shape[0]:
            self.mb, self.ma, self.mA = doubled(self.mb), doubled(self.ma), doubled(self.mA)
            self.rise, self.is_tail = doubled(self.rise), doubled(self.is_tail)
            self.columns, self.weights, self.owner = doubled(self.columns), doubled(self.weights), doubled(self.owner)
        return self.minorants
