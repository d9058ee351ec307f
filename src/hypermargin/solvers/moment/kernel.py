# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The inner loops of the structured method: matrices so small that array calls cost more than the arithmetic.

Compiled by Cython at installation. Where there is no compiler `compiled.py` leaves this file alone and the array code
(`algebra.py`, `arrow.py`) does the same work. Matrices are symmetric throughout; of Newton matrices only the upper
triangle is meant. Loops release the interpreter lock, so threads can share the groups.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt

WIDTH = cython.declare(cython.Py_ssize_t, 8)  # columns that are summed together, in registers


def is_compiled() -> bool:
    """Whether this file runs as machine code (True) or is interpreted (False)."""
    return cython.compiled


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
    stride: cython.Py_ssize_t = _padded(basis.shape[0])
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
    stride: cython.Py_ssize_t = _padded(basis.shape[0])
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


@cython.cfunc
def _padded(size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    return (size + WIDTH - 1) // WIDTH * WIDTH


# -- elimination of the private unknowns -------------------------------------------------------------------------------


def eliminate(
    M: cython.double[:, :, ::1],
    nudge: cython.double,
    first_group: cython.Py_ssize_t,
    factors: cython.double[:, :, ::1],
    border: cython.double[:, ::1],
) -> cython.bint:
    """Cholesky steps for the private unknowns, which come first; False where a pivot is not positive.

    Row k of `factors` is row k of ``L'`` and of the coupling; its diagonal entry is inverted. What is left of the
    shared unknowns is added to the upper triangle of `border`. M is overwritten.
    """
    n_private: cython.Py_ssize_t = factors.shape[1]
    n_unknowns: cython.Py_ssize_t = factors.shape[2]
    g: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    pivot: cython.double
    factor: cython.double
    definite: cython.bint = True
    with cython.nogil:
        for g in range(M.shape[0]):
            for k in range(n_private):
                M[g, k, k] *= 1.0 + nudge
            for k in range(n_private):
                pivot = M[g, k, k]
                definite = definite and pivot > 0.0
                if not definite:
                    break
                pivot = 1.0 / sqrt(pivot)
                factors[first_group + g, k, k] = pivot
                for j in range(k + 1, n_unknowns):
                    M[g, k, j] *= pivot
                    factors[first_group + g, k, j] = M[g, k, j]
                for i in range(k + 1, n_unknowns):
                    factor = M[g, k, i]
                    for j in range(i, n_unknowns):
                        M[g, i, j] -= factor * factors[first_group + g, k, j]
            for i in range(n_private, n_unknowns):
                for j in range(i, n_unknowns):
                    border[i - n_private, j - n_private] += M[g, i, j]
    return definite


def forward(
    factors: cython.double[:, :, ::1],
    private: cython.double[:, ::1],
    half: cython.double[:, ::1],
    reduced: cython.double[::1],
    first_group: cython.Py_ssize_t,
    last_group: cython.Py_ssize_t,
):
    """``half = L^-1 private``, and the coupling's transpose times it is taken from `reduced`."""
    n_private: cython.Py_ssize_t = factors.shape[1]
    n_unknowns: cython.Py_ssize_t = factors.shape[2]
    work: cython.double[::1] = np.zeros(n_unknowns)
    g: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    value: cython.double
    with cython.nogil:
        for g in range(first_group, last_group):
            for k in range(n_private):
                work[k] = private[g, k]
            for k in range(n_private):
                value = work[k] * factors[g, k, k]
                half[g, k] = value
                for j in range(k + 1, n_unknowns):
                    work[j] -= value * factors[g, k, j]
        for j in range(n_private, n_unknowns):
            reduced[j - n_private] += work[j]


def backward(
    factors: cython.double[:, :, ::1],
    half: cython.double[:, ::1],
    shared: cython.double[::1],
    out: cython.double[:, ::1],
    first_group: cython.Py_ssize_t,
    last_group: cython.Py_ssize_t,
):
    """``L' out = half - coupling shared``."""
    n_private: cython.Py_ssize_t = factors.shape[1]
    n_unknowns: cython.Py_ssize_t = factors.shape[2]
    work: cython.double[::1] = np.zeros(n_unknowns)
    g: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    # Four sums, because additions must wait for each other in one.
    a: cython.double
    b: cython.double
    c: cython.double
    d: cython.double
    for j in range(n_private, n_unknowns):
        work[j] = shared[j - n_private]
    with cython.nogil:
        for g in range(last_group - 1, first_group - 1, -1):  # backwards throughout: memory is fetched ahead
            for k in range(n_private - 1, -1, -1):
                a, b, c, d = half[g, k], 0.0, 0.0, 0.0
                j = n_unknowns - 1
                while j - 3 > k:
                    a = a - work[j] * factors[g, k, j]
                    b = b - work[j - 1] * factors[g, k, j - 1]
                    c = c - work[j - 2] * factors[g, k, j - 2]
                    d = d - work[j - 3] * factors[g, k, j - 3]
                    j = j - 4
                while j > k:
                    a = a - work[j] * factors[g, k, j]
                    j = j - 1
                work[k] = ((a + b) + (c + d)) * factors[g, k, k]
                out[g, k] = work[k]


# -- matrices in the cone ----------------------------------------------------------------------------------------------


def invert(
    S: cython.double[:, :, ::1],
    out: cython.double[:, :, ::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.bint:
    """Inverses of positive definite matrices; False where one is not."""
    size: cython.Py_ssize_t = S.shape[1]
    L: cython.double[:, ::1] = np.zeros((size, size))
    R: cython.double[:, ::1] = np.zeros((size, size))
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    c: cython.Py_ssize_t
    value: cython.double
    definite: cython.bint = True
    with cython.nogil:
        for c in range(first, last):
            definite = definite and _cholesky(S, S, c, 0.0, L)
            if not definite:
                break
            for i in range(size):  # row i of R = L^-1
                for j in range(i + 1):
                    R[i, j] = 0.0
                R[i, i] = 1.0
                for k in range(i):
                    value = L[i, k]
                    for j in range(k + 1):
                        R[i, j] -= value * R[k, j]
                for j in range(i + 1):
                    R[i, j] *= L[i, i]
            for i in range(size):
                for j in range(size):
                    out[c, i, j] = 0.0
            for k in range(size):
                for i in range(k + 1):
                    value = R[k, i]
                    for j in range(i + 1):
                        out[c, i, j] += value * R[k, j]
            for i in range(size):
                for j in range(i):
                    out[c, j, i] = out[c, i, j]
    return definite


def longest_step(
    S: cython.double[:, :, ::1],
    D: cython.double[:, :, ::1],
    longest: cython.double,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.double:
    """The largest a <= `longest` for which all ``S + a D`` are positive definite, to 9 digits and never above it.

    One Cholesky factorisation says that a matrix does not matter; only those that do are bisected, in random order as
    few as the logarithm of their number.
    """
    L: cython.double[:, ::1] = np.zeros((S.shape[1], S.shape[1]))
    c: cython.Py_ssize_t
    low: cython.double
    middle: cython.double
    with cython.nogil:
        for c in range(first, last):
            if _cholesky(S, D, c, longest, L):
                continue
            low = 0.0
            while longest - low > 1e-9 * longest and longest > 1e-12:
                middle = 0.5 * (low + longest)
                if _cholesky(S, D, c, middle, L):
                    low = middle
                else:
                    longest = middle
            longest = low
    return longest


def sandwich(
    X: cython.double[:, :, ::1],
    M: cython.double[:, :, ::1],
    S_inverse: cython.double[:, :, ::1],
    out: cython.double[:, :, ::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
):
    """The symmetric part of ``X M S^-1``; M is symmetric."""
    size: cython.Py_ssize_t = X.shape[1]
    stride: cython.Py_ssize_t = _padded(size)
    whole: cython.Py_ssize_t[::1] = np.arange(size, dtype=np.intp)
    A: cython.double[::1] = np.zeros(size * stride)
    B: cython.double[::1] = np.zeros(size * stride)
    C: cython.double[::1] = np.zeros(size * stride)
    c: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    value: cython.double
    with cython.nogil:
        for c in range(first, last):
            _gather(X, c, whole, A, stride)
            _gather(M, c, whole, B, stride)
            _multiply(A, B, C, size, stride)
            _gather(S_inverse, c, whole, B, stride)
            _multiply(C, B, A, size, stride)
            for i in range(size):
                for j in range(i + 1):
                    value = 0.5 * (A[i * stride + j] + A[j * stride + i])
                    out[c, i, j] = value
                    out[c, j, i] = value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def _multiply(
    A: cython.double[::1],
    B: cython.double[::1],
    out: cython.double[::1],
    size: cython.Py_ssize_t,
    stride: cython.Py_ssize_t,
) -> cython.void:
    """``out = A B`` of matrices with padded rows."""
    sums = cython.declare(cython.double[8])
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    m: cython.Py_ssize_t
    low: cython.Py_ssize_t
    x: cython.double
    for low in range(0, size, 8):
        for i in range(size):
            for m in range(8):
                sums[m] = 0.0
            for k in range(size):
                x = A[i * stride + k]
                for m in range(8):
                    sums[m] += x * B[k * stride + low + m]
            for m in range(8):
                out[i * stride + low + m] = sums[m]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def _cholesky(
    S: cython.double[:, :, ::1],
    D: cython.double[:, :, ::1],
    c: cython.Py_ssize_t,
    step: cython.double,
    L: cython.double[:, ::1],
) -> cython.bint:
    """The factor L of ``S[c] + step D[c]``, its diagonal inverted; False where the matrix is not positive definite."""
    size: cython.Py_ssize_t = S.shape[1]
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    value: cython.double
    for i in range(size):
        for j in range(i + 1):
            value = S[c, i, j] + step * D[c, i, j]
            for k in range(j):
                value = value - L[i, k] * L[j, k]
            if j < i:
                L[i, j] = value * L[j, j]
            elif value > 0.0:
                L[i, i] = 1.0 / sqrt(value)
            else:
                return False
    return True
