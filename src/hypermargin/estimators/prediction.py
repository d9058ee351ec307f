"""From points to one answer: the way that predictions, probabilities and radii all go, block by block.

An array in memory is one block; chunks of a file, arrays of a device and Dask collections have several. Answers stay
where the points are: a Dask array for Dask, a tensor for a tensor.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from sklearn.utils.validation import check_is_fitted

from hypermargin.arrays import Array
from hypermargin.data import inputs
from hypermargin.data.cluster import is_dask
from hypermargin.data.device import device_space, to_numpy
from hypermargin.data.ingest import numbered, warn_of_radius
from hypermargin.data.readers import Rows, TableFile
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.multiclass import OneVsOne, Scheme, TwoClasses
from hypermargin.geometry.lorentz import covector
from hypermargin.geometry.validation import PointError

#: Entries of the largest array that prediction makes at a time on a device: 256 MiB.
DEVICE_ENTRIES = 1 << 25


class BlockPredictor(HyperbolicClassifier):
    """A classifier that predicts block by block; a subclass combines unit points into answers.

    One with hyperplanes, which are evaluated on devices too, has `coef_`, `intercept_` and the method `_scheme`.
    """

    coef_: Array
    intercept_: Array
    _scheme: Callable[[], Scheme]

    @abstractmethod
    def _combined(self, points: Array, what: str) -> np.ndarray:
        """For unit Lorentz points: "winner" (class indices), "probability", and "decision" if there is one."""

    def _predicted(self, X: Any, what: str) -> Any:
        """`_combined` of every point of anything that X may be."""
        check_is_fitted(self)
        self._note_manifold(X, reset=False)
        if is_dask(X):
            return self._on_cluster(X, what)
        if inputs.is_on_device(X):
            return self._on_device(X, what)
        if not inputs.is_blocked(X):
            return self._combined(self._points(X), what)
        source = inputs.opened(X)
        if isinstance(source, TableFile) and hasattr(self, "feature_names_in_"):
            source = source.only(self.feature_names_in_.tolist())
        answers, first, far = [], 0, []
        for rows in source:
            with numbered(first):
                answer, drawn_in = self._of_block(rows.X, what)
            answers.append(answer)
            far.append(first + drawn_in)
            first += len(rows)
        warn_of_radius(np.concatenate(far), first, stacklevel=3)
        return np.concatenate(answers)

    def _predicted_labels(self, X) -> np.ndarray:
        winner = self._predicted(X, "winner")
        if is_dask(winner):
            return winner.map_blocks(_of_classes, self.classes_, dtype=self.classes_.dtype)
        if isinstance(winner, np.ndarray) or self.classes_.dtype.kind not in "biuf":
            return self.classes_[to_numpy(winner)]  # text labels of device arrays come as a NumPy array
        xp = array_namespace(winner)
        return xp.take(xp.asarray(self.classes_, device=winner.device), winner)

    def predict_proba(self, X) -> Array:
        """Class probabilities, shape (n, n_classes), whose argmax is always the predicted class."""
        return self._predicted(X, "probability")

    def score(self, X, y, sample_weight=None) -> float:
        """The share of right predictions, counted where the points are (see `HyperbolicSVC.fit`)."""
        if not inputs.is_blocked(X):
            return super().score(X, y, sample_weight)
        X = inputs.opened(X)
        if isinstance(X, TableFile) and hasattr(self, "feature_names_in_"):
            label = y if isinstance(y, str) else X.label
            weight = sample_weight if sample_weight is not None else X.weight
            X = X.selecting(label, weight, self.feature_names_in_.tolist())
            y = sample_weight = None
        right, total = np.sum(inputs.data_source(X, y, sample_weight).map_blocks(_right, self), axis=0)
        if total == 0.0:
            raise ValueError("there are no samples to score")
        return float(right / total)

    def _of_block(self, X: Any, what: str) -> tuple[np.ndarray, np.ndarray]:
        """The answer for rows in memory, and the rows of points that were drawn in."""
        points, drawn_in = self._block_points(X)
        if len(points) == 0:
            return self._combined(np.eye(1, points.shape[1]), what)[:0], drawn_in
        return self._combined(points, what), drawn_in

    def _on_cluster(self, X: Any, what: str) -> Any:
        if hasattr(X, "to_dask_array"):
            X = X.to_dask_array()
        X = X.rechunk({1: -1})
        self._check_width(X.shape[1])
        dtype, n_classes = np.intp if what == "winner" else np.float64, self.classes_.size
        shape: dict[str, Any] = {"drop_axis": 1, "meta": np.empty(0, dtype=dtype)}
        if what == "probability" or (what == "decision" and n_classes > 2):
            shape = {"chunks": (X.chunks[0], (n_classes,)), "meta": np.empty((0, 0))}
        return X.map_blocks(_of_partition, self, what, dtype=dtype, **shape)

    def _on_device(self, X: Any, what: str) -> Any:
        xp = array_namespace(X)
        self._check_width(int(X.shape[1]))
        if not hasattr(self, "coef_"):  # others have no device code
            return xp.asarray(self._of_block(to_numpy(X), what)[0], device=X.device)
        normals = xp.asarray(covector(self.coef_).T.copy(), device=X.device)
        offsets = xp.asarray(self.intercept_, device=X.device)
        n, step = int(X.shape[0]), max(1, DEVICE_ENTRIES // max(self.classes_.size, *normals.shape))
        parts, far, scheme = [], [], self._scheme()
        coordinates = self.geometry, float(self.curvature), False, self._rim_of_new_points()
        for start in range(0, n, step):
            with numbered(start):
                space, drawn_in, _ = device_space(X[start : min(start + step, n), :], *coordinates)
            far.append(start + drawn_in)
            time = xp.sqrt(1.0 + xp.sum(space * space, axis=1))
            scores = time[:, None] * normals[0, :] + space @ normals[1:, :] + offsets
            parts.append(_device_answer(xp, scheme, scores, what))
        warn_of_radius(np.concatenate(far), n, stacklevel=3)
        return xp.concat(parts)


def _of_classes(winner: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return classes[winner]


def _right(rows: Rows, model: BlockPredictor) -> tuple[float, float]:
    """The weight of the rows that are predicted right, and of all rows."""
    if len(rows) == 0:
        return 0.0, 0.0
    on_device = inputs.is_on_device(rows.X)
    winner = model._on_device(rows.X, "winner") if on_device else model._of_block(rows.X, "winner")[0]
    labels = model.classes_[to_numpy(winner)]
    weight = np.ones(len(labels)) if rows.weight is None else to_numpy(rows.weight)
    return float(weight @ (labels == to_numpy(rows.y))), float(weight.sum())


def _of_partition(X: Any, model: BlockPredictor, what: str) -> np.ndarray:
    """The answer for a partition, which is computed by itself: so it can only count its own rows."""
    try:
        answer, drawn_in = model._of_block(X, what)
    except PointError as error:
        if error.row is None:
            raise
        raise ValueError(f"row {error.row} of a piece of X {error.complaint}") from None
    warn_of_radius(drawn_in, len(answer))
    return answer


def _device_answer(xp: Any, scheme: Scheme, scores: Any, what: str) -> Any:
    """Classes and two-class decisions are made on the device; ties of votes and all probabilities on the host."""

    def here(values: np.ndarray) -> Any:
        return xp.asarray(values, device=scores.device)

    if isinstance(scheme, TwoClasses) and what != "probability":
        return scores[:, 0] if what == "decision" else xp.astype(scores[:, 0] > 0.0, xp.int64)
    if what != "winner":
        return here(getattr(scheme, what)(to_numpy(scores)))
    if not isinstance(scheme, OneVsOne):
        A, B = scheme.platt()
        return xp.argmax(-(scores * here(A) + here(B)), axis=1)
    votes = xp.astype(scores > 0.0, xp.float64) @ here(scheme.code)
    votes = votes + here(np.sum(scheme.code < 0.0, axis=0).astype(np.float64))
    winner, most = xp.argmax(votes, axis=1), xp.max(votes, axis=1, keepdims=True)
    is_tied = xp.sum(xp.astype(votes == most, xp.int64), axis=1) > 1
    if not bool(xp.any(is_tied)):
        return winner
    clear, tied = xp.nonzero(~is_tied)[0], xp.nonzero(is_tied)[0]
    settled = here(scheme.winner(to_numpy(xp.take(scores, tied, axis=0))).astype(np.int64))
    in_turn = xp.concat([xp.take(winner, clear), settled])  # not every library of the array API assigns to places
    return xp.take(in_turn, xp.argsort(xp.concat([clear, tied])))
