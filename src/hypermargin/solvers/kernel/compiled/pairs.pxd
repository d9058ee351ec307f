cpdef double minimise_runs(
    const double[:, ::1] K,
    double[::1] gradient,
    double[::1] beta,
    const double[::1] low,
    const double[::1] high,
    double tol,
    Py_ssize_t max_steps,
    const Py_ssize_t[::1] begins,
    const Py_ssize_t[::1] aheads,
    double[::1] diagonal,
    Py_ssize_t[::1] steps,
) noexcept nogil
