cimport cython
from hypermargin.solvers.exact.compiled.cuts cimport CutPool
from hypermargin.solvers.exact.compiled.passes cimport Pass
from hypermargin.solvers.exact.compiled.region cimport Region


@cython.final
cdef class SettledPass:
    cdef double[::1] centre  # the box,
    cdef double[::1] radii
    cdef Pass left  # the samples that are not settled,
    cdef double b  # and the affine term of those that are
    cdef double[::1] g
    cdef double share
    cdef bint holds(self, double[::1] w) noexcept
    cdef double hinge(self, double[::1] w, double[::1] g) noexcept


@cython.final
cdef class Evaluator:
    cdef CutPool pool
    cdef object oracle
    cdef bint in_memory
    cdef Pass data
    cdef double factor
    cdef bint timelike_allowed
    cdef double b  # offset
    cdef double[::1] g  # and slope of the last cut
    cdef double[::1] ray  # the lightlike point that is followed up,
    cdef double[::1] trial  # and a multiple of it
    cdef public double upper  # the best objective,
    cdef public Py_ssize_t best  # the cut of the pass that found it (0: none),
    cdef public Py_ssize_t passes  # the passes made
    cdef public Py_ssize_t most_passes  # and those allowed
    cdef public double work  # the passes in units of a read of all samples
    cdef list settled  # passes for boxes of w, the smallest box first
    cpdef begin(self, object oracle)
    cpdef double evaluate(self, double[::1] w)
    cdef double _hinge_pass(self, double[::1] w) noexcept
    cpdef double record(self, double[::1] w, double risk, double b, double[::1] g)
    cdef double _target(self, double tol) noexcept
    cpdef int rounds(self, Region region, double tol, double rival, Py_ssize_t most, list history)
    cpdef follow_up(self, double[::1] w, double tol)
