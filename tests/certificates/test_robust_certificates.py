"""Certificates of robust problems: bounds that hold, and members of the sets checked with fifty digits."""

import json
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

from hypermargin import MarginProblem, Status, solve
from hypermargin.certificates import Certificate, CertificateError
from hypermargin.certificates.members import BallMembers, LinearisedMembers
from hypermargin.certificates.sums import cut_sums
from hypermargin.geometry.isometries import boost
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall, UncertaintySet
from reference.objective import lift

mp.mp.dps = 50

SETS = {
    "geodesic": GeodesicBall(0.2),
    "box": Box(0.2),
    "cross": CrossPolytope(0.2),
    "ball": Ball(0.2),
    "ellipsoid": Ellipsoid([[0.2, 0.1], [0.0, 0.05]]),
}


def clouds(seed, n=30, d=2, spread=0.8):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return lift(spread * rng.normal(size=(n, d)) + 0.5 * y[:, None]), y


def mp_point(x):
    """The point of the hyperboloid above the space coordinates, exactly (to fifty digits)."""
    space = [mp.mpf(float(v)) for v in x[1:]]
    return [mp.sqrt(1 + sum(v * v for v in space)), *space]


def mp_dot(a, b):
    return a[0] * b[0] - sum(u * v for u, v in zip(a[1:], b[1:], strict=True))


def mp_jacobian(x):
    """Columns of the derivative of exp_0 at log_0(x), from the formula ``(cosh r, sinh(r)/r v)`` differentiated."""
    point = mp_point(x)
    length = mp.sqrt(sum(v * v for v in point[1:]))
    r = mp.asinh(length)
    n = [v / length for v in point[1:]]
    columns = []
    for k in range(len(n)):
        across = [length / r * ((j == k) - n[j] * n[k]) for j in range(len(n))]
        columns.append([length * n[k], *[point[0] * n[j] * n[k] + across[j] for j in range(len(n))]])
    return columns


@pytest.mark.parametrize("name", SETS)
class TestBounds:
    def test_hold_at_every_point_tried_and_are_tight(self, name):
        X, y = clouds(0)
        problem = MarginProblem(X, y, uncertainty=SETS[name])
        solution = solve(problem, tol=1e-7)
        bound = solution.certificate.verify(problem)
        assert solution.status is Status.OPTIMAL
        assert bound == solution.lower_bound
        assert 0.0 <= (solution.objective - bound) / solution.objective <= 1e-7
        rng = np.random.default_rng(1)
        for scale in (1e-6, 1e-3, 0.1, 1.0):
            for v in rng.normal(size=(200, 3)):
                assert problem.objective(solution.w + scale * v) >= bound

    def test_of_larger_sets_hold_for_smaller_ones_and_the_reverse(self, name):
        X, y = clouds(1)
        problems = [MarginProblem(X, y, uncertainty=s) for s in (None, SETS[name].scaled(0.5), SETS[name])]
        solutions = [solve(p) for p in problems]
        for solution in solutions:
            for problem, other in zip(problems, solutions, strict=True):
                assert solution.certificate.verify(problem) <= other.objective

    def test_survive_a_file(self, name, tmp_path):
        X, y = clouds(2)
        problem = MarginProblem(X, y, uncertainty=SETS[name])
        certificate = solve(problem).certificate
        certificate.save(tmp_path / "proof.json")
        assert Certificate.load(tmp_path / "proof.json").verify(problem) == certificate.verify(problem)
        assert json.loads((tmp_path / "proof.json").read_text())["points"] == certificate.points.tolist()

    def test_fall_when_the_proof_is_damaged(self, name):
        X, y = clouds(3)
        problem = MarginProblem(X, y, uncertainty=SETS[name])
        solution = solve(problem)
        for damaged in (
            replace(solution.certificate, points=solution.certificate.points + 0.05),
            replace(solution.certificate, threshold=0.5),
        ):
            assert bound_or_nothing(damaged, problem) < solution.lower_bound

    def test_survive_data_far_from_the_origin(self, name):
        X, y = clouds(4)
        far = lift((X @ boost(lift(np.array([40.0, 10.0]))).T)[:, 1:])
        noise = SETS[name] if name == "geodesic" else SETS[name].scaled(0.05)
        solution = solve(MarginProblem(far, y, uncertainty=noise))
        assert solution.status is Status.OPTIMAL

    def test_cut_sums_are_within_their_errors(self, name):
        """Every cut is a sum of exact members: recompute sums with fifty digits from the members that were taken."""
        X, y = clouds(5, n=9)
        problem = MarginProblem(X, y, C=0.7, uncertainty=SETS[name])
        certificate = solve(problem).certificate
        totals, errors = cut_sums(certificate, problem)
        centre = lift(certificate.centre)
        outside = certificate.points @ boost(centre)
        for j, (w, W) in enumerate(zip(certificate.points, outside, strict=True)):
            if not np.any(w[1:]):
                continue
            exact = exact_sum(problem, centre, w, W, certificate.threshold)
            for k in range(4):
                assert abs(exact[k] - mp.mpf(totals[j, k])) <= mp.mpf(errors[j, k])


