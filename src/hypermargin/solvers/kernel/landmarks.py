"""Nyström features: a kernel seen from few landmarks, at a cost linear in the number of points.

Landmarks come from a randomly pivoted Cholesky factorisation (Chen, Epperly, Tropp and Webber, Randomly pivoted
Cholesky, 2025): each is drawn with a probability proportional to what the others leave unexplained of the diagonal, an
adaptive form of leverage scores. It ends early where nothing is left to explain.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, solve_triangular

from hypermargin.arrays import Array
from hypermargin.problems.kernel import KernelProblem

#: Landmarks are drawn among so many points at most; their number times that of the landmarks is what drawing costs.
POOL = 8000
#: Relative to the diagonal: what is left unexplained and counts as nothing.
EXPLAINED = 1e-9
CHUNK_ROWS = 1 << 13


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Indices of landmarks among the points, and the lower triangular factor ``K_LL = factor factor'``."""

    chosen: np.ndarray
    factor: Array

    def features(self, kernel_values: Array) -> Array:
        """Features of points, (n, m), from their kernel values with the landmarks, (n, m): ``K_xL factor^-T``."""
        return solve_triangular(self.factor, kernel_values.T, lower=True, check_finite=False).T

    def coefficients(self, w: Array) -> Array:
        """Coefficients on the landmarks, (..., m), of classifiers w in the features, (..., m)."""
        return solve_triangular(self.factor, w.T, lower=True, trans="T", check_finite=False).T


def draw_landmarks(problem: KernelProblem, n_landmarks: int, rng: np.random.RandomState) -> Landmarks:
    """At most `n_landmarks` samples of a problem, drawn as the module says."""
    n = problem.n_samples
    pool = np.sort(rng.permutation(n)[:POOL]) if n > POOL else np.arange(n)
    diagonal = np.array([problem.values(slice(i, i + 1), slice(i, i + 1))[0, 0] for i in pool[:1]])
    left = np.full(pool.size, float(diagonal[0]))
    columns = np.empty((pool.size, n_landmarks), order="F")
    chosen: list[int] = []
    threshold = EXPLAINED * left[0]
    while len(chosen) < n_landmarks and left.max() > threshold:
        weights = np.where(left > threshold, left, 0.0)
        pivot = int(np.searchsorted(np.cumsum(weights), rng.uniform() * weights.sum(), side="right"))
        pivot = min(pivot, pool.size - 1)
        if weights[pivot] <= 0.0:
            pivot = int(np.argmax(weights))
        k = len(chosen)
        column = problem.values(pool, pool[pivot : pivot + 1])[:, 0] - columns[:, :k] @ columns[pivot, :k]
        columns[:, k] = column / np.sqrt(column[pivot])
        left = np.maximum(left - columns[:, k] ** 2, 0.0)
        left[pivot] = 0.0
        chosen.append(pivot)
    landmarks = pool[chosen]
    K = problem.values(landmarks, landmarks)
    for jitter in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        try:
            factor, _ = cho_factor(K + jitter * np.trace(K) * np.eye(len(K)), lower=True, check_finite=False)
            break
        except np.linalg.LinAlgError:
            continue
    return Landmarks(landmarks, np.tril(factor))


def landmark_features(problem: KernelProblem, landmarks: Landmarks) -> Array:
    """Features of all samples, shape (n, m), some rows at a time."""
    features = np.empty((problem.n_samples, landmarks.chosen.size))
    for start in range(0, problem.n_samples, CHUNK_ROWS):
        rows: Any = slice(start, min(problem.n_samples, start + CHUNK_ROWS))
        features[rows] = landmarks.features(problem.values(rows, landmarks.chosen))
    return features
