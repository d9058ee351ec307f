"""Points, labels and ids as a command works on them, and where in the user's file each of them stands."""

from dataclasses import dataclass, replace

import numpy as np

from hypermargin.arrays import Array
from hypermargin.cli.console import CommandError
from hypermargin.data.readers import Place, as_labels
from hypermargin.geometry.validation import PointError, check_points


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
