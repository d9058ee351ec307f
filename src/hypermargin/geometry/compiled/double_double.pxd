cdef struct Pair:
    double h
    double l

cdef Pair _sum_of(double a, double b) noexcept nogil
cdef Pair _normalised(double a, double b) noexcept nogil
cdef Pair _product_of(double a, double b) noexcept nogil
cdef Pair _plus(Pair x, Pair y) noexcept nogil
cdef Pair _times(Pair x, Pair y) noexcept nogil
cdef Pair _over(Pair x, Pair y) noexcept nogil
cdef Pair _root(Pair x) noexcept nogil
cdef Pair _exact(double a) noexcept nogil
cdef Pair _negative(Pair x) noexcept nogil
cdef Pair _time(const double[:] centre) noexcept nogil
cdef double _rounded_product(Pair x, Pair y) noexcept nogil
cpdef bint move_normal(
    const double[:] w, const double[:] low, const double[:] centre, double[::1] moved, double[::1] errors
)
