"""Seeded random instances of the margin problem, each with a name that tells how it was made."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from reference.objective import Array, lift, signed_rows

FAMILIES = ("overlap", "separable", "imbalanced", "weighted", "surrounded", "duplicates")
DIMENSIONS = (2, 3, 4, 5)
CS = (0.1, 1.0, 10.0)
SIZES = (6, 12, 24, 40, 60)


@dataclass(frozen=True, eq=False)
class Instance:
    """One binary problem; ``costs = C * weight``."""

    name: str
    X: Array
    y: Array
    C: float
    weight: Array | None = None

    @property
    def costs(self) -> Array:
        return self.C * (np.ones(len(self.y)) if self.weight is None else self.weight)


def judged_instances() -> Iterator[Instance]:
    """The 360 instances that SCIP judges: 6 families x d = 2..5 x C = 0.1, 1, 10 x n = 6..60."""
    for family in FAMILIES:
        for d in DIMENSIONS:
            for C in CS:
                for n in SIZES:
                    yield make_instance(family, d, n, C, seed=0)


def make_instance(family: str, d: int, n: int, C: float, seed: int) -> Instance:
    """An instance of a family; the same arguments give the same instance."""
    rng = np.random.default_rng([FAMILIES.index(family), d, n, round(1000 * C), seed])
    weight = None
    if family == "overlap":
        y = _labels(rng, n, n // 2)
        spatial = rng.normal(size=(n, d)) + 0.4 * y[:, None] * _direction(rng, d)
    elif family == "separable":
        y, spatial = _separable(rng, n, d)
    elif family == "imbalanced":
        n = max(n, 51) if n > 24 else n
        y = _labels(rng, n, 1)
        spatial = rng.normal(size=(n, d)) + 0.8 * y[:, None] * _direction(rng, d)
    elif family == "weighted":
        y = _labels(rng, n, n // 3)
        spatial = rng.normal(size=(n, d)) + 0.4 * y[:, None] * _direction(rng, d)
        weight = rng.exponential(size=n)
        weight[rng.integers(n)] = 0.0
    elif family == "surrounded":
        n = max(n, 2 * d + 1)
        y, spatial = _surrounded(rng, n, d)
    elif family == "duplicates":
        half = n // 2
        y = np.concatenate([_labels(rng, half, max(1, half // 2)), np.zeros(n - half)])
        spatial = rng.normal(size=(half, d)) + 0.6 * y[:half, None] * _direction(rng, d)
        copied = rng.integers(half, size=n - half)
        # One copy in four carries the other label: opposite labels on one point.
        y[half:] = y[copied] * np.where(rng.random(n - half) < 0.25, -1.0, 1.0)
        spatial = np.concatenate([spatial, spatial[copied]])
    else:
        raise ValueError(f"unknown family {family!r}; the families are {', '.join(FAMILIES)}")
    return Instance(f"{family}-d{d}-n{n}-C{C:g}-seed{seed}", lift(spatial), y, C, weight)


def risk_minimiser_is_timelike(instance: Instance) -> bool:
    """Whether the minimiser of the risk alone, a linear program, is timelike (the degenerate case)."""
    w = risk_minimiser(instance)
    return bool(w[1:] @ w[1:] < w[0] ** 2 * (1.0 - 1e-9))


def risk_minimiser(instance: Instance) -> Array:
    """A minimiser of ``sum c_i max(0, 1 - m_i)`` over all w, by linear programming in (w, slacks)."""
    Z = signed_rows(instance.X, instance.y)
    n, dim = Z.shape
    answer = linprog(
        np.concatenate([np.zeros(dim), instance.costs]),
        A_ub=-np.hstack([Z, np.eye(n)]),
        b_ub=-np.ones(n),
        bounds=[(None, None)] * dim + [(0.0, None)] * n,
    )
    if answer.status != 0:
        raise RuntimeError(f"linprog failed on {instance.name}: {answer.message}")
    return answer.x[:dim]


def random_isometry(rng: np.random.Generator, d: int, radius: float) -> Array:
    """A Lorentz matrix L, acting as ``X @ L.T``: a random rotation, then a boost by `radius` in a random direction."""
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    u = _direction(rng, d)
    boost = np.eye(d + 1)
    boost[0, 0] = np.cosh(radius)
    boost[0, 1:] = boost[1:, 0] = np.sinh(radius) * u
    boost[1:, 1:] += (np.cosh(radius) - 1.0) * np.outer(u, u)
    turned = np.eye(d + 1)
    turned[1:, 1:] = rotation
    return boost @ turned


def _labels(rng: np.random.Generator, n: int, positives: int) -> Array:
    y = -np.ones(n)
    y[rng.permutation(n)[:positives]] = 1.0
    return y


def _direction(rng: np.random.Generator, d: int) -> Array:
    v = rng.normal(size=d)
    return v / np.linalg.norm(v)


def _separable(rng: np.random.Generator, n: int, d: int) -> tuple[Array, Array]:
    """Points labelled by the side of a hyperplane near the origin, none within 0.05 of it in ``|x*w|``."""
    normal = np.concatenate([[0.2 * rng.normal()], _direction(rng, d)])
    while True:
        spatial = rng.normal(size=(4 * n, d))
        product = signed_rows(lift(spatial), np.ones(4 * n)) @ normal
        clear = np.flatnonzero(np.abs(product) > 0.05)[:n]
        y = np.sign(product[clear])
        if len(clear) == n and abs(y.sum()) < n:
            return y, spatial[clear]


def _surrounded(rng: np.random.Generator, n: int, d: int) -> tuple[Array, Array]:
    """One class in the middle and the other all around it: the best w for the risk is timelike. Needs n > 2 d."""
    inner = max(1, min(n // 3, n - 2 * d))
    # Opposite pairs, the first d of them along orthogonal axes, so that few points surround the middle already.
    axes = np.concatenate([np.linalg.qr(rng.normal(size=(d, d)))[0], rng.normal(size=(n, d))])
    shell = np.stack([axes, -axes], axis=1).reshape(-1, d)[: n - inner]
    shell *= (1.5 + rng.random((n - inner, 1))) / np.linalg.norm(shell, axis=1, keepdims=True)
    spatial = np.concatenate([0.2 * rng.normal(size=(inner, d)), shell])
    return np.concatenate([np.ones(inner), -np.ones(n - inner)]), spatial
