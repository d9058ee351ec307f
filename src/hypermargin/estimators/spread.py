"""Training samples that live elsewhere: checked, encoded and turned into binary problems where they are.

What `inputs` does to arrays in memory, for the pieces of a home. Two things differ: samples keep the order in which
they come, and equal ones are not merged, since nobody sees them all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from hypermargin.arrays import Array
from hypermargin.estimators.device_points import device_space, first_mark
from hypermargin.estimators.inputs import unit_points
from hypermargin.estimators.user_data import missing_labels, require_classes
from hypermargin.geometry.curvature import curvature_scale
from hypermargin.geometry.lorentz import lift
from hypermargin.geometry.validation import PointError
from hypermargin.passes.device import DeviceSamples, to_numpy
from hypermargin.passes.home import Home
from hypermargin.passes.rows import Rows
from hypermargin.passes.spread import SpreadProblem
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import GeodesicBall

#: Integer labels of a device that span less than this are counted, others are sorted.
SMALL_RANGE = 1000
#: Rows of a device that are converted at a time.
ROWS_AT_A_TIME = 1 << 24


@dataclass(frozen=True, eq=False)
class Census:
    """What a piece says about itself before anything is fitted; `complaint` is what is wrong with it, if anything."""

    n_rows: int
    width: int
    classes: np.ndarray
    counts: np.ndarray
    masses: np.ndarray
    complaint: str | None = None
    bad_row: int | None = None


@dataclass(frozen=True, eq=False)
class Samples:
    """A piece with unit points, (n, d + 1) in NumPy or space parts (n, d) on a device, labels as class indices."""

    points: Any
    labels: Any
    weight: Any

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + sum(getattr(v, "nbytes", 0) for v in (self.points, self.labels, self.weight))

    @property
    def on_device(self) -> bool:
        return not is_numpy_array(self.points)


@dataclass(frozen=True, eq=False)
class SpreadSamples:
    """The training samples of a classifier in a home; it stands where `TrainingSet` does."""

    home: Home
    uncertainty: Any = None

    def problem(self, code: np.ndarray, C: float, allow_timelike: bool) -> SpreadProblem:
        """The binary problem in which class k is on the side ``code[k]``, or sits out where that is 0."""
        return SpreadProblem(self.home.map(_binary, code, self.uncertainty), C, self.uncertainty, allow_timelike)


def spread_samples(
    rows: Home, geometry: str, curvature: float, class_weight: Any, uncertainty: Any
) -> tuple[np.ndarray, int, SpreadSamples]:
    """Classes, width of X and samples of the rows of a home; the first thing wrong with them is a `ValueError`."""
    census = rows.ask(_census, geometry, curvature)
    _complain(census)
    counted = [part for part in census if part.n_rows]
    if not counted:
        raise ValueError("there are no samples: X has 0 rows")
    classes = _all_classes(counted)
    masses = np.zeros(classes.size)
    for part in counted:
        masses[np.searchsorted(classes, part.classes)] += part.masses
    factors = _class_factors(class_weight, classes, masses)
    if not np.all(masses * factors > 0.0):
        empty = classes[np.flatnonzero(masses * factors <= 0.0)[0]]
        raise ValueError(f"the weights leave class {empty} without a sample: give one of its samples a positive weight")
    if uncertainty is not None:
        if np.ndim(uncertainty.rho) or not isinstance(uncertainty, GeodesicBall):
            raise ValueError("samples in pieces take a GeodesicBall of one size for all as uncertainty")
        uncertainty = uncertainty.scaled(curvature_scale(curvature))
    kept = rows.map(_samples, classes, factors, class_weight is not None, geometry, curvature).kept()
    return classes, counted[0].width, SpreadSamples(kept, uncertainty)


# -- questions to a piece ----------------------------------------------------------------------------------------------


def _census(rows: Rows, geometry: str, curvature: float) -> Census:
    """Is everything in this piece what it should be? Raises nothing, so that the row can be named by who knows all."""
    n, width = len(rows), int(rows.X.shape[1]) if len(rows.X.shape) == 2 else -1
    none = np.empty(0)
    if n == 0:
        return Census(0, width, none, none, none)
    try:
        if width < 1:
            raise ValueError(f"X must be a table with two axes, got shape {tuple(rows.X.shape)}")
        X = as_doubles(rows.X)
        bad = first_bad_row(X)
        if bad is not None:
            raise PointError(bad, "holds NaN or infinity")
        _unit_space(X, geometry, curvature)
        classes, counts, masses = _label_census(rows)
    except PointError as error:
        return Census(n, width, none, none, none, error.complaint, error.row)
    except (ValueError, TypeError) as error:
        return Census(n, width, none, none, none, str(error))
    return Census(n, width, classes, counts, masses)


def _label_census(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Classes of a piece, samples and weight of each."""
    if rows.y is None:
        raise ValueError("there are no labels; pass y")
    n = len(rows)
    if tuple(rows.y.shape)[:1] != (n,):
        raise ValueError(f"there are {n} points and labels of shape {tuple(rows.y.shape)}")
    if rows.weight is not None:
        xp = array_namespace(rows.weight)
        good = xp.isfinite(rows.weight) & (rows.weight >= 0.0)
        if not bool(xp.all(good)):
            raise PointError(first_mark(xp, ~good), "has a weight that is negative or no number")
    if is_numpy_array(rows.y):
        weight = np.ones(n) if rows.weight is None else to_numpy(rows.weight).astype(np.float64)
        classes, places, counts = np.unique(_host_labels(rows.y), return_inverse=True, return_counts=True)
        return classes, counts, np.bincount(places, weights=weight, minlength=classes.size)
    xp = array_namespace(rows.y)
    classes = _device_classes(xp, rows.y)
    marks = [rows.y == name for name in classes.tolist()]
    counts = np.array([float(xp.sum(xp.astype(mark, xp.int64))) for mark in marks])
    if rows.weight is None:
        return classes, counts, counts
    masses = [float(xp.sum(xp.where(mark, rows.weight, xp.zeros_like(rows.weight)))) for mark in marks]
    return classes, counts, np.array(masses)


