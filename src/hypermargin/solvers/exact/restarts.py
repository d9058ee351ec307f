"""What follows on a search: again in other frames or with other costs, and the hard margin as a sequence of soft ones.

A search that rounding ended is tried again around another point, or with a smaller C. Where the classes can be
separated and C is large the objective may be smaller than C by many orders of magnitude: what rounding leaves of
``C (1 - m)`` at margins of 1 would be most of it. Scaling w by the least margin, bounded from below, makes the risk 0
exactly, and a smaller C has the same optimum (docs/exact-theory.md, "Costs far above the optimum").

The hard margin minimises ``q(w)/2`` subject to every margin being at least 1 (paper, eq. hard-margin). For C large
enough the soft margin has the same solution, and for every C its optimum is a lower bound. So C grows, with all cuts
kept, until the soft solution, scaled to margins of at least 1, meets the bound. If the classes overlap no C will do;
then a few samples prove it.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates import HardMarginCertificate, SoftMarginCertificate
from hypermargin.certificates.core.objective import Enclosure
from hypermargin.data.device import DeviceSamples, on_host
from hypermargin.geometry.exact_normals import normal_from_frame, normal_to_frame, pushed_out, scaled_normal
from hypermargin.geometry.lorentz import covector, lift
from hypermargin.geometry.mean import onto_hyperboloid
from hypermargin.problems.losses import SQRT2
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Status, enclosed_objective, relative_gap
from hypermargin.solvers.exact.compiled.search import Search
from hypermargin.solvers.exact.frames import MOST_FRAMES, Frame, between, first_frame, foot_frame, next_frame
from hypermargin.solvers.exact.runs import ALL, Costs, Runner

#: A gap below this share of the tolerance, by the search's own numbers, is taken for met until it is judged: the tenth
#: that is left is more than the objective is rounded by.
MET_SHARE = 0.9
#: A problem that needs less than this share of its C is solved with that share: two digits are gained, which another
#: search is worth. Where there is no other frame to try, one bit is.
LESS_OF_C, MUCH_OF_C = 0.01, 0.5
#: By how much C grows at most, and how often: 5^30 = 1e21 spans all that doubles tell apart.
C_GROWTH, MAX_ROUNDS = 5.0, 30
#: The round in which to ask whether the classes overlap, if nothing separates by then: the answer does not change.
OVERLAP_ROUND = 1
#: Most rounds in which rounding may keep a soft margin from being solved. To begin again with all cuts helps at times.
BLURRED_ROUNDS = 2
#: The largest C to begin with: its square is a double, and objectives far out reach 1e40.
LARGEST_C = 1e60
LIMITS = (Status.ITERATION_LIMIT, Status.TIME_LIMIT)
#: Relative, above what the least margin asks for: the bound on it must reach 1 after one more rounding.
MARGIN_EXCESS = 2.0**-44
#: The most that may be above, and how often to scale: each time by what rounding was seen to take away.
MOST_EXCESS, SCALINGS = 1e-6, 8
#: Entries of a normal that are larger than this come from rounding: points reach to 1e20 (`frames.OUT_OF_REACH`).
LONGEST = 1e100
#: An objective that is known no better than this is tried with w longer by these factors, from a last bit on.
BLURRED_OBJECTIVE, LENGTHENINGS = 1e-9, (2.0**-48, 2.0**-44, 2.0**-40)
#: The most samples for which a linear programme is solved, and for which it is solved in many digits: both take about
#: as long as a search.
MOST_ROWS, MOST_ROWS_IN_ARB = 2000, 200
#: Costs kept, as a multiple of what multipliers can be: any factor above 1 is enough, and 2 is clear of rounding.
SPARE_COSTS = 2.0


class Trial(NamedTuple):
    """What a search in a frame came to: the best of its answers, and the objective of that."""

    frame: Frame
    outcome: Outcome
    enclosure: Enclosure

    @property
    def gap(self) -> float:
        return relative_gap(self.enclosure.upper, self.outcome.lower_bound)

    def next_frame(self) -> Frame | None:
        """Around the foot of the answer; that of one that separates is known to all digits."""
        w, low = self.outcome.w, self.outcome.w_low
        if self.enclosure.least_margin >= 1.0:
            return foot_frame(self.frame, w, low)
        return next_frame(self.frame, normal_to_frame(w, low, self.frame.centre[1:])[0])

    def hint_for(self, search: Search) -> Search:
        """The search, beginning with the answer if that separates."""
        if self.enclosure.least_margin >= 1.0:
            search.hint = search.oracle.to_frame(self.outcome.w, self.outcome.w_low)
        return search

    def with_answer(self, other: Outcome, enclosure: Enclosure) -> "Trial":
        """The same with the answer of another outcome if that is better."""
        if not enclosure.upper < self.enclosure.upper:
            return self
        return Trial(self.frame, replace(self.outcome, w=other.w, w_low=other.w_low, frame=other.frame), enclosure)


def solve_soft_margin(problem: MarginProblem, runner: Runner, search: Search) -> Outcome:
    """Run a search, and again in other frames, or with a smaller C, while rounding is all that a proof lacks."""
    costs, separator = ALL, None
    if runner.verify and search.oracle.frame.precise:  # far out the objective may be smaller than C by many orders
        separator = first_separator(problem, search.oracle.frame, at_any_price=False)
        if separator is not None:
            known, less = Trial(search.oracle.frame, *separator), clipped_costs(problem, separator[1])
            if less.largest(problem) < LESS_OF_C:
                costs, frame = less, known.next_frame() or known.frame
                search = known.hint_for(runner.search(costs.of(problem), frame))
    outcome = runner.run(problem, search, costs)
    if not runner.verify or not (costs is not ALL or _lacks_digits(problem, outcome, search, runner.tol)):
        return outcome
    best = last = Trial(search.oracle.frame, *scale_to_unit_margin(problem, outcome))
    if separator is None and best.gap > runner.tol:
        separator = first_separator(problem, search.oracle.frame)
    if separator is not None:
        best = last = best.with_answer(*separator)
    tried = 1
    while tried < MOST_FRAMES and best.gap > runner.tol and last.outcome.status not in LIMITS:
        restart = _next_restart(problem, best, last, costs)
        if restart is None:
            break
        before, (frame, costs) = search.evaluator, restart
        search = best.hint_for(runner.search(costs.of(problem), frame))
        search.evaluator.passes, search.evaluator.work = before.passes, before.work
        outcome = runner.run(problem, search, costs)
        last = Trial(frame, *scale_to_unit_margin(problem, outcome)).with_answer(best.outcome, best.enclosure)
        best, tried = last if last.gap < best.gap else best.with_answer(last.outcome, last.enclosure), tried + 1
    counts = {"passes": search.n_passes, "full_passes": search.full_passes, "attempts": tried}
    return replace(best.outcome, n_iter=search.n_passes, info={**best.outcome.info, **counts})


def _next_restart(problem: MarginProblem, best: Trial, last: Trial, before: Costs) -> tuple[Frame, Costs] | None:
    """Where to try next: between the best frame and one that was no better, else around the best answer's foot."""
    costs = clipped_costs(problem, best.enclosure)
    less = costs.largest(problem) / before.largest(problem)
    halfway = None if last is best else between(best.frame, last.frame)
    frame = halfway or best.next_frame() or between(best.frame, Frame(problem.centre, precise=True))
    if less < LESS_OF_C or (frame is None and less < MUCH_OF_C):
        frame = best.frame  # the same once more, with costs that the objective is not lost beside
    return None if frame is None else (frame, costs)


