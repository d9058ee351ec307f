"""Uncertainty sets against sampling, numerical worst cases, finite differences and invariances.

Points are moved by matrix exponentials of generators, and nothing here uses the package's own geometry to judge it.
"""

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import minimize_scalar

from hypermargin import MarginProblem
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall
from hypermargin.problems.linearised import OriginJacobian
from reference.objective import lift, signed_rows

SHAPE = np.array([[0.5, 0.3], [-0.1, 1.0]])
LINEARISED = {
    "box": Box(1.0),
    "cross-polytope": CrossPolytope(1.0),
    "ball": Ball(1.0),
    "ellipsoid": Ellipsoid(SHAPE),
}
NORMALS = {
    "spacelike": [0.3, -1.0, 0.7],
    "steep": [1.2, 1.0, 0.9],
    "lightlike": [-1.0, 0.6, 0.8],
    "timelike": [1.0, 0.2, -0.3],
    "timelike down": [-2.0, 0.5, 0.5],
}


def boost_of(v):
    """The translation by the tangent vector v at the origin, as the exponential of its generator."""
    generator = np.zeros((len(v) + 1, len(v) + 1))
    generator[0, 1:] = generator[1:, 0] = v
    return expm(generator)


def exp_0(v):
    """exp_0 of one vector, by the matrix exponential."""
    return boost_of(v)[:, 0]


