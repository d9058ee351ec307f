cdef void sort_pairs(double[::1] keys, int[::1] places, Py_ssize_t low, Py_ssize_t high) noexcept nogil
cdef void _swap(double[::1] keys, int[::1] places, Py_ssize_t i, Py_ssize_t j) noexcept nogil
cdef void _quick(double[::1] keys, int[::1] places, Py_ssize_t low, Py_ssize_t high, int rounds) noexcept nogil
cdef void _insert(double[::1] keys, int[::1] places, Py_ssize_t low, Py_ssize_t high) noexcept nogil
cdef void _heap(double[::1] keys, int[::1] places, Py_ssize_t low, Py_ssize_t high) noexcept nogil
cdef void _sift(double[::1] keys, int[::1] places, Py_ssize_t low, Py_ssize_t i, Py_ssize_t n) noexcept nogil
