"""The data pass over samples in pieces: every piece makes its own sums where it lies, and they are added here."""

import sys
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Any, cast

import numpy as np

from hypermargin.arrays import Array
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.data.device import DeviceSamples, on_host
from hypermargin.geometry.isometries import boost
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.exact.batched_pass import joint_cuts, same_points
from hypermargin.solvers.exact.blocked_samples import BlockedWorkingSets
from hypermargin.solvers.exact.device_oracle import DeviceOracle
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.oracle import MARGIN_SLACK, HingeOracle
from hypermargin.solvers.exact.robust_oracle import has_cone_cuts, make_robust_oracle

#: ``(risk, b, g)`` at one w.
Cut = tuple[float, float, Array]


class BlockOracle:
    """The pass over one piece, for several w at once; made from its parts again where it is sent elsewhere."""

    def __init__(self, piece: MarginProblem | DeviceSamples, frame: Frame, threshold: float, cone_cuts: bool = False):
        self.piece, self.frame, self.threshold, self.cone_cuts = piece, frame, threshold, cone_cuts
        self.n_samples = piece.n_samples
        self._passes: list[Any] = []
        if isinstance(piece, DeviceSamples) and not frame.precise:
            self._passes = [DeviceOracle(piece, frame, threshold, cone_cuts)]

    def __sizeof__(self) -> int:
        """Bytes with the samples twice: the piece, and its points in the frame."""
        return object.__sizeof__(self) + 2 * sys.getsizeof(self.piece)

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockOracle, (self.piece, self.frame, self.threshold, self.cone_cuts)

    @property
    def shared_points(self) -> tuple[Any, ...] | None:
        """What pieces that can be passed over together have in common; None where there is no such pass."""
        if self.n_samples == 0 or isinstance(self.piece, DeviceSamples):
            return None
        if self.frame.precise or self.piece.uncertainty is not None:
            return None
        return self.frame.centre.tobytes(), self.threshold, *same_points(self.piece)

    def __call__(self, W: Array) -> list[Cut]:
        if self.n_samples == 0:
            return [(0.0, 0.0, np.zeros(len(w))) for w in W]
        if isinstance(self.piece, DeviceSamples):
            if self._passes:
                return self._passes[0](W)
            parts = [_host_cuts(self._host_oracle(p), W) for p in on_host(self.piece)]
            return [_sum(cuts) for cuts in zip(*parts, strict=True)]
        return _host_cuts(self._in_memory, W)

    @property
    def framed(self) -> tuple[Array, Array]:
        """The samples of a piece in memory, in the frame (`HingeOracle.framed`)."""
        return self._in_memory.framed

    @property
    def _in_memory(self) -> HingeOracle:
        if not self._passes:
            self._passes = [self._host_oracle(cast(MarginProblem, self.piece))]
        return self._passes[0]

    def _host_oracle(self, piece: MarginProblem) -> HingeOracle:
        if piece.uncertainty is None:
            return HingeOracle(piece, self.frame)
        oracle = make_robust_oracle(piece, self.frame)
        oracle.cone_cuts = self.cone_cuts  # pieces are not told whether timelike w are allowed
        return oracle


def _host_cuts(oracle: HingeOracle, W: Array) -> list[Cut]:
    """Without the factor of the hinge, which is applied to all sums."""
    return [(risk / SQRT_HALF, b / SQRT_HALF, g / SQRT_HALF) for risk, b, g in map(oracle, W)]


SQRT_HALF = sqrt(0.5)


class BlockedOracle(HingeOracle):
    """``w -> (risk, b, g)`` summed over the pieces of a problem.

    The first three points of every search are known beforehand, so that one pass serves them all.
    """

    def __init__(self, problem: BlockedProblem, frame: Frame):
        self.frame = frame
        self.threshold = 1.0 - MARGIN_SLACK
        self.cone_cuts = has_cone_cuts(problem)
        self._factor = SQRT_HALF * problem.C
        self._outwards = boost(frame.centre)
        self._size = problem.n_samples * (problem.dim + 1)
        extent = problem.extent
        self._sizes = extent.n_positive, extent.n_samples - extent.n_positive
        self._sees_samples = problem.uncertainty is None and not extent.on_device
        self._pieces = problem.source.map(BlockOracle, frame, self.threshold, self.cone_cuts)
        self._clock = {"seconds": 0.0, "passes": 0.0}
        first = np.zeros((3, problem.dim + 1))
        first[1:, 0] = 1.0, -1.0
        self._known = {w.tobytes(): cut for w, cut in zip(first, self.cuts(first), strict=True)}

    @property
    def work(self) -> int:
        return self._size

    def check_time(self, cuts: int) -> float:
        """By the time of a pass, which no two homes have in common: a cut takes part of that, and so do the sums."""
        return (self._clock["seconds"] / self._clock["passes"]) * (4.0 + cuts / 4.0)

    @property
    def samples(self) -> BlockedWorkingSets | None:
        if not self._sees_samples:
            return None
        return BlockedWorkingSets(
            self._ask, self._sizes, len(self._outwards), self._factor, self.threshold, self._remember
        )

    @property
    def arrays(self) -> None:
        """The compiled search cannot make these passes by itself."""
        return None

    def scaled(self, factor: float) -> "BlockedOracle":
        other = copy(self)
        other._factor *= factor
        return other

    def __call__(self, w: Array) -> Cut:
        known = self._known.get((w + 0.0).tobytes())
        return self._times_factor(*(self.cuts(w[None])[0] if known is None else known))

    def cuts(self, W: Array) -> list[Cut]:
        """Risk and cut at several w in one pass, without the common factor; W has shape (k, d + 1)."""
        start = time.perf_counter()
        answers = self._pieces.map_blocks(_Cuts(), np.ascontiguousarray(W, dtype=np.float64))
        self._clock["seconds"] += time.perf_counter() - start
        self._clock["passes"] += len(W)
        return [_sum(cuts) for cuts in zip(*answers, strict=True)]

    def _ask(self, question: Callable[..., Any], *arguments: Any) -> list[Any]:
        """The answers of the pieces that have samples."""
        answers = self._pieces.map_blocks(_asked, question, arguments)
        return [answer for answer in answers if answer is not None]

    def _remember(self, w: Array, cuts: list[Cut]) -> None:
        """The search will ask for the cut at w, which the pieces have told already."""
        self._known[(w + 0.0).tobytes()] = _sum(tuple(cuts))


def _asked(oracle: BlockOracle, question: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return question(oracle, *arguments) if oracle.n_samples else None


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


def _sum(cuts: tuple[Cut, ...]) -> Cut:
    risks, offsets, slopes = zip(*cuts, strict=True)
    return fsum(risks), fsum(offsets), np.sum(slopes, axis=0)
