cimport cython
from hypermargin.solvers.exact.compiled.master cimport Master

@cython.final
cdef class Region:
    cdef Master master
    cdef readonly double sign  # of t
    cdef double kappa
    cdef bint has_chord
    cdef bint timelike_allowed
    cdef double[::1] u
    cdef Py_ssize_t nodes
    cdef double[::1] s  # positions of the nodes
    cdef double[::1] envelope  # E(s) there
    cdef Py_ssize_t[::1] top  # the minorant that is largest there
    cdef double[::1] relaxed  # smallest value of the relaxed objective seen there (infinite before a query)
    cdef Py_ssize_t[::1] stale  # queries in a row that did not raise the envelope there; from STALE on it is given up
    cdef double[::1] lower  # bound of the interval from node i to node i + 1 (to infinity for the last)
    cdef Py_ssize_t[::1] prover  # the minorant that gives it
    cdef Py_ssize_t minorants
    cdef double[::1] mb
    cdef double[::1] ma
    cdef double[::1] mA
    cdef double[::1] rise  # a - A, to more digits than that difference has where a minorant proves the tail,
    cdef Py_ssize_t[::1] is_tail  # which these do
    cdef Py_ssize_t[:, ::1] columns
    cdef double[:, ::1] weights
    cdef Py_ssize_t[::1] owner  # number, in `boxes`, of the box whose chord a minorant uses
    cdef list boxes
    cdef readonly double[::1] query  # where the risk is to be evaluated
    cdef Py_ssize_t here  # the node of the query
    cdef bint timelike  # the master's point there is timelike
    cdef bint lifted  # and the query was moved out to the light cone
    cdef _make_tables(self, Py_ssize_t room, Py_ssize_t width)
    cdef _clear(self, Py_ssize_t room)
    cpdef restart(self, double reach)
    cpdef int advance(self, double target)
    cpdef bint absorb(self, double relaxed, double target)
    cpdef double lower_bound(self) noexcept
    cpdef double combination(self, Py_ssize_t k, dict numbers, list cuts, list weights)
    cpdef list fewest_intervals(self, double bound)
    cdef _enter(self)
    cdef double _bound(self, Py_ssize_t k, double s) noexcept
    cdef void _prove(self, Py_ssize_t k, Py_ssize_t i, double left, double right) noexcept
    cdef Py_ssize_t _weakest_interval(self) noexcept
    cdef Py_ssize_t _choose_node(self, Py_ssize_t interval, double target)
    cdef double _crossing(self, Py_ssize_t i, Py_ssize_t j, double low, double high) noexcept
    cdef bint _resolved(self, Py_ssize_t i, Py_ssize_t interval, double target) noexcept
    cdef Py_ssize_t _insert(self, Py_ssize_t interval, double position)
    cdef double _minorant_at(self, double s, double target)
    cdef _keep(self, Py_ssize_t k)
    cdef Py_ssize_t _room(self)
