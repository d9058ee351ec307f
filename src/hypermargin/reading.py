"""Files of strangers: JSON and NumPy arrays read within limits, and one error for all that can be wrong with a file.

Nothing is unpacked, parsed or allocated before its size and its depth are known to be within the limits. No code of a
file is run: arrays of objects, which would need pickle, are refused.
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

#: Most bytes of text in JSON; a parsed list takes some twenty times as much.
MOST_TEXT = 2**27
#: Deepest nesting of JSON; ours is 12 deep.
DEEPEST = 64
#: Most digits of an integer in JSON: those of 64 bits.
MOST_DIGITS = 20
#: An archive may unpack to this many bytes, and to `MOST_EXPANSION` for each byte of the file besides.
ALWAYS_ALLOWED = 2**26
MOST_EXPANSION = 100
#: Kinds of numbers and strings that need no pickle.
PLAIN_KINDS = "biufcUS"


class FileError(ValueError):
    """A file is damaged, crafted or foreign; the message begins with its name."""


class Damage(ValueError):
    """What is wrong with the content of a file, as a clause; becomes a `FileError` where the name is known."""


@contextmanager
def damage_told(path: str | os.PathLike, what: str, error_type: type[FileError] = FileError) -> Iterator[None]:
    """Turn whatever the content of a file raises into an error that says "`path` `what`: why".

    Content is all that can raise within: the file itself is open. So every exception means damage, those of the
    operating system (a seek to nowhere) and of memory or the stack included.
    """
    try:
        yield
    except FileError:
        raise
    except Exception as error:
        raise error_type(f"{os.fspath(path)} {what}: {reason(error)}") from error


def reason(error: Exception) -> str:
    """One line about an exception that damaged content has raised."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, KeyError):
        return f"{error} is missing"
    message = " ".join(str(error).split())[:300]
    return message if isinstance(error, ValueError) and message else f"{type(error).__name__} {message}".strip()


# -- JSON --------------------------------------------------------------------------------------------------------------


def parse_json(text: bytes) -> Any:
    """The value of a JSON text within the limits; `Damage` or what `json` raises where it is none."""
    if len(text) > MOST_TEXT:
        raise Damage(f"its text has {len(text):,} bytes, and no more than {MOST_TEXT:,} are read")
    if _depth(text) > DEEPEST:
        raise Damage(f"it is nested more than {DEEPEST} deep")
    return json.loads(text, parse_int=_integer)


def read_json(path: str | os.PathLike, what: str, error_type: type[FileError] = FileError) -> Any:
    """`parse_json` of a file; `what` is wrong where it cannot be, such as "is not a certificate file"."""
    with open(path, "rb") as file, damage_told(path, what, error_type):
        return parse_json(file.read(MOST_TEXT + 1))


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise Damage(f"it holds an integer of {len(digits)} digits")
    return int(digits)


def _depth(text: bytes) -> int:
    """How deeply brackets are nested outside strings; where quotes are not in pairs the text is no JSON anyway."""
    step = np.zeros(256, dtype=np.int8)
    step[[ord("["), ord("{")]], step[[ord("]"), ord("}")]] = 1, -1
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = text.split(b'"')[::2] if b'"' in text else [text]
    deepest = level = 0
    for piece in outside:
        if len(piece) < 64:  # a short one is quicker by hand
            levels = list(accumulate((int(step[byte]) for byte in piece), initial=level))
            deepest, level = max(deepest, max(levels)), levels[-1]
            continue
        for start in range(0, len(piece), 2**20):
            steps = step[np.frombuffer(piece[start : start + 2**20], dtype=np.uint8)]
            sums = level + np.cumsum(steps, dtype=np.int64)
            deepest, level = max(deepest, int(sums.max())), int(sums[-1])
    return deepest


def as_numbers(value: Any, ndim: int) -> np.ndarray:
    """Nested lists as an array of doubles with that many axes; `Damage` where they are something else."""
    array = np.array(value, dtype=np.float64)
    if array.ndim != ndim:
        raise Damage(f"a list has {array.ndim} levels where {ndim} belong")
    return array


# -- arrays ------------------------------------------------------------------------------------------------------------


class Archive:
    """The arrays of an .npz file by name, each unpacked when it is asked for; their sizes together are limited."""

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
    """The array of a .npy file; it is made only where the file has exactly the bytes that its header declares."""
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
