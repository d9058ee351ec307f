"""The exact method: the hyperbolic SVM to proven global optimality (docs/exact-theory.md).

The objective is convex in wr and non-convex in t only. A pool of cuts of the risk gives, in closed form, a lower bound
for all w with a given t; the search closes the gap between the least of these bounds and the best point found.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import ClassVar

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates import CertificateError, SoftMarginCertificate
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Solver, Status, register, relative_gap
from hypermargin.solvers.exact.begin import CUTS, fresh_search
from hypermargin.solvers.exact.certify import make_certificate
from hypermargin.solvers.exact.hard import solve_hard_margin
from hypermargin.solvers.exact.one_class import best_along_axes
from hypermargin.solvers.exact.oracle import HingeOracle
from hypermargin.solvers.exact.search import Search

#: The certificate proves this share of the tolerance: a looser proof has fewer intervals.
PROVED = 0.5
#: Seconds that the check of a certificate takes for each number of the data and each cut found, without a compiler.
CHECK_TIME = 5e-9


@register
@dataclass(frozen=True)
class Exact(Solver):
    """Certified global optimum of the hinge objective.

    Parameters
    ----------
    max_iter : int
        Most passes over the data.
    max_regions : int
        Most regions to split the directions into (only degenerate problems are split).
    time_limit : float
        Seconds after which to stop with the gap that remains.
    verify : bool
        Check the certificate; without it the status is `Status.UNVERIFIED` at best.
    start : (d + 1,) array, optional
        A normal to begin with, from a similar problem.
    cuts : {"auto", "plain", "deep"}
        Where lower bounds come from: "plain" asks for the risk at one point after another, which is quickest in few
        dimensions, "deep" solves for all coordinates but one by an interior-point method, "auto" goes by the dimension.
        Uncertainty sets have plain cuts.
    """

    name: ClassVar[str] = "exact"
    summary: ClassVar[str] = "certified global optimum: cuts, a lower envelope over t, branching on directions"
    capabilities: ClassVar[frozenset[str]] = frozenset({"hard", "timelike", "uncertainty"})

    max_iter: int = 10_000
    max_regions: int = 4_000
    time_limit: float = np.inf
    verify: bool = True
    start: Array | None = None
    cuts: str = "auto"

    def __post_init__(self) -> None:
        if self.cuts not in CUTS:
            raise ValueError(f"cuts must be one of {', '.join(map(repr, CUTS))}, got {self.cuts!r}")
        if self.max_iter < 1 or self.max_regions < 1 or not self.time_limit > 0.0:
            raise ValueError("max_iter, max_regions and time_limit must be positive")

    def run(self, problem: MarginProblem, tol: float) -> Outcome:
        deadline = self._deadline()
        if problem.is_hard:
            return solve_hard_margin(problem, tol, partial(self.run_from, deadline), self.cuts)
        return self.run_from(deadline, problem, tol, *fresh_search(problem, self.cuts))

    def run_path(self, problem: MarginProblem, Cs: Sequence[float], tol: float) -> Iterator[Outcome]:
        """Cuts of the risk scale with C, so each search begins with all cuts of the one before."""
        oracle, search, last = None, None, 1.0
        for C in Cs:
            at_C = problem.with_C(C)
            if at_C.is_hard:
                yield self.run(at_C, tol)
                continue
            if oracle is None or search is None:
                oracle, search = fresh_search(at_C, self.cuts)
            else:
                oracle = oracle.scaled(C / last)
                search = search.rescaled(C / last, oracle)
            yield self.run_from(self._deadline(), at_C, tol, oracle, search)
            last = C

    def _deadline(self) -> float:
        return time.perf_counter() + 0.95 * self.time_limit

    def run_from(
        self, deadline: float, problem: MarginProblem, tol: float, oracle: HingeOracle, search: Search
    ) -> Outcome:
        """The main loop, from a search that may already hold cuts (see `Search.rescaled`)."""
        search.limit(tol, self.max_iter, deadline)
        search.start(None if self.start is None else oracle.to_frame(np.asarray(self.start, dtype=np.float64)))
        limit = self._limit_reached(problem, search, deadline)
        aim = search.aim
        while relative_gap(search.upper, search.lower) > aim and limit is None:
            search.step(0.5 * aim)
            limit = self._limit_reached(problem, search, deadline)
        w = oracle.to_original(search.best)
        free = None if search.n_regions else best_along_axes(problem)
        if free is not None and problem.objective(free) <= search.upper:
            w = free
        certificate = make_certificate(search, oracle.centre, oracle.threshold, search.upper * (1.0 - PROVED * tol))
        bound = _proved_bound(problem, certificate) if self.verify else search.lower
        otherwise = Status.CHECK_FAILED if self.verify else Status.GAP_REMAINS
        return Outcome(
            w=w,
            status=limit if limit is not None and bound > -np.inf else otherwise,
            status_if_met=Status.OPTIMAL if self.verify else Status.UNVERIFIED,
            lower_bound=bound,
            certificate=certificate,
            checked=self.verify,
            n_iter=search.n_passes,
            history={
                "lower_bound": list(accumulate((lower for lower, _ in search.history), max, initial=0.0))[1:],
                "objective": [upper for _, upper in search.history],
            },
            info={
                "passes": search.n_passes,
                "splits": search.n_splits,
                "regions": search.n_regions,
                "full_passes": search.full_passes,
            },
        )

    def _limit_reached(self, problem: MarginProblem, search: Search, deadline: float) -> Status | None:
        if search.n_passes >= self.max_iter or search.n_regions >= self.max_regions:
            return Status.ITERATION_LIMIT
        check = CHECK_TIME * problem.X.size * search.pool.count() if self.verify else 0.0
        if time.perf_counter() + check >= deadline:
            return Status.TIME_LIMIT
        return Status.GAP_REMAINS if search.exhausted else None


def _proved_bound(problem: MarginProblem, certificate: SoftMarginCertificate) -> float:
    """The bound that the check of the certificate proves; -inf where it refuses the certificate."""
    try:
        return certificate.verify(problem)
    except CertificateError:
        return -np.inf
