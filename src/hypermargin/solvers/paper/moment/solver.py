"""The moment (Lasserre) relaxation as a solver: build, solve, prove, extract (paper, section 3.4)."""

import importlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, ClassVar

import clarabel
import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from hypermargin.arrays import Array
from hypermargin.certificates import Certificate, MomentCertificate
from hypermargin.certificates.moment import Group, Squares
from hypermargin.kernels.chords import available_threads
from hypermargin.problems.margin import MarginProblem
from hypermargin.progress import Progress
from hypermargin.solvers.base import Outcome, Solver, Status, register
from hypermargin.solvers.common.conic import ConicStatus, solve_conic
from hypermargin.solvers.paper.dual_weights import DualBound, Samples, checked_bound, repair, weights_certificate
from hypermargin.solvers.paper.extraction import extract
from hypermargin.solvers.paper.frames import (
    BoundedFrame,
    Frame,
    UnboundedError,
    bounded_frame,
    screen,
    unbounded_frame,
)
from hypermargin.solvers.paper.moment.interior import InteriorResult, interior_point
from hypermargin.solvers.paper.moment.relaxation import (
    Block,
    Index,
    Relaxation,
    SumOfSquares,
    build_relaxation,
    flatness,
    sum_of_squares,
)
from hypermargin.solvers.paper.sdp import Relaxed, infeasible_outcome, smat, solve_sdp, triangle
from hypermargin.solvers.paper.worst_margins import WorstMargins
from hypermargin.solvers.refine import refine

#: Called with the iteration and a dict of its figures.
Callback = Callable[[int, dict[str, float]], None]

BACKENDS = ("structured", "clarabel")

_FROM_CLARABEL = {
    ConicStatus.SOLVED: "solved",
    ConicStatus.ITERATION_LIMIT: "iteration limit",
    ConicStatus.TIME_LIMIT: "time limit",
    ConicStatus.INFEASIBLE: "infeasible",
}
TAYLOR_ORDER = {"hinge": 1, "taylor3": 3}
#: The checker's names of the constraints.
KINDS = {
    "moment": "one", "cone": "cone", "ball": "ball", "slack": "slack", "slack range": "range", "margin": "margin"
}  # fmt: skip
_STATUS = {"iteration limit": Status.ITERATION_LIMIT, "time limit": Status.TIME_LIMIT}


