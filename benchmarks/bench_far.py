"""Problems far from the origin against the same problems at the origin, in turn.

python benchmarks/bench_far.py            the table in docs/benchmarks/far.md
"""

import numpy as np

from harness import TABLES, Row, in_turn, seconds, write_table
from hypermargin.geometry import lift, move_from_origin
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers import solve

TOL = 1e-6
RADIUS = 16.0
#: Across the radius linearised sets grow by sinh(r)/r, which is 3e5 at 16: larger ones leave nothing to decide.
SETS = {
    "plain": None,
    "geodesic ball of size 0.1": GeodesicBall(0.1),
    "box of size 3e-7": Box(3e-7),
    "cross-polytope of size 3e-7": CrossPolytope(3e-7),
    "ball of size 3e-7": Ball(3e-7),
    "ellipsoid of size 3e-7": Ellipsoid(3e-7 * np.array([[1.0, 0.5], [0.0, 0.5]])),
}


def cluster(n_samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A cluster of radius 1 at the origin, the same moved out, and labels that overlap."""
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0.0, 2.0 * np.pi, n_samples), rng.random(n_samples)
    X = lift(np.sinh(radius)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))
    y = np.where(X[:, 1] + 0.3 * rng.standard_normal(n_samples) > 0.0, 1.0, -1.0)
    return X, move_from_origin(X, lift(np.sinh(RADIUS) * np.array([0.6, 0.8]))), y


def rows() -> list[Row]:
    table = []
    for n_samples, repeats in ((60, 25), (10_000, 3)):
        near, far, y = cluster(n_samples)
        for name, noise in SETS.items():
            ours, origin, there, _ = in_turn(
                lambda X=far, y=y, s=noise: solve(MarginProblem(X, y, uncertainty=s), tol=TOL),
                lambda X=near, y=y, s=noise: solve(MarginProblem(X, y, uncertainty=s), tol=TOL),
                repeats=repeats,
            )
            note = f"{there.status.name.lower()}, gap {there.gap:.0e}, {there.n_iter} passes"
            what = f"{name}, n = {n_samples:,}, moved to radius {RADIUS:g}"
            table.append(Row(what, seconds(ours), f"origin {seconds(origin)}", f"{ours / origin:.1f}x", "<= 20x", note))
    return table


def main() -> None:
    remarks = [
        f"Relative gap {TOL:g}; problem, fit and the check of the certificate are all timed, on both sides.",
        "Plain problems and geodesic balls are the same problem in both places, by isometry; linearised sets are not.",
    ]
    write_table(TABLES / "far.md", "Far out against the origin", rows(), "python benchmarks/bench_far.py", remarks)


if __name__ == "__main__":
    main()
