"""The parser of the commands; errors are one line on standard error and exit code 2."""

import argparse
import gc
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

from hypermargin import __version__
from hypermargin.cli.console import fail, warn
from hypermargin.compilation import how_compiled

DESCRIPTION = """Large-margin classifiers in hyperbolic space, with proofs of optimality.

Points are given in Lorentz coordinates (x0, x1, ..., xd) with x0^2 - x1^2 - ... - xd^2 = 1, or in another model named
by --geometry: the Poincaré ball, the Klein ball, the upper half-space, or tangent vectors at the origin.
"""
EPILOGUE = """start here:
  hypermargin demo                                    see every method at work
  hypermargin fit demo/tree.csv --output model.npz    fit one of them to a file
  hypermargin predict model.npz demo/tree.csv         and use it
`hypermargin COMMAND --help` explains a command with examples.
"""
#: Each command is the module of its name in this folder, which is imported when the command is used.
COMMANDS = {
    "demo": "fit every method to generated data, print a table, draw pictures",
    "inspect": "see what coordinates a file holds, and what may be wrong with them",
    "fit": "fit a model to a file of labelled points",
    "predict": "label points with a fitted model",
    "cv": "measure by cross-validation how accurate a classifier is",
    "compare": "fit all methods to one file and compare them",
    "plot": "draw points, boundaries and regions on the Poincaré disk",
    "explore": "a page to look at points and models by moving the hyperbolic plane",
    "embed": "embed a graph in hyperbolic space",
    "classify": "label the nodes of a graph that have no label",
    "certificate": "save, show and check the proofs that a model comes with",
    "methods": "list the methods and their options",
}
#: A package beside this one with a table of its own and its modules in the folder `commands`; optional.
STUDIES = "hypermargin_studies"


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        fail(f"{message}; see `{self.prog} --help`")
        raise SystemExit(2)


class CommandParser(Parser):
    """The parser of one command, whose module adds the arguments when the command is used."""

    module: str | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.module is not None:
            gc.disable()  # imports make no garbage, and collections are a tenth of their time
            module = import_module(self.module)
            gc.enable()
            self.module = None  # the arguments are added once
            self.description, self.epilog = module.__doc__, module.EXAMPLES
            module.add_arguments(self)
            self.set_defaults(run=module.run)
        return super().parse_known_args(args, namespace)


class ShowVersion(argparse.Action):
    """Print the version, and whether the compiled modules are in use."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        print(f"hypermargin {__version__}\nThe inner loops are {how_compiled()}.")
        parser.exit()


def build_parser() -> Parser:
    """The parser of `hypermargin` and its commands."""
    style = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="hypermargin", description=DESCRIPTION, epilog=EPILOGUE, formatter_class=style)
    parser.add_argument("--version", action=ShowVersion, nargs=0, help="show the version and whether it is compiled")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=CommandParser)
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary, formatter_class=style).module = f"hypermargin.cli.{name}"
    if find_spec(STUDIES) is not None:
        for name, summary in import_module(STUDIES).COMMANDS.items():
            commands.add_parser(name, help=summary, formatter_class=style).module = f"{STUDIES}.commands.{name}"
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0, 2 after an error, 130 after an interrupt."""
    try:
        args = build_parser().parse_args(argv)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for category in (UserWarning, RuntimeWarning):  # about the data; others are for programmers
                warnings.simplefilter("default", category)
            warnings.showwarning = lambda message, *_, **__: warn(message)
            args.run(args)
    except SystemExit as end:  # from argparse: 0 after --help, 2 after an error it has reported
        return int(end.code or 0)
    except KeyboardInterrupt:
        fail("interrupted")
        return 130
    except BrokenPipeError:  # the reader of the output has closed the pipe, as `head` does
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the interpreter flushes it at exit
        return 0
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else error)
        return 2
    except (ValueError, TypeError) as error:
        fail(error)
        return 2
    except Exception as error:
        if os.environ.get("HYPERMARGIN_DEBUG"):
            raise
        fail(f"unexpected {type(error).__name__}: {error} (set HYPERMARGIN_DEBUG=1 to see where)")
        return 2
    return 0
