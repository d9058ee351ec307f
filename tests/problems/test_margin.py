"""MarginProblem against high precision, duplicates, finite differences, invariances, and bad input."""

import tracemalloc

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from hypermargin import MarginProblem
from hypermargin import arrays as blocks
from hypermargin.geometry import lift as lift_here
from hypermargin.problems.losses import LOSSES
from hypermargin.problems.uncertainty import GeodesicBall


def lift(spatial):
    spatial = np.asarray(spatial, dtype=float)
    return np.column_stack([np.sqrt(1.0 + np.sum(spatial**2, axis=1)), spatial])


def sample(seed, n=12, d=2, spread=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return lift(spread * rng.normal(size=(n, d)) + 0.5 * y[:, None]), y


def isometry(seed, d, size):
    """``exp`` of a random element of the Lie algebra so(1, d): shares no code with the package."""
    rng = np.random.default_rng(seed)
    generator = np.zeros((d + 1, d + 1))
    generator[0, 1:] = generator[1:, 0] = rng.normal(size=d)
    turn = rng.normal(size=(d, d))
    generator[1:, 1:] = turn - turn.T
    return expm(size * generator / np.linalg.norm(generator))


def exact_objective(X, y, costs, w, loss):
    with mp.workdps(40):
        w = [mp.mpf(v) for v in w]
        total = (sum(v * v for v in w[1:]) - w[0] ** 2) / 2
        for x, label, cost in zip(X, y, costs, strict=True):
            product = mp.mpf(x[0]) * w[0] - sum(mp.mpf(a) * b for a, b in zip(x[1:], w[1:], strict=True))
            m = label * product
            if loss == "hinge":
                total += cost * max(mp.mpf(0), (1 - m) / mp.sqrt(2))
            else:
                total += cost * max(mp.mpf(0), mp.asinh(1) - mp.asinh(m))
        return float(total)


@pytest.mark.parametrize("loss", ["hinge", "asinh"])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_objective_matches_high_precision(loss, d):
    X, y = sample(d, d=d)
    weight = np.random.default_rng(1).uniform(0.0, 3.0, size=len(y))
    problem = MarginProblem(X, y, C=2.5, sample_weight=weight)
    w = np.r_[0.3, np.linspace(0.4, 1.1, d)]
    assert problem.objective(w, loss) == pytest.approx(exact_objective(X, y, 2.5 * weight, w, loss), rel=1e-13)


def test_integer_weights_equal_duplicates():
    X, y = sample(0)
    counts = np.random.default_rng(2).integers(0, 4, size=len(y))
    weighted = MarginProblem(X, y, C=0.7, sample_weight=counts)
    repeated = MarginProblem(np.repeat(X, counts, axis=0), np.repeat(y, counts), C=0.7)
    for w in ([0.1, 1.0, -0.5], [0.0, 0.0, 0.0], [-0.4, 0.2, 2.0]):
        for loss in LOSSES:
            assert weighted.objective(w, loss) == pytest.approx(repeated.objective(w, loss), rel=1e-14)
        slopes = weighted.risk_and_subgradient(w)[1], repeated.risk_and_subgradient(w)[1]
        np.testing.assert_allclose(*slopes, rtol=1e-12, atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_hinge_subgradient_inequality(seed):
    rng = np.random.default_rng(seed)
    problem = MarginProblem(*sample(seed), sample_weight=rng.uniform(0.1, 2.0, 12))
    here, there = rng.normal(size=(2, 3))
    value, slope = problem.risk_and_subgradient(here)
    assert problem.risk(there) >= value + slope @ (there - here) - 1e-12 * (1.0 + abs(value))


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_risk_gradient_matches_finite_differences(loss):
    problem = MarginProblem(*sample(3, d=3), C=1.7)
    w = np.array([0.21, 0.83, -0.37, 0.55])
    value, slope = problem.risk_and_subgradient(w, loss)
    assert value == pytest.approx(problem.risk(w, loss), rel=1e-15)
    for k, step in enumerate(1e-6 * np.eye(4)):
        difference = (problem.risk(w + step, loss) - problem.risk(w - step, loss)) / 2e-6
        assert slope[k] == pytest.approx(difference, rel=1e-7, abs=1e-7)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 4]), st.sampled_from(sorted(LOSSES)), st.floats(0.0, 4.0))
