"""`HyperbolicTreeClassifier`, one tree of hyperplanes, and `HyperbolicForestClassifier`, many on bootstrap samples."""

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hypermargin.arrays import Array, row_blocks
from hypermargin.data.blocks import ingest_blocks
from hypermargin.data.inputs import data_source, is_blocked
from hypermargin.estimators.base import (
    POSITIVE,
    TRUE_OR_FALSE,
    HyperbolicClassifier,
    PackedClassifier,
    at_least,
    keyword_only,
    one_of,
    or_none,
)
from hypermargin.estimators.forest.growing import (
    BOUNDARIES,
    CRITERIA,
    GROUPINGS,
    LARGEST_SEED,
    SPLITS,
    USUAL_SAMPLES,
    CertifiedSplit,
    Grown,
    GrowthPlan,
    centre_of,
    grow_blocked,
    grow_trees,
)
from hypermargin.estimators.forest.radius import certified_radius, nearest_adversarial
from hypermargin.estimators.forest.tree import Tree, TreeVote, describe
from hypermargin.estimators.inputs import canonical_order
from hypermargin.estimators.model_file import storable
from hypermargin.estimators.prediction import BlockPredictor
from hypermargin.estimators.radius import Coordinates
from hypermargin.geometry.isometries import boost, move_from_origin, move_to_origin, transform_normal
from hypermargin.geometry.lorentz import curvature_scale, lift
from hypermargin.geometry.mean import lorentz_centroid

#: Depth that no tree reaches: what ``max_depth=None`` means.
UNLIMITED = 2**62


