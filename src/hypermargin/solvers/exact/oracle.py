"""The data pass of the exact method: risk and cut at a point, in the frame around the data's centre."""

from copy import copy

import numpy as np

from hypermargin.geometry.isometries import boost, translation_to_origin
from hypermargin.geometry.lorentz import Array, fixed_order_product
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.exact.evaluator import LANES, is_compiled

#: Samples this close to the margin are left out of a cut. It weakens the bound by about this much, relatively, and
#: makes cuts independent of rounding: at a kink of the risk, where many queries fall, margins are 1 up to a few bits.
MARGIN_SLACK = 1e-9
#: Rows that are moved to the frame at a time.
ROWS = 1 << 16


class HingeOracle:
    """``w -> (risk, b, g)`` for the hinge risk of a problem; w and g in the frame that has `centre` at the origin."""

    def __init__(self, problem: MarginProblem):
        self.centre = problem.centre
        self.threshold = 1.0 - MARGIN_SLACK
        self._columns = _padded_columns(problem, self.centre)
        self._costs = problem.costs
        self._factor = float(np.sqrt(0.5))

    @property
    def work(self) -> int:
        """Numbers read in a pass."""
        return self._columns.size

    @property
    def arrays(self) -> tuple[Array, Array, float, float] | None:
        """What the compiled loop needs to make passes by itself; None where there is no compiled loop."""
        return (self._columns, self._costs, self._factor, self.threshold) if is_compiled() else None

    def scaled(self, factor: float) -> "HingeOracle":
        """The oracle of the risk times `factor`; the data is shared, not copied."""
        other = copy(self)
        other._factor *= factor
        return other

    def __call__(self, w: Array) -> tuple[float, float, Array]:
        """In NumPy, for installations without a compiler; the compiled loop reads `arrays`."""
        Z = self._columns[:, : self._costs.size].T
        margins = fixed_order_product(Z, w[:, None])[:, 0]
        chosen = np.where(margins < self.threshold, self._costs, 0.0)
        return self._times_factor(float(self._costs @ np.maximum(0.0, 1.0 - margins)), chosen.sum(), -(chosen @ Z))

    def _times_factor(self, risk: float, b: float, g: Array) -> tuple[float, float, Array]:
        return self._factor * risk, self._factor * b, self._factor * g

    def to_original(self, w: Array) -> Array:
        """The normal in the coordinates of the problem."""
        return boost(self.centre) @ w

    def to_frame(self, w: Array) -> Array:
        """The inverse of `to_original`."""
        return translation_to_origin(self.centre) @ w


def _padded_columns(problem: MarginProblem, centre: Array) -> Array:
    """The points z_i around the centre as columns, (d + 1, n) and zeros up to a multiple of `LANES`."""
    n = problem.n_samples
    columns = np.zeros((problem.dim + 1, -(-n // LANES) * LANES))
    for start in range(0, n, ROWS):
        rows = slice(start, min(start + ROWS, n))
        columns[:, rows] = problem.covectors_around(centre, rows).T
    return columns
