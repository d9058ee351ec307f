from hypermargin.certificates.asinh.compiled.losses cimport BoxLosses


cdef class Samples(BoxLosses):
    cdef double cutoff
    cdef double[::1] loss_left  # the loss at the left end of each interval,
    cdef double[::1] slope  # the slope of the chord from there,
    cdef double[::1] until  # and where the chord ends
    cdef void _set_envelope(self, Py_ssize_t e) noexcept
