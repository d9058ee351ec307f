"""Long sums over the data in floating point, with proven bounds on their rounding errors (see `rounding`).

Cuts are sums of selected terms, and those can be computed almost exactly: split each term into a multiple of a common
power of two, large enough that all partial sums are exact, and a tiny rest (Rump, Ogita and Oishi, Accurate
floating-point summation, 2008). `compiled.sums` does so in one compiled pass, and arrays do where there is no compiler.
"""

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.compiled import sums as compiled_sums
from hypermargin.certificates.proof import EnvelopeProof
from hypermargin.certificates.robust.sums import robust_cut_sums
from hypermargin.certificates.rounding import UNIT_ROUNDOFF, rounding_factor
from hypermargin.compilation import is_compiled
from hypermargin.geometry.isometries import lowering_matrix
from hypermargin.geometry.lorentz import covector, fixed_order_product, lift
from hypermargin.problems.margin import MarginProblem

BLOCK = 8192

Sums = tuple[Array, Array]


def cut_sums(proof: EnvelopeProof, problem: MarginProblem) -> Sums:
    """The cuts of a certificate times sqrt2, as midpoints and error bounds, each of shape (cuts, d + 2).

    Row j holds ``sqrt2 b`` and then ``-sqrt2 g``: the sums of ``c_i`` and of ``c_i z_i`` over the samples of cut j; for
    explicit weights, of ``sqrt2 a_i`` capped at ``c_i``. In a robust problem the cuts at points take worst-case points
    instead (`robust_sums`); explicit weights are for the nominal points, which belong to every set.
    """
    if problem.uncertainty is not None:
        totals, errors = robust_cut_sums(proof, problem)
    else:
        choice = _Choice(proof)
        totals, errors = (_compiled_sums if is_compiled(compiled_sums) else _array_sums)(choice, problem)
        _add_shares(proof, problem, totals, errors)
    if proof.duals is None:
        return totals, errors
    J = len(proof.points)
    explicit = zip((totals, errors), _explicit_sums(proof.duals, problem), strict=True)
    totals, errors = (np.vstack([parts[:J], given, parts[J:]]) for parts, given in explicit)
    return totals, errors


class _Choice:
    """Which samples the cuts at points take: those of margin below the threshold, but none of those with shares.

    Cuts with shares come after the others. Samples ``apart[starts[j]]`` to ``apart[starts[j + 1] - 1]`` have shares in
    cut j.
    """

    def __init__(self, proof: EnvelopeProof):
        shared = proof.shared
        numbers = [*range(len(proof.points)), *(cut.point for cut in shared)]
        sizes = [0] * len(proof.points) + [cut.samples.size for cut in shared]
        self.centre, self.threshold = lift(proof.centre), proof.threshold
        self.points = np.ascontiguousarray(proof.points[numbers], dtype=np.float64)
        self.apart = np.concatenate([np.zeros(0, dtype=np.intp), *(cut.samples for cut in shared)], dtype=np.intp)
        self.starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.intp)], dtype=np.intp)


def _compiled_sums(choice: _Choice, problem: MarginProblem) -> Sums:
    """The cuts at the points, the samples as they are, in one pass.

    A sum of m high parts is exact, that of m low parts, each at most ``u sigma``, errs by at most ``gamma_m m u sigma``
    (see `compiled.sums`). Then both are added, and multiplied by C where that is not part of the terms;
    where costs are, each term is a rounded product.
    """
    width, n_points = problem.dim + 2, choice.points.shape[0]
    weighted = problem.sample_weight is not None
    sums, counts, sigma = np.zeros((n_points, 3 * width)), np.zeros(n_points), np.zeros(width)
    compiled_sums.selected_sums(
        np.ascontiguousarray(problem.X),
        problem.y,
        problem.costs,
        weighted,
        choice.centre,
        np.ascontiguousarray(lowering_matrix(choice.centre)),
        choice.points,
        choice.threshold,
        choice.apart,
        choice.starts,
        sums,
        counts,
        sigma,
    )
    factor = 1.0 if weighted else problem.C
    totals = factor * (sums[:, :width] + sums[:, width : 2 * width])
    low_errors = (rounding_factor(counts) * counts * UNIT_ROUNDOFF)[:, None] * (factor * sigma)
    errors = 2.0 * UNIT_ROUNDOFF * np.abs(totals) + UNIT_ROUNDOFF * sums[:, 2 * width :] + low_errors
    return totals, _rounded_up(errors, problem.n_samples)


