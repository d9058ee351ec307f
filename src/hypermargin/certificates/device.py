"""The sums of a check on a device: the same proof with arrays of any library that rounds as IEEE 754 asks.

Covectors of the frame, splitting into high and low parts, and error bounds are those of `sums` and `frame`. The bounds
hold for sums in any order and with fused operations, which is what devices do. High parts sum up exactly in any order.
"""

from dataclasses import replace
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.certificates import fused
from hypermargin.certificates.compiled.sums import power_of_two_above
from hypermargin.certificates.core.proof import EnvelopeProof
from hypermargin.certificates.fingerprints import are_named
from hypermargin.certificates.frame import FramedSamples
from hypermargin.data.device import DeviceSamples, has_kernels, partial_sums, to_numpy
from hypermargin.geometry.lorentz import lift
from hypermargin.problems.margin import MarginProblem


def selected_sums(piece: DeviceSamples, proof: EnvelopeProof, farthest: float) -> tuple[Array, Array]:
    """`compiled.sums.selected_sums` of a piece: sums (points, 3 + 3 (d + 2)) and splitting powers.

    Sums of sizes are replaced by bounds: no coordinate of a covector is larger than 1.5 stretches of its x0.
    """
    frame = FramedSamples(piece, proof.centre)  # type: ignore[arg-type]
    width, n_points = piece.dim + 2, len(proof.points)
    costs_at_most = 1.0 if piece.sample_weight is None else piece.C * float(piece.xp.max(piece.sample_weight))
    largest = np.full(width, 1.5 * frame.stretch * farthest * costs_at_most)
    largest[0] = costs_at_most
    sigma = np.array([power_of_two_above(2.0 * piece.n_samples * value) for value in largest.tolist()])
    if has_kernels(piece):
        found = fused.selected_sums(piece, frame.matrix, proof.points, proof.threshold, sigma)
    else:
        found = _array_sums(piece, frame.matrix, proof.points, proof.threshold, sigma)
    high_and_low, charges, counts = found[:, : 2 * width], found[:, 2 * width], found[:, 2 * width + 1 :]
    sizes = np.empty((n_points, width))
    sizes[:, 0] = high_and_low[:, 0] + high_and_low[:, width]
    sizes[:, 1:] = (1.5 * frame.stretch * charges)[:, None]
    return np.hstack([counts, charges[:, None], high_and_low, 1.0001 * sizes]), sigma


def without_named(piece: DeviceSamples, names: NDArray[np.int64]) -> tuple[DeviceSamples, MarginProblem]:
    """The piece with the samples of these names sitting out, and those samples in the memory of the host."""
    xp = piece.xp
    named = are_named(piece, names)
    rest = replace(piece, side=xp.where(named, xp.zeros_like(piece.side), piece.side))
    rows = xp.nonzero(named)[0]
    X = lift(to_numpy(xp.take(piece.space, rows, axis=0)))
    y = to_numpy(xp.take(piece.side, rows)).astype(np.float64)
    weight = None if piece.sample_weight is None else to_numpy(xp.take(piece.sample_weight, rows))
    return rest, MarginProblem.unchecked(X, y, piece.C, weight)


def _array_sums(piece: DeviceSamples, matrix: Array, points: Array, threshold: float, sigma: Array) -> Array:
    """For every point the sums of high parts, low parts, ``c_i x_i0`` and the two counts, (points, 2 (d + 2) + 3)."""
    xp, weighted = piece.xp, piece.sample_weight is not None
    frame, normals, powers = piece.array(matrix), piece.array(points.T), piece.array(sigma)
    total = None
    for block in piece.blocks(2 * len(points) + 4 * (piece.dim + 2)):
        Z = block.products(frame)
        cost = piece.C * block.weight if weighted else block.weight
        terms = cost[:, None] * xp.concat([xp.ones_like(Z[:, :1]), Z], axis=1)
        high = (terms + powers) - powers
        negative, positive = (xp.astype(block.side == label, xp.float64) for label in (-1.0, 1.0))
        beside = xp.stack([cost * block.time, negative, positive], axis=1)
        chosen = xp.astype((Z @ normals) < threshold, xp.float64)
        sums = xp.matrix_transpose(chosen) @ xp.concat([high, terms - high, beside], axis=1)
        total = sums if total is None else total + sums
    return to_numpy(total)


def enclosed_risk(
    piece: DeviceSamples, frame: FramedSamples, w: Array, roundings: float, w_errors: Array
) -> tuple[float, float, float]:
    """`compiled.sums.enclosed_risk` of a piece: two sums and the least margin less its error."""
    xp, growth = piece.xp, roundings * np.abs(w) + w_errors
    length = float(np.abs(w).sum() + w_errors.sum())
    if has_kernels(piece):
        reach = frame.reach_factor * length
        facts = piece.array(np.concatenate([[piece.C, reach], w, growth, frame.matrix.ravel()]))
        return _least_and_sums(partial_sums("enclosed_risk", piece, facts, 3))
    matrix, normal, factors = piece.array(frame.matrix), piece.array(w), piece.array(growth)
    parts: list[Any] = []
    for block in piece.blocks(4 * (piece.dim + 1)):
        Z = block.products(matrix)
        margin = Z @ normal
        error = xp.abs(Z) @ factors + (frame.reach_factor * length) * block.time
        error = 1.0000001 * error + 1e-15 * (1.0 + xp.abs(margin))
        cost = piece.C * block.weight
        above, below = (1.0 - margin) + error, (1.0 - margin) - error
        zero = xp.zeros_like(margin)
        upper = xp.sum(cost * xp.where(above <= 0.0, zero, above))  # what is no number is not left out
        lower = xp.sum(cost * xp.where(below > 0.0, below, zero))
        least = xp.min(xp.where(cost > 0.0, margin - error, zero + xp.inf))
        parts.append(xp.stack([lower, upper, least]))
    return _least_and_sums(xp.stack(parts))


def _least_and_sums(parts: Any) -> tuple[float, float, float]:
    numbers = to_numpy(parts)
    return fsum(numbers[:, 0]), float(numbers[:, 1].sum()), float(numbers[:, 2].min())
