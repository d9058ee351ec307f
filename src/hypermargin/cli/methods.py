"""`hypermargin methods`: the methods and their options."""

import argparse
from dataclasses import fields

from hypermargin.cli.console import say
from hypermargin.compilation import how_compiled
from hypermargin.solvers import available_methods, get_solver

EXAMPLES = """examples:
  hypermargin methods
      the names that --solver and --methods take, and the options that --option takes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """This command takes no arguments."""


def run(args: argparse.Namespace) -> None:
    for method in available_methods():
        solver = get_solver(method)
        say(f"{method}: {solver.summary}")
        options = ", ".join(f"{f.name}={f.default!r}" for f in fields(solver))  # type: ignore[arg-type]
        abilities = ", ".join(("soft margin", *sorted(solver.capabilities)))
        say(f"    losses: {', '.join(solver.losses)}; handles: {abilities}")
        say(f"    options: {options or 'none'}")
    say(f"The inner loop of exact is {how_compiled()}.")
