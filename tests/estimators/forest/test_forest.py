"""Trees and forests as a user meets them: judged by scikit-learn, by invariances, and by breaking them on purpose."""

import pickle

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from hypermargin.datasets import make_gaussian_mixture, make_taxonomy
from hypermargin.estimators import (
    HyperbolicForestClassifier,
    HyperbolicTreeClassifier,
    load_model,
    save_model,
)
from hypermargin.geometry import convert, from_lorentz, lorentz_centroid, random_isometry, transform_points
from reference.objective import lift


@pytest.fixture(scope="module")
def four_classes():
    return make_gaussian_mixture([40, 30, 30, 20], 4, scale=0.7, random_state=3, return_X_y=True)


@pytest.fixture(scope="module")
def forest(four_classes):
    return HyperbolicForestClassifier(12, random_state=0).fit(*four_classes)


class TestAgainstScikitLearn:
    @pytest.mark.parametrize("leaf", [1, 10])
    def test_average_precision_on_taxonomies(self, leaf):
        """Rare subtrees, equal leaf sizes, on average over seeds that no default was chosen on."""
        ours, theirs = [], []
        for seed in (200, 201, 202):
            data = make_taxonomy(8000, positive_fraction=(0.03, 0.003), random_state=seed)
            disk = from_lorentz(data.X, "poincare")
            for y in data.y.T:
                train, test = train_test_split(np.arange(8000), test_size=0.4, stratify=y, random_state=seed)
                settings = {"n_estimators": 30, "min_samples_leaf": leaf, "random_state": 0, "n_jobs": 2}
                model = HyperbolicForestClassifier(**settings).fit(data.X[train], y[train])
                rival = RandomForestClassifier(**settings).fit(disk[train], y[train])
                ours.append(average_precision_score(y[test], model.predict_proba(data.X[test])[:, 1]))
                theirs.append(average_precision_score(y[test], rival.predict_proba(disk[test])[:, 1]))
        assert np.mean(ours) >= np.mean(theirs)

    def test_out_of_bag_score_foretells_the_test_score(self):
        X, y = make_gaussian_mixture(600, 3, scale=1.0, random_state=0, return_X_y=True)
        train, test = np.arange(1800) % 2 == 0, np.arange(1800) % 2 == 1
        model = HyperbolicForestClassifier(60, oob_score=True, random_state=0).fit(X[train], y[train])
        assert model.oob_score_ == pytest.approx(model.score(X[test], y[test]), abs=0.04)
        assert model.oob_score_ < model.score(X[train], y[train])
        answers = model.classes_[model.oob_decision_function_.argmax(axis=1)]
        assert np.mean(answers == y[train]) == model.oob_score_


class TestInvariance:
    @pytest.mark.parametrize("dim", [2, 3, 6])
    def test_a_tree_without_chance_moves_with_the_data(self, dim):
        """Two classes and fewer samples than a split takes: nothing is drawn, and an isometry changes no answer."""
        rng = np.random.default_rng(dim)
        X, y = make_gaussian_mixture([60, 40], 2, dim=dim, scale=1.0, random_state=dim, return_X_y=True)
        y = np.where(rng.uniform(size=100) < 0.15, 1 - y, y)  # separable classes would need one split
        new = lift(rng.normal(size=(300, dim)))
        shares = HyperbolicTreeClassifier(split_samples=100, random_state=0).fit(X, y).predict_proba(new)
        assert np.unique(shares[:, 0]).size > 3
        for radius in (1.0, 4.0):
            L = random_isometry(dim, radius, rng)
            moved = HyperbolicTreeClassifier(split_samples=100, random_state=0).fit(transform_points(X, L), y)
            agree = np.isclose(moved.predict_proba(transform_points(new, L)), shares, atol=1e-9).all(axis=1)
            assert np.mean(agree) > 0.98  # a tie between two splits may go the other way by rounding

    def test_a_forest_moves_in_distribution(self, four_classes):
        X, y = four_classes
        L = random_isometry(2, 3.0, np.random.default_rng(0))
        scores = np.array(
            [
                [
                    HyperbolicForestClassifier(30, oob_score=True, random_state=seed).fit(Z, y).oob_score_
                    for seed in range(8)
                ]
                for Z in (X, transform_points(X, L))
            ]
        )
        spread = np.hypot(*scores.std(axis=1, ddof=1)) / np.sqrt(8)
        assert abs(scores[0].mean() - scores[1].mean()) < 4.0 * spread  # 4 standard errors

    def test_order_of_samples_and_number_of_jobs_do_not_matter(self, four_classes, forest):
        X, y = four_classes
        shares = forest.predict_proba(X)
        order = np.random.default_rng(0).permutation(len(y))
        assert np.array_equal(
            HyperbolicForestClassifier(12, random_state=0).fit(X[order], y[order]).predict_proba(X), shares
        )
        assert np.array_equal(
            HyperbolicForestClassifier(12, random_state=0, n_jobs=2).fit(X, y).predict_proba(X), shares
        )

    def test_a_weight_of_two_is_the_sample_twice(self, four_classes):
        X, y = four_classes
        weight = np.random.default_rng(1).integers(0, 3, y.size)
        for bootstrap in (True, False):
            model = HyperbolicForestClassifier(5, bootstrap=bootstrap, random_state=0)
            one = model.fit(X, y, sample_weight=weight).predict_proba(X)
            two = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).predict_proba(X)
            np.testing.assert_array_equal(one, two)

    @pytest.mark.parametrize("geometry", ["poincare", "klein", "halfspace", "tangent"])
    def test_coordinates_do_not_matter(self, geometry, four_classes, forest):
        X, y = four_classes
        Z = convert(X, "lorentz", geometry)
        agree = HyperbolicForestClassifier(12, geometry=geometry, random_state=0).fit(Z, y).predict(
            Z
        ) == forest.predict(X)
        assert np.mean(agree) > 0.97  # rounding of the coordinates may turn a tie


