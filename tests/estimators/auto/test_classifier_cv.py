"""The classifier that chooses: its table against scikit-learn's own cross-validation, its rule, and bad input."""

from io import BytesIO

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, jaccard_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from hypermargin import HyperbolicClassifierCV, load_model, save_model
from hypermargin.datasets import make_gaussian_mixture, make_taxonomy
from hypermargin.estimators import (
    HyperbolicForestClassifier,
    HyperbolicKernelSVC,
    HyperbolicKNeighborsClassifier,
    HyperbolicSVC,
)
from hypermargin.estimators.auto.choosing import Candidate, choose, in_order, within_standard_errors
from hypermargin.estimators.auto.classifier_cv import HyperbolicBlend
from hypermargin.estimators.auto.families import CurveFamily, GeodesicFamily, KernelFamily, NeighbourFamily
from hypermargin.estimators.auto.search import part_of
from hypermargin.estimators.scoring import Answers, Scorer
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.models import from_lorentz

SMALL = {
    "geodesic": [{"C": 1.0}, {"C": 10.0}],
    "curve": [{"C": 1.0}],
    "neighbours": [{"n_neighbors": 5}],
    "kernel": [{"kernel": "heat", "t": 0.5, "C": 1.0}, {"kernel": "laplacian", "gamma": 1.0, "C": 10.0}],
    "forest": [{"n_estimators": 10}],
}


@pytest.fixture(scope="module")
def mixture():
    X, y = make_gaussian_mixture(30, 3, scale=0.8, random_state=3, return_X_y=True)
    return X, np.array(["a", "b", "c"])[y]


@pytest.fixture(scope="module")
def chosen(mixture):
    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(*mixture))
    return HyperbolicClassifierCV(SMALL, cv=folds).fit(*mixture), folds


def scores_in_table(model):
    table = model.cv_results_
    splits = [table[f"split{k}_test_score"] for k in range(model.n_splits_)]
    keys = [(f, *p.values()) for f, p in zip(table["family"], table["params"], strict=True) if f != "blend"]
    return dict(zip(keys, np.stack(splits, 1), strict=False))


@pytest.mark.parametrize(
    ("key", "estimator"),
    [
        (("geodesic", 1.0), HyperbolicSVC(C=1.0)),
        (("geodesic", 10.0), HyperbolicSVC(C=10.0)),
        (("curve", 1.0), HyperbolicSVC(C=1.0, boundary="curve")),
        (("neighbours", 5), HyperbolicKNeighborsClassifier(5)),
        (("kernel", "heat", 0.5, 1.0), HyperbolicKernelSVC(C=1.0, kernel="heat", t=0.5)),
        (("kernel", "laplacian", 1.0, 10.0), HyperbolicKernelSVC(C=10.0, kernel="laplacian", gamma=1.0)),
    ],
)
def test_the_table_is_what_scikit_learn_measures(key, estimator, chosen, mixture):
    """Paths, the shared kernel matrix and libsvm give the scores of estimators fitted one by one to full accuracy."""
    model, folds = chosen
    expected = cross_val_score(estimator, *mixture, cv=folds)
    # A point whose votes tie may fall to either side when a problem is solved to 1e-3 instead of 1e-6.
    assert np.sum(np.abs(scores_in_table(model)[key] - expected) > 1e-12) <= 1
    np.testing.assert_allclose(scores_in_table(model)[key], expected, atol=1.5 / 22)


