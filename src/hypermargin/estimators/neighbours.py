"""`HyperbolicKNeighborsClassifier`: the labels of the nearest points vote.

Neighbours are exact for near and far points. Both searches find candidates cheaply, allowing for rounding, and decide
by the accurate distances of kernels (`kernels.chords`): ``arccosh(x * y)`` would lose half of the digits of near ones.

* **Tree.** A hyperbolic ball is a Euclidean ball of the Poincaré model with another centre. The k nearest points in the
  Euclidean sense give a radius that holds k points; all points of the hyperbolic ball of that radius are found by one
  Euclidean query of a k-d tree.
* **Products.** ``x * y`` of a block of queries with all points is a matrix product, wrong by at most a few
  ``eps x0 y0``; every point that may be among the k nearest within that error is a candidate.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy.spatial import KDTree

from hypermargin.arrays import Array
from hypermargin.estimators.base import PackedClassifier, at_least, is_whole, one_of
from hypermargin.estimators.model_file import storable
from hypermargin.geometry.lorentz import covector, curvature_scale
from hypermargin.geometry.metric import distance
from hypermargin.geometry.models import from_lorentz
from hypermargin.geometry.validation import FARTHEST_RADIUS, MAX_RADIUS
from hypermargin.kernels.chords import half_chords, polar_points

ALGORITHMS = ("auto", "tree", "products")
WEIGHTS = ("uniform", "distance")
EPS = float(np.finfo(np.float64).eps)
#: The tree is faster up to the first dimension, and up to the second with this many points: measured by
#: benchmarks/bench_neighbours.py.
TREE_DIMENSION, TREE_DIMENSION_OF_MANY, MANY_POINTS = 3, 4, 10_000
#: Entries of the largest array of products (32 MB), and queries that a thread takes at a time.
ENTRIES, QUERIES = 1 << 22, 1 << 10
#: Radii of balls grow by this much, relatively and absolutely, to allow for rounding: candidates that lie too far cost
#: a distance, those that were missed would be an error.
RADIUS_MARGIN = 1e-9
#: Beyond this balls hold all points of a tree; squares of hyperbolic functions of it do not overflow.
FARTHEST = 300.0

#: Rows of the neighbours of one query and their distances, nearest first.
Neighbours = tuple[np.ndarray, Array]


# -- search ------------------------------------------------------------------------------------------------------------


class NeighbourSearch(ABC):
    """Points to search among, shape (n, d + 1), on the unit hyperboloid."""

    def __init__(self, points: Array) -> None:
        self.points, self._prepared = points, polar_points(points)

    @abstractmethod
    def candidates(self, queries: Array, k: int | None, radius: float | None) -> Iterator[np.ndarray]:
        """For each query rows that include its k nearest, or all within the radius."""

    def neighbours(self, queries: Array, k: int | None, radius: float | None, n_jobs: int | None) -> list[Neighbours]:
        """The k nearest points of each query, ties by row number; or all within the radius."""
        blocks = [queries[start : start + QUERIES] for start in range(0, len(queries), QUERIES)]
        if len(blocks) == 1 or effective_n_jobs(n_jobs) == 1:
            found = [self._block(block, k, radius) for block in blocks]
        else:
            found = Parallel(n_jobs=n_jobs, require="sharedmem")(
                delayed(self._block)(block, k, radius) for block in blocks
            )
        return [pair for block in found for pair in block]

    def _block(self, queries: Array, k: int | None, radius: float | None) -> list[Neighbours]:
        candidates = [np.sort(rows) for rows in self.candidates(queries, k, radius)]
        sizes = np.array([rows.size for rows in candidates])
        rows, ends = np.concatenate(candidates), np.cumsum(sizes)
        asking = polar_points(queries)[np.repeat(np.arange(len(queries)), sizes)]
        lengths = 2.0 * np.arcsinh(np.sqrt(half_chords(asking.table, self._prepared[rows].table)))
        found = []
        for end, size in zip(ends.tolist(), sizes.tolist(), strict=True):
            own, far = rows[end - size : end], lengths[end - size : end]
            order = np.argsort(far, kind="stable")
            order = order[:k] if radius is None else order[far[order] <= radius]
            found.append((own[order], far[order]))
        return found


class TreeSearch(NeighbourSearch):
    """Search by a k-d tree of the Poincaré coordinates."""

    def __init__(self, points: Array) -> None:
        super().__init__(points)
        self.tree = KDTree(from_lorentz(points, "poincare"))
        self.far_search = ProductSearch(points)  # of queries farther out than the tree resolves

    def candidates(self, queries: Array, k: int | None, radius: float | None) -> Iterator[np.ndarray]:
        far = queries[:, 0] > np.cosh(MAX_RADIUS)
        if far.any():
            found = np.empty(len(queries), dtype=object)
            for rows, search in ((~far, self), (far, self.far_search)):
                if rows.any():
                    found[rows] = as_objects(search.candidates(queries[rows], k, radius))
            yield from found
            return
        flat = from_lorentz(queries, "poincare")
        if radius is None:
            assert k is not None
            _, nearest = self.tree.query(flat, k=k)
            nearest = nearest.reshape(len(queries), -1)
            reach = distance(queries[:, None], self.points[nearest]).max(axis=1)
        else:
            reach = np.full(len(queries), radius)
        # The hyperbolic ball of radius r around x is the Euclidean ball around x (1 - t^2)/(1 - a t^2) of radius
        # t (1 - a)/(1 - a t^2), with t = tanh(r/2) and a = |x|^2; 1 - a = 2/(1 + x0) and 1 - t^2 do not cancel.
        half = np.minimum(0.5 * reach * (1.0 + RADIUS_MARGIN) + RADIUS_MARGIN, FARTHEST)
        t, t_rest, rest = np.tanh(half), 1.0 / np.cosh(half) ** 2, 2.0 / (1.0 + queries[:, 0])
        below = rest + (1.0 - rest) * t_rest  # 1 - a t^2
        centres, radii = flat * (t_rest / below)[:, None], t * rest / below
        for rows in self.tree.query_ball_point(centres, radii * (1.0 + RADIUS_MARGIN) + 4.0 * EPS):
            yield np.asarray(rows, dtype=np.intp)


class ProductSearch(NeighbourSearch):
    """Search by matrix products of blocks."""

    def __init__(self, points: Array) -> None:
        super().__init__(points)
        self.covectors = covector(points).T

    def candidates(self, queries: Array, k: int | None, radius: float | None) -> Iterator[np.ndarray]:
        step = max(1, ENTRIES // len(self.points))
        largest_error = (self.points.shape[1] + 2) * EPS * self.points[:, 0].max()
        for start in range(0, len(queries), step):
            block = queries[start : start + step]
            products = block @ self.covectors
            if radius is None:
                assert k is not None
                most = np.partition(products, k - 1, axis=1)[:, k - 1]
            else:
                most = np.full(len(block), np.cosh(min(radius, 2.0 * FARTHEST_RADIUS)))
            # The k-th product and the one it is compared with may both be off.
            near = products <= (most * (1.0 + RADIUS_MARGIN) + 2.0 * block[:, 0] * largest_error)[:, None]
            query, rows = np.nonzero(near)
            yield from np.split(rows, np.searchsorted(query, np.arange(1, len(block))))


def as_objects(arrays: Iterable[np.ndarray]) -> np.ndarray:
    """Arrays of any lengths as an array of objects."""
    listed = list(arrays)
    found = np.empty(len(listed), dtype=object)
    found[:] = listed
    return found


def make_search(points: Array, algorithm: str) -> NeighbourSearch:
    """The search of this name; "auto" takes the faster one for the dimension and number of points.

    The Poincaré coordinates of a tree resolve points to radius 18; if some are farther out, products are taken.
    """
    if points[:, 0].max() > np.cosh(MAX_RADIUS):
        algorithm = "products"
    if algorithm == "auto":
        most = TREE_DIMENSION_OF_MANY if len(points) >= MANY_POINTS else TREE_DIMENSION
        algorithm = "tree" if points.shape[1] - 1 <= most else "products"
    return {"tree": TreeSearch, "products": ProductSearch}[algorithm](points)


# -- classifier --------------------------------------------------------------------------------------------------------


@storable
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

    def kneighbors(self, X, n_neighbors: int | None = None) -> tuple[Array, np.ndarray]:
        """Distances to the nearest training samples, and their rows; both of shape (n, k)."""
        points = self._points(X)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if not is_whole(k, 1) or k > self.n_samples_fit_:
            raise ValueError(f"n_neighbors must be an integer from 1 to {self.n_samples_fit_}, got {k!r}")
        found = self._search.neighbours(points, int(k), None, self.n_jobs)
        lengths = np.array([far for _, far in found]) / curvature_scale(self.curvature)
        return lengths, np.array([rows for rows, _ in found])

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
