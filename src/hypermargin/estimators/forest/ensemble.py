"""What a tree and a forest share as classifiers: how samples are prepared, prediction, radii, text, storage."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hypermargin.arrays import Array, row_blocks
from hypermargin.data.ingest import unit_points
from hypermargin.estimators.forest.growing import BOUNDARIES, CRITERIA, GROUPINGS, SPLITS, CertifiedSplit, GrowthPlan
from hypermargin.estimators.forest.radius import certified_radius, nearest_adversarial
from hypermargin.estimators.forest.tree import Tree, TreeVote, describe
from hypermargin.estimators.inputs import canonical_order
from hypermargin.estimators.prediction import BlockPredictor
from hypermargin.estimators.radius import Coordinates
from hypermargin.geometry.isometries import boost, move_from_origin, move_to_origin, transform_normal
from hypermargin.geometry.lorentz import curvature_scale, lift
from hypermargin.geometry.mean import lorentz_centroid

#: Depth that no tree reaches: what ``max_depth=None`` means.
UNLIMITED = 2**62


class TreeEnsemble(BlockPredictor):
    """One or many trees whose values are averaged; subclasses have the parameters and grow them."""

    max_depth: int | None
    min_samples_leaf: int
    min_weight_fraction_leaf: float
    criterion: str
    grouping: str
    boundary: str
    n_candidates: int
    split_samples: int
    C: float
    shrinkage: float
    splits: str
    tol: float
    trees_: list[Tree]
    seeds_: list[int]
    frame_: Array
    certified_splits_: list[list[CertifiedSplit]]

    # -- fitting -----------------------------------------------------------------------------------------------------

    def _plan(self, X, y, sample_weight) -> tuple[GrowthPlan, np.ndarray]:
        """What the trees grow on, and the row of the plan of every sample passed (-1 for those of weight 0).

        Samples are put in an order that depends on their values only, and equal ones become one with the sum of their
        weights: a fit does not depend on the order of the samples, and a weight of 2 equals the sample twice.
        """
        settings = self._settings()
        given = self._labelled_samples(X, y, sample_weight)
        points = unit_points(given.X, self.geometry, self.curvature)  # the same order in all coordinates
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
        if not self._keeps_frame():
            self.frame_ = lorentz_centroid(points, weight)
        plan = GrowthPlan(
            X=self._in_frame(points),
            labels=labels,
            n_classes=given.classes.size,
            weight=weight,
            draws=self._draws(first.size),
            settings=settings,
            shrinkage=float(self.shrinkage),
            splits=self.splits,
            tol=float(self.tol),
        )
        return plan, rows

    def _keeps_frame(self) -> bool:
        """Whether trees of an earlier fit stay, whose frame all others must share."""
        return False

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

    def _adopt(self, plan: GrowthPlan, seeds: list[int], grown: list[tuple[Tree, list[CertifiedSplit]]]) -> None:
        """Set the fitted attributes from trees, their seeds and what proves their splits."""
        self.seeds_ = seeds
        self.trees_ = [tree for tree, _ in grown]
        self.certified_splits_ = [splits for _, splits in grown]
        if self.splits == "certified":
            self.points_ = plan.X

    def _check_fitted(self) -> None:
        check_is_fitted(self, "trees_")

    def _settings(self) -> dict[str, Any]:
        """Refuse parameters that make no sense; return those of a node."""
        self._check_space()
        whole = {"min_samples_leaf": 1, "split_samples": 2, "n_candidates": 1}
        if self.max_depth is not None:
            whole["max_depth"] = 1
        for name, least in whole.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
        named = {"criterion": CRITERIA, "grouping": tuple(GROUPINGS), "boundary": tuple(BOUNDARIES), "splits": SPLITS}
        for name, choices in named.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}; got {getattr(self, name)!r}")
        if not (isinstance(self.min_weight_fraction_leaf, Real) and 0.0 <= self.min_weight_fraction_leaf <= 0.5):
            raise ValueError(
                f"min_weight_fraction_leaf must lie between 0 and 0.5, got {self.min_weight_fraction_leaf!r}"
            )
        for name in ("C", "tol"):
            value = getattr(self, name)
            if not (isinstance(value, Real) and np.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} must be positive, got {value!r}")
        if not (isinstance(self.shrinkage, Real) and np.isfinite(self.shrinkage) and self.shrinkage >= 0.0):
            raise ValueError(f"shrinkage must be a finite number that is not negative, got {self.shrinkage!r}")
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
        space = Coordinates(self.geometry, self.curvature)

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
        self._check_fitted()
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

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "trees_" in state:
            state["_stored_trees"] = self._stored()
            for name in ("frame_", "seeds_", "trees_", "certified_splits_", "points_"):
                state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        stored = state.pop("_stored_trees", None)
        super().__setstate__(state)
        if stored is not None:
            self._restore(stored)
