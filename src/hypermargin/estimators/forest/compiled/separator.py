# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""A large-margin hyperplane for a few hundred samples, roughly and in microseconds: the split of a node.

Compiled by Cython at installation, with the C types of `separator.pxd`; without a compiler the interpreter runs it.

It minimises what the exact method minimises where timelike w are allowed (docs/exact.md),

    f(w) = max(q(w), 0)/2 + sum_i k_i max(0, 1 - z_i.w),   z_i = y_i (x_i0, -x_ir),

with the corner of the hinge rounded off, by Newton steps while the rounding shrinks. The concave part ``-t^2/2`` of q
is replaced by its tangent in every step, so that each step goes down. It finds a good point, not a proof.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt

#: The widths over which the hinge's corner is rounded off, one after the other: the first makes all samples count.
FIRST_SMOOTHING = cython.declare(cython.double, 2.0)
LAST_SMOOTHING = cython.declare(cython.double, 0.1)
STEPS = cython.declare(cython.int, 12)  # at most, for each width
ENOUGH = cython.declare(cython.double, 1e-4)  # a relative fall by less ends the steps of a width


@cython.cclass
class Separator:
    """Room for `room` samples of width d + 1; fill `Z`, `costs` and `count`, call `solve`, read `w`."""

    def __init__(self, width: cython.Py_ssize_t, room: cython.Py_ssize_t):
        self.width, self.count = width, 0
        self.Z, self.costs = np.zeros((width, room)), np.zeros(room)
        self.w, self.trial, self.gradient = np.zeros(width), np.zeros(width), np.zeros(width)
        self.margins, self.curvature = np.zeros(room), np.zeros(room)
        self.H = np.zeros((width, width))

    def separate(self, Z, costs):
        """The normal w for samples z_i, shape (n, d + 1), with costs k_i, shape (n,): for callers in Python."""
        self.count = len(costs)
        for i in range(self.count):
            self.costs[i] = costs[i]
            for j in range(self.width):
                self.Z[j, i] = Z[i, j]
        self.solve()
        return np.array(self.w)

    def solve(self) -> cython.void:
        smoothing: cython.double = FIRST_SMOOTHING
        for j in range(self.width):
            self.w[j] = 0.0
        while smoothing >= LAST_SMOOTHING:
            for _ in range(STEPS):
                if not self._step(smoothing):
                    break
            smoothing *= 0.25

    def _step(self, smoothing: cython.double) -> cython.bint:
        """One Newton step with halving; False when it gained little."""
        length: cython.double = 1.0
        before: cython.double = self._value(self.w, smoothing)
        after: cython.double
        self._derivatives(smoothing)
        if not self._newton_direction():
            return False
        while length > 1e-4:
            for j in range(self.width):
                self.trial[j] = self.w[j] - length * self.gradient[j]
            after = self._value(self.trial, smoothing)
            if after < before:
                for j in range(self.width):
                    self.w[j] = self.trial[j]
                return before - after > ENOUGH * before
            length *= 0.4
        return False

    def _margin_term(self, w: cython.double[::1]) -> cython.double:
        """``q(w)``, in a form that does not overflow on the way."""
        space: cython.double = 0.0
        for j in range(1, self.width):
            space += w[j] * w[j]
        space = sqrt(space)
        return (space - fabs(w[0])) * (space + fabs(w[0]))

    def _value(self, w: cython.double[::1], smoothing: cython.double) -> cython.double:
        """The smoothed objective; leaves the margins."""
        factor: cython.double
        loss: cython.double
        total: cython.double = 0.5 * max(self._margin_term(w), 0.0)
        half: cython.double = 0.5 / smoothing
        Z: cython.double[:, ::1] = self.Z
        margins: cython.double[::1] = self.margins
        costs: cython.double[::1] = self.costs
        factor = w[0]
        for i in range(self.count):
            margins[i] = factor * Z[0, i]
        for j in range(1, self.width):
            factor = w[j]
            for i in range(self.count):
                margins[i] += factor * Z[j, i]
        for i in range(self.count):
            loss = max(1.0 - margins[i], 0.0)
            total += costs[i] * (half * loss * loss if loss < smoothing else loss - 0.5 * smoothing)
        return total

    def _derivatives(self, smoothing: cython.double) -> cython.void:
        """Gradient and (majorised) Hessian at w, for the margins that `_value` left."""
        loss: cython.double
        total: cython.double
        trace: cython.double = 0.0
        spacelike: cython.bint = self._margin_term(self.w) > 0.0
        Z: cython.double[:, ::1] = self.Z
        margins: cython.double[::1] = self.margins
        curvature: cython.double[::1] = self.curvature
        costs: cython.double[::1] = self.costs
        for i in range(self.count):
            loss = max(1.0 - margins[i], 0.0)
            curvature[i] = costs[i] / smoothing if 0.0 < loss < smoothing else 0.0
            margins[i] = costs[i] * min(loss / smoothing, 1.0)  # minus the slope of the loss
        for j in range(self.width):
            total = 0.0
            for i in range(self.count):
                total += margins[i] * Z[j, i]
            self.gradient[j] = -total
            for k in range(j + 1):
                self.H[j, k] = self._weighted_product(j, k)
            trace += self.H[j, j]
        if spacelike:
            self.gradient[0] -= self.w[0]
            for j in range(1, self.width):
                self.gradient[j] += self.w[j]
                self.H[j, j] += 1.0
        for j in range(self.width):
            self.H[j, j] += 1e-9 * trace + 1e-9

    def _weighted_product(self, j: cython.Py_ssize_t, k: cython.Py_ssize_t) -> cython.double:
        """``sum_i curvature_i Z_ji Z_ki``, in four parts that a processor may treat at once."""
        whole: cython.Py_ssize_t = self.count - self.count % 4
        a: cython.double = 0.0
        b: cython.double = 0.0
        c: cython.double = 0.0
        e: cython.double = 0.0
        Z: cython.double[:, ::1] = self.Z
        s: cython.double[::1] = self.curvature
        for i in range(0, whole, 4):
            a += s[i] * Z[j, i] * Z[k, i]
            b += s[i + 1] * Z[j, i + 1] * Z[k, i + 1]
            c += s[i + 2] * Z[j, i + 2] * Z[k, i + 2]
            e += s[i + 3] * Z[j, i + 3] * Z[k, i + 3]
        for i in range(whole, self.count):
            a += s[i] * Z[j, i] * Z[k, i]
        return (a + b) + (c + e)

    def _newton_direction(self) -> cython.bint:
        """Replace the gradient by ``H^-1 gradient`` (Cholesky, in place); False where H is not positive definite."""
        total: cython.double
        H: cython.double[:, ::1] = self.H
        v: cython.double[::1] = self.gradient
        for j in range(self.width):
            for i in range(j, self.width):
                total = H[i, j]
                for k in range(j):
                    total -= H[i, k] * H[j, k]
                if i == j:
                    if not total > 0.0:
                        return False
                    H[j, j] = sqrt(total)
                else:
                    H[i, j] = total / H[j, j]
        for i in range(self.width):
            total = v[i]
            for k in range(i):
                total -= H[i, k] * v[k]
            v[i] = total / H[i, i]
        for i in range(self.width - 1, -1, -1):
            total = v[i]
            for k in range(i + 1, self.width):
                total -= H[k, i] * v[k]
            v[i] = total / H[i, i]
        return True


