# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One pass over the data for all cuts of a certificate: which samples a cut takes, and the sums over them.

Compiled by Cython at installation, with the C types of `sums.pxd`, without fused operations. Where there is no compiler
`sums.py` does the same work with arrays. Samples are moved to the frame a block at a time, as columns: loops along a
block have no branches, so that compilers use vector instructions.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.hypermargin.geometry.compiled.frames import covector_columns
    from cython.cimports.libc.math import fabs, frexp, ldexp
else:
    from math import fabs, frexp, ldexp

    from hypermargin.geometry.compiled.frames import covector_columns

BLOCK = cython.declare(cython.Py_ssize_t, 64)  # samples that are moved to the frame at a time, a multiple of 8
U = cython.declare(cython.double, 2.0**-53)
INFINITY = cython.declare(cython.double, float("inf"))


def cut_sums(
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
    largest: cython.double,
    roundings: cython.double,
    reach_factor: cython.double,
):
    """The cuts at the points: `assembled` of `selected_sums`.

    No coordinate of a covector is above `largest`; for the other parameters see there. Costs that are not `weighted`
    are one number.
    """
    k: cython.Py_ssize_t
    terms: cython.Py_ssize_t = X.shape[1] + 1
    heaviest: cython.double = 1.0
    room = np.zeros((points.shape[0], (3 if weighted or roundings > 0.0 else 2) * terms + 3))
    table: cython.double[:, ::1] = room
    powers = np.empty(terms)
    sigma: cython.double[::1] = powers
    if weighted:
        heaviest = 0.0
        for k in range(costs.shape[0]):
            heaviest = max(heaviest, costs[k])
    sigma[0] = power_of_two_above(2.0 * X.shape[0] * heaviest)
    sigma[1] = power_of_two_above(2.0 * X.shape[0] * heaviest * largest)
    for k in range(2, terms):
        sigma[k] = sigma[1]
    selected_sums(X, y, costs, reaches, weighted, entry, points, threshold, apart, starts, table, sigma)
    return assembled(table, sigma, 1.0 if weighted else costs[0], weighted, roundings, reach_factor, X.shape[0])


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
    sigma: cython.double[::1],
):
    """Add to row j of `sums` the terms of the samples whose margin at ``points[j]`` is below `threshold`.

    A sample has the d + 2 terms ``(1, z_i)``, with z_i in the frame that `entry` leads to (`frame`), times ``costs[i]``
    if `weighted`. Margins are ``z_i @ points[j]``, summed in the order of the index, as `fixed_order_product` does.
    Samples ``apart[starts[j]]`` to ``apart[starts[j + 1] - 1]``, in ascending order, are left out of cut j whatever
    their margin.

    Row j holds the numbers of samples taken of the classes -1 and +1, the sum of ``reaches[i]``, times the cost if
    `weighted`, and then sums of each term: of its high part, of its low part (`_split`), and of its size, where there
    is room for that. ``sigma[k]``, a power of two of at least ``2 n`` times the size of any term k, splits it.
    """
    n: cython.Py_ssize_t = X.shape[0]
    width: cython.Py_ssize_t = X.shape[1]
    used: cython.Py_ssize_t = sums.shape[1] - 3
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    r: cython.Py_ssize_t
    factor: cython.double
    room: cython.double[:, ::1] = np.zeros((2 * width + 6 + used, BLOCK))
    raw: cython.double[:, ::1] = room[:width]
    Z: cython.double[:, ::1] = room[width : 2 * width]
    weights: cython.double[::1] = room[2 * width]
    margins: cython.double[::1] = room[2 * width + 1]
    chosen: cython.double[::1] = room[2 * width + 2]
    parts: cython.double[:, ::1] = room[2 * width + 3 :]  # two counts and the reach come first
    ahead: cython.Py_ssize_t[::1] = np.array(starts)  # for each cut the next sample that is left out
    for i in range(0, n, BLOCK):
        covector_columns(X, y, i, entry, raw, Z, 0)
        for r in range(min(BLOCK, n - i)):
            weights[r] = costs[i + r] if weighted else 1.0
            parts[0, r], parts[1, r] = (0.0, 1.0) if y[i + r] > 0.0 else (1.0, 0.0)
            parts[2, r] = weights[r] * reaches[i + r]
        for r in range(n - i, BLOCK):  # beyond the last sample nothing is added
            weights[r] = parts[0, r] = parts[1, r] = parts[2, r] = 0.0
        _split(Z, weights, sigma, parts)
        for j in range(points.shape[0]):
            factor = points[j, 0]
            for r in range(BLOCK):
                margins[r] = Z[0, r] * factor
            for k in range(1, width):
                factor = points[j, k]
                for r in range(BLOCK):
                    margins[r] += Z[k, r] * factor
            for r in range(BLOCK):
                chosen[r] = 1.0 if margins[r] < threshold else 0.0
            while ahead[j] < starts[j + 1] and apart[ahead[j]] < i + BLOCK:
                chosen[apart[ahead[j]] - i] = 0.0
                ahead[j] += 1
            for k in range(3 + used):
                if weighted or (k != 3 and k != 4 + width):  # those are the counts again
                    sums[j, k] += _product(chosen, parts, k)
    if not weighted:
        for j in range(points.shape[0]):
            sums[j, 3] = sums[j, 0] + sums[j, 1]


