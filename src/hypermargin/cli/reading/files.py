"""Reading points as people have them, without running code that a file may hold: whole, or a chunk at a time."""

import argparse
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hypermargin.cli.console import CommandError, say
from hypermargin.cli.reading.columns import Columns, Points, Wanted, array_place
from hypermargin.data.inputs import SHARE_OF_MEMORY, free_memory
from hypermargin.data.readers import (
    MISSING,
    ArrayChunks,
    ParquetFile,
    Source,
    TableFile,
    TextFile,
    as_labels,
    row_place,
)
from hypermargin.safe_io import Archive, FileError, as_file_error, parse_npy

FORMATS = ".csv, .tsv, .parquet, .h5ad, .npz (arrays X and y), .npy (with --labels) or .vec (word2vec text)"
#: Files of text, with or without .gz behind.
TEXT = (".csv", ".tsv", ".tab", ".txt", ".vec", ".w2v")
TABLES = (*TEXT, ".parquet", ".pq")
#: What holds pickles, and what to do about it.
PICKLES = {
    ".kv": "write text with gensim's save_word2vec_format('points.vec')",
    ".pt": "write numbers with numpy.save('points.npy', tensor.detach().cpu().numpy())",
    ".pth": "write numbers with numpy.save('points.npy', tensor.detach().cpu().numpy())",
    ".pkl": "write a .csv, .npz or .parquet",
    ".pickle": "write a .csv, .npz or .parquet",
}
NO_ARRAYS = "is not a NumPy file, or it is damaged"
#: The arrays of a .npz file that are read; others stay where they are.
USED = ("X", "y", "ids", "names")
#: What may stand before the name of a column of obs.
PREFIX = "obs:"


class UnreadableError(CommandError, FileError):
    """A file of points that is damaged, crafted or foreign."""


def read_points(
    path: str,
    labels: str | None = None,
    label_column: str | None = None,
    width: int | None = None,
    *,
    columns: tuple[str, ...] | None = None,
    id_column: str | None = None,
    names: tuple[str, ...] | None = None,
    delimiter: str | None = None,
    obsm: str | None = None,
) -> Points:
    """Read a file of points.

    Parameters
    ----------
    path : str
        A file of one of `FORMATS`.
    labels : str, optional
        A further file, .npy or one label per line.
    label_column, id_column : str, optional
        Name (or number from 1) of the column of a table that holds the labels (by default the one called ``label``, or
        the last) and the ids (by default one that is recognised). In a .h5ad the label is a column of obs.
    width : int, optional
        The number of columns a model expects: a table of exactly that width is then one without labels.
    columns : tuple of str, optional
        The columns of a table that are coordinates; by default all that are neither labels nor ids.
    names : tuple of str, optional
        What the columns were called that the model was fitted to; a table must have them in that order.
    delimiter : str, optional
        What stands between the cells of a text; found by default.
    obsm : str, optional
        Which coordinates of a .h5ad.
    """
    kind = kind_of(path)
    _refuse_what_does_nothing(path, kind, label_column, columns, id_column, delimiter, obsm)
    if kind in (".npz", ".npy"):
        arrays = _read_npz(path) if kind == ".npz" else {"X": _read_npy(path)}
        points = _of_arrays(path, arrays["X"], arrays.get("y"), arrays.get("ids"))
    elif kind == ".h5ad":
        points = _read_h5ad(path, obsm, label_column)
    else:
        wanted = Wanted(columns, label_column, id_column, names, width, labels is not None)
        points = _read_table(path, kind, delimiter, wanted)
    return points if labels is None else replace(points, y=_read_labels(labels, len(points.X)))


def kind_of(path: str) -> str:
    """The suffix that says how to read a file, without .gz; an error where there is no such file or no such kind."""
    if not Path(path).is_file():
        raise CommandError(f"there is no file {path}" if not Path(path).is_dir() else f"{path} is a folder, not a file")
    name = path.lower()
    kind = Path(name.removesuffix(".gz")).suffix
    if kind in PICKLES:
        raise CommandError(f"{path} is a pickle, which can run code when it is read: {PICKLES[kind]}")
    if kind not in (".npz", ".npy", ".h5ad", *TABLES) or (name.endswith(".gz") and kind not in TEXT):
        raise CommandError(f"{path}: unknown kind of file; give {FORMATS}")
    return kind


def _refuse_what_does_nothing(path, kind, label_column, columns, id_column, delimiter, obsm) -> None:
    """Options that a kind of file has no use for are mistakes."""
    named = f"of a table such as a .csv file, and {path} is none"
    for value, kinds, complaint in (
        (label_column, (".h5ad", *TABLES), f"--label names a column {named}"),
        (columns, TABLES, f"--columns names columns {named}"),
        (id_column, TABLES, f"--id names columns {named}"),
        (delimiter, TEXT, f"--delimiter is for text, and {path} is none"),
        (obsm, (".h5ad",), f"--obsm is for .h5ad files, and {path} is none"),
    ):
        if value is not None and kind not in kinds:
            raise CommandError(complaint)


