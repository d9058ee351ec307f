"""Conversions against 50-digit arithmetic, with the error bounds that conditioning gives.

With ``rho = |p|``: ``xr = 2p/(1 - rho^2)`` has condition number ``1 + 2 rho^2/(1 - rho^2) <= 2 cosh(r)`` (Poincaré),
``k/sqrt(1 - rho^2)`` has ``cosh(r)^2`` (Klein), ``sinh`` has ``1 + r`` (tangent), the half-space and all maps *from*
Lorentz have a small constant. A norm of d numbers rounds by up to ``(d/2 + 1) eps``; ``(d + 8) eps`` covers it and the
rest.
"""

import mp_hyperbolic as ref
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hypermargin.geometry import GEOMETRIES, convert, distance_in, exp_origin, from_lorentz, lift, to_lorentz

DIMS = (1, 2, 3, 7)
CURVATURES = (1.0, 0.25, 3.7)


def condition(geometry, r):
    return {"poincare": 2.0 * np.cosh(r), "klein": np.cosh(r) ** 2, "tangent": 1.0 + r}.get(geometry, 1.0)


def doubles_of(geometry, dim, rng):
    """Coordinates (as doubles, hence exactly known) of points out to radius 15, by the reference."""
    rows = [ref.to_space(ref.exact(v), "tangent") for v in ref.spread_points(rng, 24, dim)]
    return np.array([[float(c) for c in ref.from_space(space, geometry)] for space in rows])


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("geometry", ["poincare", "klein", "halfspace", "tangent"])
def test_to_lorentz_matches_high_precision_out_to_radius_15(geometry, dim, rng):
    coordinates = doubles_of(geometry, dim, rng)
    for row, got in zip(coordinates, to_lorentz(coordinates, geometry), strict=True):
        true = ref.lifted(ref.to_space(ref.exact(row), geometry))
        r = float(ref.mp.acosh(true[0]))
        tolerance = (dim + 8) * ref.EPS * condition(geometry, r)
        assert ref.gap(got[1:], true[1:]) <= tolerance * float(ref.norm(true[1:]))
        assert abs(got[0] - float(true[0])) <= tolerance * float(true[0])


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("geometry", ["poincare", "klein", "halfspace", "tangent"])
def test_from_lorentz_is_accurate_to_a_few_units_in_the_last_place(geometry, dim, rng):
    X = exp_origin(ref.spread_points(rng, 24, dim))
    for row, got in zip(X, from_lorentz(X, geometry), strict=True):
        true = ref.from_space(ref.exact(row[1:]), geometry)
        assert ref.gap(got, true) <= (dim + 8) * ref.EPS * float(ref.norm(true))
        if geometry == "halfspace":  # the height alone too: the rest of a low point is no excuse
            assert abs(got[-1] - float(true[-1])) <= (dim + 8) * ref.EPS * float(true[-1])


@pytest.mark.parametrize("curvature", CURVATURES)
@pytest.mark.parametrize("target", GEOMETRIES)
@pytest.mark.parametrize("source", GEOMETRIES)
def test_each_to_each_keeps_the_point(source, target, curvature, rng):
    """Both ways round at radius up to 10: two conversions' worth of the worse conditioning of the two."""
    X = exp_origin(ref.spread_points(rng, 24, 3, max_radius=10.0))
    start = from_lorentz(X, source, curvature)
    there = convert(start, source, target, curvature)
    back = to_lorentz(there, target, curvature)
    r = np.arccosh(X[:, 0])
    tolerance = 20 * ref.EPS * (condition(source, r) + condition(target, r)) * X[:, 0]
    assert np.all(np.linalg.norm(back - X, axis=1) <= tolerance)


@pytest.mark.parametrize("curvature", CURVATURES)
def test_curvature_sets_the_sizes_the_docstring_says(curvature):
    """A point at distance 2 from the origin in the space of curvature -c, in each model, by the textbook formulas."""
    c, s, d = curvature, np.sqrt(curvature), 2.0
    direction = np.array([0.6, -0.8])
    v = d * direction
    assert np.allclose(
        convert(v, "tangent", "lorentz", c),
        [np.cosh(s * d) / s, *(np.sinh(s * d) / s * direction)],
        rtol=1e-14,
        atol=0,
    )
    assert np.allclose(convert(v, "tangent", "poincare", c), np.tanh(s * d / 2) / s * direction, rtol=1e-14, atol=0)
    assert np.allclose(convert(v, "tangent", "klein", c), np.tanh(s * d) / s * direction, rtol=1e-14, atol=0)
    in_space = np.sinh(s * d) / s * direction
    assert np.allclose(convert(v, "tangent", "hyperboloid", c), in_space, rtol=1e-14, atol=0)
    assert np.allclose(convert(v, "tangent", "lorentz-last", c), [*in_space, np.cosh(s * d) / s], rtol=1e-14, atol=0)
    angle = np.arctan2(-0.8, 0.6)
    assert np.allclose(convert(v, "tangent", "polar", c), [d, angle], rtol=1e-14, atol=0)
    for polar in ([d, *direction], [d, angle + 2.0 * np.pi]):
        assert np.allclose(convert(polar, "polar", "tangent", c), v, rtol=1e-14, atol=0)
    assert np.allclose(from_lorentz(to_lorentz(v, "tangent", c), "polar", c, 3), [d, *direction], rtol=1e-14, atol=0)
    up = convert([0.0, d], "tangent", "halfspace", c)
    assert np.allclose(up, [0.0, np.exp(s * d)], rtol=1e-14, atol=0)
    assert np.allclose(to_lorentz(v, "tangent", c), [np.cosh(s * d), *(np.sinh(s * d) * direction)], rtol=1e-14, atol=0)


