"""`HyperbolicKNeighborsClassifier`: the labels of the nearest points vote."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.inputs import unit_points
from hypermargin.estimators.model_file import storable
from hypermargin.estimators.neighbours.search import Neighbours, NeighbourSearch, make_search
from hypermargin.geometry.curvature import curvature_scale

ALGORITHMS = ("auto", "tree", "products")
WEIGHTS = ("uniform", "distance")


@storable
class HyperbolicKNeighborsClassifier(HyperbolicClassifier):
    """Vote of the nearest points of hyperbolic space, by k or by radius.

    Distances are accurate for near and far points alike, and nothing depends on where the origin is. As in
    scikit-learn there are no weights of samples or classes: k counts samples.

    Parameters
    ----------
    n_neighbors : int, default=15
        How many points vote; at most as many as there are samples.
    radius : float, optional
        All points within this distance vote instead; where there is none, the nearest one does.
    weights : {"uniform", "distance"}, default="uniform"
        "distance": a vote counts 1/distance; where points coincide with the query, they alone vote.
    algorithm : {"auto", "tree", "products"}, default="auto"
        A k-d tree of the Poincaré ball, or matrix products; "auto" takes what was measured to be faster for the
        dimension and the number of points. The answers are the same.
    geometry : {"lorentz", "poincare", "klein", "halfspace", "tangent"}, default="lorentz"
        What the columns of X are.
    curvature : float, default=1.0
        The points lie in the space of curvature ``-curvature``; distances are those of this space.
    n_jobs : int, optional
        Threads, as joblib has it; the answer does not depend on it.

    Attributes
    ----------
    classes_ : (n_classes,) array
    n_samples_fit_ : int
    """

    def __init__(
        self,
        n_neighbors: int = 15,
        radius: float | None = None,
        weights: str = "uniform",
        algorithm: str = "auto",
        geometry: str = "lorentz",
        curvature: float = 1.0,
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.weights = weights
        self.algorithm = algorithm
        self.geometry = geometry
        self.curvature = curvature
        self.n_jobs = n_jobs

    def fit(self, X, y) -> "HyperbolicKNeighborsClassifier":
        """Remember points X, shape (n, width), with labels y of any dtype, shape (n,)."""
        self._check_parameters()
        given = self._labelled_samples(X, y, None)
        if self.radius is None and self.n_neighbors > len(given.labels):
            raise ValueError(
                f"n_neighbors is {self.n_neighbors}, but there are {len(given.labels)} samples: choose at most as many"
            )
        self.classes_ = given.classes
        self._remember(unit_points(given.X, self.geometry, self.curvature), given.labels)
        return self

    def _remember(self, points: Array, labels: np.ndarray) -> None:
        self.n_samples_fit_ = len(points)
        self._labels = labels.astype(np.intp)
        self._search: NeighbourSearch = make_search(points, self.algorithm)

    def _check_parameters(self) -> None:
        self._check_space()
        k = self.n_neighbors
        if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
            raise ValueError(f"n_neighbors must be an integer of at least 1, got {k!r}")
        if self.radius is not None and not (isinstance(self.radius, Real) and self.radius > 0.0):
            raise ValueError(f"radius must be positive or None, got {self.radius!r}")
        for name, choices in {"weights": WEIGHTS, "algorithm": ALGORITHMS}.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}; got {getattr(self, name)!r}")

    def kneighbors(self, X, n_neighbors: int | None = None) -> tuple[Array, np.ndarray]:
        """Distances to the nearest training samples, and their rows; both of shape (n, k)."""
        points = self._points(X)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= k <= self.n_samples_fit_:
            raise ValueError(f"n_neighbors must be an integer from 1 to {self.n_samples_fit_}, got {k!r}")
        found = self._search.neighbours(points, int(k), None, self.n_jobs)
        lengths = np.array([far for _, far in found]) / curvature_scale(self.curvature)
        return lengths, np.array([rows for rows, _ in found])

    def predict(self, X) -> np.ndarray:
        """The predicted labels, shape (n,); ties go to the first of the classes."""
        winner = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[winner]

    def predict_proba(self, X) -> Array:
        """Shares of the classes in the votes, shape (n, n_classes)."""
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
        """What each vote counts. Relative to the nearest of the query, so that 1/distance does not overflow."""
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
        self._remember(points, labels)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_search" in state:
            state["_stored_points"] = self._stored()
            for name in ("_search", "_labels", "n_samples_fit_"):
                del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        stored = state.pop("_stored_points", None)
        super().__setstate__(state)
        if stored is not None:
            self._restore(stored)
