"""The margin problem of a kernel: minimise ``|f|^2/2 + sum_i c_i max(0, 1 - y_i (f(x_i) + b))`` over f and b.

f ranges over the Hilbert space of the kernel, and an optimal one is ``f(x) = sum_j beta_j k(x_j, x)`` with
``|f|^2 = beta'K beta`` and ``sum beta_j = 0``. The loss of a sample is ``max(0, 1 - m)``, without the ``1/sqrt2`` of
`MarginProblem`: so C means what it means in scikit-learn's `SVC`. The dual problem is

    maximise  y.beta - beta'K beta/2   over   0 <= y_i beta_i <= c_i,  sum beta_i = 0,

and each of its points bounds the objective from below, for a conditionally positive definite kernel as well, because
``sum beta_i = 0``. docs/kernels.md has the proofs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.kernels import Kernel
from hypermargin.kernels.chords import PolarPoints, polar_points
from hypermargin.kernels.near import NearPoints, is_local
from hypermargin.problems.margin import check_weights

#: A kernel of this package, or a callable of one's own.
KernelFunction = Kernel | Callable[[Array, Array], Array]

Indices = NDArray[np.intp]

#: Entries of a block of kernel values that is made and used at once: 32 MB.
BLOCK_ENTRIES = 1 << 22
#: Above this many samples it is worth looking for negligible kernel values: the whole matrix takes 32 MB.
MANY = 2000


class DualProblem(ABC):
    """What problems in terms of ``beta`` share. Subclasses are dataclasses with y, C and sample_weight."""

    y: Array
    C: float
    sample_weight: Array | None

    @property
    def n_samples(self) -> int:
        return self.y.size

    @property
    def one_sided(self) -> bool:
        """Whether all labels are the same."""
        return bool((self.y == self.y[0]).all())

    @cached_property
    def costs(self) -> Array:
        """``c_i = C * sample_weight_i``, shape (n,)."""
        return np.full(self.n_samples, self.C) if self.sample_weight is None else self.C * self.sample_weight

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """The least and the largest beta: 0 and ``y_i c_i`` in order."""
        ends = self.y * self.costs
        return np.minimum(ends, 0.0), np.maximum(ends, 0.0)

    @abstractmethod
    def products(self, beta: Array) -> Array:
        """``K beta``, shape (n,)."""

    def objective(self, beta: Array, intercept: float) -> float:
        """The objective of ``f = sum beta_j k(x_j, .)``, in floating point."""
        scores = self.products(beta)
        return 0.5 * float(beta @ scores) + self.risk(scores, intercept)

    def risk(self, scores: Array, intercept: float) -> float:
        """``sum_i c_i max(0, 1 - y_i (scores_i + intercept))``."""
        return float(self.costs @ np.maximum(0.0, 1.0 - self.y * (scores + intercept)))

    def with_C(self, C: float) -> Self:
        """The same problem with another C."""
        return self if C == self.C else replace(self, C=C)  # type: ignore[type-var]

    def _check(self) -> None:
        y = np.ascontiguousarray(self.y, dtype=np.float64)
        if y.ndim != 1 or not (np.abs(y) == 1.0).all():
            raise ValueError("y must hold the labels -1 and +1 only, one for each sample")
        if not (float(self.C) > 0.0 and isfinite(self.C)):
            raise ValueError(f"C must be positive and finite with a kernel, got {self.C!r}")
        object.__setattr__(self, "y", y)
        object.__setattr__(self, "C", float(self.C))
        if self.sample_weight is not None:
            object.__setattr__(self, "sample_weight", check_weights(self.sample_weight, y.size))


@dataclass(frozen=True, eq=False)
class KernelProblem(DualProblem):
    """Points, labels, a kernel and weights of one binary problem.

    Parameters
    ----------
    points : PolarPoints or (n, d + 1) array
        Points of the unit hyperboloid, perhaps prepared by `kernels.chords.polar_points`; for a callable of one's own
        an array.
    y : (n,) array
        Labels -1 or +1.
    kernel : Kernel or callable
        A callable gets two arrays of points, shapes (n, d + 1) and (m, d + 1), and returns the matrix (n, m).
    C : float
    sample_weight : (n,) array, optional
    gram : (n, n) array, optional
        The kernel matrix of the points, where it is in memory already; otherwise its blocks are computed when needed.
    cache_bytes : int
        Memory for rows of the matrix that a solver may keep where there is no `gram`.
    runs : tuple of (first, past) pairs, optional
        The samples are only some of `points` and `gram`: the rows ``first : past`` of each pair, one after the other.
    """

    points: Any
    y: Array
    kernel: KernelFunction
    C: float = 1.0
    sample_weight: Array | None = None
    gram: Array | None = None
    cache_bytes: int = 2 << 30
    runs: tuple[tuple[int, int], ...] | None = None

    def __post_init__(self) -> None:
        self._check()
        if isinstance(self.kernel, Kernel) and not isinstance(self.points, PolarPoints):
            object.__setattr__(self, "points", polar_points(np.asarray(self.points, dtype=np.float64)))
        there = len(self.points) if self.runs is None else sum(past - first for first, past in self.runs)
        if there != self.n_samples:
            raise ValueError(f"y has {self.n_samples} labels for {there} points")
        if self.gram is not None and self.gram.shape != (len(self.points),) * 2:
            raise ValueError(f"the kernel matrix must have shape {(len(self.points),) * 2}, got {self.gram.shape}")

    @property
    def dim(self) -> int:
        """The dimension of the space of the points."""
        return self.points.dim if isinstance(self.points, PolarPoints) else self.points.shape[1] - 1

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Where the samples are among `points`, shape (n,)."""
        return np.concatenate([np.arange(*run) for run in self.runs or ((0, self.n_samples),)])

    @cached_property
    def own_points(self) -> Any:
        """The points of the samples."""
        return self.points if self.runs is None else self.points[self.rows]

    @property
    def space(self) -> Array:
        """Space coordinates of the samples, shape (n, d)."""
        whole = self.points.space if isinstance(self.points, PolarPoints) else self.points[:, 1:]
        return whole if self.runs is None else np.concatenate([whole[first:past] for first, past in self.runs])

    @cached_property
    def near(self) -> NearPoints | None:
        """The samples, where they are many, there is no matrix, and most pairs are too far apart to count."""
        if self.gram is not None or self.n_samples < MANY or not isinstance(self.kernel, Kernel):
            return None
        local = is_local(self.kernel, self.own_points, self.own_points)
        return NearPoints(self.kernel, self.own_points) if local else None

    def values(self, rows: Any, columns: Any = slice(None)) -> Array:
        """The kernel between the samples `rows` and the samples `columns`, each a slice or an array of indices."""
        if self.gram is not None:
            if self.runs is not None:
                return self.gram[np.ix_(self.rows[rows], self.rows[columns])]
            if isinstance(rows, slice) or isinstance(columns, slice):
                return self.gram[rows, columns]
            return self.gram[np.ix_(rows, columns)]
        if isinstance(self.kernel, Kernel):
            return self.kernel.between(self.own_points[rows], self.own_points[columns])
        return np.asarray(self.kernel(self.own_points[rows], self.own_points[columns]), dtype=np.float64)

    def whole_matrix(self) -> Array:
        """The kernel matrix, shape (n, n)."""
        if self.gram is not None:
            return self.gram if self.runs is None else self.values(slice(None))
        if isinstance(self.kernel, Kernel):
            return self.kernel.between(self.own_points)  # half the work of `values`: it is symmetric
        return self.values(slice(None))

    def matrix_products(self, weights: Array) -> Array:
        """``weights @ K`` from the matrix in memory, which is not copied: (..., n) to (..., n)."""
        assert self.gram is not None
        if self.runs is None:
            return weights @ self.gram
        parts, end = [], 0
        for first, past in self.runs:
            parts.append((slice(end, end + past - first), slice(first, past)))
            end += past - first
        products = np.empty(weights.shape)
        for own, columns in parts:
            total = sum(weights[..., others] @ self.gram[rows, columns] for others, rows in parts)
            products[..., own] = total
        return products

    def row_blocks(self, width: int) -> list[slice]:
        """The samples as slices short enough for a block of `width` columns."""
        height = max(1, BLOCK_ENTRIES // max(width, 1))
        return [slice(start, min(self.n_samples, start + height)) for start in range(0, self.n_samples, height)]

    def products(self, beta: Array) -> Array:
        used = np.flatnonzero(beta)
        if self.gram is not None and (self.runs is not None or 2 * used.size >= self.n_samples):
            return self.matrix_products(beta)
        if self.near is not None:
            return self.near.products(self.own_points[used], beta[used, None])[:, 0]
        weights = beta[used]
        blocks = [self.values(rows, used) @ weights for rows in self.row_blocks(used.size)]
        return np.concatenate(blocks) if used.size else np.zeros(self.n_samples)


@dataclass(frozen=True, eq=False)
class FeatureProblem(DualProblem):
    """The same problem for the kernel ``z.z'`` of features Z, shape (n, m): a linear classifier with an intercept.

    `origin` describes the features, and `points` holds the space coordinates of the samples, (n, d), if they were
    made of points. Both identify the problem; the last digits of features depend on the machine that computed them.
    """

    features: Array
    y: Array
    C: float = 1.0
    sample_weight: Array | None = None
    points: Array | None = None
    origin: str = "features"

    def __post_init__(self) -> None:
        self._check()
        if self.features.ndim != 2 or len(self.features) != self.n_samples:
            raise ValueError(f"features must have shape ({self.n_samples}, m), got {self.features.shape}")

    @property
    def identity(self) -> Array:
        """What identifies the samples: their points, or else their features."""
        return self.features if self.points is None else self.points

    @property
    def dim(self) -> int:
        return self.identity.shape[1]

    def products(self, beta: Array) -> Array:
        return self.features @ (beta @ self.features)


@dataclass(frozen=True, eq=False)
class KernelProblemFamily:
    """Binary problems of classes that share a kernel matrix: pairs of classes, or each against the rest.

    Class c has the rows ``bounds[c] : bounds[c + 1]`` of the matrix. A classifier of twelve classes has 66 pairs, some
    of a dozen samples; compiled code that solves or checks all in one call reads their samples in flat arrays, one
    problem after the other.

    Parameters
    ----------
    gram : (n, n) array
    kernel : Kernel or callable
        What the matrix is that of; its rounding errors are charged to every value.
    dim : int
        The dimension of the space of the points.
    bounds : sequence of int
    code : (n_problems, n_classes) array
        The side of each class in each problem: +1, -1, or 0 where it sits out.
    C : float
    weight : (n,) array, optional
        Weights of the rows; None where all are 1.
    """

    gram: Array
    kernel: KernelFunction
    dim: int
    bounds: Sequence[int]
    code: np.ndarray
    C: float
    weight: Array | None = None

    @cached_property
    def _layout(self) -> tuple[Indices, Indices, Indices, Indices]:
        """`starts`, `run_starts`, `begins` and `aheads`."""
        bounds, used = np.asarray(self.bounds), self.code != 0.0
        problem, column = used.nonzero()
        lengths = np.diff(bounds)[column]
        runs = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        ends = np.concatenate([[0], np.cumsum(lengths)])
        starts = ends[runs]
        begins = ends[:-1] - starts[problem]
        aheads = bounds[column] - begins
        # The begins of a problem end with its number of samples.
        return starts, runs, np.insert(begins, runs[1:], np.diff(starts)), aheads

    @property
    def starts(self) -> Indices:
        """Problem p has the samples ``starts[p] : starts[p + 1]`` of flat arrays; shape (n_problems + 1,)."""
        return self._layout[0]

    @property
    def arrays(self) -> tuple[Array, Indices, Indices, Indices, Indices, Array, Array]:
        """What compiled code reads: the matrix, where samples are, labels and costs of all problems."""
        return self.gram, *self._layout, self.y, self.costs

    @cached_property
    def rows(self) -> Indices:
        """The row of the matrix of every sample, flat."""
        lengths = np.diff(np.asarray(self.bounds))[self.code.nonzero()[1]]
        return np.arange(self.starts[-1]) + np.repeat(self._aheads_of_all, lengths)

    @property
    def _aheads_of_all(self) -> Indices:
        starts, runs, _, aheads = self._layout
        return aheads - np.repeat(starts[:-1], np.diff(runs))

    @cached_property
    def y(self) -> Array:
        """Labels of the samples of all problems, flat."""
        problem, column = self.code.nonzero()
        return self.code[problem, column].repeat(np.diff(np.asarray(self.bounds))[column])

    @cached_property
    def costs(self) -> Array:
        """``c_i`` of the samples of all problems, flat."""
        return np.full(self.y.size, self.C) if self.weight is None else self.C * self.weight[self.rows]

    @property
    def rounding(self) -> tuple[float, float]:
        """The relative and the absolute error of a value; 0 for a callable, whose values count as exact."""
        return self.kernel.rounding(self.dim) if isinstance(self.kernel, Kernel) else (0.0, 0.0)
