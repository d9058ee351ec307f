"""From scores to probabilities: Platt scaling of a batch of binary problems, and pairwise coupling.

Platt scaling (paper, app:platt) models ``P(y = +1 | f) = 1 / (1 + exp(A f + B))``. The fit follows Lin, Lin and Weng,
"A note on Platt's probabilistic outputs for support vector machines" (2007): smoothed targets and Newton's method with
backtracking (`minimise_logistic`), on standardised scores. It needs sums over samples only. `fit_platt` has the
scores in memory; `fit_of_blocks` maps the sums over blocks and begins at the answer for a few scores of each,
which leaves it three passes or so.

The scores of one-vs-rest are calibrated together: ``P(y = k | f) = softmax_k(-(A_k f_k + B_k))`` (`fit_softmax`). Where
the binary problems of some classes are degenerate, as in the plane they often are, their scores say little on their own
and more beside those of the others. Pairwise coupling is the second method of Wu, Lin and Weng, "Probability estimates
for multi-class classification by pairwise coupling" (2004).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from scipy.special import expit

from hypermargin.arrays import Array, row_blocks
from hypermargin.data.blocks import LabelledBlock
from hypermargin.data.device import to_numpy
from hypermargin.data.executors import DataSource
from hypermargin.geometry.lorentz import covector

#: Samples (over all problems) calibrated together: enough to hide the cost of a NumPy call, few enough for the cache.
BATCH_SAMPLES = 1 << 14
#: Rounds of Newton's method; about ten are needed, and halved steps count.
MAX_ROUNDS = 200
#: Relative to the weight: the full Newton step from there squares the error, which is then below rounding.
GRADIENT_TOL = 1e-8
#: The same for the fall that a Newton step promises, which is of the order of the squared gradient.
DECREASE_TOL = 1e-13
#: The least step: shorter ones change the point by no more than rounding does.
MIN_STEP = 1e-10
#: Log-odds that Newton's method begins with, at most: beyond, the probabilities of overlapping classes are too far off.
LARGEST_START = 4.0
LOG2 = float(np.log(2.0))
#: Scores of a block that are looked at together in NumPy, and on a device. Workers of Dask give memory back to the
#: system as soon as 64 KiB of it are free, and to get it again takes longer than these sums do: so these are few.
HOST_SCORES, DEVICE_SCORES = 1 << 11, 1 << 22
#: Scores that a block sends for the start.
SENT_SCORES = 1 << 11
#: Scores of one-vs-rest that are looked at together: 1 MiB, which fits the cache beside what is made of them.
JOINT_SCORES = 1 << 17
#: Pairwise probabilities stay this far from 0 and 1, as in LIBSVM, so that the coupling has one solution.
PAIRWISE_MARGIN = 1e-7
#: Weight of ``|slopes|^2`` and ``|offsets|^2`` beside the sum of the losses, for scores whose unit is the margin: the
#: optimum is then finite and unique where classes do not overlap. With 0.3 the log loss of held-out folds is below that
#: of Platt scaling on eleven of twelve sets of benchmarks/bench_schemes.py (krumsiek .23 and .48, olsson .28 and .59,
#: paul .93 and 1.08; football 1.758 and 1.756). From 1 on it is above it on football, below 0.1 it is twice as high as
#: it on separable scores of 1,000 samples in 32 dimensions.
RIDGE, OFFSET_RIDGE = 0.3, 1e-7


#: Scores, whether the label is +1, and weights (None: all are 1) of some problems, one after the other.
FlatSamples = tuple[Array, np.ndarray, Array | None]


def fit_platt(lengths: np.ndarray, samples_of: Callable[[slice], FlatSamples]) -> tuple[Array, Array]:
    """Fit A and B of every problem, each shape (n_problems,).

    Parameters
    ----------
    lengths : (n_problems,) array of int
        Samples of each problem; none is empty.
    samples_of : callable
        Called with a run of problems, for their samples in flat arrays; so that the scores of few problems are held at
        once. A weight of 2 equals the sample twice.
    """
    A, B = np.concatenate([_fit_batch(*samples_of(run), lengths[run]) for run in _batches(lengths)], axis=1)
    return A, B


def fit_of_blocks(source: DataSource, code: np.ndarray, solutions: Sequence[Any], joint: bool) -> tuple[Array, Array]:
    """`fit_platt` or, if `joint`, `fit_softmax` for the labelled blocks of a source.

    Scores are those of the hyperplanes that were found; `code` has shape (n_problems, n_classes).
    """
    planes = covector(np.stack([solution.w for solution in solutions]))
    intercept = np.array([solution.intercept for solution in solutions])
    if joint:
        scores = (code, planes, intercept)
        return fit_softmax(len(code), lambda point: np.sum(source.map_blocks(_softmax_of_block, scores, point), axis=0))
    moments, sent = zip(*source.map_blocks(_moments, code, planes, intercept), strict=True)
    total, positive, first, second = np.sum(moments, axis=0)
    mean = first / total
    deviation = np.sqrt(np.maximum(second / total - mean * mean, 0.0))
    scale = np.where(deviation > 1e-7 * np.sqrt(second / total), deviation, np.inf)
    tilts = _tilts(positive, total)

    def sums(point: Array, active: np.ndarray) -> Array:
        chosen = (code[active], planes[active], intercept[active], mean[active], scale[active], tilts[:, active])
        return np.sum(source.map_blocks(_block_sums, *chosen, point), axis=0)

    start = _start(np.concatenate(sent, axis=1), mean, scale, tilts, positive, total)
    return _unscaled(minimise_logistic(sums, total, start), mean, scale)


def _tilts(positive: Array, total: Array) -> Array:
    """Platt's smoothed targets t as ``2 t - 1``, of negative samples and of positive ones, shape (2, n_problems)."""
    return np.stack([(positive - total) / (total - positive + 2.0), positive / (positive + 2.0)])


