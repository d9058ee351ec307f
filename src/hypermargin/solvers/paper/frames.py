"""Coordinates in which a relaxation is well scaled: ``w = centre + basis v`` and ``xi_i = slack_scale_i eta_i``.

The truncated quadratic module of a hierarchy is the same in all affine coordinates, so the bound does not depend on the
frame; rounding does.

Without a bound on w the hierarchy never rises above its first order (docs/relaxations.md). `bounded_frame` has a unit
ball that contains a minimiser: its objective is at most that of any known feasible w, so it lies in
``{risk(w) <= f, 0 <= q(w) <= 2 f}``. Each half ``+-t >= 0`` of that set lies in a convex one, as
``|wr|^2 <= t^2 + 2 f`` implies ``|wr| <= |t| + sqrt(2 f)``; small second-order cone programs find the extent of both in
every coordinate. The Lorentz frame (t, wr) is the data's own, so that the ball moves with the data under isometries.
"""

from dataclasses import dataclass, replace

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hypermargin.arrays import Array
from hypermargin.certificates.moment import Extent
from hypermargin.geometry.lorentz import covector
from hypermargin.problems.losses import SQRT2, get_loss
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.common.conic import ConicStatus, solve_conic
from hypermargin.solvers.paper.dual_weights import Samples
from hypermargin.solvers.paper.worst_margins import WorstMargins

Indices = NDArray[np.int64]

#: The ball is this much larger than by the cone programs: they are solved to 1e-8, and cuts end where 1e-5 of the
#: value, or 1e-2 of a hard margin, is missing.
MARGIN_OF_SAFETY = 1.01
#: Slacks are measured in units of their largest value in the ball, but not in smaller units than this.
SMALLEST_SLACK_SCALE = 1e-2
#: Coordinates of w, in units in which the margins have mean square 1, beyond which w counts as unbounded: fourth powers
#: of them, which order 2 has, already differ from 1 by more digits than a double has.
FARTHEST = 1e5
#: Most cuts for one coordinate's extent; stopping early makes the ball larger and nothing wrong.
CUT_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class Frame:
    """The affine change of variables, and the factor by which the objective is divided."""

    centre: Array
    basis: Array
    slack_scale: Array
    objective_scale: float

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
    _, diagonalising = np.linalg.eigh(-covector(whitened.T) @ whitened)
    return whitened @ diagonalising


def diagonal_form(basis: Array) -> Array:
    """``q`` of the columns of a basis from `whitened_basis`: the first is timelike, the others are spacelike."""
    return -covector(np.ones(len(basis))) @ basis**2


def unbounded_frame(problem: MarginProblem, Z: Array, costs: Array) -> Frame:
    """The frame of the paper's relaxation, which does not bound w: whitened, centred at 0."""
    scale = 1.0 if problem.is_hard else float(np.sum(costs)) / SQRT2
    basis = whitened_basis(Z, np.ones(len(Z)) if problem.is_hard else costs)
    return Frame(np.zeros(Z.shape[1]), basis, np.full(len(Z), 1.0 / SQRT2), scale)


# -- with a ball -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BoundedFrame(Frame):
    """A frame whose unit ball holds every w with ``f(w) <= level``, and weights that prove it (nominal margins only).

    `time_axis` is the point in whose Lorentz frame the extents are, shape (d + 1,).
    """

    level: float
    time_axis: Array
    extents: tuple[Extent, ...]


class UnboundedError(ValueError):
    """No ball is known to contain a minimiser."""


