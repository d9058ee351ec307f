"""Hyperplanes: distances against 50 digits and minimisation, reflections, and the arcs against the hyperboloid."""

import mp_hyperbolic as ref
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar

from hypermargin.geometry import (
    arc_points,
    boundary_arc,
    distance,
    exp_map,
    exp_origin,
    from_lorentz,
    hyperplane_through,
    is_isometry,
    lift,
    minkowski_dot,
    nearest_on_hyperplane,
    project_to_tangent,
    quadratic_form,
    reflect,
    reflection,
    signed_distance,
    tangent_norm,
    to_lorentz,
)


def spacelike(rng, dim):
    wr = rng.standard_normal(dim)
    return np.concatenate([[rng.uniform(-0.99, 0.99) * np.linalg.norm(wr)], wr])


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_signed_distance_matches_high_precision(dim, rng):
    """``x * w`` errs by ``K eps |x| |w|`` and ``q`` by ``K eps |w|^2``; asinh then divides by ``sqrt(1 + z^2)``."""
    X = exp_origin(ref.spread_points(rng, 24, dim))
    for _ in range(5):
        w = spacelike(rng, dim)
        exact_w = ref.exact(w)
        q = -ref.minkowski(exact_w, exact_w)
        for x, got in zip(X, signed_distance(X, w), strict=True):
            z = ref.minkowski(ref.exact(x), exact_w) / ref.mp.sqrt(q)
            size = np.linalg.norm(w)
            error = np.linalg.norm(x) * size / float(ref.mp.sqrt(q)) + abs(float(z)) * size**2 / float(q)
            tolerance = (dim + 8) * ref.EPS * (error / np.hypot(1.0, float(z)) + abs(float(ref.mp.asinh(z))))
            assert abs(got - float(ref.mp.asinh(z))) <= tolerance


def test_signed_distance_is_the_least_distance_to_the_plane(rng):
    """In the plane the boundary is a curve, so its nearest point can be searched for along it."""
    for _ in range(10):
        w, x = spacelike(rng, 2), exp_origin(1.5 * rng.standard_normal(2))
        foot = nearest_on_hyperplane(lift([0.0, 0.0]), w)
        along = np.array([0.0, -w[2], w[1]]) / np.hypot(w[1], w[2])  # tangent to the boundary at the foot

        def far(s, foot=foot, along=along, x=x):
            return float(distance(x, exp_map(foot, s * along)))

        best = minimize_scalar(far, bounds=(-12.0, 12.0), method="bounded", options={"xatol": 1e-10})
        assert abs(float(signed_distance(x, w))) == pytest.approx(best.fun, abs=1e-9)
        assert float(distance(x, nearest_on_hyperplane(x, w))) == pytest.approx(best.fun, abs=1e-9)
        assert np.sign(signed_distance(x, w)) == np.sign(minkowski_dot(x, w))


def test_the_length_of_w_does_not_matter(rng):
    w, X = spacelike(rng, 3), exp_origin(rng.standard_normal((6, 3)))
    for factor in (1e-200, 1e-3, 7.0, 1e200):
        assert np.allclose(signed_distance(X, factor * w), signed_distance(X, w), rtol=1e-13)
        assert np.allclose(reflect(X, factor * w), reflect(X, w), rtol=1e-12)
    assert np.allclose(signed_distance(X, -w), -signed_distance(X, w), rtol=1e-15)


def test_reflection_is_the_mirror(rng):
    """The mirror image of x is at the same distance on the other side, and the foot is half-way."""
    w, X = spacelike(rng, 3), exp_origin(rng.standard_normal((8, 3)))
    image = reflect(X, w)
    assert np.allclose(signed_distance(image, w), -signed_distance(X, w), rtol=1e-11, atol=1e-12)
    foot = nearest_on_hyperplane(X, w)
    assert np.allclose(minkowski_dot(foot, w), 0.0, atol=1e-12)
    assert np.allclose(distance(X, foot), distance(foot, image), rtol=1e-11, atol=1e-12)
    assert np.allclose(distance(X, image), 2 * distance(X, foot), rtol=1e-11, atol=1e-12)
    matrix = reflection(w)
    assert is_isometry(matrix)
    assert np.linalg.det(matrix) == pytest.approx(-1.0, rel=1e-10)
    assert np.allclose(X @ matrix.T, image, rtol=0, atol=1e-12 * image[:, :1])


def test_hyperplane_through_a_point(rng):
    p = exp_origin(rng.standard_normal(3))
    v = np.concatenate([[0.0], rng.standard_normal(3)])
    w = hyperplane_through(p, v)
    assert minkowski_dot(p, w) == pytest.approx(0.0, abs=1e-13)
    assert float(quadratic_form(w)) == pytest.approx(1.0, rel=1e-12)
    step = project_to_tangent(p, v)  # the positive side is where v points, and it leads straight away from the plane
    ahead = exp_map(p, 0.7 * step / tangent_norm(p, step))
    assert float(signed_distance(ahead, w)) == pytest.approx(0.7, rel=1e-12)
    with pytest.raises(ValueError, match="names no hyperplane"):
        hyperplane_through([1.0, 0.0, 0.0], [1.0, 0.0, 0.0])


# -- arcs --------------------------------------------------------------------------------------------------------------

NORMALS = [[0.3, 1.0, 2.0], [-0.9, 0.1, 0.95], [0.0, 1.0, -2.0], [1e-9, 1.0, 0.0], [5.0, -4.0, 4.0], [-0.999999, 1, 0]]


