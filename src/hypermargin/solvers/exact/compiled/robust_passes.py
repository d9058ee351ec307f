# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Passes over the data with worst-case margins: risk and cut at a point, for geodesic balls and linearised sets.

Linearised sets far from the origin have their Jacobians moved to the frame before they are used (`ImagePass`): in the
coordinates of the data products with a normal are differences of numbers larger by ``e^(2r)``; the images of the axes
in the frame (`problems.linearised.framed_jacobians`) have digits to spare. There are d (d + 1) numbers per sample.

Compiled by Cython at installation, with the C types of `robust_passes.pxd`; without a compiler the interpreter runs
this file. Blocks of samples are as in `passes`; selections and arithmetic are in different loops where compilers would
make branches of them.
"""

import cython
import numpy as np

from hypermargin.problems import linearised, uncertainty

if cython.compiled:
    from cython.cimports.hypermargin.solvers.exact.compiled.passes import Pass
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt

    from hypermargin.solvers.exact.compiled.passes import Pass

# Dual norms of the linearised sets.
L1 = 0
MAX = 1
L2 = 2

CANCELLING = cython.declare(cython.double, uncertainty.CANCELLING)
FLOOR = cython.declare(cython.double, uncertainty.FLOOR)
FLAT = cython.declare(cython.double, uncertainty.FLAT)
TIED = cython.declare(cython.double, uncertainty.TIED)
BLUR = cython.declare(cython.double, linearised.BLUR)
BLUR_ROUND = cython.declare(cython.double, linearised.BLUR_ROUND)

# A divisor where lengths are 0; others are square roots, so that none is as small.
TINY = cython.declare(cython.double, 1e-200)


@cython.cclass
class RobustPass(Pass):
    """A pass in which every sample has the worst point of its set, ``z' = along z`` and a step.

    Subclasses give worst margins (`worst`) and what steps add to the slope (`add_steps`), for a block of samples.
    """

    def at(self, w, c, cone, g, h):
        """Risk at w and offset b of the cut there; its slope is added to g, and the part of the steps to h.

        With `cone` the margins of samples are those multiples that bound worst margins of all spacelike normals
        (`UncertaintySet.cone_factors`): for linearised sets, whose c and h are in other coordinates, where these are
        worse.
        """
        margin = cython.declare(cython.double[256])
        along = cython.declare(cython.double[256])
        step = cython.declare(cython.double[256])
        blur = cython.declare(cython.double[256])
        length = cython.declare(cython.double[256])
        costs = cython.declare(cython.double[256])
        chosen = cython.declare(cython.double[256])
        self.risk = self.b = 0.0
        for i in range(0, self.n, 256):
            m = min(256, self.Z.shape[1] - i)
            self.combine(self.Z, w, i, m, margin)
            self.worst(c, cone, i, m, margin, along, step, blur, length)
            self.load_costs(i, m, costs)
            self.choose(margin, costs, m, chosen)
            for e in range(m):
                along[e] *= chosen[e]
                step[e] *= chosen[e]
            self.subtract_columns(along, i, m, g)
            self.add_steps(i, m, step, blur, length, h)
        return self.risk, self.b

    def worst(self, c, cone, i, m, margin, along, step, blur, length):
        """Put worst margins in place of the margins of a block, and what their points are made of into the others."""

    def add_steps(self, i, m, step, blur, length, h):
        """Add what the steps of a block, times the costs of its samples in the cut, add to the slope."""


@cython.cclass
class BallPass(RobustPass):
    """Geodesic balls (`GeodesicBall`), from `cosh` and `sinh` of their radii and ``shrunk = exp(-rho)``.

    The worst point is ``along z + across covector(w)``; c is w, then q(w), and h[0] the sum of costs times `across`.
    """

    def __init__(self, Z, costs, threshold, cosh, sinh, shrunk):
        super().__init__(Z, costs, threshold)
        self.cosh, self.sinh, self.shrunk = cosh, sinh, shrunk

    def worst(self, c, cone, i, m, margin, along, across, sinh, tangent):
        """Worst margins of a block in place of the margins, and the two coefficients of the worst points."""
        step = cython.declare(cython.double[256])
        inside = cython.declare(cython.double[256])
        cosh = cython.declare(cython.double[256])
        if cone:
            self.load(self.shrunk, i, m, sinh)
            for e in range(m):  # behind the last sample there are zeros
                along[e] = sinh[e] if margin[e] > 0.0 or sinh[e] == 0.0 else 1.0 / sinh[e]
                margin[e], across[e] = along[e] * margin[e], 0.0
            return
        q = c[c.shape[0] - 1]
        floor = FLOOR if q < 0.0 else 0.0
        flat = 0.0
        for j in range(c.shape[0] - 1):
            flat += FLAT * fabs(c[j])
        self.tangents(c, q, i, m, margin, tangent)
        self.load(self.cosh, i, m, cosh)
        self.load(self.sinh, i, m, sinh)
        for e in range(m):
            least = -floor * margin[e]
            least = tangent[e] if tangent[e] >= least else least
            step[e] = least if least > TINY else TINY
            followed = tangent[e] if tangent[e] > flat * fabs(self.Z[0, i + e]) else 0.0
            across[e] = sinh[e] if followed > 0.0 else 0.0
            least = margin[e] if margin[e] < -followed else -followed
            along[e] = cosh[e] if least < 0.0 else 1.0
        for e in range(m):
            across[e] /= step[e]
            along[e] -= across[e] * margin[e]
            step[e] = cosh[e] * margin[e] - sinh[e] * tangent[e]
        if q < 0.0:  # the ball may hold the normal itself: margin > 0 and tangent/margin < tanh(rho)
            root = sqrt(-q)
            inverse = 1.0 / root
            for e in range(m):
                inside[e] = 1.0 if tangent[e] * cosh[e] < sinh[e] * margin[e] else 0.0
            for e in range(m):
                step[e] = inside[e] * root + (1.0 - inside[e]) * step[e]
                along[e] = (1.0 - inside[e]) * along[e]
                across[e] = inside[e] * inverse + (1.0 - inside[e]) * across[e]
        for e in range(m):
            margin[e] = step[e]

    def add_steps(self, i, m, across, sinh, tangent, h):
        """Add the sum of the weights `across` of a block."""
        h[0] += self.sum(across, m)

    def tangents(self, w, q, i, m, margin, tangent):
        """Lengths of w's parts tangent at the points (`uncertainty.tangent_length`)."""
        for e in range(m):
            tangent[e] = q + margin[e] * margin[e]
        if q < 0.0:
            for e in range(min(m, self.n - i)):
                if tangent[e] < CANCELLING * margin[e] * margin[e]:
                    tangent[e] = self.tangent_square(w, i + e, margin[e])
            for e in range(m):
                square = tangent[e]
                tangent[e] = square if square > 0.0 else 0.0
        self.roots(tangent, m)

    def tangent_square(self, w, i, margin):
        """``q + margin^2`` of sample i where that cancels, from the tangent part itself."""
        along: cython.double = 0.0
        square: cython.double = 0.0
        for j in range(1, self.Z.shape[0]):
            part = w[j] + margin * self.Z[j, i]
            along += self.Z[j, i] * part
            square += part * part
        along /= self.Z[0, i]
        return square - along * along


