"""The moment relaxation as data: which matrices of moments must be positive semidefinite (paper, eq.
soft-margin-first-order-moment and soft-margin-first-order-sparse-moment).

A *group* is a set of variables with its own moments up to degree 2 kappa: ``(w, xi_i)`` for each sample in the sparse
relaxation, all variables in the dense one, w alone with the hard margin. Moments in w alone are shared by all groups.
A *block* is a family of matrices of one kind, one per group: the moment matrix, or the localising matrix of a
constraint.

Gram matrices X, the multipliers of the blocks, make the polynomial ``sum_blocks g [v]' X [v]``, which is non-negative
wherever the constraints hold. If it equals ``objective - gamma`` then ``f >= gamma``; in floating point it does up to a
residual polynomial r, which `sum_of_squares` charges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.problems.losses import SQRT2
from hypermargin.solvers.paper.frames import Frame
from hypermargin.solvers.paper.worst_margins import WorstMargins

Exponents = NDArray[np.int64]
Index = NDArray[np.int64]
#: ``sinh(asinh(1) - xi)`` by its Taylor series; the coefficients of xi, xi^2, xi^3 with the sign they have in g >= 0.
TAYLOR = (SQRT2, -0.5, SQRT2 / 6.0)


# -- polynomials: exponents (P, m) beside coefficients (N, P), one row per group ---------------------------------------


def monomials(n_variables: int, degree: int) -> Exponents:
    """All exponents of degree at most `degree`, by degree and then lexicographically; shape (S, m), the first is 1."""
    rows = [
        np.bincount(chosen, minlength=n_variables)
        for k in range(degree + 1)
        for chosen in combinations_with_replacement(range(n_variables), k)
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, n_variables)


class MonomialIndex:
    """Finds the position of monomials in a list of them."""

    def __init__(self, exponents: Exponents) -> None:
        self._base = int(exponents.sum(axis=1).max(initial=0)) + 1
        self._powers = [self._base**k for k in range(exponents.shape[1])]  # Python integers: no overflow
        self._position = {self._code(row): k for k, row in enumerate(exponents.tolist())}

    def _code(self, row: list[int]) -> int:
        return sum(power * exponent for power, exponent in zip(self._powers, row, strict=True))

    def __call__(self, exponents: Exponents) -> NDArray[np.int64]:
        """Positions of the given exponents, shape (..., m) to (...)."""
        flat = exponents.reshape(-1, exponents.shape[-1]).tolist()
        return np.array([self._position[self._code(row)] for row in flat], dtype=np.int64).reshape(exponents.shape[:-1])


@dataclass(frozen=True, eq=False)
class Polynomials:
    """One polynomial per row: ``p_i(v) = sum_k coefficients[i, k] v^exponents[k]``."""

    exponents: Exponents
    coefficients: Array

    @property
    def degree(self) -> int:
        return int(self.exponents.sum(axis=1).max(initial=0))

    def __call__(self, v: Array) -> Array:
        """Values at points v, shape (..., m) to (..., N) (for checks, not for speed)."""
        powers = np.prod(np.asarray(v)[..., None, :] ** self.exponents, axis=-1)
        return powers @ self.coefficients.T

    def largest(self) -> Array:
        """The largest coefficient of each row in size, 1 where all are 0: a constraint divided by it means the same."""
        largest = np.max(np.abs(self.coefficients), axis=1)
        return np.where(largest > 0.0, largest, 1.0)


def affine(constant: Array, linear: Array, variables: list[int], n_variables: int) -> Polynomials:
    """``constant_i + sum_k linear[i, k] v[variables[k]]``."""
    exponents = np.zeros((len(variables) + 1, n_variables), dtype=np.int64)
    exponents[np.arange(1, len(variables) + 1), variables] = 1
    return Polynomials(exponents, np.concatenate((np.reshape(constant, (-1, 1)), linear), axis=1))


def quadratic(constant: float, linear: Array, matrix: Array, n_variables: int) -> Polynomials:
    """``constant + linear . v + v' matrix v`` in the first ``len(linear)`` variables; matrix symmetric."""
    k = len(linear)
    rows, columns = np.triu_indices(k)
    exponents = np.zeros((1 + k + len(rows), n_variables), dtype=np.int64)
    exponents[np.arange(1, k + 1), np.arange(k)] = 1
    np.add.at(exponents, (np.arange(k + 1, len(exponents)), rows), 1)
    np.add.at(exponents, (np.arange(k + 1, len(exponents)), columns), 1)
    squares = np.where(rows == columns, 1.0, 2.0) * matrix[rows, columns]
    return Polynomials(exponents, np.concatenate(([constant], linear, squares))[None, :])


