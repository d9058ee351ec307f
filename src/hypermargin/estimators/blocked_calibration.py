"""Platt scaling over samples in blocks: Newton's method for all binary problems in lockstep, one pass per evaluation.

The model and its smoothed targets are those of `calibration`, which has all scores at hand; here pieces sum up what a
step needs. Newton's method begins at the answer for a few scores of every piece, which leaves it three passes or so.
"""

from typing import Any

import numpy as np
from array_api_compat import array_namespace

from hypermargin.arrays import Array
from hypermargin.data.blocks import LabelledBlock
from hypermargin.data.device import to_numpy
from hypermargin.data.executors import DataSource
from hypermargin.estimators.calibration import fit_logistic, logistic_sums, minimise_logistic
from hypermargin.geometry.lorentz import covector

#: Scores that are looked at together in NumPy, and on a device. Workers of Dask give memory back to the system as soon
#: as 64 KiB of it are free, and to get it again takes longer than these sums do: so blocks are small.
HOST_BLOCK, DEVICE_BLOCK = 1 << 11, 1 << 22
#: Scores that a piece sends for the start.
SENT_SCORES = 1 << 11


def calibrate_blocks(home: DataSource, code: np.ndarray, coef: Array, intercept: Array) -> tuple[Array, Array]:
    """Platt coefficients A and B of every problem, each shape (n_problems,), from the scores of its own samples."""
    planes = covector(coef)
    moments, sent = zip(*home.ask(_moments, code, planes, intercept), strict=True)
    total, positive, first, second = np.sum(moments, axis=0)
    mean = first / total
    deviation = np.sqrt(np.maximum(second / total - mean * mean, 0.0))
    scale = np.where(deviation > 1e-7 * np.sqrt(second / total), deviation, np.inf)
    targets = np.stack([1.0 / (total - positive + 2.0), (positive + 1.0) / (positive + 2.0)])
    prior = np.stack([np.zeros(total.size), np.log((positive + 1.0) / (total - positive + 1.0))])
    start = _start(np.concatenate(sent, axis=1), mean, scale, targets, prior)

    def sums(point: Array, active: np.ndarray) -> Array:
        chosen = (code[active], planes[active], intercept[active], mean[active], scale[active], targets[:, active])
        return np.sum(home.ask(_logistic_sums, *chosen, point), axis=0)

    a, b = minimise_logistic(sums, total, start)
    return -a / scale, a * mean / scale - b


def _blocks(samples: LabelledBlock, code: np.ndarray, planes: Array, intercept: Array) -> Any:
    """For blocks of rows: scores, whether the sample is on the positive side, and its weight in every problem."""
    X = samples.points
    xp = array_namespace(X)
    n, problems = int(X.shape[0]), len(code)
    step = max(1, (DEVICE_BLOCK if samples.on_device else HOST_BLOCK) // problems)
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
    if not samples.on_device:
        return np.ascontiguousarray(values)
    return array_namespace(samples.points).asarray(np.ascontiguousarray(values), device=samples.points.device)


def _moments(samples: LabelledBlock, code: np.ndarray, planes: Array, intercept: Array) -> tuple[Array, Array]:
    """Weight, positive weight, and sums of the scores and of their squares, shape (4, n_problems); and some scores.

    Those come with their signed weights, shape (2, rows, n_problems), for which other rows count as well.
    """
    total, sent = np.zeros((4, len(code))), [np.zeros((2, 0, len(code)))]
    stride = -(-int(samples.points.shape[0]) * len(code) // SENT_SCORES)
    seen = 0
    for xp, scores, positive, weight in _blocks(samples, code, planes, intercept):
        terms = [weight, weight * xp.astype(positive, xp.float64), weight * scores, weight * scores * scores]
        total += np.stack([to_numpy(xp.sum(term, axis=0)) for term in terms])
        some = slice(-seen % stride, None, stride)
        seen += int(scores.shape[0])
        signed = xp.where(positive[some, :], weight[some, :], -weight[some, :])
        sent.append(np.stack([to_numpy(scores[some, :]), stride * to_numpy(signed)]))
    return total, np.concatenate(sent, axis=1)


def _start(sent: Array, mean: Array, scale: Array, targets: Array, prior: Array) -> Array:
    """The best point for the scores that pieces sent, shape (2, n_problems); the prior where they lack a side."""
    start = prior.copy()
    for k in range(len(mean)):
        scores, weight = sent[:, sent[1, :, k] != 0.0, k]
        if weight.size and weight.min() < 0.0 < weight.max():
            tilt = 2.0 * np.where(weight > 0.0, targets[1, k], targets[0, k]) - 1.0
            size, z = np.abs(weight), (scores - mean[k]) / scale[k]
            found = fit_logistic(z, tilt, size, np.array([z.size]), size.sum(keepdims=True), prior[:, [k]])
            start[:, k] = found[:, 0]
    return start


def _logistic_sums(
    samples: LabelledBlock,
    code: np.ndarray,
    planes: Array,
    intercept: Array,
    mean: Array,
    scale: Array,
    targets: Array,
    point: Array,
) -> Array:
    """Loss, gradient (a, b) and Hessian (aa, ab, bb) at ``point = (a, b)`` on standardised scores: (6, n_problems)."""
    total = np.zeros((6, len(code)))
    sums = _device_sums if samples.on_device else _host_sums
    facts = [_beside(samples, v) for v in (mean, scale, targets, point)]
    for xp, *block in _blocks(samples, code, planes, intercept):
        total += sums(xp, *block, *facts)
    return total


def _host_sums(
    xp: Any, scores: Array, positive: Array, weight: Array, mean: Array, scale: Array, targets: Array, point: Array
) -> Array:
    lengths = np.full(scores.shape[1], scores.shape[0])
    z = ((scores - mean) / scale).T.ravel()
    tilt = 2.0 * np.where(positive, targets[1], targets[0]).T.ravel() - 1.0
    return logistic_sums(z, tilt, None if np.all(weight == 1.0) else weight.T.ravel(), lengths, point)


def _device_sums(
    xp: Any, scores: Any, positive: Any, weight: Any, mean: Any, scale: Any, targets: Any, point: Any
) -> Array:
    z = (scores - mean) / scale
    s = z * point[0, :] + point[1, :]
    decay = xp.exp(-xp.abs(s))
    target = xp.where(positive, targets[1, :], targets[0, :])
    loss = xp.where(s > 0.0, s, xp.zeros_like(s)) + xp.log1p(decay) - target * s
    probability = xp.where(s > 0.0, 1.0 / (1.0 + decay), decay / (1.0 + decay))
    residual, curve = weight * (probability - target), weight * decay / ((1.0 + decay) * (1.0 + decay))
    terms = [weight * loss, residual * z, residual, curve * z * z, curve * z, curve]
    return np.stack([to_numpy(xp.sum(term, axis=0)) for term in terms])
