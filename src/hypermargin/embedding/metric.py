"""Embedding a finite metric in the hyperbolic plane by least relative stress, and the distortion of an embedding.

The stress ``sum (d_ij / D_ij - 1)^2`` is brought to a local minimum in polar coordinates, in which distances do not
cancel. The descent begins at the better of two starts: hyperbolic scaling, which suits graphs, and a tree of sectors,
which suits trees.
"""

import warnings
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import OptimizeResult, minimize
from sklearn.exceptions import ConvergenceWarning

from hypermargin.arrays import Array
from hypermargin.geometry.metric import distance
from hypermargin.geometry.models import to_lorentz
from hypermargin.geometry.validation import MAX_RADIUS
from hypermargin.progress import Progress

#: Pairs of points in a block: an array of them is half a megabyte, which fits into the cache.
BLOCK_PAIRS = 1 << 16
#: Steps from each start, after which only the better one continues.
TRIAL_STEPS = 60
#: The descent ends when `PATIENCE` steps together have lowered the stress by less than the share `GAIN`.
PATIENCE, GAIN = 20, 1e-6


def embed_metric(distances: Array, max_iter: int = 2000, verbose: int = 0) -> Array:
    """Lorentz coordinates, shape (n, 3), of points whose distances are near those given, shape (n, n).

    The result is always the same, because the start fixes the signs of the axes. `distances` are symmetric, positive
    off the diagonal and at most 36 (twice the largest radius of double precision); scale them if they are larger.
    `verbose` of 1 or more shows progress on standard error.
    """
    distances = _checked(distances)
    n = len(distances)
    if n == 1:
        return np.array([[1.0, 0.0, 0.0]])
    inverse = 1.0 / (distances + np.diag(np.full(n, np.inf)))
    with Progress("embedding", max_iter, closing=True) if verbose >= 1 else nullcontext() as progress:
        radius, angle, finished = _descend(distances, inverse, max_iter, progress)
        if progress is not None:
            progress.total = progress.done  # not all steps allowed were needed
    if not finished:
        warnings.warn(
            f"the embedding was still improving after {max_iter} iterations; it can be used, and a larger max_iter may "
            "bring distances closer",
            ConvergenceWarning,
            stacklevel=3,
        )
    return to_lorentz(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), "tangent")


def _descend(distances: Array, inverse: Array, max_iter: int, progress: Progress | None) -> tuple[Array, Array, bool]:
    """Radius and angle of least stress, and whether the descent ended before `max_iter`.

    Both starts are tried for `TRIAL_STEPS`, and the better one continues.
    """
    tried = []
    for start in (hydra, sectors):
        radius, angle = start(distances)
        # An angle moves a point by sinh(r) times as much: measured in lengths, all unknowns have one scale.
        length = np.maximum(np.sinh(radius), 0.3)
        unknowns = np.concatenate([radius, angle * length])
        tried.append((_minimise(unknowns, length, inverse, min(TRIAL_STEPS, max_iter), None), length))
        interrupted = tried[-1][0].interrupted
        if interrupted:
            break
    best, length = min(tried, key=lambda trial: trial[0].fun)
    if not (best.success or interrupted) and max_iter > TRIAL_STEPS:
        best = _minimise(best.x, length, inverse, max_iter - TRIAL_STEPS, progress)
    n = len(length)
    return best.x[:n], best.x[n:] / length, bool(best.success or interrupted)


def _minimise(
    unknowns: Array, length: Array, inverse: Array, max_iter: int, progress: Progress | None
) -> OptimizeResult:
    """At most so many steps of L-BFGS on the stress, and none that no longer pay."""
    pairs = len(length) * (len(length) - 1) / 2
    reached: list[float] = []
    best = unknowns.copy()

    def report(intermediate_result: OptimizeResult) -> None:
        reached.append(float(intermediate_result.fun))
        best[:] = intermediate_result.x
        if progress is not None:
            error = np.sqrt(reached[-1] / pairs)
            progress.at(max(progress.done, TRIAL_STEPS) + 1, f"relative error {error:.2%}")
        if len(reached) > PATIENCE and reached[-1 - PATIENCE] - reached[-1] < GAIN * reached[-1]:
            raise StopIteration

    try:
        found = minimize(
            _stress,
            unknowns,
            args=(length, inverse),
            jac=True,
            method="L-BFGS-B",
            callback=report,
            options={"maxiter": max_iter, "maxcor": 20, "ftol": 1e-13, "gtol": 1e-9},
        )
    except KeyboardInterrupt:
        warn_of_interrupt(len(reached), max_iter, "iterations")
        return OptimizeResult(x=best, fun=min(reached, default=np.inf), success=True, interrupted=True)
    found.success, found.interrupted = found.nit < max_iter, False
    return found


