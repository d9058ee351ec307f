# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
# distutils: extra_compile_args = -fno-tree-vectorize
"""Cuts of robust problems: one pass over samples that sums up points of their uncertainty sets, with proven bounds.

Compiled by Cython at installation, with the C types of `members.pxd`, without fused operations, and without vector
instructions, which slow down loops as short as d; without a compiler the interpreter runs this file.

The points are members of their sets beyond doubt although they are computed in doubles. With u = 2^-53 and d the
dimension:

*Geodesic ball around* ``x = (sqrt(1 + |xr|^2), xr)``. The convex hull is the set of p with ``p * p >= 1``, ``p0 > 0``
and ``p * x <= cosh rho``: what the plane through its boundary sphere cuts off the solid hyperboloid. For
``p = A x + y B W``, with any numbers A, B and any vector W, ``m = y (x * W)`` and ``q = q(W)``,

    p * x = A + B m,     p * p = (A + B m)^2 - B^2 (q + m^2).

So p is a member if ``sqrt(1 + B^2 T^2) <= A + B m <= cosh rho`` for some ``T^2 >= q + m^2``. Computed m and q differ
from the exact ones by at most ``e_m = (4d + 32) u sum |x_k W_k|`` and ``e_q = (4d + 32) u |W|^2``, which gives an upper
bound of T. With B a little less than ``sinh(rho)`` over it there is room for A: exactly ``cosh(rho) - B m`` (for m < 0,
where it is worse) or ``sqrt(1 + B^2 T^2) - B m``. The computed A differs from that number by at most ``B e_m + 16 u
(cosh(rho) + B (|m| + e_m))``, so p from a member by that times x. As W and B are doubles, and x0 is rounded by (d + 8)
u relatively, nothing else is rounded. Where T is lost in rounding (`uncertainty.FLAT`) p is x, or ``cosh(rho) x``. A
timelike W with m > 0 may itself, normalised, be in the ball: A = 0, ``B^2 (-q) >= 1``. Where ``q + m^2`` cancels, T is
bounded as the length of the tangent part of W itself, ``T^2 = |vr|^2 - (xr.vr)^2/x0^2``, a norm of ``vr = Wr - (x * W)
xr`` of at most ``|vr|``: errors of vr count in full.

*Cuts for spacelike normals* take ``p = A x`` with A between ``exp(-rho)`` and ``exp(rho)``. That is no member, but
where ``q(v) >= 0`` the worst margin, ``cosh(rho) m - sinh(rho) sqrt(q(v) + m^2) <= cosh(rho) m - sinh(rho) |m|``, is at
most ``A m``. A is rounded towards 1 by more than exp errs, and so is a double between these two, exactly. For
linearised sets A is between ``1 - k`` and ``1 + k`` if all z of length k are in the set: the singular values of J are 1
and ``sinh(r)/r >= 1``, hence ``|J'c|`` is at least the length of the tangent part, ``sqrt(q(v) + m^2) >= |m|``. k is
taken inside by 2^-40, and the sum rounded towards 1. Every sample may have such a multiple or a member, as is tighter.

*Linearised sets.* ``p = x + J z``. The z of a box are doubles that lie in it exactly, and those of a cross-polytope as
well, shortened by 2^-40 where entries share rho. Those of a ball or an ellipsoid are ``rho S u`` with the computed u at
most ``(1 - 2^-40)(1 + (d + 8) u) < 1`` long: its length errs by (d/2 + 1) u, and its inverse and three products by u
each. The parts of J (unit vector, sinh, cosh, sinh(r)/r) have relative errors of at most (2d + 16) u, and ``J z`` is
formed from them by sums of at most d + 2 terms of size at most ``2 cosh(r) |z|``: (16 d + 128) u times that is more
than its error.

*What is charged to a sum.* Only x0 and J z are rounded: the first errs by ``(d + 8) u x0``, in one coordinate.

*Underflow* changes a sum of products by less than ``4 d 2^-1074 < UNDERFLOW``. In m, q and T^2 that is nothing beside
``e_q`` if ``|W|^2 >= SHORTEST^2``; else q counts as infinite, and p = x. Under the root of a tangent part `UNDERFLOW`
is added. Vectors are divided by at least `SHORTEST`: longer ones have a square that underflow does not change.

*Far from the origin* linearised sets have images in the frame: ``p = x + sum_k z_k image_k`` with the images of the
axes under the Jacobian moved there (`FramedSamples.jacobians`). x is rounded in the frame, and every coordinate of an
image errs by at most a number per sample, which ``sum |z_k|`` multiplies; the sum itself has d terms. Steps are taken
inside by ``(4 d + 64) u`` only, more than the (d + 8) u by which lengths err: images are long, and 2^-40 would count.
"""

