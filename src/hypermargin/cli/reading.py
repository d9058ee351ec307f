"""Reading points as people have them, without running code that a file may hold: whole, or a chunk at a time.

Columns of coordinates, labels and ids are given by the user, known from a model, or recognised.
"""

import argparse
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.cli.console import CommandError, say, warn
from hypermargin.data.ingest import to_unit
from hypermargin.data.inputs import SHARE_OF_MEMORY, free_memory
from hypermargin.data.readers import (
    MISSING,
    ArrayChunks,
    NotANumber,
    ParquetFile,
    Place,
    Source,
    Table,
    TableFile,
    TextFile,
    as_labels,
    is_number,
    row_place,
)
from hypermargin.geometry.validation import PointError
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
#: The arrays of a .npz file that are read; others stay where they are.
USED = ("X", "y", "ids", "names")
#: What may stand before the name of a column of obs.
PREFIX = "obs:"
#: What columns of ids are called, in lower case; pandas and R leave the name of theirs empty.
INDEX_NAMES = ("", "unnamed: 0", "__index_level_0__", "index", "id", "ids", "node", "name", "cell_id", "barcode", "key")
#: The name of a column of labels that needs no mention.
LABEL = "label"


class UnreadableError(CommandError, FileError):
    """A file of points that is damaged, crafted or foreign."""


@dataclass(frozen=True, eq=False)
class Points:
    """Points, shape (n, width), in the coordinates of the file, and labels (n,) where it has them.

    In an array of strings ``""`` is a missing label. `names` are those of the columns of X, `ids` those of the rows,
    which stood in the column `id_name`; `place` names the place of a row in the file `path`.
    """

    X: Array
    y: np.ndarray | None
    names: tuple[str, ...] | None = None
    ids: list[str] | None = None
    id_name: str = "id"
    path: str = ""
    place: Place = "X[{}]".format

    @property
    def missing(self) -> np.ndarray:
        """Which rows have no label, shape (n,)."""
        if self.y is None:
            return np.ones(len(self.X), dtype=bool)
        return self.y == "" if self.y.dtype.kind == "U" else np.zeros(len(self.X), dtype=bool)

    @property
    def labels(self) -> np.ndarray:
        """The labels, of which none may be missing."""
        if self.y is None:
            raise CommandError(f"{self.path} holds no labels; give them with --labels FILE")
        missing = self.missing
        if missing.any():
            count = int(missing.sum())
            others = f" ({count} rows have none)" if count > 1 else ""
            raise CommandError(
                f"{self.path}: {self.place(int(np.argmax(missing)))} has no label{others}; fill it in, or leave such "
                "rows out with --skip-unlabelled"
            )
        return self.y

    @property
    def partial_labels(self) -> np.ndarray | None:
        """The labels, with None where one is missing; None where the file has none at all."""
        if self.y is None or not self.missing.any():
            return self.y
        labels = np.full(len(self.X), None)
        labels[~self.missing] = as_labels(self.y[~self.missing].tolist())
        return labels

    def labelled(self) -> "Points":
        """The rows that have a label, which keep their places in the file."""
        if self.y is None or not self.missing.any():
            return self
        rows = np.flatnonzero(~self.missing)
        ids = None if self.ids is None else [self.ids[row] for row in rows]
        labels = as_labels(self.y[rows].tolist())
        return replace(self, X=self.X[rows], y=labels, ids=ids, place=lambda row: self.place(int(rows[row])))

    def check(self, geometry: str, curvature: float) -> None:
        """Refuse rows that are no points of the space, by their place in the file."""
        try:
            to_unit(self.X, geometry, curvature)
        except PointError as error:
            if error.row is None:
                raise
            raise CommandError(f"{self.path}: {self.place(error.row)} {error.complaint}") from error


