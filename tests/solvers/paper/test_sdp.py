"""The semidefinite relaxation against the linear program it equals, and the proofs it returns."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from hypermargin import MarginProblem, Status, solve
from hypermargin.certificates import CertificateError
from hypermargin.solvers.paper.dual_weights import Samples, repair
from hypermargin.solvers.paper.sdp import smat, svec
from reference.instances import FAMILIES, make_instance
from reference.objective import lift

SIGNS = np.array([-1.0, 1.0, 1.0])


def lp_value(problem):
    """``min_w risk(w)`` by HiGHS: the linear program without any margin term."""
    Z, c = problem.signed_covectors, problem.costs
    n, k = Z.shape
    A = sparse.hstack((-Z, -np.sqrt(2.0) * sparse.identity(n)))
    bounds = [(None, None)] * k + [(0.0, None)] * n
    return linprog(np.r_[np.zeros(k), c], A_ub=A, b_ub=-np.ones(n), bounds=bounds).fun


def made(family, d=2, n=24, C=1.0, seed=0):
    instance = make_instance(family, d, n, C, seed)
    return MarginProblem(instance.X, instance.y, C=C, sample_weight=instance.weight)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("d", [2, 4])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_its_value_and_bound_are_those_of_the_linear_program(family, d, C):
    problem = made(family, d=d, C=C)
    solution, expected = solve(problem, "sdp"), lp_value(problem)
    scale = float(np.sum(problem.costs))
    assert solution.info["relaxation_value"] == pytest.approx(expected, abs=1e-7 * scale)
    assert solution.lower_bound == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale)
    assert solution.objective >= solution.lower_bound


def test_W_w_and_xi_satisfy_the_constraints_and_make_the_value():
    problem = made("overlap")
    info = solve(problem, "sdp").info
    W, w, xi = info["W"], info["w"], info["xi"]
    whole = np.block([[np.ones((1, 1)), w[None, :]], [w[:, None], W]])
    assert np.linalg.eigvalsh(whole)[0] >= -1e-7 * np.linalg.eigvalsh(whole)[-1]
    trace = float(np.sum(SIGNS * np.diag(W)))
    assert trace >= -1e-6
    assert np.all(problem.signed_covectors @ w >= 1.0 - np.sqrt(2.0) * xi - 1e-9)
    assert trace / 2 + problem.costs @ xi == pytest.approx(info["relaxation_value"], abs=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_dual_weights_prove_the_bound(family):
    problem = made(family)
    solution = solve(problem, "sdp")
    a = solution.info["dual_weights"]
    assert np.all(a >= 0.0)
    assert np.all(a <= problem.costs / np.sqrt(2.0) * (1 + 1e-12))
    np.testing.assert_allclose(
        a @ problem.signed_covectors, 0.0, atol=1e-12 * (1.0 + np.abs(problem.X).max() * a.sum())
    )
    assert a.sum() == pytest.approx(solution.lower_bound, rel=1e-9, abs=1e-12)
    assert solution.certificate.verify(problem) == pytest.approx(solution.lower_bound, rel=1e-15, abs=1e-300)


@pytest.mark.parametrize("seed", range(8))
def test_repaired_weights_never_prove_more_than_the_linear_program(seed):
    """Any weights, however wrong, end as a true bound."""
    rng = np.random.default_rng(seed)
    problem = made(FAMILIES[seed % len(FAMILIES)], seed=seed)
    samples = Samples.of(problem)
    bound = repair(samples.upper * rng.uniform(-0.5, 1.5, size=len(samples.upper)), samples)
    assert bound.value <= lp_value(problem) * (1 + 1e-9) + 1e-9
    np.testing.assert_allclose(
        bound.weights @ samples.Z, 0.0, atol=1e-10 * samples.upper.sum() * np.abs(samples.Z).max()
    )


def test_repair_finds_weights_that_cancel_in_pairs():
    problem = MarginProblem(lift([[0.5, 0.0], [0.5, 0.0]]), [1.0, -1.0])
    samples = Samples.of(problem)
    assert repair(0.999999 * samples.upper, samples).value == pytest.approx(np.sqrt(2.0), rel=1e-12)


def test_hard_margin_of_separable_data_has_the_bound_zero_and_a_separating_w():
    problem = made("separable").with_C(np.inf)
    solution = solve(problem, "sdp")
    assert solution.lower_bound == 0.0
    assert solution.status is Status.GAP_REMAINS
    assert np.min(problem.margins(solution.w)) >= 1.0 - 1e-9


def test_hard_margin_that_no_vector_meets_is_proved_infeasible():
    problem = made("duplicates").with_C(np.inf)
    solution = solve(problem, "sdp")
    a = solution.info["dual_weights"]
    assert solution.status is Status.INFEASIBLE
    assert np.all(a >= 0.0)
    assert a.sum() > 0.0
    np.testing.assert_allclose(a @ problem.signed_covectors, 0.0, atol=1e-9 * a.sum())
    assert solution.certificate.verify(problem) == np.inf


def test_a_certificate_of_other_data_is_worth_less():
    """The same certificate, checked against data that another w fits better, proves less: the check is no formality."""
    problem = made("overlap", n=40)
    solution = solve(problem, "sdp")
    easier = MarginProblem(problem.X[:, [0, 1, 2]], np.sign(problem.X[:, 1]) + (problem.X[:, 1] == 0))
    assert lp_value(easier) < solution.lower_bound
    try:
        proved = solution.certificate.bound_for(easier)
    except CertificateError:
        return
    assert proved <= lp_value(easier) + 1e-9


def test_where_the_relaxation_is_tight_it_is_a_proof():
    problem = MarginProblem(lift([[0.5, 0.0], [0.5, 0.0]]), [1.0, -1.0])
    solution = solve(problem, "sdp")
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(np.sqrt(2.0))
    assert solve(problem, "sdp", verify=False).status is Status.UNVERIFIED


def test_one_sample_a_class_and_dimension_one():
    problem = MarginProblem(lift([[1.0], [-0.7]]), [1.0, -1.0], C=2.0)
    assert solve(problem, "sdp").lower_bound == pytest.approx(lp_value(problem), abs=1e-9)


def test_stopped_early_it_says_so_and_its_bound_is_true():
    problem = made("overlap", n=40)
    solution = solve(problem, "sdp", max_iter=3)
    assert solution.status is Status.ITERATION_LIMIT
    assert 0.0 <= solution.lower_bound <= lp_value(problem) * (1 + 1e-9)


def test_svec_keeps_inner_products_and_smat_undoes_it():
    rng = np.random.default_rng(0)
    A, B = (M + M.T for M in rng.normal(size=(2, 4, 4)))
    assert svec(A) @ svec(B) == pytest.approx(np.trace(A @ B))
    np.testing.assert_allclose(smat(svec(A)), A)


def thin_gap(weight, spread=20.0, gap=1e-4):
    """Classes next to each other, which only a long w tells apart, and a sample of some weight on the wrong side."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-spread, spread, size=(120, 2))
    labels = np.sign(points[:, 0])
    near = np.abs(points[:, 0]) < 0.2 * spread
    points[near, 0] = labels[near] * gap * (1.0 + rng.random(near.sum()))
    weights = np.ones(len(points))
    if weight:
        labels[-1], weights[-1] = -labels[-1], weight
    return MarginProblem(lift(points), labels, sample_weight=weights)


