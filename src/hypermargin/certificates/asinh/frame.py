"""The frame of an asinh certificate as an exact linear map, and how far it is from an isometry.

Margins are ``y x'Fw`` for w in the frame. The matrix F of doubles is taken as it is: no rounding in it can spoil the
proof, it only has to be invertible, and ``q`` outside is ``w'F'GFw = q(w) + w'Ew`` with a tiny matrix E that is
computed exactly.
"""

from fractions import Fraction

import numpy as np

from hypermargin.arrays import Array, row_blocks
from hypermargin.certificates.base import CertificateError
from hypermargin.certificates.rounding import rounding_factor
from hypermargin.geometry.lorentz import fixed_order_product
from hypermargin.problems.margin import MarginProblem


class Frame:
    """`matrix` is F; `defect` bounds the size of every entry of E."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        self.defect = float(max(map(abs, _defects(self.matrix)))) * (1.0 + 1e-15)
        if not self.defect * len(self.matrix) < 0.25:  # then G + E is invertible, and F with it
            raise CertificateError("the frame of the certificate is no isometry, or too far out for doubles")

    def samples(self, problem: MarginProblem) -> tuple[Array, Array]:
        """The points z_i in the frame, shape (n, d + 1), and for each a bound of its entries' errors, shape (n,)."""
        Z = np.empty(problem.X.shape)
        doubt = np.empty(problem.n_samples)
        factor = rounding_factor(problem.dim + 3)
        for rows in row_blocks(problem.n_samples):
            X = problem.X[rows]
            Z[rows] = problem.y[rows, None] * fixed_order_product(X, self.matrix)
            doubt[rows] = (1.0 + 1e-9) * factor * (np.abs(X) @ np.abs(self.matrix)).max(axis=1)
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
