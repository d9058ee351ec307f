"""The compiled parts of the check: balls contain the truth, samples are chosen as the solver chooses them, and without
a compiler the answers are the same. The judge is exact rational arithmetic.
"""

from dataclasses import replace
from fractions import Fraction
from math import isfinite

import numpy as np
import pytest
from exact_bound import exact_cut
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hypermargin import MarginProblem, solve
from hypermargin.certificates import SharedCut, SoftMarginCertificate
from hypermargin.certificates.compiled import sums as compiled_sums
from hypermargin.certificates.core import soft_margin, sums
from hypermargin.certificates.core.compiled import intervals as compiled_intervals
from hypermargin.certificates.frame import FramedSamples
from hypermargin.compilation import is_compiled
from hypermargin.geometry.lorentz import fixed_order_product
from interpreted import load_source
from reference.instances import make_instance
from reference.objective import lift

PLAIN_INTERVALS, PLAIN_SUMS = load_source(compiled_intervals, compiled_sums)
needs_compiler = pytest.mark.skipif(
    not is_compiled(compiled_intervals, compiled_sums), reason="the loops of the checker are not compiled"
)


def test_the_modules_are_what_they_say():
    for compiled, plain in ((compiled_intervals, PLAIN_INTERVALS), (compiled_sums, PLAIN_SUMS)):
        assert not is_compiled(plain)
        assert plain is not compiled


# -- balls: the compiled and the interpreted ones are the same file, and give the same bits (see below) ---------------

numbers = st.one_of(
    st.floats(-10.0, 10.0),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, 1.0, -1.0, 5e-324, 1e-300, -1e-160, 1e-160, 1e160, 1.0 + 2.0**-52, 1.0 - 2.0**-53]),
)
radii = st.one_of(st.just(0.0), st.floats(0.0, 1.0), st.floats(0.0, 1e-300), st.floats(0.0, 1e300))


@st.composite
def members(draw):
    """A ball, and a number that lies in it: often at its rim, where a radius too small shows."""
    m, r = draw(numbers), draw(radii)
    share = draw(st.sampled_from([-1, 1]) | st.fractions(-1, 1))
    return PLAIN_INTERVALS.MidRad(m=m, r=r), Fraction(m) + share * Fraction(r)


def contains(ball, truth):
    """Whether the ball holds the number; one that overflowed holds all."""
    return not (isfinite(ball.m) and isfinite(ball.r)) or abs(truth - Fraction(ball.m)) <= Fraction(ball.r)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(first=members(), second=members())
def test_sums_and_products_of_balls_contain_those_of_their_members(first, second):
    (x, X), (y, Y) = first, second
    assert contains(PLAIN_INTERVALS._plus(x, y), X + Y)
    assert contains(PLAIN_INTERVALS._times(x, y), X * Y)
    assert contains(PLAIN_INTERVALS._times(x, x), X * X)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(first=members(), second=members())
def test_quotients_and_roots_of_balls_contain_those_of_their_members(first, second):
    (x, X), (y, Y) = first, second
    assume(Y > 0)
    assert contains(PLAIN_INTERVALS._over(x, y), X / Y)
    root = PLAIN_INTERVALS._root(y)
    if isfinite(root.m) and isfinite(root.r):
        low, high = Fraction(root.m) - Fraction(root.r), Fraction(root.m) + Fraction(root.r)
        assert low <= 0 or low * low <= Y
        assert high >= 0
        assert high * high >= Y


@settings(max_examples=300, deadline=None, derandomize=True)
@given(member=members())
def test_ends_of_balls_are_outside_them(member):
    x, X = member
    low, high = PLAIN_INTERVALS._lower(x), PLAIN_INTERVALS._upper(x)
    assert not isfinite(low) or Fraction(low) <= X
    assert not isfinite(high) or Fraction(high) >= X


def test_balls_are_small():
    # Balls that always contain the truth could be infinite; these are one rounding wide.
    x, y = PLAIN_INTERVALS.MidRad(m=3.0, r=0.0), PLAIN_INTERVALS.MidRad(m=7.0, r=0.0)
    for operation in (PLAIN_INTERVALS._plus, PLAIN_INTERVALS._times, PLAIN_INTERVALS._over):
        ball = operation(x, y)
        assert ball.r <= 1.2e-16 * ball.m
    assert PLAIN_INTERVALS._root(x).r <= 1.2e-16 * 1.7320508075688772
    zero = PLAIN_INTERVALS.MidRad(m=0.0, r=0.0)
    assert PLAIN_INTERVALS._times(zero, x).r == PLAIN_INTERVALS._plus(zero, x).r == PLAIN_INTERVALS._root(zero).r == 0.0


# -- without a compiler ----------------------------------------------------------------------------------------------

CASES = [("overlap", 1), ("overlap", 3), ("separable", 2), ("weighted", 2), ("surrounded", 2), ("surrounded", 3)]


