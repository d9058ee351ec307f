# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Passes over the data with the worst-case margins of linearised sets: risk and cut at a point.

Far from the origin Jacobians are moved to the frame before they are used (`ImagePass`): in the coordinates of the data
products with a normal are differences of numbers larger by ``e^(2r)``; the images of the axes in the frame
(`problems.linearised.framed_jacobians`) have digits to spare. There are d (d + 1) numbers per sample.

Compiled by Cython at installation, like `evaluator`; without a compiler the interpreter runs this file. Blocks of
samples are as in `passes`; selections and arithmetic are in different loops where compilers would make branches of
them.
"""

import cython
import numpy as np

from hypermargin.problems import linearised, uncertainty

if cython.compiled:
    from cython.cimports.hypermargin.solvers.exact.compiled.passes import Pass
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

    from hypermargin.solvers.exact.compiled.passes import Pass

# Dual norms of the linearised sets.
L1 = 0
MAX = 1
L2 = 2

TIED = cython.declare(cython.double, uncertainty.TIED)
BLUR = cython.declare(cython.double, linearised.BLUR)
BLUR_ROUND = cython.declare(cython.double, linearised.BLUR_ROUND)

# A divisor where lengths are 0; others are square roots, so that none is as small.
TINY = cython.declare(cython.double, 1e-200)


@cython.cclass
class LinearisedPass(Pass):
    """The sets ``x + J z`` (`LinearisedSet`), whose noise lives in the coordinates of the data.

    `jacobian` has as columns the d of `unit` and then `sinh`, ``cosh - stretch`` and `stretch` of `OriginJacobian`.
    The sets are a `Noise`. `pulled` is J'c of a block, then the direction of its steps z, and `turned` S'J'c;
    `kept_jacobian` and `kept_shape` are those of the samples of a block that belong to the cut.
    """

    def __init__(
        self,
        Z: cython.double[:, ::1],
        costs: cython.const[cython.double][:],
        threshold: cython.double,
        jacobian: cython.double[:, ::1],
        noise,
    ):
        shape: cython.double[:, :, ::1] = noise.shape
        super().__init__(Z, costs, threshold)
        self.jacobian, self.rho, self.norm = jacobian, noise.rho, noise.norm
        self.shrunk, self.grown = noise.shrunk, noise.grown
        self.shape, self.shape_size = shape, noise.shape_size
        self.pulled = np.empty((Z.shape[0] - 1, 256))
        self.turned = np.empty((shape.shape[0], 256))
        self.kept_jacobian = np.zeros((jacobian.shape[0], 256))
        self.kept_shape = shape if shape.shape[2] == 1 else np.zeros((shape.shape[0], shape.shape[0], 256))

    def __call__(
        self,
        w: cython.double[::1],
        c: cython.double[::1],
        cone: cython.bint,
        g: cython.double[::1],
        h: cython.double[::1],
    ):
        """Risk at w and offset b of the cut there; its slope is g in the frame of w plus h in that of c.

        ``c = covector(w)`` in the coordinates of the data; g is the nominal part of the slope, h that of the noise.
        With `cone` the margins of samples are those multiples that bound worst margins of all spacelike normals
        (`UncertaintySet.cone_factors`) where these are worse.
        """
        d: cython.Py_ssize_t = g.shape[0] - 1
        widest: cython.double = 0.0
        margin = cython.declare(cython.double[256])
        blur = cython.declare(cython.double[256])
        length = cython.declare(cython.double[256])
        rho = cython.declare(cython.double[256])
        sizes = cython.declare(cython.double[256])
        costs = cython.declare(cython.double[256])
        chosen = cython.declare(cython.double[256])
        factor = cython.declare(cython.double[256])
        step = cython.declare(cython.double[256])
        for j in range(d):
            if fabs(c[j + 1]) > widest:
                widest = fabs(c[j + 1])
        self.risk = self.b = 0.0
        for j in range(d + 1):
            g[j] = h[j] = 0.0
        for i in range(0, self.n, 256):
            m = min(256, self.Z.shape[1] - i)
            self.combine(self.Z, w, i, m, margin)
            self.pull_back(c, widest, i, m, blur)
            if self.shape.shape[0] > 0:
                self.turn(self.shape, self.pulled, self.turned, True, i, m)
                self.lengths(self.turned, m, length)
            else:
                self.lengths(self.pulled, m, length)
            self.load(self.rho, i, m, rho)
            for e in range(m):
                factor[e] = 1.0
                step[e] = rho[e]
                chosen[e] = margin[e]
                margin[e] -= rho[e] * length[e]
            if cone:
                self.take_multiples(i, m, chosen, margin, factor, step)
            self.load_costs(i, m, costs)
            self.choose(margin, costs, m, chosen)
            for e in range(m):
                factor[e] *= chosen[e]
            self.subtract_columns(factor, i, m, g)
            for e in range(m):
                chosen[e] *= -step[e]
            self.load(self.shape_size, i, m, sizes)
            m = self.keep(i, m, chosen, sizes, blur, length)
            self.steps(m, sizes, blur, length, chosen)
            self.push_forward(m, chosen, h)
        return self.risk, self.b

    def take_multiples(
        self,
        i: cython.Py_ssize_t,
        m: cython.Py_ssize_t,
        nominal: cython.p_double,
        margin: cython.p_double,
        factor: cython.p_double,
        step: cython.p_double,
    ) -> cython.void:
        """Where a multiple of the `nominal` margin is worse, or tied, it becomes the margin, and there is no step."""
        last: cython.Py_ssize_t = self.shrunk.shape[0] - 1  # 0 where all samples have one number
        for e in range(m):
            multiple = self.shrunk[min(i + e, last)] if nominal[e] > 0.0 else self.grown[min(i + e, last)]
            if multiple * nominal[e] < margin[e] + TIED * fabs(nominal[e]):
                margin[e] = min(margin[e], multiple * nominal[e])
                factor[e] = multiple
                step[e] = 0.0

    def keep(
        self,
        i: cython.Py_ssize_t,
        m: cython.Py_ssize_t,
        weight: cython.p_double,
        sizes: cython.p_double,
        blur: cython.p_double,
        length: cython.p_double,
    ) -> cython.Py_ssize_t:
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

    def pull_back(
        self,
        c: cython.double[::1],
        widest: cython.double,
        i: cython.Py_ssize_t,
        m: cython.Py_ssize_t,
        size: cython.p_double,
    ) -> cython.void:
        """``J'c`` of a block, and the size of the terms summed; labels change only signs, and are left out."""
        d: cython.Py_ssize_t = self.pulled.shape[0]
        J: cython.double[:, ::1] = self.jacobian
        pulled: cython.double[:, ::1] = self.pulled
        first: cython.double = c[0]
        along = cython.declare(cython.double[256])
        stretch = cython.declare(cython.double[256])
        self.combine(J, c[1:], i, m, along)
        for e in range(m):
            stretch[e] = J[d + 2, i + e]
            along[e] = J[d, i + e] * first + J[d + 1, i + e] * along[e]
            size[e] = stretch[e] * widest + fabs(along[e])
        for j in range(d):
            first = c[j + 1]
            for e in range(m):
                pulled[j, e] = stretch[e] * first + along[e] * J[j, i + e]

    def turn(
        self,
        S: cython.double[:, :, ::1],
        vectors: cython.double[:, ::1],
        out: cython.double[:, ::1],
        transposed: cython.bint,
        i: cython.Py_ssize_t,
        m: cython.Py_ssize_t,
    ) -> cython.void:
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

    def lengths(self, u: cython.double[:, ::1], m: cython.Py_ssize_t, length: cython.p_double) -> cython.void:
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

    def steps(
        self,
        m: cython.Py_ssize_t,
        sizes: cython.p_double,
        blur: cython.p_double,
        length: cython.p_double,
        weight: cython.p_double,
    ) -> cython.void:
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

    def push_forward(self, m: cython.Py_ssize_t, weight: cython.p_double, h: cython.double[::1]) -> cython.void:
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

    size_of_w: cython.double[::1]

    def __init__(
        self,
        Z: cython.double[:, ::1],
        costs: cython.const[cython.double][:],
        threshold: cython.double,
        jacobian: cython.double[:, ::1],
        noise,
    ):
        super().__init__(Z, costs, threshold, jacobian, noise)
        self.size_of_w = np.zeros(Z.shape[0])

    @cython.cfunc
    @cython.exceptval(check=False)
    def pull_back(
        self,
        c: cython.double[::1],
        widest: cython.double,
        i: cython.Py_ssize_t,
        m: cython.Py_ssize_t,
        size: cython.p_double,
    ) -> cython.void:
        """``J'c`` of a block from the normal itself, which is given as c, and the size of the terms summed."""
        d: cython.Py_ssize_t = self.pulled.shape[0]
        out = cython.declare(cython.double[256])
        for j in range(d + 1):
            self.size_of_w[j] = fabs(c[j])
        self.combine(self.jacobian[d * (d + 1) :], self.size_of_w, i, m, size)
        for j in range(d):
            self.combine(self.jacobian[j * (d + 1) : (j + 1) * (d + 1)], c, i, m, out)
            for e in range(m):
                self.pulled[j, e] = out[e]

    @cython.cfunc
    @cython.exceptval(check=False)
    def push_forward(self, m: cython.Py_ssize_t, weight: cython.p_double, h: cython.double[::1]) -> cython.void:
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
