"""Points far out: distances right to rounding at any radius that doubles hold, and hyperplanes with points drawn in."""

import warnings

import mpmath
import numpy as np
import pytest

from hypermargin import (
    HyperbolicClassifierCV,
    HyperbolicForestClassifier,
    HyperbolicKernelSVC,
    HyperbolicKNeighborsClassifier,
    HyperbolicSVC,
)
from hypermargin.data.ingest import RadiusWarning, to_unit
from hypermargin.kernels import distance_kernel, laplacian_kernel

RADII = (20.0, 100.0, 300.0)


def exact_distance(x: np.ndarray, y: np.ndarray) -> mpmath.mpf:
    """The distance of the points with these space parts, to hundreds of digits."""
    with mpmath.workdps(450):
        xs, ys = ([mpmath.mpf(float(value)) for value in point] for point in (x, y))
        times = (mpmath.sqrt(1 + mpmath.fsum(value**2 for value in point)) for point in (xs, ys))
        product = mpmath.fprod(times) - mpmath.fsum(a * b for a, b in zip(xs, ys, strict=True))
        return mpmath.acosh(product)


def far_points(rng: np.random.Generator, radius: float, n: int, d: int = 3) -> np.ndarray:
    """Lorentz points up to this radius, in directions that differ by anything from 1 to 1e-15."""
    around = rng.normal(size=d)
    directions = around / np.linalg.norm(around) + 10.0 ** -rng.uniform(0.0, 15.0, size=(n, 1)) * rng.normal(
        size=(n, d)
    )
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    space = np.sinh(radius - rng.choice([0.0, 1e-6, 1.0, 0.8 * radius], size=(n, 1))) * directions
    return np.column_stack([np.hypot(1.0, np.linalg.norm(space, axis=1)), space])


@pytest.mark.parametrize("radius", RADII)
def test_distances_are_right_to_rounding(radius):
    X = far_points(np.random.default_rng(0), radius, 12)
    found, local = -distance_kernel(X), laplacian_kernel(X, gamma=0.05)
    for i in range(len(X)):
        for j in range(i):
            exact = exact_distance(X[i, 1:], X[j, 1:])
            assert abs(found[i, j] - exact) <= 4e-15 * exact
            assert abs(local[i, j] - mpmath.exp(-0.05 * exact)) <= 1e-13 * mpmath.exp(-0.05 * exact)


@pytest.mark.parametrize("radius", RADII)
def test_neighbours_are_the_nearest(radius):
    X = far_points(np.random.default_rng(1), radius, 25)
    y = np.arange(25) % 3
    model = HyperbolicKNeighborsClassifier(n_neighbors=4).fit(X[:20], y[:20])
    lengths, rows = model.kneighbors(X[20:])
    for query, far, nearest in zip(X[20:], lengths, rows, strict=True):
        exact = [exact_distance(query[1:], x[1:]) for x in X[:20]]
        np.testing.assert_allclose(far, np.sort(np.array(exact, dtype=float))[:4], rtol=1e-14)
        assert sorted(float(exact[row]) for row in nearest) == pytest.approx(far, rel=1e-14)


def test_far_queries_of_near_points_are_answered():
    """The tree of the points near the origin does not resolve where the queries are."""
    rng = np.random.default_rng(2)
    X, queries = far_points(rng, 3.0, 30, d=2), far_points(rng, 200.0, 5, d=2)
    model = HyperbolicKNeighborsClassifier(n_neighbors=2, algorithm="tree").fit(X, np.arange(30) % 2)
    lengths, _ = model.kneighbors(np.concatenate([X[:3], queries]))
    for query, far in zip(queries, lengths[3:], strict=True):
        exact = np.sort([float(exact_distance(query[1:], x[1:])) for x in X])[:2]
        np.testing.assert_allclose(far, exact, rtol=1e-14)
    assert np.all(lengths[:3, 0] == 0.0)


@pytest.fixture(scope="module")
def mercator():
    """Radii up to 41 and angles, as Mercator writes them; the class goes with the angle."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    angle = 2.1 * y + rng.uniform(-0.8, 0.8, 120)
    return np.column_stack([rng.uniform(5.0, 41.0, 120), angle]), y


def test_a_map_of_a_network_is_classified_without_an_option(mercator):
    X, y = mercator
    candidates = {"geodesic": [{"C": 1.0}], "kernel": [{"kernel": "distance", "C": 1.0}], "neighbours": None}
    model = HyperbolicClassifierCV(geometry="polar", candidates=candidates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RadiusWarning)
        assert model.fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("kind", [HyperbolicSVC, HyperbolicForestClassifier])
def test_hyperplanes_see_points_drawn_in_along_their_rays(mercator, kind):
    X, y = mercator
    near = np.column_stack([np.minimum(X[:, 0], 18.0 - 1e-12), X[:, 1]])
    model = kind(geometry="polar", random_state=0)
    count = int(np.sum(X[:, 0] > 18.0))
    with pytest.warns(
        RadiusWarning, match=rf"{count} of 120 points lie at the rim, beyond hyperbolic radius 18 \(rows .* more\)"
    ):
        model.fit(X, y)
    with pytest.warns(RadiusWarning):
        found = model.predict_proba(X)
    np.testing.assert_allclose(
        found, kind(geometry="polar", random_state=0).fit(near, y).predict_proba(near), atol=1e-6
    )


def test_dropping_is_leaving_out(mercator):
    X, y = mercator
    near = X[:, 0] <= 18.0
    with pytest.warns(RadiusWarning, match="left out"):
        model = HyperbolicSVC(geometry="polar", rim="drop").fit(X, y)
    expected = HyperbolicSVC(geometry="polar").fit(X[near], y[near])
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    kernel = HyperbolicKernelSVC(geometry="polar", kernel="distance", rim="drop").fit(X, y)  # which needs no hyperplane
    assert kernel.score(X, y) > 0.95
    with pytest.raises(ValueError, match=r"rim must be one of clip, drop, error, got 'cut'"):
        HyperbolicSVC(rim="cut").fit(X, y)


@pytest.mark.parametrize("geometry", ["poincare", "klein"])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_rounding_may_lead_onto_the_rim_but_not_past_it(geometry, kind):
    directions = np.random.default_rng(0).normal(size=(2000, 5))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    rounded = directions.astype(kind).astype(np.float64)
    norms = np.linalg.norm(rounded, axis=1)
    assert np.any(norms > 1.0)
    points, far = to_unit(rounded, geometry, 1.0)
    outside = np.flatnonzero(norms > 1.0)
    assert np.isin(outside, far).all()
    np.testing.assert_allclose(np.arcsinh(np.linalg.norm(points[far, 1:], axis=1)), 18.0, rtol=1e-9)
    np.testing.assert_allclose(points[far, 1:] / np.sinh(18.0), directions[far], atol=2e-3)
    rounded[7] *= 1.01
    with pytest.raises(ValueError, match="row 7 of X is not inside the unit ball"):
        to_unit(rounded, geometry, 1.0)
