"""Options of the exact method, paths over C, and its small programme over cuts, against convex solvers."""

import clarabel
import numpy as np
import pytest
from scipy import sparse

from hypermargin import MarginProblem, Status, solve, solve_path
from hypermargin.solvers.exact.compiled.cuts import CutPool
from hypermargin.solvers.exact.compiled.master import Master
from reference.brute import brute_force
from reference.instances import FAMILIES, make_instance
from reference.objective import lift
from reference.scip import solve_scip

CS = [0.05, 0.3, 1.0, 4.0, 20.0]


def make_problem(family, d, n, C=1.0, seed=0, **changes):
    instance = make_instance(family, d=d, n=n, C=C, seed=seed)
    return MarginProblem(instance.X, instance.y, **{"C": C, "sample_weight": instance.weight, **changes})


def clouds(n, d, seed, shift=0.4):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return lift(rng.normal(size=(n, d)) + shift * y[:, None]), y


# -- paths and warm starts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("allow_timelike", [False, True])
def test_a_path_equals_separate_solves(family, allow_timelike):
    problem = make_problem(family, d=2, n=24, allow_timelike=allow_timelike)
    path = solve_path(problem, CS)
    separate = [solve(problem.with_C(C)) for C in CS]
    for C, along, alone in zip(CS, path, separate, strict=True):
        assert along.status is alone.status is Status.OPTIMAL
        scale = max(alone.objective, 1e-9 * float(np.sum(problem.with_C(C).costs)))
        assert abs(along.objective - alone.objective) <= 2e-6 * scale
        assert along.lower_bound <= alone.objective
        assert along.certificate.verify(problem.with_C(C)) == along.lower_bound


@pytest.mark.parametrize(("n", "d"), [(400, 2), (400, 5)])
def test_a_path_takes_fewer_passes(n, d):
    problem = MarginProblem(*clouds(n, d, seed=0))
    Cs = np.geomspace(0.1, 10.0, 12)
    path = solve_path(problem, Cs)
    separate = [solve(problem.with_C(C)) for C in Cs]
    assert sum(s.n_iter for s in path) < 0.8 * sum(s.n_iter for s in separate)


def test_a_path_keeps_the_order_of_its_list():
    problem = make_problem("overlap", d=2, n=24)
    shuffled = [4.0, 0.05, 20.0, 1.0, 0.3]
    by_C = dict(zip(CS, solve_path(problem, CS), strict=True))
    for C, solution in zip(shuffled, solve_path(problem, shuffled), strict=True):
        assert solution.objective == by_C[C].objective
    # The optimum is non-decreasing and concave in C, being a minimum of functions affine in C.
    values = np.array([by_C[C].objective for C in CS])
    slopes = np.diff(values) / np.diff(CS)
    assert np.all(slopes >= -1e-6)
    assert np.all(np.diff(slopes) <= 1e-6)


def test_a_path_may_hold_the_hard_margin_and_repeated_values():
    problem = make_problem("separable", d=2, n=12)
    soft, again, hard = solve_path(problem, [2.0, 2.0, np.inf])
    assert again.objective == pytest.approx(soft.objective, rel=2e-6)
    assert hard.status is Status.OPTIMAL
    assert hard.objective == pytest.approx(solve(problem.with_C(np.inf)).objective, rel=2e-6)
    with pytest.raises(ValueError, match="empty"):
        solve_path(problem, [])


@pytest.mark.parametrize("family", ["overlap", "surrounded", "weighted"])
def test_a_start_does_not_change_the_optimum(family):
    problem = make_problem(family, d=2, n=24)
    cold = solve(problem)
    rng = np.random.default_rng(1)
    for start in (cold.w, np.zeros(3), np.array([5.0, 0.1, 0.0]), *rng.normal(size=(5, 3))):
        warm = solve(problem, start=start)
        assert warm.status is Status.OPTIMAL
        assert warm.objective == pytest.approx(cold.objective, rel=2e-6)


