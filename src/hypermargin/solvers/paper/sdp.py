"""The paper's semidefinite relaxation (eq. soft-margin-first-order-sdp), solved by Clarabel.

Minimise ``Tr(GW)/2 + sum_i c_i xi_i`` over ``Tr(GW) >= 0``, ``[[1, w'], [w, W]] >= 0`` and the margin constraints. Its
value is that of the linear program ``min_w risk(w)``: see docs/relaxations.md for the proof. Where w has to be long,
Clarabel can report a solution far from it; then the linear program is solved instead.
"""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, ClassVar

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from hypermargin.arrays import Array
from hypermargin.geometry.lorentz import covector
from hypermargin.problems.losses import SQRT2
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Solver, Status, register
from hypermargin.solvers.common.conic import ConicSolution, ConicStatus, solve_conic
from hypermargin.solvers.common.separation import prove_overlap
from hypermargin.solvers.paper.dual_weights import DualBound, Samples, checked_bound, repair, weights_certificate
from hypermargin.solvers.paper.extraction import Candidate, extract
from hypermargin.solvers.paper.frames import Frame, unbounded_frame
from hypermargin.solvers.paper.worst_margins import WorstMargins

#: How far, relatively, value and risk may lie above the bound before the linear program is solved,
#: which meets this on all 1,296 problems of docs/relaxations.md.
SETTLED = 1e-6
#: What a conic status means for a solve whose bound is not within the tolerance.
STATUS = {
    ConicStatus.ITERATION_LIMIT: Status.ITERATION_LIMIT,
    ConicStatus.TIME_LIMIT: Status.TIME_LIMIT,
    ConicStatus.FAILED: Status.FAILED,
}


@register
@dataclass(frozen=True)
class SDP(Solver):
    """Shor's relaxation and the paper's extraction.

    `n_random` Gaussian candidates are drawn with `seed`; `time_limit` is in seconds; `verify` has a certificate of the
    bound made and checked.
    """

    name: ClassVar[str] = "sdp"
    summary: ClassVar[str] = "the paper's semidefinite relaxation; its bound is that of the risk alone"
    capabilities: ClassVar[frozenset[str]] = frozenset({"hard", "uncertainty"})

    n_random: int = 10
    seed: int = 0
    max_iter: int = 200
    time_limit: float = np.inf
    verify: bool = True
    verbose: bool = False

    def run(self, problem: MarginProblem, tol: float) -> Outcome:
        robust = WorstMargins.of(problem)
        samples = Samples.of(problem) if robust is None else robust.samples
        relaxed = solve_sdp(
            problem,
            samples,
            robust,
            tol=min(1e-9, tol),
            max_iter=self.max_iter,
            time_limit=self.time_limit,
            verbose=self.verbose,
        )
        if problem.is_hard and relaxed.finds_no_separator:
            return infeasible_outcome(problem, samples, relaxed)
        weights = samples.spread(relaxed.bound.weights, problem)
        made = weights_certificate(problem, weights) if self.verify and not problem.is_hard and robust is None else None
        certificate, bound = checked_bound(made, problem, relaxed.bound.value)
        extra = [] if relaxed.risk_minimiser is relaxed.w else [Candidate("risk minimiser", relaxed.risk_minimiser)]
        found = extract(problem, relaxed.W, relaxed.w, n_random=self.n_random, seed=self.seed, extra=extra)
        info = found.info(problem, relaxed.value, bound) | {
            "value_from": relaxed.value_from,
            "solver_status": relaxed.conic.status.value,
            "W": relaxed.W,
            "w": relaxed.w,
            "risk_minimiser": relaxed.risk_minimiser,
            "xi": np.maximum(0.0, 1.0 - problem.margins(relaxed.w)) / SQRT2,
            "dual_weights": weights,
        }
        return Outcome(
            w=found.winner.w,
            status=STATUS.get(relaxed.conic.status, Status.GAP_REMAINS),
            status_if_met=Status.UNVERIFIED if certificate is None else Status.OPTIMAL,
            lower_bound=bound,
            certificate=certificate,
            n_iter=relaxed.conic.n_iter,
            info=info,
        )


