"""Solve a relaxation with Clarabel: slow, general, written by others, and so a judge of the structured method."""

from collections.abc import Iterator

import clarabel
import numpy as np
from scipy import sparse

from hypermargin.arrays import Array
from hypermargin.solvers.common.conic import ConicSolution, solve_conic
from hypermargin.solvers.relaxations.moment.relaxation import Block, Index, Relaxation
from hypermargin.solvers.relaxations.svec import smat, triangle


def global_columns(relaxation: Relaxation) -> Index:
    """The unknown behind each moment, shape (N, S): shared ones first, then group by group; -1 for the constant."""
    shared, private, n = relaxation.shared, relaxation.private, relaxation.n_groups
    columns = np.full((n, relaxation.n_moments), -1, dtype=np.int64)
    n_shared, n_private = int(shared.sum()), int(private.sum())
    columns[:, shared] = np.arange(n_shared)
    columns[:, private] = n_shared + np.arange(n * n_private).reshape(n, n_private)
    return columns


def solve_by_clarabel(
    relaxation: Relaxation, *, tol: float, max_iter: int, time_limit: float, verbose: bool
) -> tuple[Array, tuple[Array, ...], ConicSolution]:
    """Moments (N, S), Gram matrices block by block, and Clarabel's word on them."""
    columns = global_columns(relaxation)
    n_unknowns = int(columns.max()) + 1
    c = np.zeros(n_unknowns)
    np.add.at(c, columns[:, 1:], relaxation.objective[:, 1:])
    parts = [_block_rows(block, columns, n_unknowns) for block in relaxation.blocks]
    A = sparse.vstack([part[0] for part in parts], format="csc")
    b = np.concatenate([part[1] for part in parts])
    cones = [cone for block in relaxation.blocks for cone in _cones(block)]
    solved = solve_conic(c, A, b, cones, tol=tol, max_iter=max_iter, time_limit=time_limit, verbose=verbose)
    moments = np.where(columns >= 0, solved.x[columns], 1.0)
    return moments, tuple(_split(relaxation, solved.dual)), solved


def _block_rows(block: Block, columns: Index, n_unknowns: int) -> tuple[sparse.csc_matrix, Array]:
    """``A, b`` with ``b - A u = svec(B(u))`` for all copies of a block."""
    rows, cols, weights = triangle(block.size)
    moments = block.shift[block.hankel[rows, cols]]  # (T, P)
    T, P = moments.shape
    unknown = columns[block.groups][:, moments]  # (copies, T, P)
    values = np.broadcast_to(block.coefficients[:, None, :] * weights[None, :, None], (block.copies, T, P))
    row = np.broadcast_to(np.arange(block.copies * T).reshape(block.copies, T, 1), unknown.shape)
    free = unknown >= 0
    A = sparse.csc_matrix((-values[free], (row[free], unknown[free])), shape=(block.copies * T, n_unknowns))
    b = np.zeros(block.copies * T)
    np.add.at(b, row[~free], values[~free])
    return A, b


def _cones(block: Block) -> list:
    if block.size == 1:
        return [clarabel.NonnegativeConeT(block.copies)]
    return [clarabel.PSDTriangleConeT(block.size)] * block.copies


def _split(relaxation: Relaxation, dual: Array) -> Iterator[Array]:
    """The multipliers of each block as matrices, shape (copies, size, size)."""
    start = 0
    for block in relaxation.blocks:
        length = block.size * (block.size + 1) // 2
        yield smat(dual[start : start + block.copies * length].reshape(block.copies, length))
        start += block.copies * length
