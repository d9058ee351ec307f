# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The frame in which the sample of a node is separated: its centroid is the origin.

Compiled by Cython at installation, with the C types of `frame.pxd`; without a compiler the interpreter runs it.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt


def find_centre(
    X: cython.const[cython.double][:, ::1],
    rows: cython.int[::1],
    costs: cython.double[::1],
    count: cython.Py_ssize_t,
    centre: cython.double[::1],
) -> cython.void:
    """Write the centroid of the sample, the first `count` of `rows` with their costs as weights, to `centre`."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for j in range(X.shape[1]):
        centre[j] = 0.0
    for i in range(count):
        for j in range(X.shape[1]):
            centre[j] += costs[i] * X[rows[i], j]
    onto_hyperboloid(centre)


def onto_hyperboloid(centre: cython.double[::1]) -> cython.void:
    """Divide a sum of points by its Lorentz length; what rounding has made lightlike becomes the origin."""
    j: cython.Py_ssize_t
    factor: cython.double
    space: cython.double = 0.0
    for j in range(1, centre.shape[0]):
        space += centre[j] * centre[j]
    factor = centre[0] * centre[0] - space
    factor = 1.0 / sqrt(factor) if factor > 1e-14 * centre[0] * centre[0] else 0.0
    for j in range(1, centre.shape[0]):
        centre[j] *= factor
    centre[0] = sqrt(1.0 + space * factor * factor)


def to_frame(
    X: cython.const[cython.double][:, ::1],
    labels: cython.const[cython.int][::1],
    rows: cython.int[::1],
    count: cython.Py_ssize_t,
    side: cython.double[::1],
    centre: cython.double[::1],
    Z: cython.double[:, ::1],
) -> cython.void:
    """Write the points of the sample, moved so that the centre is at the origin and with their signs, to `Z`."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    row: cython.Py_ssize_t
    sign: cython.double
    time: cython.double
    factor: cython.double
    for i in range(count):
        row = rows[i]
        sign = side[labels[row]]
        time = X[row, 0] * centre[0]
        for j in range(1, X.shape[1]):
            time -= X[row, j] * centre[j]
        factor = (X[row, 0] + time) / (1.0 + centre[0])
        Z[0, i] = sign * time
        for j in range(1, X.shape[1]):
            Z[j, i] = sign * (centre[j] * factor - X[row, j])


def from_frame(w: cython.double[::1], centre: cython.double[::1], covector: cython.double[::1]) -> cython.void:
    """Write the normal w of the frame, moved back, to `covector`."""
    j: cython.Py_ssize_t
    product: cython.double = 0.0
    for j in range(1, w.shape[0]):
        product += centre[j] * w[j]
    covector[0] = centre[0] * w[0] + product
    for j in range(1, w.shape[0]):
        covector[j] = -(w[j] + centre[j] * (w[0] + product / (1.0 + centre[0])))
