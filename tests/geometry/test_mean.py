"""The Fréchet mean against Newton's method in 50 digits, closed forms and invariances."""

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
    frechet_mean,
    lift,
    log_map,
    move_from_origin,
    origin,
    random_isometry,
    transform_points,
)
from hypermargin.geometry.mean import mean_and_spread


def true_mean(X, weights, start):
    """The mean of the exact points by fixed-point steps in 50 digits, from the double answer on; list of mpf."""
    points = [ref.point(x) for x in X]
    weights = [ref.mp.mpf(float(a)) for a in weights]
    total = ref.mp.fsum(weights)
    mean = ref.point(start)
    longest = max(ref.distance(mean, x) for x in points)
    step = 1 / (1 + longest)  # 1 over a bound of the Hessian, r coth(r) <= 1 + r: every step then contracts
    for _ in range(400):
        direction = [ref.mp.mpf(0)] * len(mean)
        for a, x in zip(weights, points, strict=True):
            direction = ref.plus(direction, ref.scaled(a / total, ref.log(mean, x)))
        mean = ref.lifted(ref.exp(mean, ref.scaled(step, direction))[1:])
        if ref.norm(direction[1:]) < ref.mp.mpf("1e-25"):
            return mean
    raise AssertionError("the reference did not converge")


@pytest.mark.parametrize(
    ("dim", "radius", "n"), [(1, 15.0, 5), (2, 1.0, 6), (2, 15.0, 5), (3, 8.0, 6), (6, 15.0, 6), (2, 1e-6, 4)]
)
def test_mean_matches_high_precision(dim, radius, n, rng):
    """Within ``100 eps (r + 1)`` of the truth: the logarithms, of length up to r, are accurate to a few eps, and the
    Hessian is at least the identity, so an error in the gradient is no larger in the mean."""
    directions = rng.standard_normal((n, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    X = exp_origin(directions * rng.uniform(0.5, 1.0, (n, 1)) * radius)
    weights = rng.uniform(0.1, 2.0, n)
    mean = frechet_mean(X, weights)
    reach = float(np.arccosh(mean[0]))
    true = true_mean(X, weights, mean)
    assert ref.distance(ref.point(mean), true) <= 100 * ref.EPS * (radius * np.cosh(reach) + np.tanh(radius))


def test_mean_of_a_far_cluster(rng):
    """A cluster at radius 15: rounding the coordinates moves points by eps e^15, and the mean no further."""
    centre = lift(np.sinh(15.0) * np.array([0.6, -0.8]))
    X = move_from_origin(exp_origin(0.5 * rng.standard_normal((8, 2))), centre)
    mean = frechet_mean(X)
    true = true_mean(X, np.ones(8), mean)
    assert ref.distance(ref.point(mean), true) <= 8 * ref.EPS * np.exp(15.0)


def test_mean_of_two_points_divides_the_geodesic():
    x, y = exp_origin([1.0, 2.0]), exp_origin([-3.0, 0.5])
    third = exp_map(x, log_map(x, y) / 3.0)
    assert float(distance(frechet_mean([x, y], [2.0, 1.0]), third)) < 1e-13
    far, opposite = lift([np.sinh(15.0), 0.0]), lift([-np.sinh(15.0), 0.0])
    assert float(distance(frechet_mean([far, opposite]), origin(2))) < 1e-14
    assert frechet_mean([far, opposite], [3.0, 1.0])[1] == pytest.approx(np.sinh(7.5), rel=1e-13)


@pytest.mark.parametrize("r", [0.0, 1.0, 15.0])
def test_mean_of_one_point_or_of_copies_is_the_point(r):
    x = lift([0.0, np.sinh(r)])
    assert np.allclose(frechet_mean([x]), x, rtol=4 * ref.EPS, atol=0)
    assert np.allclose(frechet_mean([x, x, x], [0.2, 5.0, 1.0]), x, rtol=4 * ref.EPS, atol=0)


def test_symmetric_stars_are_centred_at_the_origin():
    for r in (1e-8, 1.0, 15.0):
        angles = 2 * np.pi * np.arange(7) / 7
        X = exp_origin(r * np.stack([np.cos(angles), np.sin(angles)], axis=1))
        assert float(distance(frechet_mean(X), origin(2))) <= 20 * ref.EPS * r


def test_weights_are_multiplicities(rng):
    X = exp_origin(2.0 * rng.standard_normal((5, 3)))
    counts = np.array([1, 2, 0, 3, 1])
    assert np.allclose(frechet_mean(X, counts), frechet_mean(np.repeat(X, counts, axis=0)), rtol=1e-13, atol=1e-13)
    assert np.allclose(frechet_mean(X, 1e-9 * counts), frechet_mean(X, counts), rtol=1e-13, atol=1e-13)


def test_bad_input_is_named():
    x = origin(2)
    for weights, message in (
        ([1.0], "must have shape"),
        ([1.0, -1.0], "not negative"),
        ([0.0, 0.0], "not all zero"),
        ([np.nan, 1.0], "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            frechet_mean([x, x], weights)
    with pytest.raises(ValueError, match="non-empty"):
        frechet_mean(np.empty((0, 3)))
    with pytest.raises(ValueError, match="NaN or infinity"):
        frechet_mean([[np.inf, 0.0, 0.0]])


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    st.tuples(st.integers(1, 8), st.integers(1, 4)).flatmap(
        lambda s: arrays(
            np.float64, s, elements=st.floats(-6 / np.sqrt(s[1]), 6 / np.sqrt(s[1]), allow_subnormal=False)
        )
    ),
    st.floats(0.0, 4.0),
    st.integers(0, 2**32 - 1),
)
def test_mean_moves_with_the_data(v, radius, seed):
    """The mean is 1-Lipschitz: rounding that moves no point by more than s moves it by no more than s."""
    rng = np.random.default_rng(seed)
    n, dim = v.shape
    X, weights, L = exp_origin(v), rng.uniform(0.1, 1.0, n), random_isometry(dim, radius, rng)
    moved_first = frechet_mean(transform_points(X, L), weights)
    moved_last = transform_points(frechet_mean(X, weights), L)
    slip = 8 * (dim + 3) * ref.EPS * np.linalg.norm(L, 2) * X[:, 0].max()
    assert float(distance(moved_first, moved_last)) <= 2 * slip


def test_the_spread_is_the_mean_squared_distance(rng):
    X, weights = lift(rng.normal(size=(50, 2))), rng.uniform(0.1, 2.0, size=50)
    mean, spread = mean_and_spread(X, weights)
    assert spread == pytest.approx(np.average(distance(X, mean) ** 2, weights=weights), rel=1e-13)
