"""A primal-dual interior-point method for a quadratic plus weighted hinges, at the price of n d^2 per iteration.

    minimise   sum_j p_j v_j^2 / 2  +  b + g.v  +  sum_i k_i max(0, o_i - z_i.v)

where the affine term stands for samples that are below the margin for certain. With slacks ``xi_i >= 0`` and
``e_i = z_i.v - o_i + xi_i >= 0`` and multipliers ``a_i`` in ``[0, k_i]`` the central path is

    p v + g = sum_i a_i z_i,    a_i e_i = mu,    (k_i - a_i) xi_i = mu.

Newton's method on these equations leaves a system in v alone, of the matrix ``diag(p) + Z' D^-1 Z`` with
``D = e/a + xi/(k - a)``: one matrix product over the data. Predictor and corrector (Mehrotra, On the implementation of
a primal-dual interior point method, 1992) share its factorisation. The slacks fit v at all times, and for given v and
mu the a, e and xi of the path have a closed form, so that any v will do as a start.

Wherever it stops, its weights are valid: ``sum a_i (o_i - z_i.v)`` is below the hinges for every v.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from hypermargin.arrays import Array

#: Offset and slope of an affine function.
Affine = tuple[float, Array]

#: Share of the way to the boundary of the positive numbers that a step may go, as usual for such methods.
TO_BOUNDARY = 0.995
#: Samples of a block of the matrix product: its columns, scaled by ``D^-1/2``, stay in the cache (1 MB at d = 128).
BLOCK = 1024
#: Three times as many as trial problems took to 1e-8, which was 13 to 29.
MOST_ITERATIONS = 100
#: Relative to the sum of the costs: objectives below this, a few roundings of the sum, are 0 but for rounding.
UNSEEN = 1e-15


class HingeEngine:
    """An iterate of the interior-point method; `step` improves it.

    Parameters
    ----------
    columns : (m, n) array
        The z_i as columns.
    offsets, costs : (n,) arrays
        o_i, and k_i > 0.
    weights : (m,) array
        p_j >= 0.
    affine : (float, (m,) array), optional
        b and g, both 0 by default.
    start : (m,) array, optional
        v to begin with, 0 by default.
    mu : float, optional
        The point of the central path to begin near: about the gap over 2 n.

    Attributes
    ----------
    v : (m,) array
    margins : (n,) array
        ``z_i.v - o_i``.
    a, u : (n,) arrays
        The weights, and ``k_i - a_i``; both are positive, however small.
    slope : (m,) array
        ``g - sum a_i z_i``.
    reads : int
        How often the data has been read: once for the matrix and five times for products per step.
    n_iter : int
        Steps made.
    """

    u: Array
    e: Array
    xi: Array

    def __init__(
        self,
        columns: Array,
        offsets: Array,
        costs: Array,
        weights: Array,
        affine: Affine | None = None,
        start: Array | None = None,
        mu: float = 0.0,
    ):
        self.columns, self.offsets, self.costs, self.weights = columns, offsets, costs, weights
        self.affine = (0.0, np.zeros(len(columns))) if affine is None else affine
        self.v = np.zeros(len(columns)) if start is None else np.array(start)
        self.reads = self.n_iter = 0
        self.margins = self._margins()
        self._centre(mu or 2.0 * float(np.mean(costs) * np.mean(np.abs(self.margins))))
        self.slope = self.affine[1] - self._across(self.a)

    def _centre(self, mu: float) -> None:
        """The point of the central path over v: ``mu/a - mu/(k - a) = z.v - o`` for every sample."""
        ratio = self.margins * self.costs / mu
        both = 2.0 + np.hypot(ratio, 2.0)
        self.a, self.u = self.costs * (2.0 / (both + ratio)), self.costs * (2.0 / (both - ratio))
        smaller = mu / np.maximum(self.a, self.u)  # the larger slack is as much larger as the margin
        self.e, self.xi = smaller + np.maximum(self.margins, 0.0), smaller + np.maximum(-self.margins, 0.0)

    # -- what is known of the iterate ----------------------------------------------------------------------------------

    def objective(self) -> float:
        """The objective at v."""
        return 0.5 * float(self.v @ (self.weights * self.v)) + self.risk()

    def risk(self) -> float:
        """The affine term and the hinges at v."""
        return float(self.costs @ np.maximum(0.0, -self.margins)) + self.affine[0] + float(self.affine[1] @ self.v)

    def bound(self) -> float:
        """A lower bound of the objective: the least of ``p v^2/2`` plus what the weights prove of the hinges.

        Coordinates without a weight count as they are in v, where their part of the slope is on its way to 0.
        """
        free = self.weights == 0.0
        least = -0.5 * np.sum(self.slope[~free] ** 2 / self.weights[~free]) + self.slope[free] @ self.v[free]
        return float(self.affine[0] + self.offsets @ self.a + least)

    # -- iterations -------------------------------------------------------------------------------------------------

    def run(self, tol: float, most: int = MOST_ITERATIONS) -> bool:
        """Iterate until the relative gap is within `tol`, or nothing moves; returns whether the gap is as asked.

        Where the optimum is 0 the gap is compared with what rounding makes of the risk at 0.
        """
        least = UNSEEN * float(self.costs.sum())
        for _ in range(most):
            value = self.objective()
            if value - self.bound() <= max(tol * abs(value), least):
                return True
            if not self.step():
                return False
        return False

    def step(self) -> bool:
        """One iteration; False if nothing can be gained in double precision."""
        a, u, e, xi = self.a, self.u, self.e, self.xi
        ratio_e, ratio_xi = e / a, xi / u
        weight = 1.0 / (ratio_e + ratio_xi)
        if not self._factorise(weight):
            return False
        mu = (a @ e + u @ xi) / (2.0 * a.size)
        dual = self._gradient() + self.slope

        def direction(to_e: Array | float, to_xi: Array | float) -> tuple[Array, Array, Array, Array, Array]:
            """Newton's step towards ``a e = to_e`` and ``u xi = to_xi``, linearised."""
            e_free, xi_free = to_e / a - e, to_xi / u - xi
            pull = weight * (e_free - xi_free)
            dv = self._solve(self._across(pull) - dual)
            rise = self._along(dv)
            da = pull - weight * rise
            return dv, rise, da, e_free - ratio_e * da, xi_free + ratio_xi * da

        def longest(da: Array, de: Array, dxi: Array) -> float:
            steepest = min((da / a).min(), (-da / u).min(), (de / e).min(), (dxi / xi).min())
            return min(1.0, -TO_BOUNDARY / steepest) if steepest < 0.0 else 1.0

        _, _, da, de, dxi = direction(0.0, 0.0)
        length = longest(da, de, dxi)
        ahead = ((a + length * da) @ (e + length * de) + (u - length * da) @ (xi + length * dxi)) / (2.0 * a.size)
        aim = mu * (ahead / mu) ** 3
        dv, rise, da, de, dxi = direction(aim - da * de, aim + da * dxi)
        length = longest(da, de, dxi)
        if not (np.isfinite(dv).all() and length > 1e-10):
            return False
        self.v = self.v + length * dv
        self.a, self.u = a + length * da, u - length * da
        self.e, self.xi = e + length * de, xi + length * dxi
        self._move_margins(length * rise)
        self.slope = self.affine[1] - self._across(self.a)
        self.n_iter += 1
        return True

    def _margins(self) -> Array:
        return self._along(self.v) - self.offsets

    def _move_margins(self, rise: Array) -> None:
        self.margins = self.margins + rise

    def _gradient(self) -> Array:
        """Of the regulariser at v."""
        return self.weights * self.v

    def _along(self, v: Array) -> Array:
        """``z_i.v``."""
        self.reads += 1
        return v @ self.columns

    def _across(self, a: Array) -> Array:
        """``sum a_i z_i``."""
        self.reads += 1
        return self.columns @ a

    def _matrix(self, weight: Array) -> Array:
        """``diag(p) + sum_i weight_i z_i z_i'``."""
        self.reads += 1
        roots, matrix = np.sqrt(weight), np.diag(self.weights)
        for first in range(0, roots.size, BLOCK):
            rows = slice(first, first + BLOCK)
            block = self.columns[:, rows] * roots[rows]
            matrix += block @ block.T
        return matrix

    def _factorise(self, weight: Array) -> bool:
        try:
            self._factor = cho_factor(self._matrix(weight), lower=True, check_finite=False)
        except LinAlgError:
            return False
        return True

    def _solve(self, right: Array) -> Array:
        return cho_solve(self._factor, right, check_finite=False)
