"""Kernel problems against Clarabel, scikit-learn and Arb: the optimum, the bounds, and every way of reaching it."""

import warnings
from dataclasses import replace
from fractions import Fraction

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from hypermargin import Certificate, Status
from hypermargin.certificates import CertificateError, KernelCertificate
from hypermargin.geometry import lift
from hypermargin.kernels import CoshKernel, DistanceKernel, HeatKernel, LaplacianKernel
from hypermargin.problems.kernel import FeatureProblem, KernelProblem
from hypermargin.solvers.kernel import dual
from hypermargin.solvers.kernel.compiled import pairs
from hypermargin.solvers.kernel.method import solve_kernel, solve_path_with_scores
from interpreted import load_source

KERNELS = [HeatKernel(0.3), HeatKernel(20.0), CoshKernel(2.0), LaplacianKernel(1.0), DistanceKernel()]


def random_problem(kernel, n=60, dim=2, C=2.0, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    X = lift(rng.normal(size=(n, dim)))
    y = np.where(X[:, 1] + 0.7 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    weight = rng.uniform(0.1, 3.0, size=n) if weighted else None
    return KernelProblem(X, y, kernel, C, weight, gram=kernel(X))


def optimum_by_clarabel(K, y, costs):
    """The dual problem as a quadratic programme; a small ridge where the matrix is semidefinite up to rounding."""
    n = len(y)
    K = K + 2.0 * np.abs(K).max() if np.all(np.diag(K) == 0.0) else K  # -d: a constant changes nothing on sums of 0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-10
    A = sp.vstack([sp.csc_matrix(np.ones((1, n))), sp.identity(n), -sp.identity(n)], format="csc")
    ends = y * costs
    b = np.concatenate([[0.0], np.maximum(ends, 0.0), -np.minimum(ends, 0.0)])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    P = sp.csc_matrix(np.triu(K + 1e-12 * np.eye(n)))
    return -clarabel.DefaultSolver(P, -y, A, b, cones, settings).solve().obj_val


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_optimum_is_that_of_clarabel(kernel, C, weighted):
    problem = random_problem(kernel, C=C, weighted=weighted)
    solution = solve_kernel(problem)
    expected = optimum_by_clarabel(problem.gram, problem.y, problem.costs)
    assert solution.status is Status.OPTIMAL
    assert solution.lower_bound <= solution.objective <= solution.lower_bound * (1.0 + 1e-6)
    assert solution.lower_bound <= expected * (1.0 + 1e-7)
    assert solution.objective >= expected * (1.0 - 1e-7)


@pytest.mark.parametrize(
    ("kernel", "dim"),
    [
        *((k, 2) for k in KERNELS),
        (HeatKernel(0.5), 5),
        (HeatKernel(1.0), 7),
        (HeatKernel(2.0), 20),
        (HeatKernel(9.0), 41),
    ],
)
def test_arb_lies_within_the_bounds(kernel, dim):
    problem = random_problem(kernel, n=25, dim=dim)
    certificate = solve_kernel(problem).certificate
    lower, upper = certificate.enclosure(problem)
    arb_lower, arb_upper = certificate.enclosure(problem, by_arb=True)
    assert lower <= arb_lower <= arb_upper * (1.0 + 1e-12)
    assert arb_upper <= upper
    assert arb_lower - lower <= 1e-9 * upper  # the bounds are not needlessly wide
    assert upper - arb_upper <= 1e-9 * upper


@pytest.mark.parametrize("size", [1e-6, 1e-30, 1e-140])
def test_arb_takes_the_digits_that_near_points_need(size):
    """All of a problem near the origin, with pairs of samples that are nearer to each other still."""
    rng = np.random.default_rng(2)
    space = size * rng.normal(size=(12, 6))
    space[6:] = space[:6] * (1.0 + 1e-9 * rng.normal(size=(6, 6)))
    problem = KernelProblem(lift(space), np.resize([1.0, -1.0], 12), HeatKernel(size**2), 0.5)
    lower, upper = solve_kernel(problem).certificate.enclosure(problem, by_arb=True)
    assert lower <= upper <= lower * (1.0 + 1e-6)


def test_far_points_are_proved_too():
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(80, 2))
    X = lift(np.sinh(rng.uniform(0.0, 16.0, size=(80, 1))) * directions / np.linalg.norm(directions, axis=1)[:, None])
    y = np.where(directions[:, 0] > 0.0, 1.0, -1.0)
    for kernel in (HeatKernel(5.0), LaplacianKernel(0.3), DistanceKernel()):
        problem = KernelProblem(X, y, kernel, 10.0, gram=kernel(X))
        solution = solve_kernel(problem)
        assert solution.status is Status.OPTIMAL
        assert solution.certificate.enclosure(problem, by_arb=True)[0] >= solution.lower_bound


@pytest.mark.parametrize("kernel", [HeatKernel(0.1), LaplacianKernel(2.0)], ids=str)
def test_working_sets_come_to_the_same_answer(kernel, monkeypatch):
    problem = random_problem(kernel, n=300, C=5.0)
    expected = solve_kernel(problem).objective
    monkeypatch.setattr(dual, "WORKING_SET", 40)
    small_cache = KernelProblem(problem.points, problem.y, kernel, 5.0, cache_bytes=60 * 300 * 8)
    solution = solve_kernel(small_cache)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(expected, rel=2e-6)


def test_a_path_is_the_same_as_single_solutions():
    problem = random_problem(HeatKernel(0.3), n=100)
    Cs = [3.0, 0.01, 100.0, 0.5]
    for C, (solution, _) in zip(Cs, solve_path_with_scores(problem, Cs, 1e-6), strict=True):
        alone = solve_kernel(problem.with_C(C))
        assert solution.status is alone.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(alone.objective, rel=2e-6)


def test_scikit_learn_agrees_up_to_its_tolerance():
    problem = random_problem(CoshKernel(1.5), n=150, C=3.0)
    theirs = SVC(kernel="precomputed", C=3.0, tol=1e-6).fit(problem.gram, problem.y)
    beta = np.zeros(150)
    beta[theirs.support_] = theirs.dual_coef_[0]
    solution = solve_kernel(problem)
    reached = problem.objective(beta, float(theirs.intercept_[0]))
    assert solution.lower_bound <= reached  # what is proved of all functions holds for theirs
    assert solution.objective <= reached * (1.0 + 1e-6)  # the gap asked for
    np.testing.assert_allclose(
        problem.gram @ solution.w + solution.intercept, theirs.decision_function(problem.gram), atol=1e-3
    )


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_features_are_a_linear_kernel(C):
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(120, 6)) * np.array([1.0, 5.0, 0.2, 30.0, 1.0, 1.0])
    y = np.where(Z[:, 0] + rng.normal(size=120) > 0.0, 1.0, -1.0)
    weight = rng.uniform(0.1, 2.0, size=120)
    solution = solve_kernel(FeatureProblem(Z, y, C, weight))
    expected = optimum_by_clarabel(Z @ Z.T, y, C * weight)
    assert solution.status is Status.OPTIMAL
    assert solution.lower_bound <= expected * (1.0 + 1e-7)
    assert solution.objective >= expected * (1.0 - 1e-7)


