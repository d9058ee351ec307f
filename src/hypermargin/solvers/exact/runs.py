"""One run of the method: a search that suits the problem, the loop that closes its gap, the answer and its proof.

What follows on a run that rounding ended is in `restarts.py`. The proof has the fewest intervals and cuts that prove
the bound. Where a problem was small, so that objects would take longer to make than the search took, proof and answer
are kept as arrays, and checked in one call (`quick_result`).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from threading import local
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.certificates import (
    Certificate,
    CertificateError,
    Combination,
    DirectionBox,
    RegionProof,
    SoftMarginCertificate,
)
from hypermargin.certificates.core.objective import enclose_objective
from hypermargin.certificates.two_regions import TwoRegionProof, enclosed_two_regions
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.geometry.exact_normals import onto_cone, pushed_out
from hypermargin.geometry.lorentz import lift
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import GeodesicBall
from hypermargin.solvers.base import Outcome, Solution, Status, make_solution, relative_gap
from hypermargin.solvers.exact.blocked_oracle import BlockedOracle
from hypermargin.solvers.exact.centres import centred
from hypermargin.solvers.exact.compiled.search import Search
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.interior_point import InteriorPointCuts
from hypermargin.solvers.exact.journal import Journal
from hypermargin.solvers.exact.oracle import HingeOracle, Oracle, oracle_in_memory
from hypermargin.solvers.exact.screening import LEAST_SAMPLES, PassCuts, has_many_samples

#: Where cuts come from: one pass each, the interior-point method, or whichever is quicker by the rule below.
CUTS = ("auto", "plain", "deep")
#: From these dimensions on, with so many samples, the interior-point method is the quicker one: measured by
#: `benchmarks/bench_dims.py --only rule` from 500 to 300,000 samples.
DEEP_FROM = ((10, 0), (8, 10_000), (6, 200_000))
#: Where every pass reads the samples anew it has ten reads to make instead of fifty, in the plane too.
DEEP_FROM_ANEW = (*DEEP_FROM, (1, 100_000))

#: The search of the last small problem of each thread: to make its tables takes as long as such a search.
_KEPT = local()
#: The certificate is made for this share of the tolerance, while the search ends at a hundredth of it: a looser proof
#: has fewer intervals, and half of the tolerance is left to the rounding of the check.
PROVED = 0.5
#: What the last bits of w do to its q, relative to ``|w|^2``: some roundings of 2^-53.
LAST_BITS = 2.0**-50
#: Relative, above the least length that will do: margins must not be below 1 by rounding, which is 1e-9 at most here.
ABOVE_LEAST_LENGTH = 1e-9
#: Where margins are all positive any multiple that is large enough costs nothing, and twice that is clear of rounding.
LENGTHENED = 2.0


class Costs(NamedTuple):
    """A `share` of C, and weights of `most_weight` at most."""

    share: float = 1.0
    most_weight: float = np.inf

    def of(self, problem: MarginProblem) -> MarginProblem:
        """The problem with these costs."""
        if self.most_weight < np.inf:
            problem = problem.with_weights_up_to(self.most_weight)
        return problem if self.share == 1.0 else problem.with_C(self.share * problem.C)

    def largest(self, problem: MarginProblem) -> float:
        """What a sample costs at most, as a share of what it does in the problem as given."""
        return self.share * min(1.0, self.most_weight / problem.weight_range[1])


ALL = Costs()


class QuickResult(NamedTuple):
    """The optimum of a small problem: w, the upper end of its objective, the lower bound, and what they follow from.

    A classifier of 19 classes has 171 pairs, each solved within a fifth of a millisecond; a certificate and a solution
    are made for those who ask for them. `checked` says whether a check of `proof` has proved the bound; otherwise it is
    that of the search.
    """

    w: Array
    objective: float
    lower_bound: float
    proof: TwoRegionProof
    n_iter: int
    passed: Sequence[float]
    seconds: float
    checked: bool = True
    intercept: float = 0.0

    @property
    def gap(self) -> float:
        return relative_gap(self.objective, self.lower_bound)

    @property
    def status(self) -> Status:
        return Status.OPTIMAL if self.checked else Status.UNVERIFIED

    def solution(self, problem: MarginProblem) -> Solution:
        """The solution, with a certificate about `problem`, which is the one that was solved."""
        outcome = Outcome(
            w=self.w,
            status=self.status,
            lower_bound=self.lower_bound,
            certificate=self.proof.certificate(),
            checked=self.checked,
            n_iter=self.n_iter,
            history=history_dict(self.passed),
            info=counts(self.n_iter, float(self.n_iter), 0, 2, precise=False),
        )
        return make_solution(problem, outcome, self.objective, 0.0, method="exact", seconds=self.seconds)


@dataclass(frozen=True)
class Runner:
    """Runs searches to the relative gap `tol`, with the options of `Exact` and the time to stop at."""

    tol: float
    deadline: float
    max_iter: int
    max_regions: int
    verify: bool
    cuts: str
    start: Array | None = None
    checkpoint: str | None = None

    def search(self, problem: MarginProblem, frame: Frame) -> Search:
        return make_search(problem, frame, self.cuts, self.checkpoint)

    def run(self, problem: MarginProblem, search: Search, costs: Costs = ALL) -> Outcome:
        """Close the gap of a search, which may already hold cuts (see `Search.rescaled`), and prove what it found.

        The search may have a part of the problem's `costs` only: what it proves holds for all of them.
        """
        limit = self.close_gap(search)
        (w, low), frame = to_original_coordinates(problem, search), search.oracle.frame
        info = counts(search.n_passes, search.full_passes, search.n_splits, search.n_regions, frame.precise)
        if problem.in_memory and not search.n_regions:
            free = best_along_axes(problem, frame)
            if free is not None and problem.objective(free[0]) <= search.upper:
                w, low, frame = free[0], None, free[1]
        certificate = make_certificate(search, search.upper * (1.0 - PROVED * self.tol), costs)
        outcome = checked_outcome(problem, w, certificate, search.lower, self.verify, limit)
        return replace(
            outcome,
            w_low=low,
            frame=(frame.centre[1:], frame.precise),
            n_iter=search.n_passes,
            history=history_dict(search.history),
            info=info,
        )

    def run_small(self, problem: MarginProblem, frame: Frame) -> QuickResult | Search:
        """The result of a small problem; where its first two regions do not prove it, the search as far as it got."""
        start, search = time.perf_counter(), kept_search(problem, frame)
        self.close_gap(search)
        found = quick_result(problem, search, self.tol, self.verify, start)
        return search if found is None else found

    def close_gap(self, search: Search) -> Status | None:
        """The main loop; returns the limit that has ended it, None where the gap is closed."""
        search.limit(self.tol, self.max_iter, self.deadline)
        search.start(None if self.start is None else search.oracle.to_frame(np.asarray(self.start, dtype=np.float64)))
        aim, limit = search.aim, self._limit_reached(search)
        while relative_gap(search.upper, search.lower) > aim and limit is None:
            search.step(aim)
            limit = self._limit_reached(search)
        return limit

    def _limit_reached(self, search: Search) -> Status | None:
        if search.n_passes >= self.max_iter or search.n_regions >= self.max_regions:
            return Status.ITERATION_LIMIT
        if self.deadline < np.inf:
            check = search.oracle.check_time(search.pool.size) if self.verify else 0.0
            if time.perf_counter() + check >= self.deadline:
                return Status.TIME_LIMIT
        return Status.GAP_REMAINS if search.exhausted else None


def make_search(
    problem: MarginProblem, frame: Frame | None = None, cuts: str = "auto", checkpoint: str | None = None
) -> Search:
    """A search in a frame (around the centre by default) that has not begun; `checkpoint` names a journal's file."""
    frame = frame or Frame(problem.centre)
    oracle = make_oracle(problem, frame)
    if checkpoint is not None:
        oracle = Journal(checkpoint, oracle, problem)
    source: type[InteriorPointCuts] | type[PassCuts] | None = PassCuts if has_many_samples(oracle) else None
    deep = cuts == "deep" or (cuts == "auto" and deep_is_quicker(problem) and not frame.precise)
    if deep and oracle.samples is not None:
        source = InteriorPointCuts
    return Search(oracle, problem.dim, problem.allow_timelike, source)


