"""One run of the method: a search that suits the problem, the loop that closes its gap, and the outcome.

What follows on a run that rounding ended is in `restarts.py`.
"""

import time
from dataclasses import dataclass, replace
from threading import local

import numpy as np

from hypermargin.arrays import Array
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Status, relative_gap
from hypermargin.solvers.exact.blocked_oracle import BlockedOracle
from hypermargin.solvers.exact.compiled.search import Search
from hypermargin.solvers.exact.cut_sources import LEAST_SAMPLES, InteriorPointCuts, PassCuts, has_many_samples
from hypermargin.solvers.exact.finish import (
    QuickResult,
    best_along_axes,
    bound_to_prove,
    checked_outcome,
    counts,
    history_dict,
    make_certificate,
    quick_result,
    to_original_coordinates,
)
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.journal import Journal
from hypermargin.solvers.exact.oracle import HingeOracle, Oracle, oracle_in_memory
from hypermargin.solvers.exact.separators import ALL, Costs

#: Where cuts come from: one pass each, the interior-point method, or whichever is quicker by the rule below.
CUTS = ("auto", "plain", "deep")
#: From these dimensions on, with so many samples, the interior-point method is the quicker one: measured by
#: `benchmarks/bench_dims.py --only rule` from 500 to 300,000 samples.
DEEP_FROM = ((10, 0), (8, 10_000), (6, 200_000))
#: Where every pass reads the samples anew it has ten reads to make instead of fifty, in the plane too.
DEEP_FROM_ANEW = (*DEEP_FROM, (1, 100_000))

#: The search of the last small problem of each thread: to make its tables takes as long as such a search.
_KEPT = local()


@dataclass(frozen=True)
class Runner:
    """Runs searches to the relative gap `tol`, with the options of `Exact` and the time to stop at."""

    tol: float
    deadline: float
    max_iter: int
    max_regions: int
    verify: bool
    cuts: str
    start: Array | None = None
    checkpoint: str | None = None

    def search(self, problem: MarginProblem, frame: Frame) -> Search:
        return make_search(problem, frame, self.cuts, self.checkpoint)

    def run(self, problem: MarginProblem, search: Search, costs: Costs = ALL) -> Outcome:
        """Close the gap of a search, which may already hold cuts (see `Search.rescaled`), and prove what it found.

        The search may have a part of the problem's `costs` only: what it proves holds for all of them.
        """
        limit = self.close_gap(search)
        (w, low), frame = to_original_coordinates(problem, search), search.oracle.frame
        info = counts(search.n_passes, search.full_passes, search.n_splits, search.n_regions, frame.precise)
        if problem.in_memory and not search.n_regions:
            free = best_along_axes(problem, frame)
            if free is not None and problem.objective(free[0]) <= search.upper:
                w, low, frame = free[0], None, free[1]
        certificate = make_certificate(search, bound_to_prove(search.upper, self.tol), costs)
        outcome = checked_outcome(problem, w, certificate, search.lower, self.verify, limit)
        return replace(
            outcome,
            w_low=low,
            frame=(frame.centre[1:], frame.precise),
            n_iter=search.n_passes,
            history=history_dict(search.history),
            info=info,
        )

    def run_small(self, problem: MarginProblem, frame: Frame) -> QuickResult | Search:
        """The result of a small problem; where its first two regions do not prove it, the search as far as it got."""
        start, search = time.perf_counter(), kept_search(problem, frame)
        self.close_gap(search)
        found = quick_result(problem, search, self.tol, self.verify, start)
        return search if found is None else found

    def close_gap(self, search: Search) -> Status | None:
        """The main loop; returns the limit that has ended it, None where the gap is closed."""
        search.limit(self.tol, self.max_iter, self.deadline)
        search.start(None if self.start is None else search.oracle.to_frame(np.asarray(self.start, dtype=np.float64)))
        aim, limit = search.aim, self._limit_reached(search)
        while relative_gap(search.upper, search.lower) > aim and limit is None:
            search.step(aim)
            limit = self._limit_reached(search)
        return limit

    def _limit_reached(self, search: Search) -> Status | None:
        if search.n_passes >= self.max_iter or search.n_regions >= self.max_regions:
            return Status.ITERATION_LIMIT
        if self.deadline < np.inf:
            check = search.oracle.check_time(search.pool.size) if self.verify else 0.0
            if time.perf_counter() + check >= self.deadline:
                return Status.TIME_LIMIT
        return Status.GAP_REMAINS if search.exhausted else None


def make_search(
    problem: MarginProblem, frame: Frame | None = None, cuts: str = "auto", checkpoint: str | None = None
) -> Search:
    """A search in a frame (around the centre by default) that has not begun; `checkpoint` names a journal's file."""
    frame = frame or Frame(problem.centre)
    oracle = make_oracle(problem, frame)
    if checkpoint is not None:
        oracle = Journal(checkpoint, oracle, problem)
    deep = cuts == "deep" or (cuts == "auto" and deep_is_quicker(problem) and not frame.precise)
    source: type[InteriorPointCuts] | type[PassCuts] | None = PassCuts if has_many_samples(oracle) else None
    if deep and oracle.samples is not None:
        source = InteriorPointCuts
    return Search(oracle, problem.dim, problem.allow_timelike, source)


def kept_search(problem: MarginProblem, frame: Frame) -> Search:
    """The same for a small problem with plain cuts; it is reused by the next call in this thread."""
    oracle, kind = HingeOracle(problem, frame), (problem.dim, problem.allow_timelike)
    if getattr(_KEPT, "kind", None) == kind:
        _KEPT.search.begin(oracle)
    else:
        _KEPT.search, _KEPT.kind = Search(oracle, *kind), kind
    return _KEPT.search


def is_small(problem: MarginProblem) -> bool:
    """Whether `kept_search` is for such problems."""
    return (
        type(problem) is MarginProblem
        and problem.uncertainty is None
        and not problem.is_hard
        and problem.n_samples < LEAST_SAMPLES
        and not deep_is_quicker(problem)
    )


def deep_is_quicker(problem: MarginProblem) -> bool:
    """Whether the interior-point method is the quicker one."""
    bounds = DEEP_FROM_ANEW if problem.rereads else DEEP_FROM
    return any(problem.dim >= dim and problem.n_samples >= samples for dim, samples in bounds)


def make_oracle(problem: MarginProblem, frame: Frame) -> Oracle:
    """The oracle that suits where the samples are and what their margins are."""
    return BlockedOracle(problem, frame) if isinstance(problem, BlockedProblem) else oracle_in_memory(problem, frame)
