"""Small problems from the first pass to both bounds in two calls of compiled code: the search, and the check.

A classifier of 19 classes has 171 pairs of some 230 samples, and to solve one takes a tenth of a millisecond; objects
for its search, its certificate and its solution would take several times that. What is found here is what the general
search finds, by the same code, and is checked as its certificates are. Objects are made for those who ask.
"""

import time
from threading import local
from typing import NamedTuple

from hypermargin.arrays import Array
from hypermargin.certificates.compiled import halves as compiled_check
from hypermargin.certificates.halves import HalvesProof, enclosed_halves
from hypermargin.certificates.objective import enclose_objective
from hypermargin.compilation import is_compiled
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Solution, Status, make_solution, relative_gap
from hypermargin.solvers.exact.answer import answer_outside
from hypermargin.solvers.exact.begin import deep_is_quicker
from hypermargin.solvers.exact.certify import bound_to_prove
from hypermargin.solvers.exact.compiled import halves as compiled_search
from hypermargin.solvers.exact.frames import first_frame
from hypermargin.solvers.exact.oracle import HingeOracle
from hypermargin.solvers.exact.search import LEAST_SAMPLES, Search
from hypermargin.solvers.exact.told import told_history, told_info


class Small(NamedTuple):
    """An optimum: w, the upper end of its objective, the lower bound, and what they follow from.

    `checked` says whether a check of `proof` has proved the bound; otherwise it is that of the search.
    """

    w: Array
    objective: float
    lower_bound: float
    proof: HalvesProof
    n_iter: int
    passed: list[float]
    seconds: float
    checked: bool = True

    @property
    def gap(self) -> float:
        return relative_gap(self.objective, self.lower_bound)

    @property
    def status(self) -> Status:
        return Status.OPTIMAL if self.checked else Status.UNVERIFIED

    @property
    def intercept(self) -> float:
        return 0.0

    def solution(self, problem: MarginProblem) -> Solution:
        """The solution, with a certificate about `problem`, which is the one that was solved."""
        outcome = Outcome(
            w=self.w,
            status=self.status,
            lower_bound=self.lower_bound,
            certificate=self.proof.certificate(),
            checked=self.checked,
            n_iter=self.n_iter,
            history=told_history(self.passed),
            info=told_info(self.n_iter, float(self.n_iter), 0, 2, precise=False),
        )
        return make_solution(problem, outcome, self.objective, 0.0, method="exact", seconds=self.seconds)


def is_small(problem: MarginProblem) -> bool:
    """Whether `solve_small` is for such problems."""
    return (
        type(problem) is MarginProblem
        and problem.uncertainty is None
        and problem.n_samples < LEAST_SAMPLES
        and not problem.is_hard
        and not deep_is_quicker(problem)
        and is_compiled(compiled_search, compiled_check)
    )


#: The tables of the last search of each thread: to make them takes as long as a small search.
_KEPT = local()


def _tables_for(oracle: HingeOracle, problem: MarginProblem) -> compiled_search.Halves:
    kind = problem.dim, problem.allow_timelike
    if getattr(_KEPT, "kind", None) != kind:
        _KEPT.search, _KEPT.kind = compiled_search.Halves(oracle, problem.dim + 1, problem.allow_timelike), kind
    return _KEPT.search


def solve_small(problem: MarginProblem, tol: float, max_iter: int, verify: bool = True) -> Small | None:
    """The optimum of a small problem, if it is found to `tol` without splits, within `max_iter` passes, in doubles."""
    start = time.perf_counter()
    frame = first_frame(problem, tol)
    if frame.precise:
        return None
    oracle = HingeOracle(problem, frame)
    search = _tables_for(oracle, problem)
    if not search.solve(oracle, Search.aim_for(tol), max_iter):
        return None
    upper = search.evaluator.upper
    w, low = answer_outside(problem, oracle, search.best(), Search.AIM[0] * tol * upper)
    if low is not None:
        return None
    proof = HalvesProof(frame.centre[1:], oracle.threshold, *search.proof_of(bound_to_prove(upper, tol)))
    if verify:
        bound, objective = enclosed_halves(problem, proof, w)
    else:
        bound, objective = search.lower_bound(), enclose_objective(problem, w, None, proof.centre).upper
    if not relative_gap(objective, bound) <= tol:
        return None
    seconds = time.perf_counter() - start
    return Small(w, objective, bound, proof, search.evaluator.passes, search.history, seconds, verify)
