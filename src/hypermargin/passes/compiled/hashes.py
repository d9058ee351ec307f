# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The sums of hashes of `certificates.fingerprints` in one pass over the samples.

Compiled by Cython at installation. Where there is no compiler `fingerprints.py` does the same work with arrays.
"""

import cython

FIRST = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
SECOND = cython.declare(cython.ulonglong, 0xFF51AFD7ED558CCD)
ALL_BITS = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)


def hash_sums(
    points: cython.const[cython.ulonglong][:, ::1],
    sides: cython.const[cython.double][:],
    weights: cython.const[cython.ulonglong][:],
    sums: cython.ulonglong[::1],
):
    """Add to `sums`, modulo 2^64, the hashes of points, of points with labels, and of those with weights.

    `points`, shape (n, d), and `weights` hold the bits of doubles; one weight only is that of all samples. Samples on
    neither side (0) do not count.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    value: cython.ulonglong
    label: cython.ulonglong
    each: cython.Py_ssize_t = 1 if weights.shape[0] > 1 else 0
    for i in range(points.shape[0]):
        if sides[i] == 0.0:
            continue
        value = FIRST
        for j in range(points.shape[1]):
            value = _mixed(value, points[i, j])
        value = _finished(value)
        sums[0] = (sums[0] + value) & ALL_BITS
        label = 1 if sides[i] > 0.0 else ALL_BITS
        value = _finished(_mixed(_mixed(FIRST, value), label))
        sums[1] = (sums[1] + value) & ALL_BITS
        value = _finished(_mixed(_mixed(FIRST, value), weights[i * each]))
        sums[2] = (sums[2] + value) & ALL_BITS


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _mixed(value: cython.ulonglong, word: cython.ulonglong) -> cython.ulonglong:
    value = ((value ^ word) * FIRST) & ALL_BITS
    return value ^ (value >> 32)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _finished(value: cython.ulonglong) -> cython.ulonglong:
    value = (value * SECOND) & ALL_BITS
    return value ^ (value >> 29)
