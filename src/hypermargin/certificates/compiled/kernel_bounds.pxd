cdef class Family:
    cdef const double[:, ::1] K
    cdef const Py_ssize_t[::1] starts
    cdef const Py_ssize_t[::1] run_starts
    cdef const Py_ssize_t[::1] begins
    cdef const Py_ssize_t[::1] aheads
    cdef const double[::1] y
    cdef const double[::1] costs
    cdef void add_products(self, Py_ssize_t p, const double[::1] beta, double[::1] sums, bint absolute) noexcept nogil
