"""Prediction sets at a stated error rate, and "unknown": conformal prediction for every classifier here.

The score of a point x for a class k is high where k does not suit it,

    s(x, k) = 1 - p_k(x) + (D_k(x) / (10 r_k))^2,

with p_k the probability of the class, D_k the distance to the nearest point of the class and r_k the mean of such
distances within the class. The second term is small among the data and grows without bound outside, so that no class is
left where no data is, however sure the classifier is there. Class k is in the set of x unless fewer than the share
`alpha` of the calibration points of k have scores as high as x: for exchangeable data the true class is missing with
probability alpha at most, for each class by itself (Vovk, Gammerman and Shafer, Algorithmic learning in a random world,
2005). Calibration points that were held out are scored by the classifier (split); otherwise by classifiers that are
fitted without their fold, as x then is by all of these (cross; Barber et al., Predictive inference with the jackknife+,
2021: the proven rate is twice alpha, the usual one alpha).
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from hypermargin.arrays import Array
from hypermargin.estimators.neighbour_search import NeighbourSearch, make_search

#: Mean distances within the class at which the distance counts as much as a probability of 0: nearest neighbours of a
#: sample are rarely farther than five times their mean, where it counts a quarter.
FAR = 10.0


@dataclass(eq=False)
class Member:
    """A classifier, the points of each class that distances are measured to, and scores of calibration points.

    `model` is None for the classifier that the sets belong to, which would otherwise contain itself. `scores` has an
    increasing array for each class; `searches` and `scales` are None and 1 for classes without points.
    """

    model: Any
    places: np.ndarray
    searches: list[NeighbourSearch | None]
    scales: list[float]
    scores: list[Array]

    @classmethod
    def of(cls, model: Any, own: np.ndarray, classes: np.ndarray, points: Array, labels: np.ndarray) -> "Member":
        """`own` are the classes of the model, `points` unit points, shape (n, d + 1), `labels` indices of `classes`."""
        groups = [points[labels == k] for k in range(classes.size)]
        searches = [make_search(group, "auto") if len(group) > 1 else None for group in groups]
        member = cls(model, np.searchsorted(classes, own), searches, [1.0] * classes.size, [])
        for k, group in enumerate(groups):
            mean = float(np.mean(member.distances(group, k, among_them=True))) if len(group) > 1 else 0.0
            member.scales[k] = mean if mean > 0.0 else 1.0
        return member

    def distances(self, points: Array, k: int, among_them: bool = False) -> Array:
        """To the nearest point of class k, shape (n,); other than themselves for points that are `among_them`."""
        search = self.searches[k]
        if search is None:
            return np.full(len(points), np.inf)
        found = search.neighbours(points, 1 + among_them, None, None)
        return np.array([far[-1] for _, far in found])

    def all_scores(self, owner: Any, X: Any, points: Array, labels: np.ndarray | None = None) -> Array:
        """``s(x, k)`` of every point and class, shape (n, n_classes).

        Points with `labels` are those that distances are measured to.
        """
        probability = np.zeros((len(points), len(self.scales)))
        probability[:, self.places] = (owner if self.model is None else self.model).predict_proba(X)
        found = 1.0 - probability
        for k, scale in enumerate(self.scales):
            own = np.zeros(len(points), dtype=bool) if labels is None else labels == k
            for rows, among in ((own, True), (~own, False)):
                if rows.any():
                    found[rows, k] += np.square(self.distances(points[rows], k, among) / (FAR * scale))
        return found

    def calibrate(self, scores: Array, labels: np.ndarray) -> None:
        """Keep the scores of calibration points for their own classes."""
        self.scores = [np.sort(scores[labels == k, k]) for k in range(scores.shape[1])]


class ConformalMixin:
    """`conformalize`, `predict_set` and what `predict` does with ``reject=``."""

    classes_: np.ndarray

    def conformalize(self, X, y, *, cv: Any = "prefit", groups=None) -> Self:
        """Make `predict_set` and ``predict(X, reject=...)`` possible; the fitted classifier stays as it is.

        Parameters
        ----------
        X : (n, width) array
        y : (n,) array
            Labels, of the classes of the fit.
        cv : "prefit", int, splitter or iterable
            "prefit": X was held out from the fit, and calibrates this classifier. Otherwise X is that of the fit, and
            one classifier more is fitted for each of these folds.
        groups : (n,) array, optional
            For splitters that keep groups together.
        """
        check_is_fitted(self)
        points, labels = self._points(X), np.searchsorted(self.classes_, np.asarray(y))  # type: ignore[attr-defined]
        if len(labels) != len(points) or not np.array_equal(
            self.classes_[np.minimum(labels, self.classes_.size - 1)], np.asarray(y)
        ):
            raise ValueError("conformalize needs a label for each point, and no other labels than those of the fit")
        members = []
        if isinstance(cv, str) and cv == "prefit":
            members = [Member.of(None, self.classes_, self.classes_, points, labels)]
            members[0].calibrate(members[0].all_scores(self, X, points, labels), labels)
        else:
            for train, test in check_cv(cv, y, classifier=True).split(X, y, groups):
                model = clone(self).fit(_safe_indexing(X, train), _safe_indexing(np.asarray(y), train))
                members.append(Member.of(model, model.classes_, self.classes_, points[train], labels[train]))
                scores = members[-1].all_scores(self, _safe_indexing(X, test), points[test])
                members[-1].calibrate(scores, labels[test])
        self._conformal = (self.classes_, members)
        return self

    def conformal_p_values(self, X) -> Array:
        """For every class the share of calibration points that suit it no better than the point, shape (n, n_classes).

        Small in all classes means that the point is unlike all data.
        """
        classes, members = getattr(self, "_conformal", (None, []))
        if classes is None or classes is not self.classes_:
            raise ValueError("call conformalize(X, y) with data that was held out, or conformalize(X, y, cv=5), first")
        points: Array = self._points(X)  # type: ignore[attr-defined]
        above, total = np.ones((len(points), classes.size)), np.ones(classes.size)
        for member in members:
            scores = member.all_scores(self, X, points)
            for k, own in enumerate(member.scores):
                above[:, k] += own.size - np.searchsorted(own, scores[:, k], side="left")
                total[k] += own.size
        return above / total

    def predict_set(self, X, alpha: float = 0.1) -> np.ndarray:
        """Which classes each point may have, shape (n, n_classes) of bool, in the order of `classes_`.

        For points drawn as those of `conformalize` were, the true class is missing with probability `alpha` at most,
        for each class by itself. To leave a class out takes ``1/alpha - 1`` calibration points of it.
        """
        if not (isinstance(alpha, Real) and 0.0 < float(alpha) < 1.0):
            raise ValueError(f"the error rate must be between 0 and 1, got {alpha!r}")
        return self.conformal_p_values(X) > alpha

    def _with_unknown(self, X: Any, reject: float, unknown: Any) -> np.ndarray:
        """The only class of the prediction set, or `unknown` where there are several or none."""
        sets = self.predict_set(X, reject)
        labels = self.classes_[np.argmax(sets, axis=1)]
        fits = np.result_type(labels, np.asarray(unknown)) if _is_of_kind(labels, unknown) else np.dtype(object)
        return np.where(sets.sum(axis=1) == 1, labels.astype(fits), np.asarray(unknown, dtype=fits))


def _is_of_kind(labels: np.ndarray, unknown: Any) -> bool:
    """Whether a label beside others needs no array of objects: numbers stay numbers."""
    return labels.dtype.kind in "iufUS" and (labels.dtype.kind in "US") == isinstance(unknown, str)
