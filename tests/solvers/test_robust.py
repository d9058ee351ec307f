"""Robust problems solved: against SCIP, against closed forms, and by what must hold of any worst case."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import linprog

from hypermargin import MarginProblem, Status, solve
from hypermargin.certificates import CertificateError
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall
from hypermargin.solvers.exact import oracle as oracles
from hypermargin.solvers.exact.compiled import passes, robust_passes
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.runs import make_oracle
from interpreted import load_source
from reference.objective import lift
from reference.robust_scip import boost_columns, exponential_columns, solve_robust_scip

SETS = {
    "geodesic": GeodesicBall(0.2),
    "box": Box(0.2),
    "cross": CrossPolytope(0.2),
    "ball": Ball(0.2),
    "ellipsoid": Ellipsoid([[0.2, 0.1], [0.0, 0.05]]),
}


def clouds(seed, n=14, d=2, shift=0.5):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    return lift(0.8 * rng.normal(size=(n, d)) + shift * y[:, None]), y


def ring():
    angle = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return lift(np.vstack([0.3 * circle[::2], 1.5 * circle])), np.r_[np.ones(4), -np.ones(8)]


def around_centre(problem):
    return make_oracle(problem, Frame(problem.centre))


class TestAgainstScip:
    @pytest.mark.parametrize("kind", ["geodesic", "box", "cross", "ball"])
    @pytest.mark.parametrize(("seed", "d", "C", "rho"), [(0, 2, 1.0, 0.1), (1, 2, 10.0, 0.4), (2, 3, 1.0, 0.2)])
    def test_optimum(self, kind, seed, d, C, rho):
        X, y = clouds(seed, n=10, d=d)
        problem = MarginProblem(X, y, C=C, uncertainty=type(SETS[kind])(rho))
        ours = solve(problem, tol=1e-7)
        judge = solve_robust_scip(X, y, problem.costs, kind, rho)
        assert ours.status is Status.OPTIMAL
        assert ours.objective == pytest.approx(judge.bound, rel=2e-5)

    def test_optimum_where_one_class_surrounds_the_other(self):
        X, y = ring()
        problem = MarginProblem(X, y, uncertainty=GeodesicBall(0.1))
        ours = solve(problem, tol=1e-4)
        judge = solve_robust_scip(X, y, problem.costs, "geodesic", 0.1)
        assert ours.lower_bound <= judge.value * (1 + 1e-6)
        assert ours.objective == pytest.approx(judge.bound, rel=2e-4)


@pytest.mark.parametrize("name", SETS)
class TestExact:
    def test_without_size_it_is_the_plain_problem(self, name):
        X, y = clouds(3, n=40)
        plain = solve(MarginProblem(X, y))
        robust = solve(MarginProblem(X, y, uncertainty=SETS[name].scaled(0.0)))
        assert robust.status is Status.OPTIMAL
        assert robust.objective == pytest.approx(plain.objective, rel=1e-9)
        np.testing.assert_allclose(robust.w, plain.w, rtol=1e-6)

    def test_the_optimum_grows_with_rho(self, name):
        X, y = clouds(4, n=40)
        optima = [
            solve(MarginProblem(X, y, uncertainty=SETS[name].scaled(factor))).objective
            for factor in (0.0, 1e-6, 0.1, 0.5, 1.0, 3.0)
        ]
        assert np.all(np.diff(optima) > 0.0)
        assert optima[1] == pytest.approx(optima[0], rel=1e-4)

    def test_the_plain_solution_is_no_better_in_the_worst_case(self, name):
        X, y = clouds(5, n=40)
        problem = MarginProblem(X, y, uncertainty=SETS[name])
        robust, plain = solve(problem), solve(MarginProblem(X, y))
        assert robust.objective < problem.objective(plain.w)
        assert plain.objective < replace(problem, uncertainty=None).objective(robust.w)

    def test_cuts_bound_the_risk_from_below_and_touch_it(self, name):
        X, y = clouds(6, n=30)
        problem = MarginProblem(X, y, uncertainty=SETS[name], allow_timelike=True)
        oracle = around_centre(problem)
        rng = np.random.default_rng(0)
        for w in rng.normal(size=(20, 3)):
            risk, b, g = oracle(w)
            assert risk == pytest.approx(problem.risk(oracle.to_original(w)[0]), rel=1e-12)
            assert b + g @ w == pytest.approx(risk, rel=1e-8)
            for v in rng.normal(size=(50, 3)):
                assert b + g @ v <= problem.risk(oracle.to_original(v)[0]) * (1 + 1e-12) + 1e-12

    def test_the_first_cuts_prove_the_tails_however_large_the_sets(self, name):
        X, y = clouds(6, n=30)
        oracle = around_centre(MarginProblem(X, y, uncertainty=SETS[name].scaled(25.0)))
        for sign in (1.0, -1.0):
            _, _, g = oracle(np.array([sign, 0.0, 0.0]))
            assert sign * g[0] > np.linalg.norm(g[1:])

    def test_cuts_at_timelike_points_bound_the_risk_of_spacelike_normals(self, name):
        X, y = clouds(6, n=30)
        problem = MarginProblem(X, y, uncertainty=SETS[name])
        oracle = around_centre(problem)
        rng = np.random.default_rng(0)
        for w in rng.normal(size=(20, 3)) * [2.0, 0.5, 0.5]:
            risk, b, g = oracle(w)
            assert b + g @ w == pytest.approx(risk, rel=1e-8)
            assert risk >= problem.risk(oracle.to_original(w)[0]) * (1 - 1e-12)
            for v in rng.normal(size=(50, 3)):
                v[0] = np.clip(v[0], -np.linalg.norm(v[1:]), np.linalg.norm(v[1:]))  # many are lightlike
                assert b + g @ v <= problem.risk(oracle.to_original(v)[0]) * (1 + 1e-12) + 1e-12

    @pytest.mark.parametrize("own_sizes", [False, True])
    @pytest.mark.parametrize(("n", "d"), [(2, 2), (30, 1), (30, 2), (256, 3), (259, 2), (520, 5)])
    def test_a_pass_has_the_risk_of_the_problem_and_a_cut_below_it(self, name, n, d, own_sizes):
        """Blocks of the passes that are full or not, padded or not; costs alike or not."""
        X, y = clouds(7, n=n, d=d)
        X[0] = np.eye(d + 1)[0]  # at the origin, where the Jacobian has no direction
        rng = np.random.default_rng(1)
        rho = np.linspace(0.0, 0.5, n) if own_sizes else 0.2
        if name == "ellipsoid":
            noise = Ellipsoid(rng.normal(size=(n, d, d) if own_sizes else (d, d)), rho)
        else:
            noise = type(SETS[name])(rho)
        weight = rng.exponential(size=n) if own_sizes else None
        problem = MarginProblem(X, y, sample_weight=weight, uncertainty=noise, allow_timelike=True)
        oracle = around_centre(problem)
        # A normal near a point is in its ball, and its tangent part there cancels; at the point it would be rounding.
        near = oracle.to_frame(X[n // 2]) + 1e-3 * rng.normal(size=d + 1)
        points = [*rng.normal(size=(10, d + 1)), near, 1.3 * near, -near, 0.5 * np.eye(d + 1)[0], np.zeros(d + 1)]
        for w in points:
            risk, b, g = oracle(w)
            assert risk == pytest.approx(problem.risk(oracle.to_original(w)[0]), rel=1e-11)
            assert b + g @ w == pytest.approx(risk, rel=1e-8, abs=1e-8)
            for v in points:
                assert b + g @ v <= problem.risk(oracle.to_original(v)[0]) * (1 + 1e-12) + 1e-8

    def test_sets_of_their_own_for_every_sample(self, name):
        """A sample with a set of size 0 among others: moving the rest of the data must not move its set along."""
        X, y = clouds(8, n=20)
        sizes = np.r_[np.zeros(10), np.full(10, 0.3)]
        own = Ellipsoid(np.multiply.outer(sizes, np.eye(2))) if name == "ellipsoid" else type(SETS[name])(sizes)
        order = np.random.default_rng(0).permutation(20)
        first = solve(MarginProblem(X, y, uncertainty=own))
        second = solve(MarginProblem(X[order], y[order], uncertainty=own.take(order)))
        low, high = (
            solve(MarginProblem(X, y, uncertainty=type(own)(s * np.eye(2) if name == "ellipsoid" else s)))
            for s in (0.0, 0.3)
        )
        assert second.objective == pytest.approx(first.objective, rel=1e-6)
        assert low.objective < first.objective < high.objective

    def test_timelike_answers(self, name):
        X, y = ring()
        problem = MarginProblem(X, y, uncertainty=SETS[name], allow_timelike=True)
        free, bound = solve(problem), solve(replace(problem, allow_timelike=False), tol=1e-4)
        assert free.status is Status.OPTIMAL
        assert free.objective <= bound.objective * (1 + 1e-9)
        for v in np.random.default_rng(2).normal(size=(300, 3)) * 3.0:
            assert problem.objective(free.w + 0.1 * v) >= free.objective * (1 - 2e-6)

    def test_a_larger_problem_in_more_dimensions(self, name):
        X, y = clouds(9, n=400, d=5)
        noise = Ellipsoid(0.1 * np.eye(5)) if name == "ellipsoid" else SETS[name]
        solution = solve(MarginProblem(X, y, uncertainty=noise))
        assert solution.status is Status.OPTIMAL
        assert solution.gap <= 1e-6


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("n", [5, 259])
def test_the_source_of_the_passes_runs_in_the_interpreter(name, n, monkeypatch):
    X, y = clouds(7, n=n)
    problem = MarginProblem(X, y, uncertainty=SETS[name])
    compiled = around_centre(problem)
    monkeypatch.setattr(oracles, "robust_passes", load_source(passes, robust_passes)[1])
    interpreted = around_centre(problem)
    for w in (np.array([0.2, -0.9, 0.6]), interpreted.to_frame(X[1]) + 1e-3 * np.arange(3)):
        (risk, b, g), (other_risk, other_b, other_g) = compiled(w), interpreted(w)
        assert (other_risk, other_b) == pytest.approx((risk, b), rel=1e-12)
        np.testing.assert_allclose(other_g, g, rtol=1e-10, atol=1e-10)


class TestIsometries:
    L = expm(np.array([[0.0, 1.5, -1.0], [1.5, 0.0, 0.7], [-1.0, -0.7, 0.0]]))

    def optima(self, noise):
        X, y = clouds(10, n=30)
        moved = lift((X @ self.L.T)[:, 1:])
        return [solve(MarginProblem(points, y, uncertainty=noise)).objective for points in (X, moved)]

    def test_the_geodesic_optimum_does_not_know_the_origin(self):
        here, there = self.optima(GeodesicBall(0.2))
        assert there == pytest.approx(here, rel=2e-6)

    @pytest.mark.parametrize("name", ["box", "cross", "ball", "ellipsoid"])
    def test_the_others_do(self, name):
        here, there = self.optima(SETS[name])
        assert abs(there - here) > 1e-2 * here


class TestHardMargin:
    """Two points at distance a on either side of the origin: the least distance to balls around them is a - rho."""

    def problem(self, rho, a=1.5):
        return MarginProblem(
            lift([[np.sinh(a), 0.0], [-np.sinh(a), 0.0]]), [1.0, -1.0], C=np.inf, uncertainty=GeodesicBall(rho)
        )

    @pytest.mark.parametrize("rho", [0.0, 0.3, 1.2])
    def test_closed_form(self, rho):
        solution = solve(self.problem(rho))
        assert solution.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(0.5 / np.sinh(1.5 - rho) ** 2, rel=2e-6)
        np.testing.assert_allclose(np.abs(solution.w), [0.0, 1.0 / np.sinh(1.5 - rho), 0.0], atol=1e-5)

    @pytest.mark.parametrize("name", SETS)
    def test_worst_margins_are_at_least_one(self, name):
        X, y = clouds(11, n=12, shift=3.0)
        problem = MarginProblem(X, y, C=np.inf, uncertainty=SETS[name])
        solution = solve(problem)
        assert solution.status is Status.OPTIMAL
        assert problem.margins(solution.w).min() >= 1.0 - 1e-9
        assert solution.objective > solve(replace(problem, uncertainty=None)).objective

    @pytest.mark.parametrize("method", ["exact", "sdp", "moment"])
    @pytest.mark.parametrize("d", [2, 3])
    @pytest.mark.parametrize("noise", [GeodesicBall(4.0), Box(2.0), CrossPolytope(4.0), Ball(3.0)])
    def test_sets_that_overlap_are_proved_to(self, noise, d, method):
        """Clouds that a hyperplane separates, with sets so large that none does; certificates are for these alone."""
        X, y = clouds(14, n=24, d=d, shift=2.5)
        plain, problem = (MarginProblem(X, y, C=np.inf, uncertainty=s) for s in (None, noise))
        assert solve(plain).status is Status.OPTIMAL
        solution = solve(problem, method)
        assert solution.status is Status.INFEASIBLE
        assert solution.certificate.verify(problem) == np.inf
        with pytest.raises(CertificateError, match="do not prove"):
            solution.certificate.bound_for(replace(problem, uncertainty=noise.scaled(0.01)))

    def test_balls_overlap_from_half_the_distance_on(self):
        """Around two points at distance 3: those of radius 1.49 can be separated, those of radius 1.51 cannot."""
        assert solve(self.problem(1.49)).status is Status.OPTIMAL
        assert solve(self.problem(1.51)).status is Status.INFEASIBLE

    @pytest.mark.parametrize("method", ["sdp", "moment"])
    def test_the_relaxations_separate_what_they_can_and_prove_the_rest(self, method):
        within = solve(self.problem(1.4), method)
        assert within.lower_bound <= 0.5 / np.sinh(0.1) ** 2
        assert self.problem(1.4).margins(within.w).min() >= 1.0 - 1e-6
        assert solve(self.problem(1.51), method).status is Status.INFEASIBLE


class TestProjectedGradient:
    @pytest.mark.parametrize("name", SETS)
    def test_descends_on_the_worst_case(self, name):
        X, y = clouds(12, n=40)
        problem = MarginProblem(X, y, uncertainty=SETS[name])
        options = {"loss": "hinge", "epochs": 1500, "learning_rate": 0.005}
        plain, robust = solve(replace(problem, uncertainty=None), "pgd", **options), solve(problem, "pgd", **options)
        exact = solve(problem)
        assert exact.lower_bound <= robust.objective < problem.objective(plain.w)

    def test_follows_the_gradient(self):
        """The subgradient of the robust risk against differences, for a smooth loss at a point without kinks."""
        X, y = clouds(13, n=20)
        for noise in SETS.values():
            problem = MarginProblem(X, y, uncertainty=noise)
            w = np.array([0.31, -0.83, 0.57])
            _, gradient = problem.risk_and_subgradient(w, "asinh")
            steps = 1e-6 * np.eye(3)
            numerical = [(problem.risk(w + e, "asinh") - problem.risk(w - e, "asinh")) / 2e-6 for e in steps]
            np.testing.assert_allclose(gradient, numerical, rtol=1e-6, atol=1e-7)


def least_risk(X, y, costs, kind, rho):
    """The linear program ``min risk`` with every set replaced by corners, or by 720 points of its boundary."""
    rows, owners = [], []
    angles = np.linspace(0.0, 2 * np.pi, 720, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    steps = {
        "box": np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]),
        "cross": np.array([[1, 0], [0, 1], [-1, 0], [0, -1]]),
    }.get(kind, circle)
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        frame = boost_columns(x) if kind == "geodesic" else exponential_columns(x)
        stretch, reach = (np.cosh(rho), np.sinh(rho)) if kind == "geodesic" else (1.0, rho)
        points = stretch * x + reach * steps @ frame
        rows.append(label * points * np.r_[1.0, -1.0, -1.0])
        owners += [i] * len(points)
    Z, slack = np.vstack(rows), np.eye(len(y))[owners]
    answer = linprog(
        np.concatenate([np.zeros(3), costs / np.sqrt(2.0)]),
        A_ub=-np.hstack([Z, slack]),
        b_ub=-np.ones(len(Z)),
        bounds=[(None, None)] * 3 + [(0.0, None)] * len(y),
    )
    return answer.fun


class TestRelaxations:
    @pytest.mark.parametrize("kind", ["geodesic", "box", "cross", "ball"])
    def test_the_sdp_bound_is_that_of_the_robust_risk_alone(self, kind):
        """As for the plain problem: a linear program in disguise (here with sampled sets, hence slightly below)."""
        X, y = clouds(20, n=16)
        problem = MarginProblem(X, y, uncertainty=type(SETS[kind])(0.2))
        solution, exact = solve(problem, "sdp"), solve(problem)
        assert solution.lower_bound == pytest.approx(least_risk(X, y, problem.costs, kind, 0.2), rel=2e-5)
        assert solution.lower_bound <= exact.objective <= solution.objective * (1 + 1e-9)

    @pytest.mark.parametrize("name", SETS)
    def test_the_moment_bound_is_tight_for_polyhedral_sets_and_nearly_for_round_ones(self, name):
        X, y = clouds(21, n=10)
        problem = MarginProblem(X, y, uncertainty=SETS[name])
        solution, exact, sdp = solve(problem, "moment"), solve(problem, tol=1e-7), solve(problem, "sdp")
        slack = 1e-5 if name in ("box", "cross") else 0.02
        assert sdp.lower_bound < exact.objective * (1 - 1e-3)  # there is something to gain
        assert exact.objective * (1 - slack) <= solution.lower_bound <= exact.objective * (1 + 1e-6)
        assert solution.objective >= exact.lower_bound

    @pytest.mark.parametrize("method", ["sdp", "moment"])
    @pytest.mark.parametrize("name", SETS)
    def test_without_size_bounds_are_those_of_the_plain_problem(self, method, name):
        X, y = clouds(22, n=8)
        plain, robust = (solve(MarginProblem(X, y, uncertainty=s), method) for s in (None, SETS[name].scaled(0.0)))
        assert robust.lower_bound == pytest.approx(plain.lower_bound, rel=1e-5)

    def test_sizes_of_their_own_and_samples_of_no_weight(self):
        X, y = clouds(23, n=10)
        sizes = np.linspace(0.0, 0.4, 10)
        weight = np.r_[0.0, np.ones(9)]
        all_of_them = MarginProblem(X, y, sample_weight=weight, uncertainty=GeodesicBall(sizes))
        without = MarginProblem(X[1:], y[1:], uncertainty=GeodesicBall(sizes[1:]))
        bounds = [solve(problem, "sdp").lower_bound for problem in (all_of_them, without)]
        assert bounds[0] == pytest.approx(bounds[1], rel=1e-6)

    def test_hard_margin(self):
        problem = TestHardMargin().problem(0.3)
        solution = solve(problem, "moment")
        optimum = 0.5 / np.sinh(1.2) ** 2
        assert optimum * 0.95 <= solution.lower_bound <= optimum * (1 + 1e-5)

    def test_what_they_do_not_handle_is_said(self):
        with pytest.raises(ValueError, match="handles boxes and cross-polytopes only"):
            solve(MarginProblem(*clouds(0), uncertainty=Ball(0.1)), "moment", loss="taylor3")
        with pytest.raises(ValueError, match="a box in dimension 7 has 128 corners"):
            solve(MarginProblem(*clouds(0, d=7), uncertainty=Box(0.1)), "moment", max_block=1000)


def test_the_baseline_refuses():
    with pytest.raises(ValueError, match="solver 'euclidean' does not handle an uncertainty set"):
        solve(MarginProblem(*clouds(0), uncertainty=Box(0.1)), "euclidean")


class TestBallsAroundOnePlace:
    """Wide balls around points that lie together: the optimum is nearly lightlike, in all directions nearly alike."""

    @pytest.mark.parametrize("C", [1e-2, 1.0, 1e3])
    @pytest.mark.parametrize("rho", [0.01, 0.3, 1.5])
    @pytest.mark.parametrize("d", [2, 3, 5, 8])
    def test_are_proved(self, d, rho, C):
        rng = np.random.default_rng([d, int(100 * rho)])
        X = lift(10.0 ** rng.uniform(-6.0, -1.0) * rng.normal(size=(40, d)))
        y = np.where(rng.random(40) < rng.uniform(0.1, 0.5), 1.0, -1.0)
        y[:2] = 1.0, -1.0
        solution = solve(MarginProblem(X, y, C, uncertainty=GeodesicBall(rho)), max_iter=1000)
        assert solution.status is Status.OPTIMAL

    @pytest.mark.parametrize("seed", range(4))
    def test_no_better_point_is_found_by_chance(self, seed):
        """Random spacelike and lightlike normals around the answer and elsewhere."""
        rng = np.random.default_rng(seed)
        X = lift(0.05 * rng.normal(size=(6, 2)))
        y = np.array([1.0, -1.0, 1.0, -1.0, -1.0, -1.0])
        problem = MarginProblem(X, y, 2.0, uncertainty=GeodesicBall(0.6))
        solution = solve(problem)
        directions = rng.normal(size=(4000, 2))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        lengths = 10.0 ** rng.uniform(-3.0, 2.0, size=4000)
        ratios = np.where(rng.random(4000) < 0.5, rng.choice([-1.0, 1.0], 4000), rng.uniform(-1.0, 1.0, 4000))
        tried = lengths[:, None] * np.column_stack([ratios * (1.0 - 1e-12), directions])
        assert min(problem.objective(w) for w in tried) >= solution.lower_bound
        nearby = solution.w * (1.0 + 1e-3 * rng.normal(size=(500, 1))) + 1e-3 * rng.normal(size=(500, 3))
        nearby[:, 0] = np.clip(nearby[:, 0], *(s * np.linalg.norm(nearby[:, 1:], axis=1) for s in (-1.0, 1.0)))
        nearby[:, 0] *= 1.0 - 1e-12
        assert min(problem.objective(w) for w in nearby) >= solution.lower_bound
