"""The relaxation as data: moments of a point, adjoints, and the polynomial that Gram matrices make."""

from math import comb

import numpy as np
import pytest

from hypermargin import MarginProblem, solve
from hypermargin.solvers.paper.dual_weights import Samples
from hypermargin.solvers.paper.frames import Frame, unbounded_frame, whitened_basis
from hypermargin.solvers.paper.moment.relaxation import (
    build_relaxation,
    flatness,
    monomials,
    nearest_semidefinite,
    positions,
    sum_of_squares,
)
from reference.instances import make_instance
from reference.objective import lift

SQRT2 = np.sqrt(2.0)


def relaxation_of(sparse, order=2, taylor=1, n=5, d=2, bounded=True):
    instance = make_instance("overlap", d, n, 1.0, 0)
    problem = MarginProblem(instance.X, instance.y)
    samples = Samples.of(problem)
    frame = unbounded_frame(problem, samples.Z, samples.costs)
    frame = Frame(frame.centre + 0.1, frame.basis, frame.slack_scale, frame.objective_scale)
    built = build_relaxation(
        samples.Z, samples.costs, frame, order=order, taylor=taylor, sparse=sparse, bounded=bounded
    )
    return problem, frame, built


def moments_of_points(relaxation, points):
    """Moments of unit masses: the monomials at one point per group."""
    return np.prod(points[:, None, :] ** relaxation.exponents[None], axis=2)


def group_points(relaxation, v, eta):
    return (
        np.column_stack([np.repeat(v[None], len(eta), axis=0), eta]) if relaxation.n_groups > 1 else np.r_[v, eta][None]
    )


@pytest.mark.parametrize(("m", "degree"), [(1, 4), (3, 4), (4, 2)])
def test_monomials_are_all_there_once_and_found(m, degree):
    exponents = monomials(m, degree)
    assert len(exponents) == comb(m + degree, degree)
    assert len({tuple(row) for row in exponents.tolist()}) == len(exponents)
    assert not exponents[0].any()
    np.testing.assert_array_equal(positions(exponents, exponents), np.arange(len(exponents)))


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("taylor", [1, 3])
def test_at_the_moments_of_a_point_blocks_are_constraint_times_monomials(sparse, taylor):
    """Each block must be a positive multiple of ``g(point) [v][v]'``; g is written out again here."""
    problem, frame, relaxation = relaxation_of(sparse, taylor=taylor)
    rng = np.random.default_rng(1)
    v, eta = rng.normal(size=3), rng.uniform(0.1, 1.0, size=5)
    w, xi = frame.centre + frame.basis @ v, frame.slack_scale * eta
    margins = problem.y * (problem.X[:, 0] * w[0] - problem.X[:, 1:] @ w[1:])
    cubic = -(xi**2) / 2 + SQRT2 * xi**3 / 6 if taylor == 3 else 0.0
    q = w[1:] @ w[1:] - w[0] ** 2
    expected = {
        "moment": np.ones(5),
        "cone": np.full(5, q),
        "slack": eta,
        "margin": margins - 1 + SQRT2 * xi + cubic,
        "slack range": eta * (1 - eta),
        "ball": np.full(5, 1 - v @ v),
    }
    points = group_points(relaxation, v, eta)
    z = moments_of_points(relaxation, points)
    seen = dict.fromkeys(expected, 0)
    for block in relaxation.blocks:
        matrices = block.matrices(z)
        basis = monomials(points.shape[1], relaxation.order)[: block.size]
        for k, group in enumerate(block.groups):
            value = expected[block.name][group if sparse else seen[block.name]]
            column = np.prod(points[group] ** basis, axis=1)
            ratio = matrices[k, 0, 0] / value
            assert 1e-3 < ratio < 1e3
            np.testing.assert_allclose(matrices[k], ratio * value * np.outer(column, column), rtol=1e-9, atol=1e-12)
        seen[block.name] += 1
    total = float(np.sum(relaxation.objective * z)) * frame.objective_scale
    assert total == pytest.approx(0.5 * q + np.sum(xi))