@pytest.mark.parametrize("curvature", CURVATURES)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_the_distance_has_the_curvature_asked_for(geometry, curvature):
    """Two sides and the angle between them give the third side by the law of cosines of curvature -c."""
    s = np.sqrt(curvature)
    a, b, angle = 0.7, 1.1, 0.9
    p = np.array([a, 0.0])
    q = b * np.array([np.cos(angle), np.sin(angle)])
    third = np.arccosh(np.cosh(s * a) * np.cosh(s * b) - np.sinh(s * a) * np.sinh(s * b) * np.cos(angle)) / s
    P, Q = convert(p, "tangent", geometry, curvature), convert(q, "tangent", geometry, curvature)
    assert distance_in(P, Q, geometry, curvature) == pytest.approx(third, rel=1e-13)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_the_origin_is_exact_in_every_model(geometry):
    places = {"lorentz": [1.0, 0.0, 0.0], "halfspace": [0.0, 1.0], "lorentz-last": [0.0, 0.0, 1.0]}
    place = places.get(geometry, [0.0, 0.0])
    assert np.array_equal(to_lorentz(place, geometry), [1.0, 0.0, 0.0])
    assert np.array_equal(from_lorentz([1.0, 0.0, 0.0], geometry), place)


@pytest.mark.parametrize("tiny", [1e-15, 1e-11, 1e-6])
def test_halfspace_near_the_origin_keeps_relative_accuracy(tiny):
    """``h^2 - 1`` must not be formed from ``h^2``: the height is 1 + tiny, which is a double exactly known."""
    for row in ([0.0, 1.0 + tiny], [tiny, 1.0 - tiny], [tiny, 1.0]):
        true = ref.to_space(ref.exact(row), "halfspace")
        assert ref.gap(to_lorentz(row, "halfspace")[1:], true) <= 8 * ref.EPS * float(ref.norm(true))


def test_polar_radii_are_read_to_the_last_digit():
    """``sinh(sqrt(c) r)`` at radius 17, where the rounding of ``sqrt(c) r`` alone would cost 17 units."""
    for c in (0.3, 0.7, 2.9):
        r = 17.0 / np.sqrt(c)
        with ref.mp.workdps(50):
            true = float(ref.mp.sinh(ref.mp.sqrt(ref.mp.mpf(c)) * ref.mp.mpf(r)))
        assert np.allclose(to_lorentz([r, 0.6, -0.8], "polar", c)[1:], [0.6 * true, -0.8 * true], rtol=1e-15, atol=0)


def test_halfspace_special_points():
    """Straight up, straight down and along the floor, where the naive 1/(x0 - xd) cancels or the height is tiny."""
    r = 15.0
    up, down = lift([0.0, np.sinh(r)]), lift([0.0, -np.sinh(r)])
    assert from_lorentz(up, "halfspace")[1] == pytest.approx(np.exp(r), rel=1e-15)
    assert from_lorentz(down, "halfspace")[1] == pytest.approx(np.exp(-r), rel=1e-15)
    side = from_lorentz(lift([np.sinh(r), 0.0]), "halfspace")
    assert np.allclose(side, [np.tanh(r), 1.0 / np.cosh(r)], rtol=1e-15, atol=0)


@pytest.mark.parametrize(("geometry", "radius"), [("poincare", 40.0), ("klein", 20.0)])
def test_points_that_would_round_to_the_edge_of_the_ball_are_refused(geometry, radius):
    with pytest.raises(ValueError, match="round to the edge of the ball"):
        from_lorentz(lift([np.sinh(radius), 0.0]), geometry)


def test_unknown_geometry_and_bad_curvature_are_named():
    with pytest.raises(ValueError, match="unknown geometry 'disk'; the geometries are lorentz, poincare"):
        convert([0.0, 0.0], "poincare", "disk")
    for bad in (0.0, -1.0, np.inf, np.nan, "0.7"):
        with pytest.raises(ValueError, match="curvature must be a positive finite number"):
            to_lorentz([0.0, 0.0], "poincare", bad)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.integers(1, 5).flatmap(lambda d: arrays(np.float64, (3, d), elements=st.floats(-6, 6, allow_subnormal=False))),
    st.sampled_from(GEOMETRIES),
    st.floats(0.1, 10.0),
)
def test_round_trip(v, geometry, curvature):
    assume(geometry != "polar" or v.shape[1] > 1)
    v = v / np.maximum(1.0, np.linalg.norm(v, axis=1, keepdims=True) * np.sqrt(curvature) / 15.0)
    X = exp_origin(np.sqrt(curvature) * v)
    back = to_lorentz(from_lorentz(X, geometry, curvature), geometry, curvature)
    r = np.arccosh(X[:, 0])
    assert np.all(np.linalg.norm(back - X, axis=1) <= 20 * ref.EPS * condition(geometry, r) * X[:, 0])
