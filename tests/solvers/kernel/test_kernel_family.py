"""Problems solved and checked in one call: the same bounds as one by one, in rationals, and by the interpreter."""

from fractions import Fraction

import numpy as np
import pytest

from hypermargin.certificates import KernelCertificate
from hypermargin.certificates.compiled import kernel_bounds
from hypermargin.certificates.kernel import enclosed_family
from hypermargin.geometry import lift
from hypermargin.kernels import CoshKernel, DistanceKernel, HeatKernel
from hypermargin.problems.kernel import KernelProblem, KernelProblemFamily
from hypermargin.solvers.kernel.compiled import pairs
from hypermargin.solvers.kernel.method import solve_family, solve_kernel
from interpreted import load_source

PAIRS = np.array([[-1.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 1.0, 0.0], [0.0, -1.0, 0.0, 1.0], [0.0, 0.0, -1.0, 1.0]])
ONE_VS_REST = 2.0 * np.eye(4) - 1.0
CODES = {"pairs": PAIRS, "rest": ONE_VS_REST, "mixed": np.vstack([PAIRS, ONE_VS_REST])[[4, 0, 3, 7, 2]]}


def random_family(kernel, code, C=3.0, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    sizes = np.array([7, 1, 12, 20])
    centres = rng.normal(size=(4, 2)).repeat(sizes, axis=0)
    X = lift(centres + 0.8 * rng.normal(size=centres.shape))
    weight = rng.uniform(0.2, 3.0, size=len(X)) if weighted else None
    bounds = [0, *np.cumsum(sizes).tolist()]
    return X, KernelProblemFamily(kernel(X), kernel, 2, bounds, code, C, weight)


def problems_of(X, family):
    """The same problems, each with a matrix of its own."""
    for row in family.code:
        side = np.repeat(row, np.diff(family.bounds))
        used = side != 0.0
        weight = None if family.weight is None else family.weight[used]
        gram = family.gram[np.ix_(used, used)]
        yield KernelProblem(X[used], side[used], family.kernel, family.C, weight, gram)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("kernel", [HeatKernel(0.3), CoshKernel(2.0), DistanceKernel()], ids=str)
def test_optima_and_bounds_are_those_of_the_problems_one_by_one(kernel, code, weighted):
    X, family = random_family(kernel, CODES[code], weighted=weighted)
    found = solve_family(family, 4e-7)
    assert np.all(found.gaps <= 1e-6)
    for p, problem in enumerate(problems_of(X, family)):
        np.testing.assert_array_equal(found.own(family.y, p), problem.y)
        np.testing.assert_array_equal(found.own(family.costs, p), problem.costs)
        alone = solve_kernel(problem)
        assert found.lower_bounds[p] <= alone.objective
        assert alone.lower_bound <= found.objectives[p]
        beta = found.own(found.beta, p)
        certificate = KernelCertificate.of(beta, found.intercepts[p])
        lower, upper = certificate.enclosure(problem)  # refuses coefficients that are no point of the dual
        assert lower == pytest.approx(found.lower_bounds[p], rel=1e-12)
        assert upper == pytest.approx(found.objectives[p], rel=1e-12)
        scores = problem.gram @ beta + found.intercepts[p]
        np.testing.assert_allclose(found.own(found.scores, p), scores, atol=1e-11)


def test_bounds_hold_in_rationals():
    """For the matrix as it is (a callable's has no rounding), with intercepts and coefficients of any quality."""
    X, family = random_family(HeatKernel(0.3), PAIRS, weighted=True)
    plain = KernelProblemFamily(family.gram, lambda X, Y: family.gram, 2, family.bounds, PAIRS, 3.0, family.weight)
    rng = np.random.default_rng(1)
    beta = np.zeros(plain.y.size)
    for first, past in zip(plain.starts[:-1], plain.starts[1:], strict=True):
        y = plain.y[first:past]
        share = np.round(rng.uniform(0.0, 0.02, size=y.size), 6)
        share = np.floor(share * 2.0**30) * 2.0**-30
        for side in (1.0, -1.0):  # the same sum on both sides, exactly
            share[np.flatnonzero(y == side)[1:]] *= 0.5**4
        total = [share[y == side].sum() for side in (1.0, -1.0)]
        least = np.flatnonzero(y == (1.0 if total[0] < total[1] else -1.0))[0]
        share[least] += abs(total[0] - total[1])
        beta[first:past] = y * share
    intercepts = rng.normal(size=len(PAIRS))
    lower, upper = enclosed_family(plain, beta, intercepts)
    for p, problem in enumerate(problems_of(X, plain)):
        K = [[Fraction(v) for v in row] for row in problem.gram.tolist()]
        own = [Fraction(v) for v in beta[plain.starts[p] : plain.starts[p + 1]].tolist()]
        scores = [sum(b * k for b, k in zip(own, row, strict=True)) for row in K]
        square = sum(b * s for b, s in zip(own, scores, strict=True))
        dual = sum(abs(b) for b in own) - square / 2
        costs, y = map(Fraction, problem.costs.tolist()), [int(v) for v in problem.y]
        short = [max(0, 1 - side * (s + Fraction(intercepts[p]))) for side, s in zip(y, scores, strict=True)]
        primal = square / 2 + sum(c * s for c, s in zip(costs, short, strict=True))
        assert dual - Fraction(1, 10**10) < Fraction(lower[p]) <= dual
        assert primal <= Fraction(upper[p]) < primal + Fraction(1, 10**10)


@pytest.mark.parametrize("damage", ["beyond the box", "wrong side", "sum", "tiny sum", "nan"])
def test_coefficients_that_are_no_point_of_the_dual_prove_nothing(damage):
    _, family = random_family(HeatKernel(0.3), PAIRS)
    found = solve_family(family, 4e-7)
    beta, first = found.beta.copy(), found.starts[2]
    free = first + np.flatnonzero(found.own(beta, 2))
    if damage == "beyond the box":
        beta[free[0]] = family.y[free[0]] * np.nextafter(3.0, 4.0)
    elif damage == "wrong side":
        beta[free[0]] *= -1.0
    elif damage == "nan":
        beta[free[0]] = np.nan
    else:
        beta[free[0]] *= 0.5 if damage == "sum" else 1.0 - 2.0**-52
    lower, upper = enclosed_family(family, beta, found.intercepts)
    assert lower[2] == -np.inf
    assert upper[2] == np.inf
    others = [0, 1, 3]
    np.testing.assert_array_equal(lower[others], found.lower_bounds[others])


def test_the_interpreter_comes_to_the_same_answers():
    _, family = random_family(CoshKernel(1.5), PAIRS, weighted=True)
    plain_bounds, plain = load_source(kernel_bounds, pairs)
    results = []
    for solver, checker in ((pairs, kernel_bounds), (plain, plain_bounds)):
        beta, gradient = np.zeros(family.y.size), np.empty(family.y.size)
        intercepts, gaps, lower, upper = np.empty((4, 4))
        steps, most = np.zeros(4, dtype=np.intp), np.full(4, 5000)
        layout = checker.Family(*family.arrays)
        solver.minimise_family(layout, 4e-7, 3e-6, most, beta, gradient, intercepts, gaps, steps)
        checker.enclose_family(layout, beta, intercepts, *family.rounding, lower, upper)
        results.append((beta, intercepts, gaps, steps, lower, upper))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_start_near_the_answer_needs_few_steps():
    _, family = random_family(HeatKernel(0.3), ONE_VS_REST)
    first = solve_family(family, 4e-7)
    again = solve_family(family, 4e-7, first.beta)
    assert np.all(again.gaps <= 1e-6)
    assert again.n_iter.sum() < 0.1 * first.n_iter.sum()
