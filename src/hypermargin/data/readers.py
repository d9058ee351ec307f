"""Tables of samples, whole or in chunks: arrays larger than memory, Parquet files, and text with or without a header.

A source gives the same chunks every time it is iterated, so that several passes see the same data. One that has changed
since it was opened is an error: half of the passes would have seen other points.
"""

import csv
import gzip
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

#: Numbers in a chunk: 64 MiB of doubles, large beside the cost of reading one and small beside the memory.
CHUNK_NUMBERS = 1 << 23

#: What stands for a missing label in text.
MISSING = frozenset(("", "nan", "NaN", "NA", "<NA>", "None", "null"))
#: What may stand between the cells of a text, the first of those that fit equally well.
DELIMITERS = (",", "\t", ";", "|", " ")
#: Lines that are looked at to find the delimiter: enough to see uneven rows, and read at once.
LOOKED_AT = 50

#: Names a row as its owner would: "line 7", "X[5]", "cell 'AAACCTG'".
Place = Callable[[int], str]


@dataclass(frozen=True, eq=False)
class Rows:
    """Coordinates, shape (rows, width), labels and weights (rows,) of a block, of any library and any dtype."""

    X: Any
    y: Any = None
    weight: Any = None

    def __sizeof__(self) -> int:
        """Bytes with the arrays, for Dask, which moves blocks that it takes for small."""
        return object.__sizeof__(self) + sum(getattr(v, "nbytes", 0) for v in (self.X, self.y, self.weight))

    def __len__(self) -> int:
        return self.X.shape[0]


def check_lengths(n: int, y: Any = None, sample_weight: Any = None) -> None:
    """Refuse labels and weights of another number than the rows, as for arrays in memory."""
    if y is not None and _length(y) != n:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[n, _length(y)]}")
    if sample_weight is not None and _length(sample_weight) != n:
        shape = tuple(getattr(sample_weight, "shape", None) or np.shape(sample_weight))
        raise ValueError(f"sample_weight must have shape ({n},), got {shape}")


def _length(values: Any) -> int:
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)


def as_labels(texts: list[str]) -> np.ndarray:
    """Integers where all labels are (``1.0``, as pandas writes integers beside missing ones, is one), else strings."""
    try:
        numbers = [float(text) for text in texts]
        if all(number.is_integer() and abs(number) < 2**53 for number in numbers):
            return np.array([int(number) for number in numbers])
    except ValueError:
        pass
    return np.array(texts, dtype=str)


class Source(ABC):
    """Chunks of rows: coordinates, labels where they are known, weights where they are given."""

    #: Names of the columns of coordinates, where the table has names.
    names: list[str] | None = None
    #: Bytes of a file that takes long to read, so that its rows had better be written down in binary; else 0.
    slow_bytes: int = 0

    @abstractmethod
    def __iter__(self) -> Iterator[Rows]: ...