def warn_of_interrupt(done: int, total: int, what: str) -> None:
    """Warn that an embedding was interrupted by the keyboard, and is what there was by then."""
    warnings.warn(
        f"interrupted after {done} of {total} {what}: the embedding is what there was by then",
        ConvergenceWarning,
        stacklevel=4,
    )


def _checked(distances: Array) -> Array:
    """The distances as float64; a `ValueError` if they are not distances."""
    distances = np.asarray(distances, dtype=np.float64)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1] or len(distances) == 0:
        raise ValueError(f"distances must be a square array with at least one row, got shape {distances.shape}")
    off = ~np.eye(len(distances), dtype=bool)
    if not np.all(np.isfinite(distances)):
        raise ValueError("distances must be finite: points that no path joins have no place beside each other")
    rounding = 1e-6 * np.abs(distances).max()
    if np.abs(distances - distances.T).max() > rounding or np.abs(np.diag(distances)).max() > rounding:
        raise ValueError("distances must be symmetric, with 0 on the diagonal")
    distances = np.where(off, 0.5 * (distances + distances.T), 0.0)
    if np.any(distances[off] <= 0.0):
        raise ValueError("distances between different points must be positive: merge points that are the same")
    if distances.max(initial=0.0) > 2.0 * MAX_RADIUS:
        raise ValueError(
            f"distances reach {distances.max():.4g}, and double precision holds {2.0 * MAX_RADIUS:.0f} at most: "
            "multiply them by a factor"
        )
    return distances


