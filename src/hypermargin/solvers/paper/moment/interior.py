"""A primal-dual predictor-corrector interior-point method (HKM direction) for moment relaxations, with its algebra.

Unknowns: moments z, the matrices ``S = B(z)`` they make, and the Gram matrices X of the SOS side, all batched over
groups. Each iteration solves ``X S = mu I`` to first order with Mehrotra's second-order correction. Moments of a group
come in the order private, shared, constant.

Only `take`, `matmul`, Cholesky factors and elementwise operations are used, so NumPy, PyTorch (processor and GPU) and
array-api-strict run the same code. Against Clarabel on the same relaxation it takes a quarter of the processor time at
n = 40 and a seventh at n = 640 (docs/relaxations.md), and it alone runs on a GPU.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.solvers.paper.moment.relaxation import Block, Index, Relaxation

#: Fraction of the way to the boundary of the cone that a step may go; with PATIENCE and the centring exponent it is the
#: best of nine combinations on the Gaussians of benchmarks/bench_moment.py.
STEP_FRACTION = 0.9
#: How much shorter, relatively, a step may be than the longest: the predictor's only decides on the centring. With 0.03
#: for the step itself order 3 took 25 iterations instead of 21.
STEP_ACCURACY, PREDICTOR_ACCURACY = 0.01, 0.1
#: Steps shorter than this in both spaces mean that rounding errors dominate.
SHORTEST_STEP = 1e-4
#: Iterations without a better point after which the method stops, once a point was as good as NEAR.
PATIENCE, NEAR = 5, 1e-3
#: Relative gap above which residuals fall with mu, not ahead of it (0.001, 1, 3, 10 were worse: docs/relaxations.md).
FAR = 0.1
#: Bytes of the largest temporary array of an assembly. On a processor it should stay in the cache (2^20 to 2^24 take
#: the same time within 10 %, 2^26 a fifth more); an accelerator would spend its time on launching small calls.
CHUNK_BYTES, ACCELERATOR_CHUNK_BYTES = 2**22, 2**30
#: What is added to a unit diagonal, some 50 units of rounding, so that Cholesky does not meet zero.
NUDGE = 1e-14


@dataclass(frozen=True, eq=False)
class Point:
    """An iterate: moments (private, shared), their matrices S and the Gram matrices X, block by block."""

    private: Any
    shared: Any
    S: list[Any]
    X: list[Any]


@dataclass(frozen=True, eq=False)
class Residuals:
    """How far a point is from satisfying both sides' equations, and from complementarity."""

    private: Any
    shared: Any
    matrices: list[Any]
    mu: float
    complementarity: float
    moment_value: float
    sos_value: float
    sos_residual: float
    infeasibility: float

    @property
    def provable(self) -> float:
        """The bound that the Gram matrices prove, nearly: what the residual of the SOS identity takes is deducted."""
        return self.sos_value - self.sos_residual

    @property
    def scale(self) -> float:
        """What gaps are relative to; early on one of the values can be far too large."""
        return 1.0 + min(abs(self.moment_value), abs(self.sos_value))

    @property
    def gap(self) -> float:
        return abs(self.moment_value - self.sos_value) / self.scale

    @property
    def merit(self) -> float:
        """What must become small. The gap alone is not enough: away from feasibility it can pass through zero."""
        return max(self.gap, self.complementarity / self.scale, self.infeasibility)


@dataclass(frozen=True, eq=False)
class InteriorResult:
    """Moments (N, S) and Gram matrices as NumPy arrays in the relaxation's order, and how the method ended."""

    moments: Array
    grams: tuple[Array, ...]
    status: str
    n_iter: int
    history: dict[str, list[float]] = field(default_factory=dict)


