# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The private unknowns of each group eliminated from the Newton system by Cholesky steps, and the two solves after it.

Compiled by Cython at installation. Where there is no compiler `compiled.py` leaves this file alone and the array code
does the same work. Loops release the interpreter lock, so threads can share the groups.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt


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
