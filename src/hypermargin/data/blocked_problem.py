"""A margin problem whose samples are not here: they live in the pieces of a home, and are asked."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.data import fused
from hypermargin.data.device import DeviceSamples, to_numpy
from hypermargin.data.executors import DataSource
from hypermargin.geometry.mean import onto_hyperboloid
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import UncertaintySet


class Extent(NamedTuple):
    """What one pass tells about the samples of a piece, or of all."""

    n_samples: int
    n_positive: int
    weight: float
    total: Array  # sum of weight times point, shape (d + 1,)
    farthest: float  # the largest time coordinate
    lightest: float  # the least positive weight
    heaviest: float  # and the largest
    on_device: bool = False  # whether a piece is not in the memory of who is asked


class BlockedProblem(MarginProblem):
    """The problem of all samples in the pieces of a home.

    It is asked like any other problem, and solved by the exact method; nobody can read its samples.

    Parameters
    ----------
    home : DataSource
        Its pieces are `MarginProblem` or `DeviceSamples`, with ``C = 1`` and the uncertainty set of the problem; pieces
        without samples are passed over.
    C, uncertainty, allow_timelike
        As in `MarginProblem`; the set has one size for all samples, or sizes that are in the pieces already.
    """

    def __init__(
        self,
        home: DataSource,
        C: float = 1.0,
        uncertainty: UncertaintySet | None = None,
        allow_timelike: bool = False,
    ):
        if not C > 0.0:
            raise ValueError(f"C must be positive, got {C!r}")
        if math.isinf(C):
            raise ValueError("the hard margin needs all samples in memory; use a large C, or pass a NumPy array")
        extent = _combined(home.ask(_extent))
        if not 0 < extent.n_positive < extent.n_samples:
            raise ValueError("a problem in pieces needs samples of positive weight of both classes")
        vars(self).update(  # the class is frozen
            home=home,
            C=float(C),
            uncertainty=uncertainty,
            allow_timelike=allow_timelike,
            extent=extent,
        )

    home: DataSource
    extent: Extent

    def __sizeof__(self) -> int:
        return object.__sizeof__(self)

    def ask(self, question: Callable[..., Any], *arguments: Any) -> list[Any]:
        return [answer for answer in self.home.ask(_asked, question, self.C, arguments) if answer is not None]

    @property
    def n_samples(self) -> int:
        return self.extent.n_samples

    @property
    def dim(self) -> int:
        return self.extent.total.size - 1

    @property
    def farthest(self) -> float:
        return self.extent.farthest

    @property
    def weight_range(self) -> tuple[float, float]:
        return self.extent.lightest, self.extent.heaviest

    def __repr__(self) -> str:
        return f"BlockedProblem of {self.n_samples} samples in dimension {self.dim}, C={self.C:g}"

    @property
    def sample_weight(self) -> Any:
        raise _absent()

    @cached_property
    def centre(self) -> Array:
        return onto_hyperboloid(self.extent.total / self.extent.heaviest)

    def risk(self, w: ArrayLike, loss: str = "hinge", intercept: float = 0.0) -> float:
        return math.fsum(self.ask(_risk, np.asarray(w, dtype=np.float64), loss, intercept))

    def with_C(self, C: float) -> "BlockedProblem":
        if C == self.C:
            return self
        if not 0.0 < C < math.inf:
            raise ValueError(f"C must be positive and finite for samples in pieces, got {C!r}")
        return self._with(C=float(C))

    def with_timelike(self, allowed: bool) -> "BlockedProblem":
        return self._with(allow_timelike=allowed)

    def _with(self, **facts: Any) -> "BlockedProblem":
        other = object.__new__(BlockedProblem)
        vars(other).update({**vars(self), **facts})
        return other

    def __getattr__(self, name: str) -> Any:
        """Whoever looks for the samples themselves is told where they are not."""
        if name in ("X", "y"):
            raise _absent()
        raise AttributeError(name)


def _absent() -> TypeError:
    return TypeError(
        "the samples of this problem are in pieces elsewhere (a file, a device, a cluster), and this method wants them "
        "in memory; use solver='exact', or pass a NumPy array"
    )


def _asked(piece: Any, question: Callable[..., Any], C: float, arguments: tuple[Any, ...]) -> Any:
    """The question at the C of the problem; nothing is asked of a piece without samples."""
    return question(piece.with_C(C), *arguments) if piece.n_samples else None


def _combined(parts: list[Extent | None]) -> Extent:
    known = [part for part in parts if part is not None]
    if not known:
        raise ValueError("there are no samples: every piece is empty")
    if len({part.total.size for part in known}) > 1:
        raise ValueError("the pieces have points of different dimensions")
    return Extent(
        sum(part.n_samples for part in known),
        sum(part.n_positive for part in known),
        math.fsum(part.weight for part in known),
        np.sum([part.total for part in known], axis=0),
        max(part.farthest for part in known),
        min(part.lightest for part in known),
        max(part.heaviest for part in known),
        any(part.on_device for part in known),
    )


def _extent(piece: Any) -> Extent | None:
    if piece.n_samples == 0:
        return None
    if isinstance(piece, DeviceSamples):
        return _device_extent(piece)
    weight = np.ones(piece.n_samples) if piece.sample_weight is None else piece.sample_weight
    positive = int(np.count_nonzero(piece.y > 0.0))
    total = weight @ piece.X
    return Extent(piece.n_samples, positive, float(weight.sum()), total, piece.farthest, *piece.weight_range)


def _device_extent(piece: DeviceSamples) -> Extent:
    xp, parts = piece.xp, []
    if fused.is_available(piece):
        rows = to_numpy(fused.partial_sums("extent", piece, piece.array(np.zeros(1)), piece.dim + 7))
        n, positive, weight, *total = rows[:, :-3].sum(axis=0).tolist()
        farthest, heaviest = rows[:, -3:-1].max(axis=0).tolist()
        return Extent(
            int(n),
            int(positive),
            weight,
            np.array(total),
            farthest,
            lightest=float(rows[:, -1].min()),
            heaviest=heaviest,
            on_device=True,
        )
    for block in piece.blocks(piece.dim + 1):
        used = xp.astype(block.side != 0.0, xp.float64)
        sums = [xp.sum(used), xp.sum(xp.astype(block.side > 0.0, xp.float64)), xp.sum(block.weight)]
        sums += [xp.sum(block.weight * block.time), xp.max(used * block.time), xp.max(block.weight)]
        sums += [xp.min(xp.where(block.weight > 0.0, block.weight, xp.zeros_like(block.weight) + xp.inf))]
        parts.append((xp.stack(sums), xp.sum(block.weight[:, None] * block.space, axis=0)))
    numbers = to_numpy(xp.stack([first for first, _ in parts]))
    space = to_numpy(xp.stack([second for _, second in parts])).sum(axis=0)
    n, positive, weight, time = numbers[:, :4].sum(axis=0).tolist()
    farthest, heaviest = numbers[:, 4:6].max(axis=0).tolist()
    total, lightest = np.array([time, *space]), float(numbers[:, 6].min())
    return Extent(int(n), int(positive), weight, total, farthest, lightest, heaviest, on_device=True)


def _risk(piece: Any, w: Array, loss: str, intercept: float) -> float:
    if isinstance(piece, DeviceSamples):
        return math.fsum(problem.risk(w, loss, intercept) for problem in piece.problems())
    return piece.risk(w, loss, intercept)
