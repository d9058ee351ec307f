"""From scores to probabilities: Platt scaling of many binary problems in lockstep, and pairwise coupling.

Platt scaling (paper, app:platt) models ``P(y = +1 | f) = 1 / (1 + exp(A f + B))``. The fit follows Lin, Lin and Weng,
"A note on Platt's probabilistic outputs for support vector machines" (2007): smoothed targets and Newton's method with
backtracking. Pairwise coupling is the second method of Wu, Lin and Weng, "Probability estimates for multi-class
classification by pairwise coupling" (2004).
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import expit

from hypermargin.geometry.lorentz import Array

#: Samples (over all problems) calibrated together: enough to hide the cost of a NumPy call, few enough for the cache.
LOCKSTEP_SAMPLES = 1 << 16
MAX_ROUNDS = 200
GRADIENT_TOL = 1e-6
MIN_STEP = 1e-10
#: Pairwise probabilities stay this far from 0 and 1, as in LIBSVM, so that the coupling has one solution.
PAIRWISE_MARGIN = 1e-7


def fit_platt(scores: Array, positive: np.ndarray, weight: Array, starts: np.ndarray) -> tuple[Array, Array]:
    """Fit A and B of every problem, each shape (n_problems,); the problems lie one after the other in flat arrays.

    Parameters
    ----------
    scores, positive, weight : (n_total,) arrays
        Scores, whether the label is +1, and weights. A weight of 2 equals the sample twice.
    starts : (n_problems,) array of int
        Where each problem begins; none is empty.
    """
    lengths = np.diff(np.append(starts, scores.size))
    total, total_positive = np.add.reduceat(weight, starts), np.add.reduceat(weight * positive, starts)
    mean = np.add.reduceat(weight * scores, starts) / total
    high = (total_positive + 1.0) / (total_positive + 2.0)
    low = 1.0 / (total - total_positive + 2.0)
    targets = np.where(positive, np.repeat(high, lengths), np.repeat(low, lengths))
    # Newton's method works on standardised scores, whatever their scale; constant ones carry no information.
    largest = np.maximum.reduceat(np.abs(scores), starts)
    standard = scores - np.repeat(mean, lengths)
    deviation = np.sqrt(np.add.reduceat(weight * standard**2, starts) / total)
    scale = np.where(deviation > 1e-13 * largest, deviation, np.inf)
    standard /= np.repeat(scale, lengths)
    prior = np.log((total_positive + 1.0) / (total - total_positive + 1.0))
    slope, offset = np.empty_like(total), np.empty_like(total)
    for first, last in _groups(lengths):
        part = slice(starts[first], starts[first] + int(lengths[first:last].sum()))
        slope[first:last], offset[first:last] = _fit_logistic(
            standard[part], targets[part], weight[part], lengths[first:last], prior[first:last]
        )
    return -slope / scale, slope * mean / scale - offset


def platt_logit(scores: Array, A: Array, B: Array) -> Array:
    """Log-odds of +1, ``-(A f + B)``; (n, n_problems) scores to the same shape."""
    return -(scores * A + B)


def _groups(lengths: np.ndarray) -> Iterator[tuple[int, int]]:
    """Runs ``first, last`` of problems that hold at most `LOCKSTEP_SAMPLES` samples together, or are one problem."""
    first, size = 0, 0
    for k, length in enumerate(lengths):
        if k > first and size + length > LOCKSTEP_SAMPLES:
            yield first, k
            first, size = k, 0
        size += int(length)
    yield first, len(lengths)


def _fit_logistic(z: Array, t: Array, weight: Array, lengths: np.ndarray, prior: Array) -> tuple[Array, Array]:
    """Minimise ``sum w (log(1 + exp(s)) - t s)``, ``s = a z + b``, for every problem: a and b, each (n_problems,).

    A round evaluates all unfinished problems once, each at its own trial point; a problem whose trial is refused halves
    its step, the others take a new Newton direction.
    """
    answer = np.stack([np.zeros_like(prior), prior])
    active, done = np.arange(prior.size), np.zeros(prior.size, dtype=bool)
    point, loss = answer.copy(), np.full(prior.size, np.inf)
    direction, slope, step = np.zeros_like(point), np.zeros(prior.size), np.ones(prior.size)
    for _ in range(MAX_ROUNDS):
        trial = point + step * direction
        value, total, gradient, hessian = np.split(_logistic_sums(z, t, weight, lengths, trial), [1, 2, 4])
        value, total = value[0], total[0]
        accepted = value <= loss + 1e-4 * step * slope + 1e-15 * np.abs(value)
        newton = _newton_direction(gradient, hessian, total)
        point = np.where(accepted, trial, point)
        direction = np.where(accepted, newton, direction)
        slope = np.where(accepted, np.sum(gradient * newton, axis=0), slope)
        loss = np.where(accepted, value, loss)
        step = np.where(accepted, 1.0, 0.5 * step)
        converged = accepted & (np.max(np.abs(gradient), axis=0) <= GRADIENT_TOL * total)
        # So close to the optimum the full Newton step is safe, and squares what error is left.
        latest = point + np.where(converged, newton, 0.0)
        answer[:, active[~done]] = latest[:, ~done]
        done |= converged | (step < MIN_STEP)
        if done.all():
            break
        if 2 * done.sum() >= active.size:
            keep = ~done
            samples = np.repeat(keep, lengths)
            z, t, weight, lengths = z[samples], t[samples], weight[samples], lengths[keep]
            active, done, point, direction = active[keep], done[keep], point[:, keep], direction[:, keep]
            slope, loss, step = slope[keep], loss[keep], step[keep]
    return answer[0], answer[1]


def _logistic_sums(z: Array, t: Array, weight: Array, lengths: np.ndarray, point: Array) -> Array:
    """Loss, total weight, gradient (a, b) and Hessian (aa, ab, bb) at ``point = (a, b)``: (2, P) to (7, P).

    A problem with more than `LOCKSTEP_SAMPLES` samples is alone, and is summed piece by piece to stay in the cache.
    """
    if z.size > LOCKSTEP_SAMPLES:
        pieces = [slice(start, start + LOCKSTEP_SAMPLES) for start in range(0, z.size, LOCKSTEP_SAMPLES)]
        sums = [_logistic_sums(z[p], t[p], weight[p], np.array([z[p].size]), point) for p in pieces]
        return np.sum(sums, axis=0)
    starts = np.cumsum(lengths) - lengths
    s = np.repeat(point[0], lengths) * z + np.repeat(point[1], lengths)
    decay = np.exp(-np.abs(s))
    probability = np.where(s >= 0.0, 1.0, decay) / (1.0 + decay)
    loss = weight * (np.log1p(decay) + np.maximum(s, 0.0) - t * s)
    residual = weight * (probability - t)
    curvature = weight * (probability * (1.0 - probability))
    tilted = curvature * z
    terms = (loss, weight, residual * z, residual, tilted * z, tilted, curvature)
    return np.stack([np.add.reduceat(term, starts) for term in terms])


def _newton_direction(gradient: Array, hessian: Array, total: Array) -> Array:
    """``-H^{-1} g`` of every problem, with Lin's tiny ridge (relative to the total weight) for constant scores."""
    ridge = 1e-12 * total
    h_aa, h_ab, h_bb = hessian[0] + ridge, hessian[1], hessian[2] + ridge
    # Rounding must not turn a direction of descent round.
    determinant = np.maximum(h_aa * h_bb - h_ab * h_ab, 1e-15 * h_aa * h_bb)
    g_a, g_b = gradient
    return np.stack([h_ab * g_b - h_bb * g_a, h_ab * g_a - h_aa * g_b]) / determinant


