"""Problems far from the origin are proved, and what is said of the answer holds in sixty digits."""

import mpmath as mp
import numpy as np
import pytest

from hypermargin import GeodesicBall, MarginProblem, Status, solve
from hypermargin.geometry import lift, move_from_origin


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