@pytest.mark.parametrize("sparse", [True, False])
def test_the_adjoint_and_the_sos_polynomial(sparse):
    _, _, relaxation = relaxation_of(sparse)
    rng = np.random.default_rng(2)
    grams = []
    for block in relaxation.blocks:
        root = rng.normal(size=(block.copies, block.size, block.size))
        grams.append(root @ root.transpose(0, 2, 1))
    z = rng.normal(size=(relaxation.n_groups, relaxation.n_moments))
    paired = sum(float(np.sum(X * block.matrices(z))) for X, block in zip(grams, relaxation.blocks, strict=True))
    assert np.sum(relaxation.sum_of_squares(tuple(grams)) * z) == pytest.approx(paired)

    proof = sum_of_squares(relaxation, tuple(grams))
    points = group_points(relaxation, rng.uniform(-1, 1, size=3), rng.uniform(0, 1, size=5))
    at = moments_of_points(relaxation, points)
    residual = np.sum((relaxation.objective - relaxation.sum_of_squares(tuple(grams))) * at) - proof.value
    assert abs(residual) <= proof.residual_sum  # the box accounting, at a point of the box


def test_flat_extension_holds_for_a_point_and_fails_for_a_spread():
    _, _, relaxation = relaxation_of(True)
    rng = np.random.default_rng(3)
    v, eta = rng.normal(size=3), rng.uniform(size=5)
    point = moments_of_points(relaxation, group_points(relaxation, v, eta))
    ranks, flat = flatness(relaxation, point)
    assert flat
    assert np.all(ranks == 1)
    many = [moments_of_points(relaxation, rng.normal(size=(5, 4))) for _ in range(60)]
    ranks, flat = flatness(relaxation, np.mean(many, axis=0))
    assert not flat
    assert np.all(ranks == [1, 5, 15])
    ranks, flat = flatness(relaxation, 0.5 * (point + moments_of_points(relaxation, rng.normal(size=(5, 4)))))
    assert flat
    assert np.all(ranks[:, 1:] == 2)


def test_the_frame_moves_with_the_data():
    """Under an isometry L the covectors become Z L^-1, and the frame L times the old one, up to signs."""
    instance = make_instance("overlap", 2, 12, 1.0, 0)
    Z = MarginProblem(instance.X, instance.y).signed_covectors
    boost = np.array([[np.cosh(2.0), np.sinh(2.0), 0.0], [np.sinh(2.0), np.cosh(2.0), 0.0], [0.0, 0.0, 1.0]])
    one, other = whitened_basis(Z, np.ones(12)), whitened_basis(Z @ np.linalg.inv(boost), np.ones(12))
    np.testing.assert_allclose(np.abs(boost @ one), np.abs(other), rtol=1e-8)


def test_negative_eigenvalues_are_set_to_zero():
    X = np.array([[[1.0, 2.0], [2.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]])
    fixed = nearest_semidefinite(X)
    np.testing.assert_allclose(fixed[0], [[1.5, 1.5], [1.5, 1.5]])
    np.testing.assert_array_equal(fixed[1], X[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 2}, r"91 x 91 and 1,820 moments in each of \d+ groups.*max_block=91"),
        ({"order": 3}, r"455 x 455"),
        ({"order": 2, "sparse": False}, r"max_block"),
        ({"loss": "asinh"}, "needs a polynomial loss"),
        ({"loss": "taylor3", "order": 1}, "order must be at least 2"),
        ({"order": 0}, "order must be at least 1"),
        ({"backend": "mosek"}, "unknown backend 'mosek'; the backends are structured, clarabel"),
        ({"order": 1, "library": "no_such_library"}, "not installed"),
        ({"order": 1, "n_jobs": 0}, "n_jobs"),
    ],
)
def test_clear_refusals(options, message):
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], 15)
    problem = MarginProblem(lift(0.5 * rng.normal(size=(30, 10)) + 0.1 * y[:, None]), y)
    with pytest.raises(ValueError, match=message):
        solve(problem, "moment", **options)
