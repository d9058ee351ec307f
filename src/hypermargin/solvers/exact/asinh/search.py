"""The asinh objective to proven global optimality: branch and bound over boxes of w (docs/asinh.md).

A box is examined by settling samples and adding cuts. If its bound reaches the cutoff it is proved and becomes a leaf;
if not, it is bisected, and its halves start with its settled samples. The box with the least bound is next.

That nothing lies outside the first box is shown for directions of w, covered by pieces of the surface of the unit cube.
"""

import heapq
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.certificates import AsinhCertificate, CertificateError
from hypermargin.certificates.asinh.certificate import ends_of_chords
from hypermargin.certificates.asinh.proof import GRID, WEIGHTS, BoxLeaf, Frame
from hypermargin.certificates.core.certificate import Answer
from hypermargin.geometry.exact_normals import pushed_out
from hypermargin.geometry.isometries import boost, inverse, rotation
from hypermargin.geometry.lorentz import covector
from hypermargin.geometry.mean import lorentz_centroid
from hypermargin.problems.losses import get_loss
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Status
from hypermargin.solvers.exact.asinh.compiled.model import Model
from hypermargin.solvers.exact.asinh.compiled.samples import Samples
from hypermargin.solvers.exact.compiled.search import bisected, faces
from hypermargin.solvers.exact.frames import first_frame
from hypermargin.solvers.exact.oracle import side_of
from hypermargin.solvers.exact.runs import best_along_axes, checked_outcome, history_dict

#: Boxes that a search may hold with samples of their own, in numbers of samples (200 MB of indices): beyond it the
#: newest box is next.
MOST_HELD = 50_000_000
#: Pieces to try for one S, ten times what most problems need, and how S grows when they are not enough: it stays a
#: power of two, and 2^80 is beyond any optimum in doubles.
MOST_PIECES, SIDE_GROWTH, MOST_GROWTHS = 4_000, 2.0, 80
#: All of a piece is timelike, for the check too, where q of its vectors is less than minus this: far above the rounding
#: of sums of d + 1 squares.
SURELY = 1e-9
#: The pieces of one face in preorder: the axis a piece is halved across, or -1 for one that is proved.
Pieces = list[int]
#: Shares of the gap aimed at that settled samples and strict convexity may cost: most is left to the boxes.
SETTLED_SHARE, STRICT_SHARE = 0.15, 0.03
#: Quadratics that serve one box only may be this much worse (200 to 600 measured best): a few of them are, at most.
LEAF = 300.0
#: Where the cut that says no more than this touches: outside all boxes, in their coordinates.
NOWHERE = 2.0
#: How much of q(w)/2 is blamed on the sides at least, because w may be timelike or not.
CONE_SHARE = 0.1
#: A side shorter than this share of the longest is not halved.
THINNEST = 1.0 / 32.0
#: Cuts on one box at most, in a proof and in a step of local descent: a box that needs more is halved sooner.
CUTS_PER_BOX, DESCENT_CUTS = 16, 8
#: The share of the tolerance that the search aims at; the rest is room for the check, which rounds to the safe side.
AIM = 0.9
#: What the check of a certificate costs, and the last look at a box that is left open, in times of the search for it.
CHECK_COST, CLOSE_COST = 1.0, 1.0
#: Searches to make at most until the check proves the gap: each begins with a better point.
MOST_SEARCHES = 3
#: The share of the cost with which every sample counts, so that there is a mean where none bends the objective.
EVERY = 1e-9
#: Samples at the kink, up to the accuracy of the point, bend the objective as well.
KINK = 1.0 + 1e-3
#: Radians by which axes are turned off those of the samples: in few samples faces of boxes would meet zeros of margins.
TURN = 0.01


asinh_loss = get_loss("asinh").value