@dataclass(eq=False, repr=False)
class TreeEnsemble(PackedClassifier, BlockPredictor):
    """One or many trees whose values are averaged: how samples are prepared, prediction, radii, text, storage."""

    max_depth: int | None = None
    min_samples_leaf: int = 5
    min_weight_fraction_leaf: float = 0.0
    criterion: str = "gini"
    grouping: str = "mixed"
    boundary: str = "mixed"
    n_candidates: int = 3
    split_samples: int = 10
    C: float = 100.0
    shrinkage: float = 2.0
    splits: str = "fast"
    tol: float = 1e-6

    RULES: ClassVar = {
        **HyperbolicClassifier.RULES,
        "max_depth": or_none(at_least(1)),
        "min_samples_leaf": at_least(1),
        "min_weight_fraction_leaf": (lambda v: isinstance(v, Real) and 0.0 <= float(v) <= 0.5, "between 0 and 0.5"),
        "criterion": one_of(CRITERIA),
        "grouping": one_of(GROUPINGS),
        "boundary": one_of(BOUNDARIES),
        "n_candidates": at_least(1),
        "split_samples": at_least(2),
        "C": POSITIVE,
        "shrinkage": (
            lambda v: isinstance(v, Real) and 0.0 <= float(v) < np.inf,
            "a finite number that is not negative",
        ),
        "splits": one_of(SPLITS),
        "tol": POSITIVE,
        "n_estimators": at_least(1),
        **dict.fromkeys(("bootstrap", "oob_score", "warm_start"), TRUE_OR_FALSE),
    }
    PACKED = ("trees_", "frame_", "seeds_", "certified_splits_", "points_")

    # -- fitting -----------------------------------------------------------------------------------------------------

    def _plan(self, X, y, sample_weight) -> tuple[GrowthPlan, np.ndarray]:
        """What the trees grow on, and the row of the plan of every sample passed (-1 for those of weight 0).

        Samples are put in an order that depends on their values only, and equal ones become one with the sum of their
        weights: a fit does not depend on the order of the samples, and a weight of 2 equals the sample twice.
        """
        settings = self._settings()
        given = self._labelled_samples(X, y, sample_weight)
        points = self._fitted_points(given)  # the same order in all coordinates
        order, first = canonical_order(points, given.labels)
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.repeat(np.arange(first.size), np.diff(np.append(first, order.size)))
        rows = np.full(len(np.asarray(y)), -1)
        rows[slice(None) if given.kept is None else given.kept] = place
        weight = given.weight
        if weight is not None or first.size < order.size:
            weight = np.add.reduceat(np.ones(order.size) if weight is None else weight[order], first)
            weight = weight / weight.mean()
        points, labels = points[order[first]], given.labels[order[first]].astype(np.intc)
        self.classes_ = given.classes
        if not self._trees_to_keep():
            self.frame_ = lorentz_centroid(points, weight)
        draws = self._draws(first.size)
        return self._plan_of(self._in_frame(points), labels, given.classes, weight, draws, settings), rows

    def _plan_of(self, X: Array, labels: np.ndarray, classes: np.ndarray, weight, draws, settings) -> GrowthPlan:
        shrinkage, tol = float(self.shrinkage), float(self.tol)
        return GrowthPlan(X, labels, classes.size, weight, draws, settings, shrinkage, self.splits, tol)

    def _trees_to_keep(self) -> list[Grown]:
        """The trees of the last fit that are to stay, whose frame all others must share."""
        return []

    def _draws(self, n: int) -> int | None:
        """The size of a bootstrap sample of n distinct samples; None where trees grow on all of them."""
        if not getattr(self, "bootstrap", False):
            return None
        most = getattr(self, "max_samples", None)
        if most is None:
            return n
        if isinstance(most, Integral) and not isinstance(most, bool) and int(most) >= 1:
            return int(most)
        if isinstance(most, Real) and not isinstance(most, Integral) and 0.0 < float(most) <= 1.0:
            return max(1, round(float(most) * n))
        raise ValueError(f"max_samples must be a share in (0, 1], a number of samples or None, got {most!r}")

    def _adopt(self, plan: GrowthPlan, seeds: list[int], grown: list[Grown]) -> None:
        """Set the fitted attributes from trees, their seeds and what proves their splits."""
        self.seeds_ = seeds
        self.trees_ = [tree for tree, _ in grown]
        self.certified_splits_ = [splits for _, splits in grown]
        if self.splits == "certified":
            self.points_ = plan.X

    def _settings(self) -> dict[str, Any]:
        """Refuse parameters that make no sense; return those of a node."""
        self._check_space()
        return {
            "max_depth": UNLIMITED if self.max_depth is None else int(self.max_depth),
            "min_samples_leaf": int(self.min_samples_leaf),
            "min_weight_fraction_leaf": float(self.min_weight_fraction_leaf),
            "split_samples": int(self.split_samples),
            "n_candidates": int(self.n_candidates),
            "C": float(self.C),
            "chances": GROUPINGS[self.grouping],
            "curve_chance": BOUNDARIES[self.boundary],
            "by_entropy": self.criterion == "entropy",
        }

    # -- prediction --------------------------------------------------------------------------------------------------

    def _in_frame(self, points: Array) -> Array:
        """Unit points moved by the isometry that takes `frame_` to the origin, shape (n, d + 1)."""
        moved = np.empty_like(points)
        for rows in row_blocks(len(points)):
            moved[rows] = move_to_origin(points[rows], self.frame_)
        return moved

    def _combined(self, points: Array, what: str) -> np.ndarray:
        """Shares of the classes for unit points, or the class with the largest if `what` is "winner"."""
        shares = self._vote().shares(self._in_frame(points), getattr(self, "n_jobs", None))
        return np.argmax(shares, axis=1) if what == "winner" else shares

    def _vote(self) -> TreeVote:
        return TreeVote(self.trees_, len(self.classes_))

    # -- robustness --------------------------------------------------------------------------------------------------

    def certified_radius(self, X) -> Array:
        """A distance within which the prediction of each point cannot change, shape (n,); infinite where it never does.

        A lower bound: the distance to each split is known in closed form, and so is how far off each leaf is at least;
        the answer cannot change before enough other leaves are within reach for a rival to draw level (see
        `forest.radius`). Distances are those of the space of curvature ``-curvature``.
        """
        points = self._in_frame(self._points(X))
        return certified_radius(points, self._vote()) / curvature_scale(self.curvature)

    def nearest_adversarial(self, X) -> tuple[Array, Array]:
        """The nearest point found that is predicted differently, in the coordinates of X, and its distance.

        Shapes (n, width) and (n,). Found by search along geodesics, so no nearer than `certified_radius`. Where none
        was found the row is NaN and the distance infinite.
        """
        space = Coordinates(self.geometry, self.curvature, self.n_features_in_)

        def as_seen(moved: Array) -> Array:
            return self._in_frame(space.written(move_from_origin(moved, self.frame_))[1])

        found, distance = nearest_adversarial(self._in_frame(self._points(X)), self._vote(), as_seen)
        coordinates, _ = space.written(move_from_origin(found, self.frame_))
        return coordinates, distance / curvature_scale(self.curvature)

    # -- what a tree looks like --------------------------------------------------------------------------------------

    def split_boundaries(self, index: int = 0) -> tuple[Array, Array]:
        """Normals w and thresholds b of the splits ``x * w = b`` of a tree, shapes (n_splits, d + 1) and (n_splits,).

        On the unit hyperboloid of the data. Row ``trees_[index].slot[node]`` is the split of a node; points with
        ``x * w > b`` go to its second child.
        """
        check_is_fitted(self, "trees_")
        tree = self.trees_[index]
        return transform_normal(tree.normals, boost(self.frame_)), tree.thresholds.copy()

    def _text(self, index: int, max_depth: int | None) -> str:
        normals, _ = self.split_boundaries(index)
        scale = curvature_scale(self.curvature)
        return describe(self.trees_[index], normals, self.classes_, scale, max_depth)

    # -- storage: arrays and plain values, for pickles, skops and model files alike ------------------------------------

    def _stored(self) -> dict[str, Any]:
        state = {
            "frame": self.frame_,
            "seeds": self.seeds_,
            "trees": [tree.to_dict() for tree in self.trees_],
            "certified": [[split.to_dict() for split in splits] for splits in self.certified_splits_],
        }
        return state | ({"points": self.points_} if self.splits == "certified" else {})

    def _restore(self, state: dict[str, Any]) -> None:
        frame = np.asarray(state["frame"], dtype=np.float64)
        if frame.ndim != 1 or frame.size < 2 or not np.allclose(lift(frame[1:]), frame) or not state["trees"]:
            raise ValueError("the frame of the trees is damaged")
        self.frame_, self.seeds_ = frame, [int(seed) for seed in state["seeds"]]
        self.trees_ = [Tree.from_dict(tree, frame.size, len(self.classes_)) for tree in state["trees"]]
        self.certified_splits_ = [[CertifiedSplit.from_dict(s) for s in splits] for splits in state["certified"]]
        if "points" in state:
            self.points_ = np.asarray(state["points"], dtype=np.float64)


