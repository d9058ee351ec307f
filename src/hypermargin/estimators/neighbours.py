"""`HyperbolicKNeighborsClassifier`: the labels of the nearest points vote."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from hypermargin.arrays import Array
from hypermargin.estimators.base import PackedClassifier, at_least, is_whole, keyword_only, one_of
from hypermargin.estimators.model_file import storable
from hypermargin.estimators.neighbour_search import Neighbours, NeighbourSearch, make_search
from hypermargin.geometry.lorentz import curvature_scale
from hypermargin.geometry.validation import FARTHEST_RADIUS

ALGORITHMS = ("auto", "tree", "products")
WEIGHTS = ("uniform", "distance")


@storable
@keyword_only
@dataclass(eq=False, repr=False)
class HyperbolicKNeighborsClassifier(PackedClassifier):
    """Vote of the nearest points of hyperbolic space, by k or by radius.

    Distances are accurate for near and far points alike, and no prediction depends on where the origin is. As in
    scikit-learn there are no weights of samples or classes: k counts samples.

    Parameters
    ----------
    n_neighbors : int, default=15
        How many points vote; at most as many as there are samples.
    radius : float, optional
        All points within this distance vote instead; if there are none, the nearest one does.
    weights : {"uniform", "distance"}, default="uniform"
        "distance": a vote counts 1/distance; if points coincide with the query, only they vote.
    algorithm : {"auto", "tree", "products"}, default="auto"
        A k-d tree of the Poincaré ball, or matrix products; "auto" takes the one that was measured to be faster for the
        dimension and the number of points. The predictions are the same.
    geometry, curvature
        As in `HyperbolicSVC`; distances are those of the space of curvature ``-curvature``.
    n_jobs : int, optional
        Threads, as in joblib; the result does not depend on it.
    rim : {"clip", "drop", "error"}, default="clip"
        As in `HyperbolicSVC`, for points beyond hyperbolic radius 345, the largest that doubles hold.

    Attributes
    ----------
    classes_ : (n_classes,) array
    n_samples_fit_ : int

    Examples
    --------
    >>> from hypermargin import HyperbolicKNeighborsClassifier
    >>> from hypermargin.datasets import make_gaussian_mixture
    >>> X, y = make_gaussian_mixture(60, 3, random_state=0, return_X_y=True)
    >>> model = HyperbolicKNeighborsClassifier(5).fit(X, y)
    >>> model.predict(X[::60])
    array([0, 1, 2])
    >>> model.kneighbors(X[:1], 1, return_distance=False)
    array([[0]])
    """

    n_neighbors: int = 15
    radius: float | None = None
    weights: str = "uniform"
    algorithm: str = "auto"
    geometry: str = "lorentz"
    curvature: float = 1.0
    n_jobs: int | None = None
    rim: str = "clip"

    LARGEST_RADIUS = FARTHEST_RADIUS
    RULES: ClassVar = {
        **PackedClassifier.RULES,
        "n_neighbors": at_least(1),
        "radius": (lambda value: value is None or (isinstance(value, Real) and float(value) > 0.0), "positive or None"),
        "weights": one_of(WEIGHTS),
        "algorithm": one_of(ALGORITHMS),
    }
    PACKED = ("_search", "_labels", "n_samples_fit_")

    def fit(self, X, y) -> "HyperbolicKNeighborsClassifier":
        """Keep points X, shape (n, width), with labels y of any dtype, shape (n,)."""
        self._check_space()
        given = self._labelled_samples(X, y, None)
        if self.radius is None and self.n_neighbors > len(given.labels):
            raise ValueError(
                f"n_neighbors is {self.n_neighbors}, but there are {len(given.labels)} samples: choose at most as many"
            )
        self.classes_ = given.classes
        self._set_samples(self._fitted_points(given), given.labels)
        return self

    def _set_samples(self, points: Array, labels: np.ndarray) -> None:
        self.n_samples_fit_ = len(points)
        self._labels = labels.astype(np.intp)
        self._search: NeighbourSearch = make_search(points, self.algorithm)

    def kneighbors(self, X, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Distances to the nearest training samples, if wanted, and their rows; both of shape (n, k)."""
        points = self._points(X)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if not is_whole(k, 1) or k > self.n_samples_fit_:
            raise ValueError(f"n_neighbors must be an integer from 1 to {self.n_samples_fit_}, got {k!r}")
        found = self._search.neighbours(points, int(k), None, self.n_jobs)
        rows = np.array([near for near, _ in found])
        if not return_distance:
            return rows
        return np.array([far for _, far in found]) / curvature_scale(self.curvature), rows

    def predict_proba(self, X) -> Array:
        """Each class's share of the votes, shape (n, n_classes)."""
        points = self._points(X)
        if self.radius is None:
            found = self._search.neighbours(points, self.n_neighbors, None, self.n_jobs)
        else:
            found = self._within_radius(points, float(self.radius) * curvature_scale(self.curvature))
        sizes = [rows.size for rows, _ in found]
        rows, lengths = (np.concatenate(part) for part in zip(*found, strict=True))
        query = np.repeat(np.arange(len(points)), sizes)
        votes = np.bincount(
            query * len(self.classes_) + self._labels[rows],
            weights=self._factors(lengths, query, len(points)),
            minlength=len(points) * len(self.classes_),
        ).reshape(len(points), -1)
        return votes / votes.sum(axis=1, keepdims=True)

    def _within_radius(self, points: Array, radius: float) -> list[Neighbours]:
        found = self._search.neighbours(points, None, radius, self.n_jobs)
        alone = [i for i, (rows, _) in enumerate(found) if rows.size == 0]
        if alone:
            for i, nearest in zip(alone, self._search.neighbours(points[alone], 1, None, self.n_jobs), strict=True):
                found[i] = nearest
        return found

    def _factors(self, lengths: Array, query: np.ndarray, n: int) -> Array:
        """Weights of the votes, relative to the nearest point of the query so that 1/distance does not overflow."""
        if self.weights == "uniform":
            return np.ones(lengths.size)
        nearest = np.full(n, np.inf)
        np.minimum.at(nearest, query, lengths)
        least = nearest[query]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(least == 0.0, lengths == 0.0, least / lengths)

    # -- storage -----------------------------------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        return {"points": self._search.points, "labels": self._labels}

    def _restore(self, state: dict[str, Any]) -> None:
        points = np.ascontiguousarray(state["points"], dtype=np.float64)
        labels = np.asarray(state["labels"])
        if points.ndim != 2 or labels.shape != points.shape[:1]:
            raise ValueError("points and labels do not fit one another")
        if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= len(self.classes_):
            raise ValueError("there are labels that are no classes")
        self._set_samples(points, labels)
