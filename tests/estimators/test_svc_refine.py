"""The step of local descent from the classifier: what it reaches, what it keeps, and what it refuses."""

import numpy as np
import pytest
from scipy.optimize import minimize

from hypermargin import GeodesicBall, HyperbolicSVC, HyperbolicSVCCV, MarginProblem, solve_path

PGD = {"solver": "pgd", "solver_options": {"epochs": 20}}


def test_it_descends_on_the_loss_of_the_solver_to_a_point_where_nelder_mead_finds_nothing_better(four_blobs):
    X, y = four_blobs
    rough = HyperbolicSVC(**PGD).fit(X, y)
    fine = HyperbolicSVC(**PGD, refine=True).fit(X, y)
    for before, after, problem in zip(rough.solutions_, fine.solutions_, fine.binary_problems(X, y), strict=True):
        assert after.loss == before.loss == "asinh"
        assert after.objective == pytest.approx(problem.objective(after.w, "asinh"), rel=1e-12)
        assert after.objective < before.objective * (1.0 - 1e-6)
        simplex = np.vstack([after.w, after.w + 1e-3 * np.eye(3)])
        near = minimize(problem.objective, after.w, ("asinh",), "Nelder-Mead", options={"initial_simplex": simplex})
        assert near.fun >= after.objective * (1.0 - 1e-5)
    assert np.array_equal(fine.coef_, [solution.w for solution in fine.solutions_])


def test_an_optimum_stays_where_it_is_with_its_proof(two_blobs):
    X, y = two_blobs
    plain = HyperbolicSVC(refine=False).fit(X, y).solutions_[0]
    model = HyperbolicSVC(refine=True).fit(X, y)
    (kept,) = model.solutions_
    assert (kept.lower_bound, kept.status) == (plain.lower_bound, plain.status)
    assert plain.lower_bound <= kept.objective <= plain.objective
    assert kept.certificate.verify(model.binary_problems(X, y)[0]) == kept.lower_bound


def test_along_a_path_and_in_a_search(two_blobs):
    X, y = two_blobs
    for C, model in zip((0.1, 2.0), HyperbolicSVC(**PGD, refine=True).fit_path(X, y, [0.1, 2.0]), strict=True):
        alone = HyperbolicSVC(**PGD, refine=True, C=C).fit(X, y)
        assert model.solutions_[0].objective == pytest.approx(alone.solutions_[0].objective, rel=1e-9)
    search = HyperbolicSVCCV([2.0], cv=2, **PGD, refine=True).fit(X, y)
    assert search.solutions_[0].objective == pytest.approx(alone.solutions_[0].objective, rel=1e-9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": np.inf}, "finite C"),
        ({"uncertainty": GeodesicBall(0.1)}, "does not handle an uncertainty set"),
        ({"solver": "euclidean", "fit_intercept": True}, "does not handle an intercept"),
        ({"solver_options": {"refine": True}}, "pass refine to HyperbolicSVC itself"),
    ],
)
def test_what_it_cannot_descend_on_is_refused_before_any_work(two_blobs, parameters, message, monkeypatch):
    for solver in ("exact.method.Exact", "euclidean.Euclidean"):
        monkeypatch.delattr(f"hypermargin.solvers.{solver}.run")
    with pytest.raises(ValueError, match=message):
        HyperbolicSVC(refine=True, **parameters).fit(*two_blobs)


def test_one_infinite_C_of_a_path_is_refused(two_blobs):
    """By solvers without a hard margin and by the descent, whatever the C of the problem itself."""
    X, y = two_blobs
    problem = MarginProblem(X, 2 * y - 1)
    with pytest.raises(ValueError, match="does not handle the hard margin"):
        solve_path(problem, [1.0, np.inf], "pgd")
    with pytest.raises(ValueError, match="finite C"):
        solve_path(problem, [np.inf, 1.0], refine=True)
    assert solve_path(problem.with_C(np.inf), [1.0], "euclidean")[0].objective < np.inf
