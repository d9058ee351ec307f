# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Small kernel problems without calls of the interpreter: pairwise steps, the best intercept, coefficients in balance.

Sequential minimal optimisation minimises ``beta'K beta/2 - y.beta`` over ``low <= beta <= high`` with the sum of beta
kept. Each step moves weight from one coefficient to another: from the one with the least gradient among those that can
grow, together with the partner that promises the largest decrease (the second-order choice of Fan, Chen and Lin,
Working set selection using second order information for training support vector machines, 2005).

The samples may be some of a larger matrix, in runs of consecutive rows, so that the problems of all pairs of classes
share one matrix without copies. A classifier of many classes has hundreds of small problems, each solved in some
microseconds; array operations of ten numbers at a time would take longer than that.

Compiled by Cython at installation; without a compiler the interpreter runs the same file.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.hypermargin.certificates.compiled.kernel_bounds import Family
    from cython.cimports.libc.math import ceil, fabs, floor
else:
    from math import ceil, fabs, floor

    from hypermargin.certificates.compiled.kernel_bounds import Family

INFINITY = cython.declare(cython.double, float("inf"))
#: The rounding of a sum for each of its terms, relative, with some room.
ROUNDED = cython.declare(cython.double, 2.0**-52)
#: Relative, beside n roundings of a sum: costs on both sides of an intercept that differ by less are equal, as weights
#: are that were computed (10 of 1/10 and one of 1). Taking unequal costs for equal raises the least risk by at most
#: twice this factor: within the interval it is at least the costs of one side times the interval's length.
TIED = cython.declare(cython.double, 1e-12)


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

    Returns the number of steps and the violation that is left: the largest gradient of a coefficient that can fall less
    the least gradient of one that can grow.
    """
    begins: cython.const[cython.Py_ssize_t][::1] = np.array([0, beta.shape[0]], dtype=np.intp)
    aheads: cython.const[cython.Py_ssize_t][::1] = np.zeros(1, dtype=np.intp)
    diagonal: cython.double[::1] = np.empty(beta.shape[0])
    steps: cython.Py_ssize_t[::1] = np.zeros(1, dtype=np.intp)
    with cython.nogil:
        violation = _minimise_runs(K, gradient, beta, low, high, tol, max_steps, begins, aheads, diagonal, steps)
    return steps[0], violation


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _minimise_runs(
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
    """The steps of `minimise_pairs`, without the interpreter; returns the violation that is left.

    Run r has the samples ``begins[r] : begins[r + 1]``, whose rows of K are ``aheads[r]`` ahead of them. `diagonal` is
    workspace of length n, and the number of steps is added to ``steps[0]``.
    """
    n_runs: cython.Py_ssize_t = aheads.shape[0]
    row_i: cython.Py_ssize_t = 0
    row_j: cython.Py_ssize_t = 0
    step: cython.Py_ssize_t = 0
    move: cython.double = 0.0
    for r in range(n_runs):
        for k in range(begins[r], begins[r + 1]):
            diagonal[k] = K[k + aheads[r], k + aheads[r]]
    while True:
        i = -1
        least = INFINITY
        largest = -INFINITY
        own_row = row_i
        for r in range(n_runs):
            ahead = aheads[r]
            for k in range(begins[r], begins[r + 1]):
                gradient[k] += move * (K[own_row, k + ahead] - K[row_j, k + ahead])  # of the step before
                if beta[k] < high[k] and gradient[k] < least:
                    least = gradient[k]
                    i = k
                    row_i = k + ahead
                if beta[k] > low[k] and gradient[k] > largest:
                    largest = gradient[k]
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
        step += 1
    steps[0] += step
    return violation


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def gap_and_intercept(
    order: cython.const[cython.Py_ssize_t][::1],
    gradient: cython.const[cython.double][::1],
    beta: cython.const[cython.double][::1],
    y: cython.const[cython.double][::1],
    costs: cython.const[cython.double][::1],
    found: cython.double[::1],
) -> cython.double:
    """The relative gap between the objectives of coefficients, and in ``found[0]`` the intercept of least risk.

    `gradient` is ``K beta - y``, and `order` sorts it. Where a whole interval of intercepts has the least risk, it is
    the centre of the interval.
    """
    n: cython.Py_ssize_t = beta.shape[0]
    low: cython.double = _end_of_optimum(order, gradient, y, costs, 1.0)
    high: cython.double = _end_of_optimum(order, gradient, y, costs, -1.0)
    intercept: cython.double = 0.5 * (low + high)
    risk: cython.double = 0.0
    product: cython.double = 0.0
    labels: cython.double = 0.0
    for i in range(n):
        # 1 - y (K beta + b) = -y (gradient + b)
        short = -y[i] * (gradient[i] + intercept)
        if short > 0.0:
            risk += costs[i] * short
        product += beta[i] * gradient[i]
        labels += beta[i] * y[i]
    # beta'K beta = beta.(gradient + y); gap = primal - dual = beta.gradient + risk
    found[0] = intercept
    return (product + risk) / max(fabs(0.5 * (product + labels) + risk), 1e-12)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _end_of_optimum(
    order: cython.const[cython.Py_ssize_t][::1],
    gradient: cython.const[cython.double][::1],
    y: cython.const[cython.double][::1],
    costs: cython.const[cython.double][::1],
    side: cython.double,
) -> cython.double:
    """The least (`side` 1) or the largest (`side` -1) intercept of least risk.

    A sample with label +1 costs ``c max(0, r - b)`` and one with -1 ``c max(0, b - r)``, with ``r = -gradient``. At the
    least optimal b, costs of -1 with ``r <= b`` are for the first time no less than costs of +1 with ``r > b``. Both
    sums grow towards b, the one from below and the other from above, so that neither is a difference. They count as
    equal up to `TIED`. For the largest b the same is done with all signs reversed, number by number.
    """
    n: cython.Py_ssize_t = y.shape[0]
    first: cython.Py_ssize_t = 0
    past: cython.Py_ssize_t = n
    below: cython.double = 0.0
    above: cython.double = 0.0
    share: cython.double = 1.0 - (TIED + n * ROUNDED)
    while first < past:
        if below < share * above:
            i = order[n - 1 - first] if side > 0.0 else order[first]
            if side * y[i] < 0.0:
                below += costs[i]
            first += 1
        else:
            past -= 1
            i = order[n - 1 - past] if side > 0.0 else order[past]
            if side * y[i] > 0.0:
                above += costs[i]
    # The sums are now those of the samples before and from `first` on.
    if not below < share * above:
        first -= 1
    first = max(first, 0)
    i = order[n - 1 - first] if side > 0.0 else order[first]
    return -gradient[i]


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def balance_in_place(
    beta: cython.double[::1],
    low: cython.const[cython.double][::1],
    high: cython.const[cython.double][::1],
    unit: cython.double,
) -> cython.void:
    """Make beta nearly the same coefficients with a sum of exactly 0: multiples of `unit`, less than 2^53 in all.

    They are rounded towards 0, so that bounds stay respected, and what is left over goes where there is most room.
    """
    n: cython.Py_ssize_t = beta.shape[0]
    excess: cython.double = 0.0
    for i in range(n):
        beta[i] = floor(beta[i] / unit) if beta[i] > 0.0 else ceil(beta[i] / unit)
        excess += beta[i]  # whole numbers below 2^53: exact
    while excess != 0.0:
        best = -1
        most = 0.0
        for i in range(n):
            room = beta[i] - ceil(low[i] / unit) if excess > 0.0 else floor(high[i] / unit) - beta[i]
            if room > most:
                most = room
                best = i
        if best < 0:
            break
        moved = min(fabs(excess), most)
        if excess > 0.0:
            beta[best] -= moved
            excess -= moved
        else:
            beta[best] += moved
            excess += moved
    for i in range(n):
        beta[i] *= unit


def minimise_family(
    family: Family,
    aim: cython.double,
    first_tol: cython.double,
    most_steps: cython.const[cython.Py_ssize_t][::1],
    beta: cython.double[::1],
    gradient: cython.double[::1],
    intercepts: cython.double[::1],
    gaps: cython.double[::1],
    steps: cython.Py_ssize_t[::1],
):
    """Bring every problem of a family to the relative gap `aim`, as far as `most_steps` allow.

    `beta` are coefficients to begin with, and then those of the answer, whose sums are exactly 0. `gradient` becomes
    ``K beta - y``. `intercepts`, `gaps` and `steps` have an entry for each problem. Steps go on until no pair violates
    optimality by more than `first_tol`, and then ten times less until the gap is reached.
    """
    n_problems: cython.Py_ssize_t = family.starts.shape[0] - 1
    n: cython.Py_ssize_t = family.y.shape[0]
    low: cython.double[::1] = np.empty(n)
    high: cython.double[::1] = np.empty(n)
    diagonal: cython.double[::1] = np.empty(n)
    order: cython.Py_ssize_t[::1] = np.empty(n, dtype=np.intp)
    with cython.nogil:
        for k in range(n):
            end = family.y[k] * family.costs[k]
            low[k] = end if end < 0.0 else 0.0
            high[k] = end if end > 0.0 else 0.0
        for p in range(n_problems):
            first, past = family.starts[p], family.starts[p + 1]
            runs, runs_end = family.run_starts[p], family.run_starts[p + 1]
            for k in range(first, past):
                gradient[k] = -family.y[k]
            family.add_products(p, beta, gradient, False)
            accuracy = first_tol
            while True:
                _minimise_runs(
                    family.K,
                    gradient[first:past],
                    beta[first:past],
                    low[first:past],
                    high[first:past],
                    accuracy,
                    most_steps[p] - steps[p],
                    family.begins[runs + p : runs_end + p + 1],
                    family.aheads[runs:runs_end],
                    diagonal[first:past],
                    steps[p : p + 1],
                )
                _sort(gradient[first:past], order[first:past])
                gaps[p] = gap_and_intercept(
                    order[first:past],
                    gradient[first:past],
                    beta[first:past],
                    family.y[first:past],
                    family.costs[first:past],
                    intercepts[p : p + 1],
                )
                if gaps[p] <= aim or accuracy < 1e-13 or steps[p] >= most_steps[p]:
                    break
                accuracy *= 0.1
            total = 0.0
            for k in range(first, past):
                total += fabs(beta[k])
            if total > 0.0:
                unit = 1.0
                while unit > total:
                    unit *= 0.5
                while unit <= total:
                    unit *= 2.0
                balance_in_place(beta[first:past], low[first:past], high[first:past], unit * 2.0**-50)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort(keys: cython.const[cython.double][::1], order: cython.Py_ssize_t[::1]) -> cython.void:
    """The places of the keys in growing order, by a heap."""
    n: cython.Py_ssize_t = keys.shape[0]
    for k in range(n):
        order[k] = k
    for k in range(n // 2 + n - 1):  # first make the heap, then take the largest off it one by one
        if k < n // 2:
            parent, size = n // 2 - 1 - k, n
            moved = order[parent]
        else:
            parent, size = 0, n // 2 + n - 1 - k
            moved = order[size]
            order[size] = order[0]
        while True:
            child = 2 * parent + 1
            if child >= size:
                break
            if child + 1 < size and keys[order[child + 1]] > keys[order[child]]:
                child += 1
            if keys[order[child]] <= keys[moved]:
                break
            order[parent] = order[child]
            parent = child
        order[parent] = moved
