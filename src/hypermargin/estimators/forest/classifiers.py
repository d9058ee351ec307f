"""`HyperbolicTreeClassifier`, one tree of hyperplanes, and `HyperbolicForestClassifier`, many on bootstrap samples."""

import warnings
from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

from hypermargin.arrays import Array
from hypermargin.data.blocks import ingest_blocks
from hypermargin.data.inputs import data_source, is_blocked
from hypermargin.estimators.forest.blocked import USUAL_SAMPLES, centre_of, grow_blocked
from hypermargin.estimators.forest.ensemble import TreeEnsemble
from hypermargin.estimators.forest.growing import LARGEST_SEED, GrowthPlan, grow_trees
from hypermargin.estimators.forest.tree import Tree
from hypermargin.estimators.model_file import storable


@storable
class HyperbolicTreeClassifier(TreeEnsemble):
    """A decision tree whose splits are hyperplanes, hypercycles, horocycles and circles of hyperbolic space.

    At a node the classes are put in two groups; a balanced sample of both is separated by the w that minimises
    ``max(q(w), 0)/2 + C * risk``; and of a family of hyperplanes or curves that goes with w (`boundary`) the one is
    taken that parts all samples of the node so that impurity is least. Everything is invariant under isometries, in
    distribution.

    Parameters
    ----------
    max_depth : int, optional
        Most splits on a path; no limit by default.
    min_samples_leaf : int, default=5
        Distinct samples that a leaf holds at least. In nodes with a class that has fewer than 5 in the sample of the
        tree, as many as that class has are enough: otherwise no leaf could be its own.
    min_weight_fraction_leaf : float, default=0.0
        Share of the weight of all samples of the tree that a leaf holds at least.
    criterion : {"gini", "entropy"}, default="gini"
        What the threshold makes small.
    grouping : {"mixed", "random", "seeds", "one-vs-rest", "pairs", "hierarchy"}, default="mixed"
        How three or more classes are put in two groups: at random; each with the nearer of two random classes; one
        against the rest; two classes only, the others sit out; those that part last when the classes whose centroids
        have the lowest common ancestors are merged; "mixed" is one of the first three at each node.
    boundary : {"hyperplane", "curve", "mixed"}, default="mixed"
        What a split is: a hyperplane ``x * (w - s c) = 0``, where c is the centroid of the sample; a level set
        ``x * w = s``, which is a hypercycle, horocycle or circle; either of them at random for each candidate.
    n_candidates : int, default=3
        Splits tried at a node; the one with the least impurity is kept.
    split_samples : int, default=10
        Most samples of each group that the hyperplane of a node is fitted to.
    C : float, default=100.0
        Weight of the risk of each sample.
    shrinkage : float, default=2.0
        Draws the shares of the classes in a leaf towards those of the nodes above: a child of a node of n samples
        differs from it by ``1/(1 + shrinkage/n)`` of what it would. 0 leaves the shares as they are.
    splits : {"fast", "certified"}, default="fast"
        "fast" minimises roughly, in microseconds; "certified" solves every split to a proved optimum with the exact
        method and keeps the certificates.
    tol : float, default=1e-6
        Relative gap of certified splits.
    geometry : {"lorentz", "poincare", "klein", "halfspace", "tangent"}, default="lorentz"
        What the columns of X are.
    curvature : float, default=1.0
        The points lie in the space of curvature ``-curvature``.
    class_weight : dict or "balanced", optional
        Factors of `sample_weight` by class.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : (n_classes,) array
    tree_ : Tree
        Nodes, splits and values, in the frame that has `frame_` at the origin.
    frame_ : (d + 1,) array
        The centroid of the training points on the unit hyperboloid.
    certified_splits_ : list with one list of CertifiedSplit
        What proves the splits of the tree where they are certified; ``split.verify(model.points_)`` checks anew.
    points_ : (n, d + 1) array
        The distinct training points in the frame; kept with certified splits only.
    """

    def __init__(
        self,
        max_depth: int | None = None,
        min_samples_leaf: int = 5,
        min_weight_fraction_leaf: float = 0.0,
        criterion: str = "gini",
        grouping: str = "mixed",
        boundary: str = "mixed",
        n_candidates: int = 3,
        split_samples: int = 10,
        C: float = 100.0,
        shrinkage: float = 2.0,
        splits: str = "fast",
        tol: float = 1e-6,
        geometry: str = "lorentz",
        curvature: float = 1.0,
        class_weight=None,
        random_state=None,
    ):
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.criterion = criterion
        self.grouping = grouping
        self.boundary = boundary
        self.n_candidates = n_candidates
        self.split_samples = split_samples
        self.C = C
        self.shrinkage = shrinkage
        self.splits = splits
        self.tol = tol
        self.geometry = geometry
        self.curvature = curvature
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None) -> "HyperbolicTreeClassifier":
        """Fit to points X, shape (n, width), with labels y of any dtype, shape (n,), and weights (n,)."""
        plan, _ = self._plan(X, y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        self._adopt(plan, [seed], grow_trees(plan, [seed], None, False))
        return self

    @property
    def tree_(self) -> Tree:
        return self.trees_[0]

    def get_depth(self) -> int:
        """Splits on the longest path."""
        return self._one_tree().depth

    def get_n_leaves(self) -> int:
        return self._one_tree().n_leaves

    def apply(self, X) -> Array:
        """The leaf (its node) that each point falls in, shape (n,)."""
        points = self._in_frame(self._points(X))
        return self.tree_.leaves(points).astype(int)

    def to_text(self, max_depth: int | None = None) -> str:
        """The tree in words, a line for each node; `max_depth` cuts it off below."""
        return self._text(0, max_depth)

    def _one_tree(self) -> Tree:
        self._check_fitted()
        return self.tree_


@storable
class HyperbolicForestClassifier(TreeEnsemble):
    """A forest of trees whose splits are hyperplanes, hypercycles, horocycles and circles of hyperbolic space.

    The splits of each tree come from a bootstrap sample, as in a `HyperbolicTreeClassifier`, in compiled code and
    threads; the shares of the classes in its leaves come from all samples. Shares are averaged over trees. Everything
    is invariant under isometries, in distribution.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_depth, min_samples_leaf, min_weight_fraction_leaf, criterion, grouping, boundary, n_candidates, \
    split_samples, C, shrinkage, splits, tol
        As in `HyperbolicTreeClassifier`.
    bootstrap : bool, default=True
        Split each tree by samples drawn with replacement, in proportion to their weights, rather than by all.
    max_samples : int or float, optional
        How many to draw, as a number or a share; as many as there are distinct samples by default.
    oob_score : bool, default=False
        Score every sample by the trees that did not see it, with the shares of what they saw.
    geometry : {"lorentz", "poincare", "klein", "halfspace", "tangent"}, default="lorentz"
        What the columns of X are.
    curvature : float, default=1.0
        The points lie in the space of curvature ``-curvature``.
    class_weight : dict or "balanced", optional
        Factors of `sample_weight` by class.
    warm_start : bool, default=False
        Keep the trees of the last fit and add to them, up to `n_estimators`.
    n_jobs : int, optional
        Threads, as joblib has it; the answer does not depend on it.
    random_state : int, RandomState or None
    verbose : int, default=0
        1 or more shows a progress bar over the trees.

    Attributes
    ----------
    classes_ : (n_classes,) array
    trees_ : list of Tree
        Nodes, splits and values, in the frame that has `frame_` at the origin.
    estimators_ : list of HyperbolicTreeClassifier
        The trees as classifiers of their own.
    seeds_ : list of int
        The seed of each tree.
    frame_ : (d + 1,) array
        The centroid of the training points on the unit hyperboloid.
    oob_decision_function_ : (n, n_classes) array
        Shares of the classes by the trees that did not see a sample; NaN where all did. With ``oob_score=True``.
    oob_score_ : float
        Accuracy of these.
    certified_splits_ : list of lists of CertifiedSplit
        For each tree what proves its splits, where they are certified; ``split.verify(model.points_)`` checks anew.
    points_ : (n, d + 1) array
        The distinct training points in the frame; kept with certified splits only.
    """

    def __init__(
        self,
        n_estimators: int = 100,
        max_depth: int | None = None,
        min_samples_leaf: int = 5,
        min_weight_fraction_leaf: float = 0.0,
        criterion: str = "gini",
        grouping: str = "mixed",
        boundary: str = "mixed",
        n_candidates: int = 3,
        split_samples: int = 10,
        C: float = 100.0,
        shrinkage: float = 2.0,
        splits: str = "fast",
        tol: float = 1e-6,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: bool = False,
        geometry: str = "lorentz",
        curvature: float = 1.0,
        class_weight=None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state=None,
        verbose: int = 0,
    ):
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.criterion = criterion
        self.grouping = grouping
        self.boundary = boundary
        self.n_candidates = n_candidates
        self.split_samples = split_samples
        self.C = C
        self.shrinkage = shrinkage
        self.splits = splits
        self.tol = tol
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.geometry = geometry
        self.curvature = curvature
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None) -> "HyperbolicForestClassifier":
        """Fit to points X, shape (n, width), with labels y of any dtype, shape (n,), and weights (n,).

        X may live elsewhere, as for `HyperbolicSVC.fit`: each tree then grows on `max_samples` of the samples (100,000
        at most by default), on the workers of a Dask cluster where there is one.
        """
        self._check_forest()
        if is_blocked(X):
            return self._fit_elsewhere(X, y, sample_weight)
        earlier = self._trees_to_keep()
        if len(earlier) > self.n_estimators:
            raise ValueError(
                f"n_estimators is {self.n_estimators}, but with warm_start=True the {len(earlier)} trees of the last "
                "fit stay: ask for at least as many"
            )
        plan, rows = self._plan(X, y, sample_weight)
        seeds = check_random_state(self.random_state).randint(LARGEST_SEED, size=self.n_estimators).tolist()
        seeds = [*(self.seeds_ if earlier else []), *seeds[len(earlier) :]]
        grown = grow_trees(plan, seeds[len(earlier) :], self.n_jobs, self.verbose >= 1)
        self._adopt(plan, seeds, [*earlier, *grown])
        if self.oob_score:
            self._score_out_of_bag(plan, rows, y)
        return self

    def _fit_elsewhere(self, X, y, sample_weight) -> "HyperbolicForestClassifier":
        for wanted, setting in (
            (not self.bootstrap, "bootstrap=False"),
            (self.oob_score, "oob_score=True"),
            (self.warm_start, "warm_start=True"),
            (self.splits == "certified", "splits='certified'"),
        ):
            if wanted:
                raise ValueError(f"{setting} needs the samples in memory: leave it out, or pass a NumPy array")
        settings = self._settings()
        rows = data_source(X, y, sample_weight)
        classes, width, samples = ingest_blocks(rows, self)
        n, weight, frame = centre_of(samples.source)
        draws = self._draws(n if self.max_samples is not None else min(n, USUAL_SAMPLES)) or n
        empty = np.empty(0)
        plan = GrowthPlan(
            empty, empty, classes.size, None, None, settings, float(self.shrinkage), self.splits, float(self.tol)
        )
        seeds = check_random_state(self.random_state).randint(LARGEST_SEED, size=self.n_estimators).tolist()
        grown = grow_blocked(samples.source, plan, frame, draws / weight, seeds, self.n_jobs)
        self._note_columns(X, y, sample_weight, width)
        self.classes_, self.frame_ = classes, frame
        self._adopt(plan, seeds, grown)
        return self

    def _check_forest(self) -> None:
        count = self.n_estimators
        if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
            raise ValueError(f"n_estimators must be an integer of at least 1, got {count!r}")
        for name in ("bootstrap", "oob_score", "warm_start"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if not isinstance(self.verbose, Integral):
            raise ValueError(f"verbose must be an integer, got {self.verbose!r}")
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score=True needs bootstrap=True: otherwise every tree sees every sample")
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError("max_samples is the size of bootstrap samples; with bootstrap=False leave it None")

    def _trees_to_keep(self) -> list:
        """The trees of the last fit, with what proves their splits, where they are to stay."""
        if not self.warm_start or not hasattr(self, "trees_"):
            return []
        return list(zip(self.trees_, self.certified_splits_, strict=True))

    def _keeps_frame(self) -> bool:
        return bool(self._trees_to_keep())

    def _score_out_of_bag(self, plan: GrowthPlan, rows: np.ndarray, y) -> None:
        """Shares of the classes for every sample, from the trees whose bootstrap sample it was not in.

        Leaves hold the shares of all samples, so here they are counted again for the bootstrap sample alone.
        """
        total, seen = np.zeros((len(plan.X), plan.n_classes)), np.zeros(len(plan.X))
        for tree, seed in zip(self.trees_, self.seeds_, strict=True):
            in_bag = plan.sample_weights(seed)
            out = np.flatnonzero(in_bag == 0.0)
            part = np.zeros((out.size, plan.n_classes))
            plan.as_grown(tree, in_bag).add_to(part, plan.X[out])
            total[out] += part
            seen[out] += 1.0
        shares = np.full_like(total, np.nan)
        shares[seen > 0.0] = total[seen > 0.0] / seen[seen > 0.0, None]
        self.oob_decision_function_ = np.where(rows[:, None] >= 0, shares[rows], np.nan)
        judged = np.isfinite(self.oob_decision_function_[:, 0])
        if not judged.all():
            warnings.warn(
                f"{int(np.sum(~judged))} samples were in the bootstrap sample of every tree and have no out-of-bag "
                "score: use more trees",
                UserWarning,
                stacklevel=3,
            )
        answers = self.classes_[np.argmax(self.oob_decision_function_[judged], axis=1)]
        self.oob_score_ = float(np.mean(answers == np.asarray(y).ravel()[judged])) if judged.any() else np.nan

    def apply(self, X) -> Array:
        """The leaf (its node) that each point falls in, in every tree, shape (n, n_estimators)."""
        points = self._in_frame(self._points(X))
        return np.column_stack([tree.leaves(points) for tree in self.trees_]).astype(int)

    def to_text(self, index: int, max_depth: int | None = None) -> str:
        """Tree number `index` in words, a line for each node; `max_depth` cuts it off below."""
        return self._text(index, max_depth)

    @property
    def estimators_(self) -> list[HyperbolicTreeClassifier]:
        """Each tree as a classifier of its own, to predict with, print or draw."""
        self._check_fitted()
        settings = {name: getattr(self, name) for name in HyperbolicTreeClassifier().get_params()}
        found = []
        for tree, seed, splits in zip(self.trees_, self.seeds_, self.certified_splits_, strict=True):
            one = HyperbolicTreeClassifier(**settings)
            for name in ("classes_", "frame_", "n_features_in_", "feature_names_in_", "points_"):
                if hasattr(self, name):
                    setattr(one, name, getattr(self, name))
            one.trees_, one.seeds_, one.certified_splits_ = [tree], [seed], [splits]
            found.append(one)
        return found