def infeasible_outcome(problem: MarginProblem, samples: Samples, relaxed: "Relaxed") -> Outcome:
    """No w, spacelike or not, has all margins at least 1; the certificate names samples or members that prove it."""
    certificate = prove_overlap(problem)
    return Outcome(
        w=np.zeros(problem.dim + 1),
        status=Status.FAILED if certificate is None else Status.INFEASIBLE,
        lower_bound=0.0 if certificate is None else np.inf,
        certificate=certificate,
        n_iter=relaxed.conic.n_iter,
        info={
            "relaxation_value": np.inf,
            "solver_status": relaxed.conic.status.value,
            "dual_weights": samples.spread(relaxed.bound.weights, problem),
        },
    )


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The relaxation's solution in the problem's own coordinates, its value, and the bound its multipliers prove.

    (W, w) are Clarabel's. Where they do not settle the value, it comes from the linear program, and where w does not
    have the least risk, so does `risk_minimiser`.
    """

    W: Array
    w: Array
    value: float
    bound: DualBound
    conic: ConicSolution
    risk_minimiser: Array
    value_from: str = "the semidefinite program"

    @property
    def finds_no_separator(self) -> bool:
        """For hard margins: infeasible by Clarabel's status, or by multipliers that cancel."""
        return self.conic.status is ConicStatus.INFEASIBLE or self.bound.value > 0.0


def solve_sdp(
    problem: MarginProblem,
    samples: Samples,
    robust: WorstMargins | None = None,
    *,
    tol: float,
    max_iter: int = 200,
    time_limit: float = np.inf,
    verbose: bool = False,
) -> Relaxed:
    """Solve the relaxation in a frame where it is well scaled, and go back.

    With worst-case margins the weights and the bound are for members of the sets that the multipliers name.
    """
    started = perf_counter()
    frame = unbounded_frame(problem, samples.Z, samples.costs)
    program = _program(problem, samples, frame)
    first_margin = len(samples.costs) * (not problem.is_hard)
    if robust is not None:
        first_w = samples.Z.shape[1] * (samples.Z.shape[1] + 1) // 2
        program = robust.extend(*program, first_margin, first_w, frame.basis)
    c, A, b, cones = program
    conic = solve_conic(c, A, b, cones, tol=tol, max_iter=max_iter, time_limit=time_limit, verbose=verbose)
    k, n = samples.Z.shape[1], len(samples.Z)
    entries = k * (k + 1) // 2
    V, v = smat(conic.x[:entries]), conic.x[entries : entries + k]
    margin_multipliers = conic.dual[first_margin:][:n] * frame.objective_scale
    value, w = conic.value * frame.objective_scale, frame.to_w(v)
    if robust is None:
        bound = repair(margin_multipliers, samples)
    else:
        members = robust.members(conic.dual * frame.objective_scale, margin_multipliers)
        # No certificate looks at a bound with sets, so the soft margin takes the one that charges rounding.
        if problem.is_hard:
            bound = repair(margin_multipliers, members)
        else:
            bound = robust.bound(margin_multipliers, members, problem.centre)
    relaxed = Relaxed(frame.second_moments(v, V), w, value, bound, conic, risk_minimiser=w)
    return _settled(relaxed, problem, samples, frame, time_limit - (perf_counter() - started))


def _settled(relaxed: Relaxed, problem: MarginProblem, samples: Samples, frame: Frame, time_limit: float) -> Relaxed:
    """The same if its bound meets its value and the risk of its w, otherwise with the solution of the linear program.

    A hard margin and worst-case margins have no such program: a value that is not proved is marked as such.
    """
    risk = 0.0 if problem.is_hard else problem.risk(relaxed.w)
    if _meets(max(relaxed.value, risk), relaxed.bound.value):
        return relaxed
    is_linear = not problem.is_hard and problem.uncertainty is None
    least = least_risk(samples, frame.basis, time_limit) if is_linear else None
    if least is None:
        return replace(relaxed, value_from="the semidefinite program, unproved")
    w, bound = least
    value = problem.risk(w)
    return replace(
        relaxed,
        value=value,
        value_from="the linear program",
        bound=max(relaxed.bound, bound, key=lambda proved: proved.value),
        risk_minimiser=relaxed.w if _meets(risk, value) else w,
    )