def _unscaled(point: Array, mean: Array, scale: Array) -> tuple[Array, Array]:
    """A and B from slope and offset of the log-odds on standardised scores."""
    slope, offset = point
    return -slope / scale, slope * mean / scale - offset


def _batches(lengths: np.ndarray) -> Iterator[slice]:
    """Runs of consecutive problems that hold at most `BATCH_SAMPLES` samples together, or are one problem."""
    first, size = 0, 0
    for k, length in enumerate(lengths):
        if k > first and size + length > BATCH_SAMPLES:
            yield slice(first, k)
            first, size = k, 0
        size += int(length)
    yield slice(first, len(lengths))


def _fit_batch(scores: Array, positive: np.ndarray, weight: Array | None, lengths: np.ndarray) -> Array:
    """A and B of the problems of one batch, shape (2, n_problems)."""
    starts = np.cumsum(lengths) - lengths

    def sums(values: Array) -> Array:
        return np.add.reduceat(values if weight is None else weight * values, starts)

    def spread(values: Array) -> Array:
        """One value per problem, for each of its samples; one problem may be large, and needs no copies of a number."""
        return values if values.size == 1 else np.repeat(values, lengths)

    total = lengths.astype(np.float64) if weight is None else np.add.reduceat(weight, starts)
    total_positive = sums(positive.astype(np.float64))
    mean = sums(scores) / total
    # Newton's method works on standardised scores, whatever their scale; constant ones carry no information.
    largest = np.maximum.reduceat(np.abs(scores), starts)
    z = scores - spread(mean)
    deviation = np.sqrt(sums(z * z) / total)
    scale = np.where(deviation > 1e-13 * largest, deviation, np.inf)
    z /= spread(scale)

    def by_label(of_negative: Array, of_positive: Array) -> Array:
        return np.where(positive, spread(of_positive), spread(of_negative))

    tilts = _tilts(total_positive, total)
    # Least squares on the log-odds of the targets is a better start than the prior, if they are not too large.
    odds = np.clip(2.0 * np.arctanh(tilts), -LARGEST_START, LARGEST_START)
    start = np.stack([sums(by_label(*odds) * z), total_positive * odds[1] + (total - total_positive) * odds[0]]) / total
    return np.stack(_unscaled(fit_logistic(z, by_label(*tilts), weight, lengths, total, start), mean, scale))


def fit_logistic(z: Array, tilt: Array, weight: Array | None, lengths: np.ndarray, total: Array, start: Array) -> Array:
    """`minimise_logistic` for problems whose samples are in flat arrays, one problem after the other."""
    samples, left = (z, tilt, weight, lengths), np.arange(total.size)

    def sums(point: Array, active: np.ndarray) -> Array:
        nonlocal samples, left
        if active.size < left.size:
            z, tilt, weight, lengths = samples
            stays = np.isin(left, active)
            rows = np.repeat(stays, lengths)
            samples, left = (z[rows], tilt[rows], None if weight is None else weight[rows], lengths[stays]), active
        return logistic_sums(*samples, point)

    return minimise_logistic(sums, total, start)


