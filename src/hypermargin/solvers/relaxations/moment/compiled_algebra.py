"""The interior-point method's questions about small matrices answered by compiled loops, on NumPy."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.compilation import is_compiled
from hypermargin.solvers.relaxations.moment.compiled import cone, elimination, newton
from hypermargin.solvers.relaxations.moment.elimination import NUDGE
from hypermargin.solvers.relaxations.moment.operators import BlockOperator, RelaxationOperator
from hypermargin.solvers.relaxations.moment.relaxation import Index

#: Bytes of Newton matrices that are made before they are eliminated: they should stay in the processor's cache.
CHUNK_BYTES = 2**19


def suits(xp: Any) -> bool:
    """Whether the compiled loops are there and can work on the arrays of library `xp`."""
    return is_compiled(cone, elimination, newton) and isinstance(xp.zeros(1), np.ndarray)


class CompiledBlock(BlockOperator):
    """The linear maps of a block without one-hot matrices."""

    def matrices(self, z: Array) -> Array:
        out = np.empty((self.copies, self.size, self.size))
        newton.matrices(z, self.groups, self.hankel, self.shift, self.coefficients, out)
        return out

    def adjoint(self, X: Array) -> Array:
        out = np.zeros((self.n_groups, self.n_moments))
        newton.add_adjoint(X, self.groups, self.hankel, self.shift, self.coefficients, out)
        return out


class CompiledAlgebra:
    """As `algebra.ArrayAlgebra`, where each thread has a share of the groups."""

    def __init__(self, operator: RelaxationOperator, n_threads: int = 1) -> None:
        self.operator, self.n_threads = operator, n_threads
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
        self._tables = [tables_of(block, operator.n_private) for block in operator.blocks]
        n_unknowns = operator.n_private + operator.n_shared
        self._factors = np.zeros((operator.n_groups, operator.n_private, n_unknowns))

    def shares(self, work: Callable[..., Any], count: int, *arguments: Any) -> list[Any]:
        """``work(*arguments, start, stop)`` for each thread's share of `count` things."""
        if self._pool is None or count < self.n_threads:
            return [work(*arguments, 0, count)]
        ends = [count * k // self.n_threads for k in range(self.n_threads + 1)]
        return list(self._pool.map(partial(work, *arguments), ends[:-1], ends[1:]))

    def invert(self, S: list[Array]) -> list[Array]:
        inverses = [np.empty_like(Sk) for Sk in S]
        for Sk, out in zip(S, inverses, strict=True):
            if not all(self.shares(cone.invert, len(Sk), Sk, out)):
                raise np.linalg.LinAlgError("a matrix of moments is not positive definite")
        return inverses

    def eliminate(self, X: list[Array], S_inverse: list[Array]) -> "CompiledElimination":
        operator, S = self.operator, len(self.operator.order)
        step = max(1, CHUNK_BYTES // (8 * S * S))

        def work(start: int, stop: int) -> Array:
            border = np.zeros((operator.n_shared, operator.n_shared))
            room = np.empty((min(step, stop - start), S, S))
            for low in range(start, stop, step):
                high = min(low + step, stop)
                M = room[: high - low]
                M.fill(0.0)
                for block, tables, Xk, Sk in zip(operator.blocks, self._tables, X, S_inverse, strict=True):
                    copies = block.copies_of(low, high)
                    for table in tables:
                        table.add(M, Xk, Sk, block.groups, copies, low)
                if not elimination.eliminate(M, NUDGE, low, self._factors, border):
                    raise np.linalg.LinAlgError("rounding has made the Newton matrix indefinite")
            return border

        border = sum(self.shares(work, operator.n_groups))
        return CompiledElimination(self, self._factors, np.triu(border) + np.triu(border, 1).T)

    def sandwich(self, X: Array, M: Array, S_inverse: Array) -> Array:
        out = np.empty_like(X)
        self.shares(cone.sandwich, len(X), X, M, S_inverse, out)
        return out

    def longest_step(self, S: list[Array], step: list[Array], fraction: float) -> float:
        longest = 1.0 / fraction
        for Sk, change in zip(S, step, strict=True):
            longest = min(self.shares(cone.longest_step, len(Sk), Sk, change, longest))
        return fraction * longest


@dataclass(frozen=True, eq=False)
class CompiledElimination:
    """As `elimination.Elimination`. The factors are overwritten by the next elimination."""

    algebra: CompiledAlgebra
    factors: Array
    border: Array

    def forward(self, private: Array, shared: Array) -> tuple[Array, Array]:
        private, half = np.ascontiguousarray(private), np.empty(private.shape)

        def work(start: int, stop: int) -> Array:
            reduced = np.zeros(len(shared))
            elimination.forward(self.factors, private, half, reduced, start, stop)
            return reduced

        return half, shared + sum(self.algebra.shares(work, len(half)))

    def backward(self, half: Array, shared: Array) -> Array:
        out = np.empty_like(half)
        shared = np.ascontiguousarray(shared)
        self.algebra.shares(elimination.backward, len(half), self.factors, half, shared, out)
        return out


@dataclass(frozen=True, eq=False)
class Table:
    """Which pairs of the monomials `basis` multiply to which moment: ``pairs[starts[a]:starts[a + 1]]`` to rows[a]."""

    basis: Index
    rows: Index
    starts: Index
    pairs: Index
    columns: Index
    localiser: tuple[Index, Array] | None

    def add(self, M: Array, X: Array, S_inverse: Array, groups: Index, copies: slice, first_group: int) -> None:
        """Add these rows' part of the Newton matrices of some groups."""
        where = (groups, copies.start, copies.stop, first_group)
        pattern = (self.basis, self.rows, self.starts, self.pairs, self.columns)
        if self.localiser is None:
            newton.add_moment_matrices(M, X, S_inverse, *where, *pattern)
        else:
            newton.add_localising_matrices(M, X, S_inverse, *where, *pattern, *self.localiser)


def tables_of(block: BlockOperator, n_private: int) -> list[Table]:
    """The tables of one block: one of private and one of shared rows (as in `BlockOperator`), or one of all rows."""
    every, whole = np.arange(block.n_localised, dtype=np.intp), np.arange(block.size, dtype=np.intp)
    if not block.is_plain:
        return [_table(block.hankel, every, whole, (block.shift, block.coefficients))]
    private, shared = every[:n_private], every[n_private:-1]
    tables = [_table(block.hankel, private, whole)] if len(private) else []
    if len(shared):
        tables.append(_table(block.hankel, shared, block.shared_basis))
    return tables


def _table(hankel: Index, rows: Index, basis: Index, localiser: tuple[Index, Array] | None = None) -> Table:
    columns = np.ascontiguousarray(hankel[np.ix_(basis, basis)])
    found = [np.argwhere(columns == row) for row in rows]
    starts = np.cumsum([0, *map(len, found)], dtype=np.intp)
    return Table(basis, rows, starts, np.ascontiguousarray(np.concatenate(found), dtype=np.intp), columns, localiser)
