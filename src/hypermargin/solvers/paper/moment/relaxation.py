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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.geometry.lorentz import covector, quadratic_form
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


def positions(known: Exponents, wanted: Exponents) -> Index:
    """Where in the list `known` the monomials `wanted` are, shape (..., m) to (...)."""
    place = {tuple(row): k for k, row in enumerate(known.tolist())}
    flat = wanted.reshape(-1, wanted.shape[-1]).tolist()
    return np.array([place[tuple(row)] for row in flat], dtype=np.int64).reshape(wanted.shape[:-1])


class Polynomials(NamedTuple):
    """One polynomial per row: ``p_i(v) = sum_k coefficients[i, k] v^exponents[k]``, in the first variables."""

    exponents: Exponents
    coefficients: Array


def power(variable: int, degrees: Sequence[int] | Index) -> Exponents:
    """Exponents of powers of one variable."""
    return np.outer(degrees, np.eye(variable + 1, dtype=np.int64)[variable])


def affine(constant: Array, linear: Array) -> Polynomials:
    """``constant_i + linear_i . v``."""
    exponents = np.eye(1 + linear.shape[1], linear.shape[1], -1, dtype=np.int64)
    return Polynomials(exponents, np.column_stack((constant, linear)))


def quadratic(constant: Array, linear: Array, matrix: Array) -> Polynomials:
    """``constant_i + linear_i . v + v' matrix_i v``; the matrices are symmetric."""
    rows, columns = np.triu_indices(linear.shape[1])
    unit = np.eye(linear.shape[1], dtype=np.int64)
    plain = affine(constant, linear)
    squares = np.where(rows == columns, 1.0, 2.0) * matrix[:, rows, columns]
    return Polynomials(
        np.concatenate((plain.exponents, unit[rows] + unit[columns])), np.hstack((plain.coefficients, squares))
    )


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


class Relaxation:
    """Minimise ``sum_i objective[i] . z[i]`` over moments z with ``z[:, 0] = 1``, shared ones equal, all blocks PSD.

    Each constraint becomes a block of the largest order that its degree allows. `half_degree` is half the largest
    degree of a constraint, rounded up: by so much the localising matrices are lower. `shared` and `private` are masks
    of the moments; the constant is neither.
    """

    def __init__(self, n_variables: int, n_groups: int, order: int, shared_variables: int) -> None:
        self.order, self.n_variables, self.n_groups, self.half_degree = order, n_variables, n_groups, 1
        self.exponents = monomials(n_variables, 2 * order)
        self.n_moments = len(self.exponents)
        self.shared = np.all(self.exponents[:, shared_variables:] == 0, axis=1)
        self.private = ~self.shared
        self.shared[0] = False
        self.objective = np.zeros((n_groups, self.n_moments))
        self.blocks: list[Block] = []
        self.constrain("moment", affine(np.ones(n_groups), np.zeros((n_groups, 0))))

    def constrain(self, name: str, g: Polynomials) -> None:
        """Demand ``g_k >= 0`` in group k, or in the one group there is."""
        degree = int(g.exponents.sum(axis=1).max())
        half = (degree + 1) // 2
        if half > self.order:
            raise ValueError(f"a constraint of degree {degree} needs order at least {half}, got {self.order}")
        self.half_degree = max(self.half_degree, half)
        basis = monomials(self.n_variables, self.order - half)
        localised = monomials(self.n_variables, 2 * (self.order - half))
        hankel = positions(localised, basis[:, None, :] + basis[None, :, :])
        shift = positions(self.exponents, localised[:, None, :] + self._padded(g.exponents)[None, :, :])
        groups = np.minimum(np.arange(len(g.coefficients)), self.n_groups - 1)
        largest = np.max(np.abs(g.coefficients), axis=1)
        divisors = np.where(largest > 0.0, largest, 1.0)
        self.blocks.append(Block(name, hankel, shift, g.coefficients / divisors[:, None], groups, divisors))

    def minimise(self, p: Polynomials, factor: Array | float = 1.0) -> None:
        """Add ``factor p_k`` to the objective of group k."""
        place = positions(self.exponents, self._padded(p.exponents))
        self.objective[: len(p.coefficients), place] += factor * p.coefficients

    def _padded(self, exponents: Exponents) -> Exponents:
        return np.pad(exponents, ((0, 0), (0, self.n_variables - exponents.shape[1])))

    def sum_of_squares(self, grams: Sequence[Array]) -> Array:
        """Coefficients of the SOS side ``sum_blocks g [v]' X [v]``, group by group, shape (N, S)."""
        total = np.zeros_like(self.objective)
        for block, X in zip(self.blocks, grams, strict=True):
            y = X.reshape(block.copies, -1) @ np.eye(len(block.shift))[block.hankel.ravel()]
            for coefficient, place in zip(block.coefficients.T, block.shift.T, strict=True):
                np.add.at(total, (block.groups[:, None], place), y * coefficient[:, None])
        return total


