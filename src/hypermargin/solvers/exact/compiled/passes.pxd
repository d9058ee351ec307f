cdef class Pass:
    cdef double[:, ::1] Z
    cdef const double[:] costs
    cdef Py_ssize_t n
    cdef double threshold
    cdef double risk
    cdef double b
    cdef void load(self, double[::1] values, Py_ssize_t i, Py_ssize_t m, double* out) noexcept
    cdef void combine(self, double[:, ::1] columns, double[::1] w, Py_ssize_t i, Py_ssize_t m, double* out) noexcept
    cdef void roots(self, double* values, Py_ssize_t m) noexcept
    cdef double sum(self, double* values, Py_ssize_t m) noexcept
    cdef void subtract_columns(self, double* weights, Py_ssize_t i, Py_ssize_t m, double[::1] g) noexcept
    cdef void load_costs(self, Py_ssize_t i, Py_ssize_t m, double* costs) noexcept
    cdef void hinge(self, double[::1] w, double[::1] g) noexcept
    cdef void choose(self, double* worst, double* costs, Py_ssize_t m, double* chosen) noexcept
