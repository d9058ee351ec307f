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

cdef void find_centre(
    const double[:, ::1] X, int[::1] rows, double[::1] costs, Py_ssize_t count, double[::1] centre
) noexcept nogil
cdef void onto_hyperboloid(double[::1] centre) noexcept nogil
cdef void to_frame(
    const double[:, ::1] X,
    const int[::1] labels,
    int[::1] rows,
    Py_ssize_t count,
    double[::1] side,
    double[::1] centre,
    double[:, ::1] Z
) noexcept nogil
cdef void from_frame(double[::1] w, double[::1] centre, double[::1] covector) noexcept nogil
