"""Long sums over the data in floating point, with proven bounds on their rounding errors (see `rounding`).

Sums of selected terms, which is what cuts are, can be had almost exactly: split each term into a multiple of a common
power of two, large enough that all partial sums are exact, and a tiny rest (Rump, Ogita and Oishi, Accurate
floating-point summation, 2008).
"""

from dataclasses import replace

import numpy as np

from hypermargin.certificates.certificate import Certificate
from hypermargin.certificates.robust_sums import robust_cut_sums
from hypermargin.certificates.rounding import UNIT_ROUNDOFF, rounding_factor
from hypermargin.geometry.lorentz import Array, covector, fixed_order_product, lift
from hypermargin.problems.margin import MarginProblem

BLOCK = 8192


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
    duals = certificate.duals
    n_points, n_duals = certificate.points.shape[0], 0 if duals is None else duals.shape[0]
    width = problem.dim + 2
    totals, errors = np.zeros((n_points + n_duals, width)), np.zeros((n_points + n_duals, width))
    centre = lift(certificate.centre)
    uniform = problem.sample_weight is None
    for start in range(0, problem.n_samples, BLOCK):
        rows = slice(start, start + BLOCK)
        y, costs = problem.y[rows, None], problem.costs[rows]
        plain = np.hstack([np.ones_like(y), y * covector(problem.X[rows])])
        terms = costs[:, None] * plain
        margins = fixed_order_product(problem.covectors_around(centre, rows), certificate.points.T)
        chosen = np.less(margins, certificate.threshold, out=margins).T  # ones and zeros, in the memory of the margins
        if uniform:  # the common cost is multiplied last
            sums, slack = _selected_sums(chosen, plain)
            sums, slack = problem.C * sums, problem.C * slack + UNIT_ROUNDOFF * np.abs(problem.C * sums)
        else:
            sums, slack = _selected_sums(chosen, terms)
            slack += UNIT_ROUNDOFF * (chosen @ np.abs(terms))
        _accumulate(totals[:n_points], errors[:n_points], sums, slack)
        if duals is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = np.clip(np.nan_to_num(duals[:, rows] * np.sqrt(2.0) / costs), 0.0, 1.0)
            gamma = rounding_factor(np.count_nonzero(shares, axis=1) + 2)[:, None]
            _accumulate(totals[n_points:], errors[n_points:], shares @ terms, gamma * (shares @ np.abs(terms)))
    # The bounds themselves were computed with fewer roundings than this factor allows for. A sum of no terms is exactly
    # 0; others may have lost something to underflow.
    slack = errors * (1.0 + rounding_factor(BLOCK + problem.n_samples // BLOCK + 16))
    return totals, np.where(errors > 0.0, slack + 1e-300, 0.0)


def _selected_sums(chosen: Array, terms: Array) -> tuple[Array, Array]:
    """``chosen @ terms`` for a matrix of zeros and ones, and an error bound, both of shape (cuts, width).

    With sigma a power of two of at least ``n max |terms|``, ``high = (terms + sigma) - sigma`` is a multiple of
    ``sigma 2^-53``, so sums of at most n of them are exact; ``low = terms - high`` is exact and tiny.
    """
    largest = np.abs(terms).max(axis=0)
    sigma = np.where(largest > 0.0, 2.0 ** np.ceil(np.log2(np.maximum(largest, 1e-290) * terms.shape[0]) + 1.0), 0.0)
    high = (terms + sigma) - sigma
    low = terms - high
    both = chosen @ np.hstack([high, low])
    sums = both[:, : terms.shape[1]] + both[:, terms.shape[1] :]
    return sums, UNIT_ROUNDOFF * np.abs(sums) + rounding_factor(terms.shape[0] + 2) * np.abs(low).sum(axis=0)


def _accumulate(totals: Array, errors: Array, sums: Array, slack: Array) -> None:
    """Add the sums of a block in place; the addition itself is rounded once."""
    totals += sums
    errors += slack + UNIT_ROUNDOFF * np.abs(totals)
