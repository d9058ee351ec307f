"""The data pass of the exact method: risk and cut at a point, in the frame around the data's centre."""

from copy import copy

import numpy as np

from hypermargin.geometry.isometries import boost, translation_to_origin
from hypermargin.geometry.lorentz import Array, fixed_order_product
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.exact import kernel

#: Samples this close to the margin are left out of a cut. It weakens the bound by about this much, relatively, and
#: makes cuts independent of rounding: at a kink of the risk, where many queries fall, margins are 1 up to a few bits.
MARGIN_SLACK = 1e-9


class HingeOracle:
    """``w -> (risk, b, g)`` for the hinge risk of a problem; w and g in the frame that has `centre` at the origin."""

    def __init__(self, problem: MarginProblem):
        self.centre = problem.centre
        self.threshold = 1.0 - MARGIN_SLACK
        self._Z = np.ascontiguousarray(problem.covectors_around(self.centre))
        self._k = problem.costs * np.sqrt(0.5)

    @property
    def arrays(self) -> tuple[Array, Array, float] | None:
        """What the compiled loop needs to make passes by itself; None where there is no compiled loop."""
        return (self._Z, self._k, self.threshold) if kernel.is_compiled() else None

    def scaled(self, factor: float) -> "HingeOracle":
        """The oracle of the risk times `factor`; the points are shared, not copied."""
        other = copy(self)
        other._k = factor * self._k
        return other

    def __call__(self, w: Array) -> tuple[float, float, Array]:
        if not kernel.is_compiled():
            return self._interpreted(w)
        g = np.empty_like(w)
        risk, b = kernel.hinge_pass(self._Z, self._k, w, g, self.threshold)
        return risk, b, g

    def _interpreted(self, w: Array) -> tuple[float, float, Array]:
        """The same in NumPy, for installations without a compiler."""
        margins = fixed_order_product(self._Z, w[:, None])[:, 0]
        chosen = np.where(margins < self.threshold, self._k, 0.0)
        return float(self._k @ np.maximum(0.0, 1.0 - margins)), float(chosen.sum()), -(chosen @ self._Z)

    def to_original(self, w: Array) -> Array:
        """The normal in the coordinates of the problem."""
        return boost(self.centre) @ w

    def to_frame(self, w: Array) -> Array:
        """The inverse of `to_original`."""
        return translation_to_origin(self.centre) @ w