def _device_classes(xp: Any, y: Any) -> np.ndarray:
    """The labels on a device that occur; a sort of all of them is spared where they are small integers."""
    if xp.isdtype(y.dtype, "integral"):
        low, high = int(xp.min(y)), int(xp.max(y))
        if high - low < SMALL_RANGE:
            return np.array([k for k in range(low, high + 1) if bool(xp.any(y == k))])
    elif xp.isdtype(y.dtype, "real floating") and not bool(xp.all(xp.isfinite(y))):
        raise PointError(first_mark(xp, ~xp.isfinite(y)), "has no label")
    return np.sort(to_numpy(xp.unique_values(y)))


def _samples(
    rows: Rows, classes: np.ndarray, factors: Array, weighted: bool, geometry: str, curvature: float
) -> Samples:
    """Unit points and class indices; without samples of weight 0."""
    X = as_doubles(rows.X)
    if len(rows) == 0:
        return Samples(np.empty((0, X.shape[1] + (geometry != "lorentz"))), np.empty(0, dtype=np.intp), None)
    if is_numpy_array(X):
        labels = np.searchsorted(classes, _host_labels(rows.y))
        weight = None if rows.weight is None else np.asarray(rows.weight, dtype=np.float64)
        if weighted:
            weight = factors[labels] * (1.0 if weight is None else weight)
        points = _known_points(X, geometry, curvature)
        if weight is not None and not np.all(weight > 0.0):
            kept = weight > 0.0
            points, labels, weight = points[kept], labels[kept], weight[kept]
        return Samples(points, labels, weight)
    xp = array_namespace(X)
    labels = _device_labels(xp, X, rows.y, classes)
    weight = None if rows.weight is None else xp.astype(rows.weight, xp.float64)
    if weighted:
        own = xp.take(xp.asarray(factors, device=X.device), xp.astype(labels, xp.int64))
        weight = own if weight is None else own * weight
    return Samples(_unit_space(X, geometry, curvature), labels, weight)


def _known_points(X: Array, geometry: str, curvature: float) -> Array:
    """Unit points of rows that the census has checked: a home that is read for every pass need not check each time."""
    if geometry == "lorentz" and curvature == 1.0:
        return lift(X[:, 1:])
    return unit_points(X, geometry, curvature)


def _binary(samples: Samples, code: np.ndarray, uncertainty: Any) -> MarginProblem | DeviceSamples:
    """The samples of one binary problem, with C = 1."""
    if samples.on_device:
        xp = array_namespace(samples.points)
        side = xp.zeros_like(samples.labels)
        for k, value in enumerate(code.tolist()):
            if value:
                side = side + int(value) * xp.astype(samples.labels == k, xp.int8)
        return DeviceSamples(samples.points, side, 1.0, samples.weight, uncertainty)
    side = code[samples.labels]
    if np.all(code):
        return MarginProblem.unchecked(samples.points, side, 1.0, samples.weight, uncertainty)
    used = np.flatnonzero(side)
    weight = None if samples.weight is None else samples.weight[used]
    return MarginProblem.unchecked(samples.points[used], side[used], 1.0, weight, uncertainty)


