cpdef cut_sums(
    const double[:, ::1] X, const double[:] y, const double[:] costs, bint weighted, const double[:, ::1] entry,
    const double[:, ::1] points, double threshold, const Py_ssize_t[::1] apart, const Py_ssize_t[::1] starts,
    double stretch, double reach_factor
)