def minimise_logistic(sums: Callable[[Array, np.ndarray], Array], total: Array, start: Array) -> Array:
    """Minimise ``sum w (log(1 + exp(s)) - t s)``, ``s = a z + b``, ``t = (1 + tilt)/2``, for every problem.

    `start` and the answer hold a and b, shape (2, n_problems); `total` is the weight of a problem. ``sums(point,
    active)`` is what `logistic_sums` returns for the problems of these numbers, wherever their samples are. A round
    evaluates all unfinished problems once, each at its own trial point; a problem whose trial is refused halves its
    step, the others take a new Newton direction.
    """
    answer = start.copy()
    active, done = np.arange(total.size), np.zeros(total.size, dtype=bool)
    point, loss = start, np.full(total.size, np.inf)
    direction, slope, step = np.zeros_like(point), np.zeros(total.size), np.ones(total.size)
    for _ in range(MAX_ROUNDS):
        trial = point + step * direction
        found = sums(trial, active)
        value, gradient, hessian = found[0], found[1:3], found[3:]
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
            total, active, done = total[keep], active[keep], done[keep]
            point, direction, slope = point[:, keep], direction[:, keep], slope[keep]
            loss, step = loss[keep], step[keep]
    return answer


def logistic_sums(z: Array, tilt: Array, weight: Array | None, lengths: np.ndarray, point: Array) -> Array:
    """Loss, gradient (a, b) and Hessian (aa, ab, bb) of every problem at ``point = (a, b)``: (2, P) to (6, P).

    With ``h = tanh(s/2)`` the probability is ``(1 + h)/2``, and ``log(1 + exp(s)) = s/2 + |s|/2 - log((1 + |h|)/2)``. A
    problem with more than `BATCH_SAMPLES` samples is alone, and is summed in parts that stay in the cache.
    """
    if z.size > BATCH_SAMPLES:
        runs = [slice(start, start + BATCH_SAMPLES) for start in range(0, z.size, BATCH_SAMPLES)]
        weights = [None if weight is None else weight[p] for p in runs]
        parts = zip(runs, weights, strict=True)
        return np.sum([logistic_sums(z[p], tilt[p], own, np.array([z[p].size]), point) for p, own in parts], axis=0)
    half = np.repeat(0.5 * point[0], lengths) * z
    half += np.repeat(0.5 * point[1], lengths)
    terms = np.empty((6, z.size))
    loss, double_a, double_b, bend_aa, bend_ab, bend_bb = terms
    h = np.tanh(half)
    np.subtract(h, tilt, out=double_b)  # twice the probability minus the target
    np.multiply(double_b, z, out=double_a)
    np.subtract(1.0, np.square(h, out=bend_bb), out=bend_bb)  # four times p (1 - p)
    np.multiply(bend_bb, z, out=bend_ab)
    np.multiply(bend_ab, z, out=bend_aa)
    np.subtract(np.abs(half, out=loss), np.log1p(np.abs(h, out=h), out=h), out=loss)
    loss += LOG2
    loss -= np.multiply(half, tilt, out=half)
    if weight is not None:
        terms *= weight
    sums = np.add.reduceat(terms, np.cumsum(lengths) - lengths, axis=1)
    sums[1:3] *= 0.5
    sums[3:] *= 0.25
    return sums


def _newton_direction(gradient: Array, hessian: Array, total: Array) -> Array:
    """``-H^{-1} g`` of every problem, with Lin's tiny ridge (relative to the total weight) for constant scores."""
    ridge = 1e-12 * total
    h_aa, h_ab, h_bb = hessian[0] + ridge, hessian[1], hessian[2] + ridge
    # Rounding must not turn a direction of descent round.
    determinant = np.maximum(h_aa * h_bb - h_ab * h_ab, 1e-15 * h_aa * h_bb)
    g_a, g_b = gradient
    return np.stack([h_ab * g_b - h_bb * g_a, h_ab * g_a - h_aa * g_b]) / determinant


# -- all classes of one-vs-rest together -------------------------------------------------------------------------------


