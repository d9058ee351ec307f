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


def gap_and_intercept(
    order: cython.const[cython.Py_ssize_t][::1],
    gradient: cython.const[cython.double][::1],
    beta: cython.const[cython.double][::1],
    y: cython.const[cython.double][::1],
    costs: cython.const[cython.double][::1],
    found: cython.double[::1],
) -> cython.double:
    """The relative gap between the objectives of coefficients, and in ``found[0]`` the intercept of least risk.

    `gradient` is ``K beta - y``, and `order` sorts it. A sample with label +1 costs ``c max(0, r - b)`` and one with -1
    ``c max(0, b - r)``, with ``r = -gradient``: b lies where the slope of their sum changes sign.
    """
    n: cython.Py_ssize_t = beta.shape[0]
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    slope: cython.double = 0.0
    intercept: cython.double = 0.0
    risk: cython.double = 0.0
    product: cython.double = 0.0
    labels: cython.double = 0.0
    short: cython.double
    for i in range(n):
        if y[i] > 0.0:
            slope -= costs[i]
    for k in range(n - 1, -1, -1):  # corners in growing order
        intercept = -gradient[order[k]]
        slope += costs[order[k]]
        if slope >= 0.0:
            if slope == 0.0 and k > 0:
                intercept = 0.5 * (intercept - gradient[order[k - 1]])
            break
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