def test_the_table_is_that_of_estimators_with_more_classes_than_are_taken_in_pairs():
    X, y = make_gaussian_mixture(8, 22, scale=0.5, random_state=0, return_X_y=True)
    folds = list(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    grid = {"curve": [{"C": 1.0}], "kernel": [{"kernel": "laplacian", "gamma": 1.0, "C": 1.0}]}
    found = HyperbolicClassifierCV(grid, cv=folds, refit=False).fit(X, y).cv_results_["mean_test_score"]
    own = HyperbolicSVC(boundary="curve"), HyperbolicKernelSVC(kernel="laplacian", gamma=1.0)
    np.testing.assert_allclose(found, [cross_val_score(each, X, y, cv=folds).mean() for each in own], atol=0.02)


def test_the_best_row_is_explained_and_refitted(chosen, mixture):
    model, _ = chosen
    table = model.cv_results_
    assert table["mean_test_score"][model.best_index_] == pytest.approx(model.best_score_)
    assert model.best_params_["family"] == table["family"][model.best_index_]
    assert "\n" not in model.explanation_
    assert f"{model.best_score_:.3f}" in model.explanation_
    for family in SMALL:  # every family is told of, with its best score
        best = max(m for f, m in zip(table["family"], table["mean_test_score"], strict=True) if f == family)
        assert f"{family} {best:.3f}" in model.explanation_
    direct = model.best_estimator_.predict_proba(mixture[0]) ** model.exponent_
    np.testing.assert_allclose(model.predict_proba(mixture[0]), direct / direct.sum(axis=1, keepdims=True), atol=1e-5)
    np.testing.assert_array_equal(model.predict(mixture[0]), model.best_estimator_.predict(mixture[0]))


def test_without_blends_the_best_mean_wins(mixture):
    model = HyperbolicClassifierCV(SMALL, cv=4).fit(*mixture)
    means = model.cv_results_["mean_test_score"]
    assert model.best_score_ == pytest.approx(means.max())
    assert model.best_index_ == int(np.argmax(means >= means.max() - 1e-12))


def test_moving_everything_by_an_isometry_changes_no_label(mixture):
    X, y = mixture
    direction = np.array([np.cosh(2.0), np.sinh(2.0) * 0.6, np.sinh(2.0) * 0.8])
    moved = X @ boost(direction)  # symmetric
    families = {name: SMALL[name] for name in ("geodesic", "curve", "neighbours", "kernel")} | {"blend": None}
    here, there = (HyperbolicClassifierCV(families, cv=3).fit(points, y) for points in (X, moved))
    assert here.best_params_ == there.best_params_
    np.testing.assert_array_equal(here.predict(X), there.predict(moved))


@pytest.mark.parametrize(("geometry", "curvature"), [("poincare", 1.0), ("klein", 4.0), ("tangent", 0.25)])
def test_coordinates_and_curvature_do_not_matter(geometry, curvature, mixture):
    """Also for kernels, whose parameters are lengths of the space of the user."""
    X, y = mixture
    same = from_lorentz(X, geometry, curvature)
    families = ("geodesic", "kernel")
    plain = HyperbolicClassifierCV(families, cv=3).fit(X, y)
    other = HyperbolicClassifierCV(families, cv=3, geometry=geometry, curvature=curvature).fit(same, y)
    np.testing.assert_array_equal(plain.predict(X), other.predict(same))
    np.testing.assert_allclose(plain.predict_proba(X), other.predict_proba(same), atol=1e-4)


def test_the_number_of_threads_changes_nothing(mixture):
    families = {name: SMALL[name] for name in ("neighbours", "kernel", "forest")} | {"blend": None}
    one, two = (HyperbolicClassifierCV(families, cv=3, n_jobs=n).fit(*mixture) for n in (1, 2))
    assert one.explanation_ == two.explanation_
    np.testing.assert_array_equal(one.predict_proba(mixture[0]), two.predict_proba(mixture[0]))


def test_average_precision_decides_for_rare_classes():
    X, y = make_taxonomy(600, positive_fraction=0.05, random_state=4, return_X_y=True)
    labels = np.where(y == 1, "z", "a")  # the positive class is the last
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    grid = {"neighbours": [{"n_neighbors": 5}, {"n_neighbors": 30}], "geodesic": [{"C": 1.0}]}
    model = HyperbolicClassifierCV(grid, scoring="average_precision", cv=folds).fit(X, labels)
    by_hand = []
    for train, test in folds:
        fitted = HyperbolicKNeighborsClassifier(30).fit(X[train], y[train])
        by_hand.append(average_precision_score(y[test], fitted.predict_proba(X[test])[:, 1]))
    np.testing.assert_allclose(scores_in_table(model)["neighbours", 30], by_hand, rtol=1e-12)
    assert "average_precision" in model.explanation_


@pytest.fixture(scope="module")
def rare():
    """Points of which a tenth is of a kind of its own, not easily told: every class has a different score."""
    X, _ = make_gaussian_mixture(50, 2, scale=1.0, random_state=1, return_X_y=True)
    return X, np.arange(100) % 10 == 0


METRICS = {"average_precision": average_precision_score, "f1": f1_score, "jaccard": jaccard_score}


@pytest.mark.parametrize("scoring", METRICS)
@pytest.mark.parametrize("names", [("mammal", "other"), ("zebra", "other"), (0, 1), (1, 0), (True, False)])
@pytest.mark.parametrize("wanted", ["", "rare", "common"])
def test_scores_are_those_of_the_rarer_class_or_the_one_named(scoring, names, wanted, rare):
    X, is_rare = rare
    y = np.where(is_rare, *names)
    label = {"": None, "rare": names[0], "common": names[1]}[wanted]
    folds = list(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    grid = {"neighbours": [{"n_neighbors": 3, "weights": "distance"}]}
    model = HyperbolicClassifierCV(grid, scoring=scoring, cv=folds, pos_label=label).fit(X, y)
    positive = names[1] if wanted == "common" else names[0]
    assert model.pos_label_ == positive
    expected = []
    for train, test in folds:
        fitted = HyperbolicKNeighborsClassifier(3, weights="distance").fit(X[train], y[train])
        answers = fitted.predict(X[test]) == positive
        if scoring == "average_precision":
            answers = fitted.predict_proba(X[test])[:, fitted.classes_.tolist().index(positive)]
        expected.append(METRICS[scoring](y[test] == positive, answers))
    found = [model.cv_results_[f"split{k}_test_score"][0] for k in range(2)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    told = f"{scoring} (positive class {positive}" + ("" if wanted else ", the rarer one") + ")"
    assert told in model.explanation_
    assert "\n" not in model.explanation_


def test_the_positive_class_of_equally_frequent_ones_is_the_last_and_is_kept_in_files():
    X, y = make_gaussian_mixture(30, 2, scale=1.0, random_state=1, return_X_y=True)
    y = np.array(["a", "b"])[y]
    model = HyperbolicClassifierCV({"neighbours": [{"n_neighbors": 3}]}, scoring="f1").fit(X, y)
    assert model.pos_label_ == "b"
    assert "positive class b, the last of two equally frequent ones" in model.explanation_
    file = BytesIO()
    save_model(model, file)
    file.seek(0)
    read = load_model(file)
    assert read.pos_label_ == "b"
    assert read.test_score(X, y) == model.test_score(X, y) == f1_score(y, model.predict(X), pos_label="b")


def test_likelihood_ratios_have_a_positive_class_too(rare):
    X, is_rare = rare
    grid = {"neighbours": [{"n_neighbors": 3}]}
    scores = [
        HyperbolicClassifierCV(grid, scoring="neg_negative_likelihood_ratio", cv=2).fit(X, y).best_score_
        for y in (is_rare, ~is_rare)
    ]
    assert scores[0] == scores[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scoring": "f1", "pos_label": "c"}, "pos_label is 'c', but the classes are"),
        ({"pos_label": True}, "pos_label is for scores of one of two classes"),
        ({"scoring": "f1_macro", "pos_label": True}, "pos_label is for scores of one of two classes"),
    ],
)
def test_positive_classes_that_make_no_sense(settings, message, rare):
    with pytest.raises(ValueError, match=message):
        HyperbolicClassifierCV(**settings).fit(*rare)


def test_more_than_two_classes_have_no_positive_one(mixture):
    with pytest.raises(ValueError, match="pos_label is for two classes, but y has 3"):
        HyperbolicClassifierCV(scoring="average_precision", pos_label="a").fit(*mixture)


# -- the rule --------------------------------------------------------------------------------------------------------


def tried(family, truth, scores=None):
    """A candidate that gave these probabilities to the true class, which is 0 for all samples, two in a fold."""
    truth = np.array(truth, dtype=float).reshape(-1, 2)
    answers = [Answers(np.column_stack([own, 1.0 - own])) for own in truth]
    return Candidate(family, {}, answers, np.mean(truth > 0.5, axis=1) if scores is None else np.array(scores))


class TestRule:
    scorer = Scorer(None, np.zeros((8, 3)), np.zeros(8), np.array([0, 1]), None)
    folds = tuple((np.arange(2), np.arange(2 * k, 2 * k + 2)) for k in range(4))
    simple, later = GeodesicFamily(), NeighbourFamily()

    def chosen(self, first, second, with_blend=True):
        pair = [tried(self.simple, *first), tried(self.later, *second)]
        choice = choose(pair, pair, self.folds, self.scorer, with_blend)
        return [each.name for each in choice.members]

    ahead = (0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.2, 0.2)
    behind = (0.2, 0.2, 0.9, 0.9, 0.2, 0.2, 0.9, 0.9)

    def test_families_that_the_folds_cannot_tell_apart_are_blended(self):
        assert self.chosen([self.ahead], [self.behind]) == ["geodesic", "neighbours"]
        assert self.chosen([self.ahead], [self.behind], with_blend=False) == ["geodesic"]

    def test_a_family_that_is_clearly_behind_takes_no_part(self):
        good, guessing = [0.95] * 7 + [0.45], [0.5] * 8
        assert self.chosen([good], [guessing]) == ["geodesic"]
        assert self.chosen([guessing], [good]) == ["neighbours"]

    def test_a_blend_that_is_clearly_worse_is_not_chosen(self):
        # Right everywhere but once, and next to a guess; the other outvotes it, and is wrong once in every fold.
        flat = [0.5001] * 7 + [0.4999]
        assert self.chosen([flat], [[0.999, 0.4] * 4]) == ["geodesic"]
        # Behind by 0, 1/2, 0, 0: mean and standard error are 1/8, so that log loss decides.
        assert self.chosen([flat], [[0.999, 0.999, 0.4, 0.999] * 2]) == ["neighbours"]

    def test_the_explanation_does_not_call_a_blend_better_than_its_parts(self):
        """Here its log loss is larger than that of its best part."""
        pair = [tried(self.simple, self.ahead), tried(self.later, [0.9, 0.6, 0.9, 0.9, 0.2, 0.9, 0.2, 0.2])]
        choice = choose(pair, pair, self.folds, self.scorer, with_blend=True)
        assert len(choice.members) == 2
        assert choice.losses[0] > choice.losses[1]
        assert "cannot tell its parts apart" in choice.explanation(self.folds, None)

    def test_flat_probabilities_do_not_keep_a_family_out(self):
        """As they are, probabilities of 0.6 are clearly behind those of 0.9; sharpened they are not."""
        flat = [0.6] * 7 + [0.4]
        sure = [0.9] * 7 + [0.1]
        truth = np.array([flat, sure])
        np.testing.assert_array_equal(within_standard_errors(np.tile(truth, 20), None, 1.0), [False, True])
        assert self.chosen([flat], [sure]) == ["geodesic", "neighbours"]

    def test_equal_scores_go_to_the_simplest(self):
        assert self.chosen([self.ahead], [self.ahead], with_blend=False) == ["geodesic"]

    def test_who_knows_all_answers_needs_no_help(self):
        assert self.chosen([[0.6] * 8], [[0.9] * 8]) == ["geodesic"]

    def test_folds_without_a_score_do_not_count(self):
        scores = [np.nan, 0.6, 0.7, 0.8], [np.nan, 0.7, 0.8, 0.9]
        assert self.chosen([self.ahead, scores[0]], [self.behind, scores[1]], with_blend=False) == ["neighbours"]


def test_a_blend_is_the_weighted_mean_of_its_members_and_files_of_old_have_equal_weights(mixture):
    X, y = mixture
    members = [HyperbolicSVC().fit(X, y), HyperbolicKNeighborsClassifier().fit(X, y)]
    probabilities = [member.predict_proba(X) for member in members]
    blend = HyperbolicBlend.of(members, [3.0, 1.0])
    np.testing.assert_allclose(blend.predict_proba(X), 0.75 * probabilities[0] + 0.25 * probabilities[1], atol=1e-12)
    squares = probabilities[0] ** 2 / np.sum(probabilities[0] ** 2, axis=1, keepdims=True)
    sharp = HyperbolicBlend.of(members, [3.0, 1.0], [2.0, 1.0])
    np.testing.assert_allclose(sharp.predict_proba(X), 0.75 * squares + 0.25 * probabilities[1], atol=1e-6)
    refitted = sharp.fit(X[::2], y[::2])
    np.testing.assert_array_equal(refitted.weights_, [0.75, 0.25])
    np.testing.assert_array_equal(refitted.exponents_, [2.0, 1.0])
    state = HyperbolicBlend.of(members, [3.0, 1.0])._stored()
    del state["weights"], state["exponents"]
    blend._restore(state)
    np.testing.assert_allclose(blend.predict_proba(X), np.mean(probabilities, axis=0), atol=1e-12)
    for weights in ([1.0], [1.0, -1.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="a positive weight for each member"):
            HyperbolicBlend.of(members, weights)
    with pytest.raises(ValueError, match="a positive exponent for each member"):
        HyperbolicBlend.of(members, exponents=[1.0, 0.0])


def test_a_part_of_the_samples_keeps_small_classes():
    labels = np.repeat([0, 1, 2], [5000, 40, 10])
    rows = part_of(labels, 500, 0)
    assert np.array_equal(np.unique(rows), rows)
    np.testing.assert_array_equal(np.bincount(labels[rows]), [round(5000 * 500 / 5050), 30, 10])


def test_the_first_round_leaves_the_best_of_each_family():
    X, y = make_gaussian_mixture(60, 2, scale=0.9, random_state=0, return_X_y=True)
    model = HyperbolicClassifierCV(("kernel", "neighbours"), cv=5, refit=False).fit(X, y)
    family, first, mean = (
        np.array(model.cv_results_[name]) for name in ("family", "screening_score", "mean_test_score")
    )
    for name, count in (("kernel", 3), ("neighbours", 2)):
        went_on = np.isfinite(mean[family == name])
        assert went_on.sum() == count
        assert first[family == name][went_on].min() >= first[family == name][~went_on].max()
    with pytest.raises(ValueError, match="refit=True"):
        model.predict(X)


def test_no_candidate_of_a_family_that_is_clearly_behind_goes_on():
    X, _ = make_gaussian_mixture(200, 2, centers=np.zeros((2, 2)), random_state=3, return_X_y=True)
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)  # a disk and what is around it: no geodesic goes round a class
    table = HyperbolicClassifierCV(("geodesic", "neighbours")).fit(X, y).cv_results_
    mean, family = table["mean_test_score"], np.array(table["family"])
    assert not np.isfinite(mean[family == "geodesic"]).any()
    assert np.isfinite(mean[family == "neighbours"]).sum() == 2


def test_many_samples_have_folds_of_a_part_and_no_kernel_that_is_not_clearly_the_best(monkeypatch):
    X, y = make_gaussian_mixture(200, 2, scale=0.9, random_state=0, return_X_y=True)
    monkeypatch.setattr("hypermargin.estimators.auto.classifier_cv.MANY_SAMPLES", 250)
    seen = []
    monkeypatch.setattr(CurveFamily, "answers", recording(CurveFamily.answers, seen))
    model = HyperbolicClassifierCV(("curve", "kernel")).fit(X, y)
    assert model.n_splits_ == 3
    assert max(seen) <= 250
    assert model.best_params_["family"] == "curve"
    monkeypatch.setattr("hypermargin.estimators.auto.families.LANDMARKS_ABOVE", 300)
    monkeypatch.setattr("hypermargin.estimators.auto.families.LANDMARKS", 60)
    alone = HyperbolicClassifierCV(("kernel",)).fit(X, y)
    assert alone.best_params_["family"] == "kernel"
    assert alone.best_params_["n_landmarks"] == alone.best_model_.n_landmarks == 60


def recording(answers, seen):
    """`answers` of a family that notes how many samples its folds have."""

    def noted(self, candidates, samples, folds):
        seen.extend(len(train) + len(test) for train, test in folds)
        return answers(self, candidates, samples, folds)

    return noted


# -- ties --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ([0.9, 0.9, 0.9, 0.9, 0.9], 10.0),
        ([0.8, 0.9, 0.9, 0.9, 0.8], 10.0),
        ([0.8, 0.9, 0.9, 0.8, 0.8], 1.0),
        ([0.8, 0.9, 0.8, 0.9, 0.9], 100.0),
        ([0.8, 0.8, 0.8, 0.8, 0.9], 1000.0),
    ],
)
def test_of_equal_scores_the_middle_C_is_chosen_in_whatever_order_they_are_given(scores, chosen):
    family, Cs = GeodesicFamily(), [0.1, 1.0, 10.0, 100.0, 1000.0]
    given = [Candidate(family, {"C": C}, scores=np.array([score])) for C, score in zip(Cs, scores, strict=True)]
    for order in (given, given[::-1], given[2:] + given[:2]):
        assert in_order(order)[0].parameters["C"] == chosen