def _lacks_digits(problem: MarginProblem, outcome: Outcome, search: Search, tol: float) -> bool:
    """Whether an outcome may be short of a proof although no limit was reached: what is left is rounding.

    The objective is not computed again for that. It surely has digits enough where the most that rounding can do to
    margins in the frame, times the costs, is little beside it.
    """
    if outcome.status not in (Status.CHECK_FAILED, Status.GAP_REMAINS):
        return False
    if not relative_gap(search.upper, outcome.lower_bound) <= MET_SHARE * tol:
        return True
    most = search.oracle.frame.margin_rounding(problem) * float(np.abs(search.best).sum())
    noise = (2.0**-48 + most) * problem.C * problem.weight_range[1] * problem.n_samples
    return noise > search.aim_share * tol * search.upper


# -- the hard margin ---------------------------------------------------------------------------------------------------


def solve_hard_margin(problem: MarginProblem, runner: Runner) -> Outcome:
    """The hard-margin optimum, or the proof that there is none."""
    outcome = last = _in_frame(problem, runner, first_frame(problem, runner.tol), ask=True)
    upper, gap = _objective_and_gap(problem, outcome)
    tried, last_gap = 1, gap
    while tried < MOST_FRAMES and last.status not in (*LIMITS, Status.INFEASIBLE) and last.checked:
        if last_gap <= runner.tol:  # else nothing but rounding can be what a proof lacks
            break
        known = None if np.isinf(upper) else outcome
        if known is None and tried == 1:  # no C has found a separator, and one may take more digits to see
            widest = widest_separator(problem)
            known = None if widest is None else widest[0]
        frame = _another_frame(problem, outcome, last, known)
        if frame is None:
            break
        last = _in_frame(problem, runner, frame, known)
        last_upper, last_gap = _objective_and_gap(problem, last)
        if last.status is Status.INFEASIBLE or last_gap < gap:
            outcome, upper, gap = last, last_upper, last_gap
        tried += 1
    return replace(outcome, info={**outcome.info, "frames": tried})


