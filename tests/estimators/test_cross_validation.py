"""`HyperbolicSVCCV` and `fit_path` against scikit-learn's own search and against separate fits."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, log_loss, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneOut, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from hypermargin import GeodesicBall, HyperbolicSVC, HyperbolicSVCCV, Status
from hypermargin.estimators.scoring import middle_of_best
from hypermargin.plotting import PoincareDisplay
from reference.objective import lift

CS = [0.01, 0.1, 1.0, 10.0]


def three_clouds():
    """Three classes that overlap, 14 points each."""
    rng = np.random.default_rng(6)
    y = rng.permutation(np.repeat([0, 1, 2], 14))
    centres = np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
    return lift(centres[y] + 0.8 * rng.normal(size=(42, 2))), y


# As for `HyperbolicSVC`: some checks use points far beyond the radius that double precision holds, and it says so.
# There splitting regions proves nothing more, so a few of them will do.
@pytest.mark.filterwarnings("ignore::hypermargin.data.ingest.RadiusWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [HyperbolicSVCCV(geometry="tangent", Cs=[0.1, 1.0], cv=3, solver_options={"max_regions": 100})]
)
def test_sklearn_check(estimator, check):
    check(estimator)


def grid_search(X, y, cv, scoring=None, fit_params=None, **parameters):
    search = GridSearchCV(HyperbolicSVC(**parameters), {"C": CS}, cv=cv, scoring=scoring)
    return search.fit(X, y, **(fit_params or {}))


def fold_scores(search):
    """Test scores of a grid search, shape (n_folds, n_Cs)."""
    return np.stack([search.cv_results_[f"split{k}_test_score"] for k in range(search.n_splits_)])


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy", "neg_log_loss"])
@pytest.mark.parametrize("cv", [3, StratifiedKFold(4, shuffle=True, random_state=1)])
def test_agrees_with_grid_search(multi_class, scoring, cv):
    X, y = three_clouds()
    # Probabilities follow w, which is known less precisely than its objective.
    tol = 1e-9 if scoring == "neg_log_loss" else 1e-6
    search = grid_search(X, y, cv, scoring, multi_class=multi_class, tol=tol)
    chosen = HyperbolicSVCCV(Cs=CS, cv=cv, scoring=scoring, multi_class=multi_class, tol=tol).fit(X, y)
    precision = 1e-4 if scoring == "neg_log_loss" else 1e-12
    np.testing.assert_allclose(chosen.scores_, fold_scores(search), rtol=precision, atol=precision)
    assert search.best_params_["C"] == chosen.C_
    assert np.array_equal(chosen.predict(X), search.predict(X))
    np.testing.assert_allclose(chosen.decision_function(X), search.decision_function(X), rtol=1e-12)
    np.testing.assert_allclose(chosen.predict_proba(X), search.predict_proba(X), rtol=1e-12)
    assert chosen.score(X, y) == search.best_estimator_.score(X, y)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_it_answers_as_the_classifier_with_its_C(multi_class):
    X, y = three_clouds()
    search = HyperbolicSVCCV(CS, multi_class=multi_class).fit(X, y)
    model = HyperbolicSVC(C=search.C_, multi_class=multi_class).fit(X, y)
    np.testing.assert_allclose(search.certified_radius(X), model.certified_radius(X), rtol=1e-5)
    for ours, theirs in zip(search.nearest_adversarial(X), model.nearest_adversarial(X), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(search.predict_log_proba(X), np.log(model.predict_proba(X)), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("noise", [None, GeodesicBall(0.05)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_after_the_search_it_is_the_classifier(n_classes, noise):
    """Coefficients, proofs, problems, pictures and pickles, with the C it has chosen."""
    X, y = three_clouds()
    X, y = X[y < n_classes], y[y < n_classes]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    parameters = {"tol": 1e-5, "uncertainty": noise, "class_weight": "balanced"}
    search = HyperbolicSVCCV(Cs=[0.1, 10.0], cv=2, **parameters).fit(X, y, weight)
    model = HyperbolicSVC(C=search.C_, **parameters).fit(X, y, weight)
    assert isinstance(search, HyperbolicSVC)
    assert search.C == search.C_
    assert "C" not in search.get_params()
    for name in ("coef_", "intercept_", "gaps_", "n_iter_", "probA_", "probB_", "classes_"):
        assert np.array_equal(getattr(search, name), getattr(model, name)), name
        assert np.array_equal(getattr(search.estimator_, name), getattr(model, name)), name
    assert search.statuses_ == model.statuses_ == [Status.OPTIMAL] * len(model.statuses_)
    for solution, problem in zip(search.solutions_, search.binary_problems(X, y, weight), strict=True):
        assert problem.C == search.C_
        assert solution.certificate.verify(problem) == solution.lower_bound
    again = pickle.loads(pickle.dumps(search))
    assert type(again) is HyperbolicSVCCV
    assert again.solutions_[0].certificate.to_dict() == model.solutions_[0].certificate.to_dict()
    assert np.array_equal(again.certified_radius(X), model.certified_radius(X))
    display = PoincareDisplay.from_estimator(search, X, y, resolution=20)
    assert list(display.boundaries) == (["exact"] if n_classes == 2 else [])


def test_a_path_of_the_search_is_one_of_classifiers(two_blobs):
    X, y = two_blobs
    path = HyperbolicSVCCV(tol=1e-4).fit_path(X, y, [0.5, 2.0])
    assert [(type(model), model.C, model.tol) for model in path] == [(HyperbolicSVC, C, 1e-4) for C in (0.5, 2.0)]
    with pytest.raises(NotFittedError):
        HyperbolicSVCCV().binary_problems(X, y)


def test_scores_differ_along_the_path():
    # Otherwise the comparison above would hold for any order of the candidates.
    X, y = three_clouds()
    assert len(set(HyperbolicSVCCV(Cs=CS, cv=3).fit(X, y).scores_.mean(axis=0))) > 1


def test_weights_take_part_in_fits_and_scores(two_blobs):
    X, y = two_blobs
    weight = np.random.default_rng(0).exponential(size=y.size)
    chosen = HyperbolicSVCCV(Cs=CS, cv=3).fit(X, y, sample_weight=weight)
    scores = []
    for train, test in StratifiedKFold(3).split(X, y):
        models = [HyperbolicSVC(C=C).fit(X[train], y[train], sample_weight=weight[train]) for C in CS]
        scores.append([accuracy_score(y[test], m.predict(X[test]), sample_weight=weight[test]) for m in models])
    np.testing.assert_allclose(chosen.scores_, scores, rtol=1e-12)
    assert not np.allclose(chosen.scores_, HyperbolicSVCCV(Cs=CS, cv=3).fit(X, y).scores_)
    final = HyperbolicSVC(C=chosen.C_).fit(X, y, sample_weight=weight)
    assert np.array_equal(chosen.estimator_.coef_, final.coef_)
    assert not np.allclose(chosen.estimator_.coef_, HyperbolicSVC(C=chosen.C_).fit(X, y).coef_)


def test_scorers_that_take_no_weights_are_called_without_them(two_blobs):
    X, y = two_blobs

    def plain_accuracy(estimator, X, y):
        return float(np.mean(estimator.predict(X) == y))

    def hits(y_true, y_pred):
        return float(np.sum(y_true == y_pred))

    weight = np.random.default_rng(0).exponential(size=y.size)
    called = HyperbolicSVCCV(Cs=CS, cv=3, scoring=plain_accuracy).fit(X, y, sample_weight=weight)
    counted = HyperbolicSVCCV(Cs=CS, cv=3, scoring=make_scorer(hits)).fit(X, y, sample_weight=weight)
    assert np.array_equal(counted.scores_, called.scores_ * y.size / 3)


def test_a_tie_goes_to_the_middle_C_whatever_the_order():
    y = np.arange(20) % 2
    X = lift(np.column_stack([4.0 * y - 2.0, np.linspace(-0.1, 0.1, 20)]))  # far apart: every C classifies them all
    chosen = HyperbolicSVCCV(Cs=[10.0, 1.0, 100.0], cv=2).fit(X, y)
    assert chosen.scores_.tolist() == [[1.0] * 3] * 2
    assert chosen.Cs_.tolist() == [1.0, 10.0, 100.0]
    assert chosen.C_ == 10.0
    assert chosen.estimator_.C == 10.0


@pytest.mark.parametrize(
    ("means", "place"),
    [
        ([0.5, 0.9, 0.9, 0.9], 2),
        ([0.9, 0.9, 0.5, 0.5], 0),
        ([0.9, 0.9 + 1e-16, 0.9 - 1e-16], 1),
        ([np.nan, 0.7, np.nan], 1),
        ([0.1], 0),
    ],
)
def test_the_middle_of_the_best(means, place):
    assert middle_of_best(np.array(means)) == place


def test_splitters_and_scorers_of_all_kinds(two_blobs):
    X, y = two_blobs
    folds = list(StratifiedKFold(3).split(X, y))
    by_number = HyperbolicSVCCV(Cs=CS, cv=3).fit(X, y)
    by_list = HyperbolicSVCCV(Cs=CS, cv=folds).fit(X, y)
    assert np.array_equal(by_number.scores_, by_list.scores_)
    assert HyperbolicSVCCV(Cs=[1.0], cv=LeaveOneOut()).fit(X[:8], y[:8]).scores_.shape == (8, 1)
    scorer = make_scorer(log_loss, response_method="predict_proba", greater_is_better=False)
    by_name = HyperbolicSVCCV(Cs=CS, cv=3, scoring="neg_log_loss").fit(X, y)
    assert np.array_equal(HyperbolicSVCCV(Cs=CS, cv=3, scoring=scorer).fit(X, y).scores_, by_name.scores_)


def test_a_number_of_candidates_spans_six_decades(two_blobs):
    X, y = two_blobs
    np.testing.assert_allclose(HyperbolicSVCCV(Cs=3, cv=2).fit(X, y).Cs_, [1e-3, 1.0, 1e3])
    assert HyperbolicSVCCV(Cs=1, cv=2).fit(X, y).C_ == 1.0


def test_data_frames_keep_their_names(four_blobs):
    X, y = four_blobs
    frame = pd.DataFrame(X, columns=["t", "a", "b"])
    names = pd.Series(y).map({0: "north", 1: "east", 2: "south", 3: "west"})
    framed = HyperbolicSVCCV(Cs=CS, cv=3).fit(frame, names)
    plain = HyperbolicSVCCV(Cs=CS, cv=3).fit(X, names.to_numpy())
    assert list(framed.feature_names_in_) == list(framed.estimator_.feature_names_in_) == ["t", "a", "b"]
    assert np.array_equal(framed.scores_, plain.scores_)
    assert np.array_equal(framed.predict(frame), plain.predict(X))
    assert set(framed.predict(frame)) <= {"north", "east", "south", "west"}
    with pytest.raises(ValueError, match="feature names"):
        framed.predict(frame.rename(columns={"t": "time"}))


def test_parameters_reach_the_classifier(four_blobs):
    X, y = four_blobs
    chosen = HyperbolicSVCCV(
        Cs=[1.0], cv=2, multi_class="ovr", allow_timelike=True, class_weight="balanced", tol=1e-4
    ).fit(X, y)
    final = chosen.estimator_.get_params()
    shared = {name: value for name, value in clone(chosen).get_params().items() if name in final}
    assert {name: final[name] for name in shared} == shared
    direct = HyperbolicSVC(**{**shared, "C": 1.0}).fit(X, y)
    assert np.array_equal(chosen.estimator_.coef_, direct.coef_)


@pytest.mark.parametrize(
    ("Cs", "message"),
    [
        (0, "at least one"),
        (-3, "at least one"),
        ([], "positive"),
        ([1.0, 0.0], "positive"),
        ([1.0, -1.0], "positive"),
        ([1.0, np.nan], "positive"),
        ([[1.0, 2.0]], "Cs must"),
        (True, "Cs must"),
        (1.5, "Cs must"),
        ("many", "Cs must"),
        (None, "Cs must"),
        ([[1.0], [2.0, 3.0]], "Cs must"),
    ],
)
def test_bad_candidates_are_refused(two_blobs, Cs, message):
    with pytest.raises(ValueError, match=message):
        HyperbolicSVCCV(Cs=Cs, cv=2).fit(*two_blobs)


def test_bad_weights_and_folds_are_refused(two_blobs):
    X, y = two_blobs
    with pytest.raises(ValueError, match="sample_weight"):
        HyperbolicSVCCV(Cs=CS, cv=2).fit(X, y, sample_weight=np.ones(y.size - 1))
    with pytest.raises(ValueError, match="groups"):
        HyperbolicSVCCV(Cs=CS, cv=GroupKFold(2)).fit(X, y)
    groups = np.arange(len(y)) % 5
    folds = list(GroupKFold(2).split(X, y, groups))
    np.testing.assert_array_equal(
        HyperbolicSVCCV(Cs=CS, cv=GroupKFold(2)).fit(X, y, groups=groups).scores_,
        HyperbolicSVCCV(Cs=CS, cv=folds).fit(X, y).scores_,
    )
    with pytest.raises(NotFittedError):
        HyperbolicSVCCV().predict(X)


# -- fit_path --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("allow_timelike", [False, True])
def test_a_path_of_fits_equals_separate_fits(four_blobs, multi_class, allow_timelike):
    X, y = four_blobs
    options = {"multi_class": multi_class, "allow_timelike": allow_timelike}
    Cs = [1.0, 0.1, 10.0]
    path = HyperbolicSVC(**options).fit_path(X, y, Cs)
    for model, C in zip(path, Cs, strict=True):
        separate = HyperbolicSVC(C=C, **options).fit(X, y)
        objectives = [[s.objective for s in m.solutions_] for m in (model, separate)]
        np.testing.assert_allclose(objectives[0], objectives[1], rtol=2e-6, atol=1e-12)
        assert np.array_equal(model.predict(X), separate.predict(X))
        for solution, problem in zip(model.solutions_, separate.binary_problems(X, y), strict=True):
            assert solution.certificate.verify(problem) == solution.lower_bound


def test_the_models_of_a_path_say_their_own_C(two_blobs):
    X, y = two_blobs
    first = HyperbolicSVC(C=5.0)
    path = first.fit_path(X, y, [0.5, 2.0])
    assert [model.C for model in path] == [0.5, 2.0]
    assert [model.binary_problems(X, y)[0].C for model in path] == [0.5, 2.0]
    assert vars(first) == vars(HyperbolicSVC(C=5.0)), "a path leaves the classifier it is asked of as it was"
