from hypermargin.estimators.forest.compiled.separator cimport Separator
from hypermargin.estimators.forest.compiled.threshold cimport ThresholdSearch

cdef class Grower:
    cdef const double[:, ::1] X
    cdef const int[::1] labels
    cdef const double[::1] weights
    cdef Py_ssize_t width
    cdef Py_ssize_t n_classes
    cdef Py_ssize_t depth_limit
    cdef Py_ssize_t least
    cdef Py_ssize_t[::1] least_with  # the same in nodes with a class: no more than it has samples
    cdef Py_ssize_t n_candidates
    cdef Py_ssize_t most_per_group
    cdef double C
    cdef double[::1] chances
    cdef Separator separator
    cdef ThresholdSearch search
    cdef unsigned long long state  # of the random numbers
    cdef int[::1] order  # samples of the tree; those of a node are consecutive
    cdef int[::1] spare
    cdef Py_ssize_t[:, ::1] stack  # start, end, depth and number of nodes to be opened
    cdef Py_ssize_t waiting
    cdef Py_ssize_t start  # the node that is open
    cdef Py_ssize_t end
    cdef Py_ssize_t depth
    cdef Py_ssize_t node
    cdef Py_ssize_t n_present
    cdef int[::1] present  # classes in the node
    cdef double[::1] side  # +1, -1, or 0 where a class sits out, of each class
    cdef double[:, ::1] centroids  # of the classes in the node
    cdef Py_ssize_t sampled
    cdef int[::1] sample  # rows of X
    cdef double[::1] centre
    cdef double curve_chance
    cdef double[::1] normal  # as a covector: the score is its scalar product with a point
    cdef double[::1] best_normal
    cdef double best_threshold
    cdef double best_purity
    cdef Py_ssize_t n_nodes
    cdef Py_ssize_t n_splits
    cdef Py_ssize_t n_leaves
    cdef int[:, ::1] children
    cdef int[::1] slot
    cdef double[:, ::1] splits
    cdef double[:, ::1] values
    cdef double[::1] masses
    cdef bint _run(self) noexcept nogil
    cdef bint _open(self) noexcept nogil
    cdef void _leaf(self) noexcept nogil
    cdef void _draw(self) noexcept nogil
    cdef void _choose_groups(self) noexcept nogil
    cdef void _find_centroids(self) noexcept nogil
    cdef void _choose_sample(self) noexcept nogil
    cdef void _separate(self) noexcept nogil
    cdef void _try_normal(self) noexcept nogil
    cdef void _try_curve(self) noexcept nogil
    cdef void _try_hyperplane(self) noexcept nogil
    cdef void _keep(self, double threshold) noexcept nogil
    cdef void _score(self, double[::1] normal) noexcept nogil
    cdef void _close(self) noexcept nogil
    cdef double _uniform(self) noexcept nogil
    cdef Py_ssize_t _below(self, Py_ssize_t n) noexcept nogil

cdef void groups_by_seeds(double[:, ::1] centroids, int[::1] present, Py_ssize_t count, double[::1] side) noexcept nogil
cdef void groups_by_ancestors(
    double[:, ::1] centroids, int[::1] present, Py_ssize_t count, double[::1] root, double[::1] side
) noexcept nogil
cdef double _product(double[::1] a, double[::1] b) noexcept nogil
cdef double _depth(double pq, double rp, double rq) noexcept nogil
