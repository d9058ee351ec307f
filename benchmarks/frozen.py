"""Are answers the same as before? Values of 14,000 problems of every kind, kept in ``frozen.json.gz`` beside this file.

    python benchmarks/frozen.py compare            # against the file: what differs, by kind of problem
    python benchmarks/frozen.py record             # write the file anew

For each problem it keeps objective and bound as hexadecimal doubles, the status and the number of passes. Compare on
the machine and with the libraries that recorded: other BLAS and other compilers move last bits.
"""

import argparse
import gzip
import json
import os
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

for library in ("OMP", "OPENBLAS", "RAYON"):  # a process per core is enough
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np  # noqa: E402 (after the number of threads is set)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
FILE = Path(__file__).with_name("frozen.json.gz")
SEED, BATCHES = 27, 320  # 320 batches of 32 problems of the fuzz tester
LARGE = ("cifar", "fashion-mnist")
Value = tuple[str, str, str, int]


def value(solution) -> Value:
    return (
        float(solution.objective).hex(),
        float(solution.lower_bound).hex(),
        solution.status.name,
        int(solution.n_iter),
    )


def fuzz_batch(batch: int) -> dict[str, Value]:
    """Problems of the fuzz tester by name; those that are refused or raise keep the text of the error."""
    from fuzz.cases import draw_batch
    from fuzz.verdict import make_problem, solved

    found = {}
    for case in draw_batch(SEED, batch):
        kind = case.method + (f"-{case.noise.name}" if case.noise else "") + ("-hard" if case.hard else "")
        name = f"fuzz {kind}{'-timelike' if case.timelike else ''}/{case.name}"
        try:
            problem = make_problem(case)
            if problem is None:
                found[name] = ("", "", "refused", 0)
                continue
            for k, solution in enumerate(solved(case, problem)):
                found[f"{name}/{k}"] = value(solution)
        except Exception as error:
            found[name] = ("", "", type(error).__name__, 0)
    return found


def problem_set(name: str) -> dict[str, Value]:
    """The problems of one of the paper's data sets, by the exact method."""
    from hypermargin import solve

    try:
        from hypermargin_studies.problem_set import get_problem, select
    except ImportError:
        from hypermargin.problem_set.problems import get_problem, select

    return {f"set {problem}": value(solve(get_problem(problem), "exact")) for problem in select(f"{name}/*")}


