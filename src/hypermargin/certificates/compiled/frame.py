# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A sample in the frame of a certificate: the operations of `geometry.isometries.covectors_around`, in their order.

Compiled by Cython at installation, with the C types of `frame.pxd`; without a compiler the interpreter runs this file.
"""

import cython


def covector_around(
    X: cython.const[cython.double][:, ::1],
    i: cython.Py_ssize_t,
    y: cython.double,
    entry: cython.const[cython.double][:, ::1],
    z: cython.double[::1],
) -> cython.void:
    """Write to z the covector of sample i in a frame, times its label; `entry` is the `frame_entry` of its centre."""
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    along: cython.double
    shift: cython.double
    if entry.shape[0] > 1:
        for j in range(z.shape[0]):
            along = X[i, 0] * entry[0, j]
            for k in range(1, z.shape[0]):
                along += X[i, k] * entry[k, j]
            z[j] = y * along
        return
    along = entry[0, 1] * X[i, 1]
    for j in range(2, z.shape[0]):
        along += entry[0, j] * X[i, j]
    z[0] = (entry[0, 0] * X[i, 0] - along) * y
    shift = X[i, 0] - along / (1.0 + entry[0, 0])
    for j in range(1, z.shape[0]):
        z[j] = (entry[0, j] * shift - X[i, j]) * y
