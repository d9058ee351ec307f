"""Frames: the point that a search has at its origin, and whether the data is moved there in double-double arithmetic.

The problem is the same in every frame; its numbers are not. Around the data's centre points near each other have
coordinates of moderate size. A hyperplane that passes far from there has long normals, and margins that are differences
of large products; around its own foot it has not.
"""

from typing import NamedTuple

import numpy as np

from hypermargin.arrays import Array
from hypermargin.geometry.isometries import move_from_origin
from hypermargin.geometry.lorentz import lift, quadratic_form
from hypermargin.geometry.metric import distance
from hypermargin.problems.margin import MarginProblem

#: Most frames to try before the gap that remains is reported.
MOST_FRAMES = 6
#: A foot nearer to the origin of the frame than this is no reason to move.
NEAR = 0.5
#: Below this share of ``|w|^2`` a form is not told from that of a lightlike normal, which has no foot.
NO_FOOT = 1e-12
#: What rounding may cost, as a share of the tolerance, before double-double arithmetic is worth its price.
ROUNDING_SHARE = 0.01


class Frame(NamedTuple):
    """The centre, a Lorentz point of shape (d + 1,), and how data is moved."""

    centre: Array
    precise: bool = False


def first_frame(problem: MarginProblem, tol: float) -> Frame:
    """Around the centre of the data, in doubles if rounding leaves room for a proof to `tol`."""
    centre = problem.centre
    farthest = 2.0 * float(centre[0]) * problem.farthest
    error = 1.5 * (2 * problem.dim + 16) * 2.0**-53 * farthest
    return Frame(centre, precise=error > ROUNDING_SHARE * tol)


def next_frame(frame: Frame, w: Array) -> Frame | None:
    """Where to try again after a search in `frame` that ended with w there, short of a proof; None for nowhere."""
    foot = _foot(w)
    if foot is not None and float(distance(foot, lift(np.zeros(foot.size - 1)))) > NEAR:
        return Frame(move_from_origin(foot[None], frame.centre)[0], precise=True)
    return None if frame.precise else Frame(frame.centre, precise=True)


def _foot(w: Array) -> Array | None:
    """The point of the hyperplane nearest to the origin; None where there is no hyperplane to speak of."""
    length, form = float(np.linalg.norm(w[1:])), float(quadratic_form(w))
    if not form > NO_FOOT * length**2:
        return None
    return lift(w[1:] / length * (float(w[0]) / np.sqrt(form)))