class Stamp:
    """What a file looked like when it was opened: size, time of the last change, and identity."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.facts = self._now()

    def _now(self) -> tuple[int, int, int] | None:
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns, status.st_ino

    def require_unchanged(self) -> None:
        if self.facts is None or self._now() != self.facts:
            raise ValueError(f"{self.path} changed while it was read; fit again when nobody writes to it")


class ArrayChunks(Source):
    """An array with rows, such as a `numpy.memmap`, a chunk at a time; y and weights lie in arrays beside it.

    The file of a memory map that is open for reading must not change from the moment this object is made.

    Parameters
    ----------
    X : (n, width) array
        Anything that gives rows as NumPy arrays when it is sliced.
    y, sample_weight : (n,) arrays, optional
    rows : int, optional
        Rows of a chunk; by default as many as make `CHUNK_NUMBERS` numbers.
    """

    def __init__(self, X: Any, y: Any = None, sample_weight: Any = None, rows: int | None = None):
        if len(X.shape) != 2:
            raise ValueError(f"X must be a table of points with two axes, got shape {tuple(X.shape)}")
        for name, values in (("y", y), ("sample_weight", sample_weight)):
            if values is not None and len(values) != X.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows and {name} has {len(values)} entries")
        self.X, self.y, self.sample_weight = X, y, sample_weight
        self.rows = _chunk_rows(rows, X.shape[1])
        # Who writes through a map himself sees his own changes, and the time of the file may follow later.
        self._stamp = Stamp(X.filename) if isinstance(X, np.memmap) and X.mode == "r" and X.filename else None

    def __iter__(self) -> Iterator[Rows]:
        for start in range(0, max(self.X.shape[0], 1), self.rows):  # one chunk at least, for the width
            part = slice(start, start + self.rows)
            y, weight = (None if v is None else np.asarray(v[part]) for v in (self.y, self.sample_weight))
            self._require_unchanged()
            yield Rows(np.asarray(self.X[part]), y, weight)
        self._require_unchanged()

    def _require_unchanged(self) -> None:
        if self._stamp is not None:
            self._stamp.require_unchanged()

    def labelled(self, y: Any, sample_weight: Any) -> "ArrayChunks":
        """The same points with labels and weights."""
        other = ArrayChunks(self.X, y, sample_weight, self.rows)
        other._stamp = self._stamp
        return other


def row_place(start: int, row: int) -> str:
    """A row of a file without lines, in a chunk that begins with row `start`."""
    return f"row {start + row} (the first is 0)"


class NotANumber(ValueError):
    """A cell of a column of numbers that holds something else."""

    def __init__(self, sentence: str, cell: Any) -> None:
        super().__init__(sentence)
        self.cell = cell


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of text or numbers with their names, where the file has them: a chunk of it, or all."""

    path: Path
    header: list[str] | None
    columns: Sequence[Sequence | np.ndarray]
    place: Place

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def find(self, column: str) -> int:
        """The index of a column by its name or its number from 1."""
        if self.header is not None and column in self.header:
            if self.header.count(column) > 1:
                raise ValueError(f"{self.path} has {self.header.count(column)} columns called {column!r}")
            return self.header.index(column)
        if column.isdigit() and 1 <= int(column) <= len(self.columns):
            return int(column) - 1
        known = ", ".join(self.header) if self.header is not None else f"1 to {len(self.columns)} (it has no header)"
        raise ValueError(f"{self.path} has no column {column!r}; its columns are {known}")

    def called(self, k: int) -> str:
        """What a sentence calls column k."""
        return f"column {self.header[k]!r}" if self.header is not None and self.header[k] else f"column {k + 1}"

    def texts(self, k: int) -> list[str]:
        """Column k as text; what is missing becomes ''."""
        texts = ("" if value is None else str(value).strip() for value in self.columns[k])
        return ["" if text in MISSING else text for text in texts]

    def numbers(self, k: int) -> np.ndarray:
        """Column k as numbers, missing ones NaN, or an error that names the first cell that is none."""
        column = self.columns[k]
        try:
            return np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError):
            row = next(row for row, cell in enumerate(column) if cell is not None and not is_number(cell))
            cell = column[row]
        raise NotANumber(f"{self.path}: {self.place(row)}, {self.called(k)} is {cell!r}, not a number", cell)

    def finite(self, k: int) -> np.ndarray:
        """Column k as finite numbers."""
        values = self.numbers(k)
        if not np.all(np.isfinite(values)):
            row = int(np.argmin(np.isfinite(values)))
            raise ValueError(f"{self.path}: {self.place(row)}, {self.called(k)} is {values[row]}")
        return values


