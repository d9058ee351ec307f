cpdef void covectors_around(
    const double[:, ::1] X, const double[:] y, Py_ssize_t first, const double[:, ::1] entry, double[:, ::1] Z
) noexcept