def interior_point(
    relaxation: Relaxation,
    *,
    xp: Any,
    device: Any = None,
    tol: float = 1e-8,
    max_iter: int = 100,
    time_limit: float = np.inf,
    n_threads: int = 1,
    callback: Callable[[int, dict[str, float]], None] | None = None,
) -> InteriorResult:
    """Solve a relaxation. `status` is "solved", "inaccurate", "iteration limit" or "time limit"."""
    deadline = time.perf_counter() + time_limit
    operator = RelaxationOperator(relaxation, xp, device, n_threads)
    point = start(operator)
    residuals = measure(operator, point)
    history: dict[str, list[float]] = {"moment_value": [], "sos_value": [], "gap": [], "infeasibility": []}
    status, iteration = "iteration limit", 0
    # Once near, the best point is the one that proves most: that is what a solve which ends early is worth.
    best, least_merit, since_best = (point, residuals), residuals.merit, 0

    for iteration in range(max_iter):
        now = {key: float(getattr(residuals, key)) for key in history}
        for key, value in now.items():
            history[key].append(value)
        if callback is not None:
            callback(iteration, now)
        if residuals.merit <= tol:
            status = "solved"
            break
        if time.perf_counter() > deadline:
            status = "time limit"
            break
        try:
            newton = NewtonSystem(operator, point.X, inverses(point.S, xp))
            predictor = direction(newton, point, residuals, target=0.0)
            lengths = step_lengths(operator, point, predictor, PREDICTOR_ACCURACY)
            target = centring(point, predictor, lengths, residuals.mu, operator)
            corrector = direction(newton, point, residuals, target=target, second_order=predictor)
            lengths = step_lengths(operator, point, corrector, STEP_ACCURACY)
        except (ValueError, RuntimeError) as error:
            if not is_linalg_error(error):
                raise
            status = "inaccurate"
            break
        point = advance(point, corrector, lengths)
        residuals = measure(operator, point)
        since_best = 0 if residuals.merit < least_merit else since_best + 1
        least_merit = min(least_merit, residuals.merit)
        if best[1].merit >= NEAR or (residuals.merit < NEAR and residuals.provable > best[1].provable):
            best = (point, residuals)
        if max(lengths) < SHORTEST_STEP or (least_merit < NEAR and since_best >= PATIENCE):
            status = "inaccurate"
            break
    else:
        iteration = max_iter

    point, residuals = best if status != "solved" else (point, residuals)
    moments = np.empty((relaxation.n_groups, relaxation.n_moments))
    moments[:, operator.order] = to_numpy(operator.moments(point.private, point.shared, 1.0))
    grams = operator.by_block([to_numpy(X) for X in point.X])
    return InteriorResult(moments, grams, status, iteration, history)


# -- the pieces of an iteration --------------------------------------------------------------------------------------


def start(operator: "RelaxationOperator") -> Point:
    """Multiples of the identity. Gram matrices have to match the objective; moments are of order 1 in a ball.

    Without a ball they grow without limit, and a start far out is the better one.
    """
    xp, device, n = operator.xp, operator.device, operator.n_groups
    private = xp.zeros((n, operator.n_private), dtype=xp.float64, device=device)
    shared = xp.zeros((operator.n_shared,), dtype=xp.float64, device=device)
    moments, far = (2.0, 1.0) if operator.in_ball else (300.0, 30.0)
    grams = 2.0 * far * max(1.0 / n, _largest(operator.private_cost, xp), _largest(operator.shared_cost, xp) / n)
    S, X = [], []
    for block in operator.blocks:
        identities = xp.zeros((block.copies, block.size, block.size), dtype=xp.float64, device=device)
        identities = identities + xp.eye(block.size, dtype=xp.float64, device=device)
        S.append(moments * identities)
        # A block of fewer groups has more to do with each; half the way there stays well centred.
        X.append(grams * (n / block.n) ** 0.5 * identities)
    return Point(private, shared, S, X)


def measure(operator: "RelaxationOperator", point: Point) -> Residuals:
    """Residuals of ``B(z) = S`` and of the SOS identity, and the two objective values."""
    xp = operator.xp
    sos_private, sos_shared, sos_constant = operator.adjoint(point.X)
    private, shared = operator.private_cost - sos_private, operator.shared_cost - sos_shared
    made = operator.matrices(point.private, point.shared, 1.0)
    matrices = [B - S for B, S in zip(made, point.S, strict=True)]
    moment_value = operator.constant + float(xp.sum(operator.private_cost * point.private))
    if operator.n_shared:
        moment_value += float(xp.sum(operator.shared_cost * point.shared))
    sos_value, mu = operator.constant - sos_constant, _mu(operator, point.X, point.S)
    # The SOS residual counts by the sum of its coefficients: that is what it takes from the bound (see `sos`).
    sos_residual = float(xp.sum(xp.abs(private)) + xp.sum(xp.abs(shared)))
    infeasibility = max(
        sos_residual / (1.0 + abs(sos_value)),
        max(_largest(R, xp) / (1.0 + _largest(S, xp)) for R, S in zip(matrices, point.S, strict=True)),
    )
    values = (moment_value, sos_value, sos_residual, infeasibility)
    return Residuals(private, shared, matrices, mu, mu * operator.barrier, *values)


