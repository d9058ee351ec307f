"""Whether the geometry helps: planted cases, the corrected interval against a sum by hand, exchanges of labels."""

from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from scipy.stats import kstest
from scipy.stats import t as student_t

from hypermargin import HyperbolicClassifierCV, load_model, save_model
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators.auto.choosing import Candidate
from hypermargin.estimators.auto.families import GeodesicFamily, Samples
from hypermargin.estimators.auto.verdict import (
    KINDS,
    Contestant,
    answer_of,
    corrected_interval,
    noise_of,
    verdict,
)
from hypermargin.estimators.scoring import Answers, Scorer
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.lorentz import lift


def judged(X, y):
    return verdict(Samples(X, y, None), Scorer(None, X, y, np.unique(y), None), "accuracy")


def both_sides_of_a_wide_hyperplane(seed=0, n=120, dim=5, offset=0.7, moved=7.0):
    """Points on both sides of a hyperplane, at a distance from it that is small beside their distance from each other.

    Each is `offset` away, above a point of the hyperplane at radius 3 to 7, and the origin lies far off: what divides
    the classes in coordinates is tiny far out and large near the origin.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    direction = rng.normal(size=(n, dim - 1))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    along = np.cosh(offset) * np.sinh(rng.uniform(3.0, 7.0, n))[:, None] * direction
    X = lift(np.column_stack([along, np.where(y == 1, 1.0, -1.0) * np.sinh(offset)]))
    target = lift(np.sinh(moved) * np.sqrt(0.5) * (np.eye(dim)[0] + np.eye(dim)[-1]))
    return lift((X @ boost(target).T)[:, 1:]), y


def test_a_hyperplane_through_sparse_points_far_out_needs_the_geometry():
    found = judged(*both_sides_of_a_wide_hyperplane())
    assert found.answer == "yes"
    assert found.sentence.startswith("Yes, the geometry helps: geodesic boundaries 1.000")
    assert found.overall.low > 0.0
    assert found.noise < 0.01
    assert not found.overall.theirs.is_hyperbolic


def test_a_family_that_gains_from_the_geometry_is_named_where_another_twin_does_as_well():
    scores = {  # in five folds: curves beat lines, and an RBF SVM is as good as curves
        "straight": ([0.95, 0.96, 0.94, 0.95, 0.96], [0.80, 0.82, 0.79, 0.81, 0.80]),
        "kernel": ([0.90, 0.91, 0.90, 0.91, 0.90], [0.94, 0.97, 0.95, 0.95, 0.96]),
        "neighbours": ([0.70, 0.71, 0.70, 0.71, 0.70], [0.70, 0.71, 0.70, 0.71, 0.70]),
    }
    contestants = [
        Contestant(name, kind, name == "ours", np.array(own), 0.9)
        for kind, both in scores.items()
        for name, own in zip(("ours", kind), both, strict=True)
    ]
    found = answer_of(contestants, 0.001, 0.25, 500, "accuracy")
    assert found.answer == "no"
    assert found.sentence.startswith("No: kernel does as well, 0.954 against 0.952 of ours")
    assert found.sentence.endswith("It does help beside a linear SVM.")
    assert answer_of(contestants, 0.2, 0.25, 500, "accuracy").answer == "noise"
    far_ahead = [replace(each, scores=each.scores + 0.3 * (each.name == "ours")) for each in contestants]
    assert answer_of(far_ahead, 0.001, 0.25, 500, "accuracy").answer == "yes"
    far_behind = [replace(each, scores=each.scores - 0.3 * (each.name == "ours")) for each in contestants]
    assert "kernel does better" in answer_of(far_behind, 0.001, 0.25, 500, "accuracy").sentence


def test_classes_with_a_line_between_them_in_the_tangent_space_do_not():
    X, y = make_gaussian_mixture(
        60, 2, scale=0.3, centers=np.array([[-0.8, 0.0], [0.8, 0.0]]), random_state=0, return_X_y=True
    )
    found = judged(X, y)
    assert found.answer == "no"
    assert "a linear SVM on the tangent space at the mean does as well" in found.sentence
    assert found.overall.low <= 0.0 <= found.overall.high


@pytest.mark.parametrize("n_classes", [2, 4])
def test_labels_at_random_are_called_noise(n_classes):
    X, y = make_gaussian_mixture(40, n_classes, random_state=1, return_X_y=True)
    found = judged(X, np.random.default_rng(6).permutation(y))
    assert found.answer == "noise"
    assert found.sentence.startswith("These labels cannot be told from noise")
    assert judged(X, y).answer != "noise"


def test_p_values_of_labels_at_random_are_uniform():
    rng = np.random.default_rng(0)
    folds = [(np.arange(0), np.arange(20)), (np.arange(0), np.arange(20, 40))]
    found = []
    for seed in range(60):
        y = rng.permutation(np.arange(40) % 3)
        answers = [Answers(rng.dirichlet(np.ones(3), size=20)) for _ in folds]
        given = [Candidate(GeodesicFamily(), {"C": 1.0}, answers)]
        found.append(noise_of(given, folds, Scorer(None, np.zeros((40, 3)), y, np.arange(3), None), seed))
    assert kstest(found, "uniform").pvalue > 0.05


def test_a_rare_class_that_is_never_predicted_is_not_noise():
    """Accuracy is that of the majority class, and yet probabilities are larger where the class is."""
    rng = np.random.default_rng(1)
    X = lift(rng.normal(size=(400, 2)))
    y = (rng.uniform(size=400) < np.where(X[:, 1] > 0.5, 0.25, 0.005)).astype(int)
    found = judged(X, y)
    assert max(each.score for each in found.contestants) <= np.mean(y == 0) + 0.01
    assert found.answer != "noise"


def test_an_isometry_moves_scores_of_coordinates_and_not_ours():
    X, y = make_gaussian_mixture(50, 3, scale=0.8, random_state=3, return_X_y=True)
    found = judged(X, y)
    ours = [abs(each.moved - each.score) for each in found.contestants if each.is_hyperbolic]
    at_mean = [abs(each.moved - each.score) for each in found.contestants if "tangent" in each.name]
    others = [
        abs(each.moved - each.score) for each in found.contestants if "ambient" in each.name or "disk" in each.name
    ]
    assert max(ours) <= 0.01
    assert max(at_mean) <= 0.01
    assert max(others) > 0.02
    assert [each.ours.kind for each in found.by_kind] == list(KINDS)
    assert "After a random isometry" in str(found)


def test_the_interval_is_that_of_nadeau_and_bengio():
    rng = np.random.default_rng(0)
    differences = rng.normal(size=5)
    low, high = corrected_interval(differences, 0.25)
    error = np.sqrt((1 / 5 + 0.25) * np.var(differences, ddof=1))
    np.testing.assert_allclose([low, high], differences.mean() + student_t.ppf([0.025, 0.975], 4) * error)
    assert corrected_interval(np.array([0.1]), 0.25) == (-np.inf, np.inf)


def test_a_search_has_its_verdict_when_it_is_read_and_files_do_not():
    X, y = make_gaussian_mixture(20, 2, random_state=0, return_X_y=True)
    model = HyperbolicClassifierCV({"neighbours": [{"n_neighbors": 3}]}).fit(X, y)
    assert "_verdict" not in vars(model)
    assert model.verdict_ is model.verdict_
    file = BytesIO()
    save_model(model, file)
    file.seek(0)
    read = load_model(file)
    with pytest.raises(AttributeError, match="files do not keep"):
        _ = read.verdict_
