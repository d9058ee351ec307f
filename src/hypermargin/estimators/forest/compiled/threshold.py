# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""The threshold on a score that leaves the purest two sides: Gini impurity or entropy, weights, any number of classes.

Compiled by Cython at installation, with the C types of `threshold.pxd`; without a compiler the interpreter runs it.

Of a side with class weights v_k and their sum V, Gini's impurity times V is ``V - sum v_k^2 / V``, the entropy times V
is ``V log V - sum v_k log v_k``. The sum over both sides is least where the *purity* ``sum v_k^2 / V``, or
``sum v_k log v_k - V log V``, is largest.

Few samples are sorted. Many are first counted in bins between a few hundred of the scores, and only the two bins beside
the best boundary are sorted: the answer is the best there.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import log
else:
    from math import log

FEW = cython.declare(cython.Py_ssize_t, 16)  # so many or fewer are sorted by insertion
MANY = cython.declare(cython.Py_ssize_t, 1024)  # so many samples are counted in bins first
BINS = cython.declare(cython.Py_ssize_t, 256)
INFINITY = cython.declare(cython.double, float("inf"))


@cython.cclass
class ThresholdSearch:
    """Room for `room` samples; fill `scores`, `labels`, `weights` and `total`, call `search`, read what it found."""

    def __init__(self, room, n_classes, least, least_weight, by_entropy):
        self.n_classes, self.least, self.by_entropy = n_classes, least, by_entropy
        self.least_weight = least_weight
        self.scores, self.weights = np.empty(room), np.empty(room)
        self.labels = np.empty(room, dtype=np.intc)
        self.keys, self.places = np.empty(room), np.empty(room, dtype=np.intc)
        self.total, self.left = np.zeros(n_classes), np.zeros(n_classes)
        self.pivots, self.pivot_places = np.zeros(BINS), np.zeros(BINS, dtype=np.intc)
        self.bin_weights, self.bin_counts = np.zeros((BINS + 1, n_classes)), np.zeros(BINS + 1, dtype=np.intc)
        self.bin_of = np.zeros(room, dtype=np.intc)
        self.left_weight = self.right_weight = self.left_purity = self.right_purity = 0.0
        self.threshold, self.purity, self.n_pivots = 0.0, -INFINITY, 0

    def best(self, scores, labels, weights):
        """Threshold and purity for one set of samples, from Python."""
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t = len(scores)
        for i in range(self.n_classes):
            self.total[i] = 0.0
        for i in range(n):
            self.scores[i], self.labels[i], self.weights[i] = scores[i], labels[i], weights[i]
            self.total[labels[i]] += weights[i]
        self.search(n)
        return self.threshold, self.purity

    def search(self, n: cython.Py_ssize_t) -> cython.void:
        """The best threshold for the first n samples: those with a larger score go right."""
        self.purity = -INFINITY
        if n > MANY:
            self._choose_pivots(n)
            if self.n_pivots > 0:
                self._fill_bins(n)
                best = self._best_bin(n)
                if best >= 0:
                    self._refine(best, n)
                    return
        for i in range(n):
            self.keys[i] = self.scores[i]
            self.places[i] = cython.cast(cython.int, i)
        sort_pairs(self.keys, self.places, 0, n)
        self._begin()
        self._scan_sorted(0, n, 0, n)

    # -- the scan: samples go from the right side to the left, one after the other -------------------------------------

    def _term(self, v: cython.double) -> cython.double:
        """What a class of weight v adds to a side's purity."""
        if self.by_entropy:
            return v * log(v) if v > 0.0 else 0.0
        return v * v

    def _begin(self) -> cython.void:
        self.left_weight = self.right_weight = self.left_purity = self.right_purity = 0.0
        for k in range(self.n_classes):
            self.left[k] = 0.0
            self.right_weight += self.total[k]
            self.right_purity += self._term(self.total[k])

    def _pass_over(self, k: cython.Py_ssize_t, weight: cython.double) -> cython.void:
        """Move `weight` of class k from the right side to the left."""
        before: cython.double = self.left[k]
        after: cython.double = before + weight
        rest: cython.double = self.total[k] - before
        if self.by_entropy:
            self.left_purity += self._term(after) - self._term(before)
            self.right_purity += self._term(rest - weight) - self._term(rest)
        else:
            self.left_purity += weight * (before + after)
            self.right_purity -= weight * (2.0 * rest - weight)
        self.left[k] = after
        self.left_weight += weight
        self.right_weight -= weight

    def _purity_here(self) -> cython.double:
        if self.by_entropy:
            return self.left_purity - self._term(self.left_weight) + self.right_purity - self._term(self.right_weight)
        if self.left_weight <= 0.0 or self.right_weight <= 0.0:
            return -INFINITY
        return self.left_purity / self.left_weight + self.right_purity / self.right_weight

    def _allowed(self, below: cython.Py_ssize_t, n: cython.Py_ssize_t) -> cython.bint:
        """Whether both sides have enough samples, of which `below` are on the left, and enough weight."""
        if below < self.least or n - below < self.least:
            return False
        return self.left_weight >= self.least_weight and self.right_weight >= self.least_weight

    def _scan_sorted(
        self, low: cython.Py_ssize_t, high: cython.Py_ssize_t, below: cython.Py_ssize_t, n: cython.Py_ssize_t
    ) -> cython.void:
        """Thresholds between the sorted keys low to high, of which `below` samples of the node are smaller."""
        here: cython.double
        for i in range(low, high - 1):
            place = self.places[i]
            self._pass_over(self.labels[place], self.weights[place])
            below += 1
            if self.keys[i] < self.keys[i + 1] and self._allowed(below, n):
                here = self._purity_here()
                if here > self.purity:
                    self.purity = here
                    self.threshold = 0.5 * self.keys[i] + 0.5 * self.keys[i + 1]
                    if not self.keys[i] <= self.threshold < self.keys[i + 1]:
                        self.threshold = self.keys[i]

    # -- many samples --------------------------------------------------------------------------------------------------

    def _choose_pivots(self, n: cython.Py_ssize_t) -> cython.void:
        """Scores that part the samples: evenly drawn, half of them from the samples of all but the heaviest class.

        A rare class would otherwise lie between two neighbouring pivots.
        """
        heaviest: cython.int = 0
        rare: cython.Py_ssize_t = 0
        seen: cython.Py_ssize_t = 0
        half: cython.Py_ssize_t = BINS // 2
        for k in range(self.n_classes):
            if self.total[k] > self.total[heaviest]:
                heaviest = cython.cast(cython.int, k)
        for i in range(half):
            self.pivots[i] = self.scores[(i * n) // half]
        for i in range(n):
            rare += self.labels[i] != heaviest
        k = half
        for i in range(n):
            if self.labels[i] != heaviest:
                if k < BINS and seen * half >= (k - half) * rare:
                    self.pivots[k] = self.scores[i]
                    k += 1
                seen += 1
        sort_pairs(self.pivots, self.pivot_places, 0, k)
        self.n_pivots = 0
        for i in range(k):
            if self.n_pivots == 0 or self.pivots[i] > self.pivots[self.n_pivots - 1]:
                self.pivots[self.n_pivots] = self.pivots[i]
                self.n_pivots += 1

    def _fill_bins(self, n: cython.Py_ssize_t) -> cython.void:
        """Bin b holds the scores in ``(pivot b - 1, pivot b]``, the last those above all pivots."""
        i: cython.Py_ssize_t
        b: cython.Py_ssize_t
        half: cython.Py_ssize_t
        length: cython.Py_ssize_t
        k: cython.Py_ssize_t
        score: cython.double
        pivots: cython.double[::1] = self.pivots
        for b in range(self.n_pivots + 1):
            self.bin_counts[b] = 0
            for k in range(self.n_classes):
                self.bin_weights[b, k] = 0.0
        for i in range(n):
            score, b, length = self.scores[i], 0, self.n_pivots
            while length > 0:  # the number of pivots below the score, without a branch that depends on it
                half = length >> 1
                b += (half + 1) * (pivots[b + half] < score) if length & 1 else half * (pivots[b + half - 1] < score)
                length = half
            self.bin_of[i] = cython.cast(cython.int, b)
            self.bin_counts[b] += 1
            self.bin_weights[b, self.labels[i]] += self.weights[i]

    def _best_bin(self, n: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The b for which parting after bin b is best; -1 if that leaves too few samples on a side for every b."""
        below: cython.Py_ssize_t = 0
        best: cython.Py_ssize_t = -1
        here: cython.double
        purest: cython.double = -INFINITY
        self._begin()
        for b in range(self.n_pivots):
            for k in range(self.n_classes):
                if self.bin_weights[b, k] > 0.0:
                    self._pass_over(k, self.bin_weights[b, k])
            below += self.bin_counts[b]
            if self._allowed(below, n):
                here = self._purity_here()
                if here > purest:
                    best, purest = b, here
        return best

    def _refine(self, bin: cython.Py_ssize_t, n: cython.Py_ssize_t) -> cython.void:
        """The best threshold among the scores of a bin and the next."""
        below: cython.Py_ssize_t = 0
        inside: cython.Py_ssize_t = 0
        self._begin()
        for b in range(bin):
            for k in range(self.n_classes):
                if self.bin_weights[b, k] > 0.0:
                    self._pass_over(k, self.bin_weights[b, k])
            below += self.bin_counts[b]
        for i in range(n):
            if self.bin_of[i] == bin or self.bin_of[i] == bin + 1:
                self.keys[inside] = self.scores[i]
                self.places[inside] = cython.cast(cython.int, i)
                inside += 1
        sort_pairs(self.keys, self.places, 0, inside)
        self._scan_sorted(0, inside, below, n)


# -- keys and where they came from, sorted together: quicksort with a heap behind it, so that no input is slow ---------


def sort_pairs(
    keys: cython.double[::1], places: cython.int[::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t
) -> cython.void:
    """Sort ``keys[low:high]`` in place, upwards, and move `places` along."""
    rounds: cython.int = 8
    n: cython.Py_ssize_t = high - low
    while n > 0:
        rounds += 2
        n >>= 1
    _quick(keys, places, low, high, rounds)


def _swap(keys: cython.double[::1], places: cython.int[::1], i: cython.Py_ssize_t, j: cython.Py_ssize_t) -> cython.void:
    key: cython.double = keys[i]
    place: cython.int = places[i]
    keys[i], places[i] = keys[j], places[j]
    keys[j], places[j] = key, place


def _quick(
    keys: cython.double[::1],
    places: cython.int[::1],
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    rounds: cython.int,
) -> cython.void:
    pivot: cython.double
    first: cython.double
    last: cython.double
    while high - low > FEW:
        if rounds == 0:
            _heap(keys, places, low, high)
            return
        rounds -= 1
        first, pivot, last = keys[low], keys[low + (high - low) // 2], keys[high - 1]
        if first > last:
            first, last = last, first
        pivot = first if pivot < first else (last if pivot > last else pivot)  # the median of three
        i, j = low, high - 1
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                _swap(keys, places, i, j)
                i += 1
                j -= 1
        if j + 1 - low < high - i:
            _quick(keys, places, low, j + 1, rounds)
            low = i
        else:
            _quick(keys, places, i, high, rounds)
            high = j + 1
    _insert(keys, places, low, high)


def _insert(
    keys: cython.double[::1], places: cython.int[::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t
) -> cython.void:
    key: cython.double
    place: cython.int
    for i in range(low + 1, high):
        key, place, j = keys[i], places[i], i
        while j > low and keys[j - 1] > key:
            keys[j], places[j] = keys[j - 1], places[j - 1]
            j -= 1
        keys[j], places[j] = key, place


def _heap(
    keys: cython.double[::1], places: cython.int[::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t
) -> cython.void:
    n: cython.Py_ssize_t = high - low
    for i in range(n // 2 - 1, -1, -1):
        _sift(keys, places, low, i, n)
    for i in range(n - 1, 0, -1):
        _swap(keys, places, low, low + i)
        _sift(keys, places, low, 0, i)


def _sift(
    keys: cython.double[::1],
    places: cython.int[::1],
    low: cython.Py_ssize_t,
    i: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
) -> cython.void:
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and keys[low + child] < keys[low + child + 1]:
            child += 1
        if keys[low + i] >= keys[low + child]:
            return
        _swap(keys, places, low + i, low + child)
        i = child
