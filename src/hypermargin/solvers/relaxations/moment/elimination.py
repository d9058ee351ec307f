"""The private unknowns of all groups, eliminated from the Newton system in batches; array-API code for any library."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from hypermargin.solvers.relaxations.moment.operators import RelaxationOperator, symmetric

#: Bytes that the largest temporary array of the assembly may take; it sets how many groups are handled at a time. On a
#: processor it should stay in the cache; an accelerator would spend its time on launching thousands of small calls.
CHUNK_BYTES, ACCELERATOR_CHUNK_BYTES = 2**22, 2**30


class Elimination:
    """Batched Cholesky factors of the groups' private blocks, their coupling to the shared unknowns, and the rest.

    `border` is what remains of ``M = A* (X . S^-1) A`` in the shared unknowns.
    """

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
        self.border = parts[0][2]
        for part in parts[1:]:
            self.border = self.border + part[2]

    def forward(self, private: Any, shared: Any) -> tuple[Any, Any]:
        """Half-solved private unknowns, and the right-hand side that is left for the shared ones."""
        xp = self.operator.xp
        half = xp.matmul(self.lower_inverse, private[:, :, None])
        if self.operator.n_shared:
            shared = shared - xp.sum(xp.matmul(xp.permute_dims(self.coupling, (0, 2, 1)), half), axis=0)[:, 0]
        return half, shared

    def backward(self, half: Any, shared: Any) -> Any:
        """The private unknowns once the shared ones are known."""
        xp = self.operator.xp
        if self.operator.n_shared:
            half = half - xp.matmul(self.coupling, shared[:, None])
        return xp.matmul(xp.permute_dims(self.lower_inverse, (0, 2, 1)), half)[:, :, 0]

    def _eliminate(self, chunk: tuple[int, int]) -> tuple[Any, Any, Any]:
        """For some groups: inverse Cholesky factors of their private blocks, their coupling, and what is left over."""
        xp, n_private = self.operator.xp, self.operator.n_private
        M = self._newton_matrices(*chunk)
        scale = 1.0 / xp.sqrt(positive(xp.linalg.diagonal(M), xp))
        M = M * scale[:, :, None] * scale[:, None, :]
        lower_inverse = inverse_root(nudged(M[:, :n_private, :n_private], xp), xp)
        coupling = xp.matmul(lower_inverse, M[:, :n_private, n_private:])
        rest = M[:, n_private:, n_private:] - xp.matmul(xp.permute_dims(coupling, (0, 2, 1)), coupling)
        unscale = 1.0 / scale[:, n_private:]
        left_behind = xp.sum(rest * unscale[:, :, None] * unscale[:, None, :], axis=0)
        return lower_inverse * scale[:, None, :n_private], coupling * unscale[:, None, :], left_behind

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
        on_processor = self.operator.device is None or str(self.operator.device) == "cpu"
        return max(1, (CHUNK_BYTES if on_processor else ACCELERATOR_CHUNK_BYTES) // bytes_a_group)


#: What is added to a unit diagonal, rounding's own size, so that Cholesky does not meet zero.
NUDGE = 1e-14


def inverse_root(matrices: Any, xp: Any) -> Any:
    """Inverses of the lower Cholesky factors of a batch, or a LinAlgError where one is not positive definite."""
    lower = xp.linalg.cholesky(matrices)
    if not hasattr(xp.linalg, "solve_triangular"):  # it is not in the array API, but PyTorch has it
        return xp.linalg.inv(lower)
    identity = xp.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device)
    return xp.linalg.solve_triangular(lower, xp.broadcast_to(identity, lower.shape), upper=False)


def positive(diagonal: Any, xp: Any) -> Any:
    """The diagonal of a positive definite matrix, or the error that a Cholesky factorisation would raise."""
    if not bool(xp.all(diagonal > 0.0)):
        raise np.linalg.LinAlgError("rounding has made the Newton matrix indefinite")
    return diagonal


def nudged(matrices: Any, xp: Any) -> Any:
    """Matrices with unit diagonal, the diagonal raised by `NUDGE`."""
    size = matrices.shape[-1]
    return matrices + NUDGE * xp.eye(size, dtype=matrices.dtype, device=matrices.device)
