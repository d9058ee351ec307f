"""Plain values as JSON beside a few arrays, and back, without running code.

Plain are None, numbers, strings, arrays of them, lists, tuples and dicts of plain values, certificates, and the
uncertainty sets of this package. All arrays of a dtype lie one behind the other in one piece: a model of a hundred
classes has some ten thousand small ones, and an archive with as many members takes seconds to write and to read.
"""

from collections.abc import Mapping
from dataclasses import fields
from math import prod
from typing import Any, Protocol

import numpy as np

from hypermargin.certificates import Certificate
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall

#: The uncertainty sets that a file may name.
_SETS: dict[str, type] = {kind.__name__: kind for kind in (Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall)}
#: What the members of an archive are called that hold all arrays of a dtype.
PREFIX = "values_"


class SupportsGetItem(Protocol):
    """Arrays by name: a dict, or an archive that unpacks them when they are asked for."""

    def __getitem__(self, name: str, /) -> np.ndarray: ...


class Pieces:
    """Arrays in one piece for each dtype, and certificates as plain dicts: what `pack` fills and `unpack` asks.

    With ``keep_certificates=False`` those are left out.
    """

    def __init__(self, keep_certificates: bool = True) -> None:
        self.certificates: list[dict[str, Any]] = []
        self._keep_certificates = keep_certificates
        self._arrays: dict[str, list[np.ndarray]] = {}
        self._sizes: dict[str, int] = {}
        self._read: SupportsGetItem = {}

    @classmethod
    def of(cls, members: "SupportsGetItem", certificates: list[dict[str, Any]] | None) -> "Pieces":
        """Those of an archive; None for certificates that are not to be read."""
        pieces = cls(certificates is not None)
        pieces._read, pieces.certificates = members, certificates or []
        return pieces

    def members(self) -> dict[str, np.ndarray]:
        """The pieces by the names they have in an archive."""
        return {PREFIX + name: np.concatenate(arrays) for name, arrays in self._arrays.items()}

    def put(self, array: np.ndarray) -> list[Any]:
        """Append an array; returns the place to ask for."""
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        name = array.dtype.str[1:]
        start = self._sizes.get(name, 0)
        self._arrays.setdefault(name, []).append(array.ravel())
        self._sizes[name] = start + array.size
        return [name, start, list(array.shape)]

    def get(self, place: Any) -> np.ndarray:
        """The array at a place, as a copy of its own; older files have a member for each array, and its name."""
        if isinstance(place, str):
            return self._read[place]
        name, start, shape = place
        values = self._read[PREFIX + name][start : start + prod(shape)]
        return values.reshape(shape).copy()

    def put_certificate(self, certificate: Certificate) -> int | None:
        if not self._keep_certificates:
            return None
        self.certificates.append(certificate.to_dict())
        return len(self.certificates) - 1

    def get_certificate(self, number: int | None) -> Certificate | None:
        if number is None or not self._keep_certificates:
            return None
        return Certificate.from_dict(self.certificates[number])


def is_plain(value: Any) -> bool:
    """Whether `pack` keeps the value as it is."""
    if isinstance(value, Mapping):
        return all(is_plain(key) and is_plain(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(is_plain(item) for item in value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufUS"
    if type(value) in _SETS.values() or isinstance(value, Certificate):
        return True
    return value is None or isinstance(value, bool | int | float | str | np.bool_ | np.integer | np.floating)


def pack(value: Any, pieces: Pieces) -> Any:
    """JSON for a plain value; arrays and certificates go to `pieces`.

    A dict becomes a list of pairs, whose keys keep their type; a list of dicts with the same keys becomes columns, and
    a list of arrays one array and their shapes.
    """
    if isinstance(value, Mapping):
        return {"dict": [[pack(key, pieces), pack(item, pieces)] for key, item in value.items()]}
    if isinstance(value, list) and len(value) > 1 and _is_table(value):
        return {"table": [[pack(key, pieces), pack([row[key] for row in value], pieces)] for key in value[0]]}
    if isinstance(value, list) and len(value) > 1 and _is_bundle(value):
        together = pieces.put(np.concatenate([array.ravel() for array in value]))
        return {"arrays": [together, [list(array.shape) for array in value]]}
    if isinstance(value, list | tuple):
        items = [pack(item, pieces) for item in value]
        bare = isinstance(value, list) and not any(isinstance(item, dict) for item in items)
        return items if bare else {type(value).__name__: items}
    if isinstance(value, np.ndarray):
        return {"array": pieces.put(value)}
    if isinstance(value, Certificate):
        return {"certificate": pieces.put_certificate(value)}
    if type(value) in _SETS.values():
        content = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"set": [type(value).__name__, pack(content, pieces)]}
    return value.item() if isinstance(value, np.generic) else value


def unpack(value: Any, pieces: Pieces) -> Any:
    """The inverse of `pack`."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return pieces.get(content)
    if kind == "dict":
        return {unpack(key, pieces): unpack(item, pieces) for key, item in content}
    if kind == "table":
        keys = [unpack(key, pieces) for key, _ in content]
        columns = [unpack(column, pieces) for _, column in content]
        return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]
    if kind == "arrays":
        together, shapes = content
        ends = np.cumsum([prod(shape) for shape in shapes])[:-1]
        parts = np.split(pieces.get(together), ends)
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    if kind == "certificate":
        return pieces.get_certificate(content)
    if kind == "set":
        name, of_set = content
        return _SETS[name](**unpack(of_set, pieces))
    items = [unpack(item, pieces) for item in content]
    return tuple(items) if kind == "tuple" else items


def _is_table(rows: list[Any]) -> bool:
    """Whether all items are dicts with the same keys, of which there is at least one."""
    first = rows[0]
    return isinstance(first, dict) and bool(first) and all(isinstance(row, dict) and [*row] == [*first] for row in rows)


def _is_bundle(items: list[Any]) -> bool:
    """Whether all items are arrays of one dtype."""
    first = items[0]
    return isinstance(first, np.ndarray) and all(isinstance(a, np.ndarray) and a.dtype == first.dtype for a in items)