def clouds(seed, n=12, d=2, spread=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return lift(spread * rng.normal(size=(n, d)) + 0.4 * y[:, None]), y


def circle(x, rho, angles):
    """Points at distance rho from x in the plane: a circle around the origin, moved there."""
    v = np.arcsinh(np.linalg.norm(x[1:])) * x[1:] / max(np.linalg.norm(x[1:]), 1e-300)
    around = np.column_stack(
        [np.full_like(angles, np.cosh(rho)), np.sinh(rho) * np.cos(angles), np.sinh(rho) * np.sin(angles)]
    )
    return around @ boost_of(v).T


def margin(points, y, w):
    return y * (points[..., 0] * w[0] - points[..., 1:] @ w[1:])


@pytest.mark.parametrize("normal", NORMALS)
@pytest.mark.parametrize("rho", [0.05, 0.6, 2.0])
class TestGeodesicBall:
    def test_is_the_worst_over_sampled_points_of_the_ball(self, normal, rho):
        X, y = clouds(1)
        w = np.array(NORMALS[normal])
        worst = GeodesicBall(rho).worst_margins(X, y, w)
        radii = np.linspace(0.0, rho, 60)
        angles = np.linspace(0.0, 2 * np.pi, 720, endpoint=False)
        for x, label, value in zip(X, y, worst, strict=True):
            found = min(margin(circle(x, r, angles), label, w).min() for r in radii)
            assert value <= found + 1e-12
            assert value == pytest.approx(found, abs=2e-3 * (1 + abs(found)))

    def test_is_the_numerical_worst_case(self, normal, rho):
        """Minimise over the angle, then over the radius, by Brent's method, which knows no formula."""
        X, y = clouds(2, n=6)
        w = np.array(NORMALS[normal])
        worst = GeodesicBall(rho).worst_margins(X, y, w)
        for x, label, value in zip(X, y, worst, strict=True):

            def over_angles(r, x=x, label=label):
                angles = np.linspace(0.0, 2 * np.pi, 90)
                start = angles[np.argmin(margin(circle(x, r, angles), label, w))]
                return minimize_scalar(
                    lambda a: float(margin(circle(x, r, np.array([a])), label, w)[0]),
                    bounds=(start - 0.1, start + 0.1),
                    method="bounded",
                    options={"xatol": 1e-9},
                ).fun

            inner = minimize_scalar(over_angles, bounds=(0.0, rho), method="bounded", options={"xatol": 1e-9}).fun
            assert value == pytest.approx(min(inner, over_angles(rho), over_angles(0.0)), rel=1e-8, abs=1e-8)

    def test_worst_points_lie_in_the_ball_and_attain_the_margin(self, normal, rho):
        X, y = clouds(3)
        w = np.array(NORMALS[normal])
        ball = GeodesicBall(rho)
        points = ball.worst_points(X, y, w)
        product = X[:, 0] * points[:, 0] - np.sum(X[:, 1:] * points[:, 1:], axis=1)
        assert np.all(product <= np.cosh(rho) * (1 + 1e-12))
        np.testing.assert_allclose(points[:, 0] ** 2 - np.sum(points[:, 1:] ** 2, axis=1), 1.0, atol=1e-9)
        np.testing.assert_allclose(margin(points, y, w), ball.worst_margins(X, y, w), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "noise", [GeodesicBall(0.4), *[s.scaled(0.3) for s in LINEARISED.values()]], ids=lambda s: type(s).__name__
)
class TestEverySet:
    def test_covectors_are_supergradients(self, noise):
        """``m(v) <= z'.v`` for all v, with equality at w: concavity and tightness at once."""
        X, y = clouds(4)
        rng = np.random.default_rng(0)
        for w in [*map(np.array, NORMALS.values()), *rng.normal(size=(20, 3))]:
            rows = noise.worst_covectors(X, y, w)
            np.testing.assert_allclose(rows @ w, noise.worst_margins(X, y, w), rtol=1e-12, atol=1e-12)
            for v in rng.normal(size=(30, 3)) * 10.0 ** rng.uniform(-1, 1, size=(30, 1)):
                assert np.all(noise.worst_margins(X, y, v) <= rows @ v + 1e-12 * np.abs(v).sum())

    def test_the_set_of_size_zero_is_the_point(self, noise):
        X, y = clouds(5)
        w = np.array(NORMALS["spacelike"])
        zero = noise.scaled(0.0)
        np.testing.assert_array_equal(zero.worst_margins(X, y, w), signed_rows(X, y) @ w)
        np.testing.assert_array_equal(zero.worst_covectors(X, y, w), signed_rows(X, y))
        np.testing.assert_allclose(zero.worst_points(X, y, w), X, atol=1e-14)

    def test_margins_fall_with_rho(self, noise):
        X, y = clouds(6)
        w = np.array(NORMALS["spacelike"])
        values = [noise.scaled(factor).worst_margins(X, y, w) for factor in (0.0, 0.5, 1.0, 2.0)]
        assert np.all(np.diff(values, axis=0) < 0.0)

    def test_sets_follow_their_samples(self, noise):
        X, y = clouds(7)
        w = np.array(NORMALS["spacelike"])
        sizes = np.linspace(0.1, 0.5, len(y))
        own = type(noise)(np.multiply.outer(sizes, SHAPE)) if isinstance(noise, Ellipsoid) else type(noise)(sizes)
        rows = np.array([7, 2, 5])
        np.testing.assert_array_equal(
            own.take(rows).worst_margins(X[rows], y[rows], w), own.worst_margins(X, y, w)[rows]
        )
        for i in rows:
            alone = own.take([i]).worst_margins(X[[i]], y[[i]], w)
            one = type(noise)(sizes[i] * SHAPE) if isinstance(noise, Ellipsoid) else type(noise)(float(sizes[i]))
            np.testing.assert_allclose(alone, one.worst_margins(X[[i]], y[[i]], w), rtol=1e-14)
        with pytest.raises(ValueError, match="fewer than there are samples"):
            own.take([len(y)])

    def test_worst_points_are_on_the_hyperboloid_even_where_no_direction_is_worse(self, noise):
        X, y = clouds(8, n=4)
        for w in (np.zeros(3), -y[0] * X[0]):
            points = noise.worst_points(X, y, w)
            np.testing.assert_allclose(points[:, 0] ** 2 - np.sum(points[:, 1:] ** 2, axis=1), 1.0, rtol=1e-10)


class TestJacobian:
    @pytest.mark.parametrize("d", [1, 2, 4])
    @pytest.mark.parametrize("length", [1e-3, 0.7, 3.0])
    def test_is_the_derivative_of_the_exponential(self, d, length):
        rng = np.random.default_rng(d)
        v = rng.normal(size=d)
        v *= length / np.linalg.norm(v)
        h = 1e-5
        numerical = np.column_stack([(exp_0(v + h * e) - exp_0(v - h * e)) / (2 * h) for e in np.eye(d)])
        jacobian = OriginJacobian.at(exp_0(v)[None])
        ours = np.column_stack([jacobian.push_forward(e[None])[0] for e in np.eye(d)])
        np.testing.assert_allclose(ours, numerical, atol=1e-8 * np.cosh(length))

    def test_pulls_back_by_its_transpose(self):
        X, _ = clouds(9, d=3)
        rng = np.random.default_rng(1)
        c, z = rng.normal(size=4), rng.normal(size=(len(X), 3))
        jacobian = OriginJacobian.at(X)
        np.testing.assert_allclose(jacobian.push_forward(z) @ c, np.sum(jacobian.pull_back(c) * z, axis=1), rtol=1e-12)

    def test_at_the_origin_it_is_the_identity(self):
        z = np.array([[0.2, -0.4]])
        np.testing.assert_allclose(OriginJacobian.at(np.array([[1.0, 0.0, 0.0]])).push_forward(z), [[0.0, 0.2, -0.4]])


def true_tangent_worst(x, y, w, noise, rho):
    """The worst over ``exp_0(log_0(x) + z)``, z on a fine grid of the boundary of the set, its corners included."""
    share = np.linspace(0.0, 1.0, 401)[:, None]
    if isinstance(noise, Box | CrossPolytope):
        corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1], [1, 1]], dtype=float)
        if isinstance(noise, CrossPolytope):
            corners = np.array([[1, 0], [0, 1], [-1, 0], [0, -1], [1, 0]], dtype=float)
        edge = np.vstack([(1 - share) * a + share * b for a, b in pairwise(corners)])
    else:
        angles = np.linspace(0.0, 2 * np.pi, 3001)
        edge = np.column_stack([np.cos(angles), np.sin(angles)])
        edge = edge @ SHAPE.T if isinstance(noise, Ellipsoid) else edge
    v = np.arcsinh(np.linalg.norm(x[1:])) * x[1:] / np.linalg.norm(x[1:])
    moved = v + rho * edge
    length = np.linalg.norm(moved, axis=1, keepdims=True)
    points = np.column_stack([np.cosh(length), np.sinh(length) / length * moved])
    return margin(points, y, w).min()


