"""Certificates of the hard margin: overlap proved in exact arithmetic, bounds below the enumeration of brute force."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from hypermargin import MarginProblem, Status, solve
from hypermargin.certificates import CertificateError, HardMarginCertificate, OverlapCertificate
from hypermargin.certificates.reference.overlap import has_positive_relation
from reference.brute import brute_force
from reference.instances import make_instance, random_isometry
from reference.objective import lift, signed_rows


def hard_problem(family, d, n, seed=3, **changes):
    instance = make_instance(family, d=d, n=n, C=1.0, seed=seed)
    return MarginProblem(instance.X, instance.y, **{"C": np.inf, "sample_weight": instance.weight, **changes})


def rational_null_space(rows):
    """Basis of ``{a : sum a_i rows_i = 0}`` by Gaussian elimination over the rational numbers."""
    columns = [[Fraction(float(v)) for v in column] for column in zip(*rows, strict=True)]
    n, pivots, r = len(rows), [], 0
    for j in range(n):
        pivot = next((i for i in range(r, len(columns)) if columns[i][j] != 0), None)
        if pivot is None:
            continue
        columns[r], columns[pivot] = columns[pivot], columns[r]
        columns[r] = [v / columns[r][j] for v in columns[r]]
        for i in range(len(columns)):
            if i != r and columns[i][j] != 0:
                columns[i] = [v - columns[i][j] * p for v, p in zip(columns[i], columns[r], strict=True)]
        pivots.append(j)
        r += 1
    basis = []
    for free in (j for j in range(n) if j not in pivots):
        vector = [Fraction(0)] * n
        vector[free] = Fraction(1)
        for row, j in zip(columns, pivots, strict=False):
            vector[j] = -row[free]
        basis.append(vector)
    return basis


@pytest.mark.parametrize(("d", "n"), [(1, 8), (2, 12), (3, 24), (5, 60)])
@pytest.mark.parametrize("radius", [0.0, 6.0])
def test_overlap_is_proved_by_a_positive_relation_between_samples(d, n, radius):
    problem = hard_problem("overlap", d, n)
    isometry = random_isometry(np.random.default_rng(d), d, radius)
    problem = replace(problem, X=lift((problem.X @ isometry.T)[:, 1:]))
    solution = solve(problem)
    assert solution.status is Status.INFEASIBLE
    assert isinstance(solution.certificate, OverlapCertificate)
    assert solution.certificate.bound_for(problem) == solution.lower_bound == np.inf
    rows = signed_rows(problem.X, problem.y)[list(solution.certificate.samples)]
    (relation,) = rational_null_space(rows)
    assert all(v > 0 for v in relation) or all(v < 0 for v in relation)
    # Both classes take part, and no more samples than Caratheodory's theorem asks for.
    assert len(set(problem.y[list(solution.certificate.samples)])) == 2
    assert len(relation) <= d + 2


def test_opposite_labels_on_one_point_are_a_proof():
    problem = hard_problem("separable", 2, 12)
    X, y = np.vstack([problem.X, problem.X[:1]]), np.append(problem.y, -problem.y[0])
    assert OverlapCertificate((0, 12)).bound_for(MarginProblem(X, y, C=np.inf)) == np.inf
    with pytest.raises(CertificateError, match="overlap"):  # the same point twice with the same label proves nothing
        OverlapCertificate((0, 12)).bound_for(MarginProblem(X, np.append(problem.y, problem.y[0]), C=np.inf))


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_no_set_of_samples_proves_overlap_where_there_is_none(d, seed):
    problem = hard_problem("separable", d, 12, seed=seed)
    rng = np.random.default_rng(seed)
    for size in range(1, d + 4):
        for _ in range(25):
            with pytest.raises(CertificateError, match="overlap"):
                OverlapCertificate(tuple(rng.choice(12, size=size, replace=False).tolist())).bound_for(problem)


@pytest.mark.parametrize("seed", range(6))
def test_the_relation_is_found_where_linear_programming_finds_one(seed):
    """Sets of d + 2 samples: a positive relation exists iff no w has positive margins on them (Gordan)."""
    rng = np.random.default_rng(seed)
    proved = 0
    for _ in range(30):
        X, y = lift(rng.normal(size=(4, 2))), np.where(rng.random(4) < 0.5, -1.0, 1.0)
        Z = signed_rows(X, y)
        # Largest t with Z w >= t, |w| <= 1: positive iff the four samples can be separated.
        bounds = [(-1.0, 1.0)] * 3 + [(None, None)]
        widest = -linprog([0.0, 0.0, 0.0, -1.0], A_ub=np.c_[-Z, np.ones(4)], b_ub=np.zeros(4), bounds=bounds).fun
        if abs(widest) < 1e-9:
            widest = 0.0
        assert has_positive_relation(X[:, 1:].tolist(), y.astype(int).tolist()) == (widest == 0.0)
        proved += widest == 0.0
    assert 0 < proved < 30


def test_a_nearly_touching_pair_is_told_apart_exactly():
    # One bit decides: a point of the other class between two points, or beside the line through them.
    assert has_positive_relation([[0.75, 0.0], [-0.75, 0.0], [0.0, 0.0]], [1, 1, -1])
    assert not has_positive_relation([[0.75, 0.0], [-0.75, 0.0], [0.0, 2.0**-1074]], [1, 1, -1])


def test_certificates_of_samples_that_are_not_there_or_do_not_count_are_refused():
    problem = hard_problem("overlap", 2, 12)
    samples = solve(problem).certificate.samples
    without = np.ones(12)
    without[samples[0]] = 0.0
    for certificate, other in (
        (OverlapCertificate(()), problem),
        (OverlapCertificate((*samples, 12)), problem),
        (OverlapCertificate((-1,)), problem),
        (OverlapCertificate(samples), replace(problem, sample_weight=without)),
        (OverlapCertificate(samples), replace(problem, y=np.ones(12))),
    ):
        with pytest.raises(CertificateError):
            certificate.bound_for(other)


def test_soft_problems_are_refused():
    """What overlaps has a finite soft optimum, and a soft bound for one C is none for a smaller C."""
    overlapping, separable = hard_problem("overlap", 2, 12), hard_problem("separable", 2, 12)
    for problem in (overlapping, separable):
        certificate = solve(problem).certificate
        for C in (1e-3, 1.0, 1e3):
            with pytest.raises(CertificateError, match="hard margin"):
                certificate.bound_for(problem.with_C(C))


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_bounds_are_below_brute_force_and_close_to_it(d, seed):
    problem = hard_problem("separable", d, 7, seed=seed)
    solution = solve(problem)
    best = float(brute_force(problem.X[None], problem.y[None], np.full((1, 7), np.inf))[0][0])
    assert solution.status is Status.OPTIMAL
    assert isinstance(solution.certificate, HardMarginCertificate)
    bound = solution.certificate.bound_for(problem)
    assert best * (1.0 - 2e-6) <= bound <= best
    for C in (1e-3, 1.0, 1e3 * solution.certificate.C):  # any soft margin bounds the hard one
        assert replace(solution.certificate, C=C).bound_for(problem) <= best


@pytest.mark.parametrize("C", [0.0, -1.0, np.inf, np.nan])
def test_weights_that_are_none_are_refused(C):
    problem = hard_problem("separable", 2, 7)
    with pytest.raises(CertificateError):
        replace(solve(problem).certificate, C=C).bound_for(problem)
