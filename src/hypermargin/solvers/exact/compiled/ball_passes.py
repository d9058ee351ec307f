# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Passes over the data with the worst-case margins of geodesic balls: risk and cut at a point.

Compiled by Cython at installation, like `evaluator`; without a compiler the interpreter runs this file. Selections and
arithmetic are in different loops where compilers would make branches of them.
"""

import cython

from hypermargin.problems import uncertainty

if cython.compiled:
    from cython.cimports.hypermargin.solvers.exact.compiled.passes import Pass
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt

    from hypermargin.solvers.exact.compiled.passes import Pass

CANCELLING = cython.declare(cython.double, uncertainty.CANCELLING)
FLOOR = cython.declare(cython.double, uncertainty.FLOOR)
FLAT = cython.declare(cython.double, uncertainty.FLAT)

# A divisor where lengths are 0; others are square roots, so that none is as small.
TINY = cython.declare(cython.double, 1e-200)


@cython.cclass
class BallPass(Pass):
    """Geodesic balls (`GeodesicBall`), from `cosh` and `sinh` of their radii and ``shrunk = exp(-rho)``."""

    def __init__(
        self,
        Z: cython.double[:, ::1],
        costs: cython.const[cython.double][:],
        threshold: cython.double,
        cosh: cython.double[::1],
        sinh: cython.double[::1],
        shrunk: cython.double[::1],
    ):
        super().__init__(Z, costs, threshold)
        self.cosh, self.sinh, self.shrunk = cosh, sinh, shrunk

    def __call__(self, w: cython.double[::1], q: cython.double, g: cython.double[::1]):
        """Risk at w and offset b of the cut there; the slope is written to g. ``q = q(w)``."""
        total: cython.double = 0.0  # of cost * across
        floor: cython.double = FLOOR if q < 0.0 else 0.0
        root: cython.double = sqrt(-q) if q < 0.0 else 0.0
        inverse: cython.double = 1.0 / root if q < 0.0 else 0.0
        flat: cython.double = 0.0
        step = cython.declare(cython.double[256])
        inside = cython.declare(cython.double[256])
        cosh = cython.declare(cython.double[256])
        sinh = cython.declare(cython.double[256])
        margin = cython.declare(cython.double[256])
        tangent = cython.declare(cython.double[256])
        worst = cython.declare(cython.double[256])
        along = cython.declare(cython.double[256])  # z' = along z + across covector(w)
        across = cython.declare(cython.double[256])
        costs = cython.declare(cython.double[256])
        chosen = cython.declare(cython.double[256])
        self.risk = self.b = 0.0
        for j in range(g.shape[0]):
            g[j] = 0.0
            flat += FLAT * fabs(w[j])
        for i in range(0, self.n, 256):
            m = min(256, self.Z.shape[1] - i)
            self.combine(self.Z, w, i, m, margin)
            self.tangents(w, q, i, m, margin, tangent)
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
                worst[e] = cosh[e] * margin[e] - sinh[e] * tangent[e]
                across[e] /= step[e]
                along[e] -= across[e] * margin[e]
            if q < 0.0:  # the ball may hold the normal itself: margin > 0 and tangent/margin < tanh(rho)
                for e in range(m):
                    inside[e] = 1.0 if tangent[e] * cosh[e] < sinh[e] * margin[e] else 0.0
                for e in range(m):
                    worst[e] = inside[e] * root + (1.0 - inside[e]) * worst[e]
                    along[e] = (1.0 - inside[e]) * along[e]
                    across[e] = inside[e] * inverse + (1.0 - inside[e]) * across[e]
            self.load_costs(i, m, costs)
            self.choose(worst, costs, m, chosen)
            for e in range(m):
                along[e] *= chosen[e]
                across[e] *= chosen[e]
            total += self.sum(across, m)
            self.subtract_columns(along, i, m, g)
        g[0] -= total * w[0]
        for j in range(1, g.shape[0]):
            g[j] += total * w[j]
        return self.risk, self.b

    def cone(self, w: cython.double[::1], g: cython.double[::1]):
        """The same with what bounds worst margins of all spacelike normals (`UncertaintySet.cone_factors`)."""
        shrunk = cython.declare(cython.double[256])
        margin = cython.declare(cython.double[256])
        worst = cython.declare(cython.double[256])
        factor = cython.declare(cython.double[256])
        costs = cython.declare(cython.double[256])
        chosen = cython.declare(cython.double[256])
        self.risk = self.b = 0.0
        for j in range(g.shape[0]):
            g[j] = 0.0
        for i in range(0, self.n, 256):
            m = min(256, self.Z.shape[1] - i)
            self.combine(self.Z, w, i, m, margin)
            self.load(self.shrunk, i, m, shrunk)
            for e in range(m):  # behind the last sample there are zeros
                factor[e] = shrunk[e] if margin[e] > 0.0 or shrunk[e] == 0.0 else 1.0 / shrunk[e]
                worst[e] = factor[e] * margin[e]
            self.load_costs(i, m, costs)
            self.choose(worst, costs, m, chosen)
            for e in range(m):
                factor[e] *= chosen[e]
            self.subtract_columns(factor, i, m, g)
        return self.risk, self.b

    def tangents(
        self,
        w: cython.double[::1],
        q: cython.double,
        i: cython.Py_ssize_t,
        m: cython.Py_ssize_t,
        margin: cython.p_double,
        tangent: cython.p_double,
    ) -> cython.void:
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

    def tangent_square(self, w: cython.double[::1], i: cython.Py_ssize_t, margin: cython.double) -> cython.double:
        """``q + margin^2`` of sample i where that cancels, from the tangent part itself."""
        along: cython.double = 0.0
        square: cython.double = 0.0
        for j in range(1, self.Z.shape[0]):
            part = w[j] + margin * self.Z[j, i]
            along += self.Z[j, i] * part
            square += part * part
        along /= self.Z[0, i]
        return square - along * along