@pytest.mark.parametrize("width", [3, 12])
def test_many_samples_in_features(width):
    """The start takes some samples and rounds those near the hinge; the check is of all. Some may not be forgotten."""
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(12_000, width))
    y = np.where(Z[:, 0] + 0.5 * rng.normal(size=12_000) > 0.3, 1.0, -1.0)
    Z[:40] *= 30.0  # few samples far away, which a start on every second one sees in part
    problem = FeatureProblem(Z, y, 0.5)
    solution = solve_kernel(problem)
    assert solution.status is Status.OPTIMAL
    theirs = LinearSVC(loss="hinge", C=0.5, intercept_scaling=100.0, max_iter=200, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(Z, y)
    w = theirs.coef_[0]
    short = np.maximum(0.0, 1.0 - y * (Z @ w + theirs.intercept_[0]))
    assert solution.lower_bound <= 0.5 * w @ w + 0.5 * short.sum()


def test_one_class_costs_nothing():
    problem = KernelProblem(lift(np.zeros((3, 2))), np.ones(3), HeatKernel(1.0))
    solution = solve_kernel(problem)
    assert solution.objective == pytest.approx(0.0, abs=1e-12)
    assert solution.status is Status.OPTIMAL


def test_separable_points_with_a_huge_C():
    problem = random_problem(HeatKernel(0.05), n=80, C=1e6)
    assert solve_kernel(problem).status is Status.OPTIMAL


def test_the_interpreter_takes_the_same_steps():
    problem = random_problem(LaplacianKernel(1.0), n=30)
    (plain,) = load_source(pairs)
    results = []
    for module in (pairs, plain):
        beta, gradient = np.zeros(30), -problem.y.copy()
        steps, violation = module.minimise_pairs(problem.gram, gradient, beta, *problem.box, 1e-6, 10000)
        results.append((steps, violation, beta))
    assert results[0][0] == results[1][0]
    np.testing.assert_array_equal(results[0][2], results[1][2])


def test_problems_may_share_a_matrix():
    """The samples of some classes, as rows of a larger matrix: the same problem as with a matrix of their own."""
    kernel = LaplacianKernel(1.0)
    whole = random_problem(kernel, n=90, C=5.0, weighted=True)
    runs = ((10, 30), (45, 85))
    rows = np.concatenate([np.arange(*run) for run in runs])
    weight = whole.sample_weight[rows]
    part = KernelProblem(whole.points, whole.y[rows], kernel, 5.0, weight, whole.gram, runs=runs)
    own = KernelProblem(whole.points[rows], whole.y[rows], kernel, 5.0, weight, whole.gram[np.ix_(rows, rows)])
    beta = np.random.default_rng(0).normal(size=rows.size)
    np.testing.assert_allclose(part.products(beta), own.gram @ beta, rtol=1e-12)
    np.testing.assert_array_equal(part.values(np.arange(3, 30)), own.gram[3:30])
    np.testing.assert_array_equal(part.whole_matrix(), own.gram)
    solution = solve_kernel(part)
    np.testing.assert_array_equal(solution.w, solve_kernel(own).w)
    assert solution.certificate.verify(own) == pytest.approx(solution.lower_bound, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_balance_and_intercept_are_exact(seed):
    """Fractions decide: the sum is 0, bounds are kept; and no other intercept has a smaller risk."""
    rng = np.random.default_rng(seed)
    problem = random_problem(HeatKernel(0.3), n=50, seed=seed, weighted=True)
    beta = np.clip(problem.y * rng.uniform(-0.5, 1.5, size=50) * problem.costs, *problem.box)
    beta[problem.y > 0.0] *= -beta[problem.y < 0.0].sum() / beta[problem.y > 0.0].sum()
    beta = np.clip(beta, *problem.box)
    beta[np.argmax(problem.box[1] - beta)] -= min(beta.sum(), 0.0)
    (plain,) = load_source(pairs)
    unit = 2.0**-40
    for module in (pairs, plain):
        balanced = beta.copy()
        module.balance_in_place(balanced, *problem.box, unit)
        assert sum(map(Fraction, balanced.tolist())) == 0
        assert np.all((problem.box[0] <= balanced) & (balanced <= problem.box[1]))
        assert np.count_nonzero(np.abs(balanced - beta) > 2.0 * unit) <= 2
        gradient = problem.products(balanced) - problem.y
        found = np.zeros(1)
        order = np.argsort(gradient)
        gap = module.gap_and_intercept(order, gradient, balanced, problem.y, problem.costs, found)
        intercept = found[0]
        risks = [problem.risk(gradient + problem.y, b) for b in (intercept, *-gradient)]
        assert risks[0] <= min(risks) * (1.0 + 1e-12)
        primal, dual = (
            problem.objective(balanced, intercept),
            problem.y @ balanced - 0.5 * balanced @ (gradient + problem.y),
        )
        assert gap == pytest.approx((primal - dual) / primal, rel=1e-9)


def optimal_intercepts(scores, y, costs):
    """The ends of the interval of intercepts of least risk, by trying all corners of the risk in rationals."""
    scores, costs, y = ([Fraction(v) for v in values.tolist()] for values in (scores, costs, y))
    corners = sorted({side - score for side, score in zip(y, scores, strict=True)})
    terms = list(zip(y, scores, costs, strict=True))
    risks = [sum(c * max(0, 1 - side * (score + b)) for side, score, c in terms) for b in corners]
    best = [b for b, risk in zip(corners, risks, strict=True) if risk == min(risks)]
    return float(best[0]), float(best[-1])


#: Costs of the labels -1 and +1 as floating point has them, and as they are meant, for 3 and 7 samples or 5 and 5.
BALANCED = {
    "equal": ((5, 5), (0.1, 0.1), (1, 1)),
    "by class": ((3, 7), (0.1 * (10.0 / 6.0), 0.1 * (10.0 / 14.0)), (Fraction(7), Fraction(3))),
    "thirds": ((3, 9), (0.3, 0.1), (3, 1)),
}


@pytest.mark.parametrize("costs", BALANCED)
@pytest.mark.parametrize("kernel", [*KERNELS, "features"], ids=str)
def test_of_many_optimal_intercepts_the_centre_is_taken(kernel, costs):
    """Where the costs of both classes are the same and C is small, whatever the rounding of sums of costs."""
    sizes, given, meant = BALANCED[costs]
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([-1.0, 1.0], sizes))
    points = rng.normal(size=(y.size, 2)) + 0.5 * y[:, None]
    own, exact = (np.where(y < 0.0, *pair) for pair in (given, meant))
    for C in (1e-3, 1e-2):
        if kernel == "features":
            problem = FeatureProblem(points, y, C, own)
        else:
            problem = KernelProblem(lift(points), y, kernel, C, own, gram=kernel(lift(points)))
        solution = solve_kernel(problem)
        low, high = optimal_intercepts(problem.products(solution.w), y, exact)
        assert high - low > 0.1
        assert solution.status is Status.OPTIMAL
        assert solution.intercept == pytest.approx(0.5 * (low + high), abs=1e-12)
        exchanged = solve_kernel(replace(problem, y=-y))
        np.testing.assert_allclose(exchanged.w, -solution.w, rtol=1e-12)
        assert exchanged.intercept == pytest.approx(-solution.intercept, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_the_intercept_is_the_centre_for_any_scores(seed):
    """Costs that are zero, tiny, or balance in the middle; compiled and interpreted, with labels exchanged as well."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    y = rng.permutation(np.resize([-1.0, 1.0], n))
    costs = rng.choice([0.0, 1e-30, 0.25, 0.5, 1.0], size=n)
    costs[[np.argmax(y), np.argmin(y)]] = 1.0
    scores = rng.integers(-3, 4, size=n) / 2.0
    low, high = optimal_intercepts(scores, y, np.where(costs < 1e-12, 0.0, costs))
    for module in (pairs, *load_source(pairs)):
        for side in (1.0, -1.0):
            gradient, found = side * (scores - y), np.zeros(1)
            module.gap_and_intercept(np.argsort(gradient), gradient, np.zeros(n), side * y, costs, found)
            assert found[0] == side * 0.5 * (low + high)


class TestCertificate:
    def test_it_survives_a_file(self, tmp_path):
        problem = random_problem(HeatKernel(0.3))
        certificate = solve_kernel(problem).certificate
        certificate.save(tmp_path / "proof.json")
        copy = Certificate.load(tmp_path / "proof.json")
        assert isinstance(copy, KernelCertificate)
        assert copy.enclosure(problem) == certificate.enclosure(problem)

    def test_a_bound_holds_for_whatever_coefficients(self):
        """Weights that are not optimal prove less, never too much."""
        problem = random_problem(HeatKernel(0.3), n=40)
        optimum = optimum_by_clarabel(problem.gram, problem.y, problem.costs)
        rng = np.random.default_rng(1)
        for _ in range(20):
            size = np.zeros(40)
            for sign in (1.0, -1.0):
                own = rng.permutation(np.flatnonzero(problem.y == sign))[:8]
                size[own] = 0.25 * rng.permutation(np.arange(1, 9))[:8]
            lower, upper = KernelCertificate.of(problem.y * size, rng.normal()).enclosure(problem)
            assert lower <= optimum * (1.0 + 1e-9)
            assert upper >= optimum * (1.0 - 1e-9)

    def test_what_is_wrong_with_one_is_said(self):
        problem = random_problem(HeatKernel(0.3), n=40)
        beta = solve_kernel(problem).w
        with pytest.raises(CertificateError, match="for 39 samples"):
            KernelCertificate.of(beta[:39], 0.0).verify(problem)
        with pytest.raises(CertificateError, match="beyond the weight"):
            KernelCertificate.of(100.0 * beta, 0.0).verify(problem)
        unbalanced = beta.copy()
        unbalanced[np.argmax(beta)] *= 0.5
        with pytest.raises(CertificateError, match="do not add up to 0"):
            KernelCertificate.of(unbalanced, 0.0).verify(problem)
        with pytest.raises(CertificateError, match="not finite"):
            KernelCertificate.of(np.where(beta > 0.0, np.nan, beta), 0.0).verify(problem)
        with pytest.raises(CertificateError, match="has none"):
            KernelCertificate.of(beta, 0.0).verify(object())

    def test_rounding_of_kernel_values_is_charged(self):
        """A matrix with entries off by what the kernel may be off by gives the same bounds, up to what is charged."""
        kernel = HeatKernel(0.3)
        problem = random_problem(kernel, n=40)
        certificate = solve_kernel(problem).certificate
        lower, upper = certificate.enclosure(problem)
        relative, absolute = kernel.rounding(2)
        signs = np.sign(np.outer(certificate.beta, certificate.beta))
        for sign in (1.0, -1.0):
            K = problem.gram + sign * signs * (relative * problem.gram + absolute)
            quadratic = certificate.beta @ K @ certificate.beta
            assert lower <= np.abs(certificate.beta).sum() - 0.5 * quadratic
            assert upper >= 0.5 * quadratic + problem.risk(K @ certificate.beta, certificate.intercept)
