"""The data pass over samples in blocks: every block makes its own sums where it is, and they are added here.

On a device points are not moved to the frame. With M the matrix of the frame, ``z_i = y_i x_i M``, margins are
``y_i x_i (M w)`` and slopes ``-(sum c_i y_i x_i) M``: the normal is moved out and the slope moved in, and the data is
read once.

Problems of one-vs-rest have the same points, hence the same centre, and differ in their labels only: one pass serves
several of them (`joint_cuts`). With the points around the centre as rows P and the normals as columns of W the margins
are ``P W`` with signs, and the slopes of all cuts are ``S' P``, where S holds the signed costs of the samples below the
margin.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, fsum, sqrt
from typing import Any, cast

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.fingerprints import sample_names
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.data.device import DeviceSamples, has_kernels, on_host, partial_sums, to_numpy
from hypermargin.geometry.isometries import covectors_around, translation_to_origin
from hypermargin.geometry.lorentz import covector, quadratic_form
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import GeodesicBall, in_cone
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.oracle import (
    Cut,
    HingeOracle,
    Oracle,
    balance_of,
    has_cone_cuts,
    oracle_in_memory,
    side_of,
)
from hypermargin.solvers.exact.working_sets import Samples, WorkingSets

#: Numbers in a block of margins, which several sums are made of: they stay in the cache (256 kB).
JOINT_NUMBERS = 1 << 15
SQRT_HALF = sqrt(0.5)


class BlockOracle:
    """The pass over one block, for several w at once; made from its parts again where it is sent to another process."""

    def __init__(self, piece: MarginProblem | DeviceSamples, frame: Frame, threshold: float, cone_cuts: bool = False):
        self.piece, self.frame, self.threshold, self.cone_cuts = piece, frame, threshold, cone_cuts
        self.n_samples = piece.n_samples
        self._samples: tuple[float, Samples] | None = None

    def __sizeof__(self) -> int:
        """Bytes with the samples twice: the block, and its points in the frame."""
        return object.__sizeof__(self) + 2 * sys.getsizeof(self.piece)

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockOracle, (self.piece, self.frame, self.threshold, self.cone_cuts)

    @property
    def shared_points(self) -> tuple[Any, ...] | None:
        """What blocks that can be passed over together have in common; None where there is no such pass."""
        if self.n_samples == 0 or isinstance(self.piece, DeviceSamples):
            return None
        if self.frame.precise or self.piece.uncertainty is not None:
            return None
        return self.frame.centre.tobytes(), self.threshold, *same_points(self.piece)

    def __call__(self, W: Array) -> list[Cut]:
        if self.n_samples == 0:
            return [(0.0, 0.0, np.zeros(len(w))) for w in W]
        if not isinstance(self.piece, DeviceSamples):
            return _host_cuts(self._in_memory, W)
        if not self.frame.precise:
            return DeviceOracle(self.piece, self.frame, self.threshold, self.cone_cuts)(W)
        parts = [_host_cuts(self._host_oracle(p), W) for p in on_host(self.piece)]
        return [_sum(cuts) for cuts in zip(*parts, strict=True)]

    def samples(self, factor: float, side: float) -> Samples:
        """The samples of the block for working sets, with costs times `factor` and points times `side`."""
        if self._samples is None or self._samples[0] != factor:
            piece = cast(MarginProblem, self.piece)
            columns, costs = self._in_memory.framed
            columns = columns if side > 0.0 else -columns
            self._samples = factor, Samples(columns, factor * costs, self.threshold, lambda r: sample_names(piece, r))
        return self._samples[1]

    @cached_property
    def _in_memory(self) -> HingeOracle:
        return self._host_oracle(cast(MarginProblem, self.piece))

    def _host_oracle(self, piece: MarginProblem) -> HingeOracle:
        oracle = oracle_in_memory(piece, self.frame, side=1.0)
        oracle.cone_cuts = self.cone_cuts  # blocks do not have `allow_timelike`
        return oracle


def _host_cuts(oracle: HingeOracle, W: Array) -> list[Cut]:
    """Without the factor of the hinge, which is applied to all sums."""
    return [(risk / SQRT_HALF, b / SQRT_HALF, g / SQRT_HALF) for risk, b, g in map(oracle, W)]


class BlockedOracle(Oracle):
    """``w -> (risk, b, g)`` summed over the blocks of a problem.

    The first three points of every search are the same, so that one pass serves them all.
    """

    def __init__(self, problem: BlockedProblem, frame: Frame):
        super().__init__(frame, SQRT_HALF * problem.C)
        self.cone_cuts = has_cone_cuts(problem)
        self.width = problem.dim + 1
        extent = problem.extent
        self.sizes = extent.n_positive, extent.n_samples - extent.n_positive
        self._sees_samples = problem.uncertainty is None and not extent.on_device
        self._pieces = problem.source.map(BlockOracle, frame, self.threshold, self.cone_cuts)
        self._clock = {"seconds": 0.0, "passes": 0.0}
        first = np.zeros((3, self.width))
        first[1:, 0] = 1.0, -1.0
        at_first = self.cuts(first)
        (_, negative, of_negative), (_, positive, of_positive) = at_first[1:]
        self.side = side_of(balance_of(positive - negative, positive + negative), -of_negative - of_positive)
        self._known = {_key(self.side * w): self._turned(cut) for w, cut in zip(first, at_first, strict=True)}

    @property
    def work(self) -> int:
        return sum(self.sizes) * self.width

    def check_time(self, cuts: int) -> float:
        """By the time of a pass, which no two data sources have in common: a cut takes part of that, and so do sums."""
        return (self._clock["seconds"] / self._clock["passes"]) * (4.0 + cuts / 4.0)

    @property
    def samples(self) -> WorkingSets | None:
        return WorkingSets(self.width, self.sizes, self._map_samples) if self._sees_samples else None

    def __call__(self, w: Array) -> Cut:
        known = self._known.get(_key(w))
        return self._times_factor(*(self.cuts(w[None])[0] if known is None else known))

    def cuts(self, W: Array) -> list[Cut]:
        """Risk and cut at several w in one pass, without the common factor; W has shape (k, d + 1)."""
        start = time.perf_counter()
        answers = self._pieces.map_blocks(_Cuts(), self.side * np.ascontiguousarray(W, dtype=np.float64))
        self._clock["seconds"] += time.perf_counter() - start
        self._clock["passes"] += len(W)
        return [self._turned(_sum(cuts)) for cuts in zip(*answers, strict=True)]

    def _turned(self, cut: Cut) -> Cut:
        """The cut for labels and normals times `side`."""
        return cut[0], cut[1], self.side * cut[2]

    def _map_samples(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """``function(samples, *arguments)`` of every block that has samples.

        Reading what has flipped at some w makes the pass there as well, which the search asks for next.
        """
        answers = self._pieces.map_blocks(_of_samples, self.factor, self.side, function, arguments)
        answers = [answer for answer in answers if answer is not None]
        if function is Samples.flipped:
            self._known[_key(arguments[0])] = self._turned(_sum([cut for cut, _ in answers]))
        return [found for _, found in answers]


def _key(w: Array) -> bytes:
    return (w + 0.0).tobytes()  # no zero has a sign


def _of_samples(
    oracle: BlockOracle, factor: float, side: float, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> Any:
    """What a function finds among the samples of a block, after the pass at its first argument if it looks there."""
    if not oracle.n_samples:
        return None
    cut = oracle((side * arguments[0])[None])[0] if function is Samples.flipped else None
    return cut, function(oracle.samples(factor, side), *arguments)


@dataclass(frozen=True)
class _Cuts:
    """The question of a pass, which a piece answers for several problems over the same points at once (`lockstep`)."""

    def __call__(self, oracle: BlockOracle, W: Array) -> list[Cut]:
        return oracle(W)

    def jointly(self, oracles: Sequence[BlockOracle], arguments: Sequence[tuple[Array]]) -> list[list[Cut]]:
        groups: dict[Any, list[int]] = {}
        for k, oracle in enumerate(oracles):
            groups.setdefault(oracle.shared_points or k, []).append(k)
        answers: list[list[Cut]] = [[] for _ in oracles]
        for members in groups.values():
            if len(members) == 1:
                answers[members[0]] = oracles[members[0]](*arguments[members[0]])
                continue
            asked = [(k, w) for k in members for w in arguments[k][0]]
            first, W = oracles[members[0]], np.stack([w for _, w in asked])
            problems = cast(list[MarginProblem], [oracles[k].piece for k, _ in asked])
            sums = joint_cuts(problems, first.frame.centre, first.threshold, W)
            for (k, _), risk, b, g in zip(asked, *sums, strict=True):
                answers[k].append((float(risk), float(b), g))
        return answers


def _sum(cuts: Sequence[Cut]) -> Cut:
    risks, offsets, slopes = zip(*cuts, strict=True)
    return fsum(risks), fsum(offsets), np.sum(slopes, axis=0)


class DeviceOracle:
    """``W -> [(risk, b, g), ...]`` for samples on a device with ``C = 1``, without the factor of the hinge."""

    def __init__(self, piece: DeviceSamples, frame: Frame, threshold: float, cone_cuts: bool = False):
        self.piece, self.threshold, self.cone_cuts = piece, threshold, cone_cuts
        self._matrix = covector(translation_to_origin(frame.centre).T)

    def __call__(self, W: Array) -> list[Cut]:
        in_kernels = has_kernels(self.piece) and not isinstance(self.piece.uncertainty, GeodesicBall)
        return [self._of_sums(w, self._fused_sums(w) if in_kernels else self._array_sums(w)) for w in W]

    def _of_sums(self, w: Array, sums: Array) -> Cut:
        """The cut from sums of losses, of costs, of what is along ``covector(w)``, and of ``c y x``."""
        slope = -(sums[3:] @ self._matrix)
        return float(sums[0]), float(sums[1]), slope - sums[2] * covector(w) if sums[2] else slope

    def _fused_sums(self, w: Array) -> Array:
        numbers = self.piece.array(np.concatenate([[self.threshold], self._matrix @ w]))
        sums = to_numpy(partial_sums("hinge", self.piece, numbers, self.piece.dim + 3).sum(dim=0))
        return np.insert(sums, 2, 0.0)

    def _array_sums(self, w: Array) -> Array:
        """The sums over all blocks, with the worst points of geodesic balls, ``z' = a z + b covector(w)``."""
        xp, total = self.piece.xp, None
        outside = self.piece.array(self._matrix @ w)
        for block in self.piece.blocks(8):
            margins = block.products(outside[:, None])[:, 0]
            zero = xp.zeros_like(margins)
            worst, along, across, risky = margins, zero + 1.0, zero, margins
            if isinstance(self.piece.uncertainty, GeodesicBall):
                worst, along, across, risky = self._worst(xp, w, margins, float(self.piece.uncertainty.rho))
            losses = block.weight * xp.where(risky < 1.0, 1.0 - risky, zero)
            cost = xp.where(worst < self.threshold, block.weight, zero)
            signed = cost * along * block.side
            scalars = xp.stack([xp.sum(v) for v in (losses, cost, cost * across, signed * block.time)])
            part = xp.concat([scalars, signed @ block.space])
            total = part if total is None else total + part
        return to_numpy(total)

    def _worst(self, xp: Any, w: Array, m: Any, rho: float) -> tuple[Any, Any, Any, Any]:
        """Worst margins, the coefficients a and b of the points of the cut, and the margins that make the risk."""
        q, zero = float(quadratic_form(w)), xp.zeros_like(m)
        worst, along, across = _worst_in_balls(xp, m, q, rho)
        risky = worst
        if self.cone_cuts and bool(in_cone(w)):  # as `UncertaintySet.cone_factors` has it
            along, across = xp.where(m > 0.0, zero + exp(-rho), zero + exp(rho)), zero
            worst = along * m
            risky = worst if q < 0.0 else risky
        if abs(w[0]) == 1.0 and not np.any(w[1:]):  # cuts at the apexes take the observed points, as the certificate
            return m, zero + 1.0, zero, risky
        return worst, along, across, risky


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


