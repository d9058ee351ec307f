"""Monomials and polynomials as arrays: exponents (P, m) beside coefficients (N, P), one row per group."""

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array

Exponents = NDArray[np.int64]


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