# -- the frame of a sample: its centroid is the origin -----------------------------------------------------------------


def find_centre(
    X: cython.const[cython.double][:, ::1],
    rows: cython.int[::1],
    costs: cython.double[::1],
    count: cython.Py_ssize_t,
    centre: cython.double[::1],
) -> cython.void:
    """Write the centroid of the sample, the first `count` of `rows` with their costs as weights, to `centre`."""
    for j in range(X.shape[1]):
        centre[j] = 0.0
    for i in range(count):
        for j in range(X.shape[1]):
            centre[j] += costs[i] * X[rows[i], j]
    onto_hyperboloid(centre)


def onto_hyperboloid(centre: cython.double[::1]) -> cython.void:
    """Divide a sum of points by its Lorentz length; what rounding has made lightlike becomes the origin."""
    factor: cython.double
    space: cython.double = 0.0
    for j in range(1, centre.shape[0]):
        space += centre[j] * centre[j]
    factor = centre[0] * centre[0] - space
    factor = 1.0 / sqrt(factor) if factor > 1e-14 * centre[0] * centre[0] else 0.0
    for j in range(1, centre.shape[0]):
        centre[j] *= factor
    centre[0] = sqrt(1.0 + space * factor * factor)


def to_frame(
    X: cython.const[cython.double][:, ::1],
    labels: cython.const[cython.int][::1],
    rows: cython.int[::1],
    count: cython.Py_ssize_t,
    side: cython.double[::1],
    centre: cython.double[::1],
    Z: cython.double[:, ::1],
) -> cython.void:
    """Write the points of the sample, moved so that the centre is at the origin and with their signs, to `Z`."""
    sign: cython.double
    time: cython.double
    factor: cython.double
    for i in range(count):
        row = rows[i]
        sign = side[labels[row]]
        time = X[row, 0] * centre[0]
        for j in range(1, X.shape[1]):
            time -= X[row, j] * centre[j]
        factor = (X[row, 0] + time) / (1.0 + centre[0])
        Z[0, i] = sign * time
        for j in range(1, X.shape[1]):
            Z[j, i] = sign * (centre[j] * factor - X[row, j])


def from_frame(w: cython.double[::1], centre: cython.double[::1], covector: cython.double[::1]) -> cython.void:
    """Write the normal w of the frame, moved back, to `covector`."""
    product: cython.double = 0.0
    for j in range(1, w.shape[0]):
        product += centre[j] * w[j]
    covector[0] = centre[0] * w[0] + product
    for j in range(1, w.shape[0]):
        covector[j] = -(w[j] + centre[j] * (w[0] + product / (1.0 + centre[0])))
