# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Keys and where they came from, sorted together: quicksort with a heap behind it, so that no input is slow.

Compiled by Cython at installation, with the C types of `sorting.pxd`; without a compiler the interpreter runs it.
"""

import cython

FEW = cython.declare(cython.Py_ssize_t, 16)  # so many or fewer are sorted by insertion


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
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
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
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
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
    i: cython.Py_ssize_t
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
    child: cython.Py_ssize_t
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and keys[low + child] < keys[low + child + 1]:
            child += 1
        if keys[low + i] >= keys[low + child]:
            return
        _swap(keys, places, low + i, low + child)
        i = child