import cython
import numpy as np

from hypermargin.geometry.lorentz import covector, quadratic_form
from hypermargin.problems import linearised, uncertainty

if cython.compiled:
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt

# As numbers that loops read without asking the interpreter.
U = cython.declare(cython.double, 2.0**-53)
INSIDE = cython.declare(cython.double, 1.0 - 2.0**-40)  # how far inside their sets members are taken (see above)
UNDERFLOW = cython.declare(cython.double, 1e-290)  # more than a sum loses to underflow: 4 d 2^-1074 is below 1e-319
SHORTEST = cython.declare(cython.double, 1e-130)  # its square, 1e-260, is that far above underflow
FLAT = cython.declare(cython.double, uncertainty.FLAT)
CANCELLING = cython.declare(cython.double, uncertainty.CANCELLING)
FLOOR = cython.declare(cython.double, uncertainty.FLOOR)
TIED = cython.declare(cython.double, uncertainty.TIED)
BLUR = cython.declare(cython.double, linearised.BLUR)
BLUR_ROUND = cython.declare(cython.double, linearised.BLUR_ROUND)
SHARPER = cython.declare(cython.double, linearised.SHARPER)

# What the members of a cut are: near the worst ones, the observed points, or multiples of them where these are worse.
WORST, NOMINAL, CONE = 0, 1, 2
# Kinds of linearised sets; ROUND are balls and ellipsoids.
BOX, CROSS_POLYTOPE, ROUND = 0, 1, 2


def covector_around(X, y, i, entry, z):
    """Write the covector of sample i in a frame, times its label, to z, as `geometry.isometries.covectors_around`.

    `entry` is the `frame_entry` of the frame's centre.
    """
    along: cython.double
    width = z.shape[0]
    if entry.shape[0] > 1:
        for j in range(width):
            along = X[i, 0] * entry[0, j]
            for k in range(1, width):
                along += X[i, k] * entry[k, j]
            z[j] = y[i] * along
    else:
        along = entry[0, 1] * X[i, 1]
        for j in range(2, width):
            along += entry[0, j] * X[i, j]
        z[0] = (entry[0, 0] * X[i, 0] - along) * y[i]
        shift = X[i, 0] - along / (1.0 + entry[0, 0])
        for j in range(1, width):
            z[j] = (entry[0, j] * shift - X[i, j]) * y[i]


def _outcome(sums: tuple, noise_errors):
    """Counts, sums, magnitudes and, for every entry, a bound on the distance to a sum of exact members.

    x0 errs by ``(d + 8) u x0``; `noise_errors`, one for each cut, are what steps err by.
    """
    counts, values, magnitudes = sums
    distances = np.zeros_like(magnitudes)
    distances[:, 1] = (magnitudes.shape[1] + 6) * U * magnitudes[:, 1]
    return counts, values, magnitudes, distances + noise_errors


# -- geodesic balls --------------------------------------------------------------------------------------------------


def form_bound(W):
    """An upper bound on q(W); infinite where W is so short that its square may underflow."""
    square = float(W @ W)
    return float(quadratic_form(W)) + (4 * W.size + 28) * U * square if square >= SHORTEST**2 else float("inf")


