"""Nearest neighbours against distances in many digits, scikit-learn, and brute force."""

import mpmath
import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators import HyperbolicKNeighborsClassifier, load_model, save_model
from hypermargin.estimators.neighbour_search import ProductSearch, TreeSearch, make_search
from hypermargin.geometry import pairwise_distance, random_isometry, transform_points
from reference.objective import lift


def many_digits(x, y):
    """``arccosh(x * y)`` of the points above the space coordinates, in 60 digits."""
    with mpmath.workdps(60):
        x, y = [[mpmath.mpf(float(v)) for v in point[1:]] for point in (x, y)]
        time = mpmath.sqrt(1 + sum(v * v for v in x)) * mpmath.sqrt(1 + sum(v * v for v in y))
        return mpmath.acosh(max(time - sum(a * b for a, b in zip(x, y, strict=True)), mpmath.mpf(1)))


def near_and_far(dim, rng):
    """Points around the origin, around a place far out, pairs 1e-9 apart, and points alone at radius 15 and more."""
    far = np.sinh(9.0) * np.eye(dim)[0]
    space = [rng.normal(size=(12, dim)), far + np.sinh(9.0) * 1e-4 * rng.normal(size=(12, dim))]
    space.append(space[0][:5] + 1e-9 * rng.normal(size=(5, dim)))
    direction = rng.normal(size=(6, dim))
    space.append(
        np.sinh(rng.uniform(15.0, 17.5, (6, 1))) * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    )
    return lift(np.concatenate(space))


@pytest.mark.parametrize("search", [TreeSearch, ProductSearch])
@pytest.mark.parametrize("dim", [2, 5])
class TestNearAndFar:
    def test_the_nearest_are_the_nearest(self, search, dim):
        X = near_and_far(dim, np.random.default_rng(dim))
        for (rows, lengths), x in zip(search(X).neighbours(X, 6, None, None), X, strict=True):
            exact = [many_digits(x, y) for y in X]
            order = sorted(range(len(X)), key=lambda i, exact=exact: exact[i])[:6]
            for row, length, wanted in zip(rows, lengths, order, strict=True):
                # Points at radius r are given to eps e^r only, and no distance is better than that.
                allowed = 1e-12 * float(exact[wanted]) + 4e-16 * x[0]
                assert abs(float(exact[row] - exact[wanted])) <= allowed
                assert abs(float(length - exact[row])) <= allowed

    def test_a_radius_holds_all_within_it(self, search, dim):
        X = near_and_far(dim, np.random.default_rng(dim))
        for radius in (1e-8, 0.5, 2.0, 12.0):
            found = search(X).neighbours(X, None, radius, None)
            distances = pairwise_distance(X)
            for i, (rows, _) in enumerate(found):
                np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(distances[i] <= radius))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
class TestAgainstScikitLearn:
    def test_k(self, weights):
        X, y = make_gaussian_mixture([80, 60, 40], 3, dim=3, scale=0.9, random_state=0, return_X_y=True)
        ours = HyperbolicKNeighborsClassifier(7, weights=weights).fit(X[:120], y[:120])
        judge = KNeighborsClassifier(7, metric="precomputed", weights=weights).fit(pairwise_distance(X[:120]), y[:120])
        expected = judge.predict_proba(pairwise_distance(X[120:], X[:120]))
        np.testing.assert_allclose(ours.predict_proba(X[120:]), expected, atol=1e-9)
        lengths, rows = ours.kneighbors(X[120:])
        expected_lengths, expected_rows = judge.kneighbors(pairwise_distance(X[120:], X[:120]))
        np.testing.assert_array_equal(rows, expected_rows)
        np.testing.assert_allclose(lengths, expected_lengths, rtol=1e-9)
        np.testing.assert_array_equal(ours.kneighbors(X[120:], return_distance=False), expected_rows)

    def test_radius(self, weights):
        X, y = make_gaussian_mixture([80, 60], 2, scale=0.9, random_state=0, return_X_y=True)
        ours = HyperbolicKNeighborsClassifier(radius=0.6, weights=weights).fit(X[::2], y[::2])
        judge = RadiusNeighborsClassifier(0.6, metric="precomputed", weights=weights, outlier_label="most_frequent")
        distances = pairwise_distance(X[1::2], X[::2])
        expected = judge.fit(pairwise_distance(X[::2]), y[::2]).predict_proba(distances)
        some = (distances <= 0.6).any(axis=1)
        np.testing.assert_allclose(ours.predict_proba(X[1::2])[some], expected[some], atol=1e-9)
        alone = X[1::2][~some]
        assert len(alone) > 0
        nearest = y[::2][np.argmin(distances[~some], axis=1)]
        np.testing.assert_array_equal(ours.predict(alone), nearest)


