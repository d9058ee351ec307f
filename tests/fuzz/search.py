"""Better points than the package returned: enumeration and a random descent, in doubles, in the frame of the data.

What is found is only a candidate: `exact_values` has the last word.
"""

import numpy as np

from fuzz.cases import Array, Case
from fuzz.exact_values import ExactProblem, Vector, boost, exact_normal
from reference.brute import brute_force
from reference.objective import onto_cone

ROUNDS, TRIES = 3, 24


def in_frame(problem: ExactProblem, centre: Vector) -> Array:
    """The points around their centre, in doubles, shape (n, d + 1)."""
    return np.array([[float(v.mid()) for v in boost(centre, point, -1)] for point in problem.points])


def enumerated(points: Array, cases: list[Case]) -> Array:
    """For every case of a batch a w that is best for the nominal points, or nearly; (k, n, d + 1) to (k, d + 1)."""
    first = cases[0]
    n = len(first.y)
    weight = np.stack([np.ones(n) if case.weight is None else case.weight for case in cases])
    C = np.array([case.C[0] for case in cases])
    costs = np.where(weight > 0.0, C[:, None] * np.maximum(weight, 1e-300), 0.0)
    y = np.stack([case.y for case in cases])
    usable = np.all(np.isfinite(points), axis=(1, 2))
    points = np.where(usable[:, None, None], points, np.eye(1, points.shape[2])[None])
    with np.errstate(all="ignore"):
        found = brute_force(points, y, costs, timelike=first.timelike)[1]
    return np.where(np.isfinite(found), found, 0.0)


def descended(case: Case, C: float, points: Array, starts: list[Array], rng: np.random.Generator) -> Array:
    """The best normal after a few rounds of random steps of all sizes, in the frame; shape (d + 1,)."""
    best = np.array(starts)
    for _ in range(ROUNDS):
        middle = best[0]
        steps = rng.normal(size=(TRIES, len(middle))) * 10.0 ** rng.uniform(-9.0, 0.0, size=(TRIES, 1))
        tried = np.concatenate([best, middle + steps * np.linalg.norm(middle), middle * (1.0 + steps[:, :1])])
        tried = tried if case.timelike else onto_cone(tried)
        with np.errstate(all="ignore"):
            values = rough_values(case, C, points, tried)
        best = tried[np.argsort(np.where(np.isnan(values), np.inf, values))[:4]]
    return best[0]


def rough_values(case: Case, C: float, points: Array, w: Array) -> Array:
    """Objectives at rows of w, shape (k,), in the frame; of linearised sets, which know the origin, without the set."""
    m = case.y * (w[:, :1] * points[:, 0] - w[:, 1:] @ points[:, 1:].T)
    q = np.sum(w[:, 1:] ** 2, axis=1) - w[:, 0] ** 2
    if case.noise is not None and case.noise.name == "GeodesicBall":
        tangent = np.sqrt(np.maximum(q[:, None] + m * m, 0.0))
        m = np.cosh(case.noise.rho) * m - np.sinh(case.noise.rho) * tangent
    weight = np.ones(len(case.y)) if case.weight is None else case.weight
    short = np.maximum(0.0, 1.0 - m)
    half = 0.5 * np.maximum(q, 0.0)
    if np.isinf(C):  # the least margin is made 1: the value of w times a number
        least = np.min(np.where(weight > 0.0, m, np.inf), axis=1)
        return np.where(least > 0.0, half / least**2, np.inf)
    return half + C * (short @ weight) / np.sqrt(2.0)


def to_frame(w: np.ndarray, low: np.ndarray | None, centre: Vector) -> Array:
    return np.array([float(v.mid()) for v in boost(centre, exact_normal(w, low)[0], -1)])
