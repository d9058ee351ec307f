"""Robust fits of the exact method against plain ones at n = 60,000 in the plane, in turn.

python benchmarks/bench_robust.py            the table in docs/benchmarks/robust.md
"""

import os

import numpy as np

from harness import TABLES, Row, in_turn, seconds, write_table
from hypermargin.datasets import fetch_embedding, make_gaussian_mixture
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers import solve

TOL = 1e-6
RHO = 0.1
SETS = {
    "geodesic ball": GeodesicBall(RHO),
    "box": Box(RHO),
    "cross-polytope": CrossPolytope(RHO),
    "ball": Ball(RHO),
    "ellipsoid": Ellipsoid(RHO * np.array([[1.0, 0.5], [0.0, 0.5]])),
}


def problems() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """A generated mixture, and one class of cifar against the rest where HYPERMARGIN_DATA is set."""
    X, y = make_gaussian_mixture([30_000, 30_000], 2, scale=0.8, random_state=0, return_X_y=True)
    found = {"generated": (X, np.where(y == 1, 1.0, -1.0))}
    if os.environ.get("HYPERMARGIN_DATA"):
        X, y = fetch_embedding("cifar", return_X_y=True)
        found["cifar, class 0"] = (X, np.where(y == 0, 1.0, -1.0))
    return found


def rows() -> list[Row]:
    table = []
    for data, (X, y) in problems().items():
        for name, uncertainty in SETS.items():
            ours, plain, robust, _ = in_turn(
                lambda X=X, y=y, s=uncertainty: solve(MarginProblem(X, y, uncertainty=s), tol=TOL),
                lambda X=X, y=y: solve(MarginProblem(X, y), tol=TOL),
                repeats=9,
            )
            note = f"{robust.status.name.lower()}, gap {robust.gap:.0e}, {robust.n_iter} passes"
            what = f"{name} of size {RHO:g}, {data}, n = 60,000"
            table.append(Row(what, seconds(ours), f"plain {seconds(plain)}", f"{ours / plain:.1f}x", "<= 5x", note))
    return table


def main() -> None:
    remarks = [f"Relative gap {TOL:g}; problem, fit and the check of the certificate are all timed, on both sides."]
    write_table(
        TABLES / "robust.md", "Robust fits against plain ones", rows(), "python benchmarks/bench_robust.py", remarks
    )


if __name__ == "__main__":
    main()
