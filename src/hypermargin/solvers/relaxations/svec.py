"""Symmetric matrices as vectors that keep the inner product: ``svec(A) . svec(B) = tr(AB)``.

The order is that of Clarabel's triangle cone: the upper triangle column by column, off-diagonal entries times sqrt 2.
"""

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array


def triangle(size: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Rows, columns and weights of the entries of svec, each of shape (size (size + 1) / 2,)."""
    columns, rows = np.tril_indices(size)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2.0))


def svec(matrices: Array) -> Array:
    """Shape (..., r, r), symmetric, to (..., r (r + 1) / 2)."""
    rows, columns, weights = triangle(matrices.shape[-1])
    return weights * matrices[..., rows, columns]


def smat(vectors: Array) -> Array:
    """The inverse of `svec`: shape (..., r (r + 1) / 2) to (..., r, r)."""
    size = round((np.sqrt(8.0 * vectors.shape[-1] + 1.0) - 1.0) / 2.0)
    rows, columns, weights = triangle(size)
    matrices = np.zeros((*vectors.shape[:-1], size, size))
    matrices[..., rows, columns] = vectors / weights
    matrices[..., columns, rows] = vectors / weights
    return matrices