def test_the_optimum_as_start_is_never_lost():
    problem = MarginProblem(*clouds(400, 3, seed=2))
    best = solve(problem, tol=1e-9)
    warm = solve(problem, start=best.w, max_iter=4)
    assert warm.objective <= best.objective * (1.0 + 1e-12)
    cold = solve(problem, max_iter=4)
    assert warm.objective < cold.objective


# -- forms of the problem --------------------------------------------------------------------------------------------


def risk_minimum(problem):
    """``min_w sum c_i hinge``: a linear programme, solved by Clarabel as a cone programme in (w, slacks)."""
    Z, n = problem.signed_covectors, problem.n_samples
    dim = Z.shape[1]
    A = sparse.vstack(
        [sparse.hstack([-Z, -np.sqrt(2.0) * sparse.eye(n)]), sparse.hstack([np.zeros((n, dim)), -sparse.eye(n)])]
    )
    b = np.concatenate([-np.ones(n), np.zeros(n)])
    cost = np.concatenate([np.zeros(dim), problem.costs])
    return run_clarabel(sparse.csc_matrix((dim + n, dim + n)), cost, A, b, [clarabel.NonnegativeConeT(2 * n)])


def run_clarabel(P, q, A, b, cones):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    answer = clarabel.DefaultSolver(sparse.triu(P, format="csc"), q, sparse.csc_matrix(A), b, cones, settings).solve()
    assert answer.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
    return answer.obj_val


@pytest.mark.parametrize("d", [2, 3, 5, 8])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_where_the_risk_has_a_timelike_minimiser_it_is_the_timelike_optimum(d, C):
    """``max(q, 0)/2 + risk >= min risk``, with equality where a minimiser of the risk has q <= 0."""
    problem = make_problem("surrounded", d=d, n=40, C=C, allow_timelike=True)
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    least = risk_minimum(problem)
    floor = 1e-7 * float(np.sum(problem.costs))  # the accuracy of the judge
    assert solution.objective == pytest.approx(least, rel=2e-6, abs=floor)


@pytest.mark.parametrize("family", ["overlap", "imbalanced", "weighted"])
@pytest.mark.parametrize("d", [2, 4])
def test_the_timelike_optimum_agrees_with_scip(family, d):
    instance = make_instance(family, d=d, n=24, C=1.0, seed=9)
    solution = solve(MarginProblem(instance.X, instance.y, sample_weight=instance.weight, allow_timelike=True))
    judge = solve_scip(instance.X, instance.y, instance.costs, timelike=True)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(judge.value, rel=1e-5, abs=1e-9 * float(np.sum(instance.costs)))
    assert solve(MarginProblem(instance.X, instance.y, sample_weight=instance.weight)).objective >= solution.lower_bound


@pytest.mark.parametrize("ratio", [0.01, 10.0])
def test_a_C_per_class_by_weights_agrees_with_scip(ratio):
    instance = make_instance("imbalanced", d=3, n=60, C=1.0, seed=4)
    weight = np.where(instance.y > 0, ratio, 1.0)
    solution = solve(MarginProblem(instance.X, instance.y, C=0.5, sample_weight=weight))
    judge = solve_scip(instance.X, instance.y, 0.5 * weight)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(judge.value, rel=1e-5)


# -- tolerances, statuses, limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-2, 1e-6, 1e-9])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_gap_meets_the_tolerance_and_the_value_is_the_optimum(family, tol):
    problem = make_problem(family, d=2, n=8)
    solution = solve(problem, tol=tol)
    best = float(brute_force(problem.X[None], problem.y[None], problem.costs[None])[0][0])
    assert solution.status is Status.OPTIMAL
    assert solution.gap <= tol
    assert best * (1.0 - 1e-9) <= solution.objective <= best * (1.0 + tol) + 1e-12
    assert solution.lower_bound <= best


