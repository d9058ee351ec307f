"""Cuts from the interior-point method, for many dimensions: one of them is as good as hundreds of plain ones.

First comes a local optimum over all w, whose weights are a cut. From there the weights for other slopes along t are had
almost for free (`LocalOptimum.tilted`), and with the two cuts that bound t they often prove all the rest. Where they do
not, regions need the minimum at some t. A cut with arbitrary weights would be n numbers; at an optimum all but a few
are 0 or k_i, so a cut is kept as the plain cut of its point and the shares of the samples in between.

`LocalOptimum` minimises ``q(w)/2 + R(w)`` over ``w = (t, wr)``. Its one concave direction is t; where the risk is
curved enough along t, which it is by far when samples are many, Newton's method does not notice. What it finds is a
local optimum, and the slope of its weights proves it near that t only: the search over t makes it global.

`FixedTimeOptimum` minimises ``max(|wr|^2 - s^2, 0)/2 + R(t, wr)`` at ``|t| = s``, which is convex, whether the solution
is spacelike or timelike: the excess is one more hinge, of cost 1 and the concave margin ``(s^2 - |wr|^2)/2``.
"""

import sys
import time

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates import SharedCut
from hypermargin.solvers.common.hinge_engine import Affine, HingeEngine
from hypermargin.solvers.exact.compiled.cuts import quadratic_form
from hypermargin.solvers.exact.compiled.master import phi
from hypermargin.solvers.exact.compiled.region import EXHAUSTED, QUERY
from hypermargin.solvers.exact.compiled.search import Leaf, Search
from hypermargin.solvers.exact.oracle import Oracle
from hypermargin.solvers.exact.screening import RECENT, has_many_samples
from hypermargin.solvers.exact.working_sets import Margins, WorkingSet

#: The search aims at this share of the tolerance, but not below the second number: rounding ends the method sooner than
#: single passes.
IPM_AIM_SHARE, IPM_LEAST_AIM = 0.1, 1e-9
#: Four times the iterations that an optimum takes.
MOST_ITERATIONS = 80
#: Moves of more than this times the reach of a working set are not believed: its affine term does not hold there.
FAR_OFF = 3.0
#: Where they are, the next working set has this share of the move for its reach: the next move will be smaller still.
NEXT = 0.4
#: Working sets to try before all samples are looked at: each is a read of them.
MOST_SETS = 6
#: Relative gap of a first look, in units of what a part of the samples leaves open: their dimension over their number.
FIRST_LOOK_GAP = 0.1
#: Relative gap for the first working set, which is nearly always a little too small.
FIRST_SET_GAP = 1e-5
#: Iterations in a row at timelike points, or where the risk is hardly curved along t, after which to stop. Few samples
#: decide then, as when the classes can be separated, and plain cuts, so many of them first, do well.
MOST_STRANGE, PLAIN_FIRST = 4, 300
#: Slopes along t beyond that of the optimum, in units of the distance r to which its own weights prove the tolerance. A
#: slope of x r beyond it proves the tolerance from r/2 to 2 x r, even if its bound is too low by x r^2 / 4.
TILTS = (1.0, 4.0, 16.0, 64.0)
#: Differences from the plain cut that are left out if the bound does not suffer, as shares of k_i: the coarsest that
#: will do, for the certificate names every sample that is left.
ROUNDINGS = (0.1, 0.01, 1e-3, 1e-5)
#: The curvature of the risk along t must be this many times that of ``-t^2/2`` for a full Newton step: at 1 the matrix
#: is singular.
CURVED = 2.0
#: Added to the matrix of `FixedTimeOptimum`, relative to its largest entry: with timelike solutions nothing else might.
RIDGE = 1e-14