@needs_compiler
@pytest.mark.parametrize(("family", "d"), CASES)
def test_the_interpreter_proves_the_same_bound(monkeypatch, family, d):
    instance = make_instance(family, d=d, n=12, C=1.0, seed=1)
    problem = MarginProblem(instance.X, instance.y, C=1.0, sample_weight=instance.weight)
    certificate = solve(problem, tol=1e-3).certificate
    bound = certificate.bound_for(problem)
    assert bound > 0.0
    monkeypatch.setattr(soft_margin, "intervals", PLAIN_INTERVALS)
    assert certificate.bound_for(problem) == bound  # bit for bit


def far_problem(n, d, radius, weighted, seed=0):
    """Points at about that radius, half of them with a partner of the other label nearby: the sums of z_i cancel."""
    rng = np.random.default_rng([seed, n, d])
    direction = rng.normal(size=(n, d))
    direction[1::2] = direction[::2][: n // 2] + 1e-6 * rng.normal(size=(n // 2, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    weight = 10.0 ** rng.uniform(-6.0, 6.0, size=n) if weighted else None
    X = lift(np.sinh(radius * rng.uniform(0.9, 1.0, size=(n, 1))) * direction)
    X[1::2, 1:] = X[::2, 1:][: n // 2] * (1.0 + 1e-9)
    return MarginProblem(lift(X[:, 1:]), y, C=1.0 / 3.0, sample_weight=weight)


def some_cuts(problem, n_cuts, seed=1):
    """Cuts at points of both signs of t, scaled so that some samples are taken and some are not."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_cuts, problem.dim + 1)) / problem.X[:, 0].max()
    points[:2] = [[1.0] + [0.0] * problem.dim, [-1.0] + [0.0] * problem.dim]
    return SoftMarginCertificate(centre=problem.centre[1:], points=points, regions=(), threshold=1.0 - 1e-9)


def margins_of(certificate, problem):
    """The margins that decide, by the public functions; shape (n, cuts)."""
    return fixed_order_product(problem.covectors_around(lift(certificate.centre)), certificate.points.T)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("radius", [1.0, 8.0, 10.0, 12.0])
@pytest.mark.parametrize("d", [1, 2, 6, 20])
def test_sums_are_within_their_errors_where_they_cancel(d, radius, weighted):
    problem = far_problem(120, d, radius, weighted)
    certificate = some_cuts(problem, 6)
    chosen = (margins_of(certificate, problem) < certificate.threshold).T
    assert 0 < chosen.sum() < chosen.size
    exact = [exact_cut(problem, row, certificate.centre) for row in chosen]
    sizes = 2.0 * problem.centre[0] * (chosen @ (problem.X[:, 0] * problem.costs))  # of the terms that the boost sums
    found = sums.cut_sums(certificate, problem)
    for row, slack, truth, size in zip(found.totals, found.errors, exact, sizes, strict=True):
        for value, error, number in zip(row.tolist(), slack.tolist(), truth, strict=True):
            assert abs(number - Fraction(value)) <= Fraction(error)
        assert np.all(slack <= 2e-14 * size + 1e-299)


@pytest.mark.parametrize("precise", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("d", "radius"), [(2, 1.0), (3, 9.0), (20, 1.0), (20, 9.0)])
def test_cuts_with_shares_are_within_their_errors(d, radius, weighted, precise):
    """Samples with shares take them whatever their margin is, the others are taken by their margins."""
    problem = far_problem(80, d, radius, weighted)
    rng = np.random.default_rng(d)
    apart = [np.sort(rng.choice(80, size, replace=False)) for size in (0, 1, 17, 80)]
    points = some_cuts(problem, 3)
    shared = tuple(SharedCut(k % 3, samples, rng.random(samples.size)) for k, samples in enumerate(apart))
    certificate = replace(points, shared=shared, precise=precise)
    Z = problem.covectors_around(lift(certificate.centre), precise=precise)
    shares = (fixed_order_product(Z, points.points.T) < points.threshold).T.astype(float)[[0, 1, 2, 0, 1, 2, 0]]
    for row, cut in zip(shares[3:], shared, strict=True):
        row[cut.samples] = cut.shares
    exact = [exact_cut(problem, row, certificate.centre) for row in shares]
    found = sums.cut_sums(certificate, problem)
    assert len(found.totals) == certificate.n_cuts == 7
    assert all(
        np.unique(problem.y[row > 0.0]).size < 2 for row, one in zip(shares, found.one_class, strict=True) if one
    )
    for row, slack, truth in zip(found.totals, found.errors, exact, strict=True):
        for value, error, number in zip(row.tolist(), slack.tolist(), truth, strict=True):
            assert abs(number - Fraction(value)) <= Fraction(error)
    sizes = 2.0 * problem.centre[0] * (shares @ (problem.X[:, 0] * problem.costs))
    assert np.all(found.errors <= 1e-13 * sizes[:, None] + 1e-299)


@needs_compiler
def test_long_sums_of_a_common_cost_lose_almost_nothing():
    # Ten thousand pairs of nearly the same far point with both labels: plain summation would lose eight digits.
    problem = far_problem(20_000, 2, 10.0, weighted=False)
    everyone = np.ones(problem.n_samples, dtype=bool)
    certificate = replace(some_cuts(problem, 2), threshold=np.inf)
    totals, errors, _ = sums.cut_sums(certificate, problem)
    exact = exact_cut(problem, everyone, certificate.centre)
    for value, error, number in zip(totals[0].tolist(), errors[0].tolist(), exact, strict=True):
        assert abs(number - Fraction(value)) <= Fraction(error)
        assert abs(number - Fraction(value)) <= 1e-12 * problem.X[:, 0].sum()  # most of the error is that of x0


@needs_compiler
@pytest.mark.parametrize("seed", range(5))
def test_sums_that_vanish_are_within_their_errors(seed):
    # Every point with both labels, in any order: what is left is the rounding of the low parts alone.
    rng = np.random.default_rng(seed)
    half = lift(rng.normal(size=(2000, 5)) * 10.0 ** rng.uniform(-16.0, 0.0, size=(2000, 1)))
    order = rng.permutation(4000)
    problem = MarginProblem(np.vstack([half, half])[order], np.repeat([1.0, -1.0], 2000)[order])
    everyone = replace(some_cuts(problem, 2), threshold=np.inf)
    for certificate in (everyone, replace(everyone, precise=True)):
        totals, errors, _ = sums.cut_sums(certificate, problem)
        assert np.all(np.abs(totals[:, 1:]) <= errors[:, 1:])
    assert np.all(np.abs(totals[:, 1:]) <= 1e-18)  # although the points themselves are charged with their roundings


@needs_compiler
@pytest.mark.parametrize("radius", [1.0, 6.0, 11.0])
@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_samples_at_the_threshold_are_chosen_as_by_the_arrays(d, radius):
    problem = far_problem(60, d, radius, weighted=False)
    certificate = some_cuts(problem, 3)
    margins = margins_of(certificate, problem)
    for threshold in margins[::3].ravel().tolist():  # margins below them by a bit are taken, equal ones are not
        for nearby in (threshold, np.nextafter(threshold, np.inf)):
            totals = sums.cut_sums(replace(certificate, threshold=nearby), problem).totals
            assert np.array_equal(totals[:, 0], (margins < nearby).sum(axis=0) * problem.C)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [2, 12])
@pytest.mark.parametrize("precise", [False, True])
def test_the_interpreted_pass_gives_the_same_bits(d, weighted, precise):
    problem = far_problem(40, d, 3.0, weighted)
    certificate = some_cuts(problem, 4)
    samples, answers = FramedSamples(problem, certificate.centre, precise), []
    apart, starts = np.array([2, 7, 11], dtype=np.intp), np.array([0, 0, 2, 3, 3], dtype=np.intp)
    for module in (compiled_sums, PLAIN_SUMS):
        totals, errors, one_class = module.cut_sums(samples, certificate.points, 0.5, apart, starts)
        bounds = module.enclosed_risk(samples, problem.costs, certificate.points[0], np.full(d + 1, 1e-18))
        answers.append((totals, errors, ~one_class, np.array(bounds)))
    for compiled, plain in zip(*answers, strict=True):
        assert np.array_equal(compiled, plain)
        assert np.any(plain)


def test_data_that_is_not_contiguous_is_summed_as_well():
    problem = far_problem(50, 3, 2.0, weighted=True)
    certificate = some_cuts(problem, 4)
    scattered = MarginProblem.unchecked(
        np.asfortranarray(problem.X),
        np.repeat(problem.y, 2)[::2],
        problem.C,
        np.repeat(problem.sample_weight, 3)[::3],
    )
    for expected, found in zip(sums.cut_sums(certificate, problem), sums.cut_sums(certificate, scattered), strict=True):
        assert np.array_equal(expected, found)


# -- overflow --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-300, 1e150, 1e290, 1e305, 1.7e308])
@pytest.mark.parametrize("interpreter", [False, True])
def test_what_overflows_or_underflows_proves_no_more_than_is_true(monkeypatch, C, interpreter):
    instance = make_instance("overlap", d=2, n=12, C=1.0, seed=1)
    problem = MarginProblem(instance.X, instance.y, C=1.0)
    solution = solve(problem)
    if interpreter:
        monkeypatch.setattr(soft_margin, "intervals", PLAIN_INTERVALS)
    other = problem.with_C(C)
    heavy = replace(problem, sample_weight=np.where(np.arange(12) < 6, C, 1.0))
    for changed in (other, heavy):
        with np.errstate(over="ignore", invalid="ignore"):
            values = [changed.objective(solution.w), changed.objective(np.zeros(3))]
        assert 0.0 <= solution.certificate.bound_for(changed) <= min(values)