def test_of_equal_scores_the_setting_that_is_given_first_is_chosen():
    family = KernelFamily()
    given = [
        Candidate(family, {"kernel": kernel, "C": C}, scores=np.array([score]))
        for kernel, C, score in [("distance", 1.0, 0.9), ("heat", 0.1, 0.9), ("heat", 1.0, 0.9), ("heat", 10.0, 0.9)]
    ]
    names = [(each.parameters["kernel"], each.parameters["C"]) for each in in_order(given)]
    assert names == [("distance", 1.0), ("heat", 1.0), ("heat", 0.1), ("heat", 10.0)]


# -- time --------------------------------------------------------------------------------------------------------------


def test_a_time_limit_that_is_over_at_once_leaves_the_simplest_model(mixture):
    model = HyperbolicClassifierCV(time_limit=1e-6).fit(*mixture)
    assert model.n_splits_ == 0
    assert isinstance(model.best_model_, HyperbolicSVC)
    assert "no time" in model.explanation_
    assert set(model.predict(mixture[0])) <= set(mixture[1])


def test_a_time_limit_ends_the_search_with_the_best_so_far(mixture, monkeypatch):
    """A clock that moves by a second at each look stops the search in the middle, whatever the machine does."""
    clock = iter(range(10**6))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    grid = {"geodesic": [{"C": 1.0}], "neighbours": [{"n_neighbors": 5}], "forest": [{"n_estimators": 5}]}
    model = HyperbolicClassifierCV(grid, cv=5, time_limit=60.0).fit(*mixture)
    assert 0 < model.n_splits_ < 5
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()
    assert model.score(*mixture) > 0.7


