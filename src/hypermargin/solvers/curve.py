"""Generalised hyperplanes: the convex problem of `CurveProblem`, solved in the frame of its centre and proved."""

import time
from collections.abc import Sequence

import numpy as np

from hypermargin.certificates.curve import CurveCertificate, objective_above
from hypermargin.problems.curve import CurveProblem
from hypermargin.solvers.base import Outcome, Solution, Status, make_solution
from hypermargin.solvers.kernel.dual import balanced, relative_gap_of
from hypermargin.solvers.kernel.smoothing import minimise_in_features

#: What the solver aims for, so that the move back from the frame does not lose the tolerance.
AIM = 0.4


def solve_curve(problem: CurveProblem, tol: float = 1e-6) -> Solution:
    """Solve a `CurveProblem` to relative gap `tol`, with a certificate that has been checked.

    The objective of the solution is a proven upper bound.
    """
    if not tol > 0.0:
        raise ValueError(f"tol must be positive, got {tol!r}")
    began = time.perf_counter()
    frame = problem.in_frame()
    if np.all(problem.y == problem.y[0]):
        beta, intercept, n_iter = np.zeros(problem.n_samples), 2.0 * float(problem.y[0]), 0
        own_gap = 0.0
    else:
        point = minimise_in_features(frame, AIM * tol)
        beta = balanced(frame, point.beta)
        point.beta = beta
        point.refresh(frame)
        own_gap, intercept = relative_gap_of(frame, point)
        n_iter = point.n_iter
    used = np.flatnonzero(beta)
    certificate = CurveCertificate(problem.n_samples, problem.centre, used, beta[used])
    w = problem.normal(beta)
    objective = objective_above(problem, w, intercept)
    outcome = Outcome(
        w=w,
        status=Status.CHECK_FAILED if own_gap <= tol else Status.ITERATION_LIMIT,
        status_if_met=Status.OPTIMAL,
        lower_bound=certificate.bound_for(problem),
        certificate=certificate,
        n_iter=n_iter,
        intercept=intercept,
    )
    return make_solution(problem, outcome, objective, tol, method="curve", seconds=time.perf_counter() - began)


def solve_curve_path(problem: CurveProblem, Cs: Sequence[float], tol: float = 1e-6) -> list[Solution]:
    """Solutions for every C of a list, in its order; the centre is found once."""
    return [solve_curve(problem.with_C(float(C)), tol) for C in Cs]
