"""Many dimensions and many classes: `exact` and `euclidean` against LinearSVC, and deep cuts against plain ones.

python benchmarks/bench_dims.py             all of it, and the table in docs/benchmarks/dims.md
python benchmarks/bench_dims.py --only exact euclidean
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from harness import TABLES, Row, best_of, in_turn, seconds, write_table
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators.svc import HyperbolicSVC
from hypermargin.geometry.lorentz import lift
from hypermargin.problems.losses import SQRT2
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers import solve
from hypermargin.solvers.common.conic import minimise_hinges

TOL = 1e-6
#: Relative objective to which LinearSVC is timed, the fewest iterations it is given, and the most.
THEIR_TOL, FIRST_ITERATIONS, MOST_ITERATIONS = 1e-4, 10, 40_960


def overlapping(d: int, n: int, C: float = 1.0) -> MarginProblem:
    """Two Gaussians in the tangent space that a hyperplane separates to about 84 % in any dimension."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    tangent = 1.2 / np.sqrt(d) * rng.standard_normal((n, d))
    tangent[:, 0] += 1.2 / np.sqrt(d) * y
    radii = np.linalg.norm(tangent, axis=1, keepdims=True)
    return MarginProblem(lift(np.sinh(radii) / radii * tangent), y, C=C)


def fresh(problem: MarginProblem) -> MarginProblem:
    """The same problem without anything cached, so that a fit pays for all it needs."""
    return MarginProblem(problem.X, problem.y, C=problem.C)


def linear_svc(problem: MarginProblem) -> tuple[Callable[[], LinearSVC], str]:
    """LinearSVC with the fewest iterations (times a power of 2) that bring its own objective within `THEIR_TOL`."""
    best = solve(problem, "euclidean", 1e-9)
    least = 0.5 * best.w @ best.w + problem.risk(best.w)
    iterations = FIRST_ITERATIONS
    while True:
        model = LinearSVC(
            loss="hinge", fit_intercept=False, C=problem.C / SQRT2, tol=1e-12, max_iter=iterations, random_state=0
        )

        def fit(model=model):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                return model.fit(problem.X, problem.y)

        w = fit().coef_[0] * np.r_[1.0, -np.ones(problem.dim)]
        excess = (0.5 * w @ w + problem.risk(w)) / least - 1.0
        if excess <= THEIR_TOL or iterations >= MOST_ITERATIONS:
            return fit, f"LinearSVC is at {excess:.0e} after {iterations} iterations"
        iterations *= 2


def describe(solution) -> str:
    return f"{solution.status.name}, gap {solution.gap:.1e}, {solution.info['passes']} passes"


# -- one function per line ---------------------------------------------------------------------------------------------


def exact() -> list[Row]:
    rows = []
    for d, C, target in ((32, 1.0, 3), (32, 10.0, 3), (128, 1.0, 10), (128, 10.0, 10)):
        problem = overlapping(d, 20_000, C)
        rival, remark = linear_svc(problem)
        ours, theirs, solution, _ = in_turn(lambda problem=problem: solve(fresh(problem), tol=TOL), rival, 3)
        what, note = f"exact, d = {d}, n = 20,000, C = {C:g}", f"{describe(solution)}; {remark}"
        ratio = f"{ours / theirs:.1f}x"
        rows.append(Row(what, seconds(ours), f"LinearSVC {seconds(theirs)}", ratio, f"<= {target}x", note))
    return rows


def euclidean() -> list[Row]:
    rows = []
    for d, C in ((32, 1.0), (32, 10.0), (128, 1.0), (128, 10.0)):
        problem = overlapping(d, 20_000, C)
        rival, remark = linear_svc(problem)
        ours, theirs, solution, _ = in_turn(lambda problem=problem: solve(fresh(problem), "euclidean", TOL), rival, 3)
        what = f"euclidean, d = {d}, n = 20,000, C = {C:g}"
        note = f"{solution.n_iter} iterations; {remark}"
        ratio = f"{ours / theirs:.1f}x"
        rows.append(Row(what, seconds(ours), f"LinearSVC {seconds(theirs)}", ratio, "<= 3x", note))
    return rows


def clarabel() -> list[Row]:
    problem = overlapping(32, 20_000)
    Z, ones, costs = problem.signed_covectors, np.ones(problem.n_samples), problem.costs / SQRT2
    ours, theirs, _, _ = in_turn(
        lambda: solve(fresh(problem), "euclidean", TOL),
        lambda: minimise_hinges(np.eye(33), np.zeros(33), Z, ones, costs, tol=1e-10),
        2,
        1,
    )
    what = "euclidean, d = 32, n = 20,000, C = 1"
    return [Row(what, seconds(ours), f"Clarabel {seconds(theirs)}", f"{theirs / ours:.0f}x", "", "")]


