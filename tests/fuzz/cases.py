"""What the tester draws: small problems of every kind that the package claims to solve. NumPy only.

Each is named by (seed, batch, position). Problems of one batch have as many points and dimensions as each other.
`varied` puts another one in its place: another tolerance, another way to the solver, a regular or degenerate shape,
another kind of problem.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BATCH = 32
SETS = ("GeodesicBall", "Box", "CrossPolytope", "Ball", "Ellipsoid")
#: Methods and how often each is drawn. Relaxations take some hundred times as long as the exact method.
METHODS = {
    "exact": 0.9045,
    "classifier": 0.05,  # `HyperbolicSVC`, which solves and checks small problems in calls of their own
    "path": 0.03,
    "sdp": 0.01,
    "moment": 0.0005,
    "pgd": 0.002,
    "euclidean": 0.003,
}
#: Most passes of the exact method: few problems need more, and those take a thousand times as long; in one batch of
#: `PATIENT` they are given more.
FEW_PASSES, MANY_PASSES, PATIENT = 300, 1_500, 64
TOL = 1e-6
#: Ways to the exact method: at once, from a random normal, with limits that are reached at once, interrupted and taken
#: up again from a file, and with the samples in several blocks.
ROUTES = ("at once", "warm", "hurried", "restarted", "blocks")
#: Methods for problems of another kind: boundaries that are curves, the kernels, and the asinh loss.
OTHER_KINDS = ("curve", "distance", "laplacian", "cosh", "heat", "asinh")
#: Of branch and bound, whose boxes multiply with every digit.
LEAST_ASINH_TOL = 1e-2


@dataclass(frozen=True, eq=False)
class Noise:
    """An uncertainty set: its name, its size (a number or one per sample), and the shape of an ellipsoid."""

    name: str
    rho: Array | float
    shape: Array | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """A problem by the space coordinates of its points, shape (n, d), and how it is to be solved."""

    name: str
    space: Array
    y: Array
    C: tuple[float, ...]
    weight: Array | None = None
    noise: Noise | None = None
    timelike: bool = False
    method: str = "exact"
    passes: int = FEW_PASSES
    tol: float = TOL
    route: str = "at once"

    @property
    def seed(self) -> int:
        """Of what is drawn while the case is solved and judged."""
        return crc32(self.name.encode())

    @property
    def hard(self) -> bool:
        return bool(np.isinf(self.C[0]))

    def without(self, i: int) -> "Case":
        """The same without sample i."""
        noise = self.noise
        if noise is not None:
            shape = noise.shape if noise.shape is None or noise.shape.ndim == 2 else np.delete(noise.shape, i, axis=0)
            noise = replace(noise, rho=noise.rho if np.ndim(noise.rho) == 0 else np.delete(noise.rho, i), shape=shape)
        return replace(
            self,
            space=np.delete(self.space, i, axis=0),
            y=np.delete(self.y, i),
            weight=None if self.weight is None else np.delete(self.weight, i),
            noise=noise,
        )


def draw_batch(seed: int, batch: int) -> list[Case]:
    """The cases of that name."""
    rng = np.random.default_rng([seed, batch])
    d = int(rng.choice([1, 2, 3], p=[0.3, 0.45, 0.25]))
    n = int(rng.choice([1, 2, 3, 4, 5, 6], p=[0.03, 0.22, 0.25, 0.25, 0.15, 0.1]))
    kind = rng.random()
    hard, timelike = kind < 0.15, 0.15 <= kind < 0.27
    passes = FEW_PASSES if batch % PATIENT else MANY_PASSES
    return [replace(_draw(f"{seed}-{batch}-{i}", rng, n, d, hard, timelike), passes=passes) for i in range(BATCH)]


def _draw(name: str, rng: np.random.Generator, n: int, d: int, hard: bool, timelike: bool) -> Case:
    method = str(rng.choice(list(METHODS), p=list(METHODS.values())))
    if timelike and method not in ("path", "classifier"):
        method = "exact"
    noise = _noise(rng, n, d) if rng.random() < 0.4 and method in ("exact", "path", "sdp", "moment") else None
    if hard:
        C: tuple[float, ...] = (float("inf"),)
        method = method if method in ("exact", "classifier", "sdp", "moment") else "exact"
    else:
        exponents = rng.uniform(-12, 12, size=3) if rng.random() < 0.15 else rng.uniform(-3, 3, size=3)
        C = tuple(float(10.0**e) for e in exponents[: 3 if method == "path" else 1])
    weight = None
    if rng.random() < 0.3:
        weight = rng.exponential(size=n) if rng.random() < 0.7 else 10.0 ** rng.uniform(-12, 12, size=n)
        if rng.random() < 0.2:
            weight[rng.integers(n)] = 0.0
        if not np.any(weight):
            weight = None
    space, y = _space(rng, n, d), _labels(rng, n)
    if method == "classifier" and np.unique(y if weight is None else y[weight > 0.0]).size < 2:
        method = "exact"  # a classifier asks for two classes
    return Case(name, space, y, C, weight, noise, timelike, method)


def _labels(rng: np.random.Generator, n: int) -> Array:
    style = rng.random()
    if style < 0.05:
        return np.full(n, rng.choice([-1.0, 1.0]))
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0) if style < 0.8 else -np.ones(n)
    if n > 1:
        y[0], y[-1] = 1.0, -1.0
    return y


def _space(rng: np.random.Generator, n: int, d: int) -> Array:
    """Points near the origin, far out in all directions, or a cluster moved out; some on lattices or nearly equal."""
    place = rng.random()
    space = rng.normal(size=(n, d)) * np.exp(rng.uniform(-6.0, 1.5))
    if 0.5 <= place < 0.7:
        directions = rng.normal(size=(n, d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        space = directions * np.sinh(rng.uniform(0.0, 17.0, size=(n, 1)) if place < 0.6 else rng.uniform(0.0, 17.0))
    if rng.random() < 0.15:
        space = np.round(space)
    if n > 1 and rng.random() < 0.2:
        i, j = rng.integers(n, size=2)
        space[i] = space[j] + rng.choice([0.0, 1e-15, 1e-12, 1e-9, 1e-6]) * rng.normal(size=d)
    if n > 2 and rng.random() < 0.1:
        space[0] = space[1:].mean(axis=0)
    if d > 1 and rng.random() < 0.05:
        space[:, 1:] = 0.0
    return _moved(rng, space, rng.uniform(0.0, 17.0)) if place >= 0.7 else space


def _moved(rng: np.random.Generator, space: Array, radius: float) -> Array:
    """The points after a boost in a random direction."""
    u = rng.normal(size=space.shape[1])
    u /= np.linalg.norm(u)
    along, time = space @ u, np.sqrt(1.0 + np.sum(space**2, axis=1))
    return space + np.outer((np.cosh(radius) - 1.0) * along + np.sinh(radius) * time, u)


def _noise(rng: np.random.Generator, n: int, d: int) -> Noise:
    name = SETS[0] if rng.random() < 0.5 else str(rng.choice(SETS[1:]))
    largest = 16.0 if name == SETS[0] and rng.random() < 0.05 else 2.0
    shape = None
    if name == "Ellipsoid":
        shape = rng.normal(size=(n, d, d) if rng.random() < 0.3 else (d, d))
    size = (n,) if rng.random() < 0.25 else ()
    rho = largest * 10.0 ** rng.uniform(-7.0, 0.0, size=size)
    if rng.random() < 0.05:
        rho = 0.0 * rho
    return Noise(name, rho if size else float(rho), shape)


# -- variations --------------------------------------------------------------------------------------------------------


def varied(case: Case) -> Case:
    """The case, or one of as many points and dimensions that differs from it in one or more respects."""
    rng = np.random.default_rng(case.seed)
    n, d = case.space.shape
    if rng.random() < 0.3:
        case = replace(case, space=_shaped(rng, n, d))
    if rng.random() < 0.3:
        case = replace(case, tol=float(10.0 ** rng.uniform(-9.0, -1.0)))
    kind = rng.random()
    if case.hard or case.method != "exact":
        return case
    if kind < 0.06 and not case.timelike:
        method = str(rng.choice(OTHER_KINDS, p=[0.3, 0.15, 0.15, 0.15, 0.15, 0.1]))
        tol = max(case.tol, LEAST_ASINH_TOL) if method == "asinh" else case.tol
        return replace(case, method=method, tol=tol, noise=None)
    if kind < 0.26:
        return _by_route(case, str(rng.choice(ROUTES[1:])))
    return case


def near(case: Case, name: str, rng: np.random.Generator) -> Case:
    """A case that differs from another in one or two respects, such as one that reached a rare branch of the code."""
    n, d = case.space.shape
    changes: list[Callable[[Case], Case]] = [
        lambda c: replace(c, space=c.space * np.exp(rng.normal())),
        lambda c: replace(c, space=c.space + rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-12.0, 0.0)),
        lambda c: replace(c, space=c.space[rng.integers(n, size=n)]),
        lambda c: replace(c, space=_shaped(rng, n, d)),
        lambda c: replace(c, y=_labels(rng, n)),
        lambda c: replace(c, tol=float(10.0 ** rng.uniform(-9.0, -1.0))),
        lambda c: c if c.hard else replace(c, C=tuple(C * float(np.exp(3.0 * rng.normal())) for C in c.C)),
        lambda c: replace(c, weight=None if rng.random() < 0.3 else 10.0 ** rng.uniform(-6.0, 6.0, size=n)),
        lambda c: replace(c, passes=int(rng.choice([1, 3, 10, FEW_PASSES]))),
        lambda c: c if c.method != "exact" or c.hard else _by_route(c, str(rng.choice(ROUTES))),
    ]
    changed = replace(case, name=name)
    for k in rng.choice(len(changes), size=rng.integers(1, 3), replace=False):
        changed = changes[k](changed)
    return changed


def _by_route(case: Case, route: str) -> Case:
    """Blocks have one size of a set for all samples, and both classes have to have weight."""
    if route == "hurried":
        return replace(case, route=route, passes=1 + case.seed % 6)
    used = np.ones(len(case.y), dtype=bool) if case.weight is None else case.weight > 0.0
    plain = case.noise is None or (
        np.ndim(case.noise.rho) == 0 and (case.noise.shape is None or case.noise.shape.ndim == 2)
    )
    if route != "warm" and not (plain and np.unique(case.y[used]).size == 2):
        return case
    return replace(case, route=route)


def _shaped(rng: np.random.Generator, n: int, d: int) -> Array:
    """Points with symmetries or ties: regular polygons, opposite pairs, whole numbers, one geodesic, few places."""
    shape, radius = rng.integers(5), np.sinh(10.0 ** rng.uniform(-3.0, 0.6))
    space = np.zeros((n, d))
    if shape == 0 and d > 1:
        angles = 2.0 * np.pi * np.arange(n) / n
        space[:, :2] = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    elif shape <= 1:
        half = radius * rng.normal(size=(n, d))
        space = np.where((np.arange(n) % 2 == 0)[:, None], half, -np.roll(half, 1, axis=0))
    elif shape == 2:
        space = rng.integers(-2, 3, size=(n, d)).astype(float)
    elif shape == 3:
        space[:, 0] = np.sinh(rng.uniform(-1.0, 1.0, size=n) * np.arcsinh(radius))
    else:
        places = radius * rng.normal(size=(2, d))
        space = places[rng.integers(2, size=n)]
    return space if rng.random() < 0.5 else _moved(rng, space, rng.uniform(0.0, 13.0))
