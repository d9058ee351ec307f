"""Fields of a file, none of which is believed: a reader turns one into what it should be, or refuses it."""

import math
import sys
from collections.abc import Callable
from typing import Any

Reader = Callable[[Any], Any]


class Refused(ValueError):
    """The certificate proves nothing about this problem; the message says why."""


class Malformed(Refused):
    """A field of the certificate is not of its kind: text where a number should be, or a number where a list should."""


def anything(value: Any) -> Any:
    return value


def real(least: float = -math.inf, most: float = math.inf) -> Reader:
    """A finite double between two others."""
    return lambda value: float(_number(value, "number", (int, float), least, most))


def whole(least: int, most: int) -> Reader:
    """A whole number between two others, both included."""
    return lambda value: _number(value, "whole number", (int,), least, most)


def _number(value: Any, name: str, kinds: tuple[type, ...], least: float, most: float) -> Any:
    if type(value) not in kinds:
        raise Malformed(f"{value!r:.40} stands where a {name} should be")
    if not abs(value) <= sys.float_info.max:
        raise Refused("the certificate holds numbers that are not finite")
    if not least <= value <= most:
        raise Refused(f"the {name} {value!r:.40} is not between {least} and {most}")
    return value


def array(item: Reader, size: int | None = None) -> Reader:
    """A list of `size` fields of one kind."""

    def read(values: Any) -> list[Any]:
        if not isinstance(values, list):
            raise Malformed("a field of the certificate is not the list that it should be")
        if size is not None and len(values) != size:
            raise Refused(f"a list has {len(values)} entries where {size} should be")
        return [item(value) for value in values]

    return read


def record(*items: Reader) -> Reader:
    """A list of fields of their own kinds."""
    return lambda values: [item(v) for item, v in zip(items, array(anything, len(items))(values), strict=True)]


def entry(data: Any, key: str, item: Reader = anything) -> Any:
    if not isinstance(data, dict) or key not in data:
        raise Refused(f"the certificate has no field {key!r}")
    return item(data[key])
