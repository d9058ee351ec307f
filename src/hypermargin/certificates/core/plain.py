"""Records of a certificate as plain lists and numbers, which JSON holds, and back: by the types of their fields.

A dataclass is the list of its fields; or, if it has an attribute `KEYED`, an object of them, where those that `KEYED`
names are left out if they are the default; or what its methods `to_plain` and `from_plain` make of it. What is not of
the type of its field is refused; whether it makes sense is for the check of its kind.
"""

import math
from dataclasses import Field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from hypermargin.safe_io import Damage

#: Of a field that holds an array of two axes; others have one.
MATRIX = {"axes": 2}


@cache
def _typed_fields(kind: Any) -> list[tuple[Field, Any]]:
    types = get_type_hints(kind)
    return [(each, types[each.name]) for each in fields(kind)]


def to_plain(value: Any) -> Any:
    """Arrays and tuples as lists, and records as lists or objects."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [to_plain(entry) for entry in value]
    if hasattr(value, "to_plain"):
        return value.to_plain()
    if not is_dataclass(value):
        return value
    return keyed(value) if hasattr(value, "KEYED") else [to_plain(getattr(value, each.name)) for each in fields(value)]


def keyed(value: Any) -> dict[str, Any]:
    """A record as an object of its fields."""
    found = {}
    for each in fields(value):
        entry = getattr(value, each.name)
        is_default = entry is each.default or (not isinstance(entry, np.ndarray) and entry == each.default)
        if not (each.name in value.KEYED and is_default):
            found[each.name] = to_plain(entry)
    return found


def from_plain(kind: Any, data: Any, axes: int = 1) -> Any:
    """The inverse of `to_plain` for a value of this type; raises `Damage`, or what damaged data raises."""
    if isinstance(kind, UnionType):
        return None if data is None else from_plain(get_args(kind)[0], data, axes)
    if hasattr(kind, "from_plain"):
        return kind.from_plain(data)
    if is_dataclass(kind):
        return from_keyed(kind, data) if hasattr(kind, "KEYED") else _from_list(kind, data)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is np.ndarray:
        return _array(data, get_args(inner[1])[0], axes)
    if origin is NDArray:  # an alias that keeps its name, as in NumPy 2.5 with Python 3.12
        return _array(data, inner[0], axes)
    if origin is tuple:
        if not isinstance(data, list):
            raise Damage(f"{data!r:.40} stands where a list should be")
        return tuple(from_plain(inner[0], entry) for entry in data)
    if type(data) is not kind and not (kind is float and type(data) is int):
        raise Damage(f"{data!r:.40} stands where a value of the type {kind.__name__} should be")
    if kind is float and math.isnan(data):
        raise Damage("it holds NaN")
    return kind(data)


def from_keyed(kind: Any, data: Any) -> Any:
    """A record from an object that holds its fields; those that `KEYED` names may be missing."""
    if not isinstance(data, dict):
        raise Damage(f"{data!r:.40} stands where an object should be")
    held = [(each, of) for each, of in _typed_fields(kind) if each.name in data or each.name not in kind.KEYED]
    return kind(**{each.name: from_plain(of, data[each.name], each.metadata.get("axes", 1)) for each, of in held})


def _from_list(kind: Any, data: Any) -> Any:
    typed = _typed_fields(kind)
    if not isinstance(data, list) or len(data) != len(typed):
        raise Damage(f"{data!r:.40} stands where a list of {len(typed)} entries should be")
    return kind(
        *(from_plain(of, entry, each.metadata.get("axes", 1)) for (each, of), entry in zip(typed, data, strict=True))
    )


def _array(data: Any, of: type, axes: int) -> np.ndarray:
    """Nested lists of numbers as an array; text is no number, and whole ones must fit into 64 bits."""
    array = np.asarray(data)
    if array.dtype.kind not in "iuf" or (array.size and array.ndim != axes):
        raise Damage(f"{data!r:.40} stands where numbers in {'a list' if axes == 1 else 'lists of lists'} should be")
    return array.astype(of, casting="same_kind" if array.size else "unsafe")
