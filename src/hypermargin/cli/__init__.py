"""The command line `hypermargin`: one module a command, `main` puts them together."""

from hypermargin.cli.main import main

__all__ = ["main"]
