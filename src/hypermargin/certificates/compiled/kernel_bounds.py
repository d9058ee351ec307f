# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""Sums over the samples of a kernel problem, bounded on the safe side of rounding.

Every sum is in the order of the samples and is charged ``gamma_n`` times the sum of its sizes (see `arithmetic.py`).
Compiled by Cython at installation, with the C types of `kernel_bounds.pxd` and without fused operations; where there is
no compiler the interpreter runs the same file.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

UNIT = cython.declare(cython.double, 2.0**-53)
INFINITY = cython.declare(cython.double, float("inf"))


def gamma_of(n):
    """``gamma_n``, rounded up: `arithmetic.rounding_factor` for loops that have no interpreter."""
    return 1.0001 * n * UNIT / (1.0 - n * UNIT)


@cython.cclass
class Family:
    """Binary problems that share a kernel matrix (`KernelProblemFamily`): where their samples are, labels and costs.

    Problem p has the samples ``starts[p] : starts[p + 1]`` of flat arrays, and the runs ``run_starts[p] : run_starts[p
    + 1]`` of consecutive rows of K. Its run r begins at sample ``begins[r + p]``, counted within the problem, and row
    ``begins[r + p] + aheads[r]`` of K.
    """

    def __init__(
        self,
        K: cython.const[cython.double][:, ::1],
        starts: cython.const[cython.Py_ssize_t][::1],
        run_starts: cython.const[cython.Py_ssize_t][::1],
        begins: cython.const[cython.Py_ssize_t][::1],
        aheads: cython.const[cython.Py_ssize_t][::1],
        y: cython.const[cython.double][::1],
        costs: cython.const[cython.double][::1],
    ):
        self.K, self.starts, self.run_starts, self.begins, self.aheads = K, starts, run_starts, begins, aheads
        self.y, self.costs = y, costs

    def add_products(self, p, beta, sums, absolute):
        """Add ``K beta`` of problem p to its part of the flat `sums`; with `absolute` the sizes of all terms."""
        first = self.starts[p]
        for q in range(self.run_starts[p], self.run_starts[p + 1]):
            for j in range(self.begins[q + p], self.begins[q + p + 1]):
                weight = beta[first + j]
                if weight == 0.0:
                    continue
                row = j + self.aheads[q]
                for r in range(self.run_starts[p], self.run_starts[p + 1]):
                    ahead = self.aheads[r]
                    if absolute:
                        for k in range(self.begins[r + p], self.begins[r + p + 1]):
                            sums[first + k] += fabs(weight) * fabs(self.K[row, k + ahead])
                    else:
                        for k in range(self.begins[r + p], self.begins[r + p + 1]):
                            sums[first + k] += weight * self.K[row, k + ahead]


def risk_above(scores, errors, y, costs, intercept):
    """``sum_i c_i max(0, 1 - y_i (scores_i + intercept))`` from above, with scores known up to `errors`."""
    n = scores.shape[0]
    risk = 0.0
    for i in range(n):
        short = (1.0 - y[i] * (scores[i] + intercept)) + (
            errors[i] + 4.0 * UNIT * (1.0 + fabs(scores[i]) + fabs(intercept))
        )
        if short > 0.0:
            risk += costs[i] * short
        elif not short <= 0.0:  # NaN proves nothing
            return INFINITY
    return risk * (1.0 + gamma_of(n + 16))  # 16: the products, and the charge itself


def form_bounds(beta, scores, errors):
    """``sum |beta_i|`` from below, and ``sum beta_i scores_i`` from above, with scores known up to `errors`."""
    n = scores.shape[0]
    total = product = products = slack = 0.0
    gamma = gamma_of(n + 16)
    for i in range(n):
        size = fabs(beta[i])
        total += size
        product += beta[i] * scores[i]
        products += size * fabs(scores[i])
        slack += size * errors[i]
    slack = (slack + gamma * products) * (1.0 + 2.0 * gamma)
    return total * (1.0 - gamma), product + slack * (1.0 + 1e-9) + 1e-300


def enclose_family(family, beta, intercepts, relative, absolute, lower, upper):
    """Below the dual objective and above the primal one, for every problem of a family.

    Kernel values are within ``relative |k| + absolute`` of the true ones. Coefficients that are no point of the dual
    prove nothing: bounds are infinite then, and where the sum of the coefficients is 0 but not seen to be by additions
    without rounding. Scores of m coefficients that are not 0 have ``gamma_m`` times the sizes of their terms as error.
    """
    n = beta.shape[0]
    scores: cython.double[::1] = np.zeros(n)
    errors: cython.double[::1] = np.zeros(n)
    for p in range(family.starts.shape[0] - 1):
        first, past = family.starts[p], family.starts[p + 1]
        lower[p], upper[p] = -INFINITY, INFINITY
        if not _is_dual_point(beta[first:past], family.y[first:past], family.costs[first:past]):
            continue
        family.add_products(p, beta, scores, False)
        family.add_products(p, beta, errors, True)
        m = 0
        total = 0.0
        for k in range(first, past):
            if beta[k] != 0.0:
                m += 1
                total += fabs(beta[k])
        factor = gamma_of(m) + 1.01 * relative
        for k in range(first, past):
            errors[k] = (factor * errors[k] + absolute * total) * (1.0 + 1e-9) + 1e-300
        total, square = form_bounds(beta[first:past], scores[first:past], errors[first:past])
        lower[p] = (total - 0.5 * square) - 4.0 * UNIT * (fabs(total) + fabs(square))
        upper[p] = 0.5 * square + risk_above(
            scores[first:past], errors[first:past], family.y[first:past], family.costs[first:past], intercepts[p]
        )
        upper[p] += 4.0 * UNIT * (fabs(square) + fabs(upper[p]))
        if not (fabs(lower[p]) < INFINITY and fabs(upper[p]) < INFINITY):
            lower[p], upper[p] = -INFINITY, INFINITY


def _is_dual_point(beta, y, costs):
    """Whether every ``y_i beta_i`` is between 0 and ``c_i``, and additions without rounding bring the sum to 0."""
    total = 0.0
    for i in range(beta.shape[0]):
        if not 0.0 <= y[i] * beta[i] <= costs[i]:
            return False
        before = total
        total = before + beta[i]
        added = total - before
        # The error of a rounded sum (Knuth), which is itself exact.
        if (before - (total - added)) + (beta[i] - added) != 0.0:
            return False
    return total == 0.0
