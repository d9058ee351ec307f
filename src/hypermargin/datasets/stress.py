"""Embedding a finite metric in the hyperbolic plane: hyperbolic MDS as a start, then least relative stress.

The start is "hydra" (Keller-Ressel and Nargang, 2020): the best rank-3 part of signature (1, 2) of ``cosh(D)``. The
stress ``sum (d_ij / D_ij - 1)^2`` is then brought to a local minimum in polar coordinates, where distances do not
cancel.
"""

import numpy as np
from scipy.optimize import minimize

from hypermargin.arrays import Array
from hypermargin.geometry.models import to_lorentz


def embed_metric(distances: Array, max_iter: int = 2000) -> Array:
    """Lorentz coordinates, shape (n, 3), of points whose distances are near those given, shape (n, n).

    Deterministic: the signs of the axes are fixed by the start.
    """
    n = len(distances)
    radius, angle = _hydra(distances)
    first, second = np.triu_indices(n, 1)
    # A change of angle moves a point by sinh(r) times as much. Measured in lengths, all unknowns have one scale.
    length = np.maximum(np.sinh(radius), 0.3)
    solution = minimize(
        _stress,
        np.concatenate([radius, angle * length]),
        args=(length, first, second, distances[first, second]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "maxcor": 20, "ftol": 1e-13, "gtol": 1e-9},
    )
    radius, angle = solution.x[:n], solution.x[n:] / length
    return to_lorentz(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), "tangent")


def _hydra(distances: Array) -> tuple[Array, Array]:
    """Radius and angle of each point by hyperbolic multidimensional scaling."""
    values, vectors = np.linalg.eigh(np.cosh(distances))
    time = np.abs(vectors[:, -1])  # the leading eigenvector of a positive matrix has one sign
    axes = vectors[:, :2] * np.sqrt(np.maximum(-values[:2], 0.0))
    largest = np.argmax(np.abs(axes), axis=0)
    axes *= np.sign(axes[largest, [0, 1]])
    # Points with the same distances to all others start at the same place, where the stress has no gradient to part
    # them: a small turn, different for each point, does.
    angle = np.arctan2(axes[:, 1], axes[:, 0]) + 0.02 * np.sin(1.0 + np.arange(len(time)))
    return np.arccosh(1.01 * time / time.min()), angle


def _stress(unknowns: Array, length: Array, i: Array, j: Array, wanted: Array) -> tuple[float, Array]:
    """``sum (d_ij/D_ij - 1)^2`` and its gradient, by ``sinh^2(d/2) = sinh^2(dr/2) + sinh(ri) sinh(rj) sin^2(da/2)``."""
    n = len(length)
    radius, angle = unknowns[:n], unknowns[n:] / length
    sinh, cosh = np.sinh(radius), np.cosh(radius)
    radial, turn = radius[i] - radius[j], angle[i] - angle[j]
    haversine = np.sin(turn / 2.0) ** 2
    half_chord = np.maximum(np.sinh(radial / 2.0) ** 2 + sinh[i] * sinh[j] * haversine, 1e-30)
    error = 2.0 * np.arcsinh(np.sqrt(half_chord)) / wanted - 1.0
    slope = 2.0 * error / (wanted * np.sqrt(half_chord * (1.0 + half_chord)))
    along = 0.5 * slope * np.sinh(radial)
    across = 0.5 * slope * sinh[i] * sinh[j] * np.sin(turn)
    radius_gradient = np.bincount(i, along + slope * cosh[i] * sinh[j] * haversine, n)
    radius_gradient += np.bincount(j, slope * sinh[i] * cosh[j] * haversine - along, n)
    angle_gradient = (np.bincount(i, across, n) - np.bincount(j, across, n)) / length
    return float(error @ error), np.concatenate([radius_gradient, angle_gradient])
