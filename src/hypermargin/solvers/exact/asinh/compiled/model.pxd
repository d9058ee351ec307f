cdef class Model:
    cdef Py_ssize_t k
    cdef double[::1] centre
    cdef double[::1] radius
    cdef double b  # the settled samples in coordinates of the box
    cdef double[::1] g
    cdef double[:, ::1] M
    cdef double form_b  # q/2 in the same coordinates; its matrix is diagonal
    cdef double[::1] form_g
    cdef double[::1] form_G
    cdef double least  # of every entry of D, so that the model is strictly convex
    cdef double lam
    cdef double[:, ::1] A  # A + D for the lam at hand
    cdef double[::1] D
    cdef double base_b  # offset and slope of all but the cuts, for that lam
    cdef double[::1] base_g
    cdef Py_ssize_t n_cuts
    cdef double[::1] cut_b
    cdef double[:, ::1] cut_g
    cdef double[:, ::1] points  # where the cuts touch
    cdef double[::1] theta
    cdef double[::1] slope  # of base and weighted cuts
    cdef double[::1] x  # the minimiser
    cdef double[:, ::1] vectors  # room for calculations
    cdef double[:, ::1] work
    cdef double[:, ::1] factor
    cdef double[::1] step
    cdef int[::1] free
    cpdef void start(self, double[::1] centre, double[::1] radius, double[::1] sums, double least) noexcept
    cpdef void choose(self, double lam) noexcept
    cpdef void add_cut(self, double value, double[::1] slope, double[::1] x) noexcept
    cpdef double value(self, double cut_value, double[::1] x) noexcept
    cpdef double multiplier(self) noexcept
    cpdef double solve(self) noexcept
    cpdef double bound(self) noexcept
    cpdef void round_minimiser(self, double scale) noexcept
    cdef double _cut_value(self, Py_ssize_t c) noexcept
    cdef void _combine(self) noexcept
    cdef void _exchange(self, Py_ssize_t best, Py_ssize_t worst) noexcept
    cdef void _minimise(self) noexcept
    cdef double _gradient(self, Py_ssize_t i) noexcept
    cdef void _sweep(self) noexcept
    cdef bint _newton(self, Py_ssize_t n) noexcept
    cdef void _make_convex(self) noexcept
    cdef void _rotate(self, Py_ssize_t p, Py_ssize_t q) noexcept
