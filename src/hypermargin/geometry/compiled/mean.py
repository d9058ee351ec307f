# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What Newton's method for the Fréchet mean asks of the points, in one pass, and how it moves a single one.

The operations are those of `metric.half_chord_squared`, `isometries.move_to_origin` and `tangent.log_origin`, in which
nothing cancels for far points; each would be a dozen array operations, which take longer than their arithmetic where
points are few. Compiled by Cython at installation; without a compiler the interpreter runs the same file.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import asinh, sqrt, tanh
else:
    from math import asinh, sqrt, tanh

#: Points whose sums are added up before they join the others, which keeps rounding errors of long sums small.
BLOCK = cython.declare(cython.Py_ssize_t, 256)


def logarithm_sums(
    points: cython.const[cython.double][:, :],
    weights: cython.const[cython.double][::1],
    centre: cython.const[cython.double][::1],
):
    """Sums over the logarithms ``v_i = r_i u_i`` of the points in the frame that has `centre` at the origin.

    Of the points, shape (n, d + 1), and of the centre, (d + 1,), the space parts are read. Returns ``sum a_i r_i^2``,
    ``sum a_i r_i``, ``sum a_i v_i``, shape (d,), and ``sum a_i (u_i u_i' + r_i coth(r_i) (I - u_i u_i'))``, (d, d).
    """
    n: cython.Py_ssize_t = points.shape[0]
    d: cython.Py_ssize_t = points.shape[1] - 1
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    length: cython.double
    r: cython.double
    across: cython.double
    share: cython.double
    totals = np.zeros((d + 3, d))
    block = np.zeros((d + 3, d))
    total: cython.double[:, ::1] = (
        totals  # rows: bends of each axis, logarithms, squares and lengths (with bends across)
    )
    part: cython.double[:, ::1] = block
    moved: cython.double[::1] = np.empty(d)
    all_across: cython.double = 0.0
    part_across: cython.double = 0.0
    with cython.nogil:
        for i in range(n):
            _move(points[i], centre, 1.0, moved)
            length = 0.0
            for j in range(d):
                length += moved[j] * moved[j]
            length = sqrt(length)
            r = asinh(length)
            across = r / tanh(r) if r > 0.0 else 1.0
            part[d + 1, 0] += weights[i] * r * r
            part[d + 2, 0] += weights[i] * r
            part_across += weights[i] * across
            if length > 0.0:
                for j in range(d):
                    moved[j] /= length
                    part[d, j] += weights[i] * r * moved[j]
                share = weights[i] * (1.0 - across)
                for j in range(d):
                    for k in range(j + 1):
                        part[j, k] += share * moved[j] * moved[k]
            if i % BLOCK == BLOCK - 1 or i == n - 1:
                all_across += part_across
                part_across = 0.0
                for j in range(d + 3):
                    for k in range(d):
                        total[j, k] += part[j, k]
                        part[j, k] = 0.0
        for j in range(d):
            for k in range(j):
                total[k, j] = total[j, k]
            total[j, j] += all_across
    return totals[d + 1, 0], totals[d + 2, 0], totals[d], totals[:d]


def moved_from_origin(point: cython.const[cython.double][::1], centre: cython.const[cython.double][::1]):
    """The space part of a point, (d + 1,), after the boost that takes the origin to `centre`: shape (d,)."""
    result = np.empty(point.shape[0] - 1)
    moved: cython.double[::1] = result
    _move(point, centre, -1.0, moved)
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(
    x: cython.const[cython.double][:],
    p: cython.const[cython.double][::1],
    sign: cython.double,
    moved: cython.double[::1],
) -> cython.void:
    """The space part of x in the frame that has ``(p0, sign pr)`` at the origin; the time parts are not read."""
    d: cython.Py_ssize_t = moved.shape[0]
    j: cython.Py_ssize_t
    x_square: cython.double = 0.0
    p_square: cython.double = 0.0
    squares: cython.double = 0.0
    apart: cython.double
    centre: cython.double
    for j in range(1, d + 1):
        centre = sign * p[j]
        x_square += x[j] * x[j]
        p_square += centre * centre
        squares += (x[j] - centre) * (x[j] + centre)  # |xr|^2 - |pr|^2 without squaring first
    x_norm: cython.double = sqrt(x_square)
    p_norm: cython.double = sqrt(p_square)
    x_time: cython.double = sqrt(1.0 + x_square)
    p_time: cython.double = sqrt(1.0 + p_square)
    sinh_radial: cython.double = 0.0
    excess: cython.double = 0.0
    if x_norm + p_norm > 0.0:
        sinh_radial = squares / (x_norm * p_time + p_norm * x_time)
        excess = squares / (x_norm + p_norm)
    angular: cython.double = 0.0
    smaller: cython.double = x_norm if x_norm < p_norm else p_norm
    larger: cython.double = p_norm if x_norm < p_norm else x_norm
    if smaller > 0.0:
        for j in range(1, d + 1):
            centre = sign * p[j]
            apart = (x[j] - centre) - (x[j] if x_norm < p_norm else centre) / smaller * excess
            angular += apart * apart
        angular *= 0.25 * (smaller / larger)
    half_chord: cython.double = (
        sinh_radial * sinh_radial / (2.0 * (1.0 + sqrt(1.0 + sinh_radial * sinh_radial))) + angular
    )
    apart = (squares / (x_time + p_time) + 2.0 * half_chord) / (1.0 + p_time)
    for j in range(1, d + 1):
        centre = sign * p[j]
        moved[j - 1] = (x[j] - centre) - centre * apart
