"""Long sums over the data in floating point, with proven bounds on their rounding errors.

Summing in blocks keeps the number of terms, and with it the error, small (see `rounding`).
"""

from dataclasses import replace

import numpy as np

from hypermargin.certificates.certificate import Certificate
from hypermargin.certificates.robust_sums import robust_cut_sums
from hypermargin.certificates.rounding import rounding_factor
from hypermargin.geometry.lorentz import Array, covector, fixed_order_product, lift
from hypermargin.problems.margin import MarginProblem

BLOCK = 2048


def cut_sums(certificate: Certificate, problem: MarginProblem) -> tuple[Array, Array]:
    """The cuts of a certificate times sqrt2, as midpoints and error bounds, each of shape (cuts, d + 2).

    Row j holds ``sqrt2 b`` and then ``-sqrt2 g``: the sums of ``c_i`` and of ``c_i z_i`` over the samples of cut j; for
    explicit weights, of ``sqrt2 a_i`` capped at ``c_i``. In a robust problem the cuts at points take worst-case points
    instead (`robust_sums`); explicit weights are for the nominal points, which belong to every set.
    """
    if problem.uncertainty is None:
        return _nominal_cut_sums(certificate, problem)
    at_points = robust_cut_sums(certificate, problem)
    explicit = _nominal_cut_sums(replace(certificate, points=certificate.points[:0]), problem)
    return np.vstack([at_points[0], explicit[0]]), np.vstack([at_points[1], explicit[1]])


def _nominal_cut_sums(certificate: Certificate, problem: MarginProblem) -> tuple[Array, Array]:
    """`cut_sums` with the points as they are."""
    n_points = certificate.points.shape[0]
    duals = certificate.duals
    n_cuts = n_points + (0 if duals is None else duals.shape[0])
    width = problem.dim + 2
    totals, errors = np.zeros((n_cuts, width)), np.zeros((n_cuts, width))
    centre = lift(certificate.centre)
    n_blocks = -(-problem.n_samples // BLOCK)
    for start in range(0, problem.n_samples, BLOCK):
        rows = slice(start, start + BLOCK)
        y, costs = problem.y[rows, None], problem.costs[rows]
        shares = np.empty((n_cuts, costs.size))
        margins = fixed_order_product(problem.covectors_around(centre, rows), certificate.points.T)
        shares[:n_points] = (margins < certificate.threshold).T
        if duals is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                shares[n_points:] = np.nan_to_num(duals[:, rows] * np.sqrt(2.0) / costs)
            np.clip(shares, 0.0, 1.0, out=shares)
        terms = costs[:, None] * np.hstack([np.ones_like(y), y * covector(problem.X[rows])])
        sums = shares @ np.hstack([terms, np.abs(terms)])
        # Each term is rounded up to three times, then summed with the other terms of the block that are not zero, then
        # with the other blocks; the sum of magnitudes errs by at most the same factor.
        gamma = rounding_factor(np.count_nonzero(shares, axis=1) + n_blocks + 4)[:, None]
        totals += sums[:, :width]
        errors += gamma * sums[:, width:] * (1.0 + 2.0 * gamma)
    # A sum of no terms is exactly 0; others may have lost something to underflow.
    return totals, np.where(errors > 0.0, errors * (1.0 + rounding_factor(n_blocks + 4)) + 1e-300, 0.0)
