"""The hard margin: minimise ``q(w)/2`` subject to every margin being at least 1 (paper, eq. hard-margin).

For C large enough the soft margin has the same solution, and for every C its optimum is a lower bound. So C grows, with
all cuts kept, until the soft solution, scaled to margins of at least 1, meets the bound. If the classes overlap no C
will do; then a few samples prove it.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hypermargin.certificates import HardMarginCertificate, SoftMarginCertificate
from hypermargin.geometry.exact_normals import normal_to_frame
from hypermargin.geometry.lorentz import lift
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Status, enclosed_objective, relative_gap
from hypermargin.solvers.exact.begin import fresh_search
from hypermargin.solvers.exact.frames import MOST_FRAMES, Frame, first_frame, next_frame
from hypermargin.solvers.exact.oracle import HingeOracle
from hypermargin.solvers.exact.search import Search
from hypermargin.solvers.exact.separators import first_separator, scaled_to_margin, small_enough, widest_separator

GROWTH = 5.0
MAX_ROUNDS = 30
#: The round in which to ask whether the classes overlap, if nothing separates by then: the answer does not change.
OVERLAP_ROUND = 1
#: A soft margin that needs less than this share of its C is solved with that share.
LESS_OF_C = 0.01
#: The largest C to begin with.
LARGEST_C = 1e60
LIMITS = (Status.ITERATION_LIMIT, Status.TIME_LIMIT)

SoftSolver = Callable[[MarginProblem, float, HingeOracle, Search], Outcome]


def solve_hard_margin(problem: MarginProblem, tol: float, solve_soft: SoftSolver, cuts: str = "auto") -> Outcome:
    """The hard-margin optimum, or the proof that there is none; `solve_soft` solves a soft margin from a search."""
    outcome = _in_frame(problem, tol, solve_soft, first_frame(problem, tol), cuts, ask=True)
    tried = 1
    while tried < MOST_FRAMES and _lacks_digits(problem, outcome, tol):
        assert outcome.frame is not None
        centre, precise = outcome.frame
        frame = next_frame(Frame(lift(centre), precise), normal_to_frame(outcome.w, outcome.w_low, centre)[0])
        if np.isinf(_objective(problem, outcome)):  # no C has found a separator: it takes more digits to see one
            easy = widest_separator(problem) if tried == 1 else None
            if easy is None or easy[0].frame is None:
                break
            frame = Frame(lift(easy[0].frame[0]), precise=True)
        if frame is None:
            break
        other = _in_frame(problem, tol, solve_soft, frame, cuts)
        outcome = (
            other if other.status is Status.INFEASIBLE or _gap(problem, other) < _gap(problem, outcome) else outcome
        )
        tried += 1
    return replace(outcome, info={**outcome.info, "frames": tried})


def _in_frame(
    problem: MarginProblem, tol: float, solve_soft: SoftSolver, frame: Frame, cuts: str, ask: bool = False
) -> Outcome:
    """Soft margins with growing C in one frame; if need be, `ask` once whether the classes overlap."""
    from hypermargin.solvers.common.overlap import prove_overlap  # brings SciPy, which few problems need

    soft = problem.with_equal_weights().with_C(1.0)
    oracle, search = fresh_search(soft, frame, cuts)
    easy = first_separator(problem, oracle) if frame.precise else None
    if easy is not None:  # far out no C near 1 may be the right one to begin with
        soft = soft.with_C(small_enough(soft.with_C(LARGEST_C), easy[1].upper) * LARGEST_C)
        oracle, search = fresh_search(soft, frame, cuts)
    outcome = _decided(solve_soft(soft, tol, oracle, search), search, tol)
    separator = _separator(problem, outcome)
    if separator is not None:  # then C need not be larger than its objective says
        share = small_enough(soft, _objective(problem, separator))
        if share < LESS_OF_C and not _gap(problem, separator) <= tol:
            soft, oracle = soft.with_C(share * soft.C), oracle.scaled(share)
            search = search.rescaled(share, oracle, search.n_passes)
            outcome = _decided(solve_soft(soft, tol, oracle, search), search, tol)
    for round_ in range(MAX_ROUNDS):
        separator = _separator(problem, outcome)
        if ask and separator is None and (round_ == OVERLAP_ROUND or outcome.status in LIMITS):
            ask = False
            overlap = prove_overlap(problem)
            if overlap is not None:
                return replace(outcome, status=Status.INFEASIBLE, lower_bound=np.inf, certificate=overlap, checked=True)
        if separator is not None and (_gap(problem, separator) <= tol or _is_feasible(problem, outcome)):
            break  # a larger C has nothing to add
        if separator is not None and relative_gap(_objective(problem, separator), search.lower) <= 0.1 * tol:
            break  # neither has it here: the search has met the separator, and rounding is what the check lacks
        if outcome.status in LIMITS:
            break
        soft, oracle = soft.with_C(GROWTH * soft.C), oracle.scaled(GROWTH)
        search = search.rescaled(GROWTH, oracle, search.n_passes)
        outcome = _decided(solve_soft(soft, tol, oracle, search), search, tol)
    assert isinstance(outcome.certificate, SoftMarginCertificate)
    weighted = problem.sample_weight is not None
    certificate = HardMarginCertificate(soft.C, outcome.certificate, equal_weights=weighted)
    separator = _separator(problem, outcome)
    if separator is None:
        unseparated = outcome.status if outcome.status in LIMITS else Status.FAILED
        return replace(outcome, status=unseparated, certificate=certificate)
    status = Status.GAP_REMAINS if outcome.status is outcome.status_if_met else outcome.status
    return replace(separator, status=status, certificate=certificate)


def _decided(outcome: Outcome, search: Search, tol: float) -> Outcome:
    """The outcome of a soft margin with the status that it has by its own gap."""
    return replace(outcome, status=outcome.status_at(search.upper, tol))


def _objective(problem: MarginProblem, outcome: Outcome) -> float:
    return enclosed_objective(problem, outcome).upper


def _gap(problem: MarginProblem, outcome: Outcome) -> float:
    return relative_gap(_objective(problem, outcome), outcome.lower_bound)


def _lacks_digits(problem: MarginProblem, outcome: Outcome, tol: float) -> bool:
    """Whether nothing but rounding can be what a proof lacks."""
    unfinished = outcome.status not in (*LIMITS, Status.INFEASIBLE)
    return unfinished and outcome.checked and not _gap(problem, outcome) <= tol


def _is_feasible(problem: MarginProblem, outcome: Outcome) -> bool:
    """Whether the soft solution has all margins at 1 up to rounding."""
    return enclosed_objective(problem, outcome).least_margin >= 1.0 - 1e-9


def _separator(problem: MarginProblem, outcome: Outcome) -> Outcome | None:
    """The outcome scaled to margins of at least 1; None if w does not separate."""
    scaled = scaled_to_margin(problem, outcome, enclosed_objective(problem, outcome).least_margin)
    return None if scaled is None else scaled[0]
