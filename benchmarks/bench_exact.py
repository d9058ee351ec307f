"""The exact method against its rivals: how many times faster, how it grows, what it costs in memory and passes.

python benchmarks/bench_exact.py            all of it, and the table in docs/benchmarks/exact.md
python benchmarks/bench_exact.py --only scip-small linear-svc
"""

import argparse
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC, LinearSVC

from harness import (
    ROOT,
    TABLES,
    Row,
    best_of,
    in_turn,
    memory_status,
    reset_peak_memory,
    run_child,
    seconds,
    write_table,
)
from hypermargin.datasets import fetch_embedding, make_gaussian_mixture
from hypermargin.estimators.svc import HyperbolicSVC
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers import solve

sys.path.insert(0, str(ROOT / "tests"))
from reference.scip import solve_once

TOL = 1e-6
REMARKS: list[str] = []


# -- data --------------------------------------------------------------------------------------------------------------


def embedding(name: str, n_samples: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The paper's embedding where HYPERMARGIN_DATA is set, else generated points of the same size."""
    if os.environ.get("HYPERMARGIN_DATA"):
        return fetch_embedding(name, return_X_y=True)
    remark = f"HYPERMARGIN_DATA is not set: {name} is replaced by {n_samples} generated points in {n_classes} classes."
    if remark not in REMARKS:
        REMARKS.append(remark)
    sizes = [len(part) for part in np.array_split(np.arange(n_samples), n_classes)]
    return make_gaussian_mixture(sizes, n_classes, scale=0.8, random_state=0, return_X_y=True)


def paul() -> tuple[np.ndarray, np.ndarray]:
    return embedding("paul", 2729, 19)


def cifar() -> tuple[np.ndarray, np.ndarray]:
    return embedding("cifar", 60_000, 10)


def one_against_rest(data: tuple[np.ndarray, np.ndarray], label: int) -> MarginProblem:
    X, y = data
    return MarginProblem(X, np.where(y == label, 1.0, -1.0))


def generated(n_samples: int) -> MarginProblem:
    """Two overlapping Gaussians of n/2 points each."""
    centers = [[0.6, 0.0], [-0.6, 0.2]]
    X, y = make_gaussian_mixture(n_samples // 2, 2, centers=centers, scale=0.8, random_state=0, return_X_y=True)
    return MarginProblem(X, np.where(y == 0, 1.0, -1.0))


def fresh(problem: MarginProblem) -> MarginProblem:
    """The same problem without anything cached, so that a fit pays for all it needs."""
    return MarginProblem(problem.X, problem.y, C=problem.C)


def fit(problem: MarginProblem, verify: bool = True):
    return solve(fresh(problem), method="exact", tol=TOL, verify=verify)


def describe(solution) -> str:
    return f"{solution.status.name}, gap {solution.gap:.1e}, {solution.info['passes']} passes"


# -- one function per line ---------------------------------------------------------------------------------------------


def against_scip(what: str, problem: MarginProblem, target: int, rival_repeats: int) -> list[Row]:
    def rival():
        # SCIP at its own default feasibility tolerance and the same gap.
        return solve_once(problem.X, problem.y, problem.costs, gap=TOL, feastol=1e-6, time_limit=1800.0)

    ours, theirs, solution, judge = in_turn(lambda: fit(problem), rival, 5, rival_repeats)
    difference = abs(solution.objective - judge.value) / judge.value
    note = f"{describe(solution)}; objectives differ by {difference:.0e}, gap of SCIP {judge.gap:.0e}"
    return [Row(what, seconds(ours), f"SCIP {seconds(theirs)}", f"{theirs / ours:.0f}x", f">= {target}x", note)]


def scip_small() -> list[Row]:
    return against_scip("paul, class 4 against the rest, n = 2,729", one_against_rest(paul(), 4), 30, 2)


def scip_large() -> list[Row]:
    return against_scip("cifar, class 0 against the rest, n = 60,000", one_against_rest(cifar(), 0), 200, 1)


def linear_svc() -> list[Row]:
    problem = one_against_rest(cifar(), 0)
    rows = []
    for max_iter in (1000, 1_000_000):
        model = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-6, max_iter=max_iter)

        def rival(model=model):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # said in the note
                return model.fit(problem.X, problem.y)

        ours, theirs, solution, fitted = in_turn(lambda: fit(problem), rival, 5)
        unchecked, _ = best_of(lambda: fit(problem, verify=False), 5)
        ended = "did not converge" if fitted.n_iter_ >= max_iter else f"converged in {fitted.n_iter_} iterations"
        note = f"{describe(solution)}; LinearSVC {ended}; without the check {seconds(unchecked)}"
        what = f"cifar, class 0 against the rest, n = 60,000, LinearSVC(max_iter={max_iter})"
        rival_text = f"LinearSVC {seconds(theirs)}"
        rows.append(Row(what, seconds(ours), rival_text, f"{theirs / ours:.2f}x", ">= 1x", note))
    return rows


def one_vs_one() -> list[Row]:
    X, y = paul()
    train, _ = next(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    X, y = X[train], y[train]
    rows = []
    for verify, how in ((True, ""), (False, ", without the check")):
        ours, theirs, model, _ = in_turn(
            lambda verify=verify: HyperbolicSVC(multi_class="ovo", solver_options={"verify": verify}).fit(X, y),
            lambda: SVC(kernel="linear").fit(X, y),
            5,
        )
        proved = sum(solution.status.is_proved for solution in model.solutions_)
        note = f"{proved} of {len(model.solutions_)} problems proved optimal"
        what = f"paul, one fold, one-vs-one, {len(model.solutions_)} problems{how}"
        ratio = f"{ours / theirs:.1f}x slower"
        rows.append(Row(what, seconds(ours), f"SVC {seconds(theirs)}", ratio, "<= 2x slower" if verify else "-", note))
    return rows


def pgd() -> list[Row]:
    X, y = paul()
    problems = [one_against_rest((X, y), label) for label in np.unique(y)]

    def all_by(method: str, **options):
        return [solve(fresh(problem), method=method, **options) for problem in problems]

    ours, theirs, solutions, descents = in_turn(lambda: all_by("exact"), lambda: all_by("pgd"), 3, 1)
    unchecked, _, _, _ = in_turn(lambda: all_by("exact", verify=False), lambda: None, 3)
    worse = [
        problem.objective(other.w) / mine.objective
        for problem, mine, other in zip(problems, solutions, descents, strict=True)
    ]
    proved = sum(solution.status.is_proved for solution in solutions)
    note = (
        f"{proved} of {len(problems)} proved optimal; without the check {theirs / unchecked:.0f}x; "
        f"hinge objective of pgd {np.median(worse):.2f} times ours (median)"
    )
    what = f"paul, one-vs-rest, {len(problems)} problems"
    return [Row(what, seconds(ours), f"pgd {seconds(theirs)}", f"{theirs / ours:.0f}x", ">= 50x", note)]


def growth() -> list[Row]:
    small, large = generated(100_000), generated(1_000_000)
    ours, base, solution, first = in_turn(lambda: fit(large), lambda: fit(small), 3)
    note = f"n = 10^6: {describe(solution)}; n = 10^5: {describe(first)}"
    what = "growth, n from 10^5 to 10^6 (generated)"
    return [Row(what, seconds(ours), f"n = 10^5: {seconds(base)}", f"{ours / base:.1f}x", "<= 12x", note)]


def memory() -> list[Row]:
    if not Path("/proc/self/clear_refs").exists():
        REMARKS.append("Peak memory is not measured: it needs the process files of Linux.")
        return []
    problem = generated(1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.npz"
        np.savez(path, X=problem.X, y=problem.y)
        size = problem.X.nbytes + problem.y.nbytes
        peak = int(run_child(Path(__file__), "--memory-of", str(path)))
    note = "resident memory above that of a warm interpreter, data included"
    text = f"{peak / 2**20:.0f} MiB", f"data {size / 2**20:.0f} MiB"
    return [Row("peak memory of a fit, n = 10^6", *text, f"{peak / size:.2f}x", "<= 2.5x", note)]


def memory_of(path: str) -> None:
    """Print by how many bytes loading the data in `path` and fitting to it raise the memory of this process."""
    fit(generated(1000))
    before = reset_peak_memory()
    with np.load(path) as data:
        problem = MarginProblem(data["X"], data["y"])
    solve(problem, method="exact", tol=TOL)
    print(memory_status("VmHWM") - before)


def check_cost() -> list[Row]:
    rows = []
    for what, problem in (
        ("n = 1,000 (generated)", generated(1000)),
        ("paul, class 4, n = 2,729", one_against_rest(paul(), 4)),
        ("cifar, class 0, n = 60,000", one_against_rest(cifar(), 0)),
    ):
        solution = fit(problem, verify=False)
        fitting, checking, _, _ = in_turn(
            lambda problem=problem: fit(problem, verify=False),
            lambda problem=problem, proof=solution.certificate: proof.verify(fresh(problem)),
            5,
        )
        by_arb, _ = best_of(
            lambda problem=problem, proof=solution.certificate: proof.verify(fresh(problem), by_arb=True)
        )
        times = seconds(checking), f"fit without it {seconds(fitting)}"
        note = f"{len(solution.certificate.points)} cuts, {solution.n_iter} passes of the fit; by Arb {seconds(by_arb)}"
        rows.append(Row(f"check of the certificate, {what}", *times, f"{checking / fitting:.1%}", "<= 10%", note))
    return rows


LINES: dict[str, Callable[[], list[Row]]] = {
    "scip-small": scip_small,
    "scip-large": scip_large,
    "linear-svc": linear_svc,
    "one-vs-one": one_vs_one,
    "pgd": pgd,
    "growth": growth,
    "memory": memory,
    "check-cost": check_cost,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmarks of the exact method.")
    parser.add_argument("--only", nargs="+", choices=LINES, default=list(LINES), help="lines of the table to measure")
    parser.add_argument("--memory-of", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        memory_of(options.memory_of)
        return
    rows = [row for name in options.only for row in LINES[name]()]
    remarks = [f"Relative gap {TOL:g} throughout; every fit of ours includes the check of its certificate.", *REMARKS]
    # A part of the lines must not replace the table that the documentation shows.
    complete = len(options.only) == len(LINES)
    path = TABLES / "exact.md" if complete else Path(tempfile.gettempdir()) / "hypermargin-exact-partial.md"
    write_table(path, "The exact method against its rivals", rows, "python benchmarks/bench_exact.py", remarks)


if __name__ == "__main__":
    main()
