"""Whether a hyperplane separates the classes: a linear programme in many digits, and proofs that they overlap.

``max delta, z_i.w >= delta |z_i|, |w_j| <= 1`` by the dual simplex method: bases of d + 2 constraints, each solved by
Arb from the rows as they are. If the optimum is 0 the samples of the basis have a positive relation, else w separates.
What comes of it is checked elsewhere, so that nothing rests on when a number counts as 0.

Hard margins that nothing satisfies are proved by a few samples, or members of their uncertainty sets, that cancel.
Members are generated: the linear programme ``max t, z'_k.w >= t, |w_j| <= 1`` over those found so far either has t = 0,
and then there is a relation between them, or gives a w at whose worst points the next members are. All of it happens in
the frame around the data's centre, where points far out have digits enough.
"""

from typing import NamedTuple

import numpy as np
from flint import arb, arb_mat
from scipy.optimize import linprog

from hypermargin.arithmetic import dot, in_arb
from hypermargin.arrays import Array
from hypermargin.certificates import OverlapCertificate, RobustOverlapCertificate
from hypermargin.geometry.exact_normals import boosted
from hypermargin.geometry.lorentz import covector
from hypermargin.problems.linearised import LinearisedSet, framed_jacobians, image_sizes
from hypermargin.problems.margin import MarginProblem

#: What is 0: margins between doubles, in the frame of any, are far larger, and Arb's 1024 bits far finer.
ZERO = 2.0**-250
#: Most pivots, and how many of them choose the constraint that is violated most (then the first, which cannot cycle).
PIVOTS, GREEDY = 400, 200
#: Most samples for which it is tried, and for which it is quicker than a linear programme in doubles.
MOST_SAMPLES, QUICK = 2000, 200


class Separation(NamedTuple):
    """A normal ``w + low`` with positive margins, or samples between which there is a positive relation."""

    w: Array | None = None
    low: Array | None = None
    samples: tuple[int, ...] = ()


def separation(problem: MarginProblem) -> Separation | None:
    """The result of the linear programme for the points without their uncertainty sets; None where it gave up."""
    used = np.flatnonzero(problem.costs > 0.0)
    if used.size > MOST_SAMPLES:
        return None
    with in_arb():
        centre = [arb(v) for v in problem.centre[1:].tolist()]
        rows = [_constraint(problem.X[i, 1:].tolist(), int(problem.y[i]), centre) for i in used]
        found = _maximum(rows, problem.dim + 2)
        if found is None:
            return None
        vertex, basis, multipliers = found
        if float(vertex[-1]) > ZERO:
            outside = boosted(vertex[:-1], centre)
            w = [float(v.mid()) for v in outside]
            low = [float((v - u).mid()) for v, u in zip(outside, w, strict=True)]
            return Separation(np.array(w), np.array(low))
    related = (k for k, v in zip(basis, multipliers, strict=True) if k < used.size and float(v) > ZERO)
    return Separation(samples=tuple(sorted(int(used[k]) for k in related)))


def _constraint(space: list[float], y: int, centre: list[arb]) -> list[arb]:
    """``delta - z.w/|z| <= 0`` as a row over (w, delta), z in the frame around the centre."""
    xr = [arb(v) for v in space]
    x = boosted([(1 + dot(xr, xr)).sqrt(), *xr], [-c for c in centre])
    size = dot(x, x).sqrt()
    return [-y * x[0] / size, *(y * v / size for v in x[1:]), arb(1)]


