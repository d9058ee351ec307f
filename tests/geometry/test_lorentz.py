"""The Minkowski product and its relatives, against 50-digit arithmetic and the signs of the paper."""

import math

import mp_hyperbolic as ref
import numpy as np
import pytest

from hypermargin.geometry import covector, lift, minkowski_dot, origin, quadratic_form, radius
from hypermargin.geometry.compiled import points as compiled_points
from hypermargin.geometry.lorentz import euclidean_norm, fixed_order_product, is_lifted
from interpreted import load_source


def test_the_sign_is_the_paper_s():
    """``x * w = x0 w0 - xr . wr``: time counts positive, and points have ``x * x = 1``."""
    assert minkowski_dot([2.0, 3.0, 5.0], [7.0, 11.0, 13.0]) == 14 - 33 - 65
    assert quadratic_form([2.0, 3.0, 5.0]) == pytest.approx(9 + 25 - 4)
    assert np.array_equal(covector([2.0, 3.0, 5.0]), [2.0, -3.0, -5.0])


def test_product_broadcasts_as_the_dot_with_the_covector(rng):
    X, W = rng.standard_normal((6, 1, 4)), rng.standard_normal((5, 4))
    expected = np.einsum("iaj,kj->ik", X * [1.0, -1.0, -1.0, -1.0], W)
    assert np.allclose(minkowski_dot(X, W), expected, rtol=1e-14, atol=1e-14)
    assert np.allclose(covector(X)[:, 0] @ W.T, expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("tilt", [0.0, 1e-15, 1e-9, 1e-3, 1.0])
def test_quadratic_form_near_the_light_cone(tilt, rng):
    for _ in range(20):
        wr = rng.standard_normal(3)
        w = np.concatenate([[(1.0 - tilt) * np.linalg.norm(wr)], wr])
        exact = ref.exact(w)
        assert abs(float(-ref.minkowski(exact, exact) - ref.mp.mpf(float(quadratic_form(w))))) <= 8 * ref.EPS * w @ w


@pytest.mark.parametrize("r", [0.0, 1e-12, 1e-4, 1.0, 15.0, 300.0])
def test_lift_and_radius(r):
    space = np.sinh(r) * np.array([0.6, 0.0, -0.8])
    x = lift(space)
    true = ref.mp.sqrt(1 + ref.dot(ref.exact(space), ref.exact(space)))
    assert abs(x[0] - float(true)) <= 4 * ref.EPS * float(true)
    assert np.array_equal(x[1:], space)
    assert float(radius(x)) == pytest.approx(r, rel=8 * ref.EPS)


@pytest.mark.parametrize("size", [1e-140, 1.0, 1e8, 1e140])
def test_euclidean_norm(size, rng):
    for V in (size * rng.standard_normal(3), size * rng.standard_normal((4, 5, 2))[:, ::2]):
        true = [float(ref.mp.sqrt(ref.dot(v, v))) for v in map(ref.exact, V.reshape(-1, V.shape[-1]))]
        assert np.allclose(euclidean_norm(V).ravel(), true, rtol=4 * ref.EPS, atol=0.0)


def test_fixed_order_product_is_the_sum_in_order_bit_for_bit(rng):
    X, M = np.exp(5.0 * rng.standard_normal((9, 5))), rng.standard_normal((5, 4))
    product = fixed_order_product(X, M)
    for i in range(9):
        for j in range(4):
            total = float(X[i, 0]) * float(M[0, j])  # Python's floats are never fused
            for k in range(1, 5):
                total += float(X[i, k]) * float(M[k, j])
            assert product[i, j] == total
    assert np.array_equal(fixed_order_product(X[3:4], M[:, 2:3]), product[3:4, 2:3])


def test_origin():
    assert np.array_equal(origin(3), [1.0, 0.0, 0.0, 0.0])
    assert radius(origin(2)) == 0.0


@pytest.mark.parametrize("d", [1, 2, 5, 40])
def test_time_coordinates_are_the_same_in_any_company(d):
    """Summed in the order of the coordinates without fused operations: by compiled and by interpreted code."""
    rng = np.random.default_rng(d)
    space = rng.normal(size=(300, d)) * np.sinh(rng.uniform(0.0, 17.0, size=(300, 1)))
    expected = []
    for row in space.tolist():
        square = 0.0
        for value in row:
            square += value * value
        expected.append(math.sqrt(1.0 + square))
    points = lift(space)
    assert points[:, 0].tolist() == expected
    assert lift(np.asfortranarray(space))[:, 0].tolist() == expected
    assert [lift(row)[0] for row in space] == expected
    assert is_lifted(points)
    points[7, 0] = np.nextafter(points[7, 0], 2.0 * points[7, 0])
    assert not is_lifted(points)
    (interpreted,) = load_source(compiled_points)
    interpreted.lift_rows(space, points)
    assert points[:, 0].tolist() == expected
