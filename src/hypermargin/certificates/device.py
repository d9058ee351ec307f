"""The sums of a check on a device: the same proof with arrays of any library that rounds as IEEE 754 requires.

Covectors of the frame, splitting into high and low parts, and error bounds are those of `sums` and `frame`. The bounds
hold for sums in any order and with fused operations, which is what devices do. High parts sum up exactly in any order.
"""

from dataclasses import replace
from math import frexp, fsum, ldexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypermargin.arithmetic import UNIT_ROUNDOFF as U
from hypermargin.arithmetic import rounding_factor
from hypermargin.arrays import Array
from hypermargin.certificates.core.proof import EnvelopeProof
from hypermargin.certificates.core.sums import CutSums
from hypermargin.certificates.fingerprints import are_named
from hypermargin.certificates.frame import FramedSamples
from hypermargin.data.device import DeviceSamples, has_kernels, partial_sums, to_numpy
from hypermargin.geometry.lorentz import lift
from hypermargin.problems.margin import MarginProblem

#: Samples that one program of a graphics card sums up: 128 for each of its 16 warps.
PROGRAM_ROWS = 2048
#: Copies of the table of sums, so that programs do not wait for each other: more than a card runs at a time.
SLOTS = 1024


def sums_at_points(piece: DeviceSamples, proof: EnvelopeProof, farthest: float) -> CutSums:
    """The cuts at the points of a proof; no sample of the problem has an x0 above `farthest`.

    Every term is split into a multiple of ``u sigma``, sigma being a power of two large enough that all partial sums of
    multiples are exact, and a rest of at most ``u sigma``, of which m err by ``gamma_m m u sigma`` at most (Rump, Ogita
    and Oishi, Accurate floating-point summation, 2008). Weighted terms are rounded products.
    """
    frame = FramedSamples(piece, proof.centre)  # type: ignore[arg-type]
    width, weighted = piece.dim + 2, piece.sample_weight is not None
    cost_at_most = piece.C * float(piece.xp.max(piece.sample_weight)) if weighted else 1.0
    largest = np.full(
        width, 1.5 * frame.stretch * farthest * cost_at_most
    )  # no coordinate is above 1.5 stretches of x0
    largest[0] = cost_at_most
    sigma = np.array([_power_of_two_above(2.0 * piece.n_samples * value) for value in largest.tolist()])
    sums = _kernel_sums if has_kernels(piece) else _array_sums
    found = sums(piece, frame.matrix, proof.points, proof.threshold, sigma)
    factor = 1.0 if weighted else piece.C
    totals = factor * (found[:, :width] + found[:, width : 2 * width])
    reaches, counts = factor * found[:, 2 * width], found[:, 2 * width + 1 :]
    taken = counts.sum(axis=1)
    errors = 2.0 * U * np.abs(totals) + np.outer(rounding_factor(taken) * taken * U, factor * sigma)
    if weighted:
        errors[:, 0] += U * totals[:, 0]
        errors[:, 1:] += (U * 1.5 * frame.stretch * reaches)[:, None]
    errors[:, 1:] += (frame.reach_factor * reaches)[:, None]
    return CutSums(totals, rounded_up(errors, piece.n_samples), counts.min(axis=1) == 0.0)


def rounded_up(errors: Array, n_samples: int) -> Array:
    """Error bounds that were computed in floating point themselves, from at most n terms, made larger by more than so.

    A sum of no terms is exactly 0; others may have lost something to underflow.
    """
    return np.where(errors == 0.0, 0.0, errors * (1.0 + rounding_factor(n_samples + 8208)) + 1e-300)


def _power_of_two_above(value: float) -> float:
    """A power of two of at least `value`; 0 for 0, and infinity, which spoils all sums, for what nears overflow."""
    return ldexp(1.0, frexp(value)[1]) if 0.0 < value < 1e300 else 1e300 * value


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


def _kernel_sums(piece: DeviceSamples, matrix: Array, points: Array, threshold: float, sigma: Array) -> Array:
    """`_array_sums` as one kernel of a graphics card: points are read once for all cuts (Triton, d = 2 and 3)."""
    import torch

    from hypermargin.data import triton_kernels

    d, n, n_points = piece.dim, piece.space.shape[0], len(points)
    sums = torch.zeros((SLOTS, n_points, 2 * (d + 2) + 3), dtype=torch.float64, device=piece.space.device)
    weighted = piece.sample_weight is not None
    numbers = piece.array(np.concatenate([[threshold, piece.C if weighted else 1.0], sigma, matrix.ravel()]))
    triton_kernels.selected_sums[(-(-n // PROGRAM_ROWS),)](
        piece.space,
        piece.side,
        piece.sample_weight if weighted else piece.space,
        numbers,
        piece.array(points),
        sums,
        n,
        piece.space.stride(0),
        piece.space.stride(1),
        piece.side.stride(0),
        n_points,
        D=d,
        WEIGHTED=weighted,
        BLOCK=PROGRAM_ROWS,
        SLOTS=SLOTS,
        num_warps=16,
        enable_fp_fusion=False,
    )
    return to_numpy(sums.sum(dim=0))


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
