"""Without a compiler the same files run in the interpreter: the answers are the same.

The files are loaded from source once more and put in the place of the compiled ones.
"""

from dataclasses import replace

import numpy as np
import pytest

from hypermargin import MarginProblem, Status, solve, solve_path
from hypermargin.compilation import is_compiled
from hypermargin.problems import Ball, Box, CrossPolytope, GeodesicBall
from hypermargin.solvers.exact.compiled import (
    cuts,
    evaluator,
    master,
    passes,
    region,
    robust_passes,
    search,
)
from interpreted import load_source, put_in_place
from reference.instances import FAMILIES, make_instance

#: In an order in which each imports those before it only.
COMPILED = (cuts, master, region, passes, evaluator, search, robust_passes)


INTERPRETED = dict(zip(COMPILED, load_source(*COMPILED), strict=True))


@pytest.fixture
def without_compiler(monkeypatch):
    assert put_in_place(monkeypatch, INTERPRETED) >= 8


def make_problem(family, d, n=12, C=1.0, **changes):
    instance = make_instance(family, d=d, n=n, C=1.0, seed=1)
    return MarginProblem(instance.X, instance.y, **{"C": C, "sample_weight": instance.weight, **changes})


PROBLEMS = {f"{family}-d{d}": make_problem(family, d) for family in FAMILIES for d in (2, 3)}
PROBLEMS |= {
    "timelike": make_problem("surrounded", 3, allow_timelike=True),
    "hard": make_problem("separable", 2, C=np.inf),
    "infeasible": make_problem("overlap", 2, C=np.inf),
    "heavy": make_problem("overlap", 2, C=1e4),
    "line": make_problem("overlap", 1),
}
for name, noise in {
    "geodesic": GeodesicBall(0.1),
    "box": Box(0.1),
    "cross": CrossPolytope(0.1),
    "ball": Ball(0.1),
}.items():
    PROBLEMS[name] = replace(PROBLEMS["overlap-d2"], uncertainty=noise)
# Degenerate problems take many regions; a tenth of a percent shows as much of the code in a tenth of the time.
TOL = {name: 1e-3 if name.startswith("surrounded") else 1e-6 for name in PROBLEMS}


@pytest.fixture(scope="module")
def compiled_answers():
    """The solutions of all problems, found before anything is replaced."""
    return {name: solve(problem, tol=TOL[name]) for name, problem in PROBLEMS.items()}


def test_the_modules_are_what_they_say():
    for module in (evaluator, robust_passes):
        assert not is_compiled(INTERPRETED[module])
        assert INTERPRETED[module].__file__ != module.__file__ or not is_compiled(module)
    for compiled, plain in INTERPRETED.items():
        assert plain is not compiled
        defined = [value for value in vars(plain).values() if getattr(value, "__module__", None) == plain.__name__]
        missing = {value.__name__ for value in defined if not hasattr(compiled, value.__name__)}
        missing -= {"phi", "push_out", "lift_into"}  # functions of C, which Python does not see
        assert not missing, f"{compiled.__name__} was compiled from an older source: install again"


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.usefixtures("without_compiler")
def test_the_answers_are_the_same(name, compiled_answers):
    problem, compiled = PROBLEMS[name], compiled_answers[name]
    plain = solve(problem, tol=TOL[name])
    assert plain.status is compiled.status
    assert plain.status in (Status.OPTIMAL, Status.INFEASIBLE)
    if plain.status is Status.INFEASIBLE:
        assert plain.certificate.verify(problem) == np.inf
        return
    assert plain.objective == pytest.approx(compiled.objective, rel=2 * TOL[name], abs=1e-12)
    # Each bound holds against the other's value, and both proofs pass the same check.
    assert plain.lower_bound <= compiled.objective
    assert compiled.lower_bound <= plain.objective
    assert plain.certificate.verify(problem) == plain.lower_bound


@pytest.mark.usefixtures("without_compiler")
def test_paths_and_limits_work_without_a_compiler():
    problem = PROBLEMS["overlap-d2"]
    for C, solution in zip([0.1, 1.0, 10.0], solve_path(problem, [0.1, 1.0, 10.0]), strict=True):
        assert solution.status is Status.OPTIMAL
        assert solution.certificate.verify(problem.with_C(C)) == solution.lower_bound
    stopped = solve(problem, max_iter=5)
    assert stopped.n_iter <= 5
    assert stopped.status is Status.ITERATION_LIMIT
    history = np.array(solve(problem).history["lower_bound"])
    assert history.size > 3
    assert np.all(np.diff(history) >= 0.0)


# -- piece by piece --------------------------------------------------------------------------------------------------


class InMemory:
    """An oracle that hands over its arrays, so that the kernel makes the passes."""

    def __init__(self, Z, costs, factor, threshold):
        columns = np.zeros((Z.shape[1], -(-len(Z) // passes.LANES) * passes.LANES))
        columns[:, : len(Z)] = Z.T
        self.arrays = columns, costs, factor, threshold


@pytest.mark.parametrize("n", [1, 8, 200, 256, 257, 777])
@pytest.mark.parametrize("uniform", [True, False])
def test_a_pass_over_the_data_is_the_same(n, uniform):
    rng = np.random.default_rng(n)
    Z = rng.normal(size=(n, 4))
    costs = np.broadcast_to(0.7, n) if uniform else rng.exponential(size=n)
    for w in rng.normal(size=(5, 4)):
        short = 1.0 - Z @ w
        chosen = costs * (short > 1e-9)
        expected = float(costs @ np.maximum(0.0, short)), float(chosen.sum()), -chosen @ Z
        for pools, rounds in ((cuts, evaluator), (INTERPRETED[cuts], INTERPRETED[evaluator])):
            pool = pools.CutPool(4)
            value = rounds.Evaluator(pool, InMemory(Z, costs, 3.0, 1.0 - 1e-9), False).evaluate(w)
            b, g, point, risk = pool.cut(1)
            assert value == pytest.approx(risk + 0.5 * max(w[1:] @ w[1:] - w[0] ** 2, 0.0), rel=1e-13)
            assert risk == pytest.approx(3.0 * expected[0], rel=1e-13)
            assert b == pytest.approx(3.0 * expected[1], rel=1e-13)
            np.testing.assert_allclose(g, 3.0 * expected[2], rtol=1e-12, atol=1e-11)
            np.testing.assert_array_equal(point, w)


@pytest.mark.parametrize("dim", [1, 3, 5])
def test_the_small_programme_is_the_same(dim):
    rng = np.random.default_rng(dim)
    masters = []
    drawn = [(float(rng.exponential()), rng.normal(size=dim + 1)) for _ in range(12)]
    for pools, programme in ((cuts, master), (INTERPRETED[cuts], INTERPRETED[master])):
        pool = pools.CutPool(dim + 1)
        for b, g in drawn:
            pool.add(b, g, np.zeros(dim + 1), b)
        masters.append(programme.Master(pool))
    u = np.eye(dim)[0]
    for chord in (False, True):
        for s in np.exp(rng.normal(size=6)):
            values = []
            for small in masters:
                small.enter(1.0, chord, 0.6 if chord else 0.0, u)
                values.append(small.optimise(s, -1e300))
            assert values[0] == pytest.approx(values[1], rel=1e-9, abs=1e-9)
