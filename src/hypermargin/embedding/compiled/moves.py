# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Steps of the neighbourhood objective: each moves one node along its gradient while all others stay.

The formulas are in `embedding/neighbourhoods.py`. Compiled by Cython at installation; without a compiler the
interpreter runs the same file.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import cosh, sinh, sqrt
else:
    from math import cosh, sinh, sqrt

#: Added to ``sinh^2 d``, so that nodes at the same place have a bounded gradient; rounding at radius 12 is less.
SOFTENING = cython.declare(cython.double, 1e-4)
#: The share of the old value in running means of the squared gradient and of the sum of affinities: means over about
#: ten visits of a node, after which it has moved too far for older ones to count.
KEPT = cython.declare(cython.double, 0.9)


def move_nodes(
    X: cython.double[:, ::1],
    order: cython.const[cython.Py_ssize_t][::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    joined: cython.const[cython.Py_ssize_t][::1],
    pulls: cython.const[cython.double][::1],
    degrees: cython.const[cython.double][::1],
    walked: cython.const[cython.Py_ssize_t][:, ::1],
    walk_weight: cython.double,
    rivals: cython.const[cython.Py_ssize_t][:, ::1],
    drawn: cython.const[cython.Py_ssize_t][:, ::1],
    drawn_weight: cython.double,
    sums: cython.double[::1],
    speeds: cython.double[::1],
    step: cython.double,
    largest_space: cython.double,
):
    """Move the nodes of `order` one after the other.

    Parameters
    ----------
    X : (n, d + 1) array
        Lorentz points, which are moved.
    order : (m,) array
        Nodes; rows of `walked`, `rivals` and `drawn` belong to their places in it.
    starts, joined, pulls : (n + 1,), (k,) and (k,) arrays
        The neighbours of node i are ``joined[starts[i] : starts[i + 1]]``, with the weights of their attractions.
    degrees : (n,) array
        The sum of the weights of each node's edges.
    walked : (m, t) array
        Where t walks of two steps from each node have ended; the node itself where one came back.
    walk_weight : float
        The weight of the attraction of one walk.
    rivals, drawn : (m, r) and (m, s) arrays
        Nodes that repel with weight 1 and with weight `drawn_weight`.
    sums, speeds : (n,) arrays
        Running means of each node's sum of affinities and squared gradient; 0 before the first visit.
    step : float
        The length of a usual step.
    largest_space : float
        ``|xr|`` at most.
    """
    width = X.shape[1]
    attraction: cython.double[::1] = np.empty(width)
    own: cython.double[::1] = np.empty(width)
    other: cython.double[::1] = np.empty(width)
    with cython.nogil:
        for place in range(order.shape[0]):
            i = order[place]
            for k in range(width):
                attraction[k] = own[k] = other[k] = 0.0
            total: cython.double = 0.0
            for e in range(starts[i], starts[i + 1]):
                _attract(X, i, joined[e], pulls[e], attraction)
            for t in range(walked.shape[1]):
                j = walked[place, t]
                if j != i:
                    _attract(X, i, j, walk_weight * (1.0 + degrees[i] / degrees[j]), attraction)
            for k in range(rivals.shape[1]):
                total += _repel(X, i, rivals[place, k], 1.0, sums, own, other)
            for k in range(drawn.shape[1]):
                total += _repel(X, i, drawn[place, k], drawn_weight, sums, own, other)
            if total > 0.0:
                sums[i] = total if sums[i] == 0.0 else KEPT * sums[i] + (1.0 - KEPT) * total
                for k in range(width):
                    attraction[k] -= own[k] / sums[i] + other[k]
            _step(X, i, attraction, speeds, step, largest_space)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _product(X: cython.double[:, ::1], i: cython.Py_ssize_t, j: cython.Py_ssize_t) -> cython.double:
    """``cosh d``, the Minkowski product of two nodes."""
    product: cython.double = X[i, 0] * X[j, 0]
    for k in range(1, X.shape[1]):
        product -= X[i, k] * X[j, k]
    return product if product > 1.0 else 1.0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _attract(
    X: cython.double[:, ::1],
    i: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    weight: cython.double,
    force: cython.double[::1],
) -> cython.void:
    """Add ``weight`` times the direction from i to j, times 2, the slope of ``2 d``."""
    cosine = _product(X, i, j)
    sine = sqrt(cosine * cosine - 1.0 + SOFTENING)
    factor = 2.0 * weight / sine
    for k in range(X.shape[1]):
        force[k] += factor * (X[j, k] - cosine * X[i, k])


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _repel(
    X: cython.double[:, ::1],
    i: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    weight: cython.double,
    sums: cython.double[::1],
    own: cython.double[::1],
    other: cython.double[::1],
) -> cython.double:
    """Add the repulsion of j by the sum of i, to be divided by it, and by that of j; returns the affinity."""
    if i == j:
        return 0.0
    cosine = _product(X, i, j)
    sine = sqrt(cosine * cosine - 1.0 + SOFTENING)
    root = cosine + sine
    affinity = weight / (root * root)
    factor = 2.0 * affinity / sine
    inverse = 1.0 / sums[j] if sums[j] > 0.0 else 0.0
    for k in range(X.shape[1]):
        along = factor * (X[j, k] - cosine * X[i, k])
        own[k] += along
        other[k] += along * inverse
    return affinity


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _step(
    X: cython.double[:, ::1],
    i: cython.Py_ssize_t,
    force: cython.double[::1],
    speeds: cython.double[::1],
    step: cython.double,
    largest_space: cython.double,
) -> cython.void:
    """Move node i along a tangent vector, by `step` where that is as long as it usually was, and twice that at most."""
    width = X.shape[1]
    square: cython.double = -force[0] * force[0]
    for k in range(1, width):
        square += force[k] * force[k]
    if not square > 0.0:
        return
    speeds[i] = square if speeds[i] == 0.0 else KEPT * speeds[i] + (1.0 - KEPT) * square
    length = step * sqrt(square / speeds[i])
    if length > 2.0 * step:
        length = 2.0 * step
    stretch = cosh(length)
    factor = sinh(length) / sqrt(square)
    space: cython.double = 0.0
    for k in range(1, width):
        X[i, k] = stretch * X[i, k] + factor * force[k]
        space += X[i, k] * X[i, k]
    if space > largest_space * largest_space:
        shrink = largest_space / sqrt(space)
        for k in range(1, width):
            X[i, k] *= shrink
        space = largest_space * largest_space
    X[i, 0] = sqrt(1.0 + space)
