"""Forests of samples that are not in memory: what a tree sees of them, and what the forest is worth."""

import numpy as np
import pytest

from hypermargin import HyperbolicForestClassifier, HyperbolicSVC, HyperbolicTreeClassifier
from hypermargin.data.blocks import LabelledBlock
from hypermargin.data.readers import ArrayChunks
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators.forest.growing import _drawn


@pytest.fixture(scope="module")
def data():
    X, y = make_gaussian_mixture(400, 4, scale=0.5, random_state=0, return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], np.array(["ant", "bee", "cat", "dog"])[y[order]]


@pytest.mark.parametrize("weighted", [False, True])
def test_samples_are_drawn_in_proportion_to_their_weights(data, weighted):
    """Poisson numbers: mean and variance of each are the rate times the weight, to within five standard errors."""
    X = data[0][:50]
    weight = np.linspace(0.0, 3.0, 51)[1:] if weighted else None
    samples, rate, seeds = LabelledBlock(X, np.arange(50), weight), 0.8, 2000
    counts = np.zeros((seeds, 50))
    for seed in range(seeds):
        _, labels, drawn = _drawn(samples, seed, rate)
        counts[seed, labels] = drawn
    expected = rate * (np.ones(50) if weight is None else weight)
    np.testing.assert_array_less(np.abs(counts.mean(axis=0) - expected), 5.0 * np.sqrt(expected / seeds))
    spread = np.sqrt((expected + 2.0 * expected**2) / seeds)  # of the variance of a Poisson number
    np.testing.assert_array_less(np.abs(counts.var(axis=0) - expected), 5.0 * spread)
    together = np.corrcoef(counts.T)[~np.eye(50, dtype=bool)]
    assert np.abs(together).max() < 5.5 / np.sqrt(seeds)  # none knows of another


def test_a_forest_of_chunks_is_as_good_as_one_of_arrays(data):
    """On samples that neither saw; the standard error of a share of 800 is below 0.018."""
    X, y = data
    whole = HyperbolicForestClassifier(40, random_state=0).fit(X[:800], y[:800])
    model = HyperbolicForestClassifier(40, random_state=0).fit(ArrayChunks(X[:800], rows=90), y[:800])
    assert model.classes_.tolist() == whole.classes_.tolist()
    assert model.score(X[800:], y[800:]) == pytest.approx(whole.score(X[800:], y[800:]), abs=0.03)
    test = ArrayChunks(X[800:], rows=123)
    np.testing.assert_array_equal(model.predict(test), model.predict(X[800:]))
    np.testing.assert_array_equal(model.predict_proba(test), model.predict_proba(X[800:]))
    assert model.score(test, y[800:]) == model.score(X[800:], y[800:])


def test_weights_and_other_coordinates(data):
    """Samples of weight 0 are never drawn, so that what they are does not matter."""
    X, y = data
    P, weight = X[:, 1:] / (1.0 + X[:, :1]), np.where(np.arange(len(y)) % 3, 1.0, 0.0)
    setting = dict(n_estimators=5, geometry="poincare", class_weight="balanced", random_state=0)
    model = HyperbolicForestClassifier(**setting).fit(ArrayChunks(P, rows=200), y, weight)
    other = np.where(weight > 0.0, y, "bee")
    again = HyperbolicForestClassifier(**setting).fit(ArrayChunks(P, rows=200), other, weight)
    np.testing.assert_array_equal(model.frame_, again.frame_)
    assert model.predict_proba(P).shape == (len(y), 4)


def test_tensors(data):
    torch = pytest.importorskip("torch")
    from hypermargin.estimators.forest.growing import _on_host

    X, y = data[0][:30], np.arange(30)
    space, weight = torch.from_numpy(X[:, 1:].copy()), torch.ones(30, dtype=torch.float64)
    samples = LabelledBlock(space, torch.from_numpy(y), weight)
    points, labels, weight = _on_host(samples, np.array([3, 17]))
    np.testing.assert_allclose(points, X[[3, 17]], rtol=1e-15)
    assert labels.tolist() == [3, 17]
    assert weight.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"bootstrap": False}, "bootstrap=False needs the samples in memory"),
        ({"oob_score": True}, "oob_score=True needs"),
        ({"splits": "certified"}, "splits='certified' needs"),
        ({"max_samples": 2.5}, "max_samples must be a share"),
    ],
)
def test_what_needs_samples_in_memory_says_so(data, setting, complaint):
    with pytest.raises(ValueError, match=complaint):
        HyperbolicForestClassifier(3, **setting).fit(ArrayChunks(data[0]), data[1])


def test_other_classifiers_do_not_read_collections_whole(data):
    chunks = ArrayChunks(data[0])
    with pytest.raises(TypeError, match="HyperbolicTreeClassifier needs the points in memory here"):
        HyperbolicTreeClassifier().fit(chunks, data[1])
    with pytest.raises(ValueError, match="boundary='curve' needs the samples in memory"):
        HyperbolicSVC(boundary="curve").fit(chunks, data[1])
    with pytest.raises(ValueError, match="loss='asinh' needs the samples in memory"):
        HyperbolicSVC(loss="asinh").fit(chunks, data[1])
