# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Two groups of the classes of a node, by where the centroids of the classes lie.

Compiled by Cython at installation, with the C types of `groups.pxd`; without a compiler the interpreter runs it.
Throughout `centroids` (n_classes, d + 1) are Lorentz points, `present` names the classes of the node in its first
`count` entries, and `side` (n_classes,) receives +1 or -1 for each of these.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt


def groups_by_seeds(
    centroids: cython.double[:, ::1], present: cython.int[::1], count: cython.Py_ssize_t, side: cython.double[::1]
) -> cython.void:
    """Put each class with the nearer of the two seeds, which are those that have a side already."""
    i: cython.Py_ssize_t
    plus: cython.Py_ssize_t = 0
    minus: cython.Py_ssize_t = 0
    for i in range(count):
        if side[present[i]] > 0.0:
            plus = present[i]
        elif side[present[i]] < 0.0:
            minus = present[i]
    for i in range(count):
        if present[i] != plus and present[i] != minus:  # the product is cosh of the distance
            side[present[i]] = (
                1.0
                if _product(centroids[present[i]], centroids[plus]) < _product(centroids[present[i]], centroids[minus])
                else -1.0
            )


def groups_by_ancestors(
    centroids: cython.double[:, ::1],
    present: cython.int[::1],
    count: cython.Py_ssize_t,
    root: cython.double[::1],
    side: cython.double[::1],
) -> cython.void:
    """Merge the two groups whose lowest common ancestor lies deepest below the root until two groups are left.

    The ancestor of two points is the point of the geodesic between them that is nearest to the root (Chami et al.,
    From trees to continuous embeddings and back, 2020). It stands for the merged group, so `centroids` are overwritten.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    kept: cython.Py_ssize_t
    lost: cython.Py_ssize_t
    merges: cython.Py_ssize_t = count - 2
    depth: cython.double
    deepest: cython.double
    pq: cython.double
    rp: cython.double
    rq: cython.double
    alpha: cython.double
    beta: cython.double
    length: cython.double
    for i in range(count):  # a side of a + 2 says: in the group that the a-th class stands for
        side[present[i]] = i + 2.0
    while merges > 0:
        merges -= 1
        kept, lost, deepest = 0, 1, -1.0
        for i in range(count):
            if side[present[i]] != i + 2.0:
                continue
            rp = _product(root, centroids[present[i]])
            for j in range(i + 1, count):
                if side[present[j]] == j + 2.0:
                    pq = _product(centroids[present[i]], centroids[present[j]])
                    depth = _depth(pq, rp, _product(root, centroids[present[j]]))
                    if depth > deepest:
                        kept, lost, deepest = i, j, depth
        pq = _product(centroids[present[kept]], centroids[present[lost]])
        rp, rq = _product(root, centroids[present[kept]]), _product(root, centroids[present[lost]])
        alpha, beta = max(pq * rq - rp, 0.0), max(pq * rp - rq, 0.0)
        length = sqrt(alpha * alpha + beta * beta + 2.0 * alpha * beta * pq)
        if length > 0.0:  # else the two are one point
            for k in range(centroids.shape[1]):
                centroids[present[kept], k] = (
                    alpha * centroids[present[kept], k] + beta * centroids[present[lost], k]
                ) / length
        for i in range(count):
            if side[present[i]] == lost + 2.0:
                side[present[i]] = kept + 2.0
    for i in range(1, count):
        side[present[i]] = 1.0 if side[present[i]] == 2.0 else -1.0
    side[present[0]] = 1.0


def _product(a: cython.double[::1], b: cython.double[::1]) -> cython.double:
    """Minkowski's product ``a_0 b_0 - a_1 b_1 - ...``."""
    j: cython.Py_ssize_t
    product: cython.double = a[0] * b[0]
    for j in range(1, a.shape[0]):
        product -= a[j] * b[j]
    return product


def _depth(pq: cython.double, rp: cython.double, rq: cython.double) -> cython.double:
    """``cosh^2`` of the distance from r to the geodesic between p and q, from the products of the three points.

    The foot is ``alpha p + beta q`` with ``alpha ~ pq rq - rp`` and ``beta ~ pq rp - rq``; where one of these is
    negative the other end is nearest.
    """
    if pq * rq <= rp:
        return rq * rq
    if pq * rp <= rq:
        return rp * rp
    return (2.0 * pq * rp * rq - rp * rp - rq * rq) / (pq * pq - 1.0)
