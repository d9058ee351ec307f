"""The command line `hypermargin`: one module per command, `main` puts them together."""

from hypermargin.cli.main import main

__all__ = ["main"]
