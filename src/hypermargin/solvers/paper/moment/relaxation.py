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

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array

Exponents = NDArray[np.int64]
Index = NDArray[np.int64]


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


# -- the answer: what Gram matrices prove, and ranks of moment matrices ------------------------------------------------


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
