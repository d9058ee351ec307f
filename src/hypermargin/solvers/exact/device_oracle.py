"""The data pass on a device: risk and cut at w from sums that are made there.

Points are not moved to the frame. With M the matrix of the frame, ``z_i = y_i x_i M``, margins are ``y_i x_i (M w)``
and slopes ``-(sum c_i y_i x_i) M``: the normal is moved out and the slope is moved in, and the data is read once.
"""

from math import sqrt
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.geometry.isometries import translation_to_origin
from hypermargin.geometry.lorentz import covector, quadratic_form
from hypermargin.passes.device import Block, DeviceSamples, to_numpy, triton_runs
from hypermargin.problems.uncertainty import GeodesicBall
from hypermargin.solvers.exact.frames import Frame

#: Points of a program are BLOCK times STEPS; dimensions that there is a kernel for.
BLOCK, STEPS, DIMENSIONS = 1024, 32, (2, 3)


class DeviceOracle:
    """``W -> [(risk, b, g), ...]`` for samples on a device with ``C = 1``, without the factor of the hinge."""

    def __init__(self, piece: DeviceSamples, frame: Frame, threshold: float):
        self.piece, self.threshold = piece, threshold
        self._matrix = covector(translation_to_origin(frame.centre).T)

    def __call__(self, W: Array) -> list[tuple[float, float, Array]]:
        if isinstance(self.piece.uncertainty, GeodesicBall):
            return [self._ball_pass(w, self.piece.uncertainty.rho) for w in W]
        fused = self.piece.dim in DIMENSIONS and triton_runs(self.piece.space)
        sums = np.stack([self._fused_sums(w) for w in W]) if fused else self._array_sums(W)
        return [(float(row[0]), float(row[1]), -(row[2:] @ self._matrix)) for row in sums]

    def _array_sums(self, W: Array) -> Array:
        """Sums of losses, of costs and of ``c y x`` over the samples of each cut, shape (len(W), d + 3)."""
        xp, total = self.piece.xp, None
        outside = self.piece.array(self._matrix @ W.T)
        for block in self.piece.blocks(3 * len(W) + self.piece.dim):
            margins = block.products(outside)
            zero = xp.zeros_like(margins)
            losses = block.weight @ xp.where(margins < 1.0, 1.0 - margins, zero)
            cost = xp.where(margins < self.threshold, block.weight[:, None] + zero, zero)
            signed = xp.matrix_transpose(cost * block.side[:, None])
            sums = [
                losses[:, None],
                xp.sum(cost, axis=0)[:, None],
                (signed @ block.time)[:, None],
                signed @ block.space,
            ]
            part = xp.concat(sums, axis=1)
            total = part if total is None else total + part
        return to_numpy(total)

    def _fused_sums(self, w: Array) -> Array:
        import torch

        from hypermargin.passes import triton_kernels

        piece = self.piece
        n, weighted = piece.space.shape[0], piece.sample_weight is not None
        programs = -(-n // (BLOCK * STEPS))
        partial = torch.empty((programs, piece.dim + 3), dtype=torch.float64, device=piece.space.device)
        triton_kernels.hinge[(programs,)](
            piece.space,
            piece.side,
            piece.sample_weight if weighted else piece.space,
            piece.array(np.concatenate([[self.threshold], self._matrix @ w])),
            partial,
            n,
            piece.space.stride(0),
            piece.space.stride(1),
            piece.side.stride(0),
            D=piece.dim,
            WEIGHTED=weighted,
            BLOCK=BLOCK,
            STEPS=STEPS,
            num_warps=8,
        )
        return to_numpy(partial.sum(dim=0))

    def _ball_pass(self, w: Array, rho: float | Array) -> tuple[float, float, Array]:
        """The pass with the worst points of geodesic balls, ``z' = a z + b covector(w)`` (`GeodesicBall`)."""
        xp, q, total = self.piece.xp, float(quadratic_form(w)), None
        apex = abs(w[0]) == 1.0 and not np.any(w[1:])
        outside = self.piece.array(self._matrix @ w)
        for block in self.piece.blocks(8):
            m = block.products(outside[:, None])[:, 0]
            worst, along, across = _worst_in_balls(xp, m, q, float(rho))
            zero = xp.zeros_like(m)
            losses = block.weight * xp.where(worst < 1.0, 1.0 - worst, zero)
            if apex:  # cuts at the apexes take the observed points, as the certificate does
                worst, along, across = m, zero + 1.0, zero
            cost = xp.where(worst < self.threshold, block.weight, zero)
            part = _ball_sums(xp, block, losses, cost, along, across)
            total = part if total is None else total + part
        numbers = to_numpy(total)
        slope = -(numbers[3:] @ self._matrix) - numbers[2] * covector(w)
        return float(numbers[0]), float(numbers[1]), slope


def _ball_sums(xp: Any, block: Block, losses: Any, cost: Any, along: Any, across: Any) -> Any:
    signed = cost * along * block.side
    scalars = [xp.sum(v) for v in (losses, cost, cost * across, signed * block.time)]
    return xp.concat([xp.stack(scalars), signed @ block.space])


def _worst_in_balls(xp: Any, m: Any, q: float, rho: float) -> tuple[Any, Any, Any]:
    """Worst margins and the coefficients a, b of the points that have them (`GeodesicBall.coefficients`)."""
    zero, cosh, sinh = xp.zeros_like(m), float(np.cosh(rho)), float(np.sinh(rho))
    square = q + m * m
    tangent = xp.sqrt(xp.where(square > 0.0, square, zero))
    directed = tangent > 0.0
    across = xp.where(directed, sinh / xp.where(directed, tangent, zero + 1.0), zero)
    along = xp.where(directed | (m < 0.0), zero + cosh, zero + 1.0) - across * m
    worst = cosh * m - sinh * tangent
    if q < 0.0:
        inside = (m > 0.0) & (tangent < float(np.tanh(rho)) * m)
        worst = xp.where(inside, zero + sqrt(-q), worst)
        along, across = xp.where(inside, zero, along), xp.where(inside, zero + 1.0 / sqrt(-q), across)
    return worst, along, across
