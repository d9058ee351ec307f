"""No negative eigenvalue on configurations that find one where a kernel is not positive definite."""

import numpy as np
import pytest

from hypermargin.geometry import lift, pairwise_distance
from hypermargin.kernels import CoshKernel, DistanceKernel, HeatKernel, LaplacianKernel

KERNELS = [
    *(HeatKernel(t) for t in (0.05, 1.0, 30.0)),
    *(CoshKernel(power) for power in (0.05, 1.0, 7.5)),
    *(LaplacianKernel(gamma) for gamma in (0.02, 1.0, 5.0)),
    DistanceKernel(),
]


def configurations(dim):
    """Regular polygons, stars, trees, clusters, points on a horosphere, far and near ones together."""
    rng = np.random.default_rng(dim)
    angles = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    circle = np.zeros((12, dim))
    circle[:, : min(dim, 2)] = np.column_stack([np.cos(angles), np.sin(angles)])[:, : min(dim, 2)]
    for radius in (0.1, 1.0, 3.0, 8.0):
        yield "polygon", lift(np.vstack([np.sinh(radius) * circle, np.zeros((1, dim))]))
    yield "stars", lift(np.vstack([np.sinh(r) * circle for r in (0.5, 1.0, 2.0, 4.0)]))
    simplex = np.eye(dim) if dim > 1 else np.array([[1.0], [-1.0]])
    yield "cross", lift(np.vstack([np.sinh(r) * s * simplex for r in (1.0, 5.0) for s in (1.0, -1.0)]))
    yield "cloud", lift(rng.normal(size=(80, dim)) * np.exp(rng.uniform(-3.0, 3.0, size=(80, 1))))
    yield "pairs", lift(np.repeat(rng.normal(size=(20, dim)), 2, axis=0) + 1e-5 * rng.normal(size=(40, dim)))


def least_eigenvalue(K, conditional):
    if conditional:  # on coefficients of sum 0
        P = np.eye(len(K)) - 1.0 / len(K)
        K = P @ K @ P
    return np.linalg.eigvalsh(K)[0] / max(1.0, np.abs(K).max())


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 6, 9])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_no_negative_eigenvalue(kernel, dim):
    for name, X in configurations(dim):
        assert least_eigenvalue(kernel(X), kernel.conditional) >= -1e-13 * len(X), name


def test_the_search_finds_one_where_there_is_one():
    """The Gaussian of the distance and the heat kernel of too low a dimension are not positive definite."""
    plane = [X for _, X in configurations(2)]
    assert min(least_eigenvalue(np.exp(-0.1 * pairwise_distance(X) ** 2), False) for X in plane) < -1e-3
    wide = [X for _, X in configurations(9)]

    def three_dimensional(X):
        d = np.maximum(pairwise_distance(X), 1e-12)
        return d / np.sinh(d) * np.exp(-d * d / 120.0)

    assert min(least_eigenvalue(three_dimensional(X), False) for X in wide) < -1e-6
    assert min(least_eigenvalue(pairwise_distance(X), True) for X in plane) < -1e-3  # the sign of -d matters
