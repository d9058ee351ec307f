cpdef blocked_cut_sums(
    samples, const double[:, ::1] points, double threshold, const Py_ssize_t[::1] apart, const Py_ssize_t[::1] starts
)
cpdef split_cut_sums(
    samples, const double[:, ::1] points, double threshold, const Py_ssize_t[::1] apart, const Py_ssize_t[::1] starts
)
cpdef selected_sums(
    samples, const double[:, ::1] points, double threshold, const Py_ssize_t[::1] apart, const Py_ssize_t[::1] starts,
    double[:, ::1] sums, double[::1] sigma
)
cpdef assembled(
    double[:, ::1] sums, double[::1] sigma, double factor, bint weighted, double roundings, double reach_factor,
    Py_ssize_t n
)
cpdef double gamma_of(double n) noexcept
cpdef double power_of_two_above(double value) noexcept
cpdef tuple enclosed_risk(samples, const double[:] costs, const double[::1] w, const double[::1] w_errors)
