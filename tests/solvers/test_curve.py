"""Generalised hyperplanes: Clarabel as a judge, isometries, the proof, the pictures and the radii."""

import numpy as np
import pytest
from flint import arb, ctx

from hypermargin import Certificate, HyperbolicSVC, HyperbolicSVCCV, MarginProblem, Status, load_model, save_model
from hypermargin.certificates import CertificateError, CurveCertificate
from hypermargin.geometry import (
    arc_points,
    lift,
    minkowski_dot,
    quadratic_form,
    random_isometry,
    to_lorentz,
    transform_points,
)
from hypermargin.problems.curve import CurveProblem
from hypermargin.solvers.common.conic import minimise_hinges
from hypermargin.solvers.curve import solve_curve


def random_problem(n=80, dim=2, C=1.0, seed=0, weighted=False, spread=1.0):
    rng = np.random.default_rng(seed)
    X = lift(spread * rng.normal(size=(n, dim)))
    y = np.where(X[:, 1] + 0.5 * rng.normal(size=n) > 0.3, 1.0, -1.0)
    return CurveProblem(MarginProblem(X, y, C, rng.uniform(0.2, 2.0, size=n) if weighted else None))


def optimum_by_clarabel(problem):
    """The problem in the given frame: the form ``q + 2 (w * c)^2`` as a matrix, an intercept, hinges over sqrt2."""
    lowered = problem.point * np.r_[1.0, -np.ones(problem.dim)]
    form = np.diag(np.r_[-1.0, np.ones(problem.dim)]) + 2.0 * np.outer(lowered, lowered)
    P = np.zeros((problem.dim + 2, problem.dim + 2))
    P[:-1, :-1] = form
    rows = problem.y[:, None] * np.column_stack(
        [problem.X * np.r_[1.0, -np.ones(problem.dim)], np.ones(problem.n_samples)]
    )
    costs = problem.margin.costs / np.sqrt(2.0)
    answer = minimise_hinges(P, np.zeros(len(P)), rows, np.ones(problem.n_samples), costs, tol=1e-10)
    return 0.5 * answer @ P @ answer + costs @ np.maximum(0.0, 1.0 - rows @ answer)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("dim", "spread"), [(1, 1.0), (2, 1.0), (2, 20.0), (5, 0.5)])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_optimum_is_that_of_clarabel(C, dim, spread, weighted):
    problem = random_problem(dim=dim, C=C, weighted=weighted, spread=spread)
    solution = solve_curve(problem)
    expected = optimum_by_clarabel(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.lower_bound <= expected * (1.0 + 1e-7)
    assert solution.objective >= expected * (1.0 - 1e-7)
    assert solution.objective <= solution.lower_bound * (1.0 + 1e-6)
    assert problem.objective(solution.w, "hinge", solution.intercept) <= solution.objective


def test_isometries_move_the_answer_along():
    problem = random_problem()
    L = random_isometry(2, 1.5, np.random.default_rng(1))
    moved = solve_curve(CurveProblem(MarginProblem(transform_points(problem.X, L), problem.y)))
    solution = solve_curve(problem)
    assert moved.objective == pytest.approx(solution.objective, rel=1e-6)
    np.testing.assert_allclose(moved.w, L @ solution.w, atol=2e-3 * np.abs(moved.w).max())


@pytest.mark.parametrize("C", [1e-3, 1e-2, 0.1])
def test_balanced_classes_stay_apart_at_any_C(C):
    """Where a whole interval of intercepts is optimal its centre is taken, the same after labels or points move."""
    rng = np.random.default_rng(5)
    y = np.repeat([-1.0, 1.0], 10)
    X = lift(rng.normal(size=(20, 2)) + 2.5 * y[:, None])
    solution = solve_curve(CurveProblem(MarginProblem(X, y, C)))
    scores = minkowski_dot(X, solution.w) + solution.intercept
    assert np.all(y * scores > 0.0)
    exchanged = solve_curve(CurveProblem(MarginProblem(X, -y, C)))
    np.testing.assert_allclose(minkowski_dot(X, exchanged.w) + exchanged.intercept, -scores, atol=1e-9)
    moved = transform_points(X, random_isometry(2, 1.0, rng))
    there = solve_curve(CurveProblem(MarginProblem(moved, y, C)))
    np.testing.assert_allclose(minkowski_dot(moved, there.w) + there.intercept, scores, atol=1e-9)


def test_the_bound_is_rigorous_for_other_weights_and_survives_a_file(tmp_path):
    problem = random_problem(n=30)
    solution = solve_curve(problem)
    optimum = optimum_by_clarabel(problem)
    rng = np.random.default_rng(2)
    plus, minus = (np.flatnonzero(problem.y == side)[:8] for side in (1.0, -1.0))
    for _ in range(20):
        share = rng.integers(0, 512, size=8) / 1024.0
        weights = np.concatenate([share, -rng.permutation(share)])
        certificate = CurveCertificate(30, problem.centre, np.concatenate([plus, minus]), weights)
        assert certificate.verify(problem) <= optimum
    solution.certificate.save(tmp_path / "proof.json")
    assert Certificate.load(tmp_path / "proof.json").verify(problem) == solution.lower_bound


def dual_value(problem, beta):
    """``sum |beta| - (q(P) + 2 (c * P)^2)/2`` for the points ``(sqrt(1 + |xr|^2), xr)``, in Arb with 400 bits."""
    with ctx.workprec(400):
        P = [arb(0)] * (problem.dim + 1)
        for b, row in zip(beta.tolist(), problem.X[:, 1:].tolist(), strict=True):
            point = [(1 + sum(arb(v) ** 2 for v in row)).sqrt(), *row]
            P = [total + arb(b) * v for total, v in zip(P, point, strict=True)]
        c = [(1 + sum(arb(v) ** 2 for v in problem.centre.tolist())).sqrt(), *problem.centre.tolist()]
        along = c[0] * P[0] - sum(arb(u) * v for u, v in zip(c[1:], P[1:], strict=True))
        return sum(abs(arb(b)) for b in beta.tolist()) - (sum(v**2 for v in P[1:]) - P[0] ** 2) / 2 - along**2


@pytest.mark.parametrize("radius", [0.0, 5.0, 10.0, 14.0])
def test_the_bound_is_for_exact_points_however_far_out(radius):
    """Near one another and far out, the rounding of time coordinates would be the larger part of what is proved."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = lift(rng.choice([0.01, 1.0]) * rng.normal(size=(8, 2)))
        X = lift(transform_points(X, random_isometry(2, radius, rng))[:, 1:])
        problem = CurveProblem(MarginProblem(X, np.resize([1.0, -1.0], 8), C=100.0))
        share = rng.integers(0, 64, size=4).astype(float)
        beta = problem.y * np.ravel([share, rng.permutation(share)], order="F")
        exact = dual_value(problem, beta)
        bound = CurveCertificate(8, problem.centre, np.arange(8), beta).bound_for(problem)
        assert bound <= exact
        assert exact - bound <= 1e-14 * (abs(exact) + share.sum())


def test_what_is_wrong_with_a_certificate_is_said():
    problem = random_problem(n=30)
    good = solve_curve(problem).certificate
    broken = {
        "for 29 samples": CurveCertificate(29, good.centre, good.samples, good.weights),
        "beyond that of its sample": CurveCertificate(30, good.centre, good.samples, 10.0 * good.weights),
        "do not add up": CurveCertificate(30, good.centre, good.samples[:-1], good.weights[:-1]),
        "do not fit": CurveCertificate(30, good.centre, good.samples[:-1], good.weights),
    }
    for message, certificate in broken.items():
        with pytest.raises(CertificateError, match=message):
            certificate.verify(problem)
    with pytest.raises(CertificateError, match="about another problem: it classifies by a hyperplane here"):
        good.verify(problem.margin)


class TestClassifier:
    def data(self, kind):
        rng = np.random.default_rng(4)
        X = lift(2.5 * rng.normal(size=(150, 2)))
        score = {"hypercycle": X[:, 1] - 1.0, "horocycle": 0.9 - X[:, 0] + X[:, 1], "circle": 3.0 - X[:, 0]}[kind]
        return X, score > 0.0

    @pytest.mark.parametrize("kind", ["hypercycle", "horocycle", "circle"])
    def test_each_kind_of_boundary_is_found_and_its_picture_is_exact(self, kind):
        X, y = self.data(kind)
        model = HyperbolicSVC(boundary="curve", C=1e4).fit(X, y)
        assert model.statuses_ == [Status.OPTIMAL]
        assert model.score(X, y) == 1.0
        w, b = model.coef_[0], model.intercept_[0]
        share = quadratic_form(w) / (w @ w)
        assert (share > 0.5, abs(share) < 0.3, share < -0.5)[["hypercycle", "horocycle", "circle"].index(kind)]
        curve = arc_points(w, 50, level=-b)
        inside = curve[np.linalg.norm(curve, axis=1) < 0.99]
        values = minkowski_dot(to_lorentz(inside, "poincare"), w) + b
        assert np.abs(values).max() <= 1e-9 * np.abs(w).max() * 1e4

    def test_radii_hold_and_are_reached(self):
        X, y = self.data("circle")
        model = HyperbolicSVC(boundary="curve").fit(X, y)
        radius = model.certified_radius(X)
        _, distance = model.nearest_adversarial(X)
        np.testing.assert_allclose(distance, radius, rtol=1e-5, atol=1e-6)

    def test_paths_cross_validation_and_files(self, tmp_path):
        X, y = self.data("horocycle")
        models = HyperbolicSVC(boundary="curve").fit_path(X, y, [10.0, 0.1])
        alone = HyperbolicSVC(boundary="curve", C=0.1).fit(X, y)
        assert models[1].solutions_[0].objective == pytest.approx(alone.solutions_[0].objective, rel=2e-6)
        chosen = HyperbolicSVCCV(Cs=[0.1, 10.0], cv=3, boundary="curve").fit(X, y)
        assert chosen.score(X, y) > 0.9
        save_model(alone, tmp_path / "model.npz")
        copy = load_model(tmp_path / "model.npz")
        np.testing.assert_array_equal(copy.predict_proba(X), alone.predict_proba(X))
        problem = copy.binary_problems(X, y)[0]
        assert copy.solutions_[0].certificate.verify(problem) == pytest.approx(alone.solutions_[0].lower_bound)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"boundary": "line"}, "boundary must be one of 'geodesic', 'curve'"),
            ({"solver": "pgd"}, "method of its own"),
            ({"fit_intercept": True}, "does not go with fit_intercept"),
            ({"allow_timelike": True}, "does not go with allow_timelike"),
            ({"C": np.inf}, "finite C"),
        ],
    )
    def test_mistakes_are_explained(self, parameters, message):
        X, y = self.data("circle")
        with pytest.raises(ValueError, match=message):
            HyperbolicSVC(**{"boundary": "curve", **parameters}).fit(X, y)


def test_the_last_digits_of_the_centre_depend_on_the_machine():
    """A mean computed elsewhere is the same centre; the bound is for the centre of the problem, in fractions."""
    rng = np.random.default_rng(4)
    X = lift(rng.normal(size=(30, 2)))
    margin = MarginProblem(X, np.where(X[:, 1] > 0.3 * rng.normal(size=30), 1.0, -1.0), C=2.0)
    here = CurveProblem(margin)
    solution = solve_curve(here)
    there = CurveProblem(margin, here.centre * (1.0 + 4e-16))
    assert not np.array_equal(here.centre, there.centre)
    assert solution.certificate.verify(there) == pytest.approx(solution.lower_bound, rel=1e-12)
    moved = CurveProblem(margin, here.centre + 1e-3)
    with pytest.raises(CertificateError, match="another problem"):
        solution.certificate.verify(moved)
    # What the weights prove of another problem is below its own optimum, and not by much.
    bound, optimum = solution.certificate.bound_for(moved), solve_curve(moved)
    assert optimum.objective * (1.0 - 1e-4) <= bound <= optimum.objective
