"""The proof of a small problem in flat arrays, and both bounds on its objective without an object in between.

Most small problems are proved on the two halves ``t >= 0`` and ``t <= 0`` of all normals, without boxes of directions.
A classifier of many classes has hundreds of them, and their certificates, hundreds of objects each, would take longer
to make than to check; they are made when `solutions_` is first read.
"""

from itertools import pairwise
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.certificates.compiled.sums import bounds_and_risk
from hypermargin.certificates.core.objective import enclose_form, objective_above
from hypermargin.certificates.core.proof import Combination, RegionProof
from hypermargin.certificates.core.soft_margin import SoftMarginCertificate
from hypermargin.certificates.frame import FramedSamples
from hypermargin.problems.margin import MarginProblem

Indices = NDArray[np.intp]


class TwoRegionProof(NamedTuple):
    """Cuts and intervals as in `EnvelopeProof`, for two regions that take all directions each.

    Parameters
    ----------
    centre : (d,) array
    threshold : float
    points : (J, d + 1) array
        Where the cuts are taken.
    above : int
        Intervals of the half ``t >= 0``, which come first.
    nodes : (m,) array
        Where intervals begin; the last of each half has no end.
    starts : (m + 1,) array of int
        Interval i is proved by the cuts ``starts[i] : starts[i + 1]`` of the next two arrays.
    cuts, weights : (k,) arrays of int and float
    """

    centre: Array
    threshold: float
    points: Array
    above: int
    nodes: Array
    starts: Indices
    cuts: Indices
    weights: Array

    def certificate(self) -> SoftMarginCertificate:
        """The proof as an object of its own, which can be kept and checked again."""
        cuts, weights, starts = self.cuts.tolist(), self.weights.tolist(), self.starts.tolist()
        minorants = tuple(
            Combination(tuple(cuts[first:past]), tuple(weights[first:past])) for first, past in pairwise(starts)
        )
        regions = (
            RegionProof(1, None, self.nodes[: self.above], minorants[: self.above]),
            RegionProof(-1, None, self.nodes[self.above :], minorants[self.above :]),
        )
        return SoftMarginCertificate(self.centre, self.points, regions, self.threshold)


def enclosed_two_regions(problem: MarginProblem, proof: TwoRegionProof, w: Array) -> tuple[float, float]:
    """A lower bound of the optimum that `proof` proves, and an upper bound of the objective of w.

    The sums, the balls and the enclosure are those of `verify` and `objective`; a proof that is none proves -inf. The
    objective is infinite where w is timelike and must not be, or double-double arithmetic does not move it well enough.
    """
    lower, risk = bounds_and_risk(FramedSamples(problem, proof.centre), proof, w)
    if not risk < inf:
        return lower, inf
    form = enclose_form(w)
    timelike = form.lower < 0.0 and not problem.allow_timelike
    return lower, inf if timelike else objective_above(form, risk, problem.n_samples)
