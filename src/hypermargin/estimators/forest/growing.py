"""Trees from samples: what a node does, bootstrap samples, and many trees in threads."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track

from hypermargin.arrays import Array
from hypermargin.estimators.forest.certified import CertifiedSplit, grow_certified
from hypermargin.estimators.forest.compiled.grower import Grower
from hypermargin.estimators.forest.tree import Tree

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
