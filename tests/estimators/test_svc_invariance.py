"""Properties of every fit: permutations change nothing, swapped labels swap signs, predictions are most probable."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hypermargin.estimators import HyperbolicSVC

few = settings(max_examples=15, deadline=None)


@st.composite
def tangent_data(draw, n_classes):
    """Small data with few distinct coordinates, so that equal points and equal points with other labels occur."""
    n = draw(st.integers(2 * n_classes, 14))
    coordinate = st.integers(-6, 6).map(lambda k: k / 4)
    X = np.array(draw(st.lists(st.tuples(coordinate, coordinate), min_size=n, max_size=n)))
    y = np.array(draw(st.permutations([*range(n_classes)] * 2 + [0] * (n - 2 * n_classes))))
    return X, y


def fit(X, y, **parameters):
    return HyperbolicSVC(solver="euclidean", geometry="tangent", **parameters).fit(X, y)


@few
@given(data=tangent_data(3), seed=st.integers(0, 100), multi_class=st.sampled_from(["ovo", "ovr"]))
def test_the_order_of_samples_is_of_no_consequence(data, seed, multi_class):
    X, y = data
    order = np.random.default_rng(seed).permutation(y.size)
    first, second = fit(X, y, multi_class=multi_class), fit(X[order], y[order], multi_class=multi_class)
    assert_array_equal(first.coef_, second.coef_)
    assert_array_equal(first.predict_proba(X), second.predict_proba(X))


@few
@given(data=tangent_data(2))
def test_swapping_two_classes_swaps_the_sign(data):
    X, y = data
    first, second = fit(X, y), fit(X, 1 - y)
    scale = 1.0 + np.abs(first.decision_function(X)).max()
    assert_allclose(second.decision_function(X), -first.decision_function(X), atol=1e-6 * scale)


@few
@given(data=tangent_data(3), multi_class=st.sampled_from(["ovo", "ovr"]))
def test_prediction_is_the_argmax_of_probability_everywhere(data, multi_class):
    X, y = data
    model = fit(X, y, multi_class=multi_class)
    grid = np.stack(np.meshgrid(np.linspace(-3, 3, 25), np.linspace(-3, 3, 25)), axis=-1).reshape(-1, 2)
    predicted = model.predict(grid)
    assert_array_equal(model.classes_[np.argmax(model.predict_proba(grid), axis=1)], predicted)
    assert_array_equal(model.classes_[np.argmax(model.decision_function(grid), axis=1)], predicted)