def kept_search(problem: MarginProblem, frame: Frame) -> Search:
    """The same for a small problem with plain cuts; it is reused by the next call in this thread."""
    oracle, kind = HingeOracle(problem, frame), (problem.dim, problem.allow_timelike)
    if getattr(_KEPT, "kind", None) == kind:
        _KEPT.search.begin(oracle)
    else:
        _KEPT.search, _KEPT.kind = Search(oracle, *kind), kind
    return _KEPT.search


def is_small(problem: MarginProblem) -> bool:
    """Whether `kept_search` is for such problems."""
    return (
        type(problem) is MarginProblem
        and problem.uncertainty is None
        and not problem.is_hard
        and problem.n_samples < LEAST_SAMPLES
        and not deep_is_quicker(problem)
    )


def deep_is_quicker(problem: MarginProblem) -> bool:
    """Whether the interior-point method is the quicker one."""
    bounds = DEEP_FROM_ANEW if problem.rereads else DEEP_FROM
    return any(problem.dim >= dim and problem.n_samples >= samples for dim, samples in bounds)


def make_oracle(problem: MarginProblem, frame: Frame) -> Oracle:
    """The oracle that suits where the samples are and what their margins are."""
    return BlockedOracle(problem, frame) if isinstance(problem, BlockedProblem) else oracle_in_memory(problem, frame)


