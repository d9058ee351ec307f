"""The frame of an asinh certificate as an exact linear map, and how far it is from an isometry.

Margins are ``y x'Fw`` for w in the frame. The matrix F of doubles is taken as it is: no rounding in it can spoil the
proof, it only has to be invertible, and ``q`` outside is ``w'F'GFw = q(w) + w'Ew`` with a tiny matrix E that is
computed exactly.
"""

from fractions import Fraction

import numpy as np

from hypermargin.arrays import Array, row_blocks
from hypermargin.certificates.base import CertificateError
from hypermargin.certificates.rounding import UNIT_ROUNDOFF as U
from hypermargin.kernels.double_double import add, from_product, time_coordinates
from hypermargin.problems.margin import MarginProblem


class Frame:
    """`matrix` is F; `defect` bounds the size of every entry of E."""

    def __init__(self, matrix: Array) -> None:
        if not np.isfinite(matrix).all():
            raise CertificateError("the certificate holds numbers that are not finite")
        self.matrix = matrix
        self.defect = float(max(map(abs, _defects(self.matrix)))) * (1.0 + 1e-15)
        if not self.defect * len(self.matrix) < 0.25:  # then G + E is invertible, and F with it
            raise CertificateError("the frame of the certificate is no isometry, or too far out for doubles")

    def samples(self, problem: MarginProblem) -> tuple[Array, Array]:
        """The points z_i in the frame, shape (n, d + 1), and for each a bound of its entries' errors, shape (n,).

        Far from the origin the products cancel: they are taken in double-double arithmetic. Each of the ``2 d + 8``
        operations behind an entry errs by less than 2^-101 of the size of its terms.
        """
        Z = np.empty(problem.X.shape)
        doubt = np.empty(problem.n_samples)
        for rows in row_blocks(problem.n_samples):
            space = problem.X[rows, 1:]
            time, _ = time_coordinates(space)
            for j, column in enumerate(self.matrix.T.tolist()):
                entry = add(from_product(time.high, column[0]), from_product(time.low, column[0]))
                for axis, factor in zip(space.T, column[1:], strict=True):
                    entry = add(entry, from_product(axis, factor))
                Z[rows, j] = problem.y[rows] * entry.high
            sizes = (np.abs(problem.X[rows]) @ np.abs(self.matrix)).max(axis=1)
            rounding = U * np.abs(Z[rows]).max(axis=1) + (2 * problem.dim + 8) * 2.0**-101 * sizes
            doubt[rows] = (1.0 + 1e-9) * rounding
        return Z, doubt


def _defects(matrix: Array) -> list[Fraction]:
    """The entries of ``F'GF - G``, exactly."""
    rows = [[Fraction(value) for value in row] for row in matrix.tolist()]
    k = len(rows)
    signs = [-1] + [1] * (k - 1)
    return [
        sum((signs[i] * rows[i][a] * rows[i][b] for i in range(k)), Fraction(-signs[a] if a == b else 0))
        for a in range(k)
        for b in range(a, k)
    ]
