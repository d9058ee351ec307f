"""Reading points and labels from .npz, .npy and .csv, without running any code that a file may hold."""

import csv
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.cli.console import CommandError
from hypermargin.passes.sources import ArrayChunks, ParquetFile, Source, open_table

#: What a damaged archive may raise while it is read.
_DAMAGE = (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, OSError)
PARQUET = (".parquet", ".pq")
FORMATS = ".npz (arrays X and y), .npy (with --labels), .csv or .parquet"


@dataclass(frozen=True, eq=False)
class Points:
    """Points, shape (n, width), in whatever coordinates the file has, and labels where it has them."""

    X: Array
    y: np.ndarray | None


def read_points(
    path: str, labels: str | None = None, label_column: str | None = None, width: int | None = None
) -> Points:
    """Read a file of points.

    Parameters
    ----------
    path : str
        A .npz, .npy or .csv file.
    labels : str, optional
        A further file, .npy or one label per line.
    label_column : str, optional
        Name (or number from 1) of the column of a .csv that holds the labels; the last one by default.
    width : int, optional
        The number of columns a model expects: a .csv of exactly that width is then one without labels.
    """
    suffix = _suffix(path)
    if label_column is not None and suffix not in (".csv", *PARQUET):
        raise CommandError(f"--label names a column of a .csv or .parquet file, and {path} is none")
    if suffix == ".npz":
        X, y = _read_npz(path)
    elif suffix == ".npy":
        X, y = _read_npy(path), None
    elif suffix == ".csv":
        X, y = _read_csv(path, label_column, width, labels is not None)
    elif suffix in PARQUET:
        X, y = _read_parquet(path, label_column, width, labels is not None)
    else:
        raise CommandError(f"{path}: unknown kind of file; give {FORMATS}")
    if labels is not None:
        y = _read_labels(labels)
    return _checked(path, X, y)


def chunked_points(
    path: str, labels: str | None, label_column: str | None, rows: int | None, columns: list[str] | None = None
) -> tuple[Source, Any]:
    """A file of points that is read in chunks, and its labels or the name of their column (the last by default).

    With `columns`, those of a model, labels are not looked for.
    """
    suffix = _suffix(path)
    y = None if labels is None else _read_labels(labels)
    if suffix == ".npy":
        return ArrayChunks(_mapped(path), rows=rows), y
    if suffix not in (".csv", *PARQUET):
        raise CommandError(f"{path} cannot be read in chunks; give a .npy, .csv or .parquet")
    table = open_table(path)
    if columns is not None:
        return type(table)(path, columns=columns, rows=rows), None
    if y is not None:
        raise CommandError(f"{path} is read in chunks, and its labels must be a column of it; name it with --label")
    names = table.names or []
    label = names[-1] if label_column is None else label_column
    return type(table)(path, label=label, rows=rows), None


def _mapped(path: str) -> np.ndarray:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except _DAMAGE as error:
        raise CommandError(f"{path} is not a NumPy file, or it is damaged") from error
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise CommandError(f"{path}: the points must be a table of numbers, got shape {array.shape}")
    return array


def check_output(path: str, suffixes: tuple[str, ...] = ()) -> Path:
    """Refuse an output that cannot be written before any work is done; return it as a path."""
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
    return target


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


