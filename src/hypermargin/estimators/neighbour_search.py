"""Search for the nearest points of hyperbolic space.

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

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy.spatial import KDTree

from hypermargin.arrays import Array
from hypermargin.geometry.lorentz import covector
from hypermargin.geometry.metric import distance
from hypermargin.geometry.models import from_lorentz
from hypermargin.geometry.validation import FARTHEST_RADIUS, MAX_RADIUS
from hypermargin.kernels.chords import half_chords, polar_points

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
