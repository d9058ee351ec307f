"""Cuts summed by blocks: within their errors of exact rational sums where sums cancel, and errors that stay small."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from exact_bound import exact_cut, framed_row, root

from hypermargin import MarginProblem, solve
from hypermargin.certificates import CertificateError, SoftMarginCertificate
from hypermargin.certificates.compiled import sums as compiled_sums
from hypermargin.certificates.core import sums
from hypermargin.certificates.core.objective import enclose_objective
from hypermargin.certificates.frame import FramedSamples
from hypermargin.compilation import is_compiled
from hypermargin.geometry.lorentz import fixed_order_product
from interpreted import load_source
from reference.objective import lift

(PLAIN,) = load_source(compiled_sums)
KINDS = ("near", "weights", "cancelling", "far", "one heavy")

needs_compiler = pytest.mark.skipif(not is_compiled(compiled_sums), reason="the sums are not compiled")


def nasty_problem(kind, n, d, seed=0):
    """Samples whose plain sums lose digits; n is not a multiple of a block."""
    rng = np.random.default_rng([seed, n, d, len(kind)])
    space, weight = rng.normal(size=(n, d)), None
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    if kind == "weights":
        weight = 10.0 ** rng.uniform(-12.0, 12.0, size=n)
    elif kind == "cancelling":  # each point with both labels, far apart in the order of the samples
        half = n // 2
        space[half : 2 * half] = space[:half]
        y[: 2 * half] = np.repeat([1.0, -1.0], half)
    elif kind == "far":
        space *= np.sinh(rng.uniform(0.0, 14.0, size=(n, 1))) / np.linalg.norm(space, axis=1, keepdims=True)
    elif kind == "one heavy":
        weight = np.full(n, 1e-12)
        weight[n // 2] = 1e12
    y[:2] = 1.0, -1.0
    return MarginProblem(lift(space), y, C=1.0 / 3.0, sample_weight=weight)


def points_of(problem, n_cuts, seed=1):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_cuts, problem.dim + 1)) / np.median(problem.X[:, 0])
    points[:2, 0], points[:2, 1:] = (1.0, -1.0), 0.0
    return SoftMarginCertificate(centre=problem.centre[1:], points=points, regions=(), threshold=1.0 - 1e-9)


def summed(module, certificate, problem):
    return module.cut_sums(FramedSamples(problem, certificate.centre), certificate.points, certificate.threshold)


@needs_compiler
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d"), [(63, 1), (64, 2), (150, 2), (201, 5), (77, 20)])
def test_exact_sums_are_within_the_errors(kind, n, d):
    problem = nasty_problem(kind, n, d)
    certificate = points_of(problem, 5)
    Z = problem.covectors_around(lift(certificate.centre))
    chosen = (fixed_order_product(Z, certificate.points.T) < certificate.threshold).T
    totals, errors, one_class = sums.cut_sums(certificate, problem)
    assert np.array_equal(one_class, [np.unique(problem.y[row]).size <= 1 for row in chosen])
    assert one_class[:2].all()
    for row, slack, taken in zip(totals.tolist(), errors.tolist(), chosen, strict=True):
        truth = exact_cut(problem, taken, certificate.centre)
        assert all(abs(a - Fraction(b)) <= Fraction(c) for a, b, c in zip(truth, row, slack, strict=True))


@needs_compiler
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precise", [False, True])
def test_errors_are_hardly_larger_than_those_of_the_points(kind, precise):
    problem = nasty_problem(kind, 5000, 2)
    certificate = replace(points_of(problem, 6), precise=precise)
    samples = FramedSamples(problem, certificate.centre, precise)
    Z = samples.covectors(slice(None))
    chosen = (fixed_order_product(Z, certificate.points.T) < certificate.threshold).T
    totals, errors, _ = sums.cut_sums(certificate, problem)
    of_points = (chosen @ (problem.costs * problem.X[:, 0]))[:, None] * samples.reach_factor
    of_points = of_points + 2.0 * samples.roundings * (chosen @ (problem.costs[:, None] * np.abs(Z)))
    assert np.all(errors[:, 1:] <= 1.5 * of_points + 4.0 * 2.0**-53 * np.abs(totals[:, 1:]))


@needs_compiler
@pytest.mark.parametrize("kind", KINDS)
def test_the_interpreter_sums_the_same(kind):
    problem = nasty_problem(kind, 150, 3)
    certificate = points_of(problem, 4)
    for ours, plain in zip(*(summed(m, certificate, problem) for m in (compiled_sums, PLAIN)), strict=True):
        assert np.array_equal(ours, plain)  # bit for bit


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d"), [(63, 1), (130, 2), (65, 7)])
def test_the_exact_objective_is_enclosed(kind, n, d):
    problem = nasty_problem(kind, n, d)
    rng = np.random.default_rng(n)
    for scale in (1e-3, 1.0, 1e3):
        w = scale * rng.normal(size=d + 1)
        w[0] *= 0.1
        exact = [Fraction(float(value)) for value in w]
        form = sum((value * value for value in exact[1:]), Fraction(0)) - exact[0] ** 2
        risk = Fraction(0)
        for i, weight in enumerate(np.ones(n) if problem.sample_weight is None else problem.sample_weight):
            margin = sum(a * b for a, b in zip(framed_row(problem, i, np.zeros(d))[1:], exact, strict=True))
            risk += Fraction(problem.C) * Fraction(float(weight)) * max(Fraction(0), 1 - margin)
        found = enclose_objective(problem, w, None, problem.centre[1:])
        if form < 0:
            assert found.lower == np.inf
            continue
        truth = form / 2 + risk * root(Fraction(1, 2))
        assert Fraction(found.lower) <= truth <= Fraction(found.upper)
        if kind != "far":
            assert found.upper - found.lower <= 1e-11 * float(truth)


@needs_compiler
@pytest.mark.parametrize("costs", [1e305, 1e-305])
def test_sums_that_overflow_prove_nothing_and_tiny_ones_no_more_than_there_is(costs):
    problem = nasty_problem("near", 100, 2)
    certificate = solve(problem).certificate
    assert certificate.statement.bound > 0.0
    other = MarginProblem(problem.X, problem.y, C=costs, sample_weight=np.full(100, 1.0 + 1e-9))
    least = min(costs * 0.5**0.5 * 100, 1e300)  # what w = 0 costs is above the optimum
    with np.errstate(all="ignore"):
        assert 0.0 <= certificate.bound_for(other) <= 1.0001 * least


@needs_compiler
@pytest.mark.parametrize("seed", range(6))
def test_tampered_certificates_are_refused_or_prove_no_more(seed):
    rng = np.random.default_rng(seed)
    problem = nasty_problem("weights" if seed % 2 else "near", 200, 2, seed)
    solution = solve(problem)
    certificate = solution.certificate
    assert certificate.verify(problem) == solution.lower_bound
    moved = replace(certificate, points=certificate.points * (1.0 + 0.3 * rng.normal(size=certificate.points.shape)))
    with pytest.raises(CertificateError, match="does not hold what it states"):
        moved.verify(problem)
    assert moved.bound_for(problem) <= solution.objective
    lifted = replace(certificate, statement=replace(certificate.statement, bound=solution.lower_bound * 1.001))
    with pytest.raises(CertificateError, match="does not hold what it states"):
        lifted.verify(problem)
    flipped = MarginProblem(problem.X, -problem.y, C=problem.C, sample_weight=problem.sample_weight)
    with pytest.raises(CertificateError, match="another problem"):
        certificate.verify(flipped)