def bound_or_nothing(certificate, problem):
    try:
        return certificate.verify(problem)
    except CertificateError:
        return -np.inf


def exact_sum(problem, centre, w, W, threshold):
    """Sums of ``c`` and ``c z'`` over the samples below the threshold, of the members that the checker names."""
    noise = problem.uncertainty
    block = (BallMembers if isinstance(noise, GeodesicBall) else LinearisedMembers)(
        problem, centre, slice(None), threshold
    )
    margins = noise.worst_margins(problem.X, problem.y, W)
    chosen = np.flatnonzero(margins < threshold)
    total = [mp.mpf(0)] * (problem.dim + 2)
    if isinstance(noise, GeodesicBall):
        around = np.zeros(chosen.size, dtype=bool)
        A, B = block._coefficients(chosen, block.Z[chosen], W, around)
    else:
        a = (problem.y[:, None] * np.stack([pulled(x, W) for x in problem.X])).T
        steps = block._steps(a, np.max(np.abs(a), axis=0))
    for position, i in enumerate(chosen):
        x = mp_point(problem.X[i])
        if isinstance(noise, GeodesicBall):
            assert quadratic(W) >= 0.0
            p = [A[position] * a + problem.y[i] * B[position] * mp.mpf(float(b)) for a, b in zip(x, W, strict=True)]
        else:
            columns = mp_jacobian(problem.X[i])
            p = [
                x[k] + sum(mp.mpf(float(z)) * c[k] for z, c in zip(steps[:, i], columns, strict=True))
                for k in range(len(x))
            ]
        cost = mp.mpf(float(problem.costs[i]))
        lowered = [p[0], *[-v for v in p[1:]]]
        total[0] += cost
        for k in range(len(p)):
            total[k + 1] += cost * int(problem.y[i]) * lowered[k]
    return total


def pulled(x, W):
    columns = mp_jacobian(x)
    return np.array([float(mp_dot(c, [mp.mpf(float(v)) for v in W])) for c in columns])


def quadratic(w):
    return w[1:] @ w[1:] - w[0] ** 2


