"""A ball that contains a minimiser, and the frame in which it is the unit ball.

Without a bound on w the hierarchy never rises above its first order (docs/relaxations.md). A minimiser has an objective
of at most that of any known feasible w, so it lies in ``{risk(w) <= f, 0 <= q(w) <= 2 f}``. Each half ``+-t >= 0`` of
that set lies in a convex one, as ``|wr|^2 <= t^2 + 2 f`` implies ``|wr| <= |t| + sqrt(2 f)``; second-order cone
programs find the extent of both in every coordinate. The Lorentz frame (t, wr) is the data's own, so that the ball
moves with the data under isometries.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hypermargin.geometry.lorentz import Array
from hypermargin.problems.losses import SQRT2, get_loss
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.conic import ConicStatus, solve_conic
from hypermargin.solvers.dual_weights import Samples
from hypermargin.solvers.moment.frame import Frame, diagonal_form, whitened_basis

#: The ball is this much larger than what the cone programs, which have tolerances of their own, say it must be.
MARGIN_OF_SAFETY = 1.01
#: Slacks are measured in units of their largest value in the ball, but not in smaller units than this.
SMALLEST_SLACK_SCALE = 1e-2


class NoBallError(ValueError):
    """No ball is known to contain a minimiser."""


def bounded_frame(problem: MarginProblem, samples: Samples, value: float, loss: str) -> Frame:
    """The frame whose unit ball contains every w with ``f(w) <= value`` and whose slacks then lie in [0, 1].

    Parameters
    ----------
    problem : MarginProblem
    samples : Samples
    value : float
        The objective of some feasible w for `loss`.
    loss : str
        "hinge" or "taylor3".
    """
    if not np.isfinite(value):
        raise NoBallError("a ball needs some w with all margins at least 1, and none was found; use bounded=False")
    Z, costs = samples.Z, samples.costs
    weight = np.ones(len(Z)) if problem.is_hard else costs
    basis = whitened_basis(Z, weight)
    slope = np.full(len(Z), 1.0 / SQRT2) if loss == "hinge" else _taylor3_slope(value / costs)
    low, high = _extent(problem, Z, weight, basis, value, slope)
    centre, radius = 0.5 * (low + high), MARGIN_OF_SAFETY * 0.5 * float(np.linalg.norm(high - low))
    radius = max(radius, 1e-6 * (1.0 + float(np.linalg.norm(centre))))
    centre, basis = basis @ centre, basis * radius
    if problem.is_hard:
        return Frame(centre, basis, np.ones(len(Z)), max(value, 1e-12))
    lowest_margin = Z @ centre - np.linalg.norm(Z @ basis, axis=1)
    largest_slack = np.minimum(get_loss(loss).value(lowest_margin), MARGIN_OF_SAFETY * value / costs)
    return Frame(centre, basis, np.maximum(largest_slack, SMALLEST_SLACK_SCALE), max(value, 1e-12))


@dataclass(frozen=True, eq=False)
class Screening:
    """Which samples need a slack in the ball (`kept`), and the risk ``offset + slope.w`` of those that do not."""

    kept: NDArray[np.int64]
    offset: float
    slope: Array


def screen(samples: Samples, frame: Frame, loss: str) -> Screening:
    """Leave out samples whose loss is the same linear function of w in all of the ball.

    Where all margins in the ball are at least 1 the loss is 0; where all are at most 1 the hinge is ``(1 - m)/sqrt2``.
    One sample is kept in any case.
    """
    Z, costs = samples.Z, samples.costs
    middle, spread = Z @ frame.centre, np.linalg.norm(Z @ frame.basis, axis=1)
    met = middle - spread >= 1.0
    missed = (middle + spread <= 1.0) & (loss == "hinge")
    left_out = met | missed
    if np.all(left_out):
        left_out[0] = False
    weights = np.where(missed & left_out, costs / SQRT2, 0.0)
    return Screening(np.flatnonzero(~left_out), float(np.sum(weights)), -weights @ Z)


def _taylor3_slope(largest_slack: Array) -> Array:
    """The largest s with ``xi >= s (1 - m)`` while ``xi <= largest_slack``: the cubic divided by xi is a parabola."""
    at_end = SQRT2 - largest_slack / 2.0 + SQRT2 * largest_slack**2 / 6.0
    return 1.0 / np.maximum(SQRT2, at_end)


def _extent(
    problem: MarginProblem, Z: Array, weight: Array, basis: Array, value: float, slope: Array
) -> tuple[Array, Array]:
    """Smallest and largest coordinates of the set, shape (d + 1,) each."""
    k = Z.shape[1]
    low, high = np.full(k, np.inf), np.full(k, -np.inf)
    for half, A, b, cones in _halves(problem, Z, weight, basis, value, slope):
        for j in range(k):
            for sign in (1.0, -1.0):
                c = np.zeros(A.shape[1])
                c[j] = sign
                found = solve_conic(c, A, b, cones, tol=1e-8, max_iter=200)
                if found.status is ConicStatus.INFEASIBLE:
                    break  # this half of the set is empty
                if found.status not in (ConicStatus.SOLVED, ConicStatus.INACCURATE):
                    raise NoBallError(
                        f"no ball is known to contain the best w: the risk does not bound w for {half}, as when "
                        "all labels are the same; use bounded=False"
                    )
                low[j], high[j] = min(low[j], found.x[j]), max(high[j], found.x[j])
    if not np.all(low <= high):
        raise NoBallError("the set of better w is empty to rounding; use bounded=False")
    return low, high


def _halves(
    problem: MarginProblem, Z: Array, weight: Array, basis: Array, value: float, slope: Array
) -> Iterator[tuple[str, sparse.csc_matrix, Array, list]]:
    """The two convex sets as ``b - A x`` in cones; unknowns (v, xi), with the hard margin only v."""
    n, k = Z.shape
    slacks = 0 if problem.is_hard else n
    directions = sparse.csr_matrix(Z @ basis)
    no_slack = sparse.csr_matrix((k + 1, slacks))
    rows, right = [], []
    if problem.is_hard:
        rows.append(-directions)
        right.append(-np.ones(n))
    else:
        share = weight / np.sum(weight)
        rows.append(sparse.hstack((-directions, -sparse.diags(1.0 / slope))))
        rows.append(sparse.hstack((sparse.csr_matrix((n, k)), -sparse.identity(n))))
        rows.append(sparse.csr_matrix(np.concatenate((np.zeros(k), share))[None, :]))
        right.extend((-np.ones(n), np.zeros(n), np.full(1, value / np.sum(weight))))
    reach = np.sqrt(2.0 * value)
    lengths = np.sqrt(np.abs(diagonal_form(basis)))  # t and wr in the Lorentz frame that the basis spans
    for half, sign in (("t >= 0", 1.0), ("t <= 0", -1.0)):
        time, space = sign * lengths[0] * np.eye(1, k), np.diag(lengths)[1:]
        outer = np.concatenate((-time, -time, -space))  # t >= 0, then (t + reach, wr) in the cone
        A = sparse.vstack((*rows, sparse.hstack((sparse.csr_matrix(outer), no_slack))))
        b = np.concatenate((*right, [0.0, reach], np.zeros(k - 1)))
        cones = [clarabel.NonnegativeConeT(A.shape[0] - k), clarabel.SecondOrderConeT(k)]
        yield half, sparse.csc_matrix(A), b, cones
