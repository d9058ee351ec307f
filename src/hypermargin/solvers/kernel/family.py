"""All problems of a family at once: solved, checked, and only then told as solutions, to those who ask."""

import time
from dataclasses import dataclass

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.kernel_sums import enclosed_family
from hypermargin.problems.kernel_family import KernelProblemFamily
from hypermargin.solvers.kernel.compiled.family import minimise_family

#: The violation that the first steps stop at.
FIRST_TOL = 3e-6
#: Steps at most, for each problem and for each sample of it; what is not solved then has so many coefficients off their
#: bounds that pairwise steps alone are slow.
STEPS, STEPS_PER_SAMPLE = 3000, 20


@dataclass(frozen=True, eq=False)
class FamilyAnswers:
    """What is proved of every problem of a family; flat arrays have the samples of one problem after the other."""

    starts: np.ndarray
    beta: Array
    scores: Array
    intercepts: Array
    objectives: Array
    lower_bounds: Array
    n_iter: np.ndarray
    seconds: float

    @property
    def gaps(self) -> Array:
        """Relative gaps between the bounds, as those of `Solution`; shape (n_problems,)."""
        with np.errstate(invalid="ignore"):
            gaps = (self.objectives - self.lower_bounds) / np.maximum(np.abs(self.objectives), 1e-12)
        return np.where(np.isfinite(gaps), gaps, np.inf)

    def own(self, values: Array, p: int) -> Array:
        """The part of a flat array that belongs to problem p."""
        return values[self.starts[p] : self.starts[p + 1]]


def solve_family(family: KernelProblemFamily, aim: float, start_at: Array | None = None) -> FamilyAnswers:
    """Solve and check all problems, aiming at the relative gap `aim`; `gaps` tells which are solved.

    `start_at` are coefficients to begin with, flat; those of another C, scaled.
    """
    began = time.perf_counter()
    starts, y = family.starts, family.y
    beta = np.zeros(y.size) if start_at is None else np.clip(start_at, *np.sort([y * family.costs, 0.0 * y], axis=0))
    gradient, n_iter = np.empty(y.size), np.zeros(len(family.code), dtype=np.intp)
    intercepts, gaps = np.empty((2, len(family.code)))
    most_steps = STEPS + STEPS_PER_SAMPLE * np.diff(starts)
    minimise_family(*family.arrays, aim, FIRST_TOL, most_steps, beta, gradient, intercepts, gaps, n_iter)
    lower, upper = enclosed_family(family, beta, intercepts)
    scores = gradient + y + intercepts.repeat(np.diff(starts))
    return FamilyAnswers(starts, beta, scores, intercepts, upper, lower, n_iter, time.perf_counter() - began)