def _meets(above: float, below: float) -> bool:
    return above - below <= SETTLED * (1.0 + abs(above))


def _program(
    problem: MarginProblem, samples: Samples, frame: Frame
) -> tuple[Array, sparse.csc_matrix, Array, list[Any]]:
    """Unknowns ``(svec V, v, eta)``; rows: slack, margin, trace, semidefinite."""
    Z = samples.Z
    n, k = Z.shape
    entries, slacks = k * (k + 1) // 2, 0 if problem.is_hard else n
    trace = svec(-covector(frame.basis.T) @ frame.basis)
    c = np.concatenate((0.5 * trace, np.zeros(k), (samples.costs * frame.slack_scale)[:slacks])) / frame.objective_scale

    rows = []
    if slacks:
        rows.append(sparse.hstack((sparse.csr_matrix((n, entries + k)), -sparse.identity(n))))
    slack_part = [-SQRT2 * sparse.diags(frame.slack_scale)] if slacks else []
    rows.append(sparse.hstack((sparse.csr_matrix((n, entries)), sparse.csr_matrix(-Z @ frame.basis), *slack_part)))
    rows.append(sparse.csr_matrix(np.concatenate((-trace, np.zeros(k + slacks)))[None, :]))
    b = np.concatenate((np.zeros(slacks), -np.ones(n), np.zeros(1)))

    # The matrix [[1, v'], [v, V]]: svec lists the entries of V in the same order here as in the unknowns.
    row, column, _ = triangle(k + 1)
    matrix = sparse.lil_matrix((len(row), entries + k + slacks))
    matrix[np.flatnonzero(row > 0), np.arange(entries)] = -1.0
    matrix[np.flatnonzero((row == 0) & (column > 0)), entries + np.arange(k)] = -np.sqrt(2.0)
    constant = np.where(column == 0, 1.0, 0.0)
    rows.append(matrix)
    cones = [clarabel.NonnegativeConeT(slacks + n + 1), clarabel.PSDTriangleConeT(k + 1)]
    return c, sparse.csc_matrix(sparse.vstack(rows)), np.concatenate((b, constant)), cones


# -- the linear program -----------------------------------------------------------------------------------------------


def least_risk(samples: Samples, basis: Array, time_limit: float) -> tuple[Array, DualBound] | None:
    """The linear program ``min_w risk(w)`` by HiGHS: w, and what its dual weights prove; None if time was short.

    It is solved in its dual form (docs/relaxations.md): ``max sum_i a_i`` over ``0 <= a_i <= c_i/sqrt2`` and
    ``sum_i a_i z_i = 0``. That has only d + 1 rows, and their multipliers are the minimiser w, in coordinates of the
    basis for scale.
    """
    found = linprog(
        -np.ones(len(samples.Z)),
        A_eq=(samples.Z @ basis).T,
        b_eq=np.zeros(basis.shape[1]),
        bounds=np.column_stack((np.zeros(len(samples.Z)), samples.upper)),
        method="highs-ds",
        options={"time_limit": max(time_limit, 0.0)},
    )
    if not found.success:
        return None
    return -basis @ found.eqlin.marginals, repair(found.x, samples)


# -- symmetric matrices as vectors that keep the inner product, svec(A) . svec(B) = tr(AB), in Clarabel's order --------


def triangle(size: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Rows, columns and weights of the entries of svec, each of shape (size (size + 1) / 2,)."""
    columns, rows = np.tril_indices(size)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2.0))


def svec(matrices: Array) -> Array:
    """Shape (..., r, r), symmetric, to (..., r (r + 1) / 2)."""
    rows, columns, weights = triangle(matrices.shape[-1])
    return weights * matrices[..., rows, columns]


def smat(vectors: Array) -> Array:
    """The inverse of `svec`: shape (..., r (r + 1) / 2) to (..., r, r)."""
    size = round((np.sqrt(8.0 * vectors.shape[-1] + 1.0) - 1.0) / 2.0)
    rows, columns, weights = triangle(size)
    matrices = np.zeros((*vectors.shape[:-1], size, size))
    matrices[..., rows, columns] = vectors / weights
    matrices[..., columns, rows] = vectors / weights
    return matrices
