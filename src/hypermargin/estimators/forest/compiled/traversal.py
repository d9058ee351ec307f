# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""From points to leaves and from leaves to values: where points fall, sums of values, shares, shares drawn upwards.

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
    node: cython.int
    width: cython.Py_ssize_t = X.shape[1]
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
    with cython.nogil:
        for i in range(leaves.shape[0]):
            row = slot[leaves[i]]
            for k in range(values.shape[1]):
                total[i, k] += values[row, k]


def count_samples(
    leaves: cython.const[cython.int][::1],
    slot: cython.const[cython.int][::1],
    labels: cython.const[cython.int][::1],
    weights: cython.const[cython.double][::1],
    values: cython.double[:, ::1],
    masses: cython.double[::1],
):
    """Write the shares of the classes among the samples of each leaf to `values`, and their weight to `masses`."""
    with cython.nogil:
        for row in range(masses.shape[0]):
            masses[row] = 0.0
            for k in range(values.shape[1]):
                values[row, k] = 0.0
        for i in range(leaves.shape[0]):
            row = slot[leaves[i]]
            masses[row] += weights[i]
            values[row, labels[i]] += weights[i]
        for row in range(masses.shape[0]):
            for k in range(values.shape[1]):
                values[row, k] /= masses[row]


def shrink_values(
    children: cython.const[cython.int][:, ::1],
    slot: cython.const[cython.int][::1],
    values: cython.double[:, ::1],
    masses: cython.const[cython.double][::1],
    table: cython.double[:, ::1],
    strength: cython.double,
):
    """Draw the values of all leaves towards those of the nodes above them, in place.

    From a node of mass m to a child the values change by ``1/(1 + strength/m)`` of what they would: hierarchical
    shrinkage (Agarwal and others, 2022). `table` is room for the values of all nodes and their masses, shape
    (n_nodes, n_classes + 1). Children have larger numbers than their parents.
    """
    n_classes: cython.Py_ssize_t = values.shape[1]
    share: cython.double
    shortened: cython.double
    plain: cython.double
    with cython.nogil:
        for i in range(slot.shape[0] - 1, -1, -1):
            if children[i, 0] < 0:
                table[i, n_classes] = masses[slot[i]]
                for k in range(n_classes):
                    table[i, k] = values[slot[i], k]
            else:
                table[i, n_classes] = table[children[i, 0], n_classes] + table[children[i, 1], n_classes]
                share = table[children[i, 0], n_classes] / table[i, n_classes]
                for k in range(n_classes):
                    table[i, k] = share * table[children[i, 0], k] + (1.0 - share) * table[children[i, 1], k]
        # Downwards. The plain values of a parent are those of its children, weighted by their masses.
        for i in range(slot.shape[0]):
            if children[i, 0] < 0:
                for k in range(n_classes):
                    values[slot[i], k] = table[i, k]
                continue
            shortened = 1.0 / (1.0 + strength / table[i, n_classes])
            share = table[children[i, 0], n_classes] / table[i, n_classes]
            for k in range(n_classes):
                plain = share * table[children[i, 0], k] + (1.0 - share) * table[children[i, 1], k]
                for side in range(2):
                    child = children[i, side]
                    table[child, k] = table[i, k] + shortened * (table[child, k] - plain)
