cpdef double asinh_near(double x) noexcept
cpdef double loss_below(double m) noexcept
cpdef double least_offset(double slope, double left, double right) noexcept
cdef double _curvature(double m) noexcept
cdef double _least_curvature(double left, double right) noexcept
cdef double _largest_curvature(double left, double right) noexcept


cdef class BoxLosses:
    cdef const double[:, ::1] Z
    cdef const double[::1] costs
    cdef const double[::1] doubt
    cdef const double[::1] margins_from
    cdef const double[::1] ends
    cdef Py_ssize_t k
    cdef Py_ssize_t count  # samples that are left over, and for each
    cdef int[::1] kept  # its number,
    cdef double[::1] left  # its interval,
    cdef double[::1] right
    cdef double[::1] reach  # and the size of the terms of its margin
    cdef double _end_of_chord(self, double left) noexcept
    cdef void _add_quadratic(self, Py_ssize_t i, double m, double h, double size, double[::1] sums) noexcept
    cpdef settle(
        self, double[::1] centre, double[::1] radius, const int[::1] active, double allowed, double[::1] sums,
        bint handed_down
    )
    cpdef add_minorants(self, double[:, ::1] points, double[::1] weights, double[::1] sums)
    cpdef outside(self, double[::1] low, double[::1] high, double reach, const int[::1] active)
