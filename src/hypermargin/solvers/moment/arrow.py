"""The Newton system of the interior-point method: an arrow, one small block a group and a border of shared unknowns.

Each group's private unknowns are eliminated by a batched Cholesky factorisation; what remains of all groups adds up to
one system in the shared unknowns. Cost and memory are linear in the number of groups.
"""

from typing import Any

from hypermargin.solvers.moment.operators import RelaxationOperator

#: Bytes that the largest temporary array of the assembly may take; it sets how many groups are handled at a time.
CHUNK_BYTES = 2**22


class ArrowSystem:
    """Factorisation of ``M = A* (X . S^-1) A`` at one iterate; `solve` then costs two passes over the groups."""

    def __init__(self, operator: RelaxationOperator, X: list[Any], S_inverse: list[Any]) -> None:
        self.operator, self.X, self.S_inverse = operator, X, S_inverse
        xp, n_private, n_shared = operator.xp, operator.n_private, operator.n_shared
        parts: list[tuple[Any, Any]] = []
        border: Any = 0.0
        step = self._groups_at_a_time()
        for start in range(0, operator.n_groups, step):
            M = self._newton_matrices(start, min(start + step, operator.n_groups))
            scale = 1.0 / xp.sqrt(xp.linalg.diagonal(M)[:, :-1])
            M = M[:, :-1, :-1] * scale[:, :, None] * scale[:, None, :]
            lower_inverse = xp.linalg.inv(xp.linalg.cholesky(_nudged(M[:, :n_private, :n_private], xp)))
            coupling = xp.matmul(lower_inverse, M[:, :n_private, n_private:])
            rest = M[:, n_private:, n_private:] - xp.matmul(xp.permute_dims(coupling, (0, 2, 1)), coupling)
            unscale = 1.0 / scale[:, n_private:]
            border = border + xp.sum(rest * unscale[:, :, None] * unscale[:, None, :], axis=0)
            parts.append((lower_inverse * scale[:, None, :n_private], coupling * unscale[:, None, :]))
        self.lower_inverse = xp.concat([part[0] for part in parts])
        self.coupling = xp.concat([part[1] for part in parts])
        if n_shared:
            self.border_scale = 1.0 / xp.sqrt(xp.linalg.diagonal(border))
            self.border = _nudged(border * self.border_scale[:, None] * self.border_scale[None, :], xp)

    def solve(self, private: Any, shared: Any, refinements: int = 2) -> tuple[Any, Any]:
        """``M x = rhs``, with iterative refinement: late systems are ill-conditioned."""
        x_private, x_shared = self._solve_once(private, shared)
        for _ in range(refinements):
            done_private, done_shared = self.apply(x_private, x_shared)
            more_private, more_shared = self._solve_once(private - done_private, shared - done_shared)
            x_private, x_shared = x_private + more_private, x_shared + more_shared
        return x_private, x_shared

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
        total: Any = None
        for block, X, Si in zip(self.operator.blocks, self.X, self.S_inverse, strict=True):
            part = block.schur(X, Si, start, stop)
            if part is not None:
                total = part if total is None else total + part
        return symmetric(total, self.operator.xp)

    def _groups_at_a_time(self) -> int:
        bytes_a_group = max(8 * block.n_localised * block.size**2 for block in self.operator.blocks)
        return max(1, CHUNK_BYTES // bytes_a_group)


def symmetric(matrices: Any, xp: Any) -> Any:
    """``(A + A')/2`` of a batch."""
    return 0.5 * (matrices + xp.permute_dims(matrices, (0, 2, 1)))


def _nudged(matrices: Any, xp: Any, amount: float = 1e-14) -> Any:
    """Matrices with unit diagonal, the diagonal raised by rounding's own size so that Cholesky does not meet zero."""
    size = matrices.shape[-1]
    return matrices + amount * xp.eye(size, dtype=matrices.dtype, device=matrices.device)