def test_objective_is_invariant_under_isometries_permutations_and_label_flips(seed, d, loss, size):
    rng = np.random.default_rng(seed)
    X, y = sample(seed, d=d)
    weight = rng.uniform(0.5, 2.0, len(y))
    w = np.r_[0.2 * rng.normal(), 1.0 + rng.uniform(size=d)]
    value = MarginProblem(X, y, 1.3, weight).objective(w, loss)

    order = rng.permutation(len(y))
    assert MarginProblem(X[order], y[order], 1.3, weight[order]).objective(w, loss) == pytest.approx(value, rel=1e-13)
    assert MarginProblem(X, -y, 1.3, weight).objective(-w, loss) == pytest.approx(value, rel=1e-15)
    L = isometry(seed, d, size)
    moved = lift((X @ L.T)[:, 1:])  # back onto the hyperboloid, off which rounding moves points
    # Products of coordinates of size exp(2 * size) cancel, which is where the digits go.
    assert MarginProblem(moved, y, 1.3, weight).objective(L @ w, loss) == pytest.approx(
        value, rel=1e-11 * np.exp(2 * size)
    )


def test_feasibility_and_the_objective_of_timelike_vectors():
    X, y = sample(4)
    timelike, lightlike, spacelike = [2.0, 1.0, 0.0], [1.0, 0.6, 0.8], [0.5, 1.0, 0.0]
    plain, relaxed = MarginProblem(X, y), MarginProblem(X, y, allow_timelike=True)
    assert [plain.is_feasible(w) for w in (timelike, lightlike, spacelike)] == [False, True, True]
    assert plain.objective(timelike) == np.inf
    assert relaxed.objective(timelike) == pytest.approx(relaxed.risk(timelike), rel=1e-15)
    assert plain.objective(lightlike) == pytest.approx(plain.risk(lightlike), rel=1e-12)


def test_hard_margin_knows_zero_weights_and_violations():
    X = lift([[1.0, 0.0], [-1.0, 0.0], [2.0, 0.0]])
    w = np.array([0.0, -1.0, 0.0])  # x * w = x1, so the margins are 1, 1 and -2
    hard = MarginProblem(X, [1, -1, -1], C=np.inf)
    assert hard.violation(w) == pytest.approx(3.0)
    assert hard.objective(w) == np.inf
    without = MarginProblem(X, [1, -1, -1], C=np.inf, sample_weight=[1, 1, 0])
    assert without.violation(w) == 0.0
    assert without.objective(w) == pytest.approx(0.5)


def test_intercept_shifts_margins_towards_its_sign():
    X = lift([[1.0, 0.0], [-1.0, 0.0]])
    problem = MarginProblem(X, [1, -1])
    w = np.array([0.0, -1.0, 0.0])
    np.testing.assert_allclose(problem.margins(w, intercept=0.25), [1.25, 0.75])
    assert problem.risk(w, intercept=0.25) == pytest.approx(0.25 / np.sqrt(2))


def test_arrays_are_read_only_and_C_can_be_replaced():
    X, y = sample(5)
    problem = MarginProblem(X, y, sample_weight=np.ones(len(y)))
    for array in (problem.X, problem.y, problem.sample_weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    w = [0.1, 1.0, 0.0]
    assert problem.with_C(4.0).risk(w) == pytest.approx(4.0 * problem.risk(w))


# -- blocks of rows ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "asinh"])
def test_objective_in_blocks_matches_high_precision(loss, weighted, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 5)
    X, y = sample(3)
    weight = np.random.default_rng(2).uniform(0.0, 3.0, size=len(y)) if weighted else None
    problem = MarginProblem(X, y, C=2.5, sample_weight=weight)
    w, costs = np.array([0.3, 0.4, 1.1]), np.full(12, 2.5) if weight is None else 2.5 * weight
    assert problem.objective(w, loss) == pytest.approx(exact_objective(X, y, costs, w, loss), rel=1e-13)
    centroid = costs @ X
    centroid /= np.sqrt(centroid[0] ** 2 - centroid[1:] @ centroid[1:])
    np.testing.assert_allclose(problem.centre, centroid, rtol=1e-13)


@pytest.mark.parametrize("rho", [0.2, np.linspace(0.0, 0.5, 12)], ids=["one size", "a size each"])
def test_worst_margins_of_some_rows_are_those_of_all(rho, monkeypatch):
    X, y = sample(4)
    problem = MarginProblem(X, y, uncertainty=GeodesicBall(rho))
    w = np.array([0.3, 0.4, 1.1])
    margins, risk = problem.margins(w, 0.1), problem.risk(w, intercept=0.1)
    np.testing.assert_allclose(problem.margins(w, 0.1, slice(5, 9)), margins[5:9], rtol=1e-14)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 5)
    assert problem.risk(w, intercept=0.1) == pytest.approx(risk, rel=1e-14)
    assert risk == pytest.approx(np.maximum(0.0, 1.0 - margins).sum() / np.sqrt(2.0), rel=1e-14)


