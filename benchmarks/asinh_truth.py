"""What the first-order hinge and gradient descent cost on the asinh objective, measured against its certified optimum.

    python benchmarks/asinh_truth.py measure rows.jsonl --problems 'football/*' --tol 1e-4
    hypermargin reproduce --schemes ovr --methods exact,exact-asinh --no-grid --output folder
    python benchmarks/asinh_truth.py report rows.jsonl --page docs/benchmarks/asinh-truth.md \
        --optima optima_asinh.json --accuracies folder/tables/everything.csv

`measure` appends one line per problem of the public problem set and goes on where it was interrupted. `report` makes
the table of the page, and the file of certified optima that `hypermargin score --loss asinh` reads.
"""

import argparse
import csv
import json
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from certify_optima import all_names, write_optima
from hypermargin import solve
from hypermargin.solvers.refine import refine
from hypermargin_studies.problem_set import get_problem, selected
from hypermargin_studies.reproduction.methods import PublishedPGD

#: Refinement solves a conic programme per step, which takes minutes beyond so many samples.
MOST_REFINED = 5_000


def measure(name: str, tol: float, rivals: bool) -> dict:
    """The certified asinh optimum of a problem, and the asinh objectives of what others return."""
    problem = get_problem(name)
    begin = time.perf_counter()
    exact = solve(problem, "exact", loss="asinh", tol=tol)
    row = {
        "name": name,
        "n": problem.n_samples,
        "objective": exact.objective,
        "bound": exact.lower_bound,
        "status": exact.status.name,
        "nodes": exact.n_iter,
        "seconds": time.perf_counter() - begin,
        "w": exact.w.tolist(),
    }
    hinge = solve(problem, "exact", tol=1e-6)
    row["hinge_seconds"] = hinge.time
    normals = {"hinge": hinge.w}
    if rivals:
        normals["pgd as published"] = PublishedPGD().choose(problem, hinge)[0]
        normals["pgd"] = solve(problem, "pgd", epochs=4000).w
        if problem.n_samples <= MOST_REFINED:
            normals["pgd, refined"] = refine(problem, normals["pgd"], "asinh")[0]
    row["objectives"] = {label: problem.objective(w, "asinh") for label, w in normals.items()}
    sides = problem.margins(exact.w) > 0.0
    row["alike"] = {label: float(np.mean((problem.margins(w) > 0.0) == sides)) for label, w in normals.items()}
    row["accuracy"] = {"asinh": float(np.mean(sides)), "hinge": float(np.mean(problem.margins(hinge.w) > 0.0))}
    return row


def read_rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def excesses(rows: Iterable[dict], label: str) -> np.ndarray:
    """How far above the certified bound the objectives of a method are, relative to it; infinite for timelike w."""
    return np.array([row["objectives"][label] / row["bound"] - 1.0 for row in rows if label in row["objectives"]])


def table(rows: list[dict]) -> list[str]:
    labels = ("hinge", "pgd as published", "pgd", "pgd, refined")
    lines = [
        "| data | problems | proved | " + " | ".join(labels) + " | hinge optimal too | alike | nodes | seconds |",
        "|---|---|---|" + "---|" * len(labels) + "---|---|---|---|",
    ]
    datasets = list(dict.fromkeys(row["name"].split("/")[0] for row in rows))
    for dataset in [*datasets, "all"]:
        chosen = [row for row in rows if dataset in ("all", row["name"].split("/")[0])]
        cells = []
        for label in labels:
            found = excesses(chosen, label)
            cells.append(f"{_percent(np.median(found))} / {_percent(found.max())}" if found.size else "–")
        proved = sum(row["status"] == "OPTIMAL" for row in chosen)
        same = sum(row["objectives"]["hinge"] <= row["objective"] * (1.0 + 1e-3) for row in chosen)
        alike = np.mean([row["alike"]["hinge"] for row in chosen])
        lines.append(
            f"| {dataset} | {len(chosen)} | {proved} | {' | '.join(cells)} | {same} | {alike:.2%} "
            f"| {int(np.median([row['nodes'] for row in chosen]))} | {sum(row['seconds'] for row in chosen):.0f} |"
        )
    return lines


def _percent(share: float) -> str:
    return f"{100 * max(share, 0.0):.2f} %" if np.isfinite(share) else "timelike"


def page(rows: list[dict], further: list[str]) -> str:
    return "\n".join(
        [
            "# The asinh objective: certified optima, and what others reach",
            "",
            "Written by `benchmarks/asinh_truth.py`. Each row is the binary problems of one data set (one-vs-rest and",
            "one-vs-one, C = 0.1, 1, 10). The columns of methods say how far the asinh objective of what they return",
            "is above the certified lower bound: median / worst. *Hinge optimal too*: problems on which the hinge",
            "optimum is within 1e-3 of the asinh optimum. *Alike*: samples that both optima put on the same side, on",
            "average. Nodes are medians; seconds are the sum over the problems, start and check included, one core.",
            "The relative gap is 1e-4; on the two image sets it is 1e-3, and gradient descent, which would take hours",
            "there, was left out.",
            "",
            *table(rows),
            "",
            *further,
        ]
    )


def accuracies(path: Path) -> list[str]:
    """The test accuracies of both optima in the folds of the reproduction, as a table."""
    with path.open(encoding="utf-8", newline="") as file:
        cells = {(row["data"], row["scheme"], row["method"], row["C"]): row for row in csv.DictReader(file)}
    values = sorted({C for *_, C in cells}, key=float)
    lines = [
        "## Test accuracy",
        "",
        "In per cent, mean and standard deviation over the paper's five folds, with the hinge / with the asinh loss",
        "(to 1e-3): `hypermargin reproduce --schemes ovr --methods exact,exact-asinh --no-grid`.",
        "",
        "| data | scheme | " + " | ".join(f"C = {C}" for C in values) + " |",
        "|---|---|" + "---|" * len(values),
    ]
    for data, scheme in dict.fromkeys((data, scheme) for data, scheme, *_ in cells):
        pairs = [[cells.get((data, scheme, method, C)) for method in ("Exact", "Exact, asinh")] for C in values]
        shown = [" / ".join("–" if cell is None else cell["test accuracy"] for cell in pair) for pair in pairs]
        lines.append(f"| {data} | {scheme} | {' | '.join(shown)} |")
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("measure", "report"))
    parser.add_argument("rows", type=Path)
    parser.add_argument("--problems", default="*", metavar="PATTERNS", help="names to take, separated by commas")
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--without-rivals", action="store_true", help="only the two exact methods")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--optima", type=Path)
    parser.add_argument("--accuracies", type=Path, metavar="CSV", help="the table of everything of a reproduction")
    args = parser.parse_args()
    if args.action == "measure":
        done = {row["name"] for row in read_rows(args.rows)}
        names = [name for name in selected(all_names(), args.problems) if name not in done]
        with args.rows.open("a", encoding="utf-8") as file:
            for name in track(names, "measuring", console=Console(stderr=True)):
                file.write(json.dumps(measure(name, args.tol, not args.without_rivals)) + "\n")
                file.flush()
        return
    order = {name: place for place, name in enumerate(all_names())}
    rows = sorted(read_rows(args.rows), key=lambda row: order[row["name"]])
    if args.page is not None:
        further = [] if args.accuracies is None else accuracies(args.accuracies)
        args.page.write_text(page(rows, further), encoding="utf-8")
    if args.optima is not None:
        proved = [row for row in rows if row["status"] == "OPTIMAL"]
        write_optima(args.optima, {row["name"]: [row["objective"], row["bound"]] for row in proved}, args.tol)


if __name__ == "__main__":
    main()
