cdef void find_centre(
    const double[:, ::1] X, int[::1] rows, double[::1] costs, Py_ssize_t count, double[::1] centre
) noexcept nogil
cdef void onto_hyperboloid(double[::1] centre) noexcept nogil
cdef void to_frame(
    const double[:, ::1] X,
    const int[::1] labels,
    int[::1] rows,
    Py_ssize_t count,
    double[::1] side,
    double[::1] centre,
    double[:, ::1] Z
) noexcept nogil
cdef void from_frame(double[::1] w, double[::1] centre, double[::1] covector) noexcept nogil
