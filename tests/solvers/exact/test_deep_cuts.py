"""Cuts from the interior-point method: the same optimum as plain cuts and other solvers, proved by the same checker."""

from dataclasses import replace

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

from hypermargin.certificates import Certificate, CertificateError
from hypermargin.geometry.isometries import random_isometry, transform_points
from hypermargin.geometry.lorentz import lift
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import GeodesicBall
from hypermargin.solvers import Status, solve, solve_path
from hypermargin.solvers.exact.interior_point import FixedTimeOptimum
from hypermargin.solvers.exact.working_sets import Margins, Samples, WorkingSets


def overlapping(d, n, seed=0, share=0.5, separation=0.6, scale=0.8, **options):
    """Two Gaussians around +-e_1 in the tangent space, `share` of the samples in the first."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < share * n, 1.0, -1.0)
    tangent = scale / np.sqrt(d) * rng.standard_normal((n, d))
    tangent[:, 0] += separation * y / np.sqrt(d)
    radii = np.linalg.norm(tangent, axis=1, keepdims=True)
    return MarginProblem(lift(np.sinh(radii) / radii * tangent), y, **options)


def least_at(columns, costs, t):
    """The least ``max(|wr|^2 - t^2, 0)/2 + risk`` at fixed t, as a cone programme (Clarabel)."""
    width, n = columns.shape
    d = width - 1
    # variables wr, xi, h with h >= (|wr|^2 - t^2)/2 as a rotated cone, h >= 0
    rows = [
        sp.hstack([sp.csc_matrix(-columns[1:].T), -sp.identity(n), sp.csc_matrix((n, 1))]),
        sp.hstack([sp.csc_matrix((n, d)), -sp.identity(n), sp.csc_matrix((n, 1))]),
        sp.csc_matrix(([-1.0], ([0], [d + n])), shape=(1, d + n + 1)),
        sp.csc_matrix(([-1.0], ([0], [d + n])), shape=(1, d + n + 1)),
        sp.csc_matrix((-np.ones(d), (np.arange(d), np.arange(d))), shape=(d, d + n + 1)),
        sp.csc_matrix(([-1.0], ([0], [d + n])), shape=(1, d + n + 1)),
    ]
    # |wr|^2 <= 2 h + t^2:  (h + t^2/2 + 1/2, wr, h + t^2/2 - 1/2) in the second-order cone
    limits = np.concatenate([-(1.0 - t * columns[0]), np.zeros(n), [0.0], [0.5 * t * t + 0.5], np.zeros(d)])
    limits = np.append(limits, 0.5 * t * t - 0.5)
    cones = [clarabel.NonnegativeConeT(2 * n + 1), clarabel.SecondOrderConeT(d + 2)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cost = np.concatenate([np.zeros(d), costs, [1.0]])
    size = d + n + 1
    answer = clarabel.DefaultSolver(
        sp.csc_matrix((size, size)), cost, sp.vstack(rows, format="csc"), limits, cones, settings
    ).solve()
    return answer.obj_val


@pytest.mark.parametrize("t", [0.0, 0.3, -0.8, 4.0])
@pytest.mark.parametrize("d", [3, 20])
def test_the_minimum_at_fixed_t_is_that_of_a_cone_programme(d, t):
    problem = overlapping(d, 80, seed=d)
    columns, costs = np.ascontiguousarray(problem.covectors_around(problem.centre).T), problem.costs / np.sqrt(2.0)
    engine = FixedTimeOptimum(columns[1:], 1.0 - t * columns[0], costs, abs(t))
    for _ in range(60):
        if engine.objective() - engine.bound() <= 1e-9 * engine.objective() or not engine.step():
            break
    expected = least_at(columns, costs, t)
    assert engine.objective() == pytest.approx(expected, rel=1e-7)
    assert engine.bound() == pytest.approx(expected, rel=1e-7)
    w = np.append(t, engine.v)
    direct = 0.5 * max(w[1:] @ w[1:] - t * t, 0.0) + costs @ np.maximum(0.0, 1.0 - w @ columns)
    assert engine.objective() == pytest.approx(direct, rel=1e-12)


CASES = {
    "balanced": dict(d=8, n=300),
    "imbalanced": dict(d=16, n=500, share=0.04),
    "large C": dict(d=12, n=200, C=1e4),
    "small C": dict(d=32, n=400, C=0.01),
    "separable": dict(d=24, n=60, separation=8.0, C=1e4),
    "wide": dict(d=64, n=100),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("timelike", [False, True])
def test_plain_and_deep_cuts_prove_the_same_optimum(name, timelike):
    problem = overlapping(**CASES[name], seed=3, allow_timelike=timelike)
    plain, deep = (solve(problem, cuts=cuts) for cuts in ("plain", "deep"))
    assert deep.status is plain.status is Status.OPTIMAL
    assert deep.objective == pytest.approx(plain.objective, rel=2e-6)
    assert deep.lower_bound <= plain.objective
    assert plain.lower_bound <= deep.objective


@pytest.mark.parametrize("seed", range(12))
def test_random_problems(seed):
    """Weights, some of them 0, duplicates, far centres, all C: neither kind of cuts contradicts the other."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.choice([8, 16, 40, 64])), int(rng.choice([40, 150, 400]))
    problem = overlapping(d, n, seed, share=rng.choice([0.5, 0.1]), separation=rng.choice([0.0, 0.6, 2.0]))
    X, y = transform_points(problem.X, random_isometry(d, float(rng.choice([0.0, 2.0])), rng)), problem.y
    if seed % 3 == 0:
        X, y = np.vstack([X, X[: n // 2]]), np.concatenate([y, y[: n // 2]])
    weight = None if seed % 2 else np.maximum(0.0, rng.integers(-1, 4, y.size)).astype(float)
    problem = MarginProblem(X, y, C=float(rng.choice([0.01, 1.0, 100.0])), sample_weight=weight)
    plain, deep = (solve(problem, cuts=cuts, max_regions=40, max_iter=4000) for cuts in ("plain", "deep"))
    assert deep.lower_bound <= plain.objective * (1.0 + 1e-12)
    assert plain.lower_bound <= deep.objective * (1.0 + 1e-12)
    if plain.status is Status.OPTIMAL:
        assert deep.status is Status.OPTIMAL
        assert deep.objective == pytest.approx(plain.objective, rel=2e-6)


def test_the_dimension_decides_which_cuts_are_made():
    for d, deep in ((2, False), (40, True)):
        assert bool(solve(overlapping(d, 300)).certificate.shared) is deep
    ball = overlapping(40, 60, uncertainty=GeodesicBall(0.05))
    assert not solve(ball, time_limit=5.0).certificate.shared


def test_a_path_and_the_hard_margin_by_deep_cuts():
    problem = overlapping(20, 150, separation=1.5)
    for C, solution in zip((0.1, 1.0, 10.0), solve_path(problem, (0.1, 1.0, 10.0), cuts="deep"), strict=True):
        assert solution.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(solve(problem.with_C(C), cuts="plain").objective, rel=2e-6)
    separable = overlapping(20, 60, separation=8.0, C=np.inf)
    deep, plain = (solve(separable, cuts=cuts) for cuts in ("deep", "plain"))
    assert deep.status is plain.status is Status.OPTIMAL
    assert deep.objective == pytest.approx(plain.objective, rel=2e-6)


def test_limits_are_kept():
    problem = overlapping(32, 2000)
    assert solve(problem, cuts="deep", max_iter=10).status is Status.ITERATION_LIMIT
    assert solve(problem, cuts="deep", time_limit=1e-6).status is Status.TIME_LIMIT
    with pytest.raises(ValueError, match="cuts must be one of 'auto', 'plain', 'deep'"):
        solve(problem, cuts="shallow")


# -- certificates ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def proved():
    problem = overlapping(16, 400, sample_weight=np.linspace(0.5, 2.0, 400))
    return problem, solve(problem, cuts="deep")


def test_the_certificate_is_small_and_survives_a_file(proved, tmp_path):
    problem, solution = proved
    shared = solution.certificate.shared
    assert sum(cut.samples.size for cut in shared) < problem.n_samples
    solution.certificate.save(tmp_path / "proof.json")
    copy = Certificate.load(tmp_path / "proof.json")
    assert copy.verify(problem) == solution.certificate.verify(problem) == solution.lower_bound
    assert copy.verify(problem, by_arb=True) == pytest.approx(solution.lower_bound, rel=1e-12)


def test_shared_cuts_are_those_of_explicit_weights(proved):
    """The same proof with every weight written out, checked by other code."""
    problem, solution = proved
    proof = replace(solution.certificate, statement=None)
    Z = problem.covectors_around(lift(proof.centre))
    duals = []
    for cut in proof.shared:
        share = (Z @ proof.points[cut.point] < proof.threshold).astype(float)
        share[cut.samples] = cut.shares
        duals.append(share * problem.costs / np.sqrt(2.0) * (1.0 - 1e-15))
    written_out = replace(proof, shared=(), duals=np.array(duals))
    assert written_out.bound_for(problem) == pytest.approx(solution.lower_bound, rel=1e-9)


def test_damaged_shares_are_told(proved):
    problem, solution = proved
    proof = solution.certificate
    cut = proof.shared[0]
    outside = cut.samples.copy()
    outside[-1] = problem.n_samples
    for damaged in (
        replace(cut, point=len(proof.points)),
        replace(cut, shares=cut.shares + 1.0),
        replace(cut, shares=-cut.shares - 1e-9),
        replace(cut, shares=np.full_like(cut.shares, np.nan)),
        replace(cut, samples=cut.samples[::-1].copy()),
        replace(cut, samples=outside),
        replace(cut, samples=cut.samples[:-1]),
    ):
        with pytest.raises(CertificateError):
            replace(proof, shared=(damaged, *proof.shared[1:])).verify(problem)
    with pytest.raises(CertificateError, match="uncertainty"):
        replace(proof, statement=None).bound_for(replace(problem, uncertainty=GeodesicBall(0.1)))


def test_samples_in_another_order_are_told_for_what_they_are(proved):
    """The fingerprints are the same, the rows that the proof names are not."""
    problem, solution = proved
    order = np.random.default_rng(0).permutation(problem.n_samples)
    shuffled = MarginProblem(problem.X[order], problem.y[order], sample_weight=problem.sample_weight[order])
    assert solution.certificate.statement.differences(shuffled) == []
    with pytest.raises(CertificateError, match="in the order that they had"):
        solution.certificate.verify(shuffled)
    assert solution.certificate.bound_for(shuffled) <= solution.objective


def test_other_shares_prove_other_bounds_never_too_large(proved):
    """Whatever the shares, the bound holds: they are valid weights."""
    problem, solution = proved
    rng = np.random.default_rng(0)
    proof = replace(solution.certificate, statement=None)
    for _ in range(5):
        shared = tuple(replace(cut, shares=rng.random(cut.shares.size)) for cut in proof.shared)
        assert replace(proof, shared=shared).bound_for(problem) <= solution.objective


# -- working sets ----------------------------------------------------------------------------------------------------


def in_memory(columns, costs):
    positive = int(np.count_nonzero(columns[0] > 0.0))
    return WorkingSets(len(columns), (positive, costs.size - positive), memory=Samples(columns, costs, 1.0))


def test_a_first_look_keeps_the_total_of_each_class():
    problem = overlapping(4, 4000, share=0.03, sample_weight=np.random.default_rng(0).uniform(0.1, 2.0, 4000))
    columns = np.ascontiguousarray(problem.covectors_around(problem.centre).T)
    look = in_memory(columns, problem.costs).first_look()
    assert look.names.size < 1000
    for side in (1.0, -1.0):
        assert look.costs[problem.y[look.names] == side].sum() == pytest.approx(
            problem.costs[problem.y == side].sum(), rel=1e-12
        )
    few = overlapping(4, 200)
    columns = np.ascontiguousarray(few.covectors_around(few.centre).T)
    assert in_memory(columns, few.costs).first_look() is None


@pytest.mark.parametrize("share", [0.5, 0.03])
def test_a_working_set_and_its_affine_term_stand_for_all_samples(share):
    problem = overlapping(4, 4000, share=share, sample_weight=np.random.default_rng(1).uniform(0.1, 2.0, 4000))
    columns, costs = np.ascontiguousarray(problem.covectors_around(problem.centre).T), problem.costs
    w = np.array([-1.2, 0.8, 0.1, 0.0, 0.0])
    chosen = in_memory(columns, costs).around(Margins(w, w @ columns), 0.2)
    assert 200 <= chosen.names.size < 2000
    b, g = chosen.affine

    def risk(v, columns, costs):
        return costs @ np.maximum(0.0, 1.0 - v @ columns)

    def of_set(v):
        return b + g @ v + risk(v, chosen.columns, chosen.costs)

    rng = np.random.default_rng(2)
    for _ in range(20):
        near, far = w + 1e-3 * rng.standard_normal(5), w + rng.standard_normal(5)
        assert of_set(near) == pytest.approx(risk(near, columns, costs), rel=1e-12)
        assert of_set(far) <= risk(far, columns, costs) * (1.0 + 1e-12)  # wherever it is wrong, it is below
    weights = rng.random(chosen.names.size) * chosen.costs
    shares = (w @ columns < chosen.window.low).astype(float)
    shares[chosen.names] = weights / chosen.costs
    assert b + weights.sum() == pytest.approx(shares @ costs, rel=1e-12)
    assert g - chosen.columns @ weights == pytest.approx(-(columns @ (shares * costs)), rel=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_working_sets_of_balanced_classes_prove_the_optimum_of_plain_cuts(seed):
    rng = np.random.default_rng(seed)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], 6000)
    problem = overlapping(8, 6000, seed, C=10.0**seed, sample_weight=weight)
    deep, plain = (solve(problem, cuts=cuts) for cuts in ("deep", "plain"))
    assert deep.status is plain.status is Status.OPTIMAL
    assert deep.objective == pytest.approx(plain.objective, rel=2e-6)
    assert deep.info["full_passes"] < plain.info["full_passes"]


def test_one_class_against_many_needs_few_passes():
    problem = overlapping(16, 6000, share=0.02, separation=1.5)
    deep, plain = (solve(problem, cuts=cuts) for cuts in ("deep", "plain"))
    assert deep.status is plain.status is Status.OPTIMAL
    assert deep.objective == pytest.approx(plain.objective, rel=2e-6)
    assert deep.info["passes"] < plain.info["passes"]
