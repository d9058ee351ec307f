"""Robust hard margins that nothing satisfies: find members of the sets that cancel, by generating them.

The linear program ``max t, z'_k.w >= t, |w_j| <= 1`` over members found so far either has t = 0, and then there is a
relation between them, or gives a w at whose worst points the next members are.
"""

import numpy as np
from scipy.optimize import linprog

from hypermargin.arrays import Array
from hypermargin.certificates import RobustOverlapCertificate
from hypermargin.geometry.isometries import boost
from hypermargin.problems.margin import MarginProblem

MAX_ROUNDS = 100
#: Members added per round: those with the least margins.
MEMBERS_A_ROUND = 100
VERTICES_TRIED = 20


def robust_overlap(problem: MarginProblem) -> RobustOverlapCertificate | None:
    """The certificate, checked; None where the sets can be separated, or where they only just touch."""
    if problem.uncertainty is None:
        return None
    outwards = boost(problem.centre)
    used = np.flatnonzero(problem.costs > 0.0)
    members: list[Array] = []
    normals: list[Array] = []
    samples: list[int] = []
    starts = [sign * axis for axis in np.eye(problem.dim + 1) for sign in (1.0, -1.0)]
    for w in starts:
        _add(problem, outwards @ w, used, members, normals, samples)
    for _ in range(MAX_ROUNDS):
        rows = np.array(members) @ outwards  # in the frame, where entries are of comparable size
        sizes = np.linalg.norm(rows, axis=1)
        found = linprog(
            np.r_[np.zeros(problem.dim + 1), -1.0],
            A_ub=np.column_stack([-rows / sizes[:, None], np.ones(len(rows))]),
            b_ub=np.zeros(len(rows)),
            bounds=[(-1.0, 1.0)] * (problem.dim + 1) + [(None, None)],
            method="highs",
        )
        if found.status != 0:
            return None
        if found.x[-1] <= 1e-12:
            return _certificate(problem, rows / sizes[:, None], normals, samples)
        w = outwards @ found.x[:-1]
        if np.min(problem.margins(w)[used]) > 0.0:
            return None
        _add(problem, w, used, members, normals, samples)
    return None


def _add(
    problem: MarginProblem, w: Array, used: np.ndarray, members: list[Array], normals: list[Array], samples: list[int]
) -> None:
    """Members at the normal w of the samples with the least worst margins."""
    assert problem.uncertainty is not None
    rows = problem.uncertainty.worst_covectors(problem.X, problem.y, w)
    least = used[np.argsort((rows @ w)[used])[:MEMBERS_A_ROUND]]
    members.extend(rows[least])
    normals.extend([w] * least.size)
    samples.extend(least.tolist())


def _certificate(
    problem: MarginProblem, rows: Array, normals: list[Array], samples: list[int]
) -> RobustOverlapCertificate | None:
    """A vertex of ``{a >= 0 : sum a_k = 1, sum a_k z'_k = 0}`` with d + 2 positive entries, for random objectives."""
    rng = np.random.default_rng(0)
    equations = np.column_stack([rows, np.ones(len(rows))]).T
    right = np.r_[np.zeros(problem.dim + 1), 1.0]
    for _ in range(VERTICES_TRIED):
        found = linprog(rng.random(len(rows)), A_eq=equations, b_eq=right, method="highs-ds")
        if found.status != 0:
            return None
        chosen = np.argsort(-found.x, kind="stable")[: problem.dim + 2]
        certificate = RobustOverlapCertificate(
            tuple(samples[k] for k in chosen), np.array([normals[k] for k in chosen])
        )
        if certificate.holds(problem):
            return certificate
    return None
