"""What commands write: lines and tables on the terminal, errors in one line, and files.

rich is imported by the functions that need it, so that `hypermargin --version` and `--help` answer at once.
"""

import csv
import os
import re
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hypermargin.progress import named as with_progress  # noqa: F401 - commands show their progress by it

if TYPE_CHECKING:  # NumPy takes longer to load than `--help` to answer
    import numpy as np

    from hypermargin.arrays import Array


#: Parameters of the library that the command line calls by another name, and those whose name is that of the option.
OPTIONS = {
    "C": "-C",
    "n_jobs": "--jobs",
    "n_landmarks": "--landmarks",
    "cache_size": "--cache",
    "random_state": "--seed",
}
SAME_NAMES = (
    *("geometry", "curvature", "rim", "tol", "loss", "solver", "kernel", "uncertainty", "class_weight", "multi_class"),
    *("candidates", "scoring", "pos_label", "allow_timelike", "fit_intercept", "refine"),
)


class CommandError(ValueError):
    """A mistake of the user, explained in one sentence."""


# -- the terminal ------------------------------------------------------------------------------------------------------


def say(message: str, *, error: bool = False) -> None:
    """Print a line on standard output (or standard error), without markup or line breaks."""
    from rich.console import Console

    Console(stderr=error).print(message, markup=False, highlight=False, soft_wrap=True)


def warn(message: object) -> None:
    """Print a warning as one line on standard error."""
    say(f"hypermargin: warning: {one_line(message)}", error=True)


def fail(message: object) -> None:
    """Print an error as one line on standard error."""
    say(f"hypermargin: error: {one_line(message)}", error=True)


def one_line(message: object) -> str:
    """The message on one line, with the library's keyword arguments written as options of the command line."""

    def as_option(found: re.Match[str]) -> str:
        name, value = found[1], found[2].strip("'")
        option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
        return option if value == "True" else f"{option} {value}"

    names = "|".join((*OPTIONS, *SAME_NAMES))
    text = re.sub(rf"\b({names})=('[^']*'|[\w.+-]*\w)", as_option, " ".join(str(message).split()))
    return text.replace("hypermargin.inspect(X)", "`hypermargin inspect`")


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], caption: str | None = None) -> None:
    """Print a table; its first column is text, the others are numbers."""
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
    # A file or a pipe has no width of its own, and a table cut off at 80 characters would lose numbers.
    (console if console.is_terminal else Console(width=120)).print(table)


def number(value: float) -> str:
    """Six digits, or a dash if the value is not finite."""
    return f"{value:.6g}" if abs(value) < float("inf") else "–"


def percent(value: float) -> str:
    """A share in per cent."""
    return f"{100.0 * value:.1f} %"


# -- files -------------------------------------------------------------------------------------------------------------


def check_output(path: str, suffixes: tuple[str, ...] = (), *, inputs: Iterable[str | None] = ()) -> Path:
    """Refuse an output that cannot be written before any work is done; return it as a path.

    An earlier output may be overwritten, but neither one of the `inputs` nor an archive (.npz) that is not a model.
    """
    target = Path(path)
    if suffixes and target.suffix.lower() not in suffixes:
        raise CommandError(f"{path}: the output must end in {' or '.join(suffixes)}")
    if target.is_dir():
        raise CommandError(f"{path} is a folder; name a file in it")
    folder = target.parent
    if not folder.is_dir():
        raise CommandError(f"{path} cannot be written: there is no folder {folder}")
    if not os.access(target if target.exists() else folder, os.W_OK):
        raise CommandError(f"{path} cannot be written: permission denied")
    if target.resolve() in {Path(given).resolve() for given in inputs if given is not None}:
        raise CommandError(f"{path} is a file that this command reads; write to another one")
    if target.suffix.lower() == ".npz" and not _may_hold_a_model(target):
        raise CommandError(f"{path} exists and is not a model file; it is not overwritten")
    return target


def _may_hold_a_model(path: Path) -> bool:
    """Whether a model may be written to `path`: no file, an empty file, or an archive with the header of a model."""
    if not path.exists() or path.stat().st_size == 0:
        return True
    return zipfile.is_zipfile(path) and "header.npy" in zipfile.ZipFile(path).namelist()


def make_folder(path: str) -> Path:
    """Make the folder `path` if it is missing, and return it."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"cannot make the folder {path}: {error.strerror or error}") from error
    if not os.access(folder, os.W_OK):
        raise CommandError(f"{path} cannot be written: permission denied")
    return folder


def write_csv(
    path: Path,
    X: "Array",
    y: "np.ndarray | Sequence | None",
    *,
    names: Sequence[str] | None = None,
    ids: tuple[str, Sequence] | None = None,
    label: str = "label",
) -> None:
    """Write points and labels as a .csv that `read_points` reads back to the last digit.

    Columns are called x0, x1, ... unless they have `names`; `ids` are the name and the values of a first column.
    """
    columns = [list(map(repr, column)) for column in X.T.tolist()]
    header = list(names or (f"x{k}" for k in range(X.shape[1])))
    if ids is not None:
        header.insert(0, ids[0])
        columns.insert(0, list(ids[1]))
    if y is not None:
        header.append(label)
        columns.append(list(y) if isinstance(y, Sequence) else y.tolist())
    write_columns(path, header, columns)


def write_columns(path: Path, header: Iterable[str], columns: Iterable[Sequence]) -> None:
    """Write a .csv of columns of equal length."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(zip(*columns, strict=True))
