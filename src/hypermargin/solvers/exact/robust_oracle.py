"""The data pass of the exact method with worst-case margins (problems.uncertainty).

The worst margin is concave in w, so the risk is convex; the worst points at w give the cut ``sum k_i (1 - z'_i.v)``.
At the two points ``(1, 0, ..., 0)`` and ``(-1, 0, ..., 0)``, which begin a search, the cut takes the nominal points
instead: they belong to every set, and the slope of that cut is sure to be timelike, which proves the tails of t.
"""

from abc import ABC, abstractmethod

import numpy as np

from hypermargin.geometry.lorentz import Array, covector, fixed_order_product, quadratic_form
from hypermargin.problems.linearised import Ellipsoid, LinearisedSet, OriginJacobian
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import GeodesicBall
from hypermargin.solvers.exact import robust_kernel
from hypermargin.solvers.exact.oracle import HingeOracle

NORMS = {"l1": robust_kernel.L1, "max": robust_kernel.MAX, "l2": robust_kernel.L2}


class RobustOracle(HingeOracle, ABC):
    """``w -> (risk, b, g)`` for worst-case margins; subclasses do the pass."""

    def __init__(self, problem: MarginProblem):
        super().__init__(problem)
        self._Z = np.ascontiguousarray(self._columns[:, : problem.n_samples].T)
        self._costs = np.ascontiguousarray(self._costs)

    @property
    def arrays(self) -> None:
        """The compiled loop knows plain margins only."""
        return None

    def __call__(self, w: Array) -> tuple[float, float, Array]:
        risk, b, g = self._times_factor(*self._worst_case(w))
        if abs(w[0]) == 1.0 and not np.any(w[1:]):
            _, b, g = super().__call__(w)
        return risk, b, g

    @abstractmethod
    def _worst_case(self, w: Array) -> tuple[float, float, Array]:
        """Risk and cut at w with the worst point of every set, for the costs alone."""


class BallOracle(RobustOracle):
    """Geodesic balls: invariant, so all of it happens in the frame around the centre."""

    def __init__(self, problem: MarginProblem, ball: GeodesicBall):
        super().__init__(problem)
        self._ball = ball
        self._cosh, self._sinh = np.cosh(np.atleast_1d(ball.rho)), np.sinh(np.atleast_1d(ball.rho))

    def _worst_case(self, w: Array) -> tuple[float, float, Array]:
        q = float(quadratic_form(w))
        if robust_kernel.is_compiled():
            g = np.empty_like(w)
            risk, b = robust_kernel.ball_pass(self._Z, self._costs, self._cosh, self._sinh, w, q, g, self.threshold)
            return risk, b, g
        along, across = self._ball.coefficients(self._Z, w)
        margins = self._ball.worst_of(fixed_order_product(self._Z, w[:, None])[:, 0], self._Z, w)
        chosen = np.where(margins < self.threshold, self._costs, 0.0)
        slope = -((chosen * along) @ self._Z) - float(chosen @ across) * covector(w)
        return float(self._costs @ np.maximum(0.0, 1.0 - margins)), float(chosen.sum()), slope


class LinearisedOracle(RobustOracle):
    """Sets in the tangent space at the origin: nominal margins in the frame, noise in the coordinates of the data."""

    def __init__(self, problem: MarginProblem, noise: LinearisedSet):
        super().__init__(problem)
        self._noise, self._y = noise, np.array(problem.y)
        self._rho = np.atleast_1d(np.array(noise.rho, dtype=np.float64))
        self._jacobian = OriginJacobian.at(problem.X)
        self._bend = self._jacobian.cosh - self._jacobian.stretch
        shape = noise.shape if isinstance(noise, Ellipsoid) else np.empty((0, problem.dim, problem.dim))
        self._shape = np.array(shape if shape.ndim == 3 else shape[None])
        self._work = np.empty((2, problem.dim))

    def _worst_case(self, w: Array) -> tuple[float, float, Array]:
        c = covector(self._outwards @ w)
        J = self._jacobian
        if robust_kernel.is_compiled():
            g, h = np.empty_like(w), np.empty_like(w)
            parts = J.unit, J.sinh, self._bend, J.stretch, self._rho, self._shape
            norm = NORMS[self._noise.dual_norm]
            risk, b = robust_kernel.linearised_pass(
                self._Z, self._costs, *parts, norm, w, c, g, h, self._work, self.threshold
            )
            return risk, b, g + self._outwards @ h  # the boost is its own transpose
        pulled = self._y[:, None] * J.pull_back(c)
        steps = self._rho[:, None] * self._noise.unit_step(pulled, J.pull_back_size(c))
        margins = fixed_order_product(self._Z, w[:, None])[:, 0] - self._rho * self._noise.dual_length(pulled)
        chosen = np.where(margins < self.threshold, self._costs, 0.0)
        noise = (chosen * self._y) @ covector(J.push_forward(steps))
        slope = -(chosen @ self._Z) - self._outwards @ noise
        return float(self._costs @ np.maximum(0.0, 1.0 - margins)), float(chosen.sum()), slope


def make_robust_oracle(problem: MarginProblem) -> RobustOracle:
    """The oracle for the problem's uncertainty set."""
    if isinstance(problem.uncertainty, GeodesicBall):
        return BallOracle(problem, problem.uncertainty)
    if isinstance(problem.uncertainty, LinearisedSet):
        return LinearisedOracle(problem, problem.uncertainty)
    raise TypeError(f"the exact method does not know the uncertainty set {problem.uncertainty!r}")
