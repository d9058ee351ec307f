# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The pass for linearised sets far from the origin, where the Jacobians are moved to the frame before they are used.

In the coordinates of the data products with a normal are differences of numbers larger by ``e^(2r)``; the images of the
axes in the frame (`problems.linearised.framed_jacobians`) have digits to spare. There are d (d + 1) numbers per sample.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.hypermargin.solvers.exact.compiled.linearised_passes import LinearisedPass
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

    from hypermargin.solvers.exact.compiled.linearised_passes import LinearisedPass


@cython.cclass
class ImagePass(LinearisedPass):
    """The sets ``x + J z`` with `jacobian` as columns: covectors of the images of the d axes, then their `sizes`.

    Those are d + 1 numbers that ``|w|`` is multiplied with to say which entries of ``J'c`` are rounding.
    """

    size_of_w: cython.double[::1]

    def __init__(
        self,
        Z: cython.double[:, ::1],
        costs: cython.const[cython.double][:],
        threshold: cython.double,
        jacobian: cython.double[:, ::1],
        rho: cython.double[::1],
        norm: cython.int,
        shape: cython.double[:, :, ::1],
        shape_size: cython.double[::1],
        shrunk: cython.double[::1],
        grown: cython.double[::1],
    ):
        super().__init__(Z, costs, threshold, jacobian, rho, norm, shape, shape_size, shrunk, grown)
        self.size_of_w = np.zeros(Z.shape[0])

    @cython.cfunc
    @cython.exceptval(check=False)
    def pull_back(
        self,
        c: cython.double[::1],
        widest: cython.double,
        i: cython.Py_ssize_t,
        m: cython.Py_ssize_t,
        size: cython.p_double,
    ) -> cython.void:
        """``J'c`` of a block from the normal itself, which is given as c, and the size of the terms summed."""
        j: cython.Py_ssize_t
        e: cython.Py_ssize_t
        d: cython.Py_ssize_t = self.pulled.shape[0]
        out = cython.declare(cython.double[256])
        for j in range(d + 1):
            self.size_of_w[j] = fabs(c[j])
        self.combine(self.jacobian[d * (d + 1) :], self.size_of_w, i, m, size)
        for j in range(d):
            self.combine(self.jacobian[j * (d + 1) : (j + 1) * (d + 1)], c, i, m, out)
            for e in range(m):
                self.pulled[j, e] = out[e]

    @cython.cfunc
    @cython.exceptval(check=False)
    def push_forward(self, m: cython.Py_ssize_t, weight: cython.p_double, h: cython.double[::1]) -> cython.void:
        """Subtract the sum of ``weight covector(J z)``, without labels, over the samples kept from h."""
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        e: cython.Py_ssize_t
        d: cython.Py_ssize_t = self.pulled.shape[0]
        J: cython.double[:, ::1] = self.kept_jacobian
        z: cython.double[:, ::1] = self.pulled
        term = cython.declare(cython.double[256])
        for k in range(d + 1):
            for e in range(m):
                term[e] = 0.0
            for j in range(d):
                for e in range(m):
                    term[e] += z[j, e] * J[j * (d + 1) + k, e]
            for e in range(m):
                term[e] *= weight[e]
            h[k] -= self.sum(term, m)