# -- the answer --------------------------------------------------------------------------------------------------------


def to_original_coordinates(problem: MarginProblem, search: Search) -> tuple[Array, Array | None]:
    """The best point of a search outside of its frame, pushed out to ``q >= 0``; two vectors if need be.

    They are needed where rounding would change its q by more than what the search aims for. It is pushed once in the
    frame, where a lightlike w may be far longer than outside, and once for the way out; what the search took for
    lightlike is put on the cone there, from either side.
    """
    best, low = centred(search.oracle, search.best, search.upper, problem.allow_timelike), None
    outside, rest = search.oracle.to_original(best)
    if LAST_BITS * float(outside @ outside) > search.aim_share * search.tol * search.upper:
        best, low = onto_cone(best, np.zeros_like(best))
    inside = (best, low) if problem.allow_timelike else pushed_out(best, low)
    if inside[0] is not best or inside[1] is not None:
        outside, rest = search.oracle.to_original(*inside)
    return (outside, rest) if problem.allow_timelike else pushed_out(outside, rest)


def best_along_axes(problem: MarginProblem, frame: Frame) -> tuple[Array, Frame] | None:
    """The best w for samples of one class, and the frame to judge it in; None where there are two classes.

    A lightlike w has all margins of one sign, no margin term, and so costs nothing. Directions along the axes are used,
    ``w = y a (1, +-e_j)``, since their ``q(w)`` is 0 in doubles too; where timelike w are allowed the centre of the
    samples, which does not depend on the axes. Uncertainty sets that leave the hyperboloid may have negative
    margins there. Where margins of all sets are positive along some direction w is one of no risk; else it is the best
    a of the best direction.
    """
    used = problem.costs > 0.0
    labels = problem.y[used]
    if labels.size == 0 or np.any(labels != labels[0]):
        return None
    if problem.allow_timelike:
        w = LENGTHENED * labels[0] * problem.centre
        least = enclose_objective(problem, w, None, frame.centre[1:], frame.precise).least_margin
        if least > 0.0:
            return max(1.0, LENGTHENED / least) * w, frame
    apex, *axes = np.eye(problem.dim + 1)
    directions = [labels[0] * (apex + side * axis) for axis in axes for side in (1.0, -1.0)]
    w, sample = _long_enough(problem, used, directions)
    near = Frame(lift(problem.X[sample, 1:]), precise=True) if frame.precise else frame
    if problem.uncertainty is None or isinstance(problem.uncertainty, GeodesicBall):
        return w, near
    for direction, around in ((w, near), *((axis, frame) for axis in directions)):
        least = enclose_objective(problem, direction, None, around.centre[1:], around.precise).least_margin
        if least > 0.0:
            return LENGTHENED / least * direction, around
    scaled = [_scaled(problem.margins(w)[used], problem.costs[used]) * w for w in directions]
    return min(scaled, key=problem.objective), frame


