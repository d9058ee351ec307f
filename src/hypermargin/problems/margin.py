"""The margin problem: minimise ``f(w) = q(w)/2 + sum_i c_i loss(m_i(w))``, ``q(w) >= 0`` (paper, eq. soft-margin)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hypermargin.arrays import Array, repeated, row_blocks
from hypermargin.geometry.compiled import frames
from hypermargin.geometry.isometries import frame_entry, move_to_origin_precisely
from hypermargin.geometry.lorentz import covector, is_lifted, lift, quadratic_form
from hypermargin.geometry.mean import lorentz_centroid
from hypermargin.geometry.validation import check_lorentz
from hypermargin.problems.losses import get_loss
from hypermargin.problems.uncertainty import UncertaintySet

NEEDS_ROWS = (
    "the samples of this problem are in pieces elsewhere (a file, a device, a cluster), and this method wants them in "
    "memory; use solver='exact', or pass a NumPy array"
)


class BinaryProblem(ABC):
    """The problem protocol: what solvers and checkers need, wherever the samples are.

    Besides these names a problem has C, `uncertainty` and `allow_timelike` (`MarginProblem`); those of samples in
    memory have rows as well, and `in_memory` is true.
    """

    C: float = 1.0
    uncertainty: UncertaintySet | None = None
    allow_timelike: bool = False
    #: Whether the samples are arrays X, y and `sample_weight` in memory.
    in_memory = True
    #: Whether every map over the blocks reads the samples anew, from a file.
    rereads = False

    @property
    @abstractmethod
    def n_samples(self) -> int: ...

    @property
    @abstractmethod
    def dim(self) -> int:
        """The dimension d of the hyperbolic space; w has d + 1 entries."""

    @property
    @abstractmethod
    def farthest(self) -> float:
        """The largest time coordinate of a point; no other coordinate is larger."""

    @property
    @abstractmethod
    def weight_range(self) -> tuple[float, float]:
        """The least positive sample weight and the largest."""

    @property
    @abstractmethod
    def centre(self) -> Array:
        """The weighted Lorentz centroid of the points, shape (d + 1,)."""

    @abstractmethod
    def map_blocks(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """``function(block, *arguments)`` for every block of samples; an array in memory is one block."""

    @abstractmethod
    def with_C(self, C: float) -> Self:
        """The same problem with another C."""

    @abstractmethod
    def with_timelike(self, allowed: bool) -> Self:
        """The same problem with timelike normals allowed, or not."""

    @abstractmethod
    def with_weights_up_to(self, most: float) -> Self:
        """The same problem with every larger weight replaced by `most`: its objective is nowhere larger."""

    @abstractmethod
    def risk(self, w: ArrayLike, loss: str = "hinge", intercept: float = 0.0) -> float:
        """``sum_i c_i loss(m_i(w))``; for the hard margin 0 or inf (see `MarginProblem.violation`)."""

    def objective(self, w: ArrayLike, loss: str = "hinge", intercept: float = 0.0) -> float:
        """``f(w) = q(w)/2 + risk``; infinite where w is not feasible (see `is_feasible`)."""
        q = float(quadratic_form(w))
        if not (q >= 0.0 or self.is_feasible(w)):
            return float("inf")
        return 0.5 * max(q, 0.0) + self.risk(w, loss, intercept)

    def is_feasible(self, w: ArrayLike, rtol: float = 1e-12) -> bool:
        """Whether ``q(w) >= 0`` up to rounding relative to ``|w|^2`` (always true with `allow_timelike`)."""
        w = np.asarray(w, dtype=np.float64)
        return self.allow_timelike or float(quadratic_form(w)) >= -rtol * float(w @ w)

    def margin_rounding(self, w: ArrayLike) -> float:
        """How far margins may be from 1 and still count as 1: what rounding does to products of this size, and 1e-9."""
        return 1e-9 + 1e-15 * self.farthest * float(np.abs(np.asarray(w)).max())

    @property
    def is_hard(self) -> bool:
        return math.isinf(self.C)

    def ask(self, question: Callable[..., Any], *arguments: Any) -> list[Any]:
        """`map_blocks`, as version 0.1 called it."""
        return self.map_blocks(question, *arguments)


@dataclass(frozen=True, eq=False)
class MarginProblem(BinaryProblem):
    """Points, labels and weights of one binary problem. Frozen, with read-only views of its arrays.

    Parameters
    ----------
    X : (n, d + 1) array
        Points on the hyperboloid of curvature -1. Only the space part of a row counts: it means the point
        ``(sqrt(1 + |xr|^2), xr)`` exactly, and its time coordinate is checked against that
        (docs/exact.md, "Which problem").
    y : (n,) array
        Labels -1 or +1.
    C : float
        Weight of the risk; ``inf`` means the hard margin (every ``m_i >= 1``).
    sample_weight : (n,) array, optional
        Non-negative factors of C, one per sample. A weight of 2 equals the sample twice; 0 leaves it out.
    uncertainty : UncertaintySet, optional
        A set around each point; margins are then the worst over it.
    allow_timelike : bool
        Drop the constraint ``q(w) >= 0`` and minimise ``max(q(w), 0)/2 + risk`` instead.
    """

    X: Array
    y: Array
    C: float = 1.0
    sample_weight: Array | None = None
    uncertainty: UncertaintySet | None = None
    allow_timelike: bool = False

    def __post_init__(self) -> None:
        X = check_lorentz(self.X)
        y = np.asarray(self.y, dtype=np.float64)
        if y.shape != (X.shape[0],):
            raise ValueError(f"y must have shape ({X.shape[0]},) to match X, got {y.shape}")
        if not all(np.all(np.abs(y[rows]) == 1.0) for rows in row_blocks(y.size)):
            raise ValueError("y must hold the labels -1 and +1 only")
        C = float(self.C)
        if not C > 0.0:
            raise ValueError(f"C must be positive (inf asks for the hard margin), got {self.C!r}")
        weight = None if self.sample_weight is None else check_weights(self.sample_weight, X.shape[0])
        if self.uncertainty is not None:
            if not isinstance(self.uncertainty, UncertaintySet):
                raise TypeError(f"uncertainty must be a set such as GeodesicBall(0.1), got {self.uncertainty!r}")
            self.uncertainty.check(X.shape[0], X.shape[1] - 1)
        if not is_lifted(X):
            X = lift(X[:, 1:])
        for name, value in (("X", X), ("y", y), ("C", C), ("sample_weight", weight)):
            object.__setattr__(self, name, _read_only(value))

    def __sizeof__(self) -> int:
        """Bytes with the arrays, for Dask, which moves blocks that it takes for small."""
        return object.__sizeof__(self) + sum(v.nbytes for v in vars(self).values() if isinstance(v, np.ndarray))

    # -- sizes and weights -------------------------------------------------------------------------------------------

    @property
    def n_samples(self) -> int:
        return self.X.shape[0]

    @property
    def dim(self) -> int:
        return self.X.shape[1] - 1

    @cached_property
    def farthest(self) -> float:
        return float(self.X[:, 0].max())

    @property
    def weight_range(self) -> tuple[float, float]:
        weight = self.sample_weight
        if weight is None:
            return 1.0, 1.0
        return float(weight[weight > 0.0].min(initial=math.inf)), float(weight.max(initial=0.0))

    def map_blocks(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        return [function(self, *arguments)]

    @cached_property
    def costs(self) -> Array:
        """``c_i = C * sample_weight_i``, shape (n,); with the hard margin infinite where the weight is positive.

        Read-only without weights: one number that is read n times, and takes no memory.
        """
        if self.sample_weight is None:
            return repeated(self.C, self.n_samples)
        if self.is_hard:
            return np.where(self.sample_weight > 0.0, np.inf, 0.0)
        return self.C * self.sample_weight

    @property
    def signed_covectors(self) -> Array:
        """Rows ``z_i = y_i (x_i0, -x_ir)``: the nominal margins are ``Z @ w``; a new array, shape (n, d + 1)."""
        return self.y[:, None] * covector(self.X)

    @cached_property
    def centre(self) -> Array:
        return lorentz_centroid(self.X, None if self.is_hard else self.sample_weight)

    def covectors_around(
        self,
        centre: Array,
        rows: slice | NDArray[np.intp] = slice(None),
        precise: bool = False,
        columns: Array | None = None,
    ) -> Array:
        """`signed_covectors` of the given rows after the isometry that moves `centre` to the origin.

        In doubles that loses an absolute ``eps e^(2r)`` at radius r; `precise` takes double-double arithmetic and one
        rounding. The transpose is contiguous: passes over the data read columns. It is written to the first of
        `columns`, shape (d + 1, n or more), if these are given.
        """
        X, y = self.X[rows], self.y[rows]
        columns = np.empty(X.shape[::-1]) if columns is None else columns
        if not precise:
            frames.signed_covectors(X, y, frame_entry(centre), columns)
        for block in row_blocks(len(X)) if precise else ():
            moved = covector(move_to_origin_precisely(X[block], centre))
            np.multiply(moved.T, y[block], out=columns[:, block.start : min(block.stop, len(X))])
        return columns[:, : len(X)].T

    # -- the objective -----------------------------------------------------------------------------------------------

    def margins(self, w: ArrayLike, intercept: float = 0.0, rows: slice = slice(None)) -> Array:
        """``m_i(w) = y_i (x_i * w + intercept)``, the worst over the uncertainty set where there is one.

        Shape (n,), or the length of `rows`.
        """
        w = np.asarray(w, dtype=np.float64)
        X, y = self.X[rows], self.y[rows]
        if self.uncertainty is None:
            margins = X @ covector(w)
            margins *= y
        else:
            sets = self.uncertainty.take(np.arange(*rows.indices(self.n_samples)))
            margins = sets.worst_margins(X, y, w)
        return margins + intercept * y if intercept else margins

    def risk(self, w: ArrayLike, loss: str = "hinge", intercept: float = 0.0) -> float:
        if self.is_hard:
            return 0.0 if self.violation(w, intercept) <= self.margin_rounding(w) else float("inf")
        value, risk = get_loss(loss).value, 0.0
        for rows in row_blocks(self.n_samples):
            risk += float((self.costs[rows] * value(self.margins(w, intercept, rows))).sum())
        return risk

    def risk_and_subgradient(self, w: ArrayLike, loss: str = "hinge") -> tuple[float, Array]:
        """The risk at w and one of its subgradients, shape (d + 1,). Not defined for the hard margin."""
        Z = self._worst_covectors(w)
        margins = Z @ np.asarray(w, dtype=np.float64)
        chosen = get_loss(loss)
        return float((self.costs * chosen.value(margins)).sum()), (self.costs * chosen.derivative(margins)) @ Z

    def violation(self, w: ArrayLike, intercept: float = 0.0) -> float:
        """The largest ``1 - m_i(w)`` over samples of positive weight, at least 0: how far w is from the hard margin."""
        largest = 0.0
        for rows in row_blocks(self.n_samples):
            margins = self.margins(w, intercept, rows)[self.costs[rows] > 0.0]
            largest = max(largest, float(np.max(1.0 - margins, initial=0.0)))
        return largest

    # -- variants ----------------------------------------------------------------------------------------------------

    def with_C(self, C: float) -> "MarginProblem":
        if C == self.C:
            return self
        if not C > 0.0:
            raise ValueError(f"C must be positive (inf asks for the hard margin), got {C!r}")
        return self.unchecked(self.X, self.y, float(C), self.sample_weight, self.uncertainty, self.allow_timelike)

    def with_timelike(self, allowed: bool) -> "MarginProblem":
        return self.unchecked(self.X, self.y, self.C, self.sample_weight, self.uncertainty, allowed)

    def with_equal_weights(self) -> "MarginProblem":
        """The same problem with weights 0 and 1: to a hard margin nothing else matters."""
        if self.sample_weight is None:
            return self
        weight = None if np.all(self.sample_weight > 0.0) else (self.sample_weight > 0.0).astype(np.float64)
        return self.unchecked(self.X, self.y, self.C, weight, self.uncertainty, self.allow_timelike)

    def with_weights_up_to(self, most: float) -> "MarginProblem":
        if self.weight_range[1] <= most:
            return self
        weight = np.full(self.n_samples, most) if self.sample_weight is None else np.minimum(self.sample_weight, most)
        return self.unchecked(self.X, self.y, self.C, weight, self.uncertainty, self.allow_timelike)

    @classmethod
    def unchecked(
        cls,
        X: Array,
        y: Array,
        C: float,
        sample_weight: Array | None = None,
        uncertainty: UncertaintySet | None = None,
        allow_timelike: bool = False,
    ) -> "MarginProblem":
        """A problem of arrays that have been checked before, such as rows of another problem.

        The checks cost more than the solution of a small problem; one-vs-one would repeat them for every pair.
        """
        if y.shape != X.shape[:1] or (sample_weight is not None and sample_weight.shape != y.shape):
            raise ValueError(f"X has {len(X)} rows; y and sample_weight must have as many entries")
        problem = object.__new__(cls)
        X, y, sample_weight = _read_only(X), _read_only(y), _read_only(sample_weight)
        values = dict(
            X=X, y=y, C=C, sample_weight=sample_weight, uncertainty=uncertainty, allow_timelike=allow_timelike
        )
        vars(problem).update(values)  # as the class itself does for each field before it is frozen
        return problem

    def _worst_covectors(self, w: ArrayLike) -> Array:
        """Rows ``y_i covector(x')`` at the worst point ``x'`` of each uncertainty set for this w."""
        if self.uncertainty is None:
            return self.signed_covectors
        return self.uncertainty.worst_covectors(self.X, self.y, np.asarray(w, dtype=np.float64))


class WeightError(ValueError):
    """A weight that will not do, and its row."""

    def __init__(self, row: int, complaint: str) -> None:
        super().__init__(row, complaint)
        self.row, self.complaint = row, complaint

    def __str__(self) -> str:
        return f"{self.complaint} (row {self.row})"


def check_weights(sample_weight: ArrayLike, n_samples: int) -> Array:
    """Weights of shape (n,), finite, non-negative and not all zero, or a `ValueError`."""
    weight = block_weights(sample_weight, n_samples)
    if not np.any(weight > 0.0):
        raise ValueError("sample_weight is zero for every sample")
    return weight


def block_weights(sample_weight: ArrayLike, n_samples: int) -> Array:
    """`check_weights` for a part of the samples, whose weights may all be zero."""
    weight = np.array(sample_weight, dtype=np.float64)
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight must have shape ({n_samples},), got {weight.shape}")
    if not np.all(np.isfinite(weight)):
        raise WeightError(int(np.argmin(np.isfinite(weight))), "sample_weight contains NaN or infinity")
    if np.any(weight < 0.0):
        raise WeightError(int(np.argmax(weight < 0.0)), "sample_weight must not be negative")
    return weight


def _read_only(value):
    """A view of an array that cannot be written through; other values as they are."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view