def _another_frame(problem: MarginProblem, best: Outcome, last: Outcome, known: Outcome | None) -> Frame | None:
    """Where to try next: around the foot of what is known to separate, then nearer to where it went best."""
    here, centre = _frame_of(best), Frame(problem.centre, precise=True)
    if last is not best:
        return between(here, _frame_of(last))
    foot = None if known is None else foot_frame(here, known.w, known.w_low)
    return foot or between(here, centre)


def _frame_of(outcome: Outcome) -> Frame:
    assert outcome.frame is not None
    return Frame(lift(outcome.frame[0]), outcome.frame[1])


def _in_frame(
    problem: MarginProblem, runner: Runner, frame: Frame, known: Outcome | None = None, ask: bool = False
) -> Outcome:
    """Soft margins with growing C in one frame; if need be, `ask` once whether the classes overlap.

    Where one is `known` that separates the search begins with it. Far out one is looked for, and its foot is the frame.
    """
    from hypermargin.solvers.common.separation import prove_overlap  # brings SciPy, which few problems need

    tol, soft = runner.tol, problem.with_equal_weights().with_C(1.0)
    search = runner.search(soft, frame)
    if known is None and frame.precise:
        easy = first_separator(problem, frame)
        known = None if easy is None else easy[0]
        frame = frame if known is None else foot_frame(frame, known.w, known.w_low) or frame
    if known is not None:  # far out no C near 1 may be the right one to begin with
        soft = soft.with_C(_enough_C(soft, enclosed_objective(problem, known).upper))
        search = runner.search(soft, frame)
        search.hint = search.oracle.to_frame(known.w, known.w_low)
    outcome, blurred = _run(soft, runner, search), 0
    for round_ in range(MAX_ROUNDS + 1):
        least = enclosed_objective(problem, outcome).least_margin
        found = scaled_to_margin(problem, outcome, least)  # None if w does not separate
        if round_ == MAX_ROUNDS:
            break
        if ask and found is None and (round_ == OVERLAP_ROUND or outcome.status in LIMITS):
            ask = False
            overlap = prove_overlap(problem)
            if overlap is not None:
                return replace(outcome, status=Status.INFEASIBLE, lower_bound=np.inf, certificate=overlap, checked=True)
        factor = C_GROWTH
        if found is not None:
            upper = found[1].upper
            if (not search.exhausted and least >= 1.0 - 1e-9) or relative_gap(upper, found[0].lower_bound) <= tol:
                break  # a larger C has nothing to add
            if relative_gap(upper, search.lower) <= 0.1 * tol:
                break  # neither has it here: the search has met the separator, and rounding is what the check lacks
            factor = min(C_GROWTH, _enough_C(soft, upper) / soft.C)
        blurred += search.exhausted
        if outcome.status in LIMITS or blurred > BLURRED_ROUNDS:
            break
        soft, search = soft.with_C(factor * soft.C), search.rescaled(factor, search.n_passes)
        outcome = _run(soft, runner, search)
    assert isinstance(outcome.certificate, SoftMarginCertificate)
    weighted = problem.sample_weight is not None
    certificate = HardMarginCertificate(soft.C, outcome.certificate, equal_weights=weighted)
    if found is None:
        unseparated = outcome.status if outcome.status in LIMITS else Status.FAILED
        return replace(outcome, status=unseparated, certificate=certificate)
    status = Status.GAP_REMAINS if outcome.status is outcome.status_if_met else outcome.status
    return replace(found[0], status=status, certificate=certificate)


