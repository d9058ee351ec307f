"""The Newton system of the interior-point method: an arrow, one small block a group and a border of shared unknowns.

Each group's private unknowns are eliminated by a batched Cholesky factorisation; what remains of all groups adds up to
one system in the shared unknowns. Cost and memory are linear in the number of groups.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from hypermargin.solvers.moment.operators import RelaxationOperator

#: Bytes that the largest temporary array of the assembly may take; it sets how many groups are handled at a time.
CHUNK_BYTES = 2**22


class ArrowSystem:
    """Factorisation of ``M = A* (X . S^-1) A`` at one iterate; `solve` then costs two passes over the groups."""

    def __init__(self, operator: RelaxationOperator, X: list[Any], S_inverse: list[Any], n_threads: int = 1) -> None:
        self.operator, self.X, self.S_inverse = operator, X, S_inverse
        xp, n = operator.xp, operator.n_groups
        step = self._groups_at_a_time()
        chunks = [(start, min(start + step, n)) for start in range(0, n, step)]
        if n_threads > 1 and len(chunks) > 1:
            with ThreadPoolExecutor(n_threads) as pool:
                parts = list(pool.map(self._eliminate, chunks))
        else:
            parts = [self._eliminate(chunk) for chunk in chunks]
        self.lower_inverse = xp.concat([part[0] for part in parts])
        self.coupling = xp.concat([part[1] for part in parts])
        if operator.n_shared:
            border = parts[0][2]
            for part in parts[1:]:
                border = border + part[2]
            self.border_scale = 1.0 / xp.sqrt(_positive(xp.linalg.diagonal(border), xp))
            self.border = _nudged(border * self.border_scale[:, None] * self.border_scale[None, :], xp)

    def _eliminate(self, chunk: tuple[int, int]) -> tuple[Any, Any, Any]:
        """For some groups: inverse Cholesky factors of their private blocks, their coupling, and what is left over."""
        xp, n_private = self.operator.xp, self.operator.n_private
        M = self._newton_matrices(*chunk)
        scale = 1.0 / xp.sqrt(_positive(xp.linalg.diagonal(M), xp))
        M = M * scale[:, :, None] * scale[:, None, :]
        lower_inverse = xp.linalg.inv(xp.linalg.cholesky(_nudged(M[:, :n_private, :n_private], xp)))
        coupling = xp.matmul(lower_inverse, M[:, :n_private, n_private:])
        rest = M[:, n_private:, n_private:] - xp.matmul(xp.permute_dims(coupling, (0, 2, 1)), coupling)
        unscale = 1.0 / scale[:, n_private:]
        left_behind = xp.sum(rest * unscale[:, :, None] * unscale[:, None, :], axis=0)
        return lower_inverse * scale[:, None, :n_private], coupling * unscale[:, None, :], left_behind

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

    def _size(self, private: Any, shared: Any) -> float:
        """Largest entry of a right-hand side."""
        xp = self.operator.xp
        parts = [values for values in (private, shared) if values.shape[-1]]
        return max(float(xp.max(xp.abs(values))) for values in parts)

    def apply(self, private: Any, shared: Any) -> tuple[Any, Any]:
        """``M x`` without M: from moments to matrices, scaled, and back."""
        xp = self.operator.xp
        steps = self.operator.matrices(private, shared)
        scaled = [symmetric(X @ step @ Si, xp) for X, step, Si in zip(self.X, steps, self.S_inverse, strict=True)]
        out_private, out_shared, _ = self.operator.adjoint(scaled)
        return out_private, out_shared

    def _solve_once(self, private: Any, shared: Any) -> tuple[Any, Any]:
        xp = self.operator.xp
        half = xp.matmul(self.lower_inverse, private[:, :, None])
        x_shared = shared
        if self.operator.n_shared:
            reduced = shared - xp.sum(xp.matmul(xp.permute_dims(self.coupling, (0, 2, 1)), half), axis=0)[:, 0]
            solved = xp.linalg.solve(self.border, (self.border_scale * reduced)[:, None])[:, 0]
            x_shared = self.border_scale * solved
            half = half - xp.matmul(self.coupling, x_shared[:, None])
        return xp.matmul(xp.permute_dims(self.lower_inverse, (0, 2, 1)), half)[:, :, 0], x_shared

    def _newton_matrices(self, start: int, stop: int) -> Any:
        """``M`` of some groups, without the row and column of the constant moment."""
        xp = self.operator.xp
        total: Any = 0.0
        maps, scaled = [], []
        for block, X, Si in zip(self.operator.blocks, self.X, self.S_inverse, strict=True):
            copies = block.copies_of(start, stop)
            if copies.start == copies.stop:
                continue
            hankel = block.hankel_schur(X[copies, ...], Si[copies, ...])
            if block.is_plain:
                total = total + hankel
                continue
            localiser = block.localisers(copies)
            product = xp.matmul(hankel, localiser)
            if block.identity_groups:  # one product for all of these blocks, below
                maps.append(localiser)
                scaled.append(product)
            else:
                part = xp.matmul(xp.permute_dims(localiser, (0, 2, 1)), product)
                total = total + block.sum_by_group(part, start, stop, copies.start)
        if maps:
            stacked = xp.permute_dims(xp.concat(maps, axis=1), (0, 2, 1))
            total = total + xp.matmul(stacked, xp.concat(scaled, axis=1))
        return symmetric(total, xp)

    def _groups_at_a_time(self) -> int:
        bytes_a_group = max(8 * block.n_localised * block.size**2 for block in self.operator.blocks)
        return max(1, CHUNK_BYTES // bytes_a_group)


def symmetric(matrices: Any, xp: Any) -> Any:
    """``(A + A')/2`` of a batch."""
    return 0.5 * (matrices + xp.permute_dims(matrices, (0, 2, 1)))


def _positive(diagonal: Any, xp: Any) -> Any:
    """The diagonal of a positive definite matrix, or the error that a Cholesky factorisation would raise."""
    if not bool(xp.all(diagonal > 0.0)):
        raise np.linalg.LinAlgError("rounding has made the Newton matrix indefinite")
    return diagonal


def _nudged(matrices: Any, xp: Any, amount: float = 1e-14) -> Any:
    """Matrices with unit diagonal, the diagonal raised by rounding's own size so that Cholesky does not meet zero."""
    size = matrices.shape[-1]
    return matrices + amount * xp.eye(size, dtype=matrices.dtype, device=matrices.device)
