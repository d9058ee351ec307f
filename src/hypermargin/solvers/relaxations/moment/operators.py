"""The linear maps of a relaxation on batches of small matrices, written against the array API.

Only `take`, `matmul` and elementwise operations are used, so NumPy, PyTorch (CPU and GPU) and array-api-strict run the
same code. One-hot incidence matrices stand in for scatter-adds, which the array API lacks and BLAS does well.
"""

from typing import Any

import numpy as np

from hypermargin.solvers.relaxations.moment.patterns import HankelPattern
from hypermargin.solvers.relaxations.moment.relaxation import Block, Relaxation


class BlockOperator:
    """One block's map from moments to matrices, its adjoint, and its part of the Newton matrix.

    Moments come in the order private, shared, constant (see `RelaxationOperator`).
    """

    def __init__(self, block: Block, position: np.ndarray, n_groups: int, n_private: int, xp: Any, device: Any) -> None:
        self.xp, self.size, self.copies, self.name = xp, block.size, block.copies, block.name
        self.identity_groups = block.copies == n_groups and bool(np.all(block.groups == np.arange(n_groups)))
        self.groups, self.n_groups = np.ascontiguousarray(block.groups, dtype=np.intp), n_groups
        n_localised, n_terms = block.shift.shape
        r = block.size

        def array(values: np.ndarray) -> Any:
            return xp.asarray(values, device=device)

        shift, hankel = position[block.shift], block.hankel
        # The moment matrix: its localised moments are the moments themselves, so take them in the operator's order.
        self.is_plain = n_terms == 1 and bool(np.all(block.coefficients == 1.0)) and n_localised == len(position)
        if self.is_plain:
            hankel, shift = shift[hankel, 0], np.arange(n_localised)[:, None]
        one_hot = np.zeros((n_terms, n_localised, len(position)))
        for p in range(n_terms):
            one_hot[p, np.arange(n_localised), shift[:, p]] = 1.0
        incidence = np.zeros((r * r, n_localised))
        incidence[np.arange(r * r), hankel.ravel()] = 1.0
        self.n_localised, self.n_terms, self.n_moments = n_localised, n_terms, len(position)
        self.hankel, self.shift = (
            np.ascontiguousarray(hankel, dtype=np.intp),
            np.ascontiguousarray(shift, dtype=np.intp),
        )
        # The basis begins with 1, so row 0 of its products is the basis itself.
        self.shared_basis = np.flatnonzero(hankel[0] >= n_private)
        self._hankel = array(hankel.ravel())
        self._patterns = self._make_patterns(hankel, n_private, xp, device)
        self._incidence = array(incidence)
        self._shift = array(shift.ravel())
        self._one_hot = array(one_hot.reshape(n_terms, -1))
        self._one_hot_inner = array(np.ascontiguousarray(one_hot[:, :, :-1]).reshape(n_terms, -1))
        self.coefficients = array(np.ascontiguousarray(block.coefficients))
        self._group_index = array(block.groups)

    def localisers(self, part: slice = slice(None)) -> Any:
        """The matrices taking a group's moments, the constant left out, to the localised ones; (copies, Y, S - 1)."""
        maps = self.xp.matmul(self.coefficients[part, :], self._one_hot_inner)
        return self.xp.reshape(maps, (-1, self.n_localised, self.n_moments - 1))

    def matrices(self, z: Any) -> Any:
        """Moments (N, S) to matrices (copies, r, r)."""
        xp = self.xp
        local = z if self.identity_groups else xp.take(z, self._group_index, axis=0)
        if self.is_plain:
            y = local
        else:
            shifted = xp.reshape(xp.take(local, self._shift, axis=1), (self.copies, self.n_localised, self.n_terms))
            y = xp.matmul(shifted, self.coefficients[:, :, None])[:, :, 0]
        return xp.reshape(xp.take(y, self._hankel, axis=1), (self.copies, self.size, self.size))

    def adjoint(self, X: Any) -> Any:
        """Matrices (copies, r, r) to coefficients (N, S)."""
        xp = self.xp
        y = xp.matmul(xp.reshape(X, (self.copies, -1)), self._incidence)
        if self.is_plain:
            return y
        terms = xp.reshape(self.coefficients[:, :, None] * y[:, None, :], (self.copies, -1))
        out = xp.matmul(terms, xp.reshape(self._one_hot, (-1, self.n_moments)))
        return out if self.identity_groups else self.sum_by_group(out, 0, self.n_groups)

    def copies_of(self, start: int, stop: int) -> slice:
        """Which of this block's matrices belong to groups start to stop."""
        if self.identity_groups:
            return slice(start, stop)
        return slice(int(np.searchsorted(self.groups, start)), int(np.searchsorted(self.groups, stop)))

    def _make_patterns(self, hankel: np.ndarray, n_private: int, xp: Any, device: Any) -> list[HankelPattern]:
        """One pattern of all localised moments; for the moment matrix two, one of private and one of shared rows.

        Shared moments are products of shared monomials only, so the second is much smaller than its part of the whole.
        """
        every, basis = np.arange(self.n_localised), np.arange(self.size)
        if not self.is_plain:
            return [HankelPattern(hankel, every, every, basis, xp, device)]
        private, shared, unknown = every[:n_private], every[n_private:-1], every[:-1]
        if not (len(private) and len(shared)):
            return [HankelPattern(hankel, unknown, unknown, basis, xp, device)]
        return [
            HankelPattern(hankel, private, unknown, basis, xp, device),
            HankelPattern(hankel, shared, shared, self.shared_basis, xp, device),
        ]

    def hankel_schur(self, X: Any, S_inverse: Any) -> Any:
        """``tr(E_a X E_b S^-1)`` for the patterns E of localised moments; shape (k, r, r) to (k, Y, Y).

        For the moment matrix the constant is left out: (k, S - 1, S - 1).
        """
        xp = self.xp
        first, *rest = (pattern.products(X, S_inverse) for pattern in self._patterns)
        if not rest:
            return first
        coupling = xp.permute_dims(first[:, :, first.shape[1] :], (0, 2, 1))
        return xp.concat((first, xp.concat((coupling, rest[0]), axis=2)), axis=1)

    def sum_by_group(self, values: Any, start: int, stop: int, first_copy: int = 0) -> Any:
        """Sum the rows of `values` (one per copy, from `first_copy` on) for each of the groups start to stop."""
        xp = self.xp
        out = xp.zeros((stop - start, *values.shape[1:]), dtype=values.dtype, device=values.device)
        groups = self.groups[first_copy : first_copy + values.shape[0]]
        for group in np.unique(groups):
            low, high = int(np.searchsorted(groups, group)), int(np.searchsorted(groups, group, side="right"))
            out[int(group) - start, ...] = xp.sum(values[low:high, ...], axis=0)
        return out


