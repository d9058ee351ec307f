"""Projected gradient descent on the soft margin (Cho et al. 2019, with the settings of the paper's experiments).

Full-batch steps ``w <- project(w - rate * grad f(w))`` from the `euclidean` solution, for a fixed number of epochs; the
best iterate is returned. It has no lower bound, and where it ends depends on the rate and the origin of coordinates.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hypermargin.arrays import Array
from hypermargin.geometry.lorentz import covector, quadratic_form
from hypermargin.problems.losses import get_loss
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Solver, Status, register
from hypermargin.solvers.euclidean import Euclidean


@register
@dataclass(frozen=True)
class ProjectedGradient(Solver):
    """Options of projected gradient descent.

    Parameters
    ----------
    learning_rate : float
        Step along the negative gradient (paper: 0.001).
    epochs : int
        Number of steps (paper: 2000 on synthetic data, 4000 on real data).
    loss : {"asinh", "hinge", "taylor3"}
        The loss to descend on; the paper uses asinh.
    eps : float
        Iterates are kept within ``q(w) >= eps``, so that they stay hyperplanes.
    """

    name: ClassVar[str] = "pgd"
    summary: ClassVar[str] = "projected gradient descent from the euclidean answer; local, no bound"
    capabilities: ClassVar[frozenset[str]] = frozenset({"uncertainty"})
    losses: ClassVar[tuple[str, ...]] = ("asinh", "hinge", "taylor3")

    learning_rate: float = 0.001
    epochs: int = 2000
    loss: str = "asinh"
    eps: float = 1e-6

    def __post_init__(self) -> None:
        get_loss(self.loss)
        for name in ("learning_rate", "epochs", "eps"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)!r}")

    def run(self, problem: MarginProblem, tol: float) -> Outcome:
        """Run all epochs; `tol` is a gap, and this method has no bound to measure one with."""
        w = project(Euclidean().run(problem, tol).w, self.eps)
        best_w, best = w, np.inf
        history = np.empty(self.epochs + 1)
        for epoch in range(self.epochs + 1):
            history[epoch], gradient = objective_and_gradient(problem, w, self.loss)
            if history[epoch] < best:
                best_w, best = w, history[epoch]
            w = project(w - self.learning_rate * gradient, self.eps)
        return Outcome(best_w, Status.CONVERGED, n_iter=self.epochs, history={"objective": history.tolist()})


def objective_and_gradient(problem: MarginProblem, w: Array, loss: str) -> tuple[float, Array]:
    """``f(w)`` and ``grad f(w) = (-t, wr) + grad risk``, in one pass over the data; w spacelike."""
    risk, slope = problem.risk_and_subgradient(w, loss)
    return 0.5 * float(quadratic_form(w)) + risk, slope - covector(w)


def project(w: Array, eps: float = 0.0) -> Array:
    """The point of ``q >= eps`` nearest to w in the ambient Euclidean distance, shape (d + 1,).

    Only ``(|wr|, |t|)`` matters. In light-cone coordinates ``a = |wr| + |t|``, ``b = |wr| - |t|`` the boundary is
    ``a b = eps``, and the nearest point on it from ``(a0, b0)`` is a root of ``a^4 - a0 a^3 + b0 eps a - eps^2``.
    """
    time, space = w[0], w[1:]
    radius = float(np.linalg.norm(space))
    if radius < 1e-150 and np.any(space):  # squares of such numbers underflow
        size = float(np.max(np.abs(space)))
        radius = size * float(np.linalg.norm(space / size))
    sum_, difference = radius + abs(time), radius - abs(time)
    if sum_ * difference >= eps:
        return w
    unit = space / radius if radius > 0.0 else np.eye(space.size)[0]
    if eps == 0.0:
        a, b = sum_, 0.0
    else:
        roots = np.roots([1.0, -sum_, 0.0, difference * eps, -(eps**2)])
        candidates = np.real(roots[(np.abs(roots.imag) < 1e-9 * np.abs(roots)) & (roots.real > 0.0)])
        distances = (candidates - sum_) ** 2 + (eps / candidates - difference) ** 2
        a = float(candidates[np.argmin(distances)])
        b = eps / a
    return np.r_[np.copysign((a - b) / 2.0, time), (a + b) / 2.0 * unit]