class LocalOptimum(HingeEngine):
    """``q(w)/2 + sum_i k_i max(0, 1 - z_i.w)``, locally; `columns` has shape (d + 1, n)."""

    def __init__(self, columns: Array, costs: Array, affine: Affine | None = None):
        weights = np.ones(len(columns))
        weights[0] = 0.0
        super().__init__(columns, np.ones_like(costs), costs, weights, affine)

    def objective(self) -> float:
        return super().objective() - 0.5 * self.v[0] ** 2

    def bound(self) -> float:
        """The bound for all w with the present t."""
        return super().bound() - 0.5 * self.v[0] ** 2

    def tilted(self, change: float) -> Array:
        """Weights whose slope along t differs by about `change`, and which prove as much as those here, nearly.

        They come from the last factorisation: ``grad r - sum a z = 0`` with the gradient along t changed.
        """
        moved = self.a - self._weight * self._along(change * self._lever)
        return np.clip(moved, 0.0, self.costs)

    @property
    def is_curved(self) -> bool:
        """Whether the risk was curved enough along t at the last step."""
        return CURVED * self._lever[0] <= 1.0

    def _gradient(self) -> Array:
        gradient = self.weights * self.v
        gradient[0] = -self.v[0]
        return gradient

    def _factorise(self, weight: Array) -> bool:
        if not super()._factorise(weight):
            return False
        self._weight = weight
        apex = np.zeros(len(self.v))
        apex[0] = 1.0
        self._lever = super()._solve(apex)
        return True

    def _solve(self, right: Array) -> Array:
        """With the matrix less 1 in the corner of t (Sherman and Morrison), where it stays positive definite."""
        v, share = super()._solve(right), self._lever[0]
        return v + self._lever * (v[0] / (1.0 - share)) if self.is_curved else v


class FixedTimeOptimum(HingeEngine):
    """``max(|wr|^2 - s^2, 0)/2 + sum_i k_i max(0, o_i - z_ir.wr)``; `columns` has shape (d, n).

    Arrays over the samples have one entry more, that of the excess.
    """

    def __init__(self, columns: Array, offsets: Array, costs: Array, s: float, affine: Affine | None = None):
        self.s = s
        nothing = np.zeros(len(columns))
        super().__init__(columns, np.append(offsets, 0.0), np.append(costs, 1.0), nothing, affine)

    def objective(self) -> float:
        return self.risk() + max(0.0, self._excess())

    def risk(self) -> float:
        """The affine term and the hinges of the samples at v, without the excess."""
        hinges = float(self.costs[:-1] @ np.maximum(0.0, -self.margins[:-1]))
        return hinges + self.affine[0] + float(self.affine[1] @ self.v)

    def bound(self) -> float:
        """With the closed form of the least ``max(|wr|^2 - s^2, 0)/2 + gr.wr``."""
        length = float(np.linalg.norm(self.slope - self.a[-1] * self.v))
        return self.affine[0] + float(self.offsets[:-1] @ self.a[:-1]) + phi(self.s, length)

    def _excess(self) -> float:
        length = float(np.linalg.norm(self.v))
        return 0.5 * (length - self.s) * (length + self.s)

    def _margins(self) -> Array:
        return np.append(self.v @ self.columns - self.offsets[:-1], -self._excess())

    def _move_margins(self, rise: Array) -> None:
        """The margin of the excess is concave, so it falls short of its linear change; the slack makes up for it."""
        self.margins = self.margins + rise
        self.xi[-1] += self.margins[-1] + self._excess()
        self.margins[-1] = -self._excess()

    def _along(self, v: Array) -> Array:
        self.reads += 1
        return np.append(v @ self.columns, -self.v @ v)

    def _across(self, a: Array) -> Array:
        self.reads += 1
        return self.columns @ a[:-1] - a[-1] * self.v

    def _matrix(self, weight: Array) -> Array:
        matrix = super()._matrix(weight[:-1]) + weight[-1] * np.outer(self.v, self.v)
        matrix[np.diag_indices(len(matrix))] += self.a[-1] + RIDGE * matrix.max()
        return matrix


