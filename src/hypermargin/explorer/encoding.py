"""Encoding for the page: numbers in base64, and JSON that cannot end the script element that holds it."""

import base64
import json
import math
from typing import Any

import numpy as np

from hypermargin.arrays import Array


def packed(values: Any, dtype: str) -> dict[str, str]:
    """An array as base64 of its little-endian bytes, from which the page makes a typed array of `dtype`."""
    data = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return {"dtype": dtype, "data": base64.b64encode(data.tobytes()).decode("ascii")}


def packed_points(X: Array) -> dict[str, dict[str, str]]:
    """Space coordinates of plane points, shape (n, 3), as two float32 each: the nearest one and the remainder.

    The sum has 48 bits, and the page makes doubles of it. One float32 alone would move a point at radius 12 by half a
    hundredth of its distance to its neighbours.
    """
    space = np.ascontiguousarray(X[:, 1:])
    high = space.astype(np.float32)
    return {"high": packed(high, "float32"), "low": packed(space - high.astype(np.float64), "float32")}


def index_dtype(largest: int) -> str:
    """The smallest unsigned type that can represent `largest`."""
    return "uint8" if largest < 256 else "uint16" if largest < 65536 else "uint32"


def finite_or_none(value: float) -> float | None:
    """The value, or None for infinity and NaN, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def as_json(scene: Any) -> str:
    """JSON that is safe inside a ``<script>`` element, whatever text it has."""
    text = json.dumps(scene, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