def ball_sums(samples, cuts):
    """Sums over members ``A x + y B W`` of balls.

    `samples` are `robust.Samples` with ``sets = robust.Balls``, `cuts` are `robust.Cuts`. Row j of the sums and of
    those of the sizes of their terms, shape (cuts, d + 2), has the sums of ``c_i`` and ``c_i z'_i`` over the samples
    whose worst margin at point j is below the threshold.
    """
    X: cython.const[cython.double][:, ::1] = samples.X
    y: cython.const[cython.double][:] = samples.y
    costs: cython.const[cython.double][:] = samples.costs
    shrunk: cython.const[cython.double][::1] = samples.shrunk
    grown: cython.const[cython.double][::1] = samples.grown
    cosh: cython.const[cython.double][::1] = samples.sets.cosh
    sinh: cython.const[cython.double][::1] = samples.sets.sinh
    tanh: cython.const[cython.double][::1] = samples.sets.tanh
    points: cython.const[cython.double][:, ::1] = cuts.points
    outside: cython.const[cython.double][:, ::1] = cuts.outside
    frame: cython.const[cython.double][:, ::1] = cuts.frame
    kinds: cython.const[cython.Py_ssize_t][::1] = cuts.kinds
    threshold: cython.double = cuts.threshold
    n, width = X.shape[0], X.shape[1]
    n_cuts = points.shape[0]
    each = 1 if cosh.shape[0] > 1 else 0
    member: tuple[cython.double, cython.double, cython.double]
    m: cython.double
    sums = np.zeros((n_cuts, 2)), np.zeros((n_cuts, width + 1)), np.zeros((n_cuts, width + 1))
    counts: cython.double[:, ::1] = sums[0]
    values: cython.double[:, ::1] = sums[1]
    magnitudes: cython.double[:, ::1] = sums[2]
    across: cython.double[::1] = np.zeros(n_cuts)  # sums of c_i B_i
    slack: cython.double[::1] = np.zeros(n_cuts)  # sums of c_i x_i0 times the errors of A_i
    forms: cython.double[::1] = quadratic_form(cuts.points)
    form_bounds: cython.double[::1] = np.array([form_bound(W) for W in cuts.outside])
    lengths: cython.double[::1] = np.abs(points).sum(axis=1)
    in_frame: cython.double[::1] = np.empty(width)
    z: cython.double[::1] = np.empty(width)
    for i in range(n):
        r = i * each
        covector_around(X, y, i, frame, in_frame)
        z[0] = y[i] * X[i, 0]
        for k in range(1, width):
            z[k] = -y[i] * X[i, k]
        for j in range(n_cuts):
            m = in_frame[0] * points[j, 0]
            for k in range(1, width):
                m += in_frame[k] * points[j, k]
            member = (1.0, 0.0, 0.0)
            if kinds[j] == 1:  # NOMINAL
                if not m < threshold:
                    continue
            elif kinds[j] == 2:  # CONE
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
    for j in range(n_cuts):
        for k in range(width):
            m = across[j] * outside[j, k]
            values[j, k + 1] += m if k == 0 else -m
            magnitudes[j, k + 1] += fabs(m)
    errors = np.zeros((n_cuts, width + 1))
    errors[:, 1:] = np.asarray(slack)[:, None]
    return _outcome(sums, errors)


def ball_member(z, normals, j, q, cosh, sinh, around, flat):
    """A, B and the error of A of the member of a sample at ``normals[j]`` (see the module)."""
    m: cython.double
    square: cython.double
    tangent: cython.double
    m = e_m = tangent = 0.0
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


def _tangent_part(z, normals, j, m, e_m):
    """At least the T of a sample, from the tangent part itself (see the module)."""
    square: cython.double
    along: cython.double
    length: cython.double
    size: cython.double
    part: cython.double
    d = z.shape[0] - 1
    square = along = length = size = 0.0
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


