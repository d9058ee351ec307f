"""How fast is the structured interior-point method? Ratios to Clarabel in one run, growth with n, memory.

    python benchmarks/bench_moment.py                 # everything; Clarabel takes minutes
    python benchmarks/bench_moment.py --skip-clarabel

Each structured solve is the best of `--repeat`; Clarabel runs once. Times are of whole solves, in seconds of the wall
clock and of the processors (which others on the machine disturb less). Prints Markdown tables.
"""

import argparse
import resource
import time

import numpy as np

from hypermargin import MarginProblem, solve


def gaussian_problem(n: int, d: int = 2, seed: int = 0) -> MarginProblem:
    """Two overlapping wrapped Gaussians, C = 1."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    tangent = rng.normal(size=(n, d))
    tangent[:, 0] += 0.7 * y
    radius = np.linalg.norm(tangent, axis=1, keepdims=True)
    X = np.hstack((np.cosh(radius), np.sinh(radius) * tangent / radius))
    return MarginProblem(X, y)


#: Rows of the table: which relaxation the options ask for.
RELAXATIONS = {
    "ball, a group a sample": {"bounded": True, "screen": False},
    "no ball (the paper's)": {"bounded": False},
    "ball, screened (default)": {"bounded": True},
}


COLUMNS = (
    "relaxation",
    "backend",
    "groups",
    "iterations",
    "seconds",
    "ratio",
    "processor seconds",
    "ratio",
    "proved bound",
    "relaxation value",
    "objective",
)


def measure(problem: MarginProblem, repeat: int, **options) -> dict:
    """The fastest of `repeat` solves."""
    best: dict = {"seconds": np.inf}
    for _ in range(repeat):
        start, start_cpu = time.perf_counter(), time.process_time()
        solution = solve(problem, "moment", **options)
        seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
        if seconds < best["seconds"]:
            best = {
                "seconds": seconds,
                "cpu": cpu,
                "bound": solution.lower_bound,
                "value": solution.info["relaxation_value"],
                "objective": solution.objective,
                "iterations": solution.n_iter,
                "groups": solution.info["n_groups"],
            }
    return best


def peak_gib() -> float:
    """Largest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=640, help="samples in the comparison with Clarabel")
    parser.add_argument("--sizes", type=int, nargs="*", default=[640, 2560, 5000], help="samples in the growth table")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--skip-clarabel", action="store_true")
    arguments = parser.parse_args()

    problem = gaussian_problem(arguments.n)
    print(f"## Structured method and Clarabel, n = {arguments.n}, d = 2, order 2\n")
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    for name, options in RELAXATIONS.items():
        rows = {"structured": measure(problem, arguments.repeat, **options)}
        if not arguments.skip_clarabel:
            rows["clarabel"] = measure(problem, 1, backend="clarabel", **options)
        for backend, row in rows.items():
            ratio, cpu_ratio = (row[key] / rows["structured"][key] for key in ("seconds", "cpu"))
            times = f"{row['seconds']:.2f} | {ratio:.1f} | {row['cpu']:.2f} | {cpu_ratio:.1f}"
            values = " | ".join(f"{row[key]:.7g}" for key in ("bound", "value", "objective"))
            print(f"| {name} | {backend} | {row['groups']} | {row['iterations']} | {times} | {values} |", flush=True)

    print("\n## Growth with n (ball, a group a sample)\n")
    print("| n | iterations | seconds | against the first | peak memory, GiB |")
    print("|---|---|---|---|---|")
    first = None
    for n in arguments.sizes:
        row = measure(gaussian_problem(n), arguments.repeat if n <= 2560 else 1, bounded=True, screen=False)
        first = first or row["seconds"]
        growth = row["seconds"] / first
        print(f"| {n} | {row['iterations']} | {row['seconds']:.2f} | {growth:.2f} | {peak_gib():.2f} |", flush=True)


if __name__ == "__main__":
    main()
