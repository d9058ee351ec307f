# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One pass over the data for all cuts of a certificate: which samples a cut takes, and the sums over them.

Compiled by Cython at installation, without fused operations. Where there is no compiler `sums.py` does the same work
with arrays.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.hypermargin.certificates.compiled.frame import covector_around
    from cython.cimports.libc.math import fabs, frexp, ldexp
else:
    from math import fabs, frexp, ldexp

    from hypermargin.certificates.compiled.frame import covector_around


def selected_sums(
    X: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][:],
    costs: cython.const[cython.double][:],
    weighted: cython.bint,
    centre: cython.const[cython.double][::1],
    frame: cython.const[cython.double][:, ::1],
    points: cython.const[cython.double][:, ::1],
    threshold: cython.double,
    apart: cython.const[cython.Py_ssize_t][::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    sums: cython.double[:, ::1],
    counts: cython.double[::1],
    sigma: cython.double[::1],
):
    """Add to row j of `sums` the terms of the samples whose margin at ``points[j]`` is below `threshold`.

    A sample has the d + 2 terms ``(1, z_i)``, ``z_i = y_i (x_i0, -x_ir)``, times ``costs[i]`` if `weighted`. Margins
    are products of ``points[j]`` with the sample in the frame around `centre`, each sum in the order of its index, as
    `fixed_order_product` has it. Samples ``apart[starts[j]]`` to ``apart[starts[j + 1] - 1]``, in ascending order, are
    left out of cut j whatever their margin.

    Row j holds three sums of each term: of its high part, of its low part (`_split`), and, if `weighted`, of its size.
    ``counts[j]`` becomes the number of samples taken, and ``sigma[k]`` the power of two that split term k.
    """
    n: cython.Py_ssize_t = X.shape[0]
    width: cython.Py_ssize_t = X.shape[1]
    used: cython.Py_ssize_t = (3 if weighted else 2) * (width + 1)
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    value: cython.double
    weight: cython.double = 1.0
    z: cython.double[::1] = np.empty(width)
    parts: cython.double[::1] = np.zeros(3 * (width + 1))
    ahead: cython.Py_ssize_t[::1] = np.array(starts)  # for each cut the next sample that is left out
    _largest_terms(X, costs, weighted, sigma)
    for k in range(width + 1):
        sigma[k] = _power_of_two_above(2.0 * n * sigma[k])
    for i in range(n):
        covector_around(X, i, y[i], centre, frame, z)
        if weighted:
            weight = costs[i]
        _split(X, i, y[i] * weight, weight, sigma, parts)
        for j in range(points.shape[0]):
            if ahead[j] < starts[j + 1] and apart[ahead[j]] == i:
                ahead[j] += 1
                continue
            value = z[0] * points[j, 0]
            for k in range(1, width):
                value += z[k] * points[j, k]
            if value < threshold:
                counts[j] += 1.0
                for k in range(used):
                    sums[j, k] += parts[k]


@cython.cfunc
@cython.exceptval(check=False)
def _split(
    X: cython.const[cython.double][:, ::1],
    i: cython.Py_ssize_t,
    signed_weight: cython.double,
    weight: cython.double,
    sigma: cython.double[::1],
    parts: cython.double[::1],
) -> cython.void:
    """High parts, low parts and sizes of the terms of sample i (Rump, Ogita and Oishi, 2008).

    ``sigma >= 2 n |term|`` for all n samples, so ``term + sigma`` rounds to a multiple of ``sigma u`` (u = 2^-53), and
    ``high = (term + sigma) - sigma`` is one: sums of at most n of them are multiples of ``sigma u`` below sigma, that
    is, doubles, and there is no rounding. ``low = term - high`` is a double too, and at most ``sigma u``.
    """
    k: cython.Py_ssize_t
    terms: cython.Py_ssize_t = sigma.shape[0]
    term: cython.double = weight
    for k in range(terms):
        if k > 0:
            term = signed_weight * X[i, 0] if k == 1 else -signed_weight * X[i, k - 1]
        parts[k] = (term + sigma[k]) - sigma[k]
        parts[terms + k] = term - parts[k]
        parts[2 * terms + k] = fabs(term)


@cython.cfunc
@cython.exceptval(check=False)
def _largest_terms(
    X: cython.const[cython.double][:, ::1],
    costs: cython.const[cython.double][:],
    weighted: cython.bint,
    largest: cython.double[::1],
) -> cython.void:
    """The largest size of each term over all samples."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    weight: cython.double = 1.0
    largest[0] = 0.0 if weighted else 1.0
    for i in range(X.shape[0]):
        if weighted:
            weight = costs[i]
            largest[0] = max(largest[0], weight)
        for k in range(X.shape[1]):
            largest[k + 1] = max(largest[k + 1], fabs(weight * X[i, k]))


@cython.cfunc
@cython.exceptval(check=False)
def _power_of_two_above(value: cython.double) -> cython.double:
    """A power of two of at least `value`; 0 for 0, and infinity, which spoils all sums, near overflow."""
    exponent: cython.int = 0
    if value == 0.0 or not value < 1e300:
        return 1e300 * value
    if cython.compiled:
        frexp(value, cython.address(exponent))
    else:
        exponent = frexp(value)[1]
    return ldexp(1.0, exponent)