def _long_enough(problem: MarginProblem, used: NDArray[np.bool_], directions: list[Array]) -> tuple[Array, int]:
    """The direction with the largest least margin, longer than that needs, and the sample that has it.

    Along ``(1, s e_j)`` the margin is ``x0 - s x_j``, without cancellation ``(x0^2 - x_j^2)/(x0 + |x_j|)`` where
    ``s x_j > 0``, and that of a whole geodesic ball ``exp(-rho)`` times that.
    """
    X, shrunk = problem.X[used], 1.0
    if isinstance(problem.uncertainty, GeodesicBall):
        shrunk = np.exp(-np.broadcast_to(problem.uncertainty.rho, used.shape)[used])
    least, samples = [], []
    for w in directions:
        along, across = X[:, 1:] @ (w[1:] / w[0]), X[:, 1:][:, w[1:] == 0.0]
        short = (1.0 + np.sum(across**2, axis=1)) / (X[:, 0] + np.abs(along))
        margins = shrunk * np.where(along > 0.0, short, X[:, 0] - along)
        samples.append(int(np.argmin(margins)))
        least.append(float(margins[samples[-1]]))
    best = int(np.argmax(least))
    return LENGTHENED / least[best] * directions[best], int(np.flatnonzero(used)[samples[best]])


def _scaled(margins: Array, costs: Array) -> float:
    """The a that minimises ``sum_i c_i max(0, 1 - a m_i)``: its slope changes sign at some ``a = 1/m_i``, or never."""
    positive = margins > 0.0
    order = np.argsort(-margins[positive])
    m = margins[positive][order]
    if m.size == 0:
        return 0.0
    falls = costs[positive][order] * m
    still = np.append(np.cumsum(falls[:0:-1])[::-1], 0.0)  # what falls beyond 1/m_k
    rises = -float(costs[~positive] @ margins[~positive])
    if falls.sum() <= rises:
        return 0.0
    return (1.0 + ABOVE_LEAST_LENGTH) / float(m[np.argmax(still <= rises)])


# -- the proof ---------------------------------------------------------------------------------------------------------


def make_certificate(search: Search, bound: float, costs: Costs = ALL) -> SoftMarginCertificate:
    """The certificate that `search` holds for `bound` (at most its lower bound), with labels and normals as given.

    A search with a share of the problem's `costs` has cuts that are so much of the cuts at the same points. Cuts that
    are the plain ones of their points come first, then those with shares, of which several may have one point.
    """
    oracle, side, numbers = search.oracle, search.oracle.side, dict[int, int]()  # cut -> its place in order of use
    proofs = [(leaf, leaf.region.proof_of(bound, numbers, costs.share)) for leaf in search.leaves]
    shared = [cut for cut in numbers if cut in search.shares] if search.shares else []
    plain = [cut for cut in numbers if cut not in search.shares] if shared else list(numbers)
    points, rows, cut_at, row_of = search.pool.points_of(plain + shared), list(range(len(plain))), list[int](), {}
    if shared:
        row_of = {points[row].tobytes(): row for row in rows}
        for row in range(len(plain), len(points)):
            if row_of.setdefault(points[row].tobytes(), len(rows)) == len(rows):
                rows.append(row)
        place = {cut: k for k, cut in enumerate(plain)} | {cut: len(rows) + k for k, cut in enumerate(shared)}
        cut_at = [place[cut] for cut in numbers]
    regions = tuple(
        [
            RegionProof(
                int(side * leaf.region.sign),
                _turned(leaf.box, side),
                np.array([node for node, *_ in intervals]),
                tuple(
                    [
                        Combination(
                            tuple([cut_at[c] for c in cuts]) if shared else cuts, weights, chord, _turned(box, side)
                        )
                        for _, cuts, weights, chord, box in intervals
                    ]
                ),
            )
            for leaf, intervals in proofs
        ]
    )
    if not regions:  # nothing is claimed but that the objective is not negative
        regions = tuple(RegionProof(sign, None, np.zeros(1), (Combination((), ()),)) for sign in (-1, 1))
    return SoftMarginCertificate(
        oracle.frame.centre[1:].copy(),
        side * points[rows],
        regions,
        oracle.threshold,
        precise=oracle.frame.precise,
        cone_cuts=oracle.cone_cuts,
        most_weight=costs.most_weight,
        shared=tuple(
            replace(search.shares[cut], point=row_of[point.tobytes()])
            for cut, point in zip(shared, points[len(plain) :], strict=True)
        ),
    )


