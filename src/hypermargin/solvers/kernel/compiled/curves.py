# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Rough answers to many small curve problems of few dimensions: what cross-validation compares, without certificates.

Each problem (`problems/curve.py`) is solved in the frame of its own Fréchet mean by Newton's method on a smoothed
hinge, as in `solvers/kernel/features.py`, for one C after the other. It ends when the smoothing costs at most `tol` of
the objective. With 20 samples in the plane a problem takes some ten microseconds, less than one array operation.

Compiled by Cython at installation; without a compiler the interpreter runs the same file.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import acosh, fabs, sqrt
else:
    from math import acosh, fabs, sqrt

#: Steps towards the mean. Each shrinks the distance from it by a factor of about 1 - 1/(r coth r), r the typical
#: distance of the samples: in a disk of radius 6 these leave a thousandth of it.
MEAN_STEPS = cython.declare(cython.Py_ssize_t, 40)
#: ``cosh - 1`` of a step towards the mean that is small enough: distance 1e-4.
NEAR_MEAN = cython.declare(cython.double, 5e-9)
#: Widths of the smoothed hinge, as in `features.py`: the first one, the first for a C after another, and the factor.
FIRST_BAND = cython.declare(cython.double, 1.0)
NEXT_BAND = cython.declare(cython.double, 0.2)
NARROWER = cython.declare(cython.double, 0.2)
#: Newton steps for one width, and for one C: three for each of six widths are usual.
STEPS_OF_BAND = cython.declare(cython.Py_ssize_t, 30)
STEPS = cython.declare(cython.Py_ssize_t, 150)
#: A step that promises less than this share of what the smoothing costs is the last one of its width.
ENOUGH = cython.declare(cython.double, 0.05)