# -- tables ------------------------------------------------------------------------------------------------------------


def open_file(path: str, kind: str, delimiter: str | None = None, rows: int | None = None) -> TableFile:
    """A table of the kind that `kind_of` says."""
    return ParquetFile(path, rows=rows) if kind not in TEXT else TextFile(path, rows=rows, delimiter=delimiter)


def _read_table(path: str, kind: str, delimiter: str | None, wanted: Wanted) -> Points:
    try:
        table = next(open_file(path, kind, delimiter).tables(whole=True), None)
        if table is None or not len(table):
            raise CommandError(f"{path} has {'a header and ' if kind in TEXT else ''}no rows")
        return Columns(table, wanted).points(table)
    except ValueError as error:
        raise error if isinstance(error, CommandError) else CommandError(str(error)) from error


# -- arrays ------------------------------------------------------------------------------------------------------------


def _read_npy(path: str) -> np.ndarray:
    if zipfile.is_zipfile(path):
        raise CommandError(f"{path} is an archive of several arrays; let its name end in .npz")
    with open(path, "rb") as file, as_file_error(path, NO_ARRAYS, UnreadableError):
        return parse_npy(file.read(), "it")


def _read_npz(path: str) -> dict[str, np.ndarray]:
    """The arrays of a .npz file, which must have X."""
    with open(path, "rb") as file, as_file_error(path, NO_ARRAYS, UnreadableError):
        arrays = Archive(file)
        if "X" not in arrays.names:
            raise UnreadableError(
                f"{path} has no array X; it holds {', '.join(filter(None, arrays.names)) or 'no names'}"
            )
        return {name: arrays[name] for name in USED if name in arrays.names}


def _of_arrays(path: str, X: np.ndarray, y: np.ndarray | None, ids: np.ndarray | None) -> Points:
    if X.ndim != 2 or X.shape[0] == 0 or X.dtype.kind not in "biuf":
        raise CommandError(f"{path}: the points must be a table of numbers with at least one row, got shape {X.shape}")
    X = X.astype(np.float64)
    bad = np.argwhere(~np.isfinite(X))
    if bad.size:
        row, column = bad[0]
        raise CommandError(f"{path}: X[{row}, {column}] is {X[row, column]}")
    if ids is not None and len(ids) != len(X):
        raise CommandError(f"{path}: there are {len(X)} points and {len(ids)} ids")
    names = None if ids is None else [str(name) for name in np.ravel(ids)]
    return Points(X, None if y is None else _plain(path, y, len(X)), ids=names, path=path, place=array_place)


def _read_labels(path: str, n: int) -> np.ndarray:
    """The labels of n points from a file of their own: .npy, or text with a line for each point."""
    if path.lower().endswith(".npy"):
        kind_of(path)
        return _plain(path, _read_npy(path), n)
    if not Path(path).is_file():
        raise CommandError(f"there is no file {path}")
    try:
        with TextFile.lines(Path(path)) as text:
            lines = [line.strip() for line in text]
    except ValueError as error:
        raise CommandError(str(error)) from error
    if len(lines) > n:  # blank lines that mean nothing
        lines = [line for line in lines if line]
    return _plain(path, as_labels(["" if line in MISSING else line for line in lines]), n)


def _plain(path: str, y: np.ndarray, n: int) -> np.ndarray:
    """Labels in one row; missing ones, which numbers write as NaN, as ''."""
    y = np.ravel(y)
    if len(y) != n:
        raise CommandError(f"{path}: there are {n} points and {len(y)} labels")
    if y.dtype.kind == "f":
        return as_labels(["" if np.isnan(label) else repr(float(label)) for label in y])
    return y


# -- AnnData -----------------------------------------------------------------------------------------------------------


def _read_h5ad(path: str, obsm: str | None, label: str | None) -> Points:
    """The cells of a .h5ad file, whose names are ids; the matrix of expressions is not read.

    Without `obsm` the one array there is taken; without `label` the points have no labels.
    """
    try:
        import anndata
    except ImportError as error:
        raise CommandError("reading .h5ad needs the package anndata: pip install 'hypermargin[anndata]'") from error
    try:
        adata = anndata.read_h5ad(path, backed="r")
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise CommandError(f"{path} is not an AnnData file, or it is damaged") from error
    try:
        keys = list(adata.obsm.keys())
        if obsm is None and len(keys) != 1:
            raise CommandError(
                f"{path}: say with --obsm which coordinates to take: {', '.join(keys) or 'it has none in obsm'}"
            )
        basis = keys[0] if obsm is None else obsm
        if basis not in keys:
            raise CommandError(f"{path} has no obsm {obsm!r}; it has {', '.join(keys) or 'none'}")
        X = np.asarray(adata.obsm[basis])
        ids = [str(name) for name in adata.obs_names]
        y = None if label is None else _cell_labels(path, adata.obs, label.removeprefix(PREFIX))
    finally:
        adata.file.close()
    if X.ndim != 2 or X.dtype.kind not in "iuf":
        raise CommandError(f"{path}: obsm {basis!r} is no table of numbers")
    bad = np.argwhere(~np.isfinite(X))
    if bad.size:
        raise CommandError(f"{path}: cell {ids[bad[0][0]]!r} has {X[tuple(bad[0])]} in obsm {basis!r}")
    return Points(X.astype(np.float64), y, ids=ids, id_name="cell", path=path, place=lambda row: f"cell {ids[row]!r}")