def direction(
    newton: "NewtonSystem", point: Point, residuals: Residuals, *, target: float, second_order: Point | None = None
) -> Point:
    """The step towards ``X S = target I``; `second_order` is the predictor whose products are corrected for.

    While the gap is large, residuals fall with mu and not ahead of it. Without a ball the SOS side has no interior, so
    Gram matrices that satisfy its equations too soon lie at the boundary of the cone, where only short steps are left.
    """
    operator = newton.operator
    kept = target / residuals.mu if residuals.gap > FAR else 0.0
    missing = [(1.0 - kept) * R for R in residuals.matrices]
    wanted = []  # what the Gram matrices would become if the moments stayed where they are
    for k, (X, Si, R) in enumerate(zip(point.X, newton.S_inverse, missing, strict=True)):
        change = target * Si - sandwich(X, R, Si)
        if second_order is not None:
            change = change - sandwich(second_order.X[k], second_order.S[k], Si)
        wanted.append(change)
    sos_private, sos_shared, _ = operator.adjoint(wanted)
    private, shared = newton.solve(
        sos_private - operator.private_cost + kept * residuals.private,
        sos_shared - operator.shared_cost + kept * residuals.shared,
    )
    moved = operator.matrices(private, shared)
    S = [M + R for M, R in zip(moved, missing, strict=True)]
    parts = zip(wanted, point.X, moved, newton.S_inverse, strict=True)
    return Point(private, shared, S, [W - X - sandwich(X, M, Si) for W, X, M, Si in parts])


def step_lengths(operator: "RelaxationOperator", point: Point, step: Point, accuracy: float) -> tuple[float, float]:
    """The longest steps, at most 1, that keep S and X positive definite."""
    moments = longest_step(point.S, step.S, STEP_FRACTION, accuracy, operator.xp)
    return moments, longest_step(point.X, step.X, STEP_FRACTION, accuracy, operator.xp)


def centring(
    point: Point, step: Point, lengths: tuple[float, float], mu: float, operator: "RelaxationOperator"
) -> float:
    """Mehrotra's target: the better the predictor does, the less centring."""
    ahead = advance(point, step, lengths)
    reached = max(_mu(operator, ahead.X, ahead.S), 0.0) / mu
    exponent = max(2.0, 3.0 * min(lengths) ** 2)
    return mu * min(1.0, max(reached**exponent, 1e-6))


def advance(point: Point, step: Point, lengths: tuple[float, float]) -> Point:
    moments, grams = lengths
    return Point(
        point.private + moments * step.private,
        point.shared + moments * step.shared,
        [S + moments * dS for S, dS in zip(point.S, step.S, strict=True)],
        [X + grams * dX for X, dX in zip(point.X, step.X, strict=True)],
    )


def _mu(operator: "RelaxationOperator", X: list[Any], S: list[Any]) -> float:
    total = sum(float(operator.xp.sum(Xk * Sk)) for Xk, Sk in zip(X, S, strict=True))
    return total / operator.barrier


def _largest(values: Any, xp: Any) -> float:
    return float(xp.max(xp.abs(values))) if values.shape[0] and values.shape[-1] else 0.0


def to_numpy(values: Any) -> Array:
    """A NumPy copy of an array of any library, from any device."""
    if hasattr(values, "cpu"):  # a tensor of PyTorch
        values = values.cpu().numpy()
    return np.array(values, dtype=np.float64)


# -- batches of matrices -----------------------------------------------------------------------------------------------