# -- the relaxation ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Block:
    """Matrices ``B_k[a, b] = E[g_k(v) v^(a+b)]``, a and b running over a basis of monomials.

    They are made in two steps: the localised moments ``y_k[c] = sum_p coefficients[k, p] z[groups[k], shift[c, p]]``,
    then ``B_k[a, b] = y_k[hankel[a, b]]``. The constraints g_k are divided by their largest coefficients, `divisors`.
    """

    name: str
    hankel: Index
    shift: Index
    coefficients: Array
    groups: Index
    divisors: Array

    @property
    def size(self) -> int:
        """Number of rows of each matrix."""
        return self.hankel.shape[0]

    @property
    def copies(self) -> int:
        """Number of matrices."""
        return len(self.groups)

    def matrices(self, z: Array) -> Array:
        """The matrices at moments z, shape (N, S) to (copies, size, size)."""
        y = np.einsum("kcp,kp->kc", z[self.groups][:, self.shift], self.coefficients)
        return y[:, self.hankel]

    def adjoint(self, X: Array, n_groups: int, n_moments: int) -> Array:
        """Coefficients of ``sum_k g_k(v) [v]' X_k [v]``, group by group: (copies, size, size) to (N, S)."""
        incidence = np.zeros((self.size**2, len(self.shift)))
        incidence[np.arange(self.size**2), self.hankel.ravel()] = 1.0
        y = X.reshape(self.copies, -1) @ incidence
        out = np.zeros((n_groups, n_moments))
        for p in range(self.shift.shape[1]):
            np.add.at(out, (self.groups[:, None], self.shift[None, :, p]), y * self.coefficients[:, p, None])
        return out


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Minimise ``sum_i objective[i] . z[i]`` over moments z with ``z[:, 0] = 1``, shared ones equal, all blocks PSD.

    `half_degree` is half the largest degree of a constraint, rounded up: by so much the localising matrices are lower.
    """

    order: int
    half_degree: int
    exponents: Exponents
    shared: NDArray[np.bool_]
    objective: Array
    blocks: tuple[Block, ...]

    @property
    def n_groups(self) -> int:
        return self.objective.shape[0]

    @property
    def n_moments(self) -> int:
        """Moments of one group, the constant among them."""
        return self.exponents.shape[0]

    @property
    def private(self) -> NDArray[np.bool_]:
        """Mask of the moments private to a group."""
        private = ~self.shared
        private[0] = False
        return private

    def sum_of_squares(self, grams: tuple[Array, ...]) -> Array:
        """Coefficients of the SOS side ``sum_blocks g [v]' X [v]``, group by group, shape (N, S)."""
        total = np.zeros_like(self.objective)
        for block, X in zip(self.blocks, grams, strict=True):
            total += block.adjoint(X, self.n_groups, self.n_moments)
        return total


