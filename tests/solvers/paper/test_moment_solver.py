"""The moment solver: the order of the bounds with SCIP at its top, and what it says of itself."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from hypermargin import MarginProblem, Status, solve
from hypermargin.solvers.paper.dual_weights import Samples
from hypermargin.solvers.paper.frames import bounded_frame, screen
from reference.instances import FAMILIES, make_instance
from reference.scip import solve_scip


def made(family, d=2, n=12, C=1.0, seed=0):
    instance = make_instance(family, d, n, C, seed)
    problem = MarginProblem(instance.X, instance.y, C=C, sample_weight=instance.weight)
    used = problem.costs > 0.0
    return problem, solve_scip(instance.X[used], instance.y[used], problem.costs[used])


def lp_value(problem):
    Z, c = problem.signed_covectors, problem.costs
    n, k = Z.shape
    A = sparse.hstack((-Z, -np.sqrt(2.0) * sparse.identity(n)))
    return linprog(np.r_[np.zeros(k), c], A_ub=A, b_ub=-np.ones(n), bounds=[(None, None)] * k + [(0, None)] * n).fun


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("d", "n", "C"), [(1, 8, 1.0), (2, 12, 1.0), (2, 20, 10.0), (3, 8, 0.1)])
def test_bounds_come_in_their_order(family, d, n, C):
    """LP = SDP = order 1 = the paper's order 2 <= sparse order 2 with a ball <= the optimum that SCIP finds."""
    problem, scip = made(family, d, n, C)
    linear = lp_value(problem)
    slack = 1e-6 * float(np.sum(problem.costs))
    sdp, first = (solve(problem, "sdp"), solve(problem, "moment", order=1))
    assert sdp.lower_bound == pytest.approx(linear, abs=slack)
    assert first.lower_bound == pytest.approx(linear, abs=slack)
    second = solve(problem, "moment", order=2)
    assert first.lower_bound - slack <= second.lower_bound <= scip.value + slack
    assert second.objective >= scip.bound - slack


@pytest.mark.parametrize("family", ["overlap", "separable", "surrounded"])
def test_without_a_ball_order_two_is_order_one(family):
    """The collapse that docs/relaxations.md proves: value and bound are those of the linear program."""
    problem, _ = made(family, n=8)
    paper = solve(problem, "moment", order=2, bounded=False)
    linear, scale = lp_value(problem), float(np.sum(problem.costs))
    assert paper.lower_bound == pytest.approx(linear, abs=1e-6 * scale)
    assert paper.info["relaxation_value"] == pytest.approx(linear, abs=1e-5 * scale)
    assert not paper.info["bounded"]


@pytest.mark.parametrize(("radius", "spread", "angle"), [(3.0, 0.2, 0.5), (5.0, 0.05, 0.2), (7.0, 0.1, 0.3)])
def test_without_a_ball_many_points_far_out_are_no_obstacle(radius, spread, angle):
    """Two clusters of 60: the first steps must not end at the boundary of the cone, hundreds of costs away."""
    rng = np.random.default_rng(1)
    y = np.where(np.arange(120) % 2, 1.0, -1.0)
    around = np.where(y > 0.0, 0.0, angle) + spread * rng.normal(size=120)
    out = radius + 0.5 * rng.normal(size=120)
    X = np.column_stack((np.cosh(out), np.sinh(out) * np.cos(around), np.sinh(out) * np.sin(around)))
    problem = MarginProblem(X, y, C=1.0)
    paper = solve(problem, "moment", bounded=False, verify=False)
    assert paper.info["relaxation_value"] == pytest.approx(lp_value(problem), abs=1e-3 * float(np.sum(problem.costs)))


@pytest.mark.parametrize(("family", "n", "seed"), [("surrounded", 5, 1), ("surrounded", 5, 2), ("duplicates", 6, 1)])
def test_dense_and_higher_orders_are_never_lower(family, n, seed):
    problem, scip = made(family, n=n, seed=seed)
    sparse2 = solve(problem, "moment")
    dense2 = solve(problem, "moment", sparse=False)
    sparse3 = solve(problem, "moment", order=3)
    slack = 1e-5 * scip.value
    assert sparse2.lower_bound <= dense2.lower_bound + slack
    assert dense2.lower_bound <= scip.value + slack
    assert sparse2.lower_bound <= sparse3.lower_bound + slack
    assert sparse3.lower_bound == pytest.approx(scip.value, rel=1e-5)  # order 3 closes what order 2 leaves open


@pytest.mark.parametrize("family", ["overlap", "separable", "imbalanced", "weighted", "duplicates"])
def test_a_flat_solution_is_the_optimum(family):
    problem, scip = made(family, n=16)
    solution = solve(problem, "moment")
    assert solution.info["flat_extension"]
    assert np.all(solution.info["moment_ranks"] == 1)
    assert solution.objective == pytest.approx(scip.value, rel=1e-5)
    assert solution.lower_bound == pytest.approx(scip.value, rel=1e-5)


def test_where_it_is_not_flat_it_does_not_say_so():
    problem, scip = made("surrounded", n=12)
    solution = solve(problem, "moment")
    assert scip.value - solution.lower_bound > 1e-2
    assert not solution.info["flat_extension"]
    assert solution.status is Status.GAP_REMAINS


