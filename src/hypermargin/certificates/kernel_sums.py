"""Both objectives of a kernel classifier in floating point, with proven bounds on every rounding error."""

from math import fsum

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.rounding import UNIT_ROUNDOFF, rounding_factor
from hypermargin.kernels import Kernel
from hypermargin.problems.kernel import DualProblem, FeatureProblem, KernelProblem

#: Terms that are summed at once; the error of a sum grows with their number.
TERMS = 1024


def enclosed_objectives(problem: DualProblem, beta: Array, intercept: float) -> tuple[float, float]:
    """A lower bound of the dual objective of beta, and an upper bound of the primal one of beta and the intercept."""
    with np.errstate(all="ignore"):  # what overflows proves nothing
        if isinstance(problem, FeatureProblem):
            norm_square, scores, errors = _feature_scores(problem, beta)
        elif isinstance(problem, KernelProblem):
            scores, errors = _kernel_scores(problem, beta)
            size = np.abs(beta)
            slack = float(size @ errors) + float(rounding_factor(beta.size) * (size @ np.abs(scores)))
            norm_square = float(beta @ scores) + _up(slack)
        else:
            raise TypeError(f"there is no way to bound the objectives of a {type(problem).__name__}")
        total = fsum(np.abs(beta).tolist())  # y_i beta_i, and correctly rounded
        lower = total * (1.0 - 4.0 * UNIT_ROUNDOFF) - 0.5 * norm_square * (1.0 + 4.0 * UNIT_ROUNDOFF)
        upper = 0.5 * norm_square + _risk_above(problem, scores, errors, intercept)
        lower -= 4.0 * UNIT_ROUNDOFF * abs(lower)
        return (
            (lower, upper * (1.0 + 8.0 * UNIT_ROUNDOFF))
            if np.isfinite(lower) and np.isfinite(upper)
            else (-np.inf, np.inf)
        )


def _kernel_scores(problem: KernelProblem, beta: Array) -> tuple[Array, Array]:
    """``K beta`` and a bound on its error, each of shape (n,)."""
    relative, absolute = 0.0, 0.0
    if isinstance(problem.kernel, Kernel):
        relative, absolute = problem.kernel.rounding(problem.points.dim)
    scores, errors = np.zeros(problem.n_samples), np.zeros(problem.n_samples)
    used = np.flatnonzero(beta)
    for start in range(0, used.size, TERMS):
        columns = used[start : start + TERMS]
        weights = np.stack([beta[columns], np.abs(beta[columns])], axis=1)
        factor = rounding_factor(columns.size) + 1.01 * relative
        constant = absolute * float(weights[:, 1].sum())
        for rows in problem.row_blocks(columns.size):
            values = problem.values(rows, columns)
            if isinstance(problem.kernel, Kernel) and not problem.kernel.conditional:
                sums = values @ weights  # the values are not negative
            else:
                sums = np.stack([values @ weights[:, 0], np.abs(values) @ weights[:, 1]], axis=1)
            scores[rows] += sums[:, 0]
            errors[rows] += factor * sums[:, 1] + constant + 2.0 * UNIT_ROUNDOFF * np.abs(scores[rows])
    return scores, _up(errors)


def _feature_scores(problem: FeatureProblem, beta: Array) -> tuple[float, Array, Array]:
    """``|w|^2`` from above for ``w = Z'beta``, its scores ``Z w`` and a bound on their error."""
    Z = problem.features
    width = Z.shape[1]
    w, w_errors = np.zeros(width), np.zeros(width)
    used = np.flatnonzero(beta)
    for start in range(0, used.size, TERMS):
        rows = used[start : start + TERMS]
        w += beta[rows] @ Z[rows]
        size = np.abs(beta[rows]) @ np.abs(Z[rows])
        w_errors += rounding_factor(rows.size) * size + 2.0 * UNIT_ROUNDOFF * np.abs(w)
    w_errors = _up(w_errors)
    norm_square = float(((np.abs(w) + w_errors) ** 2).sum()) * (1.0 + float(rounding_factor(width + 4)))
    scores = Z @ w
    errors = np.abs(Z) @ (rounding_factor(width) * np.abs(w) + w_errors)
    return norm_square, scores, _up(errors)


def _risk_above(problem: DualProblem, scores: Array, errors: Array, intercept: float) -> float:
    """``sum_i c_i max(0, 1 - y_i (scores_i + intercept))`` from above."""
    margins = problem.y * (scores + intercept)
    rounding = 4.0 * UNIT_ROUNDOFF * (1.0 + np.abs(scores) + abs(intercept))
    hinges = np.maximum(0.0, (1.0 - margins) + (errors + rounding))
    return float(problem.costs @ hinges) * (1.0 + float(rounding_factor(problem.n_samples + 8)))


def _up(value):
    """A bound on an error made larger by more than the roundings in computing it."""
    return value * (1.0 + 1e-9) + 1e-300
