"""Products ``tr(E_c X E_d S^-1)`` of Hankel patterns: what a block of moments contributes to the Newton matrix.

E_c has a one wherever two monomials of the basis multiply to the monomial c. So ``X E_c`` is X with its columns moved,
and summing a matrix over E_d is a product with a one-hot matrix.
"""

from typing import Any

import numpy as np

from hypermargin.solvers.relaxations.moment.relaxation import Index


class HankelPattern:
    """The products for c among `rows`, d among `columns` and monomials of the basis among `basis`."""

    def __init__(self, hankel: Index, rows: Index, columns: Index, basis: Index, xp: Any, device: Any) -> None:
        size, r = hankel.shape[0], len(basis)
        sums = hankel[np.ix_(basis, basis)]
        place = np.full(int(hankel.max()) + 1, -1)
        place[rows] = np.arange(len(rows))
        # partner[c, b]: the monomial a with a + b = c, or r (a column of zeros) where there is none.
        partner = np.full((len(rows), r), r)
        for a in range(r):
            known = place[sums[a]] >= 0
            partner[place[sums[a][known]], np.flatnonzero(known)] = a
        gather = np.arange(r)[None, :, None] * (r + 1) + partner[:, None, :]
        incidence = (sums.reshape(-1, 1) == columns[None, :]).astype(np.float64)
        inner = None if r == size else xp.asarray((basis[:, None] * size + basis[None, :]).ravel(), device=device)
        self.xp, self._size, self._n_rows, self._inner = xp, r, len(rows), inner
        self._gather = xp.asarray(gather.ravel(), device=device)
        self._incidence = xp.asarray(incidence, device=device)

    def products(self, X: Any, S_inverse: Any) -> Any:
        """Shape (k, size, size) twice to (k, rows, columns)."""
        xp, r, count = self.xp, self._size, X.shape[0]
        if self._inner is not None:
            X, S_inverse = (
                xp.reshape(xp.take(xp.reshape(M, (count, -1)), self._inner, axis=1), (count, r, r))
                for M in (X, S_inverse)
            )
        padded = xp.concat((X, xp.zeros((count, r, 1), dtype=X.dtype, device=X.device)), axis=2)
        padded = xp.reshape(padded, (count, r * (r + 1)))
        shifted = xp.reshape(xp.take(padded, self._gather, axis=1), (count, self._n_rows * r, r))
        product = xp.reshape(xp.matmul(shifted, S_inverse), (count, self._n_rows, r * r))
        return xp.matmul(product, self._incidence)
