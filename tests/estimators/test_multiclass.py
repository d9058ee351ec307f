"""Schemes: votes against scikit-learn's one-vs-one, and that decision, winner and probability never disagree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier

from hypermargin.estimators.multiclass import MOST_IN_PAIRS, OneVsOne, OneVsRest, TwoClasses, make_scheme


def test_votes_are_those_of_sklearns_one_vs_one():
    X, y = load_digits(n_class=6, return_X_y=True)
    reference = OneVsOneClassifier(RidgeClassifier(alpha=1e4)).fit(X[:200], y[:200])
    scores = np.column_stack([binary.decision_function(X) for binary in reference.estimators_])
    scheme = OneVsOne(6)
    votes = scheme.votes(scores)
    # Their decision is the votes plus something below 1/3 in size.
    assert_array_equal(votes, np.round(reference.decision_function(X)))
    clear = np.sum(votes == votes.max(axis=1, keepdims=True), axis=1) == 1
    assert clear.sum() > 1000
    assert_array_equal(scheme.winner(scores)[clear], reference.predict(X)[clear])


def test_code_matrices():
    assert_array_equal(OneVsOne(3).code, [[-1, 1, 0], [-1, 0, 1], [0, -1, 1]])
    assert_array_equal(OneVsRest(3).code, [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    assert_array_equal(TwoClasses().code, [[-1, 1]])
    assert isinstance(make_scheme("ovr", 2), TwoClasses)


def test_auto_is_one_vs_rest_for_many_classes():
    kinds = [type(make_scheme("auto", n)) for n in (2, MOST_IN_PAIRS, MOST_IN_PAIRS + 1)]
    assert kinds == [TwoClasses, OneVsOne, OneVsRest]


def test_ties_go_to_the_largest_coupled_probability():
    # A cycle, one vote each: 1 beats 0 by far, 2 beats 1 by little, 0 beats 2 by little. So 1 is most probable.
    scores = np.array([[4.0, -0.1, 0.1]])
    scheme = OneVsOne(3)
    assert_array_equal(scheme.votes(scores), [[1, 1, 1]])
    assert_array_equal(scheme.winner(scores), [1])
    assert_array_equal(np.argmax(scheme.probability(scores), axis=1), [1])


@pytest.mark.parametrize("scheme", [TwoClasses(), OneVsOne(4)], ids=lambda s: type(s).__name__)
def test_classes_that_the_scores_decide_need_no_calibration(scheme, monkeypatch):
    def platt():
        raise AssertionError("the coefficients are not needed")

    scores = np.arange(scheme.n_problems)[None] - 0.5  # without a tie
    winner = np.argmax(scheme.decision(scores).reshape(1, -1))
    monkeypatch.setattr(scheme, "platt", platt)
    assert scheme.winner(scores) == (0 if scheme.n_problems == 1 else winner)


def test_votes_come_before_probability():
    # 0 wins both its duels narrowly; 2 loses to 0 narrowly and beats 1 with certainty.
    scores, A, B = np.array([[-0.01, -0.01, 9.0]]), -np.ones(3), np.array([0.0, 0.3, 0.0])
    scheme = OneVsOne(3, lambda: (A, B))
    assert_array_equal(scheme.votes(scores), [[2, 0, 1]])
    assert_array_equal(scheme.winner(scores), [0])
    probability = scheme.probability(scores)
    assert np.argmax(probability) == 0
    assert_allclose(probability[0, 0], probability[0, 2], rtol=1e-12)


@pytest.mark.parametrize("scheme", [TwoClasses(), OneVsRest(5), OneVsOne(5)], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("scale", [1e-9, 1.0, 30.0, 1e4])
def test_decision_winner_and_probability_agree_always(scheme, scale, monkeypatch):
    rng = np.random.default_rng(7)
    scores = scale * rng.normal(size=(2000, scheme.n_problems)).round(1)  # Rounded: exact zeros and ties occur.
    A = rng.normal(-1.0, 0.7, size=scheme.n_problems)
    B = rng.normal(0.0, 0.5, size=scheme.n_problems)
    monkeypatch.setattr(scheme, "platt", lambda: (A, B))
    winner, decision, probability = scheme.winner(scores), scheme.decision(scores), scheme.probability(scores)
    assert_array_equal(winner, decision > 0 if decision.ndim == 1 else np.argmax(decision, axis=1))
    assert_array_equal(winner, np.argmax(probability, axis=1))
    assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    assert probability.min() >= 0.0


def test_one_vs_rest_probabilities_are_the_normalised_platt_values():
    rng = np.random.default_rng(8)
    scores, A, B = rng.normal(size=(40, 4)), -rng.uniform(0.5, 2, size=4), rng.normal(size=4)
    platt = expit(-(A * scores + B))
    expected = platt / platt.sum(axis=1, keepdims=True)
    assert_allclose(OneVsRest(4, lambda: (A, B)).probability(scores), expected, rtol=1e-12)


def test_one_vs_rest_probabilities_are_a_softmax_where_they_are_fitted_together():
    rng = np.random.default_rng(8)
    scores, A, B = rng.normal(size=(40, 4)), -rng.uniform(0.5, 2, size=4), rng.normal(size=4)
    scheme = OneVsRest(4, lambda: (A, B), joint=True)
    assert_allclose(scheme.probability(scores), softmax(-(A * scores + B), axis=1), rtol=1e-12)


def test_one_vs_rest_survives_probabilities_that_all_underflow():
    scores = np.array([[-900.0, -800.0, -1000.0]])
    assert_allclose(OneVsRest(3).probability(scores), [[0, 1, 0]], atol=1e-40)


def test_binary_probability_is_platts_where_it_agrees_with_the_sign():
    scores, A, B = np.array([[-2.0], [-0.2], [0.5]]), np.array([-1.0]), np.array([-0.4])
    probability = TwoClasses(lambda: (A, B)).probability(scores)
    assert_allclose(probability[[0, 2], 1], expit([-1.6, 0.9]), rtol=1e-12)
    assert_allclose(probability[1], [0.5, 0.5], rtol=1e-12)  # Platt says 0.55 for +1, the score says -1.