def _maximum(rows: list[list[arb]], width: int) -> tuple[list[arb], list[int], list[arb]] | None:
    """The vertex with the largest last entry, the constraints that meet there and their multipliers.

    Constraint k is ``rows[k].v <= 0``; those of the box follow, ``v_j <= 1`` and ``-v_j <= 1``.
    """
    n = len(rows)
    box = [[arb(s * (i == j)) for i in range(width)] for j in range(width - 1) for s in (1, -1)]
    rows = [*rows, *box]
    limits = [arb(0)] * n + [arb(1)] * len(box)
    goal = arb_mat([[arb(int(i == width - 1))] for i in range(width)])
    basis = [0, *(n + 2 * j + int(rows[0][j] > 0) for j in range(width - 1))]
    for pivot in range(PIVOTS):
        matrix = arb_mat([rows[k] for k in basis])
        try:
            vertex = _column(matrix.solve(arb_mat([[limits[k]] for k in basis])))
            multipliers = _column(matrix.transpose().solve(goal))
        except ZeroDivisionError:
            return None
        entering = _violated(rows, limits, vertex, greedy=pivot < GREEDY)
        if entering is None:
            return vertex, basis, multipliers
        rates = _column(matrix.transpose().solve(arb_mat([[v] for v in rows[entering]])))
        ratios = [(v / u, basis[i], i) for i, (v, u) in enumerate(zip(multipliers, rates, strict=True)) if u > ZERO]
        if not ratios:
            return None
        least = min(float(ratio) for ratio, _, _ in ratios)
        leaving = min((k, i) for ratio, k, i in ratios if float(ratio) <= least)[1]
        basis[leaving] = entering
    return None


def _violated(rows: list[list[arb]], limits: list[arb], vertex: list[arb], greedy: bool) -> int | None:
    """The constraint that a vertex violates most, or the first one; None where it meets all."""
    most, which = ZERO, None
    for k, (row, limit) in enumerate(zip(rows, limits, strict=True)):
        excess = float((dot(row, vertex) - limit).mid())
        if excess > most:
            if not greedy:
                return k
            most, which = excess, k
    return which


def _column(matrix: arb_mat) -> list[arb]:
    return [matrix[i, 0].mid() for i in range(matrix.nrows())]


# -- samples and members that overlap ----------------------------------------------------------------------------------


#: Rounds of new members, which end by themselves where t is 0 or does not fall any more.
MAX_ROUNDS = 100
#: Members added per round for each dimension of w, those with the least margins: a vertex has d + 2 of them.
MEMBERS_PER_DIMENSION = 4
#: Random objectives: one vertex may have weights too small to be checked, and another not.
VERTICES_TRIED = 20
#: What HiGHS solves linear programmes to by default: a t below it may be 0, and one far below it is.
LP_TOLERANCE, NOTHING = 1e-7, 1e-12


def prove_overlap(problem: MarginProblem) -> OverlapCertificate | RobustOverlapCertificate | None:
    """A checked proof that no w has all margins positive; None where none was found.

    Samples with a positive relation ``sum a_i z_i = 0`` between them prove it without their sets, and exactly.
    """
    in_doubles = _vertex(problem) if problem.n_samples > QUICK else None
    return in_doubles or _related(problem) or robust_overlap(problem)


def _related(problem: MarginProblem) -> OverlapCertificate | None:
    """The samples that a linear programme in many digits ends with; None from `MOST_SAMPLES` on."""
    found = separation(problem)
    certificate = OverlapCertificate(() if found is None else found.samples)
    return certificate if certificate.samples and certificate.holds(problem) else None


def _vertex(problem: MarginProblem) -> OverlapCertificate | None:
    """A vertex of ``{a >= 0 : sum a_i = 1, sum a_i z_i/|z_i| = 0}`` in doubles: d + 2 positive entries at most."""
    used = np.flatnonzero(problem.costs > 0.0)
    Z = problem.covectors_around(problem.centre, precise=True)[used]
    A = np.vstack([Z.T / np.linalg.norm(Z, axis=1), np.ones(used.size)])
    result = linprog(np.zeros(used.size), A_eq=A, b_eq=np.eye(problem.dim + 2)[-1], method="highs-ds")
    if result.status != 0:
        return None
    order = used[np.argsort(-result.x, kind="stable")]
    for count in range(problem.dim + 2, 1, -1):  # a degenerate vertex has fewer positive entries
        certificate = OverlapCertificate(tuple(int(i) for i in order[:count]))
        if certificate.holds(problem):
            return certificate
    return None


# -- uncertainty sets -------------------------------------------------------------------------------------------------


