cpdef bint move_normal(
    const double[:] w, const double[:] low, const double[:] centre, double[::1] moved, double[::1] errors
)
