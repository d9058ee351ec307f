"""Platt scaling against scikit-learn's logistic regression and libsvm; coupling and mode projection against SLSQP."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from sklearn.calibration import _SigmoidCalibration
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from hypermargin import HyperbolicSVC
from hypermargin.data.readers import ArrayChunks
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators.calibration import RIDGE, couple_pairwise, fit_platt, fit_softmax_of, nearest_with_mode


def make_problems(seed, sizes, scale=1.0):
    """Noisy scores, labels and weights of several problems in flat arrays; both labels occur in each."""
    rng = np.random.default_rng(seed)
    total = sum(sizes)
    positive = rng.random(total) < 0.4
    starts = np.cumsum([0, *sizes[:-1]])
    positive[starts], positive[starts + 1] = True, False
    scores = scale * (rng.normal(size=total) + 1.2 * positive - 0.3)
    return scores, positive, rng.uniform(0.2, 3.0, size=total), starts


def fit_flat(scores, positive, weight, starts):
    """`fit_platt` of problems that lie one after the other in flat arrays."""
    ends = np.append(starts[1:], scores.size)

    def samples_of(run):
        part = slice(starts[run][0], ends[run][-1])
        return scores[part], positive[part], None if weight is None else weight[part]

    return fit_platt(ends - starts, samples_of)


def logistic_oracle(scores, positive, weight):
    """A and B by scikit-learn: a soft target t is the sample once with label 1 and weight t, once with 0 and 1 - t."""
    n_pos, n_neg = weight[positive].sum(), weight[~positive].sum()
    t = np.where(positive, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-13, max_iter=500)
    model.fit(
        np.r_[scores, scores][:, None], np.r_[np.ones(t.size), np.zeros(t.size)], np.r_[weight * t, weight * (1 - t)]
    )
    return -model.coef_[0, 0], -model.intercept_[0]


def test_platt_equals_weighted_logistic_regression_on_smoothed_targets():
    sizes = [2, 7, 40, 300]
    scores, positive, weight, starts = make_problems(0, sizes)
    A, B = fit_flat(scores, positive, weight, starts)
    for k, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        part = slice(start, start + size)
        a, b = logistic_oracle(scores[part], positive[part], weight[part])
        assert_allclose([A[k], B[k]], [a, b], rtol=1e-8, atol=1e-8)


def test_platt_is_no_worse_than_sklearns_sigmoid_calibration():
    scores, positive, weight, starts = make_problems(1, [150])
    A, B = fit_flat(scores, positive, weight, starts)
    theirs = _SigmoidCalibration().fit(scores, positive.astype(float), weight)
    n_pos, n_neg = weight[positive].sum(), weight[~positive].sum()
    t = np.where(positive, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))

    def loss(a, b):
        return weight @ (np.logaddexp(0, -(a * scores + b)) + t * (a * scores + b))

    assert loss(A[0], B[0]) <= loss(theirs.a_, theirs.b_) * (1 + 1e-14)
    assert_allclose(expit(-(A[0] * scores + B[0])), theirs.predict(scores), atol=1e-5)


@pytest.mark.parametrize("gap", [1e-3, 1.0, 1e5])
def test_platt_on_separable_scores_reaches_the_targets(gap):
    # One sample a side, repeated: the smoothed targets can be met exactly, so the optimum is known in closed form.
    scores, positive = np.repeat([0.0, gap], [30, 50]), np.repeat([False, True], [30, 50])
    A, B = fit_flat(scores, positive, np.ones(80), np.array([0]))
    assert_allclose(expit(-(A[0] * np.array([0.0, gap]) + B[0])), [1 / 32, 51 / 52], rtol=1e-9)


def test_platt_of_constant_scores_is_the_prior():
    scores, positive = np.full(12, 3.0), np.arange(12) < 4
    A, B = fit_flat(scores, positive, np.ones(12), np.array([0]))
    smoothed = (4 * (5 / 6) + 8 * (1 / 10)) / 12
    assert A[0] == 0.0
    assert_allclose(expit(-B[0]), smoothed, rtol=1e-10)


def test_problems_in_lockstep_do_not_influence_each_other():
    sizes = [9, 60, 4, 25, 33]
    scores, positive, weight, starts = make_problems(2, sizes)
    A, B = fit_flat(scores, positive, weight, starts)
    for k, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        part = slice(start, start + size)
        alone = fit_flat(scores[part], positive[part], weight[part], np.array([0]))
        assert_allclose([A[k], B[k]], np.ravel(alone), rtol=1e-10)


def test_a_large_problem_is_summed_in_pieces_to_the_same_answer(monkeypatch):
    scores, positive, weight, starts = make_problems(6, [30, 500, 20])
    whole = fit_flat(scores, positive, weight, starts)
    monkeypatch.setattr("hypermargin.estimators.calibration.BATCH_SAMPLES", 64)
    assert_allclose(np.ravel(fit_flat(scores, positive, weight, starts)), np.ravel(whole), rtol=1e-11)


def test_platt_fits_many_hard_problems_at_once():
    # Separable, reversed, one-sided, tiny and huge scores together: each must be as good as it is alone with L-BFGS.
    rng = np.random.default_rng(9)
    kinds = [
        lambda y: 5.0 * y,
        lambda y: -2.0 * y + rng.normal(size=y.size),
        lambda y: 1e7 + rng.normal(size=y.size),
        lambda y: 1e-9 * (y + rng.normal(size=y.size)),
        lambda y: np.where(np.arange(y.size) == 0, 1e6, y + rng.normal(size=y.size)),
    ]
    labels = [rng.random(60) < 0.1 + 0.2 * k for k in range(5)]
    scores = [kind(2.0 * y - 1.0) for kind, y in zip(kinds, labels, strict=True)]
    A, B = fit_flat(np.concatenate(scores), np.concatenate(labels), np.ones(300), 60 * np.arange(5))
    for f, y, a, b in zip(scores, labels, A, B, strict=True):
        n_pos = y.sum()
        t = np.where(y, (n_pos + 1) / (n_pos + 2), 1 / (60 - n_pos + 2))
        z = (f - f.mean()) / f.std()

        def loss(s, t=t):
            return np.sum(np.logaddexp(0, s) - t * s)

        best = min(
            minimize(lambda x, z=z: loss(x[0] * z + x[1]), start, method="L-BFGS-B").fun
            for start in ([1.0, 0.0], [-1.0, 0.0], [0.0, -2.0])
        )
        assert loss(-(a * f + b)) <= best * (1 + 1e-9)


def test_a_weight_equals_repetition_in_platt_scaling():
    scores, positive, _, starts = make_problems(3, [50])
    times = np.random.default_rng(3).integers(1, 5, size=50)
    weighted = fit_flat(scores, positive, times.astype(float), starts)
    repeated = fit_flat(scores.repeat(times), positive.repeat(times), np.ones(times.sum()), starts)
    assert_allclose(np.ravel(weighted), np.ravel(repeated), rtol=1e-11)


def test_no_weights_equal_weights_of_one():
    scores, positive, _, starts = make_problems(5, [30, 500, 20])
    ones = np.ones(scores.size)
    assert np.array_equal(fit_flat(scores, positive, None, starts), fit_flat(scores, positive, ones, starts))


@pytest.mark.parametrize("n_positive", [1, 40, 4000])
def test_platt_finds_the_optimum_of_classes_of_unequal_size_that_overlap_or_not(n_positive):
    # Where the start is far off: the optimum is where the gradient vanishes, in the units of the scores.
    rng = np.random.default_rng(n_positive)
    positive = np.arange(20_000) < n_positive
    for shift in (0.0, 2.0, 20.0):
        scores = rng.standard_normal(positive.size) + shift * positive
        (A,), (B,) = fit_flat(scores, positive, None, np.array([0]))
        n_pos, n_neg = n_positive, positive.size - n_positive
        excess = expit(-(A * scores + B)) - np.where(positive, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
        assert_allclose([excess.sum(), excess @ scores], 0.0, atol=1e-9 * positive.size)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_problem_is_calibrated_on_its_own_training_scores(multi_class, weighted, monkeypatch):
    rng = np.random.default_rng(7)
    y = rng.integers(0, 4, size=90)
    space = rng.normal(size=(90, 2)) + 0.8 * np.column_stack([y % 2, y // 2])
    X = np.column_stack([np.sqrt(1.0 + (space**2).sum(axis=1)), space])
    weight = rng.uniform(0.5, 2.0, size=90) if weighted else None
    monkeypatch.setattr("hypermargin.estimators.calibration.BATCH_SAMPLES", 120)
    options = {"solver": "euclidean", "fit_intercept": True} if multi_class == "ovo" else {}
    model = HyperbolicSVC(multi_class=multi_class, calibration="platt", **options).fit(X, y, weight)
    for k, problem in enumerate(model.binary_problems(X, y, weight)):
        scores = problem.X @ (model.coef_[k] * [1.0, -1.0, -1.0]) + model.intercept_[k]
        own = np.ones(len(scores)) if problem.sample_weight is None else problem.sample_weight
        alone = fit_flat(scores, problem.y > 0.0, own, np.array([0]))
        assert_allclose([model.probA_[k], model.probB_[k]], np.ravel(alone), rtol=1e-8)


def test_platt_follows_a_change_of_units():
    scores, positive, weight, starts = make_problems(4, [80])
    A, B = fit_flat(scores, positive, weight, starts)
    A2, B2 = fit_flat(1e6 * scores + 5e5, positive, weight, starts)
    assert_allclose([A2[0] * 1e6, B2[0] + A2[0] * 5e5], [A[0], B[0]], rtol=1e-7)


# -- pairwise coupling -------------------------------------------------------------------------------------------------

PAIRS = np.array([(i, j) for i in range(4) for j in range(i + 1, 4)])


def test_coupling_recovers_probabilities_that_made_the_pairs():
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=50)
    logits = np.log(p[:, PAIRS[:, 1]]) - np.log(p[:, PAIRS[:, 0]])
    assert_allclose(couple_pairwise(logits, PAIRS, 4), p, atol=1e-6)


def test_coupling_minimises_the_stated_objective():
    logits = np.random.default_rng(1).normal(scale=1.5, size=(6, len(PAIRS)))
    for row, p in zip(logits, couple_pairwise(logits, PAIRS, 4), strict=True):
        second = expit(row)

        def objective(x, second=second):
            return np.sum((second * x[PAIRS[:, 0]] - (1 - second) * x[PAIRS[:, 1]]) ** 2)

        best = minimize(
            objective,
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
            options={"ftol": 1e-15, "maxiter": 500},
        )
        assert objective(p) <= best.fun + 1e-12
        assert_allclose(p.sum(), 1.0, rtol=1e-12)
        assert np.all(p >= 0)


def test_coupling_agrees_with_libsvm():
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        svc = SVC(kernel="linear", probability=True, decision_function_shape="ovo", random_state=0).fit(X, y)
        # libsvm's A belongs to its own sign: there the first class of a pair is +1.
        logits = svc.decision_function(X) * svc.probA_ + svc.probB_
        theirs = svc.predict_proba(X)
    ours = couple_pairwise(logits, np.array([(0, 1), (0, 2), (1, 2)]), 3)
    # libsvm stops its iteration at 0.005 / n_classes.
    assert_allclose(ours, theirs, atol=0.005)


def test_coupling_of_certain_pairs_stays_a_distribution():
    p = couple_pairwise(np.array([[800.0, 800.0, -800.0, 0.0, 800.0, -800.0]]), PAIRS, 4)
    assert_allclose(p.sum(), 1.0, rtol=1e-12)
    assert np.all(p >= 0)


# -- the nearest distribution with a given mode ------------------------------------------------------------------------


def test_nearest_with_mode_is_the_projection():
    rng = np.random.default_rng(5)
    P = rng.dirichlet(np.ones(5), size=15)
    winner = rng.integers(0, 5, size=15)
    Q = nearest_with_mode(P, winner)
    assert_array_equal(np.argmax(Q, axis=1), winner)
    assert_allclose(Q.sum(axis=1), 1.0, rtol=1e-14)
    for p, w, q in zip(P, winner, Q, strict=True):
        best = minimize(
            lambda x, p=p: np.sum((x - p) ** 2),
            np.full(5, 0.2),
            jac=lambda x, p=p: 2 * (x - p),
            constraints=[
                {"type": "eq", "fun": lambda x: x.sum() - 1},
                {"type": "ineq", "fun": lambda x, w=w: x[w] - x},
                {"type": "ineq", "fun": lambda x: x},
            ],
            options={"ftol": 1e-15, "maxiter": 500},
        )
        assert_allclose(q, best.x, atol=1e-6)


def test_nearest_with_mode_leaves_agreeing_rows_alone_and_breaks_exact_ties():
    P = np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [1 / 3, 1 / 3, 1 / 3]])
    Q = nearest_with_mode(P, np.array([1, 1, 2]))
    assert_array_equal(Q[0], P[0])
    assert_array_equal(np.argmax(Q, axis=1), [1, 1, 2])
    assert_allclose(Q, P, rtol=1e-15)


# -- one softmax for all classes of one-vs-rest ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scored():
    """Scores whose sizes differ by orders of magnitude, as far from the origin, indices of classes, whole weights."""
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 5, 300)
    scores = rng.standard_normal((300, 5)) * np.exp(2.0 * rng.standard_normal((300, 1)))
    return scores + (labels[:, None] == np.arange(5)), labels, rng.integers(1, 4, 300).astype(float)


def test_the_softmax_has_the_least_regularised_log_loss(scored):
    scores, labels, weight = scored

    def objective(point):
        logits = scores * point[:5] + point[5:]
        losses = logsumexp(logits, axis=1) - logits[np.arange(300), labels]
        return weight @ losses + RIDGE * point[:5] @ point[:5]

    best = minimize(objective, np.zeros(10), method="BFGS", options={"gtol": 1e-6}).fun
    found = objective(-np.concatenate(fit_softmax_of(scores, labels, weight)))
    assert best * (1.0 - 1e-9) <= found <= best * (1.0 + 1e-9)


def test_a_weight_of_two_equals_a_sample_twice_in_the_softmax(scored):
    scores, labels, weight = scored
    rows = np.repeat(np.arange(300), weight.astype(int))
    for ours, theirs in zip(
        fit_softmax_of(scores, labels, weight), fit_softmax_of(scores[rows], labels[rows], None), strict=True
    ):
        assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


def test_the_softmax_is_finite_for_separable_and_for_constant_scores():
    labels = np.arange(60) % 3
    for scores in (2.0 * (labels[:, None] == np.arange(3)) - 1.0, np.zeros((60, 3))):
        A, B = fit_softmax_of(scores, labels, None)
        assert np.all(np.isfinite([A, B]))
        assert np.all(A <= 0.0)


def test_one_vs_rest_has_a_lower_log_loss_by_a_softmax_and_the_same_from_blocks():
    X, y = make_gaussian_mixture(4000, 6, scale=0.5, random_state=1, return_X_y=True)
    train, test = slice(None, None, 2), slice(1, None, 2)
    losses = {}
    for calibration in ("softmax", "platt"):
        model = HyperbolicSVC(multi_class="ovr", calibration=calibration).fit(X[train], y[train])
        losses[calibration] = log_loss(y[test], model.predict_proba(X[test]))
        blocks = HyperbolicSVC(multi_class="ovr", calibration=calibration)
        blocks.fit(ArrayChunks(X[train], y[train], rows=300))
        assert_allclose(blocks.predict_proba(X[test]), model.predict_proba(X[test]), atol=2e-4)
        assert_array_equal(
            np.argmax(model.decision_function(X), axis=1), np.searchsorted(model.classes_, model.predict(X))
        )
    assert losses["softmax"] < losses["platt"]