def linearised_sums(samples, cuts, room=None):
    """Sums over members ``x + J z``, as those of `ball_sums`, with ``sets = robust.LinearisedSets``.

    `room`, shape (3, d), ends up with the z, the ``y J'c`` and the ``u`` (before rho and the shape) of the last step.
    """
    X: cython.const[cython.double][:, ::1] = samples.X
    y: cython.const[cython.double][:] = samples.y
    costs: cython.const[cython.double][:] = samples.costs
    shrunk: cython.const[cython.double][::1] = samples.shrunk
    grown: cython.const[cython.double][::1] = samples.grown
    sets = samples.sets
    kind: cython.int = sets.kind
    rho: cython.const[cython.double][::1] = sets.rho
    shape: cython.const[cython.double][:, :, ::1] = sets.shape
    shape_size: cython.const[cython.double][::1] = sets.shape_size
    unit: cython.const[cython.double][:, ::1] = sets.unit
    sinh: cython.const[cython.double][::1] = sets.sinh
    bend: cython.const[cython.double][::1] = sets.bend
    stretch: cython.const[cython.double][::1] = sets.stretch
    step_error: cython.const[cython.double][::1] = sets.step_error
    images: cython.const[cython.double][:, :, ::1] = sets.images
    largest: cython.const[cython.double][:, ::1] = sets.largest
    points: cython.const[cython.double][:, ::1] = cuts.points
    lowered: cython.const[cython.double][:, ::1] = covector(cuts.outside)
    frame: cython.const[cython.double][:, ::1] = cuts.frame
    kinds: cython.const[cython.Py_ssize_t][::1] = cuts.kinds
    threshold: cython.double = cuts.threshold
    n, width = X.shape[0], X.shape[1]
    d: cython.Py_ssize_t = width - 1
    n_cuts = points.shape[0]
    each = 1 if rho.shape[0] > 1 else 0
    imaged = images.shape[0] > 0
    sums = np.zeros((n_cuts, 2)), np.zeros((n_cuts, width + 1)), np.zeros((n_cuts, width + 1))
    counts: cython.double[:, ::1] = sums[0]
    values: cython.double[:, ::1] = sums[1]
    magnitudes: cython.double[:, ::1] = sums[2]
    errors = np.zeros((n_cuts, 1))
    step_errors: cython.double[:, ::1] = errors
    in_frame: cython.double[::1] = np.empty(width)
    vectors: cython.double[:, ::1] = np.empty((3, d)) if room is None else room
    z: cython.double[::1] = vectors[0]
    a: cython.double[::1] = vectors[1]
    turned: cython.double[::1] = vectors[2]
    widest: cython.double[::1] = np.max(np.abs(np.asarray(lowered)[:, 1:]), axis=1)
    shaped = shape.shape[0]
    longest: cython.double = 1.0001 * (d if kind == 0 else sqrt(d))  # |z.a| is at most this times rho times size
    inside: cython.double = 1.0 - (4 * d + 64) * U if imaged else INSIDE
    sharper: cython.double = SHARPER if imaged else 1.0
    m: cython.double
    multiple: cython.double
    bounded: cython.double
    along: cython.double
    size: cython.double
    value: cython.double
    length: cython.double
    error: cython.double
    noise: cython.double
    for i in range(n):
        covector_around(X, y, i, frame, in_frame)
        for j in range(n_cuts):
            m = in_frame[0] * points[j, 0]
            for k in range(1, width):
                m += in_frame[k] * points[j, k]
            multiple = 1.0
            bounded = m
            stepped = kinds[j] != 1  # NOMINAL
            if kinds[j] == 2:  # CONE
                multiple = shrunk[i * each] if m > 0.0 else grown[i * each]
                bounded = multiple * m
            if not stepped:
                for k in range(d):
                    z[k] = 0.0
            else:
                along = 0.0
                if imaged:
                    size = 0.0
                    for k in range(width):
                        size += largest[i, k] * fabs(points[j, k])
                else:
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
                    if imaged:  # summed in the order of the coordinates, as in the solver
                        value = images[i, k, 0] * points[j, 0]
                        for c in range(1, width):
                            value += images[i, k, c] * points[j, c]
                        a[k] = y[i] * value
                    else:
                        a[k] = y[i] * (along * unit[i, k] + lowered[j, k + 1] * stretch[i])
                size *= sharper
                if kind == 2:
                    length = _round_step(a, BLUR_ROUND * size, rho[i * each], inside, shape, shape_size, i, turned, z)
                else:
                    length = _corner_step(a, BLUR * size, kind, rho[i * each], inside, z)
                value = 0.0
                for k in range(d):
                    value += z[k] * a[k]
                if imaged:  # images are long: what steps lie inside their sets would count, so as the solver has it
                    value = -rho[i * each] * length
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
            values[j, 0] += costs[i]
            magnitudes[j, 0] += costs[i]
            if imaged:
                error = length = 0.0
                for k in range(d):
                    length += fabs(z[k])
                for c in range(width):
                    noise = size = 0.0
                    for k in range(d):
                        noise += images[i, k, c] * z[k]
                        size += fabs(images[i, k, c] * z[k])
                    noise *= y[i]
                    along = y[i] * multiple * (X[i, 0] if c == 0 else -X[i, c])
                    values[j, c + 1] += costs[i] * (along + noise)
                    magnitudes[j, c + 1] += costs[i] * (fabs(along) + fabs(noise))
                    error = max(error, size)
                error = 1.0001 * (length * step_error[i] + (d + 4) * U * error)
            else:
                error = step_error[i]
                along = 0.0
                for k in range(d):
                    along += unit[i, k] * z[k]
                noise = sinh[i] * along
                values[j, 1] += costs[i] * y[i] * (multiple * X[i, 0] + noise)
                magnitudes[j, 1] += costs[i] * (fabs(multiple) * X[i, 0] + fabs(noise))
                along *= bend[i]
                for k in range(d):
                    noise = stretch[i] * z[k] + along * unit[i, k]
                    values[j, k + 2] -= costs[i] * y[i] * (multiple * X[i, k + 1] + noise)
                    magnitudes[j, k + 2] += costs[i] * (fabs(multiple * X[i, k + 1]) + fabs(noise))
            if stepped:
                step_errors[j, 0] += costs[i] * error
    return _outcome(sums, errors)