class Objective:
    """The objective in the frame of the search, with the best point found so far."""

    def __init__(self, Z: Array, doubt: Array, costs: Array, allow_timelike: bool) -> None:
        self.samples = Samples(Z, costs, doubt, ends_of_chords())
        self.Z, self.costs, self.n_samples, self.total_cost = Z, costs, len(Z), float(costs.sum())
        self.allow_timelike = allow_timelike
        self.best, self.upper = np.zeros(Z.shape[1]), np.inf
        self.offer(self.best)

    def offer(self, w: Array) -> tuple[Array, float]:
        """w, moved onto the light cone if it is timelike and must not be, and the objective there."""
        q = _form(w)
        if q < 0.0 and not self.allow_timelike:
            length = float(np.linalg.norm(w[1:]))
            w = np.r_[w[0], w[1:] * (abs(w[0]) * (1.0 + 1e-15) / length)] if length > 0.0 else np.zeros_like(w)
            q = _form(w)
        value = 0.5 * max(q, 0.0) + float(self.costs @ asinh_loss(self.Z @ w))
        if value < self.upper:
            self.upper, self.best = value, w
        return w, value


@dataclass(eq=False)
class Box:
    """A box of the tree: its place, what is settled, and what became of it (`axis` of its split, or `proof`)."""

    centre: Array
    radius: Array
    point: Array
    sums: Array
    active: NDArray[np.intc]
    lam: float = 1.0
    bound: float = -np.inf
    axis: int = -1
    halves: tuple["Box", ...] = ()
    proof: BoxLeaf | None = None

    @classmethod
    def around(cls, centre: Array, half_side: float, point: Array, n_samples: int) -> "Box":
        """A cube in which no sample is settled yet."""
        k = centre.size
        everything = np.arange(n_samples, dtype=np.intc)
        return cls(centre, np.full(k, half_side), point, np.zeros(2 + k + k * k), everything)

    def close(self, proof: BoxLeaf | None = None, bound: float | None = None) -> None:
        """Let go of the arrays that only open boxes need; with a proof the box is a leaf of this bound."""
        self.proof, self.bound = proof, self.bound if bound is None else bound
        self.active, self.sums = self.active[:0], self.sums[:0]


