# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Samples in the frame of a certificate: the operations of `geometry.isometries.covectors_around`, in their order.

Compiled by Cython at installation, with the C types of `frame.pxd`; without a compiler the interpreter runs this file.
"""

import cython


def covectors_around(
    X: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][:],
    first: cython.Py_ssize_t,
    entry: cython.const[cython.double][:, ::1],
    Z: cython.double[:, ::1],
) -> cython.void:
    """Write to the rows of Z the covectors in a frame, times the label, of the samples from `first` on.

    `entry` is the `frame_entry` of the frame's centre. Rows of Z beyond the last sample are left as they are.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    r: cython.Py_ssize_t
    width: cython.Py_ssize_t = Z.shape[1]
    along: cython.double
    shift: cython.double
    for r in range(min(Z.shape[0], X.shape[0] - first)):
        i = first + r
        if entry.shape[0] > 1:
            for j in range(width):
                along = X[i, 0] * entry[0, j]
                for k in range(1, width):
                    along += X[i, k] * entry[k, j]
                Z[r, j] = y[i] * along
        else:
            along = entry[0, 1] * X[i, 1]
            for j in range(2, width):
                along += entry[0, j] * X[i, j]
            Z[r, 0] = (entry[0, 0] * X[i, 0] - along) * y[i]
            shift = X[i, 0] - along / (1.0 + entry[0, 0])
            for j in range(1, width):
                Z[r, j] = (entry[0, j] * shift - X[i, j]) * y[i]
