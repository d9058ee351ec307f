"""Samples in blocks, wherever these lie: every block checked and converted once, and the whole judged from summaries.

Two things differ from an array in memory: samples keep their order, and equal ones are not merged, because no
process sees them all.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from sklearn.utils import check_array, check_consistent_length

from hypermargin.arrays import Array
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.data.device import DeviceSamples, device_space, to_numpy
from hypermargin.data.executors import DataSource
from hypermargin.data.ingest import (
    MissingLabels,
    Rim,
    block_coordinates,
    block_labels,
    class_factors,
    numbered,
    require_classes,
    to_unit,
    warn_of_column,
    warn_of_radius,
)
from hypermargin.data.inspecting import chosen_dialect
from hypermargin.data.readers import Rows
from hypermargin.geometry.lorentz import curvature_scale, lift
from hypermargin.geometry.validation import MAX_RADIUS, PointError, dimension_of
from hypermargin.problems.margin import MarginProblem, WeightError, block_weights
from hypermargin.problems.uncertainty import GeodesicBall

NO_RIM = Rim()
NO_ROWS = np.empty(0, dtype=np.intp)
#: Integer labels of a device that span less than this are counted, others are sorted.
SMALL_RANGE = 1000
#: Rows of a block from which ``geometry="auto"`` is decided: a wrong one among them is seen.
ROWS_LOOKED_AT = 1000
NO_LABELS = "there are no labels"


@dataclass(frozen=True)
class Space:
    """What coordinates mean; what a Poincaré embedding should look like is looked at where `notes_rim`.

    `rim` is what is done with points beyond the largest radius.
    """

    geometry: str
    curvature: float
    notes_rim: bool = False
    rim: str = "clip"

    @property
    def is_unit_lorentz(self) -> bool:
        return self.geometry == "lorentz" and self.curvature == 1.0


@dataclass(frozen=True, eq=False)
class BlockSummary:
    """What is known of a block before anything is fitted; `error` is the first thing wrong with it, if anything is.

    `classes` are its labels, `masses` their weights, and `far` the rows of points beyond the largest radius.
    """

    n_rows: int
    width: int
    classes: Any = ()
    masses: Any = ()
    far: np.ndarray = field(default_factory=lambda: NO_ROWS)
    rim: Rim = NO_RIM
    column: bool = False
    error: Exception | None = None


@dataclass(frozen=True, eq=False)
class LabelledBlock:
    """Unit points, (n, d + 1) in NumPy or space parts (n, d) on a device, labels as class indices, and weights.

    `summary` has the classes of the indices until all blocks have those of the whole.
    """

    points: Any
    labels: Any
    weight: Any
    summary: BlockSummary | None = None

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + sum(getattr(v, "nbytes", 0) for v in (self.points, self.labels, self.weight))

    @property
    def on_device(self) -> bool:
        return not is_numpy_array(self.points)


@dataclass(frozen=True, eq=False)
class BlockedSamples:
    """The training samples of a classifier in blocks; it stands where `TrainingSet` does."""

    source: DataSource
    uncertainty: Any = None

    def problem(self, code: np.ndarray, C: float, allow_timelike: bool) -> Any:
        """The `BlockedProblem` in which class k is on the side ``code[k]``, or sits out where that is 0."""
        return BlockedProblem(self.source.map(_binary, code, self.uncertainty), C, self.uncertainty, allow_timelike)


def ingest_blocks(
    rows: DataSource, model: Any, uncertainty: Any = None, *, reset: bool = True
) -> tuple[np.ndarray, int, BlockedSamples]:
    """Classes, width of X, and samples from blocks of rows; the first thing wrong with them is a `ValueError`.

    `model` has the parameters `geometry`, `curvature` and `class_weight`. With ``reset=False`` points are not looked at
    for another geometry, as they have been before.
    """
    if model.geometry == "auto":
        some = [part for part in rows.map_blocks(_some_rows) if len(part)]
        model.geometry, model.curvature = chosen_dialect(np.concatenate(some or [np.empty((0, 0))]))[:2]
    space = Space(model.geometry, float(model.curvature), reset and model.geometry == "poincare", model.rim)
    checked = rows.map(_checked, space)
    kept = checked.persist(to_disk=not space.is_unit_lorentz)
    summaries = (kept or checked).map_blocks(_summary)
    classes, factors, width = _judge(summaries, model)
    starts = np.cumsum([0, *(one.n_rows for one in summaries)]).tolist()
    if any(one.column for one in summaries):
        warn_of_column()
    rim = Rim(sum(one.rim.beyond for one in summaries), max(one.rim.norm for one in summaries))
    rim.warn(starts[-1], stacklevel=5)
    far = np.concatenate([start + one.far for start, one in zip(starts, summaries, strict=False)])
    warn_of_radius(far, starts[-1], model.rim, geometry=model.geometry, stacklevel=5)
    if uncertainty is not None:
        if np.ndim(uncertainty.rho) or not isinstance(uncertainty, GeodesicBall):
            raise ValueError("samples in pieces take a GeodesicBall of one size for all as uncertainty")
        uncertainty = uncertainty.scaled(curvature_scale(model.curvature))
    # Without room to keep them blocks are read again for every pass, and known to be right.
    known = (classes, factors)
    samples = rows.map(_known, space, *known) if kept is None else kept.map(_with_classes, *known)
    return classes, width, BlockedSamples(samples, uncertainty)


def _some_rows(rows: Rows) -> Array:
    """The first rows of a block, to see what their coordinates are."""
    return np.asarray(to_numpy(rows.X[:ROWS_LOOKED_AT]), dtype=np.float64)


# -- a block -----------------------------------------------------------------------------------------------------------


def _checked(rows: Rows, space: Space) -> LabelledBlock:
    """The block converted, with its own classes. Errors go to the summary: rows are numbered when all are known."""
    n, width = len(rows), int(rows.X.shape[1]) if len(rows.X.shape) == 2 else -1
    if n == 0:
        return _empty(space, BlockSummary(0, width))
    try:
        if rows.y is None:
            raise ValueError(NO_LABELS)
        return _host_block(rows, space) if is_numpy_array(rows.X) else _device_block(rows, space)
    except (ValueError, TypeError) as error:
        return _empty(space, BlockSummary(n, width, error=error))


def _empty(space: Space, summary: BlockSummary) -> LabelledBlock:
    width = 1 + dimension_of(max(summary.width, 1), space.geometry)
    return LabelledBlock(np.empty((0, width)), np.empty(0, dtype=np.intp), None, summary)


def _host_block(rows: Rows, space: Space) -> LabelledBlock:
    X, labels = block_coordinates(rows.X, space.geometry, space.curvature), block_labels(to_numpy(rows.y))
    check_consistent_length(X, labels)
    weight = None if rows.weight is None else block_weights(to_numpy(rows.weight), len(X))
    classes, codes = np.unique(labels, return_inverse=True)
    rim = Rim.of(X, space.curvature) if space.notes_rim else NO_RIM
    points, codes, left, far = _used(X, codes.astype(np.min_scalar_type(classes.size)), weight, space)
    masses = np.bincount(codes, left, classes.size).astype(np.float64)
    summary = BlockSummary(len(X), X.shape[1], classes, masses, far, rim, np.ndim(rows.y) == 2)
    return LabelledBlock(points, codes, left, summary)


def _used(
    X: Array, labels: np.ndarray, weight: Array | None, space: Space, is_checked: bool = False
) -> tuple[Array, np.ndarray, Array | None, np.ndarray]:
    """Unit points, labels and weights of the rows that are used, and the rows beyond the largest radius.

    Lorentz coordinates that have been checked need no more than their time.
    """
    kept = None if weight is None or np.all(weight > 0.0) else np.flatnonzero(weight > 0.0)
    if kept is not None:
        X, labels, weight = X[kept], labels[kept], None if weight is None else weight[kept]
    if not len(X):
        return _empty(space, BlockSummary(0, X.shape[1])).points, labels, weight, NO_ROWS
    points = lift(X[:, 1:]) if is_checked and space.is_unit_lorentz else None
    far = NO_ROWS
    if points is None or points[:, 0].max() > np.cosh(MAX_RADIUS):
        with numbered(kept=kept):
            points, far = to_unit(X, space.geometry, space.curvature, space.rim)
    if far.size and space.rim == "drop":
        points, labels = np.delete(points, far, axis=0), np.delete(labels, far)
        weight = None if weight is None else np.delete(weight, far)
    return points, labels, weight, far if kept is None else kept[far]


def _known(rows: Rows, space: Space, classes: np.ndarray, factors: Array | None) -> LabelledBlock:
    """A block in memory that has been checked before."""
    if len(rows) == 0:
        return _empty(space, BlockSummary(0, int(rows.X.shape[1])))
    labels = np.searchsorted(classes, block_labels(rows.y)).astype(np.min_scalar_type(classes.size))
    weight = None if rows.weight is None else np.asarray(rows.weight, dtype=np.float64)
    if factors is not None:
        weight = factors[labels] if weight is None else weight * factors[labels]
    if space.is_unit_lorentz and rows.X.dtype == np.float64:
        X = np.asarray(rows.X)
    else:
        X = block_coordinates(rows.X, space.geometry, space.curvature)
    return LabelledBlock(*_used(X, labels, weight, space, is_checked=True)[:3])


def _device_block(rows: Rows, space: Space) -> LabelledBlock:
    X, y, n = rows.X, rows.y, len(rows)
    xp, column = array_namespace(X), len(y.shape) == 2
    if column and not is_numpy_array(y):
        y = xp.reshape(y, (-1,))
    if is_numpy_array(y):
        classes, codes = np.unique(block_labels(y), return_inverse=True)
        labels = xp.asarray(codes.astype(np.int64), device=X.device)
    else:
        classes = _device_classes(xp, y)
        labels = xp.zeros(y.shape, dtype=xp.int64, device=X.device)
        for k, name in enumerate(classes.tolist()):
            labels = labels + k * xp.astype(y == name, xp.int64)
    check_consistent_length(X, labels)
    weight = rows.weight
    if weight is not None:
        on_host = is_numpy_array(weight)  # as all text is
        if on_host or not bool(xp.all(xp.isfinite(weight) & (weight >= 0.0))):
            block_weights(to_numpy(weight), n)
        weight = xp.astype(weight, xp.float64)
    width, used = int(X.shape[1]), None
    if weight is not None and bool(xp.any(weight == 0.0)):
        used = to_numpy(xp.nonzero(weight > 0.0)[0])
        X, labels, weight = _rows_of((X, labels, weight), used)
        if not used.size:
            return _empty(space, BlockSummary(n, width, classes, np.zeros(classes.size), column=column))
    with numbered(kept=used):
        points, far, rim = device_space(X, space.geometry, space.curvature, space.notes_rim, space.rim)
    if far.size and space.rim == "drop":
        points, labels, weight = _rows_of((points, labels, weight), np.delete(np.arange(int(X.shape[0])), far))
    members = (xp.astype(labels == k, xp.float64) for k in range(classes.size))
    masses = [float(xp.sum(of_class if weight is None else of_class * weight)) for of_class in members]
    summary = BlockSummary(n, width, classes, np.array(masses), far if used is None else used[far], rim, column)
    return LabelledBlock(points, xp.astype(labels, _label_type(xp, classes.size)), weight, summary)


def _rows_of(values: tuple[Any, ...], rows: np.ndarray) -> list[Any]:
    """These rows of arrays on a device; None stays None."""
    return [
        v if v is None else array_namespace(v).take(v, array_namespace(v).asarray(rows, device=v.device), axis=0)
        for v in values
    ]


def _device_classes(xp: Any, y: Any) -> np.ndarray:
    """The labels on a device that occur; a sort of all of them is spared where they are small integers."""
    if xp.isdtype(y.dtype, "integral"):
        low, high = int(xp.min(y)), int(xp.max(y))
        if high - low < SMALL_RANGE:
            return np.array([k for k in range(low, high + 1) if bool(xp.any(y == k))])
    elif xp.isdtype(y.dtype, "real floating") and not bool(xp.all(xp.isfinite(y))):
        block_labels(to_numpy(y))
    return np.sort(to_numpy(xp.unique_values(y)))


def _label_type(xp: Any, n_classes: int) -> Any:
    return xp.int8 if n_classes <= 127 else xp.int16


def _summary(block: LabelledBlock) -> BlockSummary:
    assert block.summary is not None
    return block.summary


def _with_classes(block: LabelledBlock, classes: np.ndarray, factors: Array | None) -> LabelledBlock:
    """The block with indices of the classes of the whole, and their factors in the weights."""
    assert block.summary is not None
    if int(block.points.shape[0]) == 0:
        return replace(block, summary=None)
    places = np.searchsorted(classes, block.summary.classes)
    if not block.on_device:
        labels = places.astype(np.min_scalar_type(classes.size))[block.labels]
        own: Any = None if factors is None else factors[labels]
    else:
        xp, device = array_namespace(block.points), block.points.device
        labels = xp.take(xp.asarray(places, device=device), xp.astype(block.labels, xp.int64))
        own = None if factors is None else xp.take(xp.asarray(factors, device=device), labels)
        labels = xp.astype(labels, _label_type(xp, classes.size))
    weight = block.weight if own is None else own if block.weight is None else own * block.weight
    return LabelledBlock(block.points, labels, weight)


def _binary(block: LabelledBlock, code: np.ndarray, uncertainty: Any) -> MarginProblem | DeviceSamples:
    """The samples of one binary problem, with C = 1."""
    if block.on_device:
        xp = array_namespace(block.points)
        side = xp.zeros_like(block.labels, dtype=xp.int8)
        for k, value in enumerate(code.tolist()):
            if value:
                side = side + int(value) * xp.astype(block.labels == k, xp.int8)
        return DeviceSamples(block.points, side, 1.0, block.weight, uncertainty)
    side = code[block.labels]
    if np.all(code):
        return MarginProblem.unchecked(block.points, side, 1.0, block.weight, uncertainty)
    used = np.flatnonzero(side)
    weight = None if block.weight is None else block.weight[used]
    return MarginProblem.unchecked(block.points[used], side[used], 1.0, weight, uncertainty)


# -- the whole ---------------------------------------------------------------------------------------------------------


def _judge(summaries: list[BlockSummary], model: Any) -> tuple[np.ndarray, Array | None, int]:
    """Classes, their factors, and the width of X, or the first error with the number of the row in the whole."""
    counted = [one for one in summaries if one.n_rows]
    n = sum(one.n_rows for one in counted)
    if not counted:
        check_array(np.empty((0, max([one.width for one in summaries], default=0))), estimator=model)
    start = 0
    for k, one in enumerate(summaries):
        if one.error is not None:
            _raise_located(one.error, start, k, summaries, model)
        if one.n_rows and one.width != counted[0].width:
            raise ValueError(f"chunk {k} has {one.width} columns, the first has {counted[0].width}")
        start += one.n_rows
    text = [one.classes.dtype.kind in "US" for one in counted]
    if any(text) != all(text):
        kinds = ["text" if text[k] else "numbers" for k in (0, text.index(not text[0]))]
        raise ValueError(
            f"labels are {kinds[0]} in chunk 0 and {kinds[1]} in chunk {text.index(not text[0])}; make them one kind"
        )
    classes, places = np.unique(np.concatenate([one.classes for one in counted]), return_inverse=True)
    require_classes(classes, n)
    mass = np.bincount(places, np.concatenate([one.masses for one in counted]), classes.size).astype(np.float64)
    if not np.any(mass > 0.0):
        raise ValueError("sample_weight is zero for every sample")
    return classes, class_factors(model.class_weight, classes, mass), counted[0].width


def _raise_located(error: Exception, start: int, k: int, summaries: list[BlockSummary], model: Any) -> None:
    """Raise the error of block k, whose first row is `start`, with rows counted in the whole."""
    if isinstance(error, PointError) and error.row is not None:
        raise PointError(start + error.row, error.complaint)
    if isinstance(error, WeightError):
        raise WeightError(start + error.row, error.complaint)
    if isinstance(error, MissingLabels):
        others = [one.error for one in summaries if isinstance(one.error, MissingLabels)]
        n = sum(one.n_rows for one in summaries)
        raise MissingLabels(start + error.row, error.value, sum(other.count for other in others), n)
    if str(error) == NO_LABELS:
        raise ValueError(f"This {type(model).__name__} estimator requires y to be passed, but the target y is None.")
    where = "" if len(summaries) == 1 else f"chunk {k}, rows {start} to {start + summaries[k].n_rows - 1}: "
    raise ValueError(f"{where}{error}") from error
