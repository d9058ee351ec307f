"""Ranks of moment matrices and the flat-extension property (Curto and Fialkow), which the paper did not find."""

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.solvers.relaxations.moment.relaxation import Relaxation


@dataclass(frozen=True, eq=False)
class Flatness:
    """`ranks[i, t]` is the rank of the order-t moment matrix of group i, t = 0 ... order."""

    ranks: NDArray[np.int64]
    holds: bool


def flatness(relaxation: Relaxation, moments: Array, rtol: float = 1e-4) -> Flatness:
    """Numerical ranks, eigenvalues below `rtol` of the largest counting as zero, and whether the extension is flat.

    Flat means that the rank does not rise from order ``kappa - s`` to kappa in any group, s being half the largest
    degree of a constraint. A flat solution of rank 1 is a point, and the relaxation is then exact.
    """
    n_variables = relaxation.exponents.shape[1]
    M = relaxation.blocks[0].matrices(moments)
    ranks = np.empty((len(M), relaxation.order + 1), dtype=np.int64)
    for t in range(relaxation.order + 1):
        size = comb(n_variables + t, t)
        eigenvalues = np.linalg.eigvalsh(M[:, :size, :size])
        ranks[:, t] = np.sum(eigenvalues > rtol * eigenvalues[:, -1:], axis=1)
    return Flatness(ranks, bool(np.all(ranks[:, -1] == ranks[:, -1 - relaxation.half_degree])))
