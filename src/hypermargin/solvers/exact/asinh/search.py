"""Branch and bound over boxes of w: the main loop of the exact method for the asinh loss.

A box is examined (`examine`): its samples are settled where that can be done, and the minimum of a convex model of the
objective over it is bounded. A box whose bound reaches the cutoff is proved and becomes a leaf; any other is halved, and
the halves start with the settled samples of the whole. The box with the least bound is next.
"""

import heapq
import itertools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.solvers.exact.asinh.compiled.model import Model
from hypermargin.solvers.exact.asinh.compiled.samples import Samples

#: Points in boxes are kept as multiples of 1/GRID of its half sides, weights of cuts as multiples of 1/WEIGHTS.
GRID, WEIGHTS = 2048, 1 << 20
#: Shares of the gap aimed at that settled samples and strict convexity may cost.
SETTLED, STRICT = 0.15, 0.03
#: How much of q(w)/2 is blamed on the sides at least, because w may be timelike or not.
CONE = 0.1
#: A side shorter than this share of the longest is not halved.
THINNEST = 1.0 / 32.0
STAY = 0.5
#: Cuts on one box at most.
MOST_CUTS = 16


@dataclass(eq=False)
class LeafProof:
    """What proves a leaf: the share `lam` of the margin term, touching points with weights, and the minimiser."""

    lam: float
    points: NDArray[np.int_]
    weights: list[int]
    minimiser: NDArray[np.int_]


@dataclass(eq=False)
class Node:
    """A box of the tree: its place, what is settled, and what became of it (`axis` of its split, or `proof`)."""

    centre: Array
    radius: Array
    point: Array
    sums: Array
    active: NDArray[np.intc]
    lam: float = 1.0
    bound: float = -np.inf
    axis: int = -1
    halves: tuple["Node", ...] = ()
    proof: LeafProof | None = None