@cython.cclass
class LinearisedPass(RobustPass):
    """The sets ``x + J z`` (`LinearisedSet`), whose noise lives in the coordinates of the data.

    `jacobian` has as columns the d of `unit` and then `sinh`, ``cosh - stretch`` and `stretch` of `OriginJacobian`.
    The sets are a `Noise`. `pulled` is J'c of a block, then the direction of its steps z, and `turned` S'J'c;
    `kept_jacobian` and `kept_shape` are those of the samples of a block that belong to the cut.
    """

    def __init__(self, Z, costs, threshold, jacobian, noise):
        shape: cython.double[:, :, ::1] = noise.shape
        super().__init__(Z, costs, threshold)
        self.jacobian, self.rho, self.norm = jacobian, noise.rho, noise.norm
        self.shrunk, self.grown = noise.shrunk, noise.grown
        self.shape, self.shape_size = shape, noise.shape_size
        self.pulled, self.size_of_c = np.empty((Z.shape[0] - 1, 256)), np.zeros(Z.shape[0])
        self.turned = np.empty((shape.shape[0], 256))
        self.kept_jacobian = np.zeros((jacobian.shape[0], 256))
        self.kept_shape = shape if shape.shape[2] == 1 else np.zeros((shape.shape[0], shape.shape[0], 256))

    def worst(self, c, cone, i, m, margin, along, step, blur, length):
        """Worst margins of a block; ``c = covector(w)`` in the coordinates of the data."""
        nominal = cython.declare(cython.double[256])
        self.pull_back(c, i, m, blur)
        if self.shape.shape[0] > 0:
            self.turn(self.shape, self.pulled, self.turned, True, i, m)
            self.lengths(self.turned, m, length)
        else:
            self.lengths(self.pulled, m, length)
        self.load(self.rho, i, m, step)
        for e in range(m):
            along[e] = 1.0
            nominal[e] = margin[e]
            margin[e] -= step[e] * length[e]
        if cone:
            self.take_multiples(i, m, nominal, margin, along, step)

    def add_steps(self, i, m, step, blur, length, h):
        """Add what the worst steps of the samples in the cut add to its slope."""
        sizes = cython.declare(cython.double[256])
        for e in range(m):
            step[e] = -step[e]
        self.load(self.shape_size, i, m, sizes)
        m = self.keep(i, m, step, sizes, blur, length)
        self.steps(m, sizes, blur, length, step)
        self.push_forward(m, step, h)

    def take_multiples(self, i, m, nominal, margin, factor, step):
        """Where a multiple of the `nominal` margin is worse, or tied, it becomes the margin, and there is no step."""
        last: cython.Py_ssize_t = self.shrunk.shape[0] - 1  # 0 where all samples have one number
        for e in range(m):
            multiple = self.shrunk[min(i + e, last)] if nominal[e] > 0.0 else self.grown[min(i + e, last)]
            if multiple * nominal[e] < margin[e] + TIED * fabs(nominal[e]):
                margin[e] = min(margin[e], multiple * nominal[e])
                factor[e] = multiple
                step[e] = 0.0

    def keep(self, i, m, weight, sizes, blur, length):
        """Move the samples of a block that have a weight to its front; how many, up to a multiple of 8.

        The worst steps of all others are not wanted, and they are most of the data.
        """
        count: cython.Py_ssize_t = 0
        index = cython.declare(cython.Py_ssize_t[256])
        for e in range(m):
            index[count] = e
            count += 1 if weight[e] != 0.0 else 0
        for k in range(count):
            e = index[k]
            weight[k], sizes[k], blur[k], length[k] = weight[e], sizes[e], blur[e], length[e]
            for j in range(self.pulled.shape[0]):
                self.pulled[j, k] = self.pulled[j, e]
            for j in range(self.turned.shape[0]):
                self.turned[j, k] = self.turned[j, e]
            for j in range(self.jacobian.shape[0]):
                self.kept_jacobian[j, k] = self.jacobian[j, i + e]
            if self.shape.shape[2] > 1:
                for j in range(self.shape.shape[0]):
                    for r in range(self.shape.shape[0]):
                        self.kept_shape[j, r, k] = self.shape[j, r, i + e]
        while count % 8:
            weight[count] = 0.0
            count += 1
        return count

    def pull_back(self, c, i, m, size):
        """``J'c`` of a block, and the size of the terms summed; labels change only signs, and are left out."""
        d: cython.Py_ssize_t = self.pulled.shape[0]
        J: cython.double[:, ::1] = self.jacobian
        pulled: cython.double[:, ::1] = self.pulled
        first = c[0]
        widest = 0.0
        along = cython.declare(cython.double[256])
        stretch = cython.declare(cython.double[256])
        for j in range(d):
            widest = max(widest, fabs(c[j + 1]))
        self.combine(J, c[1:], i, m, along)
        for e in range(m):
            stretch[e] = J[d + 2, i + e]
            along[e] = J[d, i + e] * first + J[d + 1, i + e] * along[e]
            size[e] = stretch[e] * widest + fabs(along[e])
        for j in range(d):
            first = c[j + 1]
            for e in range(m):
                pulled[j, e] = stretch[e] * first + along[e] * J[j, i + e]

    def turn(self, S, vectors, out, transposed, i, m):
        """``S`` or ``S'`` times the vectors of a block; S[..., i] belongs to the first of them."""
        d: cython.Py_ssize_t = S.shape[0]
        for j in range(d):
            for e in range(m):
                out[j, e] = 0.0
            for r in range(d):
                row, column = (r, j) if transposed else (j, r)
                if S.shape[2] == 1:
                    factor = S[row, column, 0]
                    for e in range(m):
                        out[j, e] += factor * vectors[r, e]
                else:
                    for e in range(m):
                        out[j, e] += S[row, column, i + e] * vectors[r, e]

    def lengths(self, u, m, length):
        """Dual norms of the vectors of a block."""
        for e in range(m):
            length[e] = 0.0
        for j in range(u.shape[0]):
            if self.norm == 0:
                for e in range(m):
                    length[e] += fabs(u[j, e])
            elif self.norm == 1:
                for e in range(m):
                    value = fabs(u[j, e])
                    length[e] = value if value > length[e] else length[e]
            else:
                for e in range(m):
                    length[e] += u[j, e] * u[j, e]
        if self.norm == 2:
            self.roots(length, m)

    def steps(self, m, sizes, blur, length, weight):
        """Turn `pulled` into the directions of the worst steps; what is missing to their sizes goes to the weights.

        At a kink of the norm, where many queries fall, rounding must not decide: entries that are nothing but rounding
        count as 0 or as tied (`LinearisedSet.unit_step`).
        """
        z: cython.double[:, ::1] = self.pulled
        d: cython.Py_ssize_t = z.shape[0]
        least = cython.declare(cython.double[256])
        tied = cython.declare(cython.double[256])
        if self.norm == 2:
            for e in range(m):
                value = blur[e] * BLUR_ROUND * sizes[e]
                value = value if value > length[e] else length[e]
                value = value if value > TINY else TINY
                weight[e] /= value
            if self.shape.shape[0] > 0:
                self.turn(self.kept_shape, self.turned, z, False, 0, m)
            return
        for e in range(m):
            blur[e] *= BLUR
        if self.norm == 0:
            for j in range(d):
                for e in range(m):
                    value = -1.0 if z[j, e] < -blur[e] else 0.0
                    z[j, e] = 1.0 if z[j, e] > blur[e] else value
            return
        for e in range(m):
            tied[e] = 0.0
            least[e] = length[e] - blur[e]
        for j in range(d):
            for e in range(m):
                value = 1.0 if fabs(z[j, e]) >= least[e] else 0.0
                value = value if fabs(z[j, e]) > blur[e] else 0.0
                tied[e] += value
                z[j, e] = value if z[j, e] > 0.0 else -value
        for e in range(m):
            weight[e] /= tied[e] if tied[e] > 1.0 else 1.0

    def push_forward(self, m, weight, h):
        """Subtract the sum of ``weight covector(J z)``, without labels, over the samples kept from h."""
        J: cython.double[:, ::1] = self.kept_jacobian
        z: cython.double[:, ::1] = self.pulled
        d: cython.Py_ssize_t = z.shape[0]
        along = cython.declare(cython.double[256])
        term = cython.declare(cython.double[256])
        for e in range(m):
            along[e] = J[0, e] * z[0, e]
        for j in range(1, d):
            for e in range(m):
                along[e] += J[j, e] * z[j, e]
        for e in range(m):
            along[e] *= weight[e]
            term[e] = along[e] * J[d, e]
        h[0] -= self.sum(term, m)
        for e in range(m):
            along[e] *= J[d + 1, e]
            weight[e] *= J[d + 2, e]
        for j in range(d):
            for e in range(m):
                term[e] = weight[e] * z[j, e] + along[e] * J[j, e]
            h[j + 1] += self.sum(term, m)


