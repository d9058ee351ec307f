"""Samples in arrays of any library that follows the array API (PyTorch, CuPy, NumPy itself), wherever these live.

Everything is done in blocks of rows on the device; what leaves it are sums. Points that are Lorentz coordinates in
double precision are not copied: a view of the user's array is enough. On a graphics card, in the plane and in space,
each pass is one kernel (`triton_kernels`), which reads points once; PyTorch reads and writes the memory of the card for
every operation. Coordinates are converted on the device where rows are clearly points of the space (`device_space`).
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from math import sinh
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array

from hypermargin.arrays import Array
from hypermargin.data.ingest import HALF_PRECISION, Rim, block_coordinates, numbered, to_unit
from hypermargin.geometry.lorentz import curvature_scale
from hypermargin.geometry.validation import MAX_RADIUS, PointError
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

    def with_weights_up_to(self, most: float) -> "DeviceSamples":
        """The same samples with every larger weight replaced by `most`."""
        weight = self.xp.ones_like(self.space[:, 0]) if self.sample_weight is None else self.sample_weight
        largest = self.xp.zeros_like(weight) + most
        return replace(self, sample_weight=self.xp.where(weight > largest, largest, weight))

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


def on_host(block: MarginProblem | DeviceSamples) -> Iterator[MarginProblem]:
    """The samples of a block as problems of NumPy arrays that are not empty, for what has no device code."""
    problems = block.problems() if isinstance(block, DeviceSamples) else (block,)
    return (problem for problem in problems if problem.n_samples)


def to_numpy(values: Any) -> np.ndarray:
    """A device array in the memory of the host."""
    if is_torch_array(values):
        return values.detach().cpu().numpy()
    return values.get() if hasattr(values, "get") else np.asarray(values)


# -- kernels of Triton -------------------------------------------------------------------------------------------------

#: Points of a program are BLOCK times STEPS; dimensions that there are kernels for.
BLOCK, STEPS = 1024, 32
DIMENSIONS = (2, 3)


def has_kernels(samples: DeviceSamples) -> bool:
    """Whether there are kernels for these samples: CUDA tensors, with Triton installed or interpreting for tests."""
    if samples.dim not in DIMENSIONS or not is_torch_array(samples.space) or find_spec("triton") is None:
        return False
    return samples.is_cuda or os.environ.get("TRITON_INTERPRET") == "1"


def partial_sums(kernel: str, samples: DeviceSamples, numbers: Any, columns: int) -> Any:
    """What the programs of a kernel of `triton_kernels` leave: a tensor of the kind of `numbers`, (programs, columns).

    `numbers` is a tensor on the device of the samples: what the kernel must know besides the samples.
    """
    import torch

    from hypermargin.data import triton_kernels

    n = samples.space.shape[0]
    programs = -(-n // (BLOCK * STEPS))
    sums = torch.empty((programs, columns), dtype=numbers.dtype, device=samples.space.device)
    getattr(triton_kernels, kernel)[(programs,)](
        samples.space,
        samples.side,
        samples.space if samples.sample_weight is None else samples.sample_weight,
        numbers,
        sums,
        n,
        samples.space.stride(0),
        samples.space.stride(1),
        samples.side.stride(0),
        D=samples.dim,
        WEIGHTED=samples.sample_weight is not None,
        BLOCK=BLOCK,
        STEPS=STEPS,
        num_warps=8,
    )
    return sums


# -- coordinates of a device to space parts of unit points -------------------------------------------------------------

#: Rows of a device that are converted at a time.
ROWS_AT_A_TIME = 1 << 24
#: Points of a ball with ``1 - |p|^2`` below this are doubtful: plain doubles lose ``eps / (1 - |p|^2)`` of them.
RIM = 1e-3
#: Residuals of the hyperboloid and radii are doubtful from this share of what is allowed.
WITHIN = 0.9


def device_space(
    X: Any, geometry: str, curvature: float, notes_rim: bool = False, beyond: str = "clip"
) -> tuple[Any, np.ndarray, Rim]:
    """Space parts, shape (n, d), the rows beyond the largest radius (`to_unit`), and the rim of the ball if wanted.

    A `PointError` names the first row outside the model. Unit Lorentz coordinates are not copied, unless some are
    drawn in.
    """
    xp, n = array_namespace(X), int(X.shape[0])
    as_given = geometry == "lorentz" and curvature == 1.0 and X.dtype == xp.float64
    parts: list[Any] = []
    far, rim = [np.empty(0, dtype=np.intp)], Rim()
    for start in range(0, n, ROWS_AT_A_TIME):
        rows = slice(start, min(start + ROWS_AT_A_TIME, n))
        with numbered(start):
            space, drawn, own = _converted(xp, X[rows, :], geometry, curvature, notes_rim, beyond)
        if drawn.size and as_given:  # until here points were what was given
            as_given, parts = False, [X[:start, 1:]] if start else []
        far.append(start + drawn)
        rim = Rim(rim.beyond + own.beyond, max(rim.norm, own.norm))
        if not as_given:
            parts.append(space)
    return X[:, 1:] if as_given else parts[0] if len(parts) == 1 else xp.concat(parts), np.concatenate(far), rim


def _converted(
    xp: Any, X: Any, geometry: str, curvature: float, notes_rim: bool, beyond: str
) -> tuple[Any, np.ndarray, Rim]:
    name = str(X.dtype).rpartition(".")[2]
    if name in HALF_PRECISION or int(X.shape[1]) < 2 or "complex" in name or geometry in ("halfspace", "polar"):
        space, clear = None, None
    else:
        doubles = X if X.dtype == xp.float64 else xp.astype(X, xp.float64)
        space, clear = _quick_space(xp, doubles, geometry, curvature_scale(curvature))
        if bool(xp.all(clear)):
            return space, np.empty(0, dtype=np.intp), Rim()
    doubtful = slice(None) if clear is None else xp.nonzero(~clear)[0]
    rows = X if clear is None else xp.take(X, doubtful, axis=0)
    try:
        values = block_coordinates(_on_host(rows), geometry, curvature)
        points, far = to_unit(values, geometry, curvature, beyond)
    except PointError:
        to_unit(block_coordinates(_on_host(X), geometry, curvature), geometry, curvature, beyond)  # names the row
        raise
    rim = Rim.of(values, curvature) if notes_rim else Rim()
    host = xp.asarray(points[:, 1:].copy(), device=X.device)
    if clear is None:
        return host, far, rim
    far = to_numpy(doubtful)[far]
    kept = xp.nonzero(clear)[0]  # not every library of the array API assigns to places
    order = xp.argsort(xp.concat([kept, doubtful]))
    return xp.take(xp.concat([xp.take(space, kept, axis=0), host]), order, axis=0), far, rim


def _on_host(X: Any) -> Any:
    """Rows in the memory of the host; tensors stay tensors, because NumPy has not all of their formats."""
    return X.detach().cpu() if hasattr(X, "detach") else to_numpy(X)


def _quick_space(xp: Any, X: Any, geometry: str, scale: float) -> tuple[Any, Any]:
    """Space parts in plain doubles, and which rows they are right for; the others may hold anything."""
    if geometry in ("lorentz", "lorentz-last"):
        time, space = scale * X[:, 0], scale * X[:, 1:]
        if geometry == "lorentz-last":
            time, space = scale * X[:, -1], scale * X[:, :-1]
        level = time * time - xp.sum(space * space, axis=1)
        clear = (time > 0.0) & (xp.abs(level - 1.0) <= WITHIN * 1e-6 * time * time)
        return space, clear & _is_within(xp, space) & xp.isfinite(time)
    scaled = scale * X
    if geometry == "hyperboloid":
        return scaled, _is_within(xp, scaled)
    square = xp.sum(scaled * scaled, axis=1, keepdims=True)
    if geometry == "tangent":
        clear = square[:, 0] <= (WITHIN * MAX_RADIUS) ** 2
        length = xp.sqrt(xp.where(clear[:, None], square, xp.zeros_like(square)))
        small = length < 1e-4
        safe = xp.where(small, xp.ones_like(length), length)
        return scaled * xp.where(small, 1.0 + square / 6.0, xp.sinh(safe) / safe), clear
    clear = square[:, 0] <= 1.0 - RIM
    rest = xp.where(clear[:, None], 1.0 - square, xp.ones_like(square))
    return 2.0 * scaled / rest if geometry == "poincare" else scaled / xp.sqrt(rest), clear


def _is_within(xp: Any, space: Any) -> Any:
    """Which rows are clearly within the largest radius; not those that hold NaN."""
    square = xp.sum(space * space, axis=1)
    return square <= (WITHIN * sinh(MAX_RADIUS)) ** 2
