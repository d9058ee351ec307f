"""NumPy's files: .npz with the arrays X and y (and ids and names, where it has them), .npy with X alone."""

import zipfile

import numpy as np

from hypermargin.cli.console import CommandError
from hypermargin.safe_io import Archive, FileError, as_file_error, parse_npy

NO_ARRAYS = "is not a NumPy file, or it is damaged"
#: The members that are read; others stay where they are.
USED = ("X", "y", "ids", "names")


class UnreadableError(CommandError, FileError):
    """A file of points that is damaged, crafted or foreign."""


def read_npy(path: str) -> np.ndarray:
    """The one array of a .npy file."""
    if zipfile.is_zipfile(path):
        raise CommandError(f"{path} is an archive of several arrays; let its name end in .npz")
    with open(path, "rb") as file, as_file_error(path, NO_ARRAYS, UnreadableError):
        return parse_npy(file.read(), "it")


def read_npz(path: str) -> dict[str, np.ndarray]:
    """The arrays of a .npz file, which must have X."""
    with open(path, "rb") as file, as_file_error(path, NO_ARRAYS, UnreadableError):
        arrays = Archive(file)
        if "X" not in arrays.names:
            raise UnreadableError(
                f"{path} has no array X; it holds {', '.join(filter(None, arrays.names)) or 'no names'}"
            )
        return {name: arrays[name] for name in USED if name in arrays.names}