def same_points(problem: MarginProblem) -> tuple[int, ...]:
    """A key that problems over the same array of points and weights have in common."""
    weight = problem.sample_weight
    arrays = (problem.X,) if weight is None else (problem.X, weight)
    return tuple(number for array in arrays for number in (array.ctypes.data, *array.shape, *array.strides))


def joint_cuts(
    problems: Sequence[MarginProblem], centre: Array, threshold: float, W: Array
) -> tuple[Array, Array, Array]:
    """Risks and offsets, of shape (k,), and slopes (k, d + 1) of k problems with the same points, at a row of W each.

    Costs are the weights of the samples, whatever C is, and the factor of the hinge is left out.
    """
    risks, offsets, slopes = np.zeros(len(W)), np.zeros(len(W)), np.zeros_like(W)
    X, weights = problems[0].X, problems[0].sample_weight
    size = max(1, JOINT_NUMBERS // len(W))
    ones = np.ones(min(size, len(X)))
    for first in range(0, len(X), size):
        rows = slice(first, first + size)
        points = covectors_around(X[rows], centre)
        weight = ones[: len(points)] if weights is None else weights[rows]
        side = np.stack([problem.y[rows] for problem in problems])
        margins = W @ points.T
        margins *= side
        below = (margins < threshold).astype(np.float64)
        np.subtract(1.0, margins, out=margins)
        np.maximum(margins, 0.0, out=margins)
        risks += margins @ weight
        offsets += below @ weight
        below *= side
        slopes -= below @ (points if weights is None else points * weight[:, None])
    return risks, offsets, slopes
