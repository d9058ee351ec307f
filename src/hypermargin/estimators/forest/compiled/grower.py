# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""A tree grown on the samples of one bootstrap: groups of classes, a balanced sample, a hyperplane, a threshold.

Compiled by Cython at installation, with the C types of `grower.pxd`; without a compiler the interpreter runs it.
Nothing in `_run` needs the interpreter, so trees grow in threads. All random numbers come from the seed of the tree.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.hypermargin.estimators.forest.compiled.separator import (
        Separator,
        find_centre,
        from_frame,
        onto_hyperboloid,
        to_frame,
    )
    from cython.cimports.hypermargin.estimators.forest.compiled.threshold import ThresholdSearch
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt

    from hypermargin.estimators.forest.compiled.separator import (
        Separator,
        find_centre,
        from_frame,
        onto_hyperboloid,
        to_frame,
    )
    from hypermargin.estimators.forest.compiled.threshold import ThresholdSearch

#: Ways to put the classes of a node in two groups; `chances` has one number for each.
SEEDS = cython.declare(cython.Py_ssize_t, 1)  # 0: at random
ONE_AGAINST_REST = cython.declare(cython.Py_ssize_t, 2)
PAIR = cython.declare(cython.Py_ssize_t, 3)
ANCESTORS = cython.declare(cython.Py_ssize_t, 4)
WAYS = cython.declare(cython.Py_ssize_t, 5)
FEW = cython.declare(cython.Py_ssize_t, 5)  # leaves beside a class of fewer samples may be as small as that class
ALL_BITS = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
SCRAMBLE = cython.declare(cython.ulonglong, 2685821657736338717)
INFINITY = cython.declare(cython.double, float("inf"))
HINGE = cython.declare(cython.double, 0.5**0.5)  # the loss is max(0, 1 - m)/sqrt(2), as in `problems.losses`


