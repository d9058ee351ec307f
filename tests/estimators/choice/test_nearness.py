"""Whose log loss is clearly behind, against the paired t statistic of SciPy."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from hypermargin.estimators.choice.nearness import MOST_BEHIND, near_the_least


def members(seed, n=300):
    """Probabilities of true classes: the first member is the best, the others are behind more and more."""
    rng = np.random.default_rng(seed)
    common = rng.uniform(0.3, 0.9, n)
    return np.stack([common * np.exp(-lag + 0.2 * rng.standard_normal(n)) for lag in np.linspace(0.0, 0.06, 7)])


@pytest.mark.parametrize("seed", range(4))
def test_it_is_a_paired_test(seed):
    truth = members(seed)
    losses = -np.log(truth)
    best = losses[np.argmin(losses.mean(axis=1))]
    n = losses.shape[1]
    with np.errstate(invalid="ignore"):
        statistics = np.array([ttest_rel(own, best).statistic for own in losses]) * np.sqrt(n / (n - 1))
    expected = np.nan_to_num(statistics) <= MOST_BEHIND
    assert 1 < expected.sum() < 7
    np.testing.assert_array_equal(near_the_least(truth, None, 1.0), expected)


def test_repeated_folds_are_no_further_evidence():
    truth = members(0)
    many = np.tile(truth, 9)
    np.testing.assert_array_equal(near_the_least(many, None, 9.0), near_the_least(truth, None, 1.0))
    assert near_the_least(many, None, 1.0).sum() < near_the_least(truth, None, 1.0).sum()


def test_weights_count_by_their_shares():
    truth = members(1)
    plain = near_the_least(truth, None, 1.0)
    np.testing.assert_array_equal(near_the_least(truth, np.full(300, 0.01), 1.0), plain)
    half = (np.arange(300) < 150).astype(float)
    np.testing.assert_array_equal(near_the_least(truth, half, 1.0), near_the_least(truth[:, :150], None, 1.0))