def _array_sums(choice: _Choice, problem: MarginProblem) -> Sums:
    """`_compiled_sums` without a compiler, block by block."""
    totals = np.zeros((choice.points.shape[0], problem.dim + 2))
    errors = np.zeros_like(totals)
    uniform = problem.sample_weight is None
    cut_of = np.repeat(np.arange(len(totals)), np.diff(choice.starts))
    for start in range(0, problem.n_samples, BLOCK):
        rows = slice(start, start + BLOCK)
        terms = _terms(problem, rows, weighted=not uniform)
        margins = fixed_order_product(problem.covectors_around(choice.centre, rows), choice.points.T)
        chosen = np.less(margins, choice.threshold, out=margins).T  # ones and zeros, in the memory of the margins
        here = (start <= choice.apart) & (choice.apart < start + BLOCK)
        chosen[cut_of[here], choice.apart[here] - start] = 0.0
        sums, slack = _selected_sums(chosen, terms)
        if uniform:  # the common cost is multiplied last
            sums, slack = problem.C * sums, problem.C * slack + UNIT_ROUNDOFF * np.abs(problem.C * sums)
        else:
            slack += UNIT_ROUNDOFF * (chosen @ np.abs(terms))
        _accumulate(totals, errors, sums, slack)
    return totals, _rounded_up(errors, problem.n_samples)


def _add_shares(proof: EnvelopeProof, problem: MarginProblem, totals: Array, errors: Array) -> None:
    """Add to the last rows what the samples with shares contribute to their cuts, in place."""
    for row, cut in enumerate(proof.shared, start=len(proof.points)):
        y = problem.y[cut.samples, None]
        terms = np.hstack([np.ones_like(y), y * covector(problem.X[cut.samples])])
        weights = cut.shares * problem.costs[cut.samples]
        slack = rounding_factor(weights.size + 3) * (weights @ np.abs(terms))
        _accumulate(totals[row], errors[row], weights @ terms, slack)
        errors[row] = _rounded_up(errors[row], problem.n_samples)


def _explicit_sums(duals: Array, problem: MarginProblem) -> Sums:
    """The cuts whose weights are given outright."""
    totals = np.zeros((duals.shape[0], problem.dim + 2))
    errors = np.zeros_like(totals)
    for start in range(0, problem.n_samples, BLOCK):
        rows = slice(start, start + BLOCK)
        terms = _terms(problem, rows, weighted=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.clip(np.nan_to_num(duals[:, rows] * np.sqrt(2.0) / problem.costs[rows]), 0.0, 1.0)
        gamma = rounding_factor(np.count_nonzero(shares, axis=1) + 2)[:, None]
        _accumulate(totals, errors, shares @ terms, gamma * (shares @ np.abs(terms)))
    return totals, _rounded_up(errors, problem.n_samples)


def _terms(problem: MarginProblem, rows: slice, weighted: bool) -> Array:
    """``(1, z_i)`` for some samples, times ``c_i`` if `weighted`; shape (rows, d + 2)."""
    y = problem.y[rows, None]
    terms = np.hstack([np.ones_like(y), y * covector(problem.X[rows])])
    return problem.costs[rows, None] * terms if weighted else terms


def _selected_sums(chosen: Array, terms: Array) -> Sums:
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


def _rounded_up(errors: Array, n_samples: int) -> Array:
    """Error bounds from at most n terms, enlarged by more than the rounding of their own computation.

    A sum of no terms is exactly 0; others may have lost something to underflow.
    """
    return np.where(errors > 0.0, errors * (1.0 + rounding_factor(n_samples + BLOCK + 16)) + 1e-300, 0.0)
