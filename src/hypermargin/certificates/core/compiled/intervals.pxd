cimport cython

ctypedef struct MidRad:
    double m
    double r

cdef MidRad _exact(double m) noexcept
cdef MidRad _rounded(double m, double r) noexcept
cdef bint _is_zero(MidRad x) noexcept
cdef MidRad _plus(MidRad x, MidRad y) noexcept
cdef MidRad _times(MidRad x, MidRad y) noexcept
cdef MidRad _over(MidRad x, MidRad y) noexcept
cdef MidRad _root(MidRad x) noexcept
cdef double _lower(MidRad x) noexcept
cdef double _upper(MidRad x) noexcept
cdef bint halves_are_complete(
    Py_ssize_t above, const double[::1] nodes, const Py_ssize_t[::1] starts, const Py_ssize_t[::1] cuts,
    const double[::1] weights, Py_ssize_t n_cuts
) noexcept
cdef double _end_value(double b, double a, double A, double rise, double s) noexcept

@cython.final
cdef class Intervals:
    cdef Py_ssize_t dim
    cdef double[:, ::1] totals
    cdef double[:, ::1] errors
    cdef const unsigned char[::1] one_class
    cdef MidRad b  # the minorant at hand is b + sign g0 s + gr.wr,
    cdef MidRad g0
    cdef double[::1] m  # with the balls gr
    cdef double[::1] r
    cdef const Py_ssize_t[::1] cuts  # the cuts that it combines,
    cdef const double[::1] weights  # and their weights
    cdef Py_ssize_t[::1] own_cuts  # room for both
    cdef double[::1] own_weights
    cpdef double least_bound_of_halves(
        self, Py_ssize_t above, const double[::1] nodes, const Py_ssize_t[::1] starts, const Py_ssize_t[::1] cuts,
        const double[::1] weights
    )
    cdef _take(self, tuple cuts, tuple weights)
    cdef double _least_between(self, double begin, double end, double rise) noexcept
    cdef void _combine(self, double sign) noexcept
    cdef MidRad _slope(self, Py_ssize_t k) noexcept
    cdef double _rise(self) noexcept
    cdef bint _add_chord(self, MidRad nu, const double[::1] low, const double[::1] high) noexcept
    cdef double _longest(self) noexcept