class Examiner:
    """Bounds boxes one after the other; `examined` counts them, `work` the samples looked at."""

    def __init__(self, objective: Objective) -> None:
        k = objective.best.size
        self.objective = objective
        self.examined, self.work = 0, 0
        self._model = Model(k)
        self._slope, self._parts, self._zeros = np.empty(k), np.empty(k), np.zeros(k)
        self._tried = 0

    def examine(self, box: Box, cutoff: float, room: float, settle_for_less: bool = False) -> None:
        """Bound the objective on a box; sets `box.proof` where that reaches the cutoff, `box.axis` where not.

        `room` is the absolute gap aimed at. With `settle_for_less` the best bound is recorded as proof in any case.
        """
        self.examined += 1
        model = self._model
        void = form_range(box.centre - box.radius, box.centre + box.radius)[1] < 0.0  # all timelike
        infeasible = void and not self.objective.allow_timelike
        if infeasible or not self._settle(box, cutoff, room):
            k = box.centre.size
            box.close(BoxLeaf(1.0, np.zeros((0, k)), np.zeros(0), np.zeros(k)), np.inf)
            return
        x = self._nearest(box, box.point)
        lowest, deepest = np.inf, x
        for round_ in range(CUTS_PER_BOX):
            value = self._cut(box, x)
            bound = self._choose_share(box) if round_ == 0 else model.solve()
            if bound >= cutoff and self._record(box, cutoff):
                return
            box.bound = max(box.bound, min(bound, cutoff))
            reached = model.value(value, x)
            if reached < cutoff:  # no weights of cuts can prove the box
                break
            if reached < lowest:
                lowest, deepest = reached, x
            x = model.minimiser(GRID)
            if round_ % 3 != 2:  # halfway back: minimisers of few cuts jump about
                x = np.rint(0.5 * GRID * (deepest + x)) / GRID
        if settle_for_less:
            self._record(box, -np.inf)
            return
        box.axis = self._side_to_halve(box, x)
        box.point = box.centre + box.radius * model.minimiser(GRID)
        if self.work >= self._tried + self.objective.n_samples:  # a pass over all samples must not cost too much
            self._tried = self.work
            self.objective.offer(box.point)

    def halve(self, box: Box) -> tuple[Box, ...]:
        """The halves of a box that `examine` could not prove."""
        radius = box.radius.copy()
        radius[box.axis] *= 0.5
        halves = []
        for side in (-1.0, 1.0):
            centre = box.centre.copy()
            centre[box.axis] += side * radius[box.axis]
            halves.append(Box(centre, radius, box.point, box.sums, box.active, box.lam, box.bound))
        box.halves = tuple(halves)
        box.close()
        return box.halves

    def model_minimiser(self, box: Box, room: float) -> Array:
        """Where the model of a box is least, up to `room`."""
        model = self._model
        if not self._settle(box, self.objective.upper, room):
            return box.point
        x = self._nearest(box, box.point)
        for round_ in range(DESCENT_CUTS):
            value = self._cut(box, x)
            bound = self._choose_share(box) if round_ == 0 else model.solve()
            if model.value(value, x) - bound <= room:
                break
            x = model.minimiser(GRID)
        return box.centre + box.radius * model.minimiser(1 << 40)

    # -- steps -------------------------------------------------------------------------------------------------------

    def _settle(self, box: Box, cutoff: float, room: float) -> bool:
        """Settle samples and start the model; False where a sample alone proves the box."""
        objective, samples = self.objective, self.objective.samples
        box.sums = box.sums.copy()
        self.work += box.active.size
        allowed = SETTLED_SHARE * room / objective.total_cost
        if not samples.settle_below(box.centre, box.radius, box.active, cutoff, allowed, box.sums, True):
            return False
        box.active = samples.unsettled()
        sums = box.sums.copy()
        samples.settle_below(box.centre, box.radius, box.active, cutoff, LEAF * allowed, sums, False)
        self._model.start(box.centre, box.radius, sums[1:], STRICT_SHARE * room)  # the first is for the check: sizes
        self._model.add_cut(0.0, self._zeros, NOWHERE + self._zeros)  # losses are not negative
        return True

    def _nearest(self, box: Box, w: Array) -> Array:
        """The point of the box nearest to w, in its coordinates and on the grid."""
        return np.rint(np.clip((w - box.centre) / box.radius, -1.0, 1.0) * GRID) / GRID

    def _cut(self, box: Box, x: Array) -> float:
        """Add the cut at x; returns the sum of the envelopes there."""
        value = self.objective.samples.cut(box.centre + box.radius * x, self._slope)
        self.work += box.active.size
        self._model.add_cut(value, self._slope, x)
        return value

    def _choose_share(self, box: Box) -> float:
        """Solve the model for the most promising shares of the margin term, and keep the best."""
        model = self._model
        model.choose(box.lam)
        best, bound = box.lam, model.solve()
        estimate = min(1.0, model.multiplier())
        if self.objective.allow_timelike:
            estimate = max(0.0, estimate)
        chosen = box.lam
        for lam in dict.fromkeys((1.0, estimate, 0.0)):
            if lam != box.lam:
                model.choose(lam)
                chosen, other = lam, model.solve()
                if other > bound:
                    best, bound = lam, other
        box.lam = best
        if chosen != best:
            model.choose(best)
            bound = model.solve()
        return bound

    def _side_to_halve(self, box: Box, x: Array) -> int:
        """The side that is most to blame for what the model is below the objective at x."""
        w = box.centre + box.radius * x
        self.objective.samples.shortfall(w, box.radius, self._parts)
        blame = self._parts + 0.5 * self._model.chords() * (1.0 - x * x)
        spread = np.abs(w) * box.radius
        if spread.any():
            blame += 0.5 * abs(_form(w)) * max(1.0 - box.lam, CONE_SHARE) * spread / spread.sum()
        blame[box.radius < THINNEST * box.radius.max()] = -1.0
        return int(np.argmax(blame))

    def _record(self, box: Box, cutoff: float) -> bool:
        """Write down the proof of a leaf with rounded numbers, if it still is one."""
        model = self._model
        points, theta = model.weighted_points()
        weights = np.rint(WEIGHTS * theta)
        model.set_weights((weights / weights.sum()).tolist())
        weights = np.floor(WEIGHTS * weights / weights.sum())
        model.round_minimiser(GRID)
        bound = model.bound()
        if bound < cutoff:
            return False
        x = np.rint(model.minimiser(GRID) * GRID)
        real = points[:, 0] < NOWHERE
        box.close(BoxLeaf(box.lam, np.rint(points[real] * GRID), weights[real], x), bound)
        return True


