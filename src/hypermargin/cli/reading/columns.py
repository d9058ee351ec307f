"""Points as a command works on them, and which columns of a table they come from.

Columns of coordinates, labels and ids are given by the user, known from a model, or recognised.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hypermargin.arrays import Array
from hypermargin.cli.console import CommandError, warn
from hypermargin.data.readers import NotANumber, Place, Table, as_labels, is_number
from hypermargin.geometry.validation import PointError, check_points

#: What columns of ids are called, in lower case; pandas and R leave the name of theirs empty.
INDEX_NAMES = ("", "unnamed: 0", "__index_level_0__", "index", "id", "ids", "node", "name", "cell_id", "barcode", "key")
#: The name of a column of labels that needs no mention.
LABEL = "label"


def array_place(row: int) -> str:
    """A row of an array X, as Python writes it."""
    return f"X[{row}]"


@dataclass(frozen=True, eq=False)
class Points:
    """Points, shape (n, width), in whatever coordinates the file has, and labels where it has them.

    Parameters
    ----------
    X : (n, width) array
    y : (n,) array or None
        A label of ``""`` is a missing one, in an array of strings.
    names : tuple of str, optional
        What the columns of X are called.
    ids : list of str, optional
        What the rows are called, and `id_name` what that column is called.
    path : str
        The file.
    place : callable
        Names the place of a row in the file.
    """

    X: Array
    y: np.ndarray | None
    names: tuple[str, ...] | None = None
    ids: list[str] | None = None
    id_name: str = "id"
    path: str = ""
    place: Place = array_place

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

    def labelled(self) -> "Points":
        """The rows that have a label."""
        return self.rows(np.flatnonzero(~self.missing))

    def rows(self, rows: np.ndarray) -> "Points":
        """Some of the rows, which keep their places in the file."""
        y = None if self.y is None else self.y[rows]
        return replace(
            self,
            X=self.X[rows],
            y=as_labels(y.tolist()) if y is not None and y.dtype.kind == "U" else y,
            ids=None if self.ids is None else [self.ids[row] for row in rows],
            place=lambda row: self.place(int(rows[row])),
        )

    def check(self, geometry: str, curvature: float) -> None:
        """Refuse rows that are no points of the space, by their place in the file."""
        if geometry == "tangent":  # may be any numbers
            return
        try:
            check_points(self.X, geometry, curvature)
        except PointError as error:
            if error.row is None:
                raise
            raise CommandError(f"{self.path}: {self.place(error.row)} {error.complaint}") from error


@dataclass(frozen=True)
class Wanted:
    """What is known of the columns before the file is read.

    `columns`, `label` and `id` are said by the user, by name or by number from 1; `names` are the columns that a model
    was fitted to, and `width` is their number; with `labels_given` no column holds labels.
    """

    columns: tuple[str, ...] | None = None
    label: str | None = None
    id: str | None = None
    names: tuple[str, ...] | None = None
    width: int | None = None
    labels_given: bool = False

    @property
    def for_a_model(self) -> bool:
        return self.width is not None


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
        if self.label is None and not wanted.labels_given:
            self.label = self._guess_label(left)
            left = [k for k in left if k != self.label]
        if not self.coordinates:
            self.coordinates, left = left, []
        if not self.coordinates:
            raise CommandError(f"{table.path} has no column of coordinates")
        self.names = None if table.header is None else tuple(table.header[k] for k in self.coordinates)
        self._check_names()
        if left and wanted.for_a_model:
            kept = ", ".join(table.called(k).removeprefix("column ") for k in left)
            warn(f"{table.path}: left out, because the model does not know them: {kept}")

    def called(self, k: int) -> str:
        """The name of column k in a `TableFile`."""
        return str(k + 1) if self.table.header is None else self.table.header[k]

    def points(self, table: Table) -> Points:
        """The points of a table of the file."""
        try:
            X = np.column_stack([table.finite(k) for k in self.coordinates])
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

    def _check_names(self) -> None:
        """Columns that the user named must be those of the model."""
        names, expected = self.names, self.wanted.names
        if expected is not None and names is not None and names != expected:
            raise CommandError(
                f"the model was fitted to the columns {', '.join(expected)}, and --columns names {', '.join(names)}"
            )

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
        if len(left) > 1 and self.coordinates:
            raise CommandError(
                f"{table.path}: say with --label which column holds the labels: "
                f"{', '.join(table.called(k).removeprefix('column ') for k in left)}"
            )
        return left[-1] if left else None

    def _labels(self, table: Table, k: int) -> np.ndarray:
        texts = table.texts(k)
        labels = as_labels(texts)
        if labels.dtype.kind == "U" and self.wanted.label is None and not self.wanted.for_a_model:
            fraction = next((text for text in texts if text and not is_number(text)), None)
            if fraction is None and any(texts) and "" not in texts:
                raise CommandError(
                    f"{table.path}: {table.called(k)} was taken for the labels and holds numbers with "
                    f"fractions, such as {texts[0]}; say with --label which column holds the labels"
                )
        return labels


def counts_rows(column: Sequence | np.ndarray) -> bool:
    """Whether a column reads 0, 1, 2, ... or 1, 2, 3, ... over at least four rows."""
    first = str(column[0]).strip()
    if len(column) < 4 or first not in ("0", "1"):
        return False
    return all(str(cell).strip() == str(number) for number, cell in enumerate(column, start=int(first)))
