cpdef void covector_columns(
    const double[:, :] X, const double[:] y, Py_ssize_t first, const double[:, ::1] entry, double[:, ::1] points,
    double[:, ::1] Z, Py_ssize_t at
) noexcept