@dataclass(eq=False)
class Search:
    """State of the search in the frame of the data; `upper` and `best` are the best objective and its point."""

    samples: Samples
    n_samples: int
    total_cost: float
    half_side: float
    best: Array
    upper: float
    tol: float
    allow_timelike: bool = False
    examined: int = 0
    work: int = 0
    history: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        k = self.best.size
        self._model = Model(k)
        self._slope, self._stress = np.empty(k), np.empty(k)
        self._order = itertools.count()
        self._heap: list[tuple[float, int, Node]] = []
        self._tried = 0
        self.root = Node(
            centre=np.zeros(k),
            radius=np.full(k, self.half_side),
            point=self.best,
            sums=np.zeros(1 + k + k * k),
            active=np.arange(self.n_samples, dtype=np.intc),
        )
        self._push(self.root)

    @property
    def lower(self) -> float:
        """The least bound of all boxes that are not proved yet; the cutoff when all are."""
        return max(0.0, self._heap[0][0]) if self._heap else self.cutoff

    @property
    def cutoff(self) -> float:
        return self.upper * (1.0 - self.tol)

    @property
    def finished(self) -> bool:
        return not self._heap or self._heap[0][0] >= self.cutoff

    def step(self) -> None:
        """Examine the box with the least bound, and halve it unless it is proved."""
        _, _, node = heapq.heappop(self._heap)
        self.examine(node)
        if node.proof is None:
            for half in self._split(node):
                self._push(half)

    def _push(self, node: Node) -> None:
        heapq.heappush(self._heap, (node.bound, next(self._order), node))

    # -- one box -----------------------------------------------------------------------------------------------------

    def examine(self, node: Node, most_cuts: int = MOST_CUTS) -> None:
        """Bound the objective on a box; sets `node.proof` where it reaches the cutoff, `node.axis` where not."""
        self.examined += 1
        if not self.allow_timelike and _timelike(node):
            node.proof, node.bound = LeafProof(1.0, np.zeros((0, 0), dtype=int), [], np.zeros(0, dtype=int)), np.inf
            return
        model, samples = self._model, self.samples
        room = self.tol * self.upper
        node.sums = node.sums.copy()
        allowed = SETTLED * room / self.total_cost
        self.work += node.active.size
        count = samples.settle(
            node.centre, node.radius, node.active, self.cutoff, allowed, node.sums
        )
        if count < 0:
            node.proof, node.bound = LeafProof(1.0, np.zeros((0, 0), dtype=int), [], np.zeros(0, dtype=int)), np.inf
            return
        node.active = samples.unsettled()
        model.start(node.centre, node.radius, node.sums, STRICT * room)
        model.add_cut(0.0, np.zeros_like(node.centre), np.zeros_like(node.centre))  # losses are not negative
        x = np.rint(np.clip((node.point - node.centre) / node.radius, -1.0, 1.0) * GRID) / GRID
        lowest, deepest = np.inf, x
        for round_ in range(most_cuts):
            value = samples.cut(node.centre + node.radius * x, self._slope)
            self.work += count
            model.add_cut(value, self._slope, x)
            bound = self._choose_share(node) if round_ == 0 else model.solve()
            node.bound = max(node.bound, bound)
            if bound >= self.cutoff and self._record(node):
                return
            reached = model.value(value, x)
            if reached < self.cutoff:  # no weights of cuts can prove the box
                break
            if reached < lowest:
                lowest, deepest = reached, x
            x = model.minimiser(GRID)
            if round_ % 3 != 2:  # halfway back: minimisers of few cuts jump about
                x = np.rint(GRID * (STAY * deepest + (1.0 - STAY) * x)) / GRID
        node.axis = self._side_to_halve(node, x)
        node.point = node.centre + node.radius * model.minimiser(GRID)
        self._try(node.point)

    def _side_to_halve(self, node: Node, x: Array) -> int:
        """The side that is most to blame for what the model is below the objective at x."""
        w = node.centre + node.radius * x
        self.samples.shortfall(w, node.radius, self._stress)
        blame = self._stress + 0.5 * self._model.chords() * (1.0 - x * x)
        q = float(w[1:] @ w[1:] - w[0] ** 2)
        spread = np.abs(w) * node.radius
        if spread.any():
            blame += 0.5 * abs(q) * max(1.0 - node.lam, CONE) * spread / spread.sum()
        blame[node.radius < THINNEST * node.radius.max()] = -1.0
        return int(np.argmax(blame))

    def _choose_share(self, node: Node) -> float:
        """Solve the model for the most promising shares of the margin term, and keep the best."""
        model = self._model
        model.choose(node.lam)
        best, bound = node.lam, model.solve()
        tried = {best}
        estimate = min(1.0, model.multiplier())
        if self.allow_timelike:
            estimate = max(0.0, estimate)
        for lam in (1.0, estimate, 0.0):
            if lam not in tried:
                tried.add(lam)
                model.choose(lam)
                other = model.solve()
                if other > bound:
                    best, bound = lam, other
        if model_share(model, best):
            bound = model.solve()
        node.lam = best
        return bound

    def _record(self, node: Node) -> bool:
        """Write down the proof of a leaf with rounded numbers, if it still is one."""
        model = self._model
        points, theta = model.weighted_points()
        weights = [round(WEIGHTS * share) for share in theta]
        total = sum(weights)
        model.set_weights([weight / total for weight in weights])
        model.round_minimiser(GRID)
        node.bound = model.bound()
        if node.bound < self.cutoff:
            return False
        x = np.rint(model.minimiser(GRID) * GRID).astype(int)
        node.proof = LeafProof(node.lam, np.rint(points * GRID).astype(int), weights, x)
        node.active, node.sums = node.active[:0], node.sums[:0]
        return True

    def _split(self, node: Node) -> tuple[Node, ...]:
        radius = node.radius.copy()
        radius[node.axis] *= 0.5
        halves = []
        for side in (-1.0, 1.0):
            centre = node.centre.copy()
            centre[node.axis] += side * radius[node.axis]
            halves.append(Node(centre, radius, node.point, node.sums, node.active, node.lam, node.bound))
        node.halves = tuple(halves)
        node.active, node.sums = node.active[:0], node.sums[:0]
        return node.halves

    def _try(self, w: Array) -> None:
        """Evaluate the objective at w, if enough other work has been done since the last time."""
        if self.work < self._tried + self.n_samples:
            return
        self._tried = self.work
        self.offer(w)

    def offer(self, w: Array) -> float:
        """The objective at w, moved onto the light cone if it is timelike; the best point is kept."""
        q = float(w[1:] @ w[1:] - w[0] * w[0])
        if q < 0.0 and not self.allow_timelike:
            length = float(np.linalg.norm(w[1:]))
            w = np.r_[w[0], w[1:] * (abs(w[0]) * (1.0 + 1e-15) / length)] if length > 0.0 else np.zeros_like(w)
            q = float(w[1:] @ w[1:] - w[0] * w[0])
        value = 0.5 * max(q, 0.0) + self.samples.risk(w)
        if value < self.upper:
            self.upper, self.best = value, w
        return value


def model_share(model: Model, lam: float) -> bool:
    """Go back to a share if the model has another."""
    if model.share() == lam:
        return False
    model.choose(lam)
    return True


def _timelike(node: Node) -> bool:
    """Whether all w of a box are timelike."""
    nearest = max(0.0, abs(node.centre[0]) - node.radius[0])
    farthest = np.abs(node.centre[1:]) + node.radius[1:]
    return bool(farthest @ farthest < nearest * nearest)
