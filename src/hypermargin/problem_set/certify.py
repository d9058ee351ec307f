"""Compute the certified optima of the problem set: ``python -m hypermargin.problem_set.certify optima.json``."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.progress import track

from hypermargin import __version__, solve
from hypermargin.datasets import list_embeddings
from hypermargin.datasets.by_name import digest
from hypermargin.problem_set.problems import all_names, get_problem

TOL = 1e-7


def certify(names: Iterable[str], tol: float = TOL) -> dict[str, list[float]]:
    """Objective and verified lower bound of each problem; a problem that is not proved to 1e-6 is an error."""
    optima = {}
    for name in names:
        solution = solve(get_problem(name), "exact", tol=tol)
        if not solution.gap <= 1e-6:
            raise ValueError(f"{name}: the gap {solution.gap:.1e} is not within 1e-6 ({solution.status.name})")
        optima[name] = [solution.objective, solution.lower_bound]
    return optima


def main(path: str) -> None:
    names = track(list(all_names()), "certifying", console=Console(stderr=True))
    optima = certify(names)
    head = {"version": __version__, "tol": TOL, "data": {name: digest(name) for name in list_embeddings()}}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(bounds)}" for name, bounds in optima.items())
    Path(path).write_text(f'{json.dumps(head)[:-1]},\n"optima": {{\n{lines}\n}}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