def couple_pairwise(logits: Array, pairs: np.ndarray, n_classes: int) -> Array:
    """Class probabilities, shape (n, n_classes), from the log-odds of every pair of classes.

    Parameters
    ----------
    logits : (n, n_pairs) array
        Log-odds of the second class of each pair against the first.
    pairs : (n_pairs, 2) array of int

    Notes
    -----
    With ``r_st`` the probability of s given "s or t", p minimises ``sum_{s<t} (r_ts p_s - r_st p_t)^2`` on
    ``sum p = 1``, so ``Q p`` is constant, ``Q_tt = sum_s r_st^2``, ``Q_ts = -r_st r_ts``; adding ``1 1'`` to Q makes
    the system definite and changes p by a factor only. The solution is non-negative (Wu, Lin and Weng, theorem 2).
    """
    first, second = pairs[:, 0], pairs[:, 1]
    probability = np.clip(expit(logits), PAIRWISE_MARGIN, 1.0 - PAIRWISE_MARGIN)
    r = np.zeros((logits.shape[0], n_classes, n_classes))
    r[:, second, first] = probability
    r[:, first, second] = 1.0 - probability
    system = 1.0 - r * r.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    system[:, diagonal, diagonal] = 1.0 + np.sum(r * r, axis=1)
    p = np.linalg.solve(system, np.ones((logits.shape[0], n_classes, 1)))[..., 0]
    p = np.maximum(p, 0.0)
    return p / p.sum(axis=1, keepdims=True)


def nearest_with_mode(probability: Array, winner: np.ndarray) -> Array:
    """The distribution nearest to each row of `probability` whose largest entry is that of `winner`.

    This is an isotonic regression, nearest in least squares and in Kullback-Leibler divergence alike: the winner and
    the classes above it are pooled to their mean. Rows where the winner leads already stay as they are; in the others
    it leads by one unit in the last place, so that ``argmax`` returns it.
    """
    rows = np.arange(probability.shape[0])
    leads = np.argmax(probability, axis=1) == winner
    if leads.all():
        return probability
    own = probability[rows, winner]
    others = probability.copy()
    others[rows, winner] = -np.inf
    ranked = -np.sort(-others, axis=1)[:, :-1]
    pooled = (own[:, None] + np.cumsum(ranked, axis=1)) / np.arange(2, probability.shape[1] + 1)
    level = np.maximum(own, pooled.max(axis=1))
    mended = np.minimum(probability, level[:, None])
    mended[rows, winner] = np.nextafter(level, np.inf)
    return np.where(leads[:, None], probability, mended)
