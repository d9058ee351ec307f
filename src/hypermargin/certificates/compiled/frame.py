# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A sample in the frame of a certificate: the operations of `geometry.isometries.covectors_around`, in their order.

Compiled by Cython at installation, with the C types of `frame.pxd`; without a compiler the interpreter runs this file.
"""

import cython


def covector_around(
    X: cython.const[cython.double][:, ::1],
    i: cython.Py_ssize_t,
    y: cython.double,
    centre: cython.const[cython.double][::1],
    frame: cython.const[cython.double][:, ::1],
    z: cython.double[::1],
) -> cython.void:
    """Write to z the covector of sample i, times its label, after the isometry that moves `centre` to the origin.

    `frame` is the `lowering_matrix` of the centre.
    """
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    along: cython.double
    shift: cython.double
    if frame.shape[0] > 0:
        for j in range(z.shape[0]):
            along = X[i, 0] * frame[0, j]
            for k in range(1, z.shape[0]):
                along += X[i, k] * frame[k, j]
            z[j] = y * along
        return
    along = centre[1] * X[i, 1]
    for j in range(2, z.shape[0]):
        along += centre[j] * X[i, j]
    z[0] = (centre[0] * X[i, 0] - along) * y
    shift = X[i, 0] - along / (1.0 + centre[0])
    for j in range(1, z.shape[0]):
        z[j] = (centre[j] * shift - X[i, j]) * y