@dataclass(frozen=True)
class Wanted:
    """What is known of a file before it is read: the options of that name, and what a model expects.

    With `any_numbers` cells may be NaN or infinite. With `labels`, a further file, no column of the table holds labels.
    A table as wide as the `width` that a model expects is one without labels, and must have the `names` of the columns
    that the model was fitted to, in that order.
    """

    label: str | None = None
    id: str | None = None
    columns: tuple[str, ...] | None = None
    labels: str | None = None
    delimiter: str | None = None
    obsm: str | None = None
    width: int | None = None
    names: tuple[str, ...] | None = None
    any_numbers: bool = False

    @classmethod
    def of(cls, args: argparse.Namespace, model: Any = None) -> "Wanted":
        """From the arguments and the model."""
        said = {name: getattr(args, name) for name in ("label", "id", "columns", "labels", "delimiter", "obsm")}
        names = getattr(model, "feature_names_in_", None)
        width = getattr(model, "n_features_in_", None)
        return cls(**said, width=width, names=None if names is None else tuple(names))

    @property
    def for_a_model(self) -> bool:
        return self.width is not None

    def kind_of(self, path: str) -> str:
        """The suffix that says how to read a file, without .gz; options that its kind has no use for are mistakes."""
        if Path(path).is_dir():
            raise CommandError(f"{path} is a folder, not a file")
        if not Path(path).is_file():
            raise CommandError(f"there is no file {path}")
        name = path.lower()
        kind = Path(name.removesuffix(".gz")).suffix
        if kind in PICKLES:
            raise CommandError(f"{path} is a pickle, which can run code when it is read: {PICKLES[kind]}")
        if kind not in (".npz", ".npy", ".h5ad", *TABLES) or (name.endswith(".gz") and kind not in TEXT):
            raise CommandError(f"{path}: unknown kind of file; give {FORMATS}")
        named = f"of a table such as a .csv file, and {path} is none"
        for value, kinds, complaint in (
            (self.label, (".h5ad", *TABLES), f"--label names a column {named}"),
            (self.columns, TABLES, f"--columns names columns {named}"),
            (self.id, TABLES, f"--id names columns {named}"),
            (self.delimiter, TEXT, f"--delimiter is for text, and {path} is none"),
            (self.obsm, (".h5ad",), f"--obsm is for .h5ad files, and {path} is none"),
        ):
            if value is not None and kind not in kinds:
                raise CommandError(complaint)
        return kind


def read_points(path: str, wanted: Wanted = Wanted()) -> Points:
    """Read a file of one of `FORMATS`."""
    kind = wanted.kind_of(path)
    if kind in (".npz", ".npy"):
        points = _of_arrays(path, wanted)
    elif kind == ".h5ad":
        points = _read_h5ad(path, wanted)
    else:
        table = next(_open_table(path, kind, wanted).tables(whole=True), None)
        if table is None or not len(table):
            raise CommandError(f"{path} has {'a header and ' if kind in TEXT else ''}no rows")
        points = Columns(table, wanted).points(table)
    return points if wanted.labels is None else replace(points, y=_read_labels(wanted.labels, len(points.X)))


# -- columns of tables -------------------------------------------------------------------------------------------------


