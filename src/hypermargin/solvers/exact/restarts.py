"""What follows on a search: again in other frames or with other costs, and the hard margin as a sequence of soft ones.

A search that rounding ended is tried again around another point, or with a smaller C (`separators`).

The hard margin minimises ``q(w)/2`` subject to every margin being at least 1 (paper, eq. hard-margin). For C large
enough the soft margin has the same solution, and for every C its optimum is a lower bound. So C grows, with all cuts
kept, until the soft solution, scaled to margins of at least 1, meets the bound. If the classes overlap no C will do;
then a few samples prove it.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hypermargin.certificates import HardMarginCertificate, SoftMarginCertificate
from hypermargin.certificates.core.objective import Enclosure
from hypermargin.geometry.exact_normals import normal_to_frame
from hypermargin.geometry.lorentz import lift
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Status, enclosed_objective, relative_gap
from hypermargin.solvers.exact.compiled.search import Search
from hypermargin.solvers.exact.frames import MOST_FRAMES, Frame, between, first_frame, foot_frame, next_frame
from hypermargin.solvers.exact.runs import Runner
from hypermargin.solvers.exact.separators import (
    ALL,
    Costs,
    clipped_costs,
    first_separator,
    scale_to_unit_margin,
    scaled_to_margin,
    sufficient_share_of_C,
    widest_separator,
)

#: A gap below this share of the tolerance, by the search's own numbers, is taken for met until it is judged.
CLEARLY = 0.9
#: A problem that needs less than this share of its C is solved with that share.
LESS_OF_C = 0.01
#: The same where there is no other frame to try.
MUCH_OF_C = 0.5
GROWTH = 5.0
MAX_ROUNDS = 30
#: The round in which to ask whether the classes overlap, if nothing separates by then: the answer does not change.
OVERLAP_ROUND = 1
#: Most rounds in which rounding may keep a soft margin from being solved. To begin again with all cuts helps at times.
BLURRED_ROUNDS = 2
#: The largest C to begin with.
LARGEST_C = 1e60
LIMITS = (Status.ITERATION_LIMIT, Status.TIME_LIMIT)


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
    if not relative_gap(search.upper, outcome.lower_bound) <= CLEARLY * tol:
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
        factor = GROWTH
        if found is not None:
            upper = found[1].upper
            if (not search.exhausted and least >= 1.0 - 1e-9) or relative_gap(upper, found[0].lower_bound) <= tol:
                break  # a larger C has nothing to add
            if relative_gap(upper, search.lower) <= 0.1 * tol:
                break  # neither has it here: the search has met the separator, and rounding is what the check lacks
            factor = min(GROWTH, _enough_C(soft, upper) / soft.C)
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
