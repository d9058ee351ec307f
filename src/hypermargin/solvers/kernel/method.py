"""The solver of kernel problems, one at a time (`solve_kernel`) or all of a family in one call (`solve_family`)."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.compiled.kernel_bounds import Family
from hypermargin.certificates.kernel import KernelCertificate, enclosed_family
from hypermargin.problems.kernel import FeatureProblem, KernelProblem, KernelProblemFamily
from hypermargin.solvers.base import Outcome, Solution, Solver, Status, judge, run_solver
from hypermargin.solvers.kernel.compiled.pairs import minimise_family
from hypermargin.solvers.kernel.dual import DualPoint, balanced, minimise_dual, relative_gap_of, start
from hypermargin.solvers.kernel.features import minimise_in_features

#: The problems that certificates of kernels are about.
Provable = KernelProblem | FeatureProblem
#: What the solver aims for, so that rounding and the exact balance of the coefficients do not lose the tolerance.
AIM = 0.4
#: The violation that the first steps stop at.
FIRST_VIOLATION = 3e-6
#: Steps at most, for each problem and for each sample of it; what is not solved then has so many coefficients off their
#: bounds that pairwise steps alone are slow.
STEPS, STEPS_PER_SAMPLE = 3000, 20


@dataclass(frozen=True, eq=False)
class KernelSolver(Solver):
    """The dual problem by pairwise and Newton steps, or a linear classifier in features; coefficients are the answer.

    Parameters
    ----------
    max_rounds : int
        Sweeps or working sets at most.
    verify : bool
        Check the certificate; without, the best status is `Status.UNVERIFIED`.
    start_at : (n,) array, optional
        Coefficients to begin with, such as those of another C.
    on_round : callable, optional
        Called with the gap after every working set of a large problem.
    """

    name: ClassVar[str] = "kernel"
    summary: ClassVar[str] = "large margins in the Hilbert space of a kernel, by decomposition of the dual problem"

    max_rounds: int = 2000
    verify: bool = True
    start_at: Array | None = None
    on_round: Callable[[float], None] | None = None

    def run(self, problem: Provable, tol: float) -> Outcome:
        return self.run_with_scores(problem, tol)[0]

    def run_with_scores(self, problem: Provable, tol: float) -> tuple[Outcome, Array]:
        """The outcome and the scores of the samples, shape (n,), which are at hand then."""
        if problem.one_sided:  # b alone does it
            point = start(problem)
        elif isinstance(problem, FeatureProblem):
            point = minimise_in_features(problem, AIM * tol)
        else:
            point = start(problem, None if self.start_at is None else np.clip(self.start_at, *problem.box))
            minimise_dual(problem, point, AIM * tol, self.max_rounds, self.on_round)
        outcome = self._outcome(problem, point, tol)
        assert outcome.objective is not None
        failed = outcome.status_at(outcome.objective, tol) is Status.CHECK_FAILED
        if failed and isinstance(problem, KernelProblem):
            point.refresh(problem)  # steps have added up rounding errors
            minimise_dual(problem, point, AIM * tol, self.max_rounds, self.on_round)
            outcome = self._outcome(problem, point, tol)
        return outcome, point.gradient + problem.y + outcome.intercept

    def _outcome(self, problem: Provable, point: DualPoint, tol: float) -> Outcome:
        """Coefficients in balance, with bounds from the checker."""
        gap, intercept = relative_gap_of(problem, point)
        point.beta = balanced(problem, point.beta)
        if problem.one_sided:
            intercept = 2.0 * float(problem.y[0])  # any margin may be had, so not one that rounding spoils
        certificate = KernelCertificate.of(point.beta, intercept)
        if self.verify:
            bounds = certificate.enclosure(problem)
        else:
            objective = problem.objective(point.beta, intercept)
            bounds = objective - gap * max(abs(objective), 1e-12), objective
        otherwise = Status.CHECK_FAILED if self.verify and gap <= tol else Status.ITERATION_LIMIT
        return outcome_of(certificate, bounds, otherwise, point.n_iter, checked=self.verify)


def solve_kernel(problem: Provable, tol: float = 1e-6, **options: Any) -> Solution:
    """Solve a `KernelProblem` or a `FeatureProblem` to relative gap `tol`; the options are those of `KernelSolver`.

    In the solution `w` are the coefficients beta, shape (n,), and the objective is a proven upper bound where the
    certificate was checked (`verify`).
    """
    return run_solver(KernelSolver(**options), problem, tol)


def solve_path_with_scores(problem: Provable, Cs: Sequence[float], tol: float) -> list[tuple[Solution, Array]]:
    """Solutions for every C of a list, in its order, with the scores of the samples.

    Kernel values are shared, and each C begins at the coefficients of the next smaller one, scaled: they fit its box.
    """
    answers: dict[int, tuple[Solution, Array]] = {}
    solver, last = KernelSolver(), problem.C
    for i in sorted(range(len(Cs)), key=Cs.__getitem__):
        began, C = time.perf_counter(), float(Cs[i])
        if solver.start_at is not None:
            solver = replace(solver, start_at=solver.start_at * (C / last))
        own = problem.with_C(C)
        outcome, scores = solver.run_with_scores(own, tol)
        answers[i] = judge(own, solver, outcome, tol, began), scores
        solver, last = replace(solver, start_at=outcome.w), C
    return [answers[i] for i in range(len(Cs))]


def outcome_of(
    certificate: KernelCertificate,
    bounds: tuple[float, float],
    status: Status,
    n_iter: int,
    *,
    checked: bool = True,
) -> Outcome:
    """The outcome with the coefficients of a certificate and bounds (lower, upper); `status` is for a larger gap."""
    return Outcome(
        w=certificate.beta,
        status=status,
        status_if_met=Status.OPTIMAL if checked else Status.UNVERIFIED,
        lower_bound=bounds[0],
        objective=bounds[1],
        certificate=certificate,
        checked=checked,
        n_iter=n_iter,
        intercept=certificate.intercept,
        info={"support": certificate.samples.size},
    )


@dataclass(frozen=True, eq=False)
class FamilyAnswers:
    """Checked answers to all problems of a family; flat arrays hold the samples of one problem after the other."""

    starts: np.ndarray
    beta: Array
    scores: Array
    intercepts: Array
    objectives: Array
    lower_bounds: Array
    n_iter: np.ndarray
    seconds: float

    @property
    def gaps(self) -> Array:
        """Relative gaps between the bounds, as those of `Solution`; shape (n_problems,)."""
        with np.errstate(invalid="ignore"):
            gaps = (self.objectives - self.lower_bounds) / np.maximum(np.abs(self.objectives), 1e-12)
        return np.where(np.isfinite(gaps), gaps, np.inf)

    def own(self, values: Array, p: int) -> Array:
        """The part of a flat array that belongs to problem p."""
        return values[self.starts[p] : self.starts[p + 1]]


def solve_family(family: KernelProblemFamily, aim: float, start_at: Array | None = None) -> FamilyAnswers:
    """Solve and check all problems, aiming at the relative gap `aim`; `gaps` of the answer shows which are solved.

    `start_at` are coefficients to begin with, flat: those of another C, scaled.
    """
    began = time.perf_counter()
    starts, y = family.starts, family.y
    beta = np.zeros(y.size) if start_at is None else np.clip(start_at, *np.sort([y * family.costs, 0.0 * y], axis=0))
    gradient, n_iter = np.empty(y.size), np.zeros(len(family.code), dtype=np.intp)
    intercepts, gaps = np.empty((2, len(family.code)))
    most_steps = STEPS + STEPS_PER_SAMPLE * np.diff(starts)
    minimise_family(Family(*family.arrays), aim, FIRST_VIOLATION, most_steps, beta, gradient, intercepts, gaps, n_iter)
    lower, upper = enclosed_family(family, beta, intercepts)
    scores = gradient + y + intercepts.repeat(np.diff(starts))
    return FamilyAnswers(starts, beta, scores, intercepts, upper, lower, n_iter, time.perf_counter() - began)
