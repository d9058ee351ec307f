"""Problems far from the origin are proved, and what is said of the answer holds in sixty digits."""

from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

from hypermargin import (
    Ball,
    Box,
    Certificate,
    CrossPolytope,
    Ellipsoid,
    GeodesicBall,
    HyperbolicSVC,
    MarginProblem,
    Status,
    solve,
)
from hypermargin.certificates import CertificateError
from hypermargin.data.readers import ArrayChunks
from hypermargin.geometry import lift, lorentz_centroid, move_from_origin, move_to_origin


def longest_step(noise, space, w):
    """``max over z of (J z) * w`` for a set with rho = 1, J the derivative of ``v -> (cosh |v|, sinh |v| v/|v|)``."""
    sinh = mp.sqrt(mp.fdot(space, space))
    n = [v / sinh for v in space]
    along = mp.fdot(n, w[1:])
    radial, stretch = sinh * w[0] - mp.sqrt(1 + sinh**2) * along, sinh / mp.asinh(sinh)
    a = [radial * nj - stretch * (wj - along * nj) for wj, nj in zip(w[1:], n, strict=True)]
    if isinstance(noise, Box):
        return mp.fsum(abs(v) for v in a)
    if isinstance(noise, CrossPolytope):
        return max(abs(v) for v in a)
    if isinstance(noise, Ellipsoid):
        a = [mp.fdot([mp.mpf(v) for v in column], a) for column in noise.shape.T.tolist()]
    return mp.sqrt(mp.fdot(a, a))


def exact_objective(problem, solution):
    """``q/2 + sum_i c_i max(0, 1 - m_i)/sqrt2`` at ``w + w_low`` for the points over the xr, with sixty digits."""
    with mp.workdps(60):
        w = [mp.mpf(v) for v in solution.w.tolist()]
        if solution.w_low is not None:
            w = [a + mp.mpf(b) for a, b in zip(w, solution.w_low.tolist(), strict=True)]
        q = mp.fdot(w[1:], w[1:]) - w[0] ** 2
        total = q / 2
        for x, y, c in zip(problem.X, problem.y, problem.costs, strict=True):
            space = [mp.mpf(v) for v in x[1:].tolist()]
            m = int(y) * (mp.sqrt(1 + mp.fdot(space, space)) * w[0] - mp.fdot(space, w[1:]))
            if problem.uncertainty is not None:
                m -= mp.mpf(problem.uncertainty.rho) * longest_step(problem.uncertainty, space, w)
            total += mp.mpf(float(c)) * max(mp.mpf(0), 1 - m) / mp.sqrt(2)
        return q, total


def check(problem):
    """Solve, and hold the words of the solution against the truth."""
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    q, value = exact_objective(problem, solution)
    assert q >= 0
    assert mp.mpf(solution.lower_bound) <= value <= mp.mpf(solution.objective)
    assert 0.0 <= solution.gap <= 1e-6
    return solution


