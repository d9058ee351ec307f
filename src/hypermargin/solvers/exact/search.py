"""Best-first search over regions: the main loop of the exact method.

A region fixes the sign of t and a box of directions of wr (all of them at first). The region with the least lower bound
is advanced: it asks for the risk at a point, or is settled, or has to be split. Cuts are shared by all.
"""

import heapq
import itertools
import sys
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from hypermargin.geometry.lorentz import Array
from hypermargin.solvers.exact import kernel
from hypermargin.solvers.exact.cover import Box, faces

#: Numbers of the cuts that bound t, for t > 0 and t < 0: those at (1, 0, ..., 0) and (-1, 0, ..., 0).
TAIL_CUTS = (2, 3)
#: Numbers read in one step of the compiled loop at most, so that time limits are noticed.
WORK_PER_STEP = 4_000_000
#: More multiples of a lightlike point are tried if its objective exceeds the best one by no more than this, relatively.
NEARLY_BEST = 0.01
#: Multiples of one lightlike point to try at most.
MOST_SCALES = 2
#: Doublings of a lightlike w after which even the farthest sample has a margin of 1.
MOST_DOUBLINGS = 64


class Oracle(Protocol):
    """Risk at w and the cut there: ``w -> (risk, b, g)`` with ``risk(v) >= b + g.v`` for all v."""

    @property
    def arrays(self) -> tuple[Array, Array, float] | None:
        """What `kernel.hinge_rounds` needs to make passes by itself (points, weights, threshold), if it can."""

    def __call__(self, w: Array) -> tuple[float, float, Array]: ...


@dataclass(eq=False)
class Leaf:
    """A region of the search and the box of directions it covers (None: all)."""

    region: "kernel.Region"
    box: Box | None
    bound: float = -np.inf
    exhausted: bool = False