# -- arrays of any library ---------------------------------------------------------------------------------------------


def as_doubles(X: Any) -> Any:
    """X in double precision, where it lies."""
    if not is_numpy_array(X):
        xp = array_namespace(X)
        return X if X.dtype == xp.float64 else xp.astype(X, xp.float64)
    if X.dtype.kind == "c":
        raise ValueError("X holds complex numbers")
    if X.dtype.kind not in "biuf":
        try:
            return X.astype(np.float64)
        except (ValueError, TypeError):
            raise ValueError("X holds something that is not a number") from None
    return np.ascontiguousarray(X, dtype=np.float64)


def first_bad_row(X: Any) -> int | None:
    """The first row that is not finite."""
    xp = array_namespace(X)
    if bool(xp.isfinite(xp.sum(X))):
        return None
    finite = xp.all(xp.isfinite(X), axis=1)
    return None if bool(xp.all(finite)) else int(xp.argmin(xp.astype(finite, xp.int8)))


def _unit_space(X: Any, geometry: str, curvature: float) -> Any:
    """Space parts of unit points on a device, or a `ValueError`; NumPy arrays are checked only.

    Unit Lorentz coordinates are not copied.
    """
    if is_numpy_array(X):
        return unit_points(X, geometry, curvature)[:, 1:]
    n, scale = int(X.shape[0]), curvature_scale(curvature)
    as_given = geometry == "lorentz" and scale == 1.0
    space = X[:, 1:] if as_given else array_namespace(X).empty_like(X[:, int(geometry == "lorentz") :])
    for start in range(0, n, ROWS_AT_A_TIME):
        rows = slice(start, min(start + ROWS_AT_A_TIME, n))
        part = device_space(X[rows, :], geometry, scale, start)
        if not as_given:
            space[rows, :] = part
    return space


def _host_labels(y: Any) -> np.ndarray:
    if y is None:
        raise ValueError("there are no labels; pass y")
    labels = to_numpy(y)
    missing = missing_labels(labels)
    if missing.any():
        raise PointError(int(np.argmax(missing)), "has no label")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.dtype.kind == "O":
        labels = np.array(labels.tolist())
    return labels


def _device_labels(xp: Any, X: Any, y: Any, classes: np.ndarray) -> Any:
    """Class indices as int8 (int16 beyond 127 classes) on the device of X."""
    dtype = xp.int8 if classes.size <= 127 else xp.int16
    if is_numpy_array(y):
        return xp.astype(xp.asarray(np.searchsorted(classes, _host_labels(y)), device=X.device), dtype)
    labels = xp.zeros(y.shape, dtype=dtype, device=X.device)
    for k, name in enumerate(classes.tolist()):
        labels = labels + k * xp.astype(y == name, dtype)
    return labels


# -- the whole ---------------------------------------------------------------------------------------------------------


def _complain(census: list[Census]) -> None:
    """Raise what a piece found wrong, with the number of the row in the whole."""
    start, width = 0, next((part.width for part in census if part.n_rows), None)
    for k, part in enumerate(census):
        if part.complaint is not None:
            if part.bad_row is not None:
                raise PointError(start + part.bad_row, part.complaint)
            where = "" if len(census) == 1 else f"chunk {k}, rows {start} to {start + part.n_rows - 1}: "
            raise ValueError(f"{where}{part.complaint}")
        if part.n_rows and part.width != width:
            raise ValueError(f"chunk {k} has {part.width} columns, the first has {width}")
        start += part.n_rows


def _all_classes(census: list[Census]) -> np.ndarray:
    text = [part.classes.dtype.kind in "US" for part in census]
    if any(text) != all(text):
        odd = text.index(not text[0])
        raise ValueError(
            f"labels are {_kind(text[0])} in chunk 0 and {_kind(text[odd])} in chunk {odd}; make them one kind"
        )
    classes = np.unique(np.concatenate([part.classes for part in census]))
    require_classes(classes, sum(part.n_rows for part in census))
    return classes


def _kind(text: bool) -> str:
    return "text" if text else "numbers"


def _class_factors(class_weight: Any, classes: np.ndarray, masses: Array) -> Array:
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, str) and class_weight == "balanced":
        return masses.sum() / (classes.size * np.where(masses > 0.0, masses, 1.0))
    if isinstance(class_weight, Mapping):
        return np.array([float(class_weight.get(name, 1.0)) for name in classes.tolist()])
    raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}")