class RelaxationOperator:
    """All blocks of a relaxation, with the moments of a group in the order private, shared, constant."""

    def __init__(
        self, relaxation: Relaxation, xp: Any, device: Any = None, block_type: type[BlockOperator] = BlockOperator
    ) -> None:
        private, shared = np.flatnonzero(relaxation.private), np.flatnonzero(relaxation.shared)
        self.order = np.concatenate((private, shared, [0]))
        self.n_private, self.n_shared, self.n_groups = len(private), len(shared), relaxation.n_groups
        position = np.empty(relaxation.n_moments, dtype=np.int64)
        position[self.order] = np.arange(relaxation.n_moments)
        self.xp, self.device = xp, device
        self.blocks = [
            block_type(block, position, relaxation.n_groups, len(private), xp, device) for block in relaxation.blocks
        ]
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
        total = self.blocks[0].adjoint(matrices[0])
        for block, X in zip(self.blocks[1:], matrices[1:], strict=True):
            total = total + block.adjoint(X)
        sums = self.xp.sum(total[:, self.n_private :], axis=0)
        return total[:, : self.n_private], sums[:-1], float(sums[-1])


def symmetric(matrices: Any, xp: Any) -> Any:
    """``(A + A')/2`` of a batch."""
    return 0.5 * (matrices + xp.permute_dims(matrices, (0, 2, 1)))
