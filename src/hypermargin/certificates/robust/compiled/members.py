# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: extra_compile_args = -fno-tree-vectorize
"""One pass over samples for all cuts of a robust problem's certificate: which samples a cut takes, and sums of members.

The same operations as in `members`, whose argument about roundings holds for both. Compiled by Cython at installation,
without fused operations, and without vector instructions, which slow down loops as short as d; where there is no
compiler `members` does the work with arrays.

`X`, `y` and `costs` belong to the samples of the pass; numbers of the sets have one entry for all or one per sample.
Row j of `values` and `magnitudes`, shape (points, d + 2), gets the sums of ``c_i`` and ``c_i z'_i`` and those of the
sizes of their terms; ``counts[j]`` the numbers of samples taken of the classes -1 and +1. All are added to what is
there.
"""

import cython
import numpy as np

from hypermargin.certificates.robust import members
from hypermargin.problems import linearised, uncertainty

if cython.compiled:
    from cython.cimports.hypermargin.certificates.compiled.frame import covectors_around
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt

    from hypermargin.certificates.compiled.frame import covectors_around

# As numbers that loops read without asking the interpreter.
U = cython.declare(cython.double, 2.0**-53)
FLAT = cython.declare(cython.double, uncertainty.FLAT)
INSIDE = cython.declare(cython.double, members.INSIDE)
UNDERFLOW = cython.declare(cython.double, members.UNDERFLOW)
SHORTEST = cython.declare(cython.double, members.SHORTEST)
CANCELLING = cython.declare(cython.double, uncertainty.CANCELLING)
FLOOR = cython.declare(cython.double, uncertainty.FLOOR)
TIED = cython.declare(cython.double, uncertainty.TIED)
BLUR = cython.declare(cython.double, linearised.BLUR)
BLUR_ROUND = cython.declare(cython.double, linearised.BLUR_ROUND)

# Kinds of linearised sets; ROUND are balls and ellipsoids.
BOX, CROSS_POLYTOPE, ROUND = 0, 1, 2


# -- geodesic balls --------------------------------------------------------------------------------------------------


def ball_sums(
    X: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][:],
    costs: cython.const[cython.double][:],
    cosh: cython.const[cython.double][::1],
    sinh: cython.const[cython.double][::1],
    tanh: cython.const[cython.double][::1],
    shrunk: cython.const[cython.double][::1],
    grown: cython.const[cython.double][::1],
    frame: cython.const[cython.double][:, ::1],
    points: cython.const[cython.double][:, ::1],
    forms: cython.const[cython.double][::1],
    outside: cython.const[cython.double][:, ::1],
    form_bounds: cython.const[cython.double][::1],
    kinds: cython.const[cython.Py_ssize_t][::1],
    threshold: cython.double,
    values: cython.double[:, ::1],
    magnitudes: cython.double[:, ::1],
    counts: cython.double[:, ::1],
    across: cython.double[::1],
    slack: cython.double[::1],
):
    """Sums over members ``A x + y B W`` without their parts ``B W``, whose sums of ``c_i B_i`` go to `across`.

    A is known up to a number per sample; `slack` gets the sums of ``c_i x_i0`` times it.

    `forms` are q of the `points`, `form_bounds` those of `outside` (`members.form_bound`). Cuts of the kind NOMINAL
    take the observed points, those of the kind CONE multiples of them (`members.cone_multiples`).
    """
    n: cython.Py_ssize_t = X.shape[0]
    width: cython.Py_ssize_t = X.shape[1]
    each: cython.Py_ssize_t = 1 if cosh.shape[0] > 1 else 0
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    r: cython.Py_ssize_t
    m: cython.double
    tangent: cython.double
    worst: cython.double
    along: cython.double
    around: cython.bint
    flat: cython.bint
    lengths: cython.double[::1] = np.abs(points).sum(axis=1)
    member: tuple[cython.double, cython.double, cython.double]
    row: cython.double[:, ::1] = np.empty((1, width))
    in_frame: cython.double[::1] = row[0]
    z: cython.double[::1] = np.empty(width)
    for i in range(n):
        r = i * each
        covectors_around(X, y, i, frame, row)
        z[0] = y[i] * X[i, 0]
        for k in range(1, width):
            z[k] = -y[i] * X[i, k]
        for j in range(points.shape[0]):
            m = in_frame[0] * points[j, 0]
            for k in range(1, width):
                m += in_frame[k] * points[j, k]
            member = (1.0, 0.0, 0.0)
            if kinds[j] == 1:
                if not m < threshold:
                    continue
            elif kinds[j] == 2:
                member = (shrunk[r] if m > 0.0 else grown[r], 0.0, 0.0)
                if not member[0] * m < threshold:
                    continue
            else:
                tangent = forms[j] + m * m
                tangent = sqrt(tangent) if tangent > 0.0 else 0.0
                flat = tangent <= FLAT * fabs(in_frame[0]) * lengths[j]
                around = forms[j] < 0.0 and m > 0.0 and tangent < tanh[r] * m
                worst = sqrt(-forms[j]) if around else cosh[r] * m - sinh[r] * tangent
                if not worst < threshold:
                    continue
                member = ball_member(z, outside, j, form_bounds[j], cosh[r], sinh[r], around, flat)
            along = costs[i] * member[0]
            counts[j, 1 if y[i] > 0.0 else 0] += 1.0
            across[j] += costs[i] * member[1]
            slack[j] += costs[i] * member[2] * X[i, 0]
            values[j, 0] += costs[i]
            magnitudes[j, 0] += costs[i]
            for k in range(width):
                values[j, k + 1] += along * z[k]
                magnitudes[j, k + 1] += fabs(along * z[k])