def bounded_frame(
    problem: MarginProblem, samples: Samples, value: float, loss: str, robust: WorstMargins | None = None
) -> BoundedFrame:
    """The frame whose unit ball contains every w with ``f(w) <= value`` and whose slacks then lie in [0, 1].

    `value` is the objective of some feasible w for `loss`, "hinge" or "taylor3". Worst-case margins are below those of
    `samples` and make slacks larger.
    """
    if not np.isfinite(value):
        raise UnboundedError("a ball needs some w with all margins at least 1, and none was found; use bounded=False")
    Z, costs = samples.Z, samples.costs
    weight = np.ones(len(Z)) if problem.is_hard else costs
    basis = whitened_basis(Z, weight)
    slope = np.full(len(Z), 1.0 / SQRT2) if loss == "hinge" else _taylor3_slope(value / costs)
    low, high, extents = _extent(problem, Z, value, basis, weight * slope)
    centre, radius = 0.5 * (low + high), MARGIN_OF_SAFETY * 0.5 * float(np.linalg.norm(high - low))
    radius = max(radius, 1e-6 * (1.0 + float(np.linalg.norm(centre))))
    future = int(np.sign(basis[0, 0]))  # whether the first axis points there, or to the past
    time_axis = future * basis[:, 0] / np.sqrt(-diagonal_form(basis)[0])
    extents = [replace(e, half=future * e.half, price=e.price / radius, weights=e.weights / radius) for e in extents]
    centre, basis = basis @ centre, basis * radius
    proved = (value, time_axis, tuple(extents))
    if problem.is_hard:
        return BoundedFrame(centre, basis, np.ones(len(Z)), max(value, 1e-12), *proved)
    lowest_margin = Z @ centre - np.linalg.norm(Z @ basis, axis=1)
    if robust is not None:
        lowest_margin = lowest_margin - robust.reach * robust.spread_bound(centre, basis)
    largest_slack = np.minimum(get_loss(loss).value(lowest_margin), MARGIN_OF_SAFETY * value / costs)
    slack_scale = np.maximum(largest_slack * (1.0 + 1e-9), SMALLEST_SLACK_SCALE)
    return BoundedFrame(centre, basis, slack_scale, max(value, 1e-12), *proved)


def screen(samples: Samples, frame: Frame, loss: str) -> tuple[Indices, Indices, tuple[float, Array]]:
    """Leave out samples whose loss is the same linear function of w in all of the ball; one is kept in any case.

    Where all margins in the ball are at least 1 the loss is 0; where all are at most 1 the hinge is ``(1 - m)/sqrt2``.
    Returns the samples that need a slack, those of the second kind, and ``(b, g)`` of their risk ``b + g.w``.
    """
    Z, costs = samples.Z, samples.costs
    middle, spread = Z @ frame.centre, np.linalg.norm(Z @ frame.basis, axis=1)
    met = middle - spread >= 1.0
    missed = (middle + spread <= 1.0) & (loss == "hinge")
    left_out = met | missed
    if np.all(left_out):
        left_out[0] = False
    weights = np.where(missed & left_out, costs / SQRT2, 0.0)
    risk = float(np.sum(weights)), -weights @ Z
    return np.flatnonzero(~left_out), np.flatnonzero(missed & left_out), risk


def _taylor3_slope(largest_slack: Array) -> Array:
    """The largest s with ``xi >= s (1 - m)`` while ``xi <= largest_slack``: the cubic divided by xi is a parabola."""
    at_end = SQRT2 - largest_slack / 2.0 + SQRT2 * largest_slack**2 / 6.0
    return 1.0 / np.maximum(SQRT2, at_end)


def _extent(
    problem: MarginProblem, Z: Array, value: float, basis: Array, slope: Array
) -> tuple[Array, Array, list[Extent]]:
    """Smallest and largest coordinates of a set that contains all w with ``f(w) <= value``, shape (d + 1,) each.

    The risk is replaced by the cuts that matter: solve, cut where the risk is above `value`, repeat. Stopping before
    the last cut makes the set larger, never too small. With them come the weights that bound each coordinate.
    """
    k = Z.shape[1]
    cuts = _Cuts(Z @ basis, problem, value, slope)
    low, high = np.full(k, np.inf), np.full(k, -np.inf)
    lengths = np.sqrt(np.abs(diagonal_form(basis)))  # t and wr in the Lorentz frame that the basis spans
    extents: list[Extent] = []
    for half in (1, -1):
        for j in range(k):
            for sign in (1, -1):
                reached, dual = _farthest(cuts, -sign * np.eye(k)[j], half, lengths, np.sqrt(2.0 * value))
                if reached is None:  # this half of the set is empty
                    extents.append(cuts.extent(dual, half, 0, 0, lengths))
                    break
                extents.append(cuts.extent(dual, half, j, sign, lengths))
                low[j], high[j] = min(low[j], reached[j]), max(high[j], reached[j])
            if reached is None:
                break
    if not np.all(low <= high):
        raise UnboundedError("the set of better w is empty to rounding; use bounded=False")
    if max(np.max(high), np.max(-low)) > 0.5 * FARTHEST:
        raise UnboundedError(
            "no ball is known to contain the best w: the risk does not bound w, as when all labels are the same; "
            "use bounded=False"
        )
    return low, high, extents


