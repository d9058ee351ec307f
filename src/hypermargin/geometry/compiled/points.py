# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Points over their space parts, and a first look at points that are given: one pass over the rows, no copies.

Compiled by Cython at installation, without fused operations. Squares are summed in the order of the coordinates, so
that time coordinates are the same on every machine.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt


def lift_rows(space: cython.const[cython.double][:, :], points: cython.double[:, ::1]):
    """Write ``(sqrt(1 + |xr|^2), xr)`` to the rows of `points`, (n, d + 1), for the rows xr of `space`, (n, d)."""
    square: cython.double
    for i in range(space.shape[0]):
        square = 0.0
        for j in range(space.shape[1]):
            points[i, j + 1] = space[i, j]
            square += space[i, j] * space[i, j]
        points[i, 0] = sqrt(1.0 + square)


def all_lifted(X: cython.const[cython.double][:, :]) -> cython.bint:
    """Whether the time coordinates are those of `lift_rows`, bit for bit."""
    square: cython.double
    for i in range(X.shape[0]):
        square = 0.0
        for j in range(1, X.shape[1]):
            square += X[i, j] * X[i, j]
        if X[i, 0] != sqrt(1.0 + square):
            return False
    return True


def all_on_hyperboloid(
    X: cython.const[cython.double][:, ::1], atol: cython.double, farthest: cython.double
) -> cython.bint:
    """Whether ``x0 > 0``, ``|x0^2 - |xr|^2 - 1| <= atol max(x0^2, 1)`` and ``|xr| <= farthest`` in every row.

    Not so where a number is none. What rounding may change is a few ``2^-53 x0^2``.
    """
    square: cython.double
    for i in range(X.shape[0]):
        square = 0.0
        for j in range(1, X.shape[1]):
            square += X[i, j] * X[i, j]
        time = X[i, 0] * X[i, 0]
        if not (
            X[i, 0] > 0.0
            and square <= farthest * farthest
            and time <= 4.0 * (1.0 + farthest * farthest)  # the next line is no test of infinity
            and fabs(time - square - 1.0) <= atol * (time if time > 1.0 else 1.0)
        ):
            return False
    return True