class RelaxationBuilder:
    """Collects the constraints of a relaxation; each becomes a block of the largest order that its degree allows."""

    def __init__(self, n_variables: int, n_groups: int, order: int, shared_variables: int) -> None:
        self.order, self.n_variables, self.n_groups = order, n_variables, n_groups
        self.exponents = monomials(n_variables, 2 * order)
        self._find = MonomialIndex(self.exponents)
        self._shared = np.all(self.exponents[:, shared_variables:] == 0, axis=1)
        self._shared[0] = False
        self._blocks: list[Block] = []
        self._half_degree = 1
        self._objective = np.zeros((n_groups, len(self.exponents)))
        one = Polynomials(np.zeros((1, n_variables), dtype=np.int64), np.ones((n_groups, 1)))
        self.constrain("moment", one)

    def constrain(self, name: str, g: Polynomials, groups: Index | None = None) -> None:
        """Demand ``g_k >= 0`` in group ``groups[k]`` (default: one polynomial per group)."""
        half = (g.degree + 1) // 2
        if half > self.order:
            raise ValueError(f"a constraint of degree {g.degree} needs order at least {half}, got {self.order}")
        self._half_degree = max(self._half_degree, half)
        basis = monomials(self.n_variables, self.order - half)
        localised = monomials(self.n_variables, 2 * (self.order - half))
        hankel = MonomialIndex(localised)(basis[:, None, :] + basis[None, :, :])
        shift = self._find(localised[:, None, :] + g.exponents[None, :, :])
        chosen = np.arange(self.n_groups) if groups is None else np.asarray(groups, dtype=np.int64)
        divisors = g.largest()
        self._blocks.append(Block(name, hankel, shift, g.coefficients / divisors[:, None], chosen, divisors))

    def minimise(self, p: Polynomials, groups: Index | None = None) -> None:
        """Add ``p_k`` to the objective of group ``groups[k]``."""
        chosen = np.arange(self.n_groups) if groups is None else np.asarray(groups, dtype=np.int64)
        self._objective[chosen[:, None], self._find(p.exponents)[None, :]] += p.coefficients

    def build(self) -> Relaxation:
        return Relaxation(
            self.order, self._half_degree, self.exponents, self._shared, self._objective, tuple(self._blocks)
        )


# -- from a margin problem to its relaxation ---------------------------------------------------------------------------


def check_size(n_groups: int, n_variables: int, order: int, max_block: int) -> None:
    """Refuse relaxations whose matrices are larger than the caller allows, with an error that gives their size."""
    block, moments = comb(n_variables + order, order), comb(n_variables + 2 * order, 2 * order)
    if block > max_block:
        raise ValueError(
            f"order {order} with {n_variables} variables per group needs moment matrices of {block} x {block} and "
            f"{moments:,} moments in each of {n_groups:,} groups (about {8e-9 * n_groups * moments**2:.2g} GB); "
            f"set max_block={block} to allow it, or lower the order"
        )


def build_relaxation(
    Z: Array,
    costs: Array,
    frame: Frame,
    *,
    order: int,
    taylor: int,
    sparse: bool,
    bounded: bool,
    linear: tuple[float, Array] | None = None,
    robust: WorstMargins | None = None,
    near: Sequence[Array] = (),
) -> Relaxation:
    """The relaxation for samples with covectors Z (n, d + 1) and costs (n,), infinite ones for the hard margin.

    `linear` is ``(b, g)`` of a term ``b + g.w`` of the objective: the risk of samples that need no slack of their own.
    `robust` has worst-case margins of the same samples. They keep the groups: polyhedral sets have one margin
    constraint per corner. For round sets ``margin >= reach |D w|`` becomes a quadratic constraint, the difference of
    the squares of both sides (hinge only). Margin constraints at some of their points, among them those with covectors
    `near`, tighten it.
    """
    n, k = Z.shape
    hard = bool(np.all(np.isinf(costs)))
    slacks = 0 if hard else (1 if sparse else n)
    n_groups = n if slacks and sparse else 1
    n_variables = k + slacks
    builder = RelaxationBuilder(n_variables, n_groups, order, shared_variables=k if n_groups > 1 else 0)
    first = np.zeros(1, dtype=np.int64)

    cone = _cone(frame, n_variables)
    if bounded:  # in every group: tighter, and no sample is special because it came first
        builder.constrain("cone", Polynomials(cone.exponents, np.repeat(cone.coefficients, n_groups, axis=0)))
    else:  # in the first group, as in the paper
        builder.constrain("cone", cone, groups=first)
    builder.minimise(Polynomials(cone.exponents, 0.5 * cone.coefficients / frame.objective_scale), groups=first)
    if linear is not None:
        offset, slope = linear
        term = affine(
            np.array([offset + slope @ frame.centre]), (slope @ frame.basis)[None, :], list(range(k)), n_variables
        )
        builder.minimise(Polynomials(term.exponents, term.coefficients / frame.objective_scale), groups=first)

    corners = [Z] if robust is None else list(robust.corners(near))
    is_round = robust is not None and robust.norm == "l2"
    if hard:
        for Z_corner in corners:
            margins, directions = Z_corner @ frame.centre - 1.0, Z_corner @ frame.basis
            builder.constrain(
                "margin", affine(margins, directions, list(range(k)), n_variables), np.zeros(n, dtype=np.int64)
            )
        if robust is not None and is_round:
            spread = _spread(robust, slice(None), None, frame, k, n_variables)
            builder.constrain("spread", spread, np.zeros(n, dtype=np.int64))
    for j in range(slacks):
        rows = slice(None) if sparse else slice(j, j + 1)
        scale = frame.slack_scale[rows, None]
        slack = affine(np.zeros(len(scale)), np.ones_like(scale), [k + j], n_variables)
        builder.constrain("slack", slack)
        for Z_corner in corners:
            margins, directions = Z_corner[rows] @ frame.centre - 1.0, Z_corner[rows] @ frame.basis
            builder.constrain("margin", _margin(margins, directions, scale, k + j, n_variables, taylor))
        if robust is not None and is_round:
            builder.constrain("spread", _spread(robust, rows, scale, frame, k + j, n_variables))
        cost = costs[rows, None] * scale / frame.objective_scale
        builder.minimise(Polynomials(slack.exponents, slack.coefficients * cost))
        if bounded:
            builder.constrain("slack range", _slack_range(len(scale), k + j, n_variables))
    if bounded:
        ball = quadratic(1.0, np.zeros(k), -np.eye(k), n_variables)
        builder.constrain("ball", Polynomials(ball.exponents, np.repeat(ball.coefficients, n_groups, axis=0)))
    return builder.build()


