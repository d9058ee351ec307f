"""The frame of the search: where samples that bend the objective are near the origin, and its axes are theirs.

Boxes are products of intervals, so what they cost depends on the coordinates. Samples matter through the curvature of
their loss at the optimum: with their mean at the origin no coordinate of w is worth much more than another, and along
the principal axes of their second moments a box is as long as the objective is flat.
"""

import numpy as np

from hypermargin.arrays import Array
from hypermargin.geometry.isometries import boost, inverse, rotation
from hypermargin.geometry.lorentz import covector
from hypermargin.geometry.mean import lorentz_centroid
from hypermargin.problems.margin import MarginProblem

#: The share of the cost with which every sample counts, so that there is a mean where none bends the objective.
EVERY = 1e-9
#: Samples at the kink, up to the accuracy of the point, bend the objective as well.
KINK = 1.0 + 1e-3
#: Radians by which axes are turned off those of the samples: in few samples faces of boxes would meet zeros of margins.
TURN = 0.01


def frame_around(problem: MarginProblem, w: Array) -> Array:
    """An isometry, shape (d + 1, d + 1): normals of the frame times it are normals of the problem."""
    m = problem.margins(w)
    bend = problem.costs * (np.where(m < KINK, np.abs(m) * (1.0 + m * m) ** -1.5, 0.0) + EVERY)
    axes = np.eye(problem.dim + 1)
    with np.errstate(all="ignore"):
        outwards = boost(lorentz_centroid(problem.X, bend))
        space = (problem.X @ inverse(outwards).T)[:, 1:]
    if not np.isfinite(space).all():  # so far out that doubles hold no such frame
        return axes
    axes[1:, 1:] = np.linalg.eigh((space * (bend / bend.sum())[:, None]).T @ space)[1]
    for axis in range(2, problem.dim + 1):
        axes = axes @ rotation(TURN, problem.dim, (axis - 1, axis))
    return outwards @ axes


def margins_matrix(outwards: Array) -> Array:
    """F of ``margins = y x'Fw`` for normals w of the frame."""
    return covector(outwards.T).T