def fit_softmax(n_classes: int, sums: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Fit A and B of every class, each shape (n_classes,), to the least log loss of all of them together.

    ``sums(point)`` is the `softmax_sums` of all samples.
    """
    ridge = np.repeat([RIDGE, OFFSET_RIDGE], n_classes)
    point, value, decrease, step = np.repeat([1.0, 0.0], n_classes), np.inf, 0.0, 1.0
    direction = np.zeros(2 * n_classes)
    for _ in range(MAX_ROUNDS):
        trial = point - step * direction
        found = sums(trial)
        loss = found[0] + ridge @ np.square(trial)
        if loss > value - 1e-4 * step * decrease + 1e-15 * abs(loss):
            step *= 0.5
            if step < MIN_STEP:
                break
            continue
        point, value, step = trial, loss, 1.0
        gradient = found[1 : 2 * n_classes + 1] + 2.0 * ridge * point
        hessian = found[2 * n_classes + 1 : -1].reshape(2 * n_classes, -1) + np.diag(2.0 * ridge)
        size = 1.0 / np.sqrt(np.diag(hessian))
        direction = size * np.linalg.solve(hessian * size * size[:, None], size * gradient)
        decrease = float(gradient @ direction)
        if decrease <= DECREASE_TOL * found[-1]:  # the full step squares what is left, which is then below rounding
            point = point - direction
            break
    slopes, offsets = point.reshape(2, -1)
    return -slopes, offsets.mean() - offsets  # a constant in all logits changes nothing


def fit_softmax_of(scores: Array, labels: np.ndarray, weight: Array | None) -> tuple[Array, Array]:
    """`fit_softmax` for scores in memory, shape (n, n_classes), with class indices as labels."""
    n, n_classes = scores.shape
    weight = np.ones(n) if weight is None else weight
    blocks = row_blocks(n, max(1, JOINT_SCORES // n_classes))

    def rows() -> Iterator[tuple[Any, ...]]:
        for block in blocks:
            yield array_namespace(scores), scores[block], labels[block, None] == np.arange(n_classes), weight[block]

    return fit_softmax(n_classes, lambda point: softmax_sums(rows(), point))


def softmax_sums(part: Iterator[tuple[Any, ...]], point: Array) -> Array:
    """Loss, gradient and Hessian at `point`, slopes and then offsets, and the weight, one after the other in one array.

    A part of the samples is an iterator over portions of rows: array namespace, scores and whether the label is that
    class, shape (n, n_classes), and weights (n,).
    """
    K, total = point.size // 2, np.zeros(1)
    for xp, z, positive, weight in part:
        slope, offset = (xp.asarray(v, device=device(z)) for v in (point[:K], point[K:]))
        logits = z * slope + offset
        logits = logits - xp.max(logits, axis=1, keepdims=True)
        share = xp.exp(logits)
        mass = xp.sum(share, axis=1)
        hit = xp.astype(positive, z.dtype)
        loss = xp.sum(weight * (xp.log(mass) - xp.sum(hit * logits, axis=1)))
        share = share / mass[:, None]
        both = xp.concat([share * z, share], axis=1)
        residual = weight[:, None] * xp.concat([(share - hit) * z, share - hit], axis=1)
        products = (both * weight[:, None]).T @ both
        on_diagonal = weight @ xp.concat([share * z * z, share * z, share], axis=1)
        slopes, mixed, offsets = to_numpy(on_diagonal).reshape(3, K)
        hessian = np.block([[np.diag(slopes), np.diag(mixed)], [np.diag(mixed), np.diag(offsets)]]) - to_numpy(products)
        gradient = to_numpy(xp.sum(residual, axis=0))
        total = total + np.concatenate([[float(loss)], gradient, hessian.ravel(), [float(xp.sum(weight))]])
    return np.asarray(total)


def _softmax_of_block(samples: LabelledBlock, planes: tuple[Array, ...], point: Array) -> Array:
    portions = ((xp, scores, hit, weight[:, 0]) for xp, scores, hit, weight in _scored(samples, *planes))
    return softmax_sums(portions, point)


# -- sums over blocks --------------------------------------------------------------------------------------------------


def _scored(samples: LabelledBlock, code: np.ndarray, planes: Array, intercept: Array) -> Iterator[tuple[Any, ...]]:
    """For some rows at a time: scores, whether the sample is on the positive side, and its weight in every problem."""
    X = samples.points
    xp, n = array_namespace(X), int(X.shape[0])
    step = max(1, (DEVICE_SCORES if samples.on_device else HOST_SCORES) // len(code))
    normals, offsets, table = (_beside(samples, v) for v in (planes.T, intercept, code.T))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        part = X[rows, :]
        if samples.on_device:
            time = xp.sqrt(1.0 + xp.sum(part * part, axis=1))
            scores = time[:, None] * normals[0, :] + part @ normals[1:, :] + offsets
        else:
            scores = part @ normals + offsets
        side = xp.take(table, xp.astype(samples.labels[rows], xp.int64), axis=0)
        weight = xp.abs(side)
        if samples.weight is not None:
            weight = weight * samples.weight[rows][:, None]
        yield xp, scores, side > 0.0, weight


def _beside(samples: LabelledBlock, values: Array) -> Any:
    """Small host values where the samples are."""
    values = np.ascontiguousarray(values)
    if not samples.on_device:
        return values
    return array_namespace(samples.points).asarray(values, device=samples.points.device)


def _moments(samples: LabelledBlock, code: np.ndarray, planes: Array, intercept: Array) -> tuple[Array, Array]:
    """Weight, positive weight, and sums of the scores and of their squares, shape (4, n_problems); and some scores.

    Each of the latter, shape (2, scores, n_problems), comes with the weight of those that it stands for, as a signed
    number: negative for the negative side.
    """
    total, sent = np.zeros((4, len(code))), [np.empty((2, 0, len(code)))]
    stride, seen = -(-int(samples.points.shape[0]) * len(code) // SENT_SCORES), 0
    for xp, scores, positive, weight in _scored(samples, code, planes, intercept):
        terms = [weight, weight * xp.astype(positive, xp.float64), weight * scores, weight * scores * scores]
        total += np.stack([to_numpy(xp.sum(term, axis=0)) for term in terms])
        some = slice(-seen % stride, None, stride)
        seen += int(scores.shape[0])
        signed = xp.where(positive[some, :], weight[some, :], -weight[some, :])
        sent.append(np.stack([to_numpy(scores[some, :]), stride * to_numpy(signed)]))
    return total, np.concatenate(sent, axis=1)


def _start(sent: Array, mean: Array, scale: Array, tilts: Array, positive: Array, total: Array) -> Array:
    """The best point for the scores that blocks sent; the prior where they lack a side."""
    start = np.stack([np.zeros(total.size), np.log((positive + 1.0) / (total - positive + 1.0))])
    for k in range(len(mean)):
        scores, weight = sent[:, sent[1, :, k] != 0.0, k]
        if weight.size and weight.min() < 0.0 < weight.max():
            tilt = np.where(weight > 0.0, tilts[1, k], tilts[0, k])
            size, z = np.abs(weight), (scores - mean[k]) / scale[k]
            start[:, k] = fit_logistic(z, tilt, size, np.array([z.size]), size.sum(keepdims=True), start[:, [k]])[:, 0]
    return start


def _block_sums(
    samples: LabelledBlock,
    code: np.ndarray,
    planes: Array,
    intercept: Array,
    mean: Array,
    scale: Array,
    tilts: Array,
    point: Array,
) -> Array:
    """`logistic_sums` of a block, (6, n_problems)."""
    total = np.zeros((6, len(code)))
    mean, scale, tilts, point = (_beside(samples, v) for v in (mean, scale, tilts, point))
    for xp, scores, positive, weight in _scored(samples, code, planes, intercept):
        tilt = xp.where(positive, tilts[1, :], tilts[0, :])
        z = (scores - mean) / scale
        if not samples.on_device:
            own = None if np.all(weight == 1.0) else weight.T.ravel()
            total += logistic_sums(z.T.ravel(), tilt.T.ravel(), own, np.full(len(code), len(z)), point)
            continue
        half = 0.5 * (z * point[0, :] + point[1, :])
        h = xp.tanh(half)
        loss = weight * (xp.abs(half) - xp.log1p(xp.abs(h)) + LOG2 - half * tilt)
        residual, curve = 0.5 * weight * (h - tilt), 0.25 * weight * (1.0 - h * h)
        terms = [loss, residual * z, residual, curve * z * z, curve * z, curve]
        total += np.stack([to_numpy(xp.sum(term, axis=0)) for term in terms])
    return total


# -- pairs of classes --------------------------------------------------------------------------------------------------


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
