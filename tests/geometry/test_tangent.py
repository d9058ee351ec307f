"""Exponential and logarithm against 50-digit arithmetic.

Both are sums of two vectors; each is bounded by the sum of the sizes of its terms times ``K eps``, times the relative
error of the coefficients: that of ``|v|``, which is ``eps |vr|/|v|`` (the tangential part of v is a difference), or
that of ``sinh^2(d/2)`` (see test_metric).
"""

import mp_hyperbolic as ref
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hypermargin.geometry import (
    distance,
    exp_map,
    exp_origin,
    lift,
    log_map,
    log_origin,
    minkowski_dot,
    project_to_tangent,
    tangent_norm,
)


def true_tangent(x, v):
    """The exact tangent vector at x over the space part of v."""
    space = ref.exact(v[1:])
    return [ref.dot(x[1:], space) / x[0], *space]


@pytest.mark.parametrize("dim", [1, 2, 6])
def test_origin_maps_match_high_precision(dim, rng):
    U = ref.spread_points(rng, 24, dim)
    for u, x in zip(U, exp_origin(U), strict=True):
        true = ref.lifted(ref.to_space(ref.exact(u), "tangent"))
        r = np.linalg.norm(u)
        assert ref.gap(x, true) <= (dim + 8) * ref.EPS * (1.0 + r) * float(ref.norm(true))
        back = ref.from_space(ref.exact(x[1:]), "tangent")
        assert ref.gap(log_origin(x), back) <= (dim + 8) * ref.EPS * float(ref.norm(back))


@pytest.mark.parametrize("base", [0.0, 1e-6, 1.0, 6.0, 15.0])
@pytest.mark.parametrize("length", [0.0, 1e-9, 0.5, 6.0, 15.0])
@pytest.mark.parametrize("dim", [2, 4])
def test_exp_at_a_point_matches_high_precision(base, length, dim, rng):
    for _ in range(4):
        direction = rng.standard_normal(dim)
        x = lift(np.sinh(base) * direction / np.linalg.norm(direction))
        v = project_to_tangent(x, np.concatenate([[0.0], rng.standard_normal(dim)]))
        v *= length / tangent_norm(x, v)
        exact_x = ref.point(x)
        exact_v = true_tangent(exact_x, v)
        true = ref.exp(exact_x, exact_v)
        size = float(ref.mp.sqrt(-ref.minkowski(exact_v, exact_v)))
        stretch = np.linalg.norm(v[1:]) / size if size else 1.0
        terms = np.cosh(size) * np.linalg.norm(x[1:]) + (np.sinh(size) / size if size else 1.0) * np.linalg.norm(v[1:])
        assert ref.gap(exp_map(x, v)[1:], true[1:]) <= (dim + 8) * ref.EPS * (1.0 + size * stretch) * terms
        assert float(tangent_norm(x, v)) == pytest.approx(size, rel=(dim + 8) * ref.EPS * stretch)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_log_at_a_point_matches_high_precision(dim, rng):
    X = exp_origin(ref.spread_points(rng, 12, dim))
    for x in X:
        for y in X:
            true = ref.log(ref.point(x), ref.point(y))
            d = float(ref.distance(ref.point(x), ref.point(y)))
            got = log_map(x, y)
            if d == 0.0:
                assert np.array_equal(got, np.zeros(dim + 1))
                continue
            norms = np.linalg.norm(x[1:]), np.linalg.norm(y[1:])
            delta = np.linalg.norm(x[1:] - y[1:])
            relative = 1.0 + np.sqrt(min(norms) / max(norms)) * delta / np.sinh(d / 2)
            terms = (d / np.sinh(d)) * (delta + 2.0 * np.sinh(d / 2) ** 2 * norms[0])
            assert ref.gap(got[1:], true[1:]) <= (dim + 8) * ref.EPS * (1.0 + d) * relative * terms


def test_exp_and_log_of_other_curvatures(rng):
    """At curvature -c lengths are those of curvature -1 over sqrt(c): exp of log is the point, |log| the distance."""
    c = 2.3
    X = exp_origin(0.3 * rng.standard_normal((8, 3)), c)
    assert np.allclose(minkowski_dot(X, X), 1.0 / c, rtol=1e-13)
    v = log_map(X[:4], X[4:], c)
    assert np.allclose(exp_map(X[:4], v, c), X[4:], rtol=0, atol=1e-12)
    assert np.allclose(tangent_norm(X[:4], v, c), distance(X[:4], X[4:], c), rtol=1e-12)
    assert np.allclose(exp_origin(log_origin(X, c), c), X, rtol=1e-13)
    o = np.array([1.0 / np.sqrt(c), 0.0, 0.0, 0.0])
    assert np.allclose(log_map(o, X, c)[:, 1:], log_origin(X, c), rtol=1e-12)


def test_a_vector_that_is_not_tangent_is_refused():
    x = lift([1.0, 0.5])
    with pytest.raises(ValueError, match="v is not tangent at x"):
        exp_map(x, [1.0, 0.0, 0.0])
    assert abs(minkowski_dot(x, project_to_tangent(x, [1.0, 0.0, 0.0]))) < 1e-15


@settings(derandomize=True, deadline=None, max_examples=100)
@given(arrays(np.float64, (2, 3), elements=st.floats(-3, 3, allow_subnormal=False)))
def test_exp_undoes_log(v):
    """Radii up to 5.2, distances up to 10.4: the terms of the sum are at most e^(5.2 + 10.4)/2."""
    x, y = exp_origin(v)
    d = float(distance(x, y))
    tolerance = 200 * ref.EPS * np.cosh(d) * x[0] * (1 + d)
    assert np.linalg.norm(exp_map(x, log_map(x, y)) - y) <= tolerance
    assert tangent_norm(x, log_map(x, y)) == pytest.approx(d, rel=1e-9, abs=1e-12)