class _Member(NamedTuple):
    """``z' / |z'|`` of a sample's worst point at a normal, in the frame."""

    row: Array
    sample: int
    normal: Array


def robust_overlap(problem: MarginProblem) -> RobustOverlapCertificate | None:
    """The certificate, checked; None where the sets can be separated, or where they only just touch."""
    if problem.uncertainty is None:
        return None
    sets = _FramedSets(problem)
    members: list[_Member] = []
    for axis in np.eye(problem.dim + 1):
        for sign in (1.0, -1.0):
            members += sets.worst(sign * axis)[0]
    reached = np.inf
    for _ in range(MAX_ROUNDS):
        rows = np.array([member.row for member in members])
        found = linprog(
            np.r_[np.zeros(problem.dim + 1), -1.0],
            A_ub=np.column_stack([-rows, np.ones(len(rows))]),
            b_ub=np.zeros(len(rows)),
            bounds=[(-1.0, 1.0)] * (problem.dim + 1) + [(None, None)],
            method="highs",
        )
        if found.status != 0:
            return None
        t = float(found.x[-1])
        if t <= LP_TOLERANCE:
            certificate = _certificate(problem, members)
            if certificate is not None or t <= NOTHING or not t < reached:
                return certificate
        reached = t
        new, least = sets.worst(found.x[:-1])
        if least > 0.0:
            return None
        members += new
    return None


class _FramedSets:
    """The uncertainty sets of the samples that count, around the centre of the data."""

    def __init__(self, problem: MarginProblem) -> None:
        assert problem.uncertainty is not None
        self.used = np.flatnonzero(problem.costs > 0.0)
        self.noise = problem.uncertainty.take(self.used)
        self.y = problem.y[self.used]
        self.Z = problem.covectors_around(problem.centre, precise=True)[self.used]
        linearised = isinstance(problem.uncertainty, LinearisedSet)
        self.images = framed_jacobians(problem.X[self.used], problem.centre[1:]) if linearised else None
        self.most = MEMBERS_PER_DIMENSION * self.Z.shape[1]

    def worst(self, w: Array) -> tuple[list[_Member], float]:
        """Members at the normal w of the samples with the least worst margins, and the least of all margins."""
        rows = self._covectors(w)
        sizes = np.linalg.norm(rows, axis=1)
        margins = rows @ w
        least = np.argsort(margins / sizes)[: self.most]
        return [_Member(rows[i] / sizes[i], int(self.used[i]), w) for i in least], float(margins.min())

    def _covectors(self, w: Array) -> Array:
        if self.images is None:
            return self.noise.worst_covectors(self.y[:, None] * covector(self.Z), self.y, w)
        assert isinstance(self.noise, LinearisedSet)
        pulled = self.y[:, None] * (self.images @ w)
        steps = self.noise.unit_step(pulled, image_sizes(self.images) @ np.abs(w))
        steps *= np.reshape(self.noise.rho, (-1, 1))
        return self.Z + self.y[:, None] * np.einsum("nkj,nk->nj", self.images, steps)


def _certificate(problem: MarginProblem, members: list[_Member]) -> RobustOverlapCertificate | None:
    """A vertex of ``{a >= 0 : sum a_k = 1, sum a_k z'_k = 0}`` with d + 2 positive entries, for random objectives."""
    rng = np.random.default_rng(0)
    equations = np.column_stack([[member.row for member in members], np.ones(len(members))]).T
    right = np.r_[np.zeros(problem.dim + 1), 1.0]
    for _ in range(VERTICES_TRIED):
        found = linprog(rng.random(len(members)), A_eq=equations, b_eq=right, method="highs-ds")
        if found.status != 0:
            return None
        chosen = [members[k] for k in np.argsort(-found.x, kind="stable")[: problem.dim + 2]]
        certificate = RobustOverlapCertificate(
            tuple(member.sample for member in chosen),
            np.array([member.normal for member in chosen]),
            problem.centre[1:].copy(),
        )
        if certificate.holds(problem):
            return certificate
    return None
