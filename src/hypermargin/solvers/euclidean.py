"""Linear support vector machine on the ambient Lorentz coordinates: the Euclidean baseline.

It minimises ``|w|^2/2 + sum_i c_i max(0, 1 - m_i(w))/sqrt2``, which is the margin problem with ``|w|^2 = q(w) + 2 t^2``
in place of q, so C has the same meaning as for every other method. In the frame of a point c the regulariser is
``q(w) + 2 (w*c)^2``: with ``center="mean"`` that point is the Fréchet mean and the method commutes with isometries.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hypermargin.geometry.isometries import boost, move_to_origin, transform_normal
from hypermargin.geometry.lorentz import covector
from hypermargin.geometry.mean import frechet_mean
from hypermargin.problems.losses import SQRT2
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Solver, Status, register
from hypermargin.solvers.common.hinge_engine import HingeEngine

CENTERS = ("given", "mean")
#: Tolerances above this are not used: the last digits take two or three iterations more.
COARSEST = 1e-8


@register
@dataclass(frozen=True)
class Euclidean(Solver):
    """Options of the ambient linear SVM.

    Parameters
    ----------
    fit_intercept : bool
        Classify by ``sign(x * w + intercept)`` with an intercept that costs nothing.
    center : {"given", "mean"}
        Measure ``|w|`` in the coordinates as given, or after moving the weighted Fréchet mean to the origin.
    """

    name: ClassVar[str] = "euclidean"
    summary: ClassVar[str] = "linear SVM on the ambient coordinates; fast, no bound"
    capabilities: ClassVar[frozenset[str]] = frozenset({"intercept", "timelike"})

    fit_intercept: bool = False
    center: str = "given"

    def __post_init__(self) -> None:
        if self.center not in CENTERS:
            raise ValueError(f"center must be one of {', '.join(map(repr, CENTERS))}, got {self.center!r}")

    def run(self, problem: MarginProblem, tol: float) -> Outcome:
        """Solve the convex problem to `tol`, or `COARSEST` where that is finer; the answer may be timelike."""
        mean = frechet_mean(problem.X, problem.sample_weight) if self.center == "mean" else None
        X = problem.X if mean is None else move_to_origin(problem.X, mean)
        used = problem.costs > 0.0
        columns = np.ones((problem.dim + 1 + self.fit_intercept, np.count_nonzero(used)))
        columns[: problem.dim + 1] = covector(X[used]).T
        columns *= problem.y[used]
        weights = np.ones(len(columns))
        weights[problem.dim + 1 :] = 0.0  # the intercept costs nothing
        engine = HingeEngine(columns, np.ones(columns.shape[1]), problem.costs[used] / SQRT2, weights)
        solved = engine.run(min(tol, COARSEST))
        w = engine.v[: problem.dim + 1]
        return Outcome(
            w=w if mean is None else transform_normal(w, boost(mean)),
            status=Status.CONVERGED if solved else Status.FAILED,
            n_iter=engine.n_iter,
            intercept=float(engine.v[-1]) if self.fit_intercept else 0.0,
        )