class Columns:
    """The decision which column of a file is what, made on its first table."""

    def __init__(self, table: Table, wanted: Wanted) -> None:
        self.table, self.wanted = table, wanted
        self.by_name = wanted.names is not None and table.header is not None
        self.label = None if wanted.label is None else table.find(wanted.label)
        self.coordinates = [table.find(column) for column in wanted.columns or ()]
        if self.by_name and not self.coordinates:
            self.coordinates = [table.find(name) for name in self._of_the_model()]
        self.id = self._find_id()
        taken = {self.label, self.id, *self.coordinates}
        left = [k for k in range(len(table.columns)) if k not in taken]
        if self.label is None and wanted.labels is None:
            self.label = self._guess_label(left)
            left = [k for k in left if k != self.label]
        if not self.coordinates:
            self.coordinates, left = left, []
        if not self.coordinates:
            raise CommandError(f"{table.path} has no column of coordinates")
        self.names = None if table.header is None else tuple(table.header[k] for k in self.coordinates)
        if None not in (wanted.names, self.names) and wanted.names != self.names:
            expected, named = (", ".join(names or ()) for names in (wanted.names, self.names))
            raise CommandError(f"the model was fitted to the columns {expected}, and --columns names {named}")
        if left and wanted.for_a_model:
            kept = ", ".join(table.called(k).removeprefix("column ") for k in left)
            warn(f"{table.path}: left out, because the model does not know them: {kept}")

    def called(self, k: int) -> str:
        """The name of column k in a `TableFile`."""
        return str(k + 1) if self.table.header is None else self.table.header[k]

    def points(self, table: Table) -> Points:
        """The points of a table of the file."""
        try:
            read = table.numbers if self.wanted.any_numbers else table.finite
            X = np.column_stack([read(k) for k in self.coordinates])
        except NotANumber as error:
            raise CommandError(
                f"{error}; name the columns of coordinates with --columns and that of labels with --label"
            ) from None
        return Points(
            X,
            None if self.label is None else self._labels(table, self.label),
            names=self.names,
            ids=None if self.id is None else [str(value).strip() for value in table.columns[self.id]],
            id_name="id" if self.id is None or table.header is None else table.header[self.id] or "id",
            path=str(table.path),
            place=table.place,
        )

    def _of_the_model(self) -> tuple[str, ...]:
        """The names of the model, which the table must have, in their order."""
        names, header = self.wanted.names or (), self.table.header or []
        absent = [name for name in names if name not in header]
        if absent:
            raise CommandError(
                f"{self.table.path} has no column {absent[0]!r}: the model was fitted to {', '.join(names)}, and the "
                f"columns here are {', '.join(filter(None, header))}"
            )
        found = [name for name in header if name in names]
        if found != list(names):
            raise CommandError(
                f"{self.table.path} has the columns in the order {', '.join(found)}, and the model was fitted to "
                f"{', '.join(names)}: put them in that order, or say --columns {','.join(names)}"
            )
        return names

    def _find_id(self) -> int | None:
        """The column of ids: said, or recognised by its name, by counting the rows, or as words that all differ."""
        table = self.table
        if self.wanted.id is not None:
            return table.find(self.wanted.id)
        free = [k for k in range(len(table.columns)) if k not in (self.label, *self.coordinates)]
        named = [k for k in free if table.header is not None and table.header[k].lower() in INDEX_NAMES]
        if named:
            return named[0]
        if 0 not in free or len(free) < 2 or self._is_narrow():
            return None
        column = table.columns[0]
        if counts_rows(column):
            what = "counts the rows"
        elif table.header is not None and not is_number(column[0]) and len(set(column)) == len(column) > 1:
            what = "holds words that all differ"
        else:
            return None
        if not self.coordinates:
            warn(
                f"{table.path}: {table.called(0)} {what} and is taken for ids, not for a coordinate (--columns and "
                "--id say otherwise)"
            )
        return 0

    def _is_narrow(self) -> bool:
        """Whether the table is no wider than a model without names expects, so that no column can be one of ids."""
        return self.wanted.width is not None and not self.by_name and len(self.table.columns) <= self.wanted.width

    def _guess_label(self, left: list[int]) -> int | None:
        table, wanted = self.table, self.wanted
        named = [k for k in left if table.header is not None and table.header[k].lower() == LABEL]
        if named:
            return named[0]
        if wanted.for_a_model:  # labels are welcome there, and not needed
            spare = len(left) if self.coordinates else len(left) - (wanted.width or 0)
            return left[-1] if spare == 1 else None
        if wanted.any_numbers and left and _has_fractions(table.texts(left[-1])):
            return None  # a table of coordinates alone
        if len(left) > 1 and self.coordinates:
            raise CommandError(
                f"{table.path}: say with --label which column holds the labels: "
                f"{', '.join(table.called(k).removeprefix('column ') for k in left)}"
            )
        return left[-1] if left else None

    def _labels(self, table: Table, k: int) -> np.ndarray:
        texts = table.texts(k)
        if self.wanted.label is None and not self.wanted.for_a_model and "" not in texts and _has_fractions(texts):
            raise CommandError(
                f"{table.path}: {table.called(k)} was taken for the labels and holds numbers with fractions, such as "
                f"{texts[0]}; say with --label which column holds the labels"
            )
        return as_labels(texts)


def _has_fractions(texts: list[str]) -> bool:
    """Whether a column holds numbers alone, and not only whole ones, which are no labels."""
    known = [text for text in texts if text]
    return as_labels(known).dtype.kind == "U" and all(map(is_number, known))


def counts_rows(column: Sequence | np.ndarray) -> bool:
    """Whether a column reads 0, 1, 2, ... or 1, 2, 3, ... over at least four rows."""
    first = str(column[0]).strip()
    if len(column) < 4 or first not in ("0", "1"):
        return False
    return all(str(cell).strip() == str(number) for number, cell in enumerate(column, start=int(first)))


def _open_table(path: str, kind: str, wanted: Wanted, rows: int | None = None) -> TableFile:
    return TextFile(path, rows=rows, delimiter=wanted.delimiter) if kind in TEXT else ParquetFile(path, rows=rows)


# -- arrays ------------------------------------------------------------------------------------------------------------