@pytest.fixture(scope="module")
def data():
    return make_gaussian_mixture(400, 3, scale=0.8, random_state=2, return_X_y=True)


class TestHabits:
    def test_isometries_jobs_and_ways_change_no_label(self, data):
        X, y = data
        labels = HyperbolicKNeighborsClassifier().fit(X, y).predict(X)
        L = random_isometry(2, 4.0, np.random.default_rng(0))
        for model, Z in [
            (HyperbolicKNeighborsClassifier(), transform_points(X, L)),
            (HyperbolicKNeighborsClassifier(n_jobs=2), X),
            (HyperbolicKNeighborsClassifier(algorithm="products"), X),
        ]:
            np.testing.assert_array_equal(model.fit(Z, y).predict(Z), labels)

    def test_which_way_is_taken(self):
        rng = np.random.default_rng(0)
        assert isinstance(make_search(lift(rng.normal(size=(200, 8))), "auto"), ProductSearch)
        assert isinstance(make_search(lift(rng.normal(size=(200, 2))), "auto"), TreeSearch)

    def test_points_that_coincide_vote_alone(self, data):
        X, y = data
        model = HyperbolicKNeighborsClassifier(20, weights="distance").fit(X, y)
        np.testing.assert_array_equal(model.predict(X), y)

    def test_curvature_scales_distances(self, data):
        X, y = data
        flat = HyperbolicKNeighborsClassifier(curvature=0.25).fit(2.0 * X, y)
        plain = HyperbolicKNeighborsClassifier().fit(X, y)
        np.testing.assert_allclose(flat.kneighbors(2.0 * X)[0], 2.0 * plain.kneighbors(X)[0], rtol=1e-9, atol=1e-12)

    def test_model_file(self, data, tmp_path):
        X, y = data
        model = HyperbolicKNeighborsClassifier(9).fit(X, np.array(["a", "b", "c"])[y])
        save_model(model, tmp_path / "model.npz")
        np.testing.assert_array_equal(load_model(tmp_path / "model.npz").predict_proba(X), model.predict_proba(X))

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_neighbors": 2000}, "n_neighbors is 2000, but there are 1200 samples"),
            ({"n_neighbors": 0}, "at least 1"),
            ({"radius": -1.0}, "radius must be positive"),
            ({"weights": "gaussian"}, "uniform, distance"),
            ({"algorithm": "brute"}, "auto, tree, products"),
        ],
    )
    def test_bad_parameters(self, parameters, message, data):
        with pytest.raises(ValueError, match=message):
            HyperbolicKNeighborsClassifier(**parameters).fit(*data)

    def test_equal_points_with_other_labels(self, data):
        X, _ = data
        for weights in ("uniform", "distance"):
            model = HyperbolicKNeighborsClassifier(4, weights=weights).fit(X[[0, 0, 0, 0]], [0, 1, 1, 1])
            np.testing.assert_allclose(model.predict_proba(X[:2]), [[0.25, 0.75], [0.25, 0.75]])


# Some checks use data far beyond the radius that double precision holds.
@pytest.mark.filterwarnings("ignore::hypermargin.data.ingest.RadiusWarning")
@parametrize_with_checks(
    [
        HyperbolicKNeighborsClassifier(3, geometry="tangent"),
        HyperbolicKNeighborsClassifier(5, geometry="tangent", weights="distance", algorithm="tree"),
        HyperbolicKNeighborsClassifier(geometry="tangent", radius=1.0, weights="distance"),
    ]
)
def test_every_check_of_scikit_learn(estimator, check):
    check(estimator)