@pytest.mark.parametrize("curvature", [1.0, 2.5])
@pytest.mark.parametrize("level", [0.0, 0.5, -0.3])
@pytest.mark.parametrize("w", NORMALS)
def test_arc_points_lie_on_the_level_set_and_on_the_arc(w, level, curvature):
    points = arc_points(w, 101, level, curvature)
    s = np.sqrt(curvature)
    assert np.all(s * np.linalg.norm(points, axis=1) <= 1.0 + 4 * ref.EPS)
    assert np.allclose(s * np.linalg.norm(points[[0, -1]], axis=1), 1.0, rtol=4 * ref.EPS)  # from infinity to infinity
    X = to_lorentz(points[1:-1], "poincare", curvature)
    q = float(quadratic_form(w))
    # Near the edge a point's coordinates round by eps x0, and x * w with them by eps x0^2 |w|.
    assert np.all(np.abs(minkowski_dot(X, w) - level) <= 50 * ref.EPS * X[:, 0] ** 2 * np.linalg.norm(w) / min(1.0, q))
    arc = boundary_arc(w, level, curvature)
    if arc.is_line:
        assert np.allclose(points @ arc.normal, arc.offset, atol=1e-15)
    else:
        gaps = np.abs(np.linalg.norm(points - arc.center, axis=1) - arc.radius)
        assert np.all(gaps <= 50 * ref.EPS * (arc.radius + np.linalg.norm(arc.center)))


@pytest.mark.parametrize("w", NORMALS[:2])
def test_centre_and_radius_by_a_circle_through_three_points(w):
    """The circle through three points of the boundary made on the hyperboloid, by the classical determinant formula."""
    foot = nearest_on_hyperplane([1.0, 0.0, 0.0], w)
    along = np.array([0.0, -w[2], w[1]]) / np.hypot(w[1], w[2])
    P = from_lorentz(np.array([exp_map(foot, s * along) for s in (-1.0, 0.0, 1.5)]), "poincare")
    centre = np.linalg.solve(2 * (P[1:] - P[0]), np.sum(P[1:] ** 2 - P[0] ** 2, axis=1))
    arc = boundary_arc(w)
    assert not arc.is_line
    assert np.allclose(arc.center, centre, rtol=1e-11)
    assert arc.radius == pytest.approx(float(np.linalg.norm(P[0] - centre)), rel=1e-11)
    # It meets the edge of the disk at right angles.
    assert arc.center @ arc.center == pytest.approx(1.0 + arc.radius**2, rel=1e-13)


def test_straight_lines():
    arc = boundary_arc([0.0, 3.0, -4.0])
    assert arc.is_line
    assert arc.radius == np.inf
    assert np.allclose(arc.normal, [0.6, -0.8])
    assert arc.offset == 0.0
    # A level set at w0 + b = 0 is a straight line too, but not through the origin.
    arc = boundary_arc([1.0, 3.0, -4.0], level=-1.0)
    assert arc.is_line
    assert arc.offset == pytest.approx(0.2)


@pytest.mark.parametrize(("w", "level"), [([2.0, 1.0, 0.5], 2.5), ([-2.0, 1.0, 0.5], -2.5), ([2.0, 2.0, 0.0], 0.5)])
def test_level_sets_of_timelike_and_lightlike_normals_are_circles(w, level):
    points = arc_points(w, 50, level)[1:-1]
    X = to_lorentz(points, "poincare")
    assert np.all(np.abs(minkowski_dot(X, w) - level) <= 50 * ref.EPS * X[:, 0] ** 2 * np.linalg.norm(w))
    assert np.all(np.linalg.norm(points, axis=1) < 1.0)


def test_spheres_in_any_dimension(rng):
    w = spacelike(rng, 4)
    X = nearest_on_hyperplane(exp_origin(rng.standard_normal((20, 4))), w)
    arc = boundary_arc(w)
    assert np.allclose(np.linalg.norm(from_lorentz(X, "poincare") - arc.center, axis=1), arc.radius, rtol=1e-11)


def test_what_is_no_hyperplane_is_refused():
    x = lift([0.0, 0.0])
    for function in (signed_distance, nearest_on_hyperplane, reflect):
        for w in ([1.0, 0.5, 0.5], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]):
            with pytest.raises(ValueError, match="not spacelike"):
                function(x, w)
        with pytest.raises(ValueError, match="one finite normal"):
            function(x, [np.nan, 1.0, 0.0])
    with pytest.raises(ValueError, match="has no points"):
        boundary_arc([1.0, 0.5, 0.5])
    with pytest.raises(ValueError, match="has no points"):
        arc_points([1.0, 0.5, 0.5], level=-3.0)
    with pytest.raises(ValueError, match="w is zero"):
        boundary_arc([0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="w must have 3 entries"):
        arc_points([0.0, 1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="at least 2"):
        arc_points([0.0, 1.0, 0.0], n_points=1)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(
    st.integers(1, 4).flatmap(
        lambda d: st.tuples(
            arrays(np.float64, (3, d), elements=st.floats(-4, 4, allow_subnormal=False)),
            arrays(np.float64, d + 1, elements=st.floats(-1, 1, allow_subnormal=False)),
        )
    )
)
def test_reflection_is_an_involution_and_an_isometry(drawn):
    v, w = drawn
    assume(np.max(np.abs(w)) > 1e-100)
    w = w / np.max(np.abs(w))
    q = float(quadratic_form(w))
    assume(q > 1e-3 * float(w @ w))
    X = exp_origin(v)
    image = reflect(X, w)
    stretch = 1.0 + 2.0 * float(w @ w) / q  # norm of the reflection's matrix
    rounding = 8 * w.size * ref.EPS * stretch * X[:, 0] * float(w @ w) / q
    assert np.all(np.linalg.norm(reflect(image, w) - X, axis=1) <= 4 * stretch * rounding)
    assert abs(float(distance(image[0], image[1]) - distance(X[0], X[1]))) <= rounding[0] + rounding[1]