@pytest.mark.parametrize("weight", [0.0, 1e-2, 1e-1])
def test_where_w_has_to_be_long_value_and_bound_are_still_those_of_the_linear_program(weight):
    """The conic solver alone calls a value of 13 solved here."""
    problem = thin_gap(weight)
    solution, expected = solve(problem, "sdp"), lp_value(problem)
    assert solution.info["relaxation_value"] == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert solution.lower_bound == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert problem.risk(solution.info["risk_minimiser"]) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert solution.certificate.verify(problem) == pytest.approx(solution.lower_bound, rel=1e-15, abs=1e-300)


def test_the_linear_program_gets_only_the_time_that_is_left_and_a_value_it_did_not_settle_says_so():
    problem = thin_gap(1e-2)
    solution = solve(problem, "sdp", time_limit=1e-6)
    assert solution.status is Status.TIME_LIMIT
    assert solution.info["value_from"] == "the semidefinite program, unproved"
    assert 0.0 <= solution.lower_bound <= lp_value(problem) * (1 + 1e-9)


def test_a_hard_margin_value_that_is_not_the_true_zero_is_called_unproved():
    """What separates has the value 0 in the relaxation (docs/relaxations.md); the conic solver says 65 million here."""
    solution = solve(thin_gap(0.0).with_C(np.inf), "sdp")
    assert solution.lower_bound == 0.0
    assert abs(solution.info["relaxation_value"]) <= 1e-6 or "unproved" in solution.info["value_from"]
