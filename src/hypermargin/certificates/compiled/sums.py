# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One pass over the data for all cuts of a certificate: which samples a cut takes, and the sums over them.

Compiled by Cython at installation, without fused operations. Where there is no compiler `sums.py` does the same work
with arrays.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.hypermargin.certificates.compiled.frame import covectors_around
    from cython.cimports.libc.math import fabs, frexp, ldexp
else:
    from math import fabs, frexp, ldexp

    from hypermargin.certificates.compiled.frame import covectors_around

BLOCK = cython.declare(cython.Py_ssize_t, 64)  # samples that are moved to the frame at a time


def selected_sums(
    X: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][:],
    costs: cython.const[cython.double][:],
    reaches: cython.const[cython.double][:],
    weighted: cython.bint,
    entry: cython.const[cython.double][:, ::1],
    points: cython.const[cython.double][:, ::1],
    threshold: cython.double,
    apart: cython.const[cython.Py_ssize_t][::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    sums: cython.double[:, ::1],
    charges: cython.double[::1],
    counts: cython.double[:, ::1],
    sigma: cython.double[::1],
):
    """Add to row j of `sums` the terms of the samples whose margin at ``points[j]`` is below `threshold`.

    A sample has the d + 2 terms ``(1, z_i)``, with z_i in the frame that `entry` leads to (`frame`), times ``costs[i]``
    if `weighted`. Margins are ``z_i @ points[j]``, summed in the order of the index, as `fixed_order_product` does.
    Samples ``apart[starts[j]]`` to ``apart[starts[j + 1] - 1]``, in ascending order, are left out of cut j whatever
    their margin.

    Row j holds three sums of each term: of its high part, of its low part (`_split`), and of its size.
    ``charges[j]`` becomes the sum of ``reaches[i]``, times the cost if `weighted`; ``counts[j]`` the numbers of samples
    taken of the classes -1 and +1. ``sigma[k]``, a power of two of at least ``2 n`` times the size of any term k,
    splits it.
    """
    n: cython.Py_ssize_t = X.shape[0]
    width: cython.Py_ssize_t = X.shape[1]
    used: cython.Py_ssize_t = 3 * (width + 1)
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    positive: cython.Py_ssize_t
    value: cython.double
    weight: cython.double = 1.0
    r: cython.Py_ssize_t
    Z: cython.double[:, ::1] = np.empty((BLOCK, width))
    parts: cython.double[::1] = np.zeros(used)
    ahead: cython.Py_ssize_t[::1] = np.array(starts)  # for each cut the next sample that is left out
    for i in range(n):
        r = i % BLOCK
        if r == 0:
            covectors_around(X, y, i, entry, Z)
        if weighted:
            weight = costs[i]
        _split(Z, r, weight, sigma, parts)
        positive = 1 if y[i] > 0.0 else 0
        for j in range(points.shape[0]):
            if ahead[j] < starts[j + 1] and apart[ahead[j]] == i:
                ahead[j] += 1
                continue
            value = Z[r, 0] * points[j, 0]
            for k in range(1, width):
                value += Z[r, k] * points[j, k]
            if value < threshold:
                counts[j, positive] += 1.0
                charges[j] += weight * reaches[i]
                for k in range(used):
                    sums[j, k] += parts[k]


@cython.cfunc
@cython.exceptval(check=False)
def _split(
    Z: cython.double[:, ::1],
    r: cython.Py_ssize_t,
    weight: cython.double,
    sigma: cython.double[::1],
    parts: cython.double[::1],
) -> cython.void:
    """High parts, low parts and sizes of the terms of the sample in row r (Rump, Ogita and Oishi, 2008).

    ``sigma >= 2 n |term|`` for all n samples, so ``term + sigma`` rounds to a multiple of ``sigma u`` (u = 2^-53), and
    ``high = (term + sigma) - sigma`` is one: sums of at most n of them are multiples of ``sigma u`` below sigma, that
    is, doubles, and there is no rounding. ``low = term - high`` is a double too, and at most ``sigma u``.
    """
    k: cython.Py_ssize_t
    terms: cython.Py_ssize_t = sigma.shape[0]
    term: cython.double = weight
    for k in range(terms):
        if k > 0:
            term = weight * Z[r, k - 1]
        parts[k] = (term + sigma[k]) - sigma[k]
        parts[terms + k] = term - parts[k]
        parts[2 * terms + k] = fabs(term)


def power_of_two_above(value: cython.double) -> cython.double:
    """A power of two of at least `value`; 0 for 0, and infinity, which spoils all sums, for what nears overflow."""
    exponent: cython.int = 0
    if value == 0.0 or not value < 1e300:
        return 1e300 * value
    if cython.compiled:
        frexp(value, cython.address(exponent))
    else:
        exponent = frexp(value)[1]
    return ldexp(1.0, exponent)


def enclosed_risk(
    X: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][:],
    costs: cython.const[cython.double][:],
    reaches: cython.const[cython.double][:],
    entry: cython.const[cython.double][:, ::1],
    w: cython.const[cython.double][::1],
    roundings: cython.double,
    reach_factor: cython.double,
    w_errors: cython.const[cython.double][::1],
):
    """Bounds on ``sum_i c_i max(0, 1 - z_i.w)`` for exact z_i and w, save the rounding of the sums themselves.

    The exact z_i are within ``roundings |z_i|`` plus ``reach_factor reaches[i]`` of those computed as in
    `selected_sums`, coordinate by coordinate, the exact w within `w_errors` of `w`. ``roundings`` has room for the
    rounding of the product too. Returns the two sums and the least margin less its error.
    """
    n: cython.Py_ssize_t = X.shape[0]
    width: cython.Py_ssize_t = X.shape[1]
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    value: cython.double
    r: cython.Py_ssize_t
    Z: cython.double[:, ::1] = np.empty((BLOCK, width))
    margin: cython.double
    error: cython.double
    length: cython.double = 0.0
    lower: cython.double = 0.0
    upper: cython.double = 0.0
    least: cython.double = float("inf")
    for j in range(width):
        length += fabs(w[j]) + w_errors[j]
    for i in range(n):
        margin = error = 0.0
        r = i % BLOCK
        if r == 0:
            covectors_around(X, y, i, entry, Z)
        for j in range(width):
            margin += Z[r, j] * w[j]
            error += fabs(Z[r, j]) * (roundings * fabs(w[j]) + w_errors[j])
        error += reach_factor * reaches[i] * length
        error = 1.0000001 * error + 1e-15 * (1.0 + fabs(margin))
        if costs[i] > 0.0:
            least = min(least, margin - error)
        value = (1.0 - margin) + error
        if not value <= 0.0:  # what is no number must not be left out
            upper += costs[i] * value
        value = (1.0 - margin) - error
        if value > 0.0:
            lower += costs[i] * value
    return lower, upper, least