class TestBallMembers:
    """``p * p >= 1`` and ``p * x <= cosh(rho)``, which is the convex hull of the ball, with fifty digits."""

    @pytest.mark.parametrize("spread", [0.01, 1.0, 300.0])
    @pytest.mark.parametrize("rho", [0.0, 1e-12, 1e-7, 1e-3, 0.3, 4.0])
    def test_are_members(self, spread, rho):
        X, y = clouds(6, n=12, spread=spread)
        problem = MarginProblem(X, y, uncertainty=GeodesicBall(rho))
        block = BallMembers(problem, np.array([1.0, 0.0, 0.0]), slice(None), np.inf)
        rng = np.random.default_rng(7)
        normals = [
            *rng.normal(size=(6, 3)),
            *(10.0 * X[:2]),
            -X[2],
            X[3] + 1e-9,
            np.array([-1.0, 0.6, 0.8]),
            np.zeros(3),
        ]
        everything = np.arange(12)
        for W in normals:
            for around in (np.zeros(12, dtype=bool), np.ones(12, dtype=bool)):
                A, B = block._coefficients(everything, block.Z, W, around)
                assert np.all(A[B == 0.0] == 1.0)  # the observed point itself
                for i in np.flatnonzero(B):
                    x = mp_point(X[i])
                    p = [
                        mp.mpf(A[i]) * a + int(y[i]) * mp.mpf(B[i]) * mp.mpf(float(b))
                        for a, b in zip(x, W, strict=True)
                    ]
                    assert mp_dot(p, p) >= 1
                    assert p[0] > 0
                    assert mp_dot(p, x) <= mp.cosh(mp.mpf(rho))

    def test_are_nearly_the_worst(self):
        """Members that are safe but far from the worst would prove nothing."""
        X, y = clouds(8, n=40)
        problem = MarginProblem(X, y, uncertainty=GeodesicBall(0.3))
        block = BallMembers(problem, np.array([1.0, 0.0, 0.0]), slice(None), np.inf)
        for W in np.random.default_rng(9).normal(size=(20, 3)):
            _, value, _, _ = block.worst(W, W)
            worst = problem.margins(W) @ problem.costs
            assert value[1:] @ W == pytest.approx(worst, rel=1e-9, abs=1e-9)


class TestLinearisedMembers:
    @pytest.mark.parametrize("name", ["box", "cross", "ball", "ellipsoid"])
    def test_steps_lie_in_their_sets_exactly(self, name):
        X, y = clouds(10, n=20)
        problem = MarginProblem(X, y, uncertainty=SETS[name])
        block = LinearisedMembers(problem, np.array([1.0, 0.0, 0.0]), slice(None), np.inf)
        a = np.random.default_rng(11).normal(size=(2, 20)) * 10.0 ** np.arange(-10, 10)
        rho = mp.mpf(0.2)
        for z in block._steps(a, np.max(np.abs(a), axis=0)).T:
            entries = [mp.mpf(float(v)) for v in z]
            if name == "box":
                assert max(abs(v) for v in entries) <= rho
            elif name == "cross":
                assert sum(abs(v) for v in entries) <= rho
            elif name == "ball":
                assert sum(v * v for v in entries) <= rho**2
            else:  # S^-1 z, up to the rounding of S u that is charged to the error
                u = np.linalg.solve(problem.uncertainty.shape, z)
                assert u @ u <= 1.0


def test_unknown_sets_are_refused():
    class Odd(UncertaintySet):
        worst_margins = worst_covectors = worst_points = None

    X, y = clouds(12)
    certificate = solve(MarginProblem(X, y)).certificate
    with pytest.raises(CertificateError, match="do not know the uncertainty set"):
        certificate.verify(MarginProblem(X, y, uncertainty=Odd(0.1)))


def test_explicit_weights_are_for_the_observed_points():
    """A certificate of weights alone bounds the plain problem; the same bound holds for every robust one."""
    X, y = clouds(13)
    plain = MarginProblem(X, y)
    proof = solve(plain).certificate
    margins = plain.covectors_around(lift(proof.centre)) @ proof.points.T
    counted = np.less(margins.T, proof.threshold)
    duals = np.where(counted, plain.costs / np.sqrt(2.0), 0.0)
    explicit = replace(proof, points=proof.points[:0], duals=duals)
    bound = explicit.verify(plain)
    assert bound == pytest.approx(proof.verify(plain), rel=1e-9)
    assert explicit.verify(replace(plain, uncertainty=GeodesicBall(0.2))) == pytest.approx(bound, rel=1e-9)
