"""One function for every kind of file of points."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from hypermargin.cli.console import CommandError
from hypermargin.cli.reading.arrays import read_npy, read_npz
from hypermargin.cli.reading.h5ad import read_h5ad
from hypermargin.cli.reading.parquet import read_parquet
from hypermargin.cli.reading.points import Points, array_place
from hypermargin.cli.reading.table import Wanted
from hypermargin.cli.reading.text import read_lines, read_text
from hypermargin.data.readers import MISSING, as_labels

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
        A further file, .npy or one label a line.
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
    wanted = Wanted(columns, label_column, id_column, names, width, labels is not None)
    if kind == ".npz":
        arrays = read_npz(path)
        points = _of_arrays(path, arrays["X"], arrays.get("y"), arrays.get("ids"))
    elif kind == ".npy":
        points = _of_arrays(path, read_npy(path), None, None)
    elif kind == ".h5ad":
        points = read_h5ad(path, obsm, label_column)
    elif kind in (".parquet", ".pq"):
        points = read_parquet(path).points(wanted)
    else:
        points = read_text(path, delimiter).points(wanted)
    if labels is None:
        return points
    return replace(points, y=read_labels(labels, len(points.X)))


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
    if label_column is not None and kind not in (".h5ad", *TABLES):
        raise CommandError(f"--label names a column of a table such as a .csv file, and {path} is none")
    for option, value in (("--columns", columns), ("--id", id_column)):
        if value is not None and kind not in TABLES:
            raise CommandError(f"{option} names columns of a table such as a .csv file, and {path} is none")
    if delimiter is not None and kind not in TEXT:
        raise CommandError(f"--delimiter is for text, and {path} is none")
    if obsm is not None and kind != ".h5ad":
        raise CommandError(f"--obsm is for .h5ad files, and {path} is none")


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


def read_labels(path: str, n: int) -> np.ndarray:
    """The labels of n points from a file of their own: .npy, or text with a line for each point."""
    if path.lower().endswith(".npy"):
        kind_of(path)
        return _plain(path, read_npy(path), n)
    if not Path(path).is_file():
        raise CommandError(f"there is no file {path}")
    lines = [line.strip() for line in read_lines(path)]
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
