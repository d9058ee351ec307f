"""The bounds of the fast check against those of the reference checker, which shares no code with it."""

import os
from dataclasses import replace

import numpy as np
import pytest
from partial_proof import partial_certificate

from hypermargin import MarginProblem, Status, solve
from hypermargin.certificates import CertificateError
from hypermargin.certificates.core.compiled import intervals as compiled_intervals
from hypermargin.compilation import is_compiled
from hypermargin.datasets import fetch_embedding
from hypermargin.problems import Ball, Box, GeodesicBall
from reference.instances import FAMILIES, make_instance

pytestmark = pytest.mark.skipif(
    not is_compiled(compiled_intervals), reason="without a compiler Arb is the only opinion"
)


def assert_same_opinion(certificate, problem, objective):
    ours, theirs = certificate.bound_for(problem), certificate.verify(problem, by_arb=True)
    # Both are bounds. They differ by what each loses to rounding, far less than the tolerance of 1e-6.
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    assert max(ours, theirs) <= objective
    return theirs


@pytest.mark.parametrize("seed", range(12))
def test_arb_agrees_where_one_sample_is_far_heavier(seed):
    """Found by `make fuzz`: cuts cancel nearly all their digits, and Arb's root of a wide ball cost it a proof."""
    rng = np.random.default_rng(seed)
    found = [[4.566, -5.650, -2.120], [-3.055, 32.049, 10.928], [-5.723, 9.873, -2.980], [-14.523, -9.452, -3.739]]
    xr = 1e-3 * np.array(found) * rng.uniform(0.9, 1.1, size=(4, 3))
    X = np.column_stack([np.sqrt(1.0 + np.sum(xr**2, axis=1)), xr])
    weight = np.array([1.634e12, 1.331e7, 5.327e6, 2.282e5]) * rng.uniform(0.5, 2.0, size=4)
    problem = MarginProblem(X, [1.0, 1.0, -1.0, 1.0], sample_weight=weight)
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    ours, theirs = solution.certificate.bound_for(problem), solution.certificate.verify(problem, by_arb=True)
    assert ours <= theirs <= solution.objective  # doubles lose a millionth of the bound here, exact sums lose nothing


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_arb_agrees_on_every_family(family, d):
    for seed in range(3):
        instance = make_instance(family, d=d, n=14, C=1.0, seed=seed)
        problem = MarginProblem(instance.X, instance.y, sample_weight=instance.weight)
        solution = solve(problem, tol=1e-4)
        bound = assert_same_opinion(solution.certificate, problem, solution.objective)
        assert bound >= (1.0 - 1e-4) * solution.objective - 1e-12


@pytest.mark.parametrize("changes", [{"allow_timelike": True}, {"C": 1e4}, {"C": 1e-4}], ids=str)
def test_arb_agrees_on_variants(changes):
    instance = make_instance("surrounded", d=2, n=14, C=1.0, seed=0)
    problem = MarginProblem(instance.X, instance.y, **changes)
    solution = solve(problem, tol=1e-4)
    assert solution.status is Status.OPTIMAL
    assert_same_opinion(solution.certificate, problem, solution.objective)


@pytest.mark.parametrize("noise", [GeodesicBall(0.1), Box(0.1), Ball(0.1)], ids=lambda noise: type(noise).__name__)
def test_arb_agrees_on_robust_problems(noise):
    instance = make_instance("overlap", d=2, n=14, C=1.0, seed=0)
    problem = MarginProblem(instance.X, instance.y, uncertainty=noise)
    solution = solve(problem, tol=1e-4)
    assert solution.status is Status.OPTIMAL
    assert_same_opinion(solution.certificate, problem, solution.objective)


def test_arb_refuses_what_is_no_proof():
    instance = make_instance("surrounded", d=2, n=14, C=1.0, seed=0)
    problem = MarginProblem(instance.X, instance.y)
    solution = solve(problem, tol=1e-4)
    damaged = replace(solution.certificate, regions=solution.certificate.regions[1:])
    with pytest.raises(CertificateError, match="cover"):
        damaged.bound_for(problem, by_arb=True)
    partial = partial_certificate(problem, solution.objective)
    with pytest.raises(CertificateError, match="cover"):
        partial.bound_for(problem, by_arb=True)
    # Weights of more than 1 in all would prove too much.
    doubled = tuple(
        replace(r, minorants=tuple(replace(m, weights=tuple(2.0 * v for v in m.weights)) for m in r.minorants))
        for r in solution.certificate.regions
    )
    inflated = replace(solution.certificate, regions=doubled)
    assert inflated.bound_for(problem, by_arb=True) <= solution.objective
    assert inflated.bound_for(problem) == pytest.approx(inflated.verify(problem, by_arb=True), rel=1e-9, abs=1e-12)


@pytest.mark.skipif(not os.environ.get("HYPERMARGIN_DATA"), reason="HYPERMARGIN_DATA does not name the embeddings")
def test_arb_agrees_on_real_data():
    X, y = fetch_embedding("paul", return_X_y=True)
    for label in (1, 4, 8, 13):  # two of them are degenerate and use chords
        problem = MarginProblem(X, np.where(y == label, 1.0, -1.0))
        solution = solve(problem)
        assert solution.status is Status.OPTIMAL
        assert_same_opinion(solution.certificate, problem, solution.objective)
