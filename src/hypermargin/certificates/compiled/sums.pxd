cpdef tuple enclosed_risk(samples, const double[:] costs, const double[::1] w, const double[::1] w_errors)
cdef void _choose(
    double[:, ::1] Z, const double[:, ::1] points, Py_ssize_t j, double threshold, Py_ssize_t m, double[::1] chosen
) noexcept
cdef double _product(double[::1] chosen, double[:, ::1] parts, Py_ssize_t k) noexcept
cdef double _careful_product(
    double[::1] chosen, double[:, ::1] parts, Py_ssize_t k, double[:, :, ::1] sums, Py_ssize_t j
) noexcept
cdef void _add_block(
    double[::1] block, double[:, :, ::1] sums, Py_ssize_t j, Py_ssize_t first, Py_ssize_t rows
) noexcept
cdef void _margins_and_errors(
    double[:, ::1] Z, const double[::1] w, double[::1] growths, double[::1] margins, double[::1] errors
) noexcept
