"""The pieces a tree is grown with, against scikit-learn, the exact method, brute force and the interpreter."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from hypermargin import MarginProblem, solve
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators.forest.compiled import grower, separator, threshold, traversal
from hypermargin.estimators.forest.tree import Tree
from interpreted import load_source
from reference.objective import lift

SETTINGS = {
    "max_depth": 100,
    "min_samples_leaf": 2,
    "min_weight_fraction_leaf": 0.0,
    "n_candidates": 2,
    "split_samples": 8,
    "C": 1.0,
    "chances": (1.0, 1.0, 1.0, 1.0, 1.0),
    "curve_chance": 0.5,
    "by_entropy": False,
}


class TestSeparator:
    @pytest.mark.parametrize("dim", [2, 3, 10])
    @pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
    def test_it_comes_close_to_the_proved_optimum(self, dim, C):
        """As seen from what w = 0 costs: separable classes have optima next to 0."""
        rng, excess = np.random.default_rng(dim), []
        for seed in range(12):
            spread = rng.uniform(0.3, 1.2)
            X, y = make_gaussian_mixture(30, 2, dim=dim, scale=spread, random_state=seed, return_X_y=True)
            problem = MarginProblem(X, 2 * y - 1, C, allow_timelike=True)
            Z, costs = problem.covectors_around(problem.centre), np.full(60, C / np.sqrt(2.0))
            w = separator.Separator(dim + 1, 60).separate(Z, costs)
            found = 0.5 * max(w[1:] @ w[1:] - w[0] ** 2, 0.0) + costs @ np.maximum(1.0 - Z @ w, 0.0)
            excess.append((found - solve(problem, tol=1e-6).objective) / costs.sum())
        assert min(excess) > -1e-6
        assert np.median(excess) < 0.005
        assert max(excess) < 0.01

    def test_equal_samples_of_both_sides(self):
        """Nothing separates them: the risk is at least 2, which w = 0 has, and no w can have less."""
        for Z in (np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]), np.array([[1.1, 0.4, 0.2], [-1.1, -0.4, -0.2]])):
            w = separator.Separator(3, 2).separate(Z, np.ones(2))
            found = 0.5 * max(w[1:] @ w[1:] - w[0] ** 2, 0.0) + np.maximum(1.0 - Z @ w, 0.0).sum()
            assert found == pytest.approx(2.0, abs=0.01)


def impurity(labels, weights, by_entropy):
    """Impurity times weight, from its definition."""
    shares = np.bincount(labels, weights) / weights.sum()
    shares = shares[shares > 0.0]
    return weights.sum() * (-(shares @ np.log(shares)) if by_entropy else 1.0 - shares @ shares)


class TestThreshold:
    @pytest.mark.parametrize("by_entropy", [False, True])
    @pytest.mark.parametrize("least", [1, 4])
    def test_few_samples_are_parted_as_scikit_learn_does(self, by_entropy, least):
        rng = np.random.default_rng(0)
        for n, classes in [(9, 2), (30, 3), (200, 5), (1000, 2)]:
            scores, labels = np.round(rng.normal(size=n), 2), rng.integers(0, classes, n).astype(np.intc)
            weights = rng.uniform(0.1, 2.0, n)
            search = threshold.ThresholdSearch(n, classes, least, 0.0, by_entropy)
            cut, _ = search.best(scores, labels, weights)
            judge = DecisionTreeClassifier(
                criterion="entropy" if by_entropy else "gini", max_depth=1, min_samples_leaf=least, random_state=0
            ).fit(scores[:, None].astype(np.float32), labels, sample_weight=weights)

            def left(at, scores=scores, labels=labels, weights=weights):
                return sum(impurity(labels[s], weights[s], by_entropy) for s in (scores <= at, scores > at))

            assert left(cut) == pytest.approx(left(judge.tree_.threshold[0]), rel=1e-9)

    @pytest.mark.parametrize("order", ["random", "sorted", "reversed", "organ pipe", "few values"])
    def test_many_samples_come_as_near_as_bins_allow(self, order):
        rng, n = np.random.default_rng(1), 5000
        scores = rng.standard_cauchy(n)
        labels = ((scores > 2.0) ^ (rng.uniform(size=n) < 0.02)).astype(np.intc)
        if order == "few values":
            scores = np.floor(scores.clip(-3, 3))
        arranged = {"sorted": np.argsort(scores), "reversed": np.argsort(-scores)}.get(order, np.arange(n))
        if order == "organ pipe":
            arranged = np.concatenate([np.argsort(scores)[::2], np.argsort(scores)[::-2]])
        scores, labels, weights = scores[arranged], labels[arranged], np.ones(n)
        cut, purity = threshold.ThresholdSearch(n, 2, 1, 0.0, False).best(scores, labels, weights)
        by_score = np.argsort(scores)
        best = min(
            sum(impurity(labels[s], weights[s], False) for s in (scores <= at, scores > at))
            for at in np.unique(scores[by_score])[:-1:7]
        )
        found = sum(impurity(labels[s], weights[s], False) for s in (scores <= cut, scores > cut))
        assert found == pytest.approx(n - purity, rel=1e-9)  # what it says of itself is true
        assert found <= best * (1.0 + 1e-9)

    def test_equal_scores_cannot_be_parted(self):
        for n in (10, 3000):
            _, purity = threshold.ThresholdSearch(n, 2, 1, 0.0, False).best(
                np.zeros(n), np.arange(n, dtype=np.intc) % 2, np.ones(n)
            )
            assert purity == -np.inf

    def test_both_sides_keep_their_weight(self):
        scores, labels, weights = np.arange(6.0), np.array([1, 0, 0, 0, 0, 0], dtype=np.intc), np.ones(6)
        assert threshold.ThresholdSearch(6, 2, 1, 0.0, False).best(scores, labels, weights)[0] == 0.5
        assert threshold.ThresholdSearch(6, 2, 1, 2.0, False).best(scores, labels, weights)[0] == 1.5


def samples(seed, n=60):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n).astype(np.intc)
    X = lift(rng.normal(size=(n, 2)) + np.array([[1.0, 0.0], [-1.0, 0.5], [0.0, -1.0]])[labels])
    return X, labels, rng.integers(0, 3, n).astype(float)


def grown(seed, module=grower, n=60, **changes):
    return module.Grower(*samples(seed, n), 3, SETTINGS | changes, seed).grow()


def product(x, y):
    return x[..., 0] * y[..., 0] - np.sum(x[..., 1:] * y[..., 1:], axis=-1)


def sides_of_classes(X, labels, way, seed):
    """+1 or -1 for each class, as a node that holds all samples draws them."""
    chances = np.eye(5)[way]
    growing = grower.Grower(
        X, labels, np.ones(len(X)), labels.max() + 1, SETTINGS | {"chances": chances, "split_samples": 1000}, seed
    )
    growing.open_next()
    rows, signs, _ = growing.draw()
    return np.array([signs[labels[rows] == k][0] for k in range(labels.max() + 1)])


def scattered(seed, n_classes=7, dim=3):
    rng = np.random.default_rng(seed)
    means = rng.normal(scale=1.5, size=(n_classes, dim))
    labels = np.repeat(np.arange(n_classes), 4).astype(np.intc)
    X = lift(means[labels] + 0.1 * rng.normal(size=(len(labels), dim)))
    sums = np.array([X[labels == k].sum(axis=0) for k in range(n_classes)])
    root = X.sum(axis=0)
    return X, labels, sums / np.sqrt(product(sums, sums))[:, None], root / np.sqrt(product(root, root))


def ancestor(p, q, root, steps=4001):
    """The point between p and q that is nearest to the root, by walking the geodesic."""
    length = np.arccosh(product(p, q))
    t = np.linspace(0.0, 1.0, steps)[:, None]
    walk = (np.sinh((1.0 - t) * length) * p + np.sinh(t * length) * q) / np.sinh(length)
    distances = np.arccosh(np.maximum(product(walk, root), 1.0))
    return walk[np.argmin(distances)], distances.min()


class TestGroups:
    def test_each_class_goes_with_the_nearer_of_two_seeds(self):
        """Whichever two classes were drawn as seeds, they must explain the sides of all others."""
        for seed in range(20):
            X, labels, centroids, _ = scattered(seed)
            sides = sides_of_classes(X, labels, 1, seed)
            far = np.arccosh(np.maximum(product(centroids[:, None], centroids[None]), 1.0))
            explained = [
                np.all((far[:, a] < far[:, b]) == (sides > 0.0))
                for a in np.flatnonzero(sides > 0.0)
                for b in np.flatnonzero(sides < 0.0)
            ]
            assert any(explained)

    def test_the_hierarchy_merges_what_has_the_deepest_ancestor(self):
        for seed in range(20):
            X, labels, centroids, root = scattered(seed)
            groups_left = [({k}, centroids[k]) for k in range(len(centroids))]
            while len(groups_left) > 2:
                pairs = [(i, j) for i in range(len(groups_left)) for j in range(i)]
                found = [ancestor(groups_left[i][1], groups_left[j][1], root) for i, j in pairs]
                best = int(np.argmax([depth for _, depth in found]))
                i, j = pairs[best]
                merged = (groups_left[i][0] | groups_left[j][0], found[best][0])
                groups_left = [group for k, group in enumerate(groups_left) if k not in (i, j)] + [merged]
            sides = sides_of_classes(X, labels, 4, seed)
            assert set(np.flatnonzero(sides == sides[0]).tolist()) in [members for members, _ in groups_left]


class TestGrower:
    @pytest.mark.parametrize(("rare", "limit"), [(2, 2), (4, 4), (5, 8)])
    def test_a_class_of_a_few_samples_can_have_a_leaf(self, rare, limit):
        """A tight cluster of another class amid many: leaves of 8 cannot hold it alone, leaves of its size can."""
        rng = np.random.default_rng(0)
        flat = np.vstack([rng.normal(size=(60, 2)), [1.0, 1.0] + 1e-3 * rng.normal(size=(rare, 2))])
        labels = np.repeat([0, 1], [60, rare]).astype(np.intc)
        settings = SETTINGS | {"min_samples_leaf": 8, "n_candidates": 20, "C": 100.0}
        tree = Tree(*grower.Grower(lift(flat), labels, np.ones(60 + rare), 2, settings, 0).grow())
        assert tree.masses.min() >= limit
        assert (tree.values[:, 1].max() == 1.0) == (rare < 5)

    def test_leaves_hold_the_shares_of_their_samples(self):
        X, labels, weight = samples(0)
        tree = Tree(*grown(0))
        leaves = tree.leaves(X)
        assert tree.n_leaves > 5
        for row, node in enumerate(tree.leaf_nodes):
            here = (leaves == node) & (weight > 0.0)
            assert np.sum(here) >= SETTINGS["min_samples_leaf"]
            assert tree.masses[row] == weight[here].sum()
            shares = np.bincount(labels[here], weight[here], minlength=3) / weight[here].sum()
            np.testing.assert_allclose(tree.values[row], shares, atol=1e-12)

    @pytest.mark.parametrize("by_entropy", [False, True])
    def test_the_interpreter_grows_the_same_tree(self, by_entropy):
        modules = (separator, threshold, grower)
        plain = load_source(*modules)[-1]
        for seed in range(3):
            ours = grown(seed, by_entropy=by_entropy)
            other = grown(seed, plain, by_entropy=by_entropy)
            for one, two in zip(ours, other, strict=True):
                np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)

    def test_the_interpreter_counts_in_bins_alike(self):
        rng = np.random.default_rng(0)
        scores, labels = rng.normal(size=1500), rng.integers(0, 3, 1500).astype(np.intc)
        plain = load_source(threshold)[0]
        for by_entropy in (False, True):
            answers = [
                module.ThresholdSearch(1500, 3, 5, 0.0, by_entropy).best(scores, labels, np.ones(1500))
                for module in (threshold, plain)
            ]
            assert answers[0] == pytest.approx(answers[1], rel=1e-12)

    @pytest.mark.parametrize("curve_chance", [0.0, 1.0])
    @pytest.mark.parametrize("least", [1, 7])
    def test_a_split_is_the_best_of_its_family(self, curve_chance, least):
        """Hyperplanes ``x * (w - s c) = 0`` or level sets of ``x * w``, as scikit-learn parts the scores."""
        for seed in range(5):
            X, labels, weight = samples(seed, 200)
            settings = SETTINGS | {"min_samples_leaf": least, "curve_chance": curve_chance, "max_depth": 1}
            growing = grower.Grower(X, labels, weight, 3, settings, seed)
            assert growing.open_next() == 0
            rows, signs, costs = growing.draw()
            w = (costs * signs) @ X[rows]  # any normal will do: the difference of the two groups
            centre = costs @ X[rows]
            assert growing.offer(w * [1.0, -1.0, -1.0])
            assert growing.close()
            tree = Tree(*growing.arrays())
            scores = X @ (w * [1.0, -1.0, -1.0])
            if not curve_chance:
                scores = scores / (X @ (centre * [1.0, -1.0, -1.0]))
                assert tree.thresholds[0] == 0.0
                assert tree.normals[0, 1:] @ tree.normals[0, 1:] > tree.normals[0, 0] ** 2
            there, side = weight > 0.0, tree.leaves(X) == tree.children[0, 1]
            judge = DecisionTreeClassifier(max_depth=1, min_samples_leaf=least, random_state=0).fit(
                scores[there, None], labels[there], sample_weight=weight[there]
            )
            best = scores > judge.tree_.threshold[0]
            ours, theirs = (
                sum(impurity(labels[there & s], weight[there & s], False) for s in (part, ~part))
                for part in (side, best)
            )
            assert ours == pytest.approx(theirs, rel=1e-9)

    def test_trees_outgrow_their_first_tables(self):
        tree = Tree(*grown(1, n=5000, min_samples_leaf=1))
        assert tree.n_nodes > 1024
        assert Tree.from_dict(tree.to_dict(), 3, 3).n_nodes == tree.n_nodes


def test_shrinkage_follows_its_formula_along_every_path():
    tree = Tree(*grown(2))
    plain = Tree(*(array.copy() for array in tree.to_dict().values()))
    mass, shares = np.zeros(tree.n_nodes), np.zeros((tree.n_nodes, 3))
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.children[node, 0] < 0:
            mass[node], shares[node] = plain.masses[tree.slot[node]], plain.values[tree.slot[node]]
        else:
            mass[node] = mass[tree.children[node]].sum()
            shares[node] = mass[tree.children[node]] @ shares[tree.children[node]] / mass[node]
    tree.shrunken(4.0)
    parent = {child: node for node in range(tree.n_nodes) for child in tree.children[node] if child >= 0}
    for row, leaf in enumerate(tree.leaf_nodes.tolist()):
        expected, node = 0.0, leaf
        while node:  # value of the root plus all shortened differences on the path
            above = parent[node]
            expected = expected + (shares[node] - shares[above]) / (1.0 + 4.0 / mass[above])
            node = above
        np.testing.assert_allclose(tree.values[row], shares[0] + expected, atol=1e-12)


def test_traversal_goes_where_the_scores_say():
    X, tree = samples(3)[0], Tree(*grown(3))
    for x, leaf in zip(X, tree.leaves(X), strict=True):
        node = 0
        while tree.children[node, 0] >= 0:
            w, b = tree.normals[tree.slot[node]], tree.thresholds[tree.slot[node]]
            node = tree.children[node, int(x[0] * w[0] - x[1:] @ w[1:] > b)]
        assert node == leaf
    plain = load_source(traversal)[0]
    leaves = np.empty(len(X), dtype=np.intc)
    plain.find_leaves(X, tree.children, tree.slot, tree.splits, leaves)
    np.testing.assert_array_equal(leaves, tree.leaves(X))
