"""Which optimum is returned where there are several: exchanged labels change its sign and nothing else."""

import numpy as np
import pytest
from scipy.optimize import linprog

from hypermargin import MarginProblem, solve, solve_path
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.data.executors import InMemory
from hypermargin.geometry.isometries import random_isometry, transform_points
from hypermargin.geometry.lorentz import lift, quadratic_form
from hypermargin.problems.linearised import Box
from hypermargin.problems.uncertainty import GeodesicBall


def polygon(n, radius, dim=2):
    angles = 2.0 * np.pi * np.arange(n) / n
    space = np.zeros((n, dim))
    space[:, 0], space[:, 1] = np.sinh(radius) * np.cos(angles), np.sinh(radius) * np.sin(angles)
    return space


def exchanged(problem):
    return MarginProblem(
        problem.X, -problem.y, problem.C, problem.sample_weight, problem.uncertainty, problem.allow_timelike
    )


def drawn(seed):
    """Problems with many ties: coordinates on a grid, classes that surround each other, equal weights."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 5)), int(rng.integers(4, 60))
    space = np.round(rng.normal(size=(n, d)) * 4.0) / 4.0
    radii = np.linalg.norm(space, axis=1)
    y = np.where((radii < np.median(radii)) ^ (rng.random(n) < 0.1), 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return MarginProblem(lift(space), y, float(10.0 ** rng.uniform(-3.0, 2.0)), allow_timelike=bool(seed % 2))


SURROUNDED = [np.vstack([np.zeros((1, 2)), polygon(n, radius)]) for n in (3, 4, 5, 6) for radius in (0.3, 1.0, 2.0)]
TIED = {
    "two points": MarginProblem(lift(np.array([[1.0, 0.0], [-1.0, 0.0]])), np.array([1.0, -1.0]), 0.01),
    "alternating hexagon": MarginProblem(lift(polygon(6, 1.0)), np.array([1.0, -1.0] * 3)),
    "between": MarginProblem(lift(np.array([[-1.0], [0.0], [1.0]])), np.array([1.0, -1.0, 1.0]), 10.0),
    "hard": MarginProblem(lift(np.array([[1.0, 0.5], [1.0, -0.5], [-1.0, 0.0]])), np.array([1.0, 1.0, -1.0]), np.inf),
    "balls": MarginProblem(lift(SURROUNDED[4]), np.r_[1.0, -np.ones(4)], uncertainty=GeodesicBall(0.1)),
    "boxes": MarginProblem(lift(SURROUNDED[4]), np.r_[1.0, -np.ones(4)], uncertainty=Box(0.1)),
    "one class": MarginProblem(lift(polygon(3, 1.0)), np.ones(3)),
    **{f"surrounded {k}": MarginProblem(lift(S), np.r_[1.0, -np.ones(len(S) - 1)]) for k, S in enumerate(SURROUNDED)},
    **{f"drawn {seed}": drawn(seed) for seed in range(24)},
}


@pytest.mark.parametrize("name", TIED)
@pytest.mark.parametrize("cuts", ["plain", "deep"])
def test_exchanged_labels_change_the_sign_of_w_and_nothing_else(name, cuts):
    problem = TIED[name]
    one, other = (solve(each, cuts=cuts, max_iter=2000) for each in (problem, exchanged(problem)))
    np.testing.assert_array_equal(one.w, -other.w)
    assert (one.w_low is None) is (other.w_low is None)
    assert (one.objective, one.lower_bound, one.status) == (other.objective, other.lower_bound, other.status)
    assert other.certificate.verify(exchanged(problem), by_arb=True) <= other.objective


def test_exchanged_labels_along_a_path_in_blocks_and_from_a_checkpoint(tmp_path):
    problem = drawn(2)
    for C_one, C_other in zip(*(solve_path(p, [0.1, 1.0, 10.0]) for p in (problem, exchanged(problem))), strict=True):
        np.testing.assert_array_equal(C_one.w, -C_other.w)
    halves = []
    for each in (problem, exchanged(problem)):
        rows = (slice(None, problem.n_samples // 2), slice(problem.n_samples // 2, None))
        source = InMemory([MarginProblem(each.X[part], each.y[part], 1.0) for part in rows])
        for cuts in ("plain", "deep"):
            halves.append(solve(BlockedProblem(source, each.C), cuts=cuts).w)
        saved = [solve(each, checkpoint=str(tmp_path / "passes")).w for _ in range(2)]
        np.testing.assert_array_equal(saved[0], saved[1])
        halves.append(saved[0])
    for one, other in zip(halves[:3], halves[3:], strict=True):
        np.testing.assert_array_equal(one, -other)


def test_start_is_given_in_the_coordinates_of_the_problem():
    problem = drawn(4)
    best = solve(problem)
    for each, w in ((problem, best.w), (exchanged(problem), -best.w)):
        again = solve(each, start=w)
        assert again.n_iter <= best.n_iter + 2
        assert again.objective <= best.objective * (1.0 + 1e-9)


@pytest.mark.parametrize("name", ["coincident", "cross", "hexagon"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_where_no_normal_is_better_than_its_opposite_the_answer_is_zero(name, C):
    """``sum c_i z_i = 0``: all lightlike w of margins up to 1 are optima, and 0 is in their midst."""
    space, y = {
        "coincident": (np.array([[3.0, 2.0], [3.0, 2.0]]), [1.0, -1.0]),
        "cross": (polygon(4, 1.0), [1.0, -1.0, 1.0, -1.0]),
        "hexagon": (polygon(6, 0.7), [1.0, -1.0] * 3),
    }[name]
    problem = MarginProblem(lift(space), np.array(y), C)
    solution = solve(problem)
    assert solution.is_proved
    assert solution.w == pytest.approx(np.zeros(3), abs=1e-12)
    for angle in np.linspace(0.0, 2.0 * np.pi, 9):
        other = 0.01 * np.array([1.0, np.cos(angle), np.sin(angle)])
        assert quadratic_form(other) == pytest.approx(0.0, abs=1e-15)
        assert problem.objective(np.append(other[0], other[1:] * (1 + 1e-15))) == pytest.approx(solution.objective)


# -- optima in the middle of others ------------------------------------------------------------------------------------


def on_a_ray(seed):
    """Points at multiples of log 2 on a line, integer weights: slopes of the risk along a light ray may be 0."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    steps = rng.integers(-2, 3, n)
    space, weights = (2.0**steps - 2.0**-steps) / 2.0, rng.integers(1, 5, n).astype(float)
    return MarginProblem(lift(space[:, None]), rng.choice([-1.0, 1.0], n), 1.0, sample_weight=weights)


