"""From a relaxation's (W, w) to a classifier (paper, appendix "Solution Extraction in Relaxed Formulation").

Every relaxation hands its second-moment matrix ``W`` and first moments ``w`` to `extract`, which makes the paper's
candidates, mends or drops those with ``q < 0``, and keeps the one with the smallest objective of the stated loss.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from hypermargin.arrays import Array
from hypermargin.geometry.lorentz import quadratic_form
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import relative_gap

EPS = float(np.finfo(np.float64).eps)
#: Entries of w smaller than this fraction of the largest divide no column of W: the quotient would be noise, as
#: relaxations are solved to 1e-7 or 1e-9.
SMALLEST_DIVISOR = 1e-6


@dataclass(frozen=True, eq=False)
class Candidate:
    """A vector w, where it came from, and whether it had to be moved onto the light cone."""

    name: str
    w: Array
    mended: bool = False


@dataclass(frozen=True, eq=False)
class Extraction:
    """The winner, its objective, and the objectives of all candidates by name (infinite: the hard margin is missed)."""

    winner: Candidate
    objective: float
    objectives: dict[str, float]

    def info(self, problem: MarginProblem, relaxation_value: float, bound: float) -> dict[str, Any]:
        """The entries of `Solution.info` that every relaxation has."""
        return {
            "relaxation_value": relaxation_value,
            "candidate": self.winner.name,
            "candidate_mended": self.winner.mended,
            "candidate_objectives": self.objectives,
            "paper_eta": paper_eta(problem.objective(self.winner.w, "asinh"), relaxation_value),
            "bound_gap": relative_gap(self.objective, bound),
        }


def extract(
    problem: MarginProblem,
    W: Array,
    w: Array,
    *,
    loss: str = "hinge",
    n_random: int = 10,
    seed: int | np.random.Generator = 0,
    extra: Sequence[Candidate] = (),
) -> Extraction:
    """The best classifier, by its objective for `loss`, that first and second moments w and W offer.

    W, shape (d + 1, d + 1), is symmetric, and ``W - w w'`` is positive semidefinite up to rounding. The paper draws 10
    Gaussian candidates; `extra` are candidates of the method's own.
    """
    zero = Candidate("zero", np.zeros(problem.dim + 1))
    nothing = problem.objective(zero.w, loss)
    judged = []
    for candidate in (*candidates(W, w, n_random=n_random, seed=seed), *extra, zero):
        feasible = mend(problem, candidate)
        value = problem.objective(feasible.w, loss)
        if nothing < value < np.inf:  # worse than no classifier: its length is wrong, its direction may be good
            feasible = shortened(problem, feasible, loss)
            value = problem.objective(feasible.w, loss)
        judged.append((value, feasible))
    objective, winner = min(judged, key=lambda pair: pair[0])
    return Extraction(winner, objective, {candidate.name: value for value, candidate in judged})


def candidates(W: Array, w: Array, *, n_random: int = 10, seed: int | np.random.Generator = 0) -> Iterator[Candidate]:
    """The paper's candidates; those that are not finite or vanish are left out."""
    rng = np.random.default_rng(seed)
    W, w = np.asarray(W, dtype=np.float64), np.asarray(w, dtype=np.float64)
    for name, vector in _raw_candidates(0.5 * (W + W.T), w, n_random, rng):
        if np.all(np.isfinite(vector)) and np.any(vector != 0.0):
            yield Candidate(name, vector)


def _raw_candidates(W: Array, w: Array, n_random: int, rng: np.random.Generator) -> Iterator[tuple[str, Array]]:
    yield "nominal", w

    eigenvalues, eigenvectors = np.linalg.eigh(W)
    top = np.sqrt(max(eigenvalues[-1], 0.0)) * eigenvectors[:, -1]
    yield "eigenvector (+)", top
    yield "eigenvector (-)", -top  # an eigenvector has no sign of its own

    # The square root by eigenvalues exists where Cholesky's fails: W - w w' is singular exactly when the relaxation is
    # tight. Samples come in pairs w + s, w - s, so that swapping the classes swaps the candidates.
    eigenvalues, eigenvectors = np.linalg.eigh(W - np.outer(w, w))
    root = (eigenvectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ eigenvectors.T
    half = root @ rng.standard_normal((len(w), (n_random + 1) // 2))
    for k in range(n_random):
        yield f"gaussian {k}", w + (-1.0) ** k * half[:, k // 2]

    usable = np.abs(w) > SMALLEST_DIVISOR * np.max(np.abs(w), initial=0.0)
    for j in np.flatnonzero(usable):
        yield f"column {j}", W[:, j] / w[j]


def mend(problem: MarginProblem, candidate: Candidate) -> Candidate:
    """Make a candidate feasible where that is possible; the others keep an infinite objective and so drop out.

    Where ``q < 0``: the nearest vector of the light cone. With the hard margin, where all margins have the right sign:
    the multiple whose smallest margin is 1, or larger by as much as rounding could take off.
    """
    w, mended = candidate.w, False
    if not problem.allow_timelike and quadratic_form(w) < 0.0:
        space = float(np.linalg.norm(w[1:]))
        if space == 0.0:
            return candidate
        nearest = 0.5 * (space + abs(w[0]))
        stretch = nearest / space * (1.0 + 4.0 * EPS)  # on the cone or outside, however it is rounded
        w, mended = np.concatenate(([np.copysign(nearest, w[0])], w[1:] * stretch)), True
    if problem.is_hard:
        smallest = float(np.min(problem.margins(w)[problem.costs > 0.0]))
        if smallest > 0.0:
            w, mended = w / smallest, mended or smallest < 1.0
            reach = float(problem.centre[0] * np.max(problem.X[:, 0]) * np.max(np.abs(w)))
            w = w * (1.0 + 128.0 * EPS * w.size * (1.0 + reach))  # no margin is proved below 1, however it is rounded
    return Candidate(candidate.name, w, mended)


def shortened(problem: MarginProblem, candidate: Candidate, loss: str) -> Candidate:
    """The best multiple ``s w``, 0 <= s <= 1, of a candidate that is worse than w = 0."""
    best = minimize_scalar(lambda s: problem.objective(s * candidate.w, loss), bounds=(0.0, 1.0), method="bounded")
    return Candidate(f"{candidate.name}, shortened", float(best.x) * candidate.w, mended=True)


def paper_eta(objective_asinh: float, relaxation_value: float) -> float:
    """The paper's relative gap (eq. opt-gap), between what its code takes: the asinh objective and a hinge bound.

    Kept for comparison only. The two values belong to different losses, so the difference bounds nothing. The public
    code leaves out the absolute value of the paper's formula.
    """
    difference = abs(objective_asinh - relaxation_value)
    return difference / (1.0 + abs(relaxation_value) + abs(objective_asinh))
