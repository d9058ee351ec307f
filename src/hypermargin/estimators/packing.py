"""Plain values as JSON beside arrays, and back, without running code.

Plain are None, numbers, strings, arrays of them, lists, tuples and dicts of plain values, and the uncertainty sets of
this package.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Protocol

import numpy as np

from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall

#: The uncertainty sets that a file may name.
_SETS: dict[str, type] = {kind.__name__: kind for kind in (Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall)}


class SupportsGetItem(Protocol):
    """Arrays by name: a dict, or an archive that unpacks them when they are asked for."""

    def __getitem__(self, name: str, /) -> np.ndarray: ...


def is_plain(value: Any) -> bool:
    """Whether `pack` keeps the value as it is."""
    if isinstance(value, Mapping):
        return all(is_plain(key) and is_plain(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(is_plain(item) for item in value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufUS"
    if type(value) in _SETS.values():
        return True
    return value is None or isinstance(value, bool | int | float | str | np.bool_ | np.integer | np.floating)


def pack(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """JSON for a plain value; arrays go to `arrays`. A dict becomes a list of pairs, whose keys keep their type."""
    if isinstance(value, Mapping):
        return {"dict": [[pack(key, arrays), pack(item, arrays)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        items = [pack(item, arrays) for item in value]
        bare = isinstance(value, list) and not any(isinstance(item, dict) for item in items)
        return items if bare else {type(value).__name__: items}
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if type(value) in _SETS.values():
        content = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"set": [type(value).__name__, pack(content, arrays)]}
    return value.item() if isinstance(value, np.generic) else value


def unpack(value: Any, arrays: SupportsGetItem) -> Any:
    """The inverse of `pack`; `arrays` is asked for those that the value names."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return arrays[content]
    if kind == "dict":
        return {unpack(key, arrays): unpack(item, arrays) for key, item in content}
    if kind == "set":
        name, of_set = content
        return _SETS[name](**unpack(of_set, arrays))
    items = [unpack(item, arrays) for item in content]
    return tuple(items) if kind == "tuple" else items