def _turned(box: DirectionBox | None, side: float) -> DirectionBox | None:
    """The box of the opposite directions where `side` is -1."""
    if box is None or side > 0.0:
        return box
    return DirectionBox(box.axis, -box.side, 0.0 - box.high, 0.0 - box.low)


def checked_outcome(
    problem: MarginProblem, w: Array, certificate: Certificate, own_bound: float, verify: bool, limit: Status | None
) -> Outcome:
    """The outcome with the bound that the check of the certificate proves; -inf where it refuses the certificate.

    Without the check the bound is the search's own.
    """
    bound = own_bound
    if verify:
        try:
            bound = certificate.verify(problem)
        except CertificateError:
            bound = -np.inf
    otherwise = Status.CHECK_FAILED if verify else Status.GAP_REMAINS
    return Outcome(
        w=w,
        status=limit if limit is not None and bound > -np.inf else otherwise,
        status_if_met=Status.OPTIMAL if verify else Status.UNVERIFIED,
        lower_bound=bound,
        certificate=certificate,
        checked=verify,
    )


# -- what is reported --------------------------------------------------------------------------------------------------


def history_dict(passed: Sequence[float]) -> dict[str, list[float]]:
    """The history from bound and objective, in turn, after each pass; a bound once found holds on."""
    return {
        "lower_bound": list(accumulate(passed[::2], max, initial=0.0))[1:],
        "objective": list(passed[1::2]),
    }


def counts(passes: int, full_passes: float, splits: int, regions: int, precise: bool) -> dict[str, Any]:
    """Counts of passes, also in reads of all samples, of splits and regions, and the arithmetic of the frame."""
    return {
        "passes": passes,
        "full_passes": full_passes,
        "splits": splits,
        "regions": regions,
        "arithmetic": "double-double" if precise else "double",
    }


# -- small problems ----------------------------------------------------------------------------------------------------


def quick_result(problem: MarginProblem, search: Search, tol: float, verify: bool, start: float) -> QuickResult | None:
    """The result of a search that has ended with its first two regions; None where they do not prove the tolerance."""
    if search.n_regions != 2 or relative_gap(search.upper, search.lower) > search.aim:
        return None
    w, low = to_original_coordinates(problem, search)
    if low is not None:
        return None
    flat = search.flat_proof(search.upper * (1.0 - PROVED * tol))
    proof = TwoRegionProof(search.oracle.frame.centre[1:], search.oracle.threshold, *flat)
    if verify:
        bound, objective = enclosed_two_regions(problem, proof, w)
    else:
        bound, objective = search.lower, enclose_objective(problem, w, None, proof.centre).upper
    if not relative_gap(objective, bound) <= tol:
        return None
    seconds = time.perf_counter() - start
    return QuickResult(w, objective, bound, proof, search.n_passes, search.history, seconds, verify)