def plain_cuts() -> list[Row]:
    rows = []
    for d, n, C in ((32, 20_000, 10.0), (128, 20_000, 1.0)):
        problem = overlapping(d, n, C)
        ours, theirs, solution, plain = in_turn(
            lambda problem=problem: solve(fresh(problem), tol=TOL),
            lambda problem=problem: solve(fresh(problem), tol=TOL, cuts="plain", time_limit=90.0),
            2,
            1,
        )
        what = f"exact, deep cuts against plain ones, d = {d}, n = 20,000, C = {C:g}"
        note = f"{describe(solution)}; plain: {describe(plain)}"
        rows.append(Row(what, seconds(ours), f"plain {seconds(theirs)}", f"{theirs / ours:.0f}x", ">= 10x", note))
    return rows


def rule() -> list[Row]:
    """Which cuts are quicker, by dimension and number of samples: what the choice of `cuts="auto"` rests on."""
    rows = []
    for d in (4, 6, 8, 10, 16):
        for n in (500, 5_000, 20_000, 100_000, 300_000):
            for C in (1.0, 10.0):
                problem = overlapping(d, n, C)
                deep, plain, deeply, plainly = in_turn(
                    lambda problem=problem: solve(fresh(problem), tol=TOL, cuts="deep"),
                    lambda problem=problem: solve(fresh(problem), tol=TOL, cuts="plain"),
                    2,
                )
                what = f"deep against plain cuts, d = {d}, n = {n:,}, C = {C:g}"
                note = f"data read {deeply.info['full_passes']:.0f} and {plainly.info['full_passes']:.0f} times"
                rows.append(Row(what, seconds(deep), f"plain {seconds(plain)}", f"{plain / deep:.2f}x", "", note))
    return rows


def wide() -> list[Row]:
    problem = overlapping(512, 20_000)
    ours, solution = best_of(lambda: solve(fresh(problem), tol=TOL), 1)
    return [Row("exact, d = 512, n = 20,000, C = 1", seconds(ours), "", "", "works", describe(solution))]


def classes() -> list[Row]:
    centres = 0.2 * np.random.default_rng(0).standard_normal((100, 32))
    X, y = make_gaussian_mixture(500, 100, dim=32, centers=centres, scale=0.3, random_state=0, return_X_y=True)
    rows = []
    for scheme, target in (("ovr", 60), ("ovo", 300)):
        start = time.perf_counter()
        model = HyperbolicSVC(multi_class=scheme, n_jobs=2).fit(X, y)
        ours = time.perf_counter() - start
        proved = sum(solution.status.is_proved for solution in model.solutions_)
        passes = np.median([solution.info["passes"] for solution in model.solutions_])
        what = f"100 overlapping classes, n = 50,000, d = 32, {scheme}, two processes"
        note = (
            f"{proved} of {len(model.solutions_)} problems proved optimal; {passes:.0f} passes per problem (median); "
            f"training accuracy {model.score(X[::10], y[::10]):.1%}"
        )
        rows.append(Row(what, seconds(ours), "", "", f"<= {target} s", note))
    return rows


LINES: dict[str, Callable[[], list[Row]]] = {
    "exact": exact,
    "euclidean": euclidean,
    "clarabel": clarabel,
    "plain-cuts": plain_cuts,
    "rule": rule,
    "wide": wide,
    "classes": classes,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmarks in many dimensions.")
    parser.add_argument("--only", nargs="+", choices=LINES, default=list(LINES), help="lines of the table to measure")
    options = parser.parse_args()
    rows = [row for name in options.only for row in LINES[name]()]
    remarks = [
        f"Relative gap {TOL:g}; every fit of the exact method includes the check of its certificate.",
        f"LinearSVC is timed to a relative objective of {THEIR_TOL:g} of its own problem, which knows no bound.",
        "Passes of deep cuts are products with all the data, two per pass; products with a part of it count as such.",
        "Set OPENBLAS_NUM_THREADS=1 where other work runs beside: threads of BLAS that wait for a busy core cost "
        "many times more than they gain. Problems with n d^2 up to 2^33 keep to one thread by themselves.",
    ]
    # A part of the lines must not replace the table that the documentation shows.
    complete = len(options.only) == len(LINES)
    path = TABLES / "dims.md" if complete else Path(tempfile.gettempdir()) / "hypermargin-dims-partial.md"
    write_table(path, "Many dimensions and many classes", rows, "python benchmarks/bench_dims.py", remarks)


if __name__ == "__main__":
    main()
