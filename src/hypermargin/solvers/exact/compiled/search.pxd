from hypermargin.solvers.exact.compiled.cuts cimport CutPool
from hypermargin.solvers.exact.compiled.evaluator cimport Evaluator
from hypermargin.solvers.exact.compiled.master cimport Master
from hypermargin.solvers.exact.compiled.region cimport Region


cdef class Leaf:
    cdef readonly Region region
    cdef readonly object box
    cdef readonly bint exhausted

cdef class Search:
    cdef readonly Py_ssize_t dim
    cdef readonly bint timelike_allowed
    cdef readonly object oracle
    cdef readonly CutPool pool
    cdef readonly Evaluator evaluator
    cdef Master master
    cdef Region above
    cdef Region below
    cdef double[::1] point
    cdef list heap
    cdef Py_ssize_t pushed
    cdef bint started
    cdef object make_source
    cdef object source
    cdef readonly list history
    cdef public dict shares
    cdef public list tail_cuts
    cdef public object hint
    cdef readonly Py_ssize_t n_splits
    cdef readonly double tol
    cdef readonly double deadline
    cdef public double aim_share
    cdef public double least_aim
    cdef public Py_ssize_t passes_per_step
    cdef _to_apex(self, double time)
    cdef _nearest_tail(self, double sign)
    cdef _add_half(self, Region region, tuple tail)
    cdef _advance(self, double tol)
    cpdef int passes(self, Leaf leaf, double tol, double rival)
    cdef _push(self, Leaf leaf)
    cdef bint _split(self, Leaf leaf)
