"""Frames: the point that a search has at its origin, and whether the data is moved there in double-double arithmetic.

The problem is the same in every frame; its numbers are not. Around the data's centre points near each other have
coordinates of moderate size. A hyperplane that passes far from there has long normals, and margins that are differences
of large products; around its own foot it has not.
"""

from typing import NamedTuple

import numpy as np

from hypermargin.arithmetic import exact_form
from hypermargin.arrays import Array
from hypermargin.geometry.exact_normals import normal_to_frame
from hypermargin.geometry.isometries import move_from_origin
from hypermargin.geometry.lorentz import lift, quadratic_form
from hypermargin.geometry.mean import onto_hyperboloid
from hypermargin.geometry.metric import distance
from hypermargin.problems.margin import MarginProblem

#: Most frames to try before the gap that remains is reported: each is halfway to a better one, and takes a search.
MOST_FRAMES = 6
#: A foot nearer to the origin of the frame than this is no reason to move: less than a digit would be gained.
NEAR_FOOT = 0.5
#: Below this share of ``|w|^2`` a form is not told from that of a lightlike normal, which has no foot.
NO_FOOT = 1e-12
#: The same where the form is known to more digits: a hyperplane so far away that nothing can be moved there.
SURELY_NO_FOOT = 1e-24
#: The farthest that a frame is moved for a lightlike normal, to time coordinates of 2.4e8, whose squares doubles hold
#: to a few units.
FARTHEST = 20.0
#: The largest time coordinate of a centre that data can be moved to: double-double arithmetic ends beyond.
OUT_OF_REACH = 1e20
#: What rounding may cost, as a share of the tolerance, before double-double arithmetic is worth its price: as much as
#: the gap at which a search stops.
ROUNDING_SHARE = 0.01


class Frame(NamedTuple):
    """The centre, a Lorentz point of shape (d + 1,), and how data is moved."""

    centre: Array
    precise: bool = False

    def margin_rounding(self, problem: MarginProblem) -> float:
        """The most that rounding does to a margin, for each unit of w in this frame, to data moved in doubles."""
        farthest = 2.0 * float(self.centre[0]) * problem.farthest
        return 1.5 * (2 * problem.dim + 16) * 2.0**-53 * farthest


def first_frame(problem: MarginProblem, tol: float) -> Frame:
    """Around the centre of the data, in doubles if rounding leaves room for a proof to `tol`."""
    in_doubles = Frame(problem.centre)
    return Frame(problem.centre, precise=in_doubles.margin_rounding(problem) > ROUNDING_SHARE * tol)


def next_frame(frame: Frame, w: Array, form: float | None = None) -> Frame | None:
    """Where to try again after a search in `frame` that ended with w there, short of a proof; None for nowhere.

    Rounding in the frame may leave nothing of ``q(w)``; where it is known better it is given as `form`.
    """
    foot = _foot(w, form)
    if foot is not None and float(distance(foot, lift(np.zeros(foot.size - 1)))) > NEAR_FOOT:
        return _precise(move_from_origin(foot[None], frame.centre)[0])
    return None if frame.precise else Frame(frame.centre, precise=True)


def foot_frame(frame: Frame, w: Array, low: Array | None) -> Frame | None:
    """`next_frame` for a normal ``w + low`` that is known to all its digits, outside of the frame."""
    return next_frame(frame, normal_to_frame(w, low, frame.centre[1:])[0], float(exact_form(w, low)))


def between(one: Frame, other: Frame) -> Frame | None:
    """The frame halfway between two; where they are near each other in double-double arithmetic, or None after that."""
    if float(distance(one.centre, other.centre)) <= 2.0 * NEAR_FOOT:
        return None if other.precise else Frame(one.centre, precise=True)
    return _precise(onto_hyperboloid(one.centre + other.centre))


def _precise(centre: Array) -> Frame | None:
    """The frame around a centre in double-double arithmetic; None where that does not reach."""
    return Frame(centre, precise=True) if centre[0] < OUT_OF_REACH else None


def _foot(w: Array, form: float | None = None) -> Array | None:
    """The point of the hyperplane nearest to the origin, or of one nearly as good; None where w is 0.

    A lightlike w has no hyperplane: boosts along its direction make it longer or shorter. There the point is one around
    which w has length 1, and with it the points whose margin it decides are near.
    """
    length, clear = float(np.linalg.norm(w[1:])), SURELY_NO_FOOT
    if length == 0.0:
        return None
    if form is None:
        form, clear = float(quadratic_form(w)), NO_FOOT
    if form > clear * length**2:
        return lift(w[1:] / length * (float(w[0]) / np.sqrt(form)))
    ahead = float(np.sign(w[0])) * np.clip(np.log(length), -FARTHEST, FARTHEST)
    return lift(w[1:] / length * np.sinh(ahead))
