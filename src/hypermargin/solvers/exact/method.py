"""The exact method: the hyperbolic SVM to proven global optimality (docs/exact-theory.md).

The objective is convex in wr and non-convex in t only. A pool of cuts of the risk gives, in closed form, a lower bound
for all w with a given t; the search closes the gap between the least of these bounds and the best point found.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hypermargin.arrays import Array
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Solver, register
from hypermargin.solvers.exact.asinh.search import solve_asinh
from hypermargin.solvers.exact.compiled.search import Search
from hypermargin.solvers.exact.frames import first_frame
from hypermargin.solvers.exact.restarts import solve_hard_margin, solve_soft_margin
from hypermargin.solvers.exact.runs import CUTS, QuickResult, Runner, is_small

#: The gap to which the hinge is solved before a search for the asinh optimum: a start need be no better than the asinh
#: loss is like the hinge.
ROUGH_START = 1e-4


@register
@dataclass(frozen=True)
class Exact(Solver):
    """Certified global optimum of the hinge objective, or of the asinh objective that it stands in for.

    Parameters
    ----------
    loss : {"hinge", "asinh"}
        What is minimised. The asinh objective is solved by branch and bound over boxes of w (docs/asinh.md), which
        starts from the hinge optimum; a hard margin has no losses, and is the same problem for both.
    max_iter : int
        Most passes over the data for the hinge.
    max_regions : int
        Most regions to split the directions into for the hinge (only degenerate problems are split).
    max_nodes : int
        Most boxes to examine for the asinh loss.
    time_limit : float
        Seconds after which to stop with the gap that remains.
    verify : bool
        Check the certificate; without it the status is `Status.UNVERIFIED` at best.
    start : (d + 1,) array, optional
        A normal to begin with, from a similar problem.
    cuts : {"auto", "plain", "deep"}
        Where lower bounds come from: "plain" asks for the risk at one point after another, which is quickest in few
        dimensions, "deep" solves for all coordinates but one by an interior-point method, "auto" goes by the dimension.
        Uncertainty sets, data on a graphics card and fits with a checkpoint have plain cuts.
    checkpoint : str, optional
        A file in which every pass over the data is written down: a fit that was interrupted and is begun again with the
        same file takes up where it stopped. It costs memory speed where the data is in memory; for data that is not,
        it costs nothing.
    """

    name: ClassVar[str] = "exact"
    summary: ClassVar[str] = "certified global optimum: cuts, a lower envelope over t, branching on directions"
    capabilities: ClassVar[frozenset[str]] = frozenset({"hard", "out-of-core", "timelike", "uncertainty"})
    losses: ClassVar[tuple[str, ...]] = ("hinge", "asinh")

    loss: str = "hinge"
    max_iter: int = 10_000
    max_regions: int = 4_000
    max_nodes: int = 1_000_000
    time_limit: float = np.inf
    verify: bool = True
    start: Array | None = None
    cuts: str = "auto"
    checkpoint: str | None = None

    def __post_init__(self) -> None:
        if self.loss not in self.losses:
            raise ValueError(f"solver 'exact' minimises the losses {' and '.join(self.losses)}, got {self.loss!r}")
        if self.cuts not in CUTS:
            raise ValueError(f"cuts must be one of {', '.join(map(repr, CUTS))}, got {self.cuts!r}")
        if min(self.max_iter, self.max_regions, self.max_nodes) < 1 or not self.time_limit > 0.0:
            raise ValueError("max_iter, max_regions, max_nodes and time_limit must be positive")

    def run(self, problem: MarginProblem, tol: float) -> Outcome:
        return next(iter(self.run_path(problem, [problem.C], tol)))

    def run_path(self, problem: MarginProblem, Cs: Sequence[float], tol: float) -> Iterator[Outcome]:
        """Cuts of the risk scale with C, so each search begins with all cuts of the one before.

        For the asinh loss each begins with the optimum of the one before, besides the hinge optimum and `start`.
        """
        given = self._given_start(problem)
        hinge = self._hinge_optima(problem, Cs) if self.loss == "asinh" else {}
        search: Search | None = None
        last, before = 1.0, list[Array]()
        for C in Cs:
            at_C, runner = problem.with_C(C), self._runner(tol)
            if at_C.is_hard:
                if self.checkpoint is not None:
                    raise ValueError("checkpoints are for soft margins; with C = inf leave the option checkpoint out")
                outcome = solve_hard_margin(at_C, runner)
            elif self.loss == "asinh":
                starts = [hinge[C], *given, *before]
                outcome = solve_asinh(at_C, tol, starts, self.max_nodes, self.time_limit, self.verify)
            else:
                search = search.rescaled(C / last) if search else runner.search(at_C, first_frame(problem, tol))
                outcome, last = solve_soft_margin(at_C, runner, search), C
            yield outcome
            before = [outcome.w]

    def run_small(self, problem: MarginProblem, tol: float) -> QuickResult | Outcome:
        """As `run`; the certificate of a small problem is made when it is asked for."""
        plain = self.loss == "hinge" and self.cuts != "deep" and self.checkpoint is None
        if not (plain and is_small(problem)):
            return self.run(problem, tol)
        self._given_start(problem)
        runner, frame = self._runner(tol), first_frame(problem, tol)
        found = runner.search(problem, frame) if frame.precise else runner.run_small(problem, frame)
        return found if isinstance(found, QuickResult) else solve_soft_margin(problem, runner, found)

    def _given_start(self, problem: MarginProblem) -> list[Array]:
        """`start`, if it is a normal of the problem's space: compiled code reads beyond a shorter one."""
        if self.start is None:
            return []
        try:
            start = np.asarray(self.start, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"start must be {problem.dim + 1} numbers, got {self.start!r}") from None
        if start.shape != (problem.dim + 1,):
            raise ValueError(f"start must be a finite vector of shape ({problem.dim + 1},), got shape {start.shape}")
        if not np.all(np.isfinite(start)):
            raise ValueError(f"start must be a finite vector of shape ({problem.dim + 1},), got {start.tolist()}")
        return [start]

    def _hinge_optima(self, problem: MarginProblem, Cs: Sequence[float]) -> dict[float, Array]:
        """For every finite C the w with which a search for the asinh optimum begins."""
        soft = [C for C in Cs if np.inf > C]
        if soft and problem.uncertainty is not None:
            raise ValueError("loss='asinh' does not handle an uncertainty set; use loss='hinge'")
        rough = replace(self, loss="hinge", verify=False, time_limit=0.2 * self.time_limit)
        return {C: found.w for C, found in zip(soft, rough.run_path(problem, soft, ROUGH_START), strict=True)}

    def _runner(self, tol: float) -> Runner:
        deadline = time.perf_counter() + 0.95 * self.time_limit
        limits = self.max_iter, self.max_regions
        return Runner(tol, deadline, *limits, self.verify, self.cuts, self.start, self.checkpoint)