def _farthest(cuts: "_Cuts", objective: Array, half: int, lengths: Array, reach: float) -> tuple[Array | None, Array]:
    """The point of the set farthest against `objective`, None where the set is empty, and the cuts' multipliers."""
    k = len(lengths)
    time, space = half * lengths[0] * np.eye(1, k), np.diag(lengths)[1:]
    outer = np.concatenate((np.eye(k), -np.eye(k), -time, -time, -space))  # a box, t >= 0, (t + reach, wr) in the cone
    right = np.concatenate((np.full(2 * k, FARTHEST), [0.0, reach], np.zeros(k - 1)))
    for _ in range(CUT_ROUNDS):
        A = sparse.csc_matrix(np.concatenate((cuts.slopes, outer)))
        b = np.concatenate((cuts.limits, right))
        cones = [clarabel.NonnegativeConeT(len(b) - k), clarabel.SecondOrderConeT(k)]
        found = solve_conic(objective, A, b, cones, tol=1e-8, max_iter=200)
        dual = found.dual[: len(cuts.limits)]
        if found.status is ConicStatus.INFEASIBLE:
            return None, dual
        if not cuts.add(found.x):
            break
    return found.x, dual


class _Cuts:
    """Linear inequalities ``slopes v <= limits`` that every v with a small enough risk satisfies."""

    def __init__(self, directions: Array, problem: MarginProblem, value: float, slope: Array) -> None:
        self._directions, self._value, self._hard = directions, value, problem.is_hard
        self._weights = np.ones(len(directions)) if problem.is_hard else slope
        self.slopes, self.limits = np.zeros((0, directions.shape[1])), np.zeros(0)
        self._chosen: list[Array] = []

    def add(self, v: Array) -> bool:
        """Cut v off; False where it satisfies the inequality nearly already."""
        short = 1.0 - self._directions @ v
        if self._hard:  # the margin that v misses most
            worst = int(np.argmax(short))
            weights, limit = np.zeros(len(short)), 0.0
            weights[worst] = 1.0
        else:  # the tangent of the risk
            weights, limit = np.where(short > 0.0, self._weights, 0.0), self._value
        if weights @ short <= limit + (0.01 if self._hard else 1e-5 * limit):
            return False
        slope, constant = -weights @ self._directions, float(np.sum(weights))
        size = float(np.linalg.norm(slope)) or 1.0
        self.slopes = np.concatenate((self.slopes, slope[None, :] / size))
        self.limits = np.append(self.limits, (limit - constant) / size)
        self._chosen.append(weights / size)
        return True

    def extent(self, dual: Array, half: int, coordinate: int, sign: int, lengths: Array) -> Extent:
        """The bound that multipliers of the cuts prove (`certificates.moment`), strengthened where rounding spoilt it.

        A little of all samples against the half makes ``half p_t + |p_r|`` negative: their slope is timelike.
        """
        dual = np.maximum(dual, 0.0)
        if sign == 0:  # a ray: its size is free
            dual = dual / max(float(np.max(dual, initial=0.0)), 1e-300)
        weights = sum((y * chosen for y, chosen in zip(dual, self._chosen, strict=False)), np.zeros(len(self._weights)))
        price = float(sum(y * np.max(chosen / self._weights) for y, chosen in zip(dual, self._chosen, strict=False)))
        in_frame = self._directions / lengths  # covectors of (t, wr)
        against = np.where(half * in_frame[:, 0] < 0.0, self._weights, 0.0)
        p = weights @ in_frame + sign * np.eye(len(lengths))[coordinate] / lengths
        tail = against @ in_frame
        excess = half * p[0] + float(np.linalg.norm(p[1:])) + 1e-9 * float(np.abs(p).sum())
        gain = -(half * tail[0] + float(np.linalg.norm(tail[1:])))
        share = max(0.0, excess / gain) if gain > 0.0 else 0.0
        # The cost of each sample is its largest weight; what is said to the checker stays a little below it.
        return Extent(half, coordinate, sign, (price + share) * (1.0 + 1e-12), weights + share * against)
