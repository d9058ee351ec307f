# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""One pass over the samples for all cuts of a certificate, and for the risk of an answer; both for small problems.

Samples are `frame.FramedSamples`, and are moved to the frame a block at a time, as columns: loops along a block have no
branches and read memory in order, so that compilers use vector instructions. Compiled by Cython at installation, with
the C types of `sums.pxd`, without fused operations; without a compiler the interpreter runs this file.

Let u = 2^-53, gamma_n = n u/(1 - n u) and terms be ``c_i (1, z_i)``.

*Where samples are moved to the frame in doubles* the covectors z_i err by ``(2 d + 16) u sqrt2 (T + |c|) x_i0`` already
(`frame`), and a sum needs to be no better than that. So terms are summed plainly within a block of 64 samples, in eight
parts, and only the sums of blocks are added up with care:

* A part of a block adds 8 terms to 0 and three more additions put the eight parts together. The first addition to 0 is
  exact, so every term takes part in at most 10 rounded additions, and in one product before, with its cost. The error
  of the block is at most ``gamma_11 sum |terms|`` (Higham, Accuracy and Stability of Numerical Algorithms, 4.2).
* Sums p_k of N blocks are added with the rounding error of each addition, which is a double (Knuth's TwoSum), summed
  apart: the result is within ``u |sum p_k| + gamma_N^2 sum |p_k|`` of their sum (Ogita, Rump and Oishi, Accurate sum
  and dot product, 2005, proposition 4.5).
* ``|z_ij| <= (T + |c|) x_i0``, so ``sum |terms| <= (T + |c|) sum c_i x_i0``; that sum is made along with the others.

*In double-double arithmetic* the z_i are rounded once, and every addition is a TwoSum: with M additions the errors sum
up to at most ``gamma_M sum |terms|``, and in summing them up no more than ``gamma_M`` times that is lost. The sums of
``|terms|`` are made along with the others, since they are far below ``(T + |c|) sum c_i x_i0``.
"""

import cython
import numpy as np

from hypermargin.arithmetic import rounding_factor

if cython.compiled:
    from cython.cimports.hypermargin.certificates.core.compiled.intervals import Intervals
    from cython.cimports.hypermargin.geometry.compiled.double_double import move_normal
    from cython.cimports.hypermargin.geometry.compiled.frames import covector_columns
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

    from hypermargin.certificates.core.compiled.intervals import Intervals
    from hypermargin.geometry.compiled.double_double import move_normal
    from hypermargin.geometry.compiled.frames import covector_columns

BLOCK = cython.declare(cython.Py_ssize_t, 64)  # samples that are moved to the frame at a time, a multiple of 8
U = cython.declare(cython.double, 2.0**-53)
INFINITY = cython.declare(cython.double, float("inf"))
#: Rows of a table of sums before those of the covectors: of costs and of costs times x0.
BEFORE = cython.declare(cython.Py_ssize_t, 2)

NOTHING = np.zeros(0)
NONE_APART = np.zeros(0, dtype=np.intp)


# -- cuts ------------------------------------------------------------------------------------------------------------


def cut_sums(
    samples,
    points: cython.const[cython.double][:, ::1],
    threshold: cython.double,
    apart: cython.const[cython.Py_ssize_t][::1] = NONE_APART,
    starts=None,
):
    """The cuts at the points: midpoints and error bounds, (cuts, d + 2) each, and which are of one class (`CutSums`).

    Cut j takes the samples whose margin ``z_i @ points[j]``, summed in the order of the index as `fixed_order_product`
    does, is below `threshold`, save ``apart[starts[j]]`` to ``apart[starts[j + 1] - 1]``, which ascend.
    """
    problem = samples.problem
    X: cython.const[cython.double][:, ::1] = samples.rows
    y: cython.const[cython.double][:] = problem.y
    costs: cython.const[cython.double][:] = problem.costs
    reaches: cython.const[cython.double][:] = samples.reaches
    entry: cython.const[cython.double][:, ::1] = samples.entry
    weighted: cython.bint = problem.sample_weight is not None
    precise: cython.bint = samples.precise
    n = X.shape[0]
    width = X.shape[1]
    terms: cython.Py_ssize_t = BEFORE + width
    rows: cython.Py_ssize_t = terms + width if precise else terms  # sizes of terms come last
    n_cuts = points.shape[0]
    first: cython.Py_ssize_t = 0 if weighted else 1  # without weights the sum of costs is the number of samples
    room: cython.double[:, ::1] = np.zeros((2 * width + rows + 3, BLOCK))
    raw: cython.double[:, ::1] = room[:width]
    Z: cython.double[:, ::1] = room[width : 2 * width]
    parts: cython.double[:, ::1] = room[2 * width : 2 * width + rows]
    ones: cython.double[:, ::1] = room[2 * width + rows : 2 * width + rows + 1]
    sides: cython.double[:, ::1] = room[2 * width + rows + 1 : 2 * width + rows + 2]
    chosen: cython.double[::1] = room[2 * width + rows + 2]
    block: cython.double[::1] = np.zeros(rows)
    table = np.zeros((2, n_cuts, rows))
    sums: cython.double[:, :, ::1] = table
    counts: cython.double[:, ::1] = np.zeros((n_cuts, 2))  # the samples taken, and the class of all; 2 of both
    ends: cython.const[cython.Py_ssize_t][::1] = np.zeros(n_cuts + 1, dtype=np.intp) if starts is None else starts
    ahead: cython.Py_ssize_t[::1] = np.array(ends)  # for each cut the next sample that is left out
    for r in range(BLOCK):
        ones[0, r] = 1.0
    for i in range(0, n, BLOCK):
        m = min(BLOCK, n - i)
        covector_columns(X, y, i, entry, raw, Z, 0)
        for r in range(m):
            sides[0, r] = y[i + r]
            parts[1, r] = reaches[i + r]
        for k in range(width):
            for r in range(m):
                parts[BEFORE + k, r] = Z[k, r]
        if weighted:
            for r in range(m):
                parts[0, r] = costs[i + r]
            for k in range(1, terms):
                for r in range(m):
                    parts[k, r] *= parts[0, r]
        for k in range(terms, rows):
            for r in range(m):
                parts[k, r] = fabs(parts[k - width, r])
        for r in range(m, BLOCK):  # beyond the last sample nothing is added
            sides[0, r] = 0.0
            for k in range(rows):
                parts[k, r] = 0.0
        for j in range(n_cuts):
            _choose(Z, points, j, threshold, m, chosen)
            while ahead[j] < ends[j + 1] and apart[ahead[j]] < i + BLOCK:
                chosen[apart[ahead[j]] - i] = 0.0
                ahead[j] += 1
            count = _product(chosen, ones, 0)
            if count == 0.0:
                continue
            counts[j, 0] += count
            if counts[j, 1] != 2.0:  # until both classes have been seen
                side = _product(chosen, sides, 0) / count
                counts[j, 1] = side if fabs(side) == 1.0 and counts[j, 1] * side >= 0.0 else 2.0
            for k in range(first, rows):
                block[k] = _careful_product(chosen, parts, k, sums, j) if precise else _product(chosen, parts, k)
            _add_block(block, sums, j, first, rows)
    return _assembled(samples, table, counts, costs[0])


def _choose(Z, points, j, threshold, m, chosen):
    """Ones for those of the m samples of a block whose margin at point j is below the threshold, zeros for others."""
    margin = cython.declare(cython.double[8])
    if not cython.compiled:
        margin = [0.0] * 8
    for e in range(0, BLOCK, 8):
        factor = points[j, 0]
        for r in range(8):
            margin[r] = Z[0, e + r] * factor
        for k in range(1, Z.shape[0]):
            factor = points[j, k]
            for r in range(8):
                margin[r] += Z[k, e + r] * factor
        for r in range(8):
            chosen[e + r] = margin[r]
    for r in range(BLOCK):
        chosen[r] = 1.0 if chosen[r] < threshold else 0.0
    for r in range(m, BLOCK):
        chosen[r] = 0.0


def _product(chosen, parts, k):
    """The sum of the chosen numbers of row k: in eight parts, which a processor may add at the same time, and pairs."""
    part = cython.declare(cython.double[8])
    if not cython.compiled:
        part = [0.0] * 8
    for r in range(8):
        part[r] = 0.0
    for e in range(0, BLOCK, 8):
        for r in range(8):
            part[r] += chosen[e + r] * parts[k, e + r]
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))


def _careful_product(chosen, parts, k, sums, j):
    """The same; what the additions lose is added to the losses of cut j (TwoSum)."""
    part = cython.declare(cython.double[8])
    lost = cython.declare(cython.double[8])
    if not cython.compiled:
        part, lost = [0.0] * 8, [0.0] * 8
    for r in range(8):
        part[r] = lost[r] = 0.0
    for e in range(0, BLOCK, 8):
        for r in range(8):
            value = chosen[e + r] * parts[k, e + r]
            total = part[r] + value
            back = total - part[r]
            lost[r] += (part[r] - (total - back)) + (value - back)
            part[r] = total
    for r in range(1, 8):
        total = part[0] + part[r]
        back = total - part[0]
        lost[0] += (part[0] - (total - back)) + (part[r] - back) + lost[r]
        part[0] = total
    sums[1, j, k] += lost[0]
    return part[0]


def _add_block(block, sums, j, first, rows):
    """Add the sums of a block to those of cut j, and what the additions lose to the sums of losses (TwoSum)."""
    for k in range(first, rows):
        total = sums[0, j, k] + block[k]
        back = total - sums[0, j, k]
        sums[1, j, k] += (sums[0, j, k] - (total - back)) + (block[k] - back)
        sums[0, j, k] = total


def _assembled(samples, table: cython.double[:, :, ::1], counts: cython.double[:, ::1], cost: cython.double):
    """Midpoints and errors, which are computed in floating point themselves and made larger by more than so.

    ``samples.stretch`` is at least ``T + |c|``, and the exact covectors are within ``roundings |z_ij| + reach_factor
    x_i0`` of the computed ones. Costs that are not weighted are one number, `cost`. A midpoint is the sum of two
    numbers times that, three roundings with that of the proposition. Sums of positive terms, which bound the others,
    have relative errors of ``gamma_n`` at most. A sum of no terms is exactly 0; others may have lost something to
    underflow.
    """
    n: cython.Py_ssize_t = samples.problem.n_samples
    width: cython.Py_ssize_t = samples.problem.dim + 1
    weighted: cython.bint = samples.problem.sample_weight is not None
    precise: cython.bint = samples.precise
    stretch: cython.double = samples.stretch
    reach_factor: cython.double = samples.reach_factor
    factor: cython.double = 1.0 if weighted else cost
    # Additions of a chain: of all samples and of the eight parts of each block, or of blocks.
    gamma: cython.double = rounding_factor(2 * n + 128 if precise else n // BLOCK + 1)
    lost: cython.double = gamma * gamma + (samples.roundings if precise else rounding_factor(11))
    more: cython.double = 1.0 + rounding_factor(n + 64)
    if precise and weighted:  # products with costs are rounded
        lost += U
    numbers = np.zeros((2, table.shape[1], width + 1))
    totals: cython.double[:, :, ::1] = numbers
    alone = np.zeros(table.shape[1], dtype=np.uint8)
    one_class: cython.uchar[::1] = alone
    for j in range(table.shape[1]):
        one_class[j] = counts[j, 1] != 2.0
        reach = factor * (table[0, j, 1] + table[1, j, 1])
        for k in range(width + 1):
            if k == 0:
                totals[0, j, 0] = factor * (table[0, j, 0] + table[1, j, 0] if weighted else counts[j, 0])
                error = lost * fabs(totals[0, j, 0]) if weighted else 0.0
            else:
                totals[0, j, k] = factor * (table[0, j, k + 1] + table[1, j, k + 1])
                c = k + 1 + width
                size = factor * (table[0, j, c] + table[1, j, c]) if precise else stretch * reach
                error = lost * size + reach_factor * reach
            error += 3.0 * U * fabs(totals[0, j, k])
            totals[1, j, k] = 0.0 if error == 0.0 else error * more + 1e-300
    return numbers[0], numbers[1], alone.view(np.bool_)


# -- the risk of an answer -------------------------------------------------------------------------------------------


def enclosed_risk(
    samples,
    costs: cython.const[cython.double][:],
    w: cython.const[cython.double][::1],
    w_errors: cython.const[cython.double][::1],
):
    """Bounds on ``sum_i c_i max(0, 1 - z_i.w)`` for exact z_i and w, save the rounding of the sums themselves.

    The exact w is within `w_errors` of `w`, coordinate by coordinate, and the exact z_i as near to those computed as
    the samples state. Returns the two sums and the least margin less its error.
    """
    X: cython.const[cython.double][:, ::1] = samples.rows
    y: cython.const[cython.double][:] = samples.problem.y
    entry: cython.const[cython.double][:, ::1] = samples.entry
    reaches: cython.const[cython.double][:] = samples.reaches
    reach_factor: cython.double = samples.reach_factor
    # The product z_i.w has d + 1 terms; twice what its rounding comes to.
    roundings = samples.roundings + 2.0 * rounding_factor(X.shape[1] + 3)
    n = X.shape[0]
    width = X.shape[1]
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
    length = 0.0
    lower = 0.0
    upper = 0.0
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


def _margins_and_errors(Z, w, growths, margins, errors):
    """``Z' w``, summed in the order of the index, and ``|Z|' growths``, for a block of samples."""
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


def bounds_and_risk(samples, proof, w: cython.const[cython.double][::1]):
    """What a `TwoRegionProof` proves, and the risk of w over its weights from above, but for the rounding of that sum.

    The samples are those around the centre of the proof. A normal that double-double arithmetic has not digits enough
    for has an infinite risk here. What is for another dimension proves nothing.
    """
    centre: cython.const[cython.double][::1] = proof.centre
    points: cython.const[cython.double][:, ::1] = proof.points
    width: cython.Py_ssize_t = samples.problem.dim + 1
    if w.shape[0] != width or centre.shape[0] != width - 1 or points.shape[1] != width:
        return -INFINITY, INFINITY
    totals, errors, one_class = cut_sums(samples, points, proof.threshold)
    intervals: Intervals = Intervals(totals, errors, one_class.view(np.uint8), width - 1)
    bound = intervals.least_bound_of_halves(proof.above, proof.nodes, proof.starts, proof.cuts, proof.weights)
    room: cython.double[:, ::1] = np.empty((2, width))
    if not move_normal(w, NOTHING, centre, room[0], room[1]):
        return bound, INFINITY
    return bound, enclosed_risk(samples, samples.problem.costs, room[0], room[1])[1]