def _cell_labels(path: str, obs: Any, name: str) -> np.ndarray:
    if name not in obs.columns:
        raise CommandError(f"{path} has no column {name!r} in obs; it has {', '.join(map(str, obs.columns)) or 'none'}")
    column = obs[name]
    return as_labels(["" if gone else str(value) for value, gone in zip(column, column.isna(), strict=True)])


# -- chunks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ChunkedPoints:
    """A source of chunks, with labels beside it where they are not a column of it; see `Points`.

    `columns` says what the columns of a table are.
    """

    X: Source
    beside: np.ndarray | None
    path: str
    columns: Columns | None = None

    @property
    def labels(self) -> np.ndarray | None:
        """Those beside the source; None where it has a column of them."""
        if self.beside is None and getattr(self.X, "label", None) is None:
            raise CommandError(f"{self.path} holds no labels; give them with --labels FILE")
        return self.beside

    def parts(self) -> Iterator[Points]:
        """The chunks as points, whose rows are named by their places in the file."""
        if self.columns is not None:
            assert isinstance(self.X, TableFile)
            yield from map(self.columns.points, self.X.tables())
            return
        start = 0
        for rows in self.X:
            X = rows.X.astype(np.float64)
            bad = np.argwhere(~np.isfinite(X))
            if bad.size:
                row, column = bad[0]
                raise CommandError(f"{self.path}: {row_place(start, row)}, column {column + 1} is {X[row, column]}")
            yield Points(X, rows.y, path=self.path, place=partial(row_place, start))
            start += len(rows)


def add_chunk_argument(parser: argparse.ArgumentParser) -> None:
    """For files that are larger than memory."""
    parser.add_argument(
        "--chunks",
        type=_row_count,
        metavar="ROWS",
        help="read a .npy, .csv or .parquet so many rows at a time (default: whole, if the memory is large enough)",
    )


def reads_chunks(args: argparse.Namespace) -> bool:
    """Whether the file is not to be read into memory: asked for, or too large."""
    if args.chunks is not None:
        return True
    path = Path(args.data)
    if path.suffix.lower() not in (".npy", *TABLES) or not path.is_file():
        return False
    too_large = path.stat().st_size > SHARE_OF_MEMORY * free_memory()
    if too_large:
        say(f"{args.data} is large beside the memory and is read in chunks")
    return too_large


def chunked_points(args: argparse.Namespace, model: Any = None) -> ChunkedPoints:
    """The source that the arguments describe; for a model labels are optional, and columns are found by its names."""
    path = args.data
    for option, value in (("--obsm", args.obsm), ("--skip-unlabelled", getattr(args, "skip_unlabelled", False))):
        if value:
            raise CommandError(f"{option} does not go with files that are read in chunks")
    kind = kind_of(path)
    if kind not in (".npy", *TABLES):
        raise CommandError(f"{path} cannot be read in chunks; give one of .npy, .csv, .parquet, .pq")
    _refuse_what_does_nothing(path, kind, args.label, args.columns, args.id, args.delimiter, args.obsm)
    if kind == ".npy":
        return _chunked_array(args)
    if args.labels is not None:
        raise CommandError(f"{path} is read in chunks, and its labels must be a column of it; name it with --label")
    file = open_file(path, kind, args.delimiter, args.chunks)
    first = next(file.tables(), None)
    if first is None:
        raise CommandError(f"{path} has no rows")
    names = getattr(model, "feature_names_in_", None)
    width = None if model is None else model.n_features_in_
    wanted = Wanted(args.columns, args.label, args.id, None if names is None else tuple(names), width)
    columns = Columns(first, wanted)
    label = None if columns.label is None else columns.called(columns.label)
    if label is None and model is None:
        raise CommandError(f"{path} has no column left for labels; name it with --label")
    coordinates = [columns.called(k) for k in columns.coordinates]
    return ChunkedPoints(file.selecting(label, columns=coordinates), None, path, columns)


def _chunked_array(args: argparse.Namespace) -> ChunkedPoints:
    try:
        X = np.load(args.data, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise CommandError(f"{args.data} is not a NumPy file, or it is damaged") from error
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise CommandError(f"{args.data}: the points must be a table of numbers, got shape {X.shape}")
    labels = None if args.labels is None else _read_labels(args.labels, len(X))
    return ChunkedPoints(ArrayChunks(X, labels, rows=args.chunks), labels, args.data)


def _row_count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of rows, such as 1000000")
    return int(text)