def minimise_curves(
    X: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    factors: cython.const[cython.double][::1],
    tol: cython.double,
    recentre: cython.bint,
    planes: cython.double[:, :, ::1],
):
    """Coefficients u and intercept b, ``score = x.u + b``, of every problem for every factor of the weights.

    Without `recentre` they are those of linear SVMs, on rows of any numbers.

    Parameters
    ----------
    X : (n, d + 1) array
        Unit Lorentz points; problem p has the rows ``starts[p] : starts[p + 1]``.
    y : (n,) array
        Labels -1 and +1; both occur in every problem.
    weight : (n,) array
    factors : (n_factors,) array
        ``C / sqrt(2)``, in increasing order: each begins with the answer to the one before.
    planes : (n_factors, n_problems, d + 2) array
        Receives u and b.
    """
    m: cython.Py_ssize_t = X.shape[1]
    most: cython.Py_ssize_t = int(np.diff(starts).max())
    rows: cython.double[:, ::1] = np.empty((most, m))
    costs: cython.double[::1] = np.empty(most)
    excess: cython.double[::1] = np.empty(most)
    change: cython.double[::1] = np.empty(most)
    matrix: cython.double[:, ::1] = np.empty((m + 1, m + 1))
    vectors: cython.double[:, ::1] = np.empty((4, m + 1))
    with cython.nogil:
        for p in range(starts.shape[0] - 1):
            first, past = starts[p], starts[p + 1]
            centre = vectors[3]
            if recentre:
                _mean(X[first:past], weight[first:past], centre, vectors[2])
                _into_frame(X[first:past], centre, rows)
            else:
                centre[0] = 1.0
                centre[1:] = 0.0
                rows[: past - first] = X[first:past]
            for k in range(m + 1):
                vectors[0, k] = 0.0
            for q in range(factors.shape[0]):
                for i in range(past - first):
                    costs[i] = factors[q] * weight[first + i]
                band = FIRST_BAND if q == 0 else NEXT_BAND
                _minimise(rows[: past - first], y[first:past], costs, band, tol, vectors, matrix, excess, change)
                _out_of_frame(vectors[0], centre, planes[q, p])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mean(
    X: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    centre: cython.double[::1],
    total: cython.double[::1],
) -> cython.void:
    """The Fréchet mean: the fixed point of the centroid with weights ``a d/sinh(d)``.

    ``d^2`` is a concave function of cosh(d), so that each of these centroids is nearer to the mean by its objective.
    """
    m: cython.Py_ssize_t = X.shape[1]
    share: cython.double = 0.0
    cosh: cython.double = 0.0
    square: cython.double = 0.0
    moved: cython.double = 0.0
    for step in range(MEAN_STEPS):
        for k in range(m):
            total[k] = 0.0
        for i in range(X.shape[0]):
            share = weight[i]
            if step > 0:
                cosh = X[i, 0] * centre[0]
                for k in range(1, m):
                    cosh -= X[i, k] * centre[k]
                if cosh > 1.0 + 1e-12:
                    share *= acosh(cosh) / sqrt((cosh - 1.0) * (cosh + 1.0))
            for k in range(m):
                total[k] += share * X[i, k]
        square = 0.0
        for k in range(1, m):
            square += total[k] * total[k]
        length = sqrt(square)
        square = (total[0] - length) * (total[0] + length)
        size = sqrt(square) if square > 1e-300 else 1e-150
        square = 0.0
        moved = 0.0
        for k in range(1, m):
            total[k] /= size
            square += total[k] * total[k]
            moved -= total[k] * centre[k]
        total[0] = sqrt(1.0 + square)
        moved += total[0] * centre[0]
        for k in range(m):
            centre[k] = total[k]
        if step > 0 and moved - 1.0 <= NEAR_MEAN:
            break


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _into_frame(
    X: cython.const[cython.double][:, ::1], centre: cython.const[cython.double][::1], rows: cython.double[:, ::1]
) -> cython.void:
    """The points after the boost that moves the centre to the origin."""
    m: cython.Py_ssize_t = X.shape[1]
    along: cython.double = 0.0
    square: cython.double = 0.0
    factor: cython.double = 0.0
    for i in range(X.shape[0]):
        along = 0.0
        for k in range(1, m):
            along += X[i, k] * centre[k]
        factor = along / (1.0 + centre[0]) - X[i, 0]
        square = 0.0
        for k in range(1, m):
            rows[i, k] = X[i, k] + factor * centre[k]
            square += rows[i, k] * rows[i, k]
        rows[i, 0] = sqrt(1.0 + square)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _out_of_frame(
    w: cython.const[cython.double][::1], centre: cython.const[cython.double][::1], plane: cython.double[::1]
) -> cython.void:
    """Coefficients on the points as they are; the boost is symmetric."""
    m: cython.Py_ssize_t = plane.shape[0] - 1
    along: cython.double = 0.0
    for k in range(1, m):
        along += w[k] * centre[k]
    plane[0] = centre[0] * w[0] - along
    for k in range(1, m):
        plane[k] = w[k] + centre[k] * (along / (1.0 + centre[0]) - w[0])
    plane[m] = w[m]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _minimise(
    Z: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][::1],
    costs: cython.const[cython.double][::1],
    band: cython.double,
    tol: cython.double,
    vectors: cython.double[:, ::1],
    matrix: cython.double[:, ::1],
    excess: cython.double[::1],
    change: cython.double[::1],
) -> cython.void:
    """Move ``vectors[0]``, the features' weights and the intercept, to the least objective of costs c."""
    n: cython.Py_ssize_t = Z.shape[0]
    m: cython.Py_ssize_t = Z.shape[1]
    w, slope, move = vectors[0], vectors[1], vectors[2]
    total: cython.double = 0.0
    value: cython.double = 0.0
    in_band: cython.double = 0.0
    promise: cython.double = 0.0
    score: cython.double = 0.0
    for i in range(n):
        total += costs[i]
    steps = 0
    while steps < STEPS:
        for _ in range(STEPS_OF_BAND):
            steps += 1
            in_band = _slope(Z, y, costs, band, total, w, slope, matrix, excess)
            _solve(matrix, slope, move)
            promise = 0.0
            for k in range(m + 1):
                promise += slope[k] * move[k]
            if not promise > 1e-14:  # of an objective that is about 1 and more
                break
            for i in range(n):
                score = move[m]
                for k in range(m):
                    score += Z[i, k] * move[k]
                change[i] = y[i] * score
            share = _line_search(costs, band, excess, change, w, move, promise, n)
            if not share > 0.0:
                break
            for k in range(m + 1):
                w[k] -= share * move[k]
            if promise <= ENOUGH * 0.25 * band * in_band:
                break
        value = 0.0
        for k in range(m):
            value += 0.5 * w[k] * w[k]
        for i in range(n):
            if excess[i] > 0.0:
                value += costs[i] * excess[i]
        if 0.25 * band * in_band <= tol * value:
            break
        band *= NARROWER


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _slope(
    Z: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][::1],
    costs: cython.const[cython.double][::1],
    band: cython.double,
    total: cython.double,
    w: cython.const[cython.double][::1],
    slope: cython.double[::1],
    matrix: cython.double[:, ::1],
    excess: cython.double[::1],
) -> cython.double:
    """Slope and second derivatives of the smoothed objective; returns the costs in the band."""
    n: cython.Py_ssize_t = Z.shape[0]
    m: cython.Py_ssize_t = Z.shape[1]
    in_band: cython.double = 0.0
    score: cython.double = 0.0
    short: cython.double = 0.0
    dual: cython.double = 0.0
    bend: cython.double = 0.0
    bent: cython.double = 0.0
    for k in range(m + 1):
        slope[k] = w[k] if k < m else 0.0
        for j in range(k + 1):
            matrix[k, j] = 1.0 if j == k and k < m else 0.0
    for i in range(n):
        score = w[m]
        for k in range(m):
            score += Z[i, k] * w[k]
        short = 1.0 - y[i] * score
        excess[i] = short
        if short <= 0.0:
            continue
        dual = y[i] * costs[i]
        if short < band:
            in_band += costs[i]
            dual *= short / band
            bend = costs[i] / band
            for k in range(m):
                bent = bend * Z[i, k]
                for j in range(k + 1):
                    matrix[k, j] += bent * Z[i, j]
                matrix[m, k] += bent
            matrix[m, m] += bend
        for k in range(m):
            slope[k] -= dual * Z[i, k]
        slope[m] -= dual
    if in_band == 0.0:  # the intercept has no curvature of its own
        matrix[m, m] = total
    return in_band


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _solve(
    matrix: cython.double[:, ::1], right: cython.const[cython.double][::1], found: cython.double[::1]
) -> cython.void:
    """Solve a positive definite system by Cholesky factors, which take the place of the lower triangle."""
    n: cython.Py_ssize_t = matrix.shape[0]
    value: cython.double = 0.0
    least: cython.double = 0.0
    for k in range(n):
        found[k] = right[k]
        for j in range(k + 1):
            value = matrix[k, j]
            for i in range(j):
                value -= matrix[k, i] * matrix[j, i]
            if j < k:
                matrix[k, j] = value / matrix[j, j]
            else:
                least = 1e-14 * matrix[k, k]
                matrix[k, k] = sqrt(value) if value > least else sqrt(least)
        for j in range(k):
            found[k] -= matrix[k, j] * found[j]
        found[k] /= matrix[k, k]
    for back in range(n):
        k = n - 1 - back
        for j in range(k + 1, n):
            found[k] -= matrix[j, k] * found[j]
        found[k] /= matrix[k, k]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _line_search(
    costs: cython.const[cython.double][::1],
    band: cython.double,
    excess: cython.const[cython.double][::1],
    change: cython.const[cython.double][::1],
    w: cython.const[cython.double][::1],
    move: cython.const[cython.double][::1],
    promise: cython.double,
    n: cython.Py_ssize_t,
) -> cython.double:
    """The share of the step at which the slope along it vanishes: the slope grows, so it is bracketed and bisected."""
    m: cython.Py_ssize_t = w.shape[0] - 1
    norm: cython.double = 0.0
    along: cython.double = 0.0
    for k in range(m):
        norm += move[k] * move[k]
        along -= w[k] * move[k]
    low: cython.double = 0.0
    high: cython.double = 1.0
    at_low: cython.double = -promise
    at_middle: cython.double = 0.0
    middle: cython.double = 0.0
    at_high: cython.double = _slope_along(costs, band, excess, change, 1.0, n) + along + norm
    while at_high < -1e-2 * promise and high < 1e8:
        low = high
        at_low = at_high
        high *= 4.0
        at_high = _slope_along(costs, band, excess, change, high, n) + along + high * norm
    if fabs(at_high) <= 1e-2 * promise:
        return high
    if at_high < 0.0:
        return 0.0
    for k in range(40):
        middle = low + (high - low) * (at_low / (at_low - at_high) if k % 3 < 2 else 0.5)
        at_middle = _slope_along(costs, band, excess, change, middle, n) + along + middle * norm
        if fabs(at_middle) <= 1e-2 * promise:
            break
        if at_middle < 0.0:
            low = middle
            at_low = at_middle
        else:
            high = middle
            at_high = at_middle
    return middle


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _slope_along(
    costs: cython.const[cython.double][::1],
    band: cython.double,
    excess: cython.const[cython.double][::1],
    change: cython.const[cython.double][::1],
    share: cython.double,
    n: cython.Py_ssize_t,
) -> cython.double:
    """The slope of the smoothed risk along the step, which lets each excess grow by ``share change``."""
    found: cython.double = 0.0
    short: cython.double = 0.0
    for i in range(n):
        short = (excess[i] + share * change[i]) / band
        if short > 0.0:
            found += costs[i] * change[i] * (short if short < 1.0 else 1.0)
    return found
