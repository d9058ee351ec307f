"""From the best point of a search to a normal in the coordinates of the problem."""

import numpy as np

from hypermargin.arrays import Array
from hypermargin.geometry.exact_normals import onto_cone, pushed_out
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.exact.oracle import HingeOracle

#: What the last bits of w do to its q, relative to ``|w|^2``.
LAST_BITS = 2.0**-50


def answer_outside(
    problem: MarginProblem, oracle: HingeOracle, best: Array, resolution: float
) -> tuple[Array, Array | None]:
    """The point `best` of the oracle's frame outside of it, pushed out to ``q >= 0``; two vectors if need be.

    They are needed where rounding would change its q by more than `resolution`. It is pushed once in the frame, where a
    lightlike w may be far longer than outside, and once for the way out; what the search took for lightlike is put on
    the cone there, from either side.
    """
    low: Array | None = None
    outside, rest = oracle.to_original(best)
    if LAST_BITS * float(outside @ outside) > resolution:
        best, low = onto_cone(best, np.zeros_like(best))
    inside = (best, low) if problem.allow_timelike else pushed_out(best, low)
    if inside[0] is not best or inside[1] is not None:
        outside, rest = oracle.to_original(*inside)
    return (outside, rest) if problem.allow_timelike else pushed_out(outside, rest)