# -- from a margin problem to its relaxation ---------------------------------------------------------------------------


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
    max_block: float = np.inf,
) -> Relaxation:
    """The relaxation for samples with covectors Z (n, d + 1) and costs (n,), infinite ones for the hard margin.

    `linear` is ``(b, g)`` of a term ``b + g.w`` of the objective: the risk of samples that need no slack of their own.
    `robust` has worst-case margins of the same samples. They keep the groups: polyhedral sets have one margin
    constraint per corner. For round sets ``margin >= reach |D w|`` becomes a quadratic constraint, the difference of
    the squares of both sides (hinge only). Margin constraints at some of their points, among them those with covectors
    `near`, tighten it. Relaxations with matrices larger than `max_block` are refused.
    """
    n, k = Z.shape
    slacks = 0 if np.all(np.isinf(costs)) else 1 if sparse else n
    n_groups = n if slacks and sparse else 1
    _check_size(n_groups, k + slacks, order, max_block)
    relaxation = Relaxation(k + slacks, n_groups, order, shared_variables=k if n_groups > 1 else 0)

    def in_all_groups(p: Polynomials) -> Polynomials:
        return Polynomials(p.exponents, np.repeat(p.coefficients, n_groups, axis=0))

    cone = _cone(frame)
    # With a ball in every group: tighter, and no sample is special because it came first. The paper's is in the first.
    relaxation.constrain("cone", in_all_groups(cone) if bounded else cone)
    relaxation.minimise(cone, 0.5 / frame.objective_scale)
    if linear is not None:
        offset, slope = linear
        term = affine(offset + slope[None] @ frame.centre, slope[None] @ frame.basis)
        relaxation.minimise(term, 1.0 / frame.objective_scale)

    corners = [Z] if robust is None else list(robust.corners(near))
    for j in range(max(slacks, 1)):
        rows = slice(None) if sparse or not slacks else slice(j, j + 1)
        scale = frame.slack_scale[rows, None] if slacks else None
        slack = Polynomials(power(k + j, [1]), np.ones((n_groups, 1)))
        if scale is not None:
            relaxation.constrain("slack", slack)
        for Z_corner in corners:
            relaxation.constrain("margin", _margin(Z_corner[rows], frame, scale, k + j, taylor))
        if robust is not None and robust.norm == "l2":
            relaxation.constrain("spread", _spread(robust, rows, scale, frame, k + j))
        if scale is not None:
            relaxation.minimise(slack, costs[rows, None] * scale / frame.objective_scale)
            if bounded:  # the slack lies between 0 and the largest value it can have in the ball
                between = Polynomials(power(k + j, [1, 2]), np.array([[1.0, -1.0]]))
                relaxation.constrain("slack range", in_all_groups(between))
    if bounded:
        relaxation.constrain("ball", in_all_groups(quadratic(np.ones(1), np.zeros((1, k)), -np.eye(k)[None])))
    return relaxation


