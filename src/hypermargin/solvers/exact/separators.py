"""Answers that separate, scaled so that every margin is 1 at least, and how much of the costs a search needs.

Where the classes can be separated and C is large the objective may be smaller than C by many orders of magnitude: what
rounding leaves of ``C (1 - m)`` at margins of 1 would be most of it. Scaling w by the least margin, bounded from below,
makes the risk 0 exactly, and a smaller C has the same optimum (docs/exact-theory.md, "Costs far above the optimum").
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.core.objective import Enclosure
from hypermargin.data.device import DeviceSamples, on_host
from hypermargin.geometry.exact_normals import normal_from_frame, pushed_out, scaled_normal
from hypermargin.geometry.lorentz import covector, lift
from hypermargin.geometry.mean import onto_hyperboloid
from hypermargin.problems.losses import SQRT2
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Status, enclosed_objective
from hypermargin.solvers.exact.frames import Frame, foot_frame

#: Relative, above what the least margin asks for: the bound on it must reach 1 after one more rounding.
ABOVE = 2.0**-44
#: The most that may be above, and how often to scale: each time by what rounding was seen to take away.
MOST_ABOVE, SCALINGS = 1e-6, 8
#: Entries of a normal that are larger than this come from rounding.
LONGEST = 1e100
#: An objective that is known no better than this is tried with w longer by these factors.
BLURRED, LONGER = 1e-9, (2.0**-48, 2.0**-44, 2.0**-40)
#: The most samples for which a linear programme is solved, and for which it is solved in many digits.
MOST_ROWS, QUICK = 2000, 200
#: Costs kept, as a multiple of what multipliers can be: so much more than they need is well scaled.
SPARE_COSTS = 2.0


class Costs(NamedTuple):
    """A `share` of C, and weights of `most_weight` at most."""

    share: float = 1.0
    most_weight: float = np.inf

    def of(self, problem: MarginProblem) -> MarginProblem:
        """The problem with these costs."""
        if self.most_weight < np.inf:
            problem = problem.with_weights_up_to(self.most_weight)
        return problem if self.share == 1.0 else problem.with_C(self.share * problem.C)

    def largest(self, problem: MarginProblem) -> float:
        """What a sample costs at most, as a share of what it does in the problem as given."""
        return self.share * min(1.0, self.most_weight / problem.weight_range[1])


ALL = Costs()


def clipped_costs(problem: MarginProblem, enclosure: Enclosure) -> Costs:
    """Costs that leave the optimum as it is, which is at most the upper end given; all where they are no less."""
    multipliers = (2.0 if enclosure.least_margin >= 1.0 else 3.0) * enclosure.upper
    weight = SPARE_COSTS * SQRT2 * multipliers / problem.C
    least, most = problem.weight_range
    if not (np.isfinite(weight) and 0.0 < weight < most):
        return ALL
    return Costs(share=weight / most) if least == most else Costs(most_weight=weight)


def scaled_to_margin(problem: MarginProblem, outcome: Outcome, least: float) -> tuple[Outcome, Enclosure] | None:
    """The outcome with w times a number so that all margins are at least 1, and its objective; None if none will do.

    `least` is a lower bound of the least margin. After scaling the bound is another, for w is rounded again: what is
    then missing is added a few times over.
    """
    if not least > 0.0:
        return None
    above = ABOVE
    for _ in range(SCALINGS):
        scaled = _times(problem, outcome, (1.0 + above) / least)
        enclosure = enclosed_objective(problem, scaled)
        if enclosure.least_margin >= 1.0:
            return scaled, enclosure
        above = 2.0 * above + 2.0 * (1.0 - enclosure.least_margin)
        if not above < MOST_ABOVE:
            break
    return None


def _times(problem: MarginProblem, outcome: Outcome, scale: float) -> Outcome:
    w, low = outcome.w * scale, None
    if outcome.w_low is not None:
        w, low = scaled_normal(outcome.w, outcome.w_low, scale)
    if not problem.allow_timelike:
        w, low = pushed_out(w, low)
    return replace(outcome, w=w, w_low=low)


def first_separator(
    problem: MarginProblem, frame: Frame, at_any_price: bool = True
) -> tuple[Outcome, Enclosure] | None:
    """A hyperplane between the classes that is easily found, scaled to margins of 1, and its objective; else None.

    Where the optimum is far smaller than C a search may not see it; this says how small it is. Tried are the hyperplane
    halfway between the centroids of the classes, and the one with the largest least margin, relative to the size of
    each point, in the frame. In many digits that takes as long as several searches, and is not tried unless
    `at_any_price`.
    """
    for normal in (_bisector, _widest):
        w = normal(problem, frame)
        if w is None or not np.all(np.abs(w) < LONGEST):
            continue
        found = _scaled_in(frame, problem, *normal_from_frame(w, None, frame.centre[1:]))
        if found is not None:
            return found
    return widest_separator(problem) if at_any_price and problem.n_samples <= QUICK else None


def widest_separator(problem: MarginProblem) -> tuple[Outcome, Enclosure] | None:
    """The hyperplane with the largest least margin of the points, found in many digits.

    It is judged around its foot and around the sample nearest to it, which nearly equal ones may have beside them.
    """
    from hypermargin.solvers.common.separation import separation  # needs Arb, and few problems need it

    found = separation(problem) if problem.in_memory else None
    if found is None or found.w is None:
        return None
    around = Frame(problem.centre, precise=True)
    foot = foot_frame(around, found.w, found.low) or around
    used = np.flatnonzero(problem.costs > 0.0)
    nearest = used[np.argmin(np.abs(problem.X[used] @ covector(found.w)) / problem.X[used, 0])]
    frames = foot, Frame(lift(problem.X[nearest, 1:]), precise=True)
    tried = (_scaled_in(frame, problem, found.w, found.low) for frame in frames)
    return next((scaled for scaled in tried if scaled is not None), None)


def _scaled_in(frame: Frame, problem: MarginProblem, w: Array, low: Array | None) -> tuple[Outcome, Enclosure] | None:
    """The normal scaled to margins of 1, with its objective, computed in a frame."""
    where = frame.centre[1:], frame.precise
    outcome = Outcome(w=w, w_low=low, status=Status.GAP_REMAINS, frame=where, checked=False)
    return scaled_to_margin(problem, outcome, enclosed_objective(problem, outcome).least_margin)


def _bisector(problem: MarginProblem, frame: Frame) -> Array | None:
    """The normal of the hyperplane halfway between the centroids of the two classes; None where there is one class."""
    behind, ahead = np.sum(problem.map_blocks(_class_sums, frame), axis=0)
    if not (behind[0] > 0.0 and ahead[0] > 0.0):
        return None
    with np.errstate(all="ignore"):  # sums of points so far out that they are not told from the light cone
        return onto_hyperboloid(behind) - onto_hyperboloid(ahead)


def _widest(problem: MarginProblem, frame: Frame) -> Array | None:
    """The w with ``|w_j| <= 1`` for which the least of ``z_i.w / |z_i|`` is largest; None where it is not positive."""
    if not QUICK < problem.n_samples <= MOST_ROWS:
        return None
    from scipy.optimize import linprog  # takes a while to import, and few problems need it

    Z = np.concatenate(problem.map_blocks(_used_rows, frame))
    rows = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    d = Z.shape[1]
    found = linprog(
        np.r_[np.zeros(d), -1.0],
        A_ub=np.column_stack([-rows, np.ones(len(rows))]),
        b_ub=np.zeros(len(rows)),
        bounds=[(-1.0, 1.0)] * d + [(None, None)],
        method="highs",
    )
    return found.x[:-1] if found.status == 0 and found.x[-1] > 0.0 else None


def _class_sums(piece: MarginProblem | DeviceSamples, frame: Frame) -> Array:
    """The sums of the points of either class in the frame, shape (2, d + 1)."""
    total = np.zeros((2, piece.dim + 1))
    for problem in on_host(piece):
        points = covector(problem.covectors_around(frame.centre, precise=frame.precise)) * problem.y[:, None]
        for k, label in enumerate((-1.0, 1.0)):
            total[k] += points[(problem.y == label) & (problem.costs > 0.0)].sum(axis=0)
    return total


def _used_rows(piece: MarginProblem | DeviceSamples, frame: Frame) -> Array:
    """The covectors z_i of samples with positive weight in the frame."""
    used = (p.covectors_around(frame.centre, precise=frame.precise)[p.costs > 0.0] for p in on_host(piece))
    return np.concatenate(list(used))


def _is_blurred(enclosure: Enclosure) -> bool:
    return enclosure.upper - enclosure.lower > BLURRED * enclosure.upper


def reevaluate_in_dd(problem: MarginProblem, outcome: Outcome) -> tuple[Outcome, Enclosure]:
    """The outcome and its objective, in double-double arithmetic where that of doubles is blurred by rounding."""
    enclosure = enclosed_objective(problem, outcome)
    if _is_blurred(enclosure) and outcome.frame is not None and not outcome.frame[1]:
        sharp = replace(outcome, frame=(outcome.frame[0], True))
        other = enclosed_objective(problem, sharp)
        if other.upper < enclosure.upper:
            return sharp, other
    return outcome, enclosure


def scale_to_unit_margin(problem: MarginProblem, outcome: Outcome) -> tuple[Outcome, Enclosure]:
    """The best of an outcome, the same scaled to margins of 1, and the same a little longer, and its objective.

    Where a few samples cost far more than the optimum they have margins of 1 there, and what rounding leaves of
    ``c (1 - m)`` is more than a last bit of w.
    """
    best = reevaluate_in_dd(problem, outcome)
    outcome, least = best[0], best[1].least_margin
    if 1.0 <= least <= 1.0 + 2.0 * ABOVE:
        return best
    separator = scaled_to_margin(problem, outcome, least)
    if separator is not None:
        return separator if separator[1].upper < best[1].upper else best
    if _is_blurred(best[1]):
        for above in LONGER:
            longer = _times(problem, outcome, 1.0 + above)
            enclosure = enclosed_objective(problem, longer)
            if enclosure.upper < best[1].upper:
                best = longer, enclosure
    return best


def sufficient_share_of_C(problem: MarginProblem, objective: float) -> float:
    """The share of C that a problem needs whose optimum separates and is at most `objective`; 1 where it needs all."""
    C = SPARE_COSTS * 2.0 * SQRT2 * objective / problem.weight_range[0]
    return min(1.0, C / problem.C) if np.isfinite(C) and C > 0.0 else 1.0
