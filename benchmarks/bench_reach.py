"""How far out problems are proved: centred data and clusters moved out, plain and with uncertainty sets, by radius.

    python benchmarks/bench_reach.py                  all of it, and the tables in docs/benchmarks/reach.md
    python benchmarks/bench_reach.py --only plain     a part, shown but not written
    python benchmarks/bench_reach.py --seed 7         other problems of the same kinds

A problem counts as proved if it is solved to a proven gap of 1e-6, or proved to have no solution. Those that are not
are listed.
"""

import argparse
import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.progress import track

from harness import TABLES, environment
from hypermargin import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall, MarginProblem, solve
from hypermargin.geometry import lift, move_from_origin
from hypermargin.geometry.lorentz import covector
from hypermargin.problems.linearised import OriginJacobian, framed_jacobians

TOL = 1e-6
SAMPLES = 60
DIMS = (1, 2, 3, 5)
CS = (0.01, 1.0, 100.0, 1e4, np.inf)
CENTRED, MOVED = (1, 6, 12, 14, 16, 18), (8, 10, 12, 14, 16)
#: The radii of problems with uncertainty sets, of which there are five times as many.
SETS_CENTRED, SETS_MOVED = (6, 12, 16, 18), (8, 12, 16)
#: Problems of each radius, dimension and C: plain, and with each uncertainty set.
PLAIN_EACH, ROBUST_EACH = 5, 1
#: Radii of geodesic balls, and sizes across the radius of the other sets, between which they are drawn.
GEODESIC, LINEARISED = (1e-5, 1.5), (1e-3, 1.0)
#: Seconds that a problem is given. Ratios of times below this many are measured again, and the least counts.
LIMIT, SHORT, REPEATS = 60.0, 0.1, 3


ABOUT = """\
A gap of 1e-6, 60 samples, d = 1, 2, 3, 5, C = 0.01, 1, 100, 1e4 and the hard margin; labels at random, by a hyperplane,
by one with noise, and one class a tenth of the other. Centred data reaches the radius; clusters of radius 1 are moved
out to it. Sizes of sets are drawn between 1e-5 and 1.5 for geodesic balls, and between 1e-3 and 1, across the radius,
for others. Times are of the processor, check included, beside the same problem at the origin: median and largest ratio.
Balls and ellipsoids of the tangent space are ellipsoids there, one per sample, which makes it the same problem. Boxes
and cross-polytopes have no such image, and are compared with sets as large, which have other shapes."""


@dataclass(frozen=True)
class Case:
    """A problem, the row and the column of the table that it counts in, and the same problem at the origin if any."""

    row: str
    radius: int
    problem: MarginProblem
    origin: MarginProblem | None = None

    @property
    def name(self) -> str:
        p = self.problem
        size = "" if p.uncertainty is None else f", size {float(np.max(p.uncertainty.rho)):.2g}"
        return f"{self.row}, radius {self.radius}, d = {p.dim}, C = {p.C:g}{size}"


