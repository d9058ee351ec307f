"""Certificates of robust problems: bounds that hold, and members of the sets checked with fifty digits.

Members are computed by the compiled kernel, and by its source, interpreted; both have to pass.
"""

import json
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

from hypermargin import MarginProblem, Status, solve
from hypermargin.certificates import CertificateError, SoftMarginCertificate, robust
from hypermargin.certificates.compiled import members as compiled_members
from hypermargin.certificates.frame import FramedSamples
from hypermargin.certificates.robust import Cuts, robust_cut_sums, samples_of
from hypermargin.compilation import is_compiled
from hypermargin.geometry.isometries import boost, frame_entry
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall, UncertaintySet
from interpreted import load_source
from reference.objective import lift

mp.mp.dps = 50

SETS = {
    "geodesic": GeodesicBall(0.2),
    "box": Box(0.2),
    "cross": CrossPolytope(0.2),
    "ball": Ball(0.2),
    "ellipsoid": Ellipsoid([[0.2, 0.1], [0.0, 0.05]]),
}

(PLAIN,) = load_source(compiled_members)
KERNELS = {"kernel": compiled_members, "interpreted": PLAIN}
needs_compiler = pytest.mark.skipif(not is_compiled(compiled_members), reason="the kernel of members is not compiled")


def clouds(seed, n=30, d=2, spread=0.8):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return lift(spread * rng.normal(size=(n, d)) + 0.5 * y[:, None]), y


