"""Tables of samples that are read in chunks: arrays larger than memory, Parquet and CSV files.

A source gives the same chunks every time it is iterated, so that several passes see the same data. One that has changed
since it was opened is an error: half of the passes would have seen other points.
"""

import csv
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

#: Numbers in a chunk: 64 MiB of doubles, large beside the cost of reading one and small beside the memory.
CHUNK_NUMBERS = 1 << 23

#: What stands for a missing label in text.
MISSING = frozenset(("", "nan", "NaN", "NA", "<NA>", "None", "null"))

#: Columns by name.
Table = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Rows:
    """Coordinates, shape (rows, width), labels and weights (rows,) of a piece, of any library and any dtype."""

    X: Any
    y: Any = None
    weight: Any = None

    def __sizeof__(self) -> int:
        """Bytes with the arrays: a cluster that takes pieces for small moves them about."""
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
        for start in range(0, max(self.X.shape[0], 1), self.rows):  # one chunk at least, which tells the width
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
        found = self._header()
        self.label, self.weight = label, weight
        for wanted in (label, weight, *(columns or ())):
            if wanted is not None and wanted not in found:
                raise ValueError(f"{path} has no column {wanted!r}; its columns are {', '.join(found)}")
        self.names = list(columns) if columns is not None else [n for n in found if n not in (label, weight)]
        self.rows = _chunk_rows(rows, len(self.names))
        self._stamp = Stamp(self.path)
        self.slow_bytes = self._stamp.facts[0] if self._stamp.facts else 0

    @abstractmethod
    def _header(self) -> list[str]:
        """The names of all columns."""

    @abstractmethod
    def _tables(self, wanted: list[str]) -> Iterator[Table]:
        """The columns `wanted`, `rows` rows at a time."""

    def labelled(self, label: str | None, weight: str | None) -> "TableFile":
        """The same file with other columns as label and weight."""
        return type(self)(self.path, label, weight, rows=self.rows)

    def only(self, columns: Sequence[str]) -> "TableFile":
        """The same file with these columns as coordinates, and no label."""
        return type(self)(self.path, columns=columns, rows=self.rows)

    def __iter__(self) -> Iterator[Rows]:
        names = self.names or []
        wanted = [*names, *(n for n in (self.label, self.weight) if n is not None)]
        tables = self._unchanged(self._tables(wanted))
        first = next(tables, {name: np.empty(0) for name in wanted})  # one chunk at least, which tells the width
        for table in chain([first], tables):
            X = np.column_stack([table[name] for name in names])
            y, weight = (None if name is None else table[name] for name in (self.label, self.weight))
            yield Rows(X, y, weight)

    def _unchanged(self, tables: Iterator[Table]) -> Iterator[Table]:
        """The tables; whatever goes wrong in a file that has changed goes wrong because of that."""
        self._stamp.require_unchanged()
        try:
            for table in tables:
                self._stamp.require_unchanged()
                yield table
        except Exception:
            self._stamp.require_unchanged()
            raise
        self._stamp.require_unchanged()


class ParquetFile(TableFile):
    """A Parquet file, read by pyarrow a batch of rows at a time."""

    def _header(self) -> list[str]:
        return list(_pyarrow_parquet().ParquetFile(self.path).schema_arrow.names)

    def _tables(self, wanted: list[str]) -> Iterator[Table]:
        with _pyarrow_parquet().ParquetFile(self.path) as file:
            for batch in file.iter_batches(batch_size=self.rows, columns=wanted):
                yield {name: batch.column(name).to_numpy(zero_copy_only=False) for name in wanted}


class CsvFile(TableFile):
    """A .csv file with a header, or without one: then the columns are called "1", "2", ..."""

    def _header(self) -> list[str]:
        with self._open() as file:
            first = next(csv.reader(file), None)
        if not first:
            raise ValueError(f"{self.path} is empty")
        self._has_header = not any(_is_number(cell) for cell in first)
        return [cell.strip() for cell in first] if self._has_header else [str(k + 1) for k in range(len(first))]

    def _tables(self, wanted: list[str]) -> Iterator[Table]:
        places = {name: k for k, name in enumerate(self._header())}
        block: list[list[str]] = []
        with self._open() as file:
            lines = csv.reader(file)
            if self._has_header:
                next(lines)
            for line in lines:
                if not line:
                    continue
                if len(line) != len(places):
                    raise ValueError(
                        f"{self.path}: line {lines.line_num} has {len(line)} columns, the first has {len(places)}"
                    )
                block.append(line)
                if len(block) == self.rows:
                    yield self._columns(block, wanted, places)
                    block = []
        if block:
            yield self._columns(block, wanted, places)

    def _open(self):
        return self.path.open(encoding="utf-8-sig", newline="")

    def _columns(self, block: list[list[str]], wanted: list[str], places: dict[str, int]) -> Table:
        table = {}
        for name in wanted:
            texts = [line[places[name]] for line in block]
            table[name] = _labels(texts) if name == self.label else self._numbers(texts, name)
        return table

    def _numbers(self, texts: list[str], name: str) -> np.ndarray:
        try:
            return np.array(texts, dtype=np.float64)
        except ValueError:
            wrong = next(text for text in texts if not _is_number(text))
            raise ValueError(
                f"{self.path}: column {name!r} holds {wrong!r}, which is not a number; name the column of labels"
            ) from None


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


def _labels(texts: list[str]) -> np.ndarray:
    """Integers where all are, else text; None for what is missing."""
    stripped = [text.strip() for text in texts]
    if not MISSING.intersection(stripped):
        return as_labels(stripped)
    return np.array([None if text in MISSING else text for text in stripped], dtype=object)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _pyarrow_parquet():
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError("reading .parquet needs the package pyarrow: pip install 'hypermargin[files]'") from error
    return pyarrow.parquet