@cython.cfunc
@cython.exceptval(check=False)
def _product(chosen: cython.double[::1], parts: cython.double[:, ::1], k: cython.Py_ssize_t) -> cython.double:
    """The sum of the chosen values of row k, in eight parts, which a processor may add at the same time."""
    e: cython.Py_ssize_t
    r: cython.Py_ssize_t
    total: cython.double = 0.0
    lane = cython.declare(cython.double[8])
    if not cython.compiled:
        lane = [0.0] * 8
    for r in range(8):
        lane[r] = 0.0
    for e in range(0, BLOCK, 8):
        for r in range(8):
            lane[r] += chosen[e + r] * parts[k, e + r]
    for r in range(8):
        total += lane[r]
    return total


@cython.cfunc
@cython.exceptval(check=False)
def _split(
    Z: cython.double[:, ::1], weights: cython.double[::1], sigma: cython.double[::1], parts: cython.double[:, ::1]
) -> cython.void:
    """High parts, low parts and sizes of the terms of a block of samples (Rump, Ogita and Oishi, 2008).

    ``sigma >= 2 n |term|`` for all n samples, so ``term + sigma`` rounds to a multiple of ``sigma u`` (u = 2^-53), and
    ``high = (term + sigma) - sigma`` is one: sums of at most n of them are multiples of ``sigma u`` below sigma, that
    is, doubles, and there is no rounding in any order. ``low = term - high`` is a double too, and at most ``sigma u``.
    """
    k: cython.Py_ssize_t
    r: cython.Py_ssize_t
    terms: cython.Py_ssize_t = sigma.shape[0]
    power: cython.double
    term: cython.double
    for k in range(terms):
        power = sigma[k]
        for r in range(BLOCK):
            term = weights[r] * Z[k - 1, r] if k > 0 else weights[r]
            parts[3 + k, r] = (term + power) - power
            parts[3 + terms + k, r] = term - parts[3 + k, r]
        if parts.shape[0] > 3 + 2 * terms:
            for r in range(BLOCK):
                parts[3 + 2 * terms + k, r] = fabs(weights[r] * Z[k - 1, r] if k > 0 else weights[r])


def assembled(
    sums: cython.double[:, ::1],
    sigma: cython.double[::1],
    factor: cython.double,
    weighted: cython.bint,
    roundings: cython.double,
    reach_factor: cython.double,
    n: cython.Py_ssize_t,
):
    """Midpoints and error bounds of the cuts from what a pass has summed up, and which are of one class (`CutSums`).

    A sum of m high parts is exact, that of m low parts, each at most ``u sigma``, errs by ``gamma_m m u sigma`` at
    most. Then both are added, and multiplied by `factor` where costs are not part of the terms; where they are, each
    term is a rounded product. To that come the errors of the terms themselves: coordinates of the exact covectors are
    within ``roundings |z_ij| + reach_factor reaches_i`` of those computed. The bounds are computed in floating point
    themselves, from at most n terms, and are made larger by more than so. A sum of no terms is exactly 0; others may
    have lost something to underflow.
    """
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    terms: cython.Py_ssize_t = sigma.shape[0]
    taken: cython.double
    low_error: cython.double
    error: cython.double
    more: cython.double = 1.0 + gamma_of(n + 8208)
    numbers = np.zeros((2, sums.shape[0], terms))
    totals: cython.double[:, :, ::1] = numbers
    alone = np.zeros(sums.shape[0], dtype=np.uint8)
    one_class: cython.uchar[::1] = alone
    if weighted:
        roundings += U
    for j in range(sums.shape[0]):
        taken = sums[j, 0] + sums[j, 1]
        one_class[j] = sums[j, 0] == 0.0 or sums[j, 1] == 0.0
        low_error = gamma_of(taken) * taken * U
        for k in range(terms):
            totals[0, j, k] = factor * (sums[j, 3 + k] + sums[j, 3 + terms + k])
            error = 2.0 * U * fabs(totals[0, j, k]) + low_error * (factor * sigma[k])
            if roundings > 0.0:
                error += roundings * factor * sums[j, 3 + 2 * terms + k]
            if k > 0:
                error += factor * reach_factor * sums[j, 2]
            totals[1, j, k] = 0.0 if error == 0.0 else error * more + 1e-300
    return numbers[0], numbers[1], alone.view(np.bool_)


