"""Which optimum is returned where there are several: exchanged labels change its sign and nothing else."""

import numpy as np
import pytest

from hypermargin import MarginProblem, solve, solve_path
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.data.executors import InMemory
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
