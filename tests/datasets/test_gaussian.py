"""The mixture against its definition: logarithms at the origin are Gaussian about the centres."""

import numpy as np
import pytest
from scipy import stats

from hypermargin.datasets import make_gaussian_mixture


def logarithm(X):
    """``log_0`` by the textbook formula, written here anew."""
    direction = X[:, 1:] / np.linalg.norm(X[:, 1:], axis=1, keepdims=True)
    return np.arccosh(X[:, :1]) * direction


@pytest.mark.parametrize(("dim", "scale"), [(2, 0.4), (2, 1.0), (5, 0.7)])
def test_samples_are_isotropic_gaussians_of_the_scale_about_their_centres(dim, scale):
    data = make_gaussian_mixture(3000, 3, dim=dim, scale=scale, random_state=11)
    np.testing.assert_allclose(
        data.X[:, 0] ** 2 - np.sum(data.X[:, 1:] ** 2, axis=1), 1.0, atol=1e-9 * data.X[:, 0].max() ** 2
    )
    residual = (logarithm(data.X) - data.centers[data.y]) / scale
    for k in range(3):
        own = residual[data.y == k]
        for column in own.T:
            assert stats.kstest(column, "norm").pvalue > 1e-3
        assert stats.kstest(np.sum(own**2, axis=1), stats.chi2(dim).cdf).pvalue > 1e-3
        # Bartlett's test: covariance is a multiple of the identity; the chi-square test: that multiple is scale^2.
        determinant = np.linalg.det(np.corrcoef(own.T))
        assert stats.chi2(dim * (dim - 1) / 2).sf(-len(own) * np.log(determinant)) > 1e-3
        low, high = stats.chi2(own.size).interval(0.999)
        assert low < np.sum(own**2) < high


def test_centres_are_standard_normal():
    centers = make_gaussian_mixture(1, 2000, dim=3, random_state=5).centers
    for column in centers.T:
        assert stats.kstest(column, "norm").pvalue > 1e-3


def test_points_are_those_of_the_papers_generator_for_the_same_seed():
    """The paper's code seeds NumPy's global generator, draws all centres, then each class in turn."""
    X, y = make_gaussian_mixture(50, 3, scale=0.6, random_state=7, return_X_y=True)
    rng = np.random.RandomState(7)
    centers = rng.randn(3, 2)
    tangent = np.vstack([0.6 * rng.randn(50, 2) + center for center in centers])
    np.testing.assert_allclose(logarithm(X), tangent, rtol=1e-7, atol=1e-9)
    assert y.tolist() == [0] * 50 + [1] * 50 + [2] * 50


def test_class_sizes_and_centres_can_be_given():
    data = make_gaussian_mixture([3, 8], 2, centers=[[0.0, 0.0], [2.0, 0.0]], scale=0.0, random_state=0)
    assert np.bincount(data.y).tolist() == [3, 8]
    np.testing.assert_allclose(data.X[0], [1.0, 0.0, 0.0])
    np.testing.assert_allclose(data.X[-1], [np.cosh(2.0), np.sinh(2.0), 0.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, "n_samples must be an integer of at least 1"),
        ({"n_samples": [5, 5, 5]}, "2 numbers, one per class"),
        ({"n_classes": 0}, "n_classes must be an integer of at least 1"),
        ({"dim": 1.5}, "dim must be an integer of at least 1"),
        ({"scale": -1.0}, "scale must be a non-negative"),
        ({"scale": float("nan")}, "scale must be a non-negative"),
        ({"centers": [[0.0, 0.0]]}, r"centers must have shape \(2, 2\)"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        make_gaussian_mixture(**options)
