"""Where the descent on the stress starts: hyperbolic scaling, which suits graphs, and a tree of sectors, for trees."""

import numpy as np
from scipy.linalg import eigh

from hypermargin.arrays import Array
from hypermargin.geometry.validation import MAX_RADIUS


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
    """Radius and angle of each point in a tree of shortest paths from the middle, a sector for each branch.

    Sectors are shared by the number of leaves, and no wider than what a point at radius r sees of the circle at
    infinity beyond it, about ``2 pi exp(-r)``: for a tree, distances are then nearly right from the start.
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
    """Points with the same distances to all others would start at the same place, where the stress has no gradient to
    part them: a small turn, other for each, does. Far out a turn is a long way, so it is smaller there.
    """
    return 0.02 * np.sin(1.0 + np.arange(len(radius))) * np.minimum(1.0, 4.0 / np.sinh(radius))
