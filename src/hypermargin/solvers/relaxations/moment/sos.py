"""The sum-of-squares side: what the Gram matrices prove, with the error of their identity accounted for.

Gram matrices X make the polynomial ``sum_blocks g [v]' X [v]``, which is non-negative wherever the constraints hold. If
it equals ``objective - gamma`` then ``f >= gamma``. In floating point it equals it up to a residual polynomial r.
"""

from dataclasses import dataclass

import numpy as np

from hypermargin.arrays import Array
from hypermargin.solvers.relaxations.moment.relaxation import Relaxation


@dataclass(frozen=True, eq=False)
class SumOfSquares:
    """Multipliers as positive semidefinite Gram matrices, and the identity ``objective = gamma + sos + residual``.

    Attributes
    ----------
    grams : dict of name to (copies, size, size) array
        "moment" belongs to the constant 1, the others to the constraints of that name.
    value : float
        gamma, which is what the identity would prove if it held exactly.
    residual : float
        The largest coefficient of r.
    residual_sum : float
        The sum of its absolute coefficients. Where all variables lie in [-1, 1], ``|r| <= residual_sum``.
    blocks : tuple of (copies, size, size) arrays
        The Gram matrices in the order of the relaxation's blocks.
    """

    grams: dict[str, Array]
    value: float
    residual: float
    residual_sum: float
    blocks: tuple[Array, ...]

    @property
    def bound_in_unit_box(self) -> float:
        """``gamma - residual_sum``: a lower bound wherever a minimiser has all its coordinates in [-1, 1]."""
        return self.value - self.residual_sum


def sum_of_squares(relaxation: Relaxation, grams: tuple[Array, ...]) -> SumOfSquares:
    """Recompute the identity from Gram matrices whose negative eigenvalues, if any, are first set to zero."""
    grams = tuple(nearest_semidefinite(X) for X in grams)
    difference = relaxation.objective - relaxation.sum_of_squares(grams)
    shared = np.sum(difference[:, relaxation.shared], axis=0)
    private = np.abs(difference[:, relaxation.private])
    names: dict[str, list[Array]] = {}
    for block, X in zip(relaxation.blocks, grams, strict=True):
        names.setdefault(block.name, []).append(X)
    return SumOfSquares(
        grams={name: np.concatenate(parts) for name, parts in names.items()},
        value=float(np.sum(difference[:, 0])),
        residual=float(max(np.max(np.abs(shared), initial=0.0), np.max(private, initial=0.0))),
        residual_sum=float(np.sum(np.abs(shared)) + np.sum(private)),
        blocks=grams,
    )


def nearest_semidefinite(X: Array) -> Array:
    """The batch with negative eigenvalues set to zero; unchanged where there are none."""
    values, vectors = np.linalg.eigh(0.5 * (X + np.swapaxes(X, 1, 2)))
    low = values[:, 0] < 0.0
    if not np.any(low):
        return X
    out = np.array(X)
    clipped = np.maximum(values[low], 0.0)
    out[low] = np.einsum("nij,nj,nkj->nik", vectors[low], clipped, vectors[low])
    return out
