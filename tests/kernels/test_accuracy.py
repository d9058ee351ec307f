"""Kernel values against 80 digits: near points, far points, and both."""

import mpmath
import numpy as np
import pytest

from hypermargin.geometry import lift, random_isometry, transform_points
from hypermargin.kernels import (
    CoshKernel,
    DistanceKernel,
    HeatKernel,
    LaplacianKernel,
    cosh_kernel,
    distance_kernel,
    heat_kernel,
    laplacian_kernel,
)
from hypermargin.kernels.heat import heat_profile

T, POWER, GAMMA = 0.7, 2.5, 1.3


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(80):
        yield


def exact_distance(x, y):
    xr, yr = ([mpmath.mpf(float(v)) for v in p[1:]] for p in (x, y))
    times = [mpmath.sqrt(1 + sum(v * v for v in p)) for p in (xr, yr)]
    product = times[0] * times[1] - sum(a * b for a, b in zip(xr, yr, strict=True))
    return mpmath.acosh(product) if product > 1 else mpmath.mpf(0)


def exact_heat(S, dim):
    """``(-d/dS)^m exp(-asinh(sqrt S)^2/t)`` over its value at 0, by numerical differentiation in 80 digits."""
    m = max(1, dim // 2)

    def gaussian(s):
        return mpmath.exp(-(mpmath.asinh(mpmath.sqrt(s)) ** 2) / mpmath.mpf(T))

    return mpmath.re(mpmath.diff(gaussian, S, m)) / mpmath.re(mpmath.diff(gaussian, mpmath.mpf(0), m))


def hard_pairs(dim, rng):
    """Pairs 1e-8 apart, pairs at radius 16, nearly the same direction at different radii, the origin, anything."""
    for radius in (0.0, 1e-8, 1e-3, 1.0, 4.0, 10.0, 16.0):
        unit = rng.normal(size=dim)
        unit /= np.linalg.norm(unit)
        x = lift(np.sinh(radius) * unit)
        yield x, lift(x[1:] + 1e-8 * rng.normal(size=dim))
        yield x, lift(x[1:] * (1.0 + 1e-8))
        for apart, other in ((1e-1, 1.0), (1e-4, 1.01), (1e-7, 0.9), (1e-8, 1.0)):
            turned = unit + apart * rng.normal(size=dim)
            yield x, lift(np.sinh(radius * other) * turned / np.linalg.norm(turned))
        turned = rng.normal(size=dim)
        yield x, lift(np.sinh(rng.uniform(0.0, 16.0)) * turned / np.linalg.norm(turned))


@pytest.mark.parametrize("dim", [1, 2, 3, 8])
def test_values_are_right_to_1e_minus_12(dim):
    rng = np.random.default_rng(dim)
    for x, y in hard_pairs(dim, rng):
        d = exact_distance(x, y)
        if d < mpmath.mpf(10) ** -30:  # the same point
            continue
        expected = [(distance_kernel, (), -d), (laplacian_kernel, (GAMMA,), mpmath.exp(-mpmath.mpf(GAMMA) * d))]
        expected.append((cosh_kernel, (POWER,), mpmath.cosh(d) ** -mpmath.mpf(POWER)))
        if dim <= 3:
            expected.append((heat_kernel, (T,), d / mpmath.sinh(d) * mpmath.exp(-d * d / (4 * mpmath.mpf(T)))))
        for kernel, parameters, value in expected:
            assert abs(kernel(x, y, *parameters) - value) <= 1e-13 * abs(value), (kernel.__name__, x, y)


@pytest.mark.parametrize("dim", [3, 4, 5, 7, 10, 11, 21])
def test_the_heat_kernel_of_higher_dimensions_is_the_derivative_it_should_be(dim):
    for d in (1e-6, 1e-3, 0.1, 0.5, 1.0, 1.7, 1.8, 2.5, 5.0, 12.0, 25.0):
        S = mpmath.sinh(mpmath.mpf(d) / 2) ** 2
        value = HeatKernel(T).profile(np.array([float(S)]), dim, np)[0]
        expected = exact_heat(mpmath.mpf(float(S)), dim)  # the profile is asked about the rounded S
        relative, absolute = HeatKernel(T).rounding(dim)
        assert abs(value - expected) <= min(1e-12, relative) * expected + absolute


@pytest.mark.parametrize("exponent", [-5, -10, -20, -80, -130, -145, -155, -165])
def test_near_the_origin_errors_are_within_what_is_claimed(exponent):
    """However local the kernel is: its parameter is that of the distance of the two points."""
    rng = np.random.default_rng(0)
    for apart in (1.0, 1e-4, 1e-12):
        for _ in range(10):
            x = lift(10.0**exponent * rng.normal(size=3))
            y = lift(x[1:] * (1.0 + apart * rng.normal(size=3)))
            with mpmath.workdps(800):
                d = exact_distance(x, y)
                cases = [(LaplacianKernel(float(1 / d)), mpmath.exp(-mpmath.mpf(float(1 / d)) * d))]
                if d > 1e-150:
                    t, power = float(d * d), float(1 / d**2)
                    cases.append((HeatKernel(t), d / mpmath.sinh(d) * mpmath.exp(-d * d / (4 * mpmath.mpf(t)))))
                    cases.append((CoshKernel(power), mpmath.cosh(d) ** -mpmath.mpf(power)))
                for kernel, value in cases:
                    relative, absolute = kernel.rounding(3)
                    assert abs(kernel(x, y) - value) <= relative * value + absolute, (kernel, x, y)
                    assert absolute < 1e-14 or d < 1e-120


@pytest.mark.parametrize(("dim", "t"), [(16, 0.3), (64, 1e-2), (64, 0.3), (128, 10.0)])
def test_the_heat_kernel_of_many_dimensions_is_a_derivative(dim, t):
    """The m-th one of ``exp(-asinh(sqrt S)^2/t)``, by Cauchy's formula on circles within the plane cut at -1."""
    m, n = dim // 2, 600

    def derivative(S):
        circle = ((1 + S) / 2 * turn for turn in turns)
        values = (mpmath.exp(-(mpmath.asinh(mpmath.sqrt(S + z)) ** 2) / t) / z**m for z in circle)
        return mpmath.fsum(values).real

    with mpmath.workdps(150):
        turns = [mpmath.expjpi(mpmath.mpf(2 * k) / n) for k in range(n)]
        at_zero = derivative(mpmath.mpf(0))
        relative, absolute = HeatKernel(t).rounding(dim)
        for S in (1e-3, 0.5, 20.0):
            value, exact = heat_profile(np.array([S]), t, dim, np)[0], derivative(mpmath.mpf(S)) / at_zero
            assert abs(value - exact) <= 0.1 * (relative * exact + absolute)


@pytest.mark.parametrize("dim", [64, 128, 512])
@pytest.mark.parametrize("t", [1e-9, 1e-3, 1.0, 1e6])
def test_the_heat_kernel_overflows_in_no_dimension(dim, t):
    S = np.concatenate([[0.0], np.logspace(-12, 10, 20), [1e150, 1e300]])
    with np.errstate(all="raise", under="ignore"):
        values = heat_profile(S, t, dim, np)
    assert values[0] == pytest.approx(1.0, rel=1e-12)
    assert np.all(values >= 0.0)
    assert np.all(np.diff(values) <= 0.0)


def test_equal_points_have_the_value_of_distance_zero():
    X = lift(np.random.default_rng(0).normal(size=(6, 3)) * np.array([[0.0], [1e-9], [1.0], [1e3], [1e6], [3e6]]))
    for kernel, value in ((HeatKernel(), 1.0), (CoshKernel(), 1.0), (LaplacianKernel(), 1.0), (DistanceKernel(), 0.0)):
        assert np.all(np.diag(kernel(X, X.copy())) == value)


@pytest.mark.parametrize("kernel", [HeatKernel(0.5), CoshKernel(2.0), LaplacianKernel(1.5), DistanceKernel()])
def test_tiles_of_a_large_matrix_fit_together(kernel):
    rng = np.random.default_rng(1)
    X, Y = lift(rng.normal(size=(1300, 2))), lift(rng.normal(size=(2500, 2)))
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    rows = rng.integers(1300, size=40)
    for matrix, other in ((K, X), (kernel(X, Y), Y)):
        expected = np.array([[kernel(X[i], other[j]) for j in range(0, len(other), 97)] for i in rows])
        np.testing.assert_allclose(matrix[np.ix_(rows, np.arange(0, len(other), 97))], expected, rtol=1e-14)


def test_isometries_change_nothing():
    rng = np.random.default_rng(2)
    X = lift(rng.normal(size=(30, 3)))
    moved = transform_points(X, random_isometry(3, 2.0, rng))
    for kernel in (HeatKernel(0.5), CoshKernel(2.0), LaplacianKernel(1.5), DistanceKernel()):
        np.testing.assert_allclose(kernel(moved), kernel(X), atol=1e-12)


def test_a_plane_in_a_space_keeps_its_heat_kernel():
    """H^2 lies in H^3, and so the same three-dimensional kernel serves both; not so in H^5."""
    plane = lift(np.random.default_rng(3).normal(size=(10, 2)))
    in_space = np.column_stack([plane, np.zeros((10, 1))])
    np.testing.assert_array_equal(heat_kernel(in_space, t=0.4), heat_kernel(plane, t=0.4))


def test_torch_gives_the_same_numbers():
    torch = pytest.importorskip("torch")
    X = lift(np.random.default_rng(4).normal(size=(50, 4)))
    for kernel in (HeatKernel(0.5), CoshKernel(2.0), LaplacianKernel(1.5), DistanceKernel()):
        values = kernel(torch.asarray(X), torch.asarray(X[:20]))
        assert isinstance(values, torch.Tensor)
        np.testing.assert_allclose(values.numpy(), kernel(X, X[:20]), rtol=1e-13, atol=1e-15)
    with pytest.raises(ValueError, match="double precision"):
        heat_kernel(torch.asarray(X, dtype=torch.float32))
    with pytest.raises(ValueError, match="not on the hyperboloid"):
        heat_kernel(torch.ones((3, 3), dtype=torch.float64))


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), "wide", True])
def test_parameters_that_make_no_sense_are_refused(value):
    X = lift(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="t of the heat kernel must be a positive number"):
        heat_kernel(X, t=value)


def test_points_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="dimension 2 and Y of dimension 3"):
        heat_kernel(lift(np.zeros((2, 2))), lift(np.zeros((2, 3))))
    with pytest.raises(ValueError, match="row 0"):
        heat_kernel(np.ones((2, 3)))