def _stress(unknowns: Array, length: Array, inverse: Array) -> tuple[float, Array]:
    """``sum (d_ij/D_ij - 1)^2`` over pairs and its gradient; `inverse` has ``1/D_ij``, and 0 on the diagonal.

    Distances are those of ``sinh^2(d/2) = sinh^2((ri - rj)/2) + sinh(ri) sinh(rj) sin^2((ai - aj)/2)``. The functions
    of differences are products of those of half the arguments, so that each pair costs only one logarithm.
    """
    n = len(length)
    radius, angle = unknowns[:n], unknowns[n:] / length
    sinh, cosh = np.sinh(radius), np.cosh(radius)
    half_sinh, half_cosh = np.sinh(radius / 2.0), np.cosh(radius / 2.0)
    half_sin, half_cos = np.sin(angle / 2.0), np.cos(angle / 2.0)
    total, radius_gradient, angle_gradient = 0.0, np.empty(n), np.empty(n)
    step = max(1, BLOCK_PAIRS // n)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        radial = np.outer(half_sinh[rows], half_cosh) - np.outer(half_cosh[rows], half_sinh)
        radial_cosh = np.outer(half_cosh[rows], half_cosh) - np.outer(half_sinh[rows], half_sinh)
        turn = np.outer(half_sin[rows], half_cos) - np.outer(half_cos[rows], half_sin)
        turn_cos = np.outer(half_cos[rows], half_cos) + np.outer(half_sin[rows], half_sin)
        haversine = sinh * turn  # sinh(rj) sin((ai - aj)/2)
        half_chord = np.maximum(radial * radial + sinh[rows, None] * haversine * turn, 1e-30)
        beyond = 1.0 + half_chord
        scaled = 2.0 * np.log(np.sqrt(half_chord) + np.sqrt(beyond)) * inverse[rows]
        error = np.where(inverse[rows] > 0.0, scaled - 1.0, 0.0)
        total += 0.5 * float(np.vdot(error, error))
        slope = 2.0 * error * inverse[rows] / np.sqrt(half_chord * beyond)
        along = np.einsum("ij,ij,ij->i", slope, radial, radial_cosh)
        radius_gradient[rows] = along + cosh[rows] * np.einsum("ij,ij,ij->i", slope, haversine, turn)
        angle_gradient[rows] = sinh[rows] * np.einsum("ij,ij,ij->i", slope, haversine, turn_cos)
    return total, np.concatenate([radius_gradient, angle_gradient / length])


# -- starts ------------------------------------------------------------------------------------------------------------


def hydra(distances: Array) -> tuple[Array, Array]:
    """Radius and angle of each point by hyperbolic multidimensional scaling (Keller-Ressel and Nargang, 2020).

    The best rank-3 part of signature (1, 2) of ``cosh(D)``.
    """
    n = len(distances)
    matrix = np.cosh(distances)
    time = np.abs(eigh(matrix, subset_by_index=(n - 1, n - 1))[1][:, 0])  # of one sign, as the matrix is positive
    values, vectors = eigh(matrix, subset_by_index=(0, min(1, n - 2)))
    axes = np.zeros((n, 2))
    axes[:, : len(values)] = vectors * np.sqrt(np.maximum(-values, 0.0))
    largest = np.argmax(np.abs(axes), axis=0)
    signs = np.sign(axes[largest, [0, 1]])
    axes *= np.where(signs == 0.0, 1.0, signs)
    smallest = max(float(time.min()), float(time.max()) / np.cosh(MAX_RADIUS))
    radius = np.arccosh(1.01 * np.maximum(time / smallest, 1.0))
    return radius, np.arctan2(axes[:, 1], axes[:, 0]) + _small_turns(radius)


def sectors(distances: Array) -> tuple[Array, Array]:
    """Radius and angle of each point in a tree of shortest paths from the middle, with a sector for each branch.

    Sectors are shared in proportion to the numbers of leaves, and no wider than ``2 pi exp(-r)`` at radius r, about
    the share of the circle at infinity that lies beyond a point there. For a tree the distances are then nearly right.
    """
    n = len(distances)
    middle = int(np.argmin(distances.max(axis=1) + 1e-6 * distances.mean(axis=1)))
    outward = np.argsort(distances[middle], kind="stable")
    parent = np.full(n, middle)
    for k, i in enumerate(outward[1:], start=1):
        inner = outward[:k][distances[middle, outward[:k]] < distances[middle, i]]
        parent[i] = inner[np.argmin(distances[i, inner])]
    leaves = np.ones(n)
    leaves[parent[outward[1:]]] = 0.0
    for i in outward[:0:-1]:
        leaves[parent[i]] += leaves[i]
    angle, width, shared = np.zeros(n), np.full(n, 2.0 * np.pi), np.zeros(n)
    for i in outward[1:]:
        p = parent[i]
        share = leaves[i] / leaves[p]
        sector = min(width[p], 2.0 * np.pi * np.exp(-distances[middle, p]))
        angle[i] = angle[p] + sector * (shared[p] + share / 2.0 - 0.5)
        width[i] = sector * share
        shared[p] += share
    radius = np.maximum(distances[middle], 0.05)
    return radius, angle + _small_turns(radius)


def _small_turns(radius: Array) -> Array:
    """A small angle, different for each point: smaller far out, where an angle is a longer way.

    Points with the same distances to all others would start at the same place, where the gradient of the stress cannot
    separate them.
    """
    return 0.02 * np.sin(1.0 + np.arange(len(radius))) * np.minimum(1.0, 4.0 / np.sinh(radius))


# -- distortion --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Distortion:
    """Statistics of ``ratio = distance / (scale * wanted)`` over all pairs of points.

    Parameters
    ----------
    mean : float
        The mean of ``|ratio - 1|``: 0.1 means that distances are 10 % off on average.
    worst : float
        The largest ratio divided by the smallest; 1 is perfect. It does not depend on the scale.
    """

    mean: float
    worst: float

    @classmethod
    def of(cls, ratios: Array) -> "Distortion":
        """The distortion of pairs of points with these ratios."""
        if not ratios.size:
            return cls(0.0, 1.0)
        smallest, largest = float(ratios.min()), float(ratios.max())
        return cls(float(np.abs(ratios - 1.0).mean()), largest / smallest if smallest > 0.0 else float("inf"))

    def __str__(self) -> str:
        return f"distances are {self.mean:.1%} off on average, the worst distortion is {self.worst:.2f}"


def distortion(X: Array, distances: Array, scale: float = 1.0) -> Distortion:
    """The distortion of Lorentz points, shape (n, d + 1), if `distances`, shape (n, n), are wanted times `scale`."""
    pairs = [distance(X[i], X[i + 1 :]) / (scale * distances[i, i + 1 :]) for i in range(len(X))]
    return Distortion.of(np.concatenate(pairs))
