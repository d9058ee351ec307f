# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One pass over the data for all cuts of a certificate whose samples are moved to its frame in doubles.

There the covectors z_i err by ``(2 d + 16) u sqrt2 (T + |c|) x_i0`` already (`frame`), and a sum needs to be no better
than that. So terms are summed plainly within a block of 64 samples, in eight parts, and only the sums of blocks are
added up with care. With u = 2^-53 and gamma_n = n u/(1 - n u):

* A part of a block adds 8 terms to 0 and three more additions put the eight parts together. The first addition to 0 is
  exact, so every term takes part in at most 10 rounded additions, and in one product before, with its cost. The error
  of the block is at most ``gamma_11 sum |terms|`` (Higham, Accuracy and Stability of Numerical Algorithms, 4.2).
* Sums p_k of N blocks are added with the rounding error of each addition, which is a double (Knuth's TwoSum), summed
  apart: the result is within ``u |sum p_k| + gamma_N^2 sum |p_k|`` of their sum (Ogita, Rump and Oishi, Accurate sum
  and dot product, 2005, proposition 4.5).
* ``|z_ij| <= (T + |c|) x_i0``, so ``sum |terms| <= (T + |c|) sum c_i x_i0``; that sum is made along with the others.

Loops along a block have no branches and read memory in order, so that compilers use vector instructions.
Compiled by Cython at installation, without fused operations.
"""

import cython
import numpy as np

from hypermargin.arithmetic import rounding_factor

if cython.compiled:
    from cython.cimports.hypermargin.geometry.compiled.frames import covector_columns
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

    from hypermargin.geometry.compiled.frames import covector_columns

BLOCK = cython.declare(cython.Py_ssize_t, 64)  # samples that are moved to the frame at a time, a multiple of 8
U = cython.declare(cython.double, 2.0**-53)
#: Rows of a table of sums before those of the covectors: of costs and of costs times x0.
BEFORE = cython.declare(cython.Py_ssize_t, 2)


def cut_sums(
    X: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][:],
    costs: cython.const[cython.double][:],
    weighted: cython.bint,
    entry: cython.const[cython.double][:, ::1],
    points: cython.const[cython.double][:, ::1],
    threshold: cython.double,
    apart: cython.const[cython.Py_ssize_t][::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    stretch: cython.double,
    reach_factor: cython.double,
):
    """The cuts at the points: midpoints and error bounds, (cuts, d + 2) each, and which are of one class (`CutSums`).

    Cut j takes the samples whose margin ``z_i @ points[j]``, summed in the order of the index, is below `threshold`,
    save ``apart[starts[j]]`` to ``apart[starts[j + 1] - 1]``, which ascend. `entry` leads to the frame, `stretch` is at
    least ``T + |c|``, and computed covectors are within ``reach_factor x_i0`` of the exact ones, coordinate by
    coordinate. Costs that are not `weighted` are one number.
    """
    n: cython.Py_ssize_t = X.shape[0]
    width: cython.Py_ssize_t = X.shape[1]
    rows: cython.Py_ssize_t = BEFORE + width
    n_cuts: cython.Py_ssize_t = points.shape[0]
    first: cython.Py_ssize_t = 0 if weighted else 1  # without weights the sum of costs is the number of samples
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    r: cython.Py_ssize_t
    m: cython.Py_ssize_t
    count: cython.double
    side: cython.double
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
    ahead: cython.Py_ssize_t[::1] = np.array(starts)  # for each cut the next sample that is left out
    for r in range(BLOCK):
        ones[0, r] = 1.0
    for i in range(0, n, BLOCK):
        m = min(BLOCK, n - i)
        covector_columns(X, y, i, entry, raw, Z, 0)
        for r in range(m):
            sides[0, r] = y[i + r]
            parts[1, r] = raw[0, r]
        for k in range(width):
            for r in range(m):
                parts[BEFORE + k, r] = Z[k, r]
        if weighted:
            for r in range(m):
                parts[0, r] = costs[i + r]
            for k in range(1, rows):
                for r in range(m):
                    parts[k, r] *= parts[0, r]
        for r in range(m, BLOCK):  # beyond the last sample nothing is added
            sides[0, r] = 0.0
            for k in range(rows):
                parts[k, r] = 0.0
        for j in range(n_cuts):
            _choose(Z, points, j, threshold, m, chosen)
            while ahead[j] < starts[j + 1] and apart[ahead[j]] < i + BLOCK:
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
                block[k] = _product(chosen, parts, k)
            _add_block(block, sums, j, first, rows)
    return _assembled(table, counts, 1.0 if weighted else costs[0], weighted, stretch, reach_factor, n)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _choose(
    Z: cython.double[:, ::1],
    points: cython.const[cython.double][:, ::1],
    j: cython.Py_ssize_t,
    threshold: cython.double,
    m: cython.Py_ssize_t,
    chosen: cython.double[::1],
) -> cython.void:
    """Ones for those of the m samples of a block whose margin at point j is below the threshold, zeros for others."""
    e: cython.Py_ssize_t
    k: cython.Py_ssize_t
    r: cython.Py_ssize_t
    factor: cython.double
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


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _product(chosen: cython.double[::1], parts: cython.double[:, ::1], k: cython.Py_ssize_t) -> cython.double:
    """The sum of the chosen numbers of row k, in eight parts that a processor adds side by side."""
    e: cython.Py_ssize_t
    r: cython.Py_ssize_t
    part = cython.declare(cython.double[8])
    if not cython.compiled:
        part = [0.0] * 8
    for r in range(8):
        part[r] = 0.0
    for e in range(0, BLOCK, 8):
        for r in range(8):
            part[r] += chosen[e + r] * parts[k, e + r]
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _add_block(
    block: cython.double[::1],
    sums: cython.double[:, :, ::1],
    j: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    rows: cython.Py_ssize_t,
) -> cython.void:
    """Add the sums of a block to those of cut j, and what the additions lose to the sums of losses (TwoSum)."""
    k: cython.Py_ssize_t
    total: cython.double
    back: cython.double
    for k in range(first, rows):
        total = sums[0, j, k] + block[k]
        back = total - sums[0, j, k]
        sums[1, j, k] += (sums[0, j, k] - (total - back)) + (block[k] - back)
        sums[0, j, k] = total


def _assembled(
    table: cython.double[:, :, ::1],
    counts: cython.double[:, ::1],
    factor: cython.double,
    weighted: cython.bint,
    stretch: cython.double,
    reach_factor: cython.double,
    n: cython.Py_ssize_t,
):
    """Midpoints and errors, which are computed in floating point themselves and made larger by more than so.

    A midpoint is the sum of two numbers times `factor`, three roundings with that of the proposition. Sums of positive
    terms, which bound the others, have relative errors of ``gamma_n`` at most. A sum of no terms is exactly 0; others
    may have lost something to underflow.
    """
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    terms: cython.Py_ssize_t = table.shape[2] - 1
    size: cython.double
    error: cython.double
    gamma: cython.double = rounding_factor(n // BLOCK + 1)
    lost: cython.double = rounding_factor(11) + gamma * gamma
    more: cython.double = 1.0 + rounding_factor(n + 64)
    numbers = np.zeros((2, table.shape[1], terms))
    totals: cython.double[:, :, ::1] = numbers
    alone = np.zeros(table.shape[1], dtype=np.uint8)
    one_class: cython.uchar[::1] = alone
    for j in range(table.shape[1]):
        one_class[j] = counts[j, 1] != 2.0
        for k in range(terms):
            if k == 0:
                totals[0, j, 0] = factor * (table[0, j, 0] + table[1, j, 0] if weighted else counts[j, 0])
                size = fabs(totals[0, j, 0]) if weighted else 0.0
                error = lost * size
            else:
                totals[0, j, k] = factor * (table[0, j, k + 1] + table[1, j, k + 1])
                size = factor * (table[0, j, 1] + table[1, j, 1])
                error = (lost * stretch + reach_factor) * size
            error += 3.0 * U * fabs(totals[0, j, k])
            totals[1, j, k] = 0.0 if error == 0.0 else error * more + 1e-300
    return numbers[0], numbers[1], alone.view(np.bool_)