def inverse_root(matrices: Any, xp: Any) -> Any:
    """Inverses of the lower Cholesky factors of a batch, or a LinAlgError where one is not positive definite."""
    lower = xp.linalg.cholesky(matrices)
    size = lower.shape[-1]
    if hasattr(xp.linalg, "solve_triangular"):  # it is not in the array API, but PyTorch has it
        identity = xp.eye(size, dtype=lower.dtype, device=lower.device)
        return xp.linalg.solve_triangular(lower, xp.broadcast_to(identity, lower.shape), upper=False)
    diagonal = 1.0 / xp.linalg.diagonal(lower)
    rows = -lower * diagonal[:, :, None]
    inverse = xp.zeros_like(lower)
    for i in range(size):  # forward substitution, all matrices at once: four times faster than NumPy's `inv`
        if i:
            inverse[:, i : i + 1, :i] = xp.matmul(rows[:, i : i + 1, :i], inverse[:, :i, :i])
        inverse[:, i, i] = diagonal[:, i]
    return inverse


def inverses(S: list[Any], xp: Any) -> list[Any]:
    """``S^-1`` block by block, or a LinAlgError where S is not positive definite."""
    return [R.mT @ R for R in (inverse_root(Sk, xp) for Sk in S)]


def sandwich(X: Any, M: Any, S_inverse: Any) -> Any:
    """The symmetric part of ``X M S^-1`` of one block, M symmetric."""
    product = X @ M @ S_inverse
    return 0.5 * (product + product.mT)


def longest_step(S: list[Any], step: list[Any], fraction: float, accuracy: float, xp: Any) -> float:
    """`fraction` of the way to where ``S + a step`` leaves the cone, at most 1, and less by up to `accuracy`.

    Bisection by Cholesky factorisations, each a tenth of the time of eigenvalues, the block last found outside first.
    """
    blocks = list(zip(S, step, strict=True))

    def stays(a: float) -> bool:
        for k, (M, D) in enumerate(blocks):
            try:
                xp.linalg.cholesky(M + a * D)
            except (ValueError, RuntimeError) as error:
                if not is_linalg_error(error):
                    raise
                blocks.insert(0, blocks.pop(k))
                return False
        return True

    low, high = 0.0, 1.0 / fraction
    if stays(high):
        return 1.0
    while high - low > accuracy * high and high > 1e-12:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stays(middle) else (low, middle)
    return fraction * low


def is_linalg_error(error: Exception) -> bool:
    """Whether this is the LinAlgError of NumPy (a ValueError) or of PyTorch (a RuntimeError)."""
    return "LinAlgError" in type(error).__name__


def unit_diagonal(matrices: Any, xp: Any) -> tuple[Any, Any]:
    """Positive definite matrices (..., r, r) scaled to a unit diagonal, raised by `NUDGE`, and the scale (..., r)."""
    diagonal = xp.linalg.diagonal(matrices)
    if not bool(xp.all(diagonal > 0.0)):
        raise np.linalg.LinAlgError("rounding has made the Newton matrix indefinite")
    scale = 1.0 / xp.sqrt(diagonal)
    raised = NUDGE * xp.eye(matrices.shape[-1], dtype=matrices.dtype, device=matrices.device)
    return matrices * scale[..., :, None] * scale[..., None, :] + raised, scale


class SumByTarget:
    """Sums of the entries of one axis that have the same target: the k-th of all targets are gathered at once.

    Targets of `n_targets` and more are left out.
    A product with a one-hot matrix is ten times slower for the moment matrices of 8 variables.
    """

    def __init__(self, targets: Index, n_targets: int, xp: Any, device: Any, axis: int = -1) -> None:
        counts = np.bincount(targets, minlength=n_targets)[:n_targets]
        most_first = np.argsort(-counts, kind="stable")
        entries, starts = np.argsort(targets, kind="stable"), np.concatenate(([0], np.cumsum(counts)))
        self._gather = [
            xp.asarray(entries[starts[most_first[: np.sum(counts > k)]] + k], device=device)
            for k in range(int(counts.max(initial=0)))
        ]
        self._empty, self._order = int(np.sum(counts == 0)), xp.asarray(np.argsort(most_first), device=device)
        self._xp, self._axis = xp, axis

    def __call__(self, values: Any) -> Any:
        xp, axis = self._xp, self._axis
        after = (slice(None),) * (-1 - axis)
        sums = xp.take(values, self._gather[0], axis=axis)
        for entries in self._gather[1:]:
            sums[..., : entries.shape[0], *after] += xp.take(values, entries, axis=axis)
        if self._empty:
            shape = list(sums.shape)
            shape[axis] = self._empty
            sums = xp.concat((sums, xp.zeros(tuple(shape), dtype=sums.dtype, device=sums.device)), axis=axis)
        return xp.take(sums, self._order, axis=axis)