def _corner_step(a, blur, kind, rho, inside, z):
    """Write to z the step of a box or a cross-polytope, as `LinearisedSet.unit_step` has it; the dual length of a.

    z is in the set exactly. Entries of a that are at most `blur` are rounding.
    """
    d = a.shape[0]
    length, least, tied = 0.0, blur, 0.0
    for k in range(d):
        length = max(length, fabs(a[k])) if kind == 1 else length + fabs(a[k])
    if kind == 1:
        for k in range(d):
            least = max(least, fabs(a[k]) - blur)
        for k in range(d):
            if fabs(a[k]) > blur and fabs(a[k]) >= least:
                tied += 1.0
        rho = inside * rho / max(tied, 1.0)
    for k in range(d):
        z[k] = 0.0
        if fabs(a[k]) > blur and fabs(a[k]) >= least:
            z[k] = -rho if a[k] > 0.0 else rho
    return length


def _round_step(a, least, rho, inside, shape, shape_size, i, turned, z):
    """The same for a ball, or for an ellipsoid where there is a shape; `turned` is room."""
    length: cython.double
    shortest: cython.double
    value: cython.double
    d = a.shape[0]
    shaped = shape.shape[0] > 0
    s = i if shape.shape[0] > 1 else 0
    length = 0.0
    for k in range(d):
        turned[k] = 0.0 if shaped else a[k]
    if shaped:
        for r in range(d):
            for k in range(d):
                turned[k] += shape[s, r, k] * a[r]
    for k in range(d):
        length += turned[k] * turned[k]
    length = sqrt(length)
    shortest = max(length, least * shape_size[s] if shaped else least, SHORTEST)
    value = 1.0 / shortest
    for k in range(d):
        turned[k] = -inside * (turned[k] * value)
        z[k] = rho * turned[k]
    if shaped:
        for k in range(d):
            value = 0.0
            for r in range(d):
                value += shape[s, k, r] * turned[r]
            z[k] = rho * value
    return length