def _form(w: Array) -> float:
    return float(w[1:] @ w[1:] - w[0] * w[0])


class Search:
    """State of the search over the cube ``|w_j| <= half_side`` for the gap `tol`; `directions` prove the rest."""

    def __init__(self, objective: Objective, half_side: float, directions: list[Pieces], tol: float) -> None:
        self.objective, self.half_side, self.directions, self.tol = objective, half_side, directions, tol
        self.examiner = Examiner(objective)
        self.history: list[float] = []
        self._order = itertools.count()
        self._heap: list[tuple[float, int, Box]] = []
        self._held, self._weakest = 0, np.inf
        self._newest: list[Box] = []
        self.root = Box.around(np.zeros(objective.best.size), half_side, objective.best, objective.n_samples)
        self._push(self.root)

    @classmethod
    def over_cube(cls, objective: Objective, tol: float) -> "Search | None":
        """The search over a cube whose half side is a power of two; None if there seems to be none that will do."""
        largest = max(float(np.abs(objective.best).max()), 2.0**-40)
        half_side = 2.0 ** np.ceil(np.log2(2.0 * largest))
        for _ in range(MOST_GROWTHS):
            cover = _cover(objective, half_side, objective.upper * (1.0 - tol))
            if cover is not None:
                return cls(objective, half_side, cover, tol)
            half_side *= SIDE_GROWTH
        return None

    @property
    def cutoff(self) -> float:
        """The bound that has to be proved."""
        return self.objective.upper * (1.0 - self.tol)

    @property
    def lower(self) -> float:
        """The least bound of the boxes that are not proved yet; the cutoff when all are."""
        newest = min((box.bound for box in self._newest), default=np.inf)
        return max(0.0, min(self.cutoff, newest, self._heap[0][0] if self._heap else np.inf))

    @property
    def proved(self) -> float:
        """The least bound of all leaves, once `close` has given every box one; at most the cutoff."""
        return max(0.0, min(self.cutoff, self._weakest))

    @property
    def n_open(self) -> int:
        """Boxes that are not proved. A bound that a half has from the whole is no proof of the half."""
        return len(self._heap) + len(self._newest)

    def step(self) -> None:
        """Examine the next box, and halve it unless it is proved."""
        box = self._newest.pop() if self._newest else heapq.heappop(self._heap)[2]
        self._held -= box.active.size
        self.examiner.examine(box, self.cutoff, self.tol * self.objective.upper)
        if box.proof is None:
            halves = self.examiner.halve(box)
            self._held += sum(half.active.size for half in halves)
            for half in halves:
                self._newest.append(half) if self._held > MOST_HELD else self._push(half)
        if self.examiner.examined % 64 == 1:
            self.history.extend((self.lower, self.objective.upper))

    def close(self) -> None:
        """Give every box that is left a proof of its own, however weak: the bound of a search that was ended early."""
        for box in [*(box for _, _, box in self._heap), *self._newest]:
            self.examiner.examine(box, self.cutoff, self.tol * self.objective.upper, settle_for_less=True)
            self._weakest = min(self._weakest, box.bound)
        self._heap, self._newest = [], []

    def certificate(self, frame: Array) -> AsinhCertificate:
        """The proof, once `close` has given every box one: the tree of boxes in preorder."""
        allowed = SETTLED_SHARE * self.tol * self.objective.upper / self.objective.total_cost
        tree, leaves, waiting = [], [], [self.root]
        while waiting:
            box = waiting.pop()
            tree.append(box.axis if box.halves else -1)
            if box.proof is not None:
                leaves.append(box.proof)
            waiting.extend(reversed(box.halves))
        return AsinhCertificate(
            frame=frame,
            half_side=self.half_side,
            cutoff=self.cutoff,
            settled=allowed,
            leaf_settled=LEAF * allowed,
            directions=tuple(map(tuple, self.directions)),
            tree=tuple(tree),
            leaves=tuple(leaves),
            whole_intervals=True,
        )

    def _push(self, box: Box) -> None:
        heapq.heappush(self._heap, (box.bound, next(self._order), box))


