"""The asinh objective by branch and bound, judged by SCIP, by random search, by invariances and by its own limits."""

import numpy as np
import pytest
from mpmath import mp

from hypermargin import MarginProblem, Status, solve, solve_path
from hypermargin.certificates.asinh.compiled import losses
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.lorentz import lift
from hypermargin.solvers.exact.asinh.compiled import model, samples
from interpreted import load_source, put_in_place
from reference.asinh_judges import asinh_objective, best_by_random_search, scip_bounds


def tiny_problem(rng, d=None, n=None):
    """A few points at random in a random scale, with any labels, C and sometimes weights."""
    d = int(rng.integers(1, 3)) if d is None else d
    n = int(rng.integers(2, 7)) if n is None else n
    X = lift(rng.normal(size=(n, d)) * rng.choice([0.3, 1.0, 2.0]))
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    weight = rng.choice([0.5, 1.0, 3.0], size=n) if rng.random() < 0.3 else None
    return MarginProblem(X, y, C=10.0 ** rng.uniform(-1.5, 1.5), sample_weight=weight)


def overlapping(seed=0, n=40, d=2, C=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    V = rng.normal(size=(n, d))
    V[:, 0] += 0.6 * y
    return MarginProblem(lift(V), y, C=C)


@pytest.mark.parametrize("seed", range(8))
def test_no_bound_is_above_what_a_random_search_finds(seed):
    """A hundred tiny problems for each seed, two thousand in all."""
    rng = np.random.default_rng(seed)
    for _ in range(100):
        problem = tiny_problem(rng, n=int(rng.integers(2, 5)))
        solution = solve(problem, "exact", loss="asinh", tol=3e-2, max_nodes=40)
        found = best_by_random_search(problem.X, problem.y, problem.costs, rng, rounds=4, size=48)
        assert solution.lower_bound <= found * (1.0 + 1e-12)
        assert solution.gap >= -1e-12
        if solution.status is Status.OPTIMAL:
            assert solution.objective <= found * (1.0 + 3.2e-2) + 1e-12


def test_agrees_with_a_search_of_another_kind():
    rng = np.random.default_rng(5)
    proved = 0
    for _ in range(100):
        problem = tiny_problem(rng, d=2, n=int(rng.integers(2, 5)))
        solution = solve(problem, "exact", loss="asinh", tol=5e-3, max_nodes=1500)
        found = best_by_random_search(problem.X, problem.y, problem.costs, rng, rounds=14, size=160)
        objective = asinh_objective(solution.w, problem.X, problem.y, problem.costs)[0]
        assert objective == pytest.approx(solution.objective, rel=1e-9, abs=1e-12)
        assert solution.lower_bound <= found
        if solution.status is Status.OPTIMAL:
            assert solution.objective <= found * (1.0 + 6e-3) + 1e-9
            proved += 1
    assert proved >= 80


@pytest.mark.slow
def test_agrees_with_scip():
    pytest.importorskip("pyscipopt")
    rng = np.random.default_rng(1)
    for _ in range(100):
        problem = tiny_problem(rng, d=2, n=3)
        solution = solve(problem, "exact", loss="asinh", tol=1e-4)
        half_side = 4.0 * max(1.0, float(np.abs(solution.w).max()))
        dual, primal = scip_bounds(problem.X, problem.y, problem.costs, half_side)
        assert dual <= solution.objective * (1.0 + 1e-5) + 1e-6
        assert solution.lower_bound <= primal * (1.0 + 1e-5) + 1e-6


@pytest.mark.parametrize(("d", "tol"), [(2, 1e-4), (2, 1e-6), (3, 1e-2)])
def test_closes_the_gap(d, tol):
    solution = solve(overlapping(d=d, n=20), "exact", loss="asinh", tol=tol)
    assert solution.status is Status.OPTIMAL
    assert solution.loss == "asinh"
    assert 0.0 <= solution.gap <= tol


def test_is_no_worse_than_local_descent():
    for seed in range(2):
        problem = overlapping(seed, n=20, C=3.0)
        exact = solve(problem, "exact", loss="asinh", tol=1e-4)
        assert exact.objective <= solve(problem, "pgd", refine=True).objective * (1.0 + 1e-4)


def test_does_not_depend_on_the_frame():
    problem = overlapping(2, n=16)
    moved = MarginProblem(problem.X @ boost(lift(np.array([1.5, -2.0]))).T, problem.y, C=problem.C)
    plain, far = (solve(p, "exact", loss="asinh", tol=1e-4) for p in (problem, moved))
    assert far.status is Status.OPTIMAL
    assert far.objective == pytest.approx(plain.objective, rel=2e-4)


def test_weights_equal_repeated_samples():
    problem = overlapping(3, n=12)
    weight = np.tile([1.0, 2.0, 1.0, 0.0], 3)
    weighted = MarginProblem(problem.X, problem.y, C=2.0, sample_weight=weight)
    rows = np.repeat(np.arange(12), weight.astype(int))
    repeated = MarginProblem(problem.X[rows], problem.y[rows], C=2.0)
    first, second = (solve(p, "exact", loss="asinh", tol=1e-4) for p in (weighted, repeated))
    assert first.objective == pytest.approx(second.objective, rel=2e-4)


def test_timelike_normals_can_only_help():
    problem = overlapping(4)
    free = solve(problem, "exact", loss="asinh", tol=1e-4, allow_timelike=True)
    assert free.status is Status.OPTIMAL
    assert free.lower_bound <= solve(problem, "exact", loss="asinh", tol=1e-4).objective


def test_one_class_costs_nothing():
    problem = MarginProblem(lift(np.random.default_rng(0).normal(size=(9, 2))), np.ones(9))
    solution = solve(problem, "exact", loss="asinh")
    assert solution.objective == 0.0
    assert solution.status is Status.OPTIMAL


def test_a_path_equals_single_solves():
    problem = overlapping(6, n=12)
    Cs = (10.0, 0.1)
    for C, solution in zip(Cs, solve_path(problem, Cs, "exact", 1e-3, loss="asinh"), strict=True):
        alone = solve(problem.with_C(C), "exact", 1e-3, loss="asinh")
        assert solution.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(alone.objective, rel=2e-3)


def test_the_hard_margin_has_no_loss():
    X = lift(np.array([[1.0, 0.2], [1.5, -0.3], [-1.0, 0.1], [-2.0, 0.4]]))
    problem = MarginProblem(X, np.array([1.0, 1.0, -1.0, -1.0]), C=np.inf)
    hinge, asinh = (solve(problem, "exact", loss=loss) for loss in ("hinge", "asinh"))
    assert np.array_equal(hinge.w, asinh.w)
    assert asinh.status is Status.OPTIMAL


def test_limits_leave_a_true_gap():
    problem = overlapping(0, n=200, d=4)
    solution = solve(problem, "exact", loss="asinh", max_nodes=60)
    assert solution.status is Status.ITERATION_LIMIT
    rng = np.random.default_rng(0)
    assert solution.lower_bound <= best_by_random_search(problem.X, problem.y, problem.costs, rng)
    assert solve(problem, "exact", loss="asinh", time_limit=0.5).status is Status.TIME_LIMIT


def test_what_it_cannot_do_it_says():
    from hypermargin.problems import GeodesicBall

    problem = overlapping()
    with pytest.raises(ValueError, match="minimises the losses hinge and asinh"):
        solve(problem, "exact", loss="taylor3")
    with pytest.raises(ValueError, match="uncertainty"):
        solve(MarginProblem(problem.X, problem.y, uncertainty=GeodesicBall(0.1)), "exact", loss="asinh")
    with pytest.raises(ValueError, match="max_nodes"):
        solve(problem, "exact", loss="asinh", max_nodes=0)


@pytest.mark.parametrize("d", [1, 2])
def test_without_a_compiler_the_answers_are_the_same(d, monkeypatch):
    problem = overlapping(n=8, d=d)
    compiled = solve(problem, "exact", loss="asinh", tol=1e-2)
    modules = (losses, model, samples)
    assert put_in_place(monkeypatch, dict(zip(modules, load_source(*modules), strict=True))) >= 3
    plain = solve(problem, "exact", loss="asinh", tol=1e-2)
    assert plain.status is compiled.status is Status.OPTIMAL
    assert plain.objective == pytest.approx(compiled.objective, rel=1e-2)
    assert plain.lower_bound <= compiled.objective
    assert compiled.lower_bound <= plain.objective
    assert compiled.certificate.verify(problem) == pytest.approx(compiled.lower_bound, rel=1e-12)


def test_samples_settled_on_shortened_intervals_are_not_handed_down():
    """Where one sample alone costs the cutoff on part of a box, halves of the box must still see it."""
    rng = np.random.default_rng([27, 20])
    d, n = int(rng.integers(1, 6)), int(rng.integers(4, 60))
    space = rng.normal(size=(n, d)) * np.exp(rng.uniform(-2.0, 1.5))
    y = np.where(space[:, 0] + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    problem = MarginProblem(lift(space), y, float(10.0 ** rng.uniform(-2.0, 2.0)))
    solution = solve(problem, "exact", loss="asinh", tol=1e-3, max_iter=2_000)
    assert solution.status is Status.OPTIMAL
    assert solution.certificate.verify(problem, by_arb=True) >= solution.lower_bound * (1.0 - 1e-9)


#: Both found by the tester (`make fuzz`).
FAR_OUT = {
    "a normal on the light cone": (
        [
            [27.12815148970992, -9.238053957531237, 21.19121251740868],
            [25.94504632805851, -8.80560956896485, 20.29985275422539],
            [25.341438278325835, -8.6585568456125, 19.86190154906527],
            [26.524543439977247, -9.091001234178885, 20.753261312248558],
        ],
        [1.0, 1.0, -1.0, -1.0],
        5.898997718329628,
    ),
    "margins that doubles do not hold": (
        [
            [-18313.193879230574, 27307.78746897751, 54280.492409188286],
            [-104885.19336635263, 156387.85065609813, 310864.14099738107],
            [-231064.85710260322, 344534.24447397544, 684855.3159903663],
            [-30924.554428267304, 46106.51965584631, 91648.57962594743],
        ],
        [1.0, -1.0, 1.0, -1.0],
        18.966715403056114,
    ),
}


@pytest.mark.parametrize("where", FAR_OUT)
def test_far_out_the_objective_is_not_below_that_of_the_answer_and_the_certificate_holds(where):
    points, y, C = FAR_OUT[where]
    problem = MarginProblem(lift(points), y, C)
    solution = solve(problem, "exact", loss="asinh", tol=1e-2, max_nodes=300)
    assert solution.objective >= exact_asinh_objective(problem, solution.w)
    assert solution.certificate.verify(problem) == solution.lower_bound


def exact_asinh_objective(problem, w):
    """With 60 digits; infinite where w is timelike."""
    with mp.workdps(60):
        w = [mp.mpf(v) for v in w.tolist()]
        q = mp.fsum(v * v for v in w[1:]) - w[0] * w[0]
        value = q / 2 if q >= 0 else mp.inf
        for x, y in zip(problem.X[:, 1:].tolist(), problem.y.tolist(), strict=True):
            x0 = mp.sqrt(1 + mp.fsum(mp.mpf(v) ** 2 for v in x))
            m = y * (x0 * w[0] - mp.fsum(a * b for a, b in zip(x, w[1:], strict=True)))
            value += problem.C * max(mp.mpf(0), mp.asinh(1) - mp.asinh(m))
        return value
