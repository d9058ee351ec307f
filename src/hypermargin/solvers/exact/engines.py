"""The interior-point method for the margin term: over all w near a local optimum, and at a fixed t.

`MarginEngine` minimises ``q(w)/2 + R(w)`` over ``w = (t, wr)``. Its one concave direction is t; where the risk is
curved enough along t, which it is by far when samples are many, Newton's method does not notice. What it finds is a
local optimum, and the slope of its weights proves it near that t only: the search over t makes it global.

`ExcessEngine` minimises ``max(|wr|^2 - s^2, 0)/2 + R(t, wr)`` at ``|t| = s``, which is convex, whether the solution is
spacelike or timelike: the excess is one more hinge, of cost 1 and the concave margin ``(s^2 - |wr|^2)/2``.
"""

import numpy as np

from hypermargin.arrays import Array
from hypermargin.solvers.common.hinge_engine import Affine, HingeEngine
from hypermargin.solvers.exact.compiled.master import phi

#: The curvature of the risk along t must be this many times that of ``-t^2/2`` for a full Newton step.
CURVED = 2.0
#: Added to the matrix of `ExcessEngine`, relative to its largest entry: with timelike solutions nothing else might.
RIDGE = 1e-14


class MarginEngine(HingeEngine):
    """``q(w)/2 + sum_i k_i max(0, 1 - z_i.w)``, locally; `columns` has shape (d + 1, n)."""

    def __init__(self, columns: Array, costs: Array, affine: Affine | None = None):
        weights = np.ones(len(columns))
        weights[0] = 0.0
        super().__init__(columns, np.ones_like(costs), costs, weights, affine)

    def objective(self) -> float:
        return super().objective() - 0.5 * self.v[0] ** 2

    def bound(self) -> float:
        """The bound for all w with the present t."""
        return super().bound() - 0.5 * self.v[0] ** 2

    def tilted(self, change: float) -> Array:
        """Weights whose slope along t differs by about `change`, and which prove as much as those here, nearly.

        They come from the last factorisation: ``grad r - sum a z = 0`` with the gradient along t changed.
        """
        moved = self.a - self._weight * self._along(change * self._lever)
        return np.clip(moved, 0.0, self.costs)

    @property
    def is_curved(self) -> bool:
        """Whether the risk was curved enough along t at the last step."""
        return CURVED * self._lever[0] <= 1.0

    def _gradient(self) -> Array:
        gradient = self.weights * self.v
        gradient[0] = -self.v[0]
        return gradient

    def _factorise(self, weight: Array) -> bool:
        if not super()._factorise(weight):
            return False
        self._weight = weight
        apex = np.zeros(len(self.v))
        apex[0] = 1.0
        self._lever = super()._solve(apex)
        return True

    def _solve(self, right: Array) -> Array:
        """With the matrix less 1 in the corner of t (Sherman and Morrison), where it stays positive definite."""
        v, share = super()._solve(right), self._lever[0]
        return v + self._lever * (v[0] / (1.0 - share)) if self.is_curved else v


class ExcessEngine(HingeEngine):
    """``max(|wr|^2 - s^2, 0)/2 + sum_i k_i max(0, o_i - z_ir.wr)``; `columns` has shape (d, n).

    Arrays over the samples have one entry more, that of the excess.
    """

    def __init__(self, columns: Array, offsets: Array, costs: Array, s: float, affine: Affine | None = None):
        self.s = s
        nothing = np.zeros(len(columns))
        super().__init__(columns, np.append(offsets, 0.0), np.append(costs, 1.0), nothing, affine)

    def objective(self) -> float:
        return self.risk() + max(0.0, self._excess())

    def risk(self) -> float:
        """The affine term and the hinges of the samples at v, without the excess."""
        hinges = float(self.costs[:-1] @ np.maximum(0.0, -self.margins[:-1]))
        return hinges + self.affine[0] + float(self.affine[1] @ self.v)

    def bound(self) -> float:
        """With the closed form of the least ``max(|wr|^2 - s^2, 0)/2 + gr.wr``."""
        length = float(np.linalg.norm(self.slope - self.a[-1] * self.v))
        return self.affine[0] + float(self.offsets[:-1] @ self.a[:-1]) + phi(self.s, length)

    def _excess(self) -> float:
        length = float(np.linalg.norm(self.v))
        return 0.5 * (length - self.s) * (length + self.s)

    def _margins(self) -> Array:
        return np.append(self.v @ self.columns - self.offsets[:-1], -self._excess())

    def _move_margins(self, rise: Array) -> None:
        """The margin of the excess is concave, so it falls short of its linear change; the slack makes up for it."""
        self.margins = self.margins + rise
        self.xi[-1] += self.margins[-1] + self._excess()
        self.margins[-1] = -self._excess()

    def _along(self, v: Array) -> Array:
        self.reads += 1
        return np.append(v @ self.columns, -self.v @ v)

    def _across(self, a: Array) -> Array:
        self.reads += 1
        return self.columns @ a[:-1] - a[-1] * self.v

    def _matrix(self, weight: Array) -> Array:
        matrix = super()._matrix(weight[:-1]) + weight[-1] * np.outer(self.v, self.v)
        matrix[np.diag_indices(len(matrix))] += self.a[-1] + RIDGE * matrix.max()
        return matrix