# -- the linear maps of a relaxation -----------------------------------------------------------------------------------


class HankelPattern:
    """Products ``tr(E_c X E_d S^-1)`` for c among `rows`, d among `columns`, and monomials of the basis among `basis`.

    E_c has a one wherever two monomials of the basis multiply to the monomial c. So ``X E_c`` is X with its columns
    moved, and the trace with E_d sums entries.
    """

    def __init__(self, hankel: Index, rows: Index, columns: Index, basis: Index, xp: Any, device: Any) -> None:
        size, r = hankel.shape[0], len(basis)
        sums = hankel[np.ix_(basis, basis)]
        place = np.full(int(hankel.max()) + 1, -1)
        place[rows] = np.arange(len(rows))
        # partner[b, c]: the monomial a with a + b = c, or r (a column of zeros) where there is none.
        partner = np.full((r, len(rows)), r)
        for a in range(r):
            known = place[sums[a]] >= 0
            partner[np.flatnonzero(known), place[sums[a][known]]] = a
        target = np.full(int(hankel.max()) + 1, len(columns))
        target[columns] = np.arange(len(columns))
        self._xp, self._r, self._n_rows = xp, r, len(rows)
        # Rows vary fastest, so that the sums move runs of numbers: single ones take three times as long.
        self._sum = SumByTarget(target[sums.ravel()], len(columns), xp, device, -2)
        gather = partner[:, None, :] + (r + 1) * np.arange(r)[None, :, None]  # of entry (a, e) of X, padded by a column
        self._gather = xp.asarray(gather.ravel(), device=device)
        inner = (basis[:, None] * size + basis[None, :]).ravel()
        self._inner = None if r == size else xp.asarray(inner, device=device)

    def products(self, X: Any, S_inverse: Any) -> Any:
        """Shape (k, size, size) twice to (k, rows, columns)."""
        xp, r, count = self._xp, self._r, X.shape[0]
        if self._inner is not None:
            X, S_inverse = (
                xp.reshape(xp.take(xp.reshape(M, (count, -1)), self._inner, axis=1), (count, r, r))
                for M in (X, S_inverse)
            )
        padded = xp.concat((X, xp.zeros((count, r, 1), dtype=X.dtype, device=X.device)), axis=2)
        moved = xp.take(xp.reshape(padded, (count, r * (r + 1))), self._gather, axis=1)
        product = S_inverse @ xp.reshape(moved, (count, r, r * self._n_rows))
        return self._sum(xp.reshape(product, (count, r * r, self._n_rows))).mT


class MomentBlock:
    """The moment matrix of every group: the moments themselves, in the order of `position`."""

    def __init__(self, block: Block, position: Index, n_private: int, xp: Any, device: Any) -> None:
        self.xp, self.size, self.n, self.copies = xp, block.size, block.copies, block.copies
        hankel, every = position[block.shift][block.hankel, 0], np.arange(len(position))
        self._hankel = xp.asarray(hankel.ravel(), device=device)
        self._sum_entries = SumByTarget(hankel.ravel(), len(position), xp, device)
        # One pattern of private and one of shared rows: shared moments are products of shared monomials only, so the
        # second is much smaller than its part of the whole. Row 0 of the products is the basis itself.
        private, shared = every[:n_private], every[n_private:-1]
        self._private = HankelPattern(hankel, private, every[:-1], np.arange(self.size), xp, device)
        inner = np.flatnonzero(hankel[0] >= n_private)
        self._shared = HankelPattern(hankel, shared, shared, inner, xp, device) if len(shared) else None

    def matrices(self, z: Any) -> Any:
        """Moments (N, S) to matrices (N, r, r)."""
        return self.xp.reshape(self.xp.take(z, self._hankel, axis=1), (-1, self.size, self.size))

    def adjoint(self, X: Any) -> Any:
        """Matrices (N, r, r) to coefficients (N, S)."""
        return self._sum_entries(self.xp.reshape(X, (self.n, -1)))

    def newton(self, X: Any, S_inverse: Any) -> tuple[Any, Any]:
        """Private rows of the Newton matrices of some groups, (k, P, S - 1), and the sum of the shared parts."""
        shared = 0.0 if self._shared is None else self.xp.sum(self._shared.products(X, S_inverse), axis=0)
        return self._private.products(X, S_inverse), shared