@pytest.mark.parametrize("limit", [0.0, -1.0, np.nan])
def test_a_time_limit_must_be_positive(limit, mixture):
    with pytest.raises(ValueError, match="time_limit must be"):
        HyperbolicClassifierCV(time_limit=limit).fit(*mixture)


# -- weights ---------------------------------------------------------------------------------------------------------


def test_weights_are_repetitions(mixture):
    X, y = mixture
    weight = np.random.default_rng(0).integers(0, 3, size=len(y))
    families = {"geodesic": [{"C": 1.0}], "kernel": [{"kernel": "distance", "C": 1.0}], "neighbours": None}
    first = np.random.default_rng(1).permutation(np.arange(len(y)) < 45)

    def halves(part):
        return [(np.flatnonzero(part), np.flatnonzero(~part)), (np.flatnonzero(~part), np.flatnonzero(part))]

    weighted = HyperbolicClassifierCV(families, cv=halves(first)).fit(X, y, sample_weight=weight)
    again = np.repeat(np.arange(len(y)), weight)
    repeated = HyperbolicClassifierCV(families, cv=halves(first[again])).fit(X[again], y[again])
    np.testing.assert_allclose(
        weighted.cv_results_["mean_test_score"], repeated.cv_results_["mean_test_score"], atol=0.03
    )
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_neighbours_step_aside_for_weights(mixture):
    X, y = mixture
    unequal = {"a": 0.5, "b": 1.0, "c": 1.0}
    model = HyperbolicClassifierCV(("geodesic", "neighbours"), cv=2, class_weight=unequal).fit(X, y)
    assert set(model.cv_results_["family"]) == {"geodesic"}
    with pytest.raises(ValueError, match="neighbours take no weights"):
        HyperbolicClassifierCV(("neighbours",), cv=2).fit(X, y, sample_weight=np.full(len(y), 0.5))