def write_csv(path: Path, X: Array, y: np.ndarray) -> None:
    """Points and labels as a .csv that `read_points` reads back to the last digit."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([f"x{k}" for k in range(X.shape[1])] + ["label"])
        writer.writerows([*map(repr, row), label] for row, label in zip(X.tolist(), y.tolist(), strict=True))


# -- arrays ------------------------------------------------------------------------------------------------------------


def _suffix(path: str) -> str:
    if not Path(path).is_file():
        raise CommandError(f"there is no file {path}" if not Path(path).is_dir() else f"{path} is a folder, not a file")
    return Path(path).suffix.lower()


def _load(path: str) -> dict[str, np.ndarray]:
    """The arrays of a NumPy file by name; that of a .npy has the name ''."""
    try:
        with open(path, "rb") as file:
            loaded = np.load(file, allow_pickle=False)
            return {"": loaded} if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except _DAMAGE as error:
        if "pickle" in str(error):
            raise CommandError(
                f"{path} is damaged or holds more than plain numbers; only those are read, as others can run code"
            ) from error
        raise CommandError(f"{path} is not a NumPy file, or it is damaged") from error


def _read_npy(path: str) -> np.ndarray:
    arrays = _load(path)
    if list(arrays) != [""]:
        raise CommandError(f"{path} is an archive of several arrays; let its name end in .npz")
    return arrays[""]


def _read_npz(path: str) -> tuple[np.ndarray, np.ndarray | None]:
    arrays = _load(path)
    if "X" not in arrays:
        raise CommandError(f"{path} has no array X; it holds {', '.join(filter(None, arrays)) or 'no names'}")
    return arrays["X"], arrays.get("y")


def _read_labels(path: str) -> np.ndarray:
    if _suffix(path) == ".npy":
        return np.ravel(_read_npy(path))
    return _as_labels([line.strip() for line in _text(path).splitlines() if line.strip()])


# -- csv ---------------------------------------------------------------------------------------------------------------


def _read_csv(
    path: str, label_column: str | None, width: int | None, labels_elsewhere: bool
) -> tuple[Array, np.ndarray | None]:
    rows = [row for row in csv.reader(_text(path).splitlines()) if any(cell.strip() for cell in row)]
    if not rows:
        raise CommandError(f"{path} is empty")
    columns = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != columns:
            raise CommandError(f"{path}: row {number} has {len(row)} columns, the first row has {columns}")
    header = None if any(_is_number(cell) for cell in rows[0]) else [cell.strip() for cell in rows[0]]
    body = rows if header is None else rows[1:]
    if not body:
        raise CommandError(f"{path} has a header and no rows")
    bare = label_column is None and (labels_elsewhere or columns == width)
    label = None if bare else _label_index(path, label_column, header, columns)
    features = [k for k in range(columns) if k != label]
    X = np.array([[_number(path, row, number, k) for k in features] for number, row in enumerate(body, start=1)])
    return X, None if label is None else _as_labels([row[label].strip() for row in body])


def _read_parquet(
    path: str, label_column: str | None, width: int | None, labels_elsewhere: bool
) -> tuple[Array, np.ndarray | None]:
    names = ParquetFile(path).names or []
    bare = label_column is None and (labels_elsewhere or len(names) == width)
    label = None if bare else names[-1] if label_column is None else label_column
    chunks = list(ParquetFile(path, label))
    if not chunks:
        raise CommandError(f"{path} has no rows")
    X = np.concatenate([rows.X for rows in chunks])
    return X, None if label is None else np.concatenate([rows.y for rows in chunks])


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not a text file in UTF-8") from error


def _label_index(path: str, label_column: str | None, header: list[str] | None, columns: int) -> int:
    if label_column is None:
        return columns - 1
    if header is not None and label_column in header:
        return header.index(label_column)
    if label_column.isdigit() and 1 <= int(label_column) <= columns:
        return int(label_column) - 1
    known = ", ".join(header) if header is not None else f"1 to {columns} (the file has no header)"
    raise CommandError(f"{path} has no column {label_column!r}; its columns are {known}")


def _number(path: str, row: list[str], number: int, column: int) -> float:
    try:
        return float(row[column])
    except ValueError:
        raise CommandError(
            f"{path}: row {number}, column {column + 1} of the data is {row[column]!r}, not a number; "
            "name the column of labels with --label"
        ) from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _as_labels(texts: list[str]) -> np.ndarray:
    """Integers where all labels are, else strings."""
    try:
        return np.array([int(text) for text in texts])
    except ValueError:
        return np.array(texts)


def _checked(path: str, X: np.ndarray, y: np.ndarray | None) -> Points:
    if X.ndim != 2 or X.shape[0] == 0 or X.dtype.kind not in "biuf":
        raise CommandError(f"{path}: the points must be a table of numbers with at least one row, got shape {X.shape}")
    X = X.astype(np.float64)
    bad = np.argwhere(~np.isfinite(X))
    if bad.size:
        row, column = bad[0]
        raise CommandError(f"{path}: row {row + 1}, column {column + 1} of the points is {X[row, column]}")
    if y is not None:
        y = np.ravel(y)
        if len(y) != len(X):
            raise CommandError(f"{path}: there are {len(X)} points and {len(y)} labels")
        if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
            raise CommandError(f"{path}: label {int(np.argmax(~np.isfinite(y))) + 1} is not a finite number")
    return Points(X, y)
