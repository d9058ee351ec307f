"""Samples of one class: a lightlike w has all margins of one sign, no margin term, and so costs nothing.

Directions along the axes are used, ``w = y a (1, +-e_j)``, since their ``q(w)`` is 0 in doubles too. Uncertainty sets
that leave the hyperboloid may have negative margins there; then the best a of the best direction has the least risk.
"""

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.certificates.objective import enclose_objective
from hypermargin.geometry.lorentz import lift
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import GeodesicBall
from hypermargin.solvers.exact.frames import Frame

#: Relative, above the least a that will do: margins must not be below 1 by rounding.
ABOVE = 1e-9
#: Where margins are all positive any multiple that is large enough costs nothing.
LONGER = 2.0


def best_along_axes(problem: MarginProblem, frame: Frame) -> tuple[Array, Frame] | None:
    """The best of these w and the frame to judge it in, if the samples of positive weight are of one class; else None.

    Where margins of all sets are positive along some axis that is one of no risk.
    """
    used = problem.costs > 0.0
    labels = problem.y[used]
    if labels.size == 0 or np.any(labels != labels[0]):
        return None
    apex, *axes = np.eye(problem.dim + 1)
    directions = [labels[0] * (apex + side * axis) for axis in axes for side in (1.0, -1.0)]
    w, sample = _long_enough(problem, used, directions)
    near = Frame(lift(problem.X[sample, 1:]), precise=True) if frame.precise else frame
    if problem.uncertainty is None or isinstance(problem.uncertainty, GeodesicBall):
        return w, near
    for direction, around in ((w, near), *((axis, frame) for axis in directions)):
        least = enclose_objective(problem, direction, None, around.centre[1:], around.precise).least_margin
        if least > 0.0:
            return LONGER / least * direction, around
    scaled = [_scaled(problem.margins(w)[used], problem.costs[used]) * w for w in directions]
    return min(scaled, key=problem.objective), frame


def _long_enough(problem: MarginProblem, used: NDArray[np.bool_], directions: list[Array]) -> tuple[Array, int]:
    """The direction with the largest least margin, longer than that needs, and the sample that has it.

    Along ``(1, s e_j)`` the margin is ``x0 - s x_j``, without cancellation ``(x0^2 - x_j^2)/(x0 + |x_j|)`` where
    ``s x_j > 0``, and that of a whole geodesic ball ``exp(-rho)`` times that.
    """
    X, shrunk = problem.X[used], 1.0
    if isinstance(problem.uncertainty, GeodesicBall):
        shrunk = np.exp(-np.broadcast_to(problem.uncertainty.rho, used.shape)[used])
    least, samples = [], []
    for w in directions:
        along, across = X[:, 1:] @ (w[1:] / w[0]), X[:, 1:][:, w[1:] == 0.0]
        short = (1.0 + np.sum(across**2, axis=1)) / (X[:, 0] + np.abs(along))
        margins = shrunk * np.where(along > 0.0, short, X[:, 0] - along)
        samples.append(int(np.argmin(margins)))
        least.append(float(margins[samples[-1]]))
    best = int(np.argmax(least))
    return LONGER / least[best] * directions[best], int(np.flatnonzero(used)[samples[best]])


def _scaled(margins: Array, costs: Array) -> float:
    """The a that minimises ``sum_i c_i max(0, 1 - a m_i)``: its slope changes sign at some ``a = 1/m_i``, or never."""
    positive = margins > 0.0
    order = np.argsort(-margins[positive])
    m = margins[positive][order]
    if m.size == 0:
        return 0.0
    falls = costs[positive][order] * m
    still = np.append(np.cumsum(falls[:0:-1])[::-1], 0.0)  # what falls beyond 1/m_k
    rises = -float(costs[~positive] @ margins[~positive])
    if falls.sum() <= rises:
        return 0.0
    return (1.0 + ABOVE) / float(m[np.argmax(still <= rises)])