def far_clouds(seed, n=12, d=2):
    """Points at distances of 8 to 12 from the origin."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(n, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return lift(np.sinh(rng.uniform(8.0, 12.0, size=(n, 1))) * directions), np.where(np.arange(n) % 2 == 0, 1.0, -1.0)


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
        bound = solution.certificate.bound_for(problem)
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
                assert solution.certificate.bound_for(problem) <= other.objective

    def test_survive_a_file(self, name, tmp_path):
        X, y = clouds(2)
        problem = MarginProblem(X, y, uncertainty=SETS[name])
        certificate = solve(problem).certificate
        certificate.save(tmp_path / "proof.json")
        assert SoftMarginCertificate.load(tmp_path / "proof.json").bound_for(problem) == certificate.verify(problem)
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


def bound_or_nothing(certificate, problem):
    try:
        return certificate.bound_for(problem)
    except CertificateError:
        return -np.inf


def mp_vector(values):
    return [mp.mpf(float(v)) for v in values]


def samples_at_the_origin(problem, rows=slice(None)):
    """Samples as the kernel takes them, in the coordinates of the data."""
    return samples_of(FramedSamples(problem, np.zeros(problem.dim)), rows)


def cuts_at(*points, threshold=np.inf):
    origin, points = np.eye(points[0].size)[0], np.array(points)
    return Cuts(points, points, frame_entry(origin), np.zeros(len(points), dtype=np.intp), threshold)


def ball_coefficients(path, problem, W, around):
    """A, B and the error of A of all samples at W; `around` says whether members may be W itself, normalised."""
    sets = samples_at_the_origin(problem).sets
    cosh, sinh = (np.broadcast_to(part, problem.n_samples) for part in (sets.cosh, sets.sinh))
    found = [
        KERNELS[path].ball_member(z, W[None], 0, KERNELS[path].form_bound(W), *own, around, False)
        for z, *own in zip(problem.signed_covectors, cosh, sinh, strict=True)
    ]
    return np.array(found).T


def linearised_steps(path, problem, W):
    """z of all samples at W, shape (n, d); for ellipsoids the u of ``z = rho S u``."""
    steps = []
    for i in range(problem.n_samples):
        room = np.full((3, problem.dim), np.nan)
        KERNELS[path].linearised_sums(samples_at_the_origin(problem, slice(i, i + 1)), cuts_at(W), room)
        steps.append(room[2] if isinstance(problem.uncertainty, Ellipsoid) else room[0])
    return np.array(steps)


def exact_members(path, problem, W):
    """The members at W that the checker names, with fifty digits."""
    noise, points = problem.uncertainty, [mp_point(x) for x in problem.X]
    if isinstance(noise, GeodesicBall):
        A, B, _ = (mp_vector(v) for v in ball_coefficients(path, problem, W, around=False))
        w = mp_vector(W)
        return [
            [A[i] * a + int(problem.y[i]) * B[i] * b for a, b in zip(x, w, strict=True)] for i, x in enumerate(points)
        ]
    found = []
    for x, point, step in zip(problem.X, points, linearised_steps(path, problem, W), strict=True):
        z = mp_vector(step)
        if isinstance(noise, Ellipsoid):
            rho = mp.mpf(noise.rho)
            z = [rho * sum(s * u for s, u in zip(mp_vector(row), z, strict=True)) for row in noise.shape]
        columns = mp_jacobian(x)
        found.append([point[k] + sum(v * c[k] for v, c in zip(z, columns, strict=True)) for k in range(len(point))])
    return found


DATA = {"near": clouds(5, n=9), "far": far_clouds(5, n=9)}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("data", DATA)
def test_cut_sums_are_within_their_errors_of_sums_of_members(name, data, monkeypatch):
    X, y = DATA[data]
    problem = MarginProblem(X, y, C=0.7, uncertainty=SETS[name])
    monkeypatch.setattr(robust, "BLOCK", 4)
    points = np.vstack([np.random.default_rng(6).normal(size=(3, 3)), X[2], [1.0, 0.0, 0.0]])
    if name == "geodesic":
        points[3] = X[2] - [0.9 * X[2, 0], 0.0, 0.0]  # spacelike: members are not W itself
    certificate = replace(solve(MarginProblem(*clouds(5, n=9))).certificate, points=points, threshold=1e300)
    certificate = replace(certificate, centre=np.zeros(2))
    totals, errors, _ = robust_cut_sums(certificate, problem)
    costs = mp_vector(problem.costs)
    for j, W in enumerate(points):
        members = exact_members("kernel", problem, W) if j < 4 else [mp_point(x) for x in X]
        signed = [[int(v) * p[0], *[-int(v) * q for q in p[1:]]] for v, p in zip(y, members, strict=True)]
        exact = [sum(costs), *[sum(c * z[k] for c, z in zip(costs, signed, strict=True)) for k in range(3)]]
        assert np.all(errors[j, 1:] <= 1e-12 * problem.costs[0] * 9 * X.max())
        for k in range(4):
            assert abs(exact[k] - mp.mpf(totals[j, k])) <= mp.mpf(errors[j, k])


def test_errors_of_large_noise_are_charged():
    """Steps across the rays to all points, so large that the rounding of their parts along the rays shows."""
    lengths = np.sinh(np.random.default_rng(20).uniform(0.1, 6.0, size=9))
    X, y = lift(lengths[:, None] * np.array([0.6, 0.8])), np.where(np.arange(9) % 2 == 0, 1.0, -1.0)
    problem = MarginProblem(X, y, uncertainty=Ball(1e4))
    W = np.array([0.0, -0.8, 0.6])
    samples = samples_at_the_origin(problem)
    counts, values, _, errors = compiled_members.linearised_sums(samples, cuts_at(W, threshold=1e300))
    exact = sum(
        v * p[0] * mp.mpf(float(c))
        for v, p, c in zip(y, exact_members("kernel", problem, W), problem.costs, strict=True)
    )
    assert counts[0].sum() == 9
    assert 1e-13 * X.max() <= abs(exact - mp.mpf(values[0, 1])) <= mp.mpf(errors[0, 1])


@pytest.mark.parametrize("path", KERNELS)
class TestBallMembers:
    """``p * p >= 1`` and ``p * x <= cosh(rho)``, which is the convex hull of the ball, with fifty digits."""

    def judge(self, path, problem, W, around):
        """Check the members at W; the number of those that are not the observed points."""
        A, B, error = ball_coefficients(path, problem, W, around)
        bound, w = mp.cosh(mp.mpf(problem.uncertainty.rho)), mp_vector(W)
        for i in range(problem.n_samples):
            x, b = mp_point(problem.X[i]), mp.mpf(B[i])
            m, q = int(problem.y[i]) * mp_dot(x, w), -mp_dot(w, w)
            # p = a x + y B W has p * x = a + B m and p * p = (a + B m)^2 - B^2 (q + m^2): which a are possible?
            least, most = mp.sqrt(1 + b * b * (q + m * m)) - b * m, bound - b * m
            assert least <= most
            assert mp.mpf(A[i]) - mp.mpf(error[i]) <= most
            assert mp.mpf(A[i]) + mp.mpf(error[i]) >= least
        return np.count_nonzero(B)

    @pytest.mark.parametrize("spread", [0.01, 1.0, 300.0, "far"])
    @pytest.mark.parametrize("rho", [0.0, 1e-12, 1e-7, 1e-3, 0.3, 4.0, 18.0])
    def test_are_members(self, path, spread, rho):
        X, y = far_clouds(6) if spread == "far" else clouds(6, n=12, spread=spread)
        problem = MarginProblem(X, y, uncertainty=GeodesicBall(rho))
        rng = np.random.default_rng(7)
        normals = [
            *rng.normal(size=(6, 3)),
            *(10.0 * X[:2]),
            -X[2],
            X[3] + 1e-9,
            X[4] * (1.0 + 1e-12 * rng.normal(size=3)),
            X[5] * (1.0 + 1e-6 * rng.normal(size=3)),
            -X[6] * (1.0 + 1e-9 * rng.normal(size=3)),
            1e-120 * rng.normal(size=3),
            1e120 * rng.normal(size=3),
            np.array([-1.0, 0.6, 0.8]),
            np.zeros(3),
        ]
        moved = sum(self.judge(path, problem, W, around) for W in normals for around in (False, True))
        assert (moved > 100) == (rho > 0.0)

    def test_are_members_where_squares_underflow(self, path):
        y = np.array([1.0, -1.0, 1.0])
        X = lift(np.array([[1.3e-162, 0.4e-162], [-2e-161, 1e-161], [0.3, 0.1]]))
        problem = MarginProblem(X, y, uncertainty=GeodesicBall(0.5))
        normals = [
            np.array([1.0, 0.0, 0.0]),
            np.array([-1.0, 0.0, 1.7e-162]),
            1.7e-162 * np.array([1.0, 3.0, -2.0]),
            1.7e-162 * np.array([3.0, 1.1, 0.3]),
            1e-161 * np.array([1.0, 0.3, 1.3]),
        ]
        with mp.workdps(700):
            for W in normals:
                for around in (False, True):
                    self.judge(path, problem, W, around)

    def test_are_nearly_the_worst(self, path):
        """Members that are safe but far from the worst would prove nothing."""
        X, y = clouds(8, n=40)
        problem = MarginProblem(X, y, uncertainty=GeodesicBall(0.3))
        for W in np.random.default_rng(9).normal(size=(20, 3)):
            m, inside = problem.signed_covectors @ W, problem.margins(W) == np.sqrt(max(-quadratic(W), 0.0))
            (A, B, _), (in_A, in_B, _) = (ball_coefficients(path, problem, W, around) for around in (False, True))
            reached = np.where(inside, in_A * m - in_B * quadratic(W), A * m - B * quadratic(W))
            np.testing.assert_allclose(reached, problem.margins(W), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("path", KERNELS)
@pytest.mark.parametrize("name", ["box", "cross", "ball", "ellipsoid"])
class TestLinearisedMembers:
    def judge(self, path, problem, W):
        """z is in its set exactly; for ellipsoids, u in the unit ball."""
        noise = problem.uncertainty
        rho = mp.mpf(noise.rho)
        for step in linearised_steps(path, problem, W):
            entries = mp_vector(step)
            if isinstance(noise, Box):
                assert max(abs(v) for v in entries) <= rho
            elif isinstance(noise, CrossPolytope):
                assert sum(abs(v) for v in entries) <= rho
            elif isinstance(noise, Ball):
                assert sum(v * v for v in entries) <= rho**2
            else:
                assert sum(v * v for v in entries) <= 1

    @pytest.mark.parametrize("rho", [1e-9, 0.2, 7.0])
    @pytest.mark.parametrize("data", ["near", "far", "three dimensions"])
    def test_steps_lie_in_their_sets_exactly(self, path, name, rho, data):
        X, y = far_clouds(10) if data == "far" else clouds(10, n=12, d=2 if data == "near" else 3)
        d = X.shape[1] - 1
        noise = Ellipsoid(np.tril(np.full((d, d), 0.3)), rho) if name == "ellipsoid" else replace(SETS[name], rho=rho)
        problem = MarginProblem(X, y, uncertainty=noise)
        rng = np.random.default_rng(11)
        for W in (*rng.normal(size=(4, d + 1)), X[1], -X[2], X[3] * (1.0 + 1e-9 * rng.normal(size=d + 1))):
            for scale in (1e-160, 1.0, 1e100):
                self.judge(path, problem, scale * W)

    def test_steps_lie_in_their_sets_where_squares_underflow(self, path, name):
        X = lift(np.array([[0.0, 0.0], [1e-162, -3e-162], [1.0, 0.3]]))
        problem = MarginProblem(X, np.array([1.0, -1.0, 1.0]), uncertainty=SETS[name])
        for size in (1e-162, 1e-170, 1e-300, 5e-324):
            self.judge(path, problem, np.array([1.0, 3.0 * size, -2.0 * size]))
            self.judge(path, problem, np.array([size, 3.0 * size, -2.0 * size]))

    def test_steps_are_the_worst(self, path, name):
        X, y = clouds(14, n=12)
        problem = MarginProblem(X, y, uncertainty=SETS[name])
        for W in np.random.default_rng(15).normal(size=(5, 3)):
            steps = linearised_steps(path, problem, W)
            if name == "ellipsoid":
                steps = steps @ problem.uncertainty.shape.T
            pulls = np.array([pulled(x, W) for x in X])
            reached = problem.signed_covectors @ W + y * np.sum(pulls * steps, axis=1)
            np.testing.assert_allclose(reached, problem.margins(W), rtol=1e-9, atol=1e-9)


def pulled(x, W):
    return np.array([float(mp_dot(c, mp_vector(W))) for c in mp_jacobian(x)])


def quadratic(w):
    return w[1:] @ w[1:] - w[0] ** 2


def mixed_problems():
    """Sizes, shapes and costs that differ from sample to sample, in one, two and five dimensions."""
    for d in (1, 2, 5):
        X, y = clouds(16 + d, n=41, d=d)
        rng = np.random.default_rng(d)
        rho, weights = rng.uniform(0.0, 0.4, size=41), rng.uniform(0.0, 2.0, size=41)
        shapes = 0.2 * rng.normal(size=(41, d, d))
        for noise in (
            *(kind(size) for kind in (GeodesicBall, Box, CrossPolytope, Ball) for size in (0.2, rho)),
            Ellipsoid(shapes[0]),
            Ellipsoid(shapes[1], rho),
            Ellipsoid(shapes, rho),
        ):
            yield MarginProblem(X, y, C=0.7, uncertainty=noise, sample_weight=weights)


def some_certificate(problem, seed):
    """A certificate with random points, of all kinds, in a frame away from the origin."""
    rng = np.random.default_rng(seed)
    X, y = clouds(seed, n=4, d=problem.dim)
    points = np.vstack([rng.normal(size=(6, problem.dim + 1)), np.eye(problem.dim + 1)[:1], 2.0 * X[:1], -X[1:2]])
    return replace(solve(MarginProblem(X, y)).certificate, points=points, centre=0.3 * rng.normal(size=problem.dim))


@needs_compiler
def test_without_a_compiler_the_sums_are_the_same(monkeypatch):
    monkeypatch.setattr(robust, "BLOCK", 16)
    for seed, problem in enumerate(mixed_problems()):
        certificate = some_certificate(problem, seed)
        compiled = robust_cut_sums(certificate, problem)
        with monkeypatch.context() as patch:
            patch.setattr(robust, "members", PLAIN)
            for ours, plain in zip(compiled, robust_cut_sums(certificate, problem), strict=True):
                np.testing.assert_array_equal(ours, plain)


def test_samples_are_taken_where_their_worst_margin_is_below_the_threshold():
    for seed, problem in enumerate(mixed_problems()):
        certificate = replace(some_certificate(problem, seed), threshold=0.8, centre=np.zeros(problem.dim))
        totals, *_ = robust_cut_sums(certificate, problem)
        for total, w in zip(totals, certificate.points, strict=True):
            observed = not np.any(w[1:])
            margins = problem.signed_covectors @ w if observed else problem.margins(w)
            assert total[0] == pytest.approx(problem.costs @ (margins < 0.8), rel=1e-12)


def test_unknown_sets_are_refused():
    class Odd(UncertaintySet):
        worst_margins = worst_covectors = worst_points = None

    X, y = clouds(12)
    certificate = solve(MarginProblem(X, y)).certificate
    with pytest.raises(CertificateError, match="do not know the uncertainty set"):
        certificate.bound_for(MarginProblem(X, y, uncertainty=Odd(0.1)))


def test_explicit_weights_are_for_the_observed_points():
    """A certificate of weights alone bounds the plain problem; the same bound holds for every robust one."""
    X, y = clouds(13)
    plain = MarginProblem(X, y)
    proof = solve(plain).certificate
    margins = plain.covectors_around(lift(proof.centre)) @ proof.points.T
    counted = np.less(margins.T, proof.threshold)
    duals = np.where(counted, plain.costs / np.sqrt(2.0), 0.0)
    explicit = replace(proof, points=proof.points[:0], duals=duals)
    bound = explicit.bound_for(plain)
    assert bound == pytest.approx(proof.bound_for(plain), rel=1e-9)
    assert explicit.bound_for(replace(plain, uncertainty=GeodesicBall(0.2))) == pytest.approx(bound, rel=1e-9)


class TestConeCuts:
    """Cuts at points inside the light cone, which hold for spacelike normals only."""

    def proof(self, problem, seed=0):
        proof = some_certificate(problem, seed)
        inside = np.random.default_rng(seed).normal(size=(8, problem.dim + 1)) * [3.0, *[0.5] * problem.dim]
        return replace(proof, points=np.vstack([proof.points, inside]), cone_cuts=True)

    @pytest.mark.parametrize("rho", [0.0, 1e-9, 0.3, 16.0])
    @pytest.mark.parametrize("data", [clouds, far_clouds])
    @pytest.mark.parametrize("precise", [False, True])
    def test_bound_the_worst_margins_of_spacelike_normals(self, precise, data, rho):
        """The sums in fifty digits: less their errors they are below the risk of all v with ``q >= 0``."""
        X, y = data(3, n=6)
        problem = MarginProblem(X, y, sample_weight=np.arange(1.0, 7.0), uncertainty=GeodesicBall(rho))
        proof = replace(self.proof(problem), precise=precise)
        totals, errors, _ = robust_cut_sums(proof, problem)
        points = [mp_point(x) for x in X]
        moved = [_mp_boosted(p, -proof.centre) for p in points]
        rng = np.random.default_rng(1)
        for total, error in zip(totals.tolist(), errors.tolist(), strict=True):
            for v in rng.normal(size=(20, 3)).tolist():
                scale = mp.mpf(10) ** rng.integers(-6, 3)
                space = [scale * mp.mpf(u) for u in v[1:]]
                longest = mp.sqrt(mp.fdot(space, space))
                v = [max(-longest, min(longest, scale * mp.mpf(v[0]))), *space]
                q = mp.fdot(space, space) - v[0] ** 2
                risk = mp.mpf(0)
                for x, label, cost in zip(moved, y, problem.costs, strict=True):
                    m = int(label) * mp_dot(x, v)
                    worst = mp.cosh(rho) * m - mp.sinh(rho) * mp.sqrt(max(q, 0) + m * m)
                    risk += mp.mpf(float(cost)) * max(0, 1 - worst)
                cut = (
                    total[0]
                    - error[0]
                    - sum((s + e if u > 0 else s - e) * u for s, e, u in zip(total[1:], error[1:], v, strict=True))
                )
                assert cut <= risk * (1 + mp.mpf(10) ** -30)

    @pytest.mark.parametrize(
        "noise",
        [Box(1e-9), Box(0.3), CrossPolytope(0.9), Ball(0.4), Ball(1.6), Ball([0.0, 0.1, 0.2, 3.0, 0.5, 1.0])],
        ids=lambda noise: f"{type(noise).__name__}-{np.max(noise.rho):g}",
    )
    @pytest.mark.parametrize("data", [clouds, far_clouds])
    @pytest.mark.parametrize("precise", [False, True])
    def test_bound_the_worst_margins_of_linearised_sets(self, precise, data, noise):
        """The same for ``m - rho |J'c|``, with the normal moved out of the frame and the Jacobian in fifty digits."""
        X, y = data(3, n=6)
        problem = MarginProblem(X, y, sample_weight=np.arange(1.0, 7.0), uncertainty=noise)
        proof = replace(self.proof(problem), precise=precise)
        totals, errors, _ = robust_cut_sums(proof, problem)
        points, jacobians = [mp_point(x) for x in X], [mp_jacobian(x) for x in X]
        rng = np.random.default_rng(1)
        for total, error in zip(totals.tolist(), errors.tolist(), strict=True):
            for v in rng.normal(size=(20, 3)).tolist():
                scale = mp.mpf(10) ** rng.integers(-6, 3)
                space = [scale * mp.mpf(u) for u in v[1:]]
                longest = mp.sqrt(mp.fdot(space, space))
                v = [max(-longest, min(longest, scale * mp.mpf(v[0]))), *space]
                outside, risk = _mp_boosted(v, proof.centre), mp.mpf(0)
                for k, (x, J) in enumerate(zip(points, jacobians, strict=True)):
                    a = [abs(mp_dot(column, outside)) for column in J]
                    length = {Box: mp.fsum, CrossPolytope: max, Ball: mp.norm}[type(noise)](a)
                    worst = int(y[k]) * mp_dot(x, outside) - mp.mpf(np.broadcast_to(noise.rho, 6)[k]) * length
                    risk += mp.mpf(float(problem.costs[k])) * max(0, 1 - worst)
                cut = (
                    total[0]
                    - error[0]
                    - sum((s + e if u > 0 else s - e) * u for s, e, u in zip(total[1:], error[1:], v, strict=True))
                )
                assert cut <= risk * (1 + mp.mpf(10) ** -30)

    def test_touch_the_risk_of_lightlike_normals_of_the_same_signs(self):
        X, y = clouds(4, n=6)
        problem = MarginProblem(lift(0.01 * X[:, 1:]), y, uncertainty=GeodesicBall(0.7))
        proof = replace(self.proof(problem), centre=np.zeros(2), points=np.array([[0.4, 0.01, 0.02]]), threshold=1.0)
        (total,), *_ = robust_cut_sums(proof, problem)
        for angle in np.linspace(0.0, 6.0, 9):
            v = 0.1 * np.array([1.0, np.cos(angle), np.sin(angle)])
            assert total[0] - total[1:] @ v == pytest.approx(np.sum(1.0 - problem.margins(v)), rel=1e-12)

    @pytest.mark.parametrize("noise", [GeodesicBall(0.2), Box(0.1), CrossPolytope(0.1), Ball(0.2)])
    def test_are_refused_where_they_do_not_hold(self, noise):
        X, y = clouds(5)
        problem = MarginProblem(X, y, uncertainty=noise)
        certificate = solve(problem).certificate
        assert certificate.cone_cuts
        with pytest.raises(CertificateError, match="spacelike normals"):
            certificate.bound_for(replace(problem, allow_timelike=True))


def _mp_boosted(x, centre):
    """A point after the boost that takes the origin to the point over `centre`."""
    c = [mp.mpf(float(v)) for v in centre]
    time = mp.sqrt(1 + mp.fdot(c, c))
    along = mp.fdot(c, x[1:])
    return [time * x[0] + along, *(v + u * (along / (1 + time) + x[0]) for v, u in zip(x[1:], c, strict=True))]