def other_kinds(seed: int) -> dict[str, Value]:
    """A kernel, a curve, an asinh, a soft robust and a paper's relaxation of points that are drawn by seed."""
    from hypermargin import GeodesicBall, MarginProblem, solve
    from hypermargin.kernels import KERNELS
    from hypermargin.problems.curve import CurveProblem
    from hypermargin.problems.kernel import KernelProblem
    from hypermargin.solvers.curve import solve_curve
    from hypermargin.solvers.kernel.method import solve_kernel

    rng = np.random.default_rng([SEED, seed])
    d, n = int(rng.integers(1, 6)), int(rng.integers(4, 60))
    space = rng.normal(size=(n, d)) * np.exp(rng.uniform(-2.0, 1.5))
    X = np.column_stack([np.sqrt(1.0 + np.sum(space**2, axis=1)), space])
    y = np.where(space[:, 0] + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    C = float(10.0 ** rng.uniform(-2.0, 2.0))
    problem = MarginProblem(X, y, C)
    found = {f"curve/{seed}": value(solve_curve(CurveProblem(problem)))}
    for name, kernel in KERNELS.items():
        found[f"kernel {name}/{seed}"] = value(solve_kernel(KernelProblem(X, y, kernel(), C)))
    found[f"euclidean/{seed}"] = value(solve(problem, "euclidean"))
    found[f"ball/{seed}"] = value(solve(MarginProblem(X, y, C, uncertainty=GeodesicBall(0.1)), "exact"))
    if seed % 4 == 0 and d <= 2 and n <= 30:
        found[f"asinh/{seed}"] = value(solve(problem, "exact", loss="asinh", tol=1e-3, max_iter=2_000))
        found[f"sdp/{seed}"] = value(solve(problem, "sdp"))
    if seed % 40 == 0 and d <= 2 and n <= 30:
        found[f"moment/{seed}"] = value(solve(problem, "moment"))
    return found


def one(task: tuple[str, object]) -> dict[str, Value]:
    warnings.simplefilter("ignore")
    kind, argument = task
    return {"fuzz": fuzz_batch, "set": problem_set, "other": other_kinds}[kind](argument)  # type: ignore[operator]


def tasks(quick: bool) -> Iterator[tuple[str, object]]:
    from hypermargin.datasets import list_embeddings

    if os.environ.get("HYPERMARGIN_DATA"):
        sets = [
            name for name in list_embeddings() if name not in LARGE and not (quick and name in ("paul", "moignard"))
        ]
        yield from (("set", name) for name in sets)
    yield from (("other", seed) for seed in range(80 if quick else 320))
    yield from (("fuzz", batch) for batch in range(64 if quick else BATCHES))


def measured(jobs: int, quick: bool) -> dict[str, Value]:
    found: dict[str, Value] = {}
    with get_context("spawn").Pool(jobs) as pool:
        for part in pool.imap_unordered(one, list(tasks(quick))):
            found.update(part)
    return dict(sorted(found.items()))


def number(text: str) -> float:
    return float.fromhex(text) if text else float("nan")


def compare(kept: dict[str, Value], now: dict[str, Value], most: int) -> int:
    """Print by kind how many are the same, moved in their last bits, moved, or ended otherwise; 1 if any moved."""
    counts: dict[str, Counter] = defaultdict(Counter)
    shown = 0
    for name, new in now.items():
        if name not in kept:
            continue
        old, kind = tuple(kept[name]), name.split("/")[0]
        off = [abs(number(a) - number(b)) / max(abs(number(a)), 1e-12) for a, b in zip(old[:2], new[:2], strict=True)]
        same = [a == b for a, b in zip(old[:2], new[:2], strict=True)]
        largest = max((o for o, s in zip(off, same, strict=True) if not s), default=0.0)
        if old[2] != new[2]:
            ending = "other status"
        elif not largest <= 1e-9:
            ending = "moved"
        elif old == tuple(new):
            ending = "same bits"
        elif all(same):
            ending = "same bits, other passes"
        else:
            ending = "last bits"
        counts[kind][ending] += 1
        if ending in ("other status", "moved") and shown < most:
            shown += 1
            pairs = [f"{number(a):.12g} -> {number(b):.12g}" for a, b in zip(old[:2], new[:2], strict=True)]
            print(f"{ending}: {name}: {' | '.join(pairs)} | {old[2]} -> {new[2]} | passes {old[3]} -> {new[3]}")
    total: Counter = Counter()
    for kind, count in sorted(counts.items()):
        if set(count) - {"same bits"}:
            print(f"{kind}: " + ", ".join(f"{ending} {k}" for ending, k in count.most_common()))
        total.update(count)
    print("all: " + ", ".join(f"{ending} {k}" for ending, k in total.most_common()))
    return 1 if total["moved"] or total["other status"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare answers with frozen ones.")
    parser.add_argument("what", choices=("record", "compare"), nargs="?", default="compare")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a fifth of the problems")
    parser.add_argument("--most", type=int, default=20, help="differences to print (default: 20)")
    parser.add_argument("--file", type=Path, default=FILE)
    options = parser.parse_args()
    now = measured(options.jobs, options.quick)
    if options.what == "record":
        with gzip.open(options.file, "wt", encoding="utf-8", compresslevel=9) as file:
            json.dump(now, file, separators=(",", ":"))
        print(f"{len(now):,} values in {options.file}")
        return 0
    with gzip.open(options.file, "rt", encoding="utf-8") as file:
        return compare(json.load(file), now, options.most)


if __name__ == "__main__":
    sys.exit(main())