def _enough_C(soft: MarginProblem, objective: float) -> float:
    """A C that is not less than any multiplier of a hard margin whose optimum is at most `objective`."""
    return sufficient_share_of_C(soft.with_C(LARGEST_C), objective) * LARGEST_C


def _run(soft: MarginProblem, runner: Runner, search: Search) -> Outcome:
    """The outcome of a soft margin with the status that it has by its own gap."""
    outcome = runner.run(soft, search)
    return replace(outcome, status=outcome.status_at(search.upper, runner.tol))


def _objective_and_gap(problem: MarginProblem, outcome: Outcome) -> tuple[float, float]:
    upper = enclosed_objective(problem, outcome).upper
    return upper, relative_gap(upper, outcome.lower_bound)


# -- answers that separate, and costs ----------------------------------------------------------------------------------


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
    above = MARGIN_EXCESS
    for _ in range(SCALINGS):
        scaled = _times(problem, outcome, (1.0 + above) / least)
        enclosure = enclosed_objective(problem, scaled)
        if enclosure.least_margin >= 1.0:
            return scaled, enclosure
        above = 2.0 * above + 2.0 * (1.0 - enclosure.least_margin)
        if not above < MOST_EXCESS:
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
    return widest_separator(problem) if at_any_price and problem.n_samples <= MOST_ROWS_IN_ARB else None


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
    if not MOST_ROWS_IN_ARB < problem.n_samples <= MOST_ROWS:
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
    return enclosure.upper - enclosure.lower > BLURRED_OBJECTIVE * enclosure.upper


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
    if 1.0 <= least <= 1.0 + 2.0 * MARGIN_EXCESS:
        return best
    separator = scaled_to_margin(problem, outcome, least)
    if separator is not None:
        return separator if separator[1].upper < best[1].upper else best
    if _is_blurred(best[1]):
        for above in LENGTHENINGS:
            longer = _times(problem, outcome, 1.0 + above)
            enclosure = enclosed_objective(problem, longer)
            if enclosure.upper < best[1].upper:
                best = longer, enclosure
    return best


def sufficient_share_of_C(problem: MarginProblem, objective: float) -> float:
    """The share of C that a problem needs whose optimum separates and is at most `objective`; 1 where it needs all."""
    C = SPARE_COSTS * 2.0 * SQRT2 * objective / problem.weight_range[0]
    return min(1.0, C / problem.C) if np.isfinite(C) and C > 0.0 else 1.0
