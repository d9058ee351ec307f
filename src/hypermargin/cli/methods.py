"""`hypermargin methods`: what there is to choose from."""

import argparse
from dataclasses import fields

from hypermargin.cli.console import say
from hypermargin.compilation import is_compiled
from hypermargin.solvers import available_methods, get_solver
from hypermargin.solvers.exact.compiled import evaluator

EXAMPLES = """examples:
  hypermargin methods
      the names that --solver and --methods take, and the options that --option takes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """This command takes none."""


def run(args: argparse.Namespace) -> None:
    for method in available_methods():
        solver = get_solver(method)
        say(f"{method}: {solver.summary}")
        options = ", ".join(f"{f.name}={f.default!r}" for f in fields(solver))  # type: ignore[arg-type]
        abilities = ", ".join(("soft margin", *sorted(solver.capabilities)))
        say(f"    losses: {', '.join(solver.losses)}; handles: {abilities}")
        say(f"    options: {options or 'none'}")
    how = "compiled" if is_compiled(evaluator) else "interpreted (no C compiler was there at installation), and slow"
    say(f"The inner loop of exact is {how}.")