class TableFile(Source):
    """A file of named or numbered columns. `label` and `weight` name two of them; the rest, or `columns`, are X.

    Parameters
    ----------
    path : str or Path
    label, weight : str, optional
        The columns of labels and of sample weights.
    columns : list of str, optional
        The columns of coordinates, in their order; by default all that are neither label nor weight.
    rows : int, optional
        Rows of a chunk.
    """

    def __init__(
        self,
        path: str | Path,
        label: str | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        rows: int | None = None,
    ):
        self.path = Path(path)
        if not self.path.is_file():
            raise ValueError(f"there is no file {path}")
        self._stamp = Stamp(self.path)
        self.slow_bytes = self._stamp.facts[0] if self._stamp.facts else 0
        self._found = self._column_names()
        self._select(label, weight, columns)
        self.rows = _chunk_rows(rows, len(self._found))

    def _select(self, label: str | None, weight: str | None, columns: Sequence[str] | None) -> None:
        for wanted in (label, weight, *(columns or ())):
            if wanted is not None and wanted not in self._found:
                raise ValueError(f"{self.path} has no column {wanted!r}; its columns are {', '.join(self._found)}")
        self.label, self.weight = label, weight
        self.names = list(columns) if columns is not None else [n for n in self._found if n not in (label, weight)]

    @abstractmethod
    def _column_names(self) -> list[str]:
        """The names of all columns; their numbers from 1 where the file has no names."""

    @abstractmethod
    def _tables(self, rows: int | None, wanted: list[str] | None) -> Iterator[Table]:
        """The file, `rows` rows at a time or whole; at least the columns `wanted`."""

    def selecting(
        self, label: str | None = None, weight: str | None = None, columns: Sequence[str] | None = None
    ) -> "TableFile":
        """The same file with other columns."""
        other = copy(self)
        other._select(label, weight, columns)
        return other

    def labelled(self, label: str | None, weight: str | None) -> "TableFile":
        """The same file with other columns as label and weight."""
        return self.selecting(label, weight)

    def only(self, columns: Sequence[str]) -> "TableFile":
        """The same file with these columns as coordinates, and no label."""
        return self.selecting(columns=columns)

    def tables(self, whole: bool = False, wanted: list[str] | None = None) -> Iterator[Table]:
        """The file in chunks, or whole; whatever goes wrong in one that has changed goes wrong because of that."""
        self._stamp.require_unchanged()
        try:
            for table in self._tables(None if whole else self.rows, wanted):
                self._stamp.require_unchanged()
                yield table
        except Exception:
            self._stamp.require_unchanged()
            raise
        self._stamp.require_unchanged()

    def __iter__(self) -> Iterator[Rows]:
        names = self.names or []
        wanted = [*names, *(n for n in (self.label, self.weight) if n is not None)]
        tables = self.tables(wanted=wanted)
        nothing = Table(self.path, wanted, [np.empty(0)] * len(wanted), str)
        for table in chain([next(tables, nothing)], tables):  # one chunk at least, for the width
            X = np.column_stack([self._numbers(table, name) for name in names])
            weight = None if self.weight is None else self._numbers(table, self.weight)
            yield Rows(X, None if self.label is None else self._labels(table.columns[table.find(self.label)]), weight)

    def _labels(self, column: Any) -> np.ndarray:
        return column if isinstance(column, np.ndarray) else np.array(column, dtype=object)

    def _numbers(self, table: Table, name: str) -> np.ndarray:
        try:
            return table.numbers(table.find(name))
        except NotANumber as error:
            raise ValueError(
                f"{self.path}: column {name!r} holds {error.cell!r}, which is not a number; name the column of labels"
            ) from None


class ParquetFile(TableFile):
    """A Parquet file, read by pyarrow a batch of rows at a time."""

    def _column_names(self) -> list[str]:
        with self._opened() as file:
            return list(file.schema_arrow.names)

    def _tables(self, rows: int | None, wanted: list[str] | None) -> Iterator[Table]:
        start = 0
        with self._opened() as file:
            for batch in [file.read(columns=wanted)] if rows is None else file.iter_batches(rows, columns=wanted):
                columns = [_arrow_values(batch.column(k)) for k in range(batch.num_columns)]
                yield Table(self.path, list(batch.schema.names), columns, partial(row_place, start))
                start += batch.num_rows

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise ValueError("reading .parquet needs the package pyarrow: pip install 'hypermargin[files]'") from error
        try:
            with pyarrow.parquet.ParquetFile(self.path) as file:
                yield file
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(f"{self.path} is not a Parquet file, or it is damaged") from error


def _arrow_values(column: Any) -> list | np.ndarray:
    """Numbers as an array, anything else and integers with gaps as a list with None for what is missing."""
    import pyarrow

    is_integer = pyarrow.types.is_integer(column.type)
    if pyarrow.types.is_floating(column.type) or (is_integer and column.null_count == 0):
        return column.to_numpy() if isinstance(column, pyarrow.ChunkedArray) else column.to_numpy(zero_copy_only=False)
    return column.to_pylist()


