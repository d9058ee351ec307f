"""What the commands say: tables on standard output, progress and one-line errors on standard error.

rich is imported by the functions that need it, so that `hypermargin --version` and `--help` answer at once.
"""

import re
from collections.abc import Iterable, Sequence

from hypermargin.progress import named as with_progress

__all__ = ["CommandError", "fail", "number", "percent", "say", "show_table", "warn", "with_progress"]


class CommandError(ValueError):
    """A mistake of the user, explained in one sentence."""


def say(message: str, *, error: bool = False) -> None:
    """A line on standard output (or standard error), without markup and without breaks."""
    from rich.console import Console

    Console(stderr=error).print(message, markup=False, highlight=False, soft_wrap=True)


def warn(message: object) -> None:
    """A warning as one line on standard error."""
    say(f"hypermargin: warning: {one_line(message)}", error=True)


def fail(message: object) -> None:
    """An error as one line on standard error."""
    say(f"hypermargin: error: {one_line(message)}", error=True)


def one_line(message: object) -> str:
    """The message on one line, with the library's keyword arguments written as the options of the command line."""
    text = " ".join(str(message).split())
    return re.sub(r"\b(geometry|curvature)='?([\w.]+)'?", r"--\1 \2", text)


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], caption: str | None = None) -> None:
    """A table whose first column is text and the others numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left", box=SIMPLE_HEAD)
    table.pad_edge, table.collapse_padding = False, True  # seven columns have to fit into a terminal of 80
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console()
    # A file or a pipe has no width of its own, and a table cut off there would lose numbers.
    (console if console.is_terminal else Console(width=120)).print(table)


def number(value: float) -> str:
    """Six digits, or a dash where there is none."""
    return f"{value:.6g}" if abs(value) < float("inf") else "–"


def percent(value: float) -> str:
    return f"{100.0 * value:.1f} %"
