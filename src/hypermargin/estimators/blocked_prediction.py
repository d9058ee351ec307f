"""Predictions for points that live elsewhere, where they live: in chunks of a file, on a device, on a cluster."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace

from hypermargin.arrays import Array
from hypermargin.data import inputs
from hypermargin.data.cluster import is_dask
from hypermargin.data.device import to_numpy
from hypermargin.data.device_points import device_space
from hypermargin.data.ingest import warn_of_radius
from hypermargin.data.inputs import home_of, source_of
from hypermargin.data.readers import Rows, TableFile
from hypermargin.estimators.multiclass import OneVsOne, TwoClasses
from hypermargin.geometry.lorentz import covector
from hypermargin.geometry.validation import PointError

#: Entries of the largest temporary array on a device.
DEVICE_ENTRIES = 1 << 25


def predict_blocks(model: Any, X: Any, what: str) -> Any:
    """The method `what` of the model's `Prediction` for every point.

    A Dask array for Dask collections, an array of the same device for arrays of a device, else a NumPy array.
    """
    if is_dask(X):
        return _on_cluster(model, X, what)
    if inputs.is_on_device(X):
        return _on_device(model, X, what)
    source = source_of(X)
    if isinstance(source, TableFile) and hasattr(model, "feature_names_in_"):
        source = source.only(model.feature_names_in_.tolist())
    answers, first, drawn_in = [], 0, 0
    for rows in source:
        try:
            answer, drawn = _of_block(rows.X, model, what)
        except PointError as error:
            if error.row is None:
                raise
            raise PointError(first + error.row, error.complaint) from None
        answers.append(answer)
        first, drawn_in = first + len(rows), drawn_in + drawn
    warn_of_radius(drawn_in, first, model.curvature, stacklevel=4)
    return np.concatenate(answers)


def blocked_labels(classes: np.ndarray, winner: Any) -> Any:
    """Labels from class indices, where the indices are; text labels of device arrays come as a NumPy array."""
    if is_dask(winner):
        return winner.map_blocks(_labels, classes, dtype=classes.dtype)
    if classes.dtype.kind not in "biuf":
        return classes[to_numpy(winner)]
    xp = array_namespace(winner)
    return xp.take(xp.asarray(classes, device=winner.device), winner)


def score_blocks(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
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
    winner = (
        _on_device(model, rows.X, "winner") if inputs.is_on_device(rows.X) else _of_block(rows.X, model, "winner")[0]
    )
    labels = model.classes_[to_numpy(winner)]
    weight = np.ones(len(labels)) if rows.weight is None else to_numpy(rows.weight)
    return float(weight @ (labels == to_numpy(rows.y))), float(weight.sum())


def _labels(winner: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return classes[winner]


def _of_partition(X: Any, model: Any, what: str) -> np.ndarray:
    """The answer for a partition, which is computed by itself: so it can only count its own rows."""
    try:
        answer, drawn_in = _of_block(X, model, what)
    except PointError as error:
        if error.row is None:
            raise
        raise ValueError(f"row {error.row} of a piece of X {error.complaint}") from None
    warn_of_radius(drawn_in, len(answer), model.curvature)
    return answer


def _of_block(X: Any, model: Any, what: str) -> tuple[np.ndarray, int]:
    """The answer for rows in memory, and how many tangent vectors were drawn in."""
    points, drawn_in = model._block_points(X)
    if len(points) == 0:
        return model._combined(np.eye(1, points.shape[1]), what)[:0], 0
    return model._combined(points, what), drawn_in


def _on_cluster(model: Any, X: Any, what: str) -> Any:
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array()
    X = X.rechunk({1: -1})
    model._check_width(X.shape[1])
    columns = model.classes_.size if what == "probability" or (what == "decision" and model.classes_.size > 2) else 0
    dtype = np.intp if what == "winner" else np.float64
    if columns:
        return X.map_blocks(
            _of_partition, model, what, dtype=dtype, chunks=(X.chunks[0], (columns,)), meta=np.empty((0, 0))
        )
    return X.map_blocks(_of_partition, model, what, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype=dtype))


def _on_device(model: Any, X: Any, what: str) -> Any:
    """Scores are made on the device; classes too, save the rare ties of votes; probabilities go by the host."""
    xp = array_namespace(X)
    model._check_width(int(X.shape[1]))
    if not hasattr(model, "coef_"):  # kernels have no device code
        return xp.asarray(_of_block(to_numpy(X), model, what)[0], device=X.device)
    normals = xp.asarray(covector(model.coef_).T.copy(), device=X.device)
    offsets = xp.asarray(model.intercept_, device=X.device)
    n, step = int(X.shape[0]), max(1, DEVICE_ENTRIES // max(model.classes_.size, *normals.shape))
    parts, drawn_in = [], 0
    for start in range(0, n, step):
        try:
            space, drawn, _ = device_space(X[start : min(start + step, n), :], model.geometry, float(model.curvature))
        except PointError as error:
            if error.row is None:
                raise
            raise PointError(start + error.row, error.complaint) from None
        drawn_in += drawn
        time = xp.sqrt(1.0 + xp.sum(space * space, axis=1))
        scores = time[:, None] * normals[0, :] + space @ normals[1:, :] + offsets
        parts.append(_device_answer(xp, model, scores, what))
    warn_of_radius(drawn_in, n, model.curvature, stacklevel=4)
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
