"""Extraction: candidates that are known by construction, mending against brute force, and the choice among them."""

import numpy as np
import pytest

from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.paper.extraction import Candidate, candidates, extract, mend, paper_eta
from reference.objective import lift


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], 6)
    return MarginProblem(lift(0.7 * rng.normal(size=(12, 2)) + 0.4 * y[:, None]), y)


def test_a_tight_relaxation_gives_the_same_w_by_every_way():
    """W = w w': the covariance is zero, where a Cholesky factorisation fails; all candidates are w, one is -w."""
    w = np.array([0.3, -1.2, 0.8])
    found = {candidate.name: candidate.w for candidate in candidates(np.outer(w, w), w)}
    opposite = [name for name, vector in found.items() if np.allclose(vector, -w, atol=1e-7)]
    assert len(opposite) == 1
    assert opposite[0].startswith("eigenvector")
    for name in set(found) - set(opposite):
        np.testing.assert_allclose(found[name], w, atol=1e-7, err_msg=name)
    assert len(found) == 1 + 2 + 10 + 3


def test_gaussian_candidates_have_the_mean_and_covariance_of_the_relaxation():
    w = np.array([0.3, -1.2, 0.8])
    root = np.array([[1.0, 0.0, 0.0], [0.5, 0.2, 0.0], [0.0, 0.0, 0.0]])  # singular
    W = np.outer(w, w) + root @ root.T
    samples = np.array([c.w for c in candidates(W, w, n_random=40_000, seed=1) if c.name.startswith("gaussian")])
    np.testing.assert_allclose(samples.mean(axis=0), w, atol=1e-12)  # pairs w + s, w - s
    np.testing.assert_allclose(np.cov(samples.T), root @ root.T, atol=0.03)


def test_a_seed_gives_one_answer_and_another_seed_another(problem):
    W, w = np.diag([2.0, 3.0, 1.0]), np.array([0.1, 0.5, 0.2])
    first, again, other = (extract(problem, W, w, seed=seed).objectives for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_swapping_the_classes_turns_the_answer_round(problem):
    W, w = np.array([[2.0, 0.3, 0.1], [0.3, 3.0, -0.4], [0.1, -0.4, 1.0]]), np.array([0.1, 0.5, 0.2])
    swapped = MarginProblem(problem.X, -problem.y)
    one, other = extract(problem, W, w), extract(swapped, W, -w)
    np.testing.assert_allclose(other.winner.w, -one.winner.w, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_timelike_candidate_moves_to_the_nearest_point_of_the_light_cone(problem, seed):
    rng = np.random.default_rng(seed)
    w = np.array([rng.choice([-1, 1]) * 2.0, *rng.uniform(-0.9, 0.9, size=2)])
    mended = mend(problem, Candidate("c", w))
    assert mended.mended
    assert mended.w[0] ** 2 == pytest.approx(mended.w[1:] @ mended.w[1:])
    angle = np.linspace(0, 2 * np.pi, 20_001)
    directions = np.column_stack([np.full_like(angle, np.sign(w[0])), np.cos(angle), np.sin(angle)])
    along = np.maximum(directions @ w, 0.0) / 2.0  # nearest point on each ray of the cone
    nearest = np.min(np.linalg.norm(along[:, None] * directions - w, axis=1))
    assert np.linalg.norm(mended.w - w) == pytest.approx(nearest, rel=1e-6)


def test_each_candidate_is_judged_with_its_own_margin_term():
    """All of them separate the data without risk; the shortest has the smallest q and must win."""
    problem = MarginProblem(lift([[2.0, 0.0], [-2.0, 0.0]]), [1.0, -1.0], C=100.0)
    w = np.array([0.0, -1.0, 0.0])
    found = extract(problem, np.outer(w, w), 3.0 * w, n_random=0, extra=[Candidate("long", 5.0 * w)])
    for name, scale in (("nominal", 3.0), ("long", 5.0)):
        assert found.objectives[name] == pytest.approx(scale**2 / 2)
    assert found.winner.name.startswith("eigenvector")
    assert found.objective == pytest.approx(0.5)


def test_what_is_worse_than_nothing_is_shortened(problem):
    w = np.array([0.0, -50.0, -50.0])
    found = extract(problem, np.outer(w, w), w, n_random=0)
    assert found.objective <= problem.objective(np.zeros(3))
    assert found.winner.name.endswith("shortened")
    ratio = found.winner.w[1:] / w[1:]
    multiples = [problem.objective(s * w) for s in np.linspace(0.0, 1.0, 5001)]
    assert ratio[0] == pytest.approx(ratio[1])
    assert found.objective <= min(multiples) + 1e-6


def test_with_the_hard_margin_a_separating_candidate_is_scaled_to_margin_one():
    problem = MarginProblem(lift([[2.0, 0.0], [-1.0, 0.3]]), [1.0, -1.0], C=np.inf)
    w = np.array([0.0, -0.01, 0.0])
    found = extract(problem, np.outer(w, w), w, n_random=0)
    assert np.min(problem.margins(found.winner.w)) == pytest.approx(1.0)
    time, *space = found.winner.w
    assert found.objective == pytest.approx(0.5 * (np.dot(space, space) - time**2))


def test_the_papers_eta_by_hand():
    assert paper_eta(3.0, 1.0) == pytest.approx(2.0 / 5.0)
    assert paper_eta(1.0, 3.0) == pytest.approx(2.0 / 5.0)  # the formula has an absolute value
