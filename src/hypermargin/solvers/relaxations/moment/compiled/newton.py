# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The moments' linear maps and the Newton matrices of groups, by integer tables of which monomials multiply to which.

Compiled by Cython at installation. Where there is no compiler `compiled.py` leaves this file alone and the array code
does the same work. Loops release the interpreter lock, so threads can share the groups.
Of Newton matrices only the upper triangle is meant.
"""

import cython
import numpy as np

# -- the linear maps ---------------------------------------------------------------------------------------------------


def matrices(
    z: cython.double[:, ::1],
    groups: cython.Py_ssize_t[::1],
    hankel: cython.Py_ssize_t[:, ::1],
    shift: cython.Py_ssize_t[:, ::1],
    coefficients: cython.double[:, ::1],
    out: cython.double[:, :, ::1],
):
    """``out[k, i, j] = y[hankel[i, j]]`` with localised moments ``y[c] = sum_p coefficients[k, p] z[shift[c, p]]``."""
    y: cython.double[::1] = np.zeros(shift.shape[0])
    k: cython.Py_ssize_t
    g: cython.Py_ssize_t
    c: cython.Py_ssize_t
    p: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    value: cython.double
    with cython.nogil:
        for k in range(out.shape[0]):
            g = groups[k]
            for c in range(shift.shape[0]):
                value = 0.0
                for p in range(shift.shape[1]):
                    value = value + coefficients[k, p] * z[g, shift[c, p]]
                y[c] = value
            for i in range(hankel.shape[0]):
                for j in range(hankel.shape[0]):
                    out[k, i, j] = y[hankel[i, j]]


def add_adjoint(
    X: cython.double[:, :, ::1],
    groups: cython.Py_ssize_t[::1],
    hankel: cython.Py_ssize_t[:, ::1],
    shift: cython.Py_ssize_t[:, ::1],
    coefficients: cython.double[:, ::1],
    out: cython.double[:, ::1],
):
    """Add what the transpose of `matrices` makes of X to `out`."""
    y: cython.double[::1] = np.zeros(shift.shape[0])
    k: cython.Py_ssize_t
    c: cython.Py_ssize_t
    p: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    with cython.nogil:
        for k in range(X.shape[0]):
            for c in range(shift.shape[0]):
                y[c] = 0.0
            for i in range(hankel.shape[0]):
                y[hankel[i, i]] += X[k, i, i]
                for j in range(i):
                    y[hankel[i, j]] += X[k, i, j] + X[k, j, i]
            for c in range(shift.shape[0]):
                for p in range(shift.shape[1]):
                    out[groups[k], shift[c, p]] += coefficients[k, p] * y[c]


# -- the Newton matrix -------------------------------------------------------------------------------------------------


def add_moment_matrices(
    M: cython.double[:, :, ::1],
    X: cython.double[:, :, ::1],
    S_inverse: cython.double[:, :, ::1],
    groups: cython.Py_ssize_t[::1],
    first_copy: cython.Py_ssize_t,
    last_copy: cython.Py_ssize_t,
    first_group: cython.Py_ssize_t,
    basis: cython.Py_ssize_t[::1],
    rows: cython.Py_ssize_t[::1],
    starts: cython.Py_ssize_t[::1],
    pairs: cython.Py_ssize_t[:, ::1],
    columns: cython.Py_ssize_t[:, ::1],
):
    """Add ``tr(E_a X E_b S^-1)`` to M[a, b] for a among `rows`, using only the monomials of `basis`."""
    stride: cython.Py_ssize_t = (basis.shape[0] + 7) // 8 * 8  # sums of 8 columns are kept in registers
    left: cython.double[::1] = np.zeros(basis.shape[0] * stride)
    right: cython.double[::1] = np.zeros(basis.shape[0] * stride)
    k: cython.Py_ssize_t
    with cython.nogil:
        for k in range(first_copy, last_copy):
            _gather(X, k, basis, left, stride)
            _gather(S_inverse, k, basis, right, stride)
            _products(M, groups[k] - first_group, left, right, stride, rows, starts, pairs, columns)


def add_localising_matrices(
    M: cython.double[:, :, ::1],
    X: cython.double[:, :, ::1],
    S_inverse: cython.double[:, :, ::1],
    groups: cython.Py_ssize_t[::1],
    first_copy: cython.Py_ssize_t,
    last_copy: cython.Py_ssize_t,
    first_group: cython.Py_ssize_t,
    basis: cython.Py_ssize_t[::1],
    rows: cython.Py_ssize_t[::1],
    starts: cython.Py_ssize_t[::1],
    pairs: cython.Py_ssize_t[:, ::1],
    columns: cython.Py_ssize_t[:, ::1],
    shift: cython.Py_ssize_t[:, ::1],
    coefficients: cython.double[:, ::1],
):
    """The same for matrices of localised moments ``y_c = sum_p coefficients[p] z[shift[c, p]]``: add ``L' H L``."""
    stride: cython.Py_ssize_t = (basis.shape[0] + 7) // 8 * 8  # sums of 8 columns are kept in registers
    left: cython.double[::1] = np.zeros(basis.shape[0] * stride)
    right: cython.double[::1] = np.zeros(basis.shape[0] * stride)
    n_localised: cython.Py_ssize_t = shift.shape[0]
    n_terms: cython.Py_ssize_t = shift.shape[1]
    n_moments: cython.Py_ssize_t = M.shape[1]
    H: cython.double[:, :, ::1] = np.zeros((1, n_localised, n_localised))
    T: cython.double[::1] = np.zeros(n_moments)
    k: cython.Py_ssize_t
    g: cython.Py_ssize_t
    c: cython.Py_ssize_t
    d: cython.Py_ssize_t
    p: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    factor: cython.double
    with cython.nogil:
        for k in range(first_copy, last_copy):
            g = groups[k] - first_group
            _gather(X, k, basis, left, stride)
            _gather(S_inverse, k, basis, right, stride)
            for c in range(n_localised):
                for d in range(n_localised):
                    H[0, c, d] = 0.0
            _products(H, 0, left, right, stride, rows, starts, pairs, columns)
            for c in range(n_localised):
                for j in range(n_moments):
                    T[j] = 0.0
                for p in range(n_terms):  # T is row c of H L
                    factor = coefficients[k, p]
                    if factor != 0.0:
                        for d in range(n_localised):
                            T[shift[d, p]] += factor * H[0, c, d]
                for p in range(n_terms):
                    factor = coefficients[k, p]
                    if factor != 0.0:
                        i = shift[c, p]
                        for j in range(i, n_moments):
                            M[g, i, j] += factor * T[j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def _products(
    M: cython.double[:, :, ::1],
    g: cython.Py_ssize_t,
    left: cython.double[::1],
    right: cython.double[::1],
    stride: cython.Py_ssize_t,
    rows: cython.Py_ssize_t[::1],
    starts: cython.Py_ssize_t[::1],
    pairs: cython.Py_ssize_t[:, ::1],
    columns: cython.Py_ssize_t[:, ::1],
) -> cython.void:
    """Add ``sum over (i, j) in a, (k, m) in b of left[j, k] right[i, m]`` to M[g, rows[a], b], b = columns[k, m]."""
    size: cython.Py_ssize_t = columns.shape[0]
    n_rows: cython.Py_ssize_t = rows.shape[0]
    sums = cython.declare(cython.double[8])
    a: cython.Py_ssize_t
    k: cython.Py_ssize_t
    m: cython.Py_ssize_t
    low: cython.Py_ssize_t
    pair: cython.Py_ssize_t
    row: cython.Py_ssize_t
    at: cython.Py_ssize_t
    x: cython.double
    for a in range(n_rows):
        row = rows[a]
        for k in range(size):
            for low in range(0, size, 8):
                for m in range(8):
                    sums[m] = 0.0
                for pair in range(starts[a], starts[a + 1]):
                    x = left[pairs[pair, 1] * stride + k]
                    at = pairs[pair, 0] * stride + low
                    for m in range(8):
                        sums[m] += x * right[at + m]
                for m in range(min(8, size - low)):
                    M[g, row, columns[k, low + m]] += sums[m]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def _gather(
    X: cython.double[:, :, ::1],
    k: cython.Py_ssize_t,
    basis: cython.Py_ssize_t[::1],
    out: cython.double[::1],
    stride: cython.Py_ssize_t,
) -> cython.void:
    """Rows and columns `basis` of X[k], each row padded to `stride`."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for i in range(basis.shape[0]):
        for j in range(basis.shape[0]):
            out[i * stride + j] = X[k, basis[i], basis[j]]
