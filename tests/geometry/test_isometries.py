"""Isometries: group laws, invariance of the product and of distances, and accuracy for far data.

Moving a point by a computed matrix errs by at most ``(d + 2) eps |L| |x|`` in Euclidean norm (a row of products and a
sum), and so does rounding L; the hyperbolic distance is at most the Euclidean one of the space parts.
"""

import mp_hyperbolic as ref
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hypermargin.geometry import (
    boost,
    distance,
    exp_origin,
    inverse,
    is_isometry,
    lift,
    minkowski_dot,
    move_from_origin,
    move_to_origin,
    origin,
    orthogonal,
    quadratic_form,
    random_isometry,
    rotation,
    transform_normal,
    transform_points,
    translation,
    translation_to_origin,
)


def displacement(L, X):
    """Bound on how far rounding moves the rows of X under L, hyperbolically."""
    return 4 * (X.shape[-1] + 2) * ref.EPS * np.linalg.norm(L, 2) * np.linalg.norm(X, axis=-1)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_boost_takes_the_origin_to_the_point_and_back(dim, rng):
    p = exp_origin(1.5 * rng.standard_normal(dim))
    assert np.allclose(boost(p) @ origin(dim), p, rtol=1e-15, atol=0)
    assert np.allclose(translation_to_origin(p) @ p, origin(dim), rtol=0, atol=4 * dim * ref.EPS * p[0] ** 2)
    q = exp_origin(rng.standard_normal(dim))
    moved = transform_points(p, translation(p, q))
    assert float(distance(moved, q)) <= 100 * ref.EPS * p[0] ** 2 * q[0]


def test_boost_is_a_translation_along_its_axis():
    """Points of the axis move by the length of the boost, others further."""
    p = lift([np.sinh(0.8), 0.0])
    on_axis, off_axis = lift([np.sinh(-2.0), 0.0]), lift([0.0, np.sinh(1.2)])
    assert float(distance(on_axis, transform_points(on_axis, boost(p)))) == pytest.approx(0.8, rel=1e-13)
    # A point at height h over the axis moves by d with sinh(d/2) = cosh(h) sinh(a/2).
    true = 2 * np.arcsinh(np.cosh(1.2) * np.sinh(0.4))
    assert float(distance(off_axis, transform_points(off_axis, boost(p)))) == pytest.approx(true, rel=1e-13)


def test_rotation_turns_its_plane_and_nothing_else():
    x = lift([1.0, 0.0, 2.0])
    turned = rotation(np.pi / 2, dim=3, plane=(1, 2)) @ x
    assert np.allclose(turned, lift([0.0, 1.0, 2.0]), atol=1e-15)
    turned = rotation(np.pi / 2, dim=3, plane=(3, 1)) @ x
    assert np.allclose(turned, lift([2.0, 0.0, -1.0]), atol=1e-15)
    with pytest.raises(ValueError, match="two different space axes between 1 and 2"):
        rotation(0.1, plane=(0, 1))


def test_orthogonal_refuses_other_matrices(rng):
    Q, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    assert is_isometry(orthogonal(Q))
    for bad in (np.ones((2, 2)), np.eye(2, 3), 2 * np.eye(3)):
        with pytest.raises(ValueError, match="square and orthogonal"):
            orthogonal(bad)


@pytest.mark.parametrize("dim", [1, 2, 6])
def test_inverse_is_the_matrix_inverse(dim, rng):
    for radius in (0.0, 1.0, 5.0):
        L = random_isometry(dim, radius, rng)
        assert is_isometry(L)
        assert np.allclose(inverse(L), np.linalg.inv(L), rtol=0, atol=1e-11 * np.linalg.norm(L) ** 3)
        assert np.allclose(inverse(L) @ L, np.eye(dim + 1), rtol=0, atol=20 * ref.EPS * np.linalg.norm(L) ** 2)


def test_is_isometry_says_no():
    assert not is_isometry(2 * np.eye(3))
    assert not is_isometry(-np.eye(3))  # swaps the sheets
    assert not is_isometry(np.eye(3)[:2])
    assert not is_isometry(np.full((3, 3), np.nan))