def gamma_of(n: cython.double) -> cython.double:
    """``gamma_n``, rounded up: `rounding.rounding_factor` for loops that have no interpreter."""
    return 1.0001 * n * U / (1.0 - n * U)


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
    m: cython.Py_ssize_t
    r: cython.Py_ssize_t
    value: cython.double
    room: cython.double[:, ::1] = np.zeros((2 * width + 6, BLOCK))
    raw: cython.double[:, ::1] = room[:width]
    Z: cython.double[:, ::1] = room[width : 2 * width]
    weights: cython.double[::1] = room[2 * width]
    reach: cython.double[::1] = room[2 * width + 1]
    margins: cython.double[::1] = room[2 * width + 2]
    errors: cython.double[::1] = room[2 * width + 3]
    below: cython.double[::1] = room[2 * width + 4]
    above: cython.double[::1] = room[2 * width + 5]
    growths: cython.double[::1] = np.empty(width)
    smallest: cython.double[::1] = np.full(BLOCK, INFINITY)
    length: cython.double = 0.0
    lower: cython.double = 0.0
    upper: cython.double = 0.0
    for j in range(width):
        length += fabs(w[j]) + w_errors[j]
        growths[j] = roundings * fabs(w[j]) + w_errors[j]
    reach_factor *= length
    for i in range(0, n, BLOCK):
        m = min(BLOCK, n - i)
        covector_columns(X, y, i, entry, raw, Z, 0)
        for r in range(m):
            weights[r], reach[r] = costs[i + r], reaches[i + r]
        for r in range(m, BLOCK):  # beyond the last sample nothing is added
            weights[r] = reach[r] = 0.0
            for j in range(width):
                Z[j, r] = 0.0
        _margins_and_errors(Z, w, growths, margins, errors)
        for r in range(BLOCK):
            errors[r] = 1.0000001 * (errors[r] + reach_factor * reach[r]) + 1e-15 * (1.0 + fabs(margins[r]))
        for r in range(BLOCK):
            value = (1.0 - margins[r]) + errors[r]
            above[r] = 0.0 if value <= 0.0 else value  # what is no number must not be left out
        for r in range(BLOCK):
            value = (1.0 - margins[r]) - errors[r]
            below[r] = value if value > 0.0 else 0.0
        upper += _product(weights, room, 2 * width + 5)
        lower += _product(weights, room, 2 * width + 4)
        for r in range(BLOCK):
            margins[r] = margins[r] - errors[r] if weights[r] > 0.0 else INFINITY
        for r in range(BLOCK):
            smallest[r] = margins[r] if margins[r] < smallest[r] else smallest[r]
    return lower, upper, min(smallest)


@cython.cfunc
@cython.exceptval(check=False)
def _margins_and_errors(
    Z: cython.double[:, ::1],
    w: cython.const[cython.double][::1],
    growths: cython.double[::1],
    margins: cython.double[::1],
    errors: cython.double[::1],
) -> cython.void:
    """``Z' w``, summed in the order of the index, and ``|Z|' growths``, for a block of samples."""
    e: cython.Py_ssize_t
    j: cython.Py_ssize_t
    r: cython.Py_ssize_t
    factor: cython.double
    value = cython.declare(cython.double[8])
    error = cython.declare(cython.double[8])
    if not cython.compiled:
        value, error = [0.0] * 8, [0.0] * 8
    for e in range(0, BLOCK, 8):
        for r in range(8):
            value[r] = error[r] = 0.0
        for j in range(Z.shape[0]):
            factor = w[j]
            for r in range(8):
                value[r] += Z[j, e + r] * factor
            factor = growths[j]
            for r in range(8):
                error[r] += fabs(Z[j, e + r]) * factor
        for r in range(8):
            margins[e + r] = value[r]
        for r in range(8):
            errors[e + r] = error[r]
