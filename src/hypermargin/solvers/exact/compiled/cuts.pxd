cimport cython
cpdef double quadratic_form(double[::1] w) noexcept
cdef void push_out(double[::1] w) noexcept
cdef void lift_into(double[::1] lifted, double[::1] w) noexcept


@cython.final
cdef class CutPool:
    cdef readonly Py_ssize_t size  # the number of cuts, the constant 0 included
    cdef Py_ssize_t width
    cdef double[::1] b
    cdef double[:, ::1] g
    cdef double[:, ::1] points
    cdef double[::1] risks
    cdef double[::1] rises  # room for `best_scale`
    cpdef clear(self)
    cpdef Py_ssize_t add(self, double b, double[::1] g, double[::1] point, double risk)
    cpdef double rise(self, Py_ssize_t c) noexcept
    cdef double _length(self, Py_ssize_t c) noexcept
    cpdef best_scale(self, double[::1] w)