def test_the_worst_violation_is_found_in_every_block(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 2)
    w = np.array([0.0, -1.0, 0.0])  # x * w = x1
    for place in range(5):
        x1 = np.full(5, 2.0)
        x1[place] = -3.0
        hard = MarginProblem(lift(np.column_stack([x1, np.zeros(5)])), np.ones(5), C=np.inf)
        assert hard.violation(w) == pytest.approx(4.0)


def test_a_bad_label_is_found_in_a_late_block(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 5)
    X, y = sample(6)
    y[11] = 0.0
    with pytest.raises(ValueError, match=r"^y must hold the labels -1 and \+1 only$"):
        MarginProblem(X, y)


def test_covectors_around_a_centre_do_not_depend_on_the_blocks(monkeypatch):
    X, y = sample(7, n=23)
    problem = MarginProblem(X, y)
    whole = problem.covectors_around(problem.centre)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 5)
    assert np.array_equal(problem.covectors_around(problem.centre), whole)
    assert np.array_equal(problem.covectors_around(problem.centre, slice(3, 17)), whole[3:17])


def test_costs_without_weights_are_one_number_that_is_read_n_times():
    X, y = sample(8)
    plain, weighted = MarginProblem(X, y, C=2.5), MarginProblem(X, y, C=2.5, sample_weight=np.ones(12))
    hard = MarginProblem(X, y, C=np.inf)
    assert plain.costs.tolist() == weighted.costs.tolist() == [2.5] * 12
    assert hard.costs.tolist() == [np.inf] * 12
    assert plain.costs.strides == hard.costs.strides == (0,)
    with pytest.raises(ValueError, match="read-only"):
        plain.costs[0] = 1.0
    weight = np.arange(12.0)
    assert MarginProblem(X, y, C=2.5, sample_weight=weight).costs.tolist() == (2.5 * weight).tolist()
    uneven = MarginProblem(X, y, C=np.inf, sample_weight=weight)
    assert uneven.costs.tolist() == [0.0] + [np.inf] * 11
    w = np.array([0.3, 0.4, 1.1])
    for one, other in zip(plain.risk_and_subgradient(w), weighted.risk_and_subgradient(w), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_a_problem_needs_little_memory_beside_the_data():
    X, y = sample(9, n=200_000)
    X = lift_here(X[:, 1:])  # points whose time coordinate is another rounding are copied once
    w = np.array([0.3, 0.4, 1.1])
    tracemalloc.start()
    problem = MarginProblem(X, y)
    problem.objective(w)
    centre, costs = problem.centre, problem.costs
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes
    np.testing.assert_allclose(centre, MarginProblem(X, y, sample_weight=costs).centre, rtol=1e-12)


GOOD = lift([[0.5, 0.0], [-0.5, 0.0]])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": GOOD * np.nan}, "NaN or infinity"),
        ({"X": GOOD[:, 1:]}, "row 0 of X"),
        ({"X": GOOD[0]}, "points must be an"),
        ({"X": np.empty((0, 3)), "y": []}, "no points"),
        ({"y": [1, 0]}, r"labels -1 and \+1 only"),
        ({"y": [1, -1, 1]}, r"y must have shape \(2,\)"),
        ({"C": 0.0}, "C must be positive"),
        ({"C": -1.0}, "C must be positive"),
        ({"C": np.nan}, "C must be positive"),
        ({"sample_weight": [1.0]}, r"sample_weight must have shape \(2,\)"),
        ({"sample_weight": [1.0, -1.0]}, "must not be negative"),
        ({"sample_weight": [0.0, 0.0]}, "zero for every sample"),
        ({"sample_weight": [1.0, np.inf]}, "sample_weight contains NaN or infinity"),
    ],
)
def test_bad_input_is_one_clear_sentence(changes, message):
    arguments = {"X": GOOD, "y": [1, -1], **changes}
    with pytest.raises(ValueError, match=message) as caught:
        MarginProblem(**arguments)
    assert "\n" not in str(caught.value)
