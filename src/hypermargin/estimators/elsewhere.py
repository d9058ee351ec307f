"""Predictions for points that live elsewhere, where they live: in chunks of a file, on a device, on a cluster."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace

from hypermargin.arrays import Array
from hypermargin.estimators.device_points import device_space
from hypermargin.estimators.inputs import unit_points
from hypermargin.estimators.multiclass import OneVsOne, TwoClasses
from hypermargin.estimators.spread import as_doubles, first_bad_row
from hypermargin.geometry.curvature import curvature_scale
from hypermargin.geometry.lorentz import covector
from hypermargin.geometry.validation import PointError
from hypermargin.passes.cluster import is_dask
from hypermargin.passes.device import to_numpy
from hypermargin.passes.inputs import home_of, is_on_device, source_of
from hypermargin.passes.rows import Rows
from hypermargin.passes.sources import TableFile

#: Entries of the largest temporary array on a device.
DEVICE_ENTRIES = 1 << 25


def predicted_elsewhere(model: Any, X: Any, what: str) -> Any:
    """The method `what` of the model's `Prediction` for every point.

    A Dask array for Dask collections, an array of the same device for arrays of a device, else a NumPy array.
    """
    if is_dask(X):
        return _on_cluster(model, X, what)
    if is_on_device(X):
        return _on_device(model, X, what)
    source = source_of(X)
    if isinstance(source, TableFile) and hasattr(model, "feature_names_in_"):
        source = source.only(model.feature_names_in_.tolist())
    answers, first = [], 0
    for rows in source:
        answers.append(_of_rows(rows.X, model, what, first))
        first += len(rows)
    return np.concatenate(answers)


def labels_elsewhere(classes: np.ndarray, winner: Any) -> Any:
    """Labels from class indices, where the indices are; text labels of device arrays come as a NumPy array."""
    if is_dask(winner):
        return winner.map_blocks(_labels, classes, dtype=classes.dtype)
    if classes.dtype.kind not in "biuf":
        return classes[to_numpy(winner)]
    xp = array_namespace(winner)
    return xp.take(xp.asarray(classes, device=winner.device), winner)


def score_elsewhere(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """The share of right predictions, summed up where the points are."""
    source = source_of(X)
    if isinstance(source, TableFile) and hasattr(model, "feature_names_in_"):
        names, label = model.feature_names_in_.tolist(), y if isinstance(y, str) else source.label
        weight = sample_weight if sample_weight is not None else source.weight
        source = type(source)(source.path, label, weight, names, source.rows)
        y = sample_weight = None
    right, total = np.sum(home_of(source, y, sample_weight).ask(_right, model), axis=0)
    if total == 0.0:
        raise ValueError("there are no samples to score")
    return float(right / total)


def _right(rows: Rows, model: Any) -> tuple[float, float]:
    if len(rows) == 0:
        return 0.0, 0.0
    winner = _on_device(model, rows.X, "winner") if is_on_device(rows.X) else _of_rows(rows.X, model, "winner")
    labels = model.classes_[to_numpy(winner)]
    weight = np.ones(len(labels)) if rows.weight is None else to_numpy(rows.weight)
    return float(weight @ (labels == to_numpy(rows.y))), float(weight.sum())


def _labels(winner: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return classes[winner]


def _of_rows(X: Any, model: Any, what: str, first: int | None = None) -> np.ndarray:
    """The answer for rows in memory, which were not checked yet; `first` is the number of the first one, if known."""
    X = as_doubles(np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X))
    _check_width(model, X.shape[1])
    if len(X) == 0:
        return model._combined(np.eye(1, model.n_features_in_ + (model.geometry != "lorentz")), what)[:0]
    try:
        bad = first_bad_row(X)
        if bad is not None:
            raise PointError(bad, "holds NaN or infinity")
        points = unit_points(X, model.geometry, model.curvature)
    except PointError as error:
        if error.row is None:
            raise
        if first is None:
            raise ValueError(f"row {error.row} of a piece of X {error.complaint}") from None
        raise PointError(first + error.row, error.complaint) from None
    return model._combined(points, what)


def _check_width(model: Any, width: int) -> None:
    if width != model.n_features_in_:
        raise ValueError(f"X has {width} columns, the classifier was fitted to {model.n_features_in_}")


def _on_cluster(model: Any, X: Any, what: str) -> Any:
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array()
    X = X.rechunk({1: -1})
    _check_width(model, X.shape[1])
    columns = model.classes_.size if what == "probability" or (what == "decision" and model.classes_.size > 2) else 0
    dtype = np.intp if what == "winner" else np.float64
    if columns:
        return X.map_blocks(_of_rows, model, what, dtype=dtype, chunks=(X.chunks[0], (columns,)), meta=np.empty((0, 0)))
    return X.map_blocks(_of_rows, model, what, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype=dtype))


def _on_device(model: Any, X: Any, what: str) -> Any:
    """Scores are made on the device; classes too, save the rare ties of votes; probabilities go by the host."""
    xp = array_namespace(X)
    _check_width(model, int(X.shape[1]))
    if not hasattr(model, "coef_"):  # kernels have no device code
        return xp.asarray(_of_rows(to_numpy(X), model, what), device=X.device)
    normals = xp.asarray(covector(model.coef_).T.copy(), device=X.device)
    offsets = xp.asarray(model.intercept_, device=X.device)
    n, step = int(X.shape[0]), max(1, DEVICE_ENTRIES // max(model.classes_.size, *normals.shape))
    parts = []
    for start in range(0, n, step):
        part = xp.astype(X[start : min(start + step, n), :], xp.float64)
        space = device_space(part, model.geometry, curvature_scale(model.curvature), start)
        time = xp.sqrt(1.0 + xp.sum(space * space, axis=1))
        scores = time[:, None] * normals[0, :] + space @ normals[1:, :] + offsets
        parts.append(_device_answer(xp, model, scores, what))
    return xp.concat(parts)


def _device_answer(xp: Any, model: Any, scores: Any, what: str) -> Any:
    prediction = model._prediction()

    def here(values: Array | np.ndarray) -> Any:
        return xp.asarray(values, device=scores.device)

    if isinstance(prediction.scheme, TwoClasses) and what != "probability":
        return scores[:, 0] if what == "decision" else xp.astype(scores[:, 0] > 0.0, xp.int64)
    if what != "winner":
        return here(getattr(prediction, what)(to_numpy(scores)))
    if not isinstance(prediction.scheme, OneVsOne):
        return xp.argmax(-(scores * here(prediction.A) + here(prediction.B)), axis=1)
    code = prediction.scheme.code
    votes = xp.astype(scores > 0.0, xp.float64) @ here(code) + here(np.sum(code < 0.0, axis=0).astype(np.float64))
    winner, most = xp.argmax(votes, axis=1), xp.max(votes, axis=1, keepdims=True)
    is_tied = xp.sum(xp.astype(votes == most, xp.int64), axis=1) > 1
    if not bool(xp.any(is_tied)):
        return winner
    clear, tied = xp.nonzero(~is_tied)[0], xp.nonzero(is_tied)[0]
    settled = here(prediction.winner(to_numpy(xp.take(scores, tied, axis=0))).astype(np.int64))
    in_turn = xp.concat([xp.take(winner, clear), settled])  # not every library of the array API assigns to places
    return xp.take(in_turn, xp.argsort(xp.concat([clear, tied])))
