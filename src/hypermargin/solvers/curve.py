"""Generalised hyperplanes: the convex problem of `CurveProblem`, solved in the frame of its centre and proved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hypermargin.certificates.curve import CurveCertificate, objective_above
from hypermargin.problems.curve import CurveProblem
from hypermargin.solvers.base import Outcome, Solution, Solver, Status, run_solver
from hypermargin.solvers.kernel.dual import balanced, relative_gap_of
from hypermargin.solvers.kernel.features import minimise_in_features

#: What the solver aims for, so that the move back from the frame does not lose the tolerance.
AIM = 0.4


@dataclass(frozen=True)
class CurveSolver(Solver):
    """Newton's method in the frame of the centre, where the problem is a linear classifier with an intercept."""

    name: ClassVar[str] = "curve"
    summary: ClassVar[str] = "generalised hyperplanes, by Newton's method on a smoothed hinge"

    def run(self, problem: CurveProblem, tol: float) -> Outcome:
        frame = problem.in_frame()
        if frame.one_sided:  # b alone does it
            beta, own_gap, intercept, n_iter = np.zeros(problem.n_samples), 0.0, 2.0 * float(problem.y[0]), 0
        else:
            point = minimise_in_features(frame, AIM * tol)
            beta = point.beta = balanced(frame, point.beta)
            point.refresh(frame)
            own_gap, intercept = relative_gap_of(frame, point)
            n_iter = point.n_iter
        used = np.flatnonzero(beta)
        certificate = CurveCertificate(problem.n_samples, problem.centre, used, beta[used])
        w = problem.normal(beta)
        return Outcome(
            w=w,
            status=Status.CHECK_FAILED if own_gap <= tol else Status.ITERATION_LIMIT,
            status_if_met=Status.OPTIMAL,
            lower_bound=certificate.bound_for(problem),
            objective=objective_above(problem, w, intercept),
            certificate=certificate,
            n_iter=n_iter,
            intercept=intercept,
        )


def solve_curve(problem: CurveProblem, tol: float = 1e-6) -> Solution:
    """Solve a `CurveProblem` to relative gap `tol`, with a certificate that has been checked.

    The objective of the solution is a proven upper bound.
    """
    return run_solver(CurveSolver(), problem, tol)


def solve_curve_path(problem: CurveProblem, Cs: Sequence[float], tol: float = 1e-6) -> list[Solution]:
    """Solutions for every C of a list, in its order; the centre is found once."""
    return [solve_curve(problem.with_C(float(C)), tol) for C in Cs]
