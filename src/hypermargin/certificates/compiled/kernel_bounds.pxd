cdef class Family:
    cdef const double[:, ::1] K
    cdef const Py_ssize_t[::1] starts
    cdef const Py_ssize_t[::1] run_starts
    cdef const Py_ssize_t[::1] begins
    cdef const Py_ssize_t[::1] aheads
    cdef const double[::1] y
    cdef const double[::1] costs
    cdef void add_products(self, Py_ssize_t p, const double[::1] beta, double[::1] sums, bint absolute) noexcept nogil


cdef double gamma_of(double n) noexcept
cpdef double risk_above(
    const double[::1] scores, const double[::1] errors, const double[::1] y, const double[::1] costs, double intercept
) noexcept
cpdef (double, double) form_bounds(const double[::1] beta, const double[::1] scores, const double[::1] errors) noexcept
cpdef enclose_family(
    Family family, const double[::1] beta, const double[::1] intercepts, double relative, double absolute,
    double[::1] lower, double[::1] upper
)
cdef bint _is_dual_point(const double[::1] beta, const double[::1] y, const double[::1] costs) noexcept
