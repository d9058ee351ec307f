cpdef cut_sums(
    const double[:, ::1] X, const double[:] y, const double[:] costs, const double[:] reaches, bint weighted,
    const double[:, ::1] entry, const double[:, ::1] points, double threshold, const Py_ssize_t[::1] apart,
    const Py_ssize_t[::1] starts, double largest, double roundings, double reach_factor
)
cpdef selected_sums(
    const double[:, ::1] X, const double[:] y, const double[:] costs, const double[:] reaches, bint weighted,
    const double[:, ::1] entry, const double[:, ::1] points, double threshold, const Py_ssize_t[::1] apart,
    const Py_ssize_t[::1] starts, double[:, ::1] sums, double[::1] sigma
)
cpdef assembled(
    double[:, ::1] sums, double[::1] sigma, double factor, bint weighted, double roundings, double reach_factor,
    Py_ssize_t n
)
cpdef double gamma_of(double n) noexcept
cpdef double power_of_two_above(double value) noexcept
cpdef tuple enclosed_risk(
    const double[:, ::1] X, const double[:] y, const double[:] costs, const double[:] reaches,
    const double[:, ::1] entry, const double[::1] w, double roundings, double reach_factor, const double[::1] w_errors
)