# -- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [*SMALL, "blend"])
def test_model_files_hold_the_choice_and_the_table(family, mixture):
    X, y = mixture
    grid = {family: SMALL[family]} if family != "blend" else {**SMALL, "blend": None}
    model = HyperbolicClassifierCV(grid, cv=StratifiedKFold(2)).fit(X, y)
    assert family == "blend" or model.best_params_["family"] == family
    file = BytesIO()
    save_model(model, file)
    file.seek(0)
    read = load_model(file)
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))
    assert type(read.best_model_) is type(model.best_model_)
    assert read.explanation_ == model.explanation_
    assert read.best_params_ == model.best_params_
    np.testing.assert_array_equal(read.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"])
    assert read.cv is None  # a splitter is code


# -- bad input -------------------------------------------------------------------------------------------------------


def test_a_class_of_one_and_classes_smaller_than_the_folds():
    X, y = make_gaussian_mixture(12, 3, scale=0.5, random_state=0, return_X_y=True)
    keep = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:3], np.flatnonzero(y == 2)[:1]])
    model = HyperbolicClassifierCV(SMALL).fit(X[keep], y[keep])
    assert set(model.classes_) == {0, 1, 2}
    assert model.score(X[keep], y[keep]) > 0.7


def test_no_class_has_two_samples():
    X, _ = make_gaussian_mixture(2, 2, random_state=0, return_X_y=True)
    model = HyperbolicClassifierCV().fit(X[:2], ["a", "b"])
    assert model.n_splits_ == 0
    assert "no class has the two samples" in model.explanation_
    assert isinstance(model.best_model_, HyperbolicSVC)
    assert set(model.predict(X[:2])) <= {"a", "b"}


