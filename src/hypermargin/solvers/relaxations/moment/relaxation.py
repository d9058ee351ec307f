"""The moment relaxation as data: which matrices of moments must be positive semidefinite (paper, eq.
soft-margin-first-order-moment and soft-margin-first-order-sparse-moment).

A *group* is a set of variables with its own moments up to degree 2 kappa: ``(w, xi_i)`` for each sample in the sparse
relaxation, all variables in the dense one, w alone with the hard margin. Moments in w alone are shared by all groups.
A *block* is a family of matrices of one kind, one per group: the moment matrix, or the localising matrix of a
constraint.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.solvers.relaxations.moment.polynomials import Exponents, MonomialIndex, Polynomials, monomials

Index = NDArray[np.int64]


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
        """Which of a group's moments it has for itself."""
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
