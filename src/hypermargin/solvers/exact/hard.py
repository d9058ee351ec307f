"""The hard margin: minimise ``q(w)/2`` subject to every margin being at least 1 (paper, eq. hard-margin).

For C large enough the soft margin has the same solution, and for every C its optimum is a lower bound. So C grows, with
all cuts kept, until the soft solution, scaled to margins of at least 1, meets the bound. If the classes overlap no C
will do; then a few samples prove it.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates import HardMarginCertificate, SoftMarginCertificate
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Status, relative_gap
from hypermargin.solvers.common.overlap import prove_overlap
from hypermargin.solvers.exact.begin import fresh_search
from hypermargin.solvers.exact.oracle import HingeOracle
from hypermargin.solvers.exact.search import Search

GROWTH = 5.0
MAX_ROUNDS = 30
LIMITS = (Status.ITERATION_LIMIT, Status.TIME_LIMIT)

SoftSolver = Callable[[MarginProblem, float, HingeOracle, Search], Outcome]


def solve_hard_margin(problem: MarginProblem, tol: float, solve_soft: SoftSolver, cuts: str = "auto") -> Outcome:
    """The hard-margin optimum, or the proof that there is none; `solve_soft` solves a soft margin from a search."""
    soft = problem.with_C(1.0)
    oracle, search = fresh_search(soft, cuts)
    outcome = _decided(solve_soft(soft, tol, oracle, search), search, tol)
    for _ in range(MAX_ROUNDS):
        w = _scaled_to_margin(problem, outcome.w)
        if w is None:
            overlap = prove_overlap(problem)
            if overlap is not None:
                return replace(outcome, status=Status.INFEASIBLE, lower_bound=np.inf, certificate=overlap, checked=True)
        elif relative_gap(problem.objective(w), outcome.lower_bound) <= tol:
            break
        elif problem.violation(outcome.w) <= problem.margin_rounding(outcome.w):
            break  # the soft solution is feasible already: a larger C has nothing to add
        if outcome.status in LIMITS:
            break
        soft, oracle = soft.with_C(GROWTH * soft.C), oracle.scaled(GROWTH)
        search = search.rescaled(GROWTH, oracle, search.n_passes)
        outcome = _decided(solve_soft(soft, tol, oracle, search), search, tol)
    assert isinstance(outcome.certificate, SoftMarginCertificate)
    certificate = HardMarginCertificate(soft.C, outcome.certificate)
    w = _scaled_to_margin(problem, outcome.w)
    if w is None:
        unseparated = outcome.status if outcome.status in LIMITS else Status.FAILED
        return replace(outcome, status=unseparated, certificate=certificate)
    status = Status.GAP_REMAINS if outcome.status is outcome.status_if_met else outcome.status
    return replace(outcome, w=w, status=status, certificate=certificate)


def _decided(outcome: Outcome, search: Search, tol: float) -> Outcome:
    """The outcome of a soft margin with the status that it has by its own gap."""
    return replace(outcome, status=outcome.status_at(search.upper, tol))


def _scaled_to_margin(problem: MarginProblem, w: Array) -> Array | None:
    """w times a positive number so that the least margin is 1; None if w does not separate."""
    least = float(problem.margins(w)[problem.costs > 0.0].min())
    return w / least if least > 0.0 else None
