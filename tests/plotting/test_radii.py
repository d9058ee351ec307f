"""Certified discs: circles of the disk against hyperbolic distances, and what is drawn."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators import HyperbolicSVC
from hypermargin.geometry.models import from_lorentz
from hypermargin.plotting import plot_certified_radii
from hypermargin.plotting.radii import geodesic_circles


def poincare_distance(p, q):
    """The textbook formula, which the package does not use."""
    gap = np.sum((p - q) ** 2, axis=-1)
    return np.arccosh(1 + 2 * gap / ((1 - np.sum(p**2, axis=-1)) * (1 - np.sum(q**2, axis=-1))))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_circles_are_at_constant_distance():
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.6, 0.6, size=(20, 2))
    radii = rng.uniform(0.01, 3.0, size=20)
    centres, sizes = geodesic_circles(points, radii)
    angles = np.linspace(0.0, 2 * np.pi, 50)
    around = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for point, rho, centre, size in zip(points, radii, centres, sizes, strict=True):
        np.testing.assert_allclose(poincare_distance(point, centre + size * around), rho, rtol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"center": "mean"}])
def test_discs_touch_the_boundary_and_wrong_ones_are_apart(settings):
    X, y = make_gaussian_mixture(30, 2, scale=1.0, random_state=2, return_X_y=True)
    P = from_lorentz(X, "poincare", 2.0)
    model = HyperbolicSVC(geometry="poincare", curvature=2.0).fit(P, y)
    picture = plot_certified_radii(model, P, y, adversarial=True, **settings)
    correct = int(np.sum(model.predict(P) == y))
    assert len(picture.discs_.get_paths()) == correct
    assert len(picture.wrong_discs_.get_paths()) == len(y) - correct > 0
    line = picture.lines_["exact"].get_xydata()
    for path in (*picture.discs_.get_paths(), *picture.wrong_discs_.get_paths()):
        low, high = path.vertices.min(axis=0), path.vertices.max(axis=0)
        centre, size = (low + high) / 2, (high - low)[0] / 2
        assert np.min(np.linalg.norm(line - centre, axis=1)) == pytest.approx(size, abs=3e-3)