def polish(objective: Objective, start: Array, tol: float) -> None:
    """Descend from a point: minimise the model on a box around it, which shrinks where that does not help."""
    examiner = Examiner(objective)
    w, value = objective.offer(start)
    size = max(0.5 * float(np.abs(w).max()), 1e-3)
    smallest = max(1e-6, 0.01 * tol) * size  # the search itself finds the last digits
    while size > smallest:
        box = Box.around(w, size, w, objective.n_samples)
        trial, trial_value = objective.offer(examiner.model_minimiser(box, 0.1 * tol * value))
        if trial_value < value * (1.0 - 0.01 * tol):
            w, value = trial, trial_value
        else:
            size *= 0.2


def _cover(objective: Objective, half_side: float, cutoff: float) -> list[Pieces] | None:
    """The pieces of the faces of the cube that prove what is outside; None if too many would be needed."""
    samples, cover, left = objective.samples, [], MOST_PIECES
    for face in faces(objective.best.size):
        pieces: Pieces = []
        waiting = [(face, np.arange(objective.n_samples, dtype=np.intc))]
        while waiting:
            if len(pieces) > left:
                return None
            piece, active = waiting.pop()
            least, most = form_range(piece.low, piece.high)
            margin_term = 0.5 * half_side**2 * max(0.0, least)
            proved = (most < -SURELY and not objective.allow_timelike) or margin_term >= cutoff
            if proved or margin_term + samples.outside(piece.low, piece.high, half_side, active) >= cutoff:
                pieces.append(-1)
                continue
            active = samples.unsettled()
            pieces.append(int(np.argmax(piece.high - piece.low)))
            waiting.extend((half, active) for half in reversed(bisected(piece)))
        left -= len(pieces)
        cover.append(pieces)
    return cover


def form_range(low: Array, high: Array) -> tuple[float, float]:
    """The least and the largest ``q(v)`` over a box of v."""
    largest = np.maximum(np.abs(low), np.abs(high)) ** 2
    least = np.where((low <= 0.0) & (high >= 0.0), 0.0, np.minimum(np.abs(low), np.abs(high))) ** 2
    return float(least[1:].sum() - largest[0]), float(largest[1:].sum() - least[0])


# -- from the problem to the outcome ---------------------------------------------------------------------------------


