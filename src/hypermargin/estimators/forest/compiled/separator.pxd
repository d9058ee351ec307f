cdef class Separator:
    cdef Py_ssize_t width
    cdef Py_ssize_t count  # samples in use
    cdef double[:, ::1] Z  # one column per sample
    cdef double[::1] costs
    cdef double[::1] w  # the answer
    cdef double[::1] trial
    cdef double[::1] gradient
    cdef double[::1] margins
    cdef double[::1] curvature  # second derivative of each sample's smoothed loss
    cdef double[:, ::1] H
    cdef void solve(self) noexcept nogil
    cdef double _value(self, double[::1] w, double smoothing) noexcept nogil
    cdef double _margin_term(self, double[::1] w) noexcept nogil
    cdef void _derivatives(self, double smoothing) noexcept nogil
    cdef double _weighted_product(self, Py_ssize_t j, Py_ssize_t k) noexcept nogil
    cdef bint _newton_direction(self) noexcept nogil
    cdef bint _step(self, double smoothing) noexcept nogil