@pytest.mark.parametrize("name", LINEARISED)
def test_linearised_sets_approach_the_true_ones_with_order_two(name):
    X, y = clouds(10, n=8)
    w = np.array(NORMALS["spacelike"])
    noise = LINEARISED[name]
    errors = []
    for rho in (0.2, 0.1, 0.05, 0.025):
        linear = noise.scaled(rho).worst_margins(X, y, w)
        true = [true_tangent_worst(x, label, w, noise, rho) for x, label in zip(X, y, strict=True)]
        errors.append(np.max(np.abs(linear - true)))
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.all(np.abs(orders - 2.0) < 0.25), orders


def test_near_the_origin_the_euclidean_ball_is_the_geodesic_one_and_far_out_it_is_larger():
    w = np.array([0.3, -1.0, 0.7])
    one = np.ones(1)
    near, far = lift(np.array([[1e-6, 0.0]])), lift(np.array([[20.0, 0.0]]))
    small = 1e-3
    gap = abs(Ball(small).worst_margins(near, one, w) - GeodesicBall(small).worst_margins(near, one, w))[0]
    assert gap < small**2
    turned = np.array([0.0, 0.0, 1.0])  # across the ray to the point, where exp_0 stretches by sinh(r)/r
    loss = [-(s.worst_margins(far, one, turned))[0] for s in (Ball(small), GeodesicBall(small))]
    assert loss[0] / loss[1] == pytest.approx(20.0 / np.arcsinh(20.0), rel=1e-2)


