"""Reading untrusted files: JSON and NumPy arrays within limits, and one error for everything wrong with a file.

Nothing is unpacked, parsed or allocated before its size and depth are known to be within the limits. No code in a file
is run: arrays of objects, which would need pickle, are refused.
"""

import io
import json
import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.lib import format as npy

#: Largest JSON text in bytes. Parsed lists take some twenty times as much memory, so this is about 3 GB.
MOST_TEXT = 2**27
#: Deepest nesting of JSON: our files are 12 deep, and the parser's recursion limit is near 1,000.
DEEPEST = 64
#: Digits of the largest integer of 64 bits. Longer ones take quadratic time to parse, and our files have none.
MOST_DIGITS = 20
#: An archive may unpack to 64 MB, which fit in any memory, plus `MOST_EXPANSION` bytes for each byte
#: of the file: deflate reaches a factor of 1,032 on zeros, models of every kind tried below 3.
ALWAYS_ALLOWED = 2**26
MOST_EXPANSION = 100
#: Kinds of NumPy's dtypes that are plain numbers and strings, which need no pickle.
PLAIN_KINDS = "biufcUS"


class FileError(ValueError):
    """A file is damaged, crafted or of another kind; the message begins with its name."""


class Damage(ValueError):
    """What is wrong with the content of a file, as a clause; `as_file_error` adds the name."""


@contextmanager
def as_file_error(path: str | os.PathLike, what: str, error_type: type[FileError] = FileError) -> Iterator[None]:
    """Turn any exception that reading the content of a file raises into "`path` `what`: reason".

    The file is open already, so every exception is due to its content, also those of the operating system (a seek
    beyond the end) and of memory or the stack.
    """
    try:
        yield
    except FileError:
        raise
    except Exception as error:
        raise error_type(f"{os.fspath(path)} {what}: {reason(error)}") from error


def reason(error: Exception) -> str:
    """An exception raised by damaged content, in one line."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, KeyError):
        return f"{error} is missing"
    message = " ".join(str(error).split())[:300]
    return message if isinstance(error, ValueError) and message else f"{type(error).__name__} {message}".strip()


# -- JSON --------------------------------------------------------------------------------------------------------------


def parse_json(text: bytes) -> Any:
    """Parse a JSON text within the limits; raises `Damage` or whatever `json` raises."""
    if len(text) > MOST_TEXT:
        raise Damage(f"its text has {len(text):,} bytes, and no more than {MOST_TEXT:,} are read")
    if _depth(text) > DEEPEST:
        raise Damage(f"it is nested more than {DEEPEST} deep")
    return json.loads(text, parse_int=_integer)


def read_json(path: str | os.PathLike, what: str, error_type: type[FileError] = FileError) -> Any:
    """`parse_json` of a file; `what` says what is wrong if that fails, such as "is not a certificate file"."""
    with open(path, "rb") as file, as_file_error(path, what, error_type):
        return parse_json(file.read(MOST_TEXT + 1))


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise Damage(f"it holds an integer of {len(digits)} digits")
    return int(digits)


def _depth(text: bytes) -> int:
    """Depth of nested brackets outside strings; a text with an odd number of quotes is not JSON anyway."""
    step = np.zeros(256, dtype=np.int8)
    step[[ord("["), ord("{")]], step[[ord("]"), ord("}")]] = 1, -1
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = text.split(b'"')[::2] if b'"' in text else [text]
    deepest = level = 0
    for piece in outside:
        if len(piece) < 64:  # NumPy's overhead is larger than this loop
            levels = list(accumulate((int(step[byte]) for byte in piece), initial=level))
            deepest, level = max(deepest, max(levels)), levels[-1]
            continue
        for start in range(0, len(piece), 2**20):
            steps = step[np.frombuffer(piece[start : start + 2**20], dtype=np.uint8)]
            sums = level + np.cumsum(steps, dtype=np.int64)
            deepest, level = max(deepest, int(sums.max())), int(sums[-1])
    return deepest


def as_numbers(value: Any, ndim: int) -> np.ndarray:
    """Nested lists as an array of doubles with `ndim` axes; `Damage` if they are something else."""
    array = np.array(value, dtype=np.float64)
    if array.ndim != ndim:
        raise Damage(f"a list has {array.ndim} levels where {ndim} belong")
    return array


# -- arrays ------------------------------------------------------------------------------------------------------------


class Archive:
    """The arrays of an .npz file by name, unpacked on first access; the sum of their sizes is limited."""

    def __init__(self, file: io.BufferedIOBase | Any) -> None:
        self._zip = zipfile.ZipFile(file)
        self._left = ALWAYS_ALLOWED + MOST_EXPANSION * file.seek(0, os.SEEK_END)
        self._known: dict[str, np.ndarray] = {}
        self.names = [name.removesuffix(".npy") for name in self._zip.namelist()]

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._known:
            self._known[name] = self._unpacked(name)
        return self._known[name]

    def _unpacked(self, name: str) -> np.ndarray:
        if name not in self.names:
            raise Damage(f"it has no member {name!r}")
        member = self._zip.getinfo(f"{name}.npy")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
            raise Damage(f"its member {name} is packed in a way that NumPy never uses")
        if member.file_size > self._left:
            raise Damage(f"its member {name} unpacks to {member.file_size:,} bytes, far more than the file is worth")
        self._left -= member.file_size
        with self._zip.open(member) as stream:
            content = stream.read(member.file_size + 1)
        if len(content) != member.file_size:
            raise Damage(f"its member {name} has not the size it declares")
        return parse_npy(content, name)


def parse_npy(content: bytes, name: str = "array") -> np.ndarray:
    """The array of a .npy file, which must have exactly the size that its header declares."""
    stream = io.BytesIO(content)
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise Damage(f"{name} is in a version of NumPy's format that is not read")
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, by_columns, dtype = header(stream)
    if dtype.kind not in PLAIN_KINDS or dtype.hasobject or dtype.itemsize == 0:
        raise Damage(f"{name} holds more than plain numbers and strings; only those are read, as others can run code")
    count = math.prod(shape)
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(content) - stream.tell():
        raise Damage(f"{name} has not the size it declares")
    flat = np.frombuffer(content, dtype=dtype, count=count, offset=stream.tell())
    return flat.reshape(shape, order="F" if by_columns else "C").copy(order="K")
