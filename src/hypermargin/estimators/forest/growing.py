"""Trees from samples: bootstrap samples, many trees in threads, and splits that are solved to a proved optimum.

Splits are fast by default. Certified ones come from the exact method, at every node, and leave its certificates.

Of samples in blocks, every block draws its share of the bootstrap sample of a tree by itself: how often a sample is
drawn is a Poisson number, independent of other blocks. What was drawn meets on one worker, which grows the tree there;
of files and devices it meets here. Only drawn samples and trees travel.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track

from hypermargin.arrays import Array
from hypermargin.data.blocks import LabelledBlock
from hypermargin.data.device import to_numpy
from hypermargin.data.executors import DataSource
from hypermargin.estimators.forest.compiled.grower import Grower
from hypermargin.estimators.forest.tree import Tree
from hypermargin.geometry.isometries import move_to_origin
from hypermargin.geometry.lorentz import covector, lift
from hypermargin.geometry.mean import onto_hyperboloid
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
#: Samples in blocks that a tree grows on unless `max_samples` is given, and rows of a block on the host at a time.
USUAL_SAMPLES, ROWS_AT_A_TIME = 100_000, 1 << 22

#: A tree and what proves its splits where they are certified.
Grown = tuple[Tree, list["CertifiedSplit"]]
#: Distinct points, class indices and how often each was drawn.
Drawn = tuple[Array, np.ndarray, Array]


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
        return MarginProblem.unchecked(points[self.rows], self.signs, 1.0, self.costs, None, True)

    def verify(self, points: Array) -> float:
        """The lower bound of the objective, checked anew from the training points of the forest."""
        assert self.solution.certificate is not None
        return self.solution.certificate.verify(self.problem(points))

    def to_dict(self) -> dict[str, Any]:
        """Arrays and plain values only."""
        return {**vars(self), "solution": self.solution.to_dict()}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "CertifiedSplit":
        return cls(**{**state, "solution": Solution.from_dict(state["solution"])})


def grow_certified(grower: Grower, points: Array, tol: float) -> list[CertifiedSplit]:
    """Grow a tree with the exact method in place of the fast separator; one entry for each split of the tree."""
    kept = []
    while (node := grower.open_next()) >= 0:
        best = None
        for _ in range(grower.candidates()):
            rows, signs, costs = grower.draw()
            problem = MarginProblem.unchecked(points[rows], signs, 1.0, costs, None, True)
            solution = solve(problem, "exact", tol=tol)
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

    def grow(self, seed: int) -> Grown:
        """One tree, and where splits are certified, what proves them."""
        grower = Grower(self.X, self.labels, self.sample_weights(seed), self.n_classes, self.settings, seed)
        is_certified = self.splits == "certified"
        certified = grow_certified(grower, self.X, self.tol) if is_certified else []
        tree = Tree(*(grower.arrays() if is_certified else grower.grow()))
        if self.draws is not None:  # splits come from the bootstrap sample, shares from all samples
            tree = tree.filled(self.X, self.labels, np.ones(len(self.X)) if self.weight is None else self.weight)
        return tree.shrunken(self.shrinkage), certified

    def as_grown(self, tree: Tree, in_bag: Array) -> Tree:
        """The tree with the shares of its bootstrap sample only: what the samples out of it may be judged by."""
        drawn = np.flatnonzero(in_bag)
        return tree.filled(self.X[drawn], self.labels[drawn], in_bag[drawn]).shrunken(self.shrinkage)


def grow_trees(plan: GrowthPlan, seeds: Sequence[int], n_jobs: int | None, progress: bool) -> list[Grown]:
    """A tree for each seed, in their order; threads change nothing but the time."""
    done: Iterable = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")(
        delayed(plan.grow)(seed) for seed in seeds
    )
    if progress:
        done = track(done, "trees", total=len(seeds), console=Console(stderr=True))
    return list(done)


# -- samples in blocks -----------------------------------------------------------------------------------------------


def centre_of(source: DataSource) -> tuple[int, float, Array]:
    """The number of samples, their weight, and the centroid of the points, shape (d + 1,)."""
    sizes, weights, sums = zip(*source.map_blocks(_sums), strict=True)
    known = [total for size, total in zip(sizes, sums, strict=True) if size]
    return sum(sizes), float(sum(weights)), onto_hyperboloid(np.sum(known, axis=0) / sum(weights))


def grow_blocked(
    source: DataSource, plan: GrowthPlan, frame: Array, rate: float, seeds: Sequence[int], n_jobs: int | None
) -> list[Grown]:
    """A tree for each seed from samples that are drawn `rate` times for each unit of their weight.

    `plan` has the settings, and no samples yet; trees are grown in the frame that has `frame` at the origin.
    """
    return source.map_reduce(partial(_drawn, rate=rate), partial(_grown, plan=plan, frame=frame), list(seeds), n_jobs)


def _sums(samples: LabelledBlock) -> tuple[int, float, Array]:
    n, weight, total = int(samples.points.shape[0]), 0.0, None
    for start in range(0, n, ROWS_AT_A_TIME):
        points, _, own = _on_host(samples, slice(start, min(start + ROWS_AT_A_TIME, n)))
        own = np.ones(len(points)) if own is None else own
        weight += float(own.sum())
        total = own @ points if total is None else total + own @ points
    return n, weight, np.zeros(1) if total is None else total


def _drawn(samples: LabelledBlock, seed: int, rate: float) -> Drawn | None:
    """The part of a block in the sample of one tree: Poisson numbers of expectation ``rate * weight``."""
    n = int(samples.points.shape[0])
    if n == 0:
        return None
    ends, labels, _ = _on_host(samples, np.array([0, n - 1]))
    rng = np.random.default_rng([seed, zlib.crc32(ends.tobytes() + labels.tobytes()), n])
    if samples.weight is None:
        rows = rng.integers(0, n, rng.poisson(rate * n))
    else:
        masses = np.cumsum(to_numpy(samples.weight))
        chosen = rng.uniform(0.0, masses[-1], rng.poisson(rate * masses[-1]))
        rows = np.searchsorted(masses, chosen, side="right").clip(max=n - 1)
    rows, counts = np.unique(rows, return_counts=True)
    if rows.size == 0:
        return None
    points, labels, _ = _on_host(samples, rows)
    return points, labels, counts.astype(np.float64)


def _on_host(samples: LabelledBlock, rows: Any) -> tuple[Array, np.ndarray, Array | None]:
    """Some samples as NumPy arrays: unit points, class indices and weights."""
    if not samples.on_device:
        weight = None if samples.weight is None else samples.weight[rows]
        return samples.points[rows], np.asarray(samples.labels[rows]), weight
    xp = array_namespace(samples.points)
    places = rows if isinstance(rows, slice) else xp.asarray(rows, device=samples.points.device)
    labels, weight = (None if v is None else to_numpy(v[places]) for v in (samples.labels, samples.weight))
    return lift(to_numpy(samples.points[places])), np.asarray(labels), weight


def _grown(parts: list[Drawn | None], seed: int, plan: GrowthPlan, frame: Array) -> Grown:
    """The tree of what was drawn from all blocks."""
    found = [part for part in parts if part is not None]
    if not found:
        raise ValueError("the sample of a tree is empty: max_samples is too small")
    points, labels, counts = (np.concatenate(columns) for columns in zip(*found, strict=True))
    X = np.ascontiguousarray(move_to_origin(points, frame))
    return replace(plan, X=X, labels=labels.astype(np.intc), weight=counts, draws=None).grow(seed)
