from hypermargin.solvers.exact.compiled.passes cimport Pass

cdef class RobustPass(Pass):
    cpdef tuple at(self, double[::1] w, double[::1] c, bint cone, double[::1] g, double[::1] h)
    cdef void worst(self, double[::1] c, bint cone, Py_ssize_t i, Py_ssize_t m, double* margin, double* along, double* step, double* blur, double* length) noexcept
    cdef void add_steps(self, Py_ssize_t i, Py_ssize_t m, double* step, double* blur, double* length, double[::1] h) noexcept

cdef class BallPass(RobustPass):
    cdef double[::1] cosh
    cdef double[::1] sinh
    cdef double[::1] shrunk
    cdef void worst(self, double[::1] c, bint cone, Py_ssize_t i, Py_ssize_t m, double* margin, double* along, double* across, double* sinh, double* tangent) noexcept
    cdef void add_steps(self, Py_ssize_t i, Py_ssize_t m, double* across, double* sinh, double* tangent, double[::1] h) noexcept
    cdef void tangents(self, double[::1] w, double q, Py_ssize_t i, Py_ssize_t m, double* margin, double* tangent) noexcept
    cdef double tangent_square(self, double[::1] w, Py_ssize_t i, double margin) noexcept

cdef class LinearisedPass(RobustPass):
    cdef double[:, ::1] jacobian
    cdef double[::1] rho
    cdef int norm
    cdef double[:, :, ::1] shape
    cdef double[::1] shape_size
    cdef double[:, ::1] pulled
    cdef double[:, ::1] turned
    cdef double[:, ::1] kept_jacobian
    cdef double[:, :, ::1] kept_shape
    cdef double[::1] size_of_c
    cdef double[::1] shrunk
    cdef double[::1] grown
    cdef void worst(self, double[::1] c, bint cone, Py_ssize_t i, Py_ssize_t m, double* margin, double* along, double* step, double* blur, double* length) noexcept
    cdef void add_steps(self, Py_ssize_t i, Py_ssize_t m, double* step, double* blur, double* length, double[::1] h) noexcept
    cdef void take_multiples(self, Py_ssize_t i, Py_ssize_t m, double* nominal, double* margin, double* factor, double* step) noexcept
    cdef Py_ssize_t keep(self, Py_ssize_t i, Py_ssize_t m, double* weight, double* sizes, double* blur, double* length) noexcept
    cdef void pull_back(self, double[::1] c, Py_ssize_t i, Py_ssize_t m, double* size) noexcept
    cdef void turn(self, double[:, :, ::1] S, double[:, ::1] vectors, double[:, ::1] out, bint transposed, Py_ssize_t i, Py_ssize_t m) noexcept
    cdef void lengths(self, double[:, ::1] u, Py_ssize_t m, double* length) noexcept
    cdef void steps(self, Py_ssize_t m, double* sizes, double* blur, double* length, double* weight) noexcept
    cdef void push_forward(self, Py_ssize_t m, double* weight, double[::1] h) noexcept

cdef class ImagePass(LinearisedPass):
    cdef void pull_back(self, double[::1] c, Py_ssize_t i, Py_ssize_t m, double* size) noexcept
    cdef void push_forward(self, Py_ssize_t m, double* weight, double[::1] h) noexcept
