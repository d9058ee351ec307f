"""`refine`: monotone, feasible, locally optimal by judges that share nothing with it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.optimize import minimize

from hypermargin import MarginProblem, Status, solve
from hypermargin.certificates.core.objective import enclose_objective
from hypermargin.geometry import boost
from hypermargin.solvers.refine import refine, refine_solution
from reference.brute import brute_force
from reference.objective import lift


def clouds(seed, n=30, d=2):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return lift(rng.normal(size=(n, d)) + 0.5 * y[:, None]), y


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["hinge", "asinh", "taylor3"]), st.sampled_from([0.1, 1.0, 10.0]))
def test_never_worse_than_its_start_and_always_feasible(seed, loss, C):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    problem = MarginProblem(*clouds(seed, d=d), C=C, sample_weight=rng.uniform(0.0, 2.0, 30))
    start = rng.normal(size=d + 1) * rng.choice([0.0, 1e-3, 1.0, 30.0])
    w, history = refine(problem, start, loss)
    assert problem.is_feasible(w)
    assert np.all(np.diff(history) <= 0.0)
    assert problem.objective(w, loss) == pytest.approx(history[-1], rel=1e-9)
    assert problem.objective(w, loss) <= problem.objective(start, loss)


@pytest.mark.parametrize("loss", ["hinge", "asinh"])
@pytest.mark.parametrize("size", [2.0, 4.0, 6.0])
def test_commutes_with_isometries(loss, size):
    """Data far from the origin is the same problem, and must not be harder."""
    X, y = clouds(4)
    c, s = size * 0.6, size * 0.8
    L = expm(np.array([[0.0, c, s], [c, 0.0, 0.4], [s, -0.4, 0.0]]))
    start = np.array([0.2, -1.0, 0.5])
    here, _ = refine(MarginProblem(X, y), start, loss)
    moved = MarginProblem(lift((X @ L.T)[:, 1:]), y)
    there, _ = refine(moved, L @ start, loss)
    assert moved.objective(there, loss) == pytest.approx(MarginProblem(X, y).objective(here, loss), rel=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "asinh", "taylor3"])
@pytest.mark.parametrize("seed", range(5))
def test_nelder_mead_finds_nothing_better_nearby(seed, loss):
    problem = MarginProblem(*clouds(seed), C=10.0 ** (seed % 3 - 1))
    w, history = refine(problem, solve(problem, "euclidean").w, loss)
    for size in (1e-4, 1e-2):
        simplex = np.vstack([w, w + size * np.eye(3)])
        judge = minimize(
            problem.objective,
            w,
            args=(loss,),
            method="Nelder-Mead",
            options={"initial_simplex": simplex, "xatol": 1e-10, "fatol": 1e-12, "maxfev": 3000},
        )
        assert history[-1] <= judge.fun * (1 + 1e-6)


def test_from_many_starts_it_finds_the_global_optimum_of_tiny_problems():
    """Brute force over all stationary points is the judge; most starts lead there, the best of 8 always does here."""
    rng = np.random.default_rng(0)
    for seed in range(8):
        X, y = clouds(seed, n=6)
        best, _ = brute_force(X[None], y[None], np.ones((1, 6)))
        problem = MarginProblem(X, y)
        found = [refine(problem, start)[1][-1] for start in rng.normal(size=(8, 3))]
        assert min(found) == pytest.approx(best[0], rel=1e-6)
        assert min(found) >= best[0] * (1 - 1e-9)


def test_improves_pgd_on_the_loss_pgd_descends_on():
    problem = MarginProblem(*clouds(9), C=1.0)
    rough = solve(problem, "pgd", epochs=20)
    fine = refine_solution(problem, rough)
    assert fine.loss == rough.loss == "asinh"
    assert fine.objective < rough.objective
    assert fine.method == "pgd"
    assert fine.objective == problem.objective(fine.w, "asinh")


def test_a_bound_is_kept_for_its_own_loss_only():
    problem = MarginProblem(*clouds(10))
    proof = solve(problem).certificate
    bounded = replace(solve(problem, "euclidean"), lower_bound=0.5, status=Status.GAP_REMAINS, certificate=proof)
    same, other = refine_solution(problem, bounded), refine_solution(problem, bounded, "asinh")
    assert (same.lower_bound, same.status, same.certificate.points) == (0.5, Status.GAP_REMAINS, proof.points)
    assert (other.lower_bound, other.status, other.certificate) == (-np.inf, Status.CONVERGED, None)


def test_a_timelike_solution_is_mended():
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    problem = MarginProblem(lift(np.vstack([0.2 * ring, 3.0 * ring])), np.repeat([1.0, -1.0], 12), C=1.0)
    timelike = solve(problem, "euclidean")
    assert timelike.status is Status.TIMELIKE
    mended = refine_solution(problem, timelike)
    assert mended.status is Status.CONVERGED
    assert mended.objective <= problem.objective(np.zeros(3))  # w = 0 is feasible
    allowed = MarginProblem(problem.X, problem.y, 1.0, allow_timelike=True)
    w, _ = refine(allowed, timelike.w)
    assert allowed.objective(w) <= allowed.objective(timelike.w)


@pytest.mark.parametrize(
    ("C", "w", "message"),
    [
        (np.inf, [0.0, 1.0, 0.0], "finite C"),
        (1.0, [0.0, 1.0], r"shape \(3,\)"),
        (1.0, [np.nan, 1.0, 0.0], "finite vector"),
    ],
)
def test_what_it_cannot_refine_is_refused(C, w, message):
    with pytest.raises(ValueError, match=message):
        refine(MarginProblem(*clouds(0), C=C), w)


def test_an_intercept_is_refused():
    problem = MarginProblem(*clouds(0))
    with pytest.raises(ValueError, match="intercept"):
        refine_solution(problem, solve(problem, "euclidean", fit_intercept=True, allow_timelike=True))


def test_a_mean_that_weights_put_too_far_from_a_sample():
    """Around the mean of these samples the first one would lie at radius 19.6; found by `make fuzz`."""
    X = lift(np.array([[-7000.0, 3000.0], [-20000.0, 60000.0]]))
    problem = MarginProblem(X, [1.0, -1.0], 4.0, sample_weight=[0.01, 1e7])
    start = np.array([0.2, -0.1, 0.3])
    w, history = refine(problem, start)
    assert w[1:] @ w[1:] >= w[0] ** 2 * (1.0 - 1e-12)
    assert problem.objective(w) <= problem.objective(start)
    assert history == sorted(history, reverse=True)


@pytest.mark.parametrize("radius", [0.0, 4.0, 9.0])
@pytest.mark.parametrize("loss", ["hinge", "asinh"])
def test_the_answer_of_a_refined_optimum_is_one_whole(radius, loss):
    """w, w_low, objective and bound belong together; far out w alone is not the answer."""
    X, y = clouds(4)
    centre = boost(lift(np.array([[np.sinh(radius), 0.0]]))[0])
    problem = MarginProblem(lift((X @ centre.T)[:, 1:]), y)
    plain, refined = solve(problem, loss=loss), solve(problem, loss=loss, refine=True)
    assert refined.status is plain.status
    assert refined.lower_bound == plain.lower_bound <= refined.objective <= plain.objective
    if loss == "hinge":
        again = enclose_objective(problem, refined.w, refined.w_low, problem.centre[1:], precise=True)
        assert again.lower <= refined.objective
        assert again.upper <= refined.objective * (1.0 + 1e-6)
    if refined.objective == plain.objective:
        np.testing.assert_array_equal(refined.w, plain.w)
    else:
        assert refined.w_low is None