@cython.cclass
class Grower:
    """State of a growing tree. `X` (n, d + 1), `labels` (n,) from 0 to n_classes - 1, `weights` (n,), 0 for those out.

    The tree, when grown: `children` (n_nodes, 2), -1 in leaves; `slot` (n_nodes,), the row of a node in `splits`
    (n_splits, d + 2), covector and threshold, or in `values` (n_leaves, n_classes) and `masses` (n_leaves,).
    """

    def __init__(self, X, labels, weights, n_classes, settings, seed):
        rows = np.flatnonzero(weights).astype(np.intc)
        n: cython.Py_ssize_t = len(rows)
        self.X, self.labels, self.weights = X, labels, weights
        self.width, self.n_classes = X.shape[1], n_classes
        self.depth_limit, self.least = settings["max_depth"], settings["min_samples_leaf"]
        counts = np.bincount(np.asarray(labels)[rows], minlength=n_classes)
        self.least_with = np.where(counts < FEW, np.minimum(counts, self.least), self.least).astype(np.intp)
        self.n_candidates, self.most_per_group = settings["n_candidates"], settings["split_samples"]
        self.C, self.chances = settings["C"], np.cumsum(settings["chances"])
        self.separator = Separator(self.width, 2 * self.most_per_group)
        least_weight = settings["min_weight_fraction_leaf"] * np.sum(weights)
        self.search = ThresholdSearch(n, n_classes, self.least, least_weight, settings["by_entropy"])
        self.state = (int(seed) * 2 + 1) * 0x9E3779B97F4A7C15 % 2**64
        self.order, self.spare = rows, np.empty(n, dtype=np.intc)
        self.stack = np.zeros((128, 4), dtype=np.intp)
        self.stack[0, 1], self.waiting = n, 1
        self.start = self.end = self.depth = self.node = 0
        self.present, self.n_present = np.zeros(n_classes, dtype=np.intc), 0
        self.side = np.zeros(n_classes)
        self.centroids = np.zeros((n_classes, self.width))
        self.sample, self.sampled = np.zeros(2 * self.most_per_group, dtype=np.intc), 0
        self.centre, self.curve_chance = np.zeros(self.width), settings["curve_chance"]
        self.normal, self.best_normal = np.zeros(self.width), np.zeros(self.width)
        self.best_threshold, self.best_purity = 0.0, -INFINITY
        self.n_nodes, self.n_splits, self.n_leaves = 1, 0, 0
        room: cython.Py_ssize_t = 256
        self.children, self.slot = np.full((room, 2), -1, dtype=np.intc), np.zeros(room, dtype=np.intc)
        self.splits = np.zeros((room, self.width + 1))
        self.values, self.masses = np.zeros((room, n_classes)), np.zeros(room)

    def grow(self):
        """Grow the whole tree; returns its arrays."""
        done: cython.bint = False
        while not done:
            self._more_room()
            with cython.nogil:
                done = self._run()
        return self.arrays()

    def arrays(self):
        """Children, slots, splits, values and masses, as new arrays."""
        return (
            np.array(self.children[: self.n_nodes]),
            np.array(self.slot[: self.n_nodes]),
            np.array(self.splits[: self.n_splits]),
            np.array(self.values[: self.n_leaves]),
            np.array(self.masses[: self.n_leaves]),
        )

    # -- one step at a time, for splits found elsewhere ----------------------------------------------------------------

    def open_next(self):
        """Open the next node that can be split; its number, or -1 when the tree is complete."""
        self._more_room()
        while self.waiting > 0:
            self._more_room()
            if self._open():
                return self.node
        return -1

    def draw(self):
        """A balanced sample of the open node: row numbers, sides (-1 or +1) and weights in the risk."""
        self._draw()
        rows = np.empty(self.sampled, dtype=np.intp)
        signs = np.empty(self.sampled)
        for i in range(self.sampled):
            rows[i], signs[i] = self.sample[i], self.side[self.labels[self.sample[i]]]
        return rows, signs, np.array(self.separator.costs[: self.sampled]) / HINGE

    def offer(self, normal):
        """Try a covector for the sample drawn last; returns whether it leads to the best split of the node so far."""
        before: cython.double = self.best_purity
        for j in range(self.width):
            self.normal[j] = normal[j]
        self._try_normal()
        return self.best_purity > before

    def candidates(self):
        """Normals to try at each node."""
        return self.n_candidates

    def close(self):
        """Split the open node by the best normal offered, or make it a leaf; returns whether it was split."""
        before: cython.Py_ssize_t = self.n_splits
        self._close()
        return self.n_splits > before

    # -- growing -------------------------------------------------------------------------------------------------------

    def _run(self) -> cython.bint:
        """Grow until the tree is complete (True) or its tables are full (False)."""
        while self.waiting > 0:
            if self.n_nodes + 2 > self.slot.shape[0]:
                return False
            if self._open():
                for _ in range(self.n_candidates):
                    self._draw()
                    self._separate()
                    self._try_normal()
                self._close()
        return True

    def _more_room(self):
        """Tables twice as large where they are nearly full."""
        if self.n_nodes + 2 > self.slot.shape[0]:
            self.children, self.slot = _doubled(self.children, -1), _doubled(self.slot, 0)
        if self.n_splits + self.slot.shape[0] - self.n_nodes > self.splits.shape[0]:
            self.splits = _doubled(self.splits, 0)
        if self.n_leaves + self.slot.shape[0] - self.n_nodes + self.waiting + 1 > self.masses.shape[0]:
            self.values, self.masses = _doubled(self.values, 0), _doubled(self.masses, 0)

    def _open(self) -> cython.bint:
        """Take a node from the stack; True if it may be split, otherwise it is a leaf now."""
        self.waiting -= 1
        self.start, self.end = self.stack[self.waiting, 0], self.stack[self.waiting, 1]
        self.depth, self.node = self.stack[self.waiting, 2], self.stack[self.waiting, 3]
        for k in range(self.n_classes):
            self.search.total[k] = 0.0
        for i in range(self.end - self.start):
            row = self.order[self.start + i]
            k = self.labels[row]
            self.search.labels[i] = cython.cast(cython.int, k)
            self.search.weights[i] = self.weights[row]
            self.search.total[k] += self.weights[row]
        self.n_present, least = 0, self.least
        for k in range(self.n_classes):
            if self.search.total[k] > 0.0:
                self.present[self.n_present] = cython.cast(cython.int, k)
                self.n_present += 1
                least = min(least, self.least_with[k])  # otherwise no leaf could be of a class so rare
        self.search.least = least
        self.best_purity = -INFINITY
        if self.n_present < 2 or self.depth >= self.depth_limit or self.end - self.start < 2 * least:
            self._leaf()
            return False
        return True

    def _leaf(self) -> cython.void:
        mass: cython.double = 0.0
        for k in range(self.n_classes):
            mass += self.search.total[k]
        for k in range(self.n_classes):
            self.values[self.n_leaves, k] = self.search.total[k] / mass
        self.masses[self.n_leaves] = mass
        self.slot[self.node] = cython.cast(cython.int, self.n_leaves)
        self.children[self.node, 0] = self.children[self.node, 1] = -1
        self.n_leaves += 1

    def _close(self) -> cython.void:
        """Part the samples of the open node, each side in its old order, and put both sides on the stack."""
        n: cython.Py_ssize_t = self.end - self.start
        lower: cython.Py_ssize_t = 0
        upper: cython.Py_ssize_t = 0
        if not self.best_purity > -INFINITY:
            self._leaf()
            return
        self._score(self.best_normal)
        for i in range(n):
            if self.search.scores[i] > self.best_threshold:
                self.spare[upper] = self.order[self.start + i]
                upper += 1
            else:
                self.order[self.start + lower] = self.order[self.start + i]
                lower += 1
        for i in range(upper):
            self.order[self.start + lower + i] = self.spare[i]
        for j in range(self.width):
            self.splits[self.n_splits, j] = self.best_normal[j]
        self.splits[self.n_splits, self.width] = self.best_threshold
        self.slot[self.node] = cython.cast(cython.int, self.n_splits)
        self.n_splits += 1
        for side in range(2):
            self.children[self.node, side] = cython.cast(cython.int, self.n_nodes + side)
        # The larger side waits below the smaller one, so that few nodes ever wait.
        for i in range(2):
            side = i if lower > upper else 1 - i
            self.stack[self.waiting, 0] = self.start if side == 0 else self.start + lower
            self.stack[self.waiting, 1] = self.start + lower if side == 0 else self.end
            self.stack[self.waiting, 2] = self.depth + 1
            self.stack[self.waiting, 3] = self.n_nodes + side
            self.waiting += 1
        self.n_nodes += 2

    # -- a candidate: two groups and a balanced sample of them ---------------------------------------------------------

    def _draw(self) -> cython.void:
        self._choose_groups()
        self._choose_sample()
        find_centre(self.X, self.sample, self.separator.costs, self.sampled, self.centre)

    def _choose_groups(self) -> cython.void:
        """A side for every class; two classes need no choice."""
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        one: cython.Py_ssize_t
        other: cython.Py_ssize_t
        plus: cython.Py_ssize_t = 0
        way: cython.Py_ssize_t = 0
        number: cython.double
        for k in range(self.n_classes):
            self.side[k] = 0.0
        one = self._below(self.n_present)
        other = self._below(self.n_present - 1)
        other += other >= one
        number = self._uniform() * self.chances[WAYS - 1]
        while way < WAYS - 1 and number >= self.chances[way]:
            way += 1
        if self.n_present == 2 or way == PAIR:
            self.side[self.present[one]], self.side[self.present[other]] = 1.0, -1.0
        elif way == ONE_AGAINST_REST:
            for i in range(self.n_present):
                self.side[self.present[i]] = 1.0 if i == one else -1.0
        elif way == SEEDS:
            self.side[self.present[one]], self.side[self.present[other]] = 1.0, -1.0
            self._find_centroids()
            groups_by_seeds(self.centroids, self.present, self.n_present, self.side)
        elif way == ANCESTORS:
            self._find_centroids()
            groups_by_ancestors(self.centroids, self.present, self.n_present, self.centre, self.side)
        else:
            while plus == 0 or plus == self.n_present:
                plus = 0
                for i in range(self.n_present):
                    k = self._below(2)
                    self.side[self.present[i]] = 2.0 * k - 1.0
                    plus += k

    def _find_centroids(self) -> cython.void:
        """Centroids of the classes of the node, and of all its samples: sums of points, divided by their lengths."""
        for j in range(self.width):
            self.centre[j] = 0.0
            for i in range(self.n_present):
                self.centroids[self.present[i], j] = 0.0
        for i in range(self.end - self.start):
            row, k = self.order[self.start + i], self.search.labels[i]
            for j in range(self.width):
                self.centroids[k, j] += self.search.weights[i] * self.X[row, j]
                self.centre[j] += self.search.weights[i] * self.X[row, j]
        for i in range(self.n_present):
            onto_hyperboloid(self.centroids[self.present[i]])
        onto_hyperboloid(self.centre)

    def _choose_sample(self) -> cython.void:
        """At most `most_per_group` samples of each side, every one with the same chance; both sides cost the same."""
        n: cython.Py_ssize_t = self.end - self.start
        side: cython.double
        left = cython.declare(cython.Py_ssize_t[2])
        wanted = cython.declare(cython.Py_ssize_t[2])
        mass = cython.declare(cython.double[2])
        for g in range(2):
            left[g], mass[g] = 0, 0.0
        for i in range(n):
            side = self.side[self.search.labels[i]]
            if side != 0.0:
                left[1 if side > 0.0 else 0] += 1
        for g in range(2):
            wanted[g] = min(left[g], self.most_per_group)
        self.sampled = 0
        for i in range(n):
            side = self.side[self.search.labels[i]]
            if side == 0.0:
                continue
            g = 1 if side > 0.0 else 0
            if wanted[g] > 0 and (wanted[g] == left[g] or self._uniform() * left[g] < wanted[g]):
                self.sample[self.sampled] = self.order[self.start + i]
                mass[g] += self.search.weights[i]
                wanted[g] -= 1
                self.sampled += 1
            left[g] -= 1
        for i in range(self.sampled):
            g = 1 if self.side[self.labels[self.sample[i]]] > 0.0 else 0
            self.separator.costs[i] = HINGE * self.C * self.weights[self.sample[i]] * (0.5 * self.sampled / mass[g])

    # -- the split of a candidate --------------------------------------------------------------------------------------

    def _separate(self) -> cython.void:
        """The covector that separates the sample, found in the frame of its centroid."""
        to_frame(self.X, self.labels, self.sample, self.sampled, self.side, self.centre, self.separator.Z)
        self.separator.count = self.sampled
        self.separator.solve()
        from_frame(self.separator.w, self.centre, self.normal)

    def _score(self, normal: cython.double[::1]) -> cython.void:
        """Scores of the samples of the open node, summed in the order of the coordinates as in prediction."""
        score: cython.double
        scores: cython.double[::1] = self.search.scores
        for i in range(self.end - self.start):
            row = self.order[self.start + i]
            score = 0.0
            for j in range(self.width):
                score += self.X[row, j] * normal[j]
            scores[i] = score

    def _try_normal(self) -> cython.void:
        """The best split that the normal leads to, kept if it is the best of the node so far."""
        if self.curve_chance > 0.0 and self._uniform() < self.curve_chance:
            self._try_curve()
        else:
            self._try_hyperplane()

    def _try_curve(self) -> cython.void:
        """The level set of ``x * w`` with the best threshold: a hypercycle, horocycle or circle."""
        self._score(self.normal)
        self.search.search(self.end - self.start)
        if self.search.purity > self.best_purity:
            self._keep(self.search.threshold)

    def _try_hyperplane(self) -> cython.void:
        """The best of the hyperplanes ``x * (w - s c) = 0``, where c is the centre of the sample.

        They are orthogonal to one line, the parallel chords of the Klein model that has c in its middle. The score
        ``(x * w)/(x * c)`` is the s of the one through x; its threshold shifts the hyperplane without bending it.
        """
        above: cython.Py_ssize_t = 0
        n: cython.Py_ssize_t = self.end - self.start
        score: cython.double
        height: cython.double
        weight: cython.double = 0.0
        total: cython.double = 0.0
        for i in range(n):
            row = self.order[self.start + i]
            score, height = self.X[row, 0] * self.normal[0], self.X[row, 0] * self.centre[0]
            for j in range(1, self.width):
                score += self.X[row, j] * self.normal[j]
                height -= self.X[row, j] * self.centre[j]
            self.search.scores[i] = score / max(height, 1.0)
        self.search.search(n)
        if not self.search.purity > self.best_purity:
            return
        self.normal[0] -= self.search.threshold * self.centre[0]
        for j in range(1, self.width):
            self.normal[j] += self.search.threshold * self.centre[j]
        self._score(self.normal)
        for i in range(n):  # the sides as they are now: rounding may have moved samples next to the hyperplane
            total += self.search.weights[i]
            if self.search.scores[i] > 0.0:
                above += 1
                weight += self.search.weights[i]
        if min(above, n - above) >= self.search.least and min(weight, total - weight) >= self.search.least_weight:
            self._keep(0.0)

    def _keep(self, threshold: cython.double) -> cython.void:
        self.best_purity, self.best_threshold = self.search.purity, threshold
        for j in range(self.width):
            self.best_normal[j] = self.normal[j]

    # -- random numbers (xorshift64*) ----------------------------------------------------------------------------------

    def _uniform(self) -> cython.double:
        """The next number in [0, 1)."""
        x: cython.ulonglong = self.state
        x ^= x >> 12
        x ^= (x << 25) & ALL_BITS
        x ^= x >> 27
        self.state = x
        return (((x * SCRAMBLE) & ALL_BITS) >> 11) * (1.0 / 9007199254740992.0)

    def _below(self, n: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """A random number from 0 to n - 1."""
        return cython.cast(cython.Py_ssize_t, self._uniform() * n)


def _doubled(table, value):
    """A table with as many rows added, full of `value`."""
    table = np.asarray(table)
    return np.concatenate([table, np.full_like(table, value)])


# -- two groups of the classes of a node, by where their centroids lie -------------------------------------------------

# Here `centroids` (n_classes, d + 1) are Lorentz points, `present` names the classes of the node in its first `count`
# entries, and `side` (n_classes,) receives +1 or -1 for each of these.


def groups_by_seeds(
    centroids: cython.double[:, ::1], present: cython.int[::1], count: cython.Py_ssize_t, side: cython.double[::1]
) -> cython.void:
    """Put each class with the nearer of the two seeds, which are those that have a side already."""
    plus: cython.Py_ssize_t = 0
    minus: cython.Py_ssize_t = 0
    for i in range(count):
        if side[present[i]] > 0.0:
            plus = present[i]
        elif side[present[i]] < 0.0:
            minus = present[i]
    for i in range(count):
        if present[i] != plus and present[i] != minus:  # the product is cosh of the distance
            side[present[i]] = (
                1.0
                if _product(centroids[present[i]], centroids[plus]) < _product(centroids[present[i]], centroids[minus])
                else -1.0
            )


def groups_by_ancestors(
    centroids: cython.double[:, ::1],
    present: cython.int[::1],
    count: cython.Py_ssize_t,
    root: cython.double[::1],
    side: cython.double[::1],
) -> cython.void:
    """Merge the two groups whose lowest common ancestor lies deepest below the root until two groups are left.

    The ancestor of two points is the point of the geodesic between them that is nearest to the root (Chami et al.,
    From trees to continuous embeddings and back, 2020). It stands for the merged group, so `centroids` are overwritten.
    """
    merges: cython.Py_ssize_t = count - 2
    depth: cython.double
    deepest: cython.double
    pq: cython.double
    rp: cython.double
    rq: cython.double
    alpha: cython.double
    beta: cython.double
    length: cython.double
    for i in range(count):  # a side of a + 2 says: in the group that the a-th class stands for
        side[present[i]] = i + 2.0
    while merges > 0:
        merges -= 1
        kept, lost, deepest = 0, 1, -1.0
        for i in range(count):
            if side[present[i]] != i + 2.0:
                continue
            rp = _product(root, centroids[present[i]])
            for j in range(i + 1, count):
                if side[present[j]] == j + 2.0:
                    pq = _product(centroids[present[i]], centroids[present[j]])
                    depth = _depth(pq, rp, _product(root, centroids[present[j]]))
                    if depth > deepest:
                        kept, lost, deepest = i, j, depth
        pq = _product(centroids[present[kept]], centroids[present[lost]])
        rp, rq = _product(root, centroids[present[kept]]), _product(root, centroids[present[lost]])
        alpha, beta = max(pq * rq - rp, 0.0), max(pq * rp - rq, 0.0)
        length = sqrt(alpha * alpha + beta * beta + 2.0 * alpha * beta * pq)
        if length > 0.0:  # else the two are one point
            for k in range(centroids.shape[1]):
                centroids[present[kept], k] = (
                    alpha * centroids[present[kept], k] + beta * centroids[present[lost], k]
                ) / length
        for i in range(count):
            if side[present[i]] == lost + 2.0:
                side[present[i]] = kept + 2.0
    for i in range(1, count):
        side[present[i]] = 1.0 if side[present[i]] == 2.0 else -1.0
    side[present[0]] = 1.0


def _product(a: cython.double[::1], b: cython.double[::1]) -> cython.double:
    """Minkowski's product ``a_0 b_0 - a_1 b_1 - ...``."""
    product: cython.double = a[0] * b[0]
    for j in range(1, a.shape[0]):
        product -= a[j] * b[j]
    return product


def _depth(pq: cython.double, rp: cython.double, rq: cython.double) -> cython.double:
    """``cosh^2`` of the distance from r to the geodesic between p and q, from the products of the three points.

    The foot is ``alpha p + beta q`` with ``alpha ~ pq rq - rp`` and ``beta ~ pq rp - rq``; where one of these is
    negative the other end is nearest.
    """
    if pq * rq <= rp:
        return rq * rq
    if pq * rp <= rq:
        return rp * rp
    return (2.0 * pq * rp * rq - rp * rp - rq * rq) / (pq * pq - 1.0)
