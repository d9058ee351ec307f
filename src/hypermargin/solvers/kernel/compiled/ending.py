# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What follows the steps of a small problem: the best intercept, the gap, and coefficients whose sum is exactly 0.

A classifier of many classes has hundreds of small problems, each solved in some microseconds; array operations of ten
numbers at a time would take longer than that. Compiled by Cython at installation, with the C types of `ending.pxd`;
without a compiler the interpreter runs this file.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import ceil, fabs, floor
else:
    from math import ceil, fabs, floor

#: The rounding of a sum for each of its terms, relative, with some room.
ROUNDED = cython.declare(cython.double, 2.0**-52)
#: Relative, beside n roundings of a sum: costs on both sides of an intercept that differ by less are equal, as weights
#: are that were computed (10 of 1/10 and one of 1). Taking unequal costs for equal raises the least risk by at most
#: twice this factor: within the interval it is at least the costs of one side times the interval's length.
TIED = cython.declare(cython.double, 1e-12)


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
    i: cython.Py_ssize_t
    low: cython.double = _end_of_optimum(order, gradient, y, costs, 1.0)
    high: cython.double = _end_of_optimum(order, gradient, y, costs, -1.0)
    intercept: cython.double = 0.5 * (low + high)
    risk: cython.double = 0.0
    product: cython.double = 0.0
    labels: cython.double = 0.0
    short: cython.double
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
    i: cython.Py_ssize_t
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
    i: cython.Py_ssize_t
    best: cython.Py_ssize_t
    excess: cython.double = 0.0
    room: cython.double
    most: cython.double
    moved: cython.double
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
