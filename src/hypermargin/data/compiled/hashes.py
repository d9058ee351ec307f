# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The sums of hashes of `certificates.fingerprints` in one pass over the samples.

Compiled by Cython at installation; without a compiler the interpreter runs it.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy
else:
    from struct import pack, unpack

FIRST = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
SECOND = cython.declare(cython.ulonglong, 0xFF51AFD7ED558CCD)
ALL_BITS = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)


def hash_sums(
    rows: cython.const[cython.double][:, :],
    first: cython.Py_ssize_t,
    sides: cython.const[cython.double][:],
    weights: cython.const[cython.double][:],
):
    """The sums modulo 2^64 of hashes of points, of points with labels, and of those with weights.

    A point is what a row holds from column `first` on; one weight only is that of all samples. Samples on neither side
    (0) do not count. The last of the four numbers says whether a weight is not 1.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    value: cython.ulonglong
    label: cython.ulonglong
    of_points: cython.ulonglong = 0
    of_labels: cython.ulonglong = 0
    of_weights: cython.ulonglong = 0
    weighted: cython.bint = False
    each: cython.Py_ssize_t = 1 if weights.shape[0] > 1 else 0
    for i in range(rows.shape[0]):
        if sides[i] == 0.0:
            continue
        value = FIRST
        for j in range(first, rows.shape[1]):
            value = _mixed(value, _bits(rows[i, j]))
        value = _finished(value)
        of_points = (of_points + value) & ALL_BITS
        label = 1 if sides[i] > 0.0 else ALL_BITS
        value = _finished(_mixed(_mixed(FIRST, value), label))
        of_labels = (of_labels + value) & ALL_BITS
        value = _finished(_mixed(_mixed(FIRST, value), _bits(weights[i * each])))
        of_weights = (of_weights + value) & ALL_BITS
        weighted = weighted or weights[i * each] != 1.0
    return of_points, of_labels, of_weights, weighted


def sample_hashes(
    rows: cython.const[cython.double][:, :],
    first: cython.Py_ssize_t,
    sides: cython.const[cython.double][:],
    weights: cython.const[cython.double][:],
    hashes: cython.ulonglong[::1],
):
    """The last of the three hashes of every sample, of points with labels and weights, into `hashes`."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    value: cython.ulonglong
    label: cython.ulonglong
    each: cython.Py_ssize_t = 1 if weights.shape[0] > 1 else 0
    for i in range(rows.shape[0]):
        value = FIRST
        for j in range(first, rows.shape[1]):
            value = _mixed(value, _bits(rows[i, j]))
        value = _finished(value)
        label = 1 if sides[i] > 0.0 else ALL_BITS
        value = _finished(_mixed(_mixed(FIRST, value), label))
        hashes[i] = _finished(_mixed(_mixed(FIRST, value), _bits(weights[i * each])))


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _bits(value: cython.double) -> cython.ulonglong:
    """The bits of a double; 0 and -0 are the same number."""
    bits: cython.ulonglong = 0
    value += 0.0
    if cython.compiled:
        memcpy(cython.address(bits), cython.address(value), 8)
    else:
        (bits,) = unpack("<Q", pack("<d", value))
    return bits


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
