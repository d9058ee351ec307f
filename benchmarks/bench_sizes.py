"""From 10^4 to 10^7 samples in 2 to 128 dimensions: `exact` against LinearSVC, SGDClassifier and SVC.

python benchmarks/bench_sizes.py                    the table in docs/benchmarks/sizes.md
python benchmarks/bench_sizes.py --numbers 2e9      every size, which takes 60 GB of memory
python benchmarks/bench_sizes.py --numbers 1e6      the small ones, written to a temporary file

LinearSVC and SGDClassifier minimise the Euclidean objective ``|w|^2/2 + risk``. Their time is that of the fewest
iterations, or epochs, times a power of 2, that bring it within 1e-4 of its least value, which `euclidean` knows.
"""

import argparse
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, LinearSVC

from bench_dims import THEIR_TOL, TOL, fresh, overlapping
from harness import TABLES, Row, best_of, memory_status, reset_peak_memory, run_child, seconds, write_table
from hypermargin.problems.losses import SQRT2
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers import solve

SIZES = [(d, 10**k) for d in (2, 10, 32, 128) for k in (4, 5, 6, 7)]
#: Sizes of the table: no more than so many numbers of data, which is a gigabyte.
MOST_NUMBERS = 1.3e8
#: Seconds after which a rival is not given more iterations, and the most samples for SVC, whose time is quadratic.
LONGEST, MOST_FOR_SVC = 5.0, 10**4


def rivals(problem: MarginProblem) -> dict[str, Callable[[int], Any]]:
    """Models of the Euclidean objective by name, from their numbers of iterations."""
    cost = problem.C / SQRT2
    common = {"fit_intercept": False, "random_state": 0}
    return {
        "LinearSVC": lambda most: LinearSVC(loss="hinge", C=cost, tol=1e-12, max_iter=most, **common),
        "SGDClassifier": lambda most: SGDClassifier(
            alpha=1.0 / (cost * problem.n_samples), max_iter=most, tol=None, **common
        ),
    }


def to_equal_objective(problem: MarginProblem, least: float, make: Callable[[int], Any]) -> tuple[float, float]:
    """Seconds of the shortest fit that is within `THEIR_TOL`, or of the longest there was time for, and its excess."""
    iterations = 1
    while True:
        took, model = best_of(lambda most=iterations: make(most).fit(problem.X, problem.y), 1)
        w = model.coef_[0] * np.r_[1.0, -np.ones(problem.dim)]
        excess = (0.5 * w @ w + problem.risk(w)) / least - 1.0
        if excess <= THEIR_TOL or took > LONGEST / 2.0:
            return took, excess
        iterations *= 2


def measure(d: int, n: int) -> None:
    """Print the figures of one size as JSON."""
    solve(overlapping(d, 500), tol=TOL)  # what is loaded once is not part of the memory of a fit
    problem = overlapping(d, n)
    data = problem.X.nbytes + problem.y.nbytes
    before = reset_peak_memory()
    took, solution = best_of(lambda: solve(fresh(problem), tol=TOL), 1)
    found: dict[str, Any] = {
        "seconds": took,
        "memory": 1.0 + (memory_status("VmHWM") - before) / data,
        "note": f"{solution.status.name}, gap {solution.gap:.0e}, data read {solution.info['full_passes']:.0f} times",
    }
    best = solve(fresh(problem), "euclidean", 0.01 * THEIR_TOL)
    least = 0.5 * best.w @ best.w + problem.risk(best.w)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found["rivals"] = {name: to_equal_objective(problem, least, make) for name, make in rivals(problem).items()}
    if n <= MOST_FOR_SVC:
        found["svc"] = best_of(lambda: SVC(kernel="linear", C=problem.C / SQRT2).fit(problem.X, problem.y), 1)[0]
    print(json.dumps(found))


def row(d: int, n: int) -> Row:
    found = json.loads(run_child(Path(__file__), "--size", str(d), str(n)))
    ours, texts = found["seconds"], []
    for name, (took, excess) in found["rivals"].items():
        short = "" if excess <= THEIR_TOL else f" (at {excess:.0e})"
        texts.append(f"{name} {seconds(took)}{short}")
    if "svc" in found:
        texts.append(f"SVC {seconds(found['svc'])}")
    there = [took for took, excess in found["rivals"].values() if excess <= THEIR_TOL]
    longest = max(took for took, _ in found["rivals"].values())
    ratio = f"{min(there) / ours:.2g}x" if there else f"none there after {longest / ours:.2g}x"
    note = f"{found['note']}; peak memory {found['memory']:.1f} times the data"
    return Row(f"d = {d}, n = {n:,}", seconds(ours), ", ".join(texts), ratio, "", note)


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmarks of sizes.")
    parser.add_argument("--numbers", type=float, default=MOST_NUMBERS, help="most numbers of data, n (d + 1)")
    parser.add_argument("--size", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.size:
        measure(*options.size)
        return
    chosen = [(d, n) for d, n in SIZES if (d + 1) * n <= options.numbers]
    left_out = len(SIZES) - len(chosen)
    remarks = [
        f"Exact to a relative gap of {TOL:g}, check of the certificate included. The ratio is that of the "
        "best rival at equal objective over ours: above 1 ours is the quicker one.",
        f"LinearSVC and SGDClassifier are timed to a relative objective of {THEIR_TOL:g} of their own problem, which "
        f"knows no bound; where they were not there after {LONGEST:g} s or so, what they had reached is in brackets. "
        "SVC, which has an intercept, is timed as it comes.",
        "Two overlapping Gaussians of 84 % accuracy, C = 1. Peak memory is that of the fit and the data together.",
        f"{left_out} larger sizes are left out here: `--numbers 2e9` has them all.",
    ]
    complete = options.numbers >= MOST_NUMBERS
    path = TABLES / "sizes.md" if complete else Path(tempfile.gettempdir()) / "hypermargin-sizes-partial.md"
    rows = [row(d, n) for d, n in chosen]
    write_table(path, "From ten thousand to ten million points", rows, "python benchmarks/bench_sizes.py", remarks)


if __name__ == "__main__":
    main()