@cython.cclass
class ImagePass(LinearisedPass):
    """The sets ``x + J z`` with `jacobian` as columns: covectors of the images of the d axes, then their `sizes`.

    Those are d + 1 numbers that ``|w|`` is multiplied with to say which entries of ``J'c`` are rounding.
    """

    def pull_back(self, c, i, m, size):
        """``J'c`` of a block from the normal itself, which is given as c, and the size of the terms summed."""
        d: cython.Py_ssize_t = self.pulled.shape[0]
        out = cython.declare(cython.double[256])
        for j in range(d + 1):
            self.size_of_c[j] = fabs(c[j])
        self.combine(self.jacobian[d * (d + 1) :], self.size_of_c, i, m, size)
        for j in range(d):
            self.combine(self.jacobian[j * (d + 1) : (j + 1) * (d + 1)], c, i, m, out)
            for e in range(m):
                self.pulled[j, e] = out[e]

    def push_forward(self, m, weight, h):
        """Subtract the sum of ``weight covector(J z)``, without labels, over the samples kept from h."""
        d: cython.Py_ssize_t = self.pulled.shape[0]
        J: cython.double[:, ::1] = self.kept_jacobian
        z: cython.double[:, ::1] = self.pulled
        term = cython.declare(cython.double[256])
        for k in range(d + 1):
            for e in range(m):
                term[e] = 0.0
            for j in range(d):
                for e in range(m):
                    term[e] += z[j, e] * J[j * (d + 1) + k, e]
            for e in range(m):
                term[e] *= weight[e]
            h[k] -= self.sum(term, m)
