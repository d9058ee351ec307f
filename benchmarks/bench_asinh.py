"""The asinh objective by branch and bound: ratios to the hinge, to gradient descent and to a grid; growth with n.

python benchmarks/bench_asinh.py            the table in docs/benchmarks/asinh.md
"""

import numpy as np

from harness import TABLES, Row, in_turn, seconds, write_table
from hypermargin import MarginProblem, solve
from hypermargin.datasets import make_gaussian_mixture

TOL = 1e-4
#: Points of a grid along each axis: it must find the objective to 1e-2, which already takes so many.
GRID = 121


def problem(n: int) -> MarginProblem:
    X, y = make_gaussian_mixture([n // 2, n // 2], 2, scale=0.8, random_state=0, return_X_y=True)
    return MarginProblem(X, 2.0 * y - 1.0, C=100.0 / n)


def grid_search(p: MarginProblem, half_side: float) -> float:
    """The least objective on a grid of w; what a search without bounds does."""
    axis = np.linspace(-half_side, half_side, GRID)
    z, costs = p.signed_covectors, p.costs
    best = np.inf
    for t in axis:
        w = np.stack(np.meshgrid([t], axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
        q = w[:, 1] ** 2 + w[:, 2] ** 2 - t * t
        w, q = w[q >= 0.0], q[q >= 0.0]
        if len(w):
            risk = np.maximum(0.0, np.arcsinh(1.0) - np.arcsinh(w @ z.T)) @ costs
            best = min(best, float((0.5 * q + risk).min()))
    return best


def rows() -> list[Row]:
    small = problem(100)
    ours, hinge, exact, _ = in_turn(lambda: solve(small, loss="asinh", tol=TOL), lambda: solve(small, tol=TOL), 5)
    note = f"{exact.status.name.lower()}, {exact.n_iter} boxes"
    table = [Row("n = 100", seconds(ours), f"hinge {seconds(hinge)}", f"{ours / hinge:.0f}x", "", note)]
    ours, pgd, _, found = in_turn(lambda: solve(small, loss="asinh", tol=TOL), lambda: solve(small, "pgd"), 5)
    excess = f"pgd ends {found.objective / exact.lower_bound - 1.0:.1e} above the bound"
    table.append(Row("n = 100", seconds(ours), f"pgd {seconds(pgd)}", f"{ours / pgd:.1f}x", "", excess))
    reach = 1.5 * float(np.abs(exact.w).max())
    ours, grid, _, value = in_turn(lambda: solve(small, loss="asinh", tol=TOL), lambda: grid_search(small, reach), 1)
    excess = f"the grid of {GRID}^3 points ends {value / exact.lower_bound - 1.0:.1e} above the bound"
    table.append(Row("n = 100", seconds(ours), f"grid {seconds(grid)}", f"{ours / grid:.3f}x", "< 1x", excess))
    previous = None
    for n in (1_000, 10_000, 100_000):
        larger = problem(n)
        spent, _, solution, _ = in_turn(lambda p=larger: solve(p, loss="asinh", tol=TOL), lambda: None, 1)
        growth = "" if previous is None else f"{spent / previous:.1f}x"
        note = f"{solution.status.name.lower()}, {solution.n_iter} boxes"
        against = "" if previous is None else f"a tenth of the samples {seconds(previous)}"
        table.append(Row(f"n = {n:,}", seconds(spent), against, growth, "<= 10x" if growth else "", note))
        previous = spent
    return table


def main() -> None:
    remarks = [
        f"Relative gap {TOL:g}, start and check of the certificate included; two overlapping classes in the plane."
    ]
    write_table(
        TABLES / "asinh.md",
        "The asinh objective by branch and bound",
        rows(),
        "python benchmarks/bench_asinh.py",
        remarks,
    )


if __name__ == "__main__":
    main()
