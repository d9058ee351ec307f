"""Coordinates in which a relaxation is well scaled: ``w = centre + basis v`` and ``xi_i = slack_scale_i eta_i``.

The truncated quadratic module of a hierarchy is the same in all affine coordinates, so the bound does not depend on the
frame; rounding does.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.problems.losses import SQRT2
from hypermargin.problems.margin import MarginProblem


@dataclass(frozen=True, eq=False)
class Frame:
    """The affine change of variables, and the factor by which the objective is divided."""

    centre: Array
    basis: Array
    slack_scale: Array
    objective_scale: float

    def of_samples(self, kept: NDArray[np.int64]) -> "Frame":
        """The same frame for some of the samples."""
        return replace(self, slack_scale=self.slack_scale[kept])

    def to_w(self, v: Array) -> Array:
        """Original coordinates of frame coordinates v, shape (..., d + 1)."""
        return self.centre + v @ self.basis.T

    def second_moments(self, first: Array, second: Array) -> Array:
        """``E[w w']`` from ``E[v]`` and ``E[v v']``; shape (d + 1, d + 1)."""
        cross = np.outer(self.basis @ first, self.centre)
        return self.basis @ second @ self.basis.T + cross + cross.T + np.outer(self.centre, self.centre)


def whitened_basis(Z: Array, weight: Array) -> Array:
    """A basis in which the margins have mean square 1 and the form q is diagonal.

    Directions the data hardly sees are held at a floor. Both forms move with the data under isometries, and so does
    the basis (but for signs): data far from the origin are no harder, and what is computed in it does not depend on
    where the origin is.
    """
    share = weight / np.sum(weight)
    values, vectors = np.linalg.eigh((Z * share[:, None]).T @ Z)
    whitened = vectors / np.sqrt(np.maximum(values, 1e-8 * values[-1]))
    signs = np.ones(Z.shape[1])
    signs[0] = -1.0
    _, diagonalising = np.linalg.eigh((whitened.T * signs) @ whitened)
    return whitened @ diagonalising


def diagonal_form(basis: Array) -> Array:
    """``q`` of the columns of a basis from `whitened_basis`: the first is timelike, the others are spacelike."""
    signs = np.ones(len(basis))
    signs[0] = -1.0
    return signs @ basis**2


def unbounded_frame(problem: MarginProblem, Z: Array, costs: Array) -> Frame:
    """The frame of the paper's relaxation, which does not bound w: whitened, centred at 0."""
    n = len(Z)
    scale = 1.0 if problem.is_hard else float(np.sum(costs)) / SQRT2
    weight = np.ones(n) if problem.is_hard else costs
    return Frame(np.zeros(Z.shape[1]), whitened_basis(Z, weight), np.full(n, 1.0 / SQRT2), scale)
