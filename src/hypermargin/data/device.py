"""Samples in arrays of any library that follows the array API (PyTorch, CuPy, NumPy itself), wherever these live.

Everything is done in blocks of rows on the device; what leaves it are sums. The points themselves are not copied where
they are Lorentz coordinates in double precision: a view of the user's array is enough.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array

from hypermargin.arrays import Array
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import UncertaintySet

#: Numbers of the largest temporary array: 1 GiB on a graphics card, 8 MiB beside the cache of a processor.
DEVICE_NUMBERS, HOST_NUMBERS = 1 << 27, 1 << 20
#: From so many dimensions on time coordinates are computed once, and kept.
MANY_DIMENSIONS = 8


@dataclass(frozen=True, eq=False)
class DeviceSamples:
    """The samples of one binary problem on a device.

    Parameters
    ----------
    space : (n, d) array of doubles
        Space parts of the points; the point meant is ``(sqrt(1 + |xr|^2), xr)``.
    side : (n,) array of int8
        Labels -1 and +1; samples of side 0 are not part of the problem.
    C : float
    sample_weight : (n,) array of doubles, optional
    uncertainty : UncertaintySet, optional
        Of one size for all samples.
    """

    space: Any
    side: Any
    C: float = 1.0
    sample_weight: Any = None
    uncertainty: UncertaintySet | None = None
    allow_timelike: bool = False

    @cached_property
    def xp(self) -> Any:
        return array_namespace(self.space)

    @cached_property
    def n_samples(self) -> int:
        xp = self.xp
        return sum(int(xp.sum(xp.astype(self.side[rows] != 0, xp.int64))) for rows in self._row_slices(1))

    @property
    def dim(self) -> int:
        return int(self.space.shape[1])

    @property
    def is_cuda(self) -> bool:
        return is_torch_array(self.space) and self.space.is_cuda

    def with_C(self, C: float) -> "DeviceSamples":
        """The same samples with another C; what is known of them is known of these."""
        other = replace(self, C=float(C))
        vars(other)["n_samples"] = self.n_samples
        if "time" in vars(self):
            vars(other)["time"] = self.time
        return other

    @cached_property
    def time(self) -> Any:
        """Time coordinates, shape (n,): in many dimensions small beside the points, and worth keeping."""
        return self.xp.concat([self._times(rows) for rows in self._row_slices(self.dim)])

    def _times(self, rows: slice) -> Any:
        xr = self.space[rows, :]
        return self.xp.sqrt(1.0 + self.xp.sum(xr * xr, axis=1))

    def array(self, values: Array) -> Any:
        """Small host values as doubles on the device."""
        return self.xp.asarray(np.ascontiguousarray(values, dtype=np.float64), device=device(self.space))

    def blocks(self, columns: int) -> Iterator["Block"]:
        """The samples in blocks for which `columns` numbers per row are a temporary array of reasonable size."""
        xp = self.xp
        for rows in self._row_slices(columns):
            side = xp.astype(self.side[rows], xp.float64)
            weight = xp.abs(side)
            if self.sample_weight is not None:
                weight = weight * self.sample_weight[rows]
            time = self.time[rows] if self.dim >= MANY_DIMENSIONS else self._times(rows)
            yield Block(xp, time, self.space[rows, :], side, weight)

    def problems(self) -> Iterator[MarginProblem]:
        """The samples as problems in the memory of the host, a block at a time (see `on_host`)."""
        for block in self.blocks(self.dim + 1):
            X, side, weight = (to_numpy(v) for v in (block.points, block.side, block.weight))
            used = side != 0.0
            weights = None if self.sample_weight is None else weight[used]
            yield MarginProblem.unchecked(
                np.ascontiguousarray(X[used]), side[used], self.C, weights, self.uncertainty, self.allow_timelike
            )

    def _row_slices(self, columns: int) -> list[slice]:
        largest = DEVICE_NUMBERS if self.is_cuda else HOST_NUMBERS
        step = max(1, largest // max(columns, self.dim + 1))
        n = int(self.space.shape[0])
        return [slice(start, min(start + step, n)) for start in range(0, n, step)]


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of a device: time and space parts, sides as doubles, and weights, 0 for samples that sit out."""

    xp: Any
    time: Any
    space: Any
    side: Any
    weight: Any

    @property
    def points(self) -> Any:
        return self.xp.concat([self.time[:, None], self.space], axis=1)

    def products(self, matrix: Any) -> Any:
        """``y_i x_i @ matrix``, shape (rows, columns of the matrix)."""
        return self.side[:, None] * (self.time[:, None] * matrix[0, :] + self.space @ matrix[1:, :])


def on_host(piece: MarginProblem | DeviceSamples) -> Iterator[MarginProblem]:
    """The samples of a piece as problems of NumPy arrays that are not empty, for what has no device code."""
    problems = piece.problems() if isinstance(piece, DeviceSamples) else (piece,)
    return (problem for problem in problems if problem.n_samples)


def triton_runs(array: Any) -> bool:
    """Whether `triton_kernels` can read this array: a CUDA tensor, with Triton installed or interpreting for tests."""
    if not is_torch_array(array) or find_spec("triton") is None:
        return False
    return bool(array.is_cuda) or os.environ.get("TRITON_INTERPRET") == "1"


def to_numpy(values: Any) -> np.ndarray:
    """A device array in the memory of the host."""
    if is_torch_array(values):
        return values.detach().cpu().numpy()
    return values.get() if hasattr(values, "get") else np.asarray(values)