@register
@dataclass(frozen=True)
class Moment(Solver):
    """Moment relaxation of order kappa, sparse (star-shaped groups) or dense.

    Parameters
    ----------
    order : int
        kappa >= 1. Order 1 is the semidefinite relaxation.
    loss : {"hinge", "taylor3"}
        The paper's Taylor order 1 or 3; the latter needs order 2 or more.
    sparse : bool
        One group ``(w, xi_i)`` per sample, or all variables in one group (small n only).
    bounded : bool, optional
        Add a ball known to contain a minimiser. The paper has none, and without one no order is tighter than the first
        (docs/relaxations.md); with it, order 2 is usually exact. By default a ball is added from order 2 on, where one
        is known; False is the paper's relaxation; True refuses problems for which no ball is known.
    screen : bool
        With a ball, give no group to samples whose loss is linear in all of it.
    backend : {"structured", "clarabel"}
        The batched interior-point method, or Clarabel.
    library, device : str
        Array library ("numpy", "torch") and its device, for the structured method.
    n_jobs : int
        Threads of the structured method on NumPy; -1 takes all processors.
    max_block : int
        Largest moment matrix allowed; larger relaxations are refused with their size.
    n_random, seed : int
        Gaussian candidates of the extraction.
    max_iter, time_limit : int, float
        Limits; a solve that meets one still returns a valid bound.
    verify : bool
        Make and check a certificate of the bound: dual weights or, with a ball, sums of squares. There is none for
        uncertainty sets and for taylor3, whose bounds are floating-point numbers and are not called proved.
    verbose : bool
        Show progress.
    callback : callable, optional
        Called with the iteration and a dict of its figures (structured method).
    """

    name: ClassVar[str] = "moment"
    summary: ClassVar[str] = "the paper's moment relaxation, sparse or dense, of any order; with a ball often exact"
    capabilities: ClassVar[frozenset[str]] = frozenset({"hard", "uncertainty"})
    losses: ClassVar[tuple[str, ...]] = ("hinge", "taylor3")

    order: int = 2
    loss: str = "hinge"
    sparse: bool = True
    bounded: bool | None = None
    screen: bool = True
    backend: str = "structured"
    library: str = "numpy"
    device: str | None = None
    n_jobs: int = -1
    max_block: int = 64
    n_random: int = 10
    seed: int = 0
    max_iter: int = 200
    time_limit: float = np.inf
    verify: bool = True
    verbose: bool = False
    callback: Callback | None = None

    def __post_init__(self) -> None:
        if self.loss not in TAYLOR_ORDER:
            raise ValueError(f"the moment relaxation needs a polynomial loss, hinge or taylor3, not {self.loss!r}")
        lowest = (TAYLOR_ORDER[self.loss] + 1) // 2
        if self.order < lowest:
            raise ValueError(f"order must be at least {lowest} for loss {self.loss!r}, got {self.order}")
        if self.backend not in BACKENDS:
            raise ValueError(f"unknown backend {self.backend!r}; the backends are {', '.join(BACKENDS)}")

    def run(self, problem: MarginProblem, tol: float) -> Outcome:
        deadline = perf_counter() + self.time_limit
        robust = WorstMargins.of(problem)
        samples = Samples.of(problem) if robust is None else robust.samples
        if robust is not None and robust.norm == "l2" and self.loss != "hinge":
            raise ValueError(f"loss {self.loss!r} handles boxes and cross-polytopes only; use loss='hinge' for balls")
        wants_bound = self.order > 1 if self.bounded is None else self.bounded
        frame, shor = None, None
        if self.order > 1 or wants_bound or problem.is_hard or robust is not None:
            shor = solve_sdp(problem, samples, robust, tol=1e-9, time_limit=self.time_limit)
            if problem.is_hard and shor.finds_no_separator:
                return infeasible_outcome(problem, samples, shor)
            frame = self._bounding_ball(problem, samples, robust, shor) if wants_bound else None
        bounded = frame is not None
        frame = frame or unbounded_frame(problem, samples.Z, samples.costs)
        kept, missed, linear = np.arange(len(samples.Z)), np.arange(0), None
        if bounded and self.screen and not problem.is_hard and robust is None:
            kept, missed, linear = screen(samples, frame, self.loss)
        relaxation = build_relaxation(
            samples.Z[kept],
            samples.costs[kept],
            replace(frame, slack_scale=frame.slack_scale[kept]),
            order=self.order,
            taylor=TAYLOR_ORDER[self.loss],
            sparse=self.sparse,
            bounded=bounded,
            linear=linear,
            robust=robust,
            near=() if robust is None or shor is None else self._near(problem, shor),
            max_block=self.max_block,
        )
        shown = self.verbose and self.backend == "structured"
        with Progress("moment relaxation", None, closing=True) if shown else nullcontext() as progress:

            def watch(iteration: int, figures: dict[str, float]) -> None:
                if progress is not None:
                    gap, infeasibility = figures["gap"], figures["infeasibility"]
                    progress.at(iteration, f"iteration {iteration}, gap {gap:.1e}, infeasibility {infeasibility:.1e}")
                if self.callback is not None:
                    self.callback(iteration, figures)

            result = solve_relaxation(
                relaxation,
                self.backend,
                library=self.library,
                device=self.device,
                tol=min(1e-7, 0.1 * tol),
                max_iter=self.max_iter,
                time_limit=max(deadline - perf_counter(), 0.0),
                n_jobs=self.n_jobs,
                verbose=self.verbose,
                callback=watch,
            )
        return self._outcome(_Solved(problem, samples, frame, shor, relaxation, kept, missed), result)

    def _near(self, problem: MarginProblem, shor: Relaxed) -> tuple[Array, ...]:
        """Covectors of the members that are worst where it matters: at the order-1 solution and at what it offers."""
        assert problem.uncertainty is not None
        found = extract(problem, shor.W, shor.w, loss=self.loss, n_random=self.n_random, seed=self.seed)
        used = np.flatnonzero(problem.costs > 0.0)
        sets, X, y = problem.uncertainty.take(used), problem.X[used], problem.y[used]
        return sets.worst_covectors(X, y, shor.w), sets.worst_covectors(X, y, found.winner.w)

    def _bounding_ball(
        self, problem: MarginProblem, samples: Samples, robust: WorstMargins | None, shor: Relaxed
    ) -> Frame | None:
        """The frame of a ball around every w that beats a good one; None where there is none and none was demanded."""
        known = extract(problem, shor.W, shor.w, loss=self.loss, n_random=self.n_random, seed=self.seed)
        value = known.objective
        if not problem.is_hard and robust is None:
            value = problem.objective(refine(problem, known.winner.w, self.loss, max_iter=10)[0], self.loss)
        try:
            return bounded_frame(problem, samples, value, self.loss, robust)
        except UnboundedError:
            if self.bounded:
                raise
            return None

    def _outcome(self, solved: "_Solved", result: InteriorResult) -> Outcome:
        problem, samples, frame, relaxation = solved.problem, solved.samples, solved.frame, solved.relaxation
        squares = sum_of_squares(relaxation, result.grams)
        bound, kind, dual = self._bound(solved, squares)
        made: Certificate | None = None
        if self.verify and problem.uncertainty is None and self.loss == "hinge":
            if dual is not None:
                made = weights_certificate(problem, samples.spread(dual.weights, problem))
            elif isinstance(frame, BoundedFrame):
                made = squares_certificate(solved, frame, squares.blocks)
        certificate, bound = checked_bound(made, problem, bound)
        W, w = read_off(frame, relaxation, result.moments)
        found = extract(problem, W, w, loss=self.loss, n_random=self.n_random, seed=self.seed)
        value = frame.objective_scale * float(np.sum(relaxation.objective * result.moments))
        ranks, flat = flatness(relaxation, result.moments)
        info = found.info(problem, value, bound) | {
            "bound_from": kind,
            "W": W,
            "w": w,
            "moments": result.moments,
            "exponents": relaxation.exponents,
            "moment_ranks": ranks,
            "flat_extension": flat,
            "grams": squares.grams,
            "sos_value": squares.value * frame.objective_scale,
            "sos_residual": squares.residual,
            "solver_status": result.status,
            "bounded": isinstance(frame, BoundedFrame),
            "n_groups": relaxation.n_groups,
            "frame": frame,
        }
        if dual is not None:
            info["dual_weights"] = samples.spread(dual.weights, problem)
        return Outcome(
            w=found.winner.w,
            status=_STATUS.get(result.status, Status.GAP_REMAINS),
            status_if_met=Status.UNVERIFIED if certificate is None else Status.OPTIMAL,
            lower_bound=bound,
            certificate=certificate,
            n_iter=result.n_iter,
            history=result.history,
            info=info,
        )

    def _bound(self, solved: "_Solved", squares: SumOfSquares) -> tuple[float, str, DualBound | None]:
        """A lower bound that holds whatever the solver did, where it comes from, and the dual weights behind it."""
        bounds: list[tuple[float, str, DualBound | None]] = [(0.0, "the objective is never negative", None)]
        linear, scale = self.loss == "hinge" and not solved.problem.is_hard, solved.frame.objective_scale
        if isinstance(solved.frame, BoundedFrame):
            value = scale * squares.bound_in_unit_box
            bounds.append((value, "Gram matrices, less the sum of the residual's coefficients", None))
        if linear and solved.shor is not None:
            bounds.append((solved.shor.bound.value, "dual weights of the order-1 relaxation", solved.shor.bound))
        elif linear:
            # Without a ball only constant multipliers can prove anything: those of the margins are dual weights.
            margins = [block for block in solved.relaxation.blocks if block.name == "margin"]
            constants = np.concatenate([block.coefficients[:, 0] for block in margins])
            dual = repair(-constants * squares.grams["margin"][:, 0, 0] * scale, solved.samples)
            bounds.append((dual.value, "constant parts of the margins' multipliers, repaired to dual weights", dual))
        return max(bounds, key=lambda entry: entry[0])


