"""NumPy's files: .npz with the arrays X and y (and ids and names, where it has them), .npy with X alone."""

import zipfile
import zlib

import numpy as np

from hypermargin.cli.console import CommandError

#: What a damaged archive may raise while it is read.
_DAMAGE = (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, OSError)


def read_npy(path: str) -> np.ndarray:
    """The one array of a .npy file."""
    arrays = _load(path)
    if list(arrays) != [""]:
        raise CommandError(f"{path} is an archive of several arrays; let its name end in .npz")
    return arrays[""]


def read_npz(path: str) -> dict[str, np.ndarray]:
    """The arrays of a .npz file, which must have X."""
    arrays = _load(path)
    if "X" not in arrays:
        raise CommandError(f"{path} has no array X; it holds {', '.join(filter(None, arrays)) or 'no names'}")
    return arrays


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
