# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Which points are near: ``S = sinh^2(d/2)`` of one point with all others, those below a limit kept.

The formula is that of `kernels/chords.py`. Compiled by Cython at installation; without a compiler the interpreter runs
the same file.
"""

import cython
import numpy as np

#: Points whose S are computed before any is looked at.
BLOCK = cython.declare(cython.Py_ssize_t, 512)


def near_points(
    table: cython.const[cython.double][:, ::1],
    point: cython.const[cython.double][::1],
    limit: cython.double,
    places: cython.int[::1],
    chords: cython.double[::1],
) -> cython.Py_ssize_t:
    """Write the places of the points near another, and their S, to the beginning of two arrays; how many they are.

    `point` is like a column of `table`. Rows of `table`: high and low part of ``e^r - 1``, ``e^-r/2``, ``sinh(r)/2``,
    then high and low part of the direction along each axis; a column for each point.
    """
    n = table.shape[1]
    axes = (table.shape[0] - 4) // 2
    count = 0
    high, low, inverse, sinh = point[0], point[1], point[2], point[3]
    S: cython.double[::1] = np.empty(BLOCK)
    with cython.nogil:
        start = 0
        while start < n:
            stop = min(n, start + BLOCK)
            for k in range(start, stop):
                S[k - start] = 0.0
            for axis in range(axes):
                axis_high, axis_low = point[4 + 2 * axis], point[5 + 2 * axis]
                for k in range(start, stop):
                    difference = (axis_high - table[4 + 2 * axis, k]) + (axis_low - table[5 + 2 * axis, k])
                    S[k - start] += difference * difference
            for k in range(start, stop):
                difference = (high - table[0, k]) + (low - table[1, k])
                S[k - start] = difference * difference * (inverse * table[2, k]) + S[k - start] * (sinh * table[3, k])
            for k in range(start, stop):
                if S[k - start] <= limit:
                    places[count] = k
                    chords[count] = S[k - start]
                    count += 1
            start = stop
    return count