@dataclass(frozen=True, eq=False)
class _Solved:
    """A relaxation and what it was made from.

    `shor` is the order-1 relaxation, which includes worst-case margins and from which a ball is made. `kept` are the
    samples with slacks, `missed` those whose loss is linear in the ball.
    """

    problem: MarginProblem
    samples: Samples
    frame: Frame
    shor: Relaxed | None
    relaxation: Relaxation
    kept: Index
    missed: Index


def read_off(frame: Frame, relaxation: Relaxation, moments: Array) -> tuple[Array, Array]:
    """First and second moments of w from the first group's moment matrix (paper, app. extract solution moment)."""
    k = len(frame.centre)
    block = relaxation.blocks[0]
    M = moments[0, block.shift[block.hankel, 0]]
    first, second = M[0, 1 : k + 1], M[1 : k + 1, 1 : k + 1]
    return frame.second_moments(first, second), frame.to_w(first)


# -- the certificate ---------------------------------------------------------------------------------------------------


def squares_certificate(solved: _Solved, frame: BoundedFrame, grams: tuple[Array, ...]) -> MomentCertificate:
    """A certificate of the squares; `grams` are positive semidefinite matrices in the order of the blocks."""
    problem, samples = solved.problem, solved.samples
    originals = np.flatnonzero(samples.used)
    copies = [tuple(originals[samples.inverse == j].tolist()) for j in range(len(samples.costs))]
    return MomentCertificate(
        order=solved.relaxation.order,
        level=frame.level,
        scale=frame.objective_scale,
        centre=frame.centre,
        basis=frame.basis,
        frame=frame.time_axis[1:],
        extents=tuple(replace(e, weights=samples.spread(e.weights, problem)) for e in frame.extents),
        groups=_groups(solved, [copies[j] for j in solved.kept], grams),
        linear=tuple(i for j in solved.missed for i in copies[j]),
    )


