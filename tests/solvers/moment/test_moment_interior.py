"""The structured interior-point method: Clarabel as its judge, and one code on several array libraries."""

import array_api_strict
import numpy as np
import pytest
from array_api_compat import numpy as xp_numpy

from hypermargin import MarginProblem
from hypermargin.solvers.dual_weights import Samples
from hypermargin.solvers.moment import arrow
from hypermargin.solvers.moment.backends import solve_relaxation, threads
from hypermargin.solvers.moment.ball import bounded_frame
from hypermargin.solvers.moment.interior import factorise, interior_point, start
from hypermargin.solvers.moment.model import build_relaxation
from hypermargin.solvers.moment.operators import RelaxationOperator
from hypermargin.solvers.moment.sos import sum_of_squares
from reference.instances import make_instance

LIMITS = {"tol": 1e-8, "max_iter": 100, "time_limit": np.inf}


def bounded_relaxation(family="overlap", d=2, n=10, order=2, sparse=True, loss="hinge", hard=False, seed=0):
    instance = make_instance(family, d, n, 1.0, seed)
    problem = MarginProblem(instance.X, instance.y, C=np.inf if hard else 1.0)
    samples = Samples.of(problem)
    value = 20.0 if hard else problem.objective(np.zeros(d + 1), loss)
    frame = bounded_frame(problem, samples, value, loss)
    taylor = {"hinge": 1, "taylor3": 3}[loss]
    return build_relaxation(samples.Z, samples.costs, frame, order=order, taylor=taylor, sparse=sparse, bounded=True)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"family": "surrounded", "n": 8},
        {"family": "duplicates"},
        {"d": 1},
        {"d": 3, "n": 6},
        {"order": 1},
        {"n": 3, "sparse": False, "family": "surrounded"},
        {"loss": "taylor3", "n": 6},
        {"family": "overlap", "hard": True, "n": 6, "seed": 1},
    ],
    ids=str,
)
def test_it_finds_clarabels_value(options):
    relaxation = bounded_relaxation(**options)
    ours = solve_relaxation(relaxation, "structured", **LIMITS)
    judge = solve_relaxation(relaxation, "clarabel", **LIMITS)
    value, expected = (float(np.sum(relaxation.objective * result.moments)) for result in (ours, judge))
    assert value == pytest.approx(expected, rel=1e-5, abs=1e-6)
    proof = sum_of_squares(relaxation, ours.grams)
    assert proof.bound_in_unit_box == pytest.approx(value, rel=1e-5, abs=1e-6)
    assert proof.bound_in_unit_box <= value + 1e-9


def test_array_api_strict_runs_the_same_code_to_the_same_answer():
    relaxation = bounded_relaxation(n=4)
    one = interior_point(relaxation, xp=xp_numpy, tol=1e-8)
    other = interior_point(relaxation, xp=array_api_strict, tol=1e-8)
    assert other.n_iter == one.n_iter
    np.testing.assert_allclose(other.moments, one.moments, atol=1e-6)


def test_torch_runs_the_same_code_to_the_same_answer():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    relaxation = bounded_relaxation(n=4)
    one = solve_relaxation(relaxation, "structured", **LIMITS)
    other = solve_relaxation(relaxation, "structured", library="torch", device="cpu", **LIMITS)
    np.testing.assert_allclose(other.moments, one.moments, atol=1e-6)


def test_the_arrow_elimination_solves_the_whole_system(monkeypatch):
    """M assembled column by column from its definition, and solved by NumPy; also in small chunks and two threads."""
    relaxation = bounded_relaxation(n=5)
    operator = RelaxationOperator(relaxation, xp_numpy)
    rng = np.random.default_rng(0)
    point = start(operator)
    X = [M + 0.1 * (R @ np.swapaxes(R, 1, 2)) for M in point.X for R in [rng.normal(size=M.shape)]]
    S_inverse = factorise(point, xp_numpy).S_inverse
    S_inverse = [M + 0.1 * (R @ np.swapaxes(R, 1, 2)) for M in S_inverse for R in [rng.normal(size=M.shape)]]
    private, shared = rng.normal(size=(operator.n_groups, operator.n_private)), rng.normal(size=operator.n_shared)

    def dense_column(k):
        unit = np.zeros(private.size + shared.size)
        unit[k] = 1.0
        steps = operator.matrices(unit[: private.size].reshape(private.shape), unit[private.size :])
        made = [0.5 * (x @ t @ s + s @ t @ x) for x, t, s in zip(X, steps, S_inverse, strict=True)]
        column_private, column_shared, _ = operator.adjoint(made)
        return np.r_[column_private.ravel(), column_shared]

    M = np.column_stack([dense_column(k) for k in range(private.size + shared.size)])
    np.testing.assert_allclose(M, M.T, atol=1e-10)
    expected = np.linalg.solve(M, np.r_[private.ravel(), shared])
    for chunk_bytes, n_threads in ((2**22, 1), (1, 2)):
        monkeypatch.setattr(arrow, "CHUNK_BYTES", chunk_bytes)
        found = arrow.ArrowSystem(operator, X, S_inverse, n_threads).solve(private, shared, refinements=0)
        np.testing.assert_allclose(np.r_[found[0].ravel(), found[1]], expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("limits", [{"max_iter": 4}, {"time_limit": 0.0}])
def test_stopped_early_the_sos_side_still_proves_a_true_bound(limits):
    relaxation = bounded_relaxation()
    stopped = solve_relaxation(relaxation, "structured", **(LIMITS | limits))
    finished = solve_relaxation(relaxation, "structured", **LIMITS)
    optimum = float(np.sum(relaxation.objective * finished.moments))
    assert stopped.status == ("iteration limit" if "max_iter" in limits else "time limit")
    assert stopped.n_iter == limits.get("max_iter", 0)
    assert sum_of_squares(relaxation, stopped.grams).bound_in_unit_box <= optimum + 1e-7


def test_the_callback_sees_every_iteration():
    seen = []
    relaxation = bounded_relaxation(n=4)
    result = interior_point(relaxation, xp=xp_numpy, tol=1e-8, callback=lambda k, figures: seen.append((k, figures)))
    assert [k for k, _ in seen] == list(range(result.n_iter + 1))
    assert seen[-1][1]["gap"] == result.history["gap"][-1] <= 1e-8


def test_threads_follow_scikit_learns_convention():
    assert threads(3) == 3
    assert threads(-1) >= 1
