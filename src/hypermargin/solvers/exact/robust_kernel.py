# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Passes over the data with worst-case margins: risk and cut at a point, for every kind of uncertainty set.

Compiled by Cython at installation, like `kernel`; `robust_oracle` does the same in NumPy where there is no compiler.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt

# Dual norms of the linearised sets.
L1 = 0
MAX = 1
L2 = 2

# Those of `problems.uncertainty` and `problems.linearised`, as constants that the compiler sees.
CANCELLING = cython.declare(cython.double, 1e-4)
FLOOR = cython.declare(cython.double, 1e-7)
BLUR = cython.declare(cython.double, 1e-9)
BLUR_ROUND = cython.declare(cython.double, 1e-8)


def is_compiled() -> bool:
    """Whether this file runs as machine code (True) or is interpreted (False)."""
    return cython.compiled


def ball_pass(
    Z: cython.double[:, ::1],
    k: cython.double[::1],
    cosh: cython.double[::1],
    sinh: cython.double[::1],
    w: cython.double[::1],
    q: cython.double,
    g: cython.double[::1],
    threshold: cython.double,
):
    """Risk at w and offset b of the cut there for geodesic balls (`GeodesicBall`); the cut's slope is written to g.

    `cosh` and `sinh` of the radii have one entry, or one a sample. ``q = q(w)``; ``z' = along z + across covector(w)``.
    """
    n: cython.Py_ssize_t = Z.shape[0]
    width: cython.Py_ssize_t = Z.shape[1]
    step: cython.Py_ssize_t = 1 if cosh.shape[0] > 1 else 0
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    margin: cython.double
    tangent: cython.double
    worst: cython.double
    cost: cython.double
    along: cython.double
    across: cython.double
    part: cython.double
    risk: cython.double = 0.0
    b: cython.double = 0.0
    total: cython.double = 0.0  # of cost * across
    root: cython.double = sqrt(-q) if q < 0.0 else 0.0
    for j in range(width):
        g[j] = 0.0
    for i in range(n):
        margin = 0.0
        for j in range(width):
            margin += Z[i, j] * w[j]
        tangent = q + margin * margin
        if q < 0.0 and tangent < CANCELLING * margin * margin:  # see `uncertainty.tangent_length`
            tangent = along = 0.0
            for j in range(1, width):
                part = w[j] + margin * Z[i, j]
                along += Z[i, j] * part
                tangent += part * part
            along /= Z[i, 0]
            tangent -= along * along
        tangent = sqrt(tangent) if tangent > 0.0 else 0.0
        worst = cosh[i * step] * margin - sinh[i * step] * tangent
        if q < 0.0 and margin > 0.0 and tangent * cosh[i * step] < sinh[i * step] * margin:
            worst, along, across = root, 0.0, 1.0 / root
        elif tangent > 0.0:
            if q < 0.0 and margin < 0.0 and tangent < -FLOOR * margin:
                tangent = -FLOOR * margin
            across = sinh[i * step] / tangent
            along = cosh[i * step] - across * margin
        else:
            across = 0.0
            along = cosh[i * step] if margin < 0.0 else 1.0
        if worst < 1.0:
            cost = k[i]
            risk += cost * (1.0 - worst)
            if worst < threshold:
                b += cost
                total += cost * across
                for j in range(width):
                    g[j] -= cost * along * Z[i, j]
    g[0] -= total * w[0]
    for j in range(1, width):
        g[j] += total * w[j]
    return risk, b


