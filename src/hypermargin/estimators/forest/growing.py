"""Trees from samples: bootstrap samples, many trees in threads, and splits that are solved to a proved optimum.

Splits are fast by default. Certified ones come from the exact method, at every node, and leave its certificates.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track

from hypermargin.arrays import Array
from hypermargin.estimators.forest.compiled.grower import Grower
from hypermargin.estimators.forest.tree import Tree
from hypermargin.geometry.lorentz import covector
from hypermargin.problems import MarginProblem
from hypermargin.solvers import Solution, solve

#: Chances of the ways to put the classes of a node in two groups: at random; each class with the nearer of two seed
#: classes; one class against the rest; two classes only; by the hierarchy of the classes' centroids.
GROUPINGS = {
    "mixed": (1.0, 1.0, 1.0, 0.0, 0.0),
    "random": (1.0, 0.0, 0.0, 0.0, 0.0),
    "seeds": (0.0, 1.0, 0.0, 0.0, 0.0),
    "one-vs-rest": (0.0, 0.0, 1.0, 0.0, 0.0),
    "pairs": (0.0, 0.0, 0.0, 1.0, 0.0),
    "hierarchy": (0.0, 0.0, 0.0, 0.0, 1.0),
}
#: The chance that a candidate is a level set of ``x * w`` rather than a hyperplane.
BOUNDARIES = {"hyperplane": 0.0, "curve": 1.0, "mixed": 0.5}
CRITERIA = ("gini", "entropy")
SPLITS = ("fast", "certified")
#: Seeds of trees are below this.
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True, eq=False)
class CertifiedSplit:
    """The problem behind a split, and its solution with the certificate.

    `node` is the node of the tree; `rows` are rows of the forest's training points `points_`, `signs` their sides and
    `costs` their weights in the risk.
    """

    node: int
    rows: np.ndarray
    signs: Array
    costs: Array
    solution: Solution

    def problem(self, points: Array) -> MarginProblem:
        """What was solved: minimise ``max(q(w), 0)/2 + risk`` over the sample of the node."""
        return _problem(points, self.rows, self.signs, self.costs)

    def verify(self, points: Array) -> float:
        """The lower bound of the objective, checked anew from the training points of the forest."""
        assert self.solution.certificate is not None
        return self.solution.certificate.verify(self.problem(points))

    def to_dict(self) -> dict[str, Any]:
        """Arrays and plain values only."""
        return {"node": self.node, "rows": self.rows, "signs": self.signs, "costs": self.costs} | {
            "solution": self.solution.to_dict()
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "CertifiedSplit":
        return cls(**{**state, "solution": Solution.from_dict(state["solution"])})


def _problem(points: Array, rows: np.ndarray, signs: Array, costs: Array) -> MarginProblem:
    return MarginProblem.unchecked(points[rows], signs, 1.0, costs, None, True)


def grow_certified(grower: Grower, points: Array, tol: float) -> list[CertifiedSplit]:
    """Grow a tree with the exact method in place of the fast separator; one entry for each split of the tree."""
    kept = []
    while (node := grower.open_next()) >= 0:
        best = None
        for _ in range(grower.candidates()):
            rows, signs, costs = grower.draw()
            solution = solve(_problem(points, rows, signs, costs), "exact", tol=tol)
            if grower.offer(covector(solution.w)):
                best = CertifiedSplit(node, rows, signs, costs, solution)
        if grower.close() and best is not None:
            kept.append(best)
    return kept


@dataclass(frozen=True, eq=False)
class GrowthPlan:
    """All that growing a tree depends on besides its seed.

    `X` (n, d + 1) are distinct points in the frame of the forest, `labels` (n,) indices of classes, `weight` (n,) with
    mean 1 or None. `draws` is the size of a bootstrap sample, None where every tree sees all samples.
    """

    X: Array
    labels: np.ndarray
    n_classes: int
    weight: Array | None
    draws: int | None
    settings: dict[str, Any]
    shrinkage: float
    splits: str
    tol: float

    def sample_weights(self, seed: int) -> Array:
        """Weights of the samples in the tree of this seed: how often each was drawn, or its own, shape (n,)."""
        n = len(self.X)
        if self.draws is None:
            return np.ones(n) if self.weight is None else self.weight
        rng = np.random.RandomState(seed)
        if self.weight is None:
            drawn = rng.randint(0, n, self.draws)
        else:  # in proportion to the weights, so that a weight of 2 equals the sample twice
            ends = np.cumsum(self.weight)
            drawn = np.searchsorted(ends, rng.uniform(0.0, ends[-1], self.draws), side="right").clip(max=n - 1)
        return np.bincount(drawn, minlength=n).astype(np.float64)

    def grow(self, seed: int) -> tuple[Tree, list[CertifiedSplit]]:
        """One tree, and where splits are certified, what proves them."""
        grower = Grower(self.X, self.labels, self.sample_weights(seed), self.n_classes, self.settings, seed)
        certified: list[CertifiedSplit] = []
        if self.splits == "certified":
            certified = grow_certified(grower, self.X, self.tol)
            arrays = grower.arrays()
        else:
            arrays = grower.grow()
        tree = Tree(*arrays)
        if self.draws is not None:  # splits come from the bootstrap sample, shares from all samples
            tree = tree.filled(self.X, self.labels, np.ones(len(self.X)) if self.weight is None else self.weight)
        return tree.shrunken(self.shrinkage), certified

    def as_grown(self, tree: Tree, in_bag: Array) -> Tree:
        """The tree with the shares of its bootstrap sample only: what the samples out of it may be judged by."""
        drawn = np.flatnonzero(in_bag)
        return tree.filled(self.X[drawn], self.labels[drawn], in_bag[drawn]).shrunken(self.shrinkage)


def grow_trees(
    plan: GrowthPlan, seeds: Sequence[int], n_jobs: int | None, progress: bool
) -> list[tuple[Tree, list[CertifiedSplit]]]:
    """A tree for each seed, in their order; threads change nothing but the time."""
    done: Iterable = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")(
        delayed(plan.grow)(seed) for seed in seeds
    )
    if progress:
        done = track(done, "trees", total=len(seeds), console=Console(stderr=True))
    return list(done)
