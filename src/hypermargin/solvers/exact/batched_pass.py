"""One pass for several problems over the same points: margins of all their w are one matrix product.

In one-vs-rest problems have the same points, hence the same centre, and differ in their labels only. With the points
around the centre as rows P and the normals as columns of W the margins are ``P W`` with signs, and the slopes of all
cuts are ``S' P``, where S holds the signed costs of the samples below the margin.
"""

from collections.abc import Sequence

import numpy as np

from hypermargin.arrays import Array
from hypermargin.geometry.isometries import covectors_around
from hypermargin.problems.margin import MarginProblem

#: Numbers in a block of margins, which several sums are made of: they stay in the cache.
BLOCK = 1 << 15


def same_points(problem: MarginProblem) -> tuple[int, ...]:
    """A key that problems over the same array of points and weights have in common."""
    weight = problem.sample_weight
    arrays = (problem.X,) if weight is None else (problem.X, weight)
    return tuple(number for array in arrays for number in (array.ctypes.data, *array.shape, *array.strides))


def joint_cuts(
    problems: Sequence[MarginProblem], centre: Array, threshold: float, W: Array
) -> tuple[Array, Array, Array]:
    """Risks and offsets, of shape (k,), and slopes (k, d + 1) of k problems with the same points, at a row of W each.

    Costs are the weights of the samples, whatever C is, and the factor of the hinge is left out.
    """
    risks, offsets, slopes = np.zeros(len(W)), np.zeros(len(W)), np.zeros_like(W)
    X, weights = problems[0].X, problems[0].sample_weight
    size = max(1, BLOCK // len(W))
    ones = np.ones(min(size, len(X)))
    for first in range(0, len(X), size):
        rows = slice(first, first + size)
        points = covectors_around(X[rows], centre)
        weight = ones[: len(points)] if weights is None else weights[rows]
        side = np.stack([problem.y[rows] for problem in problems])
        margins = W @ points.T
        margins *= side
        below = (margins < threshold).astype(np.float64)
        np.subtract(1.0, margins, out=margins)
        np.maximum(margins, 0.0, out=margins)
        risks += margins @ weight
        offsets += below @ weight
        below *= side
        slopes -= below @ (points if weights is None else points * weight[:, None])
    return risks, offsets, slopes
