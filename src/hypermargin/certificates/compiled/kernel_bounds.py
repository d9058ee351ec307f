# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sums over the samples of a kernel problem, bounded on the safe side of rounding.

Every sum is in the order of the samples and is charged ``gamma_n`` times the sum of its sizes (see
`certificates/rounding.py`). Compiled by Cython at installation, without fused operations; where there is no compiler
the interpreter runs the same file.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

#: The unit roundoff 2^-53, and ``n gamma`` beyond `gamma_n` for the products and the charge itself.
UNIT: cython.double = 2.0**-53


def risk_above(
    scores: cython.const[cython.double][::1],
    errors: cython.const[cython.double][::1],
    y: cython.const[cython.double][::1],
    costs: cython.const[cython.double][::1],
    intercept: cython.double,
) -> cython.double:
    """``sum_i c_i max(0, 1 - y_i (scores_i + intercept))`` from above, with scores known up to `errors`."""
    n: cython.Py_ssize_t = scores.shape[0]
    i: cython.Py_ssize_t
    short: cython.double
    risk: cython.double = 0.0
    for i in range(n):
        short = (1.0 - y[i] * (scores[i] + intercept)) + (
            errors[i] + 4.0 * UNIT * (1.0 + fabs(scores[i]) + fabs(intercept))
        )
        if short > 0.0:
            risk += costs[i] * short
        elif not short <= 0.0:  # NaN proves nothing
            return float("inf")
    return risk * (1.0 + 1.0001 * (n + 16) * UNIT / (1.0 - (n + 16) * UNIT))


def form_bounds(
    beta: cython.const[cython.double][::1],
    scores: cython.const[cython.double][::1],
    errors: cython.const[cython.double][::1],
):
    """``sum |beta_i|`` from below, and ``sum beta_i scores_i`` from above, with scores known up to `errors`."""
    n: cython.Py_ssize_t = scores.shape[0]
    i: cython.Py_ssize_t
    size: cython.double
    total: cython.double = 0.0
    product: cython.double = 0.0
    products: cython.double = 0.0
    slack: cython.double = 0.0
    gamma: cython.double = 1.0001 * (n + 16) * UNIT / (1.0 - (n + 16) * UNIT)
    for i in range(n):
        size = fabs(beta[i])
        total += size
        product += beta[i] * scores[i]
        products += size * fabs(scores[i])
        slack += size * errors[i]
    slack = (slack + gamma * products) * (1.0 + 2.0 * gamma)
    return total * (1.0 - gamma), product + slack * (1.0 + 1e-9) + 1e-300