def _cone(frame: Frame, n_variables: int) -> Polynomials:
    """``q(centre + basis v)``."""
    signs = np.ones(len(frame.centre))
    signs[0] = -1.0
    lowered = frame.basis.T * signs  # basis' G
    constant = float(frame.centre @ (signs * frame.centre))
    return quadratic(constant, 2.0 * lowered @ frame.centre, lowered @ frame.basis, n_variables)


def _margin(
    constant: Array, directions: Array, scale: Array, variable: int, n_variables: int, taylor: int
) -> Polynomials:
    """``m_i(w) - 1 + sqrt2 xi - xi^2/2 + sqrt2 xi^3/6``, the powers of xi up to `taylor`."""
    k = directions.shape[1]
    plain = affine(constant, directions, list(range(k)), n_variables)
    powers = np.zeros((taylor, n_variables), dtype=np.int64)
    powers[:, variable] = np.arange(1, taylor + 1)
    terms = np.array(TAYLOR[:taylor]) * scale ** np.arange(1, taylor + 1)
    return Polynomials(
        np.concatenate((plain.exponents, powers)),
        np.concatenate((plain.coefficients, terms), axis=1),
    )


def _spread(
    robust: WorstMargins,
    rows: slice,
    scale: Array | None,
    frame: Frame,
    variable: int,
    n_variables: int,
) -> Polynomials:
    """``(m_i(w) - 1 + sqrt2 xi)^2 - reach_i^2 |D_i w|^2`` of the samples `rows`; without xi for the hard margin."""
    Z = robust.samples.Z[rows]
    n, k = Z.shape
    # Both are squares of affine functions of (v, xi); row 0 of `linear` is the margin, the others are reach_i D_i w.
    parts = robust.reach[rows, None, None] * robust.parts[rows]
    constant = np.concatenate(((Z @ frame.centre - 1.0)[:, None], parts @ frame.centre), axis=1)
    linear = np.zeros((n, constant.shape[1], n_variables))
    linear[:, 0, :k], linear[:, 1:, :k] = Z @ frame.basis, parts @ frame.basis
    if scale is not None:
        linear[:, 0, variable] = SQRT2 * scale[:, 0]
    sign = np.concatenate(([1.0], -np.ones(parts.shape[1])))
    forms = [
        quadratic(
            float(sign @ constant[i] ** 2),
            2.0 * (sign * constant[i]) @ linear[i],
            (linear[i].T * sign) @ linear[i],
            n_variables,
        )
        for i in range(n)
    ]
    return Polynomials(forms[0].exponents, np.concatenate([form.coefficients for form in forms]))