def test_of_a_piece_of_a_light_ray_the_middle_is_taken():
    """By brute force along the ray: the risk is the same to either side, and the ends are equally far away."""
    pieces = 0
    for seed in (21, 51, 87, 121, 225, 278, 370, 395, 536, *range(600, 660)):
        problem = on_a_ray(seed)
        if abs(problem.y.sum()) == problem.n_samples:
            continue
        solution = solve(problem)
        assert solution.is_proved
        if not solution.w.any() or abs(quadratic_form(solution.w)) > 1e-9:
            continue
        margins = problem.margins(solution.w)
        scales = 1.0 / margins[margins != 0.0]
        best = problem.risk(solution.w)
        ends = [s for s in scales[scales > 0.0] if problem.risk(s * solution.w) <= best + 1e-12]
        if ends and max(ends) > min(ends) + 1e-9:
            pieces += 1
            assert (min(ends) + max(ends)) / 2.0 == pytest.approx(1.0, abs=1e-9)
    assert pieces >= 10


def test_where_the_risk_is_flat_in_the_cone_the_deepest_normal_is_taken():
    """A face of the risk on the line, t = 1 and r from -0.236 to 0.236 (by linear programmes): r = 0 is its middle."""
    space = np.array([-0.5, 1.0, 0.0, 0.0, 0.0, 0.5, -1.0, 0.5])[:, None]
    y = np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0])
    problem = MarginProblem(lift(space), y, allow_timelike=True)
    solution = solve(problem)
    assert solution.is_proved
    assert solution.w == pytest.approx([1.0, 0.0], abs=1e-6)
    for r in (-0.23, 0.23):
        assert problem.objective([1.0, r]) == pytest.approx(solution.objective, rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_no_optimum_lies_deeper_in_the_cone_than_the_one_returned(seed):
    """Judge: sequential linear programmes over the face, from the returned w: none of them finds a larger -q."""
    rng = np.random.default_rng([7, seed])
    n, d = int(rng.integers(5, 10)), 1 + seed % 3
    space = np.round(rng.normal(size=(n, d)) * 2.0) / 2.0
    radii = np.linalg.norm(space, axis=1)
    y = np.where(radii <= np.sort(radii)[n // 2 - 1], 1.0, -1.0)
    problem = MarginProblem(lift(space), y, allow_timelike=True)
    solution = solve(problem)
    assert solution.is_proved
    w = solution.w
    if not quadratic_form(w) < -1e-6:
        return
    Z, costs = problem.signed_covectors, problem.costs / np.sqrt(2.0)
    rows = np.vstack([np.c_[-Z, -np.eye(n)], np.r_[np.zeros(d + 1), costs][None]])
    limits = np.r_[-np.ones(n), solution.objective * (1.0 + 1e-9)]
    bounds = [(-50.0, 50.0)] * (d + 1) + [(0.0, None)] * n
    along = np.r_[w[0], -w[1:]]  # half of the slope of -q
    farther = linprog(np.r_[-along, np.zeros(n)], A_ub=rows, b_ub=limits, bounds=bounds)
    assert along @ farther.x[: d + 1] <= along @ w * (1.0 + 1e-4)


@pytest.mark.parametrize("radius", [0.0, 2.0])
def test_one_class_and_timelike_normals_have_the_centre_of_the_samples(radius):
    rng = np.random.default_rng(0)
    X = lift(rng.normal(size=(9, 3)))
    L = random_isometry(3, radius, rng)
    problem = MarginProblem(transform_points(X, L), -np.ones(9), allow_timelike=True)
    solution = solve(problem)
    assert solution.is_proved
    assert solution.objective == 0.0
    centre = transform_points(X, L).sum(axis=0)
    assert solution.w / solution.w[0] == pytest.approx(centre / centre[0], rel=1e-9)
