"""Data and solvers that the tests of the estimators share."""

import numpy as np
import pytest

from hypermargin import available_methods


def lorentz_blobs(n_classes, n_per_class, seed, dim=2, spread=0.5):
    """Gaussian blobs in the tangent space at the origin, lifted by exp_0 written out here."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=1.2, size=(n_classes, dim))
    v = np.concatenate([centre + spread * rng.normal(size=(n_per_class, dim)) for centre in centres])
    radius = np.linalg.norm(v, axis=1, keepdims=True)
    X = np.hstack([np.cosh(radius), np.sinh(radius) * v / radius])
    y = np.repeat(np.arange(n_classes), n_per_class)
    order = rng.permutation(y.size)
    return X[order], y[order]


@pytest.fixture(scope="session")
def two_blobs():
    return lorentz_blobs(2, 30, seed=1, spread=0.9)


@pytest.fixture(scope="session")
def three_blobs():
    """What the model in `model_of_version_1.npz` was fitted to."""
    return lorentz_blobs(3, 6, seed=4, spread=0.6)


@pytest.fixture(scope="session")
def four_blobs():
    return lorentz_blobs(4, 25, seed=2)


@pytest.fixture(params=[name for name in ("exact", "euclidean") if name in available_methods()])
def solver(request):
    return request.param