def _check_size(n_groups: int, n_variables: int, order: int, max_block: float) -> None:
    """Refuse relaxations whose matrices are larger than the caller allows, with an error that gives their size."""
    block, moments = comb(n_variables + order, order), comb(n_variables + 2 * order, 2 * order)
    if block > max_block:
        raise ValueError(
            f"order {order} with {n_variables} variables per group needs moment matrices of {block} x {block} and "
            f"{moments:,} moments in each of {n_groups:,} groups (about {8e-9 * n_groups * moments**2:.2g} GB); "
            f"set max_block={block} to allow it, or lower the order"
        )


def _cone(frame: Frame) -> Polynomials:
    """``q(centre + basis v)``."""
    lowered = -covector(frame.basis.T)  # basis' G
    return quadratic(
        quadratic_form(frame.centre[None]), 2.0 * (lowered @ frame.centre)[None], (lowered @ frame.basis)[None]
    )


def _margin(Z: Array, frame: Frame, scale: Array | None, variable: int, taylor: int) -> Polynomials:
    """``m_i(w) - 1 + sqrt2 xi - xi^2/2 + sqrt2 xi^3/6``, the powers of xi up to `taylor`; hard margins have no xi."""
    plain = affine(Z @ frame.centre - 1.0, Z @ frame.basis)
    if scale is None:
        return plain
    degrees = np.arange(1, taylor + 1)
    padded = np.pad(plain.exponents, ((0, 0), (0, variable + 1 - Z.shape[1])))
    return Polynomials(
        np.concatenate((padded, power(variable, degrees))),
        np.hstack((plain.coefficients, np.array(TAYLOR[:taylor]) * scale**degrees)),
    )


def _spread(robust: WorstMargins, rows: slice, scale: Array | None, frame: Frame, variable: int) -> Polynomials:
    """``(m_i(w) - 1 + sqrt2 xi)^2 - reach_i^2 |D_i w|^2`` of the samples `rows`; hard margins have no xi."""
    Z = robust.samples.Z[rows]
    n, k = Z.shape
    # Both are squares of affine functions of (v, xi); row 0 of `linear` is the margin, the others are reach_i D_i w.
    parts = robust.reach[rows, None, None] * robust.parts[rows]
    constant = np.column_stack((Z @ frame.centre - 1.0, parts @ frame.centre))
    linear = np.zeros((n, constant.shape[1], k if scale is None else variable + 1))
    linear[:, 0, :k], linear[:, 1:, :k] = Z @ frame.basis, parts @ frame.basis
    if scale is not None:
        linear[:, 0, variable] = SQRT2 * scale[:, 0]
    sign = np.concatenate(([1.0], -np.ones(parts.shape[1])))
    return quadratic(
        constant**2 @ sign,
        2.0 * np.einsum("ij,ijk->ik", sign * constant, linear),
        np.einsum("ija,j,ijb->iab", linear, sign, linear),
    )


# -- what Gram matrices prove, and ranks of moment matrices ----------------------------------------------------


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


def flatness(relaxation: Relaxation, moments: Array, rtol: float = 1e-4) -> tuple[NDArray[np.int64], bool]:
    """Ranks of the order-t moment matrices of the groups, shape (N, order + 1), and whether the extension is flat.

    Eigenvalues below `rtol` of the largest count as zero. Flat means that the rank does not rise from order
    ``kappa - s`` to kappa in any group, s being half the largest degree of a constraint. A flat solution of rank 1 is
    a point, and the relaxation is then exact.
    """
    M = relaxation.blocks[0].matrices(moments)
    ranks = np.empty((len(M), relaxation.order + 1), dtype=np.int64)
    for t in range(relaxation.order + 1):
        size = comb(relaxation.n_variables + t, t)
        eigenvalues = np.linalg.eigvalsh(M[:, :size, :size])
        ranks[:, t] = np.sum(eigenvalues > rtol * eigenvalues[:, -1:], axis=1)
    return ranks, bool(np.all(ranks[:, -1] == ranks[:, -1 - relaxation.half_degree]))