@cython.ccall
@cython.inline
@cython.exceptval(check=False)
def ball_member(
    z: cython.double[::1],
    normals: cython.const[cython.double][:, ::1],
    j: cython.Py_ssize_t,
    q: cython.double,
    cosh: cython.double,
    sinh: cython.double,
    around: cython.bint,
    flat: cython.bint,
) -> tuple[cython.double, cython.double, cython.double]:
    """A, B and the error of A of the member of a sample at ``normals[j]``, as `members` says."""
    A: cython.double
    B: cython.double
    m: cython.double = 0.0
    e_m: cython.double = 0.0
    tangent: cython.double = 0.0
    shortened: cython.double
    square: cython.double
    root: cython.double
    size: cython.double
    inverse: cython.double
    k: cython.Py_ssize_t
    for k in range(z.shape[0]):
        m += z[k] * normals[j, k]
        e_m += fabs(z[k] * normals[j, k])
    e_m *= (4 * z.shape[0] + 28) * U
    square = q + (fabs(m) + e_m) * (fabs(m) + e_m)
    if square > 0.0:
        tangent = sqrt(square) * (1.0 + 8.0 * U)
    if q < 0.0 and square < CANCELLING * m * m:
        square = _tangent_part(z, normals, j, m, e_m)
        if square < tangent:
            tangent = square
    if around and q < 0.0:
        inverse = (1.0 + 8.0 * U) / sqrt(-q)
        if m > e_m and inverse * (m + e_m) * (1.0 + 8.0 * U) <= cosh * (1.0 - 8.0 * U):
            return 0.0, inverse, 0.0
    if flat or not (0.0 < tangent < 1e300 and sinh > 0.0):
        return (cosh, 0.0, 8.0 * U * cosh) if m < 0.0 else (1.0, 0.0, 0.0)
    shortened = tangent
    if q < 0.0 and m < 0.0 and tangent < -FLOOR * m:
        shortened = -FLOOR * m
    B = INSIDE * sinh / shortened
    root = sqrt(1.0 + (B * tangent) * (B * tangent))
    size = B * e_m + 16.0 * U * (cosh + B * (fabs(m) + e_m))
    A = cosh if m < 0.0 else root
    return A - B * m, B, size


