"""The structured interior-point method: Clarabel as its judge, and one code on several array libraries."""

import array_api_strict
import numpy as np
import pytest
from array_api_compat import numpy as xp_numpy

from hypermargin import MarginProblem
from hypermargin.solvers.paper.dual_weights import Samples
from hypermargin.solvers.paper.frames import bounded_frame
from hypermargin.solvers.paper.moment import interior
from hypermargin.solvers.paper.moment.interior import (
    NewtonSystem,
    RelaxationOperator,
    SumByTarget,
    interior_point,
    inverses,
    longest_step,
    sandwich,
    start,
)
from hypermargin.solvers.paper.moment.relaxation import build_relaxation, sum_of_squares
from hypermargin.solvers.paper.moment.solver import solve_relaxation, threads
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


def definite(rng, like):
    """Random positive definite matrices of the shapes of `like`."""
    return [0.1 * np.eye(M.shape[1]) + R @ np.swapaxes(R, 1, 2) for M in like for R in [rng.normal(size=M.shape)]]


@pytest.mark.parametrize(
    "options", [{"n": 5}, {"n": 4, "d": 1}, {"n": 6, "hard": True, "seed": 1}, {"n": 5, "order": 1}], ids=str
)
def test_elimination_solves_the_whole_system(monkeypatch, options):
    """M assembled column by column from its definition, solved by NumPy; also in small chunks and threads."""
    relaxation = bounded_relaxation(**options)
    operator = RelaxationOperator(relaxation, xp_numpy)
    rng = np.random.default_rng(0)
    point = start(operator)
    X, S_inverse = definite(rng, point.X), definite(rng, point.S)
    private, shared = rng.normal(size=(operator.n_groups, operator.n_private)), rng.normal(size=operator.n_shared)

    def dense_column(k):
        unit = np.zeros(private.size + shared.size)
        unit[k] = 1.0
        steps = operator.matrices(unit[: private.size].reshape(private.shape), unit[private.size :])
        made = [0.5 * (x @ t @ s + s @ t @ x) for x, t, s in zip(X, steps, S_inverse, strict=True)]
        column_private, column_shared, _ = operator.adjoint(made)
        return np.r_[column_private.ravel(), column_shared]

    M = np.column_stack([dense_column(k) for k in range(private.size + shared.size)])
    np.testing.assert_allclose(M, M.T, atol=1e-10 * np.max(np.abs(M)))
    expected = np.linalg.solve(M, np.r_[private.ravel(), shared])
    for chunk_bytes, n_threads in ((2**22, 1), (1, 2)):
        monkeypatch.setattr(interior, "CHUNK_BYTES", chunk_bytes)
        operator = RelaxationOperator(relaxation, xp_numpy, n_threads=n_threads)
        found = NewtonSystem(operator, X, S_inverse).solve(private, shared, refinements=1)
        accuracy = 1e-7 * np.max(np.abs(expected))
        np.testing.assert_allclose(np.r_[found[0].ravel(), found[1]], expected, rtol=1e-7, atol=accuracy)


def test_inverses_steps_and_products_are_numpys():
    rng = np.random.default_rng(1)
    like = start(RelaxationOperator(bounded_relaxation(n=5), xp_numpy)).S
    S, X = definite(rng, like), definite(rng, like)
    step = [0.1 * (M - K) for M, K in zip(definite(rng, like), definite(rng, like), strict=True)]
    for M, inverse in zip(S, inverses(S, xp_numpy), strict=True):
        np.testing.assert_allclose(inverse, np.linalg.inv(M), rtol=1e-8, atol=1e-8 * np.max(np.abs(inverse)))
    for K, M, D in zip(X, S, step, strict=True):
        product = K @ D @ M
        expected = 0.5 * (product + np.swapaxes(product, 1, 2))
        np.testing.assert_allclose(sandwich(K, D, M), expected, atol=1e-9)
    # The step leads to 0.9 of the first singular matrix: a generalised eigenvalue, which LAPACK gives as well.
    ends = [np.min(np.linalg.eigvals(np.linalg.solve(M, D)).real) for M, D in zip(S, step, strict=True)]
    exact = min(1.0, -0.9 / min(ends))
    for accuracy in (1e-2, 1e-6):
        assert (1.0 - accuracy) * exact <= longest_step(S, step, 0.9, accuracy, xp_numpy) <= exact * (1.0 + 1e-9)
    assert longest_step(S, S, 0.9, 1e-2, xp_numpy) == 1.0


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_matrices_that_are_not_positive_definite_are_refused(library):
    xp = pytest.importorskip(f"array_api_compat.{library}", reason=f"{library} is not installed")
    S = start(RelaxationOperator(bounded_relaxation(n=5), xp)).S
    S[0][-1, 0, 0] = -1.0
    with pytest.raises((np.linalg.LinAlgError, RuntimeError), match="positive"):
        inverses(S, xp)


def test_entries_are_summed_by_their_targets():
    rng = np.random.default_rng(2)
    targets, values = rng.integers(0, 9, size=40), rng.normal(size=(3, 2, 40))
    found = SumByTarget(targets, 12, xp_numpy, None)(values)
    expected = np.stack([values[..., targets == j].sum(axis=-1) for j in range(12)], axis=-1)
    np.testing.assert_allclose(found, expected, atol=1e-12)


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