class InteriorPointCuts:
    """Cuts from the interior-point method in place of single passes, until directions have to be split."""

    def __init__(self, search: Search, oracle: Oracle) -> None:
        assert oracle.samples is not None  # else `make_search` takes another source
        self.search, self._threshold, self._samples = search, oracle.threshold, oracle.samples
        search.aim_share, search.least_aim = IPM_AIM_SHARE, IPM_LEAST_AIM
        if has_many_samples(oracle):
            search.passes_per_step = min(search.passes_per_step, RECENT)
        self._counted = self._samples.reads
        self._partial = 0.0  # passes over parts of the data that have not been counted yet
        self._plain_until = 0

    # -- before there are regions --------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """The cuts of a local optimum over all w, and of slopes beside it, if there is one that is easy to find."""
        before, reach, accuracy = None, np.inf, self._accuracy
        look = self._samples.first_look()
        if look is not None:
            rough = LocalOptimum(look.columns, look.costs)
            self._optimise(rough, look, FIRST_LOOK_GAP * len(look.columns) / look.deciding)
            before = self._samples.margins(rough.v)
            reach, accuracy = self._samples.reach(before), max(FIRST_SET_GAP, self._accuracy)
        for _ in range(MOST_SETS):
            chosen = self._samples.around(before, reach)
            if chosen is None:
                self._plain_until = sys.maxsize
                return
            accuracy = self._accuracy if chosen.window.is_everything else accuracy
            engine = LocalOptimum(chosen.columns, chosen.costs, chosen.affine)
            easy = self._optimise(engine, chosen, accuracy)
            self._evaluate(engine.v, chosen)
            if not easy or (self._saw_all(chosen, engine.risk()) and accuracy == self._accuracy):
                break
            before, reach = self._moved(before, reach)
            accuracy = self._accuracy
        self._add(engine.a, 0.1 * self._accuracy * self.search.upper, engine.v[0])
        if not easy:
            self._plain_until = self.search.n_passes + PLAIN_FIRST
            return
        reach = np.sqrt(self.search.tol * self.search.upper)
        for tilt in TILTS:
            for side in (1.0, -1.0):
                self._add(engine.tilted(side * tilt * reach), 0.25 * tilt * reach**2)

    def _optimise(self, engine: LocalOptimum, chosen: WorkingSet, accuracy: float) -> bool:
        """Iterate to the relative gap `accuracy`; False if a spacelike optimum is not in sight."""
        strange = 0
        for _ in range(MOST_ITERATIONS):
            value = engine.objective()
            if value - engine.bound() <= accuracy * abs(value) or not self._step(engine, chosen):
                break
            strange = strange + 1 if quadratic_form(engine.v) < 0.0 or not engine.is_curved else 0
            if strange > MOST_STRANGE:
                break
        return strange == 0 and engine.n_iter > 0

    # -- regions -------------------------------------------------------------------------------------------------------

    def rounds(self, leaf: Leaf, tol: float, rival: float) -> int:
        """Advance a leaf while it is the weakest, for some passes; returns what its region asked for last."""
        region = leaf.region
        if leaf.box is not None or self.search.n_passes < self._plain_until:
            return self.search.passes(leaf, tol, rival)
        target = self._target(tol)
        action = region.advance(target)
        if action == QUERY:
            if not self._solve_at(np.array(region.query), target, region.lower_bound()):
                return self.search.passes(leaf, tol, rival)
            timelike = region.absorb(self._relaxed, self._target(tol))
            if timelike:
                self.search.evaluator.follow_up(self._point, tol)
            self.search.history.extend((min(region.lower_bound(), rival), self.search.upper))
        # Rounding ends the interior-point method first.
        return self.search.passes(leaf, tol, rival) if action == EXHAUSTED else action

    def _target(self, tol: float) -> float:
        return self.search.upper - tol * max(abs(self.search.upper), 1e-12)

    def _solve_at(self, query: Array, target: float, lower: float) -> bool:
        """Add the cut of the minimum at the t of `query`, as far as it is needed; False if that could not be had."""
        t, before = query[0], self._samples.margins(query)
        reach = before.move_from(self._margins)
        for _ in range(MOST_SETS):
            chosen = self._samples.around(before, reach)
            if chosen is None:
                return False
            (b, g), columns = chosen.affine, chosen.columns
            engine = FixedTimeOptimum(columns[1:], 1.0 - t * columns[0], chosen.costs, abs(t), (b + g[0] * t, g[1:]))
            if not self._optimise_at(engine, chosen, target, lower):
                return False
            self._evaluate(np.append(t, engine.v), chosen)
            gap = engine.objective() - engine.bound()
            if self._saw_all(chosen, engine.risk(), gap):
                break
            before, reach = self._moved(before, reach)
        self._add(engine.a[:-1], 0.1 * max(gap, engine.bound() - target), t)
        return True

    def _optimise_at(self, engine: FixedTimeOptimum, chosen: WorkingSet, target: float, lower: float) -> bool:
        """Iterate until the target is proved with some room, or the gap is small beside what the region lacks."""
        for _ in range(MOST_ITERATIONS):
            value, bound = engine.objective(), engine.bound()
            gap = value - bound
            if gap <= max(0.1 * (target - lower), self._accuracy * abs(value)):
                return True
            if bound >= target and gap <= 0.3 * (value - target):
                return True
            if not self._step(engine, chosen):
                return False
        return False

    # -- the engine's work as passes and cuts --------------------------------------------------------------------------

    @property
    def _accuracy(self) -> float:
        return max(0.02 * self.search.tol, 1e-11)

    def _step(self, engine: HingeEngine, chosen: WorkingSet) -> bool:
        """A step of the engine over a working set, if there is time for it; its reads of the samples count."""
        self._count_reads()
        if self.search.n_passes >= self.search.evaluator.most_passes or time.perf_counter() >= self.search.deadline:
            return False
        before = engine.reads
        moved = engine.step()
        self._samples.reads += (engine.reads - before) * self._samples.share_read(chosen)
        return moved

    def _count_reads(self) -> None:
        """Count reads of the samples that are new; passes are counted once they add up to one."""
        reads = self._samples.reads - self._counted
        self._counted += reads
        self.search.evaluator.work += reads
        self._partial += reads / self._samples.reads_per_pass
        self.search.evaluator.passes += int(self._partial)
        self._partial -= int(self._partial)

    def _saw_all(self, chosen: WorkingSet, risk: float, gap: float = 0.0) -> bool:
        """Whether samples outside a working set do not matter at the point evaluated last; `risk` is that inside."""
        missed = self.search.pool.cut(self._plain)[3] - risk
        return chosen.window.is_everything or missed <= max(0.1 * gap, 0.1 * self._accuracy * self.search.upper)

    def _moved(self, before: Margins | None, reach: float) -> tuple[Margins, float]:
        """Margins to choose the next working set by, and how near to 1, after one of `reach` around `before` failed.

        If the working set was too small the iterate is unreliable: then the same margins, with a larger reach.
        """
        if before is None:
            return self._margins, reach
        move = self._margins.move_from(before)
        return (self._margins, NEXT * move) if move <= FAR_OFF * reach else (before, FAR_OFF * reach)

    def _evaluate(self, w: Array, chosen: WorkingSet) -> None:
        """A pass at w; its cut is what `_add` describes others by."""
        self._margins = self._samples.margins(w)
        self._chosen, self._flipped = chosen, self._samples.flipped(chosen, self._margins)
        self._count_reads()
        self._relaxed, self._point = self.search.evaluator.evaluate(w), w
        self._plain = self.search.pool.size - 1

    def _add(self, weights: Array, loss: float, t: float | None = None) -> None:
        """Add the cut of these weights of the last working set, which is described by the plain cut and differences.

        Differences are left out as long as the bound at t falls by at most `loss`; without t it is the best bound for
        any t. Where very many samples have flipped the set was no good, and neither would the cut be.
        """
        b, g, w, risk = self.search.pool.cut(self._plain)
        chosen, flipped = self._chosen, self._flipped
        if flipped is None:
            return
        inside, outside = weights / chosen.costs, (~flipped.marks).astype(np.float64)
        taken = _joined(w @ chosen.columns < self._threshold, flipped.marks)
        shares, costs = _joined(inside, outside), _joined(chosen.costs, flipped.costs)
        columns, names = _joined(chosen.columns, flipped.columns), _joined(chosen.names, flipped.names)
        difference = shares - taken
        wanted = self._value(b + float(difference @ costs), g - columns @ (difference * costs), t) - loss
        for least in (*ROUNDINGS, 0.0):
            part = np.where(np.abs(difference) > least, difference * costs, 0.0)
            offset, slope = b + float(part.sum()), g - columns @ part
            if self._value(offset, slope, t) >= wanted:
                break
        self.search.evaluator.record(w, risk, offset, slope)
        kept = np.flatnonzero(part)
        kept = kept[np.argsort(names[kept])]
        shared = SharedCut(self._plain, names[kept], np.clip(shares[kept], 0.0, 1.0), self._samples.named)
        self.search.shares[self.search.pool.size - 1] = shared

    @staticmethod
    def _value(b: float, g: Array, t: float | None) -> float:
        t = g[0] if t is None else t
        return b + g[0] * t + phi(abs(t), float(np.linalg.norm(g[1:])))


def _joined(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Along the samples."""
    return np.concatenate([first, second], axis=-1) if second.size else first