@dataclass(eq=False)
class Search:
    """State of the search; `history` holds (bound, objective) after each pass that was asked for by a region."""

    oracle: Oracle
    dim: int
    allow_timelike: bool = False
    upper: float = np.inf
    best: Array | None = None
    history: list[tuple[float, float]] = field(default_factory=list)
    max_passes: int = sys.maxsize
    n_passes: int = 0
    n_splits: int = 0

    def __post_init__(self) -> None:
        self.pool = kernel.CutPool(self.dim + 1)
        self._order = itertools.count()
        self._heap: list[tuple[float, int, Leaf]] = []

    @property
    def lower(self) -> float:
        """The bound so far; neither the margin term nor the risk is ever negative."""
        return max(0.0, self._heap[0][0]) if self._heap else 0.0

    @property
    def n_regions(self) -> int:
        return len(self._heap)

    @property
    def exhausted(self) -> bool:
        """Whether the bound cannot be raised any further in double precision."""
        return not self._heap or self._heap[0][2].exhausted

    @property
    def leaves(self) -> list[Leaf]:
        return [leaf for _, _, leaf in self._heap]

    def start(self, first: Array | None = None) -> None:
        """The first regions. A search without cuts begins with three passes, and one or two more for the point `first`.

        They give the risk at w = 0 and the two cuts that bound t (all of one class, none of the other). Where there are
        samples of one class only, or not enough passes are allowed, there are no regions, and the bound is 0.
        """
        origin = np.zeros(self.dim + 1)
        apex = origin.copy()
        apex[0] = 1.0
        if self.pool.count() == 1:
            self.evaluate(origin)
            if self.max_passes < 3:
                return
            self.evaluate(apex)
            self.evaluate(-apex)
        if first is not None:
            self.evaluate(first)
            if not self.allow_timelike and kernel.quadratic_form(first) < 0.0:
                self.evaluate(_lift(first))
        self.master = kernel.Master(self.pool)
        ahead, behind = (self._tail(cut) for cut in TAIL_CUTS)
        if ahead is None or behind is None:
            self._use_no_risk(apex if ahead is None else -apex)
            return
        self._add_half(1.0, TAIL_CUTS[0], *ahead)
        self._add_half(-1.0, TAIL_CUTS[1], *behind)

    def _use_no_risk(self, apex: Array) -> None:
        """With one class only, a lightlike w far out has every margin above 1."""
        w = _lift(apex)
        for _ in range(MOST_DOUBLINGS):
            if self.n_passes >= self.max_passes or self.evaluate(w) == 0.0:
                return
            w = 2.0 * w

    def rescaled(self, factor: float, oracle: Oracle) -> "Search":
        """A fresh search for the risk times `factor`, which `oracle` evaluates, with all cuts of this one."""
        other = Search(oracle, self.dim, self.allow_timelike, max_passes=self.max_passes)
        for c in range(1, self.pool.count()):
            b, g, w, risk = self.pool.cut(c)
            other._record(w, factor * risk, factor * b, factor * g)
        return other

    def step(self, tol: float) -> None:
        """Advance the weakest region. `tol` is the relative gap at which a region counts as settled."""
        _, _, leaf = heapq.heappop(self._heap)
        action, follow = self._rounds(leaf.region, tol)
        if action == kernel.STALLED and self._split(leaf):
            return
        leaf.exhausted = action in (kernel.STALLED, kernel.EXHAUSTED)
        if follow and self.n_passes < self.max_passes:
            self._follow_up(leaf.region.query_point(), tol)
        self._push(leaf)

    def _rounds(self, region: "kernel.Region", tol: float) -> tuple[int, bool]:
        """Passes for one region while it is the weakest; what it asked for last, and whether to follow that up."""
        rival = self._heap[0][0] if self._heap else np.inf
        arrays = self.oracle.arrays
        if arrays is not None:  # the same loop, compiled, for data in memory
            most = min(self.max_passes - self.n_passes, max(1, WORK_PER_STEP // arrays[0].size))
            action, passes, self.upper, cut, follow = kernel.hinge_rounds(
                region, self.pool, *arrays, self.upper, tol, rival, most, self.history
            )
            self.n_passes += passes
            if cut >= 0:
                self.best = self.pool.cut(cut)[2]
            return action, follow
        action = region.advance(self._target(tol))
        if action != kernel.QUERY:
            return action, False
        relaxed = self.evaluate(region.query_point())
        timelike = region.absorb(relaxed, self._target(tol))
        self.history.append((min(region.lower_bound(), rival), self.upper))
        return action, timelike or region.was_lifted()

    def _follow_up(self, w: Array, tol: float) -> None:
        """A region asked for a point in or on the light cone: try multiples of the lightlike point over it.

        The scale of a point on the cone is a dimension of its own: the relaxation says little about it, because its
        solution lies inside the cone. The cuts say which scale to try, and when there is no hope left on the ray.
        """
        w = _lift(w)
        for _ in range(MOST_SCALES):
            scale, promised = self.pool.best_scale(w)
            if promised >= self._target(tol) or self.n_passes >= self.max_passes:
                return
            if self.evaluate(scale * w) > (1.0 + NEARLY_BEST) * self.upper:
                return

    def evaluate(self, w: Array) -> float:
        """One pass over the data at w; returns the relaxed objective ``max(q, 0)/2 + risk`` there."""
        self.n_passes += 1
        return self._record(w, *self.oracle(w))

    def _record(self, w: Array, risk: float, b: float, g: Array) -> float:
        """Add a cut and update the best point."""
        self.pool.add(b, g, w, risk)
        q = kernel.quadratic_form(w)
        value = 0.5 * max(q, 0.0) + risk
        if value < self.upper and (self.allow_timelike or q >= 0.0):
            self.upper, self.best = value, w
        return value

    def _target(self, tol: float) -> float:
        return self.upper - tol * max(abs(self.upper), 1e-12)

    def _push(self, leaf: Leaf) -> None:
        leaf.bound = leaf.region.lower_bound()
        heapq.heappush(self._heap, (leaf.bound, next(self._order), leaf))

    def _add_half(self, sign: float, cut: int, reach: float, share: float) -> None:
        """The region of all w with this sign of t; `share` of the cut proves it beyond `reach`."""
        region = kernel.Region(self.master, sign, None, None, [0.0, reach], self.allow_timelike)
        region.add_tail(cut, share)
        region.begin()
        self._push(Leaf(region, None))

    def _split(self, leaf: Leaf) -> bool:
        """Replace a leaf by its children; False if it cannot be split further."""
        children = faces(self.dim) if leaf.box is None else leaf.box.halves()
        nodes = sorted({cell[0] for cell in leaf.region.proof_of(np.inf)} | {leaf.region.weakest_position()})
        for box in children:
            region = kernel.Region(self.master, leaf.region.side(), box, box.chord(), nodes, self.allow_timelike)
            region.inherit(leaf.region)
            self._push(Leaf(region, box))
        self.n_splits += bool(children)
        return bool(children)

    def _tail(self, cut: int) -> tuple[float, float] | None:
        """Where the tail begins, and the share of the tail's cut that proves it; None if the cut has no samples.

        The slope g of the cut is timelike, so a share theta of it bounds the objective from below by
        ``theta (b + (|g0| - |gr|) s)`` for every s beyond ``theta |gr|``, and this grows with s. The smallest s at
        which some theta <= 1 reaches the best objective known has ``theta = min(1, s / |gr|)``.
        """
        offset, slope, _, _ = self.pool.cut(cut)
        length = float(np.linalg.norm(slope[1:]))
        rise = abs(slope[0]) - length
        if rise <= 0.0:
            return None
        reach = (self.upper - offset) / rise
        if reach < length:
            reach = 2.0 * self.upper * length / (offset + np.sqrt(offset**2 + 4.0 * rise * self.upper * length))
        return reach, min(1.0, reach / length) if length > 0.0 else 1.0


def _lift(w: Array) -> Array:
    """The lightlike point over a timelike w: wr stretched to the length of t, rounded outwards."""
    length = float(np.linalg.norm(w[1:]))
    lifted = w.copy()
    if length == 0.0:
        lifted[1] = abs(w[0])
    else:
        lifted[1:] *= abs(w[0]) / length
    while kernel.quadratic_form(lifted) < 0.0:
        lifted[1:] *= 1.0 + 2.0**-52
    return lifted