def _groups(solved: _Solved, copies: list[tuple[int, ...]], grams: tuple[Array, ...]) -> tuple[Group, ...]:
    """The groups of the relaxation, each with the factors of its Gram matrices."""
    relaxation, hard = solved.relaxation, solved.problem.is_hard
    n_groups, scales = relaxation.n_groups, solved.frame.slack_scale[solved.kept]
    sparse = n_groups == len(copies) and not hard
    squares: list[list[Squares]] = [[] for _ in range(n_groups)]
    seen: Counter[tuple[int, str]] = Counter()
    for block, X in zip(relaxation.blocks, grams, strict=True):
        factors = _factors(X / block.divisors[:, None, None])
        for group, factor in zip(block.groups.tolist(), factors, strict=True):
            sample = seen[group, block.name]  # constraints of one name come in the order of the samples
            seen[group, block.name] += 1
            squares[group].append(Squares(KINDS[block.name], sample, factor))
    members = [[j] for j in range(n_groups)] if sparse else [list(range(len(copies)))]
    return tuple(
        Group(
            tuple(copies[j] for j in inside),
            () if hard else tuple(float(scales[j]) for j in inside),
            tuple(found),
        )
        for inside, found in zip(members, squares, strict=True)
    )


def _factors(X: Array) -> list[Array]:
    """F of every matrix with ``F F'`` nearly the matrix; what is negative is left out."""
    values, vectors = np.linalg.eigh(X)
    return [
        (basis * np.sqrt(np.maximum(root, 0.0)))[:, root > 0.0] if np.any(root > 0.0) else np.zeros((len(root), 1))
        for root, basis in zip(values, vectors, strict=True)
    ]


# -- the two ways to solve a relaxation --------------------------------------------------------------------------------


def array_library(name: str) -> Any:
    """The array-API namespace called `name`, such as "numpy" or "torch"; a clear error where it is not installed."""
    for module in (f"array_api_compat.{name}", name):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError:
            continue
    raise ValueError(f"array library {name!r} is not installed; install it or use library='numpy'")


def threads(n_jobs: int) -> int:
    """The number of threads for a value of `n_jobs`; -1 is one per processor, as in scikit-learn."""
    if n_jobs == 0 or n_jobs < -1:
        raise ValueError(f"n_jobs must be a positive number of threads, or -1 for all processors, got {n_jobs}")
    return available_threads() if n_jobs == -1 else n_jobs