def cluster(rng, d, n, radius, distance):
    """Points within `radius` of a point that lies `distance` from the origin."""
    direction = rng.standard_normal((n, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    X = lift(np.sinh(radius * rng.random((n, 1))) * direction)
    away = rng.standard_normal(d)
    return move_from_origin(X, lift(np.sinh(distance) * away / np.linalg.norm(away)))


@pytest.mark.parametrize("C", [0.01, 1.0, 1e4])
@pytest.mark.parametrize("distance", [8.0, 12.0, 16.0])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_cluster_moved_out(d, distance, C):
    rng = np.random.default_rng([d, int(distance)])
    X = cluster(rng, d, 30, 1.0, distance)
    check(MarginProblem(X, rng.choice([-1.0, 1.0], 30), C))


@pytest.mark.parametrize("C", [0.01, 100.0, 1e4])
@pytest.mark.parametrize("radius", [12.0, 16.0, 18.0])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_centred_data_of_a_large_radius(d, radius, C):
    rng = np.random.default_rng([d, int(radius)])
    check(MarginProblem(cluster(rng, d, 40, radius, 0.0), rng.choice([-1.0, 1.0], 40), C))


@pytest.mark.parametrize("C", [0.01, 100.0])
@pytest.mark.parametrize("kind", [Box, CrossPolytope, Ball, Ellipsoid])
@pytest.mark.parametrize(("d", "distance"), [(1, 16.0), (2, 12.0), (2, 16.0), (3, 14.0)])
def test_linearised_sets_moved_out(d, distance, kind, C):
    """Steps across the radius are stretched by ``sinh(r)/r``: at 16 even a rho of 1e-6 turns margins over."""
    rng = np.random.default_rng([d, int(distance), 7])
    X = cluster(rng, d, 25, 1.0, distance)
    noise = Ellipsoid(rng.standard_normal((d, d)), 3e-7) if kind is Ellipsoid else kind(3e-7)
    problem = MarginProblem(X, rng.choice([-1.0, 1.0], 25), C, uncertainty=noise)
    solution = check(problem)
    assert solution.certificate.verify(problem, by_arb=True) == pytest.approx(solution.lower_bound, rel=1e-9)


@pytest.mark.parametrize("noise", [Box(1e-6), CrossPolytope(1e-6), Ball(1e-6), GeodesicBall(1e-3)])
def test_hard_margins_of_sets_moved_out(noise):
    """Two clusters that separate, and the same with sets that reach across: one is solved, the other disproved."""
    rng = np.random.default_rng(3)
    X = cluster(rng, 2, 20, 1.0, 14.0)
    Z = move_to_origin(X, lorentz_centroid(X))
    y = np.where(Z[:, 1] > 0.0, 1.0, -1.0)
    apart = np.abs(Z[:, 1]) > 0.1
    problem = MarginProblem(X[apart], y[apart], np.inf, uncertainty=noise)
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    wide = MarginProblem(X[apart], y[apart], np.inf, uncertainty=noise.scaled(1e4))
    solution = solve(wide)
    assert solution.status is Status.INFEASIBLE
    assert Certificate.from_dict(solution.certificate.to_dict()).verify(wide) == np.inf


@pytest.mark.parametrize("radius", [8.0, 11.0, 14.0, 16.0, 18.0])
@pytest.mark.parametrize("seed", range(3))
def test_opposite_pairs_are_as_easy_as_they_look(radius, seed):
    """Two points in opposite directions: the optimum is ``1/(2 sinh(r)^2)``, whatever C, if C is not tiny."""
    v = np.random.default_rng(seed).standard_normal(3)
    v *= np.sinh(radius) / np.linalg.norm(v)
    solution = check(MarginProblem(lift(np.array([v, -v])), [1.0, -1.0], 10.0**seed))
    assert solution.objective == pytest.approx(0.5 / np.sinh(radius) ** 2, rel=2e-6)


def test_words_that_were_wrong():
    near = [[370411.438, 493881.929], [359432.873, 479243.796], [362468.786, 483291.698], [361467.516, 481956.673]]
    check(MarginProblem(lift(near), [-1.0, 1.0, -1.0, 1.0], 1e5))
    far = [[15820.6, 21094.4], [10476.0, 13967.7], [20265.2, 27019.6], [8200.3, 10934.2]]
    check(MarginProblem(lift(far), [1.0, -1.0, 1.0, -1.0], 0.01))
    # at sixty digits a separating w exists, with margins 1.003, 1.003 and 3.01
    line = lift([[23879119.38], [24958597.143], [26086873.7]])
    assert solve(MarginProblem(line, [1.0, -1.0, -1.0], np.inf)).status is Status.OPTIMAL
    whole = solve(MarginProblem([[1.0, 0.0, 0.0]], [1.0], uncertainty=GeodesicBall(16.0)))
    assert (whole.status, whole.objective) == (Status.OPTIMAL, 0.0)


@pytest.mark.parametrize("C", [1e-12, 1e-9, 1e-6, 1e9, 1e12])
def test_a_tiny_or_a_huge_C(C):
    """The optimum of a tiny C may be lightlike and of length 1: its q must be 0 to thirty digits."""
    near = [[0.0077431511, 0.0113386274], [-0.0114655562, 0.0004358359]]
    check(MarginProblem(lift(near), [1.0, -1.0], C))


def test_samples_that_cost_far_more_than_the_optimum():
    """Their margins are 1 there, and what rounding leaves of ``c (1 - m)`` must not count."""
    for space, weight in (
        ([[0.0], [0.0], [0.0]], [1.28e4, 5.39e-12, 3.62e-6]),
        ([[287.9595], [289.8524], [288.4806]], [1.05e-9, 8.39e-8, 3.63e3]),
    ):
        y = [1.0, 1.0, -1.0]
        check(MarginProblem(lift(np.array(space)), y, 0.01, sample_weight=np.array(weight)))


def test_a_hard_margin_does_not_ask_for_the_size_of_weights():
    rng = np.random.default_rng(5)
    X = cluster(rng, 2, 20, 1.0, 3.0)
    Z = move_to_origin(X, lorentz_centroid(X))
    problem = MarginProblem(X, np.where(Z[:, 1] > 0.05, 1.0, -1.0), np.inf)
    weighted = MarginProblem(X, problem.y, np.inf, sample_weight=10.0 ** rng.uniform(-12.0, 12.0, 20))
    plain, other = solve(problem), solve(weighted)
    assert plain.status is other.status is Status.OPTIMAL
    assert other.objective == plain.objective
    assert Certificate.from_dict(other.certificate.to_dict()).verify(weighted) == other.lower_bound


@pytest.mark.parametrize("seed", range(8))
def test_triples_on_a_line_that_separate(seed):
    """Three neighbours on a line at radius 14 to 17.8; with sixty digits the hyperplane halfway separates them."""
    rng = np.random.default_rng(seed)
    x = np.sort(np.sinh(rng.uniform(14.0, 17.8) + rng.uniform(0.0, 0.1, 3)))
    for noise in (None, GeodesicBall(0.0)):
        assert solve(MarginProblem(lift(x[:, None]), [1.0, -1.0, -1.0], np.inf, uncertainty=noise)).is_proved


@pytest.mark.parametrize("d", [1, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_one_sample_among_the_others_far_out(d, seed):
    """Centred at radius 18, one sample of the other class at the rim; and random labels, which no margin separates."""
    rng = np.random.default_rng([d, seed, 18])
    X = cluster(rng, d, 60, 18.0, 0.0)
    y = -np.ones(60)
    y[np.argsort(X[:, 0])[-4]] = 1.0
    check(MarginProblem(X, y, 100.0))
    overlapping = rng.choice([-1.0, 1.0], 60)
    assert solve(MarginProblem(X, overlapping, np.inf)).status is Status.INFEASIBLE


@pytest.mark.parametrize("seed", range(6))
def test_samples_far_heavier_than_the_optimum(seed):
    """A heavy pair that separates and light ones between: the proof counts what the optimum can use of a weight."""
    rng = np.random.default_rng(seed)
    X = lift(np.vstack([[[0.5, 0.0], [-0.5, 0.1]], 0.2 * rng.standard_normal((4, 2))]))
    weight = np.r_[1e9, 3e11, 10.0 ** rng.uniform(-6.0, -3.0, 4)]
    problem = MarginProblem(X, [1.0, -1.0, -1.0, 1.0, -1.0, 1.0], 1.0, sample_weight=weight)
    solution = check(problem)
    assert Certificate.from_dict(solution.certificate.to_dict()).verify(problem) == solution.lower_bound


def test_a_largest_weight_must_be_positive():
    X = lift(np.array([[0.5], [-0.4], [0.1]]))
    problem = MarginProblem(X, [1.0, -1.0, 1.0], sample_weight=[1.0, 2.0, 3.0])
    certificate = solve(problem).certificate
    assert replace(certificate, most_weight=1.5).bound_for(problem) <= certificate.bound_for(problem)
    for wrong in (0.0, -1.0, np.nan):
        with pytest.raises(CertificateError, match="largest weight"):
            replace(certificate, most_weight=wrong).bound_for(problem)


def test_frames_that_double_double_does_not_reach_are_not_tried():
    """Contradictory equal points, timelike normals allowed: feet ran away until numbers overflowed."""
    X = lift(np.tile([9813.539818851228, 185888.7618373144, -155004.33228778688], (4, 1)))
    weight = [0.3760407401785203, 2.285401273075318, 0.28047869763590033, 1.9445132892979582]
    noise = CrossPolytope(0.9585985959125789)
    problem = MarginProblem(
        X, [1.0, -1.0, 1.0, -1.0], 0.10964764426932813, sample_weight=weight, uncertainty=noise, allow_timelike=True
    )
    solution = solve(problem, "exact")
    q, value = exact_objective(problem, solution)
    value -= min(q, 0) / 2  # a timelike normal costs nothing
    assert mp.mpf(solution.lower_bound) <= value <= mp.mpf(solution.objective)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "near",
    [
        [[-0.555036788, -0.056570791, -0.489825622], [-0.656988344, -0.074030852, -0.337737324]],
        [[-42.593735669, -52.826509301], [-36.527936673, -45.161266688]],
    ],
)
def test_lightlike_answers_of_a_tiny_C_are_on_the_cone(near, seed):
    """In doubles their q is 1e-16, of which an objective of 1e-12 would notice the half."""
    rng = np.random.default_rng(seed)
    space = np.array(near) * (1.0 + 1e-3 * rng.standard_normal((2, 1)))
    check(MarginProblem(lift(space), [1.0, -1.0], 10.0 ** rng.uniform(-12.0, -9.0)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("near", "weight", "C"),
    [
        ([[393.687171], [3774.94631]], [1.1159e9, 1.6125e3], 2.2855e-6),
        ([[-162.16006, 64.02545], [-164.232, 64.84783]], [2.107, 2.175e7], 0.016848),
        ([[20.089995, -22.358568], [11.007909, -17.983132], [43.878901, -53.789515]], [1.5e-4, 6e10, 2.9e10], 77.0),
    ],
)
def test_heavy_samples_far_out_are_judged_in_double_double(near, weight, C, seed):
    """Their margins are 1, and what doubles leave of ``c (1 - m)`` in moving the points is more than the optimum."""
    rng = np.random.default_rng(seed)
    space = np.array(near) * (1.0 + 1e-3 * rng.standard_normal((len(near), 1)))
    y = np.r_[1.0, -np.ones(len(near) - 1)]
    check(MarginProblem(lift(space), y, C, sample_weight=np.array(weight)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("kind", [Ball, Box])
def test_wide_linearised_sets_around_points_that_lie_together(kind, d, seed):
    """No spacelike normal is better than 0, and timelike ones are: it took thousands of boxes of directions."""
    rng = np.random.default_rng([d, seed])
    X = cluster(rng, d, 60, 0.5, 0.0)
    y = np.where(np.arange(60) < 6, 1.0, -1.0)
    solution = check(MarginProblem(X, y, 1.0, uncertainty=kind(1.0 + 0.1 * seed)))
    assert solution.n_iter < 100
    assert solution.objective == pytest.approx(60.0 / np.sqrt(2.0), rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [Ball, Box, CrossPolytope])
def test_sets_around_points_at_the_origin(kind, seed):
    """Worst members and multiples of the points are tied at lightlike normals; rounding must not choose."""
    rng = np.random.default_rng(seed)
    X = lift(1e-9 * rng.standard_normal((5, 3)))
    y = np.r_[1.0, -1.0, 1.0, 1.0, -1.0]
    check(MarginProblem(X, y, 10.0 ** rng.uniform(-2.0, 2.0), uncertainty=kind(10.0 ** rng.uniform(-6.0, 0.0))))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("noise", [None, GeodesicBall(1e-4)])
@pytest.mark.parametrize(("radius", "C"), [(12.0, np.inf), (17.0, 1e4), (18.0, np.inf)])
def test_classes_on_a_line_that_separate_far_from_its_middle(radius, C, noise, seed):
    """The optimum is ``1/(2 sinh(h)^2)``, h half the gap less the balls; most samples are ``e^30`` away from it."""
    rng = np.random.default_rng([seed, int(radius)])
    x = np.sort(np.sinh(radius * rng.uniform(-1.0, 1.0, 60)))
    first = 53 + int(np.argmax(np.diff(np.arcsinh(x[52:58]))))  # of the last ten per cent or so, after a gap
    y = np.where(np.arange(60) >= first, 1.0, -1.0)
    problem = MarginProblem(lift(x[:, None]), y, C, uncertainty=noise)
    solution = solve(problem)
    with mp.workdps(60):
        gap = mp.asinh(mp.mpf(x[first])) - mp.asinh(mp.mpf(x[first - 1]))
        optimum = 1 / (2 * mp.sinh(gap / 2 - (0 if noise is None else mp.mpf(noise.rho))) ** 2)
        assert mp.mpf(solution.lower_bound) <= optimum <= mp.mpf(solution.objective)
    assert solution.status is Status.OPTIMAL
    assert solution.n_iter < 5000
    assert Certificate.from_dict(solution.certificate.to_dict()).verify(problem) == solution.lower_bound


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [Box, CrossPolytope])
def test_sets_on_a_line_that_separate_far_from_its_middle(kind, seed):
    """Steps along the line are not stretched, and every w that has margins of 1 is checked with sixty digits."""
    rng = np.random.default_rng([seed, 18, 1])
    x = np.sort(np.sinh(18.0 * rng.uniform(-1.0, 1.0, 60)))
    y = np.where(np.arange(60) >= 54, 1.0, -1.0)
    noise = kind(10.0 ** rng.uniform(-8.0, -6.0))
    problem = MarginProblem(lift(x[:, None]), y, np.inf, uncertainty=noise)
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    with mp.workdps(60):
        q, value = exact_objective(problem.with_C(1.0), solution)
        assert value == q / 2  # no margin is below 1
        assert mp.mpf(solution.lower_bound) <= value <= mp.mpf(solution.objective)


@pytest.mark.parametrize("seed", [2, 10, 28, 44])
def test_far_heavier_samples_in_blocks(seed):
    """Weights from 1e-3 to 1e6 at radius 12 to 16: the search leaves out costs, wherever the samples are."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 4)), int(rng.integers(6, 40))
    radius, directions = rng.uniform(12.0, 16.0), rng.standard_normal((n, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    X = lift(np.sinh(radius) * directions)
    noise = 0.2 * rng.standard_normal(n) if seed % 3 else 0.0
    y = np.where(directions[:, 0] + noise > 0.0, 1.0, -1.0)
    y[:2] = -1.0, 1.0
    weights, C = 10.0 ** rng.uniform(-3.0, 6.0, n), 10.0 ** rng.uniform(-2.0, 2.0)
    model = HyperbolicSVC(C=C, geometry="lorentz").fit(ArrayChunks(X, rows=n // 3), y, sample_weight=weights)
    (solution,) = model.solutions_
    problem = MarginProblem(X, y, C, weights)
    q, value = exact_objective(problem, solution)
    assert solution.status is Status.OPTIMAL
    assert q >= 0
    assert mp.mpf(solution.lower_bound) <= value <= mp.mpf(solution.objective)
    assert solution.certificate.verify(problem, by_arb=True) >= solution.lower_bound * (1.0 - 1e-12)
    assert 0.0 <= solution.gap <= 1e-6
