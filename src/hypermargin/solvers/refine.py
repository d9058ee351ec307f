"""Local descent on the soft margin from any start: a step that can follow every method.

Majorise and minimise. At a feasible ``w_k = (t_k, wr_k)`` the objective touches a convex function and lies below it:

* ``-t^2/2`` is concave, so it lies below its tangent at ``t_k``;
* ``loss(m) <= max(0, tangent at m_k) + curvature/2 (m - m_k)^2`` once `curvature` is large enough (0 for the hinge; and
  0 suffices left of ``m_k = -1``, where the asinh loss is concave, and well right of the margin for a steeper tangent);
* ``u.wr >= |t|`` with ``u = wr_k/|wr_k|`` is a convex part of ``q(w) >= 0`` that contains ``w_k``.

The minimiser of that function is the next iterate (`minimise_hinges`), so the objective falls at every step and every
iterate is feasible. `curvature` is found by trying: a step that does not descend is thrown away and the curvature
raised.

All of it happens in the frame that has the Fréchet mean of the data at the origin. The tangent to ``-t^2/2`` depends on
the frame, and far from the data the steps become short; this one makes `refine` commute with isometries as well.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.certificates import Answer
from hypermargin.geometry.isometries import boost, move_to_origin, transform_normal, translation_to_origin
from hypermargin.geometry.lorentz import lift
from hypermargin.geometry.mean import frechet_mean
from hypermargin.geometry.validation import PointError
from hypermargin.problems.losses import get_loss
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Solution, Status, make_solution, recomputed_objective
from hypermargin.solvers.common.conic import minimise_hinges
from hypermargin.solvers.pgd import project

_LARGEST_CURVATURE = 10.0  # of the asinh loss it is at most 2/sqrt(27) = 0.39, of taylor3 at most 1/2


def refine(
    problem: MarginProblem,
    w: ArrayLike,
    loss: str = "hinge",
    *,
    max_iter: int = 50,
    tol: float = 1e-9,
) -> tuple[Array, list[float]]:
    """Descend from any w, shape (d + 1,), to a local optimum of ``q(w)/2 + risk`` over ``q(w) >= 0``.

    The problem is a soft margin without uncertainty. An infeasible start is first moved to the nearest feasible point
    in the frame of the mean. At most `max_iter` steps are taken, thrown-away ones included, until two in a row lower
    the objective by less than `tol`, relatively. Returns a feasible w, never worse than the start, and the objective at
    the (mended) start and after each step, which never rises.
    """
    require_refinable(problem)
    get_loss(loss)
    start = np.array(w, dtype=np.float64)
    if start.shape != (problem.dim + 1,) or not np.all(np.isfinite(start)):
        raise ValueError(f"w must be a finite vector of shape ({problem.dim + 1},), got shape {start.shape}")
    mean = frechet_mean(problem.X, problem.sample_weight)
    try:
        centred = replace(problem, X=move_to_origin(problem.X, mean))
    except PointError:  # weights put the mean too far from other points: the descent stays where the data lies
        mean, centred = lift(np.zeros(problem.dim)), problem
    mended = project(transform_normal(start, translation_to_origin(mean)))
    best, history = _descend(centred, mended, loss, max_iter, tol)
    refined = project(transform_normal(best, boost(mean)))
    if problem.objective(start, loss) <= problem.objective(refined, loss):  # optimal already, or timelike and allowed
        return start, history
    return refined, history


def require_refinable(problem: MarginProblem, intercept: bool = False) -> None:
    """Refuse what `refine` cannot descend on: a hard margin, robust margins, an intercept."""
    if problem.is_hard:
        raise ValueError("refine descends on the soft margin; give a finite C or solve with refine=False")
    if problem.uncertainty is not None:
        raise ValueError("refine does not handle an uncertainty set; solve with refine=False")
    if intercept:
        raise ValueError("refine does not handle an intercept; use fit_intercept=False or refine=False")


def _descend(problem: MarginProblem, w: Array, loss: str, max_iter: int, tol: float) -> tuple[Array, list[float]]:
    """`refine` from a feasible w in the frame of the problem."""
    history = [problem.objective(w, loss)]
    curvature = 0.0
    small_steps = 0
    for _ in range(max_iter):
        target = project(_majorised_step(problem, w, loss, curvature))
        trial, value = _stride(problem, w, target, loss)
        if value <= history[-1]:
            small_steps = small_steps + 1 if history[-1] - value <= tol * abs(value) else 0
            w = trial
            history.append(value)
            curvature = curvature / 4.0 if curvature > 1e-3 else 0.0
            if small_steps == 2:
                break
        elif get_loss(loss).convex or curvature > _LARGEST_CURVATURE:
            break  # no descent although the model lies above the objective: stationary up to rounding
        else:
            curvature = max(4.0 * curvature, 0.05)
    return w, history


def refine_solution(problem: MarginProblem, solution: Solution, loss: str | None = None) -> Solution:
    """`solution` after `refine` on `loss` (its own by default): same method and bound, better or equal objective.

    Objectives are computed as `judge` computes them, so that a status such as OPTIMAL still holds. The lower bound is
    kept only where the loss stays the same, since a bound holds for one loss. An intercept is refused: the
    hyperbolic objective has none.
    """
    require_refinable(problem, bool(solution.intercept))
    chosen = solution.loss if loss is None else loss
    w, history = refine(problem, solution.w, chosen)
    info = {**solution.info, "refine_history": history}
    objective = recomputed_objective(problem, chosen, Outcome(w, Status.CONVERGED))
    if chosen != solution.loss:
        found = Outcome(w, Status.CONVERGED, n_iter=solution.n_iter, history=solution.history, info=info)
        return make_solution(problem, found, objective, 0.0, method=solution.method, loss=chosen, seconds=solution.time)
    if not objective < solution.objective:  # as for an optimum, whose `w_low` may hold digits that w alone has not
        return replace(solution, info=info)
    certificate = solution.certificate
    if certificate is not None and certificate.statement is not None:
        statement = replace(certificate.statement, objective=objective)
        certificate = replace(certificate, statement=statement, answer=Answer(w))
    status = Status.CONVERGED if solution.status is Status.TIMELIKE else solution.status
    return replace(solution, w=w, w_low=None, objective=objective, certificate=certificate, status=status, info=info)


def _stride(problem: MarginProblem, w: Array, target: Array, loss: str) -> tuple[Array, float]:
    """The best of the points w + (1, 2, 4, ...) (target - w), as long as they improve, and its objective.

    Majorisation is cautious where t is the slow direction; a few more objectives are cheaper than another model.
    """
    best, value = target, problem.objective(target, loss)
    for doubling in range(1, 12):
        longer = project(w + 2.0**doubling * (target - w))
        longer_value = problem.objective(longer, loss)
        if longer_value >= value:
            break
        best, value = longer, longer_value
    return best, value


def _majorised_step(problem: MarginProblem, w: Array, loss: str, curvature: float) -> Array:
    """The minimiser of the convex model of the objective at w; `curvature` is that of the model of one loss."""
    Z = problem.signed_covectors
    chosen = get_loss(loss)
    margins = Z @ w
    # Samples beyond the margin cost nothing where they are, and enter with the tangent at its edge.
    touch = np.minimum(margins, np.nextafter(1.0, 0.0))
    slope = -chosen.derivative(touch) + np.where(margins >= 2.0, curvature, 0.0)
    P = np.diag(np.r_[0.0, np.ones(problem.dim)])
    p = np.r_[-w[0], np.zeros(problem.dim)]
    if curvature > 0.0:
        near = (margins > -1.0) & (margins < 2.0)
        bend = curvature * (Z[near] * problem.costs[near, None]).T @ Z[near]
        P, p = P + bend, p - bend @ w
    return minimise_hinges(
        P,
        p,
        rows=Z,
        offsets=touch + chosen.value(touch) / slope,
        costs=problem.costs * slope,
        direction=_space_direction(problem, w, loss),
    )


def _space_direction(problem: MarginProblem, w: Array, loss: str) -> Array:
    """The unit vector along ``wr``; at w = 0 the direction in which the risk falls."""
    for space in (w[1:], -problem.risk_and_subgradient(w, loss)[1][1:]):
        length = float(np.linalg.norm(space))
        if length > 0.0:
            return space / length
    return np.eye(problem.dim)[0]
