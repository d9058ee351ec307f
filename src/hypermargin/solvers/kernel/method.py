"""Solve the problem of a kernel, check the answer, and say what is proved of it."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.kernel import KernelCertificate
from hypermargin.problems.kernel import FeatureProblem, KernelProblem
from hypermargin.solvers.base import Outcome, Solution, Status, make_solution
from hypermargin.solvers.kernel.decomposition import minimise_dual
from hypermargin.solvers.kernel.dual import DualPoint, balanced, relative_gap_of, start

#: The problems that certificates of kernels are about.
Provable = KernelProblem | FeatureProblem
#: What the solver aims for, so that rounding and the exact balance of the coefficients do not lose the tolerance.
AIM = 0.4


def solve_kernel(
    problem: Provable,
    tol: float = 1e-6,
    *,
    max_rounds: int = 2000,
    verify: bool = True,
    start_at: Array | None = None,
    on_round: Callable[[float], None] | None = None,
) -> Solution:
    """Solve a `KernelProblem` or a `FeatureProblem` to relative gap `tol`.

    In the solution `w` are the coefficients beta, shape (n,), and the objective is a proven upper bound where the
    certificate was checked (`verify`).

    Parameters
    ----------
    problem : KernelProblem or FeatureProblem
    tol : float
    max_rounds : int
        Sweeps or working sets at most.
    verify : bool
        Check the certificate; without, the best status is `Status.UNVERIFIED`.
    start_at : (n,) array, optional
        Coefficients to begin with, such as those of another C.
    on_round : callable, optional
        Called with the gap after every working set of a large problem.
    """
    return solve_scored(problem, tol, max_rounds, verify, start_at, on_round)[0]


def solve_scored(
    problem: Provable,
    tol: float,
    max_rounds: int = 2000,
    verify: bool = True,
    start_at: Array | None = None,
    on_round: Callable[[float], None] | None = None,
) -> tuple[Solution, Array]:
    """`solve_kernel`, and the scores of the samples, shape (n,), which are at hand then."""
    if not tol > 0.0:
        raise ValueError(f"tol must be positive, got {tol!r}")
    began = time.perf_counter()
    if problem.one_sided:  # b alone does it
        point = start(problem)
    elif isinstance(problem, FeatureProblem):
        from hypermargin.solvers.kernel.smoothing import minimise_in_features

        point = minimise_in_features(problem, AIM * tol)
    else:
        assert isinstance(problem, KernelProblem)
        point = start(problem, None if start_at is None else np.clip(start_at, *problem.box))
        minimise_dual(problem, point, AIM * tol, max_rounds, on_round)
    solution = _judged(problem, point, tol, verify, began)
    if solution.status is Status.CHECK_FAILED and isinstance(problem, KernelProblem):
        point.refresh(problem)  # what many steps have added up to was not what the coefficients have
        minimise_dual(problem, point, AIM * tol, max_rounds, on_round)
        solution = _judged(problem, point, tol, verify, began)
    return solution, point.gradient + problem.y + solution.intercept


def solve_kernel_path(
    problem: Provable, Cs: Sequence[float], tol: float = 1e-6, *, max_rounds: int = 2000, verify: bool = True
) -> list[Solution]:
    """Solutions for every C of a list, in its order; kernel values are shared, and each C begins at the last answer."""
    return [solution for solution, _ in solve_scored_path(problem, Cs, tol, max_rounds, verify)]


def solve_scored_path(
    problem: Provable,
    Cs: Sequence[float],
    tol: float,
    max_rounds: int = 2000,
    verify: bool = True,
    on_round: Callable[[float], None] | None = None,
) -> list[tuple[Solution, Array]]:
    """`solve_kernel_path` with the scores of the samples. Coefficients of one C, scaled, fit the bounds of the next."""
    order = sorted(range(len(Cs)), key=Cs.__getitem__)
    answers: dict[int, tuple[Solution, Array]] = {}
    beta, last = None, 1.0
    for i in order:
        C = float(Cs[i])
        start_at = None if beta is None else beta * (C / last)
        answers[i] = solve_scored(problem.with_C(C), tol, max_rounds, verify, start_at, on_round)
        beta, last = answers[i][0].w, C
    return [answers[i] for i in range(len(Cs))]


def _judged(problem: Provable, point: DualPoint, tol: float, verify: bool, began: float) -> Solution:
    """The solution with coefficients in balance, bounds from the checker and the status that they deserve."""
    gap, intercept = relative_gap_of(problem, point)
    point.beta = balanced(problem, point.beta)
    if problem.one_sided:
        intercept = 2.0 * float(problem.y[0])  # any margin may be had, so not one that rounding spoils
    certificate = KernelCertificate.of(point.beta, intercept)
    if verify:
        lower, objective = certificate.enclosure(problem)
    else:
        objective = problem.objective(point.beta, intercept)
        lower = objective - gap * max(abs(objective), 1e-12)
    otherwise = Status.CHECK_FAILED if verify and gap <= tol else Status.ITERATION_LIMIT
    outcome = outcome_of(certificate, lower, otherwise, point.n_iter, checked=verify)
    return make_solution(problem, outcome, objective, tol, method="kernel", seconds=time.perf_counter() - began)


def outcome_of(
    certificate: KernelCertificate, lower_bound: float, status: Status, n_iter: int, *, checked: bool = True
) -> Outcome:
    """The outcome with the coefficients of a certificate; `status` is for a gap larger than the tolerance."""
    return Outcome(
        w=certificate.beta,
        status=status,
        status_if_met=Status.OPTIMAL if checked else Status.UNVERIFIED,
        lower_bound=lower_bound,
        certificate=certificate,
        checked=checked,
        n_iter=n_iter,
        intercept=certificate.intercept,
        info={"support": certificate.samples.size},
    )