class TextFile(TableFile):
    """A table as text, compressed or not, or gensim's word vectors. The delimiter is found unless it is given.

    Without a header the columns are called "1", "2", ...
    """

    delimiter: str | None = None

    def __init__(
        self,
        path: str | Path,
        label: str | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        rows: int | None = None,
        delimiter: str | None = None,
    ):
        self.delimiter = delimiter or self.delimiter
        super().__init__(path, label, weight, columns, rows)

    def _column_names(self) -> list[str]:
        """Find the delimiter, the header and how many lines it takes, from the first lines."""
        with self.lines(self.path) as lines:
            head = list(islice((line for line in lines if line.strip()), LOOKED_AT))
        if not head:
            raise ValueError(f"{self.path} is empty")
        if self.delimiter is None:
            self.delimiter = "\t" if ".tsv" in self.path.suffixes else _found_delimiter(head)
        first, *others = (cells for _, cells in _cells(head, self.delimiter))
        second = others[0] if others else first
        self.header: list[str] | None = None
        self._skipped = 1
        if self.delimiter == " " and others and _heads_word_vectors(first, second):
            self.header = ["word", *(f"x{k}" for k in range(1, len(second)))]
        elif any(is_number(cell) for cell in first):
            self._skipped = 0
        else:
            names = [cell.strip() for cell in first]
            self.header = ["", *names] if len(names) == len(second) - 1 else names  # R names no column of row names
        return self.header if self.header is not None else [str(k + 1) for k in range(len(first))]

    def _tables(self, rows: int | None, wanted: list[str] | None) -> Iterator[Table]:
        assert self.delimiter is not None
        width = None if self.header is None else len(self.header)
        batch: list[tuple[int, list[str]]] = []
        with self.lines(self.path) as lines:
            for line, cells in islice(_cells(lines, self.delimiter), self._skipped, None):
                width = len(cells) if width is None else width
                if len(cells) != width:
                    raise ValueError(f"{self.path}: line {line} has {len(cells)} columns, the first line has {width}")
                batch.append((line, cells))
                if len(batch) == rows:
                    yield self._table(batch)
                    batch = []
        if batch:
            yield self._table(batch)

    def _table(self, batch: list[tuple[int, list[str]]]) -> Table:
        lines, rows = zip(*batch, strict=True)
        return Table(self.path, self.header, list(zip(*rows, strict=True)), lambda row: f"line {lines[row]}")

    def _labels(self, column: Any) -> np.ndarray:
        """Integers where all are, else text; None for what is missing."""
        texts = [text.strip() for text in column]
        if not MISSING.intersection(texts):
            return as_labels(texts)
        return np.array([None if text in MISSING else text for text in texts], dtype=object)

    @staticmethod
    @contextmanager
    def lines(path: Path) -> Iterator[TextIO]:
        """The lines of a text file, which may be compressed by gzip."""
        try:
            with path.open("rb") as file:
                is_archive = file.read(2) == b"\x1f\x8b"
            opener: Any = gzip.open if is_archive else open
            with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
                yield lines
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is a damaged archive") from error
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not a text file in UTF-8") from error


class CsvFile(TextFile):
    """A .csv file with a header, or without one: then the columns are called "1", "2", ..."""

    delimiter = ","


def open_table(path: str | Path, label: str | None = None, weight: str | None = None) -> TableFile:
    """The source for a file, by the ending of its name."""
    kinds: dict[str, type[TableFile]] = {".parquet": ParquetFile, ".pq": ParquetFile, ".csv": CsvFile}
    suffix = Path(path).suffix.lower()
    if suffix not in kinds:
        raise ValueError(
            f"{path}: files read in chunks end in {', '.join(kinds)}; open a .npy with numpy.load(mmap_mode)"
        )
    return kinds[suffix](path, label, weight)


def _chunk_rows(rows: int | None, width: int) -> int:
    if rows is not None and rows < 1:
        raise ValueError(f"a chunk needs at least one row, got rows={rows}")
    return rows if rows is not None else max(1, CHUNK_NUMBERS // max(width, 1))


def _cells(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, with the line that each ends on."""
    if delimiter == " ":
        return ((number, line.split()) for number, line in enumerate(lines, start=1) if line.strip())
    reader = csv.reader(lines, delimiter=delimiter)
    return ((reader.line_num, row) for row in reader if any(cell.strip() for cell in row))


def _found_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that cuts the first lines into the most columns, as many in each."""

    def quality(delimiter: str) -> tuple[bool, int]:
        widths = [len(row) for _, row in _cells(lines, delimiter)]
        even = len(set(widths[1:] or widths)) == 1  # the header may lack a name
        return even and widths[-1] > 1, widths[-1] if even else 0

    best = max(DELIMITERS, key=quality)
    return best if quality(best)[0] else max(DELIMITERS[:-1], key=lambda delimiter: lines[0].count(delimiter))


def _heads_word_vectors(first: list[str], second: list[str]) -> bool:
    """Whether the first line is that of the word2vec format: the number of vectors and their width."""
    if len(first) != 2 or not all(cell.isdigit() for cell in first):
        return False
    return len(second) - 1 == int(first[1]) and not (len(second) == 2 and is_number(second[0]))


def is_number(cell: object) -> bool:
    try:
        float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True
