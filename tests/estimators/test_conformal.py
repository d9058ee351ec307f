"""Prediction sets hold the true class as often as stated, and nothing is known far from all data."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import GroupKFold

from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators import (
    HyperbolicForestClassifier,
    HyperbolicKernelSVC,
    HyperbolicKNeighborsClassifier,
    HyperbolicSVC,
)
from hypermargin.geometry.metric import exp_origin

MODELS = (
    HyperbolicSVC(),
    HyperbolicKernelSVC(),
    HyperbolicForestClassifier(n_estimators=10, random_state=0),
    HyperbolicKNeighborsClassifier(),
)


def drawn(seed, n=1000):
    """Overlapping classes of unequal size in two to five dimensions, in random order."""
    rng = np.random.default_rng(seed)
    dim, n_classes = 2 + seed % 4, 2 + seed % 3
    share = rng.dirichlet(np.full(n_classes, 4.0))
    labels = rng.choice(n_classes, n, p=share)
    centres = 0.8 * rng.standard_normal((n_classes, dim))
    return exp_origin(centres[labels] + 0.7 * rng.standard_normal((n, dim))), labels


def coverage(model, X, y, alpha):
    sets = model.predict_set(X, alpha)
    return np.mean(sets[np.arange(len(y)), y])


@pytest.mark.parametrize("cv", ["prefit", 3])
def test_the_true_class_is_missing_no_more_often_than_stated_on_twenty_sets(cv):
    found = []
    for seed in range(20):
        X, y = drawn(seed)
        model = MODELS[seed % 4].fit(X[:300], y[:300])
        calibration = (X[300:600], y[300:600]) if cv == "prefit" else (X[:300], y[:300])
        found.append(coverage(model.conformalize(*calibration, cv=cv), X[600:], y[600:], 0.1))
    # Of one set: 400 test points, and the share that 300 points of calibration leave out.
    error = np.sqrt(0.1 * 0.9 * (1 / 400 + 1 / 300))
    assert min(found) >= 0.9 - 3.5 * error
    assert np.mean(found) >= 0.9 - 3.0 * error / np.sqrt(20)
    assert np.mean(found) <= 0.97  # or the sets would say little


def test_every_class_is_covered_by_itself():
    X, y = drawn(6, 6000)  # classes of unequal size
    model = HyperbolicSVC().fit(X[:1000], y[:1000]).conformalize(X[1000:3000], y[1000:3000])
    for k in range(model.classes_.size):
        rows = np.flatnonzero(y[3000:] == k) + 3000
        error = np.sqrt(0.2 * 0.8 * (1 / rows.size + 1 / np.sum(y[1000:3000] == k)))
        assert abs(coverage(model, X[rows], y[rows], 0.2) - 0.8) <= 3.5 * error


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_far_from_all_data_nothing_is_known_however_sure_the_classifier_is(model):
    X, y = drawn(1)
    names = np.array(["ash", "beech", "cedar"])[y]
    model.fit(X[:600], names[:600]).conformalize(X[600:], names[600:])
    far = exp_origin(np.vstack([np.eye(3), -np.eye(3)]) * 12.0)
    assert set(model.predict(far, reject=0.05)) == {"unknown"}
    assert set(model.predict(far)) <= set(names)
    assert not model.predict_set(far, 0.05).any()
    if isinstance(model, HyperbolicSVC):
        assert model.predict_proba(far).max() > 0.99


def test_what_is_given_a_label_is_wrong_no_more_often_than_stated():
    X, y = drawn(5, 4000)
    model = HyperbolicKernelSVC().fit(X[:500], y[:500]).conformalize(X[500:2000], y[500:2000])
    labels = model.predict(X[2000:], reject=0.05, unknown=-1)
    assert labels.dtype.kind == "i"
    assert np.mean((labels != -1) & (labels != y[2000:])) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 * (1 / 1500 + 1 / 2000))
    assert 0.2 < np.mean(labels == -1) < 0.9
    texts = model.predict(X[2000:], reject=0.05)
    assert_array_equal(texts == "unknown", labels == -1)


def test_p_values_are_those_of_a_count_by_hand():
    X, y = drawn(3, 60)
    model = HyperbolicKNeighborsClassifier(5).fit(X[:20], y[:20]).conformalize(X[20:50], y[20:50])
    distances = np.arccosh(np.maximum(X[:, :1] @ X[:, :1].T - X[:, 1:] @ X[:, 1:].T, 1.0))
    probability = model.predict_proba(X)
    for k, p_values in enumerate(model.conformal_p_values(X[50:]).T):
        own = np.flatnonzero(y[20:50] == k) + 20
        to_others = distances[np.ix_(own, own)] + np.diag(np.full(own.size, np.inf))
        scale = to_others.min(axis=1).mean()
        calibration = 1.0 - probability[own, k] + (to_others.min(axis=1) / (10.0 * scale)) ** 2
        for i, p in enumerate(p_values, start=50):
            score = 1.0 - probability[i, k] + (distances[i, own].min() / (10.0 * scale)) ** 2
            assert p == pytest.approx((1 + np.sum(calibration >= score - 1e-9)) / (own.size + 1))


def test_sets_do_not_survive_another_fit_but_survive_a_pickle():
    X, y = drawn(3, 300)
    model = HyperbolicSVC().fit(X, y)
    for settings in ({}, {"cv": GroupKFold(3), "groups": np.arange(300) % 7}):
        model.conformalize(X, y, **settings)
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(again.predict_set(X, 0.2), model.predict_set(X, 0.2))
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"call conformalize\(X, y\)"):
        model.predict(X, reject=0.1)


def test_mistakes():
    X, y = make_gaussian_mixture(60, 2, random_state=0, return_X_y=True)
    model = HyperbolicSVC().fit(X, y)
    with pytest.raises(ValueError, match="a label for each point"):
        model.conformalize(X, np.full(60, 7))
    with pytest.raises(ValueError, match="error rate must be between 0 and 1"):
        model.conformalize(X, y).predict(X, reject=1.5)
    with pytest.raises(ValueError, match="k must be a whole number from 1 to the 2 classes"):
        model.top_k(X, 3)
    names, probability = model.top_k(X, 2)
    assert_array_equal(names[:, 0], model.predict(X))
    assert np.all(probability[:, 0] >= probability[:, 1])