@storable
@keyword_only
@dataclass(eq=False, repr=False)
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
    geometry, curvature, class_weight
        As in `HyperbolicSVC`.
    random_state : int, RandomState or None
    rim : {"clip", "drop", "error"}, default="clip"
        What is done with points beyond hyperbolic radius 18, as in `HyperbolicSVC`.

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

    Examples
    --------
    >>> from hypermargin import HyperbolicTreeClassifier
    >>> from hypermargin.datasets import make_gaussian_mixture
    >>> X, y = make_gaussian_mixture(60, 3, random_state=0, return_X_y=True)
    >>> model = HyperbolicTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> model.get_depth(), model.get_n_leaves()
    (1, 2)
    """

    geometry: str = "lorentz"
    curvature: float = 1.0
    class_weight: Any = None
    random_state: Any = None
    rim: str = "clip"

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
        check_is_fitted(self, "trees_")
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        check_is_fitted(self, "trees_")
        return self.tree_.n_leaves

    def apply(self, X) -> Array:
        """The leaf (its node) that each point falls in, shape (n,)."""
        points = self._in_frame(self._points(X))
        return self.tree_.leaves(points).astype(int)

    def to_text(self, max_depth: int | None = None) -> str:
        """The tree in words, a line for each node; `max_depth` cuts it off below."""
        return self._text(0, max_depth)


@dataclass(eq=False, repr=False)
class NumberOfTrees:
    """The parameter that a forest has before those of its trees: fields of the last base class come first."""

    n_estimators: int = 100


@storable
@keyword_only
@dataclass(eq=False, repr=False)
class HyperbolicForestClassifier(TreeEnsemble, NumberOfTrees):
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
    geometry, curvature, class_weight
        As in `HyperbolicSVC`.
    warm_start : bool, default=False
        Keep the trees of the last fit and add to them, up to `n_estimators`.
    n_jobs : int, optional
        Threads, as joblib has it; the answer does not depend on it.
    random_state : int, RandomState or None
    verbose : int, default=0
        1 or more shows a progress bar over the trees.
    rim : {"clip", "drop", "error"}, default="clip"
        What is done with points beyond hyperbolic radius 18, as in `HyperbolicSVC`.

    Attributes
    ----------
    classes_ : (n_classes,) array
    trees_ : list of Tree
        Nodes, splits and values, in the frame that has `frame_` at the origin.
    estimators_ : list of HyperbolicTreeClassifier
        The trees as classifiers of their own.
    seeds_ : list of int
        The seed of each tree.
    oob_decision_function_ : (n, n_classes) array
        Shares of the classes by the trees that did not see a sample; NaN where all did. With ``oob_score=True``.
    oob_score_ : float
        Accuracy of these.
    frame_, certified_splits_, points_
        As in `HyperbolicTreeClassifier`.

    Examples
    --------
    >>> from hypermargin import HyperbolicForestClassifier
    >>> from hypermargin.datasets import make_gaussian_mixture
    >>> X, y = make_gaussian_mixture(60, 3, random_state=0, return_X_y=True)
    >>> model = HyperbolicForestClassifier(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> len(model.trees_)
    50
    >>> bool(model.oob_score_ > 0.8)
    True
    """

    bootstrap: bool = True
    max_samples: int | float | None = None
    oob_score: bool = False
    geometry: str = "lorentz"
    curvature: float = 1.0
    class_weight: Any = None
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    rim: str = "clip"

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
        seeds = [*(self.seeds_ if earlier else []), *self._new_seeds()[len(earlier) :]]
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
        nothing = np.empty(0)
        plan = self._plan_of(nothing, nothing, classes, None, None, settings)
        seeds = self._new_seeds()
        grown = grow_blocked(samples.source, plan, frame, draws / weight, seeds, self.n_jobs)
        self._note_columns(X, y, sample_weight, width)
        self.classes_, self.frame_ = classes, frame
        self._adopt(plan, seeds, grown)
        return self

    def _check_forest(self) -> None:
        self._check_space()
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score=True needs bootstrap=True: otherwise every tree sees every sample")
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError("max_samples is the size of bootstrap samples; with bootstrap=False leave it None")

    def _new_seeds(self) -> list[int]:
        return check_random_state(self.random_state).randint(LARGEST_SEED, size=self.n_estimators).tolist()

    def _trees_to_keep(self) -> list[Grown]:
        if not self.warm_start or not hasattr(self, "trees_"):
            return []
        return list(zip(self.trees_, self.certified_splits_, strict=True))

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
        check_is_fitted(self, "trees_")
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