def test_all_points_equal_and_duplicates_with_different_labels():
    X = np.tile([[1.0, 0.0, 0.0]], (20, 1))
    y = np.arange(20) % 2
    model = HyperbolicClassifierCV({**SMALL, "blend": None}, cv=2).fit(X, y)
    assert set(model.predict(X)) <= {0, 1}


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (("geodesic", "tree"), "unknown family 'tree'"),
        (("blend",), "at least one family"),
        ({"forest": [5]}, "list of dicts"),
        ({"forest": None, "blend": [{}]}, "must be None"),
        ((), "at least one family"),
    ],
)
def test_candidates_that_make_no_sense(candidates, message, mixture):
    with pytest.raises(ValueError, match=message):
        HyperbolicClassifierCV(candidates).fit(*mixture)


def test_one_class_is_refused(mixture):
    X, _ = mixture
    with pytest.raises(ValueError, match="one class"):
        HyperbolicClassifierCV().fit(X, np.zeros(len(X)))


def test_a_forest_in_the_end_has_more_trees(mixture):
    model = HyperbolicClassifierCV({"forest": [{"min_samples_leaf": 3}]}, cv=2).fit(*mixture)
    assert isinstance(model.best_model_, HyperbolicForestClassifier)
    assert len(model.best_model_.trees_) == 200


MARGINS = {"geodesic": [{"C": 1.0}, {"C": 10.0}], "curve": [{"C": 1.0}], "kernel": [{"kernel": "heat", "C": 1.0}]}
NEIGHBOURS = {"geodesic": [{"C": 1.0}], "neighbours": [{"n_neighbors": 3}], "blend": None}
BLENDED = {"forest": [{"n_estimators": 5}], "kernel": [{"kernel": "distance"}], "blend": None}


# Some checks use data far beyond the radius that double precision holds, where rounding leaves nothing to prove.
@pytest.mark.filterwarnings("ignore::hypermargin.data.ingest.RadiusWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        HyperbolicClassifierCV(MARGINS, cv=2, geometry="tangent"),
        HyperbolicClassifierCV(NEIGHBOURS, cv=2, geometry="tangent"),
        HyperbolicClassifierCV(BLENDED, cv=2, geometry="tangent", n_jobs=2),
    ]
)
def test_every_check_of_scikit_learn(estimator, check):
    check(estimator)