def solve_asinh(
    problem: MarginProblem, tol: float, starts: Sequence[Array], max_nodes: int, time_limit: float, verify: bool
) -> Outcome:
    """Minimise the asinh objective, from the points `starts` (in the coordinates of the problem)."""
    begin = time.perf_counter()
    free = best_along_axes(problem, first_frame(problem, tol))
    if free is not None and problem.objective(free[0], "asinh") == 0.0:
        return _outcome(problem, free[0], None, verify, None)
    costs = np.ascontiguousarray(problem.costs, dtype=np.float64)
    points = [np.zeros(problem.dim + 1), *starts]
    # A search that ends with a better point than it began with has proofs for several cutoffs, and the check has only
    # the last. Where that spoils the check another search, from the better point and in its frame, may not.
    for _ in range(MOST_SEARCHES):
        outwards, Z, doubt = _in_frame(problem, min(points, key=lambda w: problem.objective(w, "asinh")))
        objective = Objective(Z, doubt, costs, problem.allow_timelike)
        for point in points:
            objective.offer(inverse(outwards) @ point)
        polish(objective, objective.best, tol)
        search, limit = Search.over_cube(objective, AIM * tol), None
        while search is not None and search.n_open and limit is None:
            search.step()
            examined = search.examiner.examined
            ahead = (CHECK_COST if verify else 0.0) + CLOSE_COST * search.n_open / examined
            if examined >= max_nodes:
                limit = Status.ITERATION_LIMIT
            elif (time.perf_counter() - begin) * (1.0 + ahead) >= 0.9 * time_limit:
                limit = Status.TIME_LIMIT
        if search is None:
            return _outcome(problem, outwards @ objective.best, None, verify, Status.GAP_REMAINS)
        search.close()
        proof = search.certificate(margins_matrix(outwards))
        outcome = _outcome(problem, outwards @ objective.best, proof, verify, limit, search)
        if outcome.status is not Status.CHECK_FAILED or outcome.status_at(objective.upper, tol) is Status.OPTIMAL:
            break
        points.append(outcome.w)
    return outcome


def _in_frame(problem: MarginProblem, w: Array) -> tuple[Array, Array, Array]:
    """The frame around what matters at w, or that of the problem where doubles hold no such frame.

    With it come the points there, and bounds on the errors of their entries. Labels and normals have the sign of
    `side_of`, so that a search sees the same numbers where labels are exchanged.
    """
    balance = float(problem.costs @ problem.y)
    side = side_of(balance, () if balance else problem.costs @ problem.signed_covectors)
    outwards = side * frame_around(problem, w)
    try:
        frame = Frame(margins_matrix(outwards))
    except CertificateError:
        outwards = side * np.eye(problem.dim + 1)
        frame = Frame(margins_matrix(outwards))
    return outwards, *frame.samples(problem)


def _outcome(
    problem: MarginProblem,
    w: Array,
    proof: AsinhCertificate | None,
    verify: bool,
    limit: Status | None,
    search: Search | None = None,
) -> Outcome:
    """The outcome with what a search has proved; without a proof the bound is 0."""
    if proof is None:
        proof = AsinhCertificate(np.eye(problem.dim + 1), 1.0, 0.0, 0.0, 0.0, (), (), ())
    own, nodes, history = (search.proved, search.examiner.examined, search.history) if search else (0.0, 0, [])
    if not problem.allow_timelike:
        w = pushed_out(w)[0]
    outcome = checked_outcome(problem, w, proof, own, verify, limit)
    # From above, because far out the margins of doubles are wrong by more than the tolerance.
    objective = replace(proof, answer=Answer(w)).objective_for(problem) if verify else None
    info = {"nodes": nodes, "leaves": len(proof.leaves)}
    return replace(outcome, objective=objective, n_iter=nodes, history=history_dict(history), info=info)


def frame_around(problem: MarginProblem, w: Array) -> Array:
    """An isometry, shape (d + 1, d + 1): normals of the frame times it are normals of the problem."""
    m = problem.margins(w)
    bend = problem.costs * (np.where(m < KINK, np.abs(m) * (1.0 + m * m) ** -1.5, 0.0) + EVERY)
    axes = np.eye(problem.dim + 1)
    with np.errstate(all="ignore"):
        outwards = boost(lorentz_centroid(problem.X, bend))
        space = (problem.X @ inverse(outwards).T)[:, 1:]
    if not np.isfinite(space).all():  # so far out that doubles hold no such frame
        return axes
    axes[1:, 1:] = np.linalg.eigh((space * (bend / bend.sum())[:, None]).T @ space)[1]
    for axis in range(2, problem.dim + 1):
        axes = axes @ rotation(TURN, problem.dim, (axis - 1, axis))
    return outwards @ axes


def margins_matrix(outwards: Array) -> Array:
    """F of ``margins = y x'Fw`` for normals w of the frame."""
    return covector(outwards.T).T
