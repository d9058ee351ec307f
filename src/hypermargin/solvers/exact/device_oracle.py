"""The data pass on a device: risk and cut at w from sums that are made there.

Points are not moved to the frame. With M the matrix of the frame, ``z_i = y_i x_i M``, margins are ``y_i x_i (M w)``
and slopes ``-(sum c_i y_i x_i) M``: the normal is moved out and the slope is moved in, and the data is read once.
"""

from math import exp, sqrt
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.data.device import Block, DeviceSamples, has_kernels, partial_sums, to_numpy
from hypermargin.geometry.isometries import translation_to_origin
from hypermargin.geometry.lorentz import covector, quadratic_form
from hypermargin.problems.uncertainty import GeodesicBall, in_cone
from hypermargin.solvers.exact.frames import Frame


class DeviceOracle:
    """``W -> [(risk, b, g), ...]`` for samples on a device with ``C = 1``, without the factor of the hinge."""

    def __init__(self, piece: DeviceSamples, frame: Frame, threshold: float, cone_cuts: bool = False):
        self.piece, self.threshold, self.cone_cuts = piece, threshold, cone_cuts
        self._matrix = covector(translation_to_origin(frame.centre).T)

    def __call__(self, W: Array) -> list[tuple[float, float, Array]]:
        if isinstance(self.piece.uncertainty, GeodesicBall):
            return [self._ball_pass(w, self.piece.uncertainty.rho) for w in W]
        in_kernels = has_kernels(self.piece)
        sums = np.stack([self._fused_sums(w) for w in W]) if in_kernels else self._array_sums(W)
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
        numbers = self.piece.array(np.concatenate([[self.threshold], self._matrix @ w]))
        return to_numpy(partial_sums("hinge", self.piece, numbers, self.piece.dim + 3).sum(dim=0))

    def _ball_pass(self, w: Array, rho: float | Array) -> tuple[float, float, Array]:
        """The pass with the worst points of geodesic balls, ``z' = a z + b covector(w)`` (`GeodesicBall`)."""
        xp, q, total = self.piece.xp, float(quadratic_form(w)), None
        apex = abs(w[0]) == 1.0 and not np.any(w[1:])
        cone = self.cone_cuts and bool(in_cone(w))
        outside = self.piece.array(self._matrix @ w)
        for block in self.piece.blocks(8):
            m = block.products(outside[:, None])[:, 0]
            zero = xp.zeros_like(m)
            worst, along, across = _worst_in_balls(xp, m, q, float(rho))
            risky = worst
            if cone:  # as `UncertaintySet.cone_factors` has it
                along, across = xp.where(m > 0.0, zero + exp(-float(rho)), zero + exp(float(rho))), zero
                worst = along * m
                risky = worst if q < 0.0 else risky
            losses = block.weight * xp.where(risky < 1.0, 1.0 - risky, zero)
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
