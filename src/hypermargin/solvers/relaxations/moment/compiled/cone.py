# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Batches of small symmetric matrices: inverses, products, and the longest step that keeps them positive definite.

Compiled by Cython at installation. Where there is no compiler `compiled.py` leaves this file alone and the array code
does the same work. Loops release the interpreter lock, so threads can share the groups.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt


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
    stride: cython.Py_ssize_t = (size + 7) // 8 * 8  # sums of 8 columns are kept in registers
    A: cython.double[::1] = np.zeros(size * stride)
    B: cython.double[::1] = np.zeros(size * stride)
    C: cython.double[::1] = np.zeros(size * stride)
    c: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    value: cython.double
    with cython.nogil:
        for c in range(first, last):
            _copy(X, c, A, stride)
            _copy(M, c, B, stride)
            _multiply(A, B, C, size, stride)
            _copy(S_inverse, c, B, stride)
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
def _copy(
    X: cython.double[:, :, ::1], c: cython.Py_ssize_t, out: cython.double[::1], stride: cython.Py_ssize_t
) -> cython.void:
    """X[c] with rows padded to `stride`."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for i in range(X.shape[1]):
        for j in range(X.shape[1]):
            out[i * stride + j] = X[c, i, j]


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
