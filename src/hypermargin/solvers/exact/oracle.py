"""The data pass of the exact method: risk and cut at a point, in the frame around the data's centre."""

from copy import copy
from functools import cached_property
from math import sqrt

import numpy as np

from hypermargin.arrays import Array
from hypermargin.geometry.compiled.frames import normal_out_of_frame
from hypermargin.geometry.exact_normals import normal_from_frame
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.lorentz import covector
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.exact.compiled.passes import LANES, Pass
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.working_sets import Samples, SamplesInMemory

#: Samples this close to the margin are left out of a cut. It weakens the bound by about this much, relatively, and
#: makes cuts independent of rounding: at a kink of the risk, where many queries fall, margins are 1 up to a few bits.
MARGIN_SLACK = 1e-9
#: The fewest samples of a class in a part of the data, if there are as many.
LEAST_PART = 2000
#: Seconds that the check of a certificate takes at most for each number of the data and each cut found.
CHECK_TIME = 5e-9


#: ``(risk, b, g)`` at one w.
Cut = tuple[float, float, Array]


class HingeOracle:
    """``w -> (risk, b, g)`` for the hinge risk of a problem; w and g in the frame that has `centre` at the origin.

    `cone_cuts` says whether cuts at timelike points are those that hold for spacelike normals only.
    """

    cone_cuts = False

    def __init__(self, problem: MarginProblem, frame: Frame):
        self.frame = frame
        self.threshold = 1.0 - MARGIN_SLACK
        self._columns = _padded_columns(problem, frame)
        self._costs = problem.costs
        self._factor = sqrt(0.5)

    @cached_property
    def _outwards(self) -> Array:
        """The matrix that takes normals out of the frame."""
        return boost(self.frame.centre)

    @property
    def work(self) -> int:
        """Numbers read in a pass."""
        return self._columns.size

    def check_time(self, cuts: int) -> float:
        """Seconds that the check of a certificate with so many cuts may take."""
        return CHECK_TIME * self.work * cuts

    @property
    def arrays(self) -> tuple[Array, Array, float, float] | None:
        """Points, costs, their factor and the threshold: what the search needs to make passes by itself, if it can."""
        return self._columns, self._costs, self._factor, self.threshold

    @property
    def framed(self) -> tuple[Array, Array]:
        """The points z_i as columns, (d + 1, n), and their costs (n,), without the factor of the hinge."""
        return self._columns[:, : self._costs.size], self._costs

    @property
    def samples(self) -> Samples | None:
        """The samples as the search in many dimensions asks for them; None where it cannot."""
        columns, costs = self.framed
        return SamplesInMemory(columns, self._factor * costs, self.threshold)

    def part(self, share: float) -> "HingeOracle":
        """The oracle of a random part of each class, with costs scaled to the total of the class."""
        n = self._costs.size
        rng, chosen, costs = np.random.default_rng(0), [], []  # the same part every time
        for side in (self._columns[0, :n] > 0.0, self._columns[0, :n] <= 0.0):  # z_i0 has the sign of y_i
            members = np.flatnonzero(side & (self._costs > 0.0))
            size = min(members.size, max(LEAST_PART, int(share * members.size)))
            part = np.sort(rng.choice(members, size, replace=False))
            chosen.append(part)
            costs.append(self._costs[part] * (self._costs[members].sum() / max(self._costs[part].sum(), 1e-300)))
        other, samples = copy(self), np.concatenate(chosen)
        other._columns = np.zeros((len(self._columns), -(-samples.size // LANES) * LANES))
        other._columns[:, : samples.size] = self._columns[:, samples]
        other._costs = np.concatenate(costs)
        return other

    def scaled(self, factor: float) -> "HingeOracle":
        """The oracle of the risk times `factor`; the data is shared, not copied."""
        other = copy(self)
        other._factor *= factor
        return other

    def __call__(self, w: Array) -> tuple[float, float, Array]:
        """One pass; the search makes its own from `arrays`."""
        g = np.empty(len(self._columns))
        risk, b = Pass(self._columns, self._costs, self.threshold).plain(np.ascontiguousarray(w), g)
        return self._times_factor(risk, b, g)

    def _times_factor(self, risk: float, b: float, g: Array) -> tuple[float, float, Array]:
        return self._factor * risk, self._factor * b, self._factor * g

    def to_original(self, w: Array, low: Array | None = None) -> tuple[Array, Array | None]:
        """The normal ``w + low`` in the problem's coordinates: in a precise frame, or with `low`, as two vectors."""
        if low is None and not self.frame.precise:
            return normal_out_of_frame(w, self.frame.centre), None
        return normal_from_frame(w, low, self.frame.centre[1:])

    def to_frame(self, w: Array) -> Array:
        """The inverse of `to_original`."""
        return normal_out_of_frame(w, covector(self.frame.centre))


def _padded_columns(problem: MarginProblem, frame: Frame) -> Array:
    """The points z_i around the centre as columns, (d + 1, n) and zeros up to a multiple of `LANES`."""
    columns = np.zeros((problem.dim + 1, -(-problem.n_samples // LANES) * LANES))
    problem.covectors_around(frame.centre, precise=frame.precise, columns=columns)
    return columns