def linearised_pass(
    Z: cython.double[:, ::1],
    k: cython.double[::1],
    unit: cython.double[:, ::1],
    sinh: cython.double[::1],
    bend: cython.double[::1],
    stretch: cython.double[::1],
    rho: cython.double[::1],
    shape: cython.double[:, :, ::1],
    norm: cython.int,
    w: cython.double[::1],
    c: cython.double[::1],
    g: cython.double[::1],
    h: cython.double[::1],
    work: cython.double[:, ::1],
    threshold: cython.double,
):
    """The same for the sets ``x + J z`` (`LinearisedSet`), whose noise lives in the coordinates of the data.

    `w` is in the frame of Z and the nominal part of the slope is written to g; ``c = covector(w)`` in the coordinates
    of the data, where the part of the slope that is due to the noise is written to h. `unit`, `sinh` and `stretch` are
    those of `OriginJacobian`, ``bend = cosh - stretch``. `shape` has no rows unless the set is an ellipsoid; `work` is
    room, (2, d).
    """
    n: cython.Py_ssize_t = Z.shape[0]
    width: cython.Py_ssize_t = Z.shape[1]
    d: cython.Py_ssize_t = width - 1
    each: cython.Py_ssize_t = 1 if rho.shape[0] > 1 else 0
    each_shape: cython.Py_ssize_t = 1 if shape.shape[0] > 1 else 0
    shaped: cython.bint = shape.shape[0] > 0
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    r: cython.Py_ssize_t
    margin: cython.double
    blur: cython.double
    widest: cython.double = 0.0
    along: cython.double
    length: cython.double
    value: cython.double
    worst: cython.double
    cost: cython.double
    risk: cython.double = 0.0
    b: cython.double = 0.0
    u: cython.double[::1] = work[0]
    z: cython.double[::1] = work[1]
    for j in range(width):
        g[j] = 0.0
        h[j] = 0.0
    for j in range(d):
        if fabs(c[j + 1]) > widest:
            widest = fabs(c[j + 1])
    for i in range(n):
        margin = 0.0
        for j in range(width):
            margin += Z[i, j] * w[j]
        along = 0.0
        for j in range(d):
            along += unit[i, j] * c[j + 1]
        along = sinh[i] * c[0] + bend[i] * along
        # The length of J'c, or of S'J'c, in the dual norm; the label changes only signs.
        length = 0.0
        if shaped:
            for j in range(d):
                value = 0.0
                for r in range(d):
                    value += shape[i * each_shape, r, j] * (stretch[i] * c[r + 1] + along * unit[i, r])
                u[j] = value
                length += value * value
            length = sqrt(length)
        elif norm == 2:
            for j in range(d):
                value = stretch[i] * c[j + 1] + along * unit[i, j]
                length += value * value
            length = sqrt(length)
        elif norm == 0:
            for j in range(d):
                length += fabs(stretch[i] * c[j + 1] + along * unit[i, j])
        else:
            for j in range(d):
                value = fabs(stretch[i] * c[j + 1] + along * unit[i, j])
                if value > length:
                    length = value
        worst = margin - rho[i * each] * length
        if not worst < 1.0:
            continue
        cost = k[i]
        risk += cost * (1.0 - worst)
        if not worst < threshold:
            continue
        b += cost
        for j in range(width):
            g[j] -= cost * Z[i, j]
        # The worst step z, times the label, by kind of set. At a kink of the norm, where many queries fall, rounding
        # must not decide: entries that are nothing but rounding count as 0 or as tied (`LinearisedSet.unit_step`).
        blur = stretch[i] * widest + fabs(along)
        if not shaped:
            for j in range(d):
                u[j] = stretch[i] * c[j + 1] + along * unit[i, j]
        if norm == 2:
            blur *= BLUR_ROUND
            if shaped:
                value = 0.0
                for j in range(d):
                    for r in range(d):
                        value += shape[i * each_shape, j, r] * shape[i * each_shape, j, r]
                blur *= sqrt(value)
            if length < blur:
                length = blur
            for j in range(d):
                u[j] = -rho[i * each] * u[j] / length if length > 0.0 else 0.0
                z[j] = u[j]
        else:
            blur *= BLUR
            value = 0.0 if norm == 0 else 1e-300
            if norm == 1:
                for j in range(d):
                    if fabs(u[j]) > blur and fabs(u[j]) >= length - blur:
                        value += 1.0
            for j in range(d):
                if fabs(u[j]) <= blur or (norm == 1 and fabs(u[j]) < length - blur):
                    z[j] = 0.0
                else:
                    z[j] = -rho[i * each] if u[j] > 0.0 else rho[i * each]
                    if norm == 1:
                        z[j] /= value
        if shaped:
            for j in range(d):
                value = 0.0
                for r in range(d):
                    value += shape[i * each_shape, j, r] * u[r]
                z[j] = value
        along = 0.0
        for j in range(d):
            along += unit[i, j] * z[j]
        h[0] -= cost * sinh[i] * along
        along *= bend[i]
        for j in range(d):
            h[j + 1] += cost * (stretch[i] * z[j] + along * unit[i, j])
    return risk, b
