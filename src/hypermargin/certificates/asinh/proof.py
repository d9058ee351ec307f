"""The parts of a proof by boxes (see `certificate`), and its frame as an exact linear map.

Margins are ``y x'Fw`` for w in the frame. The matrix F of doubles is taken as it is: no rounding in it can spoil the
proof, it only has to be invertible, and ``q`` outside is ``w'F'GFw = q(w) + w'Ew`` with a tiny matrix E that is
computed exactly.
"""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from flint import fmpq

from hypermargin.arithmetic import UNIT_ROUNDOFF as U
from hypermargin.arithmetic import rationals
from hypermargin.arrays import Array, row_blocks
from hypermargin.certificates.core.certificate import CertificateError
from hypermargin.certificates.core.plain import MATRIX, from_plain
from hypermargin.geometry.compiled.double_double import add, from_product, time_coordinates
from hypermargin.problems.margin import MarginProblem

#: Points of a leaf are multiples of 1/GRID of the half sides of its box, counted from its centre; weights of 1/WEIGHTS.
#: They decide how good a bound is, not whether it holds, and few digits make short files.
GRID, WEIGHTS = 2048, 1 << 32


@dataclass(frozen=True, eq=False)
class BoxLeaf:
    """What proves a leaf.

    Parameters
    ----------
    lam : float
        The share of the margin term that is used.
    points : (J, d + 1) array
        Where the envelopes of the losses are touched, in units of the grid.
    weights : (J,) array
        How much each of these points counts, in units of 1/WEIGHTS; what is left to 1 counts for a slope of 0.
    minimiser : (d + 1,) array
        Where the tangent plane to the quadratic is taken, in units of the grid.
    """

    lam: float
    points: Array
    weights: Array
    minimiser: Array

    def to_plain(self) -> list[Any]:
        """Points follow each other in one list."""
        return [self.lam, self.points.ravel().tolist(), self.weights.tolist(), self.minimiser.tolist()]

    @classmethod
    def from_plain(cls, data: Any) -> Self:
        lam, *numbers = data
        points, weights, minimiser = (from_plain(Array, values) for values in numbers)
        return cls(from_plain(float, lam), points.reshape(-1, minimiser.size), weights, minimiser)


@dataclass(frozen=True, eq=False)
class BoxProof:
    """A cover of all w, and the proof of each of its parts.

    Parameters
    ----------
    frame : (d + 1, d + 1) array
        The matrix F of the frame in which boxes are meant: margins are ``y x'Fw``. Up to the sign of its rows it is an
        isometry, as good as doubles hold one.
    half_side : float
        Half the side of the first box, a cube around w = 0: a power of two.
    cutoff : float
        No more than this is proved: w at which a single sample costs it are left out of account.
    settled : float
        Samples whose quadratic is below their loss by at most this much a unit of cost are carried down the tree. Any
        number will do; it decides what the check costs, and how good the bound is.
    leaf_settled : float
        The same for the samples of a leaf, which nothing inherits.
    directions : tuple of tuple of int
        For each face of the cube (axis 0 at -1 and +1, axis 1, ...) its pieces in preorder: the axis a piece is halved
        across, or -1 for one that is proved.
    tree : tuple of int
        The boxes in preorder in the same way.
    leaves : tuple of BoxLeaf
        One for each -1 of the tree, in its order.
    whole_intervals : bool
        Whether only samples whose interval the cutoff has not shortened are handed down as settled. Proofs of old did
        not ask for that.
    """

    frame: Array = field(metadata=MATRIX)
    half_side: float
    cutoff: float
    settled: float
    leaf_settled: float
    directions: tuple[tuple[int, ...], ...]
    tree: tuple[int, ...]
    leaves: tuple[BoxLeaf, ...]
    whole_intervals: bool = False


class Frame:
    """`matrix` is F; `defect` bounds the size of every entry of E."""

    def __init__(self, matrix: Array) -> None:
        if not np.isfinite(matrix).all():
            raise CertificateError("the certificate holds numbers that are not finite")
        self.matrix = matrix
        self.defect = float(max(abs(value) for value in _defects(self.matrix))) * (1.0 + 1e-15)
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


def _defects(matrix: Array) -> list[fmpq]:
    """The entries of ``F'GF - G``, exactly."""
    rows = [rationals(row) for row in matrix.tolist()]
    k = len(rows)
    signs = [-1] + [1] * (k - 1)
    return [
        sum((signs[i] * rows[i][a] * rows[i][b] for i in range(k)), fmpq(-signs[a] if a == b else 0))
        for a in range(k)
        for b in range(a, k)
    ]
