"""Tiny instances solved by trying every stationary point: no bounds, no cuts, no branching, only linear algebra.

Let V be the samples with margin below 1 and S those with margin exactly 1 at a minimiser w. On that piece the
objective is ``q(w)/2 + b + g.w`` with ``g = -sum_V c_i z_i / sqrt2``, so w is a stationary point of it on the flat
``z_i.w = 1, i in S``, or of ``g.w`` on the flat and the light cone. With multipliers both solve ``G w + Z_S' nu = lam
g, Z_S w = 1``, linear in ``lam``: ``w = a_S + lam P_S g``, with ``lam = -1`` for the first and a root of ``q(w) = 0``
for the second. All S of at most d + 1 samples and all V are tried. Every candidate is evaluated by the objective
itself, so the best value is an upper bound on the optimum whatever happens, and apart from rounding and degenerate
pieces it is the optimum.
"""

from itertools import combinations

import numpy as np

from reference.objective import Array, hinge_value, onto_cone, signed_rows


def brute_force(X: Array, y: Array, costs: Array, *, timelike: bool = False) -> tuple[Array, Array]:
    """Best value found and where, for a batch: X (k, n, d + 1), y and costs (k, n) to values (k,) and w (k, d + 1).

    All costs infinite asks for the hard margin; the value is infinite where nothing separates the classes.
    """
    Z = signed_rows(X, y)
    k, n, dim = Z.shape
    hard = bool(np.all(np.isinf(costs)))
    pulls = np.zeros_like(Z) if hard else -(costs / np.sqrt(2.0))[..., None] * Z
    best_w = np.zeros((k, dim))
    best = hinge_value(Z, costs, best_w[:, None])[:, 0]
    # Rays of light along and against each point, and along each axis: what is best where one class has no weight.
    rays = onto_cone(np.concatenate([X * np.sign(y)[..., None], -X * np.sign(y)[..., None]], axis=1))
    reach = np.exp(np.arccosh(np.max(X[..., 0], axis=1)))[:, None, None]
    best, best_w = _keep_best(Z, costs, reach * np.concatenate([rays, rays / reach], axis=1), best, best_w)
    for size in range(min(n, dim) + 1):
        for S in combinations(range(n), size):
            anchor, projector = _flat(Z[:, list(S)])
            patterns = np.zeros((1, n)) if hard or size == dim else _patterns(n, S)
            # The rows of P_S as well: where ``P_S g = 0`` the value is constant on the flat, and they reach the cone.
            steps = np.concatenate([(patterns @ pulls) @ projector, projector], axis=1)
            found = _candidates(anchor, steps)
            best, best_w = _keep_best(Z, costs, found if timelike else onto_cone(found), best, best_w)
    return best, best_w


def _patterns(n: int, S: tuple[int, ...]) -> Array:
    """All subsets V of the samples outside S, as rows of zeros and ones, shape (2^(n - |S|), n)."""
    free = [i for i in range(n) if i not in S]
    bits = (np.arange(2 ** len(free))[:, None] >> np.arange(len(free))) & 1
    rows = np.zeros((len(bits), n))
    rows[:, free] = bits
    return rows


def _flat(Z_S: Array) -> tuple[Array, Array]:
    """``a_S`` (k, d + 1) and ``P_S`` (k, d + 1, d + 1) of the docstring above; both 0 where the system is singular."""
    k, size, dim = Z_S.shape
    system = np.zeros((k, dim + size, dim + size))
    system[:, :dim, :dim] = np.diag([-1.0] + [1.0] * (dim - 1))
    system[:, :dim, dim:] = np.swapaxes(Z_S, 1, 2)
    system[:, dim:, :dim] = Z_S
    singular = np.linalg.cond(system) > 1e13 if size > 1 else np.abs(np.linalg.det(system)) < 1e-13
    system[singular] = np.eye(dim + size)
    inverse = np.linalg.inv(system)
    inverse[singular] = 0.0
    return inverse[:, :dim, dim:].sum(axis=2), inverse[:, :dim, :dim]


def _candidates(anchor: Array, steps: Array) -> Array:
    """``a + lam step`` for ``lam = -1`` and both roots of ``q = 0``: (k, d + 1), (k, p, d + 1) to (k, 3 p, d + 1)."""
    a = anchor[:, None, :]
    sign = np.ones(anchor.shape[1])
    sign[0] = -1.0
    square, cross, constant = (np.sum(sign * u * v, axis=-1) for u, v in ((steps, steps), (a, steps), (a, a)))
    root = np.sqrt(np.maximum(cross**2 - square * constant, 0.0))
    # The two roots without cancellation: big/square and constant/big.
    big = -(cross + np.where(cross >= 0.0, root, -root))
    with np.errstate(divide="ignore", invalid="ignore"):
        lams = np.stack([-np.ones_like(big), big / square, constant / big], axis=-1)
    lams[~np.isfinite(lams)] = 0.0
    found = a[:, :, None, :] + lams[..., None] * steps[:, :, None, :]
    return found.reshape(len(anchor), -1, anchor.shape[1])


def _keep_best(Z: Array, costs: Array, found: Array, best: Array, best_w: Array) -> tuple[Array, Array]:
    """The better, instance by instance, of the best so far and the candidates `found`, shape (k, p, d + 1)."""
    few = min(4, found.shape[1])
    plain = hinge_value(Z, costs, found)
    leaders = np.argpartition(plain, few - 1, axis=1)[:, :few]
    first = np.argmin(plain, axis=1)[:, None]
    # Where costs are large it is cheaper to stretch the first, so that no margin of 1 is missed by rounding.
    stretched = np.take_along_axis(found, first[..., None], axis=1) * (1.0 + np.array([[1e-12], [1e-10], [1e-8]]))
    trial = np.concatenate([np.take_along_axis(found, leaders[..., None], axis=1), stretched], axis=1)
    values = hinge_value(Z, costs, trial) + _rounding(Z, costs, trial)
    index = np.argmin(values, axis=1)
    rows = np.arange(len(best))
    better = values[rows, index] < best
    return np.where(better, values[rows, index], best), np.where(better[:, None], trial[rows, index], best_w)


def _rounding(Z: Array, costs: Array, w: Array) -> Array:
    """More than the rounding error of the value at each w, so that value plus error is an upper bound; (k, p).

    It covers as well a w on the light cone being off it by a rounding error. Infinite costs: see `hinge_value`.
    """
    unit = 8.0 * np.finfo(np.float64).eps
    size = np.linalg.norm(w, axis=-1)
    error = unit * size[..., None] * np.linalg.norm(Z, axis=-1)[:, None, :]
    counts = 1.0 - w @ np.swapaxes(Z, -1, -2) + error > 0.0
    soft = np.where(np.isinf(costs), 0.0, costs)[:, None, :]
    missed = np.any(counts & np.isinf(costs)[:, None, :], axis=-1)
    return np.where(missed, np.inf, unit * size**2 + np.sum(soft * error * counts, axis=-1))
