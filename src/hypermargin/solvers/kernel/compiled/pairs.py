# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sequential minimal optimisation: two coefficients at a time, in double precision.

Minimises ``beta'K beta/2 - y.beta`` over ``low <= beta <= high`` with the sum of beta kept. Each step moves weight from
one coefficient to another: from the one with the least gradient among those that can grow, together with the partner
that promises the largest decrease (the second-order choice of Fan, Chen and Lin, Working set selection using
second order information for training support vector machines, 2005).

The samples may be some of a larger matrix, in runs of consecutive rows, so that the problems of all pairs of classes
share one matrix that nobody copies.

Compiled by Cython at installation, with the C types of `pairs.pxd`; without a compiler the interpreter runs this file.
"""

import cython
import numpy as np

INFINITY = cython.declare(cython.double, float("inf"))


def minimise_pairs(
    K: cython.const[cython.double][:, ::1],
    gradient: cython.double[::1],
    beta: cython.double[::1],
    low: cython.const[cython.double][::1],
    high: cython.const[cython.double][::1],
    tol: cython.double,
    max_steps: cython.Py_ssize_t,
    runs=None,
):
    """Change beta and its gradient ``K beta - y`` in place until no pair violates optimality by more than `tol`.

    `runs` are the rows of K that the samples have, as pairs (first, one past the last); all of them where None. Returns
    the number of steps and the violation that is left: the largest gradient of a coefficient that can fall less the
    least gradient of one that can grow.
    """
    used = ((0, beta.shape[0]),) if runs is None else runs
    firsts, pasts = np.array(used, dtype=np.intp).T
    ends = np.cumsum(pasts - firsts)
    begins: cython.const[cython.Py_ssize_t][::1] = np.append(0, ends)
    aheads: cython.const[cython.Py_ssize_t][::1] = pasts - ends
    diagonal: cython.double[::1] = np.empty(beta.shape[0])
    steps: cython.Py_ssize_t[::1] = np.zeros(1, dtype=np.intp)
    violation: cython.double
    with cython.nogil:
        violation = minimise_runs(K, gradient, beta, low, high, tol, max_steps, begins, aheads, diagonal, steps)
    return steps[0], violation


def minimise_runs(
    K: cython.const[cython.double][:, ::1],
    gradient: cython.double[::1],
    beta: cython.double[::1],
    low: cython.const[cython.double][::1],
    high: cython.const[cython.double][::1],
    tol: cython.double,
    max_steps: cython.Py_ssize_t,
    begins: cython.const[cython.Py_ssize_t][::1],
    aheads: cython.const[cython.Py_ssize_t][::1],
    diagonal: cython.double[::1],
    steps: cython.Py_ssize_t[::1],
) -> cython.double:
    """`minimise_pairs` for code that has let go of the interpreter; returns the violation that is left.

    Run r has the samples ``begins[r] : begins[r + 1]``, whose rows of K are ``aheads[r]`` ahead of them. `diagonal` is
    room for n numbers, and the number of steps is added to ``steps[0]``.
    """
    n_runs: cython.Py_ssize_t = aheads.shape[0]
    i: cython.Py_ssize_t = -1
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    r: cython.Py_ssize_t
    row_i: cython.Py_ssize_t = 0
    row_j: cython.Py_ssize_t = 0
    own_row: cython.Py_ssize_t
    ahead: cython.Py_ssize_t
    step: cython.Py_ssize_t = 0
    best: cython.double
    bend: cython.double
    own: cython.double
    gain: cython.double
    excess: cython.double
    move: cython.double
    room_up: cython.double
    room_down: cython.double
    least: cython.double = INFINITY
    largest: cython.double = -INFINITY
    violation: cython.double
    for r in range(n_runs):
        ahead = aheads[r]
        for k in range(begins[r], begins[r + 1]):
            diagonal[k] = K[k + ahead, k + ahead]
            if beta[k] < high[k] and gradient[k] < least:
                least = gradient[k]
                i = k
                row_i = k + ahead
            if beta[k] > low[k] and gradient[k] > largest:
                largest = gradient[k]
    while True:
        violation = largest - least
        if i < 0 or not violation > tol or step >= max_steps:
            break
        j = -1
        best = 0.0
        own = diagonal[i]
        for r in range(n_runs):
            ahead = aheads[r]
            for k in range(begins[r], begins[r + 1]):
                if beta[k] > low[k] and gradient[k] > least:
                    bend = own + diagonal[k] - 2.0 * K[row_i, k + ahead]
                    if bend < 1e-12:
                        bend = 1e-12
                    excess = gradient[k] - least
                    gain = excess * excess
                    if gain > best * bend:
                        best = gain / bend
                        j = k
                        row_j = k + ahead
        if j < 0:
            break
        bend = own + diagonal[j] - 2.0 * K[row_i, row_j]
        if bend < 1e-12:
            bend = 1e-12
        move = (gradient[j] - least) / bend
        room_up, room_down = high[i] - beta[i], beta[j] - low[j]
        if move >= room_up and room_up <= room_down:
            move = room_up
            beta[i] = high[i]
            beta[j] = low[j] if room_down == room_up else beta[j] - move
        elif move >= room_down:
            move = room_down
            beta[i] += move
            beta[j] = low[j]
        else:
            beta[i] += move
            beta[j] -= move
        i = -1
        least = INFINITY
        largest = -INFINITY
        own_row = row_i
        for r in range(n_runs):
            ahead = aheads[r]
            for k in range(begins[r], begins[r + 1]):
                gradient[k] += move * (K[own_row, k + ahead] - K[row_j, k + ahead])
                if beta[k] < high[k] and gradient[k] < least:
                    least = gradient[k]
                    i = k
                    row_i = k + ahead
                if beta[k] > low[k] and gradient[k] > largest:
                    largest = gradient[k]
        step += 1
    steps[0] += step
    return violation
