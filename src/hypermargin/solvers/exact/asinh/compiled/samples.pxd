from hypermargin.certificates.asinh.compiled.losses cimport BoxLosses


cdef class Samples(BoxLosses):
    cdef double cutoff
    cdef double[::1] loss_left  # the loss at the left end of each interval,
    cdef double[::1] slope  # the slope of the chord from there,
    cdef double[::1] until  # and where the chord ends
    cpdef bint settle_below(self, double[::1] centre, double[::1] radius, const int[::1] active, double cutoff, double allowed, double[::1] sums, bint handed_down) except -1
    cpdef double cut(self, double[::1] point, double[::1] slope) noexcept
    cpdef void shortfall(self, double[::1] point, double[::1] radius, double[::1] parts) noexcept
    cdef void _set_envelope(self, Py_ssize_t e) noexcept
