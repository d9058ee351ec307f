cpdef void covector_around(
    const double[:, ::1] X, Py_ssize_t i, double y, const double[:, ::1] entry, double[::1] z
) noexcept
