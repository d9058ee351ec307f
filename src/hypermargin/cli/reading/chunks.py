"""Files larger than memory: read in chunks, for the commands that can do with one chunk at a time."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hypermargin.cli.console import CommandError, say
from hypermargin.cli.reading.points import Points
from hypermargin.cli.reading.reader import kind_of, read_labels
from hypermargin.cli.reading.table import INDEX_NAMES, LABEL
from hypermargin.data.inputs import SHARE_OF_MEMORY, free_memory
from hypermargin.data.readers import MISSING, ArrayChunks, Source, TableFile, as_labels, open_table

#: Kinds of files that can be read so.
CHUNKED = (".npy", ".csv", ".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class ChunkedPoints:
    """A source of chunks, with labels beside it where they are not a column of it; see `Points`."""

    X: Source
    beside: np.ndarray | None
    path: str

    @property
    def labels(self) -> np.ndarray | None:
        """Those beside the source; None where it has a column of them."""
        if self.beside is None and getattr(self.X, "label", None) is None:
            raise CommandError(f"{self.path} holds no labels; give them with --labels FILE")
        return self.beside

    def parts(self) -> Iterator[Points]:
        """The chunks as points that know their rows in the file."""
        start = 0
        for rows in self.X:
            texts = [] if rows.y is None else [str(label) for label in rows.y.tolist()]
            y = None if rows.y is None else as_labels(["" if text in MISSING else text for text in texts])
            yield Points(
                _numbers(self.path, rows.X, start),
                y,
                None if self.X.names is None else tuple(self.X.names),
                path=self.path,
                place=lambda row, start=start: f"row {start + row} (the first is 0)",  # type: ignore[misc]
            )
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
    if path.suffix.lower() not in CHUNKED or not path.is_file():
        return False
    too_large = path.stat().st_size > SHARE_OF_MEMORY * free_memory()
    if too_large:
        say(f"{args.data} is large beside the memory and is read in chunks")
    return too_large


def chunked_points(args: argparse.Namespace, names: list[str] | None = None) -> ChunkedPoints:
    """The source that the arguments describe; with `names`, the columns of a model, labels are optional."""
    for_others = {"--delimiter": args.delimiter, "--obsm": args.obsm}
    for_others["--skip-unlabelled"] = getattr(args, "skip_unlabelled", False) or None
    for option, value in for_others.items():
        if value is not None:
            raise CommandError(f"{option} does not go with files that are read in chunks")
    kind = kind_of(args.data)
    if kind not in CHUNKED or args.data.lower().endswith(".gz"):
        raise CommandError(f"{args.data} cannot be read in chunks; give one of {', '.join(CHUNKED)}")
    if kind == ".npy":
        return _array(args)
    if args.labels is not None:
        raise CommandError(
            f"{args.data} is read in chunks, and its labels must be a column of it; name it with --label"
        )
    table = open_table(args.data)
    return ChunkedPoints(_with_columns(table, args, names), None, args.data)


def _array(args: argparse.Namespace) -> ChunkedPoints:
    for option, value in (("--label", args.label), ("--columns", args.columns), ("--id", args.id)):
        if value is not None:
            raise CommandError(f"{option} names a column of a table such as a .csv file, and {args.data} is none")
    try:
        X = np.load(args.data, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise CommandError(f"{args.data} is not a NumPy file, or it is damaged") from error
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise CommandError(f"{args.data}: the points must be a table of numbers, got shape {X.shape}")
    labels = None if args.labels is None else read_labels(args.labels, len(X))
    return ChunkedPoints(ArrayChunks(X, labels, rows=args.chunks), labels, args.data)


def _with_columns(table: TableFile, args: argparse.Namespace, names: list[str] | None) -> TableFile:
    """The columns that are coordinates and labels, found as in files that are read whole, but by names alone."""
    found = table.names or []
    named = [name for name in found if name.lower() == LABEL]
    free = [name for name in found if name not in (args.columns or ()) and name != args.id]
    free = [name for name in free if name.lower() not in INDEX_NAMES]
    label = args.label or (named[0] if named else None)
    if label is None and names is None:
        if not free:
            raise CommandError(f"{table.path} has no column left for labels; name it with --label")
        label = free[-1]
    columns = args.columns or names or [name for name in free if name != label]
    if not columns:
        raise CommandError(f"{table.path} has no column of coordinates")
    return type(table)(table.path, label, columns=list(columns), rows=args.chunks)


def _numbers(path: str, X: np.ndarray, start: int) -> np.ndarray:
    X = X.astype(np.float64)
    bad = np.argwhere(~np.isfinite(X))
    if bad.size:
        row, column = bad[0]
        raise CommandError(f"{path}: row {start + row} (the first is 0), column {column + 1} is {X[row, column]}")
    return X


def _row_count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of rows, such as 1000000")
    return int(text)
