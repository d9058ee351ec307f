"""Distances against 50-digit arithmetic.

Bound: with ``delta = xr - yr`` and smaller and larger norms sigma, rho, the tangential part of ``2 sinh(d/2)`` is off
by at most ``K eps sqrt(sigma/rho) |delta|``, the rest relatively by ``K eps``, so

    |error| <= K eps (d + sqrt(sigma/rho) |delta| / cosh(d/2)),   K = d + 8 as for norms.

The second term is below ``d`` for points side by side and at most ``eps sinh(r)`` otherwise; rounding the
coordinates of the points moves them by ``eps sinh(r)`` as well.
"""

import mp_hyperbolic as ref
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hypermargin.geometry import distance, exp_origin, lift, pairwise_distance


def bound(x, y, d):
    dim = x.shape[-1] - 1
    a, b = np.linalg.norm(x[..., 1:], axis=-1), np.linalg.norm(y[..., 1:], axis=-1)
    small, large = np.minimum(a, b), np.maximum(np.maximum(a, b), 1e-300)
    delta = np.linalg.norm(x[..., 1:] - y[..., 1:], axis=-1)
    return (dim + 8) * ref.EPS * (d + np.sqrt(small / large) * delta / np.cosh(d / 2))


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_distance_of_spread_points_matches_high_precision(dim, rng):
    X = exp_origin(ref.spread_points(rng, 16, dim))
    D = pairwise_distance(X)
    for i, x in enumerate(X):
        for j, y in enumerate(X):
            true = float(ref.distance(ref.point(x), ref.point(y)))
            assert abs(D[i, j] - true) <= bound(x, y, true)


@pytest.mark.parametrize("step", [1e-12, 1e-8, 1e-4, 1e-1])
@pytest.mark.parametrize("r", [0.0, 1e-3, 1.0, 7.0, 15.0])
def test_distance_of_near_points_keeps_its_digits(r, step, rng):
    """At any radius, for steps along the ray, across it and askew; acosh(x * y) would return noise here."""
    ray = np.array([0.6, 0.0, 0.8])
    across = np.array([0.8, 0.0, -0.6])
    x = lift(np.sinh(r) * ray)
    for move in (np.cosh(r) * ray, across, np.cosh(r) * ray + across):
        y = lift(x[1:] + step * move)
        true = float(ref.distance(ref.point(x), ref.point(y)))
        if step > 4 * ref.EPS * x[0]:  # or else rounding y has eaten the step across
            assert true > 0.3 * step
        error = abs(float(distance(x, y)) - true)
        assert error <= bound(x, y, true)
        if r <= 1.0:
            assert error <= 50 * ref.EPS * true


def test_the_naive_formula_would_fail_these_tests():
    x = lift([np.sinh(7.0), 0.0])
    y = lift([np.sinh(7.0), 1e-8])
    true = float(ref.distance(ref.point(x), ref.point(y)))
    naive = np.arccosh(max(1.0, x[0] * y[0] - x[1:] @ y[1:]))
    assert abs(naive - true) > 1e4 * bound(x, y, true)


@pytest.mark.parametrize("r", [1e-9, 0.3, 4.0, 15.0])
def test_antipodes_and_the_origin(r):
    x, y, o = lift([np.sinh(r), 0.0]), lift([-np.sinh(r), 0.0]), lift([0.0, 0.0])
    assert distance(x, y) == pytest.approx(2 * r, rel=1e-14)
    assert distance(x, o) == pytest.approx(r, rel=1e-14)
    assert distance(o, o) == 0.0
    assert distance(x, x) == 0.0


def test_pairwise_is_all_the_distances_and_curvature_scales_them(rng):
    X, Y = exp_origin(rng.standard_normal((4, 2))), exp_origin(rng.standard_normal((3, 2)))
    D = pairwise_distance(X / 2.0, Y / 2.0, curvature=4.0)
    for i in range(4):
        for j in range(3):
            assert D[i, j] == pytest.approx(float(ref.distance(ref.point(X[i]), ref.point(Y[j]))) / 2.0, rel=1e-13)


points = st.integers(1, 4).flatmap(
    lambda d: arrays(np.float64, (3, d), elements=st.floats(-15 / np.sqrt(d), 15 / np.sqrt(d), allow_subnormal=False))
)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(points)
def test_metric_axioms(v):
    x, y, z = exp_origin(v)
    xy, yz, xz = distance(x, y), distance(y, z), distance(x, z)
    assert distance(y, x) == xy
    assert xy >= 0.0
    assert xz <= xy + yz + bound(x, y, xy) + bound(y, z, yz) + bound(x, z, xz)
