cpdef double gap_and_intercept(
    const Py_ssize_t[::1] order,
    const double[::1] gradient,
    const double[::1] beta,
    const double[::1] y,
    const double[::1] costs,
    double[::1] found,
) noexcept nogil

cpdef void balance_in_place(double[::1] beta, const double[::1] low, const double[::1] high, double unit) noexcept nogil