def cluster(rng: np.random.Generator, d: int, radius: float, distance: float) -> tuple[np.ndarray, np.ndarray]:
    """Points up to `radius` from a point that lies `distance` from the origin, and the same around the origin."""
    direction = rng.standard_normal((SAMPLES, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    near = lift(np.sinh(radius * rng.random((SAMPLES, 1))) * direction)
    away = rng.standard_normal(d)
    return move_from_origin(near, lift(np.sinh(distance) * away / np.linalg.norm(away))) if distance else near, near


def labels(rng: np.random.Generator, near: np.ndarray) -> np.ndarray:
    """At random, by a hyperplane, by one with noise, or one class a tenth of the other."""
    along = near[:, 1] / near[:, 0]
    style = rng.integers(4)
    if style == 0:
        y = rng.choice([-1.0, 1.0], SAMPLES)
    else:
        shift = {1: 0.3 * np.std(along) * rng.standard_normal(SAMPLES), 2: 0.0, 3: -np.quantile(along, 0.9)}[int(style)]
        y = np.where(along + shift > 0.0, 1.0, -1.0)
    if np.all(y == y[0]):
        y[0] = -y[0]
    return y


def log_uniform(rng: np.random.Generator, ends: tuple[float, float]) -> float:
    return float(np.exp(rng.uniform(*np.log(ends))))


#: Every uncertainty set by its name, from a random generator, the dimension and the size across the radius.
SETS: dict[str, Callable] = {
    "geodesic ball": lambda rng, d, size: GeodesicBall(size),
    "box": lambda rng, d, size: Box(size),
    "cross-polytope": lambda rng, d, size: CrossPolytope(size),
    "ball": lambda rng, d, size: Ball(size),
    "ellipsoid": lambda rng, d, size: Ellipsoid(rng.standard_normal((d, d)), size),
}


def around_centre(problem: MarginProblem) -> MarginProblem:
    """The same problem with the centre of its samples at the origin, where its balls or ellipsoids are ellipsoids."""
    near = lift((covector(problem.covectors_around(problem.centre, precise=True)) * problem.y[:, None])[:, 1:])
    steps = covector(framed_jacobians(problem.X, problem.centre[1:]))  # of the axes, moved, (n, d, d + 1)
    axes = np.broadcast_to(np.eye(problem.dim)[:, None], (problem.dim, *problem.X[:, 1:].shape))
    own = np.stack([OriginJacobian.at(near).push_forward(axis) for axis in axes], axis=1)
    images = np.stack([np.linalg.lstsq(J.T, step.T, rcond=None)[0] for J, step in zip(own, steps, strict=True)])
    noise = problem.uncertainty
    shapes = images @ noise.shape if isinstance(noise, Ellipsoid) else images
    return MarginProblem(near, problem.y, problem.C, uncertainty=Ellipsoid(shapes, noise.rho))


def plain(seed: int) -> Iterator[Case]:
    for moved, radii in ((False, CENTRED), (True, MOVED)):
        for radius, d, C, k in itertools.product(radii, DIMS, CS, range(PLAIN_EACH)):
            rng = np.random.default_rng([seed, 1, moved, radius, d, CS.index(C), k])
            far, near = cluster(rng, d, *((1.0, radius) if moved else (radius, 0)))
            y = labels(rng, near)
            origin = MarginProblem(near, y, C) if moved else None
            yield Case("plain, " + ("moved out" if moved else "centred"), radius, MarginProblem(far, y, C), origin)


def robust(seed: int) -> Iterator[Case]:
    for moved, (kind, make) in itertools.product((False, True), SETS.items()):
        for radius, d, C, k in itertools.product(SETS_MOVED if moved else SETS_CENTRED, DIMS, CS, range(ROBUST_EACH)):
            rng = np.random.default_rng([seed, 2, moved, list(SETS).index(kind), radius, d, CS.index(C), k])
            far, near = cluster(rng, d, *((1.0, radius) if moved else (radius, 0)))
            y = labels(rng, near)
            size = log_uniform(rng, GEODESIC if kind == "geodesic ball" else LINEARISED)
            noise = make(rng, d, size)  # linearised sets grow by sinh(r)/r across the radius
            scaled = noise if kind == "geodesic ball" else noise.scaled(radius / np.sinh(radius))
            problem = MarginProblem(far, y, C, uncertainty=scaled)
            origin = MarginProblem(near, y, C, uncertainty=noise) if moved else None
            if moved and isinstance(scaled, Ball | Ellipsoid):
                origin = around_centre(problem)
            yield Case(f"{kind}, " + ("moved out" if moved else "centred"), radius, problem, origin)


def special(seed: int) -> Iterator[Case]:
    for d, C, k in itertools.product(DIMS, (1e6, np.inf), range(PLAIN_EACH)):
        rng = np.random.default_rng([seed, 3, d, bool(np.isinf(C)), k])
        X, near = cluster(rng, d, 0.01, 0)
        problem = MarginProblem(X, labels(rng, near), C, uncertainty=GeodesicBall(1e-5))
        yield Case("geodesic balls of 1e-5 in a cluster of radius 0.01, C = 1e6 or hard", 0, problem)
    for d, k in itertools.product(DIMS, range(2 * PLAIN_EACH)):
        rng = np.random.default_rng([seed, 4, d, k])
        X, near = cluster(rng, d, 1.0, 6)
        y = labels(rng, near)
        yield Case("plain, moved out, C = 1e6", 6, MarginProblem(X, y, 1e6), MarginProblem(near, y, 1e6))


PARTS = {"plain": plain, "robust": robust, "special": special}


class Counts:
    """What was proved, by row and radius, how much longer it took than at the origin, and what was not proved."""

    def __init__(self) -> None:
        self.proved: dict[tuple[str, int], list[bool]] = defaultdict(list)
        self.ratios: dict[str, list[float]] = defaultdict(list)
        self.left: list[str] = []

    def add(self, case: Case) -> None:
        seconds, solution = _timed(case.problem)
        self.proved[case.row, case.radius].append(solution.is_proved)
        if not solution.is_proved:
            self.left.append(f"{case.name}: {solution.status.name.lower()}, gap {solution.gap:.1e}, {seconds:.1f} s")
        elif case.origin is not None:
            near, other = _timed(case.origin)
            for _ in range(REPEATS - 1 if seconds < SHORT else 0):
                seconds, near = min(seconds, _timed(case.problem)[0]), min(near, _timed(case.origin)[0])
            if other.is_proved:
                self.ratios[case.row].append(seconds / near)

    def lines(self) -> list[str]:
        """The tables in Markdown."""
        radii = sorted({radius for _, radius in self.proved})
        rows = list(dict.fromkeys(row for row, _ in self.proved))
        lines = ["| Proved, of all, at radius | " + " | ".join(map(str, radii)) + " | Time far : origin |"]
        lines.append("|---|" + "---|" * (len(radii) + 1))
        for row in rows:
            cells = [self.proved.get((row, radius), []) for radius in radii]
            shown = [f"{sum(cell)} of {len(cell)}" if cell else "" for cell in cells]
            lines.append(f"| {row} | " + " | ".join(shown) + f" | {self._ratio(row)} |")
        done = [proved for cell in self.proved.values() for proved in cell]
        lines += ["", f"{sum(done):,} of {len(done):,} problems are proved."]
        return lines + (["Not proved:", "", *(f"* {name}" for name in self.left)] if self.left else [])

    def _ratio(self, row: str) -> str:
        ratios = self.ratios.get(row)
        return f"{np.median(ratios):.1f}, at most {np.max(ratios):.1f}" if ratios else ""


def _timed(problem: MarginProblem):
    start = time.process_time()
    solution = solve(problem, tol=TOL, time_limit=LIMIT)
    return time.process_time() - start, solution


def main() -> None:
    parser = argparse.ArgumentParser(description="How far out problems are proved.")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="parts of the table; nothing is written then")
    parser.add_argument("--seed", type=int, default=0, help="which problems are drawn (default: 0)")
    options = parser.parse_args()
    console, counts = Console(), Counts()
    for part in options.only or PARTS:
        for case in track(list(PARTS[part](options.seed)), description=part, console=console):
            counts.add(case)
    command = f"python benchmarks/bench_reach.py --seed {options.seed}"
    page = ["# How far out problems are proved", "", f"Made by `{command}`. {environment()}", ""]
    page += [ABOUT, ""]
    page += counts.lines()
    console.print("\n".join(page), soft_wrap=True)
    if options.only is None:
        (TABLES / "reach.md").write_text("\n".join(page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
