# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""From points to leaves: which leaf of a tree each point falls in, and sums of the leaves' values.

Compiled by Cython at installation; without a compiler the interpreter runs it.
"""

import cython


def find_leaves(
    X: cython.const[cython.double][:, ::1],
    children: cython.const[cython.int][:, ::1],
    slot: cython.const[cython.int][::1],
    splits: cython.const[cython.double][:, ::1],
    leaves: cython.int[::1],
):
    """Write the number of the leaf (node) of each row of X, shape (n, d + 1), to `leaves`, shape (n,)."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    node: cython.int
    width: cython.Py_ssize_t = X.shape[1]
    split: cython.Py_ssize_t
    score: cython.double
    with cython.nogil:
        for i in range(X.shape[0]):
            node = 0
            while children[node, 0] >= 0:
                split = slot[node]
                score = 0.0
                for j in range(width):
                    score += X[i, j] * splits[split, j]
                node = children[node, 1] if score > splits[split, width] else children[node, 0]
            leaves[i] = node


def add_values(
    leaves: cython.const[cython.int][::1],
    slot: cython.const[cython.int][::1],
    values: cython.const[cython.double][:, ::1],
    total: cython.double[:, ::1],
):
    """Add the values of the leaves, shape (n,), to the rows of `total`, shape (n, n_classes)."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    row: cython.Py_ssize_t
    with cython.nogil:
        for i in range(leaves.shape[0]):
            row = slot[leaves[i]]
            for k in range(values.shape[1]):
                total[i, k] += values[row, k]
