"""The plane that is shown of a larger space, and the numbers on their way to the page."""

import base64

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import minimize

from hypermargin import HyperbolicSVC
from hypermargin.explorer.encoding import as_json, packed_points
from hypermargin.explorer.plane import best_plane, polar_around
from hypermargin.explorer.shown_model import section_radius
from hypermargin.geometry import distance, exp_origin, move_from_origin, random_isometry
from hypermargin.geometry.lorentz import minkowski_dot
from reference.objective import lift


@pytest.fixture(scope="module")
def flat_cloud():
    """Points of H^5 that lie on a plane through a point away from the origin, up to a little noise; and that plane."""
    rng = np.random.default_rng(5)
    L = random_isometry(5, 1.3, rng)
    inner = np.column_stack([1.2 * rng.normal(size=(300, 2)), np.zeros((300, 3))])
    noise = 0.01 * np.column_stack([np.zeros((300, 2)), rng.normal(size=(300, 3))])
    return lift((exp_origin(inner + noise) @ L.T)[:, 1:]), L


def test_the_shadow_is_the_nearest_point_of_the_plane(flat_cloud):
    X, _ = flat_cloud
    plane = best_plane(X)
    rng = np.random.default_rng(0)
    some = lift(rng.normal(size=(5, 5)))
    shadows = plane.shadow(some)
    for x, y in zip(some, shadows, strict=True):
        best = minimize(
            lambda v, x=x: float(distance(plane.in_space(lift(v[None]))[0], x)), np.zeros(2), method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-14, "maxfev": 4000},
        )  # fmt: skip
        assert distance(plane.in_space(y[None])[0], x) == pytest.approx(best.fun, abs=1e-9)


def test_a_cloud_near_a_plane_is_seen_as_it_is(flat_cloud):
    X, L = flat_cloud
    plane = best_plane(X)
    assert plane.share > 0.999
    shadows = plane.shadow(X)
    np.testing.assert_allclose(distance(shadows[:50], shadows[50:100]), distance(X[:50], X[50:100]), atol=0.05)
    # The points are about as near to it as to the plane that they were made on.
    beside = np.linalg.norm((X @ np.linalg.inv(L).T)[:, 3:], axis=1)
    assert np.mean(distance(plane.in_space(shadows), X) ** 2) < 1.1 * np.mean(np.arcsinh(beside) ** 2)


def test_no_distance_grows_and_traces_keep_their_products():
    rng = np.random.default_rng(1)
    X = lift(1.5 * rng.normal(size=(80, 4)))
    plane = best_plane(X)
    shadows = plane.shadow(X)
    assert np.all(distance(shadows[:40], shadows[40:]) <= distance(X[:40], X[40:]) + 1e-12)
    w = rng.normal(size=5)
    products = minkowski_dot(plane.in_space(shadows), w)
    np.testing.assert_allclose(minkowski_dot(shadows, plane.trace(w)), products, atol=1e-9)


def test_the_disc_that_is_drawn_is_the_part_of_the_certified_ball_in_the_plane():
    """Within it no prediction changes, and every point of the plane within the certified radius is in it."""
    rng = np.random.default_rng(4)
    X = lift(rng.normal(size=(120, 4)) * [1.0, 0.8, 0.4, 0.3])
    y = (X[:, 1] + 0.3 * X[:, 3] > 0.1).astype(int)
    model = HyperbolicSVC().fit(X, y)
    plane = best_plane(X)
    shadows, radius = plane.shadow(X), model.certified_radius(X)
    np.testing.assert_allclose(plane.height(X), distance(plane.in_space(shadows), X), atol=1e-9)
    disc = section_radius(radius, plane.height(X))
    assert np.sum(disc > 0.05) > 30
    for k in np.flatnonzero(disc > 0.05)[:20]:
        angle, share = rng.uniform(0, 2 * np.pi, 40), rng.uniform(0, 2.0, 40)
        around = exp_origin((share * disc[k])[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))
        points = plane.in_space(move_from_origin(around, shadows[k]))
        np.testing.assert_array_equal(distance(points, X[k]) <= radius[k], share <= 1.0)
        assert np.all(model.predict(points[share < 1.0]) == model.predict(X[[k]]))


def test_the_plane_moves_with_the_data(flat_cloud):
    X, _ = flat_cloud
    L = expm(np.block([[np.zeros((1, 1)), np.full((1, 5), 0.3)], [np.full((5, 1), 0.3), np.zeros((5, 5))]]))
    before, after = best_plane(X), best_plane(lift((X @ L.T)[:, 1:]))
    pairs = (slice(0, 40), slice(40, 80))
    first, second = before.shadow(X), after.shadow(lift((X @ L.T)[:, 1:]))
    np.testing.assert_allclose(distance(*(second[p] for p in pairs)), distance(*(first[p] for p in pairs)), atol=1e-8)


def test_in_two_dimensions_nothing_is_changed_and_a_line_stays_one():
    X = lift(np.random.default_rng(0).normal(size=(20, 2)))
    assert best_plane(X).shadow(X) is X
    line = lift(np.linspace(-2.0, 3.0, 15)[:, None])
    plane = best_plane(line)
    shadows = plane.shadow(line)
    np.testing.assert_allclose(shadows[:, 2], 0.0)
    np.testing.assert_allclose(distance(shadows, shadows[0]), distance(line, line[0]), atol=1e-9)
    np.testing.assert_allclose(plane.in_space(shadows), line, atol=1e-9)


def test_angle_and_distance_lead_back():
    rng = np.random.default_rng(2)
    X, Y = lift(3.0 * rng.normal(size=(40, 2))), lift(3.0 * rng.normal(size=(40, 2)))
    angle, far = polar_around(X, Y)
    seen = exp_origin(far[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))
    back = np.stack([move_from_origin(s, x) for s, x in zip(seen, X, strict=True)])
    np.testing.assert_allclose(distance(back, Y), 0.0, atol=1e-7)


def test_far_points_keep_their_place_in_two_floats():
    X = lift(np.sinh(15.0) * np.array([[np.cos(a), np.sin(a)] for a in (0.1, 0.1 + 1e-7, 2.0)]))
    packed = packed_points(X)
    high, low = (
        np.frombuffer(base64.b64decode(packed[name]["data"]), dtype="<f4").reshape(-1, 2) for name in ("high", "low")
    )
    there = lift(high.astype(float) + low.astype(float))
    assert np.max(distance(there, X)) < 1e-7
    assert np.max(distance(lift(high.astype(float)), X)) > 1e-3  # which one float alone would not do


def test_json_cannot_end_its_script():
    text = as_json({"name": "</script><!-- \u2028"})
    assert "<" not in text
    assert "\u2028" not in text