def solve_relaxation(
    relaxation: Relaxation,
    backend: str,
    *,
    library: str = "numpy",
    device: str | None = None,
    tol: float,
    max_iter: int,
    time_limit: float,
    n_jobs: int = 1,
    verbose: bool = False,
    callback: Callback | None = None,
) -> InteriorResult:
    """Solve with the structured method on any array library, or with Clarabel."""
    if backend == "clarabel":
        return solve_by_clarabel(relaxation, tol=tol, max_iter=max_iter, time_limit=time_limit, verbose=verbose)
    on_numpy = library == "numpy"  # other libraries manage their threads themselves
    with threadpool_limits(1, user_api="blas") if on_numpy else nullcontext():  # the matrices are too small to share
        return interior_point(
            relaxation,
            xp=array_library(library),
            device=device,
            tol=tol,
            max_iter=max_iter,
            time_limit=time_limit,
            n_threads=threads(n_jobs) if on_numpy else 1,
            callback=callback,
        )


# -- Clarabel: slow, general, written by others, and so a judge of the structured method -------------------------------


def global_columns(relaxation: Relaxation) -> Index:
    """The unknown behind each moment, shape (N, S): shared ones first, then group by group; -1 for the constant."""
    shared, private, n = relaxation.shared, relaxation.private, relaxation.n_groups
    columns = np.full((n, relaxation.n_moments), -1, dtype=np.int64)
    n_shared, n_private = int(shared.sum()), int(private.sum())
    columns[:, shared] = np.arange(n_shared)
    columns[:, private] = n_shared + np.arange(n * n_private).reshape(n, n_private)
    return columns


def solve_by_clarabel(
    relaxation: Relaxation, *, tol: float, max_iter: int, time_limit: float, verbose: bool
) -> InteriorResult:
    """The same by Clarabel."""
    columns = global_columns(relaxation)
    n_unknowns = int(columns.max()) + 1
    c = np.zeros(n_unknowns)
    np.add.at(c, columns[:, 1:], relaxation.objective[:, 1:])
    parts = [_block_rows(block, columns, n_unknowns) for block in relaxation.blocks]
    A = sparse.vstack([part[0] for part in parts], format="csc")
    b = np.concatenate([part[1] for part in parts])
    cones: list[Any] = []
    for block in relaxation.blocks:
        single = [clarabel.NonnegativeConeT(block.copies)]
        cones += single if block.size == 1 else [clarabel.PSDTriangleConeT(block.size)] * block.copies
    solved = solve_conic(c, A, b, cones, tol=tol, max_iter=max_iter, time_limit=time_limit, verbose=verbose)
    moments = np.where(columns >= 0, solved.x[columns], 1.0)
    status = _FROM_CLARABEL.get(solved.status, "inaccurate")
    return InteriorResult(moments, tuple(_split(relaxation, solved.dual)), status, solved.n_iter)


def _block_rows(block: Block, columns: Index, n_unknowns: int) -> tuple[sparse.csc_matrix, Array]:
    """``A, b`` with ``b - A u = svec(B(u))`` for all copies of a block."""
    rows, cols, weights = triangle(block.size)
    moments = block.shift[block.hankel[rows, cols]]  # (T, P)
    T, P = moments.shape
    unknown = columns[block.groups][:, moments]  # (copies, T, P)
    values = np.broadcast_to(block.coefficients[:, None, :] * weights[None, :, None], (block.copies, T, P))
    row = np.broadcast_to(np.arange(block.copies * T).reshape(block.copies, T, 1), unknown.shape)
    free = unknown >= 0
    A = sparse.csc_matrix((-values[free], (row[free], unknown[free])), shape=(block.copies * T, n_unknowns))
    b = np.zeros(block.copies * T)
    np.add.at(b, row[~free], values[~free])
    return A, b


def _split(relaxation: Relaxation, dual: Array) -> Iterator[Array]:
    """The multipliers of each block as matrices, shape (copies, size, size)."""
    start = 0
    for block in relaxation.blocks:
        length = block.size * (block.size + 1) // 2
        yield smat(dual[start : start + block.copies * length].reshape(block.copies, length))
        start += block.copies * length
