"""Binary problems of classes that share one kernel matrix: pairs of classes, or each against the rest.

A classifier of twelve classes has 66 pairs, some of a dozen samples. What solves or checks all of them in one call of
compiled code reads their samples in flat arrays, one problem after the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.kernels import Kernel
from hypermargin.problems.kernel import KernelFunction

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class KernelProblemFamily:
    """Problems in which class c has the rows ``bounds[c] : bounds[c + 1]`` of one kernel matrix.

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
        """What compiled code asks for: the matrix, where samples are, labels and costs of all problems."""
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
        """The relative and the absolute error of a value; 0 for a callable, whose values are what it says."""
        return self.kernel.rounding(self.dim) if isinstance(self.kernel, Kernel) else (0.0, 0.0)