def _arrays_of(path: str) -> dict[str, np.ndarray]:
    """The arrays of a .npz file, which must have X, or that of a .npy file as X."""
    is_archive = zipfile.is_zipfile(path)
    if is_archive and path.lower().endswith(".npy"):
        raise CommandError(f"{path} is an archive of several arrays; let its name end in .npz")
    with open(path, "rb") as file, as_file_error(path, "is not a NumPy file, or it is damaged", UnreadableError):
        if path.lower().endswith(".npy"):
            return {"X": parse_npy(file.read(), "it")}
        arrays = Archive(file)
        if "X" not in arrays.names:
            raise UnreadableError(
                f"{path} has no array X; it holds {', '.join(filter(None, arrays.names)) or 'no names'}"
            )
        return {name: arrays[name] for name in USED if name in arrays.names}


def _of_arrays(path: str, wanted: Wanted) -> Points:
    arrays = _arrays_of(path)
    X, y, ids = arrays["X"], arrays.get("y"), arrays.get("ids")
    if X.ndim != 2 or X.shape[0] == 0 or X.dtype.kind not in "biuf":
        raise CommandError(f"{path}: the points must be a table of numbers with at least one row, got shape {X.shape}")
    if not wanted.any_numbers:
        X = _finite(X, lambda row, column, value: f"{path}: X[{row}, {column}] is {value}")
    if ids is not None and len(ids) != len(X):
        raise CommandError(f"{path}: there are {len(X)} points and {len(ids)} ids")
    names = None if ids is None else [str(name) for name in np.ravel(ids)]
    return Points(X, None if y is None else _plain(path, y, len(X)), ids=names, path=path)


def _finite(X: np.ndarray, complaint: Callable[[int, int, float], str]) -> Array:
    """X as doubles, or an error about the first that is none."""
    X = X.astype(np.float64)
    bad = np.argwhere(~np.isfinite(X))
    if bad.size:
        row, column = bad[0]
        raise CommandError(complaint(row, column, X[row, column]))
    return X


def _read_labels(path: str, n: int) -> np.ndarray:
    """The labels of n points from a file of their own: .npy, or text with a line for each point."""
    if path.lower().endswith(".npy"):
        Wanted().kind_of(path)
        return _plain(path, _arrays_of(path)["X"], n)
    if not Path(path).is_file():
        raise CommandError(f"there is no file {path}")
    with TextFile.lines(Path(path)) as text:
        lines = [line.strip() for line in text]
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


def _read_h5ad(path: str, wanted: Wanted) -> Points:
    """The cells of a .h5ad file, whose names are ids; the matrix of expressions is not read.

    Where there is one array only, it need not be named; without a label the points have none.
    """
    obsm, label = wanted.obsm, wanted.label
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
        name, y = (label or "").removeprefix(PREFIX), None
        if label is not None and name not in adata.obs.columns:
            known = ", ".join(map(str, adata.obs.columns))
            raise CommandError(f"{path} has no column {name!r} in obs; it has {known or 'none'}")
        if label is not None:
            column = adata.obs[name]
            y = as_labels(["" if gone else str(value) for value, gone in zip(column, column.isna(), strict=True)])
    finally:
        adata.file.close()
    if X.ndim != 2 or X.dtype.kind not in "iuf":
        raise CommandError(f"{path}: obsm {basis!r} is no table of numbers")
    if not wanted.any_numbers:
        X = _finite(X, lambda row, _, value: f"{path}: cell {ids[row]!r} has {value} in obsm {basis!r}")
    return Points(X, y, ids=ids, id_name="cell", path=path, place=lambda row: f"cell {ids[row]!r}")


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
            place = partial(row_place, start)
            yield Points(_finite(rows.X, partial(self._complaint, place)), rows.y, path=self.path, place=place)
            start += len(rows)

    def _complaint(self, place: Place, row: int, column: int, value: float) -> str:
        return f"{self.path}: {place(row)}, column {column + 1} is {value}"


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
    wanted = Wanted.of(args, model)
    kind = wanted.kind_of(path)
    if kind not in (".npy", *TABLES):
        raise CommandError(f"{path} cannot be read in chunks; give one of .npy, .csv, .parquet, .pq")
    if kind == ".npy":
        return _chunked_array(args)
    if args.labels is not None:
        raise CommandError(f"{path} is read in chunks, and its labels must be a column of it; name it with --label")
    file = _open_table(path, kind, wanted, args.chunks)
    first = next(file.tables(), None)
    if first is None:
        raise CommandError(f"{path} has no rows")
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
