cdef class ThresholdSearch:
    cdef Py_ssize_t n_classes
    cdef Py_ssize_t least  # samples on each side
    cdef double least_weight
    cdef bint by_entropy
    cdef double[::1] scores  # of the samples of a node, unsorted
    cdef int[::1] labels
    cdef double[::1] weights
    cdef double[::1] total  # weight of each class in the node
    cdef double[::1] left  # weight of each class at or below the place of the scan
    cdef double left_weight
    cdef double right_weight
    cdef double left_purity  # sums over classes of squares, or of v log v
    cdef double right_purity
    cdef double[::1] keys
    cdef int[::1] places
    cdef double[::1] pivots
    cdef int[::1] pivot_places
    cdef Py_ssize_t n_pivots
    cdef double[:, ::1] bin_weights
    cdef int[::1] bin_counts
    cdef int[::1] bin_of
    cdef double threshold  # the best found,
    cdef double purity  # and its purity; -infinity where nothing can be parted
    cdef void search(self, Py_ssize_t n) noexcept nogil
    cdef void _begin(self) noexcept nogil
    cdef void _pass_over(self, Py_ssize_t k, double weight) noexcept nogil
    cdef double _purity_here(self) noexcept nogil
    cdef bint _allowed(self, Py_ssize_t below, Py_ssize_t n) noexcept nogil
    cdef double _term(self, double v) noexcept nogil
    cdef void _scan_sorted(self, Py_ssize_t low, Py_ssize_t high, Py_ssize_t below, Py_ssize_t n) noexcept nogil
    cdef void _choose_pivots(self, Py_ssize_t n) noexcept nogil
    cdef void _fill_bins(self, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t _best_bin(self, Py_ssize_t n) noexcept nogil
    cdef void _refine(self, Py_ssize_t bin, Py_ssize_t n) noexcept nogil

cdef void sort_pairs(double[::1] keys, int[::1] places, Py_ssize_t low, Py_ssize_t high) noexcept nogil
cdef void _swap(double[::1] keys, int[::1] places, Py_ssize_t i, Py_ssize_t j) noexcept nogil
cdef void _quick(double[::1] keys, int[::1] places, Py_ssize_t low, Py_ssize_t high, int rounds) noexcept nogil
cdef void _insert(double[::1] keys, int[::1] places, Py_ssize_t low, Py_ssize_t high) noexcept nogil
cdef void _heap(double[::1] keys, int[::1] places, Py_ssize_t low, Py_ssize_t high) noexcept nogil
cdef void _sift(double[::1] keys, int[::1] places, Py_ssize_t low, Py_ssize_t i, Py_ssize_t n) noexcept nogil