@cython.cfunc
@cython.exceptval(check=False)
def _tangent_part(
    z: cython.double[::1],
    normals: cython.const[cython.double][:, ::1],
    j: cython.Py_ssize_t,
    m: cython.double,
    e_m: cython.double,
) -> cython.double:
    """At least the T of a sample, from the tangent part itself, as `members` says."""
    d: cython.Py_ssize_t = z.shape[0] - 1
    k: cython.Py_ssize_t
    part: cython.double
    square: cython.double = 0.0
    along: cython.double = 0.0
    length: cython.double = 0.0
    size: cython.double = 0.0
    for k in range(1, d + 1):
        part = normals[j, k] + m * z[k]
        square += part * part
        along += z[k] * part
        length += z[k] * z[k]
        size += normals[j, k] * normals[j, k]
    along /= z[0]
    along = square - along * along
    if along < 0.0:
        along = 0.0
    size = (e_m + 8.0 * U * fabs(m)) * sqrt(length) + 8.0 * U * sqrt(size)
    return (sqrt(along + (8 * d + 64) * U * square + UNDERFLOW) + size) * (1.0 + 16.0 * U)


# -- linearised sets -------------------------------------------------------------------------------------------------


def linearised_sums(
    X: cython.const[cython.double][:, ::1],
    y: cython.const[cython.double][:],
    costs: cython.const[cython.double][:],
    unit: cython.const[cython.double][:, ::1],
    sinh: cython.const[cython.double][::1],
    bend: cython.const[cython.double][::1],
    stretch: cython.const[cython.double][::1],
    rho: cython.const[cython.double][::1],
    noise_error: cython.const[cython.double][::1],
    shrunk: cython.const[cython.double][::1],
    grown: cython.const[cython.double][::1],
    kind: cython.int,
    shape: cython.const[cython.double][:, :, ::1],
    shape_size: cython.const[cython.double][::1],
    frame: cython.const[cython.double][:, ::1],
    points: cython.const[cython.double][:, ::1],
    lowered: cython.const[cython.double][:, ::1],
    kinds: cython.const[cython.Py_ssize_t][::1],
    threshold: cython.double,
    values: cython.double[:, ::1],
    magnitudes: cython.double[:, ::1],
    counts: cython.double[:, ::1],
    noise_sums: cython.double[::1],
    room: cython.double[:, ::1],
):
    """Sums over members ``x + J z``; `noise_sums` gets those of ``c_i noise_error_i``. `room` has the shape (3, d).

    `unit`, `sinh` and `stretch` are those of `OriginJacobian`, ``bend = cosh - stretch``; `lowered` are the covectors
    of the points in the coordinates of the data. Cuts of the kind NOMINAL take the observed points, those of the kind
    CONE multiples of them (`members.cone_multiples`) where these are worse. `shape` has no rows unless the set is an
    ellipsoid, and then `shape_size` are the Frobenius norms.
    """
    n: cython.Py_ssize_t = X.shape[0]
    width: cython.Py_ssize_t = X.shape[1]
    d: cython.Py_ssize_t = width - 1
    each: cython.Py_ssize_t = 1 if rho.shape[0] > 1 else 0
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    m: cython.double
    along: cython.double
    value: cython.double
    noise: cython.double
    size: cython.double
    multiple: cython.double
    bounded: cython.double
    stepped: cython.bint
    row: cython.double[:, ::1] = np.empty((1, width))
    in_frame: cython.double[::1] = row[0]
    z: cython.double[::1] = room[0]
    a: cython.double[::1] = room[1]
    turned: cython.double[::1] = room[2]
    widest: cython.double[::1] = np.max(np.abs(np.asarray(lowered)[:, 1:]), axis=1)
    shaped: cython.Py_ssize_t = shape.shape[0]
    longest: cython.double = 1.0001 * (d if kind == 0 else sqrt(d))  # |z.a| is at most this times rho times size
    for i in range(n):
        covectors_around(X, y, i, frame, row)
        for j in range(points.shape[0]):
            m = in_frame[0] * points[j, 0]
            for k in range(1, width):
                m += in_frame[k] * points[j, k]
            multiple = 1.0
            bounded = m
            stepped = kinds[j] != 1
            if kinds[j] == 2:
                multiple = shrunk[i * each] if m > 0.0 else grown[i * each]
                bounded = multiple * m
            if kinds[j] == 1:
                for k in range(d):
                    z[k] = 0.0
            else:
                along = 0.0
                for k in range(d):
                    along += lowered[j, k + 1] * unit[i, k]
                along = bend[i] * along + sinh[i] * lowered[j, 0]
                size = stretch[i] * widest[j] + fabs(along)
                value = longest * rho[i * each] * size
                if shaped > 0:
                    value *= shape_size[i if shaped > 1 else 0]
                if m - value >= threshold and not bounded < threshold:  # no step can change that
                    continue
                for k in range(d):
                    a[k] = y[i] * (along * unit[i, k] + lowered[j, k + 1] * stretch[i])
                if kind == 2:
                    _round_step(a, BLUR_ROUND * size, rho[i * each], shape, shape_size, i, turned, z)
                else:
                    _corner_step(a, BLUR * size, kind, rho[i * each], z)
                value = 0.0
                for k in range(d):
                    value += z[k] * a[k]
                if kinds[j] == 2 and bounded < m + value + TIED * fabs(m):
                    stepped = False
                    for k in range(d):
                        z[k] = 0.0
                else:
                    multiple = 1.0
                m = min(m + value, bounded) if kinds[j] == 2 else m + value
            if not m < threshold:
                continue
            counts[j, 1 if y[i] > 0.0 else 0] += 1.0
            along = 0.0
            for k in range(d):
                along += unit[i, k] * z[k]
            values[j, 0] += costs[i]
            magnitudes[j, 0] += costs[i]
            noise = sinh[i] * along
            values[j, 1] += costs[i] * y[i] * (multiple * X[i, 0] + noise)
            magnitudes[j, 1] += costs[i] * (fabs(multiple) * X[i, 0] + fabs(noise))
            along *= bend[i]
            for k in range(d):
                noise = stretch[i] * z[k] + along * unit[i, k]
                values[j, k + 2] -= costs[i] * y[i] * (multiple * X[i, k + 1] + noise)
                magnitudes[j, k + 2] += costs[i] * (fabs(multiple * X[i, k + 1]) + fabs(noise))
            if stepped:
                noise_sums[j] += costs[i] * noise_error[i]


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _corner_step(
    a: cython.double[::1],
    blur: cython.double,
    kind: cython.int,
    rho: cython.double,
    z: cython.double[::1],
) -> cython.void:
    """Write to z the step of a box or a cross-polytope, as `StepMembers._steps` has it."""
    d: cython.Py_ssize_t = a.shape[0]
    k: cython.Py_ssize_t
    least: cython.double = blur
    tied: cython.double = 0.0
    if kind == 1:
        for k in range(d):
            least = max(least, fabs(a[k]) - blur)
        for k in range(d):
            if fabs(a[k]) > blur and fabs(a[k]) >= least:
                tied += 1.0
        rho = INSIDE * rho / max(tied, 1.0)
    for k in range(d):
        z[k] = 0.0
        if fabs(a[k]) > blur and fabs(a[k]) >= least:
            z[k] = -rho if a[k] > 0.0 else rho


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _round_step(
    a: cython.double[::1],
    least: cython.double,
    rho: cython.double,
    shape: cython.const[cython.double][:, :, ::1],
    shape_size: cython.const[cython.double][::1],
    i: cython.Py_ssize_t,
    turned: cython.double[::1],
    z: cython.double[::1],
) -> cython.void:
    """The step of a ball, or of an ellipsoid where there is a shape; `turned` is room."""
    d: cython.Py_ssize_t = a.shape[0]
    shaped: cython.bint = shape.shape[0] > 0
    s: cython.Py_ssize_t = i if shape.shape[0] > 1 else 0
    k: cython.Py_ssize_t
    r: cython.Py_ssize_t
    value: cython.double
    length: cython.double = 0.0
    for k in range(d):
        value = a[k]
        if shaped:
            value = 0.0
            for r in range(d):
                value += shape[s, r, k] * a[r]
        turned[k] = value
        length += value * value
    length = sqrt(length)
    if shaped:
        least *= shape_size[s]
    if length < least:
        length = least
    if length < SHORTEST:
        length = SHORTEST
    length = 1.0 / length
    for k in range(d):
        turned[k] = -INSIDE * (turned[k] * length)
        z[k] = rho * turned[k]
    if shaped:
        for k in range(d):
            value = 0.0
            for r in range(d):
                value += shape[s, k, r] * turned[r]
            z[k] = rho * value