def _slack_range(n_groups: int, variable: int, n_variables: int) -> Polynomials:
    """``eta (1 - eta)``: the slack lies between 0 and the largest value it can have in the ball."""
    exponents = np.zeros((2, n_variables), dtype=np.int64)
    exponents[:, variable] = (1, 2)
    return Polynomials(exponents, np.repeat([[1.0, -1.0]], n_groups, axis=0))


# -- what Gram matrices prove, and ranks of moment matrices ---- ------------------------------------------------


@dataclass(frozen=True, eq=False)
class SumOfSquares:
    """Multipliers as positive semidefinite Gram matrices, and the identity ``objective = gamma + sos + residual``.

    Attributes
    ----------
    grams : dict of name to (copies, size, size) array
        "moment" belongs to the constant 1, the others to the constraints of that name.
    value : float
        gamma, which is what the identity would prove if it held exactly.
    residual : float
        The largest coefficient of r.
    residual_sum : float
        The sum of its absolute coefficients. Where all variables lie in [-1, 1], ``|r| <= residual_sum``.
    blocks : tuple of (copies, size, size) arrays
        The Gram matrices in the order of the relaxation's blocks.
    """

    grams: dict[str, Array]
    value: float
    residual: float
    residual_sum: float
    blocks: tuple[Array, ...]

    @property
    def bound_in_unit_box(self) -> float:
        """``gamma - residual_sum``: a lower bound wherever a minimiser has all its coordinates in [-1, 1]."""
        return self.value - self.residual_sum


def sum_of_squares(relaxation: Relaxation, grams: tuple[Array, ...]) -> SumOfSquares:
    """Recompute the identity from Gram matrices whose negative eigenvalues, if any, are first set to zero."""
    grams = tuple(nearest_semidefinite(X) for X in grams)
    difference = relaxation.objective - relaxation.sum_of_squares(grams)
    shared = np.sum(difference[:, relaxation.shared], axis=0)
    private = np.abs(difference[:, relaxation.private])
    names: dict[str, list[Array]] = {}
    for block, X in zip(relaxation.blocks, grams, strict=True):
        names.setdefault(block.name, []).append(X)
    return SumOfSquares(
        grams={name: np.concatenate(parts) for name, parts in names.items()},
        value=float(np.sum(difference[:, 0])),
        residual=float(max(np.max(np.abs(shared), initial=0.0), np.max(private, initial=0.0))),
        residual_sum=float(np.sum(np.abs(shared)) + np.sum(private)),
        blocks=grams,
    )


def nearest_semidefinite(X: Array) -> Array:
    """The batch with negative eigenvalues set to zero; unchanged where there are none."""
    values, vectors = np.linalg.eigh(0.5 * (X + np.swapaxes(X, 1, 2)))
    low = values[:, 0] < 0.0
    if not np.any(low):
        return X
    out = np.array(X)
    clipped = np.maximum(values[low], 0.0)
    out[low] = np.einsum("nij,nj,nkj->nik", vectors[low], clipped, vectors[low])
    return out


@dataclass(frozen=True, eq=False)
class Flatness:
    """`ranks[i, t]` is the rank of the order-t moment matrix of group i, t = 0 ... order."""

    ranks: NDArray[np.int64]
    holds: bool


def flatness(relaxation: Relaxation, moments: Array, rtol: float = 1e-4) -> Flatness:
    """Numerical ranks, eigenvalues below `rtol` of the largest counting as zero, and whether the extension is flat.

    Flat means that the rank does not rise from order ``kappa - s`` to kappa in any group, s being half the largest
    degree of a constraint. A flat solution of rank 1 is a point, and the relaxation is then exact.
    """
    n_variables = relaxation.exponents.shape[1]
    M = relaxation.blocks[0].matrices(moments)
    ranks = np.empty((len(M), relaxation.order + 1), dtype=np.int64)
    for t in range(relaxation.order + 1):
        size = comb(n_variables + t, t)
        eigenvalues = np.linalg.eigvalsh(M[:, :size, :size])
        ranks[:, t] = np.sum(eigenvalues > rtol * eigenvalues[:, -1:], axis=1)
    return Flatness(ranks, bool(np.all(ranks[:, -1] == ranks[:, -1 - relaxation.half_degree])))
