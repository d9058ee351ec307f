# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Passes over the data: products, sums and choices over a block of samples, and the plain pass made of them.

Compiled by Cython at installation, with the C types of `passes.pxd`. Data is read as columns, (k, n) and zeros up to a
multiple of LANES, in blocks of 256 samples: the loops over a block have no branches, so that compilers use vector
instructions. `robust_passes` has those with worst-case margins.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt

LANES = 8  # samples that a processor may treat at once: passes keep as many partial sums


@cython.cclass
class Pass:
    """The points z_i as columns of Z and the costs of n samples; a pass leaves `risk` and the offset `b` of a cut.

    Only samples whose margin is below the threshold belong to a cut.
    """

    def __init__(self, Z: cython.double[:, ::1], costs: cython.const[cython.double][:], threshold: cython.double):
        self.Z, self.costs, self.n, self.threshold = Z, costs, costs.shape[0], threshold
        self.risk = self.b = 0.0

    def hinge(self, w, g):
        """The pass at w with the margins ``z_i.w`` as they are; the slope of the cut is written to g.

        ``risk = sum c_i max(0, 1 - z_i.w)``; the cut has ``b = sum c_i`` and ``g = -sum c_i z_i`` over its samples.
        """
        margin = cython.declare(cython.double[256])
        costs = cython.declare(cython.double[256])
        chosen = cython.declare(cython.double[256])
        self.risk = self.b = 0.0
        for j in range(g.shape[0]):
            g[j] = 0.0
        for i in range(0, self.n, 256):
            m = min(256, self.Z.shape[1] - i)
            self.combine(self.Z, w, i, m, margin)
            self.load_costs(i, m, costs)
            self.choose(margin, costs, m, chosen)
            self.subtract_columns(chosen, i, m, g)

    def plain(self, w: cython.double[::1], g: cython.double[::1]):
        """`hinge` for callers that are not compiled; returns ``(risk, b)``."""
        self.hinge(w, g)
        return self.risk, self.b

    def load(self, values, i, m, out):
        """Entries i to i + m of one number for all, or of one per sample."""
        if values.shape[0] == 1:
            value = values[0]
            for e in range(m):
                out[e] = value
        else:
            for e in range(m):
                out[e] = values[i + e]

    def combine(self, columns, w, i, m, out):
        """Scalar products with w, summed in the order of the coordinates, as the checker of certificates does.

        Two coordinates at a time, which reads and writes less.
        """
        odd: cython.Py_ssize_t = w.shape[0] % 2
        factor: cython.double = w[0]
        if odd:
            for e in range(m):
                out[e] = factor * columns[0, i + e]
        else:
            other = w[1]
            for e in range(m):
                out[e] = factor * columns[0, i + e] + other * columns[1, i + e]
        for j in range(2 - odd, w.shape[0], 2):
            factor, other = w[j], w[j + 1]
            for e in range(m):
                out[e] = out[e] + factor * columns[j, i + e] + other * columns[j + 1, i + e]

    def roots(self, values, m):
        """Square roots in place."""
        for e in range(m):
            values[e] = sqrt(values[e])

    def sum(self, values, m):
        """The sum of m values, m a multiple of 8: in eight parts, which a processor may add at the same time."""
        total: cython.double = 0.0
        lane = cython.declare(cython.double[8])
        for r in range(8):
            lane[r] = 0.0
        for e in range(0, m, 8):
            for r in range(8):
                lane[r] += values[e + r]
        for r in range(8):
            total += lane[r]
        return total

    def subtract_columns(self, weights, i, m, g):
        """Subtract ``sum weights[e] z_(i + e)`` from g."""
        Z: cython.double[:, ::1] = self.Z
        lane = cython.declare(cython.double[8])
        for j in range(g.shape[0]):
            for r in range(8):
                lane[r] = 0.0
            for e in range(0, m, 8):
                for r in range(8):
                    lane[r] += weights[e + r] * Z[j, i + e + r]
            total = 0.0
            for r in range(8):
                total += lane[r]
            g[j] -= total

    def load_costs(self, i, m, costs):
        """The costs of a block: one number for all is loaded with the first."""
        if self.costs.strides[0] == 0:
            for e in range(0 if i else 256):
                costs[e] = self.costs[0]
        else:
            for e in range(min(m, self.n - i)):
                costs[e] = self.costs[i + e]
        for e in range(self.n - i, m):  # the padding costs nothing
            costs[e] = 0.0

    def choose(self, worst, costs, m, chosen):
        """Costs of the samples that belong to the cut, 0 for others; adds the block to risk and offset."""
        threshold: cython.double = self.threshold
        loss = cython.declare(cython.double[256])
        for e in range(m):
            cost, value = costs[e], worst[e]
            cost_below = cost if value < 1.0 else 0.0
            loss[e] = cost_below * (1.0 - value)
            chosen[e] = cost if value < threshold else 0.0
        self.risk += self.sum(loss, m)
        self.b += self.sum(chosen, m)
