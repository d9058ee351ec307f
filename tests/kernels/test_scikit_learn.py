"""The kernels at work in scikit-learn, each in the way its documentation asks for."""

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import PairwiseKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from hypermargin.geometry import lift, move_from_origin
from hypermargin.kernels import HeatKernel, heat_kernel, laplacian_kernel


@pytest.fixture(scope="module")
def clusters():
    """Three clusters at distance 2 from the origin, and a smooth function of the place."""
    rng = np.random.default_rng(0)
    angles = np.repeat([0.0, 2.1, 4.2], 15)
    centres = lift(np.sinh(2.0) * np.column_stack([np.cos(angles), np.sin(angles)]))
    X = np.stack([move_from_origin(lift(0.3 * rng.normal(size=2)), c) for c in centres])
    return X, np.repeat([0, 1, 2], 15), np.arcsinh(X[:, 1])


def test_support_vectors(clusters):
    X, y, _ = clusters
    direct = SVC(kernel=HeatKernel(t=0.5)).fit(X, y)
    gram = SVC(kernel="precomputed").fit(heat_kernel(X, t=0.5), y)
    np.testing.assert_allclose(direct.dual_coef_, gram.dual_coef_)
    assert direct.score(X, y) == 1.0


def test_ridge_regression(clusters):
    X, _, z = clusters
    model = KernelRidge(kernel=HeatKernel(t=1.0), alpha=1e-6).fit(X[::2], z[::2])
    K = heat_kernel(X[::2], t=1.0)
    weights = np.linalg.solve(K + 1e-6 * np.eye(len(K)), z[::2])
    np.testing.assert_allclose(model.predict(X[1::2]), heat_kernel(X[1::2], X[::2], 1.0) @ weights, atol=1e-6)
    assert model.score(X[1::2], z[1::2]) > 0.95


def test_gaussian_processes(clusters):
    X, y, z = clusters
    kernel = PairwiseKernel(metric=laplacian_kernel, gamma=0.5, gamma_bounds="fixed")
    regression = GaussianProcessRegressor(kernel, alpha=1e-3).fit(X[::2], z[::2])
    expected = laplacian_kernel(X[1::2], X[::2], 0.5) @ np.linalg.solve(
        laplacian_kernel(X[::2], gamma=0.5) + 1e-3 * np.eye(len(X[::2])), z[::2]
    )
    np.testing.assert_allclose(regression.predict(X[1::2]), expected, atol=1e-8)
    assert GaussianProcessClassifier(kernel).fit(X[::2], y[::2] == 1).score(X[1::2], y[1::2] == 1) == 1.0


def test_landmarks(clusters):
    X, y, _ = clusters
    model = make_pipeline(Nystroem(HeatKernel(t=1.0), n_components=9, random_state=0), LinearSVC(random_state=0))
    assert model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) == 1.0


def test_principal_components_and_spectral_clusters(clusters):
    X, y, _ = clusters
    Z = KernelPCA(n_components=2, kernel=HeatKernel(t=1.0)).fit_transform(X)
    between = np.var([Z[y == k].mean(axis=0) for k in range(3)], axis=0).sum()
    assert between > 5.0 * np.mean([np.var(Z[y == k], axis=0).sum() for k in range(3)])
    found = SpectralClustering(3, affinity=HeatKernel(t=1.0), random_state=0).fit_predict(X)
    assert adjusted_rand_score(y, found) == 1.0
