# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sequential minimal optimisation: two coefficients at a time, in double precision.

Minimises ``beta'K beta/2 - y.beta`` over ``low <= beta <= high`` with the sum of beta kept. Each step moves weight from
one coefficient to another: from the one with the least gradient among those that can grow, together with the partner
that promises the largest decrease (the second-order choice of Fan, Chen and Lin, Working set selection using
second order information for training support vector machines, 2005).

Compiled by Cython at installation; without a compiler the interpreter runs the same file.
"""

import cython
import numpy as np


def minimise_pairs(
    K: cython.const[cython.double][:, ::1],
    gradient: cython.double[::1],
    beta: cython.double[::1],
    low: cython.const[cython.double][::1],
    high: cython.const[cython.double][::1],
    tol: cython.double,
    max_steps: cython.Py_ssize_t,
):
    """Change beta and its gradient ``K beta - y`` in place until no pair violates optimality by more than `tol`.

    Returns the number of steps and the violation that is left: the largest gradient of a coefficient that can fall
    less the least gradient of one that can grow.
    """
    n: cython.Py_ssize_t = beta.shape[0]
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    step: cython.Py_ssize_t = 0
    least: cython.double
    largest: cython.double
    best: cython.double
    bend: cython.double
    own: cython.double
    gain: cython.double
    move: cython.double
    room_up: cython.double
    room_down: cython.double
    infinity: cython.double = float("inf")
    violation: cython.double = infinity
    diagonal: cython.double[::1] = np.ascontiguousarray(np.diagonal(K))
    with cython.nogil:
        while True:
            i = -1
            least = infinity
            largest = -infinity
            for k in range(n):
                if beta[k] < high[k] and gradient[k] < least:
                    least = gradient[k]
                    i = k
                if beta[k] > low[k] and gradient[k] > largest:
                    largest = gradient[k]
            violation = largest - least
            if i < 0 or not violation > tol or step >= max_steps:
                break
            j = -1
            best = 0.0
            own = diagonal[i]
            for k in range(n):
                if beta[k] > low[k] and gradient[k] > least:
                    bend = own + diagonal[k] - 2.0 * K[i, k]
                    if bend < 1e-12:
                        bend = 1e-12
                    gain = (gradient[k] - least) * (gradient[k] - least) / bend
                    if gain > best:
                        best = gain
                        j = k
            if j < 0:
                break
            bend = own + diagonal[j] - 2.0 * K[i, j]
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
            for k in range(n):
                gradient[k] += move * (K[i, k] - K[j, k])
            step += 1
    return step, violation