class TestInvariance:
    """Generators of so(1, 2): a boost and a rotation."""

    L = expm(np.array([[0.0, 0.9, -0.5], [0.9, 0.0, 0.7], [-0.5, -0.7, 0.0]]))
    TURN = expm(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.4], [0.0, -0.4, 0.0]]))

    def change(self, noise, L):
        X, y = clouds(11)
        w = np.array(NORMALS["spacelike"])
        moved = noise.worst_margins(X @ L.T, y, L @ w)
        return np.max(np.abs(moved - noise.worst_margins(X, y, w)))

    def test_the_geodesic_ball_is_invariant(self):
        assert self.change(GeodesicBall(0.3), self.L) < 1e-12

    @pytest.mark.parametrize("name", LINEARISED)
    def test_the_others_depend_on_the_origin(self, name):
        assert self.change(LINEARISED[name].scaled(0.3), self.L) > 1e-2

    def test_only_the_ball_does_not_mind_being_turned(self):
        assert self.change(Ball(0.3), self.TURN) < 1e-12
        assert min(self.change(LINEARISED[name].scaled(0.3), self.TURN) for name in ("box", "cross-polytope")) > 1e-2


def test_an_ellipsoid_of_equal_axes_is_the_ball_and_flat_ones_know_one_direction():
    X, y = clouds(12)
    w = np.array(NORMALS["spacelike"])
    np.testing.assert_allclose(
        Ellipsoid(0.3 * np.eye(2)).worst_margins(X, y, w), Ball(0.3).worst_margins(X, y, w), rtol=1e-13
    )
    turned = np.array([[0.6, -0.8], [0.8, 0.6]])
    np.testing.assert_allclose(
        Ellipsoid(0.3 * turned).worst_margins(X, y, w), Ball(0.3).worst_margins(X, y, w), rtol=1e-13
    )
    flat, cross = Ellipsoid([[0.3, 0.0], [0.0, 0.0]]), CrossPolytope(0.3)
    assert np.all(flat.worst_margins(X, y, w) >= cross.worst_margins(X, y, w) - 1e-15)


class TestValidation:
    @pytest.mark.parametrize("rho", [-0.1, np.nan, np.inf, [[0.1]], [], [0.1, -1.0], 19.0])
    def test_sizes_that_make_no_sense(self, rho):
        with pytest.raises(ValueError, match="rho"):
            GeodesicBall(rho)

    @pytest.mark.parametrize("shape", [np.ones(2), np.ones((2, 3)), [[np.nan, 0.0], [0.0, 1.0]]])
    def test_shapes_that_make_no_sense(self, shape):
        with pytest.raises(ValueError, match="shape"):
            Ellipsoid(shape)

    @pytest.mark.parametrize("noise", [Box([0.1, 0.2]), Ellipsoid(np.eye(3)), Ellipsoid(np.tile(np.eye(2), (5, 1, 1)))])
    def test_sets_that_do_not_fit_the_points(self, noise):
        with pytest.raises(ValueError, match=r"rho must|shape must"):
            MarginProblem(*clouds(0), uncertainty=noise)

    def test_what_is_no_set(self):
        with pytest.raises(TypeError, match=r"uncertainty must be a set such as GeodesicBall\(0.1\), got 0.1"):
            MarginProblem(*clouds(0), uncertainty=0.1)

    def test_points_are_put_on_the_hyperboloid(self):
        X, y = clouds(0)
        rough = X * np.array([1.0 + 1e-9, 1.0, 1.0])
        np.testing.assert_allclose(MarginProblem(rough, y, uncertainty=Box(0.1)).X, X, rtol=1e-15)

    def test_arrays_cannot_be_changed_from_outside(self):
        rho = np.full(3, 0.1)
        ball = GeodesicBall(rho)
        rho[:] = 9.0
        assert np.all(ball.rho == 0.1)
        with pytest.raises(ValueError, match="read-only"):
            ball.rho[0] = 1.0
