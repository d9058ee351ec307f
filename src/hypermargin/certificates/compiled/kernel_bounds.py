# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sums over the samples of a kernel problem, bounded on the safe side of rounding.

Every sum is in the order of the samples and is charged ``gamma_n`` times the sum of its sizes (see
`certificates/rounding.py`). Compiled by Cython at installation, without fused operations; where there is no compiler
the interpreter runs the same file.
"""

import cython

if cython.compiled:
    from cython.cimports.hypermargin.certificates.compiled.sums import gamma_of
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

    from hypermargin.certificates.compiled.sums import gamma_of

#: The unit roundoff.
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
    return risk * (1.0 + gamma_of(n + 16))  # 16: the products, and the charge itself


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
    gamma: cython.double = gamma_of(n + 16)
    for i in range(n):
        size = fabs(beta[i])
        total += size
        product += beta[i] * scores[i]
        products += size * fabs(scores[i])
        slack += size * errors[i]
    slack = (slack + gamma * products) * (1.0 + 2.0 * gamma)
    return total * (1.0 - gamma), product + slack * (1.0 + 1e-9) + 1e-300


def enclose_family(
    K: cython.const[cython.double][:, ::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    run_starts: cython.const[cython.Py_ssize_t][::1],
    begins: cython.const[cython.Py_ssize_t][::1],
    aheads: cython.const[cython.Py_ssize_t][::1],
    y: cython.const[cython.double][::1],
    costs: cython.const[cython.double][::1],
    beta: cython.const[cython.double][::1],
    intercepts: cython.const[cython.double][::1],
    relative: cython.double,
    absolute: cython.double,
    scores: cython.double[::1],
    errors: cython.double[::1],
    lower: cython.double[::1],
    upper: cython.double[::1],
):
    """Below the dual objective and above the primal one, for every problem of a `KernelProblemFamily`.

    Kernel values are within ``relative |k| + absolute`` of the true ones. Coefficients that are no point of the dual
    prove nothing: bounds are infinite then, and where the sum of the coefficients is 0 but not seen to be by additions
    without rounding. `scores` and `errors` are room for the scores of all samples and bounds on their errors.
    """
    p: cython.Py_ssize_t
    first: cython.Py_ssize_t
    past: cython.Py_ssize_t
    runs: cython.Py_ssize_t
    runs_end: cython.Py_ssize_t
    total: cython.double
    square: cython.double
    infinity: cython.double = float("inf")
    for p in range(starts.shape[0] - 1):
        first, past = starts[p], starts[p + 1]
        runs, runs_end = run_starts[p], run_starts[p + 1]
        lower[p], upper[p] = -infinity, infinity
        if not _is_dual_point(beta[first:past], y[first:past], costs[first:past]):
            continue
        _family_scores(
            K,
            begins[runs + p : runs_end + p + 1],
            aheads[runs:runs_end],
            beta[first:past],
            relative,
            absolute,
            scores[first:past],
            errors[first:past],
        )
        total, square = form_bounds(beta[first:past], scores[first:past], errors[first:past])
        lower[p] = (total - 0.5 * square) - 4.0 * UNIT * (fabs(total) + fabs(square))
        upper[p] = 0.5 * square + risk_above(
            scores[first:past], errors[first:past], y[first:past], costs[first:past], intercepts[p]
        )
        upper[p] += 4.0 * UNIT * (fabs(square) + fabs(upper[p]))
        if not (fabs(lower[p]) < infinity and fabs(upper[p]) < infinity):
            lower[p], upper[p] = -infinity, infinity


@cython.cfunc
@cython.exceptval(check=False)
def _is_dual_point(
    beta: cython.const[cython.double][::1],
    y: cython.const[cython.double][::1],
    costs: cython.const[cython.double][::1],
) -> cython.bint:
    """Whether every ``y_i beta_i`` is between 0 and ``c_i``, and additions without rounding bring the sum to 0."""
    i: cython.Py_ssize_t
    total: cython.double = 0.0
    before: cython.double
    added: cython.double
    for i in range(beta.shape[0]):
        if not 0.0 <= y[i] * beta[i] <= costs[i]:
            return False
        before = total
        total = before + beta[i]
        added = total - before
        # The error of a rounded sum (Knuth), which is itself exact.
        if (before - (total - added)) + (beta[i] - added) != 0.0:
            return False
    return total == 0.0


@cython.cfunc
@cython.exceptval(check=False)
def _family_scores(
    K: cython.const[cython.double][:, ::1],
    begins: cython.const[cython.Py_ssize_t][::1],
    aheads: cython.const[cython.Py_ssize_t][::1],
    beta: cython.const[cython.double][::1],
    relative: cython.double,
    absolute: cython.double,
    scores: cython.double[::1],
    errors: cython.double[::1],
) -> cython.void:
    """``K beta`` of one problem, and a bound on its error: that of the values, and ``gamma_m`` times the sizes.

    There are as many terms m as coefficients that are not 0.
    """
    n: cython.Py_ssize_t = beta.shape[0]
    m: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    q: cython.Py_ssize_t
    r: cython.Py_ssize_t
    row: cython.Py_ssize_t
    ahead: cython.Py_ssize_t
    weight: cython.double
    size: cython.double
    total: cython.double = 0.0
    factor: cython.double
    for k in range(n):
        scores[k] = 0.0
        errors[k] = 0.0
    for q in range(aheads.shape[0]):
        for j in range(begins[q], begins[q + 1]):
            weight = beta[j]
            if weight == 0.0:
                continue
            size = fabs(weight)
            total += size
            m += 1
            row = j + aheads[q]
            for r in range(aheads.shape[0]):
                ahead = aheads[r]
                for k in range(begins[r], begins[r + 1]):
                    scores[k] += weight * K[row, k + ahead]
                    errors[k] += size * fabs(K[row, k + ahead])
    factor = gamma_of(m) + 1.01 * relative
    for k in range(n):
        errors[k] = (factor * errors[k] + absolute * total) * (1.0 + 1e-9) + 1e-300
