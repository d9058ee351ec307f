cpdef void covector_around(
    const double[:, ::1] X, const double[:] y, Py_ssize_t i, const double[:, ::1] entry, double[::1] z
) noexcept
cpdef (double, double, double) ball_member(
    double[::1] z, const double[:, ::1] normals, Py_ssize_t j, double q, double cosh, double sinh, bint around, bint flat
) noexcept
cdef double _tangent_part(double[::1] z, const double[:, ::1] normals, Py_ssize_t j, double m, double e_m) noexcept
cdef double _corner_step(
    double[::1] a, double blur, int kind, double rho, double inside, double[::1] z
) noexcept
cdef double _round_step(
    double[::1] a, double least, double rho, double inside, const double[:, :, ::1] shape, const double[::1] shape_size,
    Py_ssize_t i, double[::1] turned, double[::1] z
) noexcept