@pytest.mark.parametrize("family", ["overlap", "surrounded"])
def test_without_the_check_nothing_is_called_proved(family):
    problem = make_problem(family, d=2, n=24)
    proved, trusted = solve(problem), solve(problem, verify=False)
    assert trusted.status is Status.UNVERIFIED
    assert not trusted.status.is_proved
    assert np.array_equal(trusted.w, proved.w)
    assert trusted.objective * (1.0 - 1e-6) <= trusted.lower_bound <= trusted.objective * (1.0 + 1e-12)
    assert trusted.certificate.verify(problem) == proved.lower_bound  # it can be checked later
    assert solve(problem, verify=False, max_iter=4).status is Status.ITERATION_LIMIT


@pytest.mark.parametrize("family", FAMILIES)
def test_bounds_of_the_history_never_turn_back_and_end_at_the_answer(family):
    problem = make_problem(family, d=2, n=40)
    solution = solve(problem)
    lower, upper = np.array(solution.history["lower_bound"]), np.array(solution.history["objective"])
    assert lower.shape == upper.shape
    assert lower.size > 3
    assert np.all(np.diff(lower) >= 0.0)
    assert np.all(np.diff(upper) <= 0.0)
    best = solution.objective * (1.0 + 1e-9)
    assert np.all(lower <= best)
    assert upper[-1] == pytest.approx(solution.objective, rel=1e-9)
    assert upper[-1] - lower[-1] <= 1e-6 * upper[-1]


@pytest.mark.parametrize("max_regions", [1, 2, 10, 40])
def test_max_regions_is_honoured_and_the_bound_stays_true(max_regions):
    instance = make_instance("surrounded", d=3, n=40, C=1.0, seed=3)
    problem = MarginProblem(instance.X, instance.y)
    whole = solve(problem)
    assert whole.info["regions"] > 40
    solution = solve(problem, max_regions=max_regions)
    assert solution.status is Status.ITERATION_LIMIT
    # A split replaces one region by up to 2d.
    assert solution.info["regions"] <= max(max_regions, 2) + 2 * 3 - 1
    assert 0.0 <= solution.lower_bound <= whole.objective
    assert solution.certificate.verify(problem) == solution.lower_bound
    assert whole.lower_bound <= solution.objective


@pytest.mark.parametrize("option", [{"max_iter": 0}, {"max_regions": 0}, {"time_limit": 0.0}, {"time_limit": np.nan}])
def test_limits_that_are_none_are_refused(option):
    with pytest.raises(ValueError, match="positive"):
        solve(make_problem("overlap", d=2, n=6), **option)


# -- the small programme over cuts -----------------------------------------------------------------------------------


def random_pool(rng, n_cuts, dim):
    """A pool of cuts of a random risk, so that its pieces meet, with scales that differ."""
    Z = rng.normal(size=(4 * n_cuts, dim + 1)) * np.exp(rng.normal(size=(4 * n_cuts, 1)))
    offsets, slopes = [0.0], [np.zeros(dim + 1)]
    pool = CutPool(dim + 1)
    for _ in range(n_cuts):
        w = rng.normal(size=dim + 1)
        chosen = Z @ w < 1.0
        b, g = float(chosen.sum()), -Z[chosen].sum(axis=0)
        pool.add(b, np.ascontiguousarray(g), w, float(np.sum(1.0 - Z[chosen] @ w)))
        offsets.append(b)
        slopes.append(g)
    return pool, np.array(offsets), np.array(slopes)


