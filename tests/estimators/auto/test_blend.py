"""Members of blends against the paired t statistic of SciPy; powers of probabilities against a search by SciPy."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import ttest_rel
from sklearn.metrics import log_loss

from hypermargin.estimators.auto.choosing import EXPONENTS, best_exponent, sharpened, within_standard_errors
from hypermargin.estimators.scoring import MOST_BEHIND


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
    np.testing.assert_array_equal(within_standard_errors(truth, None, 1.0), expected)


def test_repeated_folds_are_no_further_evidence():
    truth = members(0)
    many = np.tile(truth, 9)
    np.testing.assert_array_equal(within_standard_errors(many, None, 9.0), within_standard_errors(truth, None, 1.0))
    assert within_standard_errors(many, None, 1.0).sum() < within_standard_errors(truth, None, 1.0).sum()


def test_weights_count_by_their_shares():
    truth = members(1)
    plain = within_standard_errors(truth, None, 1.0)
    np.testing.assert_array_equal(within_standard_errors(truth, np.full(300, 0.01), 1.0), plain)
    half = (np.arange(300) < 150).astype(float)
    np.testing.assert_array_equal(
        within_standard_errors(truth, half, 1.0), within_standard_errors(truth[:, :150], None, 1.0)
    )


@pytest.fixture(scope="module")
def calibrated():
    """Every distribution on tenths among three classes that leaves none out, with labels in just these shares."""
    shares = np.array([(a, b, 10 - a - b) for a in range(1, 9) for b in range(1, 10 - a)])
    labels = np.concatenate([np.repeat([0, 1, 2], own) for own in shares])
    return np.repeat(shares / 10.0, 10, axis=0), labels


@pytest.mark.parametrize("power", [0.25, 0.5, 1.0, 2.0])
def test_a_power_is_undone(power, calibrated):
    probability, labels = calibrated
    bent = probability**power / np.sum(probability**power, axis=1, keepdims=True)
    assert best_exponent(bent, labels, None) == pytest.approx(1.0 / power)
    np.testing.assert_allclose(sharpened(bent, 1.0 / power), probability, atol=1e-6)


def test_the_exponent_is_the_step_next_to_the_best(calibrated):
    probability = np.random.default_rng(0).dirichlet(np.ones(3), size=len(calibrated[1]))
    labels = np.where(np.arange(len(probability)) % 3 == 0, calibrated[1], np.argmax(probability, axis=1))

    def loss(logarithm):
        return log_loss(labels, sharpened(probability, float(np.exp(logarithm))))

    best = minimize_scalar(loss, bounds=(-2.0, 3.0), method="bounded").x
    assert abs(np.log(best_exponent(probability, labels, None)) - best) <= np.log(2.0) / 4
    assert loss(np.log(best_exponent(probability, labels, None))) == min(loss(np.log(t)) for t in EXPONENTS)


def test_labels_stay_and_weights_are_repetitions(calibrated):
    probability, _ = calibrated
    rng = np.random.default_rng(1)
    labels, weight = rng.integers(0, 3, len(probability)), rng.integers(0, 4, len(probability))
    for exponent in EXPONENTS:
        order = np.argsort(probability, axis=1, kind="stable")
        np.testing.assert_array_equal(np.argsort(sharpened(probability, exponent), axis=1, kind="stable"), order)
    labels = np.where(weight > 1, np.argmax(probability, axis=1), labels)
    again = np.repeat(np.arange(len(labels)), weight)
    weighted = best_exponent(probability, labels, weight.astype(float))
    assert weighted == best_exponent(probability[again], labels[again], None)
    assert weighted != best_exponent(probability, labels, None)


def test_who_is_always_right_is_sharpened_most_and_certainties_stay_finite():
    sure = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.3]])
    assert best_exponent(np.tile(sure[2:], (10**4, 1)), np.zeros(10**4, dtype=int), None) == max(EXPONENTS)
    for n in (
        1,
        10,
        100,
    ):  # n right answers: as in Platt scaling, the next is right by (n + 1)/(n + 2)
        powers = np.array([0.7**t / (0.7**t + 0.3**t) for t in EXPONENTS])
        nearest = EXPONENTS[int(np.argmin(np.abs(np.log((n + 1) * (1 / powers - 1)))))]
        found = best_exponent(np.tile(sure[2:], (n, 1)), np.zeros(n, dtype=int), None)
        assert abs(np.log2(found / nearest)) <= 0.25 + 1e-9
    for exponent in EXPONENTS:
        found = sharpened(sure, exponent)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert np.all(found[[0, 1], [0, 1]] > 0.96)
