from hypermargin.solvers.exact.compiled.passes cimport Pass

cdef class BallPass(Pass):
    cdef double[::1] cosh
    cdef double[::1] sinh
    cdef double[::1] shrunk
    cdef void tangents(self, double[::1] w, double q, Py_ssize_t i, Py_ssize_t m, double* margin, double* tangent) noexcept
    cdef double tangent_square(self, double[::1] w, Py_ssize_t i, double margin) noexcept