class LocalisedBlocks:
    """The localising matrices of equal size of each of the first n groups, one after the other: ``n J`` matrices.

    They are treated as one array, with a coefficient for every monomial that any of their constraints has: a block by
    itself is so small that calls would take longer than numbers.
    """

    def __init__(self, blocks: list[Block], position: Index, n: int, xp: Any, device: Any) -> None:
        self.xp, self.n, self.size, self.copies = xp, n, blocks[0].size, sum(block.copies for block in blocks)
        self.each, self.n_moments = self.copies // n, len(position)
        columns = np.concatenate([position[block.shift] for block in blocks], axis=1)
        shift, place = np.unique(columns, axis=1, return_inverse=True)
        self.n_localised, n_terms = shift.shape
        coefficients = np.zeros((n, self.each, n_terms))
        row = first = 0
        for block in blocks:
            rows, terms = block.copies // n, block.shift.shape[1]
            coefficients[:, row : row + rows, place[first : first + terms]] = block.coefficients.reshape(n, rows, terms)
            row, first = row + rows, first + terms
        self._coefficients = xp.asarray(coefficients, device=device)
        hankel, every = blocks[0].hankel, np.arange(self.n_localised)
        self._hankel = xp.asarray(hankel.ravel(), device=device)
        self._shift = xp.asarray(shift.ravel(), device=device)
        self._sum_entries = SumByTarget(hankel.ravel(), self.n_localised, xp, device)
        self._sum_terms = SumByTarget(shift.ravel(), self.n_moments, xp, device)
        self._pattern = HankelPattern(hankel, every, every, np.arange(self.size), xp, device)
        one_hot = np.zeros((n_terms, self.n_localised, self.n_moments))
        one_hot[np.arange(n_terms), every[:, None], shift] = 1.0
        inner = np.ascontiguousarray(one_hot[:, :, :-1]).reshape(n_terms, -1)
        self._one_hot = xp.asarray(inner, device=device)

    def matrices(self, z: Any) -> Any:
        """Moments (N, S) to matrices (n J, r, r)."""
        xp = self.xp
        shifted = xp.reshape(xp.take(z[: self.n, :], self._shift, axis=1), (self.n, self.n_localised, -1))
        y = xp.reshape(self._coefficients @ shifted.mT, (self.copies, self.n_localised))
        return xp.reshape(xp.take(y, self._hankel, axis=1), (self.copies, self.size, self.size))

    def adjoint(self, X: Any) -> Any:
        """Matrices (n J, r, r) to coefficients (n, S)."""
        y = self._sum_entries(self.xp.reshape(X, (self.copies, -1)))
        terms = self.xp.reshape(y, (self.n, self.each, -1)).mT @ self._coefficients
        return self._sum_terms(self.xp.reshape(terms, (self.n, -1)))

    def newton(self, X: Any, S_inverse: Any, groups: slice) -> tuple[Any, Any]:
        """L and ``H L`` of some groups: their Newton matrices are ``L' H L``, H those of localised moments.

        L, (groups, J Y, S - 1), takes a group's moments, the constant left out, to the localised ones of its matrices.
        """
        xp, n_unknowns = self.xp, self.n_moments - 1
        coefficients = xp.reshape(self._coefficients[groups, ...], (X.shape[0], -1))
        L = xp.reshape(coefficients @ self._one_hot, (-1, self.n_localised, n_unknowns))
        product = self._pattern.products(X, S_inverse) @ L
        shape = (-1, self.each * self.n_localised, n_unknowns)
        return xp.reshape(L, shape), xp.reshape(product, shape)

    def split(self, X: Array, blocks: list[Block]) -> Iterator[Array]:
        """The matrices of each block, shape (copies, r, r), from those of all, (n J, r, r)."""
        ends = np.cumsum([block.copies // self.n for block in blocks])[:-1]
        for part in np.split(X.reshape(self.n, self.each, self.size, self.size), ends, axis=1):
            yield part.reshape(-1, self.size, self.size)


class RelaxationOperator:
    """All blocks of a relaxation, with the moments of a group in the order private, shared, constant."""

    def __init__(self, relaxation: Relaxation, xp: Any, device: Any = None, n_threads: int = 1) -> None:
        private, shared = np.flatnonzero(relaxation.private), np.flatnonzero(relaxation.shared)
        self.order = np.concatenate((private, shared, [0]))
        self.n_private, self.n_shared, self.n_groups = len(private), len(shared), relaxation.n_groups
        position = np.empty(relaxation.n_moments, dtype=np.int64)
        position[self.order] = np.arange(relaxation.n_moments)
        self.xp, self.device, self.n_threads = xp, device, n_threads
        self.moment = MomentBlock(relaxation.blocks[0], position, len(private), xp, device)
        families: dict[tuple[int, int], list[int]] = {}  # numbers of blocks by size, and in how many groups they are
        for k, block in enumerate(relaxation.blocks[1:], start=1):
            families.setdefault((block.size, min(block.copies, self.n_groups)), []).append(k)
        self._numbers, self._relaxation = list(families.values()), relaxation
        self.localised = [
            LocalisedBlocks([relaxation.blocks[k] for k in numbers], position, n, xp, device)
            for (_, n), numbers in families.items()
        ]
        self.blocks: list[MomentBlock | LocalisedBlocks] = [self.moment, *self.localised]
        self.in_ball = any(block.name == "ball" for block in relaxation.blocks)
        self.barrier = sum(block.copies * block.size for block in self.blocks)
        objective = xp.asarray(np.ascontiguousarray(relaxation.objective[:, self.order]), device=device)
        self.private_cost = objective[:, : self.n_private]
        self.shared_cost = xp.sum(objective[:, self.n_private : -1], axis=0)
        self.constant = float(xp.sum(objective[:, -1]))

    def moments(self, private: Any, shared: Any, constant: float) -> Any:
        """The moments of all groups, shape (N, S); `constant` is 1 at a point and 0 for a direction."""
        xp, n = self.xp, self.n_groups
        common = xp.broadcast_to(xp.reshape(shared, (1, -1)), (n, self.n_shared))
        last = xp.full((n, 1), constant, dtype=private.dtype, device=private.device)
        return xp.concat((private, common, last), axis=1)

    def matrices(self, private: Any, shared: Any, constant: float = 0.0) -> list[Any]:
        z = self.moments(private, shared, constant)
        return [block.matrices(z) for block in self.blocks]

    def adjoint(self, matrices: list[Any]) -> tuple[Any, Any, float]:
        """The SOS side's coefficients: private (N, Kp), shared (Ks,) and the constant."""
        total, *others = (block.adjoint(X) for block, X in zip(self.blocks, matrices, strict=True))
        for part in others:
            total[: part.shape[0], ...] += part
        sums = self.xp.sum(total[:, self.n_private :], axis=0)
        return total[:, : self.n_private], sums[:-1], float(sums[-1])

    def by_block(self, matrices: list[Array]) -> tuple[Array, ...]:
        """The matrices of every block of the relaxation, in its order."""
        found = {0: matrices[0]}
        for numbers, family, X in zip(self._numbers, self.localised, matrices[1:], strict=True):
            found |= zip(numbers, family.split(X, [self._relaxation.blocks[k] for k in numbers]), strict=True)
        return tuple(found[k] for k in range(len(found)))


# -- the Newton system -------------------------------------------------------------------------------------------------


class NewtonSystem:
    """Factorisation of ``M = A* (X . S^-1) A`` at one iterate: an arrow, one small block per group and a border.

    Each group's private unknowns are eliminated; what remains of all groups adds up to one system in the shared
    unknowns. Cost and memory are linear in the number of groups; a solve costs two passes over them.
    """

    def __init__(self, operator: RelaxationOperator, X: list[Any], S_inverse: list[Any]) -> None:
        self.operator, self.X, self.S_inverse = operator, X, S_inverse
        xp, n, step = operator.xp, operator.n_groups, self._groups_at_a_time()
        chunks = [(start, min(start + step, n)) for start in range(0, n, step)]
        if operator.n_threads > 1 and len(chunks) > 1:
            with ThreadPoolExecutor(operator.n_threads) as pool:
                parts = list(pool.map(self._eliminate, chunks))
        else:
            parts = [self._eliminate(chunk) for chunk in chunks]
        self._root = xp.concat([part[0] for part in parts])
        if operator.n_shared:
            self._coupling = xp.concat([part[1] for part in parts])
            border = sum((part[2] for part in parts[1:]), parts[0][2])
            self._border, self._border_scale = unit_diagonal(0.5 * (border + border.mT), xp)

    def solve(self, private: Any, shared: Any, refinements: int = 3) -> tuple[Any, Any]:
        """``M x = rhs``, with iterative refinement while it helps: late systems are ill-conditioned."""
        x_private, x_shared = self._solve_once(private, shared)
        smallest = self._size(private, shared)
        enough = 1e-13 * smallest
        for _ in range(refinements):
            done_private, done_shared = self.apply(x_private, x_shared)
            left_private, left_shared = private - done_private, shared - done_shared
            size = self._size(left_private, left_shared)
            if not enough < size < 0.5 * smallest:
                break
            smallest = size
            more_private, more_shared = self._solve_once(left_private, left_shared)
            x_private, x_shared = x_private + more_private, x_shared + more_shared
        return x_private, x_shared

    def apply(self, private: Any, shared: Any) -> tuple[Any, Any]:
        """``M x`` without M: from moments to matrices, scaled, and back."""
        steps = self.operator.matrices(private, shared)
        scaled = [sandwich(*parts) for parts in zip(self.X, steps, self.S_inverse, strict=True)]
        out_private, out_shared, _ = self.operator.adjoint(scaled)
        return out_private, out_shared

    def _solve_once(self, private: Any, shared: Any) -> tuple[Any, Any]:
        xp = self.operator.xp
        half = self._root @ private[:, :, None]
        if self.operator.n_shared:
            reduced = shared - xp.sum(self._coupling.mT @ half, axis=0)[:, 0]
            shared = self._border_scale * xp.linalg.solve(self._border, (self._border_scale * reduced)[:, None])[:, 0]
            half = half - self._coupling @ shared[:, None]
        return (self._root.mT @ half)[:, :, 0], shared

    def _size(self, private: Any, shared: Any) -> float:
        """Largest entry of a right-hand side."""
        return max(_largest(private, self.operator.xp), _largest(shared, self.operator.xp))

    def _eliminate(self, chunk: tuple[int, int]) -> tuple[Any, Any, Any]:
        """For some groups: inverse Cholesky factors of their private blocks, their coupling, and what is left over."""
        xp, n_private = self.operator.xp, self.operator.n_private
        rows, border = self._newton_matrices(*chunk)
        block, scale = unit_diagonal(rows[:, :, :n_private], xp)
        root = inverse_root(block, xp) * scale[:, None, :]
        if not self.operator.n_shared:
            return root, None, None
        coupling = root @ rows[:, :, n_private:]
        flat = xp.reshape(coupling, (-1, self.operator.n_shared))
        return root, coupling, border - flat.mT @ flat

    def _newton_matrices(self, start: int, stop: int) -> tuple[Any, Any]:
        """Private rows of ``M`` of some groups, the constant left out, and the sum of their shared rows and columns."""
        operator, P = self.operator, self.operator.n_private
        rows, border = operator.moment.newton(self.X[0][start:stop, ...], self.S_inverse[0][start:stop, ...])
        for block, X, Si in zip(operator.localised, self.X[1:], self.S_inverse[1:], strict=True):
            if start >= block.n:  # the paper's cone is in the first group alone
                continue
            copies = slice(start * block.each, min(stop, block.n) * block.each)
            L, product = block.newton(X[copies, ...], Si[copies, ...], slice(start, min(stop, block.n)))
            rows[: L.shape[0], ...] += L[:, :, :P].mT @ product
            if operator.n_shared:
                flat_L, flat_product = (operator.xp.reshape(M[:, :, P:], (-1, operator.n_shared)) for M in (L, product))
                border = border + flat_L.mT @ flat_product
        return rows, border

    def _groups_at_a_time(self) -> int:
        moment, on_processor = self.operator.moment, str(self.operator.device or "cpu") == "cpu"
        bytes_per_group = 8 * (self.operator.n_private + self.operator.n_shared) * moment.size**2
        return max(1, (CHUNK_BYTES if on_processor else ACCELERATOR_CHUNK_BYTES) // bytes_per_group)
