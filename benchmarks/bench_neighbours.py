"""Nearest neighbours by a k-d tree or by matrix products: which is faster for how many points of what dimension.

python benchmarks/bench_neighbours.py        the table in docs/benchmarks/neighbours.md (two minutes)

It is what the rule behind `algorithm="auto"` rests on.
"""

import numpy as np

from harness import TABLES, Row, in_turn, seconds, write_table
from hypermargin.estimators.neighbour_search import ProductSearch, TreeSearch, make_search
from hypermargin.geometry import to_lorentz

DIMENSIONS, SIZES = (2, 3, 4, 5, 6, 8), (1_000, 10_000, 100_000)
QUERIES, K = 500, 15


def crowded_ball(n: int, dim: int) -> np.ndarray:
    """Points evenly spread in direction, most of them near the rim of a ball of radius 7, as in a taxonomy."""
    rng = np.random.default_rng(dim)
    direction = rng.normal(size=(n, dim))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    radius = 7.0 * rng.uniform(size=(n, 1)) ** (1.0 / (2.0 * dim))
    return to_lorentz(radius * direction, "tangent")


def row(n: int, dim: int) -> Row:
    points = crowded_ball(n + QUERIES, dim)
    points, queries = points[:n], points[n:]

    def ask(kind):
        return lambda: kind(points).neighbours(queries, K, None, 1)

    tree, products, *_ = in_turn(ask(TreeSearch), ask(ProductSearch), repeats=2)
    taken = "tree" if isinstance(make_search(points, "auto"), TreeSearch) else "products"
    return Row(
        f"n = {n:,}, d = {dim}", seconds(tree), seconds(products), f"{tree / products:.2f}x", "", f"auto: {taken}"
    )


def main() -> None:
    rows = [row(n, dim) for n in SIZES for dim in DIMENSIONS]
    remarks = [
        f"The first column is the k-d tree, the second matrix products: {K} neighbours of {QUERIES} points, the search "
        "structure included; one thread. Below 1x the tree is faster.",
    ]
    write_table(
        TABLES / "neighbours.md",
        "Nearest neighbours: tree or products",
        rows,
        "python benchmarks/bench_neighbours.py",
        remarks,
    )


if __name__ == "__main__":
    main()