def least_value(s, sign, offsets, slopes, chord):
    """``min over wr of max(|wr|^2 - s^2, 0)/2 + max_j (b_j + g_j.(sign s, wr))``, ``u.wr >= kappa s``, by Clarabel.

    As a second-order cone programme in (wr, top, square): minimise ``top + square`` with ``square >= 0`` and
    ``2 square + s^2 >= |wr|^2``, the latter ``|(2 wr, 2 square + s^2 - 1)| <= 2 square + s^2 + 1``.
    """
    n, dim = len(offsets), slopes.shape[1] - 1
    rows = [np.hstack([slopes[:, 1:], -np.ones((n, 1)), np.zeros((n, 1))])]
    right = [-(offsets + sign * s * slopes[:, 0])]
    rows.append(np.hstack([np.zeros((1, dim + 1)), -np.ones((1, 1))]))
    right.append([0.0])
    if chord is not None:
        u, kappa = chord
        rows.append(np.hstack([-u[None], np.zeros((1, 2))]))
        right.append([-kappa * s])
    linear = sum(len(r) for r in right)
    last = np.eye(dim + 2)[-1]
    rows += [-2.0 * last[None], -2.0 * np.eye(dim + 2)[:dim], -2.0 * last[None]]
    right += [[s * s + 1.0], np.zeros(dim), [s * s - 1.0]]
    cost = np.concatenate([np.zeros(dim), [1.0, 1.0]])
    cones = [clarabel.NonnegativeConeT(linear), clarabel.SecondOrderConeT(dim + 2)]
    return run_clarabel(sparse.csc_matrix((dim + 2, dim + 2)), cost, np.vstack(rows), np.concatenate(right), cones)


@pytest.mark.parametrize("dim", [1, 2, 3, 6])
@pytest.mark.parametrize("with_chord", [False, True])
def test_the_small_programme_agrees_with_a_cone_programme(dim, with_chord):
    rng = np.random.default_rng([dim, with_chord])
    positive = 0
    for _ in range(25):
        pool, offsets, slopes = random_pool(rng, int(rng.integers(1, 30)), dim)
        master = Master(pool)
        sign = float(rng.choice([-1.0, 1.0]))
        u = rng.normal(size=dim)
        chord = (u / np.linalg.norm(u), float(rng.uniform(0.2, 1.0))) if with_chord else None
        master.enter(sign, with_chord, *((chord[1], chord[0]) if with_chord else (0.0, np.zeros(dim))))
        for s in (0.0, *np.exp(rng.normal(size=3))):  # the multipliers of one s begin the next
            value, exact = master.optimise(s, -1e300), least_value(s, sign, offsets, slopes, chord)
            scale = max(1.0, abs(exact))
            # Any combination is a minorant, so the value is never above the minimum, and at the optimum they are equal.
            # Where the minimum is 0 the search does not need the programme to say so.
            assert value <= exact + 1e-7 * scale
            assert max(value, 0.0) >= exact - 1e-7 * scale
            positive += exact > 1e-3
    assert positive >= 40


@pytest.mark.parametrize("loss", ["hinge", "asinh"])
@pytest.mark.parametrize("start", [[0.0, 1.0], [0.0] * 100_000, [[0.0, 1.0, 0.0]], 1.0, [0.0, np.nan, 1.0]])
def test_a_start_of_another_shape_is_refused(loss, start):
    problem = MarginProblem([[1.0, 0.0, 0.0], [np.sqrt(2.0), 1.0, 0.0]], [1.0, -1.0])
    with pytest.raises(ValueError, match=r"start must be a finite vector of shape \(3,\)"):
        solve(problem, loss=loss, start=start)
    with pytest.raises(ValueError, match="start must be a finite vector"):
        solve_path(problem, [1.0, 2.0], loss=loss, start=start)


@pytest.mark.parametrize(
    ("start", "complaint"), [("abc", "start must be 3 numbers, got 'abc'"), ([0.0, np.nan, 1.0], "nan")]
)
def test_a_start_that_is_no_vector_of_numbers_is_named(start, complaint):
    problem = MarginProblem([[1.0, 0.0, 0.0], [np.sqrt(2.0), 1.0, 0.0]], [1.0, -1.0])
    with pytest.raises(ValueError, match=complaint):
        solve(problem, start=start)
