cimport cython
from hypermargin.solvers.exact.compiled.cuts cimport CutPool

cpdef double phi(double s, double A) noexcept


@cython.final
cdef class Master:
    cdef CutPool pool
    cdef Py_ssize_t dim
    cdef double sign
    cdef double kappa
    cdef bint has_chord
    cdef double[::1] u
    cdef Py_ssize_t count  # active columns
    cdef Py_ssize_t[::1] active  # their numbers; -1 is the chord
    cdef double[::1] lam
    cdef double noise  # what rounding may have done to the slope of the minorant
    cdef double[::1] step
    cdef double[:, ::1] K
    cdef double[:, ::1] D
    cdef double[::1] length
    cdef Py_ssize_t reference
    cdef double[::1] wr  # the primal solution,
    cdef double level  # the common value of the active cuts there
    cdef double mu  # and the factor for which it was found; below 1 it is not spacelike
    cdef double[::1] slope  # G lam
    cdef double b  # the combined minorant: offset,
    cdef double a  # slope in s
    cdef double A  # and norm of the space part
    cpdef clear(self)
    cpdef enter(self, double sign, bint has_chord, double kappa, double[::1] u)
    cpdef double optimise(self, double s, double target)
    cdef double _norm(self, double[::1] v) noexcept
    cdef double _beta(self, Py_ssize_t c, double s) noexcept
    cdef double _value(self, Py_ssize_t c, double s) noexcept
    cdef double _entry(self, Py_ssize_t c, Py_ssize_t j) noexcept
    cdef void _drop(self, Py_ssize_t i) noexcept
    cdef void _combine(self, double mu) noexcept
    cdef void _point(self, double s, double mu) noexcept
    cdef bint _is_uneven(self, double s) noexcept
    cdef void _level_out(self, double s) noexcept
    cdef void _differences(self) noexcept
    cdef double _dot(self, Py_ssize_t i, Py_ssize_t k) noexcept
    cdef void _solve_gram(self, Py_ssize_t m) noexcept
    cdef void _solve_active(self, double s, double mu) noexcept
    cdef bint _add(self, Py_ssize_t column) noexcept
    cdef void _to_optimum(self, double s, double mu) noexcept
    cdef Py_ssize_t _violated_column(self, double s) noexcept
    cdef void _quadratic_programme(self, double s, double mu) noexcept
