"""Files that commands write, and a check that they can be written before any work is done."""

import csv
import os
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from hypermargin.arrays import Array
from hypermargin.cli.console import CommandError
from hypermargin.cli.reading import FORMATS, Points, read_points

__all__ = ["FORMATS", "Points", "check_output", "make_folder", "read_points", "write_csv"]


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
    if any(
        given is not None and Path(given).exists() and target.samefile(given) for given in inputs if target.exists()
    ):
        raise CommandError(f"{path} is a file that this command reads; write to another one")
    if target.suffix.lower() == ".npz" and not _may_hold_a_model(target):
        raise CommandError(f"{path} exists and is not a model file; it is not overwritten")
    return target


def _may_hold_a_model(path: Path) -> bool:
    """Whether a model may be written to `path`: nothing is there, an empty file, or an archive with a header."""
    if not path.exists() or path.stat().st_size == 0:
        return True
    return zipfile.is_zipfile(path) and "header.npy" in zipfile.ZipFile(path).namelist()


def make_folder(path: str) -> Path:
    """The folder `path`, made where it is missing."""
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
    X: Array,
    y: np.ndarray | Sequence | None,
    *,
    names: Sequence[str] | None = None,
    ids: tuple[str, Sequence] | None = None,
    label: str = "label",
) -> None:
    """Points and labels as a .csv that `read_points` reads back to the last digit.

    Columns are called x0, x1, ... unless they have `names`; `ids` are the name and the values of a first column.
    """
    columns = [list(map(repr, column)) for column in X.T.tolist()]
    header = list(names or (f"x{k}" for k in range(X.shape[1])))
    if ids is not None:
        header.insert(0, ids[0])
        columns.insert(0, list(ids[1]))
    if y is not None:
        header.append(label)
        columns.append(np.asarray(y).tolist())
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(zip(*columns, strict=True))
