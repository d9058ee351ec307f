"""A margin problem of samples in several blocks: in a file, on a device or on a cluster."""

import math
from collections.abc import Callable
from copy import copy
from functools import cached_property, wraps
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.data.device import DeviceSamples, has_kernels, on_host, partial_sums, to_numpy
from hypermargin.data.executors import BatchPolicy, DataSource
from hypermargin.geometry.mean import onto_hyperboloid
from hypermargin.problems.margin import NEEDS_ROWS, BinaryProblem, MarginProblem
from hypermargin.problems.uncertainty import UncertaintySet


class Extent(NamedTuple):
    """What one pass finds out about the samples of a block, or of all."""

    n_samples: int
    n_positive: int
    weight: float
    total: Array  # sum of weight times point, shape (d + 1,)
    farthest: float  # the largest time coordinate
    lightest: float  # the least positive weight
    heaviest: float  # and the largest
    on_device: bool = False  # whether a block is not in the memory of the host


class BlockedProblem(BinaryProblem):
    """The problem of all samples in the blocks of a source.

    The exact method solves it like any other problem; methods that read rows refuse it.

    Parameters
    ----------
    home : DataSource
        Its blocks are `MarginProblem` or `DeviceSamples`, with ``C = 1`` and the uncertainty set of the problem; blocks
        without samples are passed over.
    C, uncertainty, allow_timelike
        As in `MarginProblem`; the set has one size for all samples, or sizes that are in the blocks already.
    """

    in_memory = False

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
        self.source, self.C, self.uncertainty, self.allow_timelike = home, float(C), uncertainty, allow_timelike
        self.extent = _combined(home.map_blocks(_extent))
        if not 0 < self.extent.n_positive < self.extent.n_samples:
            raise ValueError("a problem in pieces needs samples of positive weight of both classes")

    @property
    def rereads(self) -> bool:  # type: ignore[override]
        return self.source.batch_policy is BatchPolicy.ALWAYS

    def map_blocks(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        results = self.source.map_blocks(_at_C, function, self.C, arguments)
        return [result for result in results if result is not None]

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

    @cached_property
    def centre(self) -> Array:
        return onto_hyperboloid(self.extent.total / self.extent.heaviest)

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self.n_samples} samples in dimension {self.dim}, C={self.C:g}"

    def risk(self, w: ArrayLike, loss: str = "hinge", intercept: float = 0.0) -> float:
        return math.fsum(self.map_blocks(_risk, np.asarray(w, dtype=np.float64), loss, intercept))

    def with_C(self, C: float) -> "BlockedProblem":
        if not 0.0 < C < math.inf:
            raise ValueError(f"C must be positive and finite for samples in pieces, got {C!r}")
        other = copy(self)
        other.C = float(C)
        return other

    def with_timelike(self, allowed: bool) -> "BlockedProblem":
        other = copy(self)
        other.allow_timelike = allowed
        return other

    def with_weights_up_to(self, most: float) -> "BlockedProblem":
        if self.weight_range[1] <= most:
            return self
        return BlockedProblem(self.source.map(_up_to, most), self.C, self.uncertainty, self.allow_timelike)


def _at_C(block: Any, function: Callable[..., Any], C: float, arguments: tuple[Any, ...]) -> Any:
    """The result for a block at the C of the problem; None for a block without samples."""
    return function(block.with_C(C), *arguments) if block.n_samples else None


def _up_to(block: Any, most: float) -> Any:
    return block.with_weights_up_to(most)


def _combined(parts: list[Extent | None]) -> Extent:
    known = [part for part in parts if part is not None]
    if not known:
        raise ValueError("there are no samples: every piece is empty")
    if len({part.total.size for part in known}) > 1:
        raise ValueError("the pieces have points of different dimensions")
    n, positive, weight, total, farthest, lightest, heaviest, on_device = zip(*known, strict=True)
    sums = sum(n), sum(positive), math.fsum(weight), np.sum(total, axis=0)
    return Extent(*sums, max(farthest), min(lightest), max(heaviest), any(on_device))


def _extent(block: Any) -> Extent | None:
    if block.n_samples == 0:
        return None
    if isinstance(block, DeviceSamples):
        return _device_extent(block)
    weight = np.ones(block.n_samples) if block.sample_weight is None else block.sample_weight
    positive = int(np.count_nonzero(block.y > 0.0))
    total = weight @ block.X
    return Extent(block.n_samples, positive, float(weight.sum()), total, block.farthest, *block.weight_range)


def _device_extent(block: DeviceSamples) -> Extent:
    """From rows of sums: number, positive ones, weight, ``c x`` (d + 1 numbers), farthest, heaviest and lightest."""
    xp = block.xp
    if has_kernels(block):
        rows = to_numpy(partial_sums("extent", block, block.array(np.zeros(1)), block.dim + 7))
    else:
        parts = []
        for part in block.blocks(block.dim + 1):
            used, cost = xp.astype(part.side != 0.0, xp.float64), part.weight
            sums = [xp.sum(used), xp.sum(xp.astype(part.side > 0.0, xp.float64)), xp.sum(cost)]
            ends = [xp.max(used * part.time), xp.max(cost)]
            ends += [xp.min(xp.where(cost > 0.0, cost, xp.zeros_like(cost) + xp.inf))]
            totals = xp.sum(cost * part.time)[None], xp.sum(cost[:, None] * part.space, axis=0)
            parts.append(xp.concat([xp.stack(sums), *totals, xp.stack(ends)]))
        rows = to_numpy(xp.stack(parts))
    n, positive, weight, *total = rows[:, :-3].sum(axis=0).tolist()
    farthest, heaviest = rows[:, -3:-1].max(axis=0).tolist()
    lightest = float(rows[:, -1].min())
    return Extent(int(n), int(positive), weight, np.array(total), farthest, lightest, heaviest, on_device=True)


def _risk(block: Any, w: Array, loss: str, intercept: float) -> float:
    return math.fsum(problem.risk(w, loss, intercept) for problem in on_host(block))


# -- the name of version 0.1 -------------------------------------------------------------------------------------------


class SpreadProblem(BlockedProblem):
    """`BlockedProblem`, with an explanation in the place of those methods of `MarginProblem` that read rows."""


def _refused(name: str) -> Any:
    """The attribute of that name of `MarginProblem`, as one that raises."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise TypeError(NEEDS_ROWS)

    attribute = getattr(MarginProblem, name, None)
    return wraps(attribute)(refuse) if callable(attribute) else property(refuse)


for _name in {"X", "y", *vars(MarginProblem)} - set(dir(BlockedProblem)):
    if not _name.startswith("_"):
        setattr(SpreadProblem, _name, _refused(_name))