@pytest.mark.parametrize("family", ["overlap", "surrounded", "separable"])
def test_the_ball_contains_the_optimum_and_screening_leaves_its_objective_alone(family):
    problem, scip = made(family, n=20)
    samples = Samples.of(problem)
    frame = bounded_frame(problem, samples, 1.0001 * scip.value, "hinge")
    v = np.linalg.solve(frame.basis, scip.w - frame.centre)
    assert np.linalg.norm(v) <= 1.0
    xi = np.maximum(0.0, 1.0 - samples.Z @ scip.w) / np.sqrt(2.0)
    assert np.all(xi <= frame.slack_scale)

    kept, _, (offset, slope) = screen(samples, frame, "hinge")
    rng = np.random.default_rng(0)
    for direction in rng.normal(size=(20, 3)):
        w = frame.to_w(direction / np.linalg.norm(direction))
        hinges = np.maximum(0.0, 1.0 - samples.Z[kept] @ w) / np.sqrt(2.0)
        assert offset + slope @ w + samples.costs[kept] @ hinges == pytest.approx(problem.risk(w))


@pytest.mark.parametrize("sparse", [True, False])
def test_screening_changes_the_work_and_not_the_answer(sparse):
    problem, scip = made("duplicates", n=10)
    whole, less = (solve(problem, "moment", screen=screen_, sparse=sparse) for screen_ in (False, True))
    assert whole.lower_bound == pytest.approx(scip.value, rel=1e-5)
    assert less.lower_bound == pytest.approx(scip.value, rel=1e-5)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_third_order_taylor(seed):
    """Bounds hold for its own loss: no w on a fine search does better."""
    instance = make_instance("overlap", 2, 6, 1.0, seed)
    problem = MarginProblem(instance.X, instance.y)
    rng = np.random.default_rng(0)
    trials = rng.normal(size=(20_000, 3)) * rng.exponential(1.0, size=(20_000, 1))
    trials = trials[np.linalg.norm(trials[:, 1:], axis=1) >= np.abs(trials[:, 0])]
    best = min(problem.objective(w, "taylor3") for w in trials[:4000])
    second, third = (solve(problem, "moment", loss="taylor3", order=order) for order in (2, 3))
    assert second.loss == third.loss == "taylor3"
    assert second.lower_bound <= third.lower_bound + 1e-6
    assert third.lower_bound <= best + 1e-9
    assert third.lower_bound <= third.objective * (1 + 1e-7)
    paper = solve(problem, "moment", loss="taylor3", bounded=False)
    assert paper.lower_bound == 0.0
    assert paper.info["relaxation_value"] == pytest.approx(0.0, abs=1e-5)


def test_hard_margin_is_solved_exactly_and_the_papers_form_proves_nothing():
    instance = make_instance("separable", 2, 12, 1.0, 0)
    problem = MarginProblem(instance.X, instance.y, C=np.inf)
    large = solve_scip(instance.X, instance.y, np.full(12, 1e4))  # large costs: no slack at the optimum
    solution = solve(problem, "moment")
    assert np.min(problem.margins(solution.w)) >= 1.0 - 1e-9
    assert solution.objective == pytest.approx(large.value, rel=1e-4)
    assert solution.lower_bound == pytest.approx(large.value, rel=1e-4)
    assert solve(problem, "moment", bounded=False).lower_bound == 0.0


def test_hard_margin_that_cannot_be_met_is_proved_infeasible():
    problem, _ = made("duplicates", n=12)
    assert solve(problem.with_C(np.inf), "moment").status is Status.INFEASIBLE


def test_no_ball_is_known_where_there_is_one_class():
    problem = MarginProblem(make_instance("overlap", 2, 8, 1.0, 0).X, np.ones(8))
    with pytest.raises(ValueError, match="no ball is known to contain the best w"):
        solve(problem, "moment", bounded=True)
    by_default = solve(problem, "moment")
    assert not by_default.info["bounded"]
    assert by_default.lower_bound == pytest.approx(lp_value(problem), abs=1e-6)


@pytest.mark.parametrize("options", [{"max_iter": 3}, {"time_limit": 1e-9}, {"max_iter": 3, "bounded": False}], ids=str)
@pytest.mark.parametrize("backend", ["structured", "clarabel"])
def test_stopped_early_it_says_so_and_its_bound_is_true(options, backend):
    problem, scip = made("overlap", n=20)
    solution = solve(problem, "moment", backend=backend, **options)
    assert solution.status is (Status.ITERATION_LIMIT if "max_iter" in options else Status.TIME_LIMIT)
    assert 0.0 <= solution.lower_bound <= scip.value
    assert solution.info["bound_from"]


def test_both_backends_agree():
    problem, scip = made("weighted", n=16)
    for backend in ("structured", "clarabel"):
        solution = solve(problem, "moment", backend=backend)
        assert solution.lower_bound == pytest.approx(scip.value, rel=1e-5)


def test_what_the_solution_says_of_itself():
    problem, _ = made("overlap", n=12)
    solution = solve(problem, "moment")
    info = solution.info
    value = info["relaxation_value"]
    asinh = problem.objective(solution.w, "asinh")
    assert info["paper_eta"] == pytest.approx(abs(asinh - value) / (1 + abs(asinh) + abs(value)))
    assert info["bound_gap"] == pytest.approx(solution.gap)
    assert info["candidate_objectives"][info["candidate"]] == pytest.approx(solution.objective, rel=1e-10)
    np.testing.assert_allclose(info["W"], np.outer(info["w"], info["w"]), atol=1e-3)  # flat: one point
    assert set(info["grams"]) == {"moment", "cone", "slack", "margin", "slack range", "ball"}
    assert all(np.linalg.eigvalsh(X).min() >= -1e-12 for X in info["grams"].values())
    assert info["sos_residual"] < 1e-7


def test_progress_is_shown_on_standard_error(capsys):
    problem, _ = made("overlap", n=6)
    solve(problem, "moment", verbose=True)
    shown = capsys.readouterr()
    assert "moment relaxation took" in shown.err
    assert shown.out == ""
