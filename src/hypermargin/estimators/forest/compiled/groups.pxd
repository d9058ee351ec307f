cdef void groups_by_seeds(double[:, ::1] centroids, int[::1] present, Py_ssize_t count, double[::1] side) noexcept nogil
cdef void groups_by_ancestors(
    double[:, ::1] centroids, int[::1] present, Py_ssize_t count, double[::1] root, double[::1] side
) noexcept nogil
cdef double _product(double[::1] a, double[::1] b) noexcept nogil
cdef double _depth(double pq, double rp, double rq) noexcept nogil
