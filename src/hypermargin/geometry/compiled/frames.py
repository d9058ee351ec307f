# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Frames of small and large data without the cost of array calls: the middle of points, and points moved to a frame.

Compiled by Cython at installation, with the C types of `frames.pxd`, without fused operations; without a compiler the
interpreter runs the functions of single points, and arrays do what concerns many.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt

BLOCK = cython.declare(cython.Py_ssize_t, 64)  # samples that are treated at a time
LEAST = cython.declare(cython.double, 2.2250738585072014e-308)  # the least normal number


def onto_hyperboloid(total: cython.const[cython.double][:]):
    """A sum of points, shape (d + 1,), scaled to be a point."""
    square = total[0] * total[0]
    space = 0.0
    point = np.empty(total.shape[0])
    entries: cython.double[::1] = point
    for j in range(1, total.shape[0]):
        space += total[j] * total[j]
    square = sqrt(max(square - space, LEAST))
    space = 1.0
    for j in range(1, total.shape[0]):
        entries[j] = total[j] / square
        space += entries[j] * entries[j]
    entries[0] = sqrt(space)
    return point


def sum_of_points(
    X: cython.const[cython.double][:, :], weights: cython.const[cython.double][:], largest: cython.double
):
    """``sum_i weights_i x_i / largest``, shape (d + 1,), block by block; no weights are weights of 1."""
    width = X.shape[1]
    weight = 1.0
    total = np.zeros(width)
    sums: cython.double[::1] = total
    block: cython.double[::1] = np.zeros(width)
    for i in range(X.shape[0]):
        if weights.shape[0] > 0:
            weight = weights[i] / largest
        for j in range(width):
            block[j] += weight * X[i, j]
        if i % BLOCK == BLOCK - 1 or i == X.shape[0] - 1:
            for j in range(width):
                sums[j] += block[j]
                block[j] = 0.0
    return total


def frame_entry(space: cython.const[cython.double][:], most: cython.Py_ssize_t):
    """The point over `space`, shape (d + 1,), and what takes its place to the origin (`isometries.frame_entry`).

    That is a matrix in up to `most` dimensions, and beyond that the point itself, shape (1, d + 1).
    """
    width = space.shape[0] + 1
    square = 1.0
    point = np.empty(width)
    p: cython.double[::1] = point
    for j in range(1, width):
        p[j] = space[j - 1]
        square += p[j] * p[j]
    p[0] = sqrt(square)
    if width - 1 > most:
        return point, point.reshape(1, width)
    matrix = np.empty((width, width))
    entry: cython.double[:, ::1] = matrix
    entry[0, 0] = p[0]
    for j in range(1, width):
        entry[0, j], entry[j, 0] = p[j], -p[j]
        for i in range(1, width):
            entry[i, j] = -(p[j] * (p[i] / (1.0 + p[0])))
        entry[j, j] = -(p[j] * (p[j] / (1.0 + p[0])) + 1.0)
    return point, matrix


def normal_out_of_frame(w: cython.const[cython.double][::1], point: cython.const[cython.double][::1]):
    """The normal w of a frame in the coordinates around it: ``boost(point) @ w`` by the formula of a boost."""
    along = 0.0
    moved = np.empty(w.shape[0])
    out: cython.double[::1] = moved
    for j in range(1, w.shape[0]):
        along += point[j] * w[j]
    out[0] = point[0] * w[0] + along
    along = along / (1.0 + point[0]) + w[0]
    for j in range(1, w.shape[0]):
        out[j] = w[j] + point[j] * along
    return moved


def signed_covectors(
    X: cython.const[cython.double][:, :],
    y: cython.const[cython.double][:],
    entry: cython.const[cython.double][:, ::1],
    Z: cython.double[:, ::1],
):
    """Write to the first n columns of Z the covectors of n points in a frame, times the label."""
    room: cython.double[:, ::1] = np.empty((X.shape[1], BLOCK))
    for i in range(0, X.shape[0], BLOCK):
        covector_columns(X, y, i, entry, room, Z, i)


def covector_columns(
    X: cython.const[cython.double][:, :],
    y: cython.const[cython.double][:],
    first: cython.Py_ssize_t,
    entry: cython.const[cython.double][:, ::1],
    points: cython.double[:, ::1],
    Z: cython.double[:, ::1],
    at: cython.Py_ssize_t,
) -> cython.void:
    """Write to Z, from column `at` on, the covectors in a frame, times the label, of the samples from `first` on.

    As many as `points` has room for, or there are. `entry` is the `frame_entry` of the frame's centre. All sums are
    made in the order of the coordinates, as by `isometries.covectors_around`.
    """
    factor: cython.double
    width = Z.shape[0]
    m = min(points.shape[1], X.shape[0] - first)
    total = cython.declare(cython.double[8])
    if not cython.compiled:
        total = [0.0] * 8
    for j in range(width):
        for r in range(m):
            points[j, r] = X[first + r, j]
    if entry.shape[0] > 1:
        for e in range(0, m - m % 8, 8):  # eight sums at a time stay in the registers of a processor
            for j in range(width):
                factor = entry[0, j]
                for r in range(8):
                    total[r] = points[0, e + r] * factor
                for k in range(1, width):
                    factor = entry[k, j]
                    for r in range(8):
                        total[r] += points[k, e + r] * factor
                for r in range(8):
                    Z[j, at + e + r] = total[r]
        for r in range(m - m % 8, m):
            for j in range(width):
                factor = points[0, r] * entry[0, j]
                for k in range(1, width):
                    factor += points[k, r] * entry[k, j]
                Z[j, at + r] = factor
    else:
        factor = entry[0, 1]
        for r in range(m):
            Z[0, at + r] = factor * points[1, r]
        for j in range(2, width):
            factor = entry[0, j]
            for r in range(m):
                Z[0, at + r] += factor * points[j, r]
        factor = 1.0 + entry[0, 0]
        for r in range(m):
            Z[1, at + r] = points[0, r] - Z[0, at + r] / factor  # the shift along the centre, until this row is due
            Z[0, at + r] = entry[0, 0] * points[0, r] - Z[0, at + r]
        for j in range(width - 1, 0, -1):
            factor = entry[0, j]
            for r in range(m):
                Z[j, at + r] = factor * Z[1, at + r] - points[j, r]
    for j in range(width):
        for r in range(m):
            Z[j, at + r] *= y[first + r]