class TestHabits:
    def test_warm_start_is_the_whole_fit(self, four_classes, forest):
        X, y = four_classes
        model = HyperbolicForestClassifier(5, warm_start=True, random_state=0).fit(X, y)
        first = model.trees_[0]
        model.set_params(n_estimators=12).fit(X, y)
        assert model.trees_[0] is first
        np.testing.assert_array_equal(model.predict_proba(X), forest.predict_proba(X))
        with pytest.raises(ValueError, match="n_estimators is 3"):
            model.set_params(n_estimators=3).fit(X, y)

    def test_apply_names_leaves_whose_values_make_the_answer(self, four_classes, forest):
        X, _ = four_classes
        leaves = forest.apply(X)
        values = [tree.values[tree.slot[leaves[:, t]]] for t, tree in enumerate(forest.trees_)]
        np.testing.assert_allclose(np.mean(values, axis=0), forest.predict_proba(X), atol=1e-12)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_leaves_hold_the_shares_of_all_samples(self, weighted, four_classes):
        """Not only those of the bootstrap sample that the splits come from."""
        X, y = four_classes
        weight = np.random.default_rng(0).uniform(0.5, 2.0, y.size) if weighted else np.ones(y.size)
        model = HyperbolicForestClassifier(3, max_samples=40, shrinkage=0.0, min_samples_leaf=1, random_state=0)
        leaves = model.fit(X, y, sample_weight=weight).apply(X)
        for t, tree in enumerate(model.trees_):
            for leaf in np.unique(leaves[:, t]):
                here = leaves[:, t] == leaf
                shares = np.bincount(y[here], weight[here], minlength=4) / weight[here].sum()
                np.testing.assert_allclose(tree.values[tree.slot[leaf]], shares, atol=1e-12)

    def test_limits_of_size_are_kept(self, four_classes):
        X, y = four_classes
        tree = HyperbolicTreeClassifier(max_depth=2, min_samples_leaf=10, random_state=0).fit(X, y)
        assert tree.get_depth() <= 2
        assert np.bincount(tree.apply(X)).max() >= 10
        counts = np.unique(tree.apply(X), return_counts=True)[1]
        assert counts.min() >= 10
        assert counts.size == tree.get_n_leaves()

    def test_class_weights_move_the_answer(self):
        X, y = make_gaussian_mixture([300, 30], 2, scale=1.2, random_state=1, return_X_y=True)
        share = [
            np.mean(HyperbolicForestClassifier(20, class_weight=w, random_state=0).fit(X, y).predict(X) == 1)
            for w in (None, {0: 1.0, 1: 100.0})
        ]
        assert share[1] > share[0]

    @pytest.mark.parametrize("labels", [["a", "b", "c", "d"], [-3, 0, 7, 10**6], [True, False, True, False]])
    def test_any_labels(self, labels, four_classes, forest):
        X, y = four_classes
        named = np.array(labels)[y]
        model = HyperbolicForestClassifier(12, random_state=0).fit(X, named)
        assert set(model.predict(X)) <= set(named)
        assert model.score(X, named) > 0.8

    def test_model_files_and_pickles_give_the_same_answers(self, four_classes, forest, tmp_path):
        X, y = four_classes
        certified = HyperbolicTreeClassifier(splits="certified", max_depth=2, random_state=0).fit(X, y)
        for model in (forest, certified):
            save_model(model, tmp_path / "model.npz")
            for copy in (load_model(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
                np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        assert copy.certified_splits_[0][0].verify(copy.points_) == pytest.approx(
            certified.certified_splits_[0][0].solution.lower_bound
        )

    @pytest.mark.parametrize("damage", ["children", "slot", "splits", "values", "masses"])
    def test_a_damaged_tree_is_refused(self, damage, four_classes, forest, tmp_path, monkeypatch):
        state = forest._stored()
        array = state["trees"][0][damage].copy()
        array[0] = {"children": 0, "slot": 10**6, "splits": np.nan, "values": np.inf, "masses": 0.0}[damage]
        if damage == "masses":
            array = array[1:]
        state["trees"][0] = {**state["trees"][0], damage: array}
        monkeypatch.setattr(type(forest), "_stored", lambda self: state)
        save_model(forest, tmp_path / "model.npz")
        with pytest.raises(ValueError, match="damaged"):
            load_model(tmp_path / "model.npz")


class TestCertifiedSplits:
    @pytest.mark.parametrize("boundary", ["hyperplane", "curve"])
    def test_every_split_is_a_proved_optimum(self, boundary, four_classes):
        X, y = four_classes
        tree = HyperbolicTreeClassifier(splits="certified", boundary=boundary, random_state=0, tol=1e-6).fit(X, y)
        (splits,) = tree.certified_splits_
        assert len(splits) == len(tree.tree_.splits) > 3
        for split in splits:
            bound = split.verify(tree.points_)
            assert bound <= split.solution.objective <= bound * (1.0 + 1e-6) + 1e-9
            problem = split.problem(tree.points_)
            assert problem.objective(split.solution.w) == pytest.approx(split.solution.objective, rel=1e-9)
            row = tree.tree_.slot[split.node]
            if boundary == "curve":
                np.testing.assert_array_equal(tree.tree_.normals[row], split.solution.w)
                continue
            shift = tree.tree_.normals[row] - split.solution.w  # along the centroid of the sample
            centre = lorentz_centroid(tree.points_[split.rows], split.costs)
            np.testing.assert_allclose(shift, shift[0] / centre[0] * centre, atol=1e-9 * np.abs(shift).max())
            assert tree.tree_.thresholds[row] == 0.0

    def test_the_fast_way_is_as_accurate(self, four_classes):
        X, y = four_classes
        scores = [
            HyperbolicForestClassifier(15, splits=splits, oob_score=True, tol=1e-3, random_state=0).fit(X, y).oob_score_
            for splits in ("fast", "certified")
        ]
        assert scores[0] == pytest.approx(scores[1], abs=0.05)


class TestText:
    def test_it_says_what_the_tree_does(self):
        """A class inside a ball and one around it: the first split is a sphere, and its radius parts them."""
        rng = np.random.default_rng(0)
        direction = rng.normal(size=(120, 2))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        radius = np.concatenate([rng.uniform(0.0, 1.0, 60), rng.uniform(1.4, 2.0, 60)])
        y = np.repeat(["in", "out"], 60)
        for curvature in (1.0, 4.0):
            X = radius[:, None] / np.sqrt(curvature) * direction
            settings = {"geometry": "tangent", "curvature": curvature, "boundary": "curve", "random_state": 0}
            tree = HyperbolicTreeClassifier(**settings).fit(X, y)
            first, *rest = tree.to_text().splitlines()
            assert first.endswith("(sphere)")
            number = float(first.split(" than ")[1].split()[0]) * np.sqrt(curvature)
            assert 0.8 < number < 1.6
            assert any("class in" in line for line in rest)
            assert any("class out" in line for line in rest)

    def test_depth_can_be_cut_off(self, forest):
        text = forest.to_text(0, max_depth=1)
        assert len(text.splitlines()) <= 3
        assert "more nodes" in text
        assert len(forest.to_text(0).splitlines()) == forest.trees_[0].n_nodes


class TestBadInput:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_estimators": 0}, "n_estimators must be an integer of at least 1"),
            ({"max_depth": 0}, "max_depth must be an integer of at least 1"),
            ({"min_samples_leaf": 0}, "min_samples_leaf"),
            ({"min_weight_fraction_leaf": 0.7}, "between 0 and 0.5"),
            ({"criterion": "log_loss"}, "gini, entropy"),
            ({"grouping": "best"}, "grouping must be one of"),
            ({"boundary": "line"}, "hyperplane, curve, mixed"),
            ({"splits": "exact"}, "fast, certified"),
            ({"C": -1.0}, "C must be positive"),
            ({"shrinkage": -1.0}, "shrinkage"),
            ({"max_samples": 0.0}, "max_samples"),
            ({"max_samples": 2.5}, "max_samples"),
            ({"bootstrap": False, "oob_score": True}, "needs bootstrap=True"),
            ({"bootstrap": False, "max_samples": 0.5}, "leave it None"),
            ({"geometry": "sphere"}, "unknown geometry"),
            ({"curvature": 0.0}, "curvature"),
            ({"class_weight": "even"}, "class_weight"),
        ],
    )
    def test_parameters(self, parameters, message, four_classes):
        with pytest.raises(ValueError, match=message):
            HyperbolicForestClassifier(**parameters).fit(*four_classes)

    def test_duplicates_with_other_labels_and_equal_points(self):
        X = lift(np.repeat([[0.0, 0.0], [1.0, 1.0]], 6, axis=0))
        y = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1])
        for model in (HyperbolicTreeClassifier(min_samples_leaf=1), HyperbolicForestClassifier(10, min_samples_leaf=1)):
            shares = model.set_params(random_state=0).fit(X, y).predict_proba(X)
            assert shares[0, 1] < shares[6, 1]
        tree = HyperbolicTreeClassifier(shrinkage=0.0, min_samples_leaf=1).fit(X, y)
        np.testing.assert_allclose(tree.predict_proba(X)[[0, 6], 1], [0.5, 1.0])
        same = HyperbolicForestClassifier(5, bootstrap=False).fit(X[:6], y[:6])
        np.testing.assert_allclose(same.predict_proba(X), 0.5)

    @pytest.mark.parametrize("splits", ["fast", "certified"])
    @pytest.mark.parametrize("boundary", ["hyperplane", "curve"])
    def test_bootstrap_samples_of_one_class(self, splits, boundary, four_classes):
        """Trees of one leaf, which holds the shares of all samples."""
        X, y = four_classes
        settings = {"splits": splits, "boundary": boundary, "min_samples_leaf": 1, "random_state": 0}
        shares = HyperbolicForestClassifier(4, max_samples=1, **settings).fit(X, y).predict_proba(X[:3])
        np.testing.assert_allclose(shares, np.tile(np.bincount(y) / y.size, (3, 1)))
        equal = HyperbolicForestClassifier(4, **settings).fit(X[np.zeros(y.size, dtype=int)], y)
        np.testing.assert_allclose(equal.predict_proba(X[:3]), np.tile(np.bincount(y) / y.size, (3, 1)))

    def test_a_class_of_one(self, four_classes):
        X, y = four_classes
        y = np.where(np.arange(y.size) == 0, 9, y)  # most bootstrap samples of so few draws miss it
        model = HyperbolicForestClassifier(10, max_samples=5, min_samples_leaf=1, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)

    def test_points_too_far_out(self, four_classes):
        X, y = four_classes
        far = X.copy()
        far[0] = lift(np.array([[1e9, 0.0]]))[0]
        with pytest.raises(ValueError, match="radius"):
            HyperbolicForestClassifier(2, rim="error").fit(far, y)
        with pytest.raises(ValueError, match="radius"):
            HyperbolicForestClassifier(2, rim="error").fit(X, y).predict(far)


# Some checks use data far beyond the radius that double precision holds, and forests of few trees.
@pytest.mark.filterwarnings("ignore::hypermargin.data.ingest.RadiusWarning")
@parametrize_with_checks(
    [
        HyperbolicTreeClassifier(geometry="tangent"),
        HyperbolicForestClassifier(10, geometry="tangent"),
        HyperbolicForestClassifier(5, geometry="tangent", bootstrap=False, class_weight="balanced", n_jobs=2),
        HyperbolicTreeClassifier(geometry="tangent", max_depth=3, splits="certified"),
    ]
)
def test_every_check_of_scikit_learn(estimator, check):
    check(estimator)
