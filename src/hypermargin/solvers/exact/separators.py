"""Answers that separate: scaled so that every margin is 1 at least, they cost nothing but the margin term.

Where the classes can be separated and C is large the optimum has no risk, and its objective may be smaller than C by
many orders of magnitude: what rounding leaves of ``C (1 - m)`` at margins of 1 would then be most of it. Scaling w by
the least margin, bounded from below, makes the risk 0 exactly. And the problem with a smaller C, whose optimum bounds
that of this one from below, has the same solution as long as C exceeds every multiplier: these sum to twice the
objective (`small_enough`).
"""

from dataclasses import replace

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.objective import Enclosure
from hypermargin.geometry.exact_normals import pushed_out, scaled_normal
from hypermargin.geometry.lorentz import covector
from hypermargin.geometry.mean import onto_hyperboloid
from hypermargin.passes.device import DeviceSamples, on_host
from hypermargin.problems.losses import SQRT2
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, enclosed_objective
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.oracle import HingeOracle

#: Relative, above what the least margin asks for: the bound on it must reach 1 after one more rounding.
ABOVE = 2.0**-44
#: Entries of a normal that are larger than this come from rounding.
LONGEST = 1e100
#: Twice the objective is the sum of all multipliers; a C with so much more room than one of them needs is well scaled.
ROOM = 2.0


def scaled_to_margin(problem: MarginProblem, outcome: Outcome, least: float) -> Outcome | None:
    """The outcome with w times a number so that all margins are at least 1; None if w does not separate.

    `least` is a lower bound of the least margin.
    """
    if not least > 0.0:
        return None
    scale = (1.0 + ABOVE) / least
    w, low = outcome.w * scale, None
    if outcome.w_low is not None:
        w, low = scaled_normal(outcome.w, outcome.w_low, scale)
    if not problem.allow_timelike:
        w, low = pushed_out(w, low)
    return replace(outcome, w=w, w_low=low)


def bisector(problem: MarginProblem, oracle: HingeOracle) -> tuple[Array, Array | None] | None:
    """The normal of the hyperplane halfway between the centroids of the two classes; None where there is one class.

    Where the optimum is far smaller than C a search may not see it; where this separates it says how small it is.
    """
    behind, ahead = np.sum(problem.ask(_class_sums, oracle.frame), axis=0)
    if not (behind[0] > 0.0 and ahead[0] > 0.0):
        return None
    with np.errstate(all="ignore"):  # sums of points so far out that they are not told from the light cone
        normal = onto_hyperboloid(behind) - onto_hyperboloid(ahead)
    usable = bool(np.all(np.abs(normal) < LONGEST))
    return oracle.to_original(normal) if usable else None


def _class_sums(piece: MarginProblem | DeviceSamples, frame: Frame) -> Array:
    """The sums of the points of either class in the frame, shape (2, d + 1)."""
    total = np.zeros((2, piece.dim + 1))
    for problem in on_host(piece):
        points = covector(problem.covectors_around(frame.centre, precise=frame.precise)) * problem.y[:, None]
        for k, label in enumerate((-1.0, 1.0)):
            total[k] += points[(problem.y == label) & (problem.costs > 0.0)].sum(axis=0)
    return total


def without_risk(problem: MarginProblem, outcome: Outcome) -> tuple[Outcome, Enclosure]:
    """The better of an outcome and the same scaled to margins of 1, and its objective."""
    enclosure = enclosed_objective(problem, outcome)
    if 1.0 <= enclosure.least_margin <= 1.0 + 2.0 * ABOVE:
        return outcome, enclosure
    separator = scaled_to_margin(problem, outcome, enclosure.least_margin)
    if separator is not None:
        other = enclosed_objective(problem, separator)
        if other.upper < enclosure.upper:
            return separator, other
    return outcome, enclosure


def small_enough(problem: MarginProblem, objective: float) -> float:
    """The share of C that a problem needs whose optimum separates and is at most `objective`; 1 where it needs all."""
    C = ROOM * 2.0 * SQRT2 * objective / problem.weight_range[0]
    return min(1.0, C / problem.C) if np.isfinite(C) and C > 0.0 else 1.0
