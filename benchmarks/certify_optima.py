"""Compute the certified optima of the problem set: ``python benchmarks/certify_optima.py optima.json``.

With ``--loss asinh`` those of the asinh objective, which take longer: ``--problems`` takes some of the names only.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import track

from hypermargin import __version__, solve
from hypermargin.datasets import list_embeddings
from hypermargin_studies.datasets import digest
from hypermargin_studies.problem_set import OPTIMA, VALUES_OF_C, get_problem, selected, splits

#: For each loss the gap that is aimed at, and the one that must be proved.
TOLERANCES = {"hinge": (1e-7, 1e-6), "asinh": (1e-4, 1e-4)}


def all_names() -> Iterator[str]:
    """All names, from the data."""
    for dataset in list_embeddings():
        for split in splits(dataset):
            for C in VALUES_OF_C:
                yield f"{dataset}/{split}/C={C:g}"


def certify(names: Iterable[str], loss: str = "hinge", tol: float | None = None) -> dict[str, list[float]]:
    """Objective and verified lower bound of each problem; a problem that is not proved is an error."""
    aim, needed = TOLERANCES[loss] if tol is None else (tol, tol)
    optima = {}
    for name in names:
        solution = solve(get_problem(name), "exact", tol=aim, loss=loss)
        if not solution.gap <= needed:
            raise ValueError(f"{name}: the gap {solution.gap:.1e} is not within {needed:g} ({solution.status.name})")
        optima[name] = [solution.objective, solution.lower_bound]
    return optima


def write_optima(path: str | Path, optima: dict[str, list[float]], tol: float) -> None:
    """The file that `problems.certified_optima` reads."""
    head = {"version": __version__, "tol": tol, "data": {name: digest(name) for name in list_embeddings()}}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(bounds)}" for name, bounds in optima.items())
    Path(path).write_text(f'{json.dumps(head)[:-1]},\n"optima": {{\n{lines}\n}}}}\n', encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", help="the .json to write")
    parser.add_argument("--loss", choices=tuple(OPTIMA), default="hinge")
    parser.add_argument("--tol", type=float, help="the relative gap to prove (1e-7 for the hinge, 1e-4 for asinh)")
    parser.add_argument("--problems", default="*", metavar="PATTERNS", help="names to take, separated by commas")
    args = parser.parse_args()
    names = track(selected(all_names(), args.problems), "certifying", console=Console(stderr=True))
    tol = TOLERANCES[args.loss][0] if args.tol is None else args.tol
    write_optima(args.path, certify(names, args.loss, args.tol), tol)


if __name__ == "__main__":
    main()