def test_composition_is_the_product_of_matrices(rng):
    first, second = random_isometry(3, 1.0, rng), random_isometry(3, 2.0, rng)
    X = exp_origin(rng.standard_normal((10, 3)))
    one_by_one = transform_points(transform_points(X, first), second)
    assert np.allclose(transform_points(X, second @ first), one_by_one, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("r", [0.5, 6.0, 15.0])
def test_moves_of_far_points_match_high_precision(dim, r, rng):
    """The error is that of the terms, ``K eps (|xr - pr| + |pr| (|x0 - p0| + 2 sinh^2(d/2))/(1 + p0))``, where sinh^2
    has the relative error of test_metric; never the eps e^(2r) of the matrix product."""
    X = exp_origin(ref.spread_points(rng, 12, dim))
    direction = rng.standard_normal(dim)
    centre = lift(np.sinh(r) * direction / np.linalg.norm(direction))
    neighbours = exp_origin(
        r * direction / np.linalg.norm(direction) + 0.1 * rng.standard_normal((6, dim)) * np.exp(-r)
    )
    X = np.concatenate([X, neighbours])
    p = ref.point(centre)
    for sign, move in ((-1, move_to_origin), (1, move_from_origin)):
        toward = [p[0], *ref.scaled(sign, p[1:])]
        mirror = lift(-sign * centre[1:])
        for x, got in zip(X, move(X, centre), strict=True):
            true = ref.boost_times(toward, ref.point(x))
            d = float(ref.distance(ref.point(x), ref.point(mirror)))
            a, b = np.linalg.norm(x[1:]), np.linalg.norm(centre[1:])
            delta = np.linalg.norm(x[1:] - mirror[1:])
            half = np.sinh(d / 2)
            square_error = half**2 + half * np.sqrt(min(a, b) / max(a, b)) * delta
            terms = delta + b * (abs(x[0] - centre[0]) + 2 * square_error) / (1 + centre[0])
            assert ref.gap(got[1:], true[1:]) <= (dim + 8) * ref.EPS * terms


def test_the_matrix_product_would_fail_for_far_clusters():
    """Two points at radius 15 and distance 1: their images must be at distance 1, one of them at the origin."""
    p, x = lift([np.sinh(15.0), 0.0]), lift([np.sinh(16.0), 0.0])
    assert float(distance(move_to_origin(x, p), origin(2))) == pytest.approx(1.0, abs=1e-9)
    by_matrix = translation_to_origin(p) @ x
    assert abs(np.arccosh(max(1.0, by_matrix[0])) - 1.0) > 1e-6


def test_a_batch_of_points_is_no_point():
    with pytest.raises(ValueError, match="one Lorentz point of shape"):
        boost(np.ones((2, 3)))


vectors = st.integers(1, 4).flatmap(
    lambda d: arrays(np.float64, (4, d), elements=st.floats(-6 / np.sqrt(d), 6 / np.sqrt(d), allow_subnormal=False))
)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(vectors, st.floats(0.0, 4.0), st.integers(0, 2**32 - 1))
def test_isometries_keep_products_and_distances(v, radius, seed):
    rng = np.random.default_rng(seed)
    dim = v.shape[1]
    L = random_isometry(dim, radius, rng)
    X, w = exp_origin(v), rng.standard_normal(dim + 1)
    moved, moved_w = transform_points(X, L), transform_normal(w, L)
    rounding = displacement(L, X)
    assert abs(float(distance(moved[0], moved[1]) - distance(X[0], X[1]))) <= rounding[0] + rounding[1]
    size = np.linalg.norm(L, 2) ** 2 * np.linalg.norm(w)
    assert np.all(
        np.abs(minkowski_dot(moved, moved_w) - minkowski_dot(X, w))
        <= 10 * (dim + 4) * ref.EPS * size * np.linalg.norm(X, axis=1)
    )
    assert abs(quadratic_form(moved_w) - quadratic_form(w)) <= 10 * (dim + 4) * ref.EPS * size * np.linalg.norm(w)
    back = transform_points(moved, inverse(L))
    assert np.all(distance(back, X) <= rounding * (1 + np.linalg.norm(L, 2)))


@settings(derandomize=True, deadline=None, max_examples=80)
@given(vectors)
def test_moving_there_and_back(v):
    X = exp_origin(v)
    there = move_to_origin(X, X[0])
    assert np.array_equal(there[0], origin(v.shape[1]))
    tolerance = 100 * ref.EPS * (there[:, 0] * X[0, 0] + X[:, 0])
    assert np.all(np.linalg.norm(move_from_origin(there, X[0]) - X, axis=1) <= tolerance)
