"""The asinh objective to proven global optimality: start, frame, search, certificate (docs/asinh.md).

The frame of the search is where samples that bend the objective are near the origin, and its axes are theirs. Boxes are
products of intervals, so what they cost depends on the coordinates. Samples matter through the curvature of their loss
at the optimum: with their mean at the origin no coordinate of w is worth much more than another, and along the
principal axes of their second moments a box is as long as the objective is flat.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates import AsinhCertificate, CertificateError
from hypermargin.certificates.asinh.proof import Frame
from hypermargin.geometry.isometries import boost, inverse, rotation
from hypermargin.geometry.lorentz import covector
from hypermargin.geometry.mean import lorentz_centroid
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Outcome, Status
from hypermargin.solvers.exact.asinh.search import LEAF, SETTLED, Objective, Pieces, Search, find_half_side, polish
from hypermargin.solvers.exact.finish import best_along_axes, checked_outcome, history_dict
from hypermargin.solvers.exact.frames import first_frame

#: The share of the tolerance that the search aims at; the rest is room for the check, which rounds to the safe side.
AIM = 0.9
#: What the check of a certificate costs, and the last look at a box that is left open, in times of the search for it.
CHECK_COST, CLOSE_COST = 1.0, 1.0
#: Searches to make at most until the check proves the gap.
MOST_SEARCHES = 3
#: The share of the cost with which every sample counts, so that there is a mean where none bends the objective.
EVERY = 1e-9
#: Samples at the kink, up to the accuracy of the point, bend the objective as well.
KINK = 1.0 + 1e-3
#: Radians by which axes are turned off those of the samples: in few samples faces of boxes would meet zeros of margins.
TURN = 0.01


def solve_asinh(
    problem: MarginProblem,
    tol: float,
    starts: Sequence[Array],
    *,
    max_nodes: int,
    time_limit: float,
    verify: bool,
) -> Outcome:
    """Minimise the asinh objective, from the points `starts` (in the coordinates of the problem)."""
    begin = time.perf_counter()
    free = best_along_axes(problem, first_frame(problem, tol))
    if free is not None and problem.objective(free[0], "asinh") == 0.0:
        return _outcome(problem, free[0], _nothing_claimed(problem), None, verify, None)
    costs = np.ascontiguousarray(problem.costs, dtype=np.float64)
    points = [np.zeros(problem.dim + 1), *starts]
    # A search that ends with a better point than it began with has proofs for several cutoffs, of which the check knows
    # the last only. Where that spoils the check another search, from the better point and in its frame, may not.
    for _ in range(MOST_SEARCHES):
        outwards, Z, doubt = _in_frame(problem, min(points, key=lambda w: problem.objective(w, "asinh")))
        objective = Objective(Z, doubt, costs, problem.allow_timelike)
        for point in points:
            objective.offer(inverse(outwards) @ point)
        polish(objective, objective.best, tol)
        outcome = _search(problem, tol, objective, outwards, begin, max_nodes, time_limit, verify)
        if outcome.status is not Status.CHECK_FAILED or outcome.status_at(objective.upper, tol) is Status.OPTIMAL:
            break
        points.append(outcome.w)
    return outcome


def _in_frame(problem: MarginProblem, w: Array) -> tuple[Array, Array, Array]:
    """The frame around what matters at w, or that of the problem where doubles hold no such frame.

    With it come the points there, and bounds on the errors of their entries.
    """
    outwards = frame_around(problem, w)
    try:
        frame = Frame(margins_matrix(outwards))
    except CertificateError:
        outwards = np.eye(problem.dim + 1)
        frame = Frame(margins_matrix(outwards))
    return outwards, *frame.samples(problem)


def _search(
    problem: MarginProblem,
    tol: float,
    objective: Objective,
    outwards: Array,
    begin: float,
    max_nodes: int,
    time_limit: float,
    verify: bool,
) -> Outcome:
    """One search from the best point of the objective, with its certificate."""
    gap = AIM * tol
    outside = find_half_side(objective, objective.upper * (1.0 - gap))
    if outside is None:
        return _outcome(problem, outwards @ objective.best, _nothing_claimed(problem), None, verify, Status.GAP_REMAINS)
    half_side, directions = outside
    search = Search(objective, half_side, gap)
    limit = None
    while not search.finished and limit is None:
        search.step()
        if search.examiner.examined >= max_nodes:
            limit = Status.ITERATION_LIMIT
        elif time_limit < np.inf:
            spent = time.perf_counter() - begin
            ahead = (CHECK_COST if verify else 0.0) + CLOSE_COST * search.n_open / search.examiner.examined
            limit = Status.TIME_LIMIT if spent * (1.0 + ahead) >= 0.9 * time_limit else None
    search.close()
    certificate = _certificate(margins_matrix(outwards), search, half_side, directions)
    return _outcome(problem, outwards @ objective.best, certificate, search, verify, limit)


def _certificate(frame: Array, search: Search, half_side: float, directions: list[Pieces]) -> AsinhCertificate:
    allowed = SETTLED * search.tol * search.objective.upper / search.objective.total_cost
    tree, leaves, waiting = [], [], [search.root]
    while waiting:  # in preorder
        box = waiting.pop()
        tree.append(box.axis if box.halves else -1)
        if box.proof is not None:
            leaves.append(box.proof)
        waiting.extend(reversed(box.halves))
    return AsinhCertificate(
        frame=frame,
        half_side=half_side,
        cutoff=search.cutoff,
        settled=allowed,
        leaf_settled=LEAF * allowed,
        directions=tuple(map(tuple, directions)),
        tree=tuple(tree),
        leaves=tuple(leaves),
        whole_intervals=True,
    )


def _nothing_claimed(problem: MarginProblem) -> AsinhCertificate:
    """A certificate for the bound 0."""
    return AsinhCertificate(np.eye(problem.dim + 1), 1.0, 0.0, 0.0, 0.0, (), (), ())


def _outcome(
    problem: MarginProblem,
    w: Array,
    certificate: AsinhCertificate,
    search: Search | None,
    verify: bool,
    limit: Status | None,
) -> Outcome:
    own = 0.0 if search is None else search.proved
    nodes = 0 if search is None else search.examiner.examined
    history = [] if search is None else search.history
    info = {"nodes": nodes, "leaves": len(certificate.leaves)}
    outcome = checked_outcome(problem, w, certificate, own, verify, limit)
    return replace(outcome, n_iter=nodes, history=history_dict(history), info=info)


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
