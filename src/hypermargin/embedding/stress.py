"""Embedding a finite metric in the hyperbolic plane, by least relative stress.

The stress ``sum (d_ij / D_ij - 1)^2`` is brought to a local minimum in polar coordinates, where distances do not
cancel, from the better of two starts (`starts`).
"""

import warnings

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from sklearn.exceptions import ConvergenceWarning

from hypermargin.arrays import Array
from hypermargin.embedding.starts import hydra, sectors
from hypermargin.geometry.models import to_lorentz
from hypermargin.geometry.validation import MAX_RADIUS
from hypermargin.progress import Progress

#: Pairs of points that are worked on at a time: their arrays fit into the cache.
BLOCK_PAIRS = 1 << 16
#: Steps from each start, after which the better one goes on.
TRIAL_STEPS = 60
#: The descent ends when so many steps have lowered the stress by less than this share.
PATIENCE, GAIN = 20, 1e-6


def embed_metric(distances: Array, max_iter: int = 2000, verbose: int = 0) -> Array:
    """Lorentz coordinates, shape (n, 3), of points whose distances are near those given, shape (n, n).

    The answer is the same each time: the signs of the axes are fixed by the start. `distances` are symmetric, positive
    off the diagonal and at most 36 (twice the largest radius of double precision); multiply them by a factor where they
    are not.
    `verbose` of 1 or more shows progress on standard error.
    """
    distances = _checked(distances)
    n = len(distances)
    if n == 1:
        return np.array([[1.0, 0.0, 0.0]])
    inverse = 1.0 / (distances + np.diag(np.full(n, np.inf)))
    if verbose < 1:
        radius, angle, finished = _descend(distances, inverse, max_iter, None)
    else:
        with Progress("embedding", max_iter, closing=True) as progress:
            radius, angle, finished = _descend(distances, inverse, max_iter, progress)
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
    """Radius and angle of least stress, and whether the descent ended by itself.

    Both starts are tried for some steps, and the better one goes on.
    """
    tried = []
    for start in (hydra, sectors):
        radius, angle = start(distances)
        # An angle moves a point by sinh(r) times as much: measured in lengths all unknowns have one scale.
        length = np.maximum(np.sinh(radius), 0.3)
        unknowns = np.concatenate([radius, angle * length])
        tried.append((_minimise(unknowns, length, inverse, min(TRIAL_STEPS, max_iter), None), length))
    best, length = min(tried, key=lambda trial: trial[0].fun)
    if not best.success and max_iter > TRIAL_STEPS:
        best = _minimise(best.x, length, inverse, max_iter - TRIAL_STEPS, progress)
    n = len(length)
    return best.x[:n], best.x[n:] / length, bool(best.success)


def _minimise(
    unknowns: Array, length: Array, inverse: Array, max_iter: int, progress: Progress | None
) -> OptimizeResult:
    """At most so many steps of L-BFGS on the stress, and none that no longer pay."""
    pairs = len(length) * (len(length) - 1) / 2
    reached: list[float] = []

    def tell(intermediate_result: OptimizeResult) -> None:
        reached.append(float(intermediate_result.fun))
        if progress is not None:
            error = np.sqrt(reached[-1] / pairs)
            progress.at(max(progress.done, TRIAL_STEPS) + 1, f"relative error {error:.2%}")
        if len(reached) > PATIENCE and reached[-1 - PATIENCE] - reached[-1] < GAIN * reached[-1]:
            raise StopIteration

    found = minimize(
        _stress,
        unknowns,
        args=(length, inverse),
        jac=True,
        method="L-BFGS-B",
        callback=tell,
        options={"maxiter": max_iter, "maxcor": 20, "ftol": 1e-13, "gtol": 1e-9},
    )
    found.success = found.nit < max_iter
    return found


def _checked(distances: Array) -> Array:
    """The distances as float64, or a `ValueError` that says what is wrong with them."""
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
    of differences are taken from those of half the arguments, a product each, so that a pair costs one logarithm.
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
